//! Taking up agents after an engine that died: those that still work, and those that have ended
//! since.
//!
//! What an agent has said is read again from its stream, so the engine that takes it over knows as
//! much as the one that died. One whose attempt is not the task's any more is ended before anything of
//! its task is started again.

use super::{
    agents::{Ending, has_changed},
    attempt::{Attempt, TaskWork},
    brief,
    recover::read_name,
    worker::{self, Worker, before_path},
    workplace::Site,
};
use crate::{
    agent::{
        self, Adoption, Agent, Allowance, Bounds, Meter, ProcessEnd, Remains, Supervised, Told,
        agents_folder, bury, end_child, end_unseen, prove_unseen, stream_path,
    },
    error::{EngineError, Problem},
    project::Project,
};
use std::{collections::BTreeSet, fs, time::Duration};
use waypost_agent::Adapter;
use waypost_model::{
    id::TaskId,
    run::{TaskStatus, Usage},
    time::Time,
};
use waypost_proc::{Found, Keeper, find};

/// What was found of agents.
#[derive(Default)]
pub(super) struct Adopted {
    pub(super) workers: Vec<Worker>,
    pub(super) endings: Vec<Ending>,
    /// What is left of those that have ended.
    pub(super) remains: Vec<Remains>,
    /// The tasks of both.
    pub(super) tasks: BTreeSet<TaskId>,
}

/// An attempt that an agent was working on.
struct AttemptAtWork {
    attempt: Attempt,
    agent: Agent,
    counted: Usage,
    since: Time,
    told: Told,
    bounds: Bounds,
    /// The content of the work tree at the start, where it was looked at.
    before: Option<String>,
}

pub(super) fn adopt_agents(project: &mut Project) -> Result<Adopted, EngineError> {
    let mut adopted = Adopted::default();
    for found in find(&agents_folder(&project.setup.place.state))? {
        match found {
            Found::Alive(keeper) => adopt(project, keeper, &mut adopted)?,
            Found::Foreign { id, .. } => {
                return Err(Problem::other_version(&id, "agent has").into());
            }
            Found::Dead(dead) => {
                let name = dead.reports.first().map(|report| report.id().to_owned());
                let Some(name) = name else {
                    dead.reap(Duration::ZERO)?;
                    dead.remove()?;
                    continue;
                };
                let ended = bury(&dead, &name)?;
                let Some(known) = known(project, &name)? else {
                    dead.remove()?;
                    continue;
                };
                let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
                let has_changed = has_changed(project, known.before.as_deref())?;
                adopted.end(project, known, (end, has_changed))?;
                adopted.remains.push(Remains::Dead(dead));
            }
        }
    }
    Ok(adopted)
}

impl Adopted {
    fn end(
        &mut self,
        project: &mut Project,
        known: AttemptAtWork,
        (end, has_changed): (ProcessEnd, Option<bool>),
    ) -> Result<(), EngineError> {
        let AttemptAtWork { attempt, agent, counted, .. } = known;
        let mut ended = end_unseen(agent, &attempt.log, Meter::new(counted), end);
        prove_unseen(project, &mut ended)?;
        self.tasks.insert(attempt.id.clone());
        self.endings.push(Ending { attempt, ended, has_changed });
        Ok(())
    }
}

fn adopt(project: &mut Project, keeper: Keeper, adopted: &mut Adopted) -> Result<(), EngineError> {
    let now = project.clock.now();
    let reports = keeper.next(Duration::ZERO)?;
    // Nothing was given to it yet: it ends by itself.
    let Some(name) = reports.first().map(|report| report.id().to_owned()) else { return Ok(()) };
    let Some(known) = known(project, &name)? else {
        // Its attempt is over: it has to be gone before its task is begun again.
        end_child(&keeper, &name, reports)?;
        return Ok(keeper.close()?);
    };
    let AttemptAtWork { attempt, agent, counted, since, told, bounds, before } = known;
    let allowance = Allowance { meter: Meter::new(counted), bounds, share: None };
    let known = Adoption { id: name, agent, log: &attempt.log, told, since };
    let agent = Supervised::adopt((keeper, reports), known, allowance, now)?;
    adopted.tasks.insert(attempt.id.clone());
    adopted.workers.push(Worker::new(attempt, agent, before));
    Ok(())
}

/// The attempt behind a child's name, if it is the one that the task is at.
fn known(project: &mut Project, name: &str) -> Result<Option<AttemptAtWork>, EngineError> {
    let Some((id, number, 0)) = read_name(name) else { return Ok(None) };
    let Ok(id) = id.parse::<TaskId>() else { return Ok(None) };
    let place = Site::of(project)?;
    let config = project.configuration().values.run.clone();
    let now = project.clock.now();
    let Some(active) = project.run()?.active() else { return Ok(None) };
    let view = active
        .task(&id)
        .filter(|view| view.status == TaskStatus::InProgress && view.attempts == number);
    let Some(view) = view else { return Ok(None) };
    let TaskWork::Agent(agent) = TaskWork::of(view.planned, active.settings()) else {
        return Ok(None);
    };
    let agent = agent.to_owned();
    let conversation = view.trail.and_then(|trail| trail.conversation.as_ref());
    // The task is another agent's by now.
    if conversation.is_some_and(|it| it.agent != agent) {
        return Ok(None);
    }
    let counted = conversation.map_or_else(Usage::default, |it| it.counted);
    let attempt = Attempt::new(&view, active, &place);
    let bounds = worker::bounds(&attempt, &view, &config);
    let told = Told {
        message: brief::first(active, &view, &attempt, &place.state),
        afresh: brief::afresh(active, &view, &attempt, &place.state),
        folder: attempt.folder.to_string_lossy().into_owned(),
    };
    // How long it has waited for a person is not known; that does not count.
    let since = match view.waits_for_person() {
        true => now,
        false => view.since.unwrap_or_else(|| active.updated_at()),
    };
    let Ok(agent) = agent::named(&project.setup, &agent) else { return Ok(None) };
    let speaks_otherwise =
        |adapter: Adapter| adapter != agent.adapter && stream_path(&attempt.log, adapter).exists();
    if project.setup.programs.adapters().any(speaks_otherwise) {
        return Ok(None);
    }
    let before = fs::read_to_string(before_path(&attempt.log)).ok();
    Ok(Some(AttemptAtWork { attempt, agent, counted, since, told, bounds, before }))
}
