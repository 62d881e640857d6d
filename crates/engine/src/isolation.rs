//! Where the tasks of a run are worked on, found out before it begins.

use crate::{
    error::EngineError,
    execute::is_agents,
    project::Project,
    tasks::{self, Onward},
};
use std::path::Path;
use waypost_git::git_at;
use waypost_model::{
    code::Code,
    machine::Rejected,
    next::{NextStep, Remark},
    run::{self, Earlier, Isolation, PlannedTask, Settings, TaskStatus, TaskView},
};

/// The settings with a place for the run's tasks: the one that was `stated`, the one it has, or
/// the one that the tasks need which are left to do.
pub fn place_run(
    project: &mut Project,
    settings: Settings,
    stated: Option<Isolation>,
    (file, onward): (Option<&Path>, Onward),
) -> Result<Settings, EngineError> {
    let configured = project.configuration().values.run.isolation.stated();
    let is_open = settings.isolation == Isolation::Undecided;
    let isolation = match stated.or_else(|| configured.filter(|_| is_open)) {
        Some(isolation) => isolation,
        None if !is_open => settings.isolation,
        None => needed_isolation(project, &settings, (file, onward))?,
    };
    if !isolation.has_trees() {
        return Ok(Settings { isolation, target: None, ..settings });
    }
    let target = match settings.target.clone() {
        Some(target) if settings.isolation == isolation => target,
        _ => target_branch(project)?,
    };
    Ok(Settings { isolation, target: Some(target), ..settings })
}

/// The branch that the work of a session's request goes to, where its tasks have work trees; none: they are worked on
/// in the project's own. By the rule of runs, whose agents are those of a session, too.
pub(crate) fn place_request(
    project: &Project,
    stated: Option<Isolation>,
) -> Result<Option<String>, EngineError> {
    let configured = project.configuration().values.run.isolation.stated();
    let has_git = project.setup.place.git_common.is_some();
    let needed = if has_git { Isolation::Task } else { Isolation::None };
    match stated.or(configured).unwrap_or(needed).has_trees() {
        true => target_branch(project).map(Some),
        false => Ok(None),
    }
}

/// Work trees where there is git and a model agent works on any task that is left.
fn needed_isolation(
    project: &mut Project,
    settings: &Settings,
    (file, onward): (Option<&Path>, Onward),
) -> Result<Isolation, EngineError> {
    let has_git = project.setup.place.git_common.is_some();
    let is_left = |view: &TaskView<'_>| view.status != TaskStatus::Completed;
    let earlier = match onward {
        Onward::New(earlier) => Some(earlier),
        Onward::GoOn | Onward::KeepDone | Onward::Stay => None,
    };
    let going_on = project.run()?.active().filter(|active| !active.is_over());
    let of_run = match going_on.filter(|_| earlier.is_none()) {
        Some(active) => {
            let left = active.tasks().filter(is_left).map(|view| view.planned);
            Some(has_agents(left, settings))
        }
        None => None,
    };
    let wants_trees = match (project.tasks.ahead.take(), of_run) {
        (None, Some(wants_trees)) => wants_trees,
        (ahead, _) => {
            let read = ahead.map_or_else(|| tasks::read(project, file), Ok)?;
            let plan = &read.plan;
            let wants_trees = match project.run()?.active() {
                Some(active) => {
                    let left = active.left_in_next(plan, earlier.unwrap_or(Earlier::Counts));
                    has_agents(left, settings)
                }
                None => has_agents(plan.tasks.iter().filter(|task| !task.ticked), settings),
            };
            project.tasks.ahead = Some(read);
            wants_trees
        }
    };
    Ok(if has_git && wants_trees { Isolation::Task } else { Isolation::None })
}

/// Decides where the tasks of a run are worked on that began without an engine, now that one
/// starts, or an agent, and says so. Nothing if that is decided.
pub(crate) fn decide_place(project: &mut Project) -> Result<Option<run::Command>, EngineError> {
    let Some(active) = project.run()?.active() else { return Ok(None) };
    if active.settings().isolation != Isolation::Undecided {
        return Ok(None);
    }
    let settings = active.settings().clone();
    let settings = place_run(project, settings, None, (None, Onward::GoOn))?;
    say_place(project, &settings);
    Ok(Some(run::Command::Configure { settings }))
}

/// Says in one line where tasks are worked on, once that is decided.
pub fn say_place(project: &mut Project, settings: &Settings) {
    let target = settings.target.as_deref().unwrap_or_default();
    project.notice(Remark::note(match settings.isolation {
        Isolation::Task => format!(
            "from here on each attempt works in a work tree of its own, and what it did is \
             merged into {target} (isolation task)"
        ),
        Isolation::Phase => format!(
            "from here on tasks are worked on in a work tree for each phase, which is merged \
             into {target} (isolation phase)"
        ),
        Isolation::None => "from here on tasks are worked on in the project's folder itself \
                            (isolation none)"
            .to_owned(),
        Isolation::Undecided => return,
    }));
}

/// The branch that is checked out, which has to have a commit.
pub(crate) fn target_branch(project: &Project) -> Result<String, EngineError> {
    let refuse = |message: &str, next: &str| {
        let next = NextStep::RunGit { words: next.to_owned() };
        EngineError::from(
            Rejected::rule(Code::RepositoryUnsuited, message)
                .next(next)
                .next(NextStep::BeginWithoutTrees),
        )
    };
    if project.setup.place.git_common.is_none() {
        return Err(refuse(
            "work trees need a git repository, and there is none here",
            "init && git add --all && git commit -m start",
        ));
    }
    if !project.root().join(".git").exists() {
        return Err(Rejected::rule(
            Code::RepositoryUnsuited,
            "this repository has no work tree: a run begins in one",
        )
        .next(NextStep::RunGit { words: "worktree add ../work".into() })
        .into());
    }
    let git = git_at(project.root())?;
    let head = git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?;
    let branch = head.as_deref().and_then(|head| head.strip_prefix("refs/heads/"));
    let Some(branch) = branch else {
        return Err(refuse(
            "no branch is checked out (HEAD is detached): there is nothing to merge into",
            "switch -c NAME",
        ));
    };
    if git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.is_none() {
        return Err(refuse(
            &format!("{branch} has no commit yet: work trees are made from one"),
            "commit --allow-empty -m start",
        ));
    }
    Ok(branch.to_owned())
}

/// Whether a model agent works on any of these.
fn has_agents<'a>(mut tasks: impl Iterator<Item = &'a PlannedTask>, settings: &Settings) -> bool {
    tasks.any(|task| is_agents(task, settings))
}
