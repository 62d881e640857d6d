//! What holds a request, a task or a subtask of a session, and which events made it so.

use super::Reason;
use crate::{
    error::EngineError, ledger::session_stream, mentions, project::Project, sessions,
    sessions::PastRequest,
};
use waypost_model::{
    code::Code,
    document::{
        RequestId, SessionTaskId, SubtaskId,
        session::{GlobalPhase, SessionStatus, Status, SubtaskPhase},
    },
    id::TaskId,
    machine::Rejected,
    next::NextStep,
    session::{RequestState, SessionTaskState, SubtaskState},
};

/// What of a session is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionSubject {
    Request(RequestId),
    Task(SessionTaskId),
    Subtask(SubtaskId),
}

impl SessionSubject {
    /// A task that is in no run and in the request of the session.
    pub fn only_here(project: &mut Project, typed: &str) -> Result<Option<Self>, EngineError> {
        let Ok(id) = typed.parse::<SessionTaskId>() else { return Ok(None) };
        let is_here = project.session()?.request().is_some_and(|it| it.tasks.get(&id).is_some());
        let of_run = typed.parse::<TaskId>().ok();
        let active = project.run()?.active();
        let is_of_run = of_run.is_some_and(|id| active.is_some_and(|run| run.task(&id).is_some()));
        Ok((is_here && !is_of_run).then_some(Self::Task(id)))
    }

    /// What was typed, where it is of a session. A task needs `session:` before it: runs have tasks, too.
    pub fn read(typed: &str) -> Option<Self> {
        let bare = typed.strip_prefix("session:");
        let id = bare.unwrap_or(typed);
        let task = bare.and_then(|id| id.parse().ok()).map(Self::Task);
        let subtask = || id.parse().ok().map(Self::Subtask);
        task.or_else(subtask).or_else(|| id.parse().ok().map(Self::Request))
    }
}

/// Why a part of a session stands as it does.
#[derive(Clone, Debug)]
pub struct SessionWhy {
    pub id: String,
    pub status: String,
    pub reasons: Vec<Reason>,
}

/// A reason whose event is not looked up yet: the newest of these kinds about the id.
struct SessionReason {
    text: String,
    id: String,
    kinds: &'static [&'static str],
    next: Option<NextStep>,
}

/// Says what holds a request, a task or a subtask.
pub fn explain_session(
    project: &mut Project,
    about: &SessionSubject,
) -> Result<SessionWhy, EngineError> {
    let (id, status, drafts) = match about {
        SessionSubject::Request(id) => {
            let all = sessions::requests(project)?;
            let found = all.iter().find(|it| it.state.id == *id);
            let PastRequest { state, .. } = found.ok_or_else(|| {
                let message = format!("there was no request {id}");
                Rejected::unknown(Code::SessionUnknown, message).next(NextStep::ShowSession)
            })?;
            let last = project.session()?.request().map(|it| it.id.clone());
            let mut drafts = of_request(state);
            if let Some(last) = last.filter(|last| last != id) {
                for draft in &mut drafts {
                    draft.next = None;
                    draft.text = format!("{}, and {last} is the last request now", draft.text);
                }
            }
            (id.to_string(), request_word(state).to_owned(), drafts)
        }
        SessionSubject::Task(id) => {
            let request = present(project)?;
            let task = request.tasks.get(id).ok_or_else(|| unknown(&request, id.as_str()))?;
            let drafts = of_task(&request, id, task);
            (id.to_string(), status_word(task.status).to_owned(), drafts)
        }
        SessionSubject::Subtask(id) => {
            let request = present(project)?;
            let subtask = request.subtask(id).ok_or_else(|| unknown(&request, id.as_str()))?;
            let drafts = of_subtask(&request, id, subtask);
            (id.to_string(), status_word(subtask.status).to_owned(), drafts)
        }
    };
    let mut reasons = Vec::new();
    for SessionReason { text, id, kinds, next } in drafts {
        let stream = session_stream();
        let event = mentions::newest_about(project, &id, |entry| {
            entry.stream == stream && kinds.contains(&entry.kind.as_str())
        })?;
        reasons.push(Reason { text, event, next });
    }
    Ok(SessionWhy { id, status, reasons })
}

fn present(project: &mut Project) -> Result<RequestState, EngineError> {
    let found = project.session()?.request().cloned();
    Ok(found.ok_or_else(|| {
        Rejected::rule(Code::NoRequest, "nothing was requested yet").next(NextStep::RequestWork)
    })?)
}

fn unknown(request: &RequestState, id: &str) -> Rejected {
    let message = format!("{} has no {id}", request.id);
    Rejected::unknown(Code::SubtaskUnknown, message).next(NextStep::ShowSession)
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::InProgress => "in_progress",
        Status::Completed => "completed",
    }
}

fn request_word(request: &RequestState) -> &'static str {
    match (request.status, request.phase) {
        (SessionStatus::Completed, _) => "completed",
        (SessionStatus::Stopped, _) => "stopped",
        (SessionStatus::Active, GlobalPhase::GlobalDiscovery) => "in global_discovery",
        (SessionStatus::Active, _) => "in task_loop",
    }
}

fn of_request(request: &RequestState) -> Vec<SessionReason> {
    let id = request.id.to_string();
    let draft = |text: String, kinds, next| SessionReason { text, id: id.clone(), kinds, next };
    match (request.status, request.phase) {
        (SessionStatus::Completed, _) => {
            vec![draft("every task is completed".into(), &["request_completed"], None)]
        }
        (SessionStatus::Stopped, _) => {
            let next = Some(NextStep::ResumeSession);
            vec![draft("it was stopped".into(), &["request_stopped"], next)]
        }
        (SessionStatus::Active, GlobalPhase::GlobalDiscovery) => {
            let mut drafts = held(request, &id);
            let (text, kinds): (_, &'static [&'static str]) = match request.sent_back {
                Some(_) => ("its plan was sent back to the planner", &["plan_sent_back"]),
                None => ("it is explored and planned", &["request_made", "discovery_reopened"]),
            };
            let next = leading_on(&drafts);
            drafts.push(draft(text.into(), kinds, next));
            drafts
        }
        (SessionStatus::Active, _) => match request.current() {
            Some((id, task)) => of_task(request, id, task),
            None => {
                let mut drafts = held(request, &id);
                let merging = request.trees.is_some().then_some(NextStep::RunSession);
                let text = match &request.trees {
                    Some(trees) => format!("its work is to be merged into {}", trees.target),
                    None => "nothing holds it".to_owned(),
                };
                let kinds = &["request_landed", "task_joined", "planned"];
                drafts.push(draft(text, kinds, merging));
                drafts
            }
        },
    }
}

/// What leads on, unless a person is waited for.
fn leading_on(held: &[SessionReason]) -> Option<NextStep> {
    held.is_empty().then_some(NextStep::NextOfSession)
}

/// What waits for a person.
fn held(request: &RequestState, id: &str) -> Vec<SessionReason> {
    let draft = |held: &waypost_model::session::HeldUp| SessionReason {
        text: format!("{} waits for a person: {}", held.hold, held.why),
        id: id.to_owned(),
        kinds: &["escalated", "gate_failed", "plan_sent_back", "task_joined"],
        next: Some(NextStep::ShowInbox),
    };
    request.held.iter().map(draft).collect()
}

fn of_task(
    request: &RequestState,
    id: &SessionTaskId,
    task: &SessionTaskState,
) -> Vec<SessionReason> {
    let draft =
        |text: String, kinds, next| vec![SessionReason { text, id: id.to_string(), kinds, next }];
    match (task.status, &task.current_subtask) {
        (Status::Completed, _) => {
            draft("every subtask of it is completed".into(), &["task_completed"], None)
        }
        (Status::Pending, _) => {
            let before = request.current().map(|(id, _)| format!("it waits for {id}"));
            let text = before.unwrap_or_else(|| "it waits for the plan".to_owned());
            let planned = SessionReason {
                text,
                id: request.id.to_string(),
                kinds: &["planned"],
                next: Some(NextStep::NextOfSession),
            };
            vec![planned]
        }
        (Status::InProgress, _) if task.is_done() => {
            let mut drafts = held(request, id.as_str());
            let (text, next) = ("its work is to be joined", Some(NextStep::RunSession));
            drafts.extend(draft(text.into(), &["subtask_completed"], next));
            drafts.extend(in_tree(request, id));
            drafts
        }
        (Status::InProgress, None) => {
            let mut drafts = held(request, id.as_str());
            let kinds = &["task_begun", "design_reopened", "design_lost"];
            let next = leading_on(&drafts);
            drafts.extend(draft("it is in design".into(), kinds, next));
            drafts.extend(in_tree(request, id));
            drafts
        }
        (Status::InProgress, Some(subtask)) => match task.subtasks.get(subtask) {
            Some(found) => of_subtask(request, subtask, found),
            None => Vec::new(),
        },
    }
}

/// Where a task is worked on, if that is a tree of its own.
fn in_tree(request: &RequestState, id: &SessionTaskId) -> Option<SessionReason> {
    let text = format!("it is worked on in {}", request.open_tree(id)?);
    Some(SessionReason { text, id: id.to_string(), kinds: &["task_placed"], next: None })
}

fn of_subtask(
    request: &RequestState,
    id: &SubtaskId,
    subtask: &SubtaskState,
) -> Vec<SessionReason> {
    let draft = |text: String, kinds, next| SessionReason { text, id: id.to_string(), kinds, next };
    match subtask.status {
        Status::Completed => {
            return vec![draft("its gates are passed".into(), &["subtask_completed"], None)];
        }
        Status::Pending => {
            let before = request.at_work().map(|(_, id, _)| format!("it waits for {id}"));
            let text = before.unwrap_or_else(|| "it waits for the design of a task".to_owned());
            let next = Some(NextStep::NextOfSession);
            return vec![SessionReason {
                text,
                id: request.id.to_string(),
                kinds: &["planned"],
                next,
            }];
        }
        Status::InProgress => {}
    }
    let mut drafts = held(request, id.as_str());
    let next = leading_on(&drafts);
    let text = match subtask.phase {
        SubtaskPhase::TestFirst => "it is in test_first, from which GATE-1 leads on",
        SubtaskPhase::Implementation => {
            "it is in implementation, from which GATE-3 and GATE-4 lead on"
        }
        SubtaskPhase::Verification => "it is in verification, from which GATE-2 leads on",
        SubtaskPhase::Complete => "its gates are passed",
    };
    let kinds = &["phase_moved", "subtask_begun", "subtask_resumed", "tests_lost"];
    drafts.push(draft(text.into(), kinds, next.clone()));
    drafts.extend(request.owner(id).and_then(|task| in_tree(request, task)));
    for point in subtask.open.iter().flat_map(|open| &open.points) {
        let text = format!("a report has to confirm: {point}");
        let next = next.as_ref().map(|_| NextStep::ReportGates);
        drafts.push(draft(text, &["gate_left_open"], next));
    }
    for fault in &subtask.faults {
        let text = format!("a gate did not hold: {fault}");
        drafts.push(draft(text, &["gate_failed"], None));
    }
    drafts
}
