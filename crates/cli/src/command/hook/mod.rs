//! `waypost hook`: answers the events of agent programs from the journal itself.
//!
//! `waypost-hook` answers most tool calls alone and comes here for the rest. Whatever goes wrong
//! ends as a refusal while a workflow is or may be active: agent programs take a crash, a strange
//! exit code and silence for a yes.

mod git;
mod rights;
mod session;
mod tool;

use crate::{error::CliError, output::say};
use std::{
    io::{self, Read as _, Write as _},
    panic::{self, AssertUnwindSafe},
    path::Path,
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};
use waypost_agent::hook::{Event, HookAnswer, INPUT_SIZE_MAX, Moment, Reply, read, refuse_unread};
use waypost_engine::{Clock, Project};
use waypost_hook::{Asked, Spot, fence, folders, is_second, log};
use waypost_model::verdict::VerdictOutcome;

/// How long a judgement may take. Agent programs wait for a minute and then take silence for a yes;
/// a lock that another process keeps, or a file that takes minutes to read, must not become one.
const PATIENCE: Duration = Duration::from_secs(40);

/// As much as the main thread has.
const STACK: usize = 8 << 20;

/// Answer an event of an agent program or of git
///
/// Agent programs and git's own hooks call this; `waypost init` registers it. The event is read
/// from standard input as the program sends it, and answered in its own form.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArgs {
    /// claude, codex or gemini; or `git pre-commit`, `git pre-push` and what git gives them
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(args: &HookArgs) -> Result<ExitCode, CliError> {
    Ok(answer(&args.words))
}

/// Answers without a look at other arguments; also the way in that skips reading the command line.
pub(crate) fn answer(words: &[String]) -> ExitCode {
    if words.first().is_some_and(|word| word == "git") {
        return git::answer(&words[1..]);
    }
    if words.first().is_some_and(|word| word == "rights") {
        return rights::answer(&words[1..]);
    }
    let asked = Asked::of(words.to_vec());
    let answered = panic::catch_unwind(AssertUnwindSafe(|| reply(&asked)));
    let failed = || refuse_unread(asked.product, "`waypost hook` has failed; this is a bug");
    let reply = answered.unwrap_or_else(|_| failed());
    // An answer that no program takes cannot be given in another way.
    let _unheard = io::stderr().write_all(reply.stderr.as_bytes());
    let _unheard = io::stdout().write_all(reply.stdout.as_bytes());
    ExitCode::from(reply.code)
}

fn reply(asked: &Asked) -> Reply {
    let product = asked.product;
    let mut input = Vec::new();
    let limit = INPUT_SIZE_MAX as u64 + 1;
    let is_read = io::stdin().take(limit).read_to_end(&mut input);
    let whole = is_read.is_ok().then_some(input.as_slice());
    if let Some(refused) = fence::refuse(product, whole, || Clock.now()) {
        return refused;
    }
    let event = match is_read {
        Ok(_) => read(product, &input).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match event {
        Ok(event) if matches!(event.moment, Moment::BeforeTool(_)) => {
            let refused = |reason: &str| event.reply(&HookAnswer::Refuse(reason.to_owned()));
            let (late, failed) = (
                refused("the gate did not answer in time; `waypost doctor` says more"),
                refused("`waypost hook` has failed; this is a bug"),
            );
            let asked = asked.clone();
            within(PATIENCE, move || event.reply(&consider(&asked, &event)), late).unwrap_or(failed)
        }
        Ok(event) => event.reply(&consider(asked, &event)),
        Err(error) => match folders(None).iter().any(|folder| tool::is_held(folder)) {
            true => refuse_unread(product, &format!("the event cannot be read: {error}")),
            false => Reply { stdout: String::new(), stderr: String::new(), code: 0 },
        },
    }
}

/// What `work` comes to, or `late` if it takes too long; it ends with the process then. None if it
/// panics.
fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
    late: T,
) -> Option<T> {
    let (done, wait) = mpsc::sync_channel(1);
    let thread = thread::Builder::new().stack_size(STACK);
    // The program does not listen any more if it comes late.
    thread.spawn(move || drop(done.send(work()))).ok()?;
    match wait.recv_timeout(limit) {
        Ok(value) => Some(value),
        Err(mpsc::RecvTimeoutError::Timeout) => Some(late),
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
    }
}

fn consider(asked: &Asked, event: &Event) -> HookAnswer {
    let is_decided = matches!(event.moment, Moment::BeforeTool(_) | Moment::SettingsChange { .. });
    if !is_decided && is_told_elsewhere(event) {
        return HookAnswer::Silent;
    }
    match &event.moment {
        Moment::BeforeTool(call) => tool::before(asked, event, call),
        Moment::SettingsChange { source } => session::settings_change(event, source),
        Moment::AfterTool(_) => session::after_tool(event),
        Moment::SessionStart { source } => session::start(event, source),
        Moment::BeforeCompaction { trigger } => session::compaction(event, trigger),
        Moment::Stop { is_held } => session::stop(event, *is_held),
        // A subagent ends when its part is done; what is open is its conversation's business.
        Moment::SubagentStop { .. } | Moment::Other => HookAnswer::Silent,
    }
}

/// Whether the project's own registration tells what the plugin's would tell again.
fn is_told_elsewhere(event: &Event) -> bool {
    let folders = folders(Some(event));
    let roots = folders.iter().flat_map(|folder| folder.ancestors());
    is_second(event.product, roots)
}

/// Writes down what was answered: in the journals that have a say, and in that of the agent's attempt,
/// also where no gate is asked. Those of others learn nothing of an attempt that is not theirs.
fn note(event: &Event, spots: &[&Spot], outcome: &VerdictOutcome) {
    if is_told_elsewhere(event) {
        return;
    }
    let (own, now) = (fence::journal(), Clock.now());
    fence::note_for_attempt(event, now, outcome, spots);
    for spot in spots.iter().filter(|it| own.as_ref().is_none_or(|own| *own == it.state)) {
        log::note(spot, event, now, outcome.clone());
    }
}

/// The place of a project as the judgement knows it.
fn spot(project: &Project) -> Spot {
    let place = project.place();
    Spot {
        root: place.root.clone(),
        git_common: place.repository(),
        state: place.state.clone(),
        tree: place.tree.to_string(),
    }
}

/// The folder that an event is about; it exists.
fn folder(event: &Event) -> Option<std::path::PathBuf> {
    folders(Some(event)).into_iter().next()
}

/// Says on standard error what an agent program does not listen to.
fn complain(start: &Path, error: &dyn std::fmt::Display) {
    say(&format!("waypost: {}: {error}", start.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_does_not_end_is_answered_for() {
        let (_keep, never) = mpsc::channel::<&str>();
        let stuck = move || never.recv().unwrap_or("done");
        assert_eq!(within(Duration::ZERO, stuck, "late"), Some("late"));
        assert_eq!(within(PATIENCE, || "done", "late"), Some("done"));
        assert_eq!(within(PATIENCE, || panic!("no"), "late"), None);
    }
}
