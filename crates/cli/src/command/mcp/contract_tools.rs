//! Tools around contracts and knowledge.

use super::{
    tools::Nothing,
    visit::{ToolAnswer, Visit, object, read},
};
use crate::{
    command::schema::find_kind,
    data::{
        ContractChangeLine, ContractDiffReport, ContractLine, ContractPut, ContractText, Enveloped,
        KnowledgeNoted, KnowledgeReport, LearnedLine,
    },
    error::CliError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;
use waypost_engine::{
    contracts::{self, ContractFile, GivenPlace},
    knowledge::{self, NewDecision, NewPitfall},
    validate_file,
};
use waypost_model::{
    code::Code,
    document::{RequestId, SessionTaskId, SubtaskId},
    json::{BadPath, Json, JsonPath},
    next::NextStep,
};

/// Of which request, task and subtask a contract is, and what it says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractPutInput {
    /// explored, task-breakdown, design-brief, design-contract, test-contract or test-result.
    kind: String,
    /// The whole contract, as YAML.
    text: String,
    /// As in R1; none: as the contract says itself.
    request: Option<String>,
    /// As in T1.
    task: Option<String>,
    /// As in T1-S2.
    subtask: Option<String>,
}

/// Which contract is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractGetInput {
    /// explored, task-breakdown, design-brief, design-contract, test-contract or test-result.
    kind: String,
    /// As in R1.
    request: String,
    /// As in T1.
    task: Option<String>,
    /// As in T1-S2.
    subtask: Option<String>,
}

/// Which versions of a contract are compared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractDiffInput {
    /// explored, task-breakdown, design-brief, design-contract, test-contract or test-result.
    kind: String,
    /// As in R1.
    request: String,
    /// As in T1.
    task: Option<String>,
    /// As in T1-S2.
    subtask: Option<String>,
    /// An earlier version by its number; none: the one before.
    from: Option<usize>,
    /// A later one; none: the newest.
    to: Option<usize>,
}

/// What is not known any more.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KnowledgeRemoveInput {
    /// A decision or a pitfall by its id, as in D1 or P2; a pattern by its name, as in naming.methods.
    entry: String,
}

/// All contracts of the session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ContractList<'a> {
    contracts: Vec<ContractLine<'a>>,
}

/// Something to be known about the project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KnowledgeAddInput {
    /// pattern, decision or pitfall.
    kind: String,
    /// The pattern's name as in naming.methods, or the decision's topic; a pitfall has none.
    topic: Option<String>,
    /// How it is done, what was decided, or what to look out for.
    text: String,
    /// Why.
    reason: Option<String>,
    /// The files that it stands on: it is said when they have changed since.
    #[serde(default)]
    files: Vec<String>,
}

/// What was learned.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LearnedList<'a> {
    learned: Vec<LearnedLine<'a>>,
}

fn parsed<T: std::str::FromStr>(typed: Option<&String>) -> Result<Option<T>, CliError>
where
    T::Err: std::fmt::Display,
{
    let parse =
        |typed: &String| typed.parse().map_err(|bad: T::Err| CliError::bad_input(bad.to_string()));
    typed.map(parse).transpose()
}

fn given(
    request: Option<&String>,
    task: Option<&String>,
    subtask: Option<&String>,
) -> Result<GivenPlace, CliError> {
    Ok(GivenPlace {
        request: parsed::<RequestId>(request)?,
        task: parsed::<SessionTaskId>(task)?,
        subtask: parsed::<SubtaskId>(subtask)?,
    })
}

pub(super) fn put(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ContractPutInput = read(arguments)?;
    let kind = find_kind(&input.kind)?;
    let ids = given(input.request.as_ref(), input.task.as_ref(), input.subtask.as_ref())?;
    let bytes = input.text.as_bytes();
    let place = contracts::place_of(kind, bytes, &ids, Path::new("the contract"))?;
    let origin = place.path(kind);
    let put = contracts::put(&mut visit.project, kind, &place, bytes, Path::new(&origin))?;
    object(&Enveloped::new(&ContractPut {
        contract: ContractLine::of(&put.file, true),
        changed: put.is_changed,
        hash: &put.hash,
        findings: &put.warnings,
    }))
}

pub(super) fn get(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ContractGetInput = read(arguments)?;
    let ids = given(Some(&input.request), input.task.as_ref(), input.subtask.as_ref())?;
    let file = found(visit, &input.kind, &ids)?;
    let bytes = contracts::text(&visit.project, file.kind, &file.place)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let valid = validate_file(&file.path, Some(file.kind))?.is_valid();
    let document = contracts::value(file.kind, &bytes);
    let contract = ContractLine::of(&file, valid);
    object(&Enveloped::new(&ContractText { contract, text: &text, document }))
}

pub(super) fn diff(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ContractDiffInput = read(arguments)?;
    let ids = given(Some(&input.request), input.task.as_ref(), input.subtask.as_ref())?;
    let file = found(visit, &input.kind, &ids)?;
    let range = (input.from, input.to);
    let diff = contracts::diff(&visit.project, file.kind, &file.place, range)?;
    let valid = validate_file(&file.path, Some(file.kind))?.is_valid();
    let changes = diff.changes.iter().map(ContractChangeLine::from).collect();
    let (contract, from, to) = (ContractLine::of(&file, valid), diff.from, diff.to);
    object(&Enveloped::new(&ContractDiffReport { contract, from, to, changes }))
}

/// A contract that is there.
fn found(visit: &Visit<'_>, kind: &str, ids: &GivenPlace) -> Result<ContractFile, CliError> {
    let kind = find_kind(kind)?;
    let place = contracts::place_of(kind, b"", ids, Path::new(""))?;
    let found = contracts::list(&visit.project)?;
    found.into_iter().find(|it| it.kind == kind && it.place == place).ok_or_else(|| {
        let message = format!("there is no {}", place.path(kind));
        CliError::new(Code::ContractUnknown, message).next(NextStep::ListContracts)
    })
}

pub(super) fn remove(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: KnowledgeRemoveInput = read(arguments)?;
    knowledge::remove(&mut visit.project, &input.entry)?;
    let known = knowledge::show(&mut visit.project)?;
    object(&Enveloped::new(&KnowledgeReport::from(&known)))
}

pub(super) fn list(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    let found = contracts::list(&visit.project)?;
    let mut lines = Vec::new();
    for file in &found {
        lines.push(ContractLine::of(file, validate_file(&file.path, Some(file.kind))?.is_valid()));
    }
    object(&ContractList { contracts: lines })
}

pub(super) fn known(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    let known = knowledge::show(&mut visit.project)?;
    object(&Enveloped::new(&KnowledgeReport::from(&known)))
}

pub(super) fn add(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: KnowledgeAddInput = read(arguments)?;
    for file in &input.files {
        visit.file(file)?;
    }
    let topic = |what: &str| {
        let topic = input.topic.clone().filter(|it| !it.trim().is_empty());
        topic.ok_or_else(|| CliError::bad_input(format!("a {what} needs a topic")))
    };
    let project = &mut visit.project;
    let (text, reason, files) = (input.text.clone(), input.reason.clone(), input.files.clone());
    let noted = match input.kind.as_str() {
        "pattern" => {
            let path: JsonPath = topic("pattern")?
                .parse()
                .map_err(|bad: BadPath| CliError::bad_input(bad.to_string()))?;
            knowledge::set_pattern(project, &path, &Json::from(text.as_str()), &files)?
        }
        "decision" => {
            let (topic, rationale) = (topic("decision")?, reason);
            let new = NewDecision { topic, decision: text, rationale, refs: files };
            knowledge::decide(project, &new)?
        }
        "pitfall" => {
            let new = NewPitfall { description: text, reason, learned_from: None, files };
            knowledge::warn(project, &new)?
        }
        other => {
            return Err(CliError::bad_input(format!("`{other}` is no kind of knowledge"))
                .hint("one of pattern, decision, pitfall"));
        }
    };
    object(&Enveloped::new(&KnowledgeNoted::from(&noted)))
}

pub(super) fn learn(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    let learned = knowledge::learn(&mut visit.project)?;
    object(&LearnedList { learned: learned.iter().map(LearnedLine::from).collect() })
}
