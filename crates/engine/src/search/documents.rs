//! Documents and windows of the memory and of sessions, each as the entries that one would look for.

use super::{chunks, cleaned};
use crate::{clock::Clock, memory::DOCUMENT_BYTES_MAX};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use waypost_model::{
    document::{
        Kind,
        knowledge::Knowledge,
        memory::{HistoryEntry, TaskHistory},
    },
    layout::{self, window::WRITTEN_BY_AGENTS},
    time::Time,
};
use waypost_redact::Redactor;
use waypost_store::{
    StoreError,
    file::{self, Mark},
    parse,
    search::{SearchEntry, SearchIndex, SourceState},
};

/// More are no documents of ours.
const FILES_MAX: usize = 5_000;
const DEPTH_MAX: usize = 8;
const SIZE_MAX: u64 = DOCUMENT_BYTES_MAX;

/// Folders whose files only repeat others.
const REPEATED: [&str; 1] = [layout::memory::BACKUPS];

/// The name of a history that no file shows.
const UNSHOWN: &str = "memory/history";

/// Reads the documents below `root` that have changed.
pub(super) fn bring_in(
    index: &mut SearchIndex,
    root: &Path,
    redactor: &Redactor,
    sources: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    let mut files = Vec::new();
    for folder in WRITTEN_BY_AGENTS {
        list(&root.join(folder), DEPTH_MAX, &mut files);
    }
    files.extend(["waypost-contract.yaml", "checkpoint-contract.yaml"].map(|name| root.join(name)));
    for path in files {
        let Ok(Some(mark)) = Mark::of(&path) else { continue };
        let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        sources.insert(name.to_owned());
        let stamp = format!("{}:{}:{}", mark.ino, mark.size, mark.mtime_ns);
        if index.source(name)?.is_some_and(|known| known.stamp == stamp) {
            continue;
        }
        // One that cannot be read has nothing to be found.
        let bytes = file::read_bounded(&path, SIZE_MAX).ok().flatten().unwrap_or_default();
        let at = Time::from_millis(i64::try_from(mark.mtime_ns / 1_000_000).unwrap_or_default());
        let entries = entries_of(name, &bytes, at);
        let entries: Vec<SearchEntry> =
            entries.into_iter().map(|entry| cleaned(entry, redactor)).collect();
        index.replace(name, &SourceState { stamp, extent: mark.size }, &entries)?;
    }
    Ok(())
}

/// The same for a history that only the journal has.
pub(super) fn bring_in_history(
    index: &mut SearchIndex,
    told: &TaskHistory,
    redactor: &Redactor,
    sources: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    sources.insert(UNSHOWN.to_owned());
    let last = told.tasks.last().map(|it| it.id.to_string()).unwrap_or_default();
    let stamp = format!("{}:{last}", told.tasks.len());
    if index.source(UNSHOWN)?.is_some_and(|known| known.stamp == stamp) {
        return Ok(());
    }
    let entries: Vec<SearchEntry> =
        history(told.clone()).into_iter().map(|entry| cleaned(entry, redactor)).collect();
    index.replace(UNSHOWN, &SourceState { stamp, extent: 0 }, &entries)
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(found) = fs::read_dir(folder) else { return };
    let mut found: Vec<fs::DirEntry> = found.flatten().collect();
    found.sort_by_key(fs::DirEntry::file_name);
    for entry in found {
        let Ok(kind) = entry.file_type() else { continue };
        let is_repeated = REPEATED.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && depth > 0 && !is_repeated {
            list(&entry.path(), depth - 1, files);
        } else if kind.is_file() && files.len() < FILES_MAX {
            files.push(entry.path());
        }
    }
}

/// What a document has to be found.
fn entries_of(name: &str, bytes: &[u8], at: Time) -> Vec<SearchEntry> {
    let kind = Kind::of_path(name);
    let typed = match kind {
        Some(Kind::TaskHistory) => {
            parse::parse::<TaskHistory>(bytes).ok().map(|it| history(it.value))
        }
        Some(Kind::Knowledge) => {
            parse::parse::<Knowledge>(bytes).ok().map(|it| knowledge(it.value))
        }
        _ => None,
    };
    let entries = typed.unwrap_or_else(|| whole(name, kind, &String::from_utf8_lossy(bytes)));
    let with_time = |mut entry: SearchEntry| {
        if entry.at == UNKNOWN {
            entry.at = at;
        }
        if entry.reference.is_empty() {
            entry.reference = name.to_owned();
        }
        entry
    };
    entries.into_iter().map(with_time).collect()
}

/// Stands for the time of the file.
const UNKNOWN: Time = Time::from_millis(0);

fn entry(place: usize, kind: &str, title: String, body: String) -> SearchEntry {
    SearchEntry {
        place: place as u64,
        kind: kind.to_owned(),
        title,
        body,
        at: UNKNOWN,
        files: Vec::new(),
        reference: String::new(),
    }
}

fn history(history: TaskHistory) -> Vec<SearchEntry> {
    let mut entries = Vec::new();
    for task in history.tasks {
        let HistoryEntry { id, name, completed_at, summary, artifacts, lessons, .. } = task;
        let at = completed_at.map_or(UNKNOWN, |stamp| Clock.resolve(stamp));
        let files: Vec<String> = artifacts.iter().map(|artifact| artifact.path.clone()).collect();
        let told: Vec<String> = artifacts
            .iter()
            .map(|artifact| format!("{} {}", artifact.path, artifact.description))
            .collect();
        let mut done = entry(
            entries.len(),
            "history",
            name.clone(),
            [vec![summary], told].concat().join("\n"),
        );
        (done.at, done.files, done.reference) = (at, files.clone(), id.to_string());
        entries.push(done);
        for lesson in lessons {
            let mut learnt = entry(entries.len(), "lesson", name.clone(), lesson);
            (learnt.at, learnt.files, learnt.reference) = (at, files.clone(), id.to_string());
            entries.push(learnt);
        }
    }
    entries
}

fn knowledge(knowledge: Knowledge) -> Vec<SearchEntry> {
    let mut entries = Vec::new();
    for decision in knowledge.decisions {
        let text = [decision.decision, decision.rationale.unwrap_or_default()].join("\n");
        let mut decided = entry(entries.len(), "decision", decision.topic, text);
        decided.files = decision.refs;
        decided.reference = decision.id.to_string();
        entries.push(decided);
    }
    for pitfall in knowledge.pitfalls {
        let text = pitfall.reason.unwrap_or_default();
        let mut learnt = entry(entries.len(), "lesson", pitfall.description, text);
        learnt.reference = pitfall.id.to_string();
        entries.push(learnt);
    }
    if let Ok(patterns) = serde_json::to_string_pretty(&knowledge.patterns)
        && patterns.len() > 2
    {
        for (_, part) in chunks(&patterns) {
            entries.push(entry(entries.len(), "knowledge", "patterns".to_owned(), part));
        }
    }
    entries
}

/// A document that has no entries of its own, in parts.
fn whole(name: &str, kind: Option<Kind>, text: &str) -> Vec<SearchEntry> {
    let word = match kind {
        Some(Kind::Knowledge) => "knowledge",
        Some(Kind::TaskHistory) => "history",
        Some(
            Kind::Explored
            | Kind::TaskBreakdown
            | Kind::DesignBrief
            | Kind::DesignContract
            | Kind::TestContract
            | Kind::TestResult
            | Kind::CheckpointContract,
        ) => "contract",
        _ => "context",
    };
    let title = name.rsplit('/').next().unwrap_or(name);
    let parts = chunks(text).into_iter();
    parts.map(|(at, part)| entry(at, word, title.to_owned(), part)).collect()
}
