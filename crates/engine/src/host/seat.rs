//! The seat from which a host writes: the project with its machines and its journal, and what
//! follows from every commit.

use super::{
    desk::{CommandRequest, Reply},
    events::{Subscribers, Subscription},
};
use crate::{
    conflict::decide_again_if_moved,
    error::{EngineError, Problem},
    ledger::{HOST_INTERVAL, Work},
    notify::Courier,
    outbox::Timers,
    project::Project,
    retention::Retention,
    summary, windows,
};
use std::time::Duration;
use waypost_model::{actor::Actor, time::Time};
use waypost_store::{journal::Cursor, lock::Owner};

/// The shortest time between two renderings while commands keep coming.
const RENDER_INTERVAL: Duration = Duration::from_millis(250);
/// Renderings take at most one part in this many of the time.
const RENDER_SHARE: u32 = 20;

/// The project of a host. The thread that has it may write.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) project: Project,
    pub(super) owner: Owner,
    /// Guests have to hear of every commit.
    pub(super) has_guests: bool,
    /// A run shows what it does by itself, in its own rhythm.
    pub(super) has_run: bool,
    is_shown: bool,
    next_rendering: Time,
    courier: Courier,
    timers: Timers,
    retention: Retention,
    subscribers: Subscribers,
    /// The journal as it was when commits of others were last looked for.
    seen_version: Option<u64>,
}

impl Seat {
    pub(super) fn new(project: Project, owner: Owner) -> Self {
        let now = project.clock.now();
        let (courier, retention) = (Courier::new(&project), Retention::new(&project));
        Self {
            seen_version: project.journal_version(),
            project,
            owner,
            has_guests: false,
            has_run: false,
            is_shown: true,
            next_rendering: now,
            courier,
            timers: Timers::default(),
            retention,
            subscribers: Subscribers::none(),
        }
    }

    pub(super) fn subscribe(&mut self, after: Cursor) -> Subscription {
        self.subscribers.add(&mut self.project, after)
    }

    /// Decides what has come together and makes it durable; then each thread is told. Says whether
    /// the host's own thread has something to do because of that.
    ///
    /// Single commands share a commit. Several that belong together have one of their own, so that
    /// a refusal of one takes the others back.
    pub(super) fn write(&mut self, batch: &[CommandRequest]) -> bool {
        if batch.is_empty() {
            return false;
        }
        for group in batch.chunk_by(|one, next| one.is_single() && next.is_single()) {
            let answers = decide_again_if_moved(|| self.decide(group)).unwrap_or_else(|error| {
                let told = Problem::unwritten(error);
                group.iter().map(|_| Err(told.clone().into())).collect()
            });
            for (asked, answer) in group.iter().zip(answers) {
                // The thread that asked may be gone.
                let _gone = asked.reply.send(answer);
            }
        }
        self.project.commits_beside += 1;
        self.subscribers.tell(&mut self.project);
        std::mem::replace(&mut self.is_shown, false) || self.has_guests
    }

    fn decide(&mut self, group: &[CommandRequest]) -> Result<Vec<Reply>, EngineError> {
        let now = self.project.clock.now();
        let Project { journal, ledger, .. } = &mut self.project;
        let journal = journal.as_mut().expect("a host has a journal");
        let mut work = Work::begin(ledger, journal, &Actor::Waypost, now)?;
        let mut answers = Vec::with_capacity(group.len());
        for asked in group {
            work.act_as(&asked.actor, now);
            let answer = asked.commands.iter().try_for_each(|command| work.handle(command));
            match answer {
                Err(error @ EngineError::Store(_)) => {
                    work.abandon();
                    return Err(error);
                }
                Err(refused) if !asked.is_single() => {
                    work.abandon();
                    return Ok(vec![Err(refused)]);
                }
                answer => answers.push(answer),
            }
        }
        work.commit()?;
        Ok(answers)
    }

    /// Lets timers fire whose time has come; guests hear of it as of every commit.
    pub(super) fn fire_timers(&mut self) {
        let now = self.project.clock.now();
        if self.timers.attend(&mut self.project, now) {
            self.project.commits_beside += 1;
            self.is_shown = false;
        }
    }

    /// Whether a timer was set since they were looked at.
    pub(super) fn has_new_timers(&self) -> bool {
        self.timers.are_set_since(&self.project)
    }

    /// What there is to do after a wake-up: commits of others, notices, windows, subscribers.
    pub(super) fn look_around(&mut self) {
        let now = self.project.clock.now();
        let version = self.project.journal_version();
        self.is_shown &= version == self.seen_version;
        self.seen_version = version;
        self.subscribers.tell(&mut self.project);
        self.courier.attend(&mut self.project, now);
        self.retention.attend(&mut self.project, now);
        if !self.is_shown && !self.has_run && now >= self.next_rendering {
            self.show();
        }
    }

    /// The time now, and when there is something to do even if nothing comes.
    pub(super) fn wakes_at(&self) -> (Time, Option<Time>) {
        let now = self.project.clock.now();
        let is_due = !self.is_shown && !self.has_run;
        let rendering = is_due.then_some(self.next_rendering);
        let performing = self.courier.wakes_at(now).into_iter().chain(self.timers.wakes_at());
        (now, rendering.into_iter().chain(performing).min())
    }

    /// Shows everything, and waits a little for notices that are due.
    pub(super) fn finish(&mut self) {
        self.show();
        self.courier.finish(&mut self.project);
        self.subscribers.tell(&mut self.project);
    }

    fn show(&mut self) {
        let start = self.project.clock.now();
        // A window that cannot be shown now is shown at the next load.
        self.is_shown = windows::render(&mut self.project).is_ok();
        summary::keep(&mut self.project);
        self.project.keep_images(HOST_INTERVAL);
        let end = self.project.clock.now();
        self.next_rendering = end.plus(RENDER_INTERVAL.max(end.since(start) * RENDER_SHARE));
    }
}
