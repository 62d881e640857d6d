//! Git work for a run, in threads of its own: a run goes on while trees are made, committed, joined
//! and retired.
//!
//! What moves the branch of a phase or the target is done by one thread in the order in which it was
//! given; everything else by a few at once. A job that was given is done, also when the run ends;
//! the executor waits for the rest. Should it be killed, the jobs' git processes hold a lock that
//! the next engine waits for.

use super::attempt::log_path;
use crate::{
    bell::Bell,
    error::{EngineError, with_causes},
};
use std::{
    fs::OpenOptions,
    io::Write as _,
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::fs::OpenOptionsExt as _,
    },
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread,
};
use waypost_git::{
    Committed, GitError, Join, Land, Landing, Occupant, PhaseBranch, Retirement, Stamp, Trees,
    merge, packs, tree,
};
use waypost_model::{id::TaskId, trouble::Trouble};
use waypost_store::file;

/// How many jobs that move no branch are done at once.
const HANDS: usize = 4;

/// After so many jobs without a pause packs are looked after all the same.
const JOBS_BETWEEN: usize = 64;

/// How often something is done again because git was killed.
const KILLS_MAX: usize = 3;

/// Something to do in git.
#[derive(Debug)]
pub(super) enum GitJob {
    /// Make the work tree of an attempt, and retire those of earlier attempts at its task.
    Make {
        id: TaskId,
        name: String,
        phase: PhaseBranch,
    },
    /// Make the work tree of a phase ready for another attempt in it.
    Prepare {
        occupant: Occupant,
        /// It gets back what the attempt before it left.
        goes_on: bool,
    },
    /// Take what an attempt left out of the work tree of its phase; why it is over.
    Leave {
        occupant: Occupant,
        why: String,
    },
    /// Commit what an attempt did in its own work tree.
    Commit {
        id: TaskId,
        name: String,
        phase: PhaseBranch,
        stamp: Stamp,
        /// The files that it declares.
        files: Vec<String>,
    },
    /// Commit what an attempt did in the work tree of its phase.
    CommitShared {
        occupant: Occupant,
        needs_change: bool,
        evidence: String,
    },
    Join {
        id: TaskId,
        joining: Joining,
    },
    Retire {
        name: String,
        why: String,
    },
    OpenPhase(PhaseBranch),
    SyncPhase(PhaseBranch),
    SettlePhase {
        phase: PhaseBranch,
        /// Its branch was recorded as made: it is not made again without what was joined.
        is_made: bool,
    },
    Land(Box<Landing>),
    /// Leave the work tree of a phase to a person who has to fix something; why.
    HandOver(PhaseBranch, String),
    ClosePhase(PhaseBranch),
}

/// What is to be joined.
#[derive(Debug)]
pub(super) struct Joining {
    pub(super) phase: PhaseBranch,
    pub(super) name: String,
    pub(super) commit: String,
    pub(super) stamp: Stamp,
    pub(super) evidence: String,
    /// Whether anything was run on it that might have changed it.
    pub(super) was_verified: bool,
}

/// What became of a job.
#[derive(Debug)]
pub(super) enum GitResult {
    Made { id: TaskId, made: Result<Made, EngineError> },
    Left { id: TaskId, left: Result<(), EngineError> },
    Committed { id: TaskId, committed: Result<Committed, EngineError> },
    Joined { id: TaskId, join: Result<Join, EngineError> },
    Retired { name: String, retired: Result<Retirement, EngineError> },
    Opened { phase: PhaseBranch, base: Result<String, EngineError> },
    Synced(Result<(), EngineError>),
    Settled { phase: u32, settled: Result<(), EngineError> },
    Landed { phase: u32, land: Result<Land, EngineError> },
    HandedOver { phase: u32, why: String, handed: Result<(), EngineError> },
    Closed(Result<(), EngineError>),
}

impl GitResult {
    /// The trouble of the machine that it met: at which attempt, which one, and why.
    pub(super) fn trouble(&self) -> Option<(Option<TaskId>, Trouble, String)> {
        let (id, error) = match self {
            Self::Made { id, made } => (Some(id), made.as_ref().err()),
            Self::Left { id, left } => (Some(id), left.as_ref().err()),
            Self::Committed { id, committed } => (Some(id), committed.as_ref().err()),
            Self::Joined { id, join } => (Some(id), join.as_ref().err()),
            Self::Retired { retired, .. } => (None, retired.as_ref().err()),
            Self::Opened { base, .. } => (None, base.as_ref().err()),
            Self::Landed { land, .. } => (None, land.as_ref().err()),
            Self::Synced(done) | Self::Closed(done) => (None, done.as_ref().err()),
            Self::Settled { settled: done, .. } | Self::HandedOver { handed: done, .. } => {
                (None, done.as_ref().err())
            }
        };
        let error = error?;
        Some((id.cloned(), error.trouble()?, with_causes(error)))
    }

    /// Whether it shows that the machine lets git work.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Made { made, .. } => matches!(made, Ok(Made::New | Made::Kept { .. })),
            Self::Committed { committed, .. } => committed.is_ok(),
            Self::Joined { join, .. } => join.is_ok(),
            Self::Opened { base, .. } => base.is_ok(),
            Self::Landed { land, .. } => land.is_ok(),
            Self::Synced(done) | Self::Left { left: done, .. } => done.is_ok(),
            Self::Settled { settled: done, .. } => done.is_ok(),
            Self::Retired { .. } | Self::HandedOver { .. } | Self::Closed(_) => false,
        }
    }
}

/// What became of making a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    New,
    /// It was there. An attempt that goes on may not have got back what it had done; why.
    Kept {
        without: Option<String>,
    },
    /// The disk is nearly full.
    NoSpace,
}

/// The threads, and what they tell.
#[derive(Debug)]
pub(super) struct GitWork {
    pub(super) trees: Trees,
    serial: Sender<GitJob>,
    parallel: Sender<GitJob>,
    outcomes: Receiver<GitResult>,
    bell: Bell,
    /// How many jobs have been given that have not ended.
    at_work: usize,
}

impl GitWork {
    pub(super) fn open(trees: Trees) -> Result<Self, EngineError> {
        let (bell, (tell, outcomes)) = (Bell::new()?, channel());
        let (serial, serial_jobs) = channel();
        let (parallel, parallel_jobs) = channel();
        let parallel_jobs = Arc::new(Mutex::new(parallel_jobs));
        let serial_jobs = Arc::new(Mutex::new(serial_jobs));
        for hand in 0..=HANDS {
            let jobs = Arc::clone(if hand == 0 { &serial_jobs } else { &parallel_jobs });
            let (trees, tell, bell) = (trees.clone(), tell.clone(), bell.clone());
            thread::spawn(move || work(&trees, &jobs, &tell, &bell));
        }
        Ok(Self { trees, serial, parallel, outcomes, bell, at_work: 0 })
    }

    pub(super) fn give(&mut self, job: GitJob) {
        let to = match job {
            GitJob::Make { .. } | GitJob::Retire { .. } | GitJob::Commit { .. } => &self.parallel,
            _ => &self.serial,
        };
        to.send(job).expect("its threads live as long as the work");
        self.at_work += 1;
    }

    /// Whether everything that was given has ended.
    pub(super) fn is_idle(&self) -> bool {
        self.at_work == 0
    }

    /// Waits until everything that was given is done.
    pub(super) fn drain(self) {
        let Self { serial, parallel, outcomes, .. } = self;
        // The threads end when they have done what they were given.
        drop((serial, parallel));
        while outcomes.recv().is_ok() {}
    }

    /// Readable when something has ended.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// What has ended since, one at a time: an executor that cannot go on with one finds the next later.
    pub(super) fn ended(&mut self) -> Option<GitResult> {
        self.bell.hear();
        let ended = self.outcomes.try_recv().ok()?;
        self.at_work -= 1;
        Some(ended)
    }
}

fn work(trees: &Trees, jobs: &Mutex<Receiver<GitJob>>, tell: &Sender<GitResult>, bell: &Bell) {
    for number in 1_usize.. {
        let job = next_job(trees, jobs, number);
        let Some(job) = job else { return };
        if tell.send(perform(trees, job)).is_err() {
            return;
        }
        bell.ring();
    }
}

/// Waits for a job. When there is none yet, and from time to time otherwise, small packs of objects
/// become larger ones first.
fn next_job(trees: &Trees, jobs: &Mutex<Receiver<GitJob>>, number: usize) -> Option<GitJob> {
    let next = match jobs.try_lock() {
        Ok(jobs) => jobs.try_recv(),
        // Another hand waits for one already.
        Err(_) => Err(TryRecvError::Empty),
    };
    if next.is_err() || number.is_multiple_of(JOBS_BETWEEN) {
        // It is tried again after the next job, and harms no one undone.
        let _later = packs::tidy(trees);
    }
    match next {
        Ok(job) => Some(job),
        Err(TryRecvError::Disconnected) => None,
        Err(TryRecvError::Empty) => jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok(),
    }
}

/// Does something again if a git was killed under it, or has left a lock in its way. Everything
/// that is done here may be done twice.
fn again<T>(trees: &Trees, act: impl Fn() -> Result<T, GitError>) -> Result<T, EngineError> {
    for _ in 0..KILLS_MAX {
        let error = match act() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let released = tree::release_locks(trees)?;
        if released == 0 && !matches!(error, GitError::Killed { .. }) && !error.is_lost() {
            return Err(error.into());
        }
    }
    Ok(act()?)
}

fn perform(trees: &Trees, job: GitJob) -> GitResult {
    match job {
        GitJob::Make { id, name, phase } => {
            let made = again(trees, || make(trees, &id, &name, &phase));
            GitResult::Made { id, made }
        }
        GitJob::Prepare { occupant, goes_on } => {
            let made = again(trees, || prepare(trees, &occupant, goes_on));
            GitResult::Made { id: occupant.stamp.id, made }
        }
        GitJob::Leave { occupant, why } => {
            let left = again(trees, || merge::leave(trees, &occupant, &why));
            GitResult::Left { id: occupant.stamp.id, left }
        }
        GitJob::Commit { id, name, phase, stamp, files } => {
            let commit = || merge::commit_attempt(trees, &name, &phase, &stamp, &files);
            let committed = again(trees, commit);
            note_outputs(trees, &stamp, &committed);
            GitResult::Committed { id, committed }
        }
        GitJob::CommitShared { occupant, needs_change, evidence } => {
            let commit = || merge::commit_shared(trees, &occupant, needs_change, &evidence);
            let committed = again(trees, commit);
            note_outputs(trees, &occupant.stamp, &committed);
            GitResult::Committed { id: occupant.stamp.id, committed }
        }
        GitJob::Join { id, joining } => {
            let join = again(trees, || join(trees, &joining));
            GitResult::Joined { id, join }
        }
        GitJob::Retire { name, why } => {
            let retired = again(trees, || tree::retire(trees, &name, &why));
            GitResult::Retired { name, retired }
        }
        GitJob::OpenPhase(phase) => {
            let base = again(trees, || merge::open_phase(trees, &phase));
            GitResult::Opened { phase, base }
        }
        GitJob::SyncPhase(phase) => {
            GitResult::Synced(again(trees, || merge::sync_phase(trees, &phase)))
        }
        GitJob::SettlePhase { phase, is_made } => {
            let settle = || {
                is_made.then(|| phase.tip(trees)).transpose()?;
                merge::settle_phase(trees, &phase)
            };
            let settled = again(trees, settle);
            GitResult::Settled { phase: phase.number, settled }
        }
        GitJob::Land(landing) => {
            let land = again(trees, || merge::land(trees, &landing));
            GitResult::Landed { phase: landing.phase.number, land }
        }
        GitJob::HandOver(phase, why) => {
            let handed = again(trees, || merge::hand_over(trees, &phase));
            GitResult::HandedOver { phase: phase.number, why, handed }
        }
        GitJob::ClosePhase(phase) => {
            GitResult::Closed(again(trees, || merge::close_phase(trees, &phase)))
        }
    }
}

/// Says in an attempt's log what of its outputs goes with its tree: that is where a person looks who
/// misses them later.
fn note_outputs(trees: &Trees, stamp: &Stamp, committed: &Result<Committed, EngineError>) {
    let Ok(Committed::At { ignored, .. }) = committed else { return };
    let Some(told) = ignored.told() else { return };
    let log = log_path(trees.state(), &stamp.id, stamp.attempt);
    let Some(folder) = log.parent() else { return };
    // It is said to those who watch as well, so the work goes on without it.
    let _unsaid = file::make_private_folder(folder).map(|()| {
        let opened = OpenOptions::new().append(true).create(true).mode(file::PRIVATE).open(&log);
        opened.and_then(|mut log| writeln!(log, "waypost: {told}"))
    });
}

/// Makes the work tree of an attempt, and retires those of earlier attempts at its task.
pub(crate) fn make(
    trees: &Trees,
    id: &TaskId,
    name: &str,
    phase: &PhaseBranch,
) -> Result<Made, GitError> {
    for earlier in tree::earlier(trees, &phase.name, id, name)? {
        // One that cannot be retired now stays, and is retired another time.
        if let Err(error @ GitError::Killed { .. }) =
            tree::retire(trees, &earlier, "another attempt begins")
        {
            return Err(error);
        }
    }
    if !tree::has_space(trees)? {
        return Ok(Made::NoSpace);
    }
    let base = phase.tip(trees)?;
    Ok(match tree::make(trees, name, &base)?.is_new {
        true => Made::New,
        false => Made::Kept { without: None },
    })
}

fn prepare(trees: &Trees, occupant: &Occupant, goes_on: bool) -> Result<Made, GitError> {
    if !tree::has_space(trees)? {
        return Ok(Made::NoSpace);
    }
    let phase = &occupant.phase;
    phase.tip(trees)?;
    let is_new = !trees.path(&phase.name).join(".git").exists();
    if is_new {
        merge::open_phase(trees, phase)?;
    }
    let without = merge::enter(trees, occupant, goes_on)?;
    // No process has worked in it before the first commit.
    let is_new = is_new || merge::is_untouched(trees, phase)?;
    Ok(if is_new && without.is_none() { Made::New } else { Made::Kept { without } })
}

fn join(trees: &Trees, joining: &Joining) -> Result<Join, GitError> {
    let Joining { phase, name, commit, stamp, evidence, was_verified } = joining;
    if *was_verified {
        let files = merge::changed_since(trees, name, commit)?;
        if !files.is_empty() {
            return Ok(Join::Unclean { files });
        }
    }
    // Before its end is recorded: what begins after it finds what it made.
    tree::keep_outputs(trees, name)?;
    merge::join(trees, phase, commit, stamp, evidence)
}
