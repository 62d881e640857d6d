//! `waypost status`: where everything stands.

use super::{
    agents::{check_data, health},
    notify::{waiting_json, waiting_text},
    open,
};
use crate::data::{EntryReport, NotAdopted, RunReport, StatusReport};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, styled},
    show::{
        run::{self as show_run, Extent},
        workflow as show_workflow,
    },
};
use std::{fmt::Write as _, process::ExitCode};
use waypost_engine::{GateHealth, Project, adopt, agent, attendance, notify, summary};

/// How many inbox entries are shown in full.
const ENTRIES_SHOWN: usize = 5;

pub(crate) fn run(context: &Context) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let inbox = project.inbox()?;
    let engine = project.engine_holder()?;
    let notices = notify::waiting(&mut project)?;
    if context.out.json {
        let feature = project.workflow()?.feature.clone();
        let (is_left, run) =
            (attendance::has_lost_engine(&mut project)?, summary::of_run(&mut project)?);
        let (loose_feature, loose_run) =
            (adopt::loose_workflow(&mut project)?, adopt::loose_run(&mut project)?);
        let checks = agent::checks(project.setup())?;
        let checks = checks.iter().map(|(name, it)| (name.as_str(), check_data(&project, it)));
        context.out.json(&StatusReport {
            root: project.root(),
            workflow: feature.as_ref().map(show_workflow::data),
            run: run.as_ref().map(RunReport::from),
            not_adopted: NotAdopted {
                workflow: loose_feature.as_ref().map(show_workflow::data),
                run: loose_run.as_ref().map(RunReport::from),
            },
            inbox: inbox.open().iter().map(EntryReport::from).collect(),
            engine: engine.as_deref(),
            engine_gone: is_left,
            notices: waiting_json(&notices),
            gates_of_agents: checks.collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut parts = Vec::new();
    if let Some(feature) = &project.workflow()?.feature {
        parts.push(show_workflow::text(feature));
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
    if !inbox.open().is_empty() {
        let mut text =
            format!("{}  {} waiting for you\n", styled(BOLD, "Inbox"), inbox.open().len());
        for entry in inbox.open().iter().take(ENTRIES_SHOWN) {
            text.push_str(&format_entry(entry));
        }
        parts.push(text);
    }
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

fn format_entry(entry: &waypost_model::inbox::Entry) -> String {
    format!("  {:5} {}\n", entry.id.as_str(), entry.question.title)
}
