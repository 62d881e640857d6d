//! What holds a task of the memory, and which events made it so.

use super::Reason;
use crate::{error::EngineError, ledger::memory_stream, memory, mentions, project::Project};
use waypost_model::{
    document::{
        MemoryTaskId,
        memory::{MemoryTaskStatus, Step, StepStatus},
    },
    memory::{KeptTask, Memory},
    next::NextStep,
    time::Time,
};

/// Why a task of the memory stands as it does.
#[derive(Clone, Debug)]
pub struct MemoryWhy {
    pub id: MemoryTaskId,
    /// Its status, or its result if it has ended.
    pub status: &'static str,
    pub reasons: Vec<Reason>,
}

/// A reason whose event is not looked up yet: the newest of these kinds about the task, and about the
/// step where there is one.
struct MemoryDraft {
    text: String,
    kinds: &'static [&'static str],
    step: Option<u32>,
    next: Option<NextStep>,
}

/// Says what holds a task of the memory.
pub fn explain_memory(project: &mut Project, id: &MemoryTaskId) -> Result<MemoryWhy, EngineError> {
    let now = project.clock().now();
    let found = project.memory()?;
    let (status, drafts) = match found.history().entry(id) {
        Some(entry) if found.task(id).is_none() => {
            let text = format!("it has ended: {}", entry.summary);
            let kinds = &["task_ended", "recorded"][..];
            (entry.result.as_str(), vec![MemoryDraft { text, kinds, step: None, next: None }])
        }
        _ => {
            let kept = found.find(Some(id))?;
            (kept.task.status.as_str(), drafts(found, kept, now))
        }
    };
    let mut reasons = Vec::new();
    for MemoryDraft { text, kinds, step, next } in drafts {
        let stream = memory_stream();
        let event = mentions::newest_about(project, id.as_str(), |entry| {
            let names_step =
                step.is_none_or(|step| entry.body.contains(&format!("\"step\":{step}")));
            entry.stream == stream && kinds.contains(&entry.kind.as_str()) && names_step
        })?;
        reasons.push(Reason { text, event, next });
    }
    for finding in memory::examine(project) {
        if finding.text.contains(id.as_str()) && finding.repair.is_some() {
            let next = finding.next.into_iter().next();
            reasons.push(Reason { text: finding.text, event: None, next });
        }
    }
    Ok(MemoryWhy { id: id.clone(), status, reasons })
}

fn drafts(memory: &Memory, kept: &KeptTask, now: Time) -> Vec<MemoryDraft> {
    let plain = |text: String, kinds, next| MemoryDraft { text, kinds, step: None, next };
    let mut drafts = Vec::new();
    let is_current = memory.current().is_some_and(|it| it.task.id == kept.task.id);
    if !is_current && let Some(current) = memory.current() {
        let text = format!("it waits for {} ({})", current.task.id, current.task.name);
        drafts.push(plain(text, &["task_made"], Some(NextStep::ShowMemory)));
    }
    match kept.task.status {
        MemoryTaskStatus::Pending if is_current => {
            let next = Some(NextStep::StartMemoryTask);
            drafts.push(plain("it has not been started".into(), &["task_made"], next));
        }
        MemoryTaskStatus::Paused => {
            let next = Some(NextStep::ResumeMemoryTask);
            drafts.push(plain("it was paused".into(), &["task_paused"], next));
        }
        MemoryTaskStatus::Failed => {
            let why = kept.task.issues.iter().rfind(|issue| issue.step_id.is_none());
            let why = why.map(|issue| format!(": {}", issue.message)).unwrap_or_default();
            let next = Some(NextStep::RecoverMemoryTask);
            drafts.push(plain(format!("it has failed{why}"), &["task_failed"], next));
        }
        _ => {}
    }
    if let Some(cause) = kept.replan {
        let text = format!("a new plan is called for: {}", cause.as_str());
        drafts.push(plain(text, &["replan_called"], Some(NextStep::Replan)));
    }
    drafts.extend(kept.open_steps().filter_map(|step| of_step(kept, step, now)));
    if drafts.is_empty() {
        let next = Some(NextStep::CompleteMemoryTask);
        drafts.push(plain("nothing holds it".into(), &["task_started", "task_resumed"], next));
    }
    drafts
}

fn of_step(kept: &KeptTask, step: &Step, now: Time) -> Option<MemoryDraft> {
    let (number, name) = (step.id, &step.name);
    let said = step.error.as_ref().map(|it| format!(" ({}: {})", it.class, it.message));
    let said = said.unwrap_or_default();
    let waits = kept.waits_for(step);
    let draft =
        |text: String, kinds, next| Some(MemoryDraft { text, kinds, step: Some(number), next });
    match step.status {
        StepStatus::Escalated => {
            let text = format!("step {number} ({name}) waits for a person{said}");
            draft(text, &["step_escalated"], Some(NextStep::ShowInbox))
        }
        StepStatus::Failed => {
            let not_before = kept.clock(number).not_before.filter(|at| *at > now);
            let when = not_before.map(|at| format!(", not again before {at}")).unwrap_or_default();
            let text = format!("step {number} ({name}) has failed{said}{when}");
            draft(text, &["step_failed"], Some(NextStep::RetryStep { number }))
        }
        StepStatus::InProgress => {
            let text = format!("step {number} ({name}) is in progress");
            let next = NextStep::CompleteStep { number };
            draft(text, &["step_started", "step_retried"], Some(next))
        }
        StepStatus::Pending if !waits.is_empty() => {
            let names: Vec<String> = waits.iter().map(ToString::to_string).collect();
            let text = format!("step {number} ({name}) waits for {}", names.join(", "));
            draft(text, &["step_added"], Some(NextStep::ShowStep { number: waits[0] }))
        }
        StepStatus::Pending => {
            let text = format!("step {number} ({name}) can be started");
            draft(text, &["step_added"], Some(NextStep::StartStep { number }))
        }
        StepStatus::Completed => None,
    }
}
