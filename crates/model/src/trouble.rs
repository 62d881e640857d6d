//! Troubles of the machine and of Waypost's own tools: work cannot be done, and nothing is wrong with it.
//!
//! A task that meets one has not failed: it is parked, and spends no retry. What is in trouble is the
//! same for all tasks, so the inbox has one entry for each trouble, and all of them go on when it is gone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What keeps Waypost from working. The words are part of the journal's format.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The disk or a quota is full, or less is free than has to be.
    NoSpace,
    /// The file system has no room for another file, whatever is free.
    NoInodes,
    /// The file system takes nothing.
    ReadOnly,
    /// The disk fails to read or to write.
    DiskError,
    /// No process can be had.
    NoProcesses,
    /// No file can be opened.
    NoFiles,
    NoMemory,
    /// A git of ours was killed, again and again.
    GitDied,
    /// Keepers die, one after another.
    KeeperDied,
    /// Git cannot do what it always can: something that Waypost made is gone, damaged or locked.
    Repository,
}

/// What programs say in the language `C`, and what that means.
const WORDINGS: [(&str, Trouble); 22] = [
    ("No space left on device", Trouble::NoSpace),
    ("Disk quota exceeded", Trouble::NoSpace),
    ("Read-only file system", Trouble::ReadOnly),
    ("Input/output error", Trouble::DiskError),
    ("Too many open files", Trouble::NoFiles),
    ("Cannot allocate memory", Trouble::NoMemory),
    ("ut of memory", Trouble::NoMemory),
    ("EMFILE", Trouble::NoFiles),
    ("ENFILE", Trouble::NoFiles),
    ("ENOMEM", Trouble::NoMemory),
    ("ENOSPC", Trouble::NoSpace),
    ("Resource temporarily unavailable", Trouble::NoProcesses),
    ("EAGAIN", Trouble::NoProcesses),
    ("annot fork", Trouble::NoProcesses),
    ("unable to create thread", Trouble::NoProcesses),
    (".lock': File exists", Trouble::Repository),
    ("index file corrupt", Trouble::Repository),
    ("index file smaller than expected", Trouble::Repository),
    ("bad object", Trouble::Repository),
    ("unable to read tree", Trouble::Repository),
    ("is corrupt", Trouble::Repository),
    ("not a git repository", Trouble::Repository),
];

impl Trouble {
    pub const ALL: [Self; 10] = [
        Self::NoSpace,
        Self::NoInodes,
        Self::ReadOnly,
        Self::DiskError,
        Self::NoProcesses,
        Self::NoFiles,
        Self::NoMemory,
        Self::GitDied,
        Self::KeeperDied,
        Self::Repository,
    ];

    /// Its word on the wire, the same as serde's.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoSpace => "no_space",
            Self::NoInodes => "no_inodes",
            Self::ReadOnly => "read_only",
            Self::DiskError => "disk_error",
            Self::NoProcesses => "no_processes",
            Self::NoFiles => "no_files",
            Self::NoMemory => "no_memory",
            Self::GitDied => "git_died",
            Self::KeeperDied => "keeper_died",
            Self::Repository => "repository",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }

    /// What the words of a program that could not do its work mean, if they tell of such trouble.
    pub fn of_words(said: &str) -> Option<Self> {
        WORDINGS.into_iter().find(|(wording, _)| said.contains(wording)).map(|(_, it)| it)
    }

    /// Whether the disk is in trouble: then nothing can be recorded either, or soon.
    pub fn is_disk(self) -> bool {
        matches!(self, Self::NoSpace | Self::NoInodes | Self::ReadOnly | Self::DiskError)
    }

    /// Whether the machine has nothing left for a process: each of them may fail of that in its own way.
    pub fn is_shortage(self) -> bool {
        matches!(self, Self::NoProcesses | Self::NoFiles | Self::NoMemory)
    }

    /// Whether git shows that it is gone, by doing something.
    pub fn is_git(self) -> bool {
        matches!(self, Self::GitDied | Self::Repository)
    }

    /// What a person can do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::NoSpace => "make space on the disk, or lower `worktree.min_free_mb`",
            Self::NoInodes => "delete files: the file system has no room for another one",
            Self::ReadOnly => "make the file system writable again (`mount`, `dmesg`)",
            Self::DiskError => "look at the disk and the system's log (`dmesg`)",
            Self::NoProcesses => {
                "end programs, or allow more processes (`ulimit -u`, the service's limits)"
            }
            Self::NoFiles => "allow more open files (`ulimit -n`), or run fewer tasks at once",
            Self::NoMemory => "end programs, or run fewer tasks at once",
            Self::GitDied => "find out what kills git: the system's log, or its memory limits",
            Self::KeeperDied => {
                "find out what kills Waypost's keepers: the system's log, or its memory limits"
            }
            Self::Repository => "look at the repository (`git fsck`), and have it examined",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NoSpace => "no space on the disk",
            Self::NoInodes => "no room for another file",
            Self::ReadOnly => "the file system is read-only",
            Self::DiskError => "the disk fails",
            Self::NoProcesses => "no process can be had",
            Self::NoFiles => "no file can be opened",
            Self::NoMemory => "no memory",
            Self::GitDied => "git is killed",
            Self::KeeperDied => "keepers are killed",
            Self::Repository => "the repository cannot be used",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_has_a_word_of_its_own() {
        for trouble in Trouble::ALL {
            assert_eq!(Trouble::from_word(trouble.word()), Some(trouble));
            let written = serde_json::to_string(&trouble).unwrap();
            assert_eq!(written, format!("\"{}\"", trouble.word()));
        }
    }

    #[test]
    fn what_programs_say_is_understood() {
        let table = [
            ("fatal: write error: No space left on device", Some(Trouble::NoSpace)),
            ("error: unable to create a.txt: Read-only file system", Some(Trouble::ReadOnly)),
            ("fatal: cannot pread pack file: Input/output error", Some(Trouble::DiskError)),
            (
                "fatal: unable to create threaded lstat: Resource temporarily unavailable",
                Some(Trouble::NoProcesses),
            ),
            ("error: cannot fork() for rev-list", Some(Trouble::NoProcesses)),
            ("fatal: Out of memory, malloc failed", Some(Trouble::NoMemory)),
            (
                "fatal: Unable to create '/p/.git/index.lock': File exists.",
                Some(Trouble::Repository),
            ),
            ("fatal: index file corrupt", Some(Trouble::Repository)),
            ("error: pathspec 'x' did not match any file(s) known to git", None),
            ("", None),
        ];
        for (said, want) in table {
            assert_eq!(Trouble::of_words(said), want, "{said}");
        }
    }
}
