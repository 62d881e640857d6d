//! What was recorded in a project, found again: history, notes, context, contracts, knowledge,
//! transitions, decisions and what agents said.
//!
//! The process that searches brings the index up to date first: from the journal's cursor, and from
//! files whose stamp has changed. Everything passes the redactor before it is indexed. Where there is no
//! journal the index lives as long as the search.

mod documents;
mod fading;
mod journal;
mod transcripts;

use crate::{error::EngineError, notify, project::Project};
use std::collections::BTreeSet;
use waypost_model::{
    document::{TextVersion, memory::TaskHistory},
    time::Time,
};
use waypost_store::{
    StoreError,
    search::{SearchEntry, SearchIndex, SearchQuery},
};

pub use fading::AgedHit;
pub use waypost_store::search::{SearchHit, Snippet};

/// The source of what is from the journal.
const JOURNAL: &str = "journal";

/// The kinds of what can be found, each with what it is.
pub const KINDS: [(&str, &str); 9] = [
    ("decision", "what was decided: notes, answers of persons, gates, decisions of the knowledge"),
    ("lesson", "what was learnt: notes, lessons of the history, pitfalls of the knowledge"),
    ("note", "what was explored and noted"),
    ("history", "tasks that have ended"),
    ("context", "the current task, what agents share and what each of them keeps"),
    ("contract", "contracts of sessions and checkpoints"),
    ("knowledge", "patterns of the project"),
    ("transition", "what happened to workflows, runs, jobs and the inbox"),
    ("transcript", "what agents said and did, and what tasks printed"),
];

/// Longer texts are cut into entries of about this many characters: a snippet of one says where.
const BODY_MAX: usize = 3_000;

/// A title is a line.
const TITLE_MAX: usize = 160;

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    pub text: String,
    pub kinds: Vec<String>,
    pub since: Option<Time>,
    pub file: Option<String>,
    pub limit: usize,
}

/// What answers a request, the best first.
pub fn search(project: &mut Project, request: &SearchRequest) -> Result<Vec<AgedHit>, EngineError> {
    let now = project.clock.now();
    search_at(project, request, now)
}

/// As `search`, with newer entries being those that are newer at a time.
pub(crate) fn search_at(
    project: &mut Project,
    request: &SearchRequest,
    now: Time,
) -> Result<Vec<AgedHit>, EngineError> {
    let query = SearchQuery {
        text: &request.text,
        kinds: &request.kinds,
        since: request.since,
        file: request.file.as_deref(),
        limit: request.limit + fading::MORE,
        now,
    };
    let hits = with_index(project, |index| index.search(&query))?;
    let found = fading::looked_at(project, hits)?;
    Ok(fading::in_order(found, request.limit))
}

/// The newest entries of each kind, of all or of those that name a file, in the order that was asked.
pub(crate) fn newest(
    project: &mut Project,
    asked: &[(&str, Option<&str>)],
    limit: usize,
) -> Result<Vec<Vec<AgedHit>>, EngineError> {
    let lists: Vec<Vec<SearchHit>> = with_index(project, |index| {
        asked.iter().map(|(kind, file)| index.newest(kind, *file, limit)).collect()
    })?;
    lists.into_iter().map(|hits| fading::looked_at(project, hits)).collect()
}

/// Does something with the index after bringing it up to date.
fn with_index<T>(
    project: &mut Project,
    mut work: impl FnMut(&SearchIndex) -> Result<T, StoreError>,
) -> Result<T, EngineError> {
    let redactor = notify::redactor_of(project);
    // All work trees have one memory, and one index of it.
    let root = project.setup.shared_root();
    let state = project.place().state.clone();
    let unshown = unshown_history(project)?;
    let programs = project.setup.programs.clone();
    let mut journal = project.journal.as_mut();
    let folder = journal.is_some().then_some(state.as_path());
    let found = SearchIndex::with(folder, |index| {
        let mut sources = BTreeSet::new();
        if let Some(journal) = &mut journal {
            let id = journal.id().to_owned();
            let view = journal.view()?;
            index.follow(&id, &view, |entry| {
                journal::told(entry).map(|it| cleaned(it, &redactor))
            })?;
            transcripts::bring_in(index, &state, &programs, &redactor, &mut sources)?;
        }
        documents::bring_in(index, &root, &redactor, &mut sources)?;
        if let Some(history) = &unshown {
            documents::bring_in_history(index, history, &redactor, &mut sources)?;
        }
        index.keep_only(&sources)?;
        work(index)
    });
    Ok(found?)
}

/// The history of a memory that no file shows.
fn unshown_history(project: &mut Project) -> Result<Option<TaskHistory>, EngineError> {
    let memory = project.memory()?;
    let entries = memory.history().entries();
    let is_unshown = !memory.is_open() && !entries.is_empty();
    Ok(is_unshown.then(|| TaskHistory {
        version: TextVersion,
        tasks: entries.to_vec(),
        statistics: memory.history().totals().statistics(),
    }))
}

/// An entry without secrets, and not longer than entries are.
fn cleaned(mut entry: SearchEntry, redactor: &waypost_redact::Redactor) -> SearchEntry {
    entry.title = shortened(&redactor.clean(&entry.title), TITLE_MAX);
    entry.body = shortened(&redactor.clean(&entry.body), BODY_MAX);
    entry.reference = redactor.clean(&entry.reference);
    entry.files.iter_mut().for_each(|file| *file = redactor.clean(file));
    entry
}

fn shortened(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// A text in parts that are not much longer than an entry, cut between lines where it has some.
/// Each with the number of its first character.
fn chunks(text: &str) -> Vec<(usize, String)> {
    let (mut chunks, mut chunk, mut begin, mut at) = (Vec::new(), String::new(), 0, 0);
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        let length = line.chars().count();
        if count > 0 && count + length > BODY_MAX {
            chunks.push((begin, std::mem::take(&mut chunk)));
            (begin, count) = (at, 0);
        }
        if length > BODY_MAX {
            let letters: Vec<char> = line.chars().collect();
            for (number, part) in letters.chunks(BODY_MAX).enumerate() {
                chunks.push((at + number * BODY_MAX, part.iter().collect()));
            }
            begin = at + length;
        } else {
            chunk.push_str(line);
            count += length;
        }
        at += length;
    }
    if !chunk.trim().is_empty() {
        chunks.push((begin, chunk));
    }
    chunks
}

#[cfg(test)]
mod tests;
