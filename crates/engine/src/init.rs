//! Setting a project up: its journal, and what git should not see.

use crate::{error::EngineError, project::Project, windows};
use waypost_model::machine::Rejected;
use waypost_store::{
    StoreError, file,
    journal::{self, Journal, Mode},
    windows::forget_renderings,
};

/// Files of ours that git should neither track nor show as untracked.
const EXCLUDED: [&str; 3] =
    ["/.develop-workflow/", "/.claude/orchestrate-state.json*", "/worktree/"];

/// The largest exclude file that is edited.
const EXCLUDE_SIZE_MAX: u64 = 1 << 20;

/// What `init` did; nothing the second time.
#[derive(Clone, Debug, Default)]
pub struct InitReport {
    pub made_journal: bool,
    pub excluded: Vec<&'static str>,
}

impl Project {
    /// Makes the project ready; safe to repeat.
    pub fn init(&mut self) -> Result<InitReport, EngineError> {
        let made_journal = !self.has_journal();
        self.ensure_journal()?;
        let excluded = self.exclude()?;
        windows::reconcile(self)?;
        Ok(InitReport { made_journal, excluded })
    }

    /// Begins a new journal where the old one has vanished or is damaged: a person says that it is
    /// not missed. What is left of it is kept beside the new one.
    pub fn begin_anew(&mut self) -> Result<(), EngineError> {
        if !self.actor().is_person() {
            return Err(Rejected::reserved("beginning a new journal").into());
        }
        match Journal::open(self.place(), Mode::ReadOnly) {
            Ok(_) => Err(Rejected::rule("the journal is there").next("waypost status").into()),
            Err(StoreError::Missing { .. } | StoreError::Corrupt { .. }) => self.replace_vanished(),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a new journal where the old one is gone; what is known of that one ends with it.
    pub(crate) fn replace_vanished(&mut self) -> Result<(), EngineError> {
        if let Some(kept) = journal::put_aside(self.place())? {
            self.notice(format!("the old journal is kept as {}", kept.display()));
        }
        self.create_journal()?;
        Ok(forget_renderings(self.place())?)
    }

    /// Adds what is missing to `.git/info/exclude`; the rest of the file stays as it is.
    pub fn exclude(&self) -> Result<Vec<&'static str>, EngineError> {
        let missing = self.missing_excludes()?;
        let Some(git) = self.place().git_common.as_ref().filter(|_| !missing.is_empty()) else {
            return Ok(Vec::new());
        };
        let path = git.join("info/exclude");
        file::clear_remains(&git.join("info"));
        let mut text = file::read_bounded(&path, EXCLUDE_SIZE_MAX)?.unwrap_or_default();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        for line in &missing {
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        file::replace(&path, &text, file::SHARED)?;
        Ok(missing)
    }

    /// What `.git/info/exclude` lacks; nothing outside git.
    pub fn missing_excludes(&self) -> Result<Vec<&'static str>, EngineError> {
        let Some(git) = &self.place().git_common else { return Ok(Vec::new()) };
        let found = file::read_bounded(&git.join("info/exclude"), EXCLUDE_SIZE_MAX)?;
        let text = String::from_utf8_lossy(&found.unwrap_or_default()).into_owned();
        let is_missing = |line: &&str| !text.lines().any(|found| found.trim() == *line);
        Ok(EXCLUDED.into_iter().filter(is_missing).collect())
    }
}
