//! Workspaces of tasks without a task: what is left where a journal was lost, or went back to a backup.

use super::{Doctor, Finding, Repair, WantedWorkspaces};
use crate::{
    error::EngineError,
    init,
    project::Project,
    serving::{LostWorkspace, lost_workspaces, take_up_workspaces},
};
use std::fs;
use waypost_model::{layout::data, next::NextStep};

const SUBJECT: &str = "workspaces";

/// How many are named.
const NAMED_MAX: usize = 5;

pub(super) fn examine(doctor: &Doctor<'_>) -> Option<Finding> {
    let opened = Project::open_unreconciled(doctor.start, doctor.actor.clone());
    let mut project = opened.ok().filter(Project::has_journal)?;
    let lost = match lost_workspaces(&mut project, doctor.data.as_deref()) {
        Ok(lost) if lost.is_empty() => return None,
        Ok(lost) => lost,
        Err(error) => return Some(Finding::bad(SUBJECT, error.to_string())),
    };
    let text = format!("the journal knows no task for {}", named(&lost));
    // Which of them are worth going on with is a person's to say.
    let is_wanted = doctor.wanted != WantedWorkspaces::None;
    Some(Finding {
        repair: is_wanted.then_some(Repair::TakeUpWorkspaces),
        ..Finding::note(SUBJECT, text)
            .remedy("a person can take them up as drafts, which go on behind what is finished")
            .next(NextStep::TakeUpWorkspaces)
            .next(NextStep::TakeUpAllWorkspaces)
    })
}

/// Whether there are workspaces of tasks, in a project without a journal.
pub(super) fn are_there(doctor: &Doctor<'_>) -> bool {
    let own = || doctor.place.project_root().join(data::FOLDER);
    let folder = doctor.data.clone().unwrap_or_else(own).join(data::WORKSPACES);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// Makes drafts of those that are wanted, and says so.
pub(super) fn take_up(doctor: &Doctor<'_>) -> Result<String, EngineError> {
    let mut project = Project::open_unreconciled(doctor.start, doctor.actor.clone())?;
    let taken = take_up_workspaces(&mut project, doctor.data.as_deref(), &doctor.wanted)?;
    Ok(made(&taken))
}

/// Begins a journal, and with it what those workspaces tell that are wanted. By a person only: everything was closed until now.
pub(super) fn begin_again(doctor: &Doctor<'_>) -> Result<String, EngineError> {
    let mut project = Project::find(doctor.start, doctor.actor.clone())?;
    project.ask_pin_by(doctor.ask_pin);
    init::begin_anew(&mut project)?;
    let taken = take_up_workspaces(&mut project, doctor.data.as_deref(), &doctor.wanted)?;
    Ok(match taken.is_empty() {
        true => "a new journal has begun".to_owned(),
        false => format!("a new journal has begun; {}", made(&taken)),
    })
}

fn made(taken: &[LostWorkspace]) -> String {
    format!("made drafts of {}; say what they are about, then submit them", named(taken))
}

fn named(all: &[LostWorkspace]) -> String {
    let mut named: Vec<String> = all.iter().take(NAMED_MAX).map(LostWorkspace::told).collect();
    let more = all.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}
