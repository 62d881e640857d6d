//! The one error that reaches a user: kind, message, cause and hints; printed in one place.

use crate::{
    output::{CYAN, RED, say, styled},
    snippet, spelling,
};
use serde_json::json;
use std::{
    env,
    error::Error as _,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{EngineError, InvalidFile, ProcError, StoreError};
use waypost_model::{
    code::{Class, Code},
    machine::{Cause, Rejected},
    next::NextStep,
};

/// What kind of failure it is; each has its documented exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The reader of the output has left, as `head` does; what was asked for is done.
    Unheard = 0,
    /// The work itself failed.
    Failed = 1,
    /// Bad input, or a document that is not valid.
    BadInput = 2,
    /// A rule stands against it, or it is reserved for a person.
    Refused = 3,
    /// Another process has it, or the caller is out of date.
    Locked = 4,
    /// Something is missing on this machine.
    Missing = 5,
    /// A run is not finished, and nothing in it has failed.
    Unfinished = 6,
    /// A fault of ours.
    Bug = 70,
}

impl From<Class> for Kind {
    fn from(class: Class) -> Self {
        match class {
            Class::Failed => Self::Failed,
            Class::BadInput => Self::BadInput,
            Class::Refused => Self::Refused,
            Class::Locked => Self::Locked,
            Class::Missing => Self::Missing,
            Class::Bug => Self::Bug,
        }
    }
}

impl From<Kind> for ExitCode {
    fn from(kind: Kind) -> Self {
        Self::from(kind as u8)
    }
}

/// A failure of a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) kind: Kind,
    /// A stable word, by which programs tell failures apart.
    code: Option<Code>,
    message: String,
    hints: Vec<String>,
    /// The command that comes next, for an agent to act on.
    next: Option<String>,
    /// The same as values, where the refusal came with them.
    steps: Vec<NextStep>,
    files: Vec<InvalidFile>,
}

impl CliError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let (hints, steps, files) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, code: None, message: message.into(), hints, next: None, steps, files }
    }

    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Kind::BadInput, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn next(mut self, command: impl Into<String>) -> Self {
        self.next = Some(command.into());
        self
    }

    /// Says what leads on; any one of these.
    pub(crate) fn steps(mut self, steps: Vec<NextStep>) -> Self {
        self.next = spelling::any_of(&steps);
        self.steps = steps;
        self
    }

    /// Prints the error to stderr, as text or as one line of JSON.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if self.kind == Kind::Unheard {
            return ExitCode::SUCCESS;
        }
        if json {
            let findings: Vec<_> = self
                .files
                .iter()
                .map(|file| json!({ "file": file.path, "findings": file.diagnostics }))
                .collect();
            let mut value = json!({ "error": {
                "code": self.kind as u8,
                "message": self.message,
                "hints": self.hints,
                "next": self.next,
                "next_steps": spelling::data(&self.steps),
                "files": findings,
            }});
            if let Some(code) = self.code {
                value["error"]["kind"] = json!(code.as_str());
            }
            say(&value.to_string());
        } else {
            say(self.text().trim_end());
        }
        ExitCode::from(self.kind as u8)
    }

    /// The code, where the seed has it in the message too: agents read it there.
    fn prefix(&self) -> &'static str {
        match self.code {
            Some(Code::StaleAttempt) => "STALE_ATTEMPT: ",
            _ => "",
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if self.files.is_empty() {
            let _infallible =
                writeln!(text, "{} {}{}", styled(RED, "error:"), self.prefix(), self.message);
        }
        for file in &self.files {
            text.push_str(&snippet::draw(&InvalidFile {
                path: shorten(&file.path),
                ..file.clone()
            }));
        }
        if !self.hints.is_empty() || self.next.is_some() {
            text.push('\n');
        }
        for hint in &self.hints {
            let _infallible = writeln!(text, "{} {hint}", styled(CYAN, "hint:"));
        }
        if let Some(next) = &self.next {
            let _infallible = writeln!(text, "{} {next}", styled(CYAN, "next:"));
        }
        text
    }
}

/// A path as seen from the folder that the user is in, where it is below it.
fn shorten(path: &Path) -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

impl From<Rejected> for CliError {
    fn from(rejected: Rejected) -> Self {
        let kind = Kind::from(rejected.code.class());
        let hint = match rejected.cause {
            Cause::Reserved => Some("a person types it, with no agent program above the terminal"),
            Cause::Fenced => Some("another attempt has taken over; leave the task to it"),
            Cause::Stale => Some("stop here; reading is still allowed"),
            Cause::Rule | Cause::Unknown | Cause::Bug => None,
        };
        let code = Some(rejected.code);
        let hints = hint.into_iter().map(str::to_owned).collect();
        Self { hints, code, ..Self::new(kind, rejected.message) }.steps(rejected.next)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Moved { .. } | StoreError::Changed { .. } | StoreError::Busy { .. } => {
                Kind::Locked
            }
            StoreError::NotRegular { .. }
            | StoreError::TooLarge { .. }
            | StoreError::NotText { .. } => Kind::BadInput,
            _ => Kind::Missing,
        };
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let _infallible = write!(message, ": {cause}");
            source = cause.source();
        }
        let hint = match &error {
            StoreError::File { .. } => Some("fix that, then repeat the command"),
            StoreError::Busy { .. } => Some("repeat the command when it is free"),
            other => other.hint(),
        };
        let hints = hint.into_iter().map(str::to_owned).collect();
        Self { hints, ..Self::new(kind, message) }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        let with_hint = |kind, hint: Option<String>| Self {
            hints: hint.into_iter().collect(),
            ..Self::new(kind, message.clone())
        };
        match error {
            EngineError::Rejected(rejected) => rejected.into(),
            EngineError::Store(error) => error.into(),
            EngineError::Runs { .. } => with_hint(
                Kind::Locked,
                Some("`waypost run status --wait` watches it, `waypost run stop` ends it".into()),
            ),
            EngineError::Invalid(file) => {
                let files = vec![*file];
                Self { files, ..Self::new(Kind::BadInput, message) }
            }
            EngineError::BadInput { hint, .. } => with_hint(Kind::BadInput, hint),
            EngineError::Missing { hint, .. } => with_hint(Kind::Missing, hint),
            EngineError::Git(error) => error.into(),
            EngineError::Failed { hint, .. } => with_hint(Kind::Failed, hint),
            EngineError::CheckFailed { .. } => with_hint(Kind::Failed, None),
            EngineError::Proc(ProcError::Busy { .. }) => with_hint(Kind::Locked, None),
            EngineError::Proc(_) => with_hint(Kind::Missing, None),
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => Kind::Unheard,
            _ => Kind::Missing,
        };
        Self::new(kind, format!("cannot print: {error}"))
    }
}
