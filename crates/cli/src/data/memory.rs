//! The memory as data.

use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use waypost_engine::memory::{Freshness, MemoryBackup};
use waypost_model::{
    document::memory::{HistoryEntry, MemoryTask, Statistics, TaskHistory, TaskState},
    json::Json,
    memory::{KeptTask, Memory, Note, ReplanCause},
};

/// How the memory stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryReport {
    /// Whether files show it.
    pub(crate) open: bool,
    /// What `task-state.json` shows; none: it is not shown.
    pub(crate) state: Option<TaskState>,
    /// What `task-history.json` shows.
    pub(crate) history: Option<TaskHistory>,
    /// Why the plan of the current task should be made again.
    pub(crate) replan: Option<ReplanCause>,
    /// Steps of the current task that wait before their next try.
    pub(crate) waiting: Vec<WaitingStep>,
}

/// A step that waits before its next try.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitingStep {
    pub(crate) step: u32,
    pub(crate) not_before: String,
}

impl From<&Memory> for MemoryReport {
    fn from(memory: &Memory) -> Self {
        Self {
            open: memory.is_open(),
            state: memory.render_state(),
            history: memory.render_history(),
            replan: memory.current().and_then(|kept| kept.replan),
            waiting: memory.current().map(waiting).unwrap_or_default(),
        }
    }
}

fn waiting(kept: &KeptTask) -> Vec<WaitingStep> {
    let waiting = kept.clocks.iter().filter_map(|(step, clock)| {
        let not_before = clock.not_before?.to_string();
        Some(WaitingStep { step: *step, not_before })
    });
    waiting.collect()
}

/// One task of the memory, after a command about it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryTaskReport<'a> {
    /// As it is in the file; none: it has ended.
    pub(crate) task: Option<&'a MemoryTask>,
    /// Whether it is the current one.
    pub(crate) current: bool,
    pub(crate) replan: Option<ReplanCause>,
    pub(crate) waiting: Vec<WaitingStep>,
    /// What the history says of it, if it has ended.
    pub(crate) ended: Option<&'a HistoryEntry>,
}

impl<'a> MemoryTaskReport<'a> {
    pub(crate) fn of(memory: &'a Memory, kept: &'a KeptTask) -> Self {
        let current = memory.current().is_some_and(|current| current.task.id == kept.task.id);
        Self {
            task: Some(&kept.task),
            current,
            replan: kept.replan,
            waiting: waiting(kept),
            ended: None,
        }
    }

    pub(crate) fn ended(entry: &'a HistoryEntry) -> Self {
        Self { task: None, current: false, replan: None, waiting: Vec::new(), ended: Some(entry) }
    }
}

/// An entry of the history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryLine<'a> {
    #[serde(flatten)]
    pub(crate) entry: &'a HistoryEntry,
}

/// Totals over all tasks that ever ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatisticsReport {
    #[serde(flatten)]
    pub(crate) statistics: Statistics,
    pub(crate) success: u64,
    pub(crate) failure: u64,
    pub(crate) partial: u64,
    pub(crate) cancelled: u64,
    /// How many entries the history lists.
    pub(crate) listed: usize,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoteReport<'a> {
    pub(crate) id: &'a str,
    /// exploration, decision or lesson.
    pub(crate) kind: &'static str,
    pub(crate) text: &'a str,
    pub(crate) at: String,
    pub(crate) commit: Option<&'a str>,
    pub(crate) files: Vec<&'a str>,
    /// Files that are not as they were, and `commit N` if that is not part of what is checked out; what the
    /// note says may not hold any more.
    pub(crate) changed: Vec<String>,
}

impl<'a> NoteReport<'a> {
    pub(crate) fn of(note: &'a Note, freshness: Freshness) -> Self {
        Self {
            id: &note.id,
            kind: note.kind.as_str(),
            text: &note.text,
            at: note.at.to_string(),
            commit: note.commit.as_deref(),
            files: note.files.iter().map(|file| file.path.as_str()).collect(),
            changed: match freshness {
                Freshness::Fresh => Vec::new(),
                Freshness::Faded { changed } => changed,
            },
        }
    }
}

/// A value inside a document of the memory.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryValue<'a> {
    /// A JSON Pointer.
    pub(crate) path: String,
    /// None: it was taken out.
    pub(crate) value: Option<&'a Json>,
}

/// A memory that was begun.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryBegunLine<'a> {
    pub(crate) folder: &'a Path,
    /// Files that were there and are the beginning now.
    pub(crate) taken_over: Vec<&'a Path>,
    /// Whether it was begun before.
    pub(crate) was_open: bool,
}

/// A session of the shared context.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionLine<'a> {
    pub(crate) session: &'a str,
}

/// An earlier content of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryBackupLine<'a> {
    pub(crate) name: &'a str,
    /// The file, below the memory's folder.
    pub(crate) of: &'a str,
    pub(crate) path: &'a Path,
}

impl<'a> From<&'a MemoryBackup> for MemoryBackupLine<'a> {
    fn from(backup: &'a MemoryBackup) -> Self {
        Self { name: &backup.name, of: &backup.of, path: &backup.path }
    }
}

/// Files that were copied.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryBackedUp<'a> {
    pub(crate) files: Vec<&'a Path>,
}

/// What was restored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryRestoredLine<'a> {
    pub(crate) restored: Vec<&'a str>,
    /// What stood there before.
    pub(crate) kept: Vec<&'a Path>,
}

/// What was cleared.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryPrunedLine {
    /// How many entries of the history are listed.
    pub(crate) listed: usize,
    pub(crate) caches: Vec<ClearedCache>,
}

/// What was cleared of one agent's cache.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClearedCache {
    pub(crate) agent: String,
    pub(crate) keys: Vec<String>,
}
