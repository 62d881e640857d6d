//! The core's part with phases: a branch when one opens, its work tree kept up with what is joined, and
//! its end: the tree is brought to what was joined, the project's checks run in it, and its branch is
//! merged into the one that the run started on.
//!
//! The journal knows only that a phase is ending; all of this is done again from the start by an engine
//! that comes after one that died. Checks are children of the keeper like everything else.

use super::{
    super::{
        attempt::reason,
        audience::Wish,
        git_work::{GitJob, GitResult},
    },
    attempts::Core,
    words::{Output, TreesFound},
};
use crate::error::EngineError;
use std::{collections::BTreeSet, time::Duration};
use waypost_git::{Land, Landing, PhaseBranch};
use waypost_model::{
    layout,
    run::{self, EndStep, PhaseStage, Run, TaskStatus},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{Ended, How, Limits, Refusal, Report, Spec};

/// How often the work tree of a phase follows what is joined: nothing works in it before the phase
/// ends, and many short tasks would have git do little else.
const SYNC_INTERVAL: Duration = Duration::from_secs(2);

/// What is under way for phases.
#[derive(Debug)]
pub(super) struct Phases {
    /// Whether tasks have work trees.
    has_trees: bool,
    /// How many things git is at work for, for phases and for attempts.
    pub(super) under_way: usize,
    pub(super) ending: Option<PhaseEnd>,
    /// The phase whose branch is being made.
    opening: Option<u32>,
    /// Whether the phase's work tree has to be brought to what was joined, and not before when.
    pub(super) is_behind: bool,
    next_sync: Option<Time>,
    /// Trees are looked for that are to be removed at the end of the run.
    pub(super) is_tidying: bool,
}

/// A phase whose end is under way.
#[derive(Debug)]
pub(super) struct PhaseEnd {
    phase: u32,
    /// How many of the checks have been started.
    started: usize,
    /// Whether the last of them has not ended yet.
    is_checking: bool,
}

impl PhaseEnd {
    /// What the keeper calls the check that runs. No task has such an id, so an engine that finds
    /// the child without knowing of it stops it.
    fn child(&self) -> String {
        format!("phase-{}#1/{}", self.phase, self.started)
    }
}

impl Phases {
    pub(super) fn new(has_trees: bool) -> Self {
        Self {
            has_trees,
            under_way: 0,
            ending: None,
            opening: None,
            is_behind: false,
            next_sync: None,
            is_tidying: false,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.under_way > 0 || self.ending.is_some()
    }
}

impl Core {
    /// Whether checks or git work on the end of a phase.
    pub(in crate::execute) fn is_ending_phase(&self) -> bool {
        self.phases.ending.is_some()
    }

    pub(super) fn give(&mut self, job: GitJob) {
        self.phases.under_way += 1;
        self.want(Output::Git(job));
    }

    /// What phases need now.
    pub(super) fn attend_phases(&mut self, run: &Run, now: Time) {
        let is_wanted = self.phases.has_trees && !self.is_troubled();
        let Some(active) = run.active().filter(|_| is_wanted) else { return };
        let number = active.current_phase();
        let Some(phase) = PhaseBranch::of(active, number) else { return };
        let is_wanted = self.wish == Wish::GoOn;
        // A check of an engine that died has the name of the one that this engine would start.
        let is_quiet =
            self.lives.is_empty() && self.strays.is_empty() && self.phases.ending.is_none();
        let is_ours = self.setup.phase.is_none_or(|only| only == number);
        let next_sync = self.phases.next_sync.filter(|time| *time > now);
        match active.phase(number) {
            Some(PhaseStage::Open { .. })
                if is_wanted
                    && is_ours
                    && active.base(number).is_none()
                    && self.phases.opening.is_none() =>
            {
                self.phases.opening = Some(number);
                self.give(GitJob::OpenPhase(phase));
            }
            Some(PhaseStage::Ending { step: EndStep::Joining, .. }) if is_wanted && is_quiet => {
                self.phases.is_behind = false;
                let (started, is_checking) = (0, false);
                self.phases.ending = Some(PhaseEnd { phase: number, started, is_checking });
                let is_made = active.base(number).is_some();
                self.give(GitJob::SettlePhase { phase, is_made });
            }
            _ if !self.phases.is_behind || self.phases.under_way > 0 => {}
            _ if let Some(time) = next_sync => self.want(Output::WakeAt(time)),
            _ => {
                self.phases.is_behind = false;
                self.phases.next_sync = Some(now.plus(SYNC_INTERVAL));
                self.give(GitJob::SyncPhase(phase));
            }
        }
    }

    /// What git has done for a phase, or with a tree that is not needed any more.
    pub(super) fn phase_result(&mut self, result: GitResult, run: &Run) {
        match result {
            GitResult::Retired { name, retired } => {
                let why = match retired {
                    Ok(retired) => retired.why_kept(),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(why) = why {
                    self.note(format!("{name} is kept: {why}"));
                }
            }
            GitResult::Opened { phase, base } => {
                self.phases.opening = None;
                match base {
                    Err(error) if error.trouble().is_some() => {}
                    Ok(commit) => self.want(Output::Command(vec![run::Command::BasePhase {
                        phase: phase.number,
                        commit,
                    }])),
                    Err(error) => self.want(Output::Fail(error)),
                }
            }
            GitResult::Synced(done) | GitResult::Closed(done) => {
                self.phases.is_behind |=
                    done.as_ref().is_err_and(|error| error.trouble().is_some());
                done.err().into_iter().for_each(|error| self.note(error.to_string()));
            }
            GitResult::Settled { settled: Ok(()), .. } => self.check_phase(run),
            // It ends from the start when the trouble is gone.
            GitResult::Settled { settled: Err(error), .. }
            | GitResult::Landed { land: Err(error), .. }
                if error.trouble().is_some() =>
            {
                self.phases.ending = None;
            }
            GitResult::Settled { phase, settled: Err(error) } => {
                self.hold_phase(phase, format!("{error}."), run);
            }
            GitResult::Landed { phase, land } => self.landed(phase, land, run),
            GitResult::HandedOver { phase, why, handed } => {
                handed.err().into_iter().for_each(|error| self.note(error.to_string()));
                self.end_phase(phase, Err(why), run);
            }
            // What concerns an attempt was taken before.
            GitResult::Made { .. }
            | GitResult::Left { .. }
            | GitResult::Committed { .. }
            | GitResult::Joined { .. } => {}
        }
    }

    /// Starts the next check, or lands the phase.
    fn check_phase(&mut self, run: &Run) {
        if self.wish == Wish::Stop {
            self.phases.ending = None;
        }
        let Some(active) = run.active() else { return };
        let Some(ending) = &mut self.phases.ending else { return };
        let number = ending.phase;
        let site = &self.setup.site;
        let Some(command) = site.checks.get(ending.started).cloned() else {
            let landing = Landing::of(active, number);
            return landing.into_iter().for_each(|it| self.give(GitJob::Land(Box::new(it))));
        };
        ending.started += 1;
        ending.is_checking = true;
        let logs = site.state.join(layout::state::LOGS).join(format!("phase-{number}"));
        let spec = Spec {
            id: ending.child(),
            program: site.children.program(command.clone()),
            folder: site.home.join(active.plan().phase_tree(number)),
            environment: site.environment_of_checks(),
            log: logs.join("checks.log"),
            limits: Limits::default(),
            talk: None,
            secrets: site.secrets.clone(),
        };
        self.note(format!("phase {number} is checked by `{command}`"));
        self.want(Output::Start(vec![spec]));
    }

    /// Whether a child is the check of a phase's end.
    pub(super) fn is_check(&self, child: &str) -> bool {
        self.phases.ending.as_ref().is_some_and(|it| it.is_checking && it.child() == child)
    }

    /// A check has ended, or could not be started.
    pub(super) fn check_reported(&mut self, report: Report, run: &Run, now: Time) {
        let Some(ending) = &mut self.phases.ending else { return };
        let (phase, at) = (ending.phase, ending.started.saturating_sub(1));
        let is_over = !matches!(report, Report::Started { .. });
        ending.is_checking &= !is_over;
        let why = match report {
            Report::Started { .. } => return,
            Report::Ended { ended: Ended { how: How::Exited(0), .. }, .. } => {
                return self.check_phase(run);
            }
            Report::Ended { ended: Ended { how: How::Stopped, .. }, .. }
            | Report::Refused { why: Refusal::Withdrawn, .. } => {
                self.phases.ending = None;
                return;
            }
            Report::Ended { .. } if self.machine_trouble().is_some() => {
                self.phases.ending = None;
                return;
            }
            Report::Refused { why: Refusal::Busy { detail }, .. } => {
                self.phases.ending = None;
                let trouble = Trouble::of_words(&detail).unwrap_or(Trouble::NoProcesses);
                return drop(self.meet(trouble, detail, now));
            }
            Report::Ended { ended, .. } => reason(ended.how, &String::from_utf8_lossy(&ended.tail)),
            Report::Refused { why: Refusal::Impossible { detail }, .. } => detail,
        };
        let command = self.setup.site.checks.get(at).cloned().unwrap_or_default();
        let Some(active) = run.active() else { return };
        let name = active.plan().phase_tree(phase);
        self.hold_phase(phase, format!("`{command}` did not pass in {name}: {why}."), run);
    }

    /// A person wants everything to stop: the phase ends from the start another time.
    pub(super) fn stop_check(&mut self) {
        let checking = self.phases.ending.as_ref().filter(|ending| ending.is_checking);
        let child = checking.map(PhaseEnd::child);
        child.into_iter().for_each(|child| self.want(Output::Stop(child)));
    }

    /// A keeper has died, and the check that it had with it: the phase ends from the start again.
    pub(super) fn lose_check(&mut self) {
        if self.phases.ending.as_ref().is_some_and(|ending| ending.is_checking) {
            self.phases.ending = None;
        }
    }

    fn landed(&mut self, phase: u32, land: Result<Land, EngineError>, run: &Run) {
        let result = match land {
            Ok(Land::Done { commit, leaves_boxes }) => {
                if leaves_boxes {
                    let phases = run.active().map(|it| &it.plan().phases);
                    let later = phases.is_some_and(|it| it.keys().any(|it| *it > phase));
                    self.note(match later {
                        true => {
                            "TASKS.md has changes of yours: its boxes are ticked with the next merge"
                                .to_owned()
                        }
                        false => format!(
                            "TASKS.md has changes of yours, and no merge comes after this one: tick the \
                             boxes of phase {phase} in it"
                        ),
                    });
                }
                Ok(Some(commit))
            }
            Ok(Land::Nothing) => Ok(None),
            Ok(Land::Held(why)) => return self.hold_phase(phase, why, run),
            Err(error) => return self.hold_phase(phase, format!("{error}."), run),
        };
        self.end_phase(phase, result, run);
    }

    /// The phase cannot be merged: the person who repairs that finds its work tree clean and on its
    /// branch.
    fn hold_phase(&mut self, phase: u32, why: String, run: &Run) {
        match run.active().and_then(|active| PhaseBranch::of(active, phase)) {
            Some(branch) => self.give(GitJob::HandOver(branch, why)),
            None => self.end_phase(phase, Err(why), run),
        }
    }

    /// Records what became of the phase; what landed needs its branch no more.
    fn end_phase(&mut self, phase: u32, result: Result<Option<String>, String>, run: &Run) {
        let is_joined = result.is_ok();
        self.phases.ending = None;
        self.want(Output::Command(vec![run::Command::PhaseJoined { phase, result }]));
        let branch = run.active().and_then(|active| PhaseBranch::of(active, phase));
        if let (true, Some(branch)) = (is_joined, branch) {
            self.give(GitJob::ClosePhase(branch));
        }
    }

    /// Retires the work trees of attempts whose work is joined and recorded.
    pub(super) fn retire(&mut self, trees: Vec<String>, why: &str) {
        for name in trees {
            self.give(GitJob::Retire { name, why: why.to_owned() });
        }
    }

    /// Retires what is left of attempts and phases that are over: by an engine that died, or because
    /// git did.
    pub(super) fn tidy(&mut self, found: &TreesFound, run: &Run) {
        self.phases.is_tidying = false;
        let Some(active) = run.active() else { return };
        let open = active.tasks().filter(|view| view.status != TaskStatus::Completed);
        let kept: BTreeSet<String> =
            open.filter_map(|view| active.task_tree(&view.planned.id)).collect();
        let over = found.attempts.iter().filter(|name| !kept.contains(*name));
        self.retire(over.cloned().collect(), "its attempt is over");
        for (number, stage) in active.phases() {
            let is_over = matches!(
                stage,
                PhaseStage::Closed { .. } | PhaseStage::Ending { step: EndStep::Approval, .. }
            );
            if is_over
                && found.phases.contains(&number)
                && let Some(phase) = PhaseBranch::of(active, number)
            {
                self.give(GitJob::ClosePhase(phase));
            }
        }
    }
}
