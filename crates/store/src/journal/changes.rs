//! Waiting for commits of other processes.
//!
//! The operating system tells when a file of the journal is written, and when a process that has
//! written gives its turn back: only then all of the commit can be seen, because its last step is in
//! memory that processes share. Where it does not tell (a network file system, no watches left), the
//! caller looks again after its timeout, as it does anyway.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify::{self, CreateFlags, WatchFlags},
};
use std::{
    mem::MaybeUninit,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::Path,
    thread,
    time::Duration,
};
use waypost_model::layout;

/// Room for some events at once; more are read the next time.
const BUFFER_SIZE: usize = 4 << 10;

/// Tells when another process may have committed.
#[derive(Debug)]
pub struct Changes {
    watch: Option<OwnedFd>,
}

impl Changes {
    /// Watches a journal in a folder, whether it is there already or not.
    pub(super) fn in_folder(folder: &Path) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let watch = watch.filter(|watch| {
            let wanted = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::CLOSE_WRITE;
            inotify::add_watch(watch, folder, wanted).is_ok()
        });
        Self { watch }
    }

    /// Of a store that tells nothing: the caller looks again after its time.
    pub(super) fn untold() -> Self {
        Self { watch: None }
    }

    /// Readable when something was written beside the journal; to wait for several things at once.
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(|watch| watch.as_fd())
    }

    /// Takes what was told since. Says whether any of it was about the journal.
    pub fn take(&self) -> bool {
        let Some(watch) = &self.watch else { return false };
        let mut buffer = [MaybeUninit::uninit(); BUFFER_SIZE];
        let mut events = inotify::Reader::new(watch, &mut buffer);
        let mut is_journal = false;
        while let Ok(event) = events.next() {
            let name = event.file_name().map(|name| name.to_string_lossy());
            // All files of the journal but the lock are named after it.
            is_journal |= name.is_none_or(|name| {
                name.starts_with(layout::state::JOURNAL) || name == layout::state::JOURNAL_TURN
            });
        }
        is_journal
    }

    /// Waits until the journal is written, or for so long.
    pub fn wait(&self, timeout: Duration) {
        let Some(watch) = &self.watch else { return thread::sleep(timeout) };
        let mut sources = [PollFd::new(watch, PollFlags::IN)];
        let left = Timespec::try_from(timeout).ok();
        // Woken too early, the caller finds nothing new and waits again.
        let _ready = poll(&mut sources, left.as_ref());
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        file,
        journal::{Append, Birth, Journal, Mode, NewEvent},
        place::{Place, TreeName},
    };
    use tempfile::TempDir;
    use waypost_model::{actor::Actor, time::Time};

    const NOW: Time = Time::from_millis(1);

    fn fresh() -> (TempDir, Place, Journal) {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().to_owned(), folder.path().join(".waypost"));
        let place = Place { root, git_common: None, state, tree: TreeName::main() };
        let birth = Birth { journal_id: "test".into(), at: NOW };
        let journal = Journal::open(&place, Mode::Create(&birth)).unwrap();
        (folder, place, journal)
    }

    fn append(journal: &mut Journal) {
        let event = NewEvent { kind: "begun", format: 1, body: "{}".into() };
        let stream = "run".parse().unwrap();
        let mut tx = journal.transaction().unwrap();
        let (actor, events) = (&Actor::Waypost, vec![event]);
        tx.append(Append { stream: &stream, seen: 0, actor, at: NOW, events }).unwrap();
        tx.commit().unwrap();
    }

    #[test]
    fn a_commit_is_told_and_other_files_are_not() {
        let (_folder, place, mut journal) = fresh();
        let changes = Changes::in_folder(&place.state);
        file::replace(&place.state.join("run.log"), b"something else", file::PRIVATE).unwrap();
        assert!(!changes.take());
        append(&mut journal);
        // It is there already: this does not wait.
        changes.wait(Duration::from_secs(60));
        assert!(!changes.take(), "what was told is not told again");
    }

    #[test]
    fn without_a_folder_to_watch_the_time_is_waited_out() {
        let (folder, mut place, _journal) = fresh();
        place.state = folder.path().join("gone");
        let changes = Changes::in_folder(&place.state);
        assert!(changes.readable().is_none());
        changes.wait(Duration::from_millis(1));
        assert!(!changes.take());
    }
}
