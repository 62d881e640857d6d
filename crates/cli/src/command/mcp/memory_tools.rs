//! Tools around what is known: search and documents.

use super::visit::{ToolAnswer, Visit, object, read};
use crate::{
    command::{
        context::BUDGET_USUAL,
        memory::search::{read_since, refuse_unknown_kinds},
        run::parse_id,
        schema::find_kind,
    },
    data::{ContextReport, Enveloped, FileValidity, FoundLine, NoteReport},
    error::CliError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;
use waypost_engine::{
    context::{ContextRequest, context_for},
    memory::{self, Freshness, MemoryDocument},
    search::{self as searching, SearchRequest},
    validate_file,
};
use waypost_model::{
    json::{BadPath, Json, JsonPath},
    memory::NoteKind,
};

/// How much is found unless said otherwise, and at most.
const FOUND: usize = 10;
const FOUND_MAX: usize = 50;

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// Words, in any language; parts of identifiers count.
    text: String,
    /// Only these kinds: decision, lesson, note, history, context, contract, knowledge, transition,
    /// transcript.
    #[serde(default)]
    kinds: Vec<String>,
    /// Only what is not older: a day, a time, or an age such as 7d.
    since: Option<String>,
    /// Only what names this file, or one below this folder.
    file: Option<String>,
    /// How many at most; 10 unless said, never more than 50.
    limit: Option<usize>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundEntries<'a> {
    found: Vec<FoundLine<'a>>,
}

/// Where a value is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetInput {
    /// The agent whose memory it is in; none: the context that all share.
    agent: Option<String>,
    /// As in shared_data.topic or /shared_data/topic; none: the whole document.
    path: Option<String>,
}

/// A value and where it goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetInput {
    /// The agent whose memory it goes into; none: the context that all share.
    agent: Option<String>,
    /// As in shared_data.topic or /shared_data/topic.
    path: String,
    /// Any JSON.
    value: Value,
}

/// Something worth keeping.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteInput {
    /// What was explored, decided or learnt, and why.
    text: String,
    /// exploration, decision or lesson.
    kind: String,
    /// The files that it is about; it fades when they change.
    #[serde(default)]
    files: Vec<String>,
}

/// A value of the memory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KeptValue {
    path: String,
    value: Value,
}

/// For whom a context is put together.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextInput {
    /// What you do: worker, reviewer, architect, or the name of your memory.
    role: String,
    /// How many tokens at most, roughly; 2000 unless said.
    budget: Option<usize>,
    /// The task that you work on, as in T1.3.
    task: Option<String>,
    /// The files that you work on.
    #[serde(default)]
    files: Vec<String>,
}

/// Which file is checked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ValidateInput {
    /// The file, from the project's folder.
    file: String,
    /// What it is, where its path does not tell.
    kind: Option<String>,
}

pub(super) fn search(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: SearchInput = read(arguments)?;
    refuse_unknown_kinds(&input.kinds)?;
    let since = input.since.as_deref().map(|text| read_since(&visit.project, text)).transpose()?;
    let request = SearchRequest {
        text: input.text,
        kinds: input.kinds,
        since,
        file: input.file,
        limit: input.limit.unwrap_or(FOUND).min(FOUND_MAX),
    };
    let hits = searching::search(&mut visit.project, &request)?;
    object(&FoundEntries { found: hits.iter().map(FoundLine::from).collect() })
}

pub(super) fn get(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: GetInput = read(arguments)?;
    let path = json_path(input.path.as_deref().unwrap_or_default())?;
    let found = memory::read(&mut visit.project, &document(input.agent.as_deref())?, &path)?;
    let value = serde_json::to_value(&found).unwrap_or_default();
    object(&KeptValue { path: path.to_string(), value })
}

pub(super) fn set(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: SetInput = read(arguments)?;
    let (path, document) = (json_path(&input.path)?, document(input.agent.as_deref())?);
    let value: Json = serde_json::from_value(input.value.clone())
        .map_err(|error| CliError::bad_input(format!("the value cannot be kept: {error}")))?;
    memory::set(&mut visit.project, &document, &path, &value)?;
    object(&KeptValue { path: path.to_string(), value: input.value })
}

pub(super) fn note(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: NoteInput = read(arguments)?;
    let kinds = [NoteKind::Exploration, NoteKind::Decision, NoteKind::Lesson];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == input.kind).ok_or_else(|| {
        CliError::bad_input(format!("`{}` is no kind of note", input.kind))
            .hint("one of exploration, decision, lesson")
    })?;
    for file in &input.files {
        visit.file(file)?;
    }
    let note = memory::note(&mut visit.project, kind, &input.text, &input.files)?;
    object(&Enveloped::new(&NoteReport::of(&note, Freshness::Fresh)))
}

fn document(agent: Option<&str>) -> Result<MemoryDocument, CliError> {
    match agent {
        Some(name) => Ok(MemoryDocument::of_agent(name)?),
        None => Ok(MemoryDocument::Context),
    }
}

fn json_path(typed: &str) -> Result<JsonPath, CliError> {
    if typed.is_empty() {
        return Ok(JsonPath::default());
    }
    typed.parse().map_err(|error: BadPath| {
        CliError::bad_input(error.to_string())
            .hint("as in shared_data.topic, or /shared_data/topic")
    })
}

pub(super) fn context(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ContextInput = read(arguments)?;
    let budget = input.budget.unwrap_or(BUDGET_USUAL);
    let request = ContextRequest {
        role: input.role,
        budget,
        task: input.task.as_deref().map(parse_id).transpose()?,
        files: input.files,
        knows_state: false,
        about: Vec::new(),
        knows_memory: false,
    };
    let told = context_for(&mut visit.project, &request)?;
    object(&Enveloped::new(&ContextReport::new(&request.role, budget, &told)))
}

pub(super) fn validate(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ValidateInput = read(arguments)?;
    let kind = input.kind.as_deref().map(find_kind).transpose()?;
    let validity = validate_file(&visit.file(&input.file)?, kind)?;
    object(&Enveloped::new(&FileValidity {
        file: Path::new(&input.file),
        kind: validity.kind,
        valid: validity.is_valid(),
        findings: validity.file.diagnostics,
        prompt: None,
    }))
}
