//! The one error that reaches a user: kind, message, cause and hints; printed in one place.

use crate::{
    data::{Enveloped, ErrorBody, ErrorLine, FileFindings},
    output::{CYAN, RED, say, styled},
    snippet, spelling,
};
use std::{
    env,
    error::Error,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{EngineError, InvalidFile, StoreError};
use waypost_model::{
    code::{Class, Code},
    machine::{Cause, Rejected},
    next::NextStep,
};

/// What to do about a check that did not pass, before it is tried again.
pub(crate) const FIX_FIRST: &str = "fix what failed before you try again";

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
    code: Code,
    message: Box<str>,
    /// What is behind it, the nearest first; the message has it too.
    causes: Vec<String>,
    hints: Vec<String>,
    /// What leads on; any one of these. Its text is made from them when it is told.
    steps: Vec<NextStep>,
    file: Option<Box<InvalidFile>>,
}

impl CliError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let (kind, message) = (code.class().into(), message.into().into());
        let (causes, hints, steps) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, code, message, causes, hints, steps, file: None }
    }

    /// An argument that does not have the form that it needs.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Code::BadArgument, message)
    }

    /// Adds what is behind it, as far as it is known.
    pub(crate) fn because(mut self, error: &(dyn Error + 'static)) -> Self {
        let mut source = Some(error);
        while let Some(cause) = source {
            let text = cause.to_string();
            self.message = format!("{}: {text}", self.message).into();
            self.causes.push(text);
            source = cause.source();
        }
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a step that leads on.
    pub(crate) fn next(mut self, step: NextStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds steps, of which any one leads on.
    pub(crate) fn steps(mut self, steps: Vec<NextStep>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// What leads on; any one of these.
    pub(crate) fn next_steps(&self) -> &[NextStep] {
        &self.steps
    }

    /// Prints the error to stderr, as text or as one line of JSON.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if self.kind == Kind::Unheard {
            return ExitCode::SUCCESS;
        }
        if json {
            let line = self.line();
            // It has only strings and numbers.
            say(&serde_json::to_string(&Enveloped::new(&line)).unwrap_or_default());
        } else {
            say(self.text().trim_end());
        }
        ExitCode::from(self.kind as u8)
    }

    /// The error as data.
    pub(crate) fn line(&self) -> ErrorLine<'_> {
        let files = self.file.iter();
        let files = files.map(|it| FileFindings { file: &it.path, findings: &it.diagnostics });
        let error = ErrorBody {
            code: self.kind as u8,
            kind: self.code.as_str(),
            message: &self.message,
            causes: &self.causes,
            hints: &self.hints,
            next: spelling::any_of(&self.steps),
            next_steps: spelling::data(&self.steps),
            files: files.collect(),
        };
        ErrorLine { error }
    }

    /// The code, where agents read it in the message, as the seeds have it.
    fn prefix(&self) -> String {
        match self.code {
            code @ (Code::StaleAttempt | Code::TasksNotFound) => format!("{code}: "),
            _ => String::new(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if self.file.is_none() {
            let _infallible =
                writeln!(text, "{} {}{}", styled(RED, "error:"), self.prefix(), self.message);
        }
        if let Some(file) = &self.file {
            text.push_str(&snippet::draw(&InvalidFile {
                path: shorten(&file.path),
                ..InvalidFile::clone(file)
            }));
        }
        let next = spelling::any_of(&self.steps);
        if !self.hints.is_empty() || next.is_some() {
            text.push('\n');
        }
        for hint in &self.hints {
            let _infallible = writeln!(text, "{} {hint}", styled(CYAN, "hint:"));
        }
        if let Some(next) = next {
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
        let hint = match rejected.cause {
            Cause::Reserved => Some("a person types it, with no agent program above the terminal"),
            Cause::Fenced => Some("another attempt has taken over; leave the task to it"),
            Cause::Stale => Some("stop here; reading is still allowed"),
            Cause::Rule | Cause::Outdated | Cause::Unknown | Cause::Bug => None,
        };
        let told = Self::new(rejected.code, rejected.message).steps(rejected.next);
        hint.into_iter().fold(told, Self::hint)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Rejected(rejected) => rejected.into(),
            EngineError::Git(error) => error.into(),
            EngineError::Invalid(file) => {
                let message = format!("{} is not valid", file.path.display());
                Self { file: Some(file), ..Self::new(Code::InvalidFile, message) }
            }
            error => {
                let told = Self::new(error.code(), error.to_string()).steps(error.next_steps());
                let told = error.source().into_iter().fold(told, Self::because);
                error.hint().into_iter().fold(told, Self::hint)
            }
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let told = Self::new(Code::OutputFailed, format!("cannot print: {error}"));
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { kind: Kind::Unheard, ..told },
            _ => told,
        }
    }
}
