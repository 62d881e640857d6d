//! `waypost inbox`: everything that waits for a person.

mod drawing;
mod provide;
mod reply;

use super::{ask, open};
use crate::data::{EntryReport, PermitReport, Revoked};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, CYAN, DIM, styled},
};
use provide::ProvideArgs;
use reply::{ChangesArgs, ReplyArgs, VersionArgs};
use std::{fmt::Write as _, process::ExitCode};
use waypost_engine::{entries, permits};
use waypost_model::{
    id::{BadId, EntryId},
    inbox::{Question, ReplyVerb},
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
    /// List what waits: what holds up the most tasks first, then the oldest
    List,
    /// Show one entry in full, with the verbs that it takes
    Show {
        /// Its id, as in q3
        id: String,
    },
    /// Answer an entry
    ///
    /// Reserved for a person. The answer is recorded and carried out at once. Without TEXT it is
    /// asked for at a terminal, with the choices there are; elsewhere it is read from standard
    /// input.
    Answer(ReplyArgs),
    /// Give a value that an agent lacks
    ///
    /// Reserved for a person. The value is asked for at the terminal without being shown, or read from
    /// standard input or a file; it is no argument, because other users see those. It is kept encrypted and
    /// goes to the agent as an environment variable, never into the journal, a prompt or a log.
    Provide(ProvideArgs),
    /// Say no, or that there will be no answer
    ///
    /// Reserved for a person. A value that the task needs is not given: the task fails. An optional one:
    /// its default is taken, or the agent is told that there is none.
    Decline(ReplyArgs),
    /// Approve what was asked
    ///
    /// Reserved for a person. `--version` names what you have seen; if it has changed since, nothing is
    /// approved, and you are shown what it says now.
    Approve(VersionArgs),
    /// Ask for changes before a review is approved
    ///
    /// Reserved for a person. The text says what to change; comments on lines say where. Without TEXT it
    /// is read from standard input: plain text, or a JSON object with `text` and `comments`.
    Changes(ChangesArgs),
    /// Let it be tried again
    Retry(ReplyArgs),
    /// Take it as it is
    Accept(ReplyArgs),
    /// Let it fail
    Fail(ReplyArgs),
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
        Some(InboxAction::Answer(args)) => reply::answer(context, args),
        Some(InboxAction::Provide(args)) => provide::run(context, args),
        Some(InboxAction::Decline(args)) => reply::plain(context, ReplyVerb::Decline, args),
        Some(InboxAction::Approve(args)) => reply::approve(context, args),
        Some(InboxAction::Changes(args)) => reply::changes(context, args),
        Some(InboxAction::Retry(args)) => reply::plain(context, ReplyVerb::Retry, args),
        Some(InboxAction::Accept(args)) => reply::plain(context, ReplyVerb::Accept, args),
        Some(InboxAction::Fail(args)) => reply::plain(context, ReplyVerb::Fail, args),
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
    let waiting = entries::waiting(&mut project)?;
    if context.out.json {
        let reports: Vec<_> = waiting.iter().map(EntryReport::from).collect();
        context.out.json_list(&reports)?;
        return Ok(ExitCode::SUCCESS);
    }
    if waiting.is_empty() {
        context.out.note("nothing waits for you");
    }
    let now = project.clock().now();
    for it in &waiting {
        context.out.line(drawing::line(it, now))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show_entry(context: &Context, id: &str) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = entry_id(id)?;
    let entry = project.inbox()?.find(&id)?.clone();
    let holds = entries::held_by(&mut project, &entry)?;
    let waiting = waypost_engine::WaitingEntry { entry, holds };
    if context.out.json {
        context.out.json(&EntryReport::from(&waiting))?;
        return Ok(ExitCode::SUCCESS);
    }
    context.out.line(drawing::page(&waiting, project.clock().now()))?;
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

fn entry_id(text: &str) -> Result<EntryId, CliError> {
    text.parse()
        .map_err(|error: BadId| CliError::bad_input(error.to_string()).next(NextStep::ShowInbox))
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
