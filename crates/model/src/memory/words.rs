//! What can be wanted of the memory, and what can have happened to it.

use super::state::{NotedFile, ReplanCause};
use crate::{
    document::{
        MemoryTaskId,
        memory::{Artifact, HistoryEntry, Issue, MemoryTask, Step, TaskHistory, TaskState},
    },
    json::{Json, OpenMap},
    memory::FinishedWork,
    retry::FailureClass,
    time::Time,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an actor wants of the memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// From here on the state is shown in files.
    Open,
    /// Files that were found without a journal become the beginning.
    TakeOver {
        state: Box<TaskState>,
        history: Box<TaskHistory>,
    },
    /// By a person: what a backup says takes the place of what is.
    Restore {
        state: Option<Box<TaskState>>,
        history: Option<Box<TaskHistory>>,
    },
    NewTask {
        draft: Box<TaskDraft>,
    },
    /// Without an id the current task is meant.
    Task {
        id: Option<MemoryTaskId>,
        act: TaskAct,
    },
    /// Adds a step to a task; without an id the current one is meant.
    AddStep {
        task: Option<MemoryTaskId>,
        draft: Box<StepDraft>,
    },
    Step {
        task: Option<MemoryTaskId>,
        step: u32,
        act: StepAct,
    },
    /// By a machine of ours: something has ended that becomes an entry of the history.
    Record {
        work: Box<FinishedWork>,
    },
    Note {
        kind: NoteKind,
        text: String,
        commit: Option<String>,
        files: Vec<NotedFile>,
    },
    /// A document was written; its path below the memory's folder and its hash.
    NoteDocument {
        file: String,
        hash: String,
    },
    /// Applies what is kept of the history, as every write of it does.
    Prune,
    /// Takes out tasks that the history says have ended.
    Mend,
}

/// What can be done with a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskAct {
    Start,
    Pause,
    Resume,
    Fail {
        message: String,
    },
    Recover {
        how: String,
    },
    /// It is no longer wanted.
    Cancel {
        ending: Ending,
    },
    /// It has failed, and that is its end.
    Close {
        ending: Ending,
    },
    /// With `partial`, steps may be left undone.
    Complete {
        partial: bool,
        ending: Ending,
    },
    /// Drops the steps that have not begun or have failed; what is finished stays.
    Replan,
    Amend {
        amendment: Box<Amendment>,
    },
}

/// What can be done with a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepAct {
    Start,
    Complete {
        output: Json,
        artifacts: Vec<Artifact>,
    },
    Fail {
        failure: StepFailure,
    },
    /// With another agent, where one is named.
    Retry {
        agent: Option<String>,
    },
    Escalate {
        why: String,
    },
    SetOutput {
        output: Json,
    },
    /// By what the step is to be, while it is not completed.
    Change {
        draft: Box<StepDraft>,
    },
    Remove,
    /// By Waypost: it has taken twice as long as it should.
    Overdue,
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFailure {
    pub class: FailureClass,
    pub message: String,
    /// Steps that have to be completed first, where something is missing that it stands on.
    pub needs: Vec<u32>,
}

/// A task before it has an id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskDraft {
    /// As an agent has written it into the file; none: the next of the day.
    pub id: Option<MemoryTaskId>,
    pub name: String,
    pub goal: String,
    pub success_criteria: Vec<String>,
    /// Who leads it; none: `orchestrator`.
    pub orchestrator: Option<String>,
    pub context: OpenMap,
}

/// A step before it has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDraft {
    /// None: the next.
    pub id: Option<u32>,
    pub name: String,
    pub agent: Option<String>,
    pub cluster: Option<String>,
    pub dependencies: Vec<u32>,
    pub expected_seconds: Option<u64>,
}

/// What is said of a task at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending {
    /// Empty: it is told from the steps.
    pub summary: String,
    pub lessons: Vec<String>,
    /// Beside those that the task has already.
    pub artifacts: Vec<Artifact>,
    pub tokens_used: u64,
}

/// What changes about a task without moving it; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amendment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orchestrator: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<OpenMap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
}

/// What a note is about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// What was found.
    #[default]
    Exploration,
    /// What was decided, and why.
    Decision,
    /// What to do another time, or not.
    Lesson,
}

impl NoteKind {
    pub const ALL: [Self; 3] = [Self::Exploration, Self::Decision, Self::Lesson];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exploration => "exploration",
            Self::Decision => "decision",
            Self::Lesson => "lesson",
        }
    }
}

/// What has happened. `id` is always that of a task, but for notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Opened,
    TakenOver {
        state: Box<TaskState>,
        history: Box<TaskHistory>,
    },
    Restored {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<TaskState>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        history: Option<Box<TaskHistory>>,
    },
    /// It is current if none was, else it waits.
    TaskMade {
        id: MemoryTaskId,
        task: Box<MemoryTask>,
    },
    TaskStarted {
        id: MemoryTaskId,
    },
    TaskPaused {
        id: MemoryTaskId,
    },
    TaskResumed {
        id: MemoryTaskId,
    },
    TaskFailed {
        id: MemoryTaskId,
        message: String,
    },
    TaskRecovered {
        id: MemoryTaskId,
        how: String,
    },
    TaskAmended {
        id: MemoryTaskId,
        amendment: Box<Amendment>,
    },
    /// Completed, closed or cancelled: it is in the history, and the next one is current.
    TaskEnded {
        id: MemoryTaskId,
        entry: Box<HistoryEntry>,
    },
    /// The plan should be made again from here.
    ReplanCalled {
        id: MemoryTaskId,
        step: u32,
        cause: ReplanCause,
    },
    Replanned {
        id: MemoryTaskId,
    },
    StepAdded {
        id: MemoryTaskId,
        step: Box<Step>,
    },
    StepChanged {
        id: MemoryTaskId,
        step: u32,
        to: Box<StepDraft>,
    },
    StepRemoved {
        id: MemoryTaskId,
        step: u32,
    },
    StepStarted {
        id: MemoryTaskId,
        step: u32,
    },
    StepCompleted {
        id: MemoryTaskId,
        step: u32,
        #[serde(default)]
        output: Json,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
    },
    OutputSet {
        id: MemoryTaskId,
        step: u32,
        output: Json,
    },
    /// `not_before`: the earliest time of the next try, where there is one.
    StepFailed {
        id: MemoryTaskId,
        step: u32,
        class: FailureClass,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        needs: Vec<u32>,
    },
    /// `afresh`: by a person, after it was escalated; retries count from zero again.
    StepRetried {
        id: MemoryTaskId,
        step: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        afresh: bool,
    },
    StepEscalated {
        id: MemoryTaskId,
        step: u32,
        why: String,
    },
    /// What another machine has finished. An earlier entry of the same source is replaced.
    Recorded {
        id: MemoryTaskId,
        source: String,
        entry: Box<HistoryEntry>,
    },
    Noted {
        id: String,
        kind: NoteKind,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<NotedFile>,
    },
    DocumentNoted {
        file: String,
        hash: String,
    },
    Pruned,
    /// A task was taken out because the history has its end.
    TaskDropped {
        id: MemoryTaskId,
    },
}
