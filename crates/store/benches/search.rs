//! What a search costs and finds, beside plain FTS5 and beside ripgrep, on the judged corpus.
//!
//! Prints one JSON object per measurement on stdout and a table on stderr. `WAYPOST_BENCH_QUICK=1`
//! makes it small enough for a test.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

#[path = "../tests/search/corpus.rs"]
mod corpus;

use corpus::{CorpusEntry, ENTRIES, JudgedQuery, corpus};
use rusqlite::{Connection, params};
use std::{env, fs, path::Path, process::Command, time::Instant};
use waypost_model::time::Time;
use waypost_store::search::{SearchEntry, SearchIndex, SearchQuery, SourceState};

const FOUND_AT: usize = 10;

fn main() {
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let many = if env::var_os("WAYPOST_BENCH_QUICK").is_some() { 5_000 } else { 100_000 };
    let found = [
        ("search: recall at 10, judged corpus, beside plain FTS5", Rival::PlainFts5),
        ("search: recall at 10, judged corpus, beside ripgrep", Rival::Ripgrep),
    ];
    for (name, rival) in found {
        if let Some((ours, other)) = recall(ENTRIES, rival) {
            print(name, ours, Some(other), "share", Some(">= 1"));
        }
    }
    let (query, worst, insert) = speed(many);
    print(&format!("search: a query among {many}, median"), query.0, Some(query.1), "ms", None);
    print(&format!("search: the slowest judged query among {many}"), worst, None, "ms", None);
    print(&format!("search: an insert into {many}, committed"), insert, None, "ms", None);
}

#[derive(Clone, Copy)]
enum Rival {
    PlainFts5,
    Ripgrep,
}

fn print(name: &str, ours: f64, other: Option<f64>, unit: &str, target: Option<&str>) {
    eprintln!("{name:<60} {ours:>10.3} {:>10.3} {unit}", other.unwrap_or(f64::NAN));
    let mut line = serde_json::json!({"name": name, "ours": ours, "unit": unit});
    if let Some(other) = other {
        line["other"] = other.into();
        line["ratio"] = (ours / other).into();
    }
    if let Some(target) = target {
        line["target"] = target.into();
    }
    println!("{line}");
}

/// The share of what answers a query that is among the first ten: ours, and the rival's.
fn recall(count: usize, rival: Rival) -> Option<(f64, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let (entries, queries) = corpus(count);
    fill(folder.path(), &entries);
    let plain = plain_fts5(&entries);
    lay_out_files(folder.path(), &entries);
    let (mut ours, mut other) = (0.0, 0.0);
    for query in &queries {
        ours += share(query, &found_by_us(folder.path(), query, &entries));
        other += share(
            query,
            &match rival {
                Rival::PlainFts5 => found_by_plain(&plain, query),
                Rival::Ripgrep => found_by_ripgrep(folder.path(), query)?,
            },
        );
    }
    let count = queries.len() as f64;
    Some((ours / count, other / count))
}

fn share(query: &JudgedQuery, found: &[usize]) -> f64 {
    let there = query.relevant.iter().filter(|it| found.contains(it)).count();
    there as f64 / query.relevant.len() as f64
}

fn fill(folder: &Path, entries: &[CorpusEntry]) {
    let rows: Vec<SearchEntry> = (0..).zip(entries).map(|(place, it)| row(place, it)).collect();
    let state = SourceState { stamp: "1".into(), extent: 0 };
    SearchIndex::with(Some(folder), |index| index.replace("corpus", &state, &rows)).unwrap();
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

fn asked<'a>(query: &'a JudgedQuery, entries: &[CorpusEntry]) -> SearchQuery<'a> {
    let now = Time::from_millis(entries.last().map_or(0, |it| it.at));
    SearchQuery { text: &query.text, kinds: &[], since: None, file: None, limit: FOUND_AT, now }
}

fn found_by_us(folder: &Path, query: &JudgedQuery, entries: &[CorpusEntry]) -> Vec<usize> {
    let hits =
        SearchIndex::with(Some(folder), |index| index.search(&asked(query, entries))).unwrap();
    hits.iter().map(|hit| hit.place as usize).collect()
}

/// FTS5 as it comes: its own tokenizer and ranking, all words of the query joined by OR.
fn plain_fts5(entries: &[CorpusEntry]) -> Connection {
    let mut db = Connection::open_in_memory().unwrap();
    db.execute_batch("CREATE VIRTUAL TABLE plain USING fts5(title, body)").unwrap();
    let tx = db.transaction().unwrap();
    for (place, entry) in (0_i64..).zip(entries) {
        let sql = "INSERT INTO plain(rowid, title, body) VALUES (?1, ?2, ?3)";
        tx.prepare_cached(sql).unwrap().execute(params![place, entry.title, entry.body]).unwrap();
    }
    tx.commit().unwrap();
    db
}

fn found_by_plain(db: &Connection, query: &JudgedQuery) -> Vec<usize> {
    let words: Vec<String> = query
        .text
        .split_whitespace()
        .map(|word| format!("\"{}\"", word.replace('"', "")))
        .collect();
    let sql = "SELECT rowid FROM plain WHERE plain MATCH ?1 ORDER BY rank LIMIT 10";
    let mut select = db.prepare_cached(sql).unwrap();
    let rows = select.query_map([words.join(" OR ")], |row| row.get::<_, i64>(0)).unwrap();
    rows.map(|row| row.unwrap() as usize).collect()
}

/// A file for each entry, as a person who uses ripgrep has them.
fn lay_out_files(folder: &Path, entries: &[CorpusEntry]) {
    fs::create_dir_all(folder.join("files")).unwrap();
    for (place, entry) in entries.iter().enumerate() {
        let text = format!("{}\n{}\n", entry.title, entry.body);
        fs::write(folder.join("files").join(place.to_string()), text).unwrap();
    }
}

/// Files with any word of the query, those with more matches first; none where it is not installed.
fn found_by_ripgrep(folder: &Path, query: &JudgedQuery) -> Option<Vec<usize>> {
    let mut line = Command::new("rg");
    line.args(["--ignore-case", "--count-matches", "--fixed-strings", "--no-messages"]);
    line.args(query.text.split_whitespace().flat_map(|word| ["-e", word]));
    let output = line.current_dir(folder.join("files")).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found: Vec<(usize, usize)> = text
        .lines()
        .filter_map(|line| {
            let (place, count) = line.rsplit_once(':')?;
            Some((count.parse().ok()?, place.trim_start_matches("./").parse().ok()?))
        })
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    Some(found.into_iter().take(FOUND_AT).map(|(_, place)| place).collect())
}

/// The median of a query of ours and of plain FTS5, our slowest one, and an insert; milliseconds.
fn speed(count: usize) -> ((f64, f64), f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let (entries, queries) = corpus(count);
    fill(folder.path(), &entries);
    let plain = plain_fts5(&entries);
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    let mut insert = 0.0;
    SearchIndex::with(Some(folder.path()), |index| {
        for query in &queries {
            // The first one of a process also reads its pages from the disk.
            let mut tries = Vec::new();
            for _ in 0..3 {
                let begin = Instant::now();
                index.search(&asked(query, &entries))?;
                tries.push(milliseconds(begin));
            }
            tries.sort_by(f64::total_cmp);
            ours.push(tries[1]);
            let begin = Instant::now();
            found_by_plain(&plain, query);
            others.push(milliseconds(begin));
        }
        let inserts = 500;
        let begin = Instant::now();
        for number in 0..inserts {
            let place = (count + number) as u64;
            let state = SourceState { stamp: number.to_string(), extent: place };
            index.extend("corpus", &state, &[row(place, &entries[number * 7 % entries.len()])])?;
        }
        insert = milliseconds(begin) / inserts as f64;
        Ok(())
    })
    .unwrap();
    ours.sort_by(f64::total_cmp);
    others.sort_by(f64::total_cmp);
    let worst = ours.last().copied().unwrap_or_default();
    ((ours[ours.len() / 2], others[others.len() / 2]), worst, insert)
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1_000.0
}
