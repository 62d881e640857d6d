//! The type of each kind of document, for callers that know the kind only when the program runs.

use super::flow::{Templates, read};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use waypost_model::config::Config;
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::contract::{
    ContractPlace, DesignBrief, DesignContract, Explored, TaskBreakdown, TestContract, TestResult,
};
use waypost_model::document::knowledge::Knowledge;
use waypost_model::document::memory::{AgentMemory, SharedContext, TaskHistory, TaskState};
use waypost_model::document::server::{Agent, ServerTask, Transition};
use waypost_model::document::session::{SessionFile, SessionState};
use waypost_model::document::task_type::TaskType;
use waypost_model::document::{Document, Kind};
use waypost_model::run::RunState;
use waypost_model::workflow::{CheckpointContract, WorkflowState};

/// What can be done with a kind without naming its type.
struct KindEntry {
    validate: fn(&[u8], Option<&ContractPlace>) -> Vec<Diagnostic>,
    schema: fn() -> Value,
    value: fn(&[u8]) -> Result<Value, Vec<Diagnostic>>,
}

impl KindEntry {
    fn of<D: Document>() -> Self {
        Self { validate: validate_as::<D>, schema: schema_of::<D>, value: value_as::<D> }
    }
}

/// The type of each kind.
fn entry(kind: Kind) -> KindEntry {
    match kind {
        Kind::WorkflowState => KindEntry::of::<WorkflowState>(),
        Kind::CheckpointContract => KindEntry::of::<CheckpointContract>(),
        Kind::RunState => KindEntry::of::<RunState>(),
        Kind::Config => KindEntry::of::<Config>(),
        Kind::Task => KindEntry::of::<ServerTask>(),
        Kind::Agent => KindEntry::of::<Agent>(),
        Kind::Transition => KindEntry::of::<Transition>(),
        Kind::TaskType => KindEntry::of::<TaskType>(),
        Kind::TaskState => KindEntry::of::<TaskState>(),
        Kind::TaskHistory => KindEntry::of::<TaskHistory>(),
        Kind::SharedContext => KindEntry::of::<SharedContext>(),
        Kind::AgentMemory => KindEntry::of::<AgentMemory>(),
        Kind::Session => KindEntry::of::<SessionFile>(),
        Kind::SessionState => KindEntry::of::<SessionState>(),
        Kind::Explored => KindEntry::of::<Explored>(),
        Kind::TaskBreakdown => KindEntry::of::<TaskBreakdown>(),
        Kind::DesignBrief => KindEntry::of::<DesignBrief>(),
        Kind::DesignContract => KindEntry::of::<DesignContract>(),
        Kind::TestContract => KindEntry::of::<TestContract>(),
        Kind::TestResult => KindEntry::of::<TestResult>(),
        Kind::Knowledge => KindEntry::of::<Knowledge>(),
    }
}

/// Says everything that is wrong with a file of a known kind; nothing when it is in order.
///
/// Unlike `parse`, it takes the placeholders of a template as such and only warns of them.
pub fn validate(kind: Kind, bytes: &[u8]) -> Vec<Diagnostic> {
    (entry(kind).validate)(bytes, None)
}

/// As `validate`, for a contract that stands at `place`.
pub fn validate_at(kind: Kind, bytes: &[u8], place: &ContractPlace) -> Vec<Diagnostic> {
    (entry(kind).validate)(bytes, Some(place))
}

/// A document of a known kind without its form: with every field that it has, by their names.
pub fn value(kind: Kind, bytes: &[u8]) -> Result<Value, Vec<Diagnostic>> {
    (entry(kind).value)(bytes)
}

/// The JSON Schema of a kind, draft 2020-12.
pub fn schema(kind: Kind) -> Value {
    let mut schema = (entry(kind).schema)();
    if let Some(map) = schema.as_object_mut() {
        map.insert("$id".to_owned(), format!("urn:waypost:schema:{}", kind.name()).into());
        map.insert("title".to_owned(), kind.title().into());
    }
    schema
}

fn validate_as<D: Document>(bytes: &[u8], place: Option<&ContractPlace>) -> Vec<Diagnostic> {
    match read::<D>(bytes, Templates::Filled, place) {
        Ok(parsed) => parsed.warnings,
        Err(findings) => findings,
    }
}

fn value_as<D: Document>(bytes: &[u8]) -> Result<Value, Vec<Diagnostic>> {
    let parsed = read::<D>(bytes, Templates::Refused, None)?;
    Ok(serde_json::to_value(&parsed.value).expect("documents are plain data"))
}

/// The JSON Schema of a type.
pub(super) fn schema_of<D: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<D>().to_value()
}
