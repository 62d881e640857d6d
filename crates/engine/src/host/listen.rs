//! The socket of a host: other processes tell it that they have committed, and ask who it is.

use super::desk::Desk;
use crate::error::EngineError;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use waypost_store::{
    lock::{EngineLease, Owner},
    place::Place,
    socket::{Connection, Listener},
};

/// How long one side waits for the other, which does nothing else meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// The thread that answers at the socket.
#[derive(Debug)]
pub(super) struct Listening {
    thread: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
    place: Place,
}

impl Listening {
    pub(super) fn begin(
        lease: &EngineLease,
        place: Place,
        owner: Owner,
        desk: Arc<Desk>,
    ) -> Result<Self, EngineError> {
        let socket = Listener::bind(lease)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || listen(&socket, &owner, &desk, &flag));
        Ok(Self { thread, is_over, place })
    }

    pub(super) fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        // It wakes up by being spoken to.
        drop(Connection::to_engine(&self.place));
        let _ended = self.thread.join();
    }
}

fn listen(socket: &Listener, owner: &Owner, desk: &Desk, is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        // A peer that is another user, or that hung up, is no reason to stop listening.
        let Ok(mut peer) = socket.accept() else { continue };
        if peer.set_timeout(PATIENCE).is_err() {
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

/// Tells the host, if there is one, that another process has committed.
pub(crate) fn wake(place: &Place) {
    // The host looks by itself a moment later; this only saves that moment.
    if let Ok(Some(mut host)) = Connection::to_engine(place)
        && host.set_timeout(PATIENCE).is_ok()
    {
        let _unheard = host.send_line("wake");
    }
}
