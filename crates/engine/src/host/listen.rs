//! The socket of a host: other processes tell it that they have committed, ask who it is, hand runs
//! over, and watch them.
//!
//! Each connection has a thread of its own, so that a client which is slow, silent or gone keeps
//! neither the host nor other clients waiting.

use super::{
    desk::Desk,
    enduring::EnduringRun,
    feed::{Broadcast, Feed, WatcherQueue},
    guests::{Admission, Left},
    protocol::{self, Answer, Failure, GuestKind, HandOver, HostState, Refusal, Request},
    pulse::Pulse,
    run::Visiting,
};
use crate::{
    actor::identify_process,
    attendance,
    bell::Bell,
    environment::Environment,
    error::{EngineError, Problem},
    execute::RunEnd,
    guest::Waits,
    project::Project,
    spelling::Spelling,
};
use std::{
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use waypost_agent::programs::Programs;
use waypost_model::time::Time;
use waypost_store::{
    StoreError,
    lock::{EngineLease, Owner},
    place::Place,
    socket::{Connection, Listener},
};

/// How long a client may take to say what it wants, and to take a short answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a watcher may take to take a line: one that is suspended is let go, and comes again.
const SEND_PATIENCE: Duration = Duration::from_secs(10);

/// The longest wait for a client; nothing follows from its end.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// As many clients as are spoken with at once: each has a thread. Others are hung up on, and look
/// into the journal by themselves.
const CLIENTS_MAX: usize = 256;

/// The thread that answers at the socket.
#[derive(Debug)]
pub(super) struct Listening {
    thread: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
    /// Wakes it at the end.
    bell: Bell,
}

/// What each connection's thread knows of the host.
struct Reception {
    desk: Arc<Desk>,
    owner: Owner,
    place: Place,
    spelling: Spelling,
    programs: Programs,
    clients: AtomicUsize,
}

impl Listening {
    pub(super) fn begin(
        lease: &EngineLease,
        place: Place,
        spelling: Spelling,
        programs: Programs,
        desk: Arc<Desk>,
    ) -> Result<Self, EngineError> {
        let socket = Listener::bind(lease)?;
        let is_set = socket.socket().set_nonblocking(true);
        is_set.map_err(|error| Problem::system("cannot listen", error))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let reception = Arc::new(Reception {
            desk,
            owner: lease.owner().clone(),
            place,
            spelling,
            programs,
            clients: AtomicUsize::new(0),
        });
        let (flag, bell) = (Arc::clone(&is_over), Bell::new()?);
        let heard = bell.clone();
        let thread = thread::spawn(move || listen(&socket, &reception, (&flag, &heard)));
        Ok(Self { thread, is_over, bell })
    }

    pub(super) fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.bell.ring();
        let _ended = self.thread.join();
    }
}

fn listen(socket: &Listener, reception: &Arc<Reception>, (is_over, bell): (&AtomicBool, &Bell)) {
    loop {
        let mut waits = Waits::default();
        waits.readable(socket.socket().as_fd());
        // The file of the socket may be gone, so that it could not be woken by speaking to it.
        waits.readable(bell.as_fd());
        if waits.wait(Time::default(), WAIT_MAX).is_err() {
            // Without a way to wait, looking again and again would take a processor for nothing.
            thread::sleep(PATIENCE);
        }
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        // No peer yet, or one that is another user or hung up, is no reason to stop listening.
        let Ok(peer) = socket.accept() else { continue };
        if reception.clients.fetch_add(1, Ordering::SeqCst) >= CLIENTS_MAX {
            reception.clients.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let reception = Arc::clone(reception);
        thread::spawn(move || {
            // A client that is gone hears nothing, and needs nothing.
            let _gone = reception.serve(peer);
            reception.clients.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

impl Reception {
    fn serve(&self, mut peer: Connection) -> Result<(), StoreError> {
        peer.set_timeout(PATIENCE)?;
        let Some(line) = peer.receive_line()? else { return Ok(()) };
        let Some(request) = protocol::read::<Request>(&line) else {
            return refuse(&mut peer, Refusal::Unknown { speaks: protocol::VERSION });
        };
        match request {
            Request::Poke => {
                self.desk.ring();
                peer.send_line(&protocol::write(&Answer::Heard))
            }
            Request::Who => peer.send_line(&protocol::write(&Answer::Host(self.state()))),
            Request::Stop { haste } => match self.desk.guests.run() {
                Some((guest, feed)) => {
                    let watched = Watched::new(guest, feed);
                    watched.feed.stop(haste);
                    watched.show(peer, WatcherPart::Watches)
                }
                None => refuse(&mut peer, Refusal::NoRun),
            },
            Request::Watch { guest: None } => match self.desk.guests.run() {
                Some((guest, feed)) => Watched::new(guest, feed).show(peer, WatcherPart::Watches),
                None => refuse(&mut peer, Refusal::NoRun),
            },
            Request::Watch { guest: Some(guest) } => match self.desk.guests.find(guest) {
                Some(feed) => Watched::new(guest, feed).show(peer, WatcherPart::Owns),
                None => refuse(&mut peer, Refusal::NoRun),
            },
            Request::HandOver(run) => self.take_over(peer, *run),
            // What is wished for is said by a client that watches.
            Request::Wish { .. } => refuse(&mut peer, Refusal::NoRun),
        }
    }

    fn state(&self) -> HostState {
        HostState {
            owner: self.owner.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            is_closing: self.desk.is_closing(),
            guests: self.desk.guests.present(),
        }
    }

    /// Carries the run of another process, for its actor and with its environment.
    fn take_over(&self, mut peer: Connection, run: HandOver) -> Result<(), StoreError> {
        let environment = Environment::from(run.environment.clone());
        // From the process tree, as that process itself finds out who runs it.
        let actor = identify_process(peer.peer_pid()?, &environment, &self.programs);
        let opened = Project::open_for(&run.root, actor.clone(), environment, &self.programs);
        let mut project = match opened {
            Ok(project) => project,
            Err(error) => return fail(&mut peer, &error),
        };
        if project.setup.place.state != self.place.state {
            return refuse(&mut peer, Refusal::Elsewhere);
        }
        project.spell(self.spelling);
        let feed = Arc::new(Feed::new(self.desk.bell()));
        // From here on nothing is missed.
        let mut watched = Watched::new(0, Arc::clone(&feed));
        let (tell, told) = sync_channel(1);
        let pulse = Arc::clone(&self.desk.pulse);
        let admission = admission(project, &run, (&feed, pulse), tell).handed_over_by(actor);
        if self.desk.admit(admission.told_to(&feed)).is_err() {
            return refuse(&mut peer, Refusal::Closing);
        }
        match told.recv() {
            Ok(Ok(())) => {
                watched.guest = self.desk.guests.number_of(&feed).unwrap_or_default();
                watched.show(peer, WatcherPart::Owns)
            }
            Ok(Err(EngineError::Runs { .. })) => refuse(&mut peer, Refusal::Runs),
            Ok(Err(error)) => fail(&mut peer, &error),
            Err(_) => refuse(&mut peer, Refusal::Closing),
        }
    }
}

/// The admission of a run that was handed over; whether it began is told once.
fn admission(
    project: Project,
    run: &HandOver,
    (feed, pulse): (&Arc<Feed>, Arc<Pulse>),
    tell: SyncSender<Result<(), EngineError>>,
) -> Admission {
    let (options, place) = (run.options.clone(), project.setup.place.clone());
    let environment = project.caller.environment.clone();
    let audience = Broadcast::new(None, Arc::clone(feed), project.setup.stop_grace());
    let begun = tell.clone();
    let begin = move |_: &mut Project| {
        let began = Visiting::begin(project, |project| {
            // Those who watch know by themselves what they were told; in the host it is told to none.
            let told = project.journal_end()?;
            EnduringRun::begin(project, options, (Box::new(audience), told), pulse)
        })?;
        // The client may be gone; the run goes on.
        let _gone = begun.send(Ok(()));
        Ok(began)
    };
    let (feed, options) = (Arc::clone(feed), run.options.clone());
    let leave = move |left: Left<Visiting<EnduringRun>>| match left {
        Left::Over(visiting, end) => feed.end(last_word(visiting.guest.finish().map(|()| end))),
        Left::Failed(error) => {
            feed.end(Answer::Failed { failure: Failure::of(&error) });
            // Nothing waits for that once it has begun.
            let _begun = tell.try_send(Err(error));
        }
        Left::LetGo(visiting) => {
            visiting.guest.let_go();
            drop(visiting.project);
            if !feed.is_owned() {
                // No process is left that could go on with it; so one is started.
                attendance::start_successor(&place, &options, &environment);
            }
            feed.end(Answer::Leaving);
        }
    };
    Admission::new(GuestKind::Run, begin, leave)
}

pub(super) fn last_word(ended: Result<RunEnd, EngineError>) -> Answer {
    match ended {
        Ok(end) => Answer::Over { end },
        Err(error) => Answer::Failed { failure: Failure::of(&error) },
    }
}

/// What a client that watches is to the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WatcherPart {
    /// It has handed it over: it may wish for its end, and goes on with it after this host.
    Owns,
    Watches,
}

/// A run that a client watches.
struct Watched {
    guest: u64,
    feed: Arc<Feed>,
    queue: Arc<WatcherQueue>,
}

impl Watched {
    fn new(guest: u64, feed: Arc<Feed>) -> Self {
        Self { guest, queue: feed.watch(), feed }
    }

    /// Tells a client what happens until the run is over or the client has gone.
    fn show(self, mut peer: Connection, part: WatcherPart) -> Result<(), StoreError> {
        let Self { guest, feed, queue } = self;
        peer.send_line(&protocol::write(&Answer::Watching { guest }))?;
        peer.set_receive_timeout(None)?;
        let mut sender = peer.sender()?;
        sender.set_timeout(SEND_PATIENCE)?;
        if part == WatcherPart::Owns {
            feed.owner_comes();
        }
        let lines = Arc::clone(&queue);
        let telling = thread::spawn(move || {
            while let Some(line) = lines.next() {
                if sender.send_line(&line).is_err() {
                    break;
                }
            }
            sender.hang_up();
        });
        while let Ok(Some(line)) = peer.receive_line() {
            if let (WatcherPart::Owns, Some(Request::Wish { wish })) = (part, protocol::read(&line))
            {
                feed.wish(wish);
            }
        }
        if part == WatcherPart::Owns {
            feed.owner_goes();
        }
        queue.end();
        let _told = telling.join();
        Ok(())
    }
}

fn refuse(peer: &mut Connection, why: Refusal) -> Result<(), StoreError> {
    peer.send_line(&protocol::write(&Answer::Refused { why }))
}

fn fail(peer: &mut Connection, error: &EngineError) -> Result<(), StoreError> {
    peer.send_line(&protocol::write(&Answer::Failed { failure: Failure::of(error) }))
}
