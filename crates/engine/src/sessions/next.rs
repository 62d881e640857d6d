//! What comes next in a session: who is called for what, with which files, or which command.

use super::{apart, fingerprint, is_here, look, place_of, planning, take_up_design};
use crate::{contracts, error::EngineError, project::Project};
use std::path::PathBuf;
use waypost_model::{
    document::{
        Document, Kind, SessionTaskId, SubtaskId,
        contract::{ContractPlace, DesignBrief, Explored, TaskBreakdown, TestContract, TestResult},
        session::{GlobalPhase, SessionStatus, SubtaskPhase},
    },
    layout,
    next::NextStep,
    session::{Call, Hold, RequestState, Role, SubtaskState, TreeStep, gate::Gate},
    time::Time,
};

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionNext {
    /// Agents are called; if there are several, at the same time.
    Call(Vec<NextCall>),
    /// A command is given.
    Do {
        step: NextStep,
        why: String,
        /// Assumptions of the plan whose outcome has to be said with it, by their numbers.
        assumptions: Vec<(usize, String)>,
    },
    /// A person is asked.
    Wait { hold: Hold, why: String },
    /// The request is complete.
    Done,
}

/// An agent that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCall {
    pub call: Call,
    pub role: Role,
    /// What it is to do.
    pub task: String,
    /// The files that it reads.
    pub inputs: Vec<PathBuf>,
    /// The contract or the report that it writes; none: it writes code.
    pub output: Option<PathBuf>,
    /// The kind of that contract; none: a report.
    pub kind: Option<Kind>,
    /// Not before.
    pub not_before: Option<Time>,
    /// The folder that it works in, where that is a work tree of its task.
    pub folder: Option<PathBuf>,
    /// Why what it did before does not do, or what a report has to confirm.
    pub faults: Vec<String>,
    /// What is given when it is done.
    pub then: NextStep,
}

/// What comes next. A design that is there is taken up on the way.
pub fn next(project: &mut Project) -> Result<SessionNext, EngineError> {
    let session = project.session()?;
    let Some(facts) = session.facts() else {
        return Ok(command(NextStep::StartSession, "no session has begun"));
    };
    match facts.status {
        SessionStatus::Active => {}
        SessionStatus::Stopped => {
            return Ok(command(NextStep::ResumeSession, "the session is stopped"));
        }
        SessionStatus::Completed => {
            return Ok(command(NextStep::StartSession, "the session is completed"));
        }
    }
    is_here(project)?;
    if project.session()?.active_request().is_none() {
        return Ok(match project.session()?.request() {
            Some(request) if request.status == SessionStatus::Completed => SessionNext::Done,
            _ => command(NextStep::RequestWork, "nothing is requested"),
        });
    }
    project.refuse_stale()?;
    take_up_design(project)?;
    let request = project.session()?.find_request()?.clone();
    if let Some(held) = request.held.first() {
        return Ok(SessionNext::Wait { hold: held.hold.clone(), why: held.why.clone() });
    }
    match request.phase {
        GlobalPhase::GlobalDiscovery => discovery(project, &request),
        GlobalPhase::TaskLoop => match revised(project, &request)? {
            Some(next) => Ok(next),
            None => loop_step(project, &request),
        },
        GlobalPhase::Complete => Ok(SessionNext::Done),
    }
}

fn command(step: NextStep, why: &str) -> SessionNext {
    SessionNext::Do { step, why: why.to_owned(), assumptions: Vec::new() }
}

/// Exploring and planning at the same time, then a brief for each task, then the plan.
fn discovery(project: &Project, request: &RequestState) -> Result<SessionNext, EngineError> {
    let place = place_of(request, None, None);
    let explored = look::<Explored>(project, &place)?;
    let breakdown = look::<TaskBreakdown>(project, &place)?;
    let is_sent_back = request.sent_back.is_some()
        && fingerprint(project, Kind::TaskBreakdown, &place)? == request.sent_back;
    let mut calls = Vec::new();
    if let Err(faults) = &explored {
        calls.push(call(project, request, Call::Explore, faults.clone())?);
    }
    if is_sent_back {
        let assumed = request.assumptions.iter().map(|it| {
            format!("the assumption `{}`: {} ({})", it.text, it.verdict.as_str(), it.how)
        });
        let faults = match request.plan_faults.as_slice() {
            [] => assumed.collect(),
            faults => faults.to_vec(),
        };
        calls.push(call(project, request, Call::Plan, faults)?);
    } else if let Err(faults) = &breakdown {
        calls.push(call(project, request, Call::Plan, faults.clone())?);
    }
    let (Ok(explored), Ok(breakdown), true) = (explored, breakdown, calls.is_empty()) else {
        return Ok(SessionNext::Call(calls));
    };
    for task in planning::planned(&breakdown) {
        let place = place_of(request, Some(&task.id), None);
        let faults = match look::<DesignBrief>(project, &place)? {
            Err(faults) => faults,
            Ok(_) if planning::is_stale(project, request, &task)? => {
                vec!["it was written for a plan that was sent back".to_owned()]
            }
            Ok(_) => continue,
        };
        calls.push(call(project, request, Call::Brief(task.id), faults)?);
    }
    if !calls.is_empty() {
        return Ok(SessionNext::Call(calls));
    }
    let assumptions = planning::open(&breakdown, &explored);
    let (step, why) = match assumptions.is_empty() {
        true => (NextStep::PlanSession, "the plan is there"),
        false => (NextStep::PlanWithAssumption, "the plan is there, with assumptions to judge"),
    };
    Ok(SessionNext::Do { step, why: why.to_owned(), assumptions })
}

/// What a plan that has changed since it was taken up leads to; nothing where it could not be taken up.
fn revised(
    project: &mut Project,
    request: &RequestState,
) -> Result<Option<SessionNext>, EngineError> {
    let place = place_of(request, None, None);
    let now = fingerprint(project, Kind::TaskBreakdown, &place)?;
    let is_old = now == request.plan || now == request.sent_back;
    if now.is_none() || request.plan.is_none() || is_old {
        return Ok(None);
    }
    match planning::can_be_taken_up(project, request)? {
        true => discovery(project, request).map(Some),
        false => Ok(None),
    }
}

fn loop_step(project: &Project, request: &RequestState) -> Result<SessionNext, EngineError> {
    if let Some(step) = request.tree_step() {
        let why = match step {
            TreeStep::Place(task) => format!("{task} gets its work tree"),
            TreeStep::Join(task) => format!("the work of {task} is joined"),
            TreeStep::Land | TreeStep::Close => format!("the work of {} is merged", request.id),
        };
        return Ok(command(NextStep::RunSession, &why));
    }
    if let Some((task, state)) = request.in_design() {
        let faults = match look_at_design(project, request, task)? {
            Err(faults) => faults,
            // It is the one that was sent back.
            Ok(()) => state.subtasks.values().flat_map(|it| it.faults.clone()).collect(),
        };
        let call = call(project, request, Call::Design(task.clone()), faults)?;
        return Ok(SessionNext::Call(vec![call]));
    }
    let Some((task, subtask, state)) = request.at_work() else {
        return Ok(command(NextStep::ShowSession, "nothing is worked on"));
    };
    if let Some(open) = &state.open {
        let wanted = Call::Confirm(subtask.clone(), open.gate);
        let call = call(project, request, wanted, open.points.clone())?;
        return Ok(SessionNext::Call(vec![call]));
    }
    let place = place_of(request, Some(task), Some(subtask));
    let is_judged = |gate: Gate, now: Option<String>| {
        state.looks.get(&gate).is_some_and(|look| look.contract == now)
    };
    let of = |id: &SubtaskId, wanted: fn(SubtaskId) -> Call| wanted(id.clone());
    let (wanted, found) = match state.phase {
        SubtaskPhase::TestFirst => {
            let now = fingerprint(project, Kind::TestContract, &place)?;
            let is_old = now.is_some() && is_judged(Gate::Gate1, now);
            (of(subtask, Call::WriteTests), written::<TestContract>(project, &place, is_old)?)
        }
        SubtaskPhase::Implementation => (of(subtask, Call::Implement), Err(Vec::new())),
        SubtaskPhase::Verification => {
            let now = fingerprint(project, Kind::TestResult, &place)?;
            let is_old = now.is_some() && is_judged(Gate::Gate2, now);
            (of(subtask, Call::Verify), written::<TestResult>(project, &place, is_old)?)
        }
        SubtaskPhase::Complete => {
            return Ok(command(NextStep::ShowSession, "nothing is worked on"));
        }
    };
    match found {
        Ok(()) => {
            let why = format!("{subtask} is written, and its gates are due");
            Ok(command(NextStep::CheckGates, &why))
        }
        Err(faults) => {
            let faults = if faults.is_empty() { state.faults.clone() } else { faults };
            Ok(SessionNext::Call(vec![call(project, request, wanted, faults)?]))
        }
    }
}

/// Whether a contract of this phase is there, and not the one that was judged before.
fn written<D: Document>(
    project: &Project,
    place: &ContractPlace,
    is_old: bool,
) -> Result<Result<(), Vec<String>>, EngineError> {
    let found = look::<D>(project, place)?.map(drop);
    Ok(if is_old && found.is_ok() { Err(Vec::new()) } else { found })
}

fn look_at_design(
    project: &Project,
    request: &RequestState,
    task: &SessionTaskId,
) -> Result<Result<(), Vec<String>>, EngineError> {
    let place = place_of(request, Some(task), None);
    let found = look::<waypost_model::document::contract::DesignContract>(project, &place)?;
    Ok(found.map(drop))
}

/// What an agent is called with.
fn call(
    project: &Project,
    request: &RequestState,
    call: Call,
    faults: Vec<String>,
) -> Result<NextCall, EngineError> {
    let subtask = call.subtask().cloned();
    let task = call.task().cloned().or_else(|| subtask.as_ref().and_then(SubtaskId::task));
    let whole = place_of(request, None, None);
    let of_task = place_of(request, task.as_ref(), None);
    let of_subtask = place_of(request, task.as_ref(), subtask.as_ref());
    let at = |kind: Kind, place: &ContractPlace| contracts::path(project, kind, place);
    let explored = at(Kind::Explored, &whole)?;
    let breakdown = at(Kind::TaskBreakdown, &whole)?;
    let brief = at(Kind::DesignBrief, &of_task)?;
    let design = at(Kind::DesignContract, &of_task)?;
    let tests = at(Kind::TestContract, &of_subtask)?;
    let (inputs, kind, place) = match &call {
        Call::Explore | Call::Plan => {
            let kind = if call == Call::Plan { Kind::TaskBreakdown } else { Kind::Explored };
            (Vec::new(), Some(kind), &whole)
        }
        Call::Brief(_) => (vec![explored, breakdown], Some(Kind::DesignBrief), &of_task),
        Call::Design(_) => (vec![explored, brief], Some(Kind::DesignContract), &of_task),
        Call::WriteTests(_) => (vec![brief, design], Some(Kind::TestContract), &of_subtask),
        Call::Implement(_) => (vec![brief, design, tests], None, &of_subtask),
        Call::Verify(_) => (vec![design, tests], Some(Kind::TestResult), &of_subtask),
        Call::Confirm(..) => (vec![brief, design, tests], None, &of_subtask),
    };
    let output = match &call {
        Call::Confirm(id, gate) => report_path(project, request, (id, *gate))?,
        _ => kind.map(|kind| at(kind, place)).transpose()?,
    };
    let then = match &call {
        Call::WriteTests(_) | Call::Implement(_) | Call::Verify(_) => NextStep::CheckGates,
        Call::Confirm(..) => NextStep::ReportGates,
        _ => NextStep::NextOfSession,
    };
    let waits = [
        request.call_clock(&call).not_before,
        subtask.as_ref().and_then(|id| request.subtask(id)?.not_before),
        request.not_before.filter(|_| call == Call::Plan),
    ];
    let is_in_tree = !matches!(call, Call::Explore | Call::Plan | Call::Brief(_));
    let task = task.filter(|_| is_in_tree);
    Ok(NextCall {
        folder: task.and_then(|task| apart::folder_of(project, request, &task)),
        role: call.role(),
        task: told(request, &call),
        inputs,
        output,
        kind,
        not_before: waits.into_iter().flatten().max(),
        faults,
        then,
        call,
    })
}

/// Where a report on what a gate leaves open belongs: a report is about the work that was looked at, and about no other.
pub(super) fn report_path(
    project: &Project,
    request: &RequestState,
    (id, gate): (&SubtaskId, Gate),
) -> Result<Option<PathBuf>, EngineError> {
    let Some(open) = request.subtask(id).and_then(|it| it.open.as_ref()) else { return Ok(None) };
    let folder = contracts::session_folder(project)?.join(layout::session::REPORTS);
    Ok(Some(folder.join(request.id.as_str()).join(format!("{id}-{gate}-{}.md", open.number))))
}

/// What an agent is to do, in a sentence.
fn told(request: &RequestState, call: &Call) -> String {
    let task_name = |id: &SessionTaskId| {
        let name = request.tasks.get(id).map(|task| task.name.as_str());
        name.map_or_else(|| id.to_string(), |name| format!("{id} ({name})"))
    };
    let subtask_name = |id: &SubtaskId| {
        let name = request.subtask(id).map(|it: &SubtaskState| it.name.as_str());
        name.map_or_else(|| id.to_string(), |name| format!("{id} ({name})"))
    };
    match call {
        Call::Explore => format!("explore the code for: {}", request.text),
        Call::Plan => format!("divide into tasks and subtasks: {}", request.text),
        Call::Brief(id) => format!("say what {} covers and what it does not", task_name(id)),
        Call::Design(id) => format!("design {}", task_name(id)),
        Call::WriteTests(id) => format!("write the tests of {}", subtask_name(id)),
        Call::Implement(id) => format!("implement {} until its tests pass", subtask_name(id)),
        Call::Verify(id) => format!("run the tests of {} and say what they show", subtask_name(id)),
        Call::Confirm(id, gate) => {
            format!("find out what {gate} of {} leaves open, and report on it", subtask_name(id))
        }
    }
}
