//! What agents said and did, and what tasks printed: files beside the journal that only grow.

use super::{chunks, cleaned};
use crate::{agent::told_in, context::BRIEF_SUFFIX};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};
use waypost_agent::programs::Programs;
use waypost_model::{layout, time::Time};
use waypost_redact::Redactor;
use waypost_store::{
    StoreError,
    file::Mark,
    search::{SearchEntry, SearchIndex, SourceState},
};

/// Folders with such files beside the journal.
const FOLDERS: [&str; 2] = [layout::state::LOGS, layout::state::JOBS];

/// Of a long file the end is read: what an agent came to is said there.
const FIRST_LOOK_MAX: u64 = 4 << 20;

/// So much is read in one search; the next one goes on.
const LOOK_MAX: u64 = 64 << 20;

/// Reads what files of agents and tasks have got since.
pub(super) fn bring_in(
    index: &mut SearchIndex,
    state: &Path,
    programs: &Programs,
    redactor: &Redactor,
    sources: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    let mut left = LOOK_MAX;
    let of_folders = FOLDERS.iter().flat_map(|folder| files_in(&state.join(folder)));
    for path in of_folders.chain(files_of_tasks(&state.join(layout::state::TASKS))) {
        let Some(name) = path.strip_prefix(state).ok().and_then(Path::to_str) else { continue };
        let Ok(Some(mark)) = Mark::of(&path) else { continue };
        sources.insert(name.to_owned());
        let known = index.source(name)?;
        let stamp = mark.ino.to_string();
        let same = known.filter(|known| known.stamp == stamp && known.extent <= mark.size);
        let begin = match &same {
            Some(known) => known.extent,
            None => mark.size.saturating_sub(FIRST_LOOK_MAX),
        };
        if (same.is_some() && begin == mark.size) || left == 0 {
            continue;
        }
        let Ok(bytes) = whole_lines(&path, begin, left) else { continue };
        left = left.saturating_sub(bytes.len() as u64);
        let text = redactor.clean(&words(&path, &bytes, programs));
        let at = Time::from_millis(i64::try_from(mark.mtime_ns / 1_000_000).unwrap_or_default());
        let entries: Vec<SearchEntry> = chunks(&text)
            .into_iter()
            .enumerate()
            .map(|(number, (_, body))| SearchEntry {
                place: begin + number as u64,
                kind: "transcript".to_owned(),
                title: title_of(name),
                body,
                at,
                files: Vec::new(),
                reference: name.to_owned(),
            })
            .map(|entry| cleaned(entry, redactor))
            .collect();
        let read = SourceState { stamp, extent: begin + bytes.len() as u64 };
        match same {
            Some(_) => index.extend(name, &read, &entries)?,
            None => index.replace(name, &read, &entries)?,
        }
    }
    Ok(())
}

/// What agents of the server's tasks said. Below the folder of a task there is also what git needs.
fn files_of_tasks(tasks: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(tasks).into_iter().flatten().flatten().map(|it| it.path());
    let mut files: Vec<PathBuf> = folders
        .filter(|folder| !folder.is_symlink())
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| !path.is_symlink() && path.is_file() && is_transcript(path))
        .collect();
    files.sort();
    files
}

/// What an agent was told comes from what is found already.
fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "log" || end == "jsonl")
        && !path.to_string_lossy().ends_with(BRIEF_SUFFIX)
}

/// Files of a folder and of those in it, in order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    found.sort();
    let mut files = Vec::new();
    for path in found {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files.extend(files_in(&path));
        } else if is_transcript(&path) {
            files.push(path);
        }
    }
    files
}

/// What stands from a place on, up to the last end of a line.
fn whole_lines(path: &Path, begin: u64, max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(end);
    Ok(bytes)
}

/// A stream of an agent in words; other files as they are.
fn words(path: &Path, bytes: &[u8], programs: &Programs) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_of = |adapter: &waypost_agent::Adapter| name.ends_with(&format!(".{adapter}.jsonl"));
    match programs.adapters().find(is_of) {
        Some(adapter) => told_in(adapter, bytes),
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// `logs/T1.3/2.claude.jsonl` is `T1.3 attempt 2`.
fn title_of(name: &str) -> String {
    let mut parts = name.rsplit('/');
    let number = parts.next().and_then(|file| file.split('.').next()).unwrap_or_default();
    let what = parts.next().unwrap_or_default();
    format!("{what} attempt {number}")
}
