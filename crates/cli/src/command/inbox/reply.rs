//! What a person says to an entry, by each of the verbs.

use super::{choose, entry_id, show_question};
use crate::{
    Context,
    command::{open, say_notices, text::read_text},
    data::Answered,
    error::CliError,
    spelling,
};
use serde::Deserialize;
use std::{
    fs,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{GivenReply, Project, RecordedReply, answer};
use waypost_model::{
    id::EntryId,
    inbox::{LineComment, REPLY_BYTES_MAX, Reply, ReplyVerb},
};

/// The most that is read as a request for changes: a reply with JSON around it.
const CHANGES_BYTES_MAX: usize = 2 * REPLY_BYTES_MAX;

#[derive(Debug, clap::Args)]
pub(super) struct ReplyArgs {
    /// Its id, as in q3
    id: String,
    /// What you say
    text: Option<String>,
    /// Read the text from a file, `-` for standard input
    #[arg(long, conflicts_with = "text")]
    file: Option<PathBuf>,
    /// The version of the entry that you have seen; another one is refused
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(super) struct VersionArgs {
    /// Its id, as in q3
    id: String,
    /// The version of the entry that you have seen; another one is refused
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ChangesArgs {
    #[command(flatten)]
    reply: ReplyArgs,
    /// A comment on a line, as in docs/plan.md:12:too vague; may be repeated
    #[arg(long, value_name = "FILE:LINE:TEXT")]
    comment: Vec<LineComment>,
}

pub(super) fn answer(context: &Context, args: &ReplyArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = entry_id(&args.id)?;
    if args.text.is_some() || args.file.is_some() || !io::stdin().is_terminal() {
        let text = text_of(context, args, REPLY_BYTES_MAX)?;
        return give(context, &mut project, &id, (Reply::Answer(text), args.version));
    }
    let entry = project.inbox()?.find(&id)?.clone();
    if !entry.question.verbs().contains(&ReplyVerb::Answer) {
        // Nothing is asked for that could only be refused.
        let refused = entry.read(Reply::answer("")).map(drop);
        return refused.map(|()| ExitCode::SUCCESS).map_err(CliError::from);
    }
    show_question(context, &entry.question);
    let Some(text) = choose(&entry.question.choices)? else {
        context.out.note(format!("{id} was not answered"));
        return Ok(ExitCode::SUCCESS);
    };
    // The person has seen this version and no other.
    let version = args.version.or(Some(entry.version));
    give(context, &mut project, &id, (Reply::Answer(text), version))
}

/// A verb whose text may be left out.
pub(super) fn plain(
    context: &Context,
    verb: ReplyVerb,
    args: &ReplyArgs,
) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = entry_id(&args.id)?;
    let text = match (&args.text, &args.file) {
        (None, None) => String::new(),
        _ => text_of(context, args, REPLY_BYTES_MAX)?,
    };
    give(context, &mut project, &id, (Reply::new(verb, text), args.version))
}

pub(super) fn approve(context: &Context, args: &VersionArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = entry_id(&args.id)?;
    give(context, &mut project, &id, (Reply::Approve, args.version))
}

pub(super) fn changes(context: &Context, args: &ChangesArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = entry_id(&args.reply.id)?;
    let is_read = args.reply.text.is_none();
    let written = text_of(context, &args.reply, CHANGES_BYTES_MAX)?;
    let RequestedChanges { text, mut comments } = match is_read {
        true => RequestedChanges::read(&written)?,
        false => RequestedChanges { text: written, comments: Vec::new() },
    };
    comments.extend(args.comment.iter().cloned());
    let reply = Reply::Changes { text, comments };
    give(context, &mut project, &id, (reply, args.reply.version))
}

/// A request for changes as it may be piped in.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestedChanges {
    text: String,
    #[serde(default)]
    comments: Vec<LineComment>,
}

impl RequestedChanges {
    /// A JSON object, or a text as it is.
    fn read(written: &str) -> Result<Self, CliError> {
        if !written.trim_start().starts_with('{') {
            return Ok(Self { text: written.to_owned(), comments: Vec::new() });
        }
        let bad = |error: serde_json::Error| {
            CliError::bad_input("the request for changes begins like JSON and cannot be read")
                .because(&error)
                .hint(r#"expected {"text": …, "comments": [{"file": …, "line": …, "text": …}]}"#)
        };
        let read: Self = serde_json::from_str(written).map_err(bad)?;
        match read.comments.iter().find(|comment| !comment.is_complete()) {
            Some(comment) => {
                let message = format!("`{comment}` lacks a file, a line or a text");
                Err(CliError::bad_input(message))
            }
            None => Ok(read),
        }
    }
}

fn give(
    context: &Context,
    project: &mut Project,
    id: &EntryId,
    (reply, version): (Reply, Option<u32>),
) -> Result<ExitCode, CliError> {
    let recorded = answer::give(project, id, GivenReply { reply, version })?;
    say(context, project, id, &recorded)
}

/// Says what was recorded.
pub(super) fn say(
    context: &Context,
    project: &mut Project,
    id: &EntryId,
    recorded: &RecordedReply,
) -> Result<ExitCode, CliError> {
    say_notices(context, project);
    let RecordedReply { reply, next } = recorded;
    if context.out.json {
        let (verb, comments) = (reply.verb(), reply.comments());
        context.out.json(&Answered { answered: id, verb, text: reply.text(), comments })?;
    }
    context.out.done(match reply {
        Reply::Answer(_) => format!("answered {id}"),
        Reply::Provide => format!("answered {id}: the value is kept"),
        other => format!("answered {id}: {}", other.verb()),
    });
    if let Some(next) = spelling::any_of(next) {
        context.out.note(format!("next: {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The text as an argument, in a file or on standard input.
fn text_of(context: &Context, args: &ReplyArgs, max: usize) -> Result<String, CliError> {
    match (&args.text, &args.file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(path)) => read(context, path, max),
        (None, None) => read(context, Path::new("-"), max),
    }
}

fn read(context: &Context, path: &Path, max: usize) -> Result<String, CliError> {
    let what = "the answer";
    if path.as_os_str() == "-" {
        return read_text(io::stdin(), &what, max);
    }
    let path = context.path(path);
    let opened = fs::File::open(&path);
    let opened = opened.map_err(|error| {
        CliError::bad_input(format!("cannot read {}", path.display())).because(&error)
    })?;
    read_text(opened, &what, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_changes_is_a_text_or_an_object() {
        let comment: LineComment = "a.md:3:why?".parse().unwrap();
        let object =
            r#"{"text": "more", "comments": [{"file": "a.md", "line": 3, "text": "why?"}]}"#;
        let read = |text: &str| RequestedChanges::read(text).ok();
        let want = |text: &str, comments| Some(RequestedChanges { text: text.into(), comments });
        assert_eq!(read("more\n"), want("more\n", Vec::new()));
        assert_eq!(read(object), want("more", vec![comment]));
        assert_eq!(read(r#"{"text": "more"}"#), want("more", Vec::new()));
        for bad in [
            "{more}",
            r#"{"comments": []}"#,
            r#"{"text": "x", "extra": 1}"#,
            r#"{"text": "x", "comments": [{"file": "a", "line": 0, "text": "y"}]}"#,
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
