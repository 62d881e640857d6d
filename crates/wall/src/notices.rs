//! One queue of the kernel's notices about folders, for all attendants of a process.
//!
//! A user has few such queues (128 by default) and may have hundreds of agents. So there is one for each process;
//! and where there is none left, attendants look once a second, as they do in any case. The kernel takes
//! milliseconds to close one, which most calls are over within: it is made for a call that lasts, and
//! everyone looks once then.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

static QUEUE: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// What is watched as soon as there is a queue.
static WANTED: Mutex<Vec<(PathBuf, WatchFlags)>> = Mutex::new(Vec::new());

/// Wakes this process when something of this kind happens in a folder, if the system lets it. Before
/// `begin` nothing does.
pub fn watch(folder: &Path, on: WatchFlags) {
    let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    match QUEUE.get() {
        Some(queue) => add(queue.as_ref(), folder, on),
        None => wanted.push((folder.to_owned(), on)),
    }
}

/// Makes the queue, if something is to be watched. What has happened before wakes no one.
pub(crate) fn begin() {
    let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    if wanted.is_empty() {
        return;
    }
    let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
    let queue = QUEUE.get_or_init(|| inotify::init(flags).ok());
    for (folder, on) in wanted.drain(..) {
        add(queue.as_ref(), &folder, on);
    }
}

fn add(queue: Option<&OwnedFd>, folder: &Path, on: WatchFlags) {
    if let Some(queue) = queue {
        // Without it there is a look every second.
        let _slower = inotify::add_watch(queue, folder, on | WatchFlags::MASK_ADD);
    }
}

/// What becomes readable then.
pub(crate) fn descriptor() -> Option<BorrowedFd<'static>> {
    QUEUE.get()?.as_ref().map(|queue| queue.as_fd())
}

/// Reads away what has happened; each attendant looks up by itself what it was.
pub(crate) fn drain() {
    let Some(Some(queue)) = QUEUE.get() else { return };
    let mut bytes = [0_u8; 4096];
    while rustix::io::read(queue, &mut bytes).is_ok_and(|count| count > 0) {}
}
