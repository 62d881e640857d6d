//! The journal as its users see it.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use crate::common::{NOW, Project, append, bodies, stream, write_back};
use std::{fs, os::unix::fs::PermissionsExt as _};
use waypost_model::{actor::Actor, time::Time};
use waypost_store::{
    StoreError,
    journal::{
        Append, Appended, Check, Cursor, DocumentNote, Journal, Mode, NewEffect, NewEvent,
        OpenEffect, Recorded, Snapshot, StreamHead,
    },
};

#[test]
fn events_come_back_as_they_were_recorded() {
    let project = Project::new();
    let mut journal = project.create();
    let actor = Actor::Agent { id: "T1.3".into(), attempt: 2 };
    let events = [
        NewEvent { kind: "started", format: 1, body: "{\"엔진\":1}".into() },
        NewEvent { kind: "ended", format: 7, body: "".into() },
    ];
    let run = stream("run");
    let mut transaction = journal.transaction().unwrap();
    let append = Append { stream: &run, seen: 0, actor: &actor, at: NOW, events: events.to_vec() };
    let appended = transaction.append(append).unwrap();
    assert_eq!(appended, Appended { last_seq: 2, head: 2 });
    assert_eq!(transaction.head(&run).unwrap(), 2);
    transaction.commit().unwrap();

    drop(journal);
    let mut journal = project.open().unwrap();
    let recorded = |seq: u64, event: NewEvent<'_>| Recorded {
        seq,
        stream: run.clone(),
        stream_seq: seq,
        at: NOW,
        actor: actor.clone(),
        format: event.format,
        kind: event.kind.into(),
        body: event.body.into(),
    };
    let [first, second] = events;
    let expected = [recorded(1, first), recorded(2, second)];
    let view = journal.view().unwrap();
    assert_eq!(view.events(&run, 0, 10).unwrap(), expected);
    assert_eq!(view.events(&run, 0, 1).unwrap(), expected[..1]);
    assert_eq!(view.events(&run, 1, 10).unwrap(), expected[1..]);
    assert_eq!(view.events(&run, 9, 10).unwrap(), []);
    assert_eq!(view.feed(Cursor::START, 10).unwrap(), expected);
    assert_eq!(view.feed(expected[0].cursor(), 10).unwrap(), expected[1..]);
    assert_eq!(view.last_seq().unwrap(), 2);
    drop(view);
    assert_eq!((journal.id(), journal.created()), ("j1", NOW));
}

fn cursor(after: u64) -> Cursor {
    format!("1.{after}").parse().unwrap()
}

#[test]
fn the_feed_follows_all_streams_in_order() {
    let project = Project::new();
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["r1"]).unwrap();
    append(&mut journal, "workflow:main", 0, &["w1", "w2"]).unwrap();
    append(&mut journal, "run", 1, &["r2"]).unwrap();
    let view = journal.view().unwrap();
    let feed = |after| -> Vec<(u64, String, u64, String)> {
        let entries = view.feed(cursor(after), 100).unwrap().into_iter();
        entries.map(|it| (it.seq, it.stream.to_string(), it.stream_seq, it.body)).collect()
    };
    let entry = |seq, stream: &str, stream_seq, body: &str| {
        (seq, stream.to_owned(), stream_seq, body.to_owned())
    };
    let all = [
        entry(1, "run", 1, "r1"),
        entry(2, "workflow:main", 1, "w1"),
        entry(3, "workflow:main", 2, "w2"),
        entry(4, "run", 2, "r2"),
    ];
    for after in 0..=4 {
        assert_eq!(feed(after), all[after as usize..]);
        let until = view.feed_until(cursor(after), 2).unwrap();
        let seqs: Vec<u64> = until.iter().map(|it| it.seq).collect();
        assert_eq!(seqs, Vec::from_iter((after.saturating_sub(2) + 1)..=after));
    }
    assert_eq!(view.end().unwrap(), cursor(4));
    let error = view.feed(cursor(5), 1).unwrap_err();
    assert_eq!(error.to_string(), "the journal does not reach to position 1.5");
    let heads = [("run", 2), ("workflow:main", 2)];
    let heads = heads.map(|(name, head)| StreamHead { name: stream(name), head });
    assert_eq!(view.streams().unwrap(), heads);
}

#[test]
fn whoever_decided_on_an_old_state_is_told() {
    let project = Project::new();
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a"]).unwrap();
    for (seen, expected) in [(0, "run is at version 1, not 0"), (2, "run is at version 1, not 2")] {
        let error = append(&mut journal, "run", seen, &["b"]).unwrap_err();
        assert!(error.is_conflict());
        assert_eq!(error.to_string(), expected);
    }
    let new = append(&mut journal, "inbox", 3, &["b"]).unwrap_err();
    assert_eq!(new.to_string(), "inbox is at version 0, not 3");
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a"]);
    assert_eq!(journal.view().unwrap().streams().unwrap().len(), 1);
}

#[test]
fn a_dropped_transaction_leaves_no_trace() {
    let project = Project::new();
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a"]).unwrap();
    let run = stream("run");
    let actor = Actor::Waypost;
    let events = [NewEvent { kind: "noted", format: 1, body: "b".into() }];
    let mut transaction = journal.transaction().unwrap();
    for (stream, seen) in [(&run, 1), (&stream("inbox"), 0)] {
        let append = Append { stream, seen, actor: &actor, at: NOW, events: events.to_vec() };
        transaction.append(append).unwrap();
    }
    transaction.queue(&[effect("k", &run, None)]).unwrap();
    assert_eq!(transaction.view().last_seq().unwrap(), 3);
    drop(transaction);
    let view = journal.view().unwrap();
    assert_eq!(view.streams().unwrap(), [StreamHead { name: run.clone(), head: 1 }]);
    assert_eq!(view.last_seq().unwrap(), 1);
    assert_eq!(view.open_effects(NOW, 9).unwrap(), []);
    drop(view);
    // The same numbers are free again.
    let appended = append(&mut journal, "run", 1, &["c"]).unwrap();
    assert_eq!(appended, Appended { last_seq: 2, head: 2 });
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a", "c"]);
}

#[test]
fn a_view_sees_one_instant() {
    let project = Project::new();
    let mut writer = project.create();
    append(&mut writer, "run", 0, &["a"]).unwrap();
    let mut reader = Journal::open(&project.place, Mode::ReadOnly).unwrap();
    let view = reader.view().unwrap();
    assert_eq!(view.last_seq().unwrap(), 1);
    append(&mut writer, "run", 1, &["b"]).unwrap();
    assert_eq!(view.last_seq().unwrap(), 1);
    drop(view);
    assert_eq!(reader.view().unwrap().last_seq().unwrap(), 2);
}

#[test]
fn a_reader_cannot_write() {
    let project = Project::new();
    append(&mut project.create(), "run", 0, &["a"]).unwrap();
    let mut reader = Journal::open(&project.place, Mode::ReadOnly).unwrap();
    let error = append(&mut reader, "run", 1, &["b"]).unwrap_err();
    assert!(matches!(error, StoreError::File { action: "write to", .. }), "{error}");
    assert_eq!(bodies(&mut reader, "run").unwrap(), ["a"]);
}

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
fn a_journal_can_move_to_another_thread() {
    let project = Project::new();
    let mut journal = project.create();
    let journal = std::thread::spawn(move || {
        append(&mut journal, "run", 0, &["a"]).unwrap();
        journal
    });
    assert_eq!(bodies(&mut journal.join().unwrap(), "run").unwrap(), ["a"]);
}

#[test]
fn commits_of_others_show_in_the_data_version() {
    let project = Project::new();
    let mut ours = project.create();
    let mut theirs = project.open().unwrap();
    append(&mut ours, "run", 0, &["a"]).unwrap();
    let before = ours.data_version().unwrap();
    append(&mut ours, "run", 1, &["b"]).unwrap();
    assert_eq!(ours.data_version().unwrap(), before);
    append(&mut theirs, "run", 2, &["c"]).unwrap();
    assert_ne!(ours.data_version().unwrap(), before);
}

fn effect<'a>(
    key: &'a str,
    stream: &'a waypost_model::id::StreamName,
    due: Option<Time>,
) -> NewEffect<'a> {
    NewEffect { key, stream, stream_seq: 1, kind: "spawn", body: "{}", due }
}

#[test]
fn effects_wait_for_their_time_and_are_done_once() {
    let project = Project::new();
    let mut journal = project.create();
    let run = stream("run");
    let later = Time::from_millis(NOW.millis() + 1);
    let mut transaction = journal.transaction().unwrap();
    let effects = [effect("timer", &run, Some(later)), effect("spawn", &run, None)];
    assert_eq!(transaction.queue(&effects).unwrap(), 2);
    assert_eq!(transaction.queue(&effects).unwrap(), 0);
    transaction.commit().unwrap();

    let open = |journal: &mut Journal, now| -> Vec<OpenEffect> {
        journal.view().unwrap().open_effects(now, 9).unwrap()
    };
    let expected = |id: u64, effect: NewEffect<'_>| OpenEffect {
        id,
        key: effect.key.into(),
        stream: run.clone(),
        stream_seq: 1,
        kind: "spawn".into(),
        body: "{}".into(),
        due: effect.due,
    };
    let (timer, spawn) = (expected(1, effects[0]), expected(2, effects[1]));
    assert_eq!(open(&mut journal, NOW), std::slice::from_ref(&spawn));
    assert_eq!(open(&mut journal, later), [timer.clone(), spawn]);
    assert_eq!(journal.view().unwrap().next_due().unwrap(), Some(later));

    let mut transaction = journal.transaction().unwrap();
    assert!(transaction.mark_effect_done(2, NOW).unwrap());
    assert!(!transaction.mark_effect_done(2, NOW).unwrap());
    assert!(!transaction.mark_effect_done(77, NOW).unwrap());
    transaction.commit().unwrap();
    assert_eq!(open(&mut journal, later), [timer]);

    let mut transaction = journal.transaction().unwrap();
    assert!(transaction.mark_key_done("timer", NOW).unwrap());
    assert!(!transaction.mark_key_done("timer", NOW).unwrap());
    // Done work is not queued again.
    assert_eq!(transaction.queue(&effects).unwrap(), 0);
    transaction.commit().unwrap();
    assert_eq!(open(&mut journal, later), []);
    assert_eq!(journal.view().unwrap().next_due().unwrap(), None);
}

#[test]
fn an_effect_that_is_put_off_keeps_its_turn_among_those_of_its_kind() {
    let project = Project::new();
    let mut journal = project.create();
    let run = stream("run");
    let later = Time::from_millis(NOW.millis() + 9);
    let mut transaction = journal.transaction().unwrap();
    let other = NewEffect { kind: "wake", ..effect("other", &run, None) };
    transaction.queue(&[effect("a", &run, None), other, effect("b", &run, None)]).unwrap();
    assert!(transaction.postpone_effect(1, later, "tried").unwrap());
    assert!(transaction.mark_effect_done(2, NOW).unwrap());
    assert!(!transaction.postpone_effect(2, later, "too late").unwrap());
    assert!(!transaction.postpone_effect(77, later, "unknown").unwrap());
    transaction.commit().unwrap();
    let view = journal.view().unwrap();
    let told = |found: Vec<OpenEffect>| -> Vec<(String, String, Option<Time>)> {
        found.into_iter().map(|it| (it.key, it.body, it.due)).collect()
    };
    let (a, b) = (("a".into(), "tried".into(), Some(later)), ("b".into(), "{}".into(), None));
    assert_eq!(told(view.open_effects_of("spawn", 9).unwrap()), [a.clone(), b.clone()]);
    assert_eq!(told(view.open_effects_of("spawn", 1).unwrap()), [a]);
    assert_eq!(told(view.open_effects_of("wake", 9).unwrap()), []);
    assert_eq!(told(view.open_effects(NOW, 9).unwrap()), [b]);
}

#[test]
fn the_newest_two_snapshots_are_kept() {
    let project = Project::new();
    let mut journal = project.create();
    let run = stream("run");
    append(&mut journal, "run", 0, &["a", "b", "c"]).unwrap();
    let snapshot = |stream_seq| Snapshot { stream_seq, format: 2, body: vec![0, stream_seq as u8] };
    let mut transaction = journal.transaction().unwrap();
    for stream_seq in [1, 2, 2, 3] {
        transaction.save_snapshot(&run, &snapshot(stream_seq)).unwrap();
    }
    let ahead = transaction.save_snapshot(&run, &snapshot(4)).unwrap_err();
    assert_eq!(ahead.to_string(), "run is at version 3, not 4");
    transaction.commit().unwrap();
    let view = journal.view().unwrap();
    assert_eq!(view.snapshot(&run).unwrap(), Some(snapshot(3)));
    assert_eq!(view.snapshot_before(&run, 3).unwrap(), Some(snapshot(2)));
    assert_eq!(view.snapshot_before(&run, 2).unwrap(), None);
    assert_eq!(view.snapshot(&stream("inbox")).unwrap(), None);
}

#[test]
fn a_state_of_any_size_comes_back_as_its_json() {
    let project = Project::new();
    let mut journal = project.create();
    let run = stream("run");
    append(&mut journal, "run", 0, &["a"]).unwrap();
    // None at all, less than a page, more than is written at once, and more than the page cache.
    for count in [0, 1, 1_000, 50_000, 700_000] {
        let state: Vec<u32> = (0..count).collect();
        let mut transaction = journal.transaction().unwrap();
        transaction.save_state(&run, (1, 2), &state).unwrap();
        transaction.commit().unwrap();
        let body = serde_json::to_vec(&state).unwrap();
        let found = journal.view().unwrap().snapshot(&run).unwrap();
        assert!(found == Some(Snapshot { stream_seq: 1, format: 2, body }), "{count} numbers");
    }
}

#[test]
fn the_newest_note_on_a_document_counts() {
    let project = Project::new();
    let mut journal = project.create();
    let note = |hash: &str| DocumentNote {
        path: ".claude/memory/shared.json".into(),
        hash: hash.into(),
        at: NOW,
        actor: Actor::Waypost,
        seq: 0,
    };
    let mut transaction = journal.transaction().unwrap();
    transaction.note_document(&note("aa")).unwrap();
    transaction.note_document(&note("bb")).unwrap();
    transaction.commit().unwrap();
    let view = journal.view().unwrap();
    assert_eq!(view.document(".claude/memory/shared.json").unwrap(), Some(note("bb")));
    assert_eq!(view.document("other").unwrap(), None);
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
fn what_is_not_there_is_not_made_by_opening() {
    let project = Project::new();
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let error = Journal::open(&project.place, mode).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    }
    assert!(!project.place.state.exists());
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
        assert_eq!(error.to_string(), "the journal has format 99, this program knows up to 1");
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
    assert_eq!(journal.check(), Check::Sound, "nobody has closed it before");
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
fn five_backups_are_kept() {
    let project = Project::new();
    let mut journal = project.create();
    for seen in 0..8 {
        append(&mut journal, "run", seen, &["x"]).unwrap();
        journal.back_up().unwrap();
    }
    let seqs: Vec<u64> = project.journals.backups().unwrap().iter().map(|it| it.seq).collect();
    assert_eq!(seqs, [8, 7, 6, 5, 4]);
    assert_eq!(fs::read_dir(project.place.state.join("backups")).unwrap().count(), 5);
}
