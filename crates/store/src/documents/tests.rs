//! Saving and restoring documents beside careless programs and crashes.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::*;
use crate::place::TreeName;
use std::{fs, thread};
use tempfile::TempDir;

const NOW: Time = Time::from_millis(1_771_236_000_000);

struct Files {
    _folder: TempDir,
    place: Place,
    path: PathBuf,
    backups: PathBuf,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let (path, backups) = (root.join("memory/shared.json"), root.join("memory/backup"));
        let state = root.join(".waypost");
        let place = Place { root, git_common: None, state, tree: TreeName::main() };
        Self { _folder: folder, place, path, backups }
    }

    fn document(&self) -> Document<'_> {
        Document { place: &self.place, path: &self.path, backups: &self.backups }
    }

    fn backup_names(&self) -> Vec<String> {
        let backups = self.document().backups().unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        backups.iter().map(name).collect()
    }
}

#[test]
fn a_save_keeps_what_was_there() {
    let files = Files::new();
    let document = files.document();
    assert_eq!(document.load().unwrap(), None);
    let one = document.save(b"one", None, NOW).unwrap();
    assert_eq!(one, Saved { hash: hash::sha256_hex(b"one"), backup: None });
    let two = document.save(b"two", Some(&one.hash), NOW).unwrap();
    assert_eq!(fs::read(two.backup.unwrap()).unwrap(), b"one");
    document.save(b"three", Some(&two.hash), NOW).unwrap();
    assert_eq!(document.load().unwrap().unwrap().0, b"three");
    let names = ["shared.20260216T100000Z-2.json", "shared.20260216T100000Z.json"];
    assert_eq!(files.backup_names(), names);
}

#[test]
fn a_save_on_something_else_is_refused() {
    let files = Files::new();
    let document = files.document();
    let one = document.save(b"one", None, NOW).unwrap().hash;
    fs::write(&files.path, "an edit").unwrap();
    for expected in [None, Some(one.as_str())] {
        let error = document.save(b"two", expected, NOW).unwrap_err();
        assert!(error.is_conflict(), "{error}");
    }
    assert_eq!(fs::read(&files.path).unwrap(), b"an edit");
    fs::remove_file(&files.path).unwrap();
    assert!(document.save(b"two", Some(&one), NOW).unwrap_err().is_conflict());
    assert_eq!(document.load().unwrap(), None);
    assert_eq!(files.backup_names(), [""; 0]);
}

#[test]
fn an_edit_between_the_look_and_the_exchange_goes_back() {
    let files = Files::new();
    fs::create_dir_all(files.path.parent().unwrap()).unwrap();
    fs::write(&files.path, "an edit").unwrap();
    let expected = hash::sha256_hex(b"what we read");
    for expected in [None, Some(expected.as_str())] {
        let error = file::exchange_expecting(&files.path, b"ours", expected).unwrap_err();
        assert!(error.is_conflict(), "{error}");
        assert_eq!(fs::read(&files.path).unwrap(), b"an edit");
    }
    assert_eq!(fs::read_dir(files.path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn twenty_backups_are_kept() {
    let files = Files::new();
    let document = files.document();
    let mut hash = document.save(b"0", None, NOW).unwrap().hash;
    for number in 1..=25 {
        let at = Time::from_millis(NOW.millis() + number * 1_000);
        hash = document.save(number.to_string().as_bytes(), Some(&hash), at).unwrap().hash;
    }
    let names = files.backup_names();
    assert_eq!((names.len(), names[0].as_str()), (20, "shared.20260216T100025Z.json"));
    assert_eq!(names[19], "shared.20260216T100006Z.json");
}

#[test]
fn the_newest_good_backup_is_restored() {
    let files = Files::new();
    let document = files.document();
    let mut hash = None;
    for (second, text) in ["good 1", "good 2", "bad", "x"].iter().enumerate() {
        let at = Time::from_millis(NOW.millis() + second as i64 * 1_000);
        hash = Some(document.save(text.as_bytes(), hash.as_deref(), at).unwrap().hash);
    }
    fs::write(&files.path, "damaged").unwrap();
    let restored = document.restore(|bytes| bytes.starts_with(b"good")).unwrap();
    let expected = Restored {
        hash: hash::sha256_hex(b"good 2"),
        from: files.backups.join("shared.20260216T100002Z.json"),
        damaged: Some(file::with_suffix(&files.path, ".corrupt-1")),
    };
    assert_eq!(restored, expected);
    assert_eq!(fs::read(&files.path).unwrap(), b"good 2");
    assert_eq!(fs::read(expected.damaged.unwrap()).unwrap(), b"damaged");
    let none = document.restore(|_| false).unwrap_err();
    assert!(matches!(none, StoreError::Missing { .. }));
    assert_eq!(fs::read(&files.path).unwrap(), b"good 2");
}

#[test]
fn an_edit_that_a_crash_displaced_becomes_a_backup() {
    let files = Files::new();
    let document = files.document();
    let one = document.save(b"one", None, NOW).unwrap().hash;
    // The process dies after the exchange: once with what it had backed up, once with an edit.
    document.back_up(b"one", NOW).unwrap();
    drop(file::exchange(&files.path, b"two").unwrap());
    fs::write(&files.path, "an edit").unwrap();
    drop(file::exchange(&files.path, b"three").unwrap());
    assert!(document.save(b"x", Some(&one), NOW).unwrap_err().is_conflict());
    let backups = document.backups().unwrap();
    let contents: Vec<Vec<u8>> = backups.iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(contents, [b"an edit".to_vec(), b"one".to_vec()]);
    assert_eq!(fs::read(&files.path).unwrap(), b"three");
    let left = fs::read_dir(files.path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 2, "the document and its backups");
}

#[test]
fn no_update_is_lost_between_savers() {
    let files = Files::new();
    files.document().save(b"", None, NOW).unwrap();
    let save = |who: &str| {
        let document = files.document();
        for _ in 0..30 {
            loop {
                let (mut bytes, hash) = document.load().unwrap().unwrap();
                bytes.extend_from_slice(who.as_bytes());
                match document.save(&bytes, Some(&hash), NOW) {
                    Ok(_) => break,
                    Err(error) => assert!(error.is_conflict(), "{error}"),
                }
            }
        }
    };
    thread::scope(|scope| {
        for who in ["a", "b", "c", "d"] {
            scope.spawn(move || save(who));
        }
    });
    let mut bytes = files.document().load().unwrap().unwrap().0;
    bytes.sort_unstable();
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        ["a", "b", "c", "d"].map(|w| w.repeat(30)).concat()
    );
}
