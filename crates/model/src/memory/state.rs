//! How the memory stands.

use super::{
    history::History,
    words::{Event, NoteKind},
};
use crate::{
    document::{
        MemoryTaskId,
        memory::{MemoryTask, Step, StepStatus},
    },
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Days whose ids are counted. An id of an earlier day is not given out any more.
const DAYS_COUNTED: usize = 3;

/// How many notes are at hand; all of them are in the journal.
const NOTES_MAX: usize = 1_000;

/// The largest number of a task that an agent may choose itself, so that others can follow.
pub(super) const NUMBER_MAX: u32 = 99_999;

/// The memory of one repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Whether files show it. What other machines have finished is remembered before that, too.
    pub(super) is_open: bool,
    pub(super) current: Option<KeptTask>,
    pub(super) pending: Vec<KeptTask>,
    pub(super) history: History,
    /// The highest number of each day, by the day's first moment in UTC.
    pub(super) numbers: BTreeMap<Time, u32>,
    /// When a task last changed.
    pub(super) updated_at: Time,
    pub(super) notes: Vec<Note>,
    pub(super) notes_made: u32,
    /// The hashes of documents, by their paths below the memory's folder.
    pub(super) documents: BTreeMap<String, String>,
}

/// A task, with what its file does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptTask {
    pub task: MemoryTask,
    /// When it was first started.
    pub started: Option<Time>,
    #[serde(default)]
    pub clocks: BTreeMap<u32, StepClock>,
    /// Why the plan should be made again, if it should.
    #[serde(default)]
    pub replan: Option<ReplanCause>,
    /// The highest id that a step has had: ids are not used again.
    #[serde(default)]
    pub(super) highest_step: u32,
}

/// What is known of a step beside what its file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepClock {
    pub started: Option<Time>,
    /// The earliest time of the next try.
    pub not_before: Option<Time>,
    /// How often it failed since it was last completed or a person let it go on.
    pub failures: u32,
    /// Whether a person is asked about it.
    pub is_asked: bool,
}

/// Why a plan should be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplanCause {
    /// A step failed three times in a row.
    ThreeFailures,
    /// A step took twice as long as it should.
    TwiceAsLong,
    /// A step failed because the plan is wrong.
    Structural,
}

impl ReplanCause {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThreeFailures => "a step failed three times in a row",
            Self::TwiceAsLong => "a step took twice as long as it should",
            Self::Structural => "a step failed because the plan does not hold",
        }
    }
}

/// What was explored, decided or learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// As in `n12`.
    pub id: String,
    pub kind: NoteKind,
    pub text: String,
    pub at: Time,
    /// The commit that was checked out then.
    pub commit: Option<String>,
    pub files: Vec<NotedFile>,
}

/// A file that a note is about, as it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedFile {
    /// Below the project's root.
    pub path: String,
    /// None: there was no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Memory {
    /// Nothing is remembered.
    pub const fn none() -> Self {
        Self {
            is_open: false,
            current: None,
            pending: Vec::new(),
            history: History::none(),
            numbers: BTreeMap::new(),
            updated_at: Time::from_millis(0),
            notes: Vec::new(),
            notes_made: 0,
            documents: BTreeMap::new(),
        }
    }

    /// Whether files show it.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn current(&self) -> Option<&KeptTask> {
        self.current.as_ref()
    }

    /// Tasks that wait for the current one to end, oldest first.
    pub fn pending(&self) -> &[KeptTask] {
        &self.pending
    }

    /// The task that was made last of those that have not ended.
    pub fn newest(&self) -> Option<&KeptTask> {
        self.pending.last().or(self.current.as_ref())
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// The newest notes, oldest first.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The hash of a document as it was written last through Waypost.
    pub fn document_hash(&self, file: &str) -> Option<&str> {
        self.documents.get(file).map(String::as_str)
    }

    /// The current task and those that wait.
    pub fn tasks(&self) -> impl Iterator<Item = &KeptTask> {
        self.current.iter().chain(&self.pending)
    }

    pub fn task(&self, id: &MemoryTaskId) -> Option<&KeptTask> {
        self.tasks().find(|kept| kept.task.id == *id)
    }

    pub(super) fn task_mut(&mut self, id: &MemoryTaskId) -> Option<&mut KeptTask> {
        self.current.iter_mut().chain(&mut self.pending).find(|kept| kept.task.id == *id)
    }

    /// Tasks here that the history says have ended: one of the two files is older than the other.
    pub fn contradictions(&self) -> impl Iterator<Item = &MemoryTaskId> {
        let ids = self.tasks().map(|kept| &kept.task.id);
        ids.filter(|id| self.history.entry(id).is_some())
    }

    /// The id of the next task of a day.
    pub(super) fn next_id(&self, now: Time) -> MemoryTaskId {
        let number = self.numbers.get(&now.day()).copied().unwrap_or(0) + 1;
        task_id(now, number)
    }

    /// Counts an id that is given out or was found.
    pub(super) fn count_id(&mut self, id: &MemoryTaskId) {
        let Some((day, number)) = day_and_number(id) else { return };
        let highest = self.numbers.entry(day).or_default();
        *highest = number.max(*highest);
        while self.numbers.len() > DAYS_COUNTED {
            self.numbers.pop_first();
        }
    }

    pub(super) fn keep_note(&mut self, event: &Event, at: Time) {
        let Event::Noted { id, kind, text, commit, files } = event else { return };
        self.notes_made += 1;
        self.notes.push(Note {
            id: id.clone(),
            kind: *kind,
            text: text.clone(),
            at,
            commit: commit.clone(),
            files: files.clone(),
        });
        let excess = self.notes.len().saturating_sub(NOTES_MAX);
        self.notes.drain(..excess);
    }
}

/// `task-2026-11-17-001`; four digits after 999.
fn task_id(now: Time, number: u32) -> MemoryTaskId {
    let text = format!("task-{}-{number:03}", day_text(now));
    text.parse().expect("a day and a number make an id")
}

/// `2026-11-17`, in UTC.
pub(super) fn day_text(now: Time) -> String {
    now.day().to_string().chars().take(10).collect()
}

/// The day of an id, and its number.
pub(super) fn day_and_number(id: &MemoryTaskId) -> Option<(Time, u32)> {
    let rest = id.as_str().strip_prefix("task-")?;
    let (day, number) = rest.split_at_checked(10)?;
    let day = format!("{day}T00:00:00Z").parse().ok()?;
    let crate::time::Stamp::At(day) = day else { return None };
    Some((day, number.strip_prefix('-')?.parse().ok()?))
}

impl KeptTask {
    pub(super) fn new(task: MemoryTask, started: Option<Time>) -> Self {
        let highest_step = task.plan.steps.iter().map(|step| step.id).max().unwrap_or(0);
        let mut kept = Self { task, started, clocks: BTreeMap::new(), replan: None, highest_step };
        kept.point_at_current_step();
        kept
    }

    pub fn step(&self, id: u32) -> Option<&Step> {
        self.task.plan.steps.iter().find(|step| step.id == id)
    }

    pub(super) fn step_mut(&mut self, id: u32) -> Option<&mut Step> {
        self.task.plan.steps.iter_mut().find(|step| step.id == id)
    }

    pub fn clock(&self, step: u32) -> StepClock {
        self.clocks.get(&step).copied().unwrap_or_default()
    }

    pub(super) fn clock_mut(&mut self, step: u32) -> &mut StepClock {
        self.clocks.entry(step).or_default()
    }

    /// How many steps are completed, and how many there are.
    pub fn progress(&self) -> (u32, u32) {
        let steps = &self.task.plan.steps;
        let completed = steps.iter().filter(|step| step.status == StepStatus::Completed).count();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (count(completed), count(steps.len()))
    }

    /// Steps that are not completed, in order.
    pub fn open_steps(&self) -> impl Iterator<Item = &Step> {
        self.task.plan.steps.iter().filter(|step| step.status != StepStatus::Completed)
    }

    /// Steps that `step` waits for.
    pub fn waits_for(&self, step: &Step) -> Vec<u32> {
        let is_completed =
            |id: &u32| self.step(*id).is_some_and(|it| it.status == StepStatus::Completed);
        step.dependencies.iter().copied().filter(|id| !is_completed(id)).collect()
    }

    /// The lowest step in progress, else the lowest unfinished, else none.
    pub(super) fn point_at_current_step(&mut self) {
        let lowest = |is_wanted: fn(StepStatus) -> bool| {
            let steps = self.task.plan.steps.iter().filter(|step| is_wanted(step.status));
            steps.map(|step| step.id).min()
        };
        self.task.plan.current_step = lowest(|status| status == StepStatus::InProgress)
            .or_else(|| lowest(|status| status != StepStatus::Completed));
    }
}
