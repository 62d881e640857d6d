//! `waypost memory search`: full text over everything that was recorded.

use crate::{
    Context,
    data::FoundLine,
    error::CliError,
    output::{BOLD, DIM, YELLOW, styled},
};
use std::path::Path;
use waypost_engine::{
    Project,
    search::{self, AgedHit, KINDS, SearchRequest, Snippet},
};
use waypost_model::{
    code::Code,
    time::{Stamp, Time},
};

/// The most that is printed.
const LIMIT_MAX: usize = 200;

/// Find words in history, notes, context, contracts, knowledge, the journal and transcripts
///
/// The best first: what has all that was asked for before what has a part of it, titles and decisions
/// before other texts, newer before older. Words are found in every form and inside longer ones,
/// identifiers by their parts; Korean, Japanese and Chinese from two characters on.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What is looked for
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,

    /// Only this kind: decision, lesson, note, history, context, contract, knowledge, transition or
    /// transcript; several times for several kinds
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,

    /// Only what is not older: a day (2026-11-17), a time, or an age (30m, 12h, 7d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only what names this file, or one below this folder
    #[arg(long, value_name = "FILE")]
    file: Option<String>,

    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
}

pub(super) fn run(
    context: &Context,
    project: &mut Project,
    args: &SearchArgs,
) -> Result<(), CliError> {
    let request = SearchRequest {
        text: args.text.join(" "),
        kinds: args.kind.clone(),
        since: args.since.as_deref().map(|text| read_since(project, text)).transpose()?,
        file: args.file.as_deref().map(|file| below_root(project, context, file)),
        limit: args.limit.min(LIMIT_MAX),
    };
    refuse_unknown_kinds(&request.kinds)?;
    let hits = search::search(project, &request)?;
    if context.out.json {
        let found: Vec<FoundLine<'_>> = hits.iter().map(FoundLine::from).collect();
        return Ok(context.out.json_list(&found)?);
    }
    for found in &hits {
        show(context, found)?;
    }
    if hits.is_empty() {
        context.out.note(format!("nothing is found for `{}`", request.text));
    }
    Ok(())
}

fn show(context: &Context, found: &AgedHit) -> Result<(), CliError> {
    let AgedHit { hit, changed } = found;
    let place = styled(DIM, format!("{} · {} · {}", hit.kind, hit.at, hit.reference));
    context.out.line(format!("{}  {place}", styled(BOLD, &hit.title)))?;
    context.out.line(format!("  {}", marked(&hit.snippet)))?;
    if !changed.is_empty() {
        let told = format!("  changed since: {}", changed.join(", "));
        context.out.line(styled(YELLOW, told))?;
    }
    Ok(())
}

/// A snippet with what was found in colour; that it was is told by its being there.
fn marked(snippet: &Snippet) -> String {
    let chars: Vec<char> = snippet.text.chars().collect();
    let (mut text, mut at) = (String::new(), 0);
    for mark in &snippet.marks {
        text.extend(&chars[at..mark.start]);
        let found: String = chars[mark.clone()].iter().collect();
        text.push_str(&styled(YELLOW, found));
        at = mark.end;
    }
    text.extend(&chars[at..]);
    text.trim().to_owned()
}

/// A kind that does not exist finds nothing, which is not what was meant.
pub(crate) fn refuse_unknown_kinds(kinds: &[String]) -> Result<(), CliError> {
    let is_known = |kind: &&String| KINDS.iter().any(|(known, _)| known == kind);
    match kinds.iter().find(|kind| !is_known(kind)) {
        None => Ok(()),
        Some(kind) => {
            let known: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            Err(CliError::new(Code::BadArgument, format!("`{kind}` is no kind of entry"))
                .hint(format!("one of {}", known.join(", "))))
        }
    }
}

/// A time as it is typed.
pub(crate) fn read_since(project: &Project, text: &str) -> Result<Time, CliError> {
    let clock = project.clock();
    let age = |text: &str| {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        let millis = number.parse::<i64>().ok()?.checked_mul(seconds * 1_000)?;
        clock.now().millis().checked_sub(millis).map(Time::from_millis)
    };
    let stamp = |text: &str| text.parse::<Stamp>().ok().map(|stamp| clock.resolve(stamp));
    let found = age(text).or_else(|| stamp(text)).or_else(|| stamp(&format!("{text}T00:00:00")));
    found.ok_or_else(|| {
        CliError::bad_input(format!("`{text}` is no time"))
            .hint("a day (2026-11-17), a time (2026-11-17T09:00:00Z) or an age (30m, 12h, 7d)")
    })
}

/// A file as entries name it: from the project's root.
fn below_root(project: &Project, context: &Context, file: &str) -> String {
    let typed = context.path(Path::new(file));
    let absolute = std::path::absolute(&typed).unwrap_or(typed);
    match absolute.strip_prefix(project.root()).ok().and_then(Path::to_str) {
        Some(below) if absolute.exists() => below.to_owned(),
        // One that is gone may still be named in entries.
        _ => file.to_owned(),
    }
}
