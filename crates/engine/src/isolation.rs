//! Where the tasks of a run are worked on, found out before it begins.

use crate::{content::git_at, error::EngineError, execute::is_agents, project::Project};
use std::path::Path;
use waypost_model::{
    machine::Rejected,
    run::{Isolation, Plan, Settings},
};

impl Project {
    /// The settings with a place for the run's tasks: the one that was `stated`, the one it has, or
    /// the one that its tasks need.
    pub fn place_run(
        &mut self,
        settings: Settings,
        stated: Option<Isolation>,
        file: Option<&Path>,
    ) -> Result<Settings, EngineError> {
        let configured = self.configuration().values.run.isolation.stated();
        let is_new = self.run()?.active().is_none();
        let isolation = match stated.or_else(|| configured.filter(|_| is_new)) {
            Some(isolation) => isolation,
            None if !is_new => settings.isolation,
            None => {
                let read = self.read_tasks(file)?;
                let wants_trees =
                    self.place.git_common.is_some() && has_agents(&read.plan, &settings);
                self.tasks_ahead = Some(read);
                if wants_trees { Isolation::Task } else { Isolation::None }
            }
        };
        if isolation == Isolation::None {
            return Ok(Settings { isolation, target: None, ..settings });
        }
        let target = match settings.target.clone() {
            Some(target) if settings.isolation == isolation => target,
            _ => self.target_branch()?,
        };
        Ok(Settings { isolation, target: Some(target), ..settings })
    }

    /// The branch that is checked out, which has to have a commit.
    pub(crate) fn target_branch(&self) -> Result<String, EngineError> {
        const OR_NONE: &str = "or `waypost run --isolation none`";
        let refuse = |message: &str, next: &str| {
            EngineError::from(Rejected::rule(message).next(format!("{next}, {OR_NONE}")))
        };
        if self.place.git_common.is_none() {
            return Err(refuse(
                "work trees need a git repository, and there is none here",
                "git init && git add --all && git commit -m start",
            ));
        }
        if !self.root().join(".git").exists() {
            return Err(Rejected::rule(
                "this repository has no work tree: a run needs one to begin in",
            )
            .next("git worktree add ../work, then `waypost run` there")
            .into());
        }
        let git = git_at(self.root())?;
        let head = git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?;
        let branch = head.as_deref().and_then(|head| head.strip_prefix("refs/heads/"));
        let Some(branch) = branch else {
            return Err(refuse(
                "no branch is checked out (HEAD is detached): there is nothing to merge into",
                "git switch -c NAME",
            ));
        };
        if git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.is_none() {
            return Err(refuse(
                &format!("{branch} has no commit yet: work trees are made from one"),
                "git commit --allow-empty -m start",
            ));
        }
        Ok(branch.to_owned())
    }
}

/// Whether a model agent works on any task that is left.
fn has_agents(plan: &Plan, settings: &Settings) -> bool {
    plan.tasks.iter().filter(|task| !task.ticked).any(|task| is_agents(task, settings))
}
