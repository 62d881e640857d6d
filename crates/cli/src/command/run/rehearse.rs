//! `waypost run --rehearse`: the whole graph with simulated agents, in a folder of its own.
//!
//! Nothing of the project is run or changed: commands and verifications of the tasks are left out,
//! and a scripted agent stands in for everybody.

use super::{
    execute::{Course, execute},
    live::Live,
};
use crate::{Context, error::CliError};
use serde_json::json;
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use waypost_engine::{Onward, Project, agent, isolation, make_scratch, require_phase, tasks};
use waypost_model::{
    actor::Actor,
    layout,
    machine::Asked,
    run::{Command, Details, Isolation, Plan, Run, Settings},
};

/// The agent that stands in for all others.
pub(crate) const STAND_IN: &str = "sim";

/// How a rehearsal goes.
pub(super) struct Rehearsal {
    /// How many of a hundred attempts are spoilt.
    pub(super) faults: u8,
    /// Where its tasks are worked on, if that is said.
    pub(super) isolation: Option<Isolation>,
    pub(super) course: Course,
}

pub(super) fn rehearse(
    context: &Context,
    project: &mut Project,
    file: Option<&Path>,
    settings: Settings,
    rehearsal: &Rehearsal,
) -> Result<ExitCode, CliError> {
    let plan = stand_in(tasks::read(project, file)?.plan);
    let begin = Command::Begin { plan: plan.clone(), settings: settings.clone() };
    let asked = Asked { by: project.actor(), now: project.clock().now() };
    if let Some(active) = Run::imagine([&begin], &asked).map_err(CliError::from)?.active() {
        require_phase(active, rehearsal.course.phase)?;
    }
    // What stands in for everybody is free of cost, or nothing is begun.
    agent::named(project.setup(), STAND_IN)?;
    let config = project.configuration().values.run.clone();
    let limits = format!("max_agents = {}\n", config.max_agents);
    let folder = scratch_folder("rehearsal");
    let script = json!({"version": 1, "faults": {"percent": rehearsal.faults}});
    let files = [
        (layout::CONFIGURATION, configuration(&limits)),
        (layout::AGENT_SCRIPT, format!("{script:#}\n")),
    ];
    make_scratch(&folder, &files)?;
    let person = Actor::User("rehearsal".into());
    let mut scratch = Project::find(&folder, person)?;
    let settings = Settings { agent: Some(STAND_IN.into()), ..settings };
    // As real agents would work, where there is git.
    let isolation = rehearsal.isolation.unwrap_or_else(|| match scratch.place().git_common {
        Some(_) => Isolation::Task,
        None => Isolation::None,
    });
    let settings =
        isolation::place_run(&mut scratch, settings, Some(isolation), (None, Onward::GoOn))?;
    scratch.run_command(Command::Begin { plan, settings })?;
    context.out.note(format!(
        "rehearsing in {}; nothing of your project is run or changed",
        folder.display()
    ));
    let live = Live::begin(context, scratch.setup().stop_grace())?;
    execute(scratch, &rehearsal.course, live, context)
}

/// A folder that does not exist yet.
pub(crate) fn scratch_folder(word: &str) -> PathBuf {
    let name = |number: u32| format!("waypost-{word}-{}-{number}", std::process::id());
    let folders = (1..).map(|number| env::temp_dir().join(name(number)));
    folders.into_iter().find(|folder| !folder.exists()).expect("some number is free")
}

/// No person is told of what is only played.
const QUIET: &str = "\
notify_on_start = false
notify_on_task_failed = false
notify_on_phase_done = false
notify_on_needs_you = false
notify_on_default_taken = false
notify_on_all_done = false
notify_on_run_stalled = false
notify_on_run_stopped = false
notify_on_engine_lost = false
";

/// The configuration of a project in which everything is played.
pub(crate) fn configuration(run: &str) -> String {
    format!("[run]\n{run}\n[notify]\n{QUIET}")
}

/// The same graph without anything that would really be run.
fn stand_in(mut plan: Plan) -> Plan {
    plan.source = None;
    for task in Arc::make_mut(&mut plan.tasks).iter_mut() {
        let body = task.details.take().map(|details| details.body).unwrap_or_default();
        let agent = Some(STAND_IN.into());
        task.details = Some(Box::new(Details { body, agent, ..Details::default() }));
    }
    plan
}
