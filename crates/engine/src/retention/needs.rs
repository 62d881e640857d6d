//! What the present run, a job or an open question may still want.

use crate::{
    agent::is_job_open, error::EngineError, project::Project, served::open as open_served,
};
use std::collections::BTreeSet;
use waypost_model::{
    document::session::SessionStatus,
    run::{PhaseStage, TaskStatus},
};

/// Names of what is not to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Tasks that are not completed.
    tasks: BTreeSet<String>,
    /// Phases that have not landed.
    phases: BTreeSet<u32>,
    /// Requests of the session that are not complete.
    requests: BTreeSet<String>,
    /// Folders of jobs that are not over.
    jobs: BTreeSet<String>,
    /// Tasks of the server that are not over.
    served: BTreeSet<String>,
    /// Everything that open questions say.
    questions: Vec<String>,
}

impl Needs {
    pub(super) fn of(project: &mut Project) -> Result<Self, EngineError> {
        let mut needs = Self::default();
        if project.has_journal() {
            for entry in project.inbox()?.open() {
                let question = &entry.question;
                needs
                    .questions
                    .push(format!("{} {} {}", question.subject, question.title, question.text));
            }
            // Also of a run that is over: what has failed in it may be tried again.
            if let Some(active) = project.run()?.active() {
                let is_open = |status| status != TaskStatus::Completed;
                let open = active.tasks().filter(|view| is_open(view.status));
                needs.tasks = open.map(|view| view.planned.id.to_string()).collect();
                let phases = active.phases();
                let open = phases.filter(|(_, stage)| !matches!(stage, PhaseStage::Closed { .. }));
                needs.phases = open.map(|(number, _)| number).collect();
            }
            let request = project.session()?.request();
            let open = request.filter(|it| it.status != SessionStatus::Completed);
            needs.requests = open.map(|it| it.id.to_string()).into_iter().collect();
            needs.served = open_served(project)?.iter().map(ToString::to_string).collect();
            needs.jobs = super::piles::job_folders(&project.place().state)
                .into_iter()
                .filter(|name| is_job_open(project, name))
                .collect();
        }
        Ok(needs)
    }

    /// Whether the logs in a folder are wanted: of a task, or of a phase's checks.
    pub(super) fn logs(&self, folder: &str) -> bool {
        let phase = folder.strip_prefix("phase-").and_then(|number| number.parse().ok());
        phase.is_some_and(|number| self.phases.contains(&number))
            || self.tasks.contains(folder)
            || self.is_asked_about(folder)
    }

    pub(super) fn job(&self, folder: &str) -> bool {
        self.jobs.contains(folder) || self.is_asked_about(folder)
    }

    /// Whether the logs of a task of the server are wanted. One that is over and has failed may be tried
    /// again, which needs its checkpoint and nothing that its agent said.
    pub(super) fn served(&self, task: &str) -> bool {
        self.served.contains(task) || self.is_asked_about(task)
    }

    /// Whether a snapshot of a tree is wanted.
    pub(super) fn snapshot(&self, tree: &str) -> bool {
        if let Some(request) = waypost_git::name::request(tree) {
            return self.requests.contains(request) || self.is_asked_about(request);
        }
        let task = waypost_git::name::attempt(tree).map(|(task, _)| task);
        match task {
            Some(task) => self.tasks.contains(task) || self.is_asked_about(task),
            None => {
                let phase = waypost_git::name::phase(tree);
                phase.is_some_and(|it| self.phases.contains(&it)) || self.is_asked_about(tree)
            }
        }
    }

    /// Whether an open question has this word in it.
    fn is_asked_about(&self, name: &str) -> bool {
        let is_letter = |c: char| c.is_alphanumeric();
        self.questions.iter().any(|text| {
            text.match_indices(name).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + name.len()..].chars().next();
                !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_and_what_is_asked_about_is_needed() {
        let text = |it: &str| it.to_owned();
        let needs = Needs {
            requests: ["R2".to_owned()].into(),
            tasks: [text("T1.2")].into(),
            phases: [2].into(),
            jobs: [text("main.review")].into(),
            served: [text("task_a")].into(),
            questions: vec![text("run/task T1.3 may it delete `x`?")],
        };
        let logs = ["T1.1", "T1.2", "T1.3", "T1", "phase-1", "phase-2"].map(|it| needs.logs(it));
        assert_eq!(logs, [false, true, true, true, false, true], "T1 may be meant");
        assert_eq!(["task_a", "task_b"].map(|it| needs.served(it)), [true, false]);
        assert!(needs.job("main.review") && !needs.job("main.ralph"));
        let of_requests = ["request-R1", "request-R2--T1-1"].map(|it| needs.snapshot(it));
        assert_eq!(of_requests, [false, true]);
        let trees = ["phase-1-x--T1.1-1", "phase-1-x--T1.2-1", "phase-1-x--T1.3-7", "phase-2-y"];
        let snapshots = trees.map(|it| needs.snapshot(&format!("worktree/{it}")));
        assert_eq!(snapshots, [false, true, true, true]);
    }
}
