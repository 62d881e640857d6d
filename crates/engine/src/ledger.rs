//! The machines in memory, and the one way in which they change: decide, record, apply.
//!
//! A ledger belongs to one thread. Whatever it holds was read from the journal or committed to it;
//! when a transaction fails after something was applied, the ledger forgets everything and loads
//! again.

use crate::{
    error::EngineError,
    fence::Fence,
    gate,
    notify::{Parcel, Wanted},
};
use std::{collections::HashMap, path::PathBuf};
use waypost_model::{
    actor::Actor,
    id::StreamName,
    inbox::{self, Inbox, Question},
    machine::{Asked, Effect, Machine, Rejected},
    notice::Notice,
    run::{self, Run},
    time::Time,
    verdict::{self, Verdicts},
    workflow::{self, Workflow},
};
use waypost_store::{
    StoreError,
    journal::{Append, EventRef, Journal, NewEffect, NewEvent, Transaction, View},
};

/// The fewest events between two snapshots of a stream; replaying that many takes a millisecond.
const SNAPSHOT_EVENTS_MIN: u64 = 1_000;

/// The most follow-ups of one command; a machine that wants more is broken.
const FOLLOW_UPS_MAX: usize = 100_000;

/// The states that were needed so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    workflows: HashMap<StreamName, Loaded<Workflow>>,
    run: Option<Loaded<Run>>,
    inbox: Option<Loaded<Inbox>>,
    verdicts: Option<Loaded<Verdicts>>,
    /// Which notices are wanted.
    wanted: Wanted,
    /// How many notices were put into the outbox from here.
    notices_queued: u64,
}

/// A machine's state with its place in the journal.
#[derive(Debug)]
pub(crate) struct Loaded<M> {
    stream: StreamName,
    pub(crate) state: M,
    /// How many events are in `state`.
    pub(crate) head: u64,
    snapshot_at: u64,
}

/// An event that is applied but not recorded yet.
#[derive(Debug)]
struct Fresh<'a> {
    stream: StreamName,
    stream_seq: u64,
    event: NewEvent<'static>,
    actor: &'a Actor,
    at: Time,
}

impl<M: Machine> Loaded<M> {
    fn load(view: &View<'_>, stream: &StreamName) -> Result<Self, StoreError> {
        let (state, head) = match view.snapshot(stream)? {
            // A snapshot in a format of before is only a cache: the events are still there.
            Some(snapshot) if snapshot.format == M::FORMAT => {
                let state = serde_json::from_slice(&snapshot.body).map_err(|error| {
                    StoreError::Undecodable { seq: snapshot.stream_seq, detail: error.to_string() }
                })?;
                (state, snapshot.stream_seq)
            }
            _ => (M::start(), 0),
        };
        let stream = stream.clone();
        let mut loaded = Self { stream, state, head, snapshot_at: head };
        loaded.catch_up(view)?;
        Ok(loaded)
    }

    /// Applies what others have recorded since.
    fn catch_up(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        let Self { state, head, stream, .. } = self;
        if view.head(stream)? <= *head {
            return Ok(());
        }
        view.for_each_event(stream, *head, |entry| {
            state.apply(&decode::<M>(&entry)?, entry.at);
            *head = entry.stream_seq;
            Ok(())
        })
    }

    /// Decides, applies, and lets everything follow that follows by itself.
    fn handle<'a>(
        &mut self,
        command: &M::Command,
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Vec<Effect>, Rejected> {
        let mut effects = self.take(command, asked, fresh)?;
        let by_itself = Asked { by: &Actor::Waypost, now: asked.now };
        for _ in 0..FOLLOW_UPS_MAX {
            let Some(command) = self.state.follow_up() else { return Ok(effects) };
            effects.extend(self.take(&command, &by_itself, fresh)?);
        }
        panic!("{} never comes to rest", M::KIND);
    }

    fn take<'a>(
        &mut self,
        command: &M::Command,
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Vec<Effect>, Rejected> {
        let decision = self.state.decide(command, asked)?;
        for event in &decision.events {
            self.state.apply(event, asked.now);
            self.head += 1;
            fresh.push(Fresh {
                stream: self.stream.clone(),
                stream_seq: self.head,
                event: NewEvent {
                    kind: M::event_kind(event),
                    format: M::FORMAT,
                    body: serde_json::to_string(event).expect("events are plain data").into(),
                },
                actor: asked.by,
                at: asked.now,
            });
        }
        Ok(decision.effects)
    }

    /// Takes a snapshot when enough has come together since the last one.
    fn snapshot_if_due(&mut self, tx: &mut Transaction<'_>) -> Result<(), StoreError> {
        // A snapshot costs what the whole state does, so a large one is worth more events.
        let due = SNAPSHOT_EVENTS_MIN.max(self.state.size() as u64 / 2);
        if self.head - self.snapshot_at < due {
            return Ok(());
        }
        tx.save_state(&self.stream, (self.head, M::FORMAT), &self.state)?;
        self.snapshot_at = self.head;
        Ok(())
    }
}

/// Reads an event of a machine, in any format that this program knows.
pub(crate) fn decode<M: Machine>(entry: &EventRef<'_>) -> Result<M::Event, StoreError> {
    let undecodable = |detail| StoreError::Undecodable { seq: entry.seq, detail };
    if entry.format > M::FORMAT {
        return Err(undecodable(format!(
            "it has format {} of `{}`, and this program knows up to {}",
            entry.format,
            M::KIND,
            M::FORMAT
        )));
    }
    serde_json::from_str(entry.body).map_err(|error| undecodable(error.to_string()))
}

/// Records events in the order in which they became true, as many at once as belong together.
fn record(tx: &mut Transaction<'_>, fresh: Vec<Fresh<'_>>) -> Result<(), StoreError> {
    let mut fresh = fresh.into_iter().peekable();
    while let Some(Fresh { stream, stream_seq, event, actor, at }) = fresh.next() {
        let is_like = |it: &Fresh<'_>| (&it.stream, it.actor, it.at) == (&stream, actor, at);
        let mut events = vec![event];
        while let Some(next) = fresh.next_if(is_like) {
            events.push(next.event);
        }
        tx.append(Append { stream: &stream, seen: stream_seq - 1, actor, at, events })?;
    }
    Ok(())
}

/// Brings a slot up to date, loading it if it is empty.
fn refresh<'a, M: Machine>(
    slot: &'a mut Option<Loaded<M>>,
    view: &View<'_>,
    stream: &StreamName,
) -> Result<&'a mut Loaded<M>, StoreError> {
    match slot {
        Some(loaded) => loaded.catch_up(view)?,
        None => *slot = Some(Loaded::load(view, stream)?),
    }
    Ok(slot.as_mut().expect("it was just filled"))
}

impl Ledger {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, ..Self::default() }
    }

    pub(crate) fn notices_queued(&self) -> u64 {
        self.notices_queued
    }

    pub(crate) fn workflow(
        &mut self,
        view: &View<'_>,
        stream: &StreamName,
    ) -> Result<&mut Loaded<Workflow>, StoreError> {
        if !self.workflows.contains_key(stream) {
            let loaded = Loaded::load(view, stream)?;
            self.workflows.insert(stream.clone(), loaded);
        }
        let loaded = self.workflows.get_mut(stream).expect("it was just put there");
        loaded.catch_up(view)?;
        Ok(loaded)
    }

    pub(crate) fn run(&mut self, view: &View<'_>) -> Result<&mut Loaded<Run>, StoreError> {
        refresh(&mut self.run, view, &run_stream())
    }

    /// The run as it was loaded or changed last.
    pub(crate) fn run_seen(&self) -> Option<&Run> {
        self.run.as_ref().map(|loaded| &loaded.state)
    }

    pub(crate) fn inbox(&mut self, view: &View<'_>) -> Result<&mut Loaded<Inbox>, StoreError> {
        refresh(&mut self.inbox, view, &inbox_stream())
    }

    pub(crate) fn verdicts(
        &mut self,
        view: &View<'_>,
    ) -> Result<&mut Loaded<Verdicts>, StoreError> {
        refresh(&mut self.verdicts, view, &verdicts_stream())
    }

    fn snapshot_if_due(&mut self, tx: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.workflows.values_mut().try_for_each(|loaded| loaded.snapshot_if_due(tx))?;
        self.run.iter_mut().try_for_each(|loaded| loaded.snapshot_if_due(tx))?;
        self.inbox.iter_mut().try_for_each(|loaded| loaded.snapshot_if_due(tx))?;
        self.verdicts.iter_mut().try_for_each(|loaded| loaded.snapshot_if_due(tx))
    }

    /// Forgets every state: the journal is the truth.
    pub(crate) fn forget(&mut self) {
        let notices_queued = self.notices_queued;
        *self = Self { notices_queued, ..Self::new(std::mem::take(&mut self.wanted)) };
    }
}

/// The stream of the run; there is one per repository.
pub(crate) fn run_stream() -> StreamName {
    Run::KIND.parse().expect("a machine's kind names a stream")
}

/// The stream of the inbox.
pub(crate) fn inbox_stream() -> StreamName {
    Inbox::KIND.parse().expect("a machine's kind names a stream")
}

/// The stream of what the hook answered.
pub(crate) fn verdicts_stream() -> StreamName {
    Verdicts::KIND.parse().expect("a machine's kind names a stream")
}

/// The stream of the workflow of one work tree.
pub(crate) fn workflow_stream(tree: &str) -> StreamName {
    format!("{}:{tree}", Workflow::KIND).parse().expect("a work tree has a name")
}

/// A command for one of the machines.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most are the run's, and none lives long")]
pub enum MachineCommand {
    Workflow { stream: StreamName, command: workflow::Command },
    Run(run::Command),
    Inbox(inbox::Command),
    Verdicts(verdict::Command),
}

/// One transaction over the machines: all of its commands land, or none.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    ledger: &'a mut Ledger,
    tx: Transaction<'a>,
    actor: &'a Actor,
    now: Time,
    queued: usize,
    /// The journal's folder.
    state: PathBuf,
    /// Whether the run was brought up to date: in a transaction nobody else can change it again.
    knows_run: bool,
    /// Recorded together when everything is decided.
    fresh: Vec<Fresh<'a>>,
}

impl<'a> Work<'a> {
    pub(crate) fn begin(
        ledger: &'a mut Ledger,
        journal: &'a mut Journal,
        actor: &'a Actor,
        now: Time,
    ) -> Result<Self, StoreError> {
        let state = journal.folder().to_owned();
        let tx = journal.transaction()?;
        let (queued, knows_run, fresh) = (0, false, Vec::new());
        Ok(Self { ledger, tx, actor, now, queued, state, knows_run, fresh })
    }

    /// Acts for another actor within the same transaction.
    pub(crate) fn act_as(&mut self, actor: &'a Actor, now: Time) {
        (self.actor, self.now) = (actor, now);
    }

    /// Refuses an attempt that is over, as the run stands in this transaction.
    pub(crate) fn check(&mut self, fence: &Fence) -> Result<(), EngineError> {
        Ok(fence.check(self.run()?)?)
    }

    /// The run as it stands in this transaction.
    pub(crate) fn run(&mut self) -> Result<&Run, StoreError> {
        Ok(&current_run(self.ledger, &self.tx, &mut self.knows_run)?.state)
    }

    /// Decides each command by itself; what was refused is added in words.
    pub(crate) fn handle_each(
        &mut self,
        commands: &[MachineCommand],
        refused: &mut Vec<Rejected>,
    ) -> Result<(), EngineError> {
        commands.iter().try_for_each(|command| match self.handle(command) {
            Err(EngineError::Rejected(rejected)) => {
                refused.push(rejected);
                Ok(())
            }
            other => other,
        })
    }

    /// Decides one command. After a refusal nothing of this command has happened.
    pub(crate) fn handle(&mut self, command: &MachineCommand) -> Result<(), EngineError> {
        let Self { ledger, tx, actor, now, knows_run, fresh, .. } = self;
        let asked = Asked { by: actor, now: *now };
        let (stream, head, effects) = match command {
            MachineCommand::Workflow { stream, command } => {
                let loaded = ledger.workflow(&tx.view(), stream)?;
                handle(loaded, command, &asked, fresh)?
            }
            MachineCommand::Run(command) => {
                let loaded = current_run(ledger, tx, knows_run)?;
                handle(loaded, command, &asked, fresh)?
            }
            MachineCommand::Inbox(command) => {
                let loaded = ledger.inbox(&tx.view())?;
                handle(loaded, command, &asked, fresh)?
            }
            MachineCommand::Verdicts(command) => {
                let loaded = ledger.verdicts(&tx.view())?;
                handle(loaded, command, &asked, fresh)?
            }
        };
        effects.into_iter().try_for_each(|effect| self.route(&stream, head, effect))
    }

    /// Sends an effect where it is performed: to the inbox at once, else to the outbox.
    fn route(&mut self, stream: &StreamName, head: u64, effect: Effect) -> Result<(), EngineError> {
        // Several streams may ask about a part of the same name.
        let full = |subject: &str| format!("{stream}/{subject}");
        let command = match effect {
            Effect::Ask(question) => {
                let subject = full(&question.subject);
                inbox::Command::Ask(Question { subject, ..question })
            }
            Effect::Settle { subject } => inbox::Command::Settle { subject: full(&subject) },
            Effect::Notify(notice) => return Ok(self.queue_notice(stream, head, &notice)?),
            Effect::EndPhase { .. } | Effect::Wake { .. } => {
                return Ok(self.queue(stream, head, &effect)?);
            }
        };
        let asked = Asked { by: &Actor::Waypost, now: self.now };
        let loaded = self.ledger.inbox(&self.tx.view())?;
        let (stream, head, effects) = handle(loaded, &command, &asked, &mut self.fresh)?;
        // The inbox asks nobody: notices are all that follows from it.
        effects.into_iter().try_for_each(|effect| self.route(&stream, head, effect))
    }

    /// Puts a notice into the outbox, once for each target; not at all if nobody wants it.
    fn queue_notice(
        &mut self,
        stream: &StreamName,
        head: u64,
        notice: &Notice,
    ) -> Result<(), StoreError> {
        self.queued += 1;
        let Self { ledger, tx, queued, .. } = self;
        for target in ledger.wanted.targets_of(notice.kind) {
            let key = format!("{stream}/{head}/{queued}@{target}");
            let (target, notice) = (target.clone(), notice.clone());
            let parcel = Parcel { target, notice, attempts: 0, why: String::new() };
            let body = serde_json::to_string(&parcel).expect("notices are plain data");
            let (kind, stream_seq, due) = ("notify", head, None);
            tx.queue(&[NewEffect { key: &key, stream, stream_seq, kind, body: &body, due }])?;
            ledger.notices_queued += 1;
        }
        Ok(())
    }

    fn queue(&mut self, stream: &StreamName, head: u64, effect: &Effect) -> Result<(), StoreError> {
        self.queued += 1;
        let key = format!("{stream}/{head}/{}", self.queued);
        let body = serde_json::to_string(effect).expect("effects are plain data");
        let due = match effect {
            Effect::Wake { at } => Some(*at),
            _ => None,
        };
        let (kind, stream_seq) = (effect.kind(), head);
        let effect = NewEffect { key: &key, stream, stream_seq, kind, body: &body, due };
        self.tx.queue(&[effect]).map(drop)
    }

    /// Makes everything durable.
    pub(crate) fn commit(self) -> Result<(), StoreError> {
        let Self { ledger, mut tx, fresh, state, .. } = self;
        // A hook must not hold an agent by a gate record that is about to be old.
        let invalidated = fresh.iter().try_for_each(|it| gate::invalidate(&state, &it.stream));
        invalidated
            .and_then(|()| record(&mut tx, fresh))
            .and_then(|()| ledger.snapshot_if_due(&mut tx))
            .and_then(|()| tx.commit())
            .inspect_err(|_| ledger.forget())
    }

    /// Drops everything that was decided in this transaction.
    pub(crate) fn abandon(self) {
        self.ledger.forget();
    }
}

/// The run, brought up to date once in a transaction.
fn current_run<'a>(
    ledger: &'a mut Ledger,
    tx: &Transaction<'_>,
    is_known: &mut bool,
) -> Result<&'a mut Loaded<Run>, StoreError> {
    if !*is_known {
        ledger.run(&tx.view())?;
        *is_known = true;
    }
    Ok(ledger.run.as_mut().expect("it was just loaded"))
}

fn handle<'a, M: Machine>(
    loaded: &mut Loaded<M>,
    command: &M::Command,
    asked: &Asked<'a>,
    fresh: &mut Vec<Fresh<'a>>,
) -> Result<(StreamName, u64, Vec<Effect>), EngineError> {
    let effects = loaded.handle(command, asked, fresh)?;
    Ok((loaded.stream.clone(), loaded.head, effects))
}
