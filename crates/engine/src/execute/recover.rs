//! Taking up after an engine that died: what its keepers did since, and what is still running.
//!
//! A keeper that lives is taken over with its children. One that died has left a spool, which says
//! what ended while nobody listened, and perhaps processes, which are killed before anything of
//! theirs is started anew. An attempt of which nothing is known waits again.

use super::{
    RunOptions,
    attempt::{Attempt, SETUP, Step, Workplace},
};
use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use waypost_git::{PhaseBranch, Trees, merge};
use waypost_model::{
    id::TaskId,
    layout,
    run::{self, TaskStatus},
};
use waypost_proc::{Dead, Found, Keeper, Report, Stop, find};

/// How long what a dead keeper left has to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// What an executor begins with.
pub(super) struct Recovered {
    keeper: Keeper,
    left: Left,
}

impl Recovered {
    pub(super) fn split(self) -> (Keeper, Left) {
        (self.keeper, self.left)
    }
}

/// What was found of earlier keepers and engines.
pub(super) struct Left {
    /// Children that run, or whose end was not heard, by their names.
    pub(super) running: BTreeMap<String, Attempt>,
    /// Ends that nobody has heard.
    pub(super) reports: Vec<Report>,
    /// Attempts whose work is done and committed, and not verified yet.
    pub(super) committed: Vec<Attempt>,
    /// Attempts of which nothing is known, and those that turn out to be joined.
    pub(super) lost: Vec<(Attempt, run::Command)>,
    /// Keepers that died: forgotten when what they told is recorded.
    pub(super) dead: Vec<Dead>,
}

/// The last that is known of one attempt.
#[derive(Debug)]
struct Trace {
    name: String,
    step: usize,
    end: Option<Report>,
    /// Its keeper lives, so without an end it is running.
    is_kept: bool,
}

/// The last traces of all attempts, by task and number.
type Traces = BTreeMap<(String, u32), Trace>;

/// Tasks that agents are known to work on, `apart`, are not looked for.
pub(super) fn recover(
    project: &mut Project,
    options: &RunOptions,
    apart: &BTreeSet<TaskId>,
    trees: Option<&Trees>,
) -> Result<Recovered, EngineError> {
    let folder = project.place.state.join(layout::state::KEEPERS);
    let mut alive: Option<Keeper> = None;
    let (mut traces, mut buried) = (Traces::new(), Vec::new());
    for found in find(&folder)? {
        match found {
            // A second one cannot have been ours; whatever it has will be lost, and its children
            // are stopped by ending it.
            Found::Alive(keeper) if alive.is_none() => {
                follow(&mut traces, keeper.next(Duration::ZERO)?, true);
                alive = Some(keeper);
            }
            Found::Alive(keeper) => {
                for report in keeper.next(Duration::ZERO)? {
                    keeper.stop(report.id(), Stop::Asked)?;
                }
            }
            // Its tasks run; beginning them here too would run them twice.
            Found::Foreign { id, .. } => {
                return Err(Problem::other_version(&id, "tasks have").into());
            }
            Found::Dead(dead) => {
                follow(&mut traces, dead.reports.clone(), false);
                dead.reap(GRACE)?;
                buried.push(dead);
            }
        }
    }
    let keeper = match alive {
        Some(keeper) => keeper,
        None => Keeper::start(&folder, &options.keeper)?,
    };
    let mut recovered = adopt(project, keeper, traces, (apart, trees))?;
    recovered.left.dead = buried;
    Ok(recovered)
}

fn follow(traces: &mut Traces, reports: Vec<Report>, is_kept: bool) {
    for report in reports {
        let name = report.id().to_owned();
        let Some((id, attempt, step)) = read_name(&name) else { continue };
        // A tree that was not ready is made anew; its child is stopped as one of nobody's.
        let id = if name.ends_with(SETUP) { name.as_str() } else { id };
        let key = (id.to_owned(), attempt);
        if traces.get(&key).is_some_and(|trace| trace.step > step) {
            continue;
        }
        let end = (!matches!(report, Report::Started { .. })).then_some(report);
        traces.insert(key, Trace { name, step, end, is_kept });
    }
}

/// `T1.3#2` is the task's command, `T1.3#2/1` its first verify command.
pub(super) fn read_name(name: &str) -> Option<(&str, u32, usize)> {
    let (id, rest) = name.split_once('#')?;
    match rest.split_once('/') {
        Some((attempt, SETUP)) => Some((id, attempt.parse().ok()?, 0)),
        Some((attempt, step)) => Some((id, attempt.parse().ok()?, step.parse().ok()?)),
        None => Some((id, rest.parse().ok()?, 0)),
    }
}

/// Goes through what is under way as far as the journal knows: it runs, it has ended unheard, or
/// it is lost. Children of attempts that are over are stopped.
fn adopt(
    project: &mut Project,
    keeper: Keeper,
    mut traces: Traces,
    (apart, trees): (&BTreeSet<TaskId>, Option<&Trees>),
) -> Result<Recovered, EngineError> {
    let place = Workplace::of(project);
    let now = project.clock.now();
    let (mut running, mut reports) = (BTreeMap::new(), Vec::new());
    let (mut lost, mut committed) = (Vec::new(), Vec::new());
    if let Some(active) = project.run()?.active() {
        let is_open = |view: &run::TaskView<'_>| {
            view.status == TaskStatus::InProgress && !apart.contains(&view.planned.id)
        };
        let ledger = Joined::of(active, trees)?;
        for view in active.tasks().filter(is_open) {
            let key = (view.planned.id.to_string(), view.attempts);
            match traces.remove(&key) {
                Some(trace) if trace.is_kept || trace.end.is_some() => {
                    let mut attempt = Attempt::new(&view, active, &place).at_step(trace.step, now);
                    ledger.note_commit(&mut attempt, trace.step)?;
                    running.insert(trace.name, attempt);
                    reports.extend(trace.end);
                }
                _ => match ledger.fate(Attempt::new(&view, active, &place))? {
                    Fate::Over(attempt, command) => lost.push((attempt, *command)),
                    Fate::Committed(attempt) => committed.push(attempt),
                },
            }
        }
    }
    for trace in traces.values().filter(|trace| trace.is_kept && trace.end.is_none()) {
        keeper.stop(&trace.name, Stop::Asked)?;
    }
    Ok(Recovered { keeper, left: Left { running, reports, committed, lost, dead: Vec::new() } })
}

/// What git knows of attempts.
struct Joined<'a> {
    trees: Option<&'a Trees>,
    commits: BTreeMap<(String, u32), String>,
}

/// What becomes of an attempt that no keeper knows of.
enum Fate {
    Over(Attempt, Box<run::Command>),
    Committed(Attempt),
}

impl<'a> Joined<'a> {
    fn of(active: &run::Active, trees: Option<&'a Trees>) -> Result<Self, EngineError> {
        let phase = PhaseBranch::of(active, active.current_phase());
        let commits = match (trees, phase) {
            (Some(trees), Some(phase)) => merge::joined(trees, &phase)?,
            _ => BTreeMap::new(),
        };
        Ok(Self { trees, commits })
    }

    /// An engine that dies while git is at work has lost nothing: what is joined is done, and what
    /// is committed was done and has to be verified.
    fn fate(&self, mut attempt: Attempt) -> Result<Fate, EngineError> {
        let interrupted = attempt.interrupt();
        let Some(trees) = self.trees else { return Ok(Fate::Over(attempt, Box::new(interrupted))) };
        let key = (attempt.id.to_string(), attempt.number);
        if let Some(commit) = self.commits.get(&key) {
            if attempt.ground.own().is_some() {
                let work = trees.commit_of(&format!("{commit}^2"))?;
                attempt.commit = work.map(|work| (work, Some(true)));
            }
            let end = match attempt.done(Some(commit.clone())) {
                Step::Over(command) => *command,
                _ => interrupted,
            };
            return Ok(Fate::Over(attempt, Box::new(end)));
        }
        match attempt.ground.own() {
            Some(name) if merge::is_committed(trees, name, &attempt.stamp)? => {
                Ok(Fate::Committed(attempt))
            }
            _ => Ok(Fate::Over(attempt, Box::new(interrupted))),
        }
    }

    /// What is being verified is what was committed.
    fn note_commit(&self, attempt: &mut Attempt, step: usize) -> Result<(), EngineError> {
        if let (Some(trees), Some(name)) = (self.trees, attempt.ground.own())
            && step > 0
        {
            let head = trees.git_in(&trees.path(name))?.try_text(&["rev-parse", "HEAD"])?;
            attempt.commit = head.map(|head| (head, None));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(id: &str) -> Report {
        Report::Started { id: id.into(), pid: 1, start: 1 }
    }

    #[test]
    fn only_the_last_step_of_an_attempt_counts() {
        let refused =
            Report::Refused { id: "T1.1#1".into(), why: waypost_proc::Refusal::Withdrawn };
        let mut traces = Traces::new();
        follow(&mut traces, vec![started("T1.1#1"), refused, started("T1.1#1/1")], true);
        follow(&mut traces, vec![started("T1.2#3")], false);
        let told: Vec<_> = traces
            .values()
            .map(|trace| (trace.name.as_str(), trace.step, trace.end.is_some(), trace.is_kept))
            .collect();
        assert_eq!(told, [("T1.1#1/1", 1, false, true), ("T1.2#3", 0, false, false)]);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(read_name("T1.3#2"), Some(("T1.3", 2, 0)));
        assert_eq!(read_name("P2-S1-V#10/3"), Some(("P2-S1-V", 10, 3)));
        assert_eq!(read_name("T1.3"), None);
        assert_eq!(read_name("T1.3#x"), None);
    }
}
