//! `waypost status`: where everything stands.

use super::{
    agents::{check_data, health},
    notify::{waiting_json, waiting_text},
    open,
};
use crate::data::{EntryReport, MemoryReport, NotAdopted, RunReport, SessionReport, StatusReport};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, styled},
    show::{
        memory as show_memory,
        run::{self as show_run, Extent},
        session as show_session, workflow as show_workflow,
    },
};
use std::{fmt::Write as _, process::ExitCode};
use waypost_engine::{
    GateHealth, Project, adopt, agent, attendance,
    entries::{self, WaitingEntry},
    notify, served, summary, wall,
};
use waypost_model::inbox::Entry;

/// How many inbox entries are shown in full.
const ENTRIES_SHOWN: usize = 5;

pub(crate) fn run(context: &Context) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    if context.out.json {
        tell(&mut project, |report| context.out.json(report))??;
        return Ok(ExitCode::SUCCESS);
    }
    let inbox = entries::waiting(&mut project)?;
    let engine = project.engine_holder()?;
    let notices = notify::waiting(&mut project)?;
    let tasks = served::counts(&mut project)?;
    let memory = project.memory()?.clone();
    let mut parts = Vec::new();
    if let Some(feature) = &project.workflow()?.feature {
        parts.push(show_workflow::text(feature));
        parts.push(wall_text(&project));
    }
    if let Some(run) = summary::of_run(&mut project)? {
        let extent =
            Extent { is_left: attendance::has_lost_engine(&mut project)?, ..Extent::default() };
        parts.push(show_run::text_of(&run, extent));
    }
    let note = "  this is what the file says; until a person adopts it nothing follows from it\n";
    if let Some(feature) = adopt::loose_workflow(&mut project)? {
        parts.push(show_workflow::standing(&feature) + note);
    }
    if let Some(run) = adopt::loose_run(&mut project)? {
        parts.push(show_run::text(&run) + note);
    }
    if !tasks.is_empty() {
        let counts = tasks.iter().map(|(state, count)| format!("{count} {state}"));
        let counts: Vec<String> = counts.collect();
        parts.push(format!("{}  {}\n", styled(BOLD, "Tasks"), counts.join(", ")));
    }
    if project.session()?.is_active() {
        let told = show_session::text(project.session()?);
        parts.push(format!("{}  {told}", styled(BOLD, "Session")));
    }
    if memory.current().is_some() {
        parts.push(format!("{}  {}", styled(BOLD, "Memory"), show_memory::text(&memory)));
    }
    parts.extend((!inbox.is_empty()).then(|| inbox_text(&inbox)));
    if !notices.is_empty() {
        parts.push(waiting_text(&notices));
    }
    if let Some(owner) = engine {
        parts.push(format!("{}  {owner}\n", styled(BOLD, "Engine")));
    }
    let agents = agents_text(&project)?;
    if !agents.is_empty() {
        parts.push(format!("{}\n{agents}", styled(BOLD, "Agents")));
    }
    if parts.is_empty() {
        context.out.note("nothing is going on here; `waypost develop start FEATURE` or `waypost run next` begins something");
    }
    context.out.raw(&parts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Hands on where everything stands, as data.
pub(crate) fn tell<T>(
    project: &mut Project,
    told: impl FnOnce(&StatusReport<'_>) -> T,
) -> Result<T, CliError> {
    let inbox = entries::waiting(project)?;
    let engine = project.engine_holder()?;
    let notices = notify::waiting(project)?;
    let tasks = served::counts(project)?;
    let memory = project.memory()?.clone();
    let is_session = project.session()?.facts().is_some();
    let session = if is_session { Some(SessionReport::of(project)?) } else { None };
    let feature = project.workflow()?.feature.clone();
    let (is_left, run) = (attendance::has_lost_engine(project)?, summary::of_run(project)?);
    let (loose_feature, loose_run) = (adopt::loose_workflow(project)?, adopt::loose_run(project)?);
    let checks = agent::checks(project.setup())?;
    let checks = checks.iter().map(|(name, it)| (name.as_str(), check_data(project, it)));
    Ok(told(&StatusReport {
        root: project.root(),
        workflow: feature.as_ref().map(show_workflow::data),
        run: run.as_ref().map(RunReport::from),
        not_adopted: NotAdopted {
            workflow: loose_feature.as_ref().map(show_workflow::data),
            run: loose_run.as_ref().map(RunReport::from),
        },
        tasks,
        inbox: inbox.iter().map(EntryReport::from).collect(),
        engine: engine.as_deref(),
        engine_gone: is_left,
        session,
        memory: memory.is_open().then(|| MemoryReport::from(&memory)),
        notices: waiting_json(&notices),
        gates_of_agents: checks.collect(),
        wall: wall::known().as_str(),
    }))
}

/// How far the wall around agents reaches, and whether that is enough.
fn wall_text(project: &Project) -> String {
    let (level, require) = (wall::known(), project.configuration().values.wall.require);
    let shortfall = wall::shortfall(level, require).map(|text| format!("; {text}"));
    format!("{}  level {level}{}\n", styled(BOLD, "Wall"), shortfall.unwrap_or_default())
}

/// Agents whose gate was not alive when it was checked, or was checked under other conditions.
fn agents_text(project: &Project) -> Result<String, CliError> {
    let mut text = String::new();
    for (name, check) in agent::checks(project.setup())? {
        let told = match (&check.health, check.is_current(project)) {
            (GateHealth::Silent | GateHealth::Ran, _) => {
                format!("the gate of {name}: {}", health(&check.health))
            }
            (GateHealth::Alive, false) => {
                format!("the gate of {name} was checked with other settings or another version")
            }
            _ => continue,
        };
        let _infallible = writeln!(text, "  {told}  (`waypost agents check {name}`)");
    }
    Ok(text)
}

/// How many questions wait, and the first of them.
fn inbox_text(inbox: &[WaitingEntry]) -> String {
    let mut text = format!("{}  {} waiting for you\n", styled(BOLD, "Inbox"), inbox.len());
    for waiting in inbox.iter().take(ENTRIES_SHOWN) {
        text.push_str(&format_entry(&waiting.entry));
    }
    text
}

fn format_entry(entry: &Entry) -> String {
    format!("  {:5} {}\n", entry.id.as_str(), entry.question.title)
}
