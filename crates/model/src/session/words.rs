//! What can be wanted of a session, and what can have happened to it.

use super::{
    call::Call,
    gate::{FailureKind, Gate, GateFinding},
    topic::Hold,
};
use crate::{
    actor::Actor,
    document::{
        ProjectHash, RequestId, SessionTaskId, SubtaskId,
        session::{Manifest, SessionFile, SessionState as StateFile, SubtaskPhase},
    },
    time::Time,
};
use serde::{Deserialize, Serialize};

/// What an actor wants of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Begins a session; while one is active, what is known of its project is noted again.
    Start {
        project: ProjectFacts,
        manifest: Manifest,
    },
    /// Files that were found without a journal become the beginning. `base` is the tree as it is.
    TakeOver {
        session: Box<SessionFile>,
        state: Option<Box<StateFile>>,
        base: Option<String>,
    },
    /// A request of the user's. It gets the next number, one above `above` at least.
    Request {
        text: String,
        stop_current: bool,
        above: u32,
    },
    /// What the planner has written, with what became of its assumptions.
    Plan {
        draft: Box<PlanDraft>,
    },
    /// A task has a design contract that holds, by its fingerprint. `base` is the tree as it is.
    Design {
        task: SessionTaskId,
        contract: String,
        base: Option<String>,
    },
    /// A gate was looked at. `base` is the tree as it is, with which the next subtask would begin.
    Judge {
        subtask: SubtaskId,
        finding: Box<GateFinding>,
        look: Look,
        base: Option<String>,
    },
    /// By a person: a gate is passed without evidence, for this work.
    Override {
        subtask: SubtaskId,
        gate: Gate,
        reason: String,
        work: Option<String>,
        base: Option<String>,
    },
    /// By Waypost: the tasks of the request are worked on in work trees, for this branch.
    SetApart {
        target: String,
    },
    /// By Waypost: a task has a work tree, made from this commit.
    PlaceTask {
        task: SessionTaskId,
        base: String,
    },
    /// By Waypost: the work of a task is in the request's branch by this commit, or why it is not.
    JoinTask {
        task: SessionTaskId,
        result: Result<Option<String>, String>,
    },
    /// By Waypost: the request's branch is in the target by this commit, or why it is not.
    Land {
        result: Result<Option<String>, String>,
    },
    /// By Waypost: the trees of a request whose work is merged are gone.
    CloseTrees,
    /// An agent came to nothing.
    FailCall {
        call: Call,
        why: String,
    },
    /// An agent has written what it was called for.
    EndCall {
        call: Call,
    },
    /// By a person: what is held goes on, counting from zero.
    Retry {
        hold: Hold,
    },
    /// A session that was stopped goes on; what lacks a contract goes back.
    Resume {
        missing: Vec<MissingContract>,
    },
    /// What follows by itself: a task is over, the next one begins.
    GoOn,
    Rename {
        what: Named,
        name: String,
    },
    /// What the session's file says of its project and nothing follows from.
    Amend {
        name: Option<String>,
        manifest: Option<Manifest>,
    },
    /// The project has another path now.
    Relocate {
        project: ProjectFacts,
    },
    /// Ends the session, and its request, before everything is done.
    Stop,
    /// Ends a session whose request is complete.
    Complete,
}

/// Where a project is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectFacts {
    /// Absolute.
    pub path: String,
    pub name: String,
    pub hash: ProjectHash,
}

/// A plan as it was found in the contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDraft {
    /// The fingerprint of `task-breakdown.yaml`.
    pub contract: String,
    /// In the order in which they are done.
    pub tasks: Vec<PlannedSessionTask>,
    pub assumptions: Vec<Assumption>,
    /// The briefs that were written for its tasks.
    pub briefs: Vec<PlannedBrief>,
}

/// A brief, and the task that it was written for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedBrief {
    pub task: PlannedSessionTask,
    /// The fingerprint of `design-brief.yaml`.
    pub brief: String,
}

/// A task of a plan, with its subtasks in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSessionTask {
    pub id: SessionTaskId,
    pub name: String,
    pub subtasks: Vec<(SubtaskId, String)>,
}

/// What the planner took for granted, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumption {
    pub text: String,
    pub verdict: AssumptionFate,
    /// How that was found out.
    pub how: String,
}

/// What became of an assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssumptionFate {
    Held,
    Wrong,
    Unknown,
}

impl AssumptionFate {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Held, Self::Wrong, Self::Unknown].into_iter().find(|it| it.as_str() == word)
    }
}

/// What a gate was looked at: a second look at the same changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The content of the work tree, as git names it; none where there is no git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The fingerprint of the tree with the design and the tests that were agreed on.
    pub work: String,
    /// The fingerprint of all that with everything else that was read.
    pub inputs: String,
    /// The fingerprint of the contract that an agent has written for this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The fingerprint of the report that has confirmed what was left open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// A contract that something in progress cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingContract {
    /// `explored.yaml`, `task-breakdown.yaml` or a `design-brief.yaml`.
    Plan,
    /// The `design-contract.yaml` of a task.
    Design { task: SessionTaskId },
    /// The `test-contract.yaml` of a subtask.
    Tests { subtask: SubtaskId },
}

/// What has a name that may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    Task { task: SessionTaskId },
    Subtask { subtask: SubtaskId },
}

/// Where a gate that does not hold leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lead {
    /// The same phase once more.
    Stay,
    Implementation,
    TestFirst,
    /// The design of the task.
    Design,
}

/// What has happened to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A session has begun, with its number.
    Started {
        number: u32,
        project: ProjectFacts,
        manifest: Manifest,
    },
    TakenOver {
        session: Box<SessionFile>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<StateFile>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
    },
    Amended {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manifest: Option<Manifest>,
    },
    Relocated {
        project: ProjectFacts,
    },
    Stopped,
    Completed,
    /// It was stopped and goes on; so does its request, if it has one.
    Resumed,
    RequestMade {
        #[serde(rename = "id")]
        request: RequestId,
        text: String,
    },
    RequestStopped {
        #[serde(rename = "id")]
        request: RequestId,
    },
    RequestCompleted {
        #[serde(rename = "id")]
        request: RequestId,
    },
    /// Too many assumptions were wrong, or it is no plan that could be worked on.
    PlanSentBack {
        #[serde(rename = "id")]
        request: RequestId,
        contract: String,
        assumptions: Vec<Assumption>,
        /// Why it could not be worked on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String>,
        /// The briefs that were written for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        briefs: Vec<PlannedBrief>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
    },
    /// The tasks are known; those that were before keep how far they are.
    Planned {
        #[serde(rename = "id")]
        request: RequestId,
        contract: String,
        tasks: Vec<PlannedSessionTask>,
        assumptions: Vec<Assumption>,
    },
    /// A contract that the plan stands on is gone.
    DiscoveryReopened {
        #[serde(rename = "id")]
        request: RequestId,
    },
    TaskBegun {
        #[serde(rename = "id")]
        task: SessionTaskId,
    },
    Designed {
        #[serde(rename = "id")]
        task: SessionTaskId,
        contract: String,
    },
    /// The design is to be made again; the subtask goes on after it.
    DesignReopened {
        #[serde(rename = "id")]
        task: SessionTaskId,
        subtask: SubtaskId,
    },
    /// The design contract is gone; the task is in design again.
    DesignLost {
        #[serde(rename = "id")]
        task: SessionTaskId,
    },
    TaskCompleted {
        #[serde(rename = "id")]
        task: SessionTaskId,
    },
    SubtaskBegun {
        #[serde(rename = "id")]
        subtask: SubtaskId,
        /// The commit that has the tree as it was then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<String>,
    },
    /// After a new design.
    SubtaskResumed {
        #[serde(rename = "id")]
        subtask: SubtaskId,
    },
    /// The test contract is gone; the subtask is in test_first again.
    TestsLost {
        #[serde(rename = "id")]
        subtask: SubtaskId,
    },
    PhaseMoved {
        #[serde(rename = "id")]
        subtask: SubtaskId,
        to: SubtaskPhase,
    },
    SubtaskCompleted {
        #[serde(rename = "id")]
        subtask: SubtaskId,
    },
    GatePassed {
        #[serde(rename = "id")]
        subtask: SubtaskId,
        gate: Gate,
        look: Look,
        evidence: Vec<String>,
    },
    GateOverridden {
        #[serde(rename = "id")]
        subtask: SubtaskId,
        gate: Gate,
        by: Actor,
        reason: String,
        /// What it was passed for; none in entries of earlier versions: whatever there is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<String>,
    },
    GateFailed {
        #[serde(rename = "id")]
        subtask: SubtaskId,
        gate: Gate,
        look: Look,
        faults: Vec<String>,
        evidence: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<FailureKind>,
        /// None: a person is asked first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
    },
    /// Nothing is wrong with it, and a report has to confirm the rest.
    GateLeftOpen {
        #[serde(rename = "id")]
        subtask: SubtaskId,
        gate: Gate,
        look: Look,
        points: Vec<String>,
    },
    /// The tasks of the request are worked on in work trees.
    SetApart {
        #[serde(rename = "id")]
        request: RequestId,
        /// The branch that everything is merged into in the end.
        target: String,
    },
    TaskPlaced {
        #[serde(rename = "id")]
        task: SessionTaskId,
        /// Which tree of the task's it is.
        number: u32,
        /// The commit that it was made from.
        base: String,
    },
    TaskJoined {
        #[serde(rename = "id")]
        task: SessionTaskId,
        /// None: nothing was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    RequestLanded {
        #[serde(rename = "id")]
        request: RequestId,
        /// None: there was nothing to merge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    TreesClosed {
        #[serde(rename = "id")]
        request: RequestId,
    },
    CallFailed {
        call: Call,
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
    },
    CallEnded {
        call: Call,
    },
    /// It waits for a person; where it leads to when that one lets it go on.
    Escalated {
        hold: Hold,
        lead: Lead,
        why: String,
    },
    Retried {
        hold: Hold,
    },
    Renamed {
        what: Named,
        name: String,
    },
}
