//! One queue of the kernel's notices about folders, for all attendants of a process.
//!
//! A user has few such queues (128 by default) and may have hundreds of agents. So there is one for each process;
//! and where there is none left, attendants look once a second, as they do in any case.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::Path,
    sync::OnceLock,
};

static QUEUE: OnceLock<Option<OwnedFd>> = OnceLock::new();

fn queue() -> Option<&'static OwnedFd> {
    let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
    QUEUE.get_or_init(|| inotify::init(flags).ok()).as_ref()
}

/// Wakes this process when something of this kind happens in a folder, if the system lets it.
pub fn watch(folder: &Path, on: WatchFlags) {
    if let Some(queue) = queue() {
        // Without it there is a look every second.
        let _slower = inotify::add_watch(queue, folder, on | WatchFlags::MASK_ADD);
    }
}

/// What becomes readable then.
pub(crate) fn descriptor() -> Option<BorrowedFd<'static>> {
    queue().map(|queue| queue.as_fd())
}

/// Reads away what has happened; each attendant looks up by itself what it was.
pub(crate) fn drain() {
    let Some(queue) = queue() else { return };
    let mut bytes = [0_u8; 4096];
    while rustix::io::read(queue, &mut bytes).is_ok_and(|count| count > 0) {}
}
