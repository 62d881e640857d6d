//! What an attempt left that went past the hook: it is kept under a ref of its own, and the workspace goes
//! back to the newest checkpoint. Only then the task is told, so that a host which dies in between does it
//! again.

use super::{
    super::{checkpoints::keep_aside, kind, workspaces::workspace_of},
    TaskRoom,
};
use crate::{
    agent::AgentEnd, error::EngineError, guest::Waits, project::Project, threaded::Threaded,
};
use waypost_git::GitError;
use waypost_model::{run, task::Command};

/// The work of an attempt on its way out of the workspace.
pub(super) struct PuttingAside {
    attempt: u32,
    why: String,
    /// Where it is kept.
    done: Threaded<Result<String, GitError>>,
}

impl PuttingAside {
    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.done.waits(waits);
    }
}

impl TaskRoom {
    /// An attempt has ended that went past the hook: what it used up counts, what it left does not.
    pub(super) fn put_aside(
        &mut self,
        project: &mut Project,
        attempt: u32,
        ended: &AgentEnd,
    ) -> Result<(), EngineError> {
        let (usage, counted) = (ended.meter.spent(), ended.meter.counted());
        let account = run::Account { usage, counted, result: None };
        self.tell(project, vec![Command::Account { attempt, account }])?;
        self.folder.lower_fence()?;
        let why = ended.unproven.clone().unwrap_or_default();
        let Some(file) = self.file(project)? else { return Ok(()) };
        let Some(planned) = &file.workspace else {
            return self.tell(project, vec![Command::Quarantine { attempt, why, kept: None }]);
        };
        let workspace = workspace_of(&project.setup, &self.id, planned);
        let is_secret = kind::secrets(project, &file)?;
        let checkpoint = file.newest_checkpoint().and_then(|it| it.taken.commit.clone());
        let (base, now) = (planned.base.clone(), project.clock.now());
        let done = Threaded::begin(move || {
            let kept = keep_aside(&workspace, attempt, is_secret.as_deref(), now)?;
            let left_out = match checkpoint {
                Some(checkpoint) => workspace.restore(&checkpoint)?,
                None => workspace.begin_again(base.as_deref())?,
            };
            Ok(match left_out {
                Some(folder) => format!("{kept}, and what that leaves out in {}", folder.display()),
                None => kept,
            })
        })?;
        self.aside = Some(PuttingAside { attempt, why, done });
        Ok(())
    }

    pub(super) fn finish_aside(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(aside) = &mut self.aside else { return Ok(()) };
        let Some(done) = aside.done.take()? else { return Ok(()) };
        let (attempt, why) = (aside.attempt, aside.why.clone());
        self.aside = None;
        // What could not be kept stays where it is, and the person is told.
        let kept = match done {
            Ok(reference) => Some(reference),
            Err(error) => {
                let folder = self.file(project)?.as_ref().map(Self::workspace_folder);
                let folder = folder.unwrap_or_default();
                Some(format!("{} (it could not be put aside: {error})", folder.display()))
            }
        };
        self.tell(project, vec![Command::Quarantine { attempt, why, kept }])
    }
}
