//! Git, called so that it runs nothing of the repository's and never asks.
//!
//! Hooks, the file system monitor, pagers and prompts are off; optional locks are not taken, so
//! that our looking never stands in the way of the user's git. Variables that point git at another
//! repository or index are dropped: a git hook that calls us has them set.

use crate::error::EngineError;
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Settings that keep git from running programs.
const QUIET: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "gc.auto=0",
];

/// Git in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    folder: PathBuf,
    settings: Vec<String>,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), settings: Vec::new(), variables: Vec::new() }
    }

    /// Overrides one setting, `name=value`.
    pub(crate) fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.extend(["-c".to_owned(), setting.into()]);
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// What a setting of the user or the repository says; reading one runs nothing.
    pub(crate) fn config(&self, key: &str) -> Result<Option<String>, EngineError> {
        let output = self.start(&[], &["config", "--get", key])?;
        let text = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
        Ok(output.status.success().then_some(text))
    }

    /// Runs git; what it prints, or nothing if it ends with another code than 0.
    pub(crate) fn try_text(&self, arguments: &[&str]) -> Result<Option<String>, EngineError> {
        let output = self.start(&QUIET, arguments)?;
        let text = || String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
        Ok(output.status.success().then(text))
    }

    /// Runs git; what it prints. Another code than 0 is an error with what it said.
    pub(crate) fn text(&self, arguments: &[&str]) -> Result<String, EngineError> {
        let printed = self.bytes(arguments)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// As `text`, to the byte.
    pub(crate) fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>, EngineError> {
        let output = self.start(&QUIET, arguments)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // What went wrong first; the last line may only say that something did.
        let is_error = |line: &&str| line.starts_with("error:") || line.starts_with("fatal:");
        let said = said.lines().find(is_error).or_else(|| said.lines().last());
        let said = said.unwrap_or("it said nothing").to_owned();
        let command = arguments.first().copied().unwrap_or_default();
        Err(EngineError::Missing { message: format!("`git {command}` failed: {said}"), hint: None })
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
    fn start(&self, quiet: &[&str], arguments: &[&str]) -> Result<Output, EngineError> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_git(name)) {
            command.env_remove(name);
        }
        command
            .args(quiet)
            .args(&self.settings)
            .args(arguments)
            .current_dir(&self.folder)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command.output().map_err(|error| EngineError::Missing {
            message: format!("cannot run git: {error}"),
            hint: Some("install git 2.38 or newer".into()),
        })
    }
}

/// Whether a variable tells git where to look; those of credentials and identity stay.
fn is_of_git(name: &OsStr) -> bool {
    const KEPT: [&str; 4] = ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS"];
    name.to_str().is_some_and(|name| {
        name.starts_with("GIT_") && !KEPT.iter().any(|kept| name.starts_with(kept))
    })
}
