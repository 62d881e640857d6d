//! The engine as a service: one writer for many threads, alive behind the engine lock.
//!
//! There is one writer, and a thread that finds it free writes for all: all commands that have come
//! together are decided in the order of their arrival and made durable with one commit. A thread
//! that is alone thus never waits for another to wake up, and many threads share their commits.
//! Nobody is told before the commit. A thread of the engine's own takes over when more has come
//! meanwhile, looks around, and shows the windows from time to time and before the end.

use crate::{
    error::EngineError,
    ledger::{MachineCommand, Work},
    notify::Courier,
    project::Project,
    summary, windows,
};
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use waypost_model::{actor::Actor, time::Time};
use waypost_store::{
    StoreError,
    lock::{EngineLease, Owner},
    place::Place,
    socket::{Connection, Listener},
};

/// The most requests in one commit: keeps a transaction, and the wait for it, short.
const BATCH_MAX: usize = 1_024;
/// How often the writer looks for commits of other processes.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The shortest time between two renderings while commands keep coming.
const RENDER_INTERVAL: Duration = Duration::from_millis(250);
/// Renderings take at most one part in this many of the time.
const RENDER_SHARE: u32 = 20;
/// How many due effects are taken at once.
const EFFECTS_AT_ONCE: usize = 1_000;

/// A running engine. There is one per project; it ends when it is stopped or dropped.
#[derive(Debug)]
pub struct Engine {
    handle: Handle,
    writer: Option<JoinHandle<Option<Project>>>,
    listener: Option<JoinHandle<()>>,
    stopping: Arc<AtomicBool>,
    lock: EngineLease,
    place: Place,
}

/// Gives commands to a running engine; cheap to clone, one per thread.
#[derive(Clone, Debug)]
pub struct Handle {
    desk: Arc<Desk>,
}

/// What all threads share.
#[derive(Debug)]
struct Desk {
    queue: Mutex<Queue>,
    /// The thread that has it writes for all; empty when the engine has ended.
    writer: Mutex<Option<Writer>>,
    /// Whether the engine's own thread is wanted.
    is_wanted: Mutex<bool>,
    bell: Condvar,
}

/// Commands that wait to be decided. Each thread waits for one answer at a time, so there are
/// never more of them than threads.
#[derive(Debug, Default)]
struct Queue {
    asked: Vec<Asking>,
    is_closed: bool,
}

/// Commands that belong together, and where the answer goes.
#[derive(Debug)]
struct Asking {
    commands: Vec<MachineCommand>,
    actor: Actor,
    reply: SyncSender<Reply>,
}

impl Asking {
    fn is_single(&self) -> bool {
        self.commands.len() == 1
    }
}

type Reply = Result<(), EngineError>;

impl Engine {
    /// Takes the engine lock of the project and begins to work.
    pub fn start(mut project: Project, runs: &str) -> Result<Self, EngineError> {
        project.ensure_journal()?;
        let owner = Owner::this_process(runs, project.clock.now());
        let place = project.place.clone();
        let lock = EngineLease::acquire(&place, &owner)?;
        let socket = Listener::bind(&lock)?;
        let desk = Arc::new(Desk::new(Writer::new(project)));
        let stopping = Arc::new(AtomicBool::new(false));
        let (own, flag) = (Arc::clone(&desk), Arc::clone(&stopping));
        let writer = thread::spawn(move || own.run(&flag));
        let (own, flag) = (Arc::clone(&desk), Arc::clone(&stopping));
        let listener = thread::spawn(move || listen(&socket, &owner, &own, &flag));
        let handle = Handle { desk };
        Ok(Self { handle, writer: Some(writer), listener: Some(listener), stopping, lock, place })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Ends the engine: what was accepted is durable and shown. Hands the project back.
    pub fn stop(mut self) -> Option<Project> {
        self.end()
    }

    fn end(&mut self) -> Option<Project> {
        self.stopping.store(true, Ordering::SeqCst);
        self.handle.desk.ring();
        let project = self.writer.take().and_then(|writer| writer.join().ok()).flatten();
        // The listener wakes up by being spoken to.
        drop(Connection::to_engine(&self.place));
        if let Some(listener) = self.listener.take() {
            let _ended = listener.join();
        }
        debug_assert!(self.lock.still_holds(), "the engine lock is held until the end");
        project
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.writer.is_some() {
            drop(self.end());
        }
    }
}

impl Handle {
    /// Gives commands that are decided together: all of them, or none. Returns when durable.
    pub fn command(&self, actor: Actor, commands: Vec<MachineCommand>) -> Reply {
        let closed = || EngineError::missing("the engine has ended", "repeat the command");
        let (reply, answer) = sync_channel(1);
        let mut queue = locked(&self.desk.queue);
        if queue.is_closed {
            return Err(closed());
        }
        queue.asked.push(Asking { commands, actor, reply });
        drop(queue);
        self.desk.write_if_free();
        answer.recv().map_err(|_| closed())?
    }
}

impl Desk {
    fn new(writer: Writer) -> Self {
        Self {
            queue: Mutex::default(),
            writer: Mutex::new(Some(writer)),
            is_wanted: Mutex::new(false),
            bell: Condvar::new(),
        }
    }

    /// Writes what has come together, if nobody else is writing.
    ///
    /// The writing thread looks at the queue again afterwards, so nothing is left lying there.
    fn write_if_free(&self) {
        let mut seat = match self.writer.try_lock() {
            Ok(seat) => seat,
            Err(TryLockError::WouldBlock) => return,
            Err(TryLockError::Poisoned(_)) => return self.ring(),
        };
        if let Some(writer) = seat.as_mut() {
            writer.write(&self.next_batch());
        }
        drop(seat);
        if !locked(&self.queue).asked.is_empty() {
            self.ring();
        }
    }

    fn next_batch(&self) -> Vec<Asking> {
        let asked = &mut locked(&self.queue).asked;
        let count = asked.len().min(BATCH_MAX);
        asked.drain(..count).collect()
    }

    /// Wants the engine's own thread.
    fn ring(&self) {
        *locked(&self.is_wanted) = true;
        self.bell.notify_one();
    }

    /// The engine's own thread; hands the project back at the end.
    fn run(&self, stopping: &AtomicBool) -> Option<Project> {
        loop {
            self.wait();
            let is_last = stopping.load(Ordering::SeqCst);
            locked(&self.queue).is_closed = is_last;
            let mut seat = self.seat();
            let writer = seat.as_mut()?;
            loop {
                let batch = self.next_batch();
                if batch.is_empty() {
                    break;
                }
                writer.write(&batch);
                writer.look_around();
            }
            if is_last {
                writer.show();
                writer.courier.finish(&mut writer.project);
                return seat.take().map(|writer| writer.project);
            }
            writer.look_around();
            drop(seat);
            if !locked(&self.queue).asked.is_empty() {
                self.ring();
            }
        }
    }

    /// Waits for the writer. After a panic in it the machines are loaded again: the journal is
    /// the truth, and the transaction was rolled back.
    fn seat(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            self.writer.clear_poison();
            let mut seat = poisoned.into_inner();
            seat.iter_mut().for_each(|writer| writer.project.ledger.forget());
            seat
        })
    }

    /// Waits until it is wanted, or until it is time to look around.
    fn wait(&self) {
        let wanted = locked(&self.is_wanted);
        let waited = self.bell.wait_timeout_while(wanted, LOOK_INTERVAL, |wanted| !*wanted);
        let (mut wanted, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *wanted = false;
    }
}

/// For what a panic cannot leave half-changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers clients of the engine's socket.
fn listen(socket: &Listener, owner: &Owner, desk: &Desk, stopping: &AtomicBool) {
    while !stopping.load(Ordering::SeqCst) {
        // A peer that is not us, or that hung up, is no reason to stop listening.
        let Ok(mut peer) = socket.accept() else { continue };
        if peer.set_timeout(LOOK_INTERVAL).is_err() {
            continue;
        }
        let answer = match peer.receive_line() {
            Ok(Some(line)) if line == "wake" => {
                desk.ring();
                "ok".to_owned()
            }
            Ok(Some(line)) if line == "who" => owner.to_string(),
            _ => continue,
        };
        let _gone = peer.send_line(&answer);
    }
}

/// Tells a running engine, if there is one, that another process has committed.
pub(crate) fn wake(place: &Place) {
    // The engine looks by itself a moment later; this only saves that moment.
    if let Ok(Some(mut engine)) = Connection::to_engine(place)
        && engine.set_timeout(LOOK_INTERVAL).is_ok()
    {
        let _unheard = engine.send_line("wake");
    }
}

/// What writes: the project with its machines and its journal.
#[derive(Debug)]
struct Writer {
    project: Project,
    is_shown: bool,
    next_rendering: Time,
    next_look: Time,
    courier: Courier,
}

impl Writer {
    fn new(project: Project) -> Self {
        let now = project.clock.now();
        let courier = Courier::new(&project);
        Self { project, is_shown: true, next_rendering: now, next_look: now, courier }
    }

    /// Decides what has come together and makes it durable; then everybody is told.
    ///
    /// Single commands share a commit. Several that belong together have one of their own, so that
    /// a refusal of one takes the others back.
    fn write(&mut self, batch: &[Asking]) {
        self.is_shown &= batch.is_empty();
        for group in batch.chunk_by(|one, next| one.is_single() && next.is_single()) {
            let answers = self.decide(group).unwrap_or_else(|error| {
                let failed = |_| {
                    Err(EngineError::missing(
                        format!("the journal could not be written: {error}"),
                        "nothing was done; repeat the command",
                    ))
                };
                group.iter().map(failed).collect()
            });
            for (asked, answer) in group.iter().zip(answers) {
                // The client may be gone.
                let _gone = asked.reply.send(answer);
            }
        }
    }

    fn decide(&mut self, group: &[Asking]) -> Result<Vec<Reply>, StoreError> {
        let now = self.project.clock.now();
        let Project { journal, ledger, .. } = &mut self.project;
        let journal = journal.as_mut().expect("an engine has a journal");
        let mut work = Work::begin(ledger, journal, &Actor::Waypost, now)?;
        let mut answers = Vec::with_capacity(group.len());
        for asked in group {
            work.act_as(&asked.actor, now);
            let answer = asked.commands.iter().try_for_each(|command| work.handle(command));
            match answer {
                Err(EngineError::Store(error)) => {
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

    /// What there is to do between two batches.
    fn look_around(&mut self) {
        let now = self.project.clock.now();
        if now >= self.next_look {
            self.next_look = now.plus(LOOK_INTERVAL);
            self.is_shown &= !self.project.others_committed();
            self.perform_due(now);
            self.courier.attend(&mut self.project, now);
        }
        if !self.is_shown && now >= self.next_rendering {
            self.show();
        }
    }

    /// Performs effects that are due. A wake-up is performed by looking, which is done.
    fn perform_due(&mut self, now: Time) {
        let Some(journal) = &mut self.project.journal else { return };
        let due = journal.view().and_then(|view| view.open_effects(now, EFFECTS_AT_ONCE));
        let woken: Vec<u64> = due
            .unwrap_or_default()
            .into_iter()
            .filter(|effect| effect.kind == "wake")
            .map(|effect| effect.id)
            .collect();
        if woken.is_empty() {
            return;
        }
        // Not marked as done, they only come up again.
        let _again = journal.transaction().and_then(|mut tx| {
            for id in woken {
                tx.mark_effect_done(id, now)?;
            }
            tx.commit()
        });
    }

    fn show(&mut self) {
        let start = self.project.clock.now();
        // A window that cannot be shown now is shown at the next load.
        self.is_shown = windows::render(&mut self.project).is_ok();
        summary::keep(&mut self.project);
        let end = self.project.clock.now();
        self.next_rendering = end.plus(RENDER_INTERVAL.max(end.since(start) * RENDER_SHARE));
    }
}
