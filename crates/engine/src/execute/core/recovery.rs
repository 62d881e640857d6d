//! Taking up after an engine or a keeper that died: what was found becomes the lives of attempts.

use super::{
    super::{
        attempt::Attempt,
        life::{Life, LifeInput, Whereabouts},
    },
    attempts::Core,
    words::{GitTrace, Output, Survey, Trace},
};
use std::collections::{BTreeMap, BTreeSet};
use waypost_model::{
    id::TaskId,
    run::{self, Run, TaskStatus},
    time::Time,
};

impl Core {
    /// What the keeper had is not known any more: the survey that follows tells.
    pub(super) fn keeper_lost(&mut self) {
        self.lives.retain(|_, life| !life.has_child());
        self.strays.clear();
        self.lose_check();
        self.forget_slots();
    }

    /// Goes through what is under way as far as the journal knows: it runs, it has ended unheard, it is
    /// joined or committed, or it is lost. Children of attempts that are over are stopped.
    pub(super) fn surveyed(&mut self, survey: Survey, run: &Run, now: Time) {
        let Survey { children, mut git } = survey;
        let mut traces: BTreeMap<(String, u32), Trace> = BTreeMap::new();
        for trace in children {
            traces.insert((trace.task.clone(), trace.attempt), trace);
        }
        for (id, number) in self.unaccounted(run) {
            let trace = traces.remove(&(id.to_string(), number));
            let trace = trace.filter(|trace| trace.is_kept || trace.end.is_some());
            let (found, end) = match (trace, git.remove(&id)) {
                (Some(Trace { step: verify, end, .. }), git) => {
                    let commit = match git {
                        Some(GitTrace::At(head)) => Some(head),
                        _ => None,
                    };
                    (Whereabouts::Runs { verify, commit }, end)
                }
                (None, Some(GitTrace::Joined { commit, work })) => {
                    (Whereabouts::Joined { commit, work }, None)
                }
                (None, Some(GitTrace::Committed)) => (Whereabouts::Committed, None),
                (None, Some(GitTrace::At(_)) | None) => (Whereabouts::Lost, None),
            };
            self.find(&id, found, run, now);
            end.into_iter().for_each(|report| self.report(report, run, now));
        }
        for trace in traces.into_values().filter(|trace| trace.is_kept && trace.end.is_none()) {
            self.strays.insert(trace.name.clone());
            self.want(Output::Stop(trace.name));
        }
        // An end that was wished for before anything was found holds for what was found, too.
        self.keep_to_wish();
    }

    /// An agent of an earlier engine works on an attempt, or has ended unheard.
    pub(super) fn agent_found(&mut self, id: &TaskId, attempt: u32, run: &Run, now: Time) {
        let view = run.active().and_then(|active| active.task(id));
        let is_ours =
            view.is_some_and(|it| it.status == TaskStatus::InProgress && it.attempts == attempt);
        if is_ours {
            self.find(id, Whereabouts::WithAgent, run, now);
        }
    }

    /// Attempts that are in progress as far as the journal knows, and of which nothing is known here.
    /// An end that was heard and not recorded yet is known.
    fn unaccounted(&self, run: &Run) -> Vec<(TaskId, u32)> {
        let ends = self.ended.iter().filter(|it| !matches!(it, run::Command::Account { .. }));
        let heard: BTreeSet<&TaskId> = ends.filter_map(run::Command::task).collect();
        let Some(active) = run.active() else { return Vec::new() };
        let open = active.tasks().filter(|view| {
            let id = &view.planned.id;
            view.status == TaskStatus::InProgress
                && !self.lives.contains_key(id)
                && !heard.contains(id)
        });
        open.map(|view| (view.planned.id.clone(), view.attempts)).collect()
    }

    fn find(&mut self, id: &TaskId, found: Whereabouts, run: &Run, now: Time) {
        let Some(active) = run.active() else { return };
        let Some(view) = active.task(id) else { return };
        let mut life = Life::new(Attempt::new(&view, active, &self.setup.site));
        if matches!(found, Whereabouts::Runs { .. } | Whereabouts::WithAgent) {
            life.started(now);
        }
        self.lives.insert(id.clone(), life);
        self.advance(id, LifeInput::Found(found), run);
    }
}
