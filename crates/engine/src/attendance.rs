//! A run that goes on in a process of its own, and ending one from outside.
//!
//! The process that starts it waits until it is at work or has failed, and may then go. The process is in a
//! session of its own, so that neither a closed terminal nor the end of an agent's conversation
//! takes it along. What it says goes to a log beside the journal, of which there is never more than
//! two files of a limited size.
//!
//! A run is asked to end at the socket of its host. An engine that does not answer there is asked by
//! a signal, through a handle that was compared with the owner of the engine lease, so that it never
//! meets another process.

use crate::{
    agent::agents_folder,
    clock::Clock,
    environment::Environment,
    error::{EngineError, Problem},
    execute::RunOptions,
    host::{self, Stopped, Stopping},
    project::Project,
    summary,
};
use rustix::{
    fs::OFlags,
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    os::unix::{fs::OpenOptionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use waypost_model::{
    code::Code,
    layout::{self, variable},
    machine::Rejected,
    next::NextStep,
};
use waypost_proc::limit_open_files;
use waypost_store::{
    StoreError, file,
    lock::{EngineLease, Owner},
    place::Place,
};

/// Some ten thousand lines; more is not read by a person, and the journal has it all.
const LOG_SIZE_MAX: u64 = 1 << 20;

/// The most that is read of a log; what comes at once is rarely more than a part of this.
const LOG_READ_MAX: u64 = 16 << 20;

/// How often is looked at least whether a process has begun, or ended.
const POLL: Duration = Duration::from_millis(20);

/// How long a process may take to begin: it may have to kill what a dead one has left.
const BEGIN_PATIENCE: Duration = Duration::from_secs(60);

/// How long an engine may hold its lock without having written its name.
const NAME_PATIENCE: Duration = Duration::from_secs(5);

/// What an engine says of itself in its lock; no other kind is asked to end.
pub(crate) const RUNS: &str = "run";

/// How a process is told that it goes on with a run in the background.
const IN_BACKGROUND: &str = "--in-background";

/// Variables that belong to an attempt: a run that was started below one is not a part of it.
const OF_AN_ATTEMPT: [&str; 5] =
    [variable::TASK, variable::JOB, variable::ATTEMPT, variable::FENCE, variable::KEEPER];

/// What became of a process that was to go on in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is at work.
    Working { pid: u32 },
    /// It has ended already, with this exit code and these words.
    Ended { code: u8, said: String },
}

/// How soon an engine is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Haste {
    /// Running tasks finish.
    Finish,
    /// Running tasks are stopped and wait again.
    Now,
}

/// What a background run says, beside the journal.
#[derive(Clone, Debug)]
pub struct RunLog {
    path: PathBuf,
}

impl RunLog {
    pub fn of(place: &Place) -> Self {
        Self { path: place.state.join(layout::state::RUN_LOG) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn earlier(&self) -> PathBuf {
        self.path.with_extension("log.1")
    }

    /// Begins a new log; the one before it is kept.
    fn begin(&self) -> Result<File, StoreError> {
        if file::Mark::of(&self.path)?.is_some() {
            file::rename(&self.path, &self.earlier())?;
        }
        let mut options = OpenOptions::new();
        // Whatever is written goes to the end, also after the log was emptied.
        options.append(true).create_new(true).mode(file::PRIVATE);
        options.open(&self.path).map_err(|source| self.error("make", source))
    }

    fn read(&self) -> String {
        let bytes = file::read_bounded(&self.path, LOG_READ_MAX).ok().flatten();
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    /// Moves what was said to the earlier log when there is much of it. For the process whose
    /// output goes there, which says nothing meanwhile.
    pub fn keep_small(&self) -> Result<(), EngineError> {
        if file::Mark::of(&self.path)?.is_none_or(|mark| mark.size <= LOG_SIZE_MAX) {
            return Ok(());
        }
        // What is too large to be kept is lost: the limit is more important.
        if let Ok(Some(bytes)) = file::read_bounded(&self.path, LOG_READ_MAX) {
            file::replace_volatile(&self.earlier(), &bytes, file::PRIVATE)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let emptied = options.open(&self.path).and_then(|log| log.set_len(0));
        Ok(emptied.map_err(|source| self.error("empty", source))?)
    }

    fn error(&self, action: &'static str, source: std::io::Error) -> StoreError {
        StoreError::File { action, path: self.path.clone(), source }
    }
}

/// Starts `program` in the background, and waits until it has said `word` on a line of its own
/// or has ended. It has to make itself a session, and the engine.
pub fn start(
    project: &mut Project,
    program: &[OsString],
    word: &str,
) -> Result<Begun, EngineError> {
    project.refuse_stale()?;
    refuse_second_run(project)?;
    let log = RunLog::of(&project.setup.place);
    // The log is in the folder that is watched.
    let changes = project.journals.changes();
    let mut child = spawn(program, &log, &project.caller.environment)?;
    let (pid, start) = (child.id(), project.clock.now());
    loop {
        let status = child.try_wait().map_err(cannot_start)?;
        if let Some(status) = status {
            let killed = || status.signal().map_or(1, |signal| 128 + signal);
            let code = u8::try_from(status.code().unwrap_or_else(killed)).unwrap_or(1);
            return Ok(Begun::Ended { code, said: log.read() });
        }
        if log.read().lines().any(|line| line == word) {
            return Ok(Begun::Working { pid });
        }
        if project.clock.now().since(start) > BEGIN_PATIENCE {
            let message = format!("process {pid} has not begun to work");
            let hint = format!("{} has what it said", log.path.display());
            return Err(Problem::new(Code::NotBegun, message).hint(hint).into());
        }
        changes.wait(POLL);
    }
}

/// Refuses to go on where a run is at work already, before anything is changed. A host that
/// carries none can carry this one.
pub fn refuse_second_run(project: &Project) -> Result<(), EngineError> {
    match engine_owner(project)? {
        Some(owner) if is_at_work(project, &owner) => {
            Err(EngineError::Runs { owner: Box::new(owner) })
        }
        _ => Ok(()),
    }
}

/// Whether a process works on the run, or is about to.
pub fn is_run_attended(project: &Project) -> Result<bool, EngineError> {
    match project.journals.lease_holder() {
        Ok(owner) => Ok(owner.is_some_and(|owner| is_at_work(project, &owner))),
        // It holds the lease and has not written its name yet.
        Err(StoreError::Busy { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Whether this engine works on a run, or is about to.
fn is_at_work(project: &Project, owner: &Owner) -> bool {
    match host::state(&project.setup.place) {
        Some(state) if state.run().is_some() => true,
        Some(state) => is_run(owner) && !state.is_closing,
        None => is_run(owner),
    }
}

/// Who is the engine of this project.
fn engine_owner(project: &Project) -> Result<Option<Owner>, EngineError> {
    let start = project.clock.now();
    loop {
        match project.journals.lease_holder() {
            // It has just begun and writes its name any moment.
            Err(StoreError::Busy { .. }) if Clock.now().since(start) < NAME_PATIENCE => {
                project.journals.changes().wait(POLL);
            }
            found => return Ok(found?),
        }
    }
}

/// Asks the run that is at work to end; none if nothing is.
pub fn ask_run_to_end(project: &Project, haste: Haste) -> Result<Option<Stopping>, EngineError> {
    let Some(owner) = engine_owner(project)? else { return Ok(None) };
    match Stopping::ask(&project.setup.place, owner.clone(), haste)? {
        Stopped::Asked(stopping) => return Ok(Some(stopping)),
        Stopped::NoRun if !is_run(&owner) => return Ok(None),
        // It has not begun, or has just ended, or is of another version.
        Stopped::NoRun | Stopped::Unheard => {}
    }
    if !is_run(&owner) {
        let message = format!("the engine of this project is {owner}, which is no run");
        return Err(Rejected::rule(Code::NotARun, message).into());
    }
    // Signals of their own: an engine that they have ended was not interrupted at its terminal.
    let signal = match haste {
        Haste::Finish => Signal::USR1,
        Haste::Now => Signal::USR2,
    };
    match send(&owner, signal) {
        Ok(()) => Ok(Some(Stopping::by_signal(&project.setup.place, owner))),
        // It has ended meanwhile, which is what was asked for.
        Err(Errno::SRCH) if has_engine_ended(project, &owner)? => {
            Ok(Some(Stopping::by_signal(&project.setup.place, owner)))
        }
        Err(Errno::SRCH) => {
            let message = format!("the engine lock names {owner}, which is not there, and is held");
            Err(Problem::new(Code::LeaseStale, message).next(NextStep::Examine).into())
        }
        Err(error) => {
            Err(Problem::new(Code::CannotSignal, format!("{owner} cannot be asked to end"))
                .hint("the process that started it can end it")
                .because(error)
                .into())
        }
    }
}

/// Whether the engine of a run that is not over has died, and has left what it started: an
/// engine that ends takes its keepers along.
pub fn has_lost_engine(project: &mut Project) -> Result<bool, EngineError> {
    if !has_keepers(project) || is_run_attended(project)? {
        return Ok(false);
    }
    let is_over = summary::of_run(project)?.is_none_or(|run| run.is_over);
    // One that has just begun, or just ended, is not gone.
    Ok(!is_over && has_keepers(project) && !is_run_attended(project)?)
}

fn has_keepers(project: &Project) -> bool {
    let state = &project.setup.place.state;
    let folders = [state.join(layout::state::KEEPERS), agents_folder(state)];
    // What cannot be read is told by the command that has to read it.
    folders.iter().any(|folder| waypost_proc::is_any_left(folder).unwrap_or(false))
}

/// Whether the engine has let go of the project.
pub(crate) fn has_engine_ended(project: &Project, owner: &Owner) -> Result<bool, EngineError> {
    Ok(engine_owner(project)?.as_ref() != Some(owner))
}

/// The engine lock, for a process that begins a run and finds it taken.
pub(crate) fn take_engine_lease(
    project: &Project,
    owner: &Owner,
) -> Result<EngineLease, EngineError> {
    project.journals.lease(owner).map_err(|error| match error {
        StoreError::Busy { holder: Some(owner), .. } => held_by(*owner),
        other => other.into(),
    })
}

/// Who may act for a project.
pub(crate) enum EngineClaim {
    Ours(Box<EngineLease>),
    Theirs(Owner),
}

/// Takes the engine lease, or says which process has it.
pub(crate) fn claim_engine(
    project: &mut Project,
    purpose: &str,
) -> Result<EngineClaim, EngineError> {
    project.ensure_journal()?;
    let owner = Owner::this_process(purpose, project.clock.now());
    match project.journals.lease(&owner) {
        Ok(lease) => Ok(EngineClaim::Ours(Box::new(lease))),
        Err(StoreError::Busy { holder: Some(owner), .. }) => Ok(EngineClaim::Theirs(*owner)),
        Err(error) => Err(error.into()),
    }
}

/// Whether an engine was started for a run.
pub(crate) fn is_run(owner: &Owner) -> bool {
    owner.runs == RUNS
}

pub(crate) fn held_by(owner: Owner) -> EngineError {
    if is_run(&owner) {
        return EngineError::Runs { owner: Box::new(owner) };
    }
    let (what, holder) = ("the engine of this project".to_owned(), Some(Box::new(owner)));
    StoreError::Busy { what, holder }.into()
}

/// Starts a process that goes on with a run which has lost its own, when the host that carried it
/// ends.
pub(crate) fn start_successor(place: &Place, options: &RunOptions, environment: &Environment) {
    let Some(program) = options.keeper.first() else { return };
    let words = ["-C".into(), place.root.clone().into(), "run".into(), IN_BACKGROUND.into()];
    let phase = options.phase.map(|phase| OsString::from(format!("--phase={phase}")));
    let words: Vec<OsString> = [program.clone()].into_iter().chain(words).chain(phase).collect();
    // If it cannot be started the run stands where it is: the journal has everything.
    let _stands = spawn(&words, &RunLog::of(place), environment);
}

fn spawn(
    program: &[OsString],
    log: &RunLog,
    environment: &Environment,
) -> Result<Child, EngineError> {
    let (name, arguments) =
        program.split_first().ok_or_else(|| Problem::new(Code::Bug, "no program is given"))?;
    let said = log.begin()?;
    let twin = said.try_clone().map_err(|source| log.error("open", source))?;
    #[expect(clippy::disallowed_methods, reason = "the engine starts its own successor")]
    let mut command = Command::new(name);
    // Not in a process group of its own: the leader of one cannot make a session.
    command.args(arguments).current_dir("/");
    command.env_clear().envs(environment.all());
    for name in OF_AN_ATTEMPT {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(said).stderr(twin);
    let child = command.spawn().map_err(cannot_start)?;
    limit_open_files(&child);
    Ok(child)
}

fn cannot_start(error: std::io::Error) -> EngineError {
    Problem::new(Code::CannotStart, "the background process cannot be started")
        .hint("run it in the foreground")
        .next(NextStep::ResumeRun)
        .because(error)
        .into()
}

/// Signals exactly this process: once the handle is open it means one process for good.
fn send(owner: &Owner, signal: Signal) -> Result<(), Errno> {
    let pid = i32::try_from(owner.pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    if !owner.is_alive() {
        return Err(Errno::SRCH);
    }
    pidfd_send_signal(&handle, signal)
}

/// The right to act for the project until it is dropped, for what a command does itself; none if a host has it.
pub(crate) fn alone(project: &Project, what: &str) -> Result<Option<EngineLease>, EngineError> {
    let owner = Owner::this_process(what, project.clock.now());
    match project.journals.lease(&owner) {
        Ok(lease) => Ok(Some(lease)),
        Err(StoreError::Busy { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write as _};

    #[test]
    fn there_are_never_more_than_two_logs_of_a_limited_size() {
        let folder = tempfile::tempdir().unwrap();
        let log = RunLog { path: folder.path().join("run.log") };
        log.begin().unwrap().write_all(b"first\n").unwrap();
        let mut said = log.begin().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("run.log.1"), read("run.log")), ("first\n".into(), String::new()));

        said.write_all(b"short\n").unwrap();
        log.keep_small().unwrap();
        assert_eq!((read("run.log.1"), read("run.log")), ("first\n".into(), "short\n".into()));

        let long = vec![b'x'; usize::try_from(LOG_SIZE_MAX).unwrap()];
        said.write_all(&long).unwrap();
        log.keep_small().unwrap();
        said.write_all(b"after\n").unwrap();
        assert_eq!(read("run.log"), "after\n");
        assert_eq!(read("run.log.1").len(), "short\n".len() + long.len());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn no_process_is_signalled_but_the_one_that_is_meant() {
        let ours = Owner::this_process("run", Clock.now());
        let later = Owner { started: ours.started + 1, ..ours.clone() };
        let rebooted = Owner { boot_id: "another".into(), ..ours.clone() };
        let none = Owner { pid: u32::MAX, ..ours };
        // A signal that reached this process would end it.
        for owner in [later, rebooted, none] {
            assert_eq!(send(&owner, Signal::KILL), Err(Errno::SRCH));
        }
    }
}
