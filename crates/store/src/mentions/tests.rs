//! The index finds what a scan finds, whatever stood in its place.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::*;
use crate::journal::{Append, Birth, Journal, Journals, MemoryStore, Mode, NewEvent};
use std::fs;
use tempfile::TempDir;
use waypost_model::{actor::Actor, id::StreamName, time::Time};

struct Site {
    folder: TempDir,
    journal: Journal,
    written: u64,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), journal: empty(), written: 0 }
    }

    /// Writes an entry for each of these, which is about the words in it.
    fn write(&mut self, bodies: impl IntoIterator<Item = String>) {
        let stream: StreamName = "run".parse().unwrap();
        let events: Vec<NewEvent<'_>> = bodies
            .into_iter()
            .map(|body| NewEvent { kind: "noted", format: 1, body: body.into() })
            .collect();
        let (count, at) = (events.len() as u64, Time::from_millis(self.written as i64));
        let actor = Actor::Waypost;
        let mut tx = self.journal.transaction().unwrap();
        tx.append(Append { stream: &stream, seen: self.written, actor: &actor, at, events })
            .unwrap();
        tx.commit().unwrap();
        self.written += count;
    }

    /// The numbers of all entries about `name`, newest first.
    fn about(&mut self, name: &str) -> Vec<u64> {
        let view = self.journal.view().unwrap();
        let mentions = Mentions::up_to_date(self.folder.path(), "j1", &view, words).unwrap();
        let found = mentions.of(name, view.end().unwrap(), usize::MAX).unwrap();
        found.into_iter().map(Cursor::seq).collect()
    }
}

fn empty() -> Journal {
    let birth = Birth { journal_id: "j1".into(), at: Time::from_millis(0) };
    let store = MemoryStore::at("/nowhere".as_ref());
    Journals::over(store).open(Mode::Create(&birth)).unwrap()
}

fn words(entry: &Recorded) -> Vec<String> {
    entry.body.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn entries_are_found_by_what_they_are_about_as_they_come() {
    let mut site = Site::new();
    assert_eq!(site.about("a"), [0; 0]);
    site.write(["a b".into(), "c".into(), "a a".into()]);
    assert_eq!(site.about("a"), [3, 1]);
    site.write((0..2_500).map(|at| format!("n{}", at % 5)));
    site.write(["a".into()]);
    assert_eq!(site.about("a"), [2_504, 3, 1]);
    assert_eq!(site.about("n4").len(), 500);
    let view = site.journal.view().unwrap();
    let mentions = Mentions::up_to_date(site.folder.path(), "j1", &view, words).unwrap();
    let until = Cursor::after(2_503);
    assert_eq!(mentions.of("a", until, 1).unwrap(), [Cursor::after(3)]);
}

#[test]
fn an_index_of_another_journal_is_made_again() {
    let mut site = Site::new();
    site.write(["a".into(), "b".into()]);
    assert_eq!(site.about("a"), [1]);
    // As after a backup was restored: the same name and as many entries, at other times.
    (site.journal, site.written) = (empty(), 0);
    site.write(["b".into()]);
    site.write(["a".into()]);
    assert_eq!(site.about("a"), [2]);
    (site.journal, site.written) = (empty(), 0);
    assert_eq!(site.about("a"), [0; 0]);
}

#[test]
fn whatever_stands_in_its_place_is_made_again() {
    let mut site = Site::new();
    site.write(["a".into(), "b".into()]);
    let path = site.folder.path().join(layout::state::MENTIONS);
    for damage in [&b""[..], b"no database", &[0; 8_192]] {
        fs::write(&path, damage).unwrap();
        assert_eq!(site.about("b"), [2]);
    }
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(site.about("b"), [2]);
}
