//! Tools around sessions: the whole loop can be driven with them.

use super::{
    tools::Nothing,
    visit::{ToolAnswer, Visit, object, read},
};
use crate::{
    command::session::{project_hash, subtask_id, verdict},
    data::{
        Enveloped, SessionFoundLine, SessionGatesReport, SessionNextReport, SessionPlanLine,
        SessionReport,
    },
    error::CliError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io;
use waypost_engine::sessions::{self, FoundFiles, GivenVerdicts};

/// What is requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestInput {
    /// In the words of the user.
    text: String,
    /// Whether the request that is active is stopped.
    #[serde(default)]
    stop_current: bool,
}

/// What became of the plan's assumptions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanInput {
    /// Of those that name no path, as in 2=held: held, wrong or unknown.
    #[serde(default)]
    assumptions: Vec<String>,
}

/// Which gates are looked at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GatesInput {
    /// As in T1-S2; none: the subtask that is worked on.
    subtask: Option<String>,
    /// A file that confirms what prose leaves open, from the project's folder.
    report: Option<String>,
}

/// Which session is given this project's place.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RelocateInput {
    /// The present name of its folder, as session_list shows it; none: the only one that can be meant.
    hash: Option<String>,
}

/// Sessions on disk.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundSessions<'a> {
    sessions: Vec<SessionFoundLine<'a>>,
}

fn told(visit: &mut Visit<'_>) -> ToolAnswer {
    object(&Enveloped::new(&SessionReport::of(&mut visit.project)?))
}

pub(super) fn status(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    told(visit)
}

/// A session is begun for it, if none is active.
pub(super) fn request(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: RequestInput = read(arguments)?;
    if !visit.project.session()?.is_active() {
        sessions::start(&mut visit.project, FoundFiles::TakeOver)?;
    }
    sessions::request(&mut visit.project, &input.text, input.stop_current)?;
    told(visit)
}

pub(super) fn resume(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    sessions::resume(&mut visit.project)?;
    told(visit)
}

pub(super) fn stop(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    sessions::stop(&mut visit.project)?;
    told(visit)
}

pub(super) fn complete(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    sessions::complete(&mut visit.project)?;
    told(visit)
}

pub(super) fn list(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    let found = sessions::list(&visit.project)?;
    object(&FoundSessions { sessions: found.iter().map(SessionFoundLine::from).collect() })
}

pub(super) fn relocate(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: RelocateInput = read(arguments)?;
    let hash = input.hash.as_deref().map(project_hash).transpose()?;
    sessions::relocate(&mut visit.project, hash.as_ref())?;
    told(visit)
}

pub(super) fn next(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    sessions::bring_on(&mut visit.project, &mut io::sink())?;
    let next = sessions::next(&mut visit.project)?;
    object(&Enveloped::new(&SessionNextReport::of(&next)))
}

pub(super) fn plan(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: PlanInput = read(arguments)?;
    let given = input.assumptions.iter().map(|typed| verdict(typed));
    let given = given.collect::<Result<GivenVerdicts, CliError>>()?;
    let outcome = sessions::plan(&mut visit.project, &given)?;
    object(&Enveloped::new(&SessionPlanLine::from(&outcome)))
}

pub(super) fn check(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: GatesInput = read(arguments)?;
    let subtask = input.subtask.as_deref().map(subtask_id).transpose()?;
    let report = input.report.as_deref().map(|file| visit.file(file)).transpose()?;
    let project = &mut visit.project;
    let checked = sessions::check(project, subtask.as_ref(), report.as_deref(), &mut io::sink())?;
    sessions::bring_on(project, &mut io::sink())?;
    object(&Enveloped::new(&SessionGatesReport::from(&checked)))
}
