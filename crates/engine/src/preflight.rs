//! What is looked at before a run begins or goes on, so that a refused command has changed nothing.
//!
//! It is looked at the run as it would be after the command: its phases, what stands in the place of
//! their work trees, the agents that its open tasks need, their programs, their gates and accounts,
//! and the budget. The journal's turn is held meanwhile, so programs are asked for their versions
//! before, and git for its refs. No service is asked over the network. What cannot be told is no
//! reason to refuse.

use crate::{
    agent::{
        self, Agent, AgentCheck, GateHealth, require_key,
        version::{self, version},
    },
    environment::Environment,
    error::{EngineError, Problem},
    execute::agent_of,
    ledger::MachineCommand,
    project::Project,
    worktrees::trees_of,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    thread,
};
use waypost_agent::{programs::Programs, setup::SignIn, versions::Version};
use waypost_git::{Outlook, PhaseBranch};
use waypost_model::{
    code::Code,
    config::AgentConfig,
    machine::Rejected,
    next::{NextStep, Remark},
    run::{
        self, Active, Budget, PhaseStage, Plan, PlannedTask, Run, Settings, TaskStatus, TaskView,
    },
};
use waypost_store::file;

/// The most that is read of a program's settings.
const SETTINGS_SIZE_MAX: u64 = 1 << 20;

/// What is known of the machine and the project before a run is looked at.
#[derive(Debug)]
pub(crate) struct Preflight {
    agents: BTreeMap<String, AgentConfig>,
    programs: Programs,
    checks: BTreeMap<String, AgentCheck>,
    /// Those of them whose program and settings are still the same.
    current: BTreeSet<String>,
    root: PathBuf,
    environment: Environment,
    /// The agent of runs that name none.
    usual_agent: String,
    /// Only this phase is to be worked on.
    phase: Option<u32>,
    /// A feature is under way, whose gates hold agents.
    has_feature: bool,
    /// What the programs of agents said of their versions when they were asked, by the agents'
    /// names; none: nothing, or not in time.
    versions: BTreeMap<String, Option<String>>,
    /// What may stand in the way of work trees, where the run has some.
    outlook: Option<Outlook>,
}

impl Preflight {
    pub(crate) fn of(project: &mut Project, phase: Option<u32>) -> Result<Self, EngineError> {
        let checks = agent::checks(&project.setup)?;
        let current = checks.iter().filter(|(_, check)| check.is_current(project));
        Ok(Self {
            agents: project.configuration().values.agents.clone(),
            programs: project.setup.programs.clone(),
            current: current.map(|(name, _)| name.clone()).collect(),
            checks,
            root: project.root().to_owned(),
            usual_agent: project.configuration().values.run.agent.clone(),
            environment: project.caller.environment.clone(),
            phase,
            has_feature: project.workflow()?.feature.is_some(),
            versions: BTreeMap::new(),
            outlook: None,
        })
    }

    /// Asks programs and git what has to be known of a run that these commands lead to.
    pub(crate) fn look_ahead(
        &mut self,
        project: &mut Project,
        commands: &[MachineCommand],
    ) -> Result<(), EngineError> {
        let (plan, settings) = told_by(commands);
        let active = project.run()?.active();
        let Some(settings) = settings.or_else(|| active.map(Active::settings)) else {
            return Ok(());
        };
        let names = match (plan, active) {
            (Some(plan), _) => names_in(plan.tasks.iter(), settings),
            (None, Some(active)) => names_in(active.tasks().map(|view| view.planned), settings),
            (None, None) => return Ok(()),
        };
        self.ask_versions(names);
        self.outlook = outlook_after(project, commands)?;
        Ok(())
    }

    /// Asks the programs that are known by name for their versions, all at once. What a check of
    /// the same program has told before is not asked again.
    fn ask_versions(&mut self, names: BTreeSet<String>) {
        let environment = &self.environment;
        let asked: Vec<(String, Option<String>)> = thread::scope(|scope| {
            let mut threads = Vec::new();
            for name in names {
                let Ok(agent) = Agent::named(&name, &self.agents, &self.programs) else { continue };
                let word = agent.command.first();
                let is_known = word.is_some_and(|it| self.programs.oldest(it).is_some());
                let Some(program) = agent.program(environment).filter(|_| is_known) else {
                    continue;
                };
                let checked = self.checks.get(&name).filter(|_| self.current.contains(&name));
                let told = checked.and_then(|check| check.version.clone());
                let ask = move || {
                    told.or_else(|| version(&program, environment, version::SHORT_PATIENCE))
                };
                threads.push((name, scope.spawn(ask)));
            }
            let answers = threads.into_iter();
            answers.map(|(name, thread)| (name, thread.join().ok().flatten())).collect()
        });
        self.versions.extend(asked);
    }

    /// Refuses a run that could not be worked on; else says what a person should know of it.
    pub(crate) fn check(&self, run: &Run) -> Result<Vec<Remark>, EngineError> {
        let Some(active) = run.active() else { return Ok(Vec::new()) };
        require_phase(active, self.phase)?;
        self.check_trees(active)?;
        let mut notices = Vec::new();
        let mut paid = None;
        for name in self.agents_needed(active) {
            let agent = Agent::named(&name, &self.agents, &self.programs)?;
            self.check_program(&agent)?;
            notices.extend(self.check_version(&agent)?);
            require_key(&agent, &self.root, &self.environment)?;
            notices.extend(self.check_gate(&agent)?);
            if !agent.is_free() {
                paid = Some(name);
            }
        }
        match paid {
            Some(name) if active.settings().budget == Budget::Unset => Err(Rejected::rule(
                Code::BudgetUnset,
                format!("the run has tasks for {name}, and no budget is set"),
            )
            .next(self.with_budget(active))
            .next(NextStep::BeginWithoutBudget)
            .into()),
            _ => Ok(notices),
        }
    }

    /// How the run begins with a budget: for the same agent.
    fn with_budget(&self, active: &Active) -> NextStep {
        match &active.settings().agent {
            Some(agent) if *agent != self.usual_agent => {
                NextStep::BeginForAgent { agent: agent.clone() }
            }
            _ => NextStep::BeginWithBudget,
        }
    }

    /// The model agents of all tasks that are to be worked on.
    fn agents_needed(&self, active: &Active) -> BTreeSet<String> {
        let is_open = |view: &TaskView<'_>| {
            !matches!(view.status, TaskStatus::Completed | TaskStatus::Failed)
                && self.phase.is_none_or(|phase| view.planned.phase == phase)
        };
        let open = active.tasks().filter(is_open);
        open.filter_map(|view| Some(agent_of(view.planned, active.settings())?.to_owned()))
            .collect()
    }

    /// Refuses a run with a phase that could not be opened.
    fn check_trees(&self, active: &Active) -> Result<(), EngineError> {
        let Some(outlook) = &self.outlook else { return Ok(()) };
        for (number, stage) in active.phases() {
            let is_ahead = !matches!(stage, PhaseStage::Closed { .. })
                && self.phase.is_none_or(|phase| phase == number);
            if let Some(phase) = PhaseBranch::of(active, number).filter(|_| is_ahead) {
                outlook.check(&phase)?;
            }
        }
        Ok(())
    }

    /// Refuses a program that is too old; says so where its version cannot be told.
    fn check_version(&self, agent: &Agent) -> Result<Option<Remark>, EngineError> {
        let (name, word) = (&agent.name, agent.command.first().map_or("", String::as_str));
        let (said, oldest) = (self.versions.get(name), self.programs.oldest(word));
        let (Some(said), Some(oldest)) = (said, oldest) else { return Ok(None) };
        match said.as_deref().and_then(Version::find) {
            Some(found) if found < oldest => {
                let message = format!(
                    "tasks are for {name}, and its program `{word}` is version {found}; Waypost \
                     works with {oldest} and later ones"
                );
                let file = word.rsplit('/').next().unwrap_or(word);
                let hint = match self.programs.install_command(file) {
                    Some(install) => format!("`{install}@latest` installs the newest one"),
                    None => "install a newer one".to_owned(),
                };
                Err(Problem::new(Code::ProgramTooOld, message).hint(hint).into())
            }
            Some(_) => Ok(None),
            None => Ok(Some(Remark::from(format!(
                "the version of `{word}` cannot be told: `{word} --version` says {}; Waypost works \
                 with {oldest} and later ones",
                match said {
                    Some(said) => format!("`{said}`"),
                    None => "nothing".to_owned(),
                }
            )))),
        }
    }

    fn check_program(&self, agent: &Agent) -> Result<(), EngineError> {
        agent.require_program(&self.root, &self.environment)?;
        let (name, word) = (&agent.name, agent.command.first().map_or("", String::as_str));
        // A program of the person's own choice may keep its account anywhere.
        let sign_in = self.programs.sign_in(word).filter(|_| agent.config.command.is_empty());
        match sign_in.filter(|sign_in| self.is_signed_out(sign_in)) {
            Some(sign_in) => {
                let message =
                    format!("tasks are for {name}, which is not signed in on this machine");
                Err(Problem::new(Code::SignedOut, message).hint(sign_in.remedy).into())
            }
            None => Ok(()),
        }
    }

    /// Whether nothing hints at an account.
    fn is_signed_out(&self, sign_in: &SignIn) -> bool {
        let hints = |name: &str| sign_in.variables.iter().any(|begin| name.starts_with(begin));
        let has_variable =
            self.environment.texts().any(|(name, value)| !value.is_empty() && hints(name));
        // Without a home folder it is not known where to look.
        let Some(home) = self.environment.get("HOME").map(PathBuf::from) else { return false };
        let has_file = sign_in.files.iter().any(|name| home.join(name).exists());
        let leads_elsewhere =
            |(name, words): &(&str, &[&str])| has_word(&self.root.join(name), words);
        !has_variable && !has_file && !sign_in.project.iter().any(leads_elsewhere)
    }

    /// What the last check of an agent's gate said, where it still holds.
    fn check_gate(&self, agent: &Agent) -> Result<Option<Remark>, EngineError> {
        let name = &agent.name;
        let again = NextStep::CheckAgent { agent: name.to_string() };
        let Some(check) = self.checks.get(name) else { return Ok(None) };
        if !self.current.contains(name) {
            let version = check.version.as_deref().unwrap_or("another version");
            let text = format!(
                "the gate of {name} was checked with {version}, and its program or its settings have \
                 changed since"
            );
            return Ok(Some(Remark::from(text).next(again)));
        }
        let found = match check.health {
            GateHealth::Silent => "the hook was never asked",
            GateHealth::Ran => "what the hook refused was run",
            GateHealth::Alive | GateHealth::NoHook(_) | GateHealth::Failed(_) => return Ok(None),
        };
        let text = format!("the hook does not hold {name}: when its gate was checked, {found}");
        match self.has_feature {
            // Whatever the gates of the feature forbid would be done all the same.
            true => Err(Rejected::rule(Code::GateNotHeld, text).next(again).into()),
            false => Ok(Some(Remark::from(text).next(again))),
        }
    }
}

/// The plan and the settings that a run has after these commands, as far as they say.
fn told_by(commands: &[MachineCommand]) -> (Option<&Plan>, Option<&Settings>) {
    let (mut told_plan, mut told_settings) = (None, None);
    for command in commands.iter().filter_map(MachineCommand::wanted_of::<Run>) {
        match command {
            run::Command::Begin { plan, settings }
            | run::Command::BeginNew { plan, settings, .. } => {
                (told_plan, told_settings) = (Some(plan), Some(settings));
            }
            run::Command::Replan { plan, .. } | run::Command::Rebuild { plan, .. } => {
                told_plan = Some(plan);
            }
            run::Command::Configure { settings } => told_settings = Some(settings),
            _ => {}
        }
    }
    (told_plan, told_settings)
}

/// What may stand in the way of a run's work trees, if it has some after these commands.
pub(crate) fn outlook_after(
    project: &mut Project,
    commands: &[MachineCommand],
) -> Result<Option<Outlook>, EngineError> {
    let isolation = match told_by(commands).1 {
        Some(settings) => settings.isolation,
        None => match project.run()?.active() {
            Some(active) => active.settings().isolation,
            None => return Ok(None),
        },
    };
    Ok(match isolation.has_trees() {
        true => Some(Outlook::of(trees_of(project)?)?),
        false => None,
    })
}

/// The model agents of tasks that are not ticked.
fn names_in<'a>(
    tasks: impl Iterator<Item = &'a PlannedTask>,
    settings: &Settings,
) -> BTreeSet<String> {
    let open = tasks.filter(|task| !task.ticked);
    open.filter_map(|task| Some(agent_of(task, settings)?.to_owned())).collect()
}

fn has_word(path: &Path, words: &[&str]) -> bool {
    let bytes = file::read_bounded(path, SETTINGS_SIZE_MAX).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    words.iter().any(|word| text.contains(word))
}

/// Refuses a phase that the run does not have, or that comes after one which is not done.
pub fn require_phase(active: &Active, phase: Option<u32>) -> Result<(), EngineError> {
    require_known_phase(active, phase)?;
    let Some(wanted) = phase else { return Ok(()) };
    let current = active.current_phase();
    match active.phase(wanted) {
        Some(PhaseStage::Waiting) if wanted != current => {
            let message = format!("phase {wanted} comes after phase {current}, which is not done");
            Err(Rejected::rule(Code::PhaseStatus, message)
                .next(NextStep::BeginPhase { phase: current })
                .into())
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a phase that the run does not have.
pub fn require_known_phase(active: &Active, phase: Option<u32>) -> Result<(), EngineError> {
    let Some(wanted) = phase.filter(|phase| active.phase(*phase).is_none()) else { return Ok(()) };
    let names = &active.plan().phases;
    let known = active.phases().map(|(number, _)| match names.get(&number) {
        Some(name) if !name.is_empty() => format!("{number} ({name})"),
        _ => number.to_string(),
    });
    let known: Vec<String> = known.collect();
    let message = format!("there is no phase {wanted} in this run");
    let hint = format!("its phases are {}", known.join(", "));
    Err(Problem::new(Code::PhaseUnknown, message).hint(hint).into())
}
