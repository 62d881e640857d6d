//! What the store's tests share: a project in a temporary folder and short ways to write to it.

use std::path::Path;
use tempfile::TempDir;
use waypost_model::{actor::Actor, id::StreamName, time::Time};
use waypost_store::{
    StoreError,
    journal::{Append, Appended, Birth, Journal, Journals, Mode, NewEvent},
    place::{Place, TreeName},
};

pub(crate) const NOW: Time = Time::from_millis(1_771_236_000_000);

pub(crate) struct Project {
    _folder: TempDir,
    pub(crate) place: Place,
    pub(crate) journals: Journals,
}

impl Project {
    /// A project whose journal is on disk.
    pub(crate) fn new() -> Self {
        Self::with(Journals::of)
    }

    pub(crate) fn in_memory() -> Self {
        Self::with(Journals::in_memory)
    }

    fn with(journals: impl FnOnce(&Place) -> Journals) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = place_at(folder.path());
        Self { journals: journals(&place), _folder: folder, place }
    }

    pub(crate) fn create(&self) -> Journal {
        let birth = Birth { journal_id: "j1".into(), at: NOW };
        self.journals.open(Mode::Create(&birth)).unwrap()
    }

    pub(crate) fn open(&self) -> Result<Journal, StoreError> {
        self.journals.open(Mode::ReadWrite)
    }

    pub(crate) fn read(&self) -> Result<Journal, StoreError> {
        self.journals.open(Mode::ReadOnly)
    }
}

/// Writes the log of a closed journal back into its main file and removes it.
pub(crate) fn write_back(place: &Place) {
    let db = rusqlite::Connection::open(place.state.join("journal.db")).unwrap();
    db.query_row("SELECT count(*) FROM event", [], |_| Ok(())).unwrap();
    drop(db);
    assert!(!place.state.join("journal.db-wal").exists());
}

pub(crate) fn place_at(root: &Path) -> Place {
    let root = root.canonicalize().unwrap();
    let state = root.join(".waypost");
    Place { root, git_common: None, state, tree: TreeName::main() }
}

pub(crate) fn stream(name: &str) -> StreamName {
    name.parse().unwrap()
}

/// Appends one event per body in a transaction of its own.
pub(crate) fn append(
    journal: &mut Journal,
    name: &str,
    seen: u64,
    bodies: &[&str],
) -> Result<Appended, StoreError> {
    let events: Vec<NewEvent<'_>> = bodies
        .iter()
        .map(|body| NewEvent { kind: "noted", format: 1, body: (*body).into() })
        .collect();
    let stream = stream(name);
    let actor = Actor::User("mina".into());
    let append = Append { stream: &stream, seen, actor: &actor, at: NOW, events: events.to_vec() };
    let mut transaction = journal.transaction()?;
    let appended = transaction.append(append)?;
    transaction.commit()?;
    Ok(appended)
}

/// The bodies of a stream's events.
pub(crate) fn bodies(journal: &mut Journal, name: &str) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    journal.view()?.for_each_event(&stream(name), 0, |event| {
        found.push(event.body.to_owned());
        Ok::<(), StoreError>(())
    })?;
    Ok(found)
}
