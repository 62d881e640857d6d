//! Validating files of all five parts, and their schemas.

use crate::{
    config::{covered, hide_value, validate_project_file},
    error::{EngineError, InvalidFile, Problem},
    given, task_types,
};
use std::path::Path;
use waypost_model::{
    code::Code,
    config::RunConfig,
    diagnostic::{Diagnostic, Severity},
    document::{
        Kind,
        contract::{ContractLevel, ContractPlace},
        task_type::TaskType,
    },
    layout,
};
use waypost_store::{parse, tasks_md};

/// The largest file that is validated.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// What a file turned out to be.
#[derive(Clone, Debug)]
pub struct Validity {
    /// The kind's name; `tasks` for a TASKS.md.
    pub kind: &'static str,
    pub file: InvalidFile,
}

impl Validity {
    /// Whether the file can be used; warnings do not stop it.
    pub fn is_valid(&self) -> bool {
        self.file.diagnostics.iter().all(|finding| finding.severity < Severity::Error)
    }
}

/// Validates one file; its kind follows from its path unless it is given.
pub fn validate_file(path: &Path, kind: Option<Kind>) -> Result<Validity, EngineError> {
    let bytes = given::read(path, FILE_SIZE_MAX)?.ok_or_else(|| Problem::no_file(path))?;
    let is_markdown = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"));
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let kind = kind.or_else(|| Kind::of_path(&absolute.to_string_lossy()));
    let (kind, diagnostics) = match kind {
        Some(kind) => (kind.name(), validate_kind(kind, &absolute, &bytes)),
        None if is_markdown => ("tasks", validate_tasks(&bytes)),
        None => return Err(unknown_kind(path)),
    };
    let text = match kind == Kind::Config.name() {
        true => covered(&String::from_utf8_lossy(&bytes)),
        false => String::from_utf8_lossy(&bytes).into_owned(),
    };
    Ok(Validity { kind, file: InvalidFile { path: path.to_owned(), text, diagnostics } })
}

fn validate_kind(kind: Kind, path: &Path, bytes: &[u8]) -> Vec<Diagnostic> {
    let place = ContractPlace::of_path(&path.to_string_lossy())
        .filter(|_| ContractLevel::of(kind).is_some());
    let mut findings = match place {
        Some(place) => parse::validate_at(kind, bytes, &place),
        None => parse::validate(kind, bytes),
    };
    if kind == Kind::TaskType {
        findings.extend(validate_name(path, bytes));
    }
    if kind != Kind::Config {
        return findings;
    }
    findings.iter_mut().for_each(hide_value);
    // The person's own file has another name.
    if path.file_name().is_some_and(|it| it == layout::CONFIGURATION) {
        findings.extend(validate_project_file(bytes));
    }
    findings
}

/// What is wrong with the name of a type in the folder of types, where its file has to be called the same.
fn validate_name(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    let is_type =
        path.parent().and_then(Path::file_name).is_some_and(|it| it == layout::TASK_TYPES);
    let name = path.file_stem().and_then(|it| it.to_str()).filter(|_| is_type)?;
    let found = parse::parse::<TaskType>(bytes).ok()?.value;
    task_types::misnamed(&found, name)
}

fn validate_tasks(bytes: &[u8]) -> Vec<Diagnostic> {
    let mut findings = match tasks_md::read(&String::from_utf8_lossy(bytes), "project") {
        Ok(read) => read.warnings,
        Err(findings) => findings,
    };
    // Which project a file belongs to is not known here, and with it no setting.
    let usual_mb = RunConfig::default().tasks_max_mb;
    if bytes.len() as u64 > usual_mb << 20 {
        let message = format!("the file has more than {usual_mb} MiB");
        let hint = "a run reads it where `run.tasks_max_mb` in waypost.toml allows it";
        findings.insert(0, Diagnostic::warning("large_file", message).hint(hint));
    }
    findings
}

fn unknown_kind(path: &Path) -> EngineError {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let message = format!("cannot tell from its name what {} is", path.display());
    let hint = format!("say which kind it is: one of {}", names.join(", "));
    Problem::new(Code::KindUnknown, message).hint(hint).into()
}

/// The JSON Schema of a kind, draft 2020-12.
pub fn schema(kind: Kind) -> serde_json::Value {
    parse::schema(kind)
}
