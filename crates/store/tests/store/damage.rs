//! Journals that were truncated, overwritten, or robbed of their log.
//!
//! Whatever happened to the files: nothing panics, nothing is recreated, and what can be read is
//! exactly what was recorded, up to some entry.
#![expect(clippy::disallowed_methods, reason = "tests damage files on purpose")]

use crate::common::{NOW, Project, append, bodies, place_at, write_back};
use std::{fs, path::Path};
use tempfile::TempDir;
use waypost_model::next::NextStep;
use waypost_store::{
    StoreError,
    journal::{Birth, Cursor, Journal, Mode},
    place::Place,
};

/// The files of a journal, as they are on disk at one moment.
#[derive(Clone)]
struct Image {
    files: Vec<(String, Vec<u8>)>,
    expected: Vec<String>,
}

impl Image {
    fn of(place: &Place, expected: &[String]) -> Self {
        let read = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            // Every process makes the shared index again.
            let is_file = entry.file_type().unwrap().is_file() && !name.ends_with("-shm");
            is_file.then(|| (name, fs::read(entry.path()).unwrap()))
        };
        let entries = fs::read_dir(&place.state).unwrap();
        let files = entries.filter_map(|entry| read(entry.unwrap())).collect();
        Self { files, expected: expected.to_vec() }
    }

    fn file(&mut self, name: &str) -> &mut Vec<u8> {
        let found = self.files.iter_mut().find(|(it, _)| it == name);
        &mut found.unwrap_or_else(|| panic!("no {name}")).1
    }

    fn without(mut self, name: &str) -> Self {
        self.files.retain(|(it, _)| it != name);
        self
    }

    fn lay_out(&self) -> (TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let place = place_at(folder.path());
        fs::create_dir(&place.state).unwrap();
        for (name, bytes) in &self.files {
            fs::write(place.state.join(name), bytes).unwrap();
        }
        (folder, place)
    }
}

/// A journal that was closed properly, and one whose process died with a log of its own.
fn images() -> (Image, Image) {
    let project = Project::new();
    let mut journal = project.create();
    let mut expected = Vec::new();
    for number in 0..40_u64 {
        let body = format!("{number} {}", "x".repeat(200));
        append(&mut journal, "run", number, &[&body]).unwrap();
        expected.push(body);
    }
    let crashed = Image::of(&project.place, &expected);
    drop(journal);
    write_back(&project.place);
    let closed = Image::of(&project.place, &expected);
    (closed, crashed)
}

/// Opens and reads everything, and checks that what is read was recorded. Returns how much it is.
#[track_caller]
fn open_and_read(image: &Image, what: &str) -> Result<usize, StoreError> {
    let (_folder, place) = image.lay_out();
    let path = place.state.join("journal.db");
    let before = fs::read(&path).ok();
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let read = Journal::open(&place, mode).and_then(|mut journal| {
            let found = bodies(&mut journal, "run")?;
            assert_eq!(found, image.expected[..found.len()], "{what}");
            let feed = journal.view()?.feed(Cursor::START, usize::MAX)?;
            assert_eq!(feed.len(), found.len(), "{what}");
            Ok(found.len())
        });
        match (mode, read) {
            (Mode::ReadOnly, Ok(_)) => {}
            (_, Ok(count)) => return Ok(count),
            (Mode::ReadOnly, Err(_)) => {
                assert_eq!(fs::read(&path).ok(), before, "{what}: reading changed the file");
            }
            (_, Err(error)) => return Err(error),
        }
    }
    unreachable!("the last mode returns")
}

fn create(place: &Place) -> Result<Journal, StoreError> {
    let birth = Birth { journal_id: "new".into(), at: NOW };
    Journal::open(place, Mode::Create(&birth))
}

#[test]
fn whole_images_are_read() {
    let (closed, crashed) = images();
    assert!(closed.files.iter().all(|(name, _)| name != "journal.db-wal"));
    assert!(crashed.files.iter().any(|(name, _)| name == "journal.db-wal"));
    assert_eq!(open_and_read(&closed, "closed").unwrap(), 40);
    assert_eq!(open_and_read(&crashed, "crashed").unwrap(), 40);
}

#[test]
fn a_truncated_journal_is_never_taken_for_a_shorter_one() {
    let (closed, _) = images();
    let length = closed.clone().file("journal.db").len();
    for cut in (0..length).step_by(512) {
        let mut image = closed.clone();
        image.file("journal.db").truncate(cut);
        let error = open_and_read(&image, &format!("cut at {cut}")).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "cut at {cut}: {error}");
        // Not even a caller that may create a journal gets a new one.
        let (_folder, place) = image.lay_out();
        assert!(matches!(create(&place), Err(StoreError::Corrupt { .. })), "cut at {cut}");
        assert_eq!(fs::read(place.state.join("journal.db")).unwrap().len(), cut);
    }
}

#[test]
fn a_truncated_journal_with_a_log_is_whole_or_damaged() {
    let (_, crashed) = images();
    let length = crashed.clone().file("journal.db").len();
    for cut in (0..length).step_by(512) {
        let mut image = crashed.clone();
        image.file("journal.db").truncate(cut);
        match open_and_read(&image, &format!("cut at {cut}")) {
            Ok(count) => assert_eq!(count, 40, "cut at {cut}"),
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{cut}: {error}"),
        }
    }
}

#[test]
fn flipped_bits_are_found_or_harmless() {
    let (closed, _) = images();
    let length = closed.clone().file("journal.db").len();
    let mut found = 0;
    for at in (0..length).step_by(131) {
        let mut image = closed.clone();
        image.file("journal.db")[at] ^= 0x10;
        match open_and_read(&image, &format!("flipped at {at}")) {
            Ok(count) => assert_eq!(count, 40, "flipped at {at}"),
            Err(_) => found += 1,
        }
    }
    // A seventh of this file is text of entries; much of the rest is unused.
    assert!(found > length / 131 / 7, "{found} of {}", length / 131);
}

#[test]
fn what_is_no_journal_is_refused() {
    let (closed, _) = images();
    let length = closed.clone().file("journal.db").len();
    let table: [(&str, Vec<u8>); 4] = [
        ("empty", Vec::new()),
        ("zeros", vec![0; length]),
        ("text", b"not a database, however long it is ".repeat(500)),
        ("another program's", other_database()),
    ];
    for (what, bytes) in table {
        let mut image = closed.clone();
        image.file("journal.db").clone_from(&bytes);
        let error = open_and_read(&image, what).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{what}: {error}");
        assert_eq!(error.next_step(), Some(NextStep::Examine));
        let (_folder, place) = image.lay_out();
        assert!(create(&place).is_err(), "{what}");
        assert_eq!(fs::read(place.state.join("journal.db")).unwrap(), bytes, "{what}");
    }
}

fn other_database() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
    fs::read(path).unwrap()
}

#[test]
fn a_log_without_its_journal_is_no_fresh_start() {
    let (_, crashed) = images();
    let image = crashed.without("journal.db");
    let error = open_and_read(&image, "only the log").unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    let (_folder, place) = image.lay_out();
    assert!(matches!(create(&place), Err(StoreError::Corrupt { .. })));
    assert!(!place.state.join("journal.db").exists());
}

#[test]
fn a_damaged_log_leaves_a_prefix() {
    let (_, crashed) = images();
    let length = crashed.clone().file("journal.db-wal").len();
    let mut counts = Vec::new();
    for cut in (0..length).step_by(length / 40).chain([length]) {
        let mut image = crashed.clone();
        image.file("journal.db-wal").truncate(cut);
        counts.push(open_and_read(&image, &format!("log cut at {cut}")).unwrap());
    }
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&40)));
    for at in (0..length).step_by(length / 100) {
        let mut image = crashed.clone();
        image.file("journal.db-wal")[at] ^= 0x10;
        // The pages behind the damage are as if they had never been committed.
        open_and_read(&image, &format!("log flipped at {at}")).unwrap();
    }
}

#[test]
fn entries_that_were_there_at_the_last_closing_are_missed() {
    let project = Project::new();
    append(&mut project.create(), "run", 0, &["a"]).unwrap();
    write_back(&project.place);
    append(&mut project.open().unwrap(), "run", 1, &["b", "c"]).unwrap();
    fs::remove_file(project.place.state.join("journal.db-wal")).unwrap();
    let error = project.open().unwrap_err();
    let expected = "entries 2 to 3 are gone; was `journal.db-wal` removed?";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn an_interrupted_creation_leaves_nothing_behind() {
    let project = Project::new();
    fs::create_dir_all(&project.place.state).unwrap();
    for debris in [".journal.db.waypost-new-1-0", ".journal.db.waypost-new-1-0-wal"] {
        fs::write(project.place.state.join(debris), "half").unwrap();
    }
    drop(project.create());
    write_back(&project.place);
    assert_eq!(names(&project.place.state), ["journal.db", "journal.lock", "journal.open"]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
