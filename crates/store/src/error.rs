//! What can go wrong below the engine; each variant is something the caller can act on.
//!
//! No type of the database library appears here: the same errors will come from PostgreSQL.

use crate::{file::FileKind, journal::Cursor, lock::Owner};
use rustix::io::Errno;
use std::{
    io,
    path::{Path, PathBuf},
};
use waypost_model::{code::Code, id::StreamName, next::NextStep, trouble::Trouble};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process committed first: load again and decide again.
    #[error("{stream} is at version {head}, not {seen}")]
    Moved { stream: StreamName, seen: u64, head: u64 },
    /// A document is not what was read before; hashes are `None` where no file stood.
    #[error("{} has changed since it was read", path.display())]
    Changed { path: PathBuf, expected: Option<String>, found: Option<String> },
    /// A commit failed, and whether it has happened could not be learnt: look before repeating it.
    #[error("it is not known whether the last change was recorded")]
    CommitUnknown {
        #[source]
        cause: Box<Self>,
    },
    #[error("{} does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("{} is a link to {}, which does not exist", link.display(), target.display())]
    Dangling { link: PathBuf, target: PathBuf },
    /// A journal is known to have existed here; nothing may be done until it is back.
    #[error("the journal of {} has vanished", project.display())]
    Vanished { project: PathBuf, journal_id: String },
    /// A journal stands among a project's files that was never made or seen here: it came with them.
    #[error("{} was not made on this machine: it came with the files, and is not believed", path.display())]
    Foreign { path: PathBuf },
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is {what}, not a regular file", path.display())]
    NotRegular { path: PathBuf, what: FileKind },
    /// A project's path that cannot be written down.
    #[error("the path of this project is not valid UTF-8: {}", path.display())]
    NotText { path: PathBuf },
    #[error("{} is larger than {max} bytes", path.display())]
    TooLarge { path: PathBuf, max: u64 },
    /// No space or quota left; nothing was changed, and it works again once there is space.
    #[error("no space left to write {}", path.display())]
    Full { path: PathBuf, source: io::Error },
    #[error("{what} is in use{}", held_by(holder.as_deref()))]
    Busy { what: String, holder: Option<Box<Owner>> },
    /// A folder where locks or shared memory cannot be relied on.
    #[error("{} is on {file_system}, where a journal cannot be kept safely", path.display())]
    Unsuitable { path: PathBuf, file_system: &'static str },
    /// Written by a newer version of this program.
    #[error("the journal has format {found}, this program knows up to {known}")]
    Newer { found: u32, known: u32 },
    #[error("{} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// What was sealed cannot be opened any more: its key is gone, or is another one.
    #[error("the key of values that were given to tasks is lost: {}", path.display())]
    KeyLost { path: PathBuf },
    /// A reader knows more than there is: the journal is another one, or was restored since.
    #[error("the journal does not reach to position {cursor}")]
    Ahead { cursor: Cursor },
    #[error("cannot read journal entry {seq}: {detail}")]
    Undecodable { seq: u64, detail: String },
    /// A line on the engine's socket that is not one, or a peer that is another user.
    #[error("{detail}")]
    Protocol { detail: String },
    #[error("cannot {action}: {detail}")]
    Database { action: &'static str, detail: String },
}

impl StoreError {
    /// Whether loading again and deciding again can succeed.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Moved { .. } | Self::Changed { .. })
    }

    /// What programs match on.
    pub fn code(&self) -> Code {
        match self {
            Self::Moved { .. } => Code::Moved,
            Self::Changed { .. } => Code::Changed,
            Self::CommitUnknown { .. } => Code::OutcomeUnknown,
            Self::Missing { .. } => Code::JournalMissing,
            Self::Dangling { .. } => Code::DanglingLink,
            Self::Vanished { .. } => Code::JournalVanished,
            Self::Foreign { .. } => Code::JournalForeign,
            Self::File { .. } => Code::FileFailed,
            Self::NotRegular { .. } => Code::NotRegular,
            Self::NotText { .. } => Code::NotText,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Full { .. } => Code::DiskFull,
            Self::Busy { .. } => Code::Busy,
            Self::Unsuitable { .. } => Code::JournalUnsuited,
            Self::Newer { .. } => Code::JournalNewer,
            Self::Corrupt { .. } | Self::Undecodable { .. } => Code::JournalDamaged,
            Self::KeyLost { .. } => Code::ValueKeyLost,
            Self::Ahead { .. } => Code::JournalRestored,
            Self::Protocol { .. } => Code::HostGone,
            Self::Database { .. } => Code::JournalFailed,
        }
    }

    /// The trouble of the machine behind it, if there is one: then it may work another time.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Full { .. } => Some(Trouble::NoSpace),
            Self::File { source, .. } => trouble_of(source),
            Self::CommitUnknown { cause } => cause.trouble(),
            Self::Database { detail, .. } => Trouble::of_words(detail),
            _ => None,
        }
    }

    /// What leads on, where a step of ours does.
    pub fn next_step(&self) -> Option<NextStep> {
        match self {
            Self::Vanished { .. }
            | Self::Corrupt { .. }
            | Self::Undecodable { .. }
            | Self::KeyLost { .. } => Some(NextStep::Examine),
            Self::CommitUnknown { .. } => Some(NextStep::ShowStatus),
            Self::Foreign { path } => {
                Some(NextStep::AdoptFile { file: path.to_string_lossy().into_owned() })
            }
            _ => None,
        }
    }

    /// What a person can do about it, where that does not follow from the message.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::File { .. } => Some("fix that, then repeat the command"),
            Self::Busy { .. } => Some("repeat the command when it is free"),
            Self::Ahead { .. } => Some("read it from the beginning"),
            Self::CommitUnknown { .. } => {
                Some("see how things stand before you repeat the command")
            }
            Self::Newer { .. } => Some("update waypost"),
            Self::KeyLost { .. } => {
                Some("bring the file back from a backup, or give the values again")
            }
            Self::Unsuitable { .. } => Some("move the project to a local disk"),
            Self::Full { .. } => Some("make space, then repeat the command"),
            Self::NotText { .. } => Some("rename the folder, then repeat the command"),
            Self::NotRegular { .. } => Some("move it away or replace it by a regular file"),
            _ => None,
        }
    }

    /// Classifies an operating system error of doing `action` on `path`.
    pub(crate) fn file(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        let (path, source) = (path.to_owned(), source.into());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { path, source }
            }
            _ => Self::File { action, path, source },
        }
    }

    /// Another engine acts for the project.
    pub(crate) fn engine_busy(holder: Option<Owner>) -> Self {
        let what = "the engine of this project".into();
        Self::Busy { what, holder: holder.map(Box::new) }
    }

    pub fn corrupt(path: &Path, detail: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), detail: detail.into() }
    }
}

/// Which trouble of the machine an error of the operating system or the database is.
pub fn trouble_of(error: &io::Error) -> Option<Trouble> {
    if let Some(code) = error.raw_os_error() {
        return trouble_of_code(code);
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Trouble::NoSpace),
        io::ErrorKind::ReadOnlyFilesystem => Some(Trouble::ReadOnly),
        io::ErrorKind::OutOfMemory => Some(Trouble::NoMemory),
        _ => {
            let inner = error.get_ref()?.downcast_ref::<rusqlite::Error>()?;
            match inner.sqlite_error_code()? {
                rusqlite::ErrorCode::SystemIoFailure | rusqlite::ErrorCode::CannotOpen => {
                    Some(Trouble::DiskError)
                }
                rusqlite::ErrorCode::ReadOnly => Some(Trouble::ReadOnly),
                rusqlite::ErrorCode::OutOfMemory => Some(Trouble::NoMemory),
                _ => None,
            }
        }
    }
}

fn trouble_of_code(code: i32) -> Option<Trouble> {
    let troubles = [
        (Errno::NOSPC, Trouble::NoSpace),
        (Errno::DQUOT, Trouble::NoSpace),
        (Errno::ROFS, Trouble::ReadOnly),
        (Errno::IO, Trouble::DiskError),
        (Errno::AGAIN, Trouble::NoProcesses),
        (Errno::MFILE, Trouble::NoFiles),
        (Errno::NFILE, Trouble::NoFiles),
        (Errno::NOMEM, Trouble::NoMemory),
    ];
    troubles.into_iter().find(|(errno, _)| errno.raw_os_error() == code).map(|(_, it)| it)
}

fn held_by(holder: Option<&Owner>) -> String {
    holder.map(|owner| format!(" by {owner}")).unwrap_or_default()
}
