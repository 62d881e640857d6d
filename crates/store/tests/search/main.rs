//! The search against judged queries: what a person expects to find is among the first ten.

mod corpus;

use corpus::{CorpusEntry, ENTRIES, corpus};
use std::{collections::BTreeMap, fmt::Write as _};
use waypost_model::time::Time;
use waypost_store::search::{SearchEntry, SearchIndex, SearchQuery, SourceState};

const FOUND_AT: usize = 10;
const RECALL_MIN: f64 = 0.95;

#[test]
fn judged_queries_find_what_answers_them() {
    let folder = tempfile::tempdir().unwrap();
    let (entries, queries) = corpus(ENTRIES);
    assert!(entries.len() >= 2_000 && queries.len() >= 100, "the corpus is large enough");
    let now = entries.last().map(|entry| Time::from_millis(entry.at)).unwrap();
    let rows: Vec<SearchEntry> = (0..).zip(&entries).map(|(place, it)| row(place, it)).collect();
    let state = SourceState { stamp: "1".into(), extent: 0 };
    let (mut recall, mut first, mut missed) = (0.0, 0, String::new());
    SearchIndex::with(Some(folder.path()), |index| {
        index.replace("corpus", &state, &rows)?;
        for query in &queries {
            let asked = SearchQuery {
                text: &query.text,
                kinds: &[],
                since: None,
                file: None,
                limit: FOUND_AT,
                now,
            };
            let hits = index.search(&asked)?;
            let found: Vec<usize> = hits.iter().map(|hit| hit.place as usize).collect();
            let there = query.relevant.iter().filter(|it| found.contains(it)).count();
            recall += there as f64 / query.relevant.len() as f64;
            first += usize::from(found.first().is_some_and(|it| query.relevant.contains(it)));
            for place in query.relevant.iter().filter(|it| !found.contains(it)) {
                let CorpusEntry { title, body, .. } = &entries[*place];
                let _infallible = writeln!(missed, "{}: {title} | {body}", query.text);
            }
        }
        Ok(())
    })
    .unwrap();
    let count = queries.len() as f64;
    println!("recall at 10: {:.3}, first: {:.3}", recall / count, first as f64 / count);
    assert!(recall / count >= RECALL_MIN, "recall {:.3}, missed:\n{missed}", recall / count);
    // An answer among ten is found by reading them all; most people read the first.
    assert!(first as f64 / count >= 0.9, "{first} of {count} have an answer first");
}

#[test]
fn every_script_and_trap_is_judged() {
    let (_, queries) = corpus(ENTRIES);
    let mut scripts = BTreeMap::<&str, usize>::new();
    for query in &queries {
        let has =
            |range: std::ops::RangeInclusive<char>| query.text.chars().any(|c| range.contains(&c));
        let script = match () {
            () if has('가'..='힣') || has('\u{1100}'..='\u{11ff}') => "korean",
            () if has('ぁ'..='ヿ') || has('一'..='鿿') || has('ｦ'..='ﾟ') => "japanese",
            () => "english",
        };
        *scripts.entry(script).or_default() += 1;
    }
    assert!(scripts.len() == 3 && scripts.values().all(|count| *count >= 25), "{scripts:?}");
    assert!(queries.iter().all(|query| !query.relevant.is_empty()));
}

fn row(place: u64, entry: &CorpusEntry) -> SearchEntry {
    SearchEntry {
        place,
        kind: "note".into(),
        title: entry.title.clone(),
        body: entry.body.clone(),
        at: Time::from_millis(entry.at),
        files: Vec::new(),
        reference: String::new(),
    }
}
