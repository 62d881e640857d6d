//! One host: the process that acts for a project, and all that lives in it.
//!
//! There is one for each project, behind the engine lease. It performs what is due, carries guests
//! (a run), shows the windows, and tells subscribers what was recorded, by whichever process. One
//! thread owns all of that and sleeps until something is ready; an idle host wakes once a second.
//!
//! Other processes speak with it at its socket (`protocol`). A run that another process hands over
//! is worked on for that process's actor, with its environment; it outlives the host, because the
//! process that watches it can be the next one.
//!
//! Any thread of its process gives it commands through a `Handle`. There is one seat from which the
//! journal is written, and a thread that finds it free writes for all: commands that have come
//! together share a commit. Nothing is answered before it is durable.

mod client;
mod desk;
mod enduring;
mod events;
mod feed;
mod guests;
mod job;
mod listen;
mod protocol;
mod pulse;
mod run;
mod seat;
#[cfg(test)]
mod tests;
mod watch;

use crate::{
    attendance,
    error::EngineError,
    ledger::MachineCommand,
    notify::{self, Messenger},
    outbox,
    project::Project,
};
pub use client::Stopping;
pub(crate) use client::{Stopped, poke, state};
use desk::{Desk, Reply};
pub use events::{Follower, Happened, News, Subscription};
pub use job::serve;
pub(crate) use job::work;
use listen::Listening;
use pulse::Attendant;
pub use run::execute;
use seat::Seat;
use std::{
    panic,
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
};
pub use watch::RunWatch;
use waypost_model::actor::Actor;
use waypost_proc::raise_open_files;
use waypost_store::{
    file,
    journal::Cursor,
    lock::{EngineLease, Owner},
    place::Place,
};

/// A host at work. It ends when it is stopped or dropped, after the guests of its own process.
#[derive(Debug)]
pub struct Host {
    handle: Handle,
    owner: Option<JoinHandle<Option<Project>>>,
    listening: Option<Listening>,
    attendant: Option<Attendant>,
    lease: EngineLease,
}

/// Speaks to a host from any thread; cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    desk: Arc<Desk>,
}

impl Host {
    /// Takes the engine lock of the project, listens at its socket, and begins to work. `purpose`
    /// is what other processes are told that it is for.
    pub fn start(mut project: Project, purpose: &str) -> Result<Self, EngineError> {
        project.ensure_journal()?;
        let owner = Owner::this_process(purpose, project.clock.now());
        let lease = attendance::take_engine_lease(&project, &owner)?;
        Self::begin(project, lease)
    }

    /// Begins to work for the holder of the lease.
    fn begin(mut project: Project, lease: EngineLease) -> Result<Self, EngineError> {
        let now = project.clock.now();
        outbox::settle_obsolete(project.ensure_journal()?, now)?;
        raise_open_files();
        for folder in stood_on(project.place()) {
            file::stand_on(folder);
        }
        notify::tell_lost_engine(&mut project, &lease)?;
        let messenger = Messenger::of(&mut project);
        let (place, spelling) = (project.setup.place.clone(), project.spelling);
        let programs = project.setup.programs.clone();
        let desk = Arc::new(Desk::new(Seat::new(project, lease.owner().clone()))?);
        let listening = Listening::begin(&lease, place, spelling, programs, Arc::clone(&desk))?;
        let attendant = Attendant::begin(&desk.pulse, messenger);
        let own = Arc::clone(&desk);
        let owner = thread::spawn(move || own.carry());
        let handle = Handle { desk };
        let (owner, listening, attendant) = (Some(owner), Some(listening), Some(attendant));
        Ok(Self { handle, owner, listening, attendant, lease })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Ends the host when its guests have left: what was accepted is durable and shown. Those that
    /// came from other processes go on there. Hands the project back.
    pub fn stop(mut self) -> Option<Project> {
        self.end()
    }

    fn end(&mut self) -> Option<Project> {
        self.handle.desk.close();
        let ended = self.owner.take().map(JoinHandle::join);
        if let Some(listening) = self.listening.take() {
            listening.end();
        }
        self.attendant.take().into_iter().for_each(Attendant::end);
        match ended? {
            Ok(project) => {
                let is_gone = project.as_ref().is_some_and(|it| it.gone().is_some());
                debug_assert!(
                    is_gone || self.lease.still_holds(),
                    "the lease is held until the end, unless its folder is gone"
                );
                for folder in project.iter().flat_map(|it| stood_on(it.place())) {
                    file::stand_off(folder);
                }
                project
            }
            Err(panicked) => panic::resume_unwind(panicked),
        }
    }
}

/// What a host must not make again where it was deleted.
fn stood_on(place: &Place) -> [&Path; 2] {
    [place.root.as_path(), place.state.as_path()]
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.owner.is_some() && !thread::panicking() {
            drop(self.end());
        }
    }
}

impl Handle {
    /// Gives commands that are decided together: all of them, or none. Returns when durable.
    pub fn command(&self, actor: Actor, commands: Vec<MachineCommand>) -> Reply {
        self.desk.command(actor, commands)
    }

    /// Asks something of the project, between two commits.
    pub fn query<T>(
        &self,
        ask: impl FnOnce(&mut Project) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut seat = self.desk.seat();
        let seat = seat.as_mut().ok_or_else(desk::closed)?;
        ask(&mut seat.project)
    }

    /// Everything that is recorded from `after` on, by any process.
    pub fn subscribe(&self, after: Cursor) -> Result<Subscription, EngineError> {
        let mut seat = self.desk.seat();
        let seat = seat.as_mut().ok_or_else(desk::closed)?;
        Ok(seat.subscribe(after))
    }
}
