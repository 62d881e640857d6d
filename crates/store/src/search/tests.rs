//! What is found, by which words, and in which order.

use super::*;
use crate::{error::StoreError, file};
use std::path::Path;
use waypost_model::layout;

const DAY: i64 = 86_400_000;
const NOW: Time = Time::from_millis(400 * DAY);

fn entry(place: u64, kind: &str, title: &str, body: &str) -> SearchEntry {
    SearchEntry {
        place,
        kind: kind.into(),
        title: title.into(),
        body: body.into(),
        at: Time::from_millis(300 * DAY),
        files: Vec::new(),
        reference: String::new(),
    }
}

fn state(stamp: &str) -> SourceState {
    SourceState { stamp: stamp.into(), extent: 0 }
}

fn asked(text: &str) -> SearchQuery<'_> {
    SearchQuery { text, kinds: &[], since: None, file: None, limit: 10, now: NOW }
}

/// The places of what a query finds in these entries.
fn check(entries: &[SearchEntry], query: &SearchQuery<'_>, want: &[u64]) {
    let folder = tempfile::tempdir().unwrap();
    let found = SearchIndex::with(Some(folder.path()), |index| {
        index.replace("test", &state("1"), entries)?;
        index.search(query)
    });
    let found: Vec<u64> = found.unwrap().iter().map(|hit| hit.place).collect();
    assert_eq!(found, want, "{query:?}");
}

#[test]
fn titles_decisions_and_newer_entries_come_first() {
    let plain = entry(1, "context", "Storage", "we looked at the journal");
    let titled = entry(2, "context", "The journal", "we looked at it");
    check(&[plain.clone(), titled], &asked("journal"), &[2, 1]);
    let decided = entry(2, "decision", "Storage", "we looked at the journal");
    check(&[plain.clone(), decided.clone()], &asked("journal"), &[2, 1]);
    check(&[decided, plain.clone()], &asked("journal"), &[2, 1]);
    let newer = SearchEntry { place: 2, at: NOW, ..plain.clone() };
    check(&[newer, plain], &asked("journal"), &[2, 1]);
}

#[test]
fn filters_leave_what_was_asked_for() {
    let file = |mut entry: SearchEntry, file: &str| {
        entry.files = vec![file.to_owned()];
        entry
    };
    let entries = [
        file(entry(1, "note", "", "journal"), "crates/store/src/journal.rs"),
        file(entry(2, "decision", "", "journal"), "docs/journal.md"),
        SearchEntry { at: NOW, ..entry(3, "note", "", "journal") },
    ];
    let notes = ["note".to_owned()];
    check(&entries, &SearchQuery { kinds: &notes, ..asked("journal") }, &[3, 1]);
    check(&entries, &SearchQuery { file: Some("crates/store"), ..asked("journal") }, &[1]);
    check(&entries, &SearchQuery { file: Some("journal.md"), ..asked("journal") }, &[2]);
    check(&entries, &SearchQuery { file: Some("store"), ..asked("journal") }, &[]);
    check(&entries, &SearchQuery { since: Some(NOW), ..asked("journal") }, &[3]);
    check(&entries, &SearchQuery { limit: 1, ..asked("journal") }, &[3]);
    check(&entries, &asked("\"journal\" OR (x* NEAR AND"), &[3, 2, 1]);
    check(&entries, &asked("\u{e000}note"), &[]);
    check(&entries, &asked("… !"), &[]);
}

#[test]
fn a_snippet_shows_where_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let body =
        format!("{}결제를 취소하면\n재고가 돌아온다. {}", "앞말 ".repeat(60), "뒷말 ".repeat(60));
    let hits = SearchIndex::with(Some(folder.path()), |index| {
        index.replace("test", &state("1"), &[entry(1, "note", "환불", &body)])?;
        index.search(&asked("결제 취소"))
    });
    let hit = &hits.unwrap()[0];
    let chars: Vec<char> = hit.snippet.text.chars().collect();
    let marked: Vec<String> =
        hit.snippet.marks.iter().map(|mark| chars[mark.clone()].iter().collect()).collect();
    assert_eq!(marked, ["결제", "취소"]);
    let original: String = body.chars().skip(hit.snippet.start).take(chars.len()).collect();
    assert_eq!(hit.snippet.text, original.replace('\n', " "));
    assert!(chars.len() <= 160, "{}", chars.len());
}

#[test]
fn what_is_found_as_a_whole_and_by_its_parts_is_marked_once() {
    let folder = tempfile::tempdir().unwrap();
    for (body, text, want) in [
        ("reads snake_case_name here", "snake_case", vec!["snake_case"]),
        ("the config file is configFile", "config file", vec!["config", "file", "configFile"]),
    ] {
        let hits = SearchIndex::with(Some(folder.path()), |index| {
            index.replace("test", &state(body), &[entry(1, "note", "", body)])?;
            index.search(&asked(text))
        });
        let snippet = &hits.unwrap()[0].snippet;
        let chars: Vec<char> = snippet.text.chars().collect();
        let marked: Vec<String> =
            snippet.marks.iter().map(|mark| chars[mark.clone()].iter().collect()).collect();
        assert_eq!(marked, want, "{:?}", snippet.marks);
    }
}

#[test]
fn a_source_is_replaced_extended_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let places = |text: &str| -> Vec<u64> {
        let found = SearchIndex::with(Some(folder.path()), |index| index.search(&asked(text)));
        found.unwrap().iter().map(|hit| hit.place).collect()
    };
    SearchIndex::with(Some(folder.path()), |index| {
        assert_eq!(index.source("one")?, None);
        index.replace("one", &state("1"), &[entry(1, "note", "", "alpha")])?;
        index.extend(
            "one",
            &SourceState { stamp: "2".into(), extent: 7 },
            &[entry(2, "note", "", "beta")],
        )?;
        assert_eq!(index.source("one")?, Some(SourceState { stamp: "2".into(), extent: 7 }));
        index.replace("other", &state("1"), &[entry(9, "note", "", "alpha")])
    })
    .unwrap();
    assert_eq!((places("alpha"), places("beta")), (vec![9, 1], vec![2]));
    SearchIndex::with(Some(folder.path()), |index| {
        index.replace("one", &state("3"), &[entry(1, "note", "", "gamma")])
    })
    .unwrap();
    assert_eq!((places("alpha"), places("beta"), places("gamma")), (vec![9], vec![], vec![1]));
    SearchIndex::with(Some(folder.path()), |index| index.keep_only(&["one".to_owned()].into()))
        .unwrap();
    assert_eq!((places("alpha"), places("gamma")), (vec![], vec![1]));
    SearchIndex::forget(folder.path()).unwrap();
    assert_eq!(places("gamma"), Vec::<u64>::new());
}

/// Fills the index, damages it, and looks whether work on it is done again on a new one.
fn check_made_again(damage: impl Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let fill = |index: &mut SearchIndex| {
        if index.source("test")?.is_none() {
            index.replace("test", &state("1"), &[entry(1, "note", "", "alpha")])?;
        }
        Ok::<_, StoreError>(index.search(&asked("alpha"))?.len())
    };
    assert_eq!(SearchIndex::with(Some(folder.path()), fill).unwrap(), 1);
    damage(&folder.path().join(layout::state::SEARCH));
    assert_eq!(SearchIndex::with(Some(folder.path()), fill).unwrap(), 1);
}

#[test]
fn an_index_that_is_damaged_or_of_another_format_is_made_again() {
    check_made_again(|path| file::replace(path, b"no database at all", file::SHARED).unwrap());
    check_made_again(|path| {
        let bytes = file::read_bounded(path, u64::MAX).unwrap().unwrap();
        file::replace(path, &bytes[..bytes.len() / 2], file::SHARED).unwrap();
    });
    check_made_again(|path| {
        let db = rusqlite::Connection::open(path).unwrap();
        db.pragma_update(None, "user_version", 99).unwrap();
    });
    check_made_again(|path| file::remove(path).unwrap());
}

#[test]
fn what_many_entries_have_does_not_hide_the_one_that_has_all() {
    let mut entries: Vec<SearchEntry> = vec![entry(0, "note", "", "common shared")];
    entries.extend((1..5_000).map(|place| {
        let body = if place % 2 == 0 { "common word" } else { "shared word" };
        entry(place, "note", "", body)
    }));
    let folder = tempfile::tempdir().unwrap();
    let hits = SearchIndex::with(Some(folder.path()), |index| {
        index.replace("test", &state("1"), &entries)?;
        index.search(&asked("common shared"))
    });
    assert_eq!(hits.unwrap()[0].place, 0);
}
