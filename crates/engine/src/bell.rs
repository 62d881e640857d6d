//! Wakes a thread that waits for many things: readable from when it is rung until that was heard.

use crate::error::{EngineError, Problem};
use rustix::event::{EventfdFlags, eventfd};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

/// Rung from any thread; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(crate) fn new() -> Result<Self, EngineError> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = bell.map_err(|error| Problem::system("cannot make an event", error))?;
        Ok(Self(Arc::new(bell)))
    }

    pub(crate) fn ring(&self) {
        // A bell that cannot be rung because it rings already is heard.
        let _rung = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Silences it, and says whether it rang.
    pub(crate) fn hear(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 8]).is_ok()
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
