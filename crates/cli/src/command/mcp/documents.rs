//! Documents and windows as resources: `waypost://file/PATH`, and what is put together when it is read.

use super::{failure, visit::Visit};
use crate::{command::status, data::Enveloped, error::CliError};
use std::{fs, path::Path};
use waypost_engine::schema;
use waypost_mcp::{Call, ResourceSpec, ResourceText, TemplateSpec, ToolFailure};
use waypost_model::{
    document::Kind,
    layout::{self, window},
};

const STATUS: &str = "waypost://status";
const FILE: &str = "waypost://file/";
const SCHEMA: &str = "waypost://schema/";

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// The largest document that is handed out, and how many are listed.
const SIZE_MAX: u64 = 4 << 20;
const LISTED_MAX: usize = 500;
const DEPTH_MAX: usize = 8;

/// Single files that are documents or windows.
const SINGLE: [&str; 4] = [window::WORKFLOW, window::RUN, "TASKS.md", layout::CONFIGURATION];

pub(super) const TEMPLATES: &[TemplateSpec] = &[
    TemplateSpec {
        uri_template: "waypost://file/{+path}",
        name: "document",
        description: "A document or window of the project: memory, contracts, knowledge, state files, \
                      TASKS.md, waypost.toml",
        media_type: TEXT,
    },
    TemplateSpec {
        uri_template: "waypost://schema/{kind}",
        name: "schema",
        description: "The strict JSON Schema of a kind of document, as in task-state or design-contract",
        media_type: JSON,
    },
];

/// All that there are. What agents write is in the repository's own work tree (`home`), whichever one is worked in.
pub(super) fn list(root: &Path, home: &Path) -> Vec<ResourceSpec> {
    let mut found = vec![ResourceSpec {
        uri: STATUS.to_owned(),
        name: "status".to_owned(),
        title: "Where everything stands".to_owned(),
        media_type: JSON,
        size: None,
    }];
    for file in SINGLE {
        add(root, file, &mut found);
    }
    for folder in window::WRITTEN_BY_AGENTS {
        walk(home, folder, DEPTH_MAX, &mut found);
    }
    found
}

fn walk(root: &Path, folder: &str, depth: usize, found: &mut Vec<ResourceSpec>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    let mut entries: Vec<fs::DirEntry> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{folder}/{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => walk(root, &path, depth - 1, found),
            Ok(kind) if kind.is_file() && found.len() < LISTED_MAX => add(root, &path, found),
            _ => {}
        }
    }
}

fn add(root: &Path, file: &str, found: &mut Vec<ResourceSpec>) {
    let Ok(metadata) = root.join(file).symlink_metadata() else { return };
    if !metadata.is_file() {
        return;
    }
    let title = Kind::of_path(file).map(|kind| kind.title().to_owned());
    found.push(ResourceSpec {
        uri: format!("{FILE}{file}"),
        name: file.to_owned(),
        title: title.unwrap_or_else(|| file.to_owned()),
        media_type: media_type(file),
        size: Some(metadata.len()),
    });
}

fn media_type(file: &str) -> &'static str {
    match file.rsplit('.').next() {
        Some("json") => JSON,
        Some("yaml" | "yml") => "application/yaml",
        Some("toml") => "application/toml",
        Some("md") => "text/markdown",
        _ => TEXT,
    }
}

/// The document at an address; none: there is no such address.
pub(super) fn read(folder: &Path, uri: &str) -> Result<Option<ResourceText>, ToolFailure> {
    try_read(folder, uri).map_err(|error| failure::told(&error))
}

fn try_read(folder: &Path, uri: &str) -> Result<Option<ResourceText>, CliError> {
    let made = |text: String, media_type| ResourceText { uri: uri.to_owned(), media_type, text };
    if let Some(kind) = uri.strip_prefix(SCHEMA) {
        let found = Kind::from_name(kind).map(|kind| format!("{:#}", schema(kind)));
        return Ok(found.map(|text| made(text, JSON)));
    }
    let call = Call::detached();
    let mut visit = Visit::open(folder, &call)?;
    if uri == STATUS {
        let told = status::tell(&mut visit.project, |report| {
            serde_json::to_string_pretty(&Enveloped::new(report)).unwrap_or_default()
        })?;
        return Ok(Some(made(told, JSON)));
    }
    let Some(file) = uri.strip_prefix(FILE) else { return Ok(None) };
    // Only what is listed as a document: others an agent reads with tools of its own.
    let by_agents = window::WRITTEN_BY_AGENTS.iter().any(|it| file.starts_with(&format!("{it}/")));
    let is_document = SINGLE.contains(&file) || by_agents;
    let path = if by_agents { visit.file_at_home(file)? } else { visit.file(file)? };
    let is_small = path.symlink_metadata().is_ok_and(|it| it.is_file() && it.len() <= SIZE_MAX);
    if !is_document || !is_small {
        return Ok(None);
    }
    let bytes = fs::read(&path)?;
    Ok(Some(made(String::from_utf8_lossy(&bytes).into_owned(), media_type(file))))
}
