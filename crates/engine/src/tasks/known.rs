//! What this process knows of TASKS.md without reading it again.
//!
//! The plan of a large run takes longer to read than all that is done with it at the end of a run.

use super::TasksSource;
use std::sync::{Arc, Weak};
use waypost_model::{
    paged::Paged,
    run::{self, Plan, PlannedTask},
};

#[derive(Debug, Default)]
pub(crate) struct KnownTasks {
    /// What was read to find out how a run should begin: it begins with that, whatever has become
    /// of the file since.
    pub(crate) ahead: Option<TasksSource>,
    text: Option<KnownText>,
}

/// A text and what it reads as.
#[derive(Debug)]
struct KnownText {
    hash: String,
    /// The tasks of the plan that was read from it. A plan in which other tasks stand has another list,
    /// also where it is said to come from the same text.
    tasks: Weak<Paged<PlannedTask>>,
}

impl KnownTasks {
    /// Notes from which text the plans of these commands were read.
    pub(super) fn note_read(&mut self, commands: &[run::Command]) {
        for command in commands {
            if let run::Command::Begin { plan, .. }
            | run::Command::BeginNew { plan, .. }
            | run::Command::Replan { plan, .. } = command
                && let Some(source) = &plan.source
            {
                self.note(source.hash.clone(), plan);
            }
        }
    }

    /// Notes that the text with this hash reads as the plan, but for ticks.
    pub(crate) fn note(&mut self, hash: String, plan: &Plan) {
        self.text = Some(KnownText { hash, tasks: Arc::downgrade(&plan.tasks) });
    }

    /// Whether the text with this hash is known to read as the plan, but for ticks. `false`: only
    /// reading it can tell.
    pub(crate) fn reads_as(&self, hash: &str, plan: &Plan) -> bool {
        let is_it = |text: &KnownText| {
            text.hash == hash && std::ptr::eq(text.tasks.as_ptr(), Arc::as_ptr(&plan.tasks))
        };
        self.text.as_ref().is_some_and(is_it)
    }
}

#[cfg(test)]
mod tests {
    use crate::{boxes, ledger::MachineCommand, project::Project, tasks};
    use waypost_model::{actor::Actor, evidence::Evidence, run::Command};
    use waypost_store::hash;

    const TASKS: &str = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n";

    #[test]
    fn a_text_is_known_from_when_it_is_read_and_after_its_boxes_are_ticked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("TASKS.md");
        crate::write_file(&path, TASKS.as_bytes()).unwrap();
        let actor = Actor::User("test".into());
        let mut project = Project::open_unreconciled(folder.path(), actor).unwrap();
        tasks::drive_run(&mut project, &[], None).unwrap();
        let is_known = |project: &mut Project, text: &[u8]| {
            let hash = hash::sha256_hex(text);
            let plan = project.run_seen().unwrap().active().unwrap().plan().clone();
            // The same tasks in another list may have come from elsewhere.
            let other = waypost_model::run::Plan {
                tasks: std::sync::Arc::new((*plan.tasks).clone()),
                ..plan.clone()
            };
            assert!(!project.tasks.reads_as(&hash, &other));
            project.tasks.reads_as(&hash, &plan)
        };
        assert!(is_known(&mut project, TASKS.as_bytes()));
        let id: waypost_model::id::TaskId = "T1.1".parse().unwrap();
        let start = Command::Start { id: id.clone() };
        let done = Command::Done { id, attempt: None, evidence: Evidence::Claimed, commit: None };
        for command in [start, done] {
            project.commit(&[MachineCommand::run(command)]).unwrap();
        }
        boxes::tick(&mut project).unwrap();
        let ticked = waypost_store::file::read_bounded(&path, 1_000).unwrap().unwrap();
        assert_eq!(ticked, TASKS.replace("[ ]", "[x]").as_bytes());
        assert!(is_known(&mut project, &ticked));
        assert!(!is_known(&mut project, TASKS.as_bytes()));
        assert!(tasks::left_over(&mut project).unwrap().is_none());
        crate::write_file(&path, b"- [ ] T9.9: Other\n").unwrap();
        assert!(tasks::left_over(&mut project).unwrap().is_some());
    }
}
