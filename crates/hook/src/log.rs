//! Writes down what was answered: one line each, for the journal to take in at the next load.

use crate::spot::Spot;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};
use waypost_agent::hook::Event;
use waypost_model::{
    layout,
    time::Time,
    verdict::{Verdict, VerdictOutcome},
};

/// Where the lines go, beside the journal.
const FILE: &str = layout::state::VERDICTS;

/// Beyond this only refusals are written down: no command has loaded the journal for long.
const SIZE_MAX: u64 = 16 << 20;

/// How often a file that is being moved aside is left for the one after it.
const TRIES: usize = 20;

/// To whom an answer was given.
#[derive(Clone, Copy, Debug)]
pub struct Whom<'a> {
    pub program: &'a str,
    pub session: Option<&'a str>,
    pub subagent: Option<&'a str>,
}

impl<'a> From<&'a Event> for Whom<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            program: event.product.as_str(),
            session: event.session.as_deref(),
            subagent: event.subagent.as_deref(),
        }
    }
}

/// Writes down what was answered. An answer does not wait for that to work: a line that cannot be
/// written is lost.
pub fn note<'a>(spot: &Spot, whom: impl Into<Whom<'a>>, at: Time, outcome: VerdictOutcome) {
    let Whom { program, session, subagent } = whom.into();
    let verdict = Verdict {
        v: Verdict::FORMAT,
        at,
        tree: spot.tree.clone(),
        program: program.to_owned(),
        session: session.map(str::to_owned),
        subagent: subagent.map(str::to_owned),
        outcome,
    };
    let _lost = append(&spot.state, &verdict);
}

/// Appends a verdict in the journal's folder `state`.
fn append(state: &Path, verdict: &Verdict) -> io::Result<()> {
    let mut line = serde_json::to_vec(verdict)?;
    line.push(b'\n');
    let path = state.join(FILE);
    for _ in 0..TRIES {
        let mut options = OpenOptions::new();
        // Whatever stands there instead, the hook does not wait for its reader.
        options
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = options.open(&path)?;
        // The process that moves the file aside locks it for an instant; then ours is the wrong one.
        if flock(&file, FlockOperation::NonBlockingLockShared).is_err() || !stands_at(&file, &path)
        {
            continue;
        }
        let is_full = file.metadata()?.size() > SIZE_MAX;
        if is_full && matches!(verdict.outcome, VerdictOutcome::Allowed { .. }) {
            return Ok(());
        }
        return (&file).write_all(&line);
    }
    beside(state, verdict, &line)
}

/// Writes a line to a file of its own, named as those that were moved aside: the process that moves
/// the log may be stopped for long.
fn beside(state: &Path, verdict: &Verdict, line: &[u8]) -> io::Result<()> {
    let name = format!("verdicts-{}-{}-alone.jsonl", verdict.at.millis(), std::process::id());
    let draft = state.join(format!("draft-of-{name}"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(&draft)?.write_all(line)?;
    // It is found under its name only when it is whole.
    Ok(rustix::fs::rename(&draft, state.join(name))?)
}

fn stands_at(file: &File, path: &Path) -> bool {
    let same = |one: std::fs::Metadata, other: std::fs::Metadata| one.ino() == other.ino();
    file.metadata().and_then(|one| Ok(same(one, path.metadata()?))).unwrap_or(false)
}

/// The last verdict on a conversation itself, not on one of its subagents, if it was written down
/// lately and is not in the journal yet.
pub fn last_of(state: &Path, session: &str) -> Option<Verdict> {
    /// Some tens of lines.
    const TAIL: u64 = 16 << 10;
    let mut file = File::open(state.join(FILE)).ok()?;
    let size = file.metadata().ok()?.size();
    file.seek(io::SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let is_own = |it: &Verdict| it.session.as_deref() == Some(session) && it.subagent.is_none();
    let read = |line: &str| serde_json::from_str::<Verdict>(line).ok();
    text.lines().rev().filter_map(read).find(is_own)
}
