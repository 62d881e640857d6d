//! The executor as a guest: what wakes it, what is done then, and the plain loop over it alone.

use super::{Audience, Executor, Happening, RunEnd, RunOptions};
use crate::{
    background::take_engine_lock,
    error::EngineError,
    guest::{Attended, Guest, Waits},
    notify::Courier,
    project::Project,
};
use std::os::fd::AsFd as _;
use waypost_model::time::Time;
use waypost_proc::ProcError;
use waypost_store::lock::Owner;

/// How many keepers may die on one execution before something is wrong with the machine.
const KEEPERS_MAX: usize = 20;

impl Project {
    /// Works through the run until nothing is left, a person has to answer, or it is asked to end.
    /// The project comes back in every case but an error.
    pub fn execute(
        mut self,
        options: &RunOptions,
        audience: &mut dyn Audience,
    ) -> Result<(Self, RunEnd), EngineError> {
        self.ensure_journal()?;
        let owner = Owner::this_process("run", self.clock.now());
        let _lock = take_engine_lock(&self.place, &owner)?;
        let mut executor = Executor::begin(&mut self, options.clone(), Box::new(audience))?;
        let mut courier = Courier::new(&self);
        let end = loop {
            let now = self.clock.now();
            if let Attended::Over(end) = executor.attend(&mut self, now)? {
                break end;
            }
            courier.attend(&mut self, now);
            let mut waits = Waits::default();
            executor.waits(&mut waits);
            waits.wait(self.clock.now())?;
        };
        courier.finish(&mut self);
        executor.finish()?;
        Ok((self, end))
    }
}

impl Guest for Executor<'_> {
    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        waits.readable(self.keeper.as_fd());
        if let Some(apart) = &self.apart {
            waits.readable(apart.yard.bell());
        }
        waits.until(self.next_look);
    }

    /// Works on when a keeper dies, with a new one and what the old one has left.
    fn attend(&mut self, project: &mut Project, now: Time) -> Result<Attended, EngineError> {
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
