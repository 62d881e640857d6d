//! Looking the memory over: files that are not valid, tasks that the history contradicts, and what of it
//! can be fixed without loss.

use super::{
    backups::keep_windows,
    documents::{MemoryDocument, change, is_readable, load},
    files, give, validate, window_paths,
};
use crate::{
    doctor::{Finding, Repair},
    error::EngineError,
    project::Project,
    validate::Validity,
};
use std::path::{Path, PathBuf};
use waypost_model::{
    actor::Actor,
    diagnostic::Severity,
    document::MemoryTaskId,
    json::{Json, JsonPath},
    layout::memory::AGENTS,
    machine::{Asked, Machine as _},
    memory::Command,
    next::NextStep,
};

/// The word for it in findings.
const SUBJECT: &str = "memory";

/// The fields of the shared context, all of which have a default.
const CONTEXT_FIELDS: [&str; 5] =
    ["version", "session", "shared_data", "preferences", "last_updated"];

/// The fields of an agent's memory that have a default.
const AGENT_FIELDS: [&str; 5] = ["version", "preferences", "cache", "statistics", "last_updated"];

/// What can be fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryRepair {
    /// A task goes that the history says has ended.
    Drop(MemoryTaskId),
    /// A document is written whole, with the fields that it lacks.
    Rewrite(PathBuf),
    /// A document that cannot be read is replaced by its newest good backup.
    Restore(PathBuf),
    /// What is beyond what is kept of the history goes.
    Prune,
}

/// Whether the memory is in use here.
pub fn is_in_use(project: &mut Project) -> Result<bool, EngineError> {
    Ok(project.memory()?.is_open() || !files(project)?.is_empty())
}

/// Everything that was looked at, good or bad. Nothing is changed.
pub fn examine(project: &mut Project) -> Vec<Finding> {
    look(project).unwrap_or_else(|error| vec![Finding::bad(SUBJECT, error.to_string())])
}

fn look(project: &mut Project) -> Result<Vec<Finding>, EngineError> {
    if !is_in_use(project)? {
        return Ok(vec![Finding::good(SUBJECT, "not in use here").next(NextStep::InitMemory)]);
    }
    let mut found = Vec::new();
    for id in project.memory()?.contradictions() {
        let text = format!("{id} is in task-state.json, and the history says that it has ended");
        found.push(mendable(Finding::bad(SUBJECT, text), MemoryRepair::Drop(id.clone())));
    }
    for validity in validate(project)? {
        found.extend(examine_file(project, validity)?);
    }
    let asked = Asked { by: &Actor::Waypost, now: project.clock().now() };
    if !project.memory()?.decide(&Command::Prune, &asked)?.events.is_empty() {
        let finding = Finding::note(SUBJECT, "the history has more than is kept of it");
        found.push(mendable(finding, MemoryRepair::Prune));
    }
    if found.is_empty() {
        let text = match project.memory()?.current() {
            Some(kept) => format!("{} is current; its files are valid", kept.task.id),
            None => "its files are valid".to_owned(),
        };
        found.push(Finding::good(SUBJECT, text));
    }
    Ok(found)
}

fn mendable(finding: Finding, repair: MemoryRepair) -> Finding {
    Finding { repair: Some(Repair::Memory(repair)), ..finding.next(NextStep::MendMemory) }
}

fn examine_file(project: &Project, validity: Validity) -> Result<Vec<Finding>, EngineError> {
    let path = validity.file.path;
    let is_document = !window_paths(project)?.contains(&path);
    let name = shown(project, &path);
    let bytes = validity.file.text.as_bytes();
    if is_document && !is_readable(bytes) {
        let finding = Finding::bad(SUBJECT, format!("{name} cannot be read"));
        return Ok(vec![mendable(finding, MemoryRepair::Restore(path))]);
    }
    let mut found = Vec::new();
    for finding in validity.file.diagnostics {
        let at = match finding.path.as_str() {
            "" => String::new(),
            path => format!("{path}: "),
        };
        let text = format!("{name}: {at}{}", finding.message);
        let step = NextStep::ValidateFile { file: name.clone() };
        found.push(match finding.severity {
            Severity::Error => Finding::bad(SUBJECT, text).next(step),
            Severity::Warning => Finding::note(SUBJECT, text),
        });
    }
    if is_document && found.is_empty() && lacks_fields(bytes) {
        let finding = Finding::note(SUBJECT, format!("{name} lacks fields that have a default"));
        found.push(mendable(finding, MemoryRepair::Rewrite(path)));
    }
    Ok(found)
}

/// Whether a document leaves out a field that it may have.
fn lacks_fields(bytes: &[u8]) -> bool {
    let Ok(Json::Object(fields)) = serde_json::from_slice(bytes) else { return false };
    let wanted = if fields.contains_key("agent") { AGENT_FIELDS } else { CONTEXT_FIELDS };
    wanted.iter().any(|name| !fields.contains_key(*name))
}

fn shown(project: &Project, path: &Path) -> String {
    path.strip_prefix(project.root()).unwrap_or(path).display().to_string()
}

/// Fixes one thing; says what was done. A backup is made first.
pub fn mend(project: &mut Project, repair: &MemoryRepair) -> Result<String, EngineError> {
    project.refuse_stale()?;
    match repair {
        MemoryRepair::Drop(id) => {
            keep_windows(project)?;
            give(project, Command::Mend)?;
            Ok(format!("{id} is no longer current: its end is in the history"))
        }
        MemoryRepair::Prune => {
            keep_windows(project)?;
            give(project, Command::Prune)?;
            Ok("the history has what is kept of it".to_owned())
        }
        MemoryRepair::Restore(path) => {
            load(project, &document_at(path)?)?;
            Ok(format!("{} can be read again", shown(project, path)))
        }
        MemoryRepair::Rewrite(path) => {
            // The time of the last change is set with every write, so that the content is another one.
            let stamp: JsonPath = "/last_updated".parse().expect("it is a pointer");
            change(project, &document_at(path)?, |json| {
                let set = stamp.set(json, Json::from("1970-01-01T00:00:00Z"));
                set.expect("a document is an object");
                Ok(())
            })?;
            Ok(format!("{} has every field", shown(project, path)))
        }
    }
}

fn document_at(path: &Path) -> Result<MemoryDocument, EngineError> {
    let is_agent = path.parent().is_some_and(|parent| parent.ends_with(AGENTS));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if is_agent { MemoryDocument::of_agent(stem) } else { Ok(MemoryDocument::Context) }
}
