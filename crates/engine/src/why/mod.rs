//! What holds a task, and which event made it so.

use crate::{error::EngineError, project::Project};
use std::collections::BTreeSet;
use waypost_model::{
    id::TaskId,
    run::{Active, EndStep, ParkCause, Parked, PhaseStage, TaskStatus, TaskView},
    time::Time,
};
use waypost_store::journal::Recorded;

/// The most reasons that are named; a task may wait for a whole phase.
const REASONS_MAX: usize = 5;

/// Why a task stands as it does.
#[derive(Clone, Debug)]
pub struct Why {
    pub id: TaskId,
    pub status: TaskStatus,
    pub reasons: Vec<Reason>,
}

/// One thing that holds a task, or has brought it where it is.
#[derive(Clone, Debug)]
pub struct Reason {
    pub text: String,
    /// The event that made it so, where there is one.
    pub event: Option<Recorded>,
    /// The command that leads on.
    pub next: Option<String>,
}

/// A reason before its event was looked up.
struct Draft {
    text: String,
    /// The task whose last event tells more.
    about: Option<TaskId>,
    next: Option<String>,
}

impl Draft {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), about: None, next: None }
    }

    fn about(mut self, id: &TaskId) -> Self {
        self.about = Some(id.clone());
        self
    }

    fn next(mut self, command: impl Into<String>) -> Self {
        self.next = Some(command.into());
        self
    }
}

impl Project {
    /// Says what holds a task of the run.
    pub fn why(&mut self, id: &TaskId) -> Result<Why, EngineError> {
        let now = self.clock.now();
        let engine = self.engine_holder()?;
        let waiting: BTreeSet<String> =
            self.inbox()?.open().iter().map(|entry| entry.question.subject.clone()).collect();
        let run = self.run()?;
        let Some(active) = run.active() else {
            return Err(EngineError::bad_input("no run has begun"));
        };
        let Some(view) = active.task(id) else {
            return Err(EngineError::bad_input(format!("there is no task {id} in this run")));
        };
        let status = view.status;
        let mut drafts = drafts(active, &view, now);
        if status == TaskStatus::Ready && engine.is_none() {
            drafts.push(Draft::new("nobody runs the tasks").next("waypost run --resume"));
        }
        let phase = format!("run/phase/{}", active.current_phase());
        if waiting.contains(&phase) && matches!(status, TaskStatus::Pending | TaskStatus::Ready) {
            drafts.push(
                Draft::new("a question about the phase waits in the inbox").next("waypost inbox"),
            );
        }
        if status == TaskStatus::Completed
            && let Some(stale) = self.stale_evidence(id)?
        {
            drafts.push(Draft::new(stale).next(format!("waypost run revert {id}")));
        }
        let mut reasons = Vec::new();
        for Draft { text, about, next } in drafts {
            let event = match about {
                Some(about) => self.last_event_about(&about)?,
                None => None,
            };
            reasons.push(Reason { text, event, next });
        }
        Ok(Why { id: id.clone(), status, reasons })
    }

    fn last_event_about(&mut self, id: &TaskId) -> Result<Option<Recorded>, EngineError> {
        let stream = Self::run_stream();
        let is_about = |entry: &Recorded| {
            let body: serde_json::Value = serde_json::from_str(&entry.body).unwrap_or_default();
            entry.stream == stream && body[&entry.kind]["id"].as_str() == Some(id.as_str())
        };
        Ok(self.log(1, is_about)?.pop())
    }
}

fn drafts(active: &Active, view: &TaskView<'_>, now: Time) -> Vec<Draft> {
    let id = &view.planned.id;
    let tail = view.last_failure.map(|failure| failure.text.clone()).unwrap_or_default();
    match view.status {
        TaskStatus::Completed => {
            let evidence = view.evidence.map_or_else(String::new, |it| format!(": {it}"));
            let commit = view.commit.map(|it| it.get(..7).unwrap_or(it));
            let joined = commit.map_or_else(String::new, |it| format!(", joined by {it}"));
            let draft = Draft::new(format!("it is completed{evidence}{joined}")).about(id);
            vec![match commit {
                Some(_) => draft.next(format!("waypost run diff {id}")),
                None => draft,
            }]
        }
        TaskStatus::InProgress => {
            let place = active.task_tree(id).map_or_else(String::new, |it| format!(" in {it}"));
            let text = format!("attempt {} is under way{place}", view.attempts);
            let next = format!("waypost run logs {id} --follow");
            let mut drafts = person(view);
            drafts.push(Draft::new(text).about(id).next(next));
            drafts
        }
        TaskStatus::Failed => {
            let reason = view.reason.map_or_else(String::new, |it| format!(" ({it})"));
            let text = format!("it failed{reason}: {tail}");
            let mut drafts =
                vec![Draft::new(text).about(id).next(format!("waypost run retry {id}"))];
            if let Some(tree) = active.task_tree(id) {
                let text = format!("what it did is in {tree}, or kept from there");
                drafts.push(Draft::new(text).next(format!("waypost run diff {id}")));
            }
            drafts
        }
        TaskStatus::Ready => ready(active, view, now, &tail),
        TaskStatus::Blocked | TaskStatus::Pending => waiting(active, view),
    }
}

fn ready(active: &Active, view: &TaskView<'_>, now: Time, tail: &str) -> Vec<Draft> {
    let id = &view.planned.id;
    let mut drafts = person(view);
    drafts.extend(view.parked(now).map(|it| parked(it, id, now)));
    if let Some(failure) = view.last_failure.filter(|failure| failure.not_before > now) {
        let seconds = failure.not_before.since(now).as_secs() + 1;
        let text = format!("it waits {seconds} s before its next try, after: {tail}");
        drafts.push(Draft::new(text).about(id).next(format!("waypost run retry {id}")));
    }
    let (limit, running) =
        (active.settings().max_parallel as usize, active.count(TaskStatus::InProgress));
    if limit > 0 && running >= limit {
        drafts.push(Draft::new(format!(
            "{running} tasks are in progress, and max_parallel is {limit}"
        )));
    }
    if drafts.is_empty() {
        drafts.push(Draft::new("it is ready").next(format!("waypost run start {id}")));
    }
    drafts
}

/// What a parked task waits for, how long, and what can be done about it.
fn parked(parked: &Parked, id: &TaskId, now: Time) -> Draft {
    let Parked { cause, why, agent, until, .. } = parked;
    let time = until.map_or_else(
        || "until a person has done something".to_owned(),
        |until| format!("until {until} (in {} s)", until.since(now).as_secs() + 1),
    );
    let text = format!("it waits {time}: {cause}: {why}");
    let next = match cause {
        ParkCause::Budget => "waypost run --resume --budget USD, with more".to_owned(),
        cause if cause.is_unavailable() => {
            format!("{}; then `waypost inbox`", cause.advice(agent))
        }
        _ => format!("waypost run retry {id}"),
    };
    Draft::new(text).about(id).next(next)
}

/// What a person has to do before the task can go on.
fn person(view: &TaskView<'_>) -> Vec<Draft> {
    let id = &view.planned.id;
    let Some(trail) = view.trail else { return Vec::new() };
    let mut drafts = Vec::new();
    if !trail.asked.is_empty() {
        let text = match trail.asked.len() {
            1 => "a question of its agent waits in the inbox".to_owned(),
            count => format!("{count} questions of its agent wait in the inbox"),
        };
        drafts.push(Draft::new(text).about(id).next("waypost inbox"));
    }
    if let Some(name) = &trail.taken_by {
        let text = format!("{name} has its conversation open");
        drafts.push(Draft::new(text).about(id).next(format!("waypost open {id}")));
    }
    drafts
}

/// What a task waits for: its dependencies, down to the failure behind a blocked one, else phases.
fn waiting(active: &Active, view: &TaskView<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for wanted in view.planned.stated() {
        let Some(other) = active.task(wanted) else { continue };
        match other.status {
            TaskStatus::Completed => {}
            TaskStatus::Failed | TaskStatus::Blocked => {
                let root = root_of(active, &other);
                let text = if root == *wanted {
                    format!("it depends on {wanted}, which has failed")
                } else {
                    format!("it depends on {wanted}, which is blocked because {root} has failed")
                };
                drafts
                    .push(Draft::new(text).about(&root).next(format!("waypost run retry {root}")));
            }
            status => {
                let text = format!("it depends on {wanted}, which is {status}");
                drafts.push(Draft::new(text).about(wanted).next(format!("waypost why {wanted}")));
            }
        }
    }
    if drafts.is_empty() {
        drafts.push(phase(active, view));
    }
    let more = drafts.len().saturating_sub(REASONS_MAX);
    drafts.truncate(REASONS_MAX);
    if more > 0 {
        drafts.push(Draft::new(format!("and {more} more")));
    }
    drafts
}

fn phase(active: &Active, view: &TaskView<'_>) -> Draft {
    let current = active.current_phase();
    let progress = active.progress(current);
    let state = match active.phase(current) {
        Some(PhaseStage::Ending { step: EndStep::Joining, .. }) => "is being joined".to_owned(),
        Some(PhaseStage::Ending { .. }) => "has ended and waits for a person".to_owned(),
        _ => format!("is under way ({}/{} completed)", progress.completed, progress.total),
    };
    let text = match view.planned.phase == current {
        true => format!("phase {current} {state}"),
        false => format!("it is of phase {}, and phase {current} {state}", view.planned.phase),
    };
    Draft::new(text).next("waypost run status")
}

/// The failed task behind a blocked one.
fn root_of(active: &Active, view: &TaskView<'_>) -> TaskId {
    let mut at = view.planned.id.clone();
    let mut seen = BTreeSet::new();
    while seen.insert(at.clone()) {
        let Some(view) = active.task(&at).filter(|view| view.status == TaskStatus::Blocked) else {
            break;
        };
        let is_lost = |id: &&TaskId| {
            active
                .task(id)
                .is_some_and(|it| matches!(it.status, TaskStatus::Failed | TaskStatus::Blocked))
        };
        match view.planned.stated().iter().find(is_lost) {
            Some(next) => at = next.clone(),
            None => break,
        }
    }
    at
}
