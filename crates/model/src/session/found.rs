//! Files of a session that no journal knows of: what is taken from them.
//!
//! A file says what it likes. What a person takes over stands; from an agent's hand only the plan does, and each
//! gate that a file says to be passed is judged again.

use super::{
    gate::Gate,
    state::{Session, all_pending, status_of},
    words::Event,
};
use crate::{
    actor::Actor,
    code::Code,
    diagnostic::Severity,
    document::{
        Document as _,
        session::{
            GateStatus, GlobalPhase, SessionFile, SessionState as StateFile, SessionStatus, Status,
            Subtask, SubtaskPhase,
        },
    },
    machine::{Decision, Rejected},
    next::NextStep,
};

impl Session {
    /// Only where nothing is known that they would replace.
    pub(super) fn take_over(
        &self,
        session: &SessionFile,
        state: Option<&StateFile>,
        base: Option<&String>,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if self.facts.is_some() {
            let message = "the session is in the journal already";
            return Err(Rejected::rule(Code::JournalExists, message).next(NextStep::ShowSession));
        }
        let of_state = state.iter().flat_map(|state| state.check());
        let both = state.iter().flat_map(|state| state.check_with(session));
        let findings = session.check().into_iter().chain(of_state).chain(both);
        let wrong =
            findings.filter(|it| it.severity == Severity::Error).map(|it| it.message).next();
        if let Some(wrong) = wrong {
            return Err(Rejected::rule(Code::EditRefused, wrong));
        }
        let state =
            state.cloned().map(|state| match matches!(by, Actor::Agent { .. }) && state.claims() {
                true => unjudged(state),
                false => state,
            });
        Ok(Decision::events([Event::TakenOver {
            session: Box::new(session.clone()),
            state: state.map(Box::new),
            base: base.cloned(),
        }]))
    }
}

impl StateFile {
    /// Whether it says that something is done which gates have to be passed for.
    pub fn claims(&self) -> bool {
        let claims = |subtask: &Subtask| {
            let is_passed = |gate| status_of(&subtask.gates, gate) == Some(GateStatus::Passed);
            subtask.status == Status::Completed
                || subtask.phase != SubtaskPhase::TestFirst
                || Gate::ALL.into_iter().any(is_passed)
        };
        let is_done = self.tasks.values().any(|task| task.status == Status::Completed);
        let mut subtasks = self.tasks.values().flat_map(|task| task.subtasks.values());
        is_done || self.request.status == SessionStatus::Completed || subtasks.any(claims)
    }
}

/// The same plan with nothing begun.
fn unjudged(mut state: StateFile) -> StateFile {
    state.request.current_task = None;
    if state.request.status == SessionStatus::Completed {
        state.request.status = SessionStatus::Active;
    }
    if state.request.global_phase == GlobalPhase::Complete {
        state.request.global_phase = GlobalPhase::TaskLoop;
    }
    for id in state.task_order.clone() {
        let Some(task) = state.tasks.get_mut(&id) else { continue };
        (task.status, task.current_subtask) = (Status::Pending, None);
        for id in task.subtask_order.clone() {
            let Some(subtask) = task.subtasks.get_mut(&id) else { continue };
            (subtask.status, subtask.phase) = (Status::Pending, SubtaskPhase::TestFirst);
            subtask.gates = all_pending();
        }
    }
    state
}
