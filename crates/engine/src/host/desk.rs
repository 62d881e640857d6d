//! Where threads leave what they want of a host, and the loop that carries its guests.

use super::{
    guests::{Admission, GuestList, Guests},
    pulse::Pulse,
    seat::Seat,
};
use crate::{
    bell::Bell,
    error::{EngineError, Problem},
    guest::Waits,
    ledger::MachineCommand,
    project::Project,
};
use std::{
    ops::{Deref, DerefMut},
    os::fd::AsFd as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};
use waypost_model::{actor::Actor, code::Code, time::Time};
use waypost_store::journal::Changes;

/// The most requests in one commit: keeps a transaction, and the wait for it, short.
const BATCH_MAX: usize = 1_024;

/// The longest sleep: what nothing has told about, such as a commit on a network file system, is
/// found after this.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// The sleep where it cannot be told that something is ready.
const BLIND_SLEEP: Duration = Duration::from_millis(100);

/// What became of commands.
pub(super) type Reply = Result<(), EngineError>;

/// What all threads share.
#[derive(Debug)]
pub(super) struct Desk {
    queue: Mutex<Queue>,
    /// The thread that has it writes for all; empty when the host has ended.
    seat: Mutex<Option<Seat>>,
    /// Wakes the host's own thread.
    bell: Bell,
    pub(super) guests: Arc<GuestList>,
    /// Tells another thread that this one lives.
    pub(super) pulse: Arc<Pulse>,
    /// Wakes it when another process commits.
    changes: Changes,
}

/// What waits for the host. Each thread waits for one answer at a time, so there is never more
/// than there are threads.
#[derive(Debug, Default)]
struct Queue {
    asked: Vec<CommandRequest>,
    admissions: Vec<Admission>,
    /// No guest is admitted any more; the host ends when those that are there have left.
    is_closing: bool,
    is_closed: bool,
}

/// Commands that belong together, and where the answer goes.
#[derive(Debug)]
pub(super) struct CommandRequest {
    pub(super) commands: Vec<MachineCommand>,
    pub(super) actor: Actor,
    pub(super) reply: SyncSender<Reply>,
}

impl CommandRequest {
    pub(super) fn is_single(&self) -> bool {
        self.commands.len() == 1
    }
}

/// Why a host that has ended does nothing.
pub(super) fn closed() -> EngineError {
    Problem::new(Code::HostGone, "the host of this project has ended")
        .hint("repeat the command")
        .into()
}

impl Desk {
    pub(super) fn new(seat: Seat) -> Result<Self, EngineError> {
        let (bell, changes) = (Bell::new()?, seat.project.journals.changes());
        let (queue, seat, guests) = (Mutex::default(), Mutex::new(Some(seat)), Arc::default());
        Ok(Self { queue, seat, bell, guests, pulse: Arc::new(Pulse::new()?), changes })
    }

    pub(super) fn command(&self, actor: Actor, commands: Vec<MachineCommand>) -> Reply {
        let (reply, answer) = sync_channel(1);
        let mut queue = locked(&self.queue);
        if queue.is_closed {
            return Err(closed());
        }
        queue.asked.push(CommandRequest { commands, actor, reply });
        drop(queue);
        self.write_if_free();
        answer.recv().map_err(|_| closed())?
    }

    /// Leaves a guest for the host.
    pub(super) fn admit(&self, admission: Admission) -> Result<(), EngineError> {
        let mut queue = locked(&self.queue);
        if queue.is_closing {
            return Err(closed());
        }
        queue.admissions.push(admission);
        drop(queue);
        self.ring();
        Ok(())
    }

    /// Asks the host to end.
    pub(super) fn close(&self) {
        locked(&self.queue).is_closing = true;
        self.ring();
    }

    /// Wakes the host's own thread.
    pub(super) fn ring(&self) {
        self.bell.ring();
    }

    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Whether no guest is admitted any more.
    pub(super) fn is_closing(&self) -> bool {
        locked(&self.queue).is_closing
    }

    /// Writes what has come together, if no other thread has the seat. The thread that has it sees to what
    /// was left here when it leaves.
    fn write_if_free(&self) {
        let mut taken = match self.seat.try_lock() {
            Ok(taken) => Seated { taken, _leaving: Leaving(self) },
            Err(TryLockError::WouldBlock) => return,
            Err(TryLockError::Poisoned(_)) => return self.ring(),
        };
        let mut wants_owner = false;
        if let Some(seat) = taken.as_mut() {
            wants_owner = seat.write(&self.next_batch());
        }
        drop(taken);
        if wants_owner {
            self.ring();
        }
    }

    /// Whether commands wait for the thread that has the seat.
    #[cfg(test)]
    pub(super) fn is_asked(&self) -> bool {
        !locked(&self.queue).asked.is_empty()
    }

    fn next_batch(&self) -> Vec<CommandRequest> {
        let asked = &mut locked(&self.queue).asked;
        let count = asked.len().min(BATCH_MAX);
        asked.drain(..count).collect()
    }

    /// The host's own thread: carries its guests until it is asked to end and those of this process
    /// have left; those that came from other processes go on there.
    pub(super) fn carry(&self) -> Option<Project> {
        let mut guests = Guests::new(&self.guests);
        loop {
            self.pulse.beat();
            let (admissions, is_closing) = {
                let mut queue = locked(&self.queue);
                queue.is_closed = queue.is_closing && guests.is_empty();
                (std::mem::take(&mut queue.admissions), queue.is_closing)
            };
            let is_last = is_closing && guests.is_empty() && admissions.is_empty();
            let mut taken = self.seat();
            let seat = taken.as_mut()?;
            if seat.project.gone().is_some() {
                // Nothing is written any more, not even to be shown: it would be made again.
                let mut queue = locked(&self.queue);
                (queue.is_closing, queue.is_closed) = (true, true);
                queue.asked.clear();
                drop(queue);
                guests.fail(admissions, || seat.project.gone().unwrap_or_else(closed));
                return taken.take().map(|seat| seat.project);
            }
            seat.project.look_for_commits();
            self.write_all(seat);
            seat.fire_timers();
            guests.admit(admissions, seat);
            if is_closing {
                guests.let_go();
            }
            guests.attend(seat);
            seat.look_around();
            if is_last {
                seat.finish();
                seat.project.end_turns();
                return taken.take().map(|seat| seat.project);
            }
            let until = seat.wakes_at();
            // Most of what was told meanwhile are commits of our own; the journal knows whether all are. A
            // run goes on by itself after its own; what else is carried is attended to once more.
            let has_others =
                guests.are_runs() && self.changes.take() && seat.project.look_for_commits();
            let is_behind = seat.has_new_timers();
            drop(taken);
            if !guests.has_moved() && !has_others && !is_behind {
                self.sleep(&guests, until);
            }
        }
    }

    fn write_all(&self, seat: &mut Seat) {
        loop {
            let batch = self.next_batch();
            if batch.is_empty() {
                return;
            }
            seat.write(&batch);
        }
    }

    /// Waits for the seat. After a panic in it the machines are loaded again: the journal is the
    /// truth, and the transaction was rolled back.
    pub(super) fn seat(&self) -> Seated<'_> {
        let taken = self.seat.lock().unwrap_or_else(|poisoned| {
            self.seat.clear_poison();
            let mut seat = poisoned.into_inner();
            seat.iter_mut().for_each(|seat| seat.project.ledger.forget());
            seat
        });
        Seated { taken, _leaving: Leaving(self) }
    }

    /// Sleeps until something is ready, or it is time.
    fn sleep(&self, guests: &Guests, (now, until): (Time, Option<Time>)) {
        let mut waits = Waits::default();
        guests.waits(&mut waits);
        waits.readable(self.bell.as_fd());
        self.changes.readable().into_iter().for_each(|fd| waits.readable(fd));
        until.into_iter().for_each(|time| waits.until(time));
        if waits.wait(now, SLEEP_MAX).is_err() {
            // Without a way to wait, looking again and again would take a processor for nothing.
            thread::sleep(BLIND_SLEEP);
        }
        self.bell.hear();
        self.changes.take();
    }
}

/// A thread that has the seat. A command that comes meanwhile finds it taken and waits in the queue.
#[derive(Debug)]
pub(super) struct Seated<'a> {
    taken: MutexGuard<'a, Option<Seat>>,
    /// After the seat is free, because fields are dropped in this order.
    _leaving: Leaving<'a>,
}

impl Deref for Seated<'_> {
    type Target = Option<Seat>;

    fn deref(&self) -> &Option<Seat> {
        &self.taken
    }
}

impl DerefMut for Seated<'_> {
    fn deref_mut(&mut self) -> &mut Option<Seat> {
        &mut self.taken
    }
}

/// Wakes the host for commands that found the seat taken, whatever it was taken for.
#[derive(Debug)]
struct Leaving<'a>(&'a Desk);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !locked(&self.0.queue).asked.is_empty() {
            self.0.ring();
        }
    }
}

/// For what a panic cannot leave half-changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
