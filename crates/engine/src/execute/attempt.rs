//! One attempt at a task, as it was claimed: who works on it, where, and what its children get.
//!
//! How it goes on from there is for `life` to say.

use super::{
    signature::signature,
    workplace::{Site, Workplace},
};
use crate::{agent::SHELL, environment::Environment};
use std::{
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};
use waypost_git::Stamp;
use waypost_model::{
    id::TaskId,
    layout,
    retry::FailureClass,
    run::{Active, Command, Failure, PlannedTask, Settings, TaskView},
    text::plain,
};
use waypost_proc::{Ended, How, Limits, Spec};

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
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) id: TaskId,
    pub(super) number: u32,
    pub(super) work: TaskWork<String>,
    pub(super) verify: Vec<String>,
    pub(super) workplace: Workplace,
    /// Where its children work.
    pub(super) folder: PathBuf,
    /// What our commits say about it.
    pub(super) stamp: Stamp,
    /// The files that it has declared.
    pub(super) files: Vec<String>,
    /// It goes on in the conversation of an earlier attempt.
    pub(super) goes_on: bool,
    pub(super) limits: Limits,
    pub(super) site: Rc<Site>,
    pub(super) log: PathBuf,
}

/// Who does the work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskWork<T> {
    /// A command for the shell.
    Command(T),
    /// A model agent, by its name.
    Agent(T),
    /// No agent; why not.
    Nobody(&'static str),
}

impl<'a> TaskWork<&'a str> {
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

    fn owned(self) -> TaskWork<String> {
        match self {
            Self::Command(command) => TaskWork::Command(command.to_owned()),
            Self::Agent(name) => TaskWork::Agent(name.to_owned()),
            Self::Nobody(why) => TaskWork::Nobody(why),
        }
    }
}

impl Attempt {
    pub(super) fn new(view: &TaskView<'_>, active: &Active, site: &Rc<Site>) -> Self {
        let settings = active.settings();
        let details = view.planned.details.as_deref();
        let workplace = Workplace::of(active, view);
        let id = view.planned.id.clone();
        let timeout = details.and_then(|it| it.timeout_seconds).map(Duration::from_secs);
        Self {
            number: view.attempts,
            work: TaskWork::of(view.planned, settings).owned(),
            verify: details.map(|it| it.verify.clone()).unwrap_or_default(),
            folder: site.folder(&workplace),
            workplace,
            stamp: Stamp {
                id: id.clone(),
                attempt: view.attempts,
                title: view.planned.title.clone(),
            },
            files: details.map(|it| it.files.clone()).unwrap_or_default(),
            goes_on: goes_on(view, settings),
            limits: Limits { time: timeout, ..Limits::default() },
            site: Rc::clone(site),
            log: log_path(&site.state, &id, view.attempts),
            id,
        }
    }

    /// What the keeper calls the child that does the work.
    pub(super) fn name(&self) -> String {
        format!("{}#{}", self.id, self.number)
    }

    /// Whether a model agent works on it.
    pub(super) fn has_agent(&self) -> bool {
        matches!(self.work, TaskWork::Agent(_))
    }

    /// A child of it that runs a command.
    pub(super) fn child(&self, name: String, command: String) -> Spec {
        Spec {
            id: name,
            program: self.site.children.program(command),
            folder: self.folder.clone(),
            environment: self.with_own(&self.site.shell_environment),
            log: self.log.clone(),
            limits: self.limits,
            talk: None,
            secrets: self.site.secrets.clone(),
        }
    }

    /// All that its agent finds in its environment.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        self.with_own(&self.site.environment)
    }

    fn with_own(&self, given: &[(String, String)]) -> Vec<(String, String)> {
        let (task, attempt) = (self.id.to_string(), self.number.to_string());
        let ours = [(layout::variable::TASK, task), (layout::variable::ATTEMPT, attempt)];
        let ours = ours.map(|(name, value)| (name.to_owned(), value));
        given.iter().cloned().chain(ours).collect()
    }

    pub(super) fn interrupt(&self) -> Command {
        Command::Interrupt { id: self.id.clone(), attempt: Some(self.number) }
    }

    pub(super) fn fail(&self, class: FailureClass, text: &str) -> Command {
        self.fail_with(Failure { text: text.to_owned(), class, ..Failure::default() })
    }

    pub(super) fn fail_with(&self, failure: Failure) -> Command {
        Command::Fail { id: self.id.clone(), attempt: Some(self.number), failure }
    }

    /// How a child of it failed; `what` says which one.
    pub(super) fn child_failure(&self, what: &str, class: FailureClass, ended: &Ended) -> Failure {
        let said = String::from_utf8_lossy(&ended.tail);
        Failure {
            text: format!("{what}{}", reason(ended.how, &said)),
            class,
            // A shell that fails in the same way may still be waiting for something.
            signature: if self.has_agent() {
                signature(&how(ended.how), &said)
            } else {
                String::new()
            },
            resumes: false,
        }
    }

    /// `FAIL:ID:REASON` on a line of its own, with our id.
    pub(super) fn own_failure(&self, ended: &Ended) -> Option<String> {
        let start = format!("FAIL:{}", self.id);
        let said = String::from_utf8_lossy(&ended.tail);
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
    match (TaskWork::of(view.planned, settings), open) {
        (TaskWork::Agent(name), Some(open)) => open.agent == name,
        _ => false,
    }
}

/// Where the output of an attempt is kept.
pub(crate) fn log_path(state: &Path, id: &TaskId, attempt: u32) -> PathBuf {
    state.join(layout::state::LOGS).join(id.as_str()).join(format!("{attempt}.log"))
}

/// What the child that makes a work tree ready is called.
pub(super) const SETUP: &str = "setup";

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
