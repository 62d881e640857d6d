//! The attempt at a task or the process of a job that this process belongs to, and whether it is still
//! the one that counts.
//!
//! Everything below an attempt has its task and its number in the environment, and everything below a
//! job's agent the job and the number of its process. Once the task is worked on by another attempt, or
//! not at all, whatever still runs of the older one may look and change nothing; so with jobs. It is
//! decided in the transaction of what it wants to change, so that clocks and pauses do not matter.
//!
//! This keeps a late attempt from doing harm. It is no wall: an agent that changes its own
//! environment is not held by it.

use crate::environment::Environment;
use std::{env, ffi::OsString, path::Path};
use waypost_model::{
    id::{StreamName, TaskId},
    job::Job,
    layout::variable::{ATTEMPT, FENCE, JOB, TASK},
    machine::{Machine as _, Rejected},
    run::{Run, TaskStatus},
    task::{ServedTask, TaskFile},
};

/// What this process works at, as the environment names it; the words may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    Task {
        task: String,
        attempt: String,
    },
    Job {
        stream: String,
        process: String,
    },
    /// An attempt at a task of the server.
    Served {
        stream: String,
        attempt: String,
    },
}

impl Fence {
    /// The attempt or job that this process is below; none outside of one of the project whose journal
    /// is in `state`.
    pub(crate) fn from_environment(state: &Path, environment: &Environment) -> Option<Self> {
        Self::read(state, |name| environment.get(name).map(ToOwned::to_owned))
    }

    fn read(state: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let word = |name| variable(name).filter(|value| !value.is_empty());
        // It may work on another project, which knows nothing of it.
        if word(FENCE).is_some_and(|file| !Path::new(&file).starts_with(state)) {
            return None;
        }
        let text = |word: OsString| word.to_string_lossy().into_owned();
        if let Some(job) = word(JOB).map(text) {
            let (stream, number) = job.rsplit_once('#').unwrap_or((&job, ""));
            let (stream, number) = (stream.to_owned(), number.to_owned());
            let is_served = stream.split(':').next() == Some(ServedTask::KIND);
            return Some(match is_served {
                true => Self::Served { stream, attempt: number },
                false => Self::Job { stream, process: number },
            });
        }
        let (task, attempt) = (word(TASK)?, word(ATTEMPT)?);
        Some(Self::Task { task: text(task), attempt: text(attempt) })
    }

    /// The name of a job's process, or of an attempt at a task of the server, as the environment has
    /// it.
    pub(crate) fn name(stream: &StreamName, process: u32) -> String {
        format!("{stream}#{process}")
    }

    /// The stream of the job whose process this is, where it is one.
    pub(crate) fn job(&self) -> Option<StreamName> {
        match self {
            Self::Task { .. } | Self::Served { .. } => None,
            // One that cannot be named is a job that there never was.
            Self::Job { stream, .. } => {
                let stream = stream.parse().ok().filter(|it: &StreamName| it.kind() == Job::KIND);
                Some(stream.unwrap_or_else(|| {
                    StreamName::of(Job::KIND, Some("unknown")).expect("it is a plain name")
                }))
            }
        }
    }

    /// The stream of the task of the server at which this is an attempt, where it is one.
    pub(crate) fn served(&self) -> Option<StreamName> {
        let Self::Served { stream, .. } = self else { return None };
        // One that cannot be named is a task that there never was.
        Some(stream.parse().unwrap_or_else(|_| {
            StreamName::of(ServedTask::KIND, Some("unknown")).expect("it is a plain name")
        }))
    }

    /// Refuses an attempt that is not the one which works on its task of the server.
    pub(crate) fn check_served(&self, task: &ServedTask) -> Result<(), Rejected> {
        let Self::Served { stream, attempt } = self else { return Ok(()) };
        let live = task.file().and_then(TaskFile::live_attempt);
        let why = match live {
            Some(live) if live.number().to_string() == *attempt => return Ok(()),
            Some(live) => format!("attempt {} works on it", live.number()),
            None => "no attempt works on it".to_owned(),
        };
        let message = format!("attempt {attempt} of {stream} is over: {why}; nothing was changed");
        Err(Rejected::stale(message))
    }

    /// Whether it is an attempt at a task.
    pub(crate) fn is_attempt(&self) -> bool {
        matches!(self, Self::Task { .. })
    }

    /// Refuses an attempt that is not the one which works on its task.
    pub(crate) fn check(&self, run: &Run) -> Result<(), Rejected> {
        let Self::Task { task, attempt } = self else { return Ok(()) };
        let id: Option<TaskId> = task.parse().ok();
        let view = run.active().zip(id.as_ref()).and_then(|(active, id)| active.task(id));
        let why = match view {
            None => "it is not in this run".to_owned(),
            Some(view) if view.status != TaskStatus::InProgress => {
                format!("the task is {}", view.status)
            }
            Some(view) if view.attempts.to_string() != *attempt => {
                format!("attempt {} works on it", view.attempts)
            }
            Some(_) => return Ok(()),
        };
        Err(Rejected::stale(format!(
            "attempt {attempt} of {task} is over: {why}; nothing was changed"
        )))
    }

    /// Refuses a process of a job that is not the one which works at it.
    pub(crate) fn check_job(&self, job: &Job) -> Result<(), Rejected> {
        let Self::Job { stream, process } = self else { return Ok(()) };
        let number: Option<u32> = process.parse().ok();
        let is_live = |number| job.begun().is_some_and(|begun| begun.is_live(number));
        if number.is_some_and(is_live) {
            return Ok(());
        }
        Err(Rejected::stale(format!("process {process} of {stream} is over; nothing was changed")))
    }

    /// The number of the attempt at `id`, if that is the task.
    pub(crate) fn attempt_at(&self, id: &TaskId) -> Option<u32> {
        match self {
            Self::Task { task, attempt } if task == id.as_str() => attempt.parse().ok(),
            Self::Task { .. } | Self::Job { .. } | Self::Served { .. } => None,
        }
    }
}

/// The number of an attempt whose task is not said; it is taken for the one that is spoken of.
pub(crate) fn lone_attempt() -> Option<u32> {
    env::var_os(TASK).is_none().then(|| env::var(ATTEMPT).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::EngineError, home::Home, ledger::MachineCommand, project::Project};
    use std::collections::BTreeMap;
    use waypost_model::{
        actor::Actor,
        code::Code,
        config::WallLevel,
        job,
        machine::Asked,
        run::{self, Command, Depends, Plan, PlannedTask, Priority, Settings},
        time::Time,
    };

    fn fence(task: &str, attempt: &str) -> Fence {
        Fence::Task { task: task.into(), attempt: attempt.into() }
    }

    /// T1 and T3, and T2 which is done already.
    fn begin() -> Command {
        let task = |id: &str| PlannedTask {
            id: id.parse().unwrap(),
            title: id.to_lowercase(),
            phase: 1,
            depends: Depends::On(Vec::new()),
            ticked: id == "T2",
            priority: Priority::default(),
            line: 1,
            details: None,
        };
        let tasks = ["T1", "T2", "T3"].map(task).to_vec();
        let plan = Plan::new("demo".into(), BTreeMap::new(), tasks).unwrap();
        Command::Begin { plan, settings: Settings::default() }
    }

    fn start() -> Command {
        Command::Start { id: "T1".parse().unwrap() }
    }

    /// A run whose T1 is in its second attempt, T2 completed and T3 ready.
    fn run() -> Run {
        let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(0) };
        let mut run = Run::imagine([&begin()], &asked).unwrap();
        for command in [start(), Command::Resume, start()] {
            for event in run.decide(&command, &asked).unwrap().events {
                run.apply(&event, asked.now);
            }
        }
        run
    }

    #[test]
    fn only_the_attempt_that_works_on_its_task_may_change_something() {
        let table = [
            ("T1", "2", None),
            ("T1", "1", Some("attempt 2 works on it")),
            ("T1", "3", Some("attempt 2 works on it")),
            ("T1", "02", Some("attempt 2 works on it")),
            ("T1", "two", Some("attempt 2 works on it")),
            ("T2", "1", Some("the task is completed")),
            ("T3", "1", Some("the task is ready")),
            ("T9", "1", Some("it is not in this run")),
            ("no id", "1", Some("it is not in this run")),
        ];
        let run = run();
        for (task, attempt, why) in table {
            let want = why.map(|why| {
                let message =
                    format!("attempt {attempt} of {task} is over: {why}; nothing was changed");
                Rejected::stale(message)
            });
            assert_eq!(fence(task, attempt).check(&run).err(), want, "{task} {attempt}");
        }
        let message = "attempt 1 of T1 is over: it is not in this run; nothing was changed";
        assert_eq!(fence("T1", "1").check(&Run::none()).unwrap_err().message, message);
    }

    #[test]
    fn it_is_decided_by_the_run_as_it_is_in_the_transaction() {
        let folder = tempfile::tempdir().unwrap();
        // In a repository: a journal outside of one has to be known in the user's folder.
        for part in [".git/objects", ".git/refs"] {
            std::fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        let head = folder.path().join(".git/HEAD");
        waypost_store::file::replace(&head, b"ref: refs/heads/main\n", 0o644).unwrap();
        let open = |fence: Option<Fence>| {
            let mut project = Project::open_unreconciled(folder.path(), agent()).unwrap();
            project.setup.home = Home { config: None, state: None };
            project.caller.fence = fence;
            project
        };
        let mut engine = open(None);
        engine.run_command(begin()).unwrap();
        engine.run_command(start()).unwrap();
        let mut first = open(Some(fence("T1", "1")));
        first.refuse_stale().unwrap();
        // It has looked and is about to write, when another attempt takes over.
        engine.run_command(Command::Resume).unwrap();
        engine.run_command(start()).unwrap();
        let before = engine.log(usize::MAX, |_| true).unwrap();
        let skip = MachineCommand::run(Command::Skip { id: "T3".parse().unwrap() });
        let Err(EngineError::Rejected(refused)) = first.commit(std::slice::from_ref(&skip)) else {
            panic!("it was heard");
        };
        assert_eq!(refused.code, Code::StaleAttempt);
        assert_eq!(engine.log(usize::MAX, |_| true).unwrap(), before);
        open(Some(fence("T1", "2"))).commit(&[skip]).unwrap();
    }

    fn agent() -> Actor {
        Actor::Agent { id: "unknown".into(), attempt: 1 }
    }

    #[test]
    fn an_attempt_is_known_by_both_variables_and_belongs_to_one_project() {
        let state = Path::new("/shop/.git/waypost");
        let ours = "/shop/.git/waypost/fences/T1";
        let known = Some(fence("T1", "2"));
        let job = |process: &str| {
            Some(Fence::Job { stream: "job:main/review".into(), process: process.into() })
        };
        let table = [
            (vec![], None),
            (vec![(TASK, "T1")], None),
            (vec![(ATTEMPT, "2")], None),
            (vec![(TASK, ""), (ATTEMPT, "2")], None),
            (vec![(TASK, "T1"), (ATTEMPT, "2")], known.clone()),
            (vec![(TASK, "T1"), (ATTEMPT, "2"), (FENCE, ours)], known),
            (vec![(TASK, "T1"), (ATTEMPT, "2"), (FENCE, "/other/.git/waypost/fences/T1")], None),
            (vec![(JOB, "job:main/review#3"), (ATTEMPT, "1"), (FENCE, ours)], job("3")),
            (vec![(JOB, "job:main/review#3"), (TASK, "T1"), (ATTEMPT, "1")], job("3")),
            (vec![(JOB, "job:main/review"), (ATTEMPT, "1")], job("")),
            (
                vec![(JOB, "task:task_abc#4"), (ATTEMPT, "4"), (FENCE, ours)],
                Some(Fence::Served { stream: "task:task_abc".into(), attempt: "4".into() }),
            ),
            (vec![(JOB, "job:main/review#3"), (FENCE, "/other/.git/waypost/fences/T1")], None),
        ];
        for (variables, want) in table {
            let variable = |name: &str| {
                let found = variables.iter().find(|(given, _)| *given == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(Fence::read(state, variable), want, "{variables:?}");
        }
    }

    #[test]
    fn only_the_process_that_works_at_a_job_may_change_something() {
        let mut job = Job::none();
        let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(0) };
        let tell = |job: &mut Job, command: job::Command| {
            for event in job.decide(&command, &asked).unwrap().events {
                job.apply(&event, asked.now);
            }
        };
        let is_refused = |job: &Job, process: &str| {
            let fence = Fence::Job { stream: "job:main/review".into(), process: process.into() };
            let found = fence.check_job(job);
            let message =
                format!("process {process} of job:main/review is over; nothing was changed");
            assert!(found.is_ok() || found == Err(Rejected::stale(message)), "{found:?}");
            found.is_err()
        };
        assert!(is_refused(&job, "1"), "there is no such job");
        tell(&mut job, job::Command::Begin { key: "k".into(), agent: "sim".into() });
        for process in [1, 2] {
            let wall = WallLevel::None;
            tell(
                &mut job,
                job::Command::Engage { process, conversation: None, is_new: true, wall },
            );
        }
        let refused = ["1", "2", "3", "two", ""].map(|process| is_refused(&job, process));
        assert_eq!(refused, [true, false, true, true, true]);
        let (usage, counted) = (run::Usage::default(), run::Usage::default());
        tell(&mut job, job::Command::Account { process: 2, usage, counted });
        assert!(is_refused(&job, "2"), "its process has ended");
    }

    #[test]
    fn the_number_counts_for_its_own_task_only() {
        let (own, other) = ("T1".parse().unwrap(), "T2".parse().unwrap());
        assert_eq!(fence("T1", "2").attempt_at(&own), Some(2));
        assert_eq!(fence("T1", "2").attempt_at(&other), None);
    }
}
