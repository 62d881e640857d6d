//! Full text of what a project has recorded, found again: an index in a file of its own.
//!
//! A cache. It is brought up to date by the process that searches, from the journal's cursor and from
//! stamps of files, and one that is damaged, of another format or of another journal is made again.
//! FTS5 stores which entry has which term; terms are ours (`text`), because none of its tokenizers
//! finds two syllables inside a longer word or a part of an identifier. So is the ranking (`rank`).
//!
//! *Invariant:* nothing is indexed here that the caller has not handed in; redaction is the caller's.
//! Deliberately not here: what an entry of the journal or a document says in words.

mod index;
mod particles;
mod query;
mod rank;
mod rows;
mod text;

pub use index::SearchIndex;
pub use rank::{SearchHit, Snippet};
pub use rows::{SearchEntry, SourceState};

use waypost_model::time::Time;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct SearchQuery<'a> {
    pub text: &'a str,
    /// Only entries of these kinds; none: of every kind.
    pub kinds: &'a [String],
    /// Only entries that are not older.
    pub since: Option<Time>,
    /// Only entries that name this file, or one below this folder.
    pub file: Option<&'a str>,
    /// At most so many.
    pub limit: usize,
    /// Newer entries are ranked before older ones, by their age at this time.
    pub now: Time,
}

#[cfg(test)]
mod tests;
