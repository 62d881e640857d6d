//! The executor as a guest: what wakes it, and what is done then.

use super::{Executor, Happening, RunEnd};
use crate::{
    error::EngineError,
    guest::{Attended, Guest, Waits},
    project::Project,
};
use std::os::fd::AsFd as _;
use waypost_model::time::Time;
use waypost_proc::ProcError;

/// How many keepers may die on one execution before something is wrong with the machine.
const KEEPERS_MAX: usize = 20;

impl Guest for Executor<'_> {
    type End = RunEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        waits.readable(self.keeper.as_fd());
        if let Some(apart) = &self.apart {
            waits.readable(apart.yard.bell());
        }
        waits.until(self.next_look);
    }

    /// Works on when a keeper dies, with a new one and what the old one has left.
    fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<RunEnd>, EngineError> {
        project.is_hurried = true;
        let mut attended = self.work(project, now);
        // The next one may die while it takes over.
        while let Err(EngineError::Proc(ProcError::Gone { .. })) = attended
            && self.keepers_lost < KEEPERS_MAX
        {
            self.keepers_lost += 1;
            self.audience.tell(&Happening::Note("the keeper has died; going on".into()));
            attended = self.change_keeper(project).and_then(|()| self.work(project, now));
        }
        project.is_hurried = false;
        attended
    }
}
