//! The lock file beside a run's state file, as other tools know it: it exists, or it does not.
//!
//! Ours exists only while the state file is replaced. One of another tool counts while the
//! process named in it lives; one that names no process counts for 30 s from its last change. Our own
//! processes take turns under an operating system lock, so only foreign tools can race with us.

use super::{FileLock, Owner, owner};
use crate::{
    error::StoreError,
    file::{self, Mark},
    place::Place,
};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::{layout, time::Time};

/// How often a lock that another tool holds is looked at, as those tools do.
pub const SEED_LOCK_POLL: Duration = Duration::from_millis(100);
/// How long a lock counts that does not say whose it is.
const NAMELESS_LIFE: Duration = Duration::from_secs(30);
const LOCK_SIZE_MAX: u64 = 64 << 10;

/// Who asks for the lock, where, and when.
#[derive(Clone, Copy, Debug)]
pub struct SeedRequest<'a> {
    pub place: &'a Place,
    /// The lock file itself, such as `.claude/orchestrate-state.json.lock`.
    pub path: &'a Path,
    pub owner: &'a Owner,
    pub now: Time,
}

/// The lock file is ours; it is deleted when this is dropped.
#[derive(Debug)]
pub struct SeedLock {
    path: PathBuf,
    mark: Mark,
    taken_over: Option<String>,
    /// Released after the file is gone, so that our next process finds it free.
    _turn: FileLock,
}

impl SeedLock {
    /// Makes the lock file, waiting for others.
    ///
    /// `wait` waits for the span it is given and returns the time after it, or `None` to give up.
    pub fn acquire(
        request: &SeedRequest<'_>,
        wait: &mut dyn FnMut(Duration) -> Option<Time>,
    ) -> Result<Self, StoreError> {
        let mut now = request.now;
        let mut watch = Watch::default();
        let turn = loop {
            if let Some(turn) = take_turn(request)? {
                break turn;
            }
            now = wait(SEED_LOCK_POLL).ok_or_else(|| busy(request.path))?;
        };
        file::sweep(request.path)?;
        let mut text = serde_json::to_vec(request.owner).expect("an owner is plain data");
        text.push(b'\n');
        let mut taken_over = None;
        loop {
            match judge(request.path, now, &mut watch)? {
                Verdict::Gone if file::create_volatile(request.path, &text, file::SHARED)? => break,
                Verdict::Gone => {}
                Verdict::Holds => now = wait(SEED_LOCK_POLL).ok_or_else(|| busy(request.path))?,
                Verdict::Stale { mark, why } => {
                    if take_away(request.path, &mark)? {
                        taken_over = Some(why);
                    }
                }
            }
        }
        let mark = Mark::of(request.path)?.ok_or_else(|| busy(request.path))?;
        Ok(Self { path: request.path.to_owned(), mark, taken_over, _turn: turn })
    }

    /// Why another tool's lock was put aside, if one was.
    pub fn taken_over(&self) -> Option<&str> {
        self.taken_over.as_deref()
    }
}

impl Drop for SeedLock {
    fn drop(&mut self) {
        // Another tool may have taken ours over; its lock is not ours to delete.
        if let Ok(Some(mark)) = Mark::of(&self.path)
            && mark.is_same_file(&self.mark)
        {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

fn take_turn(request: &SeedRequest<'_>) -> Result<Option<FileLock>, StoreError> {
    file::make_private_folder(&request.place.state)?;
    FileLock::try_acquire(&request.place.state.join(layout::state::SEED_TURN))
}

fn busy(path: &Path) -> StoreError {
    StoreError::Busy { what: path.display().to_string(), holder: read_ours(path).map(Box::new) }
}

fn read_ours(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&file::read_bounded(path, LOCK_SIZE_MAX).ok()??).ok()
}

/// The same file, seen unchanged for how long; the clock may jump, our waiting does not.
#[derive(Debug, Default)]
struct Watch {
    mark: Option<Mark>,
    looks: u32,
}

#[derive(Debug)]
enum Verdict {
    Gone,
    Holds,
    Stale { mark: Mark, why: String },
}

fn judge(path: &Path, now: Time, watch: &mut Watch) -> Result<Verdict, StoreError> {
    let Some(mark) = Mark::of(path)? else { return Ok(Verdict::Gone) };
    if watch.mark == Some(mark) {
        watch.looks += 1;
    } else {
        *watch = Watch { mark: Some(mark), looks: 0 };
    }
    let Some(bytes) = file::read_bounded(path, LOCK_SIZE_MAX)? else { return Ok(Verdict::Gone) };
    Ok(match named_process(&bytes) {
        Some(process) if process.is_alive() => Verdict::Holds,
        Some(process) => {
            let why = format!("its owner, process {}, is gone", process.pid);
            Verdict::Stale { mark, why }
        }
        None => {
            let changed = Time::from_millis(i64::try_from(mark.mtime_ns / 1_000_000).unwrap_or(0));
            let waited = SEED_LOCK_POLL * watch.looks;
            if now.since(changed) < NAMELESS_LIFE && waited < NAMELESS_LIFE {
                Verdict::Holds
            } else {
                Verdict::Stale { mark, why: "it names no owner and is older than 30 s".into() }
            }
        }
    })
}

/// Removes the stale file, and puts back what turns out to be another one; `false`: it was.
fn take_away(path: &Path, stale: &Mark) -> Result<bool, StoreError> {
    let aside = match file::move_aside(path) {
        Ok(aside) => aside,
        Err(StoreError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let is_stale = Mark::of(&aside)?.is_some_and(|mark| mark.is_same_file(stale));
    if !is_stale && file::move_new(&aside, path)? {
        return Ok(false);
    }
    file::remove(&aside)?;
    Ok(is_stale)
}

/// A process as other tools may write it: ours, less of it, or a bare number.
#[derive(Debug, Deserialize)]
struct NamedProcess {
    pid: u32,
    started: Option<u64>,
    boot_id: Option<String>,
}

impl NamedProcess {
    fn is_alive(&self) -> bool {
        let same_boot = self.boot_id.as_ref().is_none_or(|boot| *boot == owner::boot_id());
        let start = owner::start_of(self.pid);
        same_boot && start.is_some() && self.started.is_none_or(|it| start == Some(it))
    }
}

fn named_process(bytes: &[u8]) -> Option<NamedProcess> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    match text.parse() {
        Ok(pid) => Some(NamedProcess { pid, started: None, boot_id: None }),
        Err(_) => serde_json::from_str(text).ok(),
    }
}
