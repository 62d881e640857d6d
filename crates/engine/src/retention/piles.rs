//! What has piled up of one kind: found on disk or in git, and deleted.

use super::needs::Needs;
use std::{
    fs,
    path::{Path, PathBuf},
};
use waypost_git::{GitError, Trees, tree};
use waypost_model::{
    layout::state::{JOBS, LOGS, TASKS, WINDOWS},
    retention::{Kept, RetentionLimits, excess},
    time::Time,
};
use waypost_store::file;

/// So many renderings of each window stay, whatever their age: an edit is compared with them.
const RENDERINGS_MIN: usize = 2;

/// What piles up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PileKind {
    Logs,
    Renderings,
    Snapshots,
}

/// What there is of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pile {
    pub(crate) kind: PileKind,
    pub(crate) count: usize,
    pub(crate) bytes: u64,
    /// How many of them go, and what they take.
    pub(crate) going: usize,
    pub(crate) going_bytes: u64,
    items: Vec<PiledItem>,
}

/// One thing that can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PiledItem {
    File(PathBuf),
    Snapshot(tree::Snapshot),
}

impl PileKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Renderings => "renderings",
            Self::Snapshots => "snapshots",
        }
    }
}

impl Pile {
    pub(super) fn of(
        kind: PileKind,
        kept: Vec<Kept<PiledItem>>,
        limits: RetentionLimits,
        now: Time,
    ) -> Self {
        let sum = |kept: &[Kept<PiledItem>]| kept.iter().map(|it| it.bytes).sum();
        let (count, bytes) = (kept.len(), sum(&kept));
        let going = excess(kept, limits, now);
        let (items, going_bytes) = (going.len(), sum(&going));
        let going_items = going.into_iter().map(|it| it.item).collect();
        Self { kind, count, bytes, going: items, going_bytes, items: going_items }
    }

    /// Deletes what goes; what cannot be deleted stays.
    pub(super) fn delete(&self, trees: Option<&Trees>) {
        for item in &self.items {
            match (item, trees) {
                (PiledItem::File(path), _) => {
                    let _left = file::remove(path);
                    // Only an empty folder goes.
                    let _used = path.parent().map(fs::remove_dir);
                }
                (PiledItem::Snapshot(snapshot), Some(trees)) => {
                    let _left = tree::delete_snapshot(trees, snapshot);
                }
                (PiledItem::Snapshot(_), None) => {}
            }
        }
    }
}

/// The folder of the journal.
#[derive(Debug)]
pub(super) struct PileFolder {
    pub(super) state: PathBuf,
}

impl PileFolder {
    /// Logs and streams of tasks, of phases' checks, of jobs and of tasks of the server.
    pub(super) fn logs(&self, needs: &Needs) -> Vec<Kept<PiledItem>> {
        let mut found = Vec::new();
        for (name, folder) in folders(&self.state.join(LOGS)) {
            found.extend(files(&folder, needs.logs(&name)));
        }
        for (name, folder) in folders(&self.state.join(JOBS)) {
            let is_needed = needs.job(&name);
            let logs = files(&folder, is_needed).into_iter();
            found.extend(
                logs.filter(|it| matches!(&it.item, PiledItem::File(path) if is_log(path))),
            );
        }
        for (name, folder) in folders(&self.state.join(TASKS)) {
            let logs = files(&folder, needs.served(&name)).into_iter();
            found.extend(
                logs.filter(|it| matches!(&it.item, PiledItem::File(path) if is_log(path))),
            );
        }
        found
    }

    /// Renderings of windows; the newest of each are needed.
    pub(super) fn renderings(&self) -> Vec<Kept<PiledItem>> {
        let mut found = Vec::new();
        for (_, folder) in folders(&self.state.join(WINDOWS)) {
            let mut renderings = files(&folder, false);
            // Their names begin with their versions.
            renderings.sort_by(|one, other| name_of(&other.item).cmp(&name_of(&one.item)));
            for rendering in renderings.iter_mut().take(RENDERINGS_MIN) {
                rendering.is_needed = true;
            }
            found.extend(renderings);
        }
        found
    }
}

/// The names of jobs' folders.
pub(super) fn job_folders(state: &Path) -> Vec<String> {
    folders(&state.join(JOBS)).into_iter().map(|(name, _)| name).collect()
}

/// Snapshots of work trees, with what each takes that no branch has.
pub(super) fn snapshots(trees: &Trees, needs: &Needs) -> Result<Vec<Kept<PiledItem>>, GitError> {
    let mut found = Vec::new();
    for snapshot in tree::list_snapshots(trees)? {
        found.push(Kept {
            bytes: tree::snapshot_size(trees, &snapshot)?,
            at: snapshot.at,
            is_needed: needs.snapshot(&snapshot.name),
            item: PiledItem::Snapshot(snapshot),
        });
    }
    Ok(found)
}

/// When a file was last written; none if it is not there.
pub(super) fn written(path: &Path) -> Option<Time> {
    let mark = file::Mark::of(path).ok().flatten()?;
    Some(Time::from_millis(i64::try_from(mark.mtime_ns / 1_000_000).ok()?))
}

/// Whether a file of a job is a log or a stream of one of its processes: `3.log`, `3.claude.jsonl`.
fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_numbered = name.split('.').next().is_some_and(|it| it.parse::<u32>().is_ok());
    is_numbered && (name.ends_with(".log") || name.ends_with(".jsonl"))
}

fn name_of(item: &PiledItem) -> Option<&std::ffi::OsStr> {
    match item {
        PiledItem::File(path) => path.file_name(),
        PiledItem::Snapshot(_) => None,
    }
}

fn folders(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect()
}

/// The files of a folder with the space that they take.
fn files(folder: &Path, is_needed: bool) -> Vec<Kept<PiledItem>> {
    use std::os::unix::fs::MetadataExt as _;
    let names = file::list(folder).unwrap_or_default();
    let found = names.iter().filter_map(|name| {
        let path = folder.join(name);
        let bytes = path.symlink_metadata().ok()?.blocks() * 512;
        Some(Kept { bytes, at: written(&path)?, is_needed, item: PiledItem::File(path) })
    });
    found.collect()
}
