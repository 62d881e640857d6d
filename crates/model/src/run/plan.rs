//! What a run is to do: the tasks of TASKS.md with their phases and dependencies.
//!
//! A plan that exists is sound: ids are unique, dependencies exist, and no task waits for itself.

use crate::{
    id::TaskId,
    paged::{Counted, Paged},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The tasks of one TASKS.md in the order in which they stand there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub project: String,
    /// Number and name of each phase, ascending by number.
    pub phases: BTreeMap<u32, String>,
    /// A copy of the plan shares them: a command, its event and the state hold the same tasks.
    pub tasks: Arc<Paged<PlannedTask>>,
    /// The file it was read from, where it was read from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PlanSource>,
}

/// Where a plan was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSource {
    /// Relative to the project where it lies inside.
    pub path: String,
    /// SHA-256 of the file, to see whether it has changed.
    pub hash: String,
}

/// One task as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    pub id: TaskId,
    pub title: String,
    pub phase: u32,
    pub depends: Depends,
    /// Whether its box was ticked (`[x]` or `✅`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub ticked: bool,
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// The line of TASKS.md on which it starts, from 1.
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depends {
    /// Nothing was stated: every task of the phase before.
    PhaseBefore,
    /// Exactly these; empty when the file says `none`, `-` or `없음`.
    On(Vec<TaskId>),
}

/// How urgent a task is among those that are ready; ties go to the one that stands first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

impl Priority {
    /// The priority's word, the same as serde's.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Low, Self::Normal, Self::High, Self::Critical]
            .into_iter()
            .find(|it| it.word() == word)
    }

    /// The one that `as` makes this number.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        [Self::Low, Self::Normal, Self::High, Self::Critical].get(usize::from(number)).copied()
    }

    fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

/// The fields of a task that most tasks do not have. Texts do not grow, so they have no room to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The task's text below its heading, as written, for the agent that works on it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub body: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Box<str>>,
    /// spec-kit's `[P]`, or the field: may run beside its neighbours.
    #[serde(skip_serializing_if = "is_false")]
    pub parallel: bool,
    /// spec-kit's `[US1]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Box<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Box<str>>,
    /// Commands that must all pass before the task counts as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// What the `shell` agent runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_cents: Option<u64>,
}

/// Why a list of tasks is not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("{id} is defined twice, first on line {first_line}")]
    Duplicate { id: TaskId, line: u32, first_line: u32 },
    #[error("{id} depends on {missing}, which is not in the file")]
    Missing { id: TaskId, line: u32, missing: TaskId },
    #[error("{} wait for each other: {}", if cycle.len() == 2 { "a task and itself" } else { "these tasks" }, arrows(cycle))]
    Circular { line: u32, cycle: Vec<TaskId> },
    #[error(
        "{id} of phase {phase} depends on {later} of phase {later_phase}, which starts only afterwards"
    )]
    LaterPhase { id: TaskId, line: u32, phase: u32, later: TaskId, later_phase: u32 },
}

impl PlanError {
    /// The stable code of spec and `resolve`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "DUPLICATE_ID",
            Self::Missing { .. } => "MISSING_DEP",
            // Phases run one after another, so waiting for a later one is waiting for itself.
            Self::Circular { .. } | Self::LaterPhase { .. } => "CIRCULAR_DEP",
        }
    }

    /// The line of TASKS.md to look at.
    pub fn line(&self) -> u32 {
        match self {
            Self::Duplicate { line, .. }
            | Self::Missing { line, .. }
            | Self::Circular { line, .. }
            | Self::LaterPhase { line, .. } => *line,
        }
    }
}

impl Plan {
    /// Checks that the tasks can be run in some order; returns every fault found.
    pub fn new(
        project: String,
        mut phases: BTreeMap<u32, String>,
        tasks: Vec<PlannedTask>,
    ) -> Result<Self, Vec<PlanError>> {
        let used: BTreeSet<u32> = tasks.iter().map(|task| task.phase).collect();
        phases.retain(|number, _| used.contains(number));
        for number in used {
            phases.entry(number).or_insert_with(|| format!("phase-{number}"));
        }
        let mut faults = Vec::new();
        let index = index_by_id(&tasks, &mut faults);
        check_dependencies(&tasks, &index, &mut faults);
        if faults.is_empty() {
            faults.extend(find_cycle(&tasks, &index));
        }
        if faults.is_empty() {
            Ok(Self { project, phases, tasks: Arc::new(tasks.into()), source: None })
        } else {
            Err(faults)
        }
    }
}

fn index_by_id<'a>(
    tasks: &'a [PlannedTask],
    faults: &mut Vec<PlanError>,
) -> HashMap<&'a str, usize> {
    let mut index = HashMap::with_capacity(tasks.len());
    for (position, task) in tasks.iter().enumerate() {
        if let Some(&first) = index.get(task.id.as_str()) {
            let first: &PlannedTask = &tasks[first];
            let id = task.id.clone();
            faults.push(PlanError::Duplicate { id, line: task.line, first_line: first.line });
        } else {
            index.insert(task.id.as_str(), position);
        }
    }
    index
}

fn check_dependencies(
    tasks: &[PlannedTask],
    index: &HashMap<&str, usize>,
    faults: &mut Vec<PlanError>,
) {
    for task in tasks {
        for wanted in task.stated() {
            let (id, line) = (task.id.clone(), task.line);
            match index.get(wanted.as_str()).map(|&position| &tasks[position]) {
                None => faults.push(PlanError::Missing { id, line, missing: wanted.clone() }),
                Some(other) if other.phase > task.phase => faults.push(PlanError::LaterPhase {
                    id,
                    line,
                    phase: task.phase,
                    later: other.id.clone(),
                    later_phase: other.phase,
                }),
                Some(_) => {}
            }
        }
    }
}

/// Finds one cycle by removing tasks that wait for nothing until none is left.
fn find_cycle(tasks: &[PlannedTask], index: &HashMap<&str, usize>) -> Option<PlanError> {
    let mut waits: Vec<usize> = tasks.iter().map(|task| task.stated().len()).collect();
    let mut dependents = vec![Vec::new(); tasks.len()];
    for (position, task) in tasks.iter().enumerate() {
        for wanted in task.stated() {
            dependents[index[wanted.as_str()]].push(position);
        }
    }
    let mut free: Vec<usize> = (0..tasks.len()).filter(|&at| waits[at] == 0).collect();
    while let Some(done) = free.pop() {
        for &dependent in &dependents[done] {
            waits[dependent] -= 1;
            if waits[dependent] == 0 {
                free.push(dependent);
            }
        }
    }
    let start = waits.iter().position(|&count| count > 0)?;
    Some(walk_cycle(tasks, index, &waits, start))
}

/// Follows dependencies among the tasks that were left until one comes up again.
fn walk_cycle(
    tasks: &[PlannedTask],
    index: &HashMap<&str, usize>,
    waits: &[usize],
    start: usize,
) -> PlanError {
    let (mut path, mut at) = (Vec::new(), start);
    let mut place_on_path = vec![None; tasks.len()];
    let first = loop {
        if let Some(first) = place_on_path[at] {
            break first;
        }
        place_on_path[at] = Some(path.len());
        path.push(at);
        let mut next = tasks[at].stated().iter().map(|wanted| index[wanted.as_str()]);
        at = next
            .find(|&next| waits[next] > 0)
            .expect("a task that was left waits for one that was left");
    };
    let mut cycle: Vec<TaskId> = path[first..].iter().map(|&at| tasks[at].id.clone()).collect();
    cycle.push(cycle[0].clone());
    PlanError::Circular { line: tasks[path[first]].line, cycle }
}

impl Plan {
    /// Whether both ask for the same work; ticks and line numbers do not count.
    pub fn is_same_work(&self, other: &Self) -> bool {
        let same_task = |(a, b): (&PlannedTask, &PlannedTask)| {
            (&a.id, &a.title, a.phase, &a.depends, a.priority, &a.details)
                == (&b.id, &b.title, b.phase, &b.depends, b.priority, &b.details)
        };
        self.project == other.project
            && self.phases == other.phases
            && self.tasks.len() == other.tasks.len()
            && self.tasks.iter().zip(other.tasks.iter()).all(same_task)
    }
}

/// Nothing is counted over planned tasks.
impl Counted for PlannedTask {}

impl PlannedTask {
    /// The dependencies that the file names.
    pub fn stated(&self) -> &[TaskId] {
        match &self.depends {
            Depends::PhaseBefore => &[],
            Depends::On(ids) => ids,
        }
    }
}

fn arrows(cycle: &[TaskId]) -> String {
    cycle.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → ")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        text.parse().unwrap()
    }

    fn ids(texts: &[&str]) -> Vec<TaskId> {
        texts.iter().map(|text| id(text)).collect()
    }

    /// Tasks on lines 1, 2, …, each with its phase and what it waits for.
    fn tasks(rows: &[(&str, u32, Depends)]) -> Vec<PlannedTask> {
        let task = |(number, (name, phase, depends)): (usize, &(&str, u32, Depends))| PlannedTask {
            id: id(name),
            title: "title".to_owned(),
            phase: *phase,
            depends: depends.clone(),
            ticked: false,
            priority: Priority::Normal,
            line: u32::try_from(number).unwrap() + 1,
            details: None,
        };
        rows.iter().enumerate().map(task).collect()
    }

    fn on(texts: &[&str]) -> Depends {
        Depends::On(ids(texts))
    }

    #[track_caller]
    fn check(rows: &[(&str, u32, Depends)], want: &[PlanError]) {
        let found = Plan::new("x".to_owned(), BTreeMap::new(), tasks(rows));
        assert_eq!(found.err().unwrap_or_default(), want);
    }

    #[test]
    fn a_sound_list_keeps_its_order_and_names_its_phases() {
        let rows = [
            ("T2.1", 2, on(&["T1.2", "T0.1"])),
            ("T1.2", 1, on(&["T1.1"])),
            ("T1.1", 1, Depends::PhaseBefore),
            ("T0.1", 0, on(&[])),
        ];
        let names = [(1, "One"), (7, "Empty")].map(|(phase, name)| (phase, name.to_owned()));
        let plan = Plan::new("x".to_owned(), names.into(), tasks(&rows)).unwrap();
        let phases = [(0, "phase-0"), (1, "One"), (2, "phase-2")];
        let want = Plan {
            project: "x".to_owned(),
            phases: phases.map(|(phase, name)| (phase, name.to_owned())).into(),
            tasks: Arc::new(tasks(&rows).into()),
            source: None,
        };
        assert_eq!(plan, want);
    }

    #[test]
    fn every_repetition_of_an_id_names_the_first_line() {
        let rows = [("T1", 1, on(&[])), ("T2", 1, on(&[])), ("T1", 1, on(&[])), ("T1", 2, on(&[]))];
        check(
            &rows,
            &[
                PlanError::Duplicate { id: id("T1"), line: 3, first_line: 1 },
                PlanError::Duplicate { id: id("T1"), line: 4, first_line: 1 },
            ],
        );
    }

    #[test]
    fn every_missing_dependency_is_reported() {
        let rows = [("T1", 1, on(&["T8", "T2"])), ("T2", 1, on(&["T9"]))];
        check(
            &rows,
            &[
                PlanError::Missing { id: id("T1"), line: 1, missing: id("T8") },
                PlanError::Missing { id: id("T2"), line: 2, missing: id("T9") },
            ],
        );
    }

    #[test]
    fn a_task_cannot_wait_for_itself() {
        let rows = [("T1", 1, on(&[])), ("T2", 1, on(&["T1", "T2"]))];
        check(&rows, &[PlanError::Circular { line: 2, cycle: ids(&["T2", "T2"]) }]);
    }

    #[test]
    fn a_cycle_is_named_without_what_leads_to_it() {
        let rows = [
            ("T1", 1, on(&["T0", "T3"])),
            ("T0", 1, on(&[])),
            ("T3", 1, on(&["T0", "T4"])),
            ("T4", 1, on(&["T5"])),
            ("T5", 1, on(&["T3"])),
        ];
        check(&rows, &[PlanError::Circular { line: 3, cycle: ids(&["T3", "T4", "T5", "T3"]) }]);
    }

    #[test]
    fn a_cycle_of_any_length_is_found() {
        let names: Vec<String> = (0..50_000).map(|number| format!("T{number}")).collect();
        let next = |at: usize| names[(at + 1) % names.len()].as_str();
        let rows: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), 1, on(&[next(at)])))
            .collect();
        let mut cycle: Vec<&str> = names.iter().map(String::as_str).collect();
        cycle.push("T0");
        check(&rows, &[PlanError::Circular { line: 1, cycle: ids(&cycle) }]);
    }

    #[test]
    fn a_task_cannot_wait_for_a_later_phase() {
        let rows = [("T1", 1, on(&["T2", "T3"])), ("T2", 2, on(&["T1"])), ("T3", 1, on(&[]))];
        check(
            &rows,
            &[PlanError::LaterPhase {
                id: id("T1"),
                line: 1,
                phase: 1,
                later: id("T2"),
                later_phase: 2,
            }],
        );
    }

    #[test]
    fn faults_say_what_is_wrong_where_and_under_which_code() {
        let faults = [
            PlanError::Duplicate { id: id("T1"), line: 3, first_line: 1 },
            PlanError::Missing { id: id("T1"), line: 4, missing: id("T9") },
            PlanError::Circular { line: 5, cycle: ids(&["T1", "T1"]) },
            PlanError::Circular { line: 6, cycle: ids(&["T1", "T2", "T1"]) },
            PlanError::LaterPhase {
                id: id("T1"),
                line: 7,
                phase: 1,
                later: id("T2"),
                later_phase: 2,
            },
        ];
        let shown = faults.map(|fault| format!("{} {} {fault}", fault.line(), fault.code()));
        insta::assert_snapshot!(shown.join("\n"), @r"
        3 DUPLICATE_ID T1 is defined twice, first on line 1
        4 MISSING_DEP T1 depends on T9, which is not in the file
        5 CIRCULAR_DEP a task and itself wait for each other: T1 → T1
        6 CIRCULAR_DEP these tasks wait for each other: T1 → T2 → T1
        7 CIRCULAR_DEP T1 of phase 1 depends on T2 of phase 2, which starts only afterwards
        ");
    }

    #[test]
    fn a_plan_survives_the_journal() {
        let mut rows = tasks(&[("T1", 1, Depends::PhaseBefore), ("T2", 1, on(&["T1"]))]);
        rows[1].ticked = true;
        rows[1].priority = Priority::High;
        rows[1].details = Some(Box::new(Details {
            body: "text".into(),
            timeout_seconds: Some(60),
            ..Details::default()
        }));
        let plan = Plan::new("x".to_owned(), BTreeMap::new(), rows).unwrap();
        let json = serde_json::to_string(&plan).unwrap();
        insta::assert_snapshot!(json, @r#"{"project":"x","phases":{"1":"phase-1"},"tasks":[{"id":"T1","title":"title","phase":1,"depends":"phase_before","line":1},{"id":"T2","title":"title","phase":1,"depends":{"on":["T1"]},"ticked":true,"priority":"high","line":2,"details":{"body":"text","timeout_seconds":60}}]}"#);
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }
}
