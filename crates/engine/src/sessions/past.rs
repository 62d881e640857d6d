//! Earlier requests, read from the journal: a state only has the present one.

use crate::{
    error::EngineError,
    ledger::{decode, session_stream},
    project::Project,
};
use waypost_model::{
    document::{RequestId, SubtaskId},
    machine::Machine as _,
    session::{AssumptionFate, Event, RequestState, Session},
};
use waypost_store::StoreError;

/// A request, and in which session it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRequest {
    pub session: u32,
    pub state: RequestState,
}

/// A gate that did not hold, of a subtask that has passed it since, or a plan that was sent back before one held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OvercomeFault {
    pub(crate) request: RequestId,
    /// None: the plan.
    pub(crate) subtask: Option<SubtaskId>,
    /// Which gate, or the plan.
    pub(crate) what: String,
    pub(crate) faults: Vec<String>,
}

/// What did not hold at first, in requests whose subtask or plan has come through since; the first first.
pub(crate) fn overcome(project: &mut Project) -> Result<Vec<OvercomeFault>, EngineError> {
    let Some(journal) = project.journal.as_mut() else { return Ok(Vec::new()) };
    let (mut open, mut found): (Vec<OvercomeFault>, Vec<OvercomeFault>) = (Vec::new(), Vec::new());
    let mut present: Option<RequestId> = None;
    journal.view()?.for_each_event(&session_stream(), 0, |entry| -> Result<(), StoreError> {
        let event: Event = decode::<Session>(&entry)?;
        let Some(request) = present.clone() else {
            if let Event::RequestMade { request, .. } = event {
                present = Some(request);
            }
            return Ok(());
        };
        match event {
            Event::RequestMade { request, .. } => {
                open.clear();
                present = Some(request);
            }
            Event::GateFailed { subtask, gate, faults, .. } if !faults.is_empty() => {
                let (subtask, what) = (Some(subtask), gate.to_string());
                open.push(OvercomeFault { request, subtask, what, faults });
            }
            // It was let be, and not put right.
            Event::GateOverridden { subtask, gate, .. } => {
                let what = gate.to_string();
                open.retain(|it| it.subtask.as_ref() != Some(&subtask) || it.what != what);
            }
            Event::PlanSentBack { assumptions, faults, .. } => {
                let wrong = assumptions.iter().filter(|it| it.verdict == AssumptionFate::Wrong);
                let wrong = wrong.map(|it| format!("`{}` is wrong: {}", it.text, it.how));
                let faults = faults.into_iter().chain(wrong).collect();
                let what = "the plan".to_owned();
                open.push(OvercomeFault { request, subtask: None, what, faults });
            }
            Event::Planned { .. } => {
                let is_plan = |it: &OvercomeFault| it.subtask.is_none();
                found.extend(open.extract_if(.., |it| is_plan(it)));
            }
            Event::SubtaskCompleted { subtask } => {
                let is_of = |it: &OvercomeFault| it.subtask.as_ref() == Some(&subtask);
                found.extend(open.extract_if(.., |it| is_of(it)));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}

/// Every request of this repository, as it was left; the first first.
pub fn requests(project: &mut Project) -> Result<Vec<PastRequest>, EngineError> {
    let Some(journal) = project.journal.as_mut() else { return Ok(Vec::new()) };
    let mut session = Session::start();
    let mut found = Vec::new();
    let left = |session: &Session| {
        let number = session.facts().map_or(0, |facts| facts.number);
        session.request().cloned().map(|state| PastRequest { session: number, state })
    };
    journal.view()?.for_each_event(&session_stream(), 0, |entry| -> Result<(), StoreError> {
        let event: Event = decode::<Session>(&entry)?;
        if matches!(event, Event::RequestMade { .. }) {
            found.extend(left(&session));
        }
        session.apply(&event, entry.at);
        Ok(())
    })?;
    found.extend(left(&session));
    Ok(found)
}
