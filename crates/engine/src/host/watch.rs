//! Watching a run from a process that does not work on it.
//!
//! What happened is read from the journal. The host tells the rest: what is being worked on, and
//! that the run is over. Where no host answers, the journal is all there is to see.

use super::{
    Follower, Happened, client,
    protocol::{self, Answer, Request, TaskAtWork},
};
use crate::{
    attendance,
    bell::Bell,
    error::EngineError,
    execute::{Happening, Ring, Running},
    guest::Waits,
    project::Project,
};
use std::{os::fd::AsFd as _, sync::Arc, time::Duration};
use waypost_model::time::Time;
use waypost_store::{journal::Cursor, place::Place, socket::Connection};

/// How often the journal is looked at where no host answers: its end is told by nothing else.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A run that is watched, whichever process works on it.
#[derive(Debug)]
pub struct RunWatch {
    follower: Follower,
    host: Option<Connection>,
    /// What is being worked on, as the host says.
    running: Vec<TaskAtWork>,
    /// What the host said that is in no journal.
    notes: Vec<Happening>,
    bell: Bell,
}

impl RunWatch {
    /// Watches the run of `project`, which was seen up to `after`.
    pub fn begin(project: &Project, after: Cursor) -> Result<Self, EngineError> {
        let (follower, bell) = (Follower::new(project, after), Bell::new()?);
        Ok(Self { follower, host: None, running: Vec::new(), notes: Vec::new(), bell })
    }

    /// Whether a process works on the run, or is about to. What it has recorded before it ended is
    /// there when this says that it has.
    pub fn is_attended(&mut self, project: &Project) -> Result<bool, EngineError> {
        self.listen();
        if self.host.is_none() {
            self.host = connect(&project.setup.place);
            self.listen();
        }
        Ok(self.host.is_some() || attendance::is_run_attended(project)?)
    }

    /// What was recorded since the last call, at most a page of it.
    pub fn take(&mut self, project: &mut Project) -> Result<Vec<Happened>, EngineError> {
        self.follower.take(project)
    }

    /// What the host has said since.
    pub fn take_notes(&mut self) -> Vec<Happening> {
        std::mem::take(&mut self.notes)
    }

    /// What is being worked on; none where no host tells.
    pub fn running(&self) -> Option<Vec<Running<'_>>> {
        self.host.as_ref().map(|_| self.running.iter().map(TaskAtWork::running).collect())
    }

    /// Ends the wait, from any thread.
    pub fn ring(&self) -> Ring {
        let bell = self.bell.clone();
        Arc::new(move || bell.ring())
    }

    /// Waits until there may be something new, or for so long.
    pub fn wait(&self, longest: Duration) -> Result<(), EngineError> {
        let longest = if self.host.is_some() { longest } else { longest.min(LOOK_INTERVAL) };
        if self.host.as_ref().is_none_or(|host| !host.is_ready()) {
            let mut waits = Waits::default();
            waits.readable(self.bell.as_fd());
            waits.readable_too(self.follower.readable());
            waits.readable_too(self.host.as_ref().map(|host| host.as_fd()));
            waits.wait(Time::default(), longest)?;
        }
        self.bell.hear();
        self.follower.hear();
        Ok(())
    }

    /// Hears what the host has said; one that has hung up carries the run no more.
    fn listen(&mut self) {
        while let Some(host) = self.host.as_mut().filter(|host| host.is_ready()) {
            let line = host.receive_line().ok().flatten();
            match line.as_deref().map(protocol::read) {
                None
                | Some(Some(Answer::Over { .. } | Answer::Failed { .. } | Answer::Leaving)) => {
                    self.host = None;
                }
                Some(Some(Answer::Look { running })) => self.running = running,
                Some(Some(Answer::Happening {
                    happening: note @ (Happening::Note(_) | Happening::Remark(_)),
                })) => self.notes.push(note),
                // The rest is in the journal, or is of a later version.
                Some(_) => {}
            }
        }
    }
}

/// Speaks with the host that carries the run, if one does.
fn connect(place: &Place) -> Option<Connection> {
    let (host, answer) = client::converse(place, &Request::Watch { guest: None })?;
    matches!(answer, Answer::Watching { .. }).then_some(host)
}
