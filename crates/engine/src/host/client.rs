//! Speaking with the host of a project from another process.

use super::protocol::{self, Answer, HostState, Refusal, Request};
use crate::{
    attendance::{self, Haste, is_run},
    error::EngineError,
    project::Project,
};
use std::time::Duration;
use waypost_store::{
    StoreError,
    journal::{Changes, Journals},
    lock::Owner,
    place::Place,
    socket::Connection,
};

/// How long a host may take for a short answer; it does nothing else before.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a process that has committed waits until it is heard.
const POKE_PATIENCE: Duration = Duration::from_millis(100);

/// How long is waited for news of a run before something else is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Tells the host, if there is one, that another process has committed.
pub(crate) fn poke(place: &Place) {
    // The host looks by itself a moment later; this only saves that moment.
    if let Ok(Some(mut host)) = Connection::to_engine(place)
        && host.set_timeout(POKE_PATIENCE).is_ok()
    {
        let _unheard = host.send_line(&protocol::write(&Request::Poke));
    }
}

/// Asks the host who it is and what it carries; none where no host answers in this version.
pub(crate) fn state(place: &Place) -> Option<HostState> {
    match converse(place, &Request::Who)? {
        (_, Answer::Host(state)) => Some(state),
        _ => None,
    }
}

/// Asks the host something; its answer, and where it may say more.
pub(super) fn converse(place: &Place, request: &Request) -> Option<(Connection, Answer)> {
    let mut host = Connection::to_engine(place).ok()??;
    host.set_timeout(PATIENCE).ok()?;
    let answer = ask(&mut host, request)?;
    Some((host, answer))
}

fn ask(host: &mut Connection, request: &Request) -> Option<Answer> {
    host.send_line(&protocol::write(request)).ok()?;
    protocol::read(&host.receive_line().ok()??)
}

/// A run that was asked to end.
#[derive(Debug)]
pub struct Stopping {
    owner: Owner,
    /// Tells when the run is over; none if only the end of the process can tell.
    host: Option<Connection>,
    /// Where the end of the process shows: it closes the file of its lease.
    changes: Changes,
}

/// What a host answers that is asked to end its run.
pub(crate) enum Stopped {
    Asked(Stopping),
    /// It carries no run.
    NoRun,
    /// It does not speak this language.
    Unheard,
}

impl Stopping {
    /// Of a process that was asked by a signal.
    pub(crate) fn by_signal(place: &Place, owner: Owner) -> Self {
        Self { owner, host: None, changes: Journals::of(place).changes() }
    }

    /// Asks the host of `place` to end its run.
    pub(crate) fn ask(place: &Place, owner: Owner, haste: Haste) -> Result<Stopped, EngineError> {
        let Some(mut host) = Connection::to_engine(place)? else { return Ok(Stopped::Unheard) };
        host.set_timeout(PATIENCE)?;
        match ask(&mut host, &Request::Stop { haste }) {
            Some(Answer::Watching { .. }) => {
                host.set_receive_timeout(Some(LOOK_INTERVAL))?;
                let changes = Journals::of(place).changes();
                Ok(Stopped::Asked(Self { owner, host: Some(host), changes }))
            }
            Some(Answer::Refused { why: Refusal::NoRun }) => Ok(Stopped::NoRun),
            _ => Ok(Stopped::Unheard),
        }
    }

    /// The process that works on the run.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Waits a moment for its end; whether it is over. A process that was a host for nothing else
    /// is waited for, too: then another run can begin.
    pub fn is_over(&mut self, project: &Project) -> Result<bool, EngineError> {
        if let Some(host) = &mut self.host {
            match host.receive_line() {
                Ok(Some(line)) => match protocol::read(&line) {
                    Some(Answer::Over { .. } | Answer::Failed { .. } | Answer::Leaving) => {}
                    _ => return Ok(false),
                },
                Err(StoreError::Busy { .. }) => return Ok(false),
                Ok(None) | Err(_) => {}
            }
            self.host = None;
        }
        if attendance::has_engine_ended(project, &self.owner)? {
            return Ok(true);
        }
        let carries_others = |state: HostState| state.run().is_none() && !state.guests.is_empty();
        let is_for_others =
            !is_run(&self.owner) || state(&project.setup.place).is_some_and(carries_others);
        if !is_for_others {
            self.changes.wait(LOOK_INTERVAL);
        }
        Ok(is_for_others)
    }
}
