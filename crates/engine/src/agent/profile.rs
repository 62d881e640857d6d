//! The agents that can be named: those that Waypost brings along, changed and added to by the
//! configuration.

use super::{startable::unstartable, version};
use crate::{
    config::USUAL_USER_FILE,
    environment::Environment,
    error::{EngineError, Problem},
    init,
    project::{Project, ProjectSetup},
    wall::AgentWall,
};
use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};
use waypost_agent::{
    Adapter, CallGuard, HookWay,
    launch::{Access, Conversation, Order, Prompts},
    programs::{Programs, SIMULATED},
    registration::HookProgram,
    versions::Version,
};
use waypost_model::config::{AgentAccess, AgentConfig};
use waypost_model::{code::Code, layout, next::NextStep};
use waypost_store::file;

/// The name of the agent that runs a task's own command.
pub(crate) const SHELL: &str = "shell";

/// The scripted agent inside Waypost itself.
const SIM: &str = "sim";

/// An agent that can be given work.
#[derive(Clone, Debug)]
pub struct Agent {
    pub name: String,
    pub adapter: Adapter,
    /// The program and its first arguments.
    pub command: Vec<String>,
    pub config: AgentConfig,
    /// What is known of agent programs beside its own.
    pub(crate) programs: Programs,
    /// The wall that agents are started behind as a whole here.
    pub(crate) wall: AgentWall,
}

/// An agent, and where its program is.
#[derive(Clone, Debug)]
pub struct Installed {
    pub agent: Agent,
    /// None: there is no such program in `PATH`.
    pub program: Option<PathBuf>,
}

impl Installed {
    /// What the program says of its version; it is started for that.
    pub fn version(&self) -> Option<String> {
        let environment = Environment::of_this_process();
        let program = self.program.as_deref()?;
        version::version(program, &environment, version::PATIENCE)
    }

    /// The version from which on Waypost works with the program, if what it `said` is older.
    pub fn needs_version(&self, said: Option<&str>) -> Option<Version> {
        let oldest = self.agent.programs.oldest(self.agent.command.first()?)?;
        (Version::find(said?)? < oldest).then_some(oldest)
    }
}

/// The agent of a name.
pub fn named(setup: &ProjectSetup, name: &str) -> Result<Agent, EngineError> {
    let values = &setup.configuration.values;
    let agent = Agent::named(name, &values.agents, &setup.programs)?;
    Ok(Agent { wall: AgentWall::here(values.wall.require), ..agent })
}

/// The names of all agents but the shell.
pub fn names(setup: &ProjectSetup) -> Vec<String> {
    names_in(&setup.configuration.values.agents, &setup.programs)
}

/// The agent for a job: the one that is named, else the configured one.
pub(crate) fn for_job(
    setup: &ProjectSetup,
    given: Option<&str>,
    part: &str,
) -> Result<Agent, EngineError> {
    let run = &setup.configuration.values.run;
    let configured = match part {
        "reviewer" => [run.reviewer.as_str(), run.agent.as_str()],
        _ => [run.agent.as_str(), ""],
    };
    let configured = configured.into_iter().find(|name| !name.trim().is_empty());
    let Some(name) = given.or(configured).filter(|name| *name != SHELL) else {
        let key = if part == "reviewer" { "run.reviewer" } else { "run.agent" };
        return Err(Problem::new(Code::AgentMissing, format!("no {part} is configured"))
            .hint(format!("name an agent in waypost.toml, `{key}`"))
            .next(NextStep::ListAgents)
            .into());
    };
    named(setup, name.trim())
}

/// All agents, and where their programs are.
pub fn installed(project: &Project) -> Result<Vec<Installed>, EngineError> {
    let names = names(&project.setup).into_iter();
    names
        .map(|name| {
            let agent = named(&project.setup, &name)?;
            let program = agent.program(&project.caller.environment);
            Ok(Installed { agent, program })
        })
        .collect()
}

/// The order of a program that learns of our hook, `words`, in its own way; no words: not
/// from us.
pub(crate) fn with_hook(
    setup: &ProjectSetup,
    agent: &Agent,
    words: Vec<String>,
    order: Order,
) -> Result<Order, EngineError> {
    if words.is_empty() {
        return Ok(order);
    }
    Ok(match agent.adapter.hook_way() {
        HookWay::SettingsFile => {
            Order { settings: given_settings(setup, agent.adapter, &words)?, ..order }
        }
        HookWay::CommandLine => Order { hook: words, ..order },
        HookWay::OwnSettings => order,
    })
}

/// The settings file with our hook, outside of the project: an agent can empty the project's.
fn given_settings(
    setup: &ProjectSetup,
    adapter: Adapter,
    words: &[String],
) -> Result<Option<String>, EngineError> {
    let given = adapter.given_settings(&HookProgram::new(words)).transpose();
    let given = given.map_err(|error| Problem::new(Code::Bug, format!("{error:?}")))?;
    let Some((name, text)) = given else { return Ok(None) };
    let path = setup.place.state.join(layout::state::AGENTS).join(name);
    file::replace(&path, text.as_bytes(), file::PRIVATE)?;
    Ok(Some(path.to_string_lossy().into_owned()))
}

fn no_adapter(name: &str, word: &str, programs: &Programs) -> EngineError {
    let known: Vec<&str> = programs.adapters().map(Adapter::as_str).collect();
    let message = match word {
        "" => format!("the agent `{name}` has no `adapter`"),
        word => format!("the agent `{name}` has the unknown adapter `{word}`"),
    };
    let hint = format!("one of {}", known.join(", "));
    Problem::new(Code::AgentIncomplete, message).hint(hint).into()
}

/// This program as an agent that follows a script.
fn simulated(adapter: Adapter) -> Result<Vec<String>, EngineError> {
    let words = ["sim", "agent", "--speak", adapter.as_str(), "--"];
    let own = init::own_path()?;
    Ok([own].into_iter().chain(words.map(str::to_owned)).collect())
}

/// Where a program is, as a shell finds it in the folders of a `PATH`. A name that begins in the folder
/// one happens to be in is none: a repository could have put a program of that name there.
pub(crate) fn find_program(word: &str, folders: Option<&OsStr>) -> Option<PathBuf> {
    if word.contains('/') {
        let path = Some(PathBuf::from(word)).filter(|path| path.is_absolute());
        return path.filter(|path| is_program(path));
    }
    let folders = env::split_paths(folders?).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(word)).find(|path| is_program(path))
}

/// Whether a file may be started.
pub(super) fn is_program(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The names of the agents that need no configuration.
pub(crate) fn known_names(programs: &Programs) -> impl Iterator<Item = &'static str> {
    programs.agents().map(|known| known.name).chain([SIM])
}

/// The names of all agents but the shell.
fn names_in(agents: &BTreeMap<String, AgentConfig>, programs: &Programs) -> Vec<String> {
    let mut names: Vec<String> = known_names(programs).map(str::to_owned).collect();
    names.extend(agents.keys().cloned());
    names.sort();
    names.dedup();
    names
}

impl Agent {
    /// The agent of a name, as the configuration has it.
    pub(crate) fn named(
        name: &str,
        agents: &BTreeMap<String, AgentConfig>,
        programs: &Programs,
    ) -> Result<Self, EngineError> {
        let config = agents.get(name);
        let known = programs.agents().find(|known| known.name == name);
        let is_sim = name == SIM;
        if config.is_none() && known.is_none() && !is_sim {
            let hint = format!(
                "known are {SHELL}, {}; others are tables `[agents.NAME]` in {USUAL_USER_FILE}",
                names_in(agents, programs).join(", ")
            );
            let message = format!("there is no agent `{name}`");
            return Err(Problem::new(Code::AgentUnknown, message).hint(hint).into());
        }
        let config = config.cloned().unwrap_or_default();
        let adapter = match config.adapter.as_str() {
            "" if is_sim => Some(SIMULATED),
            "" => known.map(|known| known.adapter),
            word => Some(programs.adapter(word).ok_or_else(|| no_adapter(name, word, programs))?),
        };
        let adapter = adapter.ok_or_else(|| no_adapter(name, "", programs))?;
        if is_sim && !config.command.is_empty() {
            // It counts as free of cost, and stands in for all others in a rehearsal.
            let message = format!("the agent `{SIM}` is Waypost itself and has no `command`");
            return Err(Problem::new(Code::ConfigInvalid, message)
                .hint("give a program of your own another name")
                .into());
        }
        let command = match known {
            _ if !config.command.is_empty() => config.command.clone(),
            _ if is_sim => simulated(adapter)?,
            Some(known) => known.command.iter().map(ToString::to_string).collect(),
            None => {
                let message = format!("the agent `{name}` has no `command`");
                let hint = format!("give it one in `[agents.{name}]` of {USUAL_USER_FILE}");
                return Err(Problem::new(Code::AgentIncomplete, message).hint(hint).into());
            }
        };
        let (name, programs) = (name.to_owned(), programs.clone());
        Ok(Self { name, adapter, command, config, programs, wall: AgentWall::default() })
    }

    /// Where its program is, as a shell finds it; none if it is not there.
    pub(crate) fn program(&self, environment: &Environment) -> Option<PathBuf> {
        self.command.first().and_then(|word| find_program(word, environment.get("PATH")))
    }

    /// Refuses it where its program is not there. `root` is the project's.
    pub(crate) fn require_program(
        &self,
        root: &Path,
        environment: &Environment,
    ) -> Result<(), EngineError> {
        let (name, word) = (&self.name, self.command.first().map_or("", String::as_str));
        // A path is seen from the folder that the agent works in, which has what the project has.
        let path = root.join(word);
        let is_there = word.contains('/') && path.is_file();
        let own = Some(path.clone()).filter(|path| is_there && is_program(path));
        if let Some(program) = own.or_else(|| self.program(environment)) {
            let Some(why) = unstartable(&program, environment) else { return Ok(()) };
            let message = format!("tasks are for {name}, and its program `{word}` {why}");
            let hint = format!("install it again, or mend {}", program.display());
            return Err(Problem::new(Code::ProgramMissing, message).hint(hint).into());
        }
        if is_there {
            let message =
                format!("tasks are for {name}, and its program `{word}` is not executable");
            let hint = format!("`chmod +x {}` makes it one", path.display());
            return Err(Problem::new(Code::ProgramMissing, message).hint(hint).into());
        }
        let other =
            format!("name another one as `command` in `[agents.{name}]` of {USUAL_USER_FILE}");
        let message = format!("tasks are for {name}, and its program `{word}` is not installed");
        let hint = match self.programs.install_command(word) {
            Some(install) => format!("`{install}` installs it; or {other}"),
            None => format!("install it, or {other}"),
        };
        Err(Problem::new(Code::ProgramMissing, message).hint(hint).into())
    }

    /// The wall that it is started behind as a whole with this access level. A program that brings a sandbox
    /// of its own cannot build that within ours: it keeps its own, unless a wall is required.
    pub(crate) fn wall_with(&self, access: Access) -> AgentWall {
        match self.adapter.brings_sandbox(access) {
            true => self.wall.if_required(),
            false => self.wall,
        }
    }

    /// What the agent may change when its work is to change files.
    pub(crate) fn access(&self) -> Access {
        match self.config.access {
            AgentAccess::Read => Access::Read,
            AgentAccess::Edit => Access::Edit,
            AgentAccess::Unfenced => Access::Unfenced,
        }
    }

    /// An order in a conversation, with all that the configuration says.
    pub(crate) fn order(&self, folder: String, conversation: Conversation) -> Order {
        let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let sources = self.config.settings.join(",");
        let is_all = sources == "user,project,local";
        Order {
            program: self.command.clone(),
            task: String::new(),
            conversation,
            model: said(&self.config.model),
            turns_max: Some(self.config.max_turns).filter(|turns| *turns > 0),
            budget_cents: None,
            folder,
            more_folders: Vec::new(),
            access: self.access(),
            allowed_tools: self.config.allowed_tools.clone(),
            prompts: Prompts::Asked,
            setting_sources: (!is_all).then_some(sources),
            has_mcp: self.config.mcp,
            settings: None,
            hook: Vec::new(),
            schema: None,
        }
    }

    /// Why not everything that it does is put to the hook; none: an attempt that goes past it is stopped.
    pub fn unguarded(&self) -> Option<&'static str> {
        match self.adapter.call_guard() {
            CallGuard::Hook => None,
            CallGuard::Requests => {
                Some("it asks no hook: only what it wants a permission for is judged")
            }
            CallGuard::None => Some("it asks no hook, or does not say which calls it asked about"),
        }
    }

    /// Whether it costs nothing.
    pub fn is_free(&self) -> bool {
        self.name == SIM
    }
}
