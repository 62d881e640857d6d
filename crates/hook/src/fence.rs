//! Holds an agent whose attempt is over: none of its tool calls is carried out any more.
//!
//! The engine keeps the number of a task's live attempt in a small file beside the journal, and
//! names it in the environment of the agent. Looked at before anything else, because nothing else
//! matters to an attempt that is over. A file that is gone or cannot be read ends the attempt too:
//! the engine removes it before the task is worked on again.

use crate::{Spot, folders, log};
use rustix::fs::OFlags;
use std::{
    env, ffi::OsStr, fs::OpenOptions, io::Read as _, os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};
use waypost_agent::hook::{Event, HookAnswer, Moment, Product, Reply, read, refuse_unread};
use waypost_model::{
    layout::{self, variable},
    time::Time,
    verdict::VerdictOutcome,
};

/// More than any number with a line end.
const SIZE_MAX: u64 = 32;

/// What the verdict calls it.
const RULE: &str = "stale_attempt";

/// The refusal of a tool call by an attempt that is over; also of an event that cannot be read,
/// which may be one. None for all other events, and outside of such an attempt.
pub fn refuse(
    product: Option<Product>,
    input: Option<&[u8]>,
    now: impl Fn() -> Time,
) -> Option<Reply> {
    let reason = over()?;
    match input.and_then(|input| read(product, input).ok()) {
        None => Some(refuse_unread(product, &reason)),
        Some(event) => {
            let Moment::BeforeTool(call) = &event.moment else { return None };
            let outcome = VerdictOutcome::Refused {
                tool: call.name.clone(),
                call: call.id.clone(),
                rule: RULE.to_owned(),
                message: reason.clone(),
            };
            note(&event, now(), outcome);
            Some(event.reply(&HookAnswer::Refuse(reason)))
        }
    }
}

/// The one sentence for an attempt that is over; none for the live one and outside of any.
pub fn over() -> Option<String> {
    let file = env::var_os(variable::FENCE)?;
    let attempt = env::var(variable::ATTEMPT).ok();
    if attempt.is_some() && live(&file) == attempt {
        return None;
    }
    let attempt =
        attempt.map_or_else(|| "this attempt".into(), |number| format!("attempt {number}"));
    let task = env::var(variable::TASK).map_or(String::new(), |task| format!(" of {task}"));
    Some(format!("{attempt}{task} is over; stop here"))
}

/// The number in the file; none if there is none, or if it is not a plain small file.
fn live(path: &OsStr) -> Option<String> {
    let mut options = OpenOptions::new();
    // A link is not ours, and a pipe is not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path).ok()?;
    let found = file.metadata().ok()?;
    let mut text = String::new();
    (found.is_file() && found.len() <= SIZE_MAX).then_some(())?;
    file.take(SIZE_MAX).read_to_string(&mut text).ok()?;
    let number = text.trim_ascii();
    let is_number = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| number.to_owned())
}

/// The folder of the journal that the attempt belongs to; none outside of one.
///
/// It need not be the journal of the folder that the agent works in.
pub fn journal() -> Option<PathBuf> {
    let file = PathBuf::from(env::var_os(variable::FENCE)?);
    let state = file.parent()?.parent()?;
    state.join(layout::state::JOURNAL).is_file().then(|| state.to_owned())
}

/// Writes the refusal down in the attempt's own journal, else where one is near.
fn note(event: &Event, at: Time, outcome: VerdictOutcome) {
    let near = near(event);
    let spot = match journal() {
        None => near,
        Some(state) => Some(in_journal(state, near)),
    };
    if let Some(spot) = spot {
        log::note(&spot, event, at, outcome);
    }
}

/// Writes a verdict on a call of an attempt down in the attempt's own journal, unless that is one of
/// those that have it already. A call without a verdict there is one that went past the hook, wherever
/// it was made.
pub fn note_for_attempt(event: &Event, at: Time, outcome: &VerdictOutcome, noted: &[&Spot]) {
    let Some(state) = journal() else { return };
    if !noted.iter().any(|spot| spot.state == state) {
        log::note(&in_journal(state, near(event)), event, at, outcome.clone());
    }
}

/// The place of a project around an event.
fn near(event: &Event) -> Option<Spot> {
    folders(Some(event)).iter().find_map(|folder| Spot::find(folder))
}

/// A place whose verdicts go to this journal.
fn in_journal(state: PathBuf, near: Option<Spot>) -> Spot {
    let (root, git_common) = (PathBuf::new(), None);
    let unknown = || Spot { root, git_common, state: PathBuf::new(), tree: "main".into() };
    Spot { state, ..near.unwrap_or_else(unknown) }
}
