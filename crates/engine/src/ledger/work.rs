//! One transaction over the machines: all of its commands land, or none.

use super::{
    Ledger, MachineCommand,
    loaded::{Fresh, Handled, record},
    run_stream,
};
use crate::{
    accounts::accounts_stream, error::EngineError, fence::Fence, gate, notify::Parcel, outbox,
};
use std::path::PathBuf;
use waypost_model::{
    accounts::Accounts,
    actor::Actor,
    id::StreamName,
    inbox::{self, Subject},
    job::Job,
    machine::{Asked, Effect, Machine, Rejected},
    memory,
    notice::Notice,
    run::Run,
    task::ServedTask,
    time::Time,
};
use waypost_store::{
    StoreError,
    journal::{Journal, NewEffect, Transaction},
};

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
        ledger.turn += 1;
        Ok(Self { ledger, tx, actor, now, queued: 0, state, fresh: Vec::new() })
    }

    /// Acts for another actor within the same transaction.
    pub(crate) fn act_as(&mut self, actor: &'a Actor, now: Time) {
        (self.actor, self.now) = (actor, now);
    }

    /// Refuses an attempt or a process that is over, as the run or the job stands in this transaction.
    pub(crate) fn check(&mut self, fence: &Fence) -> Result<(), EngineError> {
        if let Some(stream) = fence.served() {
            return Ok(fence.check_served(self.machine::<ServedTask>(&stream)?)?);
        }
        match fence.job() {
            Some(stream) => Ok(fence.check_job(self.machine::<Job>(&stream)?)?),
            None => Ok(fence.check(self.run()?)?),
        }
    }

    /// The run as it stands in this transaction.
    pub(crate) fn run(&mut self) -> Result<&Run, StoreError> {
        self.machine::<Run>(&run_stream())
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
        let asked = Asked { by: self.actor, now: self.now };
        self.take(command, &asked)
    }

    fn take(&mut self, command: &MachineCommand, asked: &Asked<'a>) -> Result<(), EngineError> {
        let Self { ledger, tx, fresh, .. } = self;
        let Handled { stream, head, effects } = command.handle(ledger, tx, asked, fresh)?;
        effects.into_iter().try_for_each(|effect| self.route(&stream, head, effect))
    }

    /// One machine as it stands in this transaction.
    pub(crate) fn machine<M: Machine>(&mut self, stream: &StreamName) -> Result<&M, StoreError> {
        Ok(&self.ledger.get_in_turn::<M>(&self.tx, stream)?.state)
    }

    /// Notes that an effect was performed; false if it was already.
    pub(crate) fn end_effect(&mut self, id: u64) -> Result<bool, StoreError> {
        self.tx.mark_effect_done(id, self.now)
    }

    /// Sends an effect where it is performed: to the inbox at once, else to the outbox.
    fn route(&mut self, stream: &StreamName, head: u64, effect: Effect) -> Result<(), EngineError> {
        let command = match effect {
            Effect::Ask(question) => inbox::Command::Ask(question.asked_by(stream)),
            Effect::Settle { topic } => {
                inbox::Command::Settle { subject: Subject::of(stream, &topic) }
            }
            Effect::Account(command) => {
                let command = MachineCommand::of::<Accounts>(accounts_stream(), command);
                let asked = Asked { by: self.actor, now: self.now };
                return self.take(&command, &asked);
            }
            Effect::Remember(work) => {
                let command = MachineCommand::memory(memory::Command::Record { work });
                let asked = Asked { by: &Actor::Waypost, now: self.now };
                return self.take(&command, &asked);
            }
            Effect::Notify(notice) => return Ok(self.queue_notice(stream, head, &notice)?),
            Effect::SetTimer { topic, at } => {
                self.ledger.timers_set += 1;
                return Ok(outbox::set_timer(&mut self.tx, (stream, head), &topic, at)?);
            }
            Effect::CancelTimer { topic } => {
                return Ok(outbox::cancel_timer(&mut self.tx, stream, &topic, self.now)?);
            }
        };
        // The inbox asks nothing itself: only notices and timers follow from it.
        let asked = Asked { by: &Actor::Waypost, now: self.now };
        self.take(&MachineCommand::inbox(command), &asked)
    }

    /// Puts a notice into the outbox, once for each target; not at all if no target wants it.
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

    /// Puts a notice into the outbox that no machine has decided.
    pub(crate) fn announce(&mut self, notice: &Notice) -> Result<(), StoreError> {
        let (stream, kind) = (run_stream(), "notify");
        let stream_seq = self.tx.head(&stream)?;
        let Self { ledger, tx, .. } = self;
        for target in ledger.wanted.targets_of(notice.kind) {
            let key = format!("engine/{}/{}@{target}", notice.kind, notice.at.millis());
            let (target, notice) = (target.clone(), notice.clone());
            let parcel = Parcel { target, notice, attempts: 0, why: String::new() };
            let body = serde_json::to_string(&parcel).expect("notices are plain data");
            let (stream, body, due) = (&stream, &body, None);
            tx.queue(&[NewEffect { key: &key, stream, stream_seq, kind, body, due }])?;
            ledger.notices_queued += 1;
        }
        Ok(())
    }

    /// Makes everything durable.
    pub(crate) fn commit(self) -> Result<(), StoreError> {
        let Self { ledger, mut tx, fresh, state, .. } = self;
        // A hook must not hold an agent by a gate record that is about to be old.
        let invalidated = fresh.iter().try_for_each(|it| gate::invalidate(&state, &it.stream));
        let changed = fresh.iter().map(|it| it.stream.clone()).collect();
        invalidated
            .and_then(|()| record(&mut tx, fresh))
            .and_then(|()| ledger.list(&mut tx, &changed))
            .and_then(|()| ledger.snapshot_if_due(&mut tx))
            .and_then(|()| tx.commit())
            .inspect_err(|_| ledger.forget())
    }

    /// Drops everything that was decided in this transaction.
    pub(crate) fn abandon(self) {
        self.ledger.forget();
    }
}
