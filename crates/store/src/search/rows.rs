//! What goes into the index, and what is remembered of where it came from.

use waypost_model::time::Time;

/// Something that can be found. What must not be found again is out of it already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchEntry {
    /// Its place in its source; one that comes again at the same place takes the other's place.
    pub place: u64,
    /// What it is, in one word.
    pub kind: String,
    pub title: String,
    pub body: String,
    pub at: Time,
    /// The files that it is about, below the project's root, with `/` between names.
    pub files: Vec<String>,
    /// How it is named elsewhere: an id, a path.
    pub reference: String,
}

/// How far a source was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState {
    /// Another one says that the source has changed.
    pub stamp: String,
    /// How much of it was read, for a source that only grows.
    pub extent: u64,
}

/// Begins terms that no text has: those by which entries are filtered.
const KIND_MARK: char = '\u{e000}';
const FILE_MARK: char = '\u{e001}';

/// The term of a kind.
pub(super) fn kind_term(kind: &str) -> String {
    format!("{KIND_MARK}{}", plain(kind))
}

/// The term of a file or folder.
pub(super) fn file_term(path: &str) -> String {
    let hash = crate::hash::short_hex(path.trim_matches('/').as_bytes());
    format!("{FILE_MARK}{hash}")
}

/// The terms under which a file is found: its own, those of its folders, and its bare name.
pub(super) fn file_terms(path: &str) -> Vec<String> {
    let path = path.trim_matches('/');
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let name = path.rsplit('/').next();
    folders.chain([path]).chain(name).map(file_term).collect()
}

fn plain(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).collect()
}
