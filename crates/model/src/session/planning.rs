//! What a plan leads to: the task loop, or back to the planner; and what a design leads to.

use super::{
    machine::{again_at, escalated},
    state::{RequestState, Session},
    topic::Hold,
    words::{AssumptionFate, Event, Lead, PlanDraft, PlannedSessionTask},
};
use crate::{
    code::Code,
    document::{
        SessionTaskId, SubtaskId,
        session::{GlobalPhase, Status},
    },
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    retry::{FailureClass, Policy, Scope},
};

impl Session {
    pub(super) fn plan(
        &self,
        draft: &PlanDraft,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let is_person = asked.by.is_person();
        if request.held(&Hold::Plan).is_some() && !is_person {
            return Err(Rejected::rule(Code::PersonNeeded, "the plan waits for a person")
                .next(NextStep::ShowInbox));
        }
        if request.sent_back.as_ref() == Some(&draft.contract) && !is_person {
            let message = "this plan was sent back; the planner makes another one";
            return Err(Rejected::rule(Code::PlanSentBack, message).next(NextStep::NextOfSession));
        }
        if let Err(rejected) = is_sound(request, draft) {
            // Where work goes on by an earlier plan, that one stands.
            return match request.phase {
                GlobalPhase::GlobalDiscovery => {
                    Ok(sent_back(request, draft, vec![rejected.message], asked))
                }
                _ => Err(rejected),
            };
        }
        if draft.is_mostly_wrong() {
            return Ok(sent_back(request, draft, Vec::new(), asked));
        }
        let is_same = request.plan.as_ref() == Some(&draft.contract)
            && request.phase == GlobalPhase::TaskLoop
            && request.assumptions == draft.assumptions;
        if is_same {
            return Ok(Decision::nothing());
        }
        let planned = Decision::events([Event::Planned {
            request: request.id.clone(),
            contract: draft.contract.clone(),
            tasks: draft.tasks.clone(),
            assumptions: draft.assumptions.clone(),
        }]);
        let settled = request.held.iter().filter(|held| !matches!(held.hold, Hold::Gate { .. }));
        Ok(settled.fold(planned, |decision, held| {
            decision.with(Effect::Settle { topic: held.hold.topic() })
        }))
    }

    /// A task has a design: its first subtask begins, or the one that waits for it goes on.
    pub(super) fn design(
        &self,
        task: &SessionTaskId,
        contract: &str,
        base: Option<&String>,
    ) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let found = Self::find_task(request, task)?;
        if found.design.as_deref() == Some(contract) {
            return Ok(Decision::nothing());
        }
        let in_design = request.in_design().map(|(id, _)| id);
        if in_design != Some(task) {
            let message = format!("{task} is not in design");
            return Err(Rejected::rule(Code::TaskStatus, message).next(NextStep::NextOfSession));
        }
        if request.tree_step().is_some() {
            let message = format!("{task} has no work tree yet");
            return Err(Rejected::rule(Code::TaskStatus, message).next(NextStep::NextOfSession));
        }
        let Some((id, subtask)) = found.next_subtask() else {
            let message = format!("{task} has no subtask");
            return Err(Rejected::rule(Code::PlanEmpty, message).next(NextStep::PlanSession));
        };
        let follows = match subtask.status {
            Status::Pending => Event::SubtaskBegun { subtask: id.clone(), base: base.cloned() },
            _ => Event::SubtaskResumed { subtask: id.clone() },
        };
        let designed = Event::Designed { task: task.clone(), contract: contract.to_owned() };
        Ok(request.settled_calls(Decision::events([designed, follows])))
    }
}

impl RequestState {
    /// Adds that what was asked about agents needs no answer any more: the work went on.
    pub(super) fn settled_calls(&self, decision: Decision<Event>) -> Decision<Event> {
        let calls = self.held.iter().filter(|held| matches!(held.hold, Hold::Call { .. }));
        calls.fold(decision, |decision, held| {
            decision.with(Effect::Settle { topic: held.hold.topic() })
        })
    }
}

/// A plan has tasks with subtasks, and leaves nothing out that has begun.
fn is_sound(request: &RequestState, draft: &PlanDraft) -> Result<(), Rejected> {
    let refused =
        |code, message: String| Err(Rejected::rule(code, message).next(NextStep::NextOfSession));
    if draft.tasks.is_empty() {
        return refused(Code::PlanEmpty, "the plan has no task".to_owned());
    }
    if let Some(task) = draft.tasks.iter().find(|task| task.subtasks.is_empty()) {
        return refused(Code::PlanEmpty, format!("{} has no subtask", task.id));
    }
    for (id, task) in request.tasks.iter() {
        let planned = draft.tasks.iter().find(|it| it.id == *id);
        if planned.is_none() && task.status != Status::Pending {
            return refused(Code::PlanLacksTask, format!("{id} has begun and is not in the plan"));
        }
        let begun = task.subtasks.iter().filter(|(_, it)| it.status != Status::Pending);
        let mut begun = begun.map(|(id, _)| id);
        let has = |plan: &PlannedSessionTask, id: &SubtaskId| {
            plan.subtasks.iter().any(|(known, _)| known == id)
        };
        if let Some(lost) = begun.find(|id| !planned.is_some_and(|plan| has(plan, id))) {
            let message = format!("{lost} has begun and is not in the plan");
            return refused(Code::PlanLacksTask, message);
        }
    }
    Ok(())
}

/// Half of what the planner took for granted is wrong, or more, or what it planned cannot be worked on.
fn sent_back(
    request: &RequestState,
    draft: &PlanDraft,
    faults: Vec<String>,
    asked: &Asked<'_>,
) -> Decision<Event> {
    let used = request.plans_wrong;
    let key = request.id.as_str();
    let outlook = Policy::of(Scope::Phase).after(used, FailureClass::Validation, key);
    let not_before = again_at(outlook, asked.now);
    let why = match faults.as_slice() {
        [] => format!("These assumptions are wrong: {}", draft.wrong().join(", ")),
        faults => faults.join("; "),
    };
    let back = Event::PlanSentBack {
        request: request.id.clone(),
        contract: draft.contract.clone(),
        assumptions: draft.assumptions.clone(),
        faults,
        briefs: draft.briefs.clone(),
        not_before,
    };
    // Work that goes on by an earlier plan waits for no person.
    let is_needed = request.phase == GlobalPhase::GlobalDiscovery;
    match not_before {
        None if is_needed => escalated(vec![back], Hold::Plan, Lead::Stay, (&why, used + 1)),
        _ => Decision::events([back]),
    }
}

impl PlanDraft {
    /// Whether half of its assumptions or more are wrong.
    pub fn is_mostly_wrong(&self) -> bool {
        let wrong = self.wrong().len();
        wrong > 0 && wrong * 2 >= self.assumptions.len()
    }

    /// The assumptions that are wrong.
    fn wrong(&self) -> Vec<String> {
        let wrong = self.assumptions.iter().filter(|it| it.verdict == AssumptionFate::Wrong);
        wrong.map(|it| format!("`{}`", it.text)).collect()
    }
}
