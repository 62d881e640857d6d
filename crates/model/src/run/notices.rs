//! What a run's events are worth telling a person who is not looking.
//!
//! Questions are not told here: whatever is asked reaches the inbox, and that tells what is new.

use crate::{
    id::TaskId,
    next::NextStep,
    notice::{Notice, NoticeKind},
    run::{Active, Event, FailReason, PhaseStage, Plan, Progress, TaskStatus},
    time::Time,
};

/// So many failed tasks of a run are told one by one; what fails beyond is told with its phase.
/// When everything fails, a person does not read a thousand messages.
const FAILURES_TOLD_MAX: usize = 20;

/// So many failed tasks are named at the end of a phase or a run.
const NAMED_MAX: usize = 10;

/// The notices that follow from what was just decided about `found`, the run as it was before.
pub(super) fn of(found: Option<&Active>, events: &[Event], at: Time) -> Vec<Notice> {
    let mut notices = Vec::new();
    for event in events {
        match (event, found) {
            (Event::Begun { plan, .. }, _) => notices.push(started(plan, events, at)),
            (Event::TaskFailed { id, reason, text }, Some(active)) => {
                notices.extend(active.task_failed(id, *reason, text, at));
            }
            (Event::PhaseClosed { phase, .. }, Some(active)) => {
                notices.push(active.phase_done(*phase, at));
                notices.extend(active.is_last(*phase).then(|| active.all_done(at)));
            }
            _ => {}
        }
    }
    notices
}

fn started(plan: &Plan, events: &[Event], at: Time) -> Notice {
    let is_done = |event: &&Event| matches!(event, Event::TaskCompleted { .. });
    let done = events.iter().filter(is_done).count();
    let phases: std::collections::BTreeSet<u32> =
        plan.tasks.iter().map(|task| task.phase).collect();
    let title = format!("run started: {} in {}", tasks(plan.tasks.len()), count(phases.len()));
    let text = if done > 0 { format!("{done} of them completed before") } else { String::new() };
    Notice::new(NoticeKind::Start, title, at).text(text)
}

fn tasks(number: usize) -> String {
    format!("{number} task{}", if number == 1 { "" } else { "s" })
}

fn count(phases: usize) -> String {
    format!("{phases} phase{}", if phases == 1 { "" } else { "s" })
}

impl Active {
    fn task_failed(&self, id: &TaskId, reason: FailReason, text: &str, at: Time) -> Option<Notice> {
        let is_wanted =
            matches!(reason, FailReason::Skipped | FailReason::Forced | FailReason::Reverted);
        let before = self.count(TaskStatus::Failed);
        if is_wanted || before >= FAILURES_TOLD_MAX {
            return None;
        }
        let view = self.task(id)?;
        let more = match before + 1 == FAILURES_TOLD_MAX {
            true => "\nWhat else fails is told with its phase.",
            false => "",
        };
        let notice =
            Notice::new(NoticeKind::TaskFailed, format!("{id} failed: {}", view.planned.title), at);
        let text = format!("{}{more}", text.trim());
        let notice = notice
            .text(text.trim_start())
            .next(NextStep::ShowOutput { id: id.clone() })
            .next(NextStep::RetryTask { id: id.clone() });
        Some(notice.task(id.clone()).phase(view.planned.phase))
    }

    fn phase_done(&self, phase: u32, at: Time) -> Notice {
        let name =
            self.plan().phases.get(&phase).map_or(String::new(), |name| format!(" ({name})"));
        let Progress { total, completed, failed, blocked } = self.progress(phase);
        let title = match completed == total {
            true => format!("phase {phase}{name} is done: {completed}/{total} completed"),
            false => format!(
                "PHASE_FAILED:{phase} phase {phase}{name} has ended: {completed}/{total} \
                 completed, {failed} failed, {blocked} blocked"
            ),
        };
        let failed = self.failed_in_words(Some(phase));
        Notice::new(NoticeKind::PhaseDone, title, at).text(failed).phase(phase)
    }

    fn all_done(&self, at: Time) -> Notice {
        let total = self.plan().tasks.len();
        let of = |status| self.count(status);
        let completed = of(TaskStatus::Completed);
        let title = match completed == total {
            true => format!("all done: {} completed", tasks(total)),
            false => format!(
                "the run is over: {completed}/{total} completed, {} failed, {} blocked",
                of(TaskStatus::Failed),
                of(TaskStatus::Blocked)
            ),
        };
        Notice::new(NoticeKind::AllDone, title, at).text(self.failed_in_words(None))
    }

    /// The failed tasks of a phase, or of all, a line each.
    fn failed_in_words(&self, phase: Option<u32>) -> String {
        if self.count(TaskStatus::Failed) == 0 {
            return String::new();
        }
        let failed: Vec<String> = self
            .tasks()
            .filter(|view| view.status == TaskStatus::Failed)
            .filter(|view| phase.is_none_or(|phase| view.planned.phase == phase))
            .map(|view| format!("failed: {} {}", view.planned.id, view.planned.title))
            .collect();
        let more = failed.len().saturating_sub(NAMED_MAX);
        let mut lines = failed[..failed.len().min(NAMED_MAX)].to_vec();
        lines.extend((more > 0).then(|| format!("and {more} more")));
        lines.join("\n")
    }

    /// Whether the run is over once this phase is closed.
    pub(super) fn is_last(&self, phase: u32) -> bool {
        let is_done = |(number, stage): (u32, &PhaseStage)| {
            number == phase || matches!(stage, PhaseStage::Closed { .. })
        };
        self.phases().all(is_done) && self.graph.first_unsettled().is_none()
    }
}
