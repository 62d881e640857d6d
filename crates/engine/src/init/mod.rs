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
mod servers;

pub use agents::{AgentSetup, Change};
pub(crate) use agents::{hook_program, own_path};
pub use git_hooks::GitHookSetup;
pub(crate) use health::{HookHealth, examine_hooks};
pub use remove::{Removal, Removed};
pub use servers::ServerSetup;

use crate::{error::EngineError, gate, pin, project::Project, seal, windows};
use std::{env, path::PathBuf};
use waypost_agent::{Product, registration::Sharing};
use waypost_model::{
    code::Code,
    layout,
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
    /// Where programs were told of our server of tools.
    pub servers: Vec<ServerSetup>,
    /// Programs that are not installed, and were left out for that.
    pub skipped: Vec<Product>,
    pub git_hooks: Vec<GitHookSetup>,
}

/// Makes the project ready; safe to repeat.
pub fn set_up(project: &mut Project, options: &InitOptions) -> Result<InitReport, EngineError> {
    // From behind a wall it would write where the call that asks for it cannot.
    if env::var_os(layout::variable::BROKERED).is_some() && holds_a_workflow(project) {
        return Err(Rejected::reserved("registering hooks while a workflow is active").into());
    }
    project.refuse_stale()?;
    let hooks =
        if options.git_hooks { git_hooks::plan(project, options.sharing)? } else { Vec::new() };
    let (chosen, skipped) = agents::choose(project, &options.agents)?;
    let agents = agents::plan(project, &chosen, options.sharing)?;
    drop(agents);
    drop(servers::plan(project, &chosen, options.sharing)?);
    let made_journal = !project.has_journal();
    project.ensure_journal()?;
    // Only now it is known which journal the hooks are told of.
    let agents = agents::plan(project, &chosen, options.sharing)?;
    let agents = agents::perform(project, agents)?;
    let servers = servers::perform(project, &chosen, options.sharing)?;
    let git_hooks = git_hooks::perform(project, hooks)?;
    let excluded = exclude::update(project, options.sharing)?;
    windows::reconcile(project)?;
    gate::renew_record(project);
    Ok(InitReport { made_journal, excluded, agents, servers, skipped, git_hooks })
}

/// Begins a new journal where the old one has vanished or is damaged: a person says that it is
/// not missed. What is left of it is kept beside the new one.
pub fn begin_anew(project: &mut Project) -> Result<(), EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("beginning a new journal").into());
    }
    let opened = project.journals.open(Mode::ReadOnly);
    match opened.and_then(|mut journal| seal::check(&project.setup, &mut journal)) {
        Ok(()) => Err(Rejected::rule(Code::JournalExists, "the journal is there")
            .next(NextStep::ShowStatus)
            .into()),
        // Where there never was one, nothing is given up.
        Err(StoreError::Missing { .. })
            if project.setup.refuse_vanished(&project.caller.actor).is_ok() =>
        {
            replace_vanished(project)
        }
        Err(StoreError::Missing { .. } | StoreError::Corrupt { .. }) => {
            pin::confirm(project, "beginning a new journal")?;
            replace_vanished(project)
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes a new journal where the old one is gone; what is known of that one ends with it.
pub(crate) fn replace_vanished(project: &mut Project) -> Result<(), EngineError> {
    if let Some(kept) = project.journals.put_aside()? {
        project.notice(format!("the old journal is kept as {}", kept.display()));
    }
    project.create_journal()?;
    agents::tell_journal(project)?;
    Ok(forget_renderings(project.place())?)
}

/// Takes out everything that `init` put in; a journal with something in it stays. By a person
/// only.
pub fn remove(project: &mut Project, sharing: Sharing) -> Result<Vec<Removed>, EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("taking Waypost's hooks out").into());
    }
    if holds_a_workflow(project) {
        pin::confirm(project, "taking out what holds a workflow")?;
    }
    remove::everything(project, sharing)
}

/// Whether a workflow is active here, or may be.
fn holds_a_workflow(project: &mut Project) -> bool {
    match project.journals.open(Mode::ReadOnly) {
        Ok(journal) => {
            let before = project.journal.replace(journal);
            let active =
                project.workflow().map(|it| it.feature.as_ref().is_some_and(|it| !it.is_done()));
            project.journal = before;
            active.unwrap_or(true)
        }
        Err(error) => !matches!(error, StoreError::Missing { .. }),
    }
}

/// Keeps state files that have just been made out of git's sight, for this user.
pub(crate) fn hide_windows(project: &mut Project) {
    if let Err(error) = exclude::update(project, Sharing::Private) {
        let text = format!("git may show Waypost's files as untracked: {error}");
        project.notice(Remark::from(text).next(NextStep::Repair));
    }
}

/// The folders that `init` writes to besides the journal's.
pub(crate) fn setup_folders(project: &Project) -> Vec<PathBuf> {
    let mut folders = agents::settings_folders(project);
    folders.push(project.root().to_owned());
    let git = project.place().git_common.iter();
    folders.extend(git.flat_map(|git| [git.join("info"), git.join("hooks")]));
    folders
}

/// Keeps Waypost's files out of git's sight, for this user; what was missing for that.
pub fn exclude(project: &Project) -> Result<Vec<String>, EngineError> {
    exclude::update(project, Sharing::Private)
}

/// What git would show as untracked; nothing outside git.
pub fn missing_excludes(project: &Project) -> Result<Vec<String>, EngineError> {
    exclude::missing(project)
}
