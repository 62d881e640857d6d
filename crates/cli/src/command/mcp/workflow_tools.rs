//! Tools for the workflow: its phases, gates and checkpoints.

use super::visit::{ToolAnswer, Visit, object, read};
use crate::{
    command::{
        develop::{self, parse_gate},
        status as status_command,
    },
    data::{Enveloped, WorkflowReport},
    error::CliError,
    show::workflow as show_workflow,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use waypost_engine::{adopt, gate, own_conversation};
use waypost_model::{
    id::{BadId, CheckpointId},
    workflow::{CheckpointStep, Command},
};

/// What is to be built.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartInput {
    /// The feature in a few words.
    feature: String,
}

/// What the next phase needs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AdvanceInput {
    /// Out of DESIGN: the checkpoints to be built, as in cp-1.
    checkpoints: Vec<String>,
    /// Out of DESIGN: a contract with the checkpoints, YAML, below the project's folder.
    contract: Option<String>,
}

/// Which gate is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GateName {
    /// review_clean_pass, architect_verified or re_review_clean.
    gate: String,
}

/// Which gate is to be passed, and with what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GateInput {
    /// review_clean_pass, architect_verified or re_review_clean.
    gate: String,
    /// A report with a line `Blocking: N`, or JSON {"blocking": N}, below the project's folder.
    report: Option<String>,
}

/// Which checkpoint is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckpointInput {
    /// Its id, as in cp-1.
    id: String,
}

/// How a try at a checkpoint failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckpointFailure {
    /// Its id, as in cp-1.
    id: String,
    /// transient, validation, dependency, resource, structural or critical; transient unless said.
    class: Option<String>,
}

pub(super) fn status(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: super::tools::Nothing = read(arguments)?;
    status_command::tell(&mut visit.project, |report| object(&Enveloped::new(report)))?
}

pub(super) fn start(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let StartInput { feature } = read(arguments)?;
    let max_iterations = visit.project.configuration().values.workflow.max_iterations;
    visit.project.develop(Command::Start { feature, max_iterations })?;
    report(visit)
}

pub(super) fn advance(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: AdvanceInput = read(arguments)?;
    let contract = match &input.contract {
        Some(file) => {
            let path = visit.file(file)?;
            Some(adopt::read_contract(&mut visit.project, &path)?)
        }
        None => None,
    };
    let checkpoints = input.checkpoints.iter().map(|id| parse(id)).collect::<Result<_, _>>()?;
    let command = Command::Advance { checkpoints, contract, strategy: None };
    gate::advance(&mut visit.project, command)?;
    report(visit)
}

pub(super) fn back(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: super::tools::Nothing = read(arguments)?;
    visit.project.develop(Command::Back)?;
    report(visit)
}

pub(super) fn pass_gate(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: GateInput = read(arguments)?;
    let gate = parse_gate(&input.gate)?;
    let path = input.report.as_deref().map(|file| visit.file(file)).transpose()?;
    let mut echo = visit.echo();
    develop::pass_gate(&mut visit.project, gate, (path.as_deref(), false), &mut echo)?;
    report(visit)
}

pub(super) fn reset_gate(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: GateName = read(arguments)?;
    visit.project.develop(Command::ResetGate { gate: parse_gate(&input.gate)? })?;
    report(visit)
}

pub(super) fn start_checkpoint(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: CheckpointInput = read(arguments)?;
    checkpoint(visit, &input.id, CheckpointStep::Start { conversation: own_conversation() })
}

pub(super) fn pass_checkpoint(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: CheckpointInput = read(arguments)?;
    let mut echo = visit.echo();
    develop::pass_checkpoint(&mut visit.project, &parse(&input.id)?, &mut echo)?;
    report(visit)
}

pub(super) fn fail_checkpoint(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: CheckpointFailure = read(arguments)?;
    let class = develop::parse_class(input.class.as_deref().unwrap_or("transient"))?;
    checkpoint(visit, &input.id, CheckpointStep::Fail { class })
}

pub(super) fn escalate_checkpoint(
    visit: &mut Visit<'_>,
    arguments: Map<String, Value>,
) -> ToolAnswer {
    let input: CheckpointInput = read(arguments)?;
    checkpoint(visit, &input.id, CheckpointStep::Escalate)
}

fn checkpoint(visit: &mut Visit<'_>, id: &str, step: CheckpointStep) -> ToolAnswer {
    visit.project.develop(Command::Checkpoint { id: parse(id)?, step })?;
    report(visit)
}

/// How the workflow stands now.
fn report(visit: &mut Visit<'_>) -> ToolAnswer {
    let feature = visit.project.workflow()?.feature.as_ref();
    object(&Enveloped::new(&feature.map_or_else(WorkflowReport::none, show_workflow::data)))
}

fn parse(id: &str) -> Result<CheckpointId, CliError> {
    id.parse().map_err(|error: BadId| CliError::bad_input(error.to_string()))
}
