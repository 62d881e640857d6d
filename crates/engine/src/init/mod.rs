//! Setting a project up: its journal, what git should not see, and the hooks that hold the gates.
//!
//! Everything can be repeated without changing a byte, and all but the journal can be taken out
//! again. What would be refused is found out before anything is written.

mod agents;
mod exclude;
mod git_hooks;
mod health;
mod record;
mod remove;

pub use agents::{AgentSetup, Change};
pub(crate) use agents::{hook_program, own_path};
pub use git_hooks::GitHookSetup;
pub(crate) use health::{HookHealth, examine_hooks};
pub use remove::{Removal, Removed};

use crate::{error::EngineError, project::Project, windows};
use std::path::PathBuf;
use waypost_agent::{Product, registration::Sharing};
use waypost_model::{
    code::Code,
    machine::Rejected,
    next::{NextStep, Remark},
};
use waypost_store::{StoreError, journal::Mode, windows::forget_renderings};

/// Which agent programs get the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentChoice {
    /// Those that are installed on this machine, and those that have it already.
    Installed,
    These(Vec<Product>),
}

/// What to set up besides the journal.
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// The agent programs whose settings get the hook.
    pub agents: AgentChoice,
    /// Whether only this user gets it, or everybody who clones the repository.
    pub sharing: Sharing,
    /// Whether the repository's own hooks hold the gates too.
    pub git_hooks: bool,
}

impl Default for InitOptions {
    fn default() -> Self {
        Self { agents: AgentChoice::These(Vec::new()), sharing: Sharing::Private, git_hooks: false }
    }
}

/// What `init` did; nothing the second time.
#[derive(Clone, Debug, Default)]
pub struct InitReport {
    pub made_journal: bool,
    pub excluded: Vec<String>,
    pub agents: Vec<AgentSetup>,
    /// Programs that are not installed, and were left out for that.
    pub skipped: Vec<Product>,
    pub git_hooks: Vec<GitHookSetup>,
}

impl Project {
    /// Makes the project ready; safe to repeat.
    pub fn init(&mut self, options: &InitOptions) -> Result<InitReport, EngineError> {
        self.refuse_stale()?;
        let hooks =
            if options.git_hooks { git_hooks::plan(self, options.sharing)? } else { Vec::new() };
        let (chosen, skipped) = agents::choose(self, &options.agents)?;
        let agents = agents::plan(self, &chosen, options.sharing)?;
        let made_journal = !self.has_journal();
        self.ensure_journal()?;
        let agents = agents::perform(self, agents)?;
        let git_hooks = git_hooks::perform(self, hooks)?;
        let excluded = exclude::update(self, options.sharing)?;
        windows::reconcile(self)?;
        Ok(InitReport { made_journal, excluded, agents, skipped, git_hooks })
    }

    /// Begins a new journal where the old one has vanished or is damaged: a person says that it is
    /// not missed. What is left of it is kept beside the new one.
    pub fn begin_anew(&mut self) -> Result<(), EngineError> {
        if !self.actor().is_person() {
            return Err(Rejected::reserved("beginning a new journal").into());
        }
        match self.journals.open(Mode::ReadOnly) {
            Ok(_) => Err(Rejected::rule(Code::JournalExists, "the journal is there")
                .next(NextStep::ShowStatus)
                .into()),
            Err(StoreError::Missing { .. } | StoreError::Corrupt { .. }) => self.replace_vanished(),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a new journal where the old one is gone; what is known of that one ends with it.
    pub(crate) fn replace_vanished(&mut self) -> Result<(), EngineError> {
        if let Some(kept) = self.journals.put_aside()? {
            self.notice(format!("the old journal is kept as {}", kept.display()));
        }
        self.create_journal()?;
        Ok(forget_renderings(self.place())?)
    }

    /// Takes out everything that `init` put in; a journal with something in it stays. By a person
    /// only.
    pub fn remove_setup(&mut self, sharing: Sharing) -> Result<Vec<Removed>, EngineError> {
        if !self.actor().is_person() {
            return Err(Rejected::reserved("taking Waypost's hooks out").into());
        }
        remove::everything(self, sharing)
    }

    /// Keeps state files that have just been made out of git's sight, for this user.
    pub(crate) fn hide_windows(&mut self) {
        if let Err(error) = exclude::update(self, Sharing::Private) {
            let text = format!("git may show Waypost's files as untracked: {error}");
            self.notice(Remark::from(text).next(NextStep::Repair));
        }
    }

    /// The folders that `init` writes to besides the journal's.
    pub(crate) fn setup_folders(&self) -> Vec<PathBuf> {
        let mut folders = agents::settings_folders(self);
        folders.push(self.root().to_owned());
        let git = self.place().git_common.iter();
        folders.extend(git.flat_map(|git| [git.join("info"), git.join("hooks")]));
        folders
    }

    /// Keeps Waypost's files out of git's sight, for this user; what was missing for that.
    pub fn exclude(&self) -> Result<Vec<String>, EngineError> {
        exclude::update(self, Sharing::Private)
    }

    /// What git would show as untracked; nothing outside git.
    pub fn missing_excludes(&self) -> Result<Vec<String>, EngineError> {
        exclude::missing(self)
    }
}
