//! The journal on disk: what is particular to files and to the database.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use crate::common::{NOW, Project, append, bodies, stream, write_back};
use std::{fs, os::unix::fs::PermissionsExt as _};
use waypost_model::actor::Actor;
use waypost_store::{
    StoreError,
    journal::{Append, Check, Journal, Mode, NewEvent},
};

#[test]
fn a_transaction_in_which_a_write_failed_cannot_be_committed() {
    let project = Project::new();
    append(&mut project.create(), "run", 0, &["a"]).unwrap();
    let db = rusqlite::Connection::open(project.place.state.join("journal.db")).unwrap();
    // As a disk that is full for the second of two entries.
    db.execute_batch(
        "CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.body = 'bad'
         BEGIN SELECT RAISE(FAIL, 'refused'); END",
    )
    .unwrap();
    drop(db);
    let mut journal = project.open().unwrap();
    let run = stream("run");
    let actor = Actor::Waypost;
    let events =
        ["good", "bad"].map(|body| NewEvent { kind: "noted", format: 1, body: body.into() });
    let mut transaction = journal.transaction().unwrap();
    let append = Append { stream: &run, seen: 1, actor: &actor, at: NOW, events: events.to_vec() };
    assert!(transaction.append(append).is_err());
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.to_string(), "cannot commit: an earlier write of this transaction failed");
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a"]);
}

#[test]
fn a_journal_is_private_and_made_once() {
    let project = Project::new();
    drop(project.create());
    let mode = |name: &str| {
        let path = project.place.state.join(name);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode("journal.db"), mode("journal.lock")), (0o700, 0o600, 0o600));
    let again = waypost_store::journal::Birth { journal_id: "other".into(), at: NOW };
    let journal = Journal::open(&project.place, Mode::Create(&again)).unwrap();
    assert_eq!(journal.id(), "j1");
}

#[test]
fn a_journal_of_a_newer_program_is_refused() {
    let project = Project::new();
    drop(project.create());
    let db = rusqlite::Connection::open(project.place.state.join("journal.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let error = Journal::open(&project.place, mode).unwrap_err();
        assert_eq!(error.to_string(), "the journal has format 99, this program knows up to 2");
    }
}

#[test]
fn entries_cannot_be_changed_or_removed() {
    let project = Project::new();
    append(&mut project.create(), "run", 0, &["a"]).unwrap();
    let db = rusqlite::Connection::open(project.place.state.join("journal.db")).unwrap();
    for sql in ["UPDATE event SET body = 'b'", "DELETE FROM event"] {
        assert!(db.execute(sql, []).unwrap_err().to_string().contains("never"), "{sql}");
    }
}

#[test]
fn a_forged_or_lost_entry_is_found() {
    let table = [
        ("UPDATE event SET body = 'x' WHERE seq = 2", "cannot read journal entry 2"),
        ("UPDATE event SET actor = 'user:eve' WHERE seq = 3", "cannot read journal entry 3"),
        ("UPDATE event SET at = at + 1 WHERE seq = 1", "cannot read journal entry 1"),
        ("DELETE FROM event WHERE seq = 2", "cannot read journal entry 3"),
        ("DELETE FROM event WHERE seq = 3", "entries 3 to 3 are gone"),
        ("DELETE FROM event", "entries 1 to 3 are gone"),
    ];
    for (sql, expected) in table {
        let project = Project::new();
        append(&mut project.create(), "run", 0, &["a", "b", "c"]).unwrap();
        let db = rusqlite::Connection::open(project.place.state.join("journal.db")).unwrap();
        db.execute_batch("DROP TRIGGER event_is_not_changed; DROP TRIGGER event_is_not_removed;")
            .unwrap();
        db.execute(sql, []).unwrap();
        drop(db);
        let opened = Journal::open(&project.place, Mode::ReadOnly);
        let error = match opened {
            Err(error) => error,
            Ok(mut journal) => {
                assert!(journal.verify().is_err(), "{sql}");
                bodies(&mut journal, "run").unwrap_err()
            }
        };
        assert!(error.to_string().contains(expected), "{sql}: {error}");
    }
}

#[test]
fn a_journal_is_checked_after_a_crash_only() {
    let project = Project::new();
    let journal = project.create();
    assert_eq!(journal.check(), Check::Sound, "no process has closed it before");
    drop(journal);
    let first = project.open().unwrap();
    assert_eq!(first.check(), Check::NotNeeded);
    let second = project.open().unwrap();
    assert_eq!(second.check(), Check::NotNeeded);
    drop(first);
    drop(second);
    assert_eq!(project.open().unwrap().check(), Check::NotNeeded);

    // Before a restart of the machine, and in the hands of a process that died.
    let marker = project.place.state.join("journal.open");
    let closed = fs::read_to_string(&marker).unwrap();
    for unclean in
        [closed.replace("boot_id\":\"", "boot_id\":\"x"), closed.replace("false", "true")]
    {
        assert_ne!(unclean, closed);
        fs::write(&marker, unclean).unwrap();
        assert_eq!(project.open().unwrap().check(), Check::Sound);
    }
}

#[test]
fn a_backup_can_take_the_place_of_a_damaged_journal() {
    let project = Project::new();
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a", "b"]).unwrap();
    let backup = journal.back_up().unwrap();
    append(&mut journal, "run", 2, &["c"]).unwrap();
    assert_eq!(project.journals.backups().unwrap(), std::slice::from_ref(&backup));
    assert!(matches!(project.journals.restore(&backup.path), Err(StoreError::Busy { .. })));
    drop(journal);

    write_back(&project.place);
    let path = project.place.state.join("journal.db");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(project.open(), Err(StoreError::Corrupt { .. })));
    // A log that somehow stayed must not be replayed into another journal.
    fs::write(project.place.state.join("journal.db-wal"), "log").unwrap();
    let kept = project.journals.restore(&backup.path).unwrap().unwrap();
    assert_eq!(kept, project.place.state.join("journal.db.corrupt-1"));
    assert_eq!(fs::read(&kept).unwrap(), bytes[..bytes.len() / 2]);
    assert_eq!(fs::read(kept.with_file_name("journal.db.corrupt-1-wal")).unwrap(), b"log");

    let mut journal = project.open().unwrap();
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a", "b"]);
    append(&mut journal, "run", 2, &["again"]).unwrap();
    journal.verify().unwrap();
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let project = Project::new();
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a"]).unwrap();
    let backup = journal.back_up().unwrap();
    drop(journal);
    let mut bytes = fs::read(&backup.path).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    fs::write(&backup.path, bytes).unwrap();
    assert!(project.journals.restore(&backup.path).is_err());
    assert_eq!(bodies(&mut project.open().unwrap(), "run").unwrap(), ["a"]);
}

#[test]
fn a_backup_that_is_not_kept_is_no_file() {
    let project = Project::new();
    let mut journal = project.create();
    for seen in 0..8 {
        append(&mut journal, "run", seen, &["x"]).unwrap();
        journal.back_up().unwrap();
    }
    assert_eq!(fs::read_dir(project.place.state.join("backups")).unwrap().count(), 5);
}
