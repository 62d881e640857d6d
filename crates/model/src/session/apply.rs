//! What each event does to the state.

use super::{
    apart,
    gate::{FailureKind, Gate},
    state::{
        HeldUp, OpenGate, RequestState, Session, SessionFacts, SessionTaskState, SubtaskState,
        all_pending, set_status, status_of,
    },
    topic::Hold,
    words::{Event, Named, PlannedSessionTask, ProjectFacts},
};
use crate::{
    document::{
        SessionTaskId, SubtaskId,
        session::{
            GateStatus, GlobalPhase, SessionFile, SessionState as StateFile, SessionStatus,
            SessionTask, Status, SubtaskPhase,
        },
    },
    ordered::Ordered,
    time::{Stamp, Time},
};

/// So many lessons are kept of a request.
const LESSONS_MAX: usize = 20;

pub(super) fn apply(session: &mut Session, event: &Event, at: Time) {
    match event {
        Event::Started { number, project, manifest } => {
            session.sessions = *number;
            session.facts = Some(SessionFacts {
                number: *number,
                project: project.clone(),
                manifest: manifest.clone(),
                status: SessionStatus::Active,
                created_at: at,
                updated_at: at,
            });
        }
        Event::TakenOver { session: file, state, base } => {
            take_over(session, (file, state.as_deref()), base.as_ref(), at);
        }
        Event::RequestMade { request, text } => {
            let number = request.as_str().trim_start_matches('R').parse().unwrap_or(0);
            session.requests = session.requests.max(number);
            session.request = Some(RequestState::new(request.clone(), text.clone(), at));
        }
        Event::Amended { .. }
        | Event::Relocated { .. }
        | Event::Stopped
        | Event::Completed
        | Event::Resumed => apply_to_session(session, event),
        _ => {
            if let Some(request) = &mut session.request {
                apply_to_request(request, event, at);
            }
        }
    }
    if let Some(facts) = &mut session.facts {
        facts.updated_at = at;
    }
}

fn apply_to_session(session: &mut Session, event: &Event) {
    let Some(facts) = &mut session.facts else { return };
    match event {
        Event::Amended { name, manifest } => {
            if let Some(name) = name {
                facts.project.name.clone_from(name);
            }
            if let Some(manifest) = manifest {
                facts.manifest = manifest.clone();
            }
        }
        Event::Relocated { project } => facts.project = project.clone(),
        Event::Stopped => facts.status = SessionStatus::Stopped,
        Event::Completed => facts.status = SessionStatus::Completed,
        Event::Resumed => {
            facts.status = SessionStatus::Active;
            let stopped = |it: &&mut RequestState| it.status == SessionStatus::Stopped;
            if let Some(request) = session.request.as_mut().filter(stopped) {
                request.status = SessionStatus::Active;
            }
        }
        _ => {}
    }
}

fn apply_to_request(request: &mut RequestState, event: &Event, at: Time) {
    match event {
        Event::RequestStopped { .. } => {
            request.status = SessionStatus::Stopped;
            release(request, |_| true);
        }
        Event::RequestCompleted { .. } => {
            request.status = SessionStatus::Completed;
            request.phase = GlobalPhase::Complete;
            request.current_task = None;
        }
        Event::PlanSentBack { .. } | Event::Planned { .. } => apply_to_plan(request, event, at),
        Event::DiscoveryReopened { .. } => {
            request.phase = GlobalPhase::GlobalDiscovery;
            if let Some(task) =
                request.current_task.take().and_then(|id| request.tasks.get_mut(&id))
            {
                forget_design(task);
            }
        }
        Event::CallFailed { call, not_before, .. } => {
            let clock = request.calls.entry(call.clone()).or_default();
            clock.failures += 1;
            clock.not_before = *not_before;
            request.retries += 1;
        }
        Event::CallEnded { call } => {
            request.calls.remove(call);
            let ended = Hold::Call { call: call.clone() };
            release(request, |hold| *hold == ended);
        }
        Event::Escalated { hold, lead, why } => {
            let (hold, why) = (hold.clone(), why.clone());
            learn(request, format!("a person was asked about {hold}: {why}"));
            request.held.push(HeldUp { hold, lead: *lead, why });
        }
        Event::Retried { hold } => retried(request, hold),
        Event::SetApart { .. }
        | Event::TaskPlaced { .. }
        | Event::TaskJoined { .. }
        | Event::RequestLanded { .. }
        | Event::TreesClosed { .. } => apart::apply(request, event),
        Event::Renamed { what: Named::Task { task }, name } => {
            on_task(request, task, at, |task| task.name.clone_from(name));
        }
        Event::Renamed { what: Named::Subtask { subtask }, name } => {
            on_subtask(request, subtask, at, |subtask| subtask.name.clone_from(name));
        }
        _ => apply_to_task(request, event, at),
    }
}

fn apply_to_plan(request: &mut RequestState, event: &Event, at: Time) {
    match event {
        Event::PlanSentBack { contract, assumptions, faults, briefs, not_before, .. } => {
            request.sent_back = Some(contract.clone());
            request.stale_briefs.extend(briefs.iter().cloned());
            request.plan_faults.clone_from(faults);
            request.assumptions.clone_from(assumptions);
            request.plans_wrong += 1;
            request.retries += 1;
            request.not_before = *not_before;
        }
        Event::Planned { contract, tasks, assumptions, .. } => {
            if request.plans_wrong > 0 {
                let times = request.plans_wrong;
                learn(request, format!("the plan held after {times} that did not"));
            }
            request.plan = Some(contract.clone());
            (request.sent_back, request.plans_wrong, request.not_before) = (None, 0, None);
            request.assumptions.clone_from(assumptions);
            request.plan_faults.clear();
            request.stale_briefs.clear();
            request.phase = GlobalPhase::TaskLoop;
            request.calls.clear();
            release(request, |hold| !matches!(hold, Hold::Gate { .. }));
            replan(request, tasks, at);
        }
        _ => {}
    }
}

fn apply_to_task(request: &mut RequestState, event: &Event, at: Time) {
    match event {
        Event::TaskBegun { task } => {
            request.current_task = Some(task.clone());
            on_task(request, task, at, |task| {
                task.status = Status::InProgress;
                task.current_subtask = None;
            });
        }
        Event::Designed { task, contract } => {
            request.calls.clear();
            release(request, |hold| matches!(hold, Hold::Call { .. }));
            on_task(request, task, at, |task| task.design = Some(contract.clone()));
        }
        Event::DesignReopened { task, subtask } => {
            on_subtask(request, subtask, at, |it| move_to(it, SubtaskPhase::TestFirst));
            on_task(request, task, at, |task| task.current_subtask = None);
        }
        Event::DesignLost { task } => on_task(request, task, at, forget_design),
        Event::TestsLost { subtask } => on_subtask(request, subtask, at, |it| {
            begin_again(it);
            move_to(it, SubtaskPhase::TestFirst);
        }),
        Event::TaskCompleted { task } => {
            request.current_task = None;
            on_task(request, task, at, |task| {
                task.status = Status::Completed;
                task.current_subtask = None;
            });
        }
        Event::SubtaskBegun { subtask, base } => {
            enter(request, subtask);
            on_subtask(request, subtask, at, |it| {
                it.status = Status::InProgress;
                it.base.clone_from(base);
                move_to(it, SubtaskPhase::TestFirst);
            });
        }
        Event::SubtaskResumed { subtask } => {
            enter(request, subtask);
            on_subtask(request, subtask, at, |it| move_to(it, SubtaskPhase::TestFirst));
        }
        Event::PhaseMoved { subtask, to } => {
            on_subtask(request, subtask, at, |it| move_to(it, *to));
        }
        Event::SubtaskCompleted { subtask } => {
            on_subtask(request, subtask, at, |it| {
                it.status = Status::Completed;
                it.phase = SubtaskPhase::Complete;
                it.faults.clear();
            });
        }
        Event::GateLeftOpen { subtask, gate, look, points } => {
            let (gate, work, points) = (*gate, look.work.clone(), points.clone());
            on_subtask(request, subtask, at, |it| {
                it.opened += 1;
                it.open = Some(OpenGate { number: it.opened, gate, work, points });
            });
        }
        _ => apply_to_gate(request, event, at),
    }
}

fn apply_to_gate(request: &mut RequestState, event: &Event, at: Time) {
    let (Event::GatePassed { subtask, gate, .. }
    | Event::GateOverridden { subtask, gate, .. }
    | Event::GateFailed { subtask, gate, .. }) = event
    else {
        return;
    };
    let of_subtask = |hold: &Hold| matches!(hold, Hold::Gate { subtask: it, .. } if it == subtask);
    request.calls.clear();
    release(request, |hold| of_subtask(hold) || matches!(hold, Hold::Call { .. }));
    on_subtask(request, subtask, at, |it| it.open = None);
    if let Event::GatePassed { look, .. } | Event::GateFailed { look, .. } = event {
        on_subtask(request, subtask, at, |it| it.reports.extend(look.report.clone()));
    }
    match event {
        Event::GatePassed { look, .. } => {
            let tries = request.subtask(subtask).and_then(|it| it.tries.gates.get(gate)).copied();
            if let Some(tries) = tries {
                learn(
                    request,
                    format!("{gate} of {subtask} held after it had failed {tries} times"),
                );
            }
            on_subtask(request, subtask, at, |it| {
                it.looks.insert(*gate, look.clone());
                it.overridden.retain(|known| known != gate);
                pass(it, *gate);
            });
        }
        Event::GateOverridden { reason, work, .. } => {
            learn(request, format!("a person passed {gate} of {subtask}: {reason}"));
            on_subtask(request, subtask, at, |it| {
                match work {
                    Some(work) => drop(it.overrides.insert(*gate, work.clone())),
                    None => it.overridden.push(*gate),
                }
                pass(it, *gate);
            });
        }
        Event::GateFailed { look, faults, kind, not_before, .. } => {
            let is_redesign = *gate == Gate::Gate4 || *kind == Some(FailureKind::DesignViolation);
            if is_redesign && let Some(owner) = request.owner(subtask).cloned() {
                on_task(request, &owner, at, |task| task.redesigns += 1);
            }
            request.retries += 1;
            on_subtask(request, subtask, at, |it| {
                it.looks.insert(*gate, look.clone());
                it.overridden.retain(|known| known != gate);
                it.faults.clone_from(faults);
                it.not_before = *not_before;
                count(it, *gate, *kind);
                if kind.is_some_and(|kind| kind != FailureKind::DesignViolation) {
                    it.sent_back = Some(look.work.clone());
                }
                let is_over = not_before.is_none();
                let status = if is_over { GateStatus::Failed } else { GateStatus::Pending };
                set_status(&mut it.gates, *gate, status);
            });
        }
        _ => {}
    }
}

/// Counts what has failed, by what would be tried again.
fn count(subtask: &mut SubtaskState, gate: Gate, kind: Option<FailureKind>) {
    match kind {
        Some(FailureKind::ImplementationError) => subtask.tries.test_runs += 1,
        Some(FailureKind::TestError) => subtask.tries.test_rewrites += 1,
        Some(FailureKind::DesignViolation) => {}
        None => *subtask.tries.gates.entry(gate).or_default() += 1,
    }
}

fn pass(subtask: &mut SubtaskState, gate: Gate) {
    set_status(&mut subtask.gates, gate, GateStatus::Passed);
    subtask.tries.overcome += subtask.tries.gates.remove(&gate).unwrap_or(0);
    subtask.not_before = None;
    subtask.faults.clear();
    if gate != Gate::Gate1 {
        subtask.sent_back = None;
    }
}

/// A phase begins: the gates that lead on from it and from later ones are open again.
fn move_to(subtask: &mut SubtaskState, to: SubtaskPhase) {
    let later: &[Gate] = match to {
        SubtaskPhase::TestFirst => &Gate::ALL,
        SubtaskPhase::Implementation => &[Gate::Gate2, Gate::Gate3, Gate::Gate4],
        SubtaskPhase::Verification => &[Gate::Gate2],
        SubtaskPhase::Complete => &[],
    };
    subtask.phase = to;
    subtask.open = None;
    for gate in later {
        // What passed these led to where this leads back from: the same work is looked at again. Of the others the
        // look tells which contract it was that an agent wrote.
        let is_settled = matches!(gate, Gate::Gate3 | Gate::Gate4);
        if is_settled && status_of(&subtask.gates, *gate) == Some(GateStatus::Passed) {
            subtask.looks.remove(gate);
        }
        set_status(&mut subtask.gates, *gate, GateStatus::Pending);
        subtask.overridden.retain(|known| known != gate);
    }
}

/// A task is designed again, and its subtask begins again after that.
fn forget_design(task: &mut SessionTaskState) {
    let subtask = task.current_subtask.take().and_then(|id| task.subtasks.get_mut(&id));
    subtask.into_iter().for_each(begin_again);
    task.design = None;
}

/// What was looked at before counts for nothing: the same contract, put back, is looked at again.
fn begin_again(subtask: &mut SubtaskState) {
    subtask.looks.clear();
    subtask.sent_back = None;
}

/// What waited for a person goes on, counting from zero.
fn retried(request: &mut RequestState, hold: &Hold) {
    release(request, |known| known == hold);
    match hold {
        Hold::Plan => (request.plans_wrong, request.not_before) = (0, None),
        Hold::Call { call } => drop(request.calls.remove(call)),
        Hold::Join { .. } | Hold::Landing => {}
        Hold::Gate { subtask, gate } => {
            if let Some(owner) = request.owner(subtask).cloned()
                && let Some(task) = request.task_mut(&owner)
            {
                task.redesigns = 0;
            }
            if let Some(found) = request.subtask_mut(subtask) {
                found.tries = Default::default();
                found.looks.clear();
                (found.not_before, found.sent_back) = (None, None);
                set_status(&mut found.gates, *gate, GateStatus::Pending);
            }
        }
    }
}

fn release(request: &mut RequestState, is_over: impl Fn(&Hold) -> bool) {
    request.held.retain(|held| !is_over(&held.hold));
}

fn learn(request: &mut RequestState, lesson: String) {
    if request.lessons.len() < LESSONS_MAX && !request.lessons.contains(&lesson) {
        request.lessons.push(lesson);
    }
}

/// A subtask becomes the one that is worked on.
fn enter(request: &mut RequestState, subtask: &SubtaskId) {
    let Some(owner) = request.owner(subtask).cloned() else { return };
    if let Some(task) = request.task_mut(&owner) {
        task.current_subtask = Some(subtask.clone());
    }
}

fn on_task(
    request: &mut RequestState,
    id: &SessionTaskId,
    at: Time,
    change: impl FnOnce(&mut SessionTaskState),
) {
    if let Some(task) = request.task_mut(id) {
        change(task);
        task.updated_at = at;
    }
}

fn on_subtask(
    request: &mut RequestState,
    id: &SubtaskId,
    at: Time,
    change: impl FnOnce(&mut SubtaskState),
) {
    let Some(owner) = request.owner(id).cloned() else { return };
    on_task(request, &owner, at, |task| {
        if let Some(subtask) = task.subtasks.get_mut(id) {
            change(subtask);
        }
    });
}

/// The tasks of a new plan; what was known before keeps how far it is.
fn replan(request: &mut RequestState, planned: &[PlannedSessionTask], at: Time) {
    let mut before = std::mem::take(&mut request.tasks);
    for plan in planned {
        let mut task =
            before.remove(&plan.id).unwrap_or_else(|| SessionTaskState::new(plan.name.clone(), at));
        task.name.clone_from(&plan.name);
        let mut subtasks = std::mem::take(&mut task.subtasks);
        for (id, name) in &plan.subtasks {
            let mut subtask =
                subtasks.remove(id).unwrap_or_else(|| SubtaskState::new(name.clone()));
            subtask.name.clone_from(name);
            task.subtasks.insert(id.clone(), subtask);
        }
        // A subtask that was added to a completed task lets it begin again.
        if task.status == Status::Completed && !task.is_done() {
            (task.status, task.design) = (Status::Pending, None);
        }
        task.updated_at = at;
        request.tasks.insert(plan.id.clone(), task);
    }
}

fn take_over(
    session: &mut Session,
    (file, state): (&SessionFile, Option<&StateFile>),
    base: Option<&String>,
    at: Time,
) {
    let time = |stamp: Stamp| match stamp {
        Stamp::At(at) => at,
        Stamp::Local(_) => at,
    };
    session.sessions += 1;
    let project = ProjectFacts {
        path: file.project.path.clone(),
        name: file.project.name.clone(),
        hash: file.project.hash.clone(),
    };
    session.facts = Some(SessionFacts {
        number: session.sessions,
        project,
        manifest: file.manifest.clone(),
        status: file.status,
        created_at: time(file.created_at),
        updated_at: at,
    });
    let Some(state) = state else { return };
    let number = state.request.id.as_str().trim_start_matches('R').parse().unwrap_or(0);
    session.requests = session.requests.max(number);
    let mut request =
        RequestState::new(state.request.id.clone(), state.request.original_request.clone(), at);
    request.status = state.request.status;
    request.phase = state.request.global_phase;
    request.current_task.clone_from(&state.request.current_task);
    for id in &state.task_order {
        let task = match state.tasks.get(id) {
            Some(task) => taken_task(task, base, at),
            None => SessionTaskState::new(id.to_string(), at),
        };
        request.tasks.insert(id.clone(), task);
    }
    session.request = Some(request);
}

fn taken_task(task: &SessionTask, base: Option<&String>, at: Time) -> SessionTaskState {
    let time = |stamp: Option<Stamp>| match stamp {
        Some(Stamp::At(at)) => at,
        _ => at,
    };
    let mut subtasks = Ordered::new();
    for id in &task.subtask_order {
        let mut subtask = SubtaskState::new(id.to_string());
        if let Some(found) = task.subtasks.get(id) {
            subtask.name.clone_from(&found.name);
            (subtask.status, subtask.phase) = (found.status, found.phase);
            subtask.gates = match found.status {
                Status::Completed => found.gates,
                _ => fill(found.gates),
            };
        }
        if subtask.status == Status::InProgress {
            subtask.base = base.cloned();
        }
        subtasks.insert(id.clone(), subtask);
    }
    SessionTaskState {
        name: task.name.clone(),
        status: task.status,
        current_subtask: task.current_subtask.clone(),
        subtasks,
        created_at: time(task.created_at),
        updated_at: time(task.updated_at),
        design: None,
        redesigns: 0,
        tree: None,
    }
}

/// Gates that a file leaves out were not looked at.
fn fill(gates: crate::document::session::SubtaskGates) -> crate::document::session::SubtaskGates {
    let all = all_pending();
    crate::document::session::SubtaskGates {
        tests_written: gates.tests_written.or(all.tests_written),
        tests_pass: gates.tests_pass.or(all.tests_pass),
        in_scope: gates.in_scope.or(all.in_scope),
        design_kept: gates.design_kept.or(all.design_kept),
    }
}
