//! The machine that a run stands on, as its driver finds it: tried when something has failed, looked at again
//! while it is in trouble, and its repository rebuilt.

use super::{audience::Happening, core::Input, driver::Executor, life::Life};
use crate::{error::EngineError, mending, project::Project, worktrees::Reclaim};
use waypost_model::trouble::Trouble;
use waypost_proc::{How, Report};

impl Executor<'_> {
    /// What the core hears next. What has failed may have failed because the machine had nothing left: that is
    /// found out first.
    pub(super) fn next_input(&mut self) -> Option<Input> {
        if self.inputs.front().is_some_and(Input::tells_failure)
            && !std::mem::replace(&mut self.is_machine_tried, true)
            && let Some((trouble, why)) = self.resources.shortage()
        {
            return Some(Input::Troubled(trouble, why));
        }
        self.is_machine_tried = false;
        self.inputs.pop_front()
    }

    /// Whether a trouble is gone. Work trees that are not worked in make space.
    pub(super) fn probe(
        &mut self,
        project: &mut Project,
        trouble: Trouble,
    ) -> Result<bool, EngineError> {
        match trouble {
            Trouble::KeeperDied => {
                return Ok(!self.is_keeper_lost && self.losses.is_calm(project.clock.now()));
            }
            Trouble::Repository => self.mend(project)?,
            _ => {}
        }
        if self.resources.is_clear_of(trouble) {
            return Ok(true);
        }
        Ok(trouble == Trouble::NoSpace
            && self.reclaim(project, Reclaim::Need)?
            && self.resources.is_clear_of(trouble))
    }

    /// Rebuilds what is damaged, as the beginning of a run does, as far as its work is not in the way.
    fn mend(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let is_at_work = self.core.lives().any(Life::is_at_work);
        // What was joined and is not recorded yet would not be in a branch that is made now.
        let git = self.git.as_ref().filter(|_| self.core.unrecorded().is_empty());
        let Some(git) = git else { return Ok(()) };
        let is_idle = git.is_idle() && !is_at_work;
        for damage in mending::mend_beside(project, &git.trees, is_idle)? {
            self.say(Happening::Note(mending::in_a_line(&damage)));
        }
        Ok(())
    }
}

impl Input {
    /// Whether a command or an agent has ended otherwise than it should.
    fn tells_failure(&self) -> bool {
        match self {
            Self::Report(Report::Ended { ended, .. }) => {
                !matches!(ended.how, How::Exited(0) | How::Stopped)
            }
            Self::Concluded(concluded) => concluded.has_failed(),
            _ => false,
        }
    }
}
