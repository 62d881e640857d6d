//! `waypost agents`: which agents there are, and whether their gates are alive.

use super::{
    open, say_notices,
    watch::{Watch, keeper},
};
use crate::data::{AgentCheckReport, AgentReport, CheckedAgent, Obstruction};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, styled},
};
use clap::Subcommand;
use std::borrow::Cow;
use std::process::ExitCode;
use waypost_engine::{
    AgentCheck, CheckMeans, GateHealth, Installed, Obstacle, Project, agent, canary_call,
};
use waypost_model::config::AgentAccess;
use waypost_sim::{Block, Input, Options, Script, Server, Turn};

/// List the agents that can be given work
///
/// Those that Waypost brings along and those of your own configuration, [agents.NAME]: how each is
/// spoken with, where its program is, what of your own settings it reads, and whether its gate was alive
/// when it was last checked in this project.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    action: Option<AgentsAction>,
}

#[derive(Debug, Subcommand)]
enum AgentsAction {
    /// Check that the hook holds the installed agents
    ///
    /// Starts each program in this project, with the settings that hold here, against a scripted
    /// model on this machine: no network, no account, no cost. The model wants to run a harmless
    /// command, and the hook has to refuse it. Each program is tried as a run starts it and, where a
    /// hook is registered, as you start it yourself. Nothing in the project is changed. Exit 1 unless
    /// every gate is alive; a program that asks no hook, as those that speak ACP, has none.
    Check {
        /// The agents to check; all that are installed if left out
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

pub(crate) fn run(context: &Context, args: &AgentsArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    match &args.action {
        None => list(context, &project),
        Some(AgentsAction::Check { names }) => check(context, &mut project, names),
    }
}

fn list(context: &Context, project: &Project) -> Result<ExitCode, CliError> {
    let checks = agent::checks(project.setup())?;
    let agents = agent::installed(project)?;
    if context.out.json {
        let data: Vec<AgentReport<'_>> =
            agents.iter().map(|it| data(project, it, checks.get(&it.agent.name))).collect();
        context.out.json_list(&data)?;
        return Ok(ExitCode::SUCCESS);
    }
    for it in &agents {
        let program = match &it.program {
            Some(path) => {
                let version = it.version();
                let old = it.needs_version(version.as_deref()).map(|oldest| {
                    let text = format!("too old: Waypost works with {oldest} and later ones");
                    format!("  {}", styled(RED, text))
                });
                let version = version.map(|it| format!("  {it}")).unwrap_or_default();
                format!("{}{version}{}", path.display(), old.unwrap_or_default())
            }
            None => styled(DIM, format!("{} is not installed", it.agent.command[0])),
        };
        let name = styled(BOLD, format!("{:12}", it.agent.name));
        context.out.line(format!("{name} {:10} {program}", it.agent.adapter.as_str()))?;
        if it.program.is_some() {
            let check = checks.get(&it.agent.name);
            context.out.line(format!("  gate      {}", gate(project, check)))?;
            let guard =
                it.agent.unguarded().map(|why| format!("{}: {why}", styled(YELLOW, "unguarded")));
            let guard = guard.unwrap_or_else(|| "what goes past the hook is stopped".to_owned());
            context.out.line(format!("  guard     {guard}"))?;
            context.out.line(format!("  yours     {}", passed_on(it)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What of the person's settings reaches the program.
fn passed_on(it: &Installed) -> String {
    let config = &it.agent.config;
    let settings = match config.settings.as_slice() {
        [] => "no settings".to_owned(),
        some => format!("settings: {}", some.join(", ")),
    };
    let servers = if config.mcp { "your MCP servers" } else { "no MCP servers" };
    let access = match config.access {
        AgentAccess::Read => "reads only",
        AgentAccess::Edit => "edits without asking",
        AgentAccess::Unfenced => "does everything without asking",
    };
    format!("{settings}; {servers}; {access}")
}

fn gate(project: &Project, check: Option<&AgentCheck>) -> String {
    let Some(check) = check else {
        return styled(DIM, "not checked yet (`waypost agents check`)");
    };
    let told = health(&check.health);
    let own = check.registered.as_ref().map(|it| format!("; started by you: {}", health(it)));
    let told = told + &own.unwrap_or_default();
    match check.is_current(project) {
        true => format!("{told} {}", styled(DIM, format!("({})", check.at))),
        false => {
            format!("{told}, {}", styled(YELLOW, "checked with other settings or another version"))
        }
    }
}

pub(crate) fn health(health: &GateHealth) -> String {
    match health {
        GateHealth::Alive => styled(GREEN, "alive"),
        GateHealth::Silent => format!("{}: the hook was never asked", styled(RED, "silent")),
        GateHealth::Ran => {
            format!("{}: the command was run all the same", styled(RED, "does not hold"))
        }
        GateHealth::NoHook(why) => format!("none: {why}"),
        GateHealth::Failed(why) => format!("{}: {why}", styled(YELLOW, "not known")),
    }
}

fn data<'a>(
    project: &Project,
    it: &'a Installed,
    check: Option<&'a AgentCheck>,
) -> AgentReport<'a> {
    let config = &it.agent.config;
    let version = it.version();
    AgentReport {
        name: &it.agent.name,
        adapter: it.agent.adapter.as_str(),
        command: &it.agent.command,
        program: it.program.as_deref(),
        needs_version: it.needs_version(version.as_deref()).map(|it| it.to_string()),
        version,
        gate: check.map(|check| check_data(project, check)),
        unguarded: it.agent.unguarded(),
        settings: &config.settings,
        mcp: config.mcp,
        access: config.access,
    }
}

pub(crate) fn check_data<'a>(project: &Project, check: &'a AgentCheck) -> AgentCheckReport<'a> {
    AgentCheckReport {
        health: Cow::Borrowed(&check.health),
        registered: check.registered.as_ref().map(Cow::Borrowed),
        version: check.version.as_deref().map(Cow::Borrowed),
        at: check.at.to_string(),
        is_current: check.is_current(project),
    }
}

fn check(context: &Context, project: &mut Project, names: &[String]) -> Result<ExitCode, CliError> {
    for name in names {
        // A name that no agent has is said before anything is started.
        agent::named(project.setup(), name)?;
    }
    let (mut is_well, mut found) = (true, Vec::new());
    let keeper = keeper()?;
    let mut watch = Watch::begin(context)?;
    for it in agent::installed(project)? {
        let name = &it.agent.name;
        let is_named = names.contains(name);
        if !names.is_empty() && !is_named {
            continue;
        }
        let Some(program) = &it.program else {
            is_well &= !is_named;
            match context.out.json {
                true => found.push(CheckedAgent::not_installed(name)),
                false => context.out.line(format!("{} not installed", heading(name)))?,
            }
            continue;
        };
        let script = Script {
            marked: Vec::new(),
            turns: turns(&it),
            sub_turns: Vec::new(),
            sub_marker: "SUBAGENT".to_owned(),
            side_text: "ok".to_owned(),
        };
        let server = Server::start(script, &Options::default())?;
        let means = CheckMeans { server: server.address(), keeper: &keeper, onlooker: &mut watch };
        let checked = agent::check(project, &it.agent, program, means);
        watch.clear();
        let check = checked?;
        let obstacles = agent::obstacles_of(project, &it.agent);
        // What plays an agent does what its script says, and cannot be sent a canary.
        let is_held = |health: &GateHealth| *health == GateHealth::Alive || it.agent.is_free();
        is_well &= is_held(&check.health) && check.registered.as_ref().is_none_or(is_held);
        match context.out.json {
            true => found.push(checked_data(project, name, &check, &obstacles)),
            false => tell(context, name, &check, &obstacles)?,
        }
    }
    say_notices(context, project);
    if context.out.json {
        context.out.json_list(&found)?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the scripted model does: the canary, then it ends.
fn turns(it: &Installed) -> Vec<Turn> {
    let call = canary_call(it.agent.adapter).and_then(|(tool, input)| {
        let input = Input::Fields(serde_json::from_str(&input).ok()?);
        Some(Block::Tool { name: tool.to_owned(), input })
    });
    let text = |text: &str| Block::Text(text.to_owned());
    [call.unwrap_or_else(|| text("There is nothing to call.")), text("That was all.")]
        .map(|block| Turn { blocks: vec![block], ..Turn::default() })
        .to_vec()
}

fn heading(name: &str) -> String {
    styled(BOLD, format!("{name:12}"))
}

fn checked_data(
    project: &Project,
    name: &str,
    check: &AgentCheck,
    obstacles: &[Obstacle],
) -> CheckedAgent {
    let obstacles = obstacles.iter();
    let obstacles = obstacles
        .map(|it| Obstruction { text: it.text.to_string(), remedy: it.remedy.to_string() });
    CheckedAgent {
        name: name.to_owned(),
        state: "checked",
        gate: Some(check_data(project, check).into_owned()),
        obstacles: Some(obstacles.collect()),
    }
}

fn tell(
    context: &Context,
    name: &str,
    check: &AgentCheck,
    obstacles: &[Obstacle],
) -> Result<(), CliError> {
    let version = check.version.as_deref();
    let version = version.map(|it| styled(DIM, format!("  ({it})"))).unwrap_or_default();
    context.out.line(format!("{} {}{version}", heading(name), health(&check.health)))?;
    let Some(registered) = &check.registered else { return Ok(()) };
    context.out.line(format!("  started by you: {}", health(registered)))?;
    if *registered != GateHealth::Alive {
        for Obstacle { text, remedy } in obstacles {
            context.out.line(format!("    {text}"))?;
            context.out.line(format!("    {} {remedy}", styled(CYAN, "hint:")))?;
        }
    }
    Ok(())
}
