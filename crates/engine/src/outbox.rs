//! Timers of the outbox, performed by the host.
//!
//! The outbox holds two kinds of rows. Notices are taken to their targets by the courier
//! (`notify`). A timer is set by a machine for a topic; when its time has come, the machine says
//! what it wants to do then, which is decided in the transaction that ends the row. So a timer fires
//! once, whichever process dies when, and one whose time came while no host was there fires when
//! there is one again.

use crate::{
    answer,
    conflict::decide_again_if_moved,
    error::EngineError,
    ledger::{Ledger, MachineCommand, Work, inbox_stream},
    machines::MachineKind,
    project::Project,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use waypost_model::{actor::Actor, id::StreamName, inbox::Topic, machine::Machine, time::Time};
use waypost_store::{
    StoreError,
    journal::{Journal, NewEffect, OpenEffect, Transaction},
};

#[cfg(test)]
mod tests;

/// The word of timers in the outbox.
const TIMER: &str = "timer";

/// What earlier versions put into the outbox and no program performs: the executor sees in the state
/// of the run which phase waits to be joined, and when a task may be tried again.
const OBSOLETE: [&str; 2] = ["wake", "end_phase"];

/// The most timers that fire in one transaction, so that others do not wait long for their turn.
const BATCH_MAX: usize = 100;

/// How long a timer waits that could not fire: its machine is unknown to this program, or the journal
/// could not be written.
const LATER: Duration = Duration::from_secs(60);

/// What a row says beside its stream and its time.
#[derive(Debug, Serialize, Deserialize)]
struct TimerBody {
    topic: Topic,
}

/// Sets the timer of a topic, or sets it to another time.
pub(crate) fn set_timer(
    tx: &mut Transaction<'_>,
    (stream, stream_seq): (&StreamName, u64),
    topic: &Topic,
    at: Time,
) -> Result<(), StoreError> {
    let body = TimerBody { topic: topic.clone() };
    let body = serde_json::to_string(&body).expect("a topic is plain data");
    let (key, due) = (timer_key(stream, topic), Some(at));
    tx.queue_again(&NewEffect { key: &key, stream, stream_seq, kind: TIMER, body: &body, due })
}

/// Ends the timer of a topic, if it has one.
pub(crate) fn cancel_timer(
    tx: &mut Transaction<'_>,
    stream: &StreamName,
    topic: &Topic,
    now: Time,
) -> Result<(), StoreError> {
    tx.mark_key_done(&timer_key(stream, topic), now).map(drop)
}

fn timer_key(stream: &StreamName, topic: &Topic) -> String {
    format!("{TIMER}/{stream}/{topic}")
}

/// Ends the rows that earlier versions have left open for ever. All of a kind at once: there may be
/// as many as there were retries.
pub(crate) fn settle_obsolete(journal: &mut Journal, now: Time) -> Result<(), StoreError> {
    let view = journal.view()?;
    let mut is_clean = true;
    for kind in OBSOLETE {
        is_clean &= view.open_effects_of(kind, 1)?.is_empty();
    }
    drop(view);
    if is_clean {
        return Ok(());
    }
    let mut tx = journal.transaction()?;
    OBSOLETE.iter().try_for_each(|kind| tx.mark_kind_done(kind, now).map(drop))?;
    tx.commit()
}

/// The timers of a journal, as its host keeps an eye on them.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// When the next one is due.
    next: Option<Time>,
    /// The journal as it was when that was read: timers set from here, and others' commits.
    seen: Option<(u64, u64)>,
}

impl Timers {
    /// Lets fire what is due; says whether anything was recorded because of that.
    pub(crate) fn attend(&mut self, project: &mut Project, now: Time) -> bool {
        let present = project.journal_version().map(|it| (project.ledger.timers_set(), it));
        let is_new = present.is_none() || present != self.seen;
        if !is_new && self.next.is_none_or(|next| next > now) {
            return false;
        }
        let fired = fire_due(project, now);
        let has_fired = fired.as_ref().is_ok_and(|count| *count > 0);
        self.seen = project.journal_version().map(|it| (project.ledger.timers_set(), it));
        self.next = match (fired, next_due(project)) {
            (Ok(_), Ok(next)) => next.map(|next| if next > now { next } else { now.plus(LATER) }),
            _ => Some(now.plus(LATER)),
        };
        has_fired
    }

    /// Whether one was set from here since they were looked at.
    pub(crate) fn are_set_since(&self, project: &Project) -> bool {
        self.seen.is_some_and(|(set, _)| set != project.ledger.timers_set())
    }

    /// When there is something to do even if nothing comes.
    pub(crate) fn wakes_at(&self) -> Option<Time> {
        self.next
    }
}

fn next_due(project: &mut Project) -> Result<Option<Time>, StoreError> {
    let Some(journal) = &mut project.journal else { return Ok(None) };
    journal.view()?.next_due(TIMER)
}

/// Lets every timer fire whose time has come; how many did.
fn fire_due(project: &mut Project, now: Time) -> Result<usize, EngineError> {
    let mut count = 0;
    loop {
        let Some(journal) = &mut project.journal else { return Ok(count) };
        let due = journal.view()?.due_effects(TIMER, now, BATCH_MAX)?;
        let kinds = project.ledger.kinds();
        let known: Vec<DueTimer> = due
            .iter()
            .filter_map(|row| DueTimer::read(kinds, row))
            .filter_map(|timer| timer.prepared(project, now))
            .collect();
        if known.is_empty() {
            return Ok(count);
        }
        let Project { journal: Some(journal), ledger, .. } = project else { return Ok(count) };
        decide_again_if_moved(|| fire(ledger, journal, &known, now))?;
        count += known.len();
    }
}

/// A timer whose time has come, with the machine that set it.
struct DueTimer {
    row: u64,
    kind: &'static MachineKind,
    stream: StreamName,
    topic: Topic,
    /// What a default that is taken at its time means to the machine that asked.
    follows: Vec<MachineCommand>,
}

impl DueTimer {
    /// A row of another version of the program is left to that.
    fn read(kinds: &'static [MachineKind], row: &OpenEffect) -> Option<Self> {
        let kind = kinds.iter().find(|kind| kind.word == row.stream.kind())?;
        let TimerBody { topic } = serde_json::from_str(&row.body).ok()?;
        Some(Self { row: row.id, kind, stream: row.stream.clone(), topic, follows: Vec::new() })
    }

    /// With what follows from it. One for which that cannot be found out waits, and holds no other.
    fn prepared(self, project: &mut Project, now: Time) -> Option<Self> {
        if self.stream != inbox_stream() {
            return Some(self);
        }
        let follows = answer::consequence_of_default(project, &self.topic, now).ok()?;
        Some(Self { follows, ..self })
    }
}

fn fire(
    ledger: &mut Ledger,
    journal: &mut Journal,
    timers: &[DueTimer],
    now: Time,
) -> Result<(), EngineError> {
    let mut work = Work::begin(ledger, journal, &Actor::Waypost, now)?;
    let fired = timers.iter().try_for_each(|timer| {
        if !work.end_effect(timer.row)? {
            // Another process has ended it since it was read.
            return Ok(());
        }
        match (timer.kind.due)(&mut work, &timer.stream, &timer.topic)? {
            Some(command) => {
                let mut commands = [&command].into_iter().chain(&timer.follows);
                match commands.try_for_each(|command| work.handle(command)) {
                    // There is no reason for it any more.
                    Err(EngineError::Rejected(_)) => Ok(()),
                    handled => handled,
                }
            }
            None => Ok(()),
        }
    });
    match fired {
        Ok(()) => Ok(work.commit()?),
        Err(error) => {
            work.abandon();
            Err(error)
        }
    }
}

/// What a machine wants to do now that the time for a topic has come.
pub(crate) fn due<M: Machine>(
    work: &mut Work<'_>,
    stream: &StreamName,
    topic: &Topic,
) -> Result<Option<MachineCommand>, StoreError> {
    let command = work.machine::<M>(stream)?.due(topic);
    Ok(command.map(|command| MachineCommand::of::<M>(stream.clone(), command)))
}
