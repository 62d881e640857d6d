//! One call as a desk sees it: whether its client still waits, and a way to say how it goes.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc::Sender;

/// A call that is being worked on.
#[derive(Clone, Debug)]
pub struct Call {
    end: Arc<End>,
    progress: Option<Sender<String>>,
    /// What the client says it is.
    client: String,
}

/// Whether a client has given up, and a way to wait for that.
#[derive(Debug, Default)]
pub(crate) struct End {
    is_over: Arc<AtomicBool>,
    turn: Mutex<()>,
    bell: Condvar,
}

impl End {
    pub(crate) fn ring(&self) {
        self.is_over.store(true, Ordering::Release);
        let _turn = self.turn();
        self.bell.notify_all();
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        // Nothing is guarded by it but the order of looking and waiting.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    pub(crate) fn new(end: Arc<End>, progress: Option<Sender<String>>, client: String) -> Self {
        Self { end, progress, client }
    }

    /// A call that no client waits for.
    pub fn detached() -> Self {
        Self::new(Arc::new(End::default()), None, String::new())
    }

    /// Whether the client has cancelled the call or is gone.
    pub fn is_cancelled(&self) -> bool {
        self.end.is_over.load(Ordering::Acquire)
    }

    /// Set when the client has cancelled the call or is gone, for what cannot ask.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.end.is_over)
    }

    /// Waits for so long, or until the client has given up; whether it has.
    pub fn wait(&self, patience: Duration) -> bool {
        let turn = self.end.turn();
        if !self.is_cancelled() {
            let waited = self.end.bell.wait_timeout(turn, patience);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        self.is_cancelled()
    }

    /// Says how it goes, to a client that wants to know. What it cannot take at once is dropped: a call
    /// does not wait for a reader.
    pub fn tell(&self, message: impl Into<String>) {
        if let Some(progress) = &self.progress {
            let _dropped = progress.try_send(message.into());
        }
    }

    /// Whether the client wants to know how it goes.
    pub fn is_listened_to(&self) -> bool {
        self.progress.is_some()
    }

    pub fn client(&self) -> &str {
        &self.client
    }
}
