//! One attempt at a task: which command comes next, and what its end means.
//!
//! The task's own command first, then its verify commands one after another, all in the project's
//! folder. Only a shell is known here; it succeeds by exit code 0, and says `FAIL:ID:REASON` if it
//! has failed all the same.

use super::Running;
use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::{
    evidence::Evidence,
    id::TaskId,
    retry::FailureClass,
    run::{Command, Failure, TaskView},
    time::Time,
};
use waypost_proc::{Ended, How, Limits, Program, Refusal, Spec};

/// The agent of tasks that name none.
const SHELL: &str = "shell";

/// How much of a child's last line is kept as the reason of a failure.
const REASON_LENGTH_MAX: usize = 300;

/// Variables that every child gets from ours; secrets are not among them.
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
    agent: Option<String>,
    /// The task's command, if it has one, then what verifies it.
    command: Option<String>,
    verify: Vec<String>,
    /// How many of the verify commands have been started.
    verified: usize,
    limits: Limits,
    root: PathBuf,
    log: PathBuf,
    environment: Vec<(String, String)>,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Step {
    Run(Box<Spec>),
    Over(Box<Command>),
}

impl Attempt {
    pub(super) fn new(view: &TaskView<'_>, root: &Path, state: &Path, allowed: &[String]) -> Self {
        let details = view.planned.details.as_deref();
        let id = view.planned.id.clone();
        let timeout = details.and_then(|it| it.timeout_seconds).map(Duration::from_secs);
        Self {
            number: view.attempts,
            since: None,
            agent: details.and_then(|it| it.agent.clone()),
            command: details.and_then(|it| it.command.clone()),
            verify: details.map(|it| it.verify.clone()).unwrap_or_default(),
            verified: 0,
            limits: Limits { time: timeout, ..Limits::default() },
            root: root.to_owned(),
            log: log_path(state, &id, view.attempts),
            environment: environment(&id, view.attempts, allowed),
            id,
        }
    }

    /// The same attempt when its command, or so many of its verify commands, have been started.
    pub(super) fn at_step(mut self, step: usize, now: Time) -> Self {
        self.verified = step.min(self.verify.len());
        self.since = Some(now);
        self
    }

    /// How it is being worked on; none while it waits for a slot.
    pub(super) fn running(&self) -> Option<Running<'_>> {
        Some(Running {
            id: &self.id,
            attempt: self.number,
            since: self.since?,
            is_verifying: self.verified > 0,
        })
    }

    /// Its process runs. Says whether that is the first one of the attempt.
    pub(super) fn started(&mut self, now: Time) -> bool {
        let is_first = self.since.is_none();
        self.since.get_or_insert(now);
        is_first
    }

    /// What the keeper calls the child that is being worked on now.
    fn name(&self) -> String {
        match self.verified {
            0 => format!("{}#{}", self.id, self.number),
            step => format!("{}#{}/{step}", self.id, self.number),
        }
    }

    pub(super) fn begin(&mut self) -> Step {
        if let Some(agent) = self.agent.as_deref().filter(|agent| *agent != SHELL) {
            return self
                .fail(FailureClass::Structural, &format!("there is no agent `{agent}` yet"));
        }
        match self.command.clone() {
            Some(command) => self.run(command),
            None => self.fail(
                FailureClass::Structural,
                "it has no command: give it a `run:` field or a fenced `sh` block",
            ),
        }
    }

    fn run(&self, command: String) -> Step {
        Step::Run(Box::new(Spec {
            id: self.name(),
            program: Program::Shell(command),
            folder: self.root.clone(),
            environment: self.environment.clone(),
            log: self.log.clone(),
            limits: self.limits,
        }))
    }

    /// What the end of a child means.
    pub(super) fn ended(&mut self, ended: &Ended) -> Step {
        let said = String::from_utf8_lossy(&ended.tail).into_owned();
        if let Some(reason) = self.own_failure(&said) {
            return self.fail(FailureClass::Transient, &reason);
        }
        match ended.how {
            How::Exited(0) => self.next(),
            How::Stopped => Step::Over(Box::new(self.interrupt())),
            _ => {
                let what = match self.verified {
                    0 => String::new(),
                    step => format!("`{}` did not pass: ", self.verify[step - 1]),
                };
                let class = match self.verified {
                    0 => FailureClass::Transient,
                    _ => FailureClass::Validation,
                };
                self.fail(class, &format!("{what}{}", reason(ended.how, &said)))
            }
        }
    }

    fn next(&mut self) -> Step {
        if let Some(command) = self.verify.get(self.verified).cloned() {
            self.verified += 1;
            return self.run(command);
        }
        let evidence = match self.verify.is_empty() {
            true => Evidence::Unverified,
            false => Evidence::Check { command: self.verify.join(" && "), tree: None },
        };
        let (id, attempt) = (self.id.clone(), Some(self.number));
        Step::Over(Box::new(Command::Done { id, attempt, evidence }))
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

    fn fail(&self, class: FailureClass, text: &str) -> Step {
        let (id, attempt) = (self.id.clone(), Some(self.number));
        // A shell that fails in the same way may still be waiting for something.
        let failure = Failure { text: text.to_owned(), class, signature: String::new() };
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

/// Where the output of an attempt is kept.
pub(crate) fn log_path(state: &Path, id: &TaskId, attempt: u32) -> PathBuf {
    state.join("logs").join(id.as_str()).join(format!("{attempt}.log"))
}

/// How a child ended, with the last thing it said.
fn reason(how: How, said: &str) -> String {
    let how = match how {
        How::Exited(code) => format!("exit code {code}"),
        How::Signalled(signal) => format!("ended by signal {signal}"),
        How::TimedOut => "its time was over".to_owned(),
        How::Stalled => "it said nothing for too long".to_owned(),
        How::Stopped => "stopped".to_owned(),
    };
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    match last {
        Some(last) => format!("{how}: {}", shortened(last)),
        None => how,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(REASON_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn environment(id: &TaskId, attempt: u32, allowed: &[String]) -> Vec<(String, String)> {
    let is_allowed = |name: &str| {
        INHERITED.contains(&name)
            || name.starts_with("LC_")
            || allowed.iter().any(|allowed| allowed == name)
    };
    let ours = [("WAYPOST_TASK", id.to_string()), ("WAYPOST_ATTEMPT", attempt.to_string())];
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_allowed(name))
        .chain(ours.map(|(name, value)| (name.to_owned(), value)))
        .collect()
}
