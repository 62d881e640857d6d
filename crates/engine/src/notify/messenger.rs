//! Notices past the outbox, for a host that may not be able to write it, and the heartbeat.
//!
//! Everything that is needed was read when the host began: neither the journal nor a file is looked at.

use super::{
    compose::Message,
    deliver::{message_id, redactor, variable},
    display_name,
    send::{Outcome, client, knock, send},
    target::{Target, heartbeat, targets},
};
use crate::{clock::Clock, project::Project, spelling::Spelling};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use ureq::Agent;
use waypost_model::{
    notice::{Notice, NoticeKind},
    time::Time,
};
use waypost_redact::Redactor;

/// What could not be delivered for so long is no news any more.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// Reaches the targets without the journal.
#[derive(Debug)]
pub(crate) struct Messenger {
    targets: Vec<Target>,
    heartbeat: Option<(Target, Duration)>,
    /// A call of the heartbeat is under way.
    is_calling: Arc<AtomicBool>,
    redactor: Redactor,
    client: Agent,
    /// The project and its journal, as messages name them.
    project: String,
    journal: String,
    spelling: Spelling,
    stall: Duration,
    clock: Clock,
}

impl Messenger {
    pub(crate) fn of(project: &mut Project) -> Self {
        let name = display_name(project);
        let config = &project.configuration().values;
        let is_wanted = config.notify.wants(NoticeKind::RunStalled);
        let targets = if is_wanted { targets(config) } else { Vec::new() };
        let every = Duration::from_secs(config.notify.heartbeat_seconds.max(1));
        Self {
            heartbeat: heartbeat(config).map(|target| (target, every)),
            is_calling: Arc::default(),
            redactor: redactor(project, &targets),
            targets,
            client: client(),
            project: name,
            journal: project.journal.as_ref().map_or(String::new(), |it| it.id().to_owned()),
            spelling: project.spelling,
            stall: Duration::from_secs(config.notify.stalled_after_seconds),
            clock: project.clock,
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// After how many ticks a run that stands still is told of.
    pub(crate) fn stall_ticks(&self, tick: Duration) -> u32 {
        ticks(self.stall, tick)
    }

    pub(crate) fn heartbeat_ticks(&self, tick: Duration) -> Option<u32> {
        self.heartbeat.as_ref().map(|(_, every)| ticks(*every, tick))
    }

    /// The names of all targets.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.targets.iter().map(|target| target.name.clone()).collect()
    }

    pub(crate) fn is_old(&self, notice: &Notice) -> bool {
        self.now().since(notice.at) >= GIVE_UP_AFTER
    }

    /// Tries to deliver a notice; false: it may work another time.
    pub(crate) fn deliver(&self, notice: &Notice, target: &str) -> bool {
        let Some(target) = self.targets.iter().find(|it| it.name == target) else { return true };
        let Ok(reached) = target.reach(variable) else { return false };
        let key = format!("{}-{}", notice.kind, notice.at.millis());
        let id = message_id(&self.journal, &key);
        let message =
            Message::new(id, &self.project, notice, &self.redactor).spelled(self.spelling);
        let now = self.now();
        !matches!(send(&self.client, &message.post(&reached, now), now), Outcome::Later { .. })
    }

    /// Calls the address that wants to hear that the engine lives; the next call is soon.
    pub(crate) fn beat(&self) {
        let Some((target, _)) = &self.heartbeat else { return };
        let Ok(reached) = target.reach(variable) else { return };
        // A service that does not answer keeps neither the next call nor the host's end waiting.
        if self.is_calling.swap(true, Ordering::SeqCst) {
            return;
        }
        let (client, is_calling) = (self.client.clone(), Arc::clone(&self.is_calling));
        let called = thread::Builder::new().spawn(move || {
            knock(&client, &reached.address, reached.is_loopback);
            is_calling.store(false, Ordering::SeqCst);
        });
        if called.is_err() {
            self.is_calling.store(false, Ordering::SeqCst);
        }
    }
}

fn ticks(time: Duration, tick: Duration) -> u32 {
    u32::try_from(time.as_secs() / tick.as_secs().max(1)).unwrap_or(u32::MAX).max(1)
}
