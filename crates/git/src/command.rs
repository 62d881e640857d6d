//! Git, called so that it runs nothing of the repository's and never asks.
//!
//! Hooks, the file system monitor, pagers, editors, signing, transports and prompts are off;
//! optional locks are not taken, so that our looking never stands in the way of the user's git.
//! Variables that point git at another repository or index are dropped: a git hook that calls us
//! has them set. Programs that the repository's own configuration names (`foreign`) have to be read
//! from there first; callers that write files or merge do that.
//!
//! Git's input is nothing, or a lock (`hold`); or a file, for a git that moves no ref and may be left
//! behind by an engine that dies.

pub mod exclude;
mod foreign;
mod hold;
pub(crate) mod stale_locks;

pub(crate) use foreign::ForeignPrograms;
pub use hold::Hold;

use crate::error::GitError;
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Settings that keep git from running programs and from failing early, whatever is configured.
const QUIET: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "credential.helper=",
    "submodule.recurse=false",
    // The user's `git gc` locks each ref in turn, and all packed ones together: that is waited for.
    "core.filesRefLockTimeout=10000",
    "core.packedRefsTimeout=10000",
];

/// Variables to the same end. No protocol is allowed: nothing here speaks to another repository,
/// and a lazy fetch would start what the configuration says.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_ASKPASS", "true"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
];

/// Commands that show differences, and would let programs make them.
const SHOWING: [&str; 7] =
    ["diff", "show", "log", "diff-tree", "diff-index", "diff-files", "format-patch"];

/// Commands that look at files, and would run git in submodules as those configure it to find out
/// whether they have changed. `add` does so whatever it is told; see `Trees::stage`.
const LOOKING: [&str; 4] = ["status", "diff", "diff-index", "diff-files"];

/// Makes what is written survive a power cut, with one flush for many objects.
const DURABLE: [&str; 2] = ["core.fsync=committed", "core.fsyncMethod=batch"];

/// Commands that change nothing but which objects there are: one that was killed is started again.
const REPEATABLE: [&str; 21] = [
    "--version",
    "cat-file",
    "check-attr",
    "check-ignore",
    "commit-tree",
    "config",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "merge-tree",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
    "status",
];

/// How often such a command is started before it counts as killed.
const STARTS_MAX: usize = 3;

/// The same, with the index: that of a person's checkout cannot be made again from a branch.
const DURABLE_WITH_INDEX: [&str; 2] = ["core.fsync=added", "core.fsyncMethod=batch"];

/// The oldest git with which work can be merged: `merge-tree --write-tree` came with it.
pub const VERSION_MIN: (u32, u32) = (2, 38);

/// The oldest git with which work can be taken back: `merge-tree --merge-base` came with it.
pub const VERSION_TO_REVERT: (u32, u32) = (2, 40);

/// The version in what `git --version` prints: `git version 2.39.5 (Apple Git-154)`.
pub fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("git version ")?.split(['.', ' ', '-']);
    Some((parts.next()?.trim().parse().ok()?, parts.next()?.trim().parse().ok()?))
}

/// Git in one folder.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
    settings: Vec<String>,
    /// Settings whose names may have any character in them.
    overrides: Vec<(String, String)>,
    variables: Vec<(&'static str, OsString)>,
    hold: Option<Hold>,
    input: Option<PathBuf>,
}

impl Git {
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            settings: Vec::new(),
            overrides: Vec::new(),
            variables: Vec::new(),
            hold: None,
            input: None,
        }
    }

    /// Overrides one setting, `name=value`.
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.extend(["-c".to_owned(), setting.into()]);
        self
    }

    pub fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs none of the programs that were found in the repository's configuration.
    pub fn without(mut self, foreign: &ForeignPrograms) -> Self {
        self.overrides.extend_from_slice(&foreign.overrides);
        self
    }

    /// Holds a lock as long as any process lives that is started from here.
    pub fn under(mut self, hold: &Hold) -> Self {
        self.hold = Some(hold.clone());
        self
    }

    /// Gives it a file to read instead of the lock; not for what moves a ref.
    pub(crate) fn reading(mut self, file: &Path) -> Self {
        self.input = Some(file.to_owned());
        self
    }

    /// Commits, objects and refs are on disk when a command returns.
    pub fn durable(self) -> Self {
        DURABLE.into_iter().fold(self, Self::setting)
    }

    /// As `durable`, and so is the index.
    pub fn durable_with_index(self) -> Self {
        DURABLE_WITH_INDEX.into_iter().fold(self, Self::setting)
    }

    /// What a setting of the user or the repository says; reading one runs nothing.
    pub fn config(&self, key: &str) -> Result<Option<String>, GitError> {
        let output = self.start(&[], &["config", "--get", key])?;
        let text = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
        Ok(output.status.success().then_some(text))
    }

    /// Runs git; what it prints, or nothing if it ends with another code than 0.
    pub fn try_text(&self, arguments: &[&str]) -> Result<Option<String>, GitError> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\n').into();
        Ok(self.try_bytes(arguments)?.map(text))
    }

    /// As `try_text`, to the byte.
    pub fn try_bytes(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, GitError> {
        let output = self.start(&QUIET, arguments)?;
        Ok(output.status.success().then_some(output.stdout))
    }

    /// Runs git; what it prints. Another code than 0 is an error with what it said.
    pub fn text(&self, arguments: &[&str]) -> Result<String, GitError> {
        let printed = self.bytes(arguments)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// As `text`, to the byte.
    pub fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let output = self.start(&QUIET, arguments)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failure(arguments.first().copied().unwrap_or_default(), &output)),
        }
    }

    /// The filters of the repository's own configuration, which are not run.
    pub fn foreign_filters(&self) -> Vec<String> {
        let name = |(key, _): &(String, String)| {
            Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned())
        };
        self.overrides.iter().filter_map(name).collect()
    }

    /// Runs git and gives everything that came of it, whatever the code.
    pub fn output(&self, arguments: &[&str]) -> Result<Output, GitError> {
        self.start(&QUIET, arguments)
    }

    fn start(&self, quiet: &[&str], arguments: &[&str]) -> Result<Output, GitError> {
        let first = arguments.first().copied().unwrap_or_default();
        // `git config` writes with two values, and reads with `--get`.
        let is_repeatable = REPEATABLE.contains(&first)
            && (first != "config" || arguments.iter().any(|it| it.starts_with("--get")));
        let starts = if is_repeatable { STARTS_MAX } else { 1 };
        for _ in 1..starts {
            match self.start_once(quiet, arguments) {
                Err(GitError::Killed { .. }) => {}
                ended => return ended,
            }
        }
        self.start_once(quiet, arguments)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
    fn start_once(&self, quiet: &[&str], arguments: &[&str]) -> Result<Output, GitError> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_git(name)) {
            command.env_remove(name);
        }
        command.args(quiet.iter().flat_map(|setting| ["-c", setting])).args(&self.settings);
        let (first, rest) = arguments.split_at(arguments.len().min(1));
        command.args(first);
        if first.iter().any(|first| SHOWING.contains(first)) {
            command.args(["--no-ext-diff", "--no-textconv"]);
        }
        if first.iter().any(|first| LOOKING.contains(first)) {
            command.arg("--ignore-submodules=dirty");
        }
        command.args(rest).current_dir(&self.folder).envs(ENVIRONMENT);
        if !self.overrides.is_empty() {
            command.env("GIT_CONFIG_COUNT", self.overrides.len().to_string());
        }
        for (number, (key, value)) in self.overrides.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(match (&self.input, &self.hold) {
            (Some(path), _) => {
                let opened = File::open(path);
                opened.map_err(|error| GitError::file("read", path, error))?.into()
            }
            (None, Some(hold)) => hold.input()?,
            (None, None) => Stdio::null(),
        });
        #[cfg(test)]
        crate::tree::end_if_cut(crate::tree::Moment::Before);
        let output = command.output().map_err(|source| GitError::Unavailable { source })?;
        #[cfg(test)]
        crate::tree::end_if_cut(crate::tree::Moment::After);
        match is_killed(&output) {
            true => Err(GitError::Killed { command: first.concat() }),
            false => Ok(output),
        }
    }
}

/// Whether git, or a git that it started, was ended from outside: then it has answered nothing.
fn is_killed(output: &Output) -> bool {
    let told = b"died of signal";
    output.status.signal().is_some()
        || !output.status.success() && output.stderr.windows(told.len()).any(|it| it == told)
}

/// A command of git's that ended with another code than 0, with what it said.
pub(crate) fn failure(command: &str, output: &Output) -> GitError {
    let said = String::from_utf8_lossy(&output.stderr);
    // What went wrong first; the last line may only say that something did.
    let is_error = |line: &&str| line.starts_with("error:") || line.starts_with("fatal:");
    let said = said.lines().find(is_error).or_else(|| said.lines().last());
    let said = said.unwrap_or("it said nothing");
    GitError::Failed { command: command.to_owned(), said: said.to_owned() }
}

/// Whether a text can be given to git as the name of a branch or a commit without meaning anything
/// else: no option, no range, no expression.
pub(crate) fn is_safe_ref(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\\u{7f}".contains(c);
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !is_lock(part)
    };
    !name.starts_with('-')
        && name != "@"
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_odd)
        && name.split('/').all(is_part)
}

/// Git keeps such names for itself, in any case of letters where the disk does not tell them apart.
fn is_lock(part: &str) -> bool {
    part.len() >= 5 && part.as_bytes()[part.len() - 5..].eq_ignore_ascii_case(b".lock")
}

/// Whether a variable tells git where to look; those of credentials and identity stay.
fn is_of_git(name: &OsStr) -> bool {
    const KEPT: [&str; 3] = ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH"];
    name.to_str().is_some_and(|name| {
        name.starts_with("GIT_") && !KEPT.iter().any(|kept| name.starts_with(kept))
    })
}

#[cfg(test)]
mod tests {
    use super::is_safe_ref;

    #[test]
    fn only_plain_names_are_safe() {
        for name in ["main", "worktree/phase-1-x--T1.2-3", "phase-사용자", "a@b", "HEAD", "v1.0"]
        {
            assert!(is_safe_ref(name), "{name}");
        }
        let bad = [
            "",
            "-d",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a\nb",
            "a\0",
            "@",
            "a@{1}",
            "a~1",
            "a^",
            "x:y",
            "a*",
            "a[",
            "a\\",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.LOCK/b",
        ];
        for name in bad {
            assert!(!is_safe_ref(name), "{name:?}");
        }
    }
}
