//! The end of a phase: its work tree is brought to what was joined, the project's checks run in it,
//! and its branch is merged into the one that the run started on.
//!
//! The journal knows only that the phase is ending; all of this is done again from the start by an
//! engine that comes after one that died. Checks are children of the keeper like everything else.

use super::{
    Executor, Happening, Wish,
    attempt::{reason, usual_environment},
    yard::Job,
};
use crate::{error::EngineError, project::Project};
use waypost_git::{Land, Landing, PhaseBranch};
use waypost_model::{layout, run};
use waypost_proc::{Ended, How, Limits, Program, Refusal, Spec};

/// A phase whose end is under way.
#[derive(Debug)]
pub(super) struct PhaseEnd {
    pub(super) phase: u32,
    /// How many of the checks have been started.
    started: usize,
    /// Whether the last of them has not ended yet.
    is_checking: bool,
}

impl PhaseEnd {
    pub(super) fn new(phase: u32) -> Self {
        Self { phase, started: 0, is_checking: false }
    }

    /// What the keeper calls the check that runs. No task has such an id, so whoever finds the
    /// child without its engine stops it.
    fn child(&self) -> String {
        format!("phase-{}#1/{}", self.phase, self.started)
    }
}

impl Executor<'_> {
    /// The phase's work tree is ready for checks.
    pub(super) fn settled(
        &mut self,
        project: &mut Project,
        phase: u32,
        settled: Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match settled {
            Ok(()) => self.check_phase(project),
            Err(error) => self.hold_phase(project, phase, format!("{error}.")),
        }
    }

    /// Starts the next check, or lands the phase.
    fn check_phase(&mut self, project: &mut Project) -> Result<(), EngineError> {
        if self.wish == Wish::Stop {
            self.give_up_ending();
            return Ok(());
        }
        let checks = self.checks(project);
        let allowed = project.configuration().values.run.environment.clone();
        let Some(apart) = &mut self.apart else { return Ok(()) };
        let Some(ending) = &mut apart.ending else { return Ok(()) };
        let number = ending.phase;
        let Some(command) = checks.get(ending.started) else { return self.land(project, number) };
        ending.started += 1;
        ending.is_checking = true;
        let child = ending.child();
        self.audience.tell(&Happening::Note(format!("phase {number} is checked by `{command}`")));
        let Some(active) = project.run_seen()?.active() else { return Ok(()) };
        let name = active.plan().phase_tree(number);
        let Some(apart) = &self.apart else { return Ok(()) };
        let folder = apart.yard.trees.path(&name);
        let log = project.place.state.join(layout::state::LOGS).join(format!("phase-{number}"));
        Ok(self.keeper.spawn(vec![Spec {
            id: child,
            program: Program::Shell(command.clone()),
            folder,
            environment: usual_environment(&project.environment, &allowed),
            log: log.join("checks.log"),
            limits: Limits::default(),
            talk: None,
        }])?)
    }

    /// What has to pass before a phase is merged. Its work tree is made ready for that as all others
    /// are: what was joined may need more than what was there before.
    fn checks(&self, project: &Project) -> Vec<String> {
        let values = &project.configuration().values;
        let checks = &values.run.checks;
        let setup = Some(values.worktree.setup.trim().to_owned());
        let setup = setup.filter(|setup| !setup.is_empty() && !checks.is_empty());
        setup.into_iter().chain(checks.iter().cloned()).collect()
    }

    /// Whether a child is the check of a phase's end.
    pub(super) fn is_check(&self, child: &str) -> bool {
        let ending = self.apart.as_ref().and_then(|apart| apart.ending.as_ref());
        ending.is_some_and(|ending| ending.child() == child)
    }

    /// A check has ended, or could not be started.
    pub(super) fn check_ended(
        &mut self,
        project: &mut Project,
        ended: Result<&Ended, &Refusal>,
    ) -> Result<(), EngineError> {
        let Some(ending) = self.apart.as_mut().and_then(|apart| apart.ending.as_mut()) else {
            return Ok(());
        };
        ending.is_checking = false;
        let (phase, at) = (ending.phase, ending.started.saturating_sub(1));
        let command = self.checks(project).get(at).cloned().unwrap_or_default();
        let why = match ended {
            Ok(Ended { how: How::Exited(0), .. }) => return self.check_phase(project),
            Ok(Ended { how: How::Stopped, .. }) | Err(Refusal::Withdrawn) => {
                self.give_up_ending();
                return Ok(());
            }
            Ok(ended) => reason(ended.how, &String::from_utf8_lossy(&ended.tail)),
            Err(Refusal::Busy { detail } | Refusal::Impossible { detail }) => detail.clone(),
        };
        let Some(active) = project.run_seen()?.active() else { return Ok(()) };
        let name = active.plan().phase_tree(phase);
        let text = format!("`{command}` did not pass in {name}: {why}.");
        self.hold_phase(project, phase, text)
    }

    fn land(&mut self, project: &mut Project, number: u32) -> Result<(), EngineError> {
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let Some(landing) = Landing::of(active, number) else { return Ok(()) };
        if let Some(apart) = &mut self.apart {
            apart.yard.give(Job::Land(Box::new(landing)));
        }
        Ok(())
    }

    pub(super) fn landed(
        &mut self,
        project: &mut Project,
        phase: u32,
        land: Result<Land, EngineError>,
    ) -> Result<(), EngineError> {
        let result = match land {
            Ok(Land::Done { commit, leaves_boxes }) => {
                if leaves_boxes {
                    let text =
                        "TASKS.md has changes of yours: its boxes are ticked with the next merge";
                    self.audience.tell(&Happening::Note(text.into()));
                }
                Ok(Some(commit))
            }
            Ok(Land::Nothing) => Ok(None),
            Ok(Land::Held(why)) => return self.hold_phase(project, phase, why),
            Err(error) => return self.hold_phase(project, phase, format!("{error}.")),
        };
        self.end_phase(project, phase, result)
    }

    /// The phase cannot be merged: whoever fixes that finds its work tree clean and on its branch.
    fn hold_phase(
        &mut self,
        project: &mut Project,
        phase: u32,
        why: String,
    ) -> Result<(), EngineError> {
        let active = project.run()?.active();
        let branch = active.and_then(|active| PhaseBranch::of(active, phase));
        let (Some(branch), Some(apart)) = (branch, &mut self.apart) else {
            return self.end_phase(project, phase, Err(why));
        };
        apart.yard.give(Job::HandOver(branch, why));
        Ok(())
    }

    /// Records what became of the phase; what landed needs its branch no more.
    pub(super) fn end_phase(
        &mut self,
        project: &mut Project,
        phase: u32,
        result: Result<Option<String>, String>,
    ) -> Result<(), EngineError> {
        let is_joined = result.is_ok();
        let active = project.run()?.active();
        let branch = active.and_then(|active| PhaseBranch::of(active, phase));
        self.give_up_ending();
        self.commit(project, vec![run::Command::PhaseJoined { phase, result }])?;
        if let (true, Some(branch), Some(apart)) = (is_joined, branch, &mut self.apart) {
            apart.yard.give(Job::ClosePhase(branch));
        }
        self.tell_ends(project, &[])
    }

    /// A keeper has died, and the check that it had with it: the phase ends from the start again.
    pub(super) fn lose_check(&mut self) {
        let ending = self.apart.as_ref().and_then(|apart| apart.ending.as_ref());
        if ending.is_some_and(|ending| ending.is_checking) {
            self.give_up_ending();
        }
    }

    fn give_up_ending(&mut self) {
        if let Some(apart) = &mut self.apart {
            apart.ending = None;
        }
    }
}
