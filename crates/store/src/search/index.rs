//! The index on disk: entries with their texts, which of them has which term, and how far was read.

use super::{
    SearchEntry, SearchHit, SearchQuery, SourceState,
    query::Units,
    rank::{self, Candidate, Rarity},
    rows::{file_term, file_terms, kind_term},
    text,
};
use crate::{
    error::StoreError,
    file,
    journal::{Cursor, Recorded, View},
    mentions::Extent,
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::{layout, time::Time};

/// Entries of the journal that are read and committed at once.
const PAGE: usize = 1_000;

/// Another process may be bringing it up to date.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Raised when the same text gives other terms or rows; what is there is made again.
const FORMAT: u32 = 1;

/// What the database calls a file that is none.
const IN_MEMORY: &str = ":memory:";

/// The source of what comes from the journal.
const JOURNAL: &str = "journal";

/// Of how many entries with a term it is looked at which they are, the newest ones. A term that more
/// have says little, and reading them all would cost more than the rest of the search.
const POSTINGS_MAX: usize = 2_000;

/// How many entries are judged by their texts.
const CANDIDATES_MAX: usize = 64;

/// With fewer entries that have a word, those count that have one with the same beginning.
const FEW: usize = 10;

const TABLES: &str = "
    CREATE TABLE entry(
        id        INTEGER PRIMARY KEY,
        source    TEXT NOT NULL,
        place     INTEGER NOT NULL,
        kind      TEXT NOT NULL,
        title     TEXT NOT NULL,
        body      TEXT NOT NULL,
        at        INTEGER NOT NULL,
        files     TEXT NOT NULL,
        reference TEXT NOT NULL,
        UNIQUE(source, place)
    ) STRICT;
    CREATE TABLE source(
        name   TEXT PRIMARY KEY,
        stamp  TEXT NOT NULL,
        extent INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE extent(
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        journal TEXT NOT NULL,
        seq     INTEGER NOT NULL,
        at      INTEGER NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE word USING fts5(
        terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
    );
";

/// The index of a project, open.
#[derive(Debug)]
pub struct SearchIndex {
    db: Connection,
    path: PathBuf,
}

impl SearchIndex {
    /// Does something with the index in `folder`, without one with an index that is gone afterwards.
    /// Where it turns out to be damaged or of another format it is made again and everything is done once
    /// more, so `work` brings it up to date first.
    pub fn with<T>(
        folder: Option<&Path>,
        mut work: impl FnMut(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(folder) = folder else { return work(&mut Self::open(Path::new(IN_MEMORY))?) };
        let path = folder.join(layout::state::SEARCH);
        match Self::open(&path).and_then(|mut index| work(&mut index)) {
            Err(StoreError::Corrupt { path: damaged, .. }) if damaged == path => {
                remove(&path)?;
                work(&mut Self::open(&path)?)
            }
            done => done,
        }
    }

    /// Takes the index away; the next search makes it again.
    pub fn forget(folder: &Path) -> Result<(), StoreError> {
        remove(&folder.join(layout::state::SEARCH))
    }

    fn open(path: &Path) -> Result<Self, StoreError> {
        if path != Path::new(IN_MEMORY) {
            file::regular_stat(path)?;
        }
        let failed = |error| failed(path, &error);
        let db = Connection::open(path).map_err(failed)?;
        db.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        db.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        db.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        let mut index = Self { db, path: path.to_owned() };
        index.make().map_err(failed)?;
        let format = index.format().map_err(failed)?;
        if format != FORMAT {
            let detail = format!("it has format {format}");
            return Err(StoreError::Corrupt { path: path.to_owned(), detail });
        }
        Ok(index)
    }

    fn format(&self) -> Result<u32, rusqlite::Error> {
        self.db.pragma_query_value(None, "user_version", |row| row.get(0))
    }

    /// Makes the tables of a new file. Two processes may come at once: the second finds them made.
    fn make(&mut self) -> Result<(), rusqlite::Error> {
        if self.format()? != 0 {
            return Ok(());
        }
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let format: u32 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if format == 0 {
            tx.execute_batch(TABLES)?;
            tx.pragma_update(None, "user_version", FORMAT)?;
        }
        tx.commit()
    }

    /// Reads on in the journal from where this ended, and adds what `told` makes of its entries.
    pub fn follow(
        &mut self,
        journal: &str,
        view: &View<'_>,
        told: impl Fn(&Recorded) -> Option<SearchEntry>,
    ) -> Result<(), StoreError> {
        let known = self.extent().map_err(|error| failed(&self.path, &error))?;
        let mut after = match known {
            None => Cursor::START,
            Some(extent) if extent.fits(journal, view)? => Cursor::after(extent.seq),
            Some(_) => {
                let detail = "it is about another journal".to_owned();
                return Err(StoreError::Corrupt { path: self.path.clone(), detail });
            }
        };
        loop {
            let page = view.feed(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.cursor();
            let extent = Extent::up_to(journal, last);
            let entries: Vec<SearchEntry> = page.iter().filter_map(&told).collect();
            self.change(|tx| {
                entries.iter().try_for_each(|entry| put(tx, JOURNAL, entry))?;
                // Another process may have come further meanwhile: what it has added stays.
                let sql = "INSERT INTO extent(one, journal, seq, at) VALUES (1, ?1, ?2, ?3)
                           ON CONFLICT(one) DO UPDATE SET journal = ?1, seq = ?2, at = ?3
                           WHERE seq < ?2 OR journal <> ?1";
                tx.execute(sql, params![extent.journal, extent.seq, extent.at]).map(|_| ())
            })?;
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }

    fn extent(&self) -> Result<Option<Extent>, rusqlite::Error> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Extent { journal: row.get(0)?, seq: row.get(1)?, at: row.get(2)? })
        };
        self.db.query_row("SELECT journal, seq, at FROM extent", [], read).optional()
    }

    /// How far a source was read; none: not at all.
    pub fn source(&self, name: &str) -> Result<Option<SourceState>, StoreError> {
        let read =
            |row: &rusqlite::Row<'_>| Ok(SourceState { stamp: row.get(0)?, extent: row.get(1)? });
        let sql = "SELECT stamp, extent FROM source WHERE name = ?1";
        let found = self.db.query_row(sql, [name], read).optional();
        found.map_err(|error| failed(&self.path, &error))
    }

    /// All that a source has now, in the place of what it had.
    pub fn replace(
        &mut self,
        name: &str,
        state: &SourceState,
        entries: &[SearchEntry],
    ) -> Result<(), StoreError> {
        self.change(|tx| {
            drop_source(tx, name)?;
            entries.iter().try_for_each(|entry| put(tx, name, entry))?;
            note(tx, name, state)
        })
    }

    /// What a source has got since.
    pub fn extend(
        &mut self,
        name: &str,
        state: &SourceState,
        entries: &[SearchEntry],
    ) -> Result<(), StoreError> {
        self.change(|tx| {
            entries.iter().try_for_each(|entry| put(tx, name, entry))?;
            note(tx, name, state)
        })
    }

    /// Drops what came from sources that are not there any more.
    pub fn keep_only(&mut self, names: &BTreeSet<String>) -> Result<(), StoreError> {
        let known = self.sources().map_err(|error| failed(&self.path, &error))?;
        let gone: Vec<&String> = known.iter().filter(|name| !names.contains(*name)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        self.change(|tx| gone.iter().try_for_each(|name| drop_source(tx, name)))
    }

    fn sources(&self) -> Result<Vec<String>, rusqlite::Error> {
        let mut query = self.db.prepare_cached("SELECT name FROM source")?;
        query.query_map([], |row| row.get(0))?.collect()
    }

    fn change(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), StoreError> {
        let Self { db, path } = self;
        let changed = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| work(&tx).and_then(|()| tx.commit()));
        changed.map_err(|error| failed(path, &error))
    }

    /// What answers a query, the best first.
    pub fn search(&self, query: &SearchQuery<'_>) -> Result<Vec<SearchHit>, StoreError> {
        let units = Units::of(query.text);
        if units.is_empty() {
            return Ok(Vec::new());
        }
        self.try_search(&units, query).map_err(|error| failed(&self.path, &error))
    }

    /// The newest entries of a kind, of all or of those that name a file; their snippets are their
    /// beginnings.
    pub fn newest(
        &self,
        kind: &str,
        file: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SearchHit>, StoreError> {
        let mut terms = format!("\"{}\"", kind_term(kind));
        if let Some(file) = file {
            let _infallible = write!(terms, " AND \"{}\"", file_term(file));
        }
        self.try_newest(&terms, limit).map_err(|error| failed(&self.path, &error))
    }

    fn try_newest(&self, terms: &str, limit: usize) -> Result<Vec<SearchHit>, rusqlite::Error> {
        let sql = "SELECT entry.id FROM word JOIN entry ON entry.id = word.rowid
                   WHERE word MATCH ?1 ORDER BY entry.at DESC, entry.id DESC LIMIT ?2";
        let mut select = self.db.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let ids: Vec<i64> =
            select.query_map(params![terms, limit], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut hits = Vec::new();
        for id in ids {
            if let Some((mut hit, body)) = self.entry(id)? {
                hit.snippet = rank::beginning(&body);
                hits.push(hit);
            }
        }
        Ok(hits)
    }

    /// An entry and its text.
    fn entry(&self, id: i64) -> Result<Option<(SearchHit, String)>, rusqlite::Error> {
        let sql = "SELECT kind, title, body, at, source, place, reference, files
                   FROM entry WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let (body, at): (String, i64) = (row.get(2)?, row.get(3)?);
            let files: String = row.get(7)?;
            let hit = SearchHit {
                kind: row.get(0)?,
                title: row.get(1)?,
                at: Time::from_millis(at),
                source: row.get(4)?,
                place: row.get(5)?,
                reference: row.get(6)?,
                files: files.lines().map(str::to_owned).collect(),
                score: 0.0,
                snippet: rank::Snippet::default(),
            };
            Ok((hit, body))
        };
        self.db.prepare_cached(sql)?.query_row([id], read).optional()
    }

    fn try_search(
        &self,
        units: &Units,
        query: &SearchQuery<'_>,
    ) -> Result<Vec<SearchHit>, rusqlite::Error> {
        let filter = filter_of(query);
        let (worth, rarity) = self.collect(units, query, &filter)?;
        let mut best: Vec<(i64, f64)> = worth.into_iter().collect();
        // Of entries that are worth the same the newer ones are looked at.
        best.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
        best.truncate(CANDIDATES_MAX.max(query.limit));
        let mut hits = Vec::new();
        for (id, _) in best {
            let Some((mut hit, body)) = self.entry(id)? else { continue };
            let (kind, title) = (hit.kind.as_str(), hit.title.as_str());
            let candidate = Candidate { kind, title, body: &body, at: hit.at };
            (hit.score, hit.snippet) = rank::judge(units, &rarity, &candidate, query.now);
            if hit.score > 0.0 {
                hits.push(hit);
            }
        }
        let order = |one: &SearchHit, other: &SearchHit| {
            let newer_first = other.at.millis().cmp(&one.at.millis());
            other.score.total_cmp(&one.score).then(newer_first).then(other.place.cmp(&one.place))
        };
        hits.sort_by(order);
        hits.truncate(query.limit);
        Ok(hits)
    }

    /// Which entries have terms of the query, each with the sum of how rare these are, and how rare
    /// each term is.
    fn collect(
        &self,
        units: &Units,
        query: &SearchQuery<'_>,
        filter: &str,
    ) -> Result<(HashMap<i64, f64>, Rarity), rusqlite::Error> {
        // Their largest number is as good as their count, and known without counting.
        let sql = "SELECT coalesce(max(id), 0) FROM entry";
        let total: u64 = self.db.query_row(sql, [], |row| row.get(0))?;
        let (mut worth, mut rarity) = (HashMap::new(), Rarity::new());
        let mut common = Vec::new();
        let rare = |count: usize| (1.0 + total as f64 / (count as f64 + 1.0)).ln();
        let mut add = |ids: &[i64], value: f64| {
            for id in ids {
                *worth.entry(*id).or_insert(0.0) += value;
            }
        };
        for term in units.terms() {
            let ids = self.having(&format!("\"{term}\""), query, filter)?;
            let value = rare(ids.len());
            rarity.insert(term.to_owned(), value);
            let weight = units.places(term).iter().map(|(unit, at)| units.all[*unit].terms[*at].1);
            add(&ids, value * weight.fold(0.0, f64::max));
            if ids.len() >= POSTINGS_MAX {
                common.push(term);
            }
        }
        for unit in &units.all {
            if let Some(whole) = &unit.whole {
                let ids = self.having(&format!("\"{whole}\""), query, filter)?;
                add(&ids, rare(ids.len()) * 2.0);
            }
            let term = &unit.terms[0].0;
            if let Some(prefix) = &unit.prefix
                && (term.chars().count() == 1 || rarity[term] >= rare(FEW))
            {
                let ids = self.having(&format!("\"{prefix}\"*"), query, filter)?;
                add(&ids, rare(ids.len()));
            }
        }
        if common.len() > 1 {
            // Of what many have, an older entry may still be the only one that has all of it.
            let all: Vec<String> = common.iter().map(|term| format!("\"{term}\"")).collect();
            let ids = self.having(&all.join(" AND "), query, filter)?;
            add(&ids, rare(ids.len()));
        }
        Ok((worth, rarity))
    }

    /// The newest entries that have something, as far as filters let them through.
    fn having(
        &self,
        terms: &str,
        query: &SearchQuery<'_>,
        filter: &str,
    ) -> Result<Vec<i64>, rusqlite::Error> {
        let terms = if filter.is_empty() { terms.to_owned() } else { format!("({terms}){filter}") };
        let limit = POSTINGS_MAX as i64;
        let sql = match query.since {
            None => "SELECT rowid FROM word WHERE word MATCH ?1 ORDER BY rowid DESC LIMIT ?2",
            Some(_) => {
                "SELECT word.rowid FROM word JOIN entry ON entry.id = word.rowid
                 WHERE word MATCH ?1 AND entry.at >= ?3 ORDER BY word.rowid DESC LIMIT ?2"
            }
        };
        let mut select = self.db.prepare_cached(sql)?;
        let id = |row: &rusqlite::Row<'_>| row.get(0);
        match query.since {
            None => select.query_map(params![terms, limit], id)?.collect(),
            Some(since) => select.query_map(params![terms, limit, since.millis()], id)?.collect(),
        }
    }
}

/// What every match has to have besides.
fn filter_of(query: &SearchQuery<'_>) -> String {
    let mut filter = String::new();
    if !query.kinds.is_empty() {
        let kinds: Vec<String> =
            query.kinds.iter().map(|kind| format!("\"{}\"", kind_term(kind))).collect();
        let _infallible = write!(filter, " AND ({})", kinds.join(" OR "));
    }
    if let Some(file) = query.file {
        let _infallible = write!(filter, " AND \"{}\"", file_term(file));
    }
    filter
}

fn put(tx: &Transaction<'_>, source: &str, entry: &SearchEntry) -> Result<(), rusqlite::Error> {
    let at = "DELETE FROM entry WHERE source = ?1 AND place = ?2 RETURNING id";
    let old: Option<i64> = tx
        .prepare_cached(at)?
        .query_row(params![source, entry.place], |row| row.get(0))
        .optional()?;
    if let Some(old) = old {
        tx.prepare_cached("DELETE FROM word WHERE rowid = ?1")?.execute([old])?;
    }
    let insert = "INSERT INTO entry(source, place, kind, title, body, at, files, reference)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    tx.prepare_cached(insert)?.execute(params![
        source,
        entry.place,
        entry.kind,
        entry.title,
        entry.body,
        entry.at.millis(),
        entry.files.join("\n"),
        entry.reference,
    ])?;
    let id = tx.last_insert_rowid();
    let insert = "INSERT INTO word(rowid, terms) VALUES (?1, ?2)";
    tx.prepare_cached(insert)?.execute(params![id, terms_of(entry)])?;
    Ok(())
}

/// All terms of an entry in one text.
fn terms_of(entry: &SearchEntry) -> String {
    let mut terms = kind_term(&entry.kind);
    let words = [&entry.title, &entry.body, &entry.reference].map(|text| text::tokens(text));
    for token in words.into_iter().flatten() {
        terms.push(' ');
        terms.push_str(&token.term);
    }
    for file in &entry.files {
        for term in
            file_terms(file).into_iter().chain(text::tokens(file).into_iter().map(|it| it.term))
        {
            terms.push(' ');
            terms.push_str(&term);
        }
    }
    terms
}

fn drop_source(tx: &Transaction<'_>, name: &str) -> Result<(), rusqlite::Error> {
    let sql = "DELETE FROM word WHERE rowid IN (SELECT id FROM entry WHERE source = ?1)";
    tx.execute(sql, [name])?;
    tx.execute("DELETE FROM entry WHERE source = ?1", [name])?;
    tx.execute("DELETE FROM source WHERE name = ?1", [name]).map(|_| ())
}

fn note(tx: &Transaction<'_>, name: &str, state: &SourceState) -> Result<(), rusqlite::Error> {
    let sql = "INSERT INTO source(name, stamp, extent) VALUES (?1, ?2, ?3)
               ON CONFLICT(name) DO UPDATE SET stamp = ?2, extent = ?3";
    tx.execute(sql, params![name, state.stamp, state.extent]).map(|_| ())
}

fn remove(path: &Path) -> Result<(), StoreError> {
    ["-wal", "-shm", ""].iter().try_for_each(|end| file::remove(&file::with_suffix(path, end)))
}

fn failed(path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path: path.to_owned(), detail: error.to_string() }
        }
        _ => StoreError::Database { action: "use the index of", detail: error.to_string() },
    }
}
