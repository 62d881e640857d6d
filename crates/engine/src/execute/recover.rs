//! Finding out what an engine that died has left: what its keepers did since, what is still running,
//! and what git knows of attempts. What follows from it is for the core to say.
//!
//! A keeper that lives is taken over with its children. One that died has left a spool, which says
//! what ended unheard, and perhaps processes, which are killed before anything of theirs is started
//! again.

use super::{
    RunOptions,
    attempt::{Attempt, SETUP},
    core::{GitTrace, Survey, Trace, TreesFound},
    workplace::Site,
};
use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};
use waypost_git::{PhaseBranch, Trees, merge, tree};
use waypost_model::{
    id::TaskId,
    layout,
    run::{Active, PhaseStage, TaskStatus},
};
use waypost_proc::{Dead, Found, Keeper, Report, Stop, find};

/// How long what a dead keeper left has to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// What an executor begins with.
pub(super) struct Recovered {
    pub(super) keeper: Keeper,
    pub(super) survey: Survey,
    /// Keepers that died: forgotten when what they told is recorded.
    pub(super) dead: Vec<Dead>,
}

/// The last traces of all attempts, by task and number.
pub(super) type Traces = BTreeMap<(String, u32), Trace>;

/// Tasks in `known` are not looked for.
pub(super) fn recover(
    project: &mut Project,
    options: &RunOptions,
    known: &BTreeSet<TaskId>,
    (site, trees): (&Rc<Site>, Option<&Trees>),
) -> Result<Recovered, EngineError> {
    let folder = project.setup.place.state.join(layout::state::KEEPERS);
    let mut alive: Option<Keeper> = None;
    let (mut traces, mut dead) = (Traces::new(), Vec::new());
    for found in find(&folder)? {
        match found {
            // A second one cannot have been ours; what it has will be lost, and its children are
            // stopped by ending it.
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
            Found::Dead(found) => {
                follow(&mut traces, found.reports.clone(), false);
                found.reap(GRACE)?;
                dead.push(found);
            }
        }
    }
    let keeper = match alive {
        Some(keeper) => keeper,
        None => Keeper::start(&folder, &options.keeper)?,
    };
    let git = match (project.run()?.active(), trees) {
        (Some(active), Some(trees)) => ask_git(active, known, &traces, (site, trees))?,
        _ => BTreeMap::new(),
    };
    let survey = Survey { children: traces.into_values().collect(), git };
    Ok(Recovered { keeper, survey, dead })
}

pub(super) fn follow(traces: &mut Traces, reports: Vec<Report>, is_kept: bool) {
    for report in reports {
        let name = report.id().to_owned();
        let Some((task, attempt, step)) = read_name(&name) else { continue };
        // A tree that was not ready is made again; its child is stopped as one of no attempt.
        let task = if name.ends_with(SETUP) { name.as_str() } else { task }.to_owned();
        let key = (task.clone(), attempt);
        if traces.get(&key).is_some_and(|trace| trace.step > step) {
            continue;
        }
        let end = (!matches!(report, Report::Started { .. })).then_some(report);
        traces.insert(key, Trace { task, attempt, name, step, end, is_kept });
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

/// What git knows of attempts that are in progress: of one that no keeper knows whether its work is
/// joined or committed, of one that is being verified what is verified.
fn ask_git(
    active: &Active,
    known: &BTreeSet<TaskId>,
    traces: &Traces,
    (site, trees): (&Rc<Site>, &Trees),
) -> Result<BTreeMap<TaskId, GitTrace>, EngineError> {
    let mut found = BTreeMap::new();
    let Some(phase) = PhaseBranch::of(active, active.current_phase()) else { return Ok(found) };
    let joined = merge::joined(trees, &phase)?;
    for view in active.tasks().filter(|view| view.status == TaskStatus::InProgress) {
        let id = view.planned.id.clone();
        if known.contains(&id) {
            continue;
        }
        let attempt = Attempt::new(&view, active, site);
        let own = attempt.workplace.own();
        let key = (id.to_string(), view.attempts);
        let trace = traces.get(&key).filter(|trace| trace.is_kept || trace.end.is_some());
        let git = match (trace, own, joined.get(&key)) {
            (Some(trace), Some(name), _) if trace.step > 0 => {
                let git = trees.git_in(&trees.path(name))?;
                git.try_text(&["rev-parse", "HEAD"])?.map(GitTrace::At)
            }
            (Some(_), _, _) => None,
            (None, Some(_), Some(commit)) => {
                let work = trees.commit_of(&format!("{commit}^2"))?;
                Some(GitTrace::Joined { commit: commit.clone(), work })
            }
            (None, None, Some(commit)) => {
                Some(GitTrace::Joined { commit: commit.clone(), work: None })
            }
            (None, Some(name), None) if merge::is_committed(trees, name, &attempt.stamp)? => {
                merge::put_back(trees, name)?;
                Some(GitTrace::Committed)
            }
            (None, _, None) => None,
        };
        found.extend(git.map(|git| (id, git)));
    }
    Ok(found)
}

/// The work trees of attempts and the branches of phases that are there.
pub(super) fn find_trees(trees: &Trees, active: &Active) -> Result<TreesFound, EngineError> {
    let attempts = tree::traces(trees)?.into_iter().filter(|name| name.contains("--"));
    let mut found = TreesFound { attempts: attempts.collect(), phases: Vec::new() };
    for (number, stage) in active.phases() {
        // One that is open, or not reached, keeps what it has.
        if !matches!(stage, PhaseStage::Open { .. } | PhaseStage::Waiting)
            && let Some(phase) = PhaseBranch::of(active, number)
            && merge::has_phase(trees, &phase)?
        {
            found.phases.push(number);
        }
    }
    Ok(found)
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
