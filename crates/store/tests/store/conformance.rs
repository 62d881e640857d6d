//! What every store has to do, run over each of them.
//!
//! A test that is about files, processes or damage is elsewhere; everything that the rest of
//! Waypost relies on is here, so that a further store is one more line at the end.

use crate::common::{NOW, Project, append, bodies, stream};
use std::collections::BTreeSet;
use waypost_model::{actor::Actor, id::StreamName, time::Time};
use waypost_store::{
    StoreError,
    journal::{
        Append, Appended, Birth, Cursor, DocumentNote, Journal, ListingCount, ListingOrder,
        ListingQuery, Mode, NewEffect, NewEvent, NewListing, OpenEffect, Recorded, Snapshot,
        StreamHead,
    },
    lock::Owner,
};

/// Makes a test of each function for each store. A function that is not listed is dead code, which
/// the lints find.
macro_rules! over_each_store {
    ($($name:ident,)*) => {
        mod on_disk {
            use crate::common::Project;
            $(#[test] fn $name() { super::$name(&Project::new()); })*
        }
        mod in_memory {
            use crate::common::Project;
            $(#[test] fn $name() { super::$name(&Project::in_memory()); })*
        }
    };
}

over_each_store! {
    events_come_back_as_they_were_recorded,
    the_feed_follows_all_streams_in_order,
    a_decision_on_an_old_state_is_refused,
    a_dropped_transaction_leaves_no_trace,
    a_view_sees_one_instant,
    a_reader_cannot_write,
    a_journal_can_move_to_another_thread,
    commits_of_others_show_in_the_data_version,
    effects_wait_for_their_time_and_are_done_once,
    an_effect_that_is_put_off_keeps_its_turn_among_those_of_its_kind,
    work_of_a_kind_is_set_again_by_its_key_and_ended_as_a_whole,
    the_newest_two_snapshots_are_kept,
    a_state_of_any_size_comes_back_as_its_json,
    the_newest_note_on_a_document_counts,
    rows_are_listed_by_state_rank_and_text_in_both_orders,
    a_list_goes_on_behind_any_row,
    rows_land_with_their_transaction_and_can_be_taken_back,
    what_is_not_there_is_not_made_by_opening,
    a_journal_keeps_the_name_of_its_birth,
    writers_take_turns_and_lose_nothing,
    a_conflict_leaves_the_rest_of_a_transaction_as_it_was,
    a_visit_ends_where_the_visitor_ends_it,
    a_snapshot_that_is_older_than_those_kept_is_not_kept,
    a_backup_takes_the_place_of_the_journal,
    a_journal_that_was_put_aside_is_missing,
    five_backups_are_kept,
    one_engine_has_the_lease,
}

fn events_come_back_as_they_were_recorded(project: &Project) {
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

fn the_feed_follows_all_streams_in_order(project: &Project) {
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

fn a_decision_on_an_old_state_is_refused(project: &Project) {
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

fn a_dropped_transaction_leaves_no_trace(project: &Project) {
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
    assert_eq!(view.open_effects_of("spawn", 9).unwrap(), []);
    drop(view);
    // The same numbers are free again.
    let appended = append(&mut journal, "run", 1, &["c"]).unwrap();
    assert_eq!(appended, Appended { last_seq: 2, head: 2 });
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a", "c"]);
}

fn a_view_sees_one_instant(project: &Project) {
    let mut writer = project.create();
    append(&mut writer, "run", 0, &["a"]).unwrap();
    let mut reader = project.read().unwrap();
    let view = reader.view().unwrap();
    assert_eq!(view.last_seq().unwrap(), 1);
    append(&mut writer, "run", 1, &["b"]).unwrap();
    assert_eq!(view.last_seq().unwrap(), 1);
    drop(view);
    assert_eq!(reader.view().unwrap().last_seq().unwrap(), 2);
}

fn a_reader_cannot_write(project: &Project) {
    append(&mut project.create(), "run", 0, &["a"]).unwrap();
    let mut reader = project.read().unwrap();
    let error = append(&mut reader, "run", 1, &["b"]).unwrap_err();
    assert!(matches!(error, StoreError::File { action: "write to", .. }), "{error}");
    assert_eq!(bodies(&mut reader, "run").unwrap(), ["a"]);
}

fn a_journal_can_move_to_another_thread(project: &Project) {
    let mut journal = project.create();
    let journal = std::thread::spawn(move || {
        append(&mut journal, "run", 0, &["a"]).unwrap();
        journal
    });
    assert_eq!(bodies(&mut journal.join().unwrap(), "run").unwrap(), ["a"]);
}

fn commits_of_others_show_in_the_data_version(project: &Project) {
    let mut ours = project.create();
    let mut theirs = project.open().unwrap();
    append(&mut ours, "run", 0, &["a"]).unwrap();
    let before = ours.data_version().unwrap();
    append(&mut ours, "run", 1, &["b"]).unwrap();
    assert_eq!(ours.data_version().unwrap(), before);
    append(&mut theirs, "run", 2, &["c"]).unwrap();
    assert_ne!(ours.data_version().unwrap(), before);
}

fn effects_wait_for_their_time_and_are_done_once(project: &Project) {
    let mut journal = project.create();
    let run = stream("run");
    let later = Time::from_millis(NOW.millis() + 1);
    let mut transaction = journal.transaction().unwrap();
    let effects = [
        NewEffect { kind: "timer", ..effect("timer", &run, Some(later)) },
        effect("spawn", &run, Some(NOW)),
    ];
    assert_eq!(transaction.queue(&effects).unwrap(), 2);
    assert_eq!(transaction.queue(&effects).unwrap(), 0);
    transaction.commit().unwrap();

    let open = |journal: &mut Journal, now| -> Vec<OpenEffect> {
        let view = journal.view().unwrap();
        let due = ["timer", "spawn"].map(|kind| view.due_effects(kind, now, 9).unwrap());
        due.concat()
    };
    let next = |journal: &mut Journal| journal.view().unwrap().next_due("timer").unwrap();
    let expected = |id: u64, effect: NewEffect<'_>| OpenEffect {
        id,
        key: effect.key.into(),
        stream: run.clone(),
        stream_seq: 1,
        kind: effect.kind.into(),
        body: "{}".into(),
        due: effect.due,
    };
    let (timer, spawn) = (expected(1, effects[0]), expected(2, effects[1]));
    assert_eq!(open(&mut journal, NOW), std::slice::from_ref(&spawn));
    assert_eq!(open(&mut journal, later), [timer.clone(), spawn]);
    assert_eq!(next(&mut journal), Some(later));

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
    assert_eq!(next(&mut journal), None);
}

fn an_effect_that_is_put_off_keeps_its_turn_among_those_of_its_kind(project: &Project) {
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
    assert_eq!(told(view.open_effects_of("spawn", 9).unwrap()), [a.clone(), b]);
    assert_eq!(told(view.open_effects_of("spawn", 1).unwrap()), [a]);
    assert_eq!(told(view.open_effects_of("wake", 9).unwrap()), []);
}

fn work_of_a_kind_is_set_again_by_its_key_and_ended_as_a_whole(project: &Project) {
    let mut journal = project.create();
    let run = stream("run");
    let at = |after| Time::from_millis(NOW.millis() + after);
    let set = |journal: &mut Journal, key, due, body| {
        let mut transaction = journal.transaction().unwrap();
        let effect = NewEffect { kind: "timer", body, ..effect(key, &run, Some(due)) };
        transaction.queue_again(&effect).unwrap();
        transaction.commit().unwrap();
    };
    let due = |journal: &mut Journal| -> Vec<(String, String)> {
        let due = journal.view().unwrap().due_effects("timer", at(50), 9).unwrap();
        due.into_iter().map(|it| (it.key, it.body)).collect()
    };
    let told = |told: &[(&str, &str)]| -> Vec<(String, String)> {
        told.iter().map(|(key, body)| ((*key).to_owned(), (*body).to_owned())).collect()
    };
    set(&mut journal, "a", at(9), "first");
    set(&mut journal, "b", at(5), "first");
    set(&mut journal, "late", at(99), "first");
    assert_eq!(due(&mut journal), told(&[("b", "first"), ("a", "first")]));
    // What is open is replaced, what is done is open again.
    set(&mut journal, "a", at(3), "second");
    assert_eq!(due(&mut journal), told(&[("a", "second"), ("b", "first")]));
    let mut transaction = journal.transaction().unwrap();
    assert!(transaction.mark_key_done("a", NOW).unwrap());
    let other = NewEffect { kind: "spawn", ..effect("other", &run, Some(NOW)) };
    transaction.queue(&[other]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(due(&mut journal), told(&[("b", "first")]));
    set(&mut journal, "a", at(7), "third");
    assert_eq!(due(&mut journal), told(&[("b", "first"), ("a", "third")]));
    let view = journal.view().unwrap();
    assert_eq!(view.due_effects("timer", at(50), 1).unwrap().len(), 1);
    assert_eq!(view.next_due("timer").unwrap(), Some(at(5)));
    drop(view);

    let mut transaction = journal.transaction().unwrap();
    assert_eq!(transaction.mark_kind_done("timer", NOW).unwrap(), 3);
    assert_eq!(transaction.mark_kind_done("timer", NOW).unwrap(), 0);
    transaction.commit().unwrap();
    assert_eq!(due(&mut journal), told(&[]));
    let view = journal.view().unwrap();
    assert_eq!(view.open_effects_of("spawn", 9).unwrap().len(), 1, "it is of another kind");
}

fn the_newest_two_snapshots_are_kept(project: &Project) {
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

fn a_state_of_any_size_comes_back_as_its_json(project: &Project) {
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

fn the_newest_note_on_a_document_counts(project: &Project) {
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

fn what_is_not_there_is_not_made_by_opening(project: &Project) {
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let error = project.journals.open(mode).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    }
    assert!(!project.place.state.exists(), "nothing was made");
}

fn a_journal_keeps_the_name_of_its_birth(project: &Project) {
    drop(project.create());
    let again = Birth { journal_id: "other".into(), at: Time::from_millis(1) };
    let journal = project.journals.open(Mode::Create(&again)).unwrap();
    assert_eq!((journal.id(), journal.created()), ("j1", NOW));
    let reader = project.read().unwrap();
    assert_eq!((reader.id(), reader.created()), ("j1", NOW));
    assert_eq!(journal.folder(), project.place.state);
}

fn writers_take_turns_and_lose_nothing(project: &Project) {
    drop(project.create());
    std::thread::scope(|scope| {
        for who in 0..4 {
            scope.spawn(move || {
                let mut journal = project.open().unwrap();
                for number in 0..25 {
                    append_after_all(&mut journal, &format!("{who} {number}"));
                }
            });
        }
    });
    let mut journal = project.open().unwrap();
    let found = bodies(&mut journal, "run").unwrap();
    let expected = (0..4).flat_map(|who| (0..25).map(move |n| format!("{who} {n}")));
    assert_eq!(BTreeSet::from_iter(found.clone()), BTreeSet::from_iter(expected));
    assert_eq!(found.len(), 100);
    // Of one writer, what came first stands first.
    for who in 0..4 {
        let own = found.iter().filter(|body| body.starts_with(&format!("{who} ")));
        assert!(own.eq(&Vec::from_iter((0..25).map(|n| format!("{who} {n}")))));
    }
    journal.verify().unwrap();
}

/// Looks and appends in one transaction, so that no other writer comes in between.
fn append_after_all(journal: &mut Journal, body: &str) {
    let (run, actor) = (stream("run"), Actor::Waypost);
    let mut transaction = journal.transaction().unwrap();
    let seen = transaction.head(&run).unwrap();
    let events = vec![NewEvent { kind: "noted", format: 1, body: body.into() }];
    transaction.append(Append { stream: &run, seen, actor: &actor, at: NOW, events }).unwrap();
    transaction.commit().unwrap();
}

fn a_conflict_leaves_the_rest_of_a_transaction_as_it_was(project: &Project) {
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a"]).unwrap();
    let (run, inbox, actor) = (stream("run"), stream("inbox"), Actor::Waypost);
    let event = || vec![NewEvent { kind: "noted", format: 1, body: "b".into() }];
    let mut transaction = journal.transaction().unwrap();
    let first = Append { stream: &inbox, seen: 0, actor: &actor, at: NOW, events: event() };
    transaction.append(first).unwrap();
    let late = Append { stream: &run, seen: 0, actor: &actor, at: NOW, events: event() };
    assert!(transaction.append(late.clone()).unwrap_err().is_conflict());
    transaction.append(Append { seen: 1, ..late }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a", "b"]);
    assert_eq!(bodies(&mut journal, "inbox").unwrap(), ["b"]);
}

fn a_visit_ends_where_the_visitor_ends_it(project: &Project) {
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a", "b", "c"]).unwrap();
    let view = journal.view().unwrap();
    let mut seen = Vec::new();
    let ended = view.for_each_event(&stream("run"), 1, |event| {
        seen.push(event.body.to_owned());
        Err::<(), StoreError>(StoreError::Protocol { detail: "enough".into() })
    });
    assert_eq!((ended.unwrap_err().to_string().as_str(), seen), ("enough", vec!["b".to_owned()]));
    view.for_each_event(&stream("none"), 0, |_| Err(StoreError::Missing { path: "".into() }))
        .unwrap();
}

fn a_snapshot_that_is_older_than_those_kept_is_not_kept(project: &Project) {
    let mut journal = project.create();
    let run = stream("run");
    append(&mut journal, "run", 0, &["a", "b", "c"]).unwrap();
    let mut transaction = journal.transaction().unwrap();
    for stream_seq in [2, 3, 1] {
        transaction.save_state(&run, (stream_seq, 1), &stream_seq).unwrap();
    }
    transaction.commit().unwrap();
    let view = journal.view().unwrap();
    let kept = |before| view.snapshot_before(&run, before).unwrap().map(|it| it.stream_seq);
    assert_eq!((kept(u64::MAX), kept(3), kept(2)), (Some(3), Some(2), None));
}

fn a_backup_takes_the_place_of_the_journal(project: &Project) {
    let mut journal = project.create();
    append(&mut journal, "run", 0, &["a", "b"]).unwrap();
    let backup = journal.back_up().unwrap();
    append(&mut journal, "run", 2, &["c"]).unwrap();
    assert_eq!(project.journals.backups().unwrap(), std::slice::from_ref(&backup));
    assert!(matches!(project.journals.restore(&backup.path), Err(StoreError::Busy { .. })));
    assert!(matches!(project.journals.put_aside(), Err(StoreError::Busy { .. })));
    drop(journal);
    project.journals.restore(&backup.path).unwrap();
    let mut journal = project.open().unwrap();
    assert_eq!(journal.id(), "j1");
    assert_eq!(bodies(&mut journal, "run").unwrap(), ["a", "b"]);
    append(&mut journal, "run", 2, &["again"]).unwrap();
    journal.verify().unwrap();
}

fn a_journal_that_was_put_aside_is_missing(project: &Project) {
    append(&mut project.create(), "run", 0, &["a"]).unwrap();
    assert!(project.journals.size().unwrap() > 0);
    project.journals.put_aside().unwrap();
    assert!(matches!(project.open(), Err(StoreError::Missing { .. })));
    assert_eq!(project.journals.size().unwrap(), 0);
    let birth = Birth { journal_id: "j2".into(), at: NOW };
    let mut fresh = project.journals.open(Mode::Create(&birth)).unwrap();
    assert_eq!(fresh.id(), "j2");
    assert_eq!(fresh.view().unwrap().last_seq().unwrap(), 0);
}

fn five_backups_are_kept(project: &Project) {
    let mut journal = project.create();
    for seen in 0..8 {
        append(&mut journal, "run", seen, &["x"]).unwrap();
        journal.back_up().unwrap();
        journal.back_up().unwrap();
    }
    let seqs: Vec<u64> = project.journals.backups().unwrap().iter().map(|it| it.seq).collect();
    assert_eq!(seqs, [8, 7, 6, 5, 4]);
}

fn one_engine_has_the_lease(project: &Project) {
    let [ours, theirs] = ["serve", "run"].map(|runs| Owner::this_process(runs, NOW));
    assert_eq!(project.journals.lease_holder().unwrap(), None);
    let lease = project.journals.lease(&ours).unwrap();
    assert!(lease.still_holds());
    assert_eq!(lease.owner(), &ours);
    assert_eq!(project.journals.lease_holder().unwrap().as_ref(), Some(&ours));
    let error = project.journals.lease(&theirs).unwrap_err();
    assert_eq!(error.to_string(), format!("the engine of this project is in use by {ours}"));
    drop(lease);
    assert_eq!(project.journals.lease(&theirs).unwrap().owner(), &theirs);
    assert_eq!(project.journals.lease_holder().unwrap(), None);
}

fn cursor(after: u64) -> Cursor {
    format!("1.{after}").parse().unwrap()
}

fn effect<'a>(key: &'a str, stream: &'a StreamName, due: Option<Time>) -> NewEffect<'a> {
    NewEffect { key, stream, stream_seq: 1, kind: "spawn", body: "{}", due }
}

/// Rows of five tasks and of another kind; times in minutes.
fn list_some(journal: &mut Journal) {
    let rows = [
        ("task:a", "pending", 1, 10, false, "green tea"),
        ("task:b", "pending", 3, 30, false, "black tea"),
        ("task:c", "review", 1, 20, false, "한글 제목 tea"),
        ("task:d", "pending", 1, 10, false, "coffee"),
        ("task:e", "completed", 1, 5, true, "old tea"),
        ("other:f", "pending", 1, 1, false, "green tea"),
    ];
    let mut transaction = journal.transaction().unwrap();
    for (name, state, rank, minutes, is_hidden, text) in rows {
        let since = Time::from_millis(NOW.millis() + minutes * 60_000);
        let listing = NewListing { state, rank, since, is_hidden, text, body: name };
        transaction.list(&stream(name), Some(&listing)).unwrap();
    }
    transaction.commit().unwrap();
}

/// The names of what a question finds, in order.
fn listed(journal: &mut Journal, query: &ListingQuery<'_>) -> String {
    let found = journal.view().unwrap().listings(query).unwrap();
    let names = found.iter().map(|row| {
        assert_eq!(row.body, row.stream.as_str());
        row.stream.instance().unwrap()
    });
    names.collect::<Vec<_>>().join("")
}

fn rows_are_listed_by_state_rank_and_text_in_both_orders(project: &Project) {
    let mut journal = project.create();
    list_some(&mut journal);
    let all = ListingQuery::of("task");
    let queue = ListingQuery { order: ListingOrder::Queue, ..all.clone() };
    let table = [
        (all.clone(), "bcda"),
        (queue.clone(), "badc"),
        (ListingQuery { with_hidden: true, ..all.clone() }, "bcdae"),
        (ListingQuery { states: &["pending"], ..all.clone() }, "bda"),
        (ListingQuery { states: &["pending"], ..queue.clone() }, "bad"),
        (ListingQuery { states: &["review", "completed"], with_hidden: true, ..all.clone() }, "ce"),
        (ListingQuery { rank: Some(3), ..all.clone() }, "b"),
        (ListingQuery { text: Some("TEA"), ..all.clone() }, "bca"),
        (ListingQuery { text: Some("제목"), ..all.clone() }, "c"),
        (ListingQuery { text: Some("%"), ..all.clone() }, ""),
        (ListingQuery { limit: 2, ..queue.clone() }, "ba"),
        (ListingQuery { limit: 0, ..all.clone() }, ""),
        (ListingQuery::of("nothing"), ""),
    ];
    for (query, expected) in table {
        assert_eq!(listed(&mut journal, &query), expected, "{query:?}");
    }
    let count =
        |state: &str, is_hidden, count| ListingCount { state: state.to_owned(), is_hidden, count };
    let counts = journal.view().unwrap().listing_counts("task").unwrap();
    let expected =
        [count("pending", false, 3), count("review", false, 1), count("completed", true, 1)];
    assert_eq!(counts, expected);
}

fn a_list_goes_on_behind_any_row(project: &Project) {
    let mut journal = project.create();
    list_some(&mut journal);
    for order in [ListingOrder::Newest, ListingOrder::Queue] {
        let all = ListingQuery { order, with_hidden: true, ..ListingQuery::of("task") };
        let whole = listed(&mut journal, &all);
        let rows = journal.view().unwrap().listings(&all).unwrap();
        for (at, row) in rows.iter().enumerate() {
            let rest = ListingQuery { after: Some(row.place()), ..all.clone() };
            assert_eq!(listed(&mut journal, &rest), whole[at + 1..], "{order:?} behind {at}");
        }
    }
}

fn rows_land_with_their_transaction_and_can_be_taken_back(project: &Project) {
    let mut journal = project.create();
    list_some(&mut journal);
    let all = ListingQuery::of("task");
    let row = |state| NewListing {
        state,
        rank: 9,
        since: NOW,
        is_hidden: false,
        text: "",
        body: "task:a",
    };
    let mut dropped = journal.transaction().unwrap();
    dropped.list(&stream("task:a"), Some(&row("gone"))).unwrap();
    dropped.list(&stream("task:b"), None).unwrap();
    let inside = dropped.view().listings(&all).unwrap();
    assert_eq!(inside.len(), 3, "a transaction sees its own rows");
    drop(dropped);
    assert_eq!(listed(&mut journal, &all), "bcda");
    let mut transaction = journal.transaction().unwrap();
    transaction.list(&stream("task:a"), Some(&row("gone"))).unwrap();
    transaction.list(&stream("task:b"), None).unwrap();
    transaction.commit().unwrap();
    assert_eq!(listed(&mut journal, &all), "cda");
    let gone = ListingQuery { states: &["gone"], ..all };
    assert_eq!(listed(&mut journal, &gone), "a");
}
