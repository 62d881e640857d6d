//! `waypost inbox`: everything that waits for a person.

use super::{ask, open, say_notices};
use crate::data::{Answered, EntryReport, PermitReport, Revoked};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, CYAN, DIM, styled},
    show, spelling,
};
use std::{
    fmt::Write as _,
    fs,
    io::{self, IsTerminal as _, Read as _},
    path::PathBuf,
    process::ExitCode,
};
use waypost_engine::{answer, permits};
use waypost_model::{
    code::Code,
    id::{BadId, EntryId},
    inbox::{Entry, Question},
    next::NextStep,
};

/// See and answer what waits for a person
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    action: Option<InboxAction>,
}

#[derive(Debug, clap::Subcommand)]
enum InboxAction {
    /// List what waits, oldest first
    List,
    /// Show one entry in full
    Show {
        /// Its id, as in q3
        id: String,
    },
    /// Answer an entry
    ///
    /// Reserved for a person. The answer is recorded and carried out at once. Without TEXT it is
    /// asked for at a terminal, with the choices there are; elsewhere it is read from standard
    /// input.
    Answer {
        /// Its id, as in q3
        id: String,
        /// The answer
        text: Option<String>,
        /// Read the answer from a file, `-` for standard input
        #[arg(long, conflicts_with = "text")]
        file: Option<PathBuf>,
    },
    /// List what agents may do in this project without asking
    ///
    /// These are the answers `allow-project`. They are kept in your own state, not in the project.
    Permits,
    /// Take back what was allowed for this project
    Revoke {
        /// The id, or the beginning of it, as `inbox permits` shows it
        id: String,
    },
}

pub(crate) fn run(context: &Context, args: &InboxArgs) -> Result<ExitCode, CliError> {
    match &args.action {
        None | Some(InboxAction::List) => list(context),
        Some(InboxAction::Show { id }) => show_entry(context, id),
        Some(InboxAction::Answer { id, text, file }) => {
            answer(context, id, text.as_ref(), file.as_ref())
        }
        Some(InboxAction::Permits) => permits(context),
        Some(InboxAction::Revoke { id }) => revoke(context, id),
    }
}

/// How much of a permission's id is shown.
const PERMIT_LENGTH: usize = 8;

fn permits(context: &Context) -> Result<ExitCode, CliError> {
    let project = open(context)?;
    let permits = permits::list(project.setup())?;
    if context.out.json {
        let permits: Vec<_> = permits.iter().map(PermitReport::from).collect();
        context.out.json_list(&permits)?;
        return Ok(ExitCode::SUCCESS);
    }
    if permits.is_empty() {
        context.out.note("nothing is allowed for this project without asking");
    }
    for permit in permits {
        let id = permit.id.get(..PERMIT_LENGTH).unwrap_or(&permit.id);
        let by = styled(DIM, format!("by {}, {}", permit.by, permit.at));
        context.out.line(format!("{} {}  {by}", styled(BOLD, id), permit.what))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn revoke(context: &Context, id: &str) -> Result<ExitCode, CliError> {
    let permit = permits::revoke(open(context)?.setup(), id)?;
    if context.out.json {
        context.out.json(&Revoked { revoked: (&permit).into() })?;
    }
    context.out.done(format!("revoked: {}", permit.what));
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let inbox = project.inbox()?;
    if context.out.json {
        let entries: Vec<_> = inbox.open().iter().map(EntryReport::from).collect();
        context.out.json_list(&entries)?;
        return Ok(ExitCode::SUCCESS);
    }
    if inbox.open().is_empty() {
        context.out.note("nothing waits for you");
    }
    let now = project.clock().now();
    for entry in inbox.open() {
        let age = show::duration(now.since(entry.since));
        let id = styled(BOLD, format!("{:5}", entry.id));
        context.out.line(format!(
            "{id} {}  {}",
            entry.question.title,
            styled(DIM, format!("{age} ago"))
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show_entry(context: &Context, id: &str) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let inbox = project.inbox()?;
    let entry = find(inbox.open(), id)?;
    if context.out.json {
        context.out.json(&EntryReport::from(entry))?;
        return Ok(ExitCode::SUCCESS);
    }
    let question = &entry.question;
    context.out.line(format!("{} {}", styled(BOLD, &entry.id), styled(BOLD, &question.title)))?;
    context.out.line(styled(DIM, format!("{} · since {}", question.subject, entry.since)))?;
    context.out.line(format!("\n{}", question.text))?;
    let choices =
        if question.choices.is_empty() { "TEXT".into() } else { question.choices.join("|") };
    let command = format!("waypost inbox answer {} {choices}", entry.id);
    context.out.line(format!("\n{} {command}", styled(CYAN, "answer:")))?;
    if let Some(next) = spelling::any_of(&question.next) {
        context.out.line(format!("{} {next}", styled(CYAN, "next:")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(
    context: &Context,
    id: &str,
    text: Option<&String>,
    file: Option<&PathBuf>,
) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let text = match (text, file) {
        (None, None) if io::stdin().is_terminal() => {
            let inbox = project.inbox()?;
            let question = &find(inbox.open(), id)?.question;
            show_question(context, question);
            let Some(text) = choose(&question.choices)? else {
                context.out.note(format!("{id} was not answered"));
                return Ok(ExitCode::SUCCESS);
            };
            text
        }
        _ => read_answer(context, text, file)?,
    };
    let id: EntryId = id.parse().map_err(bad_id)?;
    answer::give(&mut project, &id, &text)?;
    say_notices(context, &mut project);
    if context.out.json {
        context.out.json(&Answered { answered: &id, text: text.trim() })?;
    }
    context.out.done(format!("answered {id}"));
    Ok(ExitCode::SUCCESS)
}

/// Shows a question to the person at the terminal.
pub(crate) fn show_question(context: &Context, question: &Question) {
    context.out.note(styled(BOLD, &question.title));
    // The title has all of a short question.
    let text = question.text.trim();
    if !text.is_empty() && !question.title.ends_with(text) {
        context.out.note(format!("\n{text}\n"));
    }
}

/// Asks the person at the terminal for one of the choices, or for any text if there are none; an
/// empty line leaves the question open, and without a terminal it stays open too.
pub(crate) fn choose(choices: &[String]) -> Result<Option<String>, CliError> {
    let mut prompt = String::new();
    for (number, choice) in (1..).zip(choices) {
        let _infallible = writeln!(prompt, "  {} {choice}", styled(CYAN, number));
    }
    prompt.push_str(match choices {
        [] => "Your answer (empty: later):",
        _ => "Your answer, by number or in words (empty: later):",
    });
    Ok(ask(&prompt)?.and_then(|typed| meant(&typed, choices)))
}

/// What was typed: a choice in words before one by its number.
fn meant(typed: &str, choices: &[String]) -> Option<String> {
    let by_number = || {
        let number: usize = typed.parse().ok()?;
        choices.get(number.checked_sub(1)?).cloned()
    };
    match typed {
        "" => None,
        word if choices.iter().any(|choice| choice == word) => Some(word.to_owned()),
        word => Some(by_number().unwrap_or_else(|| word.to_owned())),
    }
}

fn read_answer(
    context: &Context,
    text: Option<&String>,
    file: Option<&PathBuf>,
) -> Result<String, CliError> {
    let unreadable =
        |error: io::Error| CliError::bad_input("cannot read the answer").because(&error);
    match (text, file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(path)) if path.as_os_str() != "-" => {
            fs::read_to_string(context.path(path)).map_err(unreadable)
        }
        (None, _) => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map_err(unreadable)?;
            Ok(text)
        }
    }
}

fn find<'a>(entries: &'a [Entry], id: &str) -> Result<&'a Entry, CliError> {
    let id: EntryId = id.parse().map_err(bad_id)?;
    entries.iter().find(|entry| entry.id == id).ok_or_else(|| {
        CliError::new(Code::EntryUnknown, format!("{id} is not waiting in the inbox"))
            .next(NextStep::ShowInbox)
    })
}

fn bad_id(error: BadId) -> CliError {
    CliError::bad_input(error.to_string()).next(NextStep::ShowInbox)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_named_by_word_or_number() {
        let choices = ["Exact", "Vague", "1"].map(str::to_owned);
        let table = [
            ("", None),
            ("Vague", Some("Vague")),
            ("2", Some("Vague")),
            // A choice that is a number itself is meant by it.
            ("1", Some("1")),
            ("0", Some("0")),
            ("4", Some("4")),
            ("something else", Some("something else")),
        ];
        for (typed, want) in table {
            assert_eq!(meant(typed, &choices).as_deref(), want, "{typed}");
        }
    }
}
