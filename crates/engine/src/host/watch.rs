//! Watching a run from a process that does not work on it.
//!
//! What happened is read from the journal. The host tells the rest: what is in no journal, what is
//! being worked on, and that the run is over. Where no host answers, the journal is all there is.

use super::{
    client,
    protocol::{self, Answer, Request, TaskAtWork},
};
use crate::{
    attendance,
    bell::Bell,
    error::EngineError,
    execute::{NewsReader, Ring, RunNews, Running, Starts},
    guest::Waits,
    project::Project,
};
use std::{os::fd::AsFd as _, sync::Arc, time::Duration};
use waypost_model::time::Time;
use waypost_store::{
    journal::{Changes, Cursor},
    place::Place,
    socket::Connection,
};

/// How often the journal is looked at where no host answers: its end is told by nothing else.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A run that is watched, whichever process works on it.
#[derive(Debug)]
pub struct RunWatch {
    reader: NewsReader,
    changes: Changes,
    host: Option<Connection>,
    /// What is being worked on, as the host says.
    running: Vec<TaskAtWork>,
    bell: Bell,
}

/// What was heard of a host.
pub(super) enum HeardOfHost {
    Nothing,
    /// Something that the one who watches has to act on.
    Said(Box<Answer>),
    /// It has hung up, or was never there.
    HungUp,
}

impl RunWatch {
    /// Watches the run of `project`, which was seen up to `after`.
    pub fn begin(project: &Project, after: Cursor) -> Result<Self, EngineError> {
        let changes = project.journals.changes();
        let (reader, bell) = (NewsReader::after(after), Bell::new()?);
        Ok(Self { reader, changes, host: None, running: Vec::new(), bell })
    }

    /// How far it has come.
    pub fn cursor(&self) -> Cursor {
        self.reader.seen()
    }

    /// Whether a process works on the run, or is about to. What it has recorded before it ended is
    /// there when this says that it has.
    pub fn is_attended(&mut self, project: &Project) -> Result<bool, EngineError> {
        if self.host.is_none() {
            self.host = connect(&project.setup.place);
        }
        loop {
            match self.hear() {
                HeardOfHost::Nothing => return Ok(true),
                HeardOfHost::HungUp => return attendance::is_run_attended(project),
                HeardOfHost::Said(answer) if is_last_word(&answer) => self.host = None,
                HeardOfHost::Said(_) => {}
            }
        }
    }

    /// All that has happened since the last call, in order.
    pub fn take(&mut self, project: &mut Project) -> Result<Vec<RunNews>, EngineError> {
        let starts = if self.host.is_some() { Starts::Said } else { Starts::Recorded };
        self.reader.take(project, starts)
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
            waits.readable_too(self.changes.readable());
            waits.readable_too(self.host.as_ref().map(|host| host.as_fd()));
            waits.wait(Time::default(), longest)?;
        }
        self.bell.hear();
        self.changes.take();
        Ok(())
    }

    /// Watches what this host tells.
    pub(super) fn attach(&mut self, host: Connection) {
        (self.host, self.running) = (Some(host), Vec::new());
    }

    /// Says something to the host; one that is gone does not hear it.
    pub(super) fn say(&mut self, request: &Request) {
        if let Some(host) = &mut self.host {
            let _gone = host.send_line(&protocol::write(request));
        }
    }

    /// Hears the host out, up to something that has to be acted on; never waits.
    pub(super) fn hear(&mut self) -> HeardOfHost {
        loop {
            let Some(host) = &mut self.host else { return HeardOfHost::HungUp };
            if !host.is_ready() {
                return HeardOfHost::Nothing;
            }
            let Some(line) = host.receive_line().ok().flatten() else {
                self.host = None;
                return HeardOfHost::HungUp;
            };
            match protocol::read(&line) {
                Some(Answer::Look { running }) => self.running = running,
                // What the journal has is read there.
                Some(Answer::Happening { news }) if news.happening.is_word() => {
                    self.reader.hear(news);
                }
                Some(answer) => return HeardOfHost::Said(Box::new(answer)),
                // It is of a later version.
                None => {}
            }
        }
    }
}

/// Whether the host has nothing more to tell of the run.
fn is_last_word(answer: &Answer) -> bool {
    matches!(answer, Answer::Over { .. } | Answer::Failed { .. } | Answer::Leaving)
}

/// Speaks with the host that carries the run, if one does.
fn connect(place: &Place) -> Option<Connection> {
    let (host, answer) = client::converse(place, &Request::Watch { guest: None })?;
    matches!(answer, Answer::Watching { .. }).then_some(host)
}
