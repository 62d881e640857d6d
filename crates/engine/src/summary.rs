//! The run in brief, kept beside the journal so that showing it does not load the run.
//!
//! Loading 10,000 tasks costs ten times as much as all else that `status` does. What is kept is a
//! cache that says for which entry of which journal it holds; whatever else is found in its place
//! is as good as nothing. No rule reads it: it is for showing only.

use crate::{
    agent::{self, Meter, heard_in},
    error::EngineError,
    execute::log_path,
    ledger::{StateKey, run_stream},
    project::Project,
};
use serde::{Deserialize, Serialize};
use waypost_model::{
    layout,
    run::{Run, RunSummary, TaskStatus, TaskSummary, Usage},
};
use waypost_store::{StoreError, file, journal::View};

/// The shape of what is kept; raised whenever the same words come to mean something else.
const FORMAT: u32 = 2;

/// Writing more than this after each commit would cost more than a later look saves.
const SIZE_MAX: u64 = 512 << 10;

/// With more ready tasks than this only the summary is kept.
const READY_MAX: usize = 64;

/// A run in brief, and the entry after which it holds.
#[derive(Debug, Serialize, Deserialize)]
struct Brief {
    format: u32,
    key: StateKey,
    /// None if no run has begun.
    summary: Option<RunSummary>,
    /// None if there are too many.
    ready: Option<Vec<TaskSummary>>,
}

/// How the run of this repository stands; none if none has begun.
pub fn of_run(project: &mut Project) -> Result<Option<RunSummary>, EngineError> {
    let mut summary = match load(project)? {
        Some(brief) => brief.summary,
        None => {
            keep(project);
            project.run()?.active().map(|active| active.summary())
        }
    };
    if let Some(summary) = &mut summary {
        let working = summary.in_progress.iter().filter_map(|task| live_usage(project, task));
        let working: Vec<Usage> = working.collect();
        working.iter().for_each(|usage| summary.usage.add(usage));
    }
    Ok(summary)
}

/// What the agent at work on a task has used up so far. From its stream, so it is the same
/// whether the engine lives or not.
fn live_usage(project: &Project, task: &TaskSummary) -> Option<Usage> {
    let trail = task.trail.as_ref()?;
    let conversation = trail.conversation.as_ref().filter(|_| trail.accounted < task.attempts)?;
    let agent = agent::named(&project.setup, &conversation.agent).ok()?;
    let heard =
        heard_in(&log_path(&project.setup.place.state, &task.id, task.attempts), agent.adapter);
    let mut meter = Meter::new(conversation.counted);
    meter.read(&heard.tally, &agent);
    Some(meter.spent())
}

/// The tasks of the run that may be started now, the most urgent first.
pub fn ready_tasks(project: &mut Project) -> Result<Vec<TaskSummary>, EngineError> {
    match load(project)?.and_then(|brief| brief.ready) {
        Some(ready) => Ok(ready),
        None => Ok(project.run()?.active().map(|it| it.ready_summaries()).unwrap_or_default()),
    }
}

/// What is kept, if it holds for the present state.
fn load(project: &mut Project) -> Result<Option<Brief>, EngineError> {
    let path = project.setup.place.state.join(layout::state::RUN_SUMMARY);
    let Some(journal) = &mut project.journal else { return Ok(None) };
    // A file that cannot be read is as good as none.
    let Ok(Some(bytes)) = file::read_bounded(&path, SIZE_MAX) else { return Ok(None) };
    let Ok(brief) = serde_json::from_slice::<Brief>(&bytes) else { return Ok(None) };
    let id = journal.id().to_owned();
    let present = key(&journal.view()?, &id)?;
    let holds = |brief: &Brief| brief.format == FORMAT && Some(&brief.key) == present.as_ref();
    Ok(Some(brief).filter(holds))
}

/// Keeps the present state; whatever stands against it only costs time later.
pub(crate) fn keep(project: &mut Project) {
    let path = project.setup.place.state.join(layout::state::RUN_SUMMARY);
    if let Ok(Some(brief)) = brief(project) {
        let bytes = serde_json::to_vec(&brief).expect("a summary is plain data");
        if bytes.len() as u64 <= SIZE_MAX {
            drop(file::replace_cache(&path, &bytes, file::PRIVATE));
        }
    }
}

fn brief(project: &mut Project) -> Result<Option<Brief>, StoreError> {
    let Project { journal: Some(journal), ledger, .. } = project else { return Ok(None) };
    let id = journal.id().to_owned();
    let view = journal.view()?;
    let Some(key) = key(&view, &id)? else { return Ok(None) };
    let active = ledger.get::<Run>(&view, &run_stream())?.state.active();
    let ready = active.filter(|active| active.count(TaskStatus::Ready) <= READY_MAX);
    Ok(Some(Brief {
        format: FORMAT,
        key,
        summary: active.map(|active| active.summary()),
        ready: ready.map(|active| active.ready_summaries()),
    }))
}

/// The key of the present state; none before the first entry.
fn key(view: &View<'_>, journal: &str) -> Result<Option<StateKey>, StoreError> {
    let stream = run_stream();
    StateKey::at(view, journal, (&stream, view.head(&stream)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{home::Home, ledger::MachineCommand};
    use std::collections::BTreeMap;
    use waypost_model::{
        actor::Actor,
        run::{Command, Depends, Plan, PlannedTask, Priority, Settings},
    };

    /// A project with a run of two tasks, and nothing of the user's in it.
    fn begun() -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
        project.setup.home = Home { config: None, state: None };
        let task = |id: &str| PlannedTask {
            id: id.parse().unwrap(),
            title: id.to_lowercase(),
            phase: 1,
            depends: Depends::On(Vec::new()),
            ticked: false,
            priority: Priority::default(),
            line: 1,
            details: None,
        };
        let tasks = vec![task("T1"), task("T2")];
        let plan = Plan::new("demo".into(), BTreeMap::new(), tasks).unwrap();
        project.run_command(Command::Begin { plan, settings: Settings::default() }).unwrap();
        (folder, project)
    }

    fn start(id: &str) -> MachineCommand {
        MachineCommand::run(Command::Start { id: id.parse().unwrap() })
    }

    /// What is shown is what the journal says, and what is kept now says the same.
    fn check(project: &mut Project, in_progress: usize, ready: usize) {
        let truth = project.run().unwrap().active().map(|active| active.summary());
        let shown = of_run(project).unwrap();
        assert_eq!(shown, truth);
        assert_eq!(shown.unwrap().in_progress.len(), in_progress);
        assert_eq!(ready_tasks(project).unwrap().len(), ready);
        assert_eq!(load(project).unwrap().unwrap().summary, truth);
    }

    #[test]
    fn what_is_kept_follows_every_command() {
        let (_folder, mut project) = begun();
        check(&mut project, 0, 2);
        project.command(&[start("T1")]).unwrap();
        check(&mut project, 1, 1);
    }

    #[test]
    fn what_is_kept_for_another_entry_is_not_shown() {
        let (_folder, mut project) = begun();
        project.commit(&[start("T1")]).unwrap();
        assert!(load(&mut project).unwrap().is_none());
        check(&mut project, 1, 1);
    }

    #[test]
    fn whatever_else_stands_in_its_place_is_as_good_as_nothing() {
        let (_folder, mut project) = begun();
        let path = project.setup.place.state.join(layout::state::RUN_SUMMARY);
        for text in ["", "{}", "[1", "null"] {
            file::replace(&path, text.as_bytes(), file::PRIVATE).unwrap();
            assert!(load(&mut project).unwrap().is_none(), "{text}");
            check(&mut project, 0, 2);
        }
    }
}
