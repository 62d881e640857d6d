//! A journal of every released format stays here and must be readable for ever.
//!
//! `WAYPOST_GOLDEN=write` makes the file of the current format if it is missing; one that exists
//! is never written again.

use crate::common::{NOW, Project, append, place_at, stream, write_back};
use std::{env, fs, path::PathBuf};
use waypost_model::{actor::Actor, time::Time};
use waypost_store::journal::{
    Append, DocumentNote, Journal, ListingQuery, Mode, NewEffect, NewEvent, NewListing, Snapshot,
};

fn golden(version: u32) -> PathBuf {
    let name = format!("tests/golden/journal-v{version}.db");
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Everything that a journal can hold, once.
fn write_golden() {
    let project = Project::new();
    let mut journal = project.create();
    append(&mut journal, "workflow:main", 0, &[r#"{"feature":"검색"}"#, "{}"]).unwrap();
    let run = stream("run");
    let actor = Actor::Agent { id: "T1.3".into(), attempt: 2 };
    let events = [NewEvent { kind: "task_started", format: 3, body: r#"{"task":"T1.3"}"#.into() }];
    let at = Time::from_millis(NOW.millis() + 1_234);
    let mut transaction = journal.transaction().unwrap();
    let append = Append { stream: &run, seen: 0, actor: &actor, at, events: events.to_vec() };
    transaction.append(append).unwrap();
    let effect =
        |key, due| NewEffect { key, stream: &run, stream_seq: 1, kind: "spawn", body: "{}", due };
    transaction.queue(&[effect("a", None), effect("b", Some(at)), effect("c", None)]).unwrap();
    transaction.mark_effect_done(3, at).unwrap();
    let snapshot = Snapshot { stream_seq: 1, format: 4, body: b"state".to_vec() };
    transaction.save_snapshot(&run, &snapshot).unwrap();
    let note = DocumentNote {
        path: ".claude/memory/shared-context.json".into(),
        hash: "ab".repeat(32),
        at,
        actor: Actor::Waypost,
        seq: 3,
    };
    transaction.note_document(&note).unwrap();
    transaction.commit().unwrap();
    drop(journal);
    write_back(&project.place);
    let from = project.place.state.join("journal.db");
    fs::copy(from, golden(1)).unwrap();
}

/// Reads all of a journal as text.
fn dump(journal: &mut Journal) -> String {
    let mut lines = vec![format!("{} created {}", journal.id(), journal.created())];
    let view = journal.view().unwrap();
    for stream in view.streams().unwrap() {
        lines.push(format!("{} at {}", stream.name, stream.head));
        lines.push(format!("  snapshot {:?}", view.snapshot(&stream.name).unwrap()));
        for event in view.events(&stream.name, 0, 100).unwrap() {
            lines.push(format!(
                "  {} {} {} {} {} v{} {}",
                event.seq,
                event.stream_seq,
                event.at.millis(),
                event.actor,
                event.kind,
                event.format,
                event.body
            ));
        }
    }
    for effect in view.open_effects_of("spawn", 100).unwrap() {
        lines.push(format!("{effect:?}"));
    }
    lines.push(format!("{:?}", view.document(".claude/memory/shared-context.json").unwrap()));
    lines.join("\n")
}

#[test]
fn the_first_format_is_read_for_ever() {
    if env::var("WAYPOST_GOLDEN").is_ok_and(|it| it == "write") && !golden(1).exists() {
        write_golden();
    }
    let folder = tempfile::tempdir().unwrap();
    let place = place_at(folder.path());
    fs::create_dir(&place.state).unwrap();
    fs::copy(golden(1), place.state.join("journal.db")).unwrap();
    let read = dump(&mut Journal::open(&place, Mode::ReadOnly).unwrap());
    insta::assert_snapshot!(read);
    // A journal of before that is only read has no rows.
    let mut unread = Journal::open(&place, Mode::ReadOnly).unwrap();
    assert_eq!(unread.view().unwrap().listings(&ListingQuery::of("task")).unwrap(), []);
    assert_eq!(unread.view().unwrap().listing_counts("task").unwrap(), []);
    drop(unread);
    let mut journal = Journal::open(&place, Mode::ReadWrite).unwrap();
    assert_eq!(dump(&mut journal), read);
    append(&mut journal, "run", 1, &["goes on"]).unwrap();
    // What came with a later version is there as well.
    assert_eq!(journal.view().unwrap().listings(&ListingQuery::of("task")).unwrap(), []);
    let row = NewListing { state: "s", rank: 0, since: NOW, is_hidden: false, text: "", body: "" };
    let mut transaction = journal.transaction().unwrap();
    transaction.list(&stream("task:a"), Some(&row)).unwrap();
    transaction.commit().unwrap();
    assert_eq!(journal.view().unwrap().listings(&ListingQuery::of("task")).unwrap().len(), 1);
    journal.verify().unwrap();
}
