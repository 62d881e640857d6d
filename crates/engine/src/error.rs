//! What can go wrong for a caller of the engine; each variant has its own way out.
//!
//! Every error has a code, which says what can be done about it and decides the exit code. What
//! leads on is a value that the faces spell; the causes stay behind it as a chain.

use rustix::io::Errno;
use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use waypost_git::GitError;
use waypost_model::{
    code::Code, diagnostic::Diagnostic, machine::Rejected, next::NextStep, trouble::Trouble,
};
use waypost_proc::ProcError;
use waypost_store::{StoreError, lock::Owner, trouble_of};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A rule stands against it; nothing has changed.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The disk, the journal or another process stands against it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run is at work in another process.
    #[error("already running, since {}, as process {}", owner.since, owner.pid)]
    Runs { owner: Box<Owner> },
    /// The processes of tasks cannot be kept.
    #[error(transparent)]
    Proc(#[from] ProcError),
    /// A file that a person or an agent wrote cannot be used as it is.
    #[error("{} is not valid", .0.path.display())]
    Invalid(Box<InvalidFile>),
    /// What was given, what is there or what was done does not do; its code says which.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// Git, the repository or a work tree stands against it.
    #[error(transparent)]
    Git(GitError),
    /// A command that Waypost ran as a check did not pass.
    #[error("`{command}` did not pass: {outcome}")]
    CheckFailed { command: String, outcome: String },
}

impl From<GitError> for EngineError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Store(error) => Self::Store(error),
            error => Self::Git(error),
        }
    }
}

impl From<Problem> for EngineError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// A file with everything that was found wrong with it, and its text for showing where.
#[derive(Clone, Debug)]
pub struct InvalidFile {
    pub path: PathBuf,
    pub text: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// Something that does not do: which, told to a person, with what leads on and what is behind it.
#[derive(Clone, Debug)]
pub struct Problem {
    pub code: Code,
    pub message: String,
    /// What a person can do where no step of ours leads on; names none of our commands.
    pub hint: Option<String>,
    /// What leads on from here, the most useful first; any one of them.
    pub next: Vec<NextStep>,
    /// Shared, because one failure may be told to several threads.
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, next: Vec::new(), cause: None }
    }

    /// A file that was named is not there.
    pub(crate) fn no_file(path: &Path) -> Self {
        Self::new(Code::FileNotFound, format!("there is no {}", path.display()))
    }

    /// The operating system refused something that always works.
    pub(crate) fn system(message: &str, cause: impl Error + Send + Sync + 'static) -> Self {
        Self::new(Code::SystemFailed, message).because(cause)
    }

    /// What another version has started still works; `what` is what has to end.
    pub(crate) fn other_version(id: &str, what: &str) -> Self {
        let message = format!("{id} was started by another version of Waypost and still works");
        Self::new(Code::OtherVersion, message)
            .hint(format!("wait until its {what} ended, or go on with that version"))
    }

    /// The journal took nothing; told to each thread that wanted something of it.
    pub(crate) fn unwritten(error: EngineError) -> Self {
        let told = Self::new(error.code(), "the journal could not be written");
        let told = match &error {
            EngineError::Store(StoreError::CommitUnknown { .. }) => {
                Self { hint: error.hint().map(str::to_owned), next: error.next_steps(), ..told }
            }
            _ => told.hint("nothing was done; repeat the command"),
        };
        told.because(error)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }

    pub fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl EngineError {
    pub fn invalid(path: impl Into<PathBuf>, bytes: &[u8], diagnostics: Vec<Diagnostic>) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        Self::Invalid(Box::new(InvalidFile { path: path.into(), text, diagnostics }))
    }

    /// What programs match on.
    pub fn code(&self) -> Code {
        match self {
            Self::Rejected(rejected) => rejected.code,
            Self::Store(error) => error.code(),
            Self::Runs { .. } => Code::AlreadyRunning,
            Self::Proc(error) => error.code(),
            Self::Invalid(_) => Code::InvalidFile,
            Self::Problem(problem) => problem.code,
            Self::Git(error) => error.code(),
            Self::CheckFailed { .. } => Code::CheckFailed,
        }
    }

    /// The trouble of the machine behind it, if there is one: Waypost cannot work, no task is to
    /// blame, and the same may work another time.
    pub fn trouble(&self) -> Option<Trouble> {
        let own = match self {
            Self::Store(error) => error.trouble(),
            Self::Git(error) => error.trouble(),
            Self::Proc(ProcError::Start { detail, .. }) => Trouble::of_words(detail),
            _ => None,
        };
        let mut behind = (self as &dyn Error).source();
        let mut found = own;
        while let (None, Some(cause)) = (found, behind) {
            let of_system = cause.downcast_ref::<Errno>().map(|it| io::Error::from(*it));
            found = match cause.downcast_ref::<io::Error>() {
                Some(error) => trouble_of(error),
                None => of_system.as_ref().and_then(trouble_of),
            };
            found = found.or_else(|| cause.downcast_ref::<StoreError>()?.trouble());
            behind = cause.source();
        }
        found
    }

    /// What leads on, the most useful first; any one of them.
    pub fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::Rejected(rejected) => rejected.next.clone(),
            Self::Store(error) => error.next_step().into_iter().collect(),
            Self::Runs { .. } => vec![NextStep::WatchRun, NextStep::StopRun],
            Self::Problem(problem) => problem.next.clone(),
            Self::Proc(_) | Self::Invalid(_) | Self::Git(_) | Self::CheckFailed { .. } => {
                Vec::new()
            }
        }
    }

    /// What a person can do where no step of ours leads on.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Problem(problem) => problem.hint.as_deref(),
            _ => None,
        }
    }
}

/// The message with everything that is behind it, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // What only passes on its cause says the same as that.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_what_is_behind_it() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let store = StoreError::Full { path: "/x".into(), source: full };
        let told = Problem::unwritten(store.into());
        for error in [told.clone(), told] {
            let error = EngineError::from(error);
            assert_eq!(
                with_causes(&error),
                "the journal could not be written: no space left to write /x: no storage space"
            );
            assert_eq!(error.code(), Code::DiskFull);
            assert_eq!(error.trouble(), Some(Trouble::NoSpace));
        }
    }

    #[test]
    fn troubles_of_the_machine_are_told_from_other_failures() {
        let file = |errno: Errno| {
            let (action, path, source) = ("write", "/x".into(), errno.into());
            EngineError::from(StoreError::File { action, path, source })
        };
        let failed = |said: &str| {
            let (command, said) = ("commit".to_owned(), said.to_owned());
            EngineError::from(GitError::Failed { command, said })
        };
        let branch = waypost_git::Absence::Branch { name: "phase-1".into() };
        let table = [
            (file(Errno::IO), Some(Trouble::DiskError)),
            (file(Errno::ROFS), Some(Trouble::ReadOnly)),
            (file(Errno::MFILE), Some(Trouble::NoFiles)),
            (file(Errno::ACCESS), None),
            (failed("fatal: No space left on device"), Some(Trouble::NoSpace)),
            (failed("fatal: pathspec 'a' did not match"), None),
            (GitError::Killed { command: "add".into() }.into(), Some(Trouble::GitDied)),
            (GitError::from(branch).into(), Some(Trouble::Repository)),
            (
                GitError::Unavailable { source: Errno::AGAIN.into() }.into(),
                Some(Trouble::NoProcesses),
            ),
            (Problem::system("cannot make an event", Errno::MFILE).into(), Some(Trouble::NoFiles)),
            (Problem::new(Code::Bug, "something else").into(), None),
        ];
        for (error, want) in table {
            assert_eq!(error.trouble(), want, "{}", with_causes(&error));
        }
    }
}
