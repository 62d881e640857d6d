//! One attempt at a task: which command comes next, and what its end means.
//!
//! The task's own command or a model agent first, then its verify commands one after another. A
//! shell succeeds by exit code 0, and says `FAIL:ID:REASON` if it has failed all the same; whether
//! an agent has succeeded is for `conclude` to say.
//!
//! All of it happens on the attempt's `Ground`. On one of its own, the ground is made first, the
//! work is committed before it is verified, and joined to its phase after that.

use super::{Doing, Running, ground::Ground, signature::signature};
use crate::{agent::SHELL, environment::Environment, project::Project};
use std::{
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};
use waypost_git::{Committed, Join, Stamp, name_some};
use waypost_model::{
    declared::proves_nothing,
    evidence::Evidence,
    id::TaskId,
    layout,
    retry::FailureClass,
    run::{Active, Command, Failure, PlannedTask, Settings, TaskView},
    text::plain,
    time::Time,
};
use waypost_proc::{Ended, How, Limits, Program, Refusal, Spec};

/// How much of a child's last line is kept as the reason of a failure.
const REASON_LENGTH_MAX: usize = 300;

/// Variables that every child gets from its actor's; secrets are not among them.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// An attempt that was claimed.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) id: TaskId,
    pub(super) number: u32,
    /// Since when its first process runs.
    since: Option<Time>,
    work: Work<String>,
    pub(super) verify: Vec<String>,
    stage: Stage,
    pub(super) ground: Ground,
    /// Where its children work.
    pub(super) folder: PathBuf,
    /// What our commits say about it.
    pub(super) stamp: Stamp,
    /// The files that it has declared.
    pub(super) files: Vec<String>,
    /// Nothing but a change in its work tree can prove that something was done.
    pub(super) needs_change: bool,
    /// It goes on in the conversation of an earlier attempt.
    pub(super) goes_on: bool,
    /// How it ended, while what it left is taken out of the work tree that it shared.
    pub(super) end: Option<Command>,
    /// What is verified and joined, and whether it changes anything, where that is known.
    pub(super) commit: Option<(String, Option<bool>)>,
    pub(super) limits: Limits,
    pub(super) place: Rc<Workplace>,
    pub(super) log: PathBuf,
}

/// Who does the work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work<T> {
    /// A command for the shell.
    Command(T),
    /// A model agent, by its name.
    Agent(T),
    /// Nobody; why not.
    Nobody(&'static str),
}

impl<'a> Work<&'a str> {
    pub(super) fn of(task: &'a PlannedTask, settings: &'a Settings) -> Self {
        let details = task.details.as_deref();
        let agent = details.and_then(|it| it.agent.as_deref());
        let command = details.and_then(|it| it.command.as_deref());
        match (agent, command, settings.agent.as_deref()) {
            (Some(SHELL), None, _) | (None, None, Some(SHELL)) => {
                Self::Nobody("it has no command: give it a `run:` field or a fenced `sh` block")
            }
            (Some(SHELL) | None, Some(command), _) => Self::Command(command),
            (Some(agent), _, _) | (None, None, Some(agent)) => Self::Agent(agent),
            (None, None, None) => Self::Nobody(
                "it has neither a command nor an agent: give it a `run:` or an `agent:` field, \
                 or give the run `--agent NAME`",
            ),
        }
    }

    fn owned(self) -> Work<String> {
        match self {
            Self::Command(command) => Work::Command(command.to_owned()),
            Self::Agent(name) => Work::Agent(name.to_owned()),
            Self::Nobody(why) => Work::Nobody(why),
        }
    }
}

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its work tree is being made.
    Placing,
    /// The command runs that makes a new work tree ready.
    SettingUp,
    Working,
    /// What it did is being committed.
    Committing,
    /// This verify command runs, from 1.
    Verifying(usize),
    /// It is being joined to its phase.
    Joining,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Step {
    /// Its work tree has to be made.
    Place,
    /// What it did has to be committed.
    Commit,
    /// What it did has to be joined to its phase.
    Join,
    Run(Box<Spec>),
    /// A model agent has to be started.
    Engage(String),
    Over(Box<Command>),
}

impl Attempt {
    pub(super) fn new(view: &TaskView<'_>, active: &Active, place: &Rc<Workplace>) -> Self {
        let settings = active.settings();
        let details = view.planned.details.as_deref();
        let ground = Ground::of(active, view);
        let id = view.planned.id.clone();
        let timeout = details.and_then(|it| it.timeout_seconds).map(Duration::from_secs);
        Self {
            number: view.attempts,
            since: None,
            work: Work::of(view.planned, settings).owned(),
            verify: details.map(|it| it.verify.clone()).unwrap_or_default(),
            stage: Stage::Working,
            folder: place.folder(&ground),
            ground,
            stamp: Stamp {
                id: id.clone(),
                attempt: view.attempts,
                title: view.planned.title.clone(),
            },
            files: details.map(|it| it.files.clone()).unwrap_or_default(),
            needs_change: false,
            goes_on: goes_on(view, settings),
            end: None,
            commit: None,
            limits: Limits { time: timeout, ..Limits::default() },
            place: Rc::clone(place),
            log: log_path(&place.state, &id, view.attempts),
            id,
        }
    }

    /// The same attempt when its command, or so many of its verify commands, have been started.
    pub(super) fn at_step(mut self, step: usize, now: Time) -> Self {
        self.stage = match step.min(self.verify.len()) {
            0 => Stage::Working,
            step => Stage::Verifying(step),
        };
        self.since = Some(now);
        self
    }

    /// How it is being worked on; none while it waits for a slot.
    pub(super) fn running(&self) -> Option<Running<'_>> {
        Some(Running {
            id: &self.id,
            attempt: self.number,
            since: self.since?,
            doing: match self.stage {
                Stage::Placing | Stage::SettingUp => Doing::Preparing,
                Stage::Working => Doing::Working,
                Stage::Verifying(_) => Doing::Verifying,
                Stage::Committing | Stage::Joining => Doing::Joining,
            },
            agent: None,
        })
    }

    /// Its process runs. Says whether that is the first one of the attempt.
    pub(super) fn started(&mut self, now: Time) -> bool {
        let is_first = self.since.is_none();
        self.since.get_or_insert(now);
        is_first
    }

    /// What the keeper calls the child that is being worked on now.
    pub(super) fn name(&self) -> String {
        let (id, number) = (&self.id, self.number);
        match self.stage {
            Stage::SettingUp => format!("{id}#{number}/{SETUP}"),
            Stage::Verifying(step) => format!("{id}#{number}/{step}"),
            _ => format!("{id}#{number}"),
        }
    }

    /// Whether it may have changed anything where it works.
    pub(super) fn is_placed(&self) -> bool {
        self.stage != Stage::Placing
    }

    /// Whether a model agent works on it.
    pub(super) fn has_agent(&self) -> bool {
        matches!(self.work, Work::Agent(_))
    }

    pub(super) fn begin(&mut self) -> Step {
        match self.ground {
            Ground::Own { .. } | Ground::Shared { .. } if !matches!(self.work, Work::Nobody(_)) => {
                self.stage = Stage::Placing;
                Step::Place
            }
            _ => self.begin_work(),
        }
    }

    /// Its work tree is there; a new one may have to be made ready by the project's own command.
    pub(super) fn placed(&mut self, is_new: bool, setup: Option<&str>) -> Step {
        match setup.filter(|_| is_new) {
            Some(setup) => {
                self.stage = Stage::SettingUp;
                self.run(setup.to_owned())
            }
            None => self.begin_work(),
        }
    }

    fn begin_work(&mut self) -> Step {
        self.stage = Stage::Working;
        match self.work.clone() {
            Work::Command(command) => self.run(command),
            Work::Agent(name) => Step::Engage(name),
            Work::Nobody(why) => self.fail(FailureClass::Structural, why),
        }
    }

    fn run(&self, command: String) -> Step {
        Step::Run(Box::new(Spec {
            id: self.name(),
            program: Program::Shell(command),
            folder: self.folder.clone(),
            environment: self.environment(),
            log: self.log.clone(),
            limits: self.limits,
            talk: None,
        }))
    }

    /// All that its children find in their environment.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let (task, attempt) = (self.id.to_string(), self.number.to_string());
        let ours = [(layout::variable::TASK, task), (layout::variable::ATTEMPT, attempt)];
        let ours = ours.map(|(name, value)| (name.to_owned(), value));
        self.place.environment.iter().cloned().chain(ours).collect()
    }

    /// What the end of a child means.
    pub(super) fn ended(&mut self, ended: &Ended) -> Step {
        let said = String::from_utf8_lossy(&ended.tail).into_owned();
        let is_setup = self.stage == Stage::SettingUp;
        if let Some(reason) = self.own_failure(&said).filter(|_| !is_setup) {
            return self.fail(FailureClass::Transient, &reason);
        }
        match ended.how {
            How::Exited(0) if is_setup => self.begin_work(),
            How::Exited(0) => self.next(),
            How::Stopped => Step::Over(Box::new(self.interrupt())),
            _ => {
                let what = match self.stage {
                    Stage::Verifying(step) => {
                        format!("`{}` did not pass: ", self.verify[step - 1])
                    }
                    Stage::SettingUp => "its work tree could not be set up: ".to_owned(),
                    _ => String::new(),
                };
                let class = match self.stage {
                    Stage::Verifying(_) => FailureClass::Validation,
                    _ => FailureClass::Transient,
                };
                let failure = Failure {
                    text: format!("{what}{}", reason(ended.how, &said)),
                    class,
                    // A shell that fails in the same way may still be waiting for something.
                    signature: if self.has_agent() {
                        signature(&how(ended.how), &said)
                    } else {
                        String::new()
                    },
                    resumes: false,
                };
                self.fail_with(failure)
            }
        }
    }

    /// What comes after the work, or after a verify command that has passed.
    pub(super) fn next(&mut self) -> Step {
        if matches!(self.ground, Ground::Own { .. }) && self.commit.is_none() {
            self.stage = Stage::Committing;
            return Step::Commit;
        }
        let verified = match self.stage {
            Stage::Verifying(step) => step,
            _ => 0,
        };
        if let Some(command) = self.verify.get(verified).cloned() {
            self.stage = Stage::Verifying(verified + 1);
            return self.run(command);
        }
        match (&self.ground, &self.commit) {
            (Ground::Shared { .. }, None) => {
                self.stage = Stage::Committing;
                Step::Commit
            }
            // Nothing was changed, so there is nothing to join.
            (Ground::Own { .. }, Some((_, changed))) if *changed != Some(false) => {
                self.stage = Stage::Joining;
                Step::Join
            }
            (Ground::Shared { .. }, Some((commit, Some(true)))) => {
                let commit = commit.clone();
                self.done(Some(commit))
            }
            _ => self.done(None),
        }
    }

    /// Its work is proven, and where it has a ground of its own it is joined by this commit.
    pub(super) fn done(&self, commit: Option<String>) -> Step {
        let (id, attempt, evidence) = (self.id.clone(), Some(self.number), self.evidence());
        Step::Over(Box::new(Command::Done { id, attempt, evidence, commit }))
    }

    /// What stands behind it once all verify commands have passed.
    pub(super) fn evidence(&self) -> Evidence {
        let tree = self.commit.as_ref().map(|(commit, _)| commit.clone());
        match self.verify.is_empty() {
            true => Evidence::Unverified,
            false => Evidence::Check { command: self.verify.join(" && "), tree },
        }
    }

    /// What it did is committed, or cannot be.
    pub(super) fn committed(&mut self, committed: Committed) -> Step {
        match committed {
            Committed::At { commit, changed } => {
                let task = (self.id.as_str(), &*self.files);
                if let Some(why) = proves_nothing(task, self.needs_change, &changed) {
                    return self.fail(FailureClass::Validation, &why);
                }
                self.commit = Some((commit, Some(!changed.is_empty())));
                self.next()
            }
            Committed::Gone => self.fail(FailureClass::Transient, "its work tree was removed"),
            Committed::Astray(why) => self.fail(FailureClass::Transient, &why),
        }
    }

    /// It is joined to its phase, or cannot be.
    pub(super) fn joined(&mut self, join: Join) -> Step {
        match join {
            Join::Done { commit } => self.done(Some(commit)),
            Join::Nothing => self.done(None),
            Join::Conflict { files } => {
                let text = format!(
                    "it conflicts with what was joined meanwhile, in {}; it is done again on top \
                     of that",
                    name_some(&files)
                );
                self.fail(FailureClass::Validation, &text)
            }
            Join::Unclean { files } => {
                let text = format!(
                    "its verification has changed files that are committed: {}",
                    name_some(&files)
                );
                self.fail(FailureClass::Validation, &text)
            }
        }
    }

    /// What it means that no process could be had.
    pub(super) fn refused(&self, why: &Refusal) -> Step {
        match why {
            Refusal::Busy { .. } | Refusal::Withdrawn => Step::Over(Box::new(self.interrupt())),
            Refusal::Impossible { detail } => self.fail(FailureClass::Structural, detail),
        }
    }

    pub(super) fn interrupt(&self) -> Command {
        Command::Interrupt { id: self.id.clone(), attempt: Some(self.number) }
    }

    pub(super) fn fail(&self, class: FailureClass, text: &str) -> Step {
        self.fail_with(Failure { text: text.to_owned(), class, ..Failure::default() })
    }

    pub(super) fn fail_with(&self, failure: Failure) -> Step {
        let (id, attempt) = (self.id.clone(), Some(self.number));
        Step::Over(Box::new(Command::Fail { id, attempt, failure }))
    }

    /// `FAIL:ID:REASON` on a line of its own, with our id.
    fn own_failure(&self, said: &str) -> Option<String> {
        let start = format!("FAIL:{}", self.id);
        said.lines().rev().find_map(|line| {
            let rest = line.trim().strip_prefix(&start)?;
            let reason = rest.strip_prefix(':').map(str::trim);
            match reason {
                Some(reason) if !reason.is_empty() => Some(shortened(reason)),
                Some(_) => Some("it said that it failed".to_owned()),
                None => rest.is_empty().then(|| "it said that it failed".to_owned()),
            }
        })
    }
}

/// Whether the next attempt at a task goes on in the conversation of the one before.
fn goes_on(view: &TaskView<'_>, settings: &Settings) -> bool {
    let open = view.trail.and_then(|trail| trail.conversation.as_ref()).filter(|it| it.is_open);
    match (Work::of(view.planned, settings), open) {
        (Work::Agent(name), Some(open)) => open.agent == name,
        _ => false,
    }
}

/// Where the output of an attempt is kept.
pub(crate) fn log_path(state: &Path, id: &TaskId, attempt: u32) -> PathBuf {
    state.join(layout::state::LOGS).join(id.as_str()).join(format!("{attempt}.log"))
}

/// What the child that makes a work tree ready is called.
pub(super) const SETUP: &str = "setup";

/// Where attempts work, and what all of them get.
#[derive(Debug)]
pub(super) struct Workplace {
    pub(super) root: PathBuf,
    pub(super) state: PathBuf,
    /// The folder that work trees are below.
    home: PathBuf,
    /// What they have of the actor's environment.
    environment: Vec<(String, String)>,
}

impl Workplace {
    pub(super) fn of(project: &Project) -> Rc<Self> {
        Rc::new(Self {
            root: project.root().to_owned(),
            state: project.place.state.clone(),
            home: project.trees_home().unwrap_or_else(|| project.root().to_owned()),
            environment: usual_environment(
                &project.environment,
                &project.configuration().values.run.environment,
            ),
        })
    }

    fn folder(&self, ground: &Ground) -> PathBuf {
        match ground {
            Ground::Project => self.root.clone(),
            Ground::Shared { phase } => self.home.join(&phase.name),
            Ground::Own { name, .. } => self.home.join(name),
        }
    }
}

/// How a child ended, in words.
pub(super) fn how(how: How) -> String {
    match how {
        How::Exited(code) => format!("exit code {code}"),
        How::Signalled(signal) => format!("ended by signal {signal}"),
        How::TimedOut => "it timed out".to_owned(),
        How::Stalled => "it said nothing for too long".to_owned(),
        How::Stopped => "stopped".to_owned(),
        How::Flooded => "it wrote more than it may".to_owned(),
        How::Deaf => "it did not read what was said to it".to_owned(),
    }
}

/// How a child ended, with the last thing it said.
pub(crate) fn reason(ended: How, said: &str) -> String {
    let how = how(ended);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    match last {
        Some(last) => format!("{how}: {}", shortened(last)),
        None => how,
    }
}

pub(crate) fn shortened(text: &str) -> String {
    let text = plain(text);
    match text.char_indices().nth(REASON_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What every child gets of its actor's environment, and what is allowed besides.
pub(crate) fn usual_environment(
    environment: &Environment,
    allowed: &[String],
) -> Vec<(String, String)> {
    let is_allowed = |name: &str| {
        INHERITED.contains(&name)
            || name.starts_with("LC_")
            || allowed.iter().any(|allowed| allowed == name)
    };
    let given = environment.texts().filter(|(name, _)| is_allowed(name));
    given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
