//! The contracts of a session: found by what they are of, read strictly, put in place, compared.
//!
//! They are documents: the file is the truth. What is put is validated first, replaces the file in one
//! step, and leaves the content before it among the versions beside the journal, which also notes who
//! put what. An agent that writes a contract's file itself has the same said by `validate`.

mod diff;
mod prompt;
mod versions;

pub use diff::{ContractChange, ContractDiff, diff};
pub use prompt::regenerate_prompt;
pub use versions::{ContractVersion, versions};
pub(crate) use versions::{bytes as bytes_of, folder as versions_of, keep, versions_folder};

use crate::{
    error::{EngineError, Problem},
    init,
    ledger::MachineCommand,
    project::Project,
    sessions,
    validate::{Validity, validate_file},
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use waypost_model::{
    code::Code,
    diagnostic::{Diagnostic, Severity},
    document::{
        Document, Kind, ProjectHash, RequestId, SessionTaskId, SubtaskId,
        contract::{
            CONTRACTS, ContractIds, ContractLevel, ContractPlace, DesignBrief, DesignContract,
            Explored, TaskBreakdown, TestContract, TestResult,
        },
    },
    layout, memory,
};
use waypost_store::{documents, file, hash, parse};

/// The kinds of contracts, as they come about.
pub const KINDS: [Kind; 6] = [
    Kind::Explored,
    Kind::TaskBreakdown,
    Kind::DesignBrief,
    Kind::DesignContract,
    Kind::TestContract,
    Kind::TestResult,
];

/// A session has a few hundred; more are no contracts of ours.
const LISTED_MAX: usize = 20_000;

/// What is known of a contract besides its text.
#[derive(Clone, Debug, Default)]
pub struct GivenPlace {
    pub request: Option<RequestId>,
    pub task: Option<SessionTaskId>,
    pub subtask: Option<SubtaskId>,
}

/// A contract that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractFile {
    pub kind: Kind,
    pub place: ContractPlace,
    pub path: PathBuf,
}

/// A contract that was put in place.
#[derive(Clone, Debug)]
pub struct PutContract {
    pub file: ContractFile,
    /// The content as 64 hexadecimal digits.
    pub hash: String,
    /// Whether its file had other content before, or none.
    pub is_changed: bool,
    /// What should be corrected and does not keep it from being used.
    pub warnings: Vec<Diagnostic>,
}

/// The folder name of this project among sessions and knowledge: by the path of the repository's own work
/// tree, so that all work trees have one.
pub fn project_hash(project: &Project) -> Result<ProjectHash, EngineError> {
    Ok(hash::project_hash(&home(project)?))
}

/// The repository's own work tree, where the files of sessions are.
pub(crate) fn home(project: &Project) -> Result<PathBuf, EngineError> {
    project.setup.main_root().ok_or_else(|| {
        let message = "the files of sessions are in the repository's work tree, and it has none";
        Problem::new(Code::RepositoryNeeded, message).into()
    })
}

/// The folder of this project's session.
pub fn session_folder(project: &Project) -> Result<PathBuf, EngineError> {
    let hash = project_hash(project)?;
    Ok(home(project)?.join(layout::session::SESSIONS).join(hash.as_str()))
}

/// The folder of its contracts.
pub fn folder(project: &Project) -> Result<PathBuf, EngineError> {
    Ok(session_folder(project)?.join(CONTRACTS))
}

/// Where a contract is, whether it is there or not.
pub fn path(project: &Project, kind: Kind, place: &ContractPlace) -> Result<PathBuf, EngineError> {
    Ok(folder(project)?.join(place.path(kind)))
}

/// A contract, if it is there; one that is not valid or does not fit its place is an error with every
/// finding.
pub fn read<D: Document>(
    project: &Project,
    place: &ContractPlace,
) -> Result<Option<D>, EngineError> {
    let path = path(project, D::KIND, place)?;
    let Some(bytes) = file::read_bounded(&path, parse::SIZE_MAX as u64)? else { return Ok(None) };
    match parse::parse_at::<D>(&bytes, place) {
        Ok(parsed) => Ok(Some(parsed.value)),
        Err(findings) => Err(EngineError::invalid(path, &bytes, findings)),
    }
}

/// The text of a contract, if it is there.
pub fn text(
    project: &Project,
    kind: Kind,
    place: &ContractPlace,
) -> Result<Option<Vec<u8>>, EngineError> {
    Ok(file::read_bounded(&path(project, kind, place)?, parse::SIZE_MAX as u64)?)
}

/// A contract's fields by their names; none where it is not valid.
pub fn value(kind: Kind, bytes: &[u8]) -> Option<serde_json::Value> {
    parse::value(kind, bytes).ok()
}

/// All contracts of the session that are there, by request, task and subtask.
pub fn list(project: &Project) -> Result<Vec<ContractFile>, EngineError> {
    let folder = folder(project)?;
    let mut found = Vec::new();
    walk(&folder, 0, &mut found);
    found.sort_by_key(|file| (order_of(&file.place), file.kind));
    Ok(found)
}

/// Numbers in the order of counting, not of letters.
fn order_of(place: &ContractPlace) -> (u64, u64, u64) {
    let number = |text: &str| {
        let digits = text.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().unwrap_or(0)
    };
    (
        number(place.request.as_str()),
        place.task.as_ref().map_or(0, |task| number(task.as_str())),
        place.subtask.as_ref().map_or(0, |subtask| number(subtask.as_str())),
    )
}

/// Request, task and subtask are three folders at most.
fn walk(folder: &Path, depth: usize, found: &mut Vec<ContractFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (Ok(form), path) = (entry.file_type(), entry.path()) else { continue };
        if form.is_dir() && depth < 3 {
            walk(&path, depth + 1, found);
        } else if form.is_file() && found.len() < LISTED_MAX {
            let text = path.to_string_lossy();
            let kind = Kind::of_path(&text).filter(|kind| ContractLevel::of(*kind).is_some());
            if let (Some(kind), Some(place)) = (kind, ContractPlace::of_path(&text)) {
                found.push(ContractFile { kind, place, path: path.clone() });
            }
        }
    }
}

/// Validates files, or all contracts of the session where none is named.
pub fn validate(
    project: &Project,
    files: &[PathBuf],
    kind: Option<Kind>,
) -> Result<Vec<Validity>, EngineError> {
    if files.is_empty() {
        return list(project)?.iter().map(|it| validate_file(&it.path, Some(it.kind))).collect();
    }
    files.iter().map(|path| validate_file(path, kind)).collect()
}

/// The place of a contract that is to be put: as it was given, and as it says itself. `origin` names where it came
/// from in what is said against it.
pub fn place_of(
    kind: Kind,
    bytes: &[u8],
    given: &GivenPlace,
    origin: &Path,
) -> Result<ContractPlace, EngineError> {
    if ContractLevel::of(kind).is_none() {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name()).collect();
        let message = format!("`{}` is no contract", kind.name());
        let hint = format!("contracts are {}", names.join(", "));
        return Err(Problem::new(Code::KindUnknown, message).hint(hint).into());
    }
    let own = own_ids(kind, bytes);
    let ids = ContractIds {
        request: given.request.as_ref().or(own.request.as_ref()),
        task: given.task.as_ref().or(own.task.as_ref()),
        subtask: given.subtask.as_ref().or(own.subtask.as_ref()),
    };
    ContractPlace::of_ids(kind, ids).map_err(|missing| {
        // What cannot be read says nothing of itself; that is what has to be fixed.
        let findings = parse::validate(kind, bytes);
        let is_wrong = |it: &Diagnostic| it.severity == Severity::Error;
        if !bytes.is_empty() && findings.iter().any(is_wrong) {
            return EngineError::invalid(origin, bytes, findings);
        }
        let message = format!("it is not known of which {missing} this {} is", kind.name());
        let hint = format!("say so with `--{missing}`, or as `{missing}_id` in the contract");
        Problem::new(Code::BadArgument, message).hint(hint).into()
    })
}

/// What a contract says of itself; nothing where it cannot be read.
fn own_ids(kind: Kind, bytes: &[u8]) -> GivenPlace {
    fn read<D: Document>(bytes: &[u8], ids: impl FnOnce(D) -> GivenPlace) -> GivenPlace {
        parse::parse::<D>(bytes).map(|parsed| ids(parsed.value)).unwrap_or_default()
    }
    let of = |request, task, subtask| GivenPlace { request, task, subtask };
    match kind {
        Kind::Explored => read::<Explored>(bytes, |it| of(it.request_id, None, None)),
        Kind::TaskBreakdown => {
            read::<TaskBreakdown>(bytes, |it| of(Some(it.request_id), None, None))
        }
        Kind::DesignBrief => read::<DesignBrief>(bytes, |it| of(it.request_id, it.task_id, None)),
        Kind::DesignContract => {
            read::<DesignContract>(bytes, |it| of(it.request_id, it.task_id, None))
        }
        Kind::TestContract => read::<TestContract>(bytes, |it| {
            of(Some(it.request_id), Some(it.task_id), Some(it.subtask_id))
        }),
        Kind::TestResult => {
            read::<TestResult>(bytes, |it| of(it.request_id, it.task_id, it.subtask_id))
        }
        _ => GivenPlace::default(),
    }
}

/// Puts a contract in its place. What is not valid, or is of something else, is refused with every finding;
/// `origin` names where it came from in what is said then.
pub fn put(
    project: &mut Project,
    kind: Kind,
    place: &ContractPlace,
    bytes: &[u8],
    origin: &Path,
) -> Result<PutContract, EngineError> {
    project.refuse_stale()?;
    sessions::is_brought_along(project)?;
    let findings = parse::validate_at(kind, bytes, place);
    let is_wrong = |it: &Diagnostic| it.severity == Severity::Error || is_template(it);
    if findings.iter().any(is_wrong) {
        return Err(EngineError::invalid(origin, bytes, findings));
    }
    let path = path(project, kind, place)?;
    let backups = versions::folder(project, place)?;
    project.ensure_journal()?;
    let now = project.clock().now();
    let is_new = path.parent().is_none_or(|folder| !folder.exists());
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    let saved = on_disk.update(now, |_| Ok::<_, EngineError>(bytes.to_vec()))?;
    if is_new {
        init::hide_windows(project);
    }
    let hash = hash::sha256_hex(bytes);
    let note = memory::Command::NoteDocument { file: noted_name(kind, place), hash: hash.clone() };
    project.command(&[MachineCommand::memory(note)])?;
    let file = ContractFile { kind, place: place.clone(), path };
    Ok(PutContract { file, hash, is_changed: saved.is_some(), warnings: findings })
}

/// What the journal calls a contract.
fn noted_name(kind: Kind, place: &ContractPlace) -> String {
    format!("{CONTRACTS}/{}", place.path(kind))
}

/// A template with its placeholders is shown to be one when it is looked at; as a contract it says nothing.
fn is_template(finding: &Diagnostic) -> bool {
    finding.code == waypost_model::document::code::TEMPLATE_PLACEHOLDER
}
