//! Where an attempt works, and what all attempts of a run get.

use super::attempt::usual_environment;
use crate::{
    children::{self, Children},
    error::EngineError,
    project::Project,
    values::secrets_among,
};
use std::{path::PathBuf, rc::Rc};
use waypost_git::PhaseBranch;
use waypost_model::layout::variable;
use waypost_model::run::{Active, Isolation, TaskView};
use waypost_redact::Secret;

/// The place where an attempt works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Workplace {
    /// The project folder itself.
    Project,
    /// The work tree of its phase, on the phase's branch.
    PhaseTree { phase: PhaseBranch },
    /// A work tree of its own, by its name.
    OwnTree { phase: PhaseBranch, name: String },
}

impl Workplace {
    pub(super) fn of(active: &Active, view: &TaskView<'_>) -> Self {
        let number = view.planned.phase;
        let Some(phase) = PhaseBranch::of(active, number) else { return Self::Project };
        match active.settings().isolation {
            Isolation::Task => {
                let tree = view.tree.unwrap_or(view.attempts);
                let name = format!("{}--{}-{tree}", phase.name, view.planned.id);
                Self::OwnTree { phase, name }
            }
            Isolation::None | Isolation::Undecided | Isolation::Phase => Self::PhaseTree { phase },
        }
    }

    /// The name of a work tree that is the attempt's own.
    pub(super) fn own(&self) -> Option<&str> {
        match self {
            Self::OwnTree { name, .. } => Some(name),
            Self::Project | Self::PhaseTree { .. } => None,
        }
    }
}

/// The folders of a project and what its configuration says of attempts, as plain data.
#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) root: PathBuf,
    pub(super) state: PathBuf,
    /// The folder that work trees are below.
    pub(super) home: PathBuf,
    /// What children have of the actor's environment.
    pub(super) environment: Vec<(String, String)>,
    /// What commands for the shell have of it.
    pub(super) shell_environment: Vec<(String, String)>,
    /// What of these must not be seen in what children say.
    pub(super) secrets: Vec<Secret>,
    /// Behind which wall commands are run.
    pub(super) children: Children,
    /// The command that makes a new work tree ready.
    pub(super) setup: Option<String>,
    /// What has to pass in a phase's work tree before the phase is merged.
    pub(super) checks: Vec<String>,
}

impl Site {
    pub(super) fn of(project: &mut Project) -> Result<Rc<Self>, EngineError> {
        let children = Children::of(project)?;
        let values = &project.configuration().values;
        let setup = Some(values.worktree.setup.trim().to_owned()).filter(|it| !it.is_empty());
        let checks = &values.run.checks;
        // Work that was joined may need more than what was there when the tree was made.
        let again = setup.clone().filter(|_| !checks.is_empty());
        let environment = usual_environment(&project.caller.environment, &values.run.environment);
        let mut shell_environment = environment.clone();
        if !project.actor().is_person() {
            children::clean_path(&mut shell_environment, project.root());
        }
        let secrets = secrets_among(&environment, &values.run.environment);
        Ok(Rc::new(Self {
            secrets,
            root: project.root().to_owned(),
            state: project.setup.place.state.clone(),
            home: project.setup.trees_home().unwrap_or_else(|| project.root().to_owned()),
            environment,
            shell_environment,
            children,
            checks: again.into_iter().chain(checks.iter().cloned()).collect(),
            setup,
        }))
    }

    /// What checks of a phase get: behind a wall they are known as an agent's, like an attempt.
    pub(super) fn environment_of_checks(&self) -> Vec<(String, String)> {
        let mark =
            self.children.is_walled().then(|| (variable::ATTEMPT.to_owned(), "0".to_owned()));
        self.shell_environment.iter().cloned().chain(mark).collect()
    }

    pub(super) fn folder(&self, workplace: &Workplace) -> PathBuf {
        match workplace {
            Workplace::Project => self.root.clone(),
            Workplace::PhaseTree { phase } => self.home.join(&phase.name),
            Workplace::OwnTree { name, .. } => self.home.join(name),
        }
    }
}
