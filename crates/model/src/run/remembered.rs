//! A run that is over, as an entry of the memory's history.

use crate::{
    document::memory::{Artifact, ArtifactForm, TaskMetrics, TaskResult},
    memory::FinishedWork,
    run::{Active, Event, TaskStatus, TaskView},
    time::Time,
};

/// So many lessons come of one run; what failed comes first.
const LESSONS_MAX: usize = 20;

/// So many files of completed tasks are listed.
const FILES_MAX: usize = 50;

/// What is remembered of what was just decided about `found`, the run as it was before.
pub(super) fn of(found: Option<&Active>, events: &[Event], at: Time) -> Option<FinishedWork> {
    let active = found?;
    let ends = |event: &Event| match event {
        Event::PhaseClosed { phase, .. } => active.is_last(*phase),
        _ => false,
    };
    events.iter().any(ends).then(|| active.finished(at))
}

impl Active {
    fn finished(&self, at: Time) -> FinishedWork {
        let (number, plan) = (self.number(), self.plan());
        let (total, completed) = (plan.tasks.len(), self.count(TaskStatus::Completed));
        let (failed, blocked) = (self.count(TaskStatus::Failed), self.count(TaskStatus::Blocked));
        let result = match completed {
            all if all == total => TaskResult::Success,
            0 => TaskResult::Failure,
            _ => TaskResult::Partial,
        };
        let summary = match completed == total {
            true => format!("run {number}: all {total} tasks completed"),
            false => format!(
                "run {number}: {completed} of {total} tasks completed, {failed} failed, {blocked} blocked"
            ),
        };
        let number_of = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let metrics = TaskMetrics {
            steps_total: number_of(total),
            steps_completed: number_of(completed),
            retries: self.tasks().map(|view| view.retries).fold(0, u32::saturating_add),
            tokens_used: self.usage().tokens(),
        };
        FinishedWork {
            source: format!("run/{number}"),
            name: match plan.project.as_str() {
                "" => format!("run {number}"),
                project => format!("run {number}: {project}"),
            },
            result,
            started_at: self.started_at(),
            completed_at: at,
            summary,
            artifacts: self.files(),
            metrics,
            lessons: self.lessons(),
        }
    }

    /// The plan, and the files that completed tasks declare.
    fn files(&self) -> Vec<Artifact> {
        let plan = self.plan().source.iter().map(|source| (source.path.clone(), "the plan".into()));
        let completed = self.tasks_with(TaskStatus::Completed);
        let of_task = |view: TaskView<'_>| {
            let files = view.planned.details.iter().flat_map(|it| it.files.clone());
            let id = view.planned.id.to_string();
            files.map(move |file| (file, id.clone())).collect::<Vec<_>>()
        };
        let mut listed: Vec<Artifact> = Vec::new();
        for (path, description) in plan.chain(completed.flat_map(of_task)) {
            if listed.len() > FILES_MAX {
                break;
            }
            if !listed.iter().any(|it| it.path == path) {
                listed.push(Artifact { form: ArtifactForm::File, path, description });
            }
        }
        listed
    }

    /// What failed and why, then what was tried again before it was done.
    fn lessons(&self) -> Vec<String> {
        let why = |view: &TaskView<'_>| {
            let text = view.last_failure.map_or("", |it| it.text.as_str());
            text.lines().next().unwrap_or_default().trim().to_owned()
        };
        let failed = self.tasks_with(TaskStatus::Failed).map(|view| {
            let (id, title) = (&view.planned.id, &view.planned.title);
            match why(&view).as_str() {
                "" => format!("{id} ({title}) failed"),
                why => format!("{id} ({title}) failed: {why}"),
            }
        });
        let again = self.tasks_with(TaskStatus::Completed).filter(|view| view.retries > 0);
        let again = again.map(|view| {
            let (id, title, retries) = (&view.planned.id, &view.planned.title, view.retries);
            match why(&view).as_str() {
                "" => format!("{id} ({title}) took {retries} retries"),
                why => format!("{id} ({title}) took {retries} retries: {why}"),
            }
        });
        failed.chain(again).take(LESSONS_MAX).collect()
    }
}
