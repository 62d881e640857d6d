//! What the tasks of a run have changed: shown, taken out again, and compared with what git has.

use crate::{error::EngineError, isolation, project::Project, worktrees::trees_of};
use std::collections::{BTreeMap, HashMap, HashSet};
use waypost_git::{PhaseBranch, Reverted, Stamp, merge, tree};
use waypost_model::{
    code::Code,
    evidence::Evidence,
    id::TaskId,
    machine::Rejected,
    next::NextStep,
    run::{self, Active, Before, PhaseStage, Plan, TaskStatus},
};

/// What a task has changed, as git shows it: what was joined, what is in its work tree, or what
/// was kept of that. `color` is always or never.
pub fn task_diff(project: &mut Project, id: &TaskId, color: &str) -> Result<Vec<u8>, EngineError> {
    let nothing = || {
        Rejected::rule(Code::ChangesUnknown, format!("nothing is known of what {id} has changed"))
            .next(NextStep::ExplainTask { id: id.clone() })
    };
    let Some(active) = project.run()?.active() else { return Err(nothing().into()) };
    let view = active.task(id).ok_or_else(|| {
        Rejected::unknown(Code::TaskUnknown, format!("there is no task {id} in this run"))
            .next(NextStep::ShowRun)
    })?;
    let commit = view.commit.map(str::to_owned);
    let tree = active.task_tree(id);
    let phase = PhaseBranch::of(active, view.planned.phase);
    if project.setup.place.git_common.is_none() {
        return Err(nothing().into());
    }
    let trees = trees_of(project)?;
    if let Some(commit) = commit {
        return Ok(merge::diff_of_commit(&trees, &commit, color)?);
    }
    let (Some(name), Some(phase)) = (tree, phase) else { return Err(nothing().into()) };
    let branch = match trees.commit_of(&format!("refs/heads/{}", phase.name))? {
        Some(branch) => branch,
        None => format!("refs/heads/{}", phase.target),
    };
    match tree::files_of(&trees, &name)? {
        Some((head, tree)) => Ok(merge::diff_since(&trees, &branch, &head, &tree, color)?),
        None => Err(nothing().into()),
    }
}

/// Takes the work of a task out of its branch again, and counts it as failed.
pub fn revert_task(project: &mut Project, id: &TaskId) -> Result<(), EngineError> {
    project.refuse_stale()?;
    let Some(active) = project.run()?.active() else {
        return Err(Rejected::rule(Code::NoRun, "no run has begun")
            .next(NextStep::BeginRun)
            .into());
    };
    let view = active.task(id).ok_or_else(|| {
        Rejected::unknown(Code::TaskUnknown, format!("there is no task {id} in this run"))
            .next(NextStep::ShowRun)
    })?;
    let phase = view.planned.phase;
    let commit =
        match (view.status, view.commit) {
            (TaskStatus::Completed, Some(commit)) => commit.to_owned(),
            (TaskStatus::Completed, None) => {
                return Err(Rejected::rule(Code::ChangesUnknown, format!(
                "{id} is completed without a commit of its own: there is nothing to take out"
            ))
            .next(NextStep::ExplainTask { id: id.clone() })
            .into());
            }
            // The machine says what stands against it.
            _ => return project.run_command(run::Command::Revert { id: id.clone() }),
        };
    let branch = match active.base(phase) {
        Some(_) => active.plan().phase_tree(phase),
        None => active.settings().target.clone().unwrap_or_default(),
    };
    let file = active.plan().source.as_ref().map(|source| source.path.clone());
    let trees = trees_of(project)?;
    match merge::revert(&trees, &branch, &commit, (id, file.as_deref()))? {
        Reverted::Done { .. } => project.run_command(run::Command::Revert { id: id.clone() }),
        Reverted::Held(why) => {
            Err(Rejected::rule(Code::RevertConflict, format!("{id} cannot be taken out: {why}"))
                .next(NextStep::RunGit { words: format!("revert -m 1 {commit}") })
                .into())
        }
    }
}

/// Tasks of a plan whose work is in the branch that is checked out, by what its commits say. A
/// task is known again by its id and its title, as ids are used again.
pub fn merged_tasks(
    project: &mut Project,
    plan: &Plan,
) -> Result<Vec<(TaskId, Evidence)>, EngineError> {
    let target = project.run()?.active().and_then(|active| active.settings().target.clone());
    // Without a journal the branch is all that there is.
    let target = target.or_else(|| isolation::target_branch(project).ok());
    let (Some(target), true) = (target, project.setup.place.git_common.is_some()) else {
        return Ok(Vec::new());
    };
    let brought = merge::brought(&trees_of(project)?, &target)?;
    let mut by_task: HashMap<&str, Vec<&merge::Brought>> = HashMap::new();
    for it in &brought {
        by_task.entry(&it.task).or_default().push(it);
    }
    let is_its = |task: &run::PlannedTask, subject: &str| {
        let (id, title) = (task.id.clone(), task.title.clone());
        Stamp { id, attempt: 0, title }.subject() == subject
    };
    let evidence = |task: &run::PlannedTask| {
        let of_task = by_task.get(task.id.as_str())?;
        let found = of_task.iter().find(|it| is_its(task, &it.subject))?;
        Some((task.id.clone(), Evidence::Merged { commit: found.commit.clone() }))
    };
    Ok(plan.tasks.iter().filter_map(evidence).collect())
}

/// The phases of a plan that were merged into the branch that is checked out, with when and by
/// which commit, as far as its commits tell. A phase is known again by its number and name.
pub fn merged_phases(project: &mut Project, plan: &Plan) -> Result<Before, EngineError> {
    let mut before = Before::default();
    let target = project.run()?.active().and_then(|active| active.settings().target.clone());
    let target = target.or_else(|| isolation::target_branch(project).ok());
    let (Some(target), true) = (target, project.setup.place.git_common.is_some()) else {
        return Ok(before);
    };
    let trees = trees_of(project)?;
    for (number, name) in &plan.phases {
        if let Some(landed) = merge::landed_phase(&trees, &target, (*number, name))? {
            let (at, commit) = (landed.at, Some(landed.commit));
            before.phases.insert(*number, PhaseStage::closed(at, commit));
        }
    }
    Ok(before)
}

/// Where the journal says that work is merged, and git does not have it.
pub fn unmerged(project: &mut Project) -> Result<Vec<String>, EngineError> {
    let Some(active) = project.run()?.active() else { return Ok(Vec::new()) };
    let claims = claims(active);
    stale_among(project, claims)
}

/// Why the evidence of a completed task does not hold any more, if it does not.
pub(crate) fn stale_evidence(
    project: &mut Project,
    id: &TaskId,
) -> Result<Option<String>, EngineError> {
    let Some(active) = project.run()?.active() else { return Ok(None) };
    let mut claims = claims(active);
    claims.retain(|claim| claim.what == id.as_str());
    Ok(stale_among(project, claims)?.pop())
}

fn stale_among(project: &mut Project, claims: Vec<Claim>) -> Result<Vec<String>, EngineError> {
    if claims.is_empty() || project.setup.place.git_common.is_none() {
        return Ok(Vec::new());
    }
    let trees = trees_of(project)?;
    let mut by_branch: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for claim in &claims {
        by_branch.entry(&claim.branch).or_default().push(&claim.commit);
    }
    let mut lacking: HashSet<(&str, &str)> = HashSet::new();
    for (branch, commits) in by_branch {
        let missing = merge::missing_from(&trees, branch, &commits)?;
        lacking.extend(missing.into_iter().map(|commit| (branch, commit)));
    }
    let mut findings = Vec::new();
    for Claim { what, branch, commit } in &claims {
        if lacking.contains(&(branch.as_str(), commit.as_str())) {
            let commit = commit.get(..7).unwrap_or(commit);
            findings.push(format!(
                "{what} was merged by {commit}, which {branch} does not have: its evidence is \
                 stale"
            ));
        }
    }
    Ok(findings)
}

/// What the journal says of a branch: that it has the work of a task or a phase by this commit.
struct Claim {
    what: String,
    branch: String,
    commit: String,
}

fn claims(active: &Active) -> Vec<Claim> {
    let settings = active.settings();
    let Some(target) = settings.target.as_ref().filter(|_| settings.isolation.has_trees()) else {
        return Vec::new();
    };
    let phases = active.phases().filter_map(|(phase, stage)| match stage {
        PhaseStage::Closed { merge_commit: Some(commit), .. } => {
            let (branch, commit) = (target.clone(), commit.clone());
            Some(Claim { what: format!("phase {phase}"), branch, commit })
        }
        _ => None,
    });
    let tasks = active.tasks().filter_map(|view| {
        let branch = match active.base(view.planned.phase) {
            Some(_) => active.plan().phase_tree(view.planned.phase),
            None => target.clone(),
        };
        let (what, commit) = (view.planned.id.to_string(), view.commit?.to_owned());
        Some(Claim { what, branch, commit })
    });
    phases.chain(tasks).collect()
}
