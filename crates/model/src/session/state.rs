//! How a session stands.

use super::{
    call::Call,
    gate::Gate,
    topic::Hold,
    words::{Assumption, Lead, Look, PlannedBrief, PlannedSessionTask, ProjectFacts},
};
use crate::{
    document::{
        RequestId, SessionTaskId, SubtaskId,
        session::{
            GateStatus, GlobalPhase, Manifest, SessionStatus, Status, SubtaskGates, SubtaskPhase,
        },
    },
    ordered::Ordered,
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sessions of one repository: the present one, and what its last request has come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub(super) facts: Option<SessionFacts>,
    pub(super) request: Option<RequestState>,
    /// The highest number of a session and of a request so far.
    pub(super) sessions: u32,
    pub(super) requests: u32,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Which one it is, from 1.
    pub number: u32,
    pub project: ProjectFacts,
    pub manifest: Manifest,
    pub status: SessionStatus,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A request and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestState {
    pub id: RequestId,
    pub text: String,
    pub status: SessionStatus,
    pub phase: GlobalPhase,
    pub current_task: Option<SessionTaskId>,
    pub since: Time,
    /// In the order in which they are done.
    pub tasks: Ordered<SessionTaskId, SessionTaskState>,
    /// The fingerprint of the plan that holds.
    pub plan: Option<String>,
    /// The fingerprint of the plan that was sent back last.
    pub sent_back: Option<String>,
    /// How often a plan was sent back.
    pub plans_wrong: u32,
    /// The planner is not called again before.
    pub not_before: Option<Time>,
    pub assumptions: Vec<Assumption>,
    /// Why the plan that was sent back could not be worked on.
    #[serde(default)]
    pub plan_faults: Vec<String>,
    /// Briefs that were written for plans that were sent back.
    #[serde(default)]
    pub stale_briefs: Vec<PlannedBrief>,
    pub calls: BTreeMap<Call, CallClock>,
    /// What waits for a person.
    pub held: Vec<HeldUp>,
    /// How often something was tried again.
    pub retries: u32,
    pub lessons: Vec<String>,
    /// Where its work is brought together; none: its tasks are worked on in the project's own work tree.
    pub trees: Option<RequestTrees>,
}

/// The work trees of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTrees {
    /// The branch that everything is merged into in the end.
    pub target: String,
    /// The commit that the request's branch was made from.
    pub base: Option<String>,
    pub landed: Option<JoinedWork>,
    /// Everything is merged, and no tree is left.
    pub is_closed: bool,
}

/// The work tree of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTree {
    /// Which one of the task's it is, from 1.
    pub number: u32,
    /// The commit that it was made from.
    pub base: String,
    pub joined: Option<JoinedWork>,
}

/// Work that is merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedWork {
    /// The commit by which it is; none: nothing was changed.
    pub commit: Option<String>,
}

/// What a gate leaves open, for the work that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGate {
    /// How often gates of the subtask have left something open, this time among them.
    pub number: u32,
    pub gate: Gate,
    pub work: String,
    pub points: Vec<String>,
}

/// How the calls of an agent went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallClock {
    /// How many failed in a row.
    pub failures: u32,
    pub not_before: Option<Time>,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldUp {
    pub hold: Hold,
    /// Where it leads to when that one lets it go on.
    pub lead: Lead,
    pub why: String,
}

/// A task and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTaskState {
    pub name: String,
    pub status: Status,
    pub current_subtask: Option<SubtaskId>,
    /// In the order in which they are done.
    pub subtasks: Ordered<SubtaskId, SubtaskState>,
    pub created_at: Time,
    pub updated_at: Time,
    /// The fingerprint of the design that was taken up last.
    pub design: Option<String>,
    /// How often a gate sent it back to its design.
    pub redesigns: u32,
    /// The last work tree that it had.
    pub tree: Option<TaskTree>,
}

/// A subtask and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubtaskState {
    pub name: String,
    pub status: Status,
    pub phase: SubtaskPhase,
    pub gates: SubtaskGates,
    /// The commit that has the tree as it was when it began.
    pub base: Option<String>,
    /// What each gate was last looked at.
    pub looks: BTreeMap<Gate, Look>,
    /// Gates that a person has passed, by entries that do not say for which work.
    pub overridden: Vec<Gate>,
    /// The work that a person has passed a gate for the last time.
    #[serde(default)]
    pub overrides: BTreeMap<Gate, String>,
    /// The work that was sent back by its tests: it does not pass anything before it has changed.
    pub sent_back: Option<String>,
    pub tries: SubtaskTries,
    /// No gate is looked at before.
    pub not_before: Option<Time>,
    /// Why a gate did not hold the last time.
    pub faults: Vec<String>,
    /// What a report has to confirm before a gate is passed.
    pub open: Option<OpenGate>,
    /// How often there was such a thing.
    pub opened: u32,
    /// The fingerprints of the reports that were taken.
    #[serde(default)]
    pub reports: Vec<String>,
}

/// How often something of a subtask was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskTries {
    /// Failures of each gate since it last passed.
    pub gates: BTreeMap<Gate, u32>,
    /// Failures of gates that have passed since.
    #[serde(default)]
    pub overcome: u32,
    /// Failed runs of the tests.
    pub test_runs: u32,
    /// Returns to the tests because they were wrong.
    pub test_rewrites: u32,
}

impl Session {
    /// Nothing has begun.
    pub const fn none() -> Self {
        Self { facts: None, request: None, sessions: 0, requests: 0 }
    }

    /// The newest session, whether it goes on or not.
    pub fn facts(&self) -> Option<&SessionFacts> {
        self.facts.as_ref()
    }

    /// The newest request, whether it goes on or not.
    pub fn request(&self) -> Option<&RequestState> {
        self.request.as_ref()
    }

    /// Whether a session goes on.
    pub fn is_active(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.status == SessionStatus::Active)
    }

    /// The request that is worked on.
    pub fn active_request(&self) -> Option<&RequestState> {
        let request = self.request.as_ref().filter(|_| self.is_active())?;
        (request.status == SessionStatus::Active).then_some(request)
    }

    /// The highest number of a request so far.
    pub fn requests(&self) -> u32 {
        self.requests
    }
}

impl RequestState {
    pub(super) fn new(id: RequestId, text: String, at: Time) -> Self {
        Self {
            id,
            text,
            status: SessionStatus::Active,
            phase: GlobalPhase::GlobalDiscovery,
            current_task: None,
            since: at,
            tasks: Ordered::new(),
            plan: None,
            sent_back: None,
            plans_wrong: 0,
            not_before: None,
            assumptions: Vec::new(),
            plan_faults: Vec::new(),
            stale_briefs: Vec::new(),
            calls: BTreeMap::new(),
            held: Vec::new(),
            retries: 0,
            lessons: Vec::new(),
            trees: None,
        }
    }

    /// Whether a brief was written for another task of this id, in a plan that was sent back.
    pub fn is_stale_brief(&self, task: &PlannedSessionTask, brief: &str) -> bool {
        let mut known =
            self.stale_briefs.iter().filter(|it| it.brief == brief && it.task.id == task.id);
        let is_of_other = known.next().is_some();
        is_of_other && !self.stale_briefs.iter().any(|it| it.brief == brief && it.task == *task)
    }

    /// The task that is in progress.
    pub fn current(&self) -> Option<(&SessionTaskId, &SessionTaskState)> {
        let id = self.current_task.as_ref()?;
        Some((id, self.tasks.get(id)?))
    }

    /// The subtask that is in progress, with its task; none while a task is in design.
    pub fn at_work(&self) -> Option<(&SessionTaskId, &SubtaskId, &SubtaskState)> {
        let (id, task) = self.current()?;
        let subtask = task.current_subtask.as_ref()?;
        Some((id, subtask, task.subtasks.get(subtask)?))
    }

    /// The task that is in design.
    pub fn in_design(&self) -> Option<(&SessionTaskId, &SessionTaskState)> {
        self.current().filter(|(_, task)| task.current_subtask.is_none())
    }

    pub fn subtask(&self, id: &SubtaskId) -> Option<&SubtaskState> {
        self.tasks.values().find_map(|task| task.subtasks.get(id))
    }

    /// The task that a subtask belongs to.
    pub fn owner(&self, id: &SubtaskId) -> Option<&SessionTaskId> {
        let owner = self.tasks.iter().find(|(_, task)| task.subtasks.contains_key(id));
        owner.map(|(id, _)| id)
    }

    pub fn held(&self, hold: &Hold) -> Option<&HeldUp> {
        self.held.iter().find(|it| it.hold == *hold)
    }

    /// How many subtasks are completed, and how many there are.
    pub fn progress(&self) -> (u32, u32) {
        let all = self.tasks.values().flat_map(|task| task.subtasks.values());
        let (mut completed, mut total) = (0, 0);
        for subtask in all {
            total += 1;
            completed += u32::from(subtask.status == Status::Completed);
        }
        (completed, total)
    }

    /// When an agent may be called again.
    pub fn call_clock(&self, call: &Call) -> CallClock {
        self.calls.get(call).copied().unwrap_or_default()
    }

    pub(super) fn task_mut(&mut self, id: &SessionTaskId) -> Option<&mut SessionTaskState> {
        self.tasks.get_mut(id)
    }

    pub(super) fn subtask_mut(&mut self, id: &SubtaskId) -> Option<&mut SubtaskState> {
        let owner = self.owner(id)?.clone();
        self.tasks.get_mut(&owner)?.subtasks.get_mut(id)
    }
}

impl SessionTaskState {
    pub(super) fn new(name: String, at: Time) -> Self {
        Self {
            name,
            status: Status::Pending,
            current_subtask: None,
            subtasks: Ordered::new(),
            created_at: at,
            updated_at: at,
            design: None,
            redesigns: 0,
            tree: None,
        }
    }

    /// The subtask that has begun and is not completed, else the first that has not begun.
    pub(super) fn next_subtask(&self) -> Option<(&SubtaskId, &SubtaskState)> {
        let with = |status| self.subtasks.iter().find(|(_, subtask)| subtask.status == status);
        with(Status::InProgress).or_else(|| with(Status::Pending))
    }

    pub fn is_done(&self) -> bool {
        let mut all = self.subtasks.values();
        !self.subtasks.is_empty() && all.all(|subtask| subtask.status == Status::Completed)
    }
}

impl SubtaskState {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            status: Status::Pending,
            phase: SubtaskPhase::TestFirst,
            gates: all_pending(),
            base: None,
            looks: BTreeMap::new(),
            overridden: Vec::new(),
            overrides: BTreeMap::new(),
            sent_back: None,
            tries: SubtaskTries::default(),
            not_before: None,
            faults: Vec::new(),
            open: None,
            opened: 0,
            reports: Vec::new(),
        }
    }

    /// The gates that lead on from its phase, in their order.
    pub fn due(&self) -> &'static [Gate] {
        match self.phase {
            SubtaskPhase::TestFirst => &[Gate::Gate1],
            SubtaskPhase::Implementation => &[Gate::Gate3, Gate::Gate4],
            SubtaskPhase::Verification => &[Gate::Gate3, Gate::Gate4, Gate::Gate2],
            SubtaskPhase::Complete => &[],
        }
    }

    /// Whether a gate is passed for this work.
    pub fn has_passed(&self, gate: Gate, work: &str) -> bool {
        let is_of = self.looks.get(&gate).is_some_and(|look| look.work == work);
        let is_passed = status_of(&self.gates, gate) == Some(GateStatus::Passed);
        let by_person = self.overridden.contains(&gate) || self.is_overridden(gate, work);
        is_passed && (is_of || by_person)
    }

    /// Whether a person has passed a gate for this work.
    pub fn is_overridden(&self, gate: Gate, work: &str) -> bool {
        self.overrides.get(&gate).is_some_and(|known| known == work)
    }
}

pub(super) fn all_pending() -> SubtaskGates {
    let pending = Some(GateStatus::Pending);
    SubtaskGates {
        tests_written: pending,
        tests_pass: pending,
        in_scope: pending,
        design_kept: pending,
    }
}

/// How a gate stands, as the file has it.
pub(super) fn status_of(gates: &SubtaskGates, gate: Gate) -> Option<GateStatus> {
    match gate {
        Gate::Gate1 => gates.tests_written,
        Gate::Gate2 => gates.tests_pass,
        Gate::Gate3 => gates.in_scope,
        Gate::Gate4 => gates.design_kept,
    }
}

pub(super) fn set_status(gates: &mut SubtaskGates, gate: Gate, status: GateStatus) {
    let place = match gate {
        Gate::Gate1 => &mut gates.tests_written,
        Gate::Gate2 => &mut gates.tests_pass,
        Gate::Gate3 => &mut gates.in_scope,
        Gate::Gate4 => &mut gates.design_kept,
    };
    *place = Some(status);
}
