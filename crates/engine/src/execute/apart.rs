//! The executor's part with work trees: giving git work to the yard, and taking what became of it.

use super::{
    Executor, Happening, Wish,
    attempt::{Attempt, Step},
    ending::PhaseEnd,
    ground::Ground,
    held::no_room,
    is_at,
    yard::{Job, Joining, Made, Outcome, Yard},
};
use crate::{
    error::EngineError,
    project::Project,
    worktrees::{Reclaim, reclaim, trees_of},
};
use std::{collections::BTreeSet, time::Duration};
use waypost_git::{Hold, Occupant, PhaseBranch, Retirement, merge, tree};
use waypost_model::{
    id::TaskId,
    retry::FailureClass,
    run::{self, Isolation, PhaseStage, TaskStatus},
    time::Time,
};

/// How long a task waits when the disk has no room for its work tree.
const NO_SPACE: Duration = Duration::from_secs(30);

/// How often the work tree of a phase follows what is joined: nobody works in it before the phase
/// ends, and many short tasks would have git do little else.
const SYNC_INTERVAL: Duration = Duration::from_secs(2);

/// Work trees of a run, and what is under way in them.
#[derive(Debug)]
pub(super) struct Apart {
    pub(super) yard: Yard,
    /// Attempts for which git is at work.
    pub(super) attempts: Vec<Attempt>,
    pub(super) ending: Option<PhaseEnd>,
    /// The phase whose branch is being made.
    pub(super) opening: Option<u32>,
    /// Whether the phase's work tree has to be brought to what was joined, and not before when.
    is_behind: bool,
    next_sync: Time,
}

impl Apart {
    /// The work trees of a run; none where the project folder itself is worked in.
    pub(super) fn of(project: &mut Project) -> Result<Option<Self>, EngineError> {
        let isolation = project.run()?.active().map(|active| active.settings().isolation);
        if !isolation.is_some_and(Isolation::has_trees) {
            return Ok(None);
        }
        // Git processes of an engine that was killed have ended when this is ours.
        let hold = Hold::acquire(&project.place.state)?;
        let trees = trees_of(project)?.held(hold);
        tree::begin_work(&trees)?;
        tree::sweep(&trees)?;
        let open = project.run()?.active().and_then(|active| {
            let number = active.current_phase();
            let is_open = matches!(active.phase(number), Some(PhaseStage::Open { .. }));
            PhaseBranch::of(active, number).filter(|_| is_open)
        });
        if let Some(phase) = open {
            merge::take_back(&trees, &phase)?;
        }
        let yard = Yard::open(trees)?;
        let (attempts, ending, opening) = (Vec::new(), None, None);
        let next_sync = project.clock.now();
        Ok(Some(Self { yard, attempts, ending, opening, is_behind: false, next_sync }))
    }

    /// Whether anything is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.yard.is_busy() || self.ending.is_some() || !self.attempts.is_empty()
    }

    /// Waits until what was removed is gone.
    pub(super) fn close(self) -> Result<(), EngineError> {
        tree::settle(&self.yard.trees);
        Ok(tree::end_work(&self.yard.trees)?)
    }

    fn take(&mut self, id: &TaskId) -> Option<Attempt> {
        let at = self.attempts.iter().position(|attempt| attempt.id == *id)?;
        Some(self.attempts.swap_remove(at))
    }
}

impl Executor<'_> {
    /// How many attempts git is at work for.
    pub(super) fn apart_count(&self) -> usize {
        self.apart.as_ref().map_or(0, |apart| apart.attempts.len())
    }

    /// Gives the git work of an attempt away.
    pub(super) fn give_to_yard(&mut self, attempt: Attempt, step: &Step) {
        let occupant = self.occupant(&attempt);
        let Some(apart) = &mut self.apart else { return };
        let id = attempt.id.clone();
        let (own, phase) = (attempt.ground.own(), attempt.ground.phase());
        let job = match (step, own, phase, occupant) {
            (Step::Place, Some(name), Some(phase), _) => {
                Job::Make { id, name: name.to_owned(), phase: phase.clone() }
            }
            (Step::Place, _, _, Some(occupant)) => {
                Job::Prepare { occupant, goes_on: attempt.goes_on }
            }
            (Step::Join, Some(name), Some(phase), _) => {
                let commit = attempt.commit.as_ref().map(|(commit, _)| commit.clone());
                let joining = Joining {
                    phase: phase.clone(),
                    name: name.to_owned(),
                    commit: commit.unwrap_or_default(),
                    stamp: attempt.stamp.clone(),
                    evidence: attempt.evidence().to_string(),
                    was_verified: !attempt.verify.is_empty(),
                };
                Job::Join { id, joining }
            }
            (_, Some(name), Some(phase), _) => {
                let (name, phase) = (name.to_owned(), phase.clone());
                Job::Commit { id, name, phase, stamp: attempt.stamp.clone() }
            }
            (_, _, _, Some(occupant)) => {
                let evidence = attempt.evidence().to_string();
                Job::CommitShared { occupant, needs_change: attempt.needs_change, evidence }
            }
            // One that works in the project's folder has nothing for git to do.
            (_, _, _, None) => return,
        };
        apart.attempts.push(attempt);
        apart.yard.give(job);
    }

    /// An attempt as one of those in the work tree of its phase.
    fn occupant(&self, attempt: &Attempt) -> Option<Occupant> {
        let Ground::Shared { phase } = &attempt.ground else { return None };
        let is_alone =
            self.running.is_empty() && self.workers.is_empty() && self.apart_count() == 0;
        let (phase, stamp, files) = (phase.clone(), attempt.stamp.clone(), attempt.files.clone());
        Some(Occupant { phase, stamp, files, is_alone })
    }

    /// The files that attempts declare which are in the work tree of their phase.
    pub(super) fn occupied(&self) -> Vec<Vec<String>> {
        let Some(apart) = &self.apart else { return Vec::new() };
        let workers = self.workers.values().map(|worker| &worker.attempt);
        let all = self.running.values().chain(workers).chain(&apart.attempts);
        let shared = all.filter(|attempt| matches!(attempt.ground, Ground::Shared { .. }));
        shared.map(|attempt| attempt.files.clone()).collect()
    }

    /// An attempt has come to an end. What it left in a work tree that it shares is taken out of it
    /// first, unless it is committed: the end is recorded when that is done.
    pub(super) fn end_attempt(&mut self, mut attempt: Attempt, end: Option<run::Command>) {
        let is_done = matches!(end, Some(run::Command::Done { .. }));
        let occupant = self.occupant(&attempt).filter(|_| !is_done && attempt.is_placed());
        let (Some(occupant), Some(apart)) = (occupant, &mut self.apart) else {
            end.into_iter().for_each(|end| self.end_with(end));
            return;
        };
        let why = match &end {
            Some(run::Command::Fail { failure, .. }) => failure.text.clone(),
            Some(run::Command::Park { parked, .. }) => parked.why.clone(),
            _ => "it was interrupted".to_owned(),
        };
        attempt.end = end;
        apart.attempts.push(attempt);
        apart.yard.give(Job::Leave { occupant, why });
    }

    /// Takes what git has done since.
    pub(super) fn take_from_yard(&mut self, project: &mut Project) -> Result<(), EngineError> {
        while let Some(outcome) = self.apart.as_mut().and_then(|apart| apart.yard.ended()) {
            self.take_outcome(project, outcome)?;
        }
        Ok(())
    }

    fn take_outcome(&mut self, project: &mut Project, outcome: Outcome) -> Result<(), EngineError> {
        match outcome {
            Outcome::Made { id, made } => self.made(project, &id, made),
            Outcome::Left { id, left } => {
                if let Err(error) = left {
                    self.audience.tell(&Happening::Note(format!("what {id} left stays: {error}")));
                }
                let attempt = self.apart.as_mut().and_then(|apart| apart.take(&id));
                let end = attempt.and_then(|attempt| attempt.end);
                end.into_iter().for_each(|end| self.end_with(end));
                Ok(())
            }
            Outcome::Committed { id, committed } => {
                self.go_on(project, &id, |attempt| match committed {
                    Ok(committed) => attempt.committed(committed),
                    Err(error) => attempt.fail(FailureClass::Transient, &error.to_string()),
                })
            }
            Outcome::Joined { id, join } => {
                if let Some(apart) = &mut self.apart {
                    apart.is_behind = true;
                }
                self.go_on(project, &id, |attempt| match join {
                    Ok(join) => attempt.joined(join),
                    Err(error) => attempt.fail(FailureClass::Transient, &error.to_string()),
                })
            }
            Outcome::Retired { name, retired } => {
                self.note_retired(&name, retired);
                Ok(())
            }
            Outcome::Opened { phase, base } => self.opened(project, &phase, base),
            Outcome::Synced(synced) | Outcome::Closed(synced) => {
                if let Err(error) = synced {
                    self.audience.tell(&Happening::Note(error.to_string()));
                }
                Ok(())
            }
            Outcome::Settled { phase, settled } => self.settled(project, phase, settled),
            Outcome::Landed { phase, land } => self.landed(project, phase, land),
            Outcome::HandedOver { phase, why, handed } => {
                if let Err(error) = handed {
                    self.audience.tell(&Happening::Note(error.to_string()));
                }
                self.end_phase(project, phase, Err(why))
            }
        }
    }

    /// Goes on with an attempt, unless somebody has ended it meanwhile.
    fn go_on(
        &mut self,
        project: &mut Project,
        id: &TaskId,
        next: impl FnOnce(&mut Attempt) -> Step,
    ) -> Result<(), EngineError> {
        let Some(mut attempt) = self.apart.as_mut().and_then(|apart| apart.take(id)) else {
            return Ok(());
        };
        let step = next(&mut attempt);
        // What has been joined is so, whatever was said meanwhile.
        let is_end = matches!(step, Step::Over(_));
        let active = project.run()?.active();
        if !is_end && !active.is_some_and(|active| is_at(active, &attempt)) {
            self.end_attempt(attempt, None);
            return Ok(());
        }
        self.follow(project, attempt, step)
    }

    fn made(
        &mut self,
        project: &mut Project,
        id: &TaskId,
        made: Result<Made, EngineError>,
    ) -> Result<(), EngineError> {
        let setup = project.configuration().values.worktree.setup.clone();
        let setup = Some(setup.trim().to_owned()).filter(|setup| !setup.is_empty());
        let mut wait = NO_SPACE;
        if matches!(made, Ok(Made::NoSpace)) && self.reclaim(project, Reclaim::Need)? {
            wait = Duration::ZERO;
        }
        let until = project.clock.now().plus(wait);
        if let Ok(Made::Kept { without: Some(why) }) = &made {
            let text = format!("{id} goes on without what it had done before: {why}");
            self.audience.tell(&Happening::Note(text));
        }
        self.go_on(project, id, |attempt| match made {
            Ok(Made::New) => attempt.placed(true, setup.as_deref()),
            Ok(Made::Kept { .. }) => attempt.placed(false, None),
            Ok(Made::NoSpace) => {
                let why = "the disk is nearly full".to_owned();
                let parked = no_room(until, why);
                let (id, attempt) = (attempt.id.clone(), attempt.number);
                Step::Over(Box::new(run::Command::Park { id, attempt, parked }))
            }
            Err(error) => attempt.fail(FailureClass::Transient, &error.to_string()),
        })
    }

    /// Retires trees that are not worked in. Says whether anything went.
    pub(super) fn reclaim(
        &mut self,
        project: &mut Project,
        by: Reclaim,
    ) -> Result<bool, EngineError> {
        let Some(trees) = self.apart.as_ref().map(|apart| apart.yard.trees.clone()) else {
            return Ok(false);
        };
        let pruned = reclaim(project, &trees, by)?;
        for (name, snapshot) in &pruned.removed {
            let kept = snapshot.as_ref().map_or_else(String::new, |it| format!(", kept in {it}"));
            self.audience.tell(&Happening::Note(format!("{name} is removed{kept}")));
        }
        Ok(!pruned.removed.is_empty() || pruned.swept > 0)
    }

    fn note_retired(&mut self, name: &str, retired: Result<Retirement, EngineError>) {
        let text = match retired {
            Ok(Retirement::Removed { .. } | Retirement::Gone) => return,
            Ok(Retirement::Refused { reason }) => format!("{name} is kept: {reason}"),
            Ok(Retirement::InUse { processes }) => {
                let who: Vec<String> =
                    processes.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
                format!("{name} is kept: {} is in it", who.join(", "))
            }
            Err(error) => format!("{name} is kept: {error}"),
        };
        self.audience.tell(&Happening::Note(text));
    }

    fn opened(
        &mut self,
        project: &mut Project,
        phase: &PhaseBranch,
        base: Result<String, EngineError>,
    ) -> Result<(), EngineError> {
        if let Some(apart) = &mut self.apart {
            apart.opening = None;
        }
        let commit = base?;
        self.commit(project, vec![run::Command::BasePhase { phase: phase.number, commit }])
    }

    /// Retires the work tree of an attempt whose work is joined and recorded.
    pub(super) fn retire_joined(
        &mut self,
        project: &mut Project,
        ended: &[(TaskId, String)],
    ) -> Result<(), EngineError> {
        let Some(active) = project.run_seen()?.active() else { return Ok(()) };
        let Some(apart) = &mut self.apart else { return Ok(()) };
        for (id, name) in ended {
            let view = active.task(id);
            if view.is_some_and(|view| view.status == TaskStatus::Completed) {
                let why = "its work is joined".to_owned();
                apart.yard.give(Job::Retire { name: name.clone(), why });
            }
        }
        Ok(())
    }

    /// What phases need: a branch when one opens, checks and a merge when it ends, and its work
    /// tree kept up with what is joined.
    pub(super) fn attend_phases(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let is_wanted = self.wish == Wish::GoOn;
        let is_quiet = self.running.is_empty() && self.workers.is_empty();
        let only = self.options.phase;
        let now = project.clock.now();
        let Some(active) = project.run_seen()?.active() else { return Ok(()) };
        let number = active.current_phase();
        let Some(apart) = &mut self.apart else { return Ok(()) };
        let Some(phase) = PhaseBranch::of(active, number) else { return Ok(()) };
        let is_quiet = is_quiet && apart.attempts.is_empty() && apart.ending.is_none();
        match active.phase(number) {
            Some(PhaseStage::Open { .. })
                if is_wanted
                    && active.base(number).is_none()
                    && apart.opening.is_none()
                    && only.is_none_or(|only| only == number) =>
            {
                apart.opening = Some(number);
                apart.yard.give(Job::OpenPhase(phase));
            }
            Some(PhaseStage::Ending { step: run::EndStep::Joining, .. })
                if is_wanted && is_quiet =>
            {
                apart.is_behind = false;
                apart.ending = Some(PhaseEnd::new(number));
                apart.yard.give(Job::SettlePhase(phase));
            }
            _ if apart.is_behind && now >= apart.next_sync && !apart.yard.is_busy() => {
                apart.is_behind = false;
                apart.next_sync = now.plus(SYNC_INTERVAL);
                apart.yard.give(Job::SyncPhase(phase));
            }
            _ => {}
        }
        Ok(())
    }

    /// Retires what is left of attempts and phases that are over: by an engine that died, or
    /// because git did.
    pub(super) fn tidy_trees(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let Some(apart) = &mut self.apart else { return Ok(()) };
        let found = tree::traces(&apart.yard.trees)?;
        let mut kept = BTreeSet::new();
        for view in active.tasks() {
            if view.status != TaskStatus::Completed
                && let Some(name) = active.task_tree(&view.planned.id)
            {
                kept.insert(name);
            }
        }
        let is_attempt = |name: &&String| name.contains("--");
        for name in found.iter().filter(is_attempt).filter(|name| !kept.contains(*name)) {
            let why = "its attempt is over".to_owned();
            apart.yard.give(Job::Retire { name: name.clone(), why });
        }
        for (number, stage) in active.phases() {
            let Some(phase) = PhaseBranch::of(active, number) else { continue };
            let is_over = matches!(
                stage,
                PhaseStage::Closed { .. } | PhaseStage::Ending { step: run::EndStep::Approval, .. }
            );
            if is_over && merge::has_phase(&apart.yard.trees, &phase)? {
                apart.yard.give(Job::ClosePhase(phase));
            }
        }
        Ok(())
    }
}
