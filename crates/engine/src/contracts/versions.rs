//! Earlier contents of contracts, beside the journal: the newest twenty of each.

use super::{ContractFile, path};
use crate::{error::EngineError, project::Project};
use std::path::PathBuf;
use waypost_model::{
    document::{
        Kind, ProjectHash,
        contract::{CONTRACTS, ContractPlace},
    },
    layout,
};
use waypost_store::{documents, file, parse};

/// A content that a contract has or had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractVersion {
    /// Counted from the oldest that is kept; the present one is the last.
    pub number: usize,
    pub path: PathBuf,
    /// When it was replaced, as in `20260216T100000Z`; none: it is the present one.
    pub until: Option<String>,
}

/// Where earlier contents of the contracts of a place are.
pub(crate) fn folder(project: &Project, place: &ContractPlace) -> Result<PathBuf, EngineError> {
    let hash = super::project_hash(project)?;
    Ok(versions_folder(project, &hash).join(place.to_string()))
}

/// Where earlier contents of the contracts of a project with a hash are.
pub(crate) fn versions_folder(project: &Project, hash: &ProjectHash) -> PathBuf {
    let documents = project.place().state.join(layout::state::DOCUMENTS);
    documents.join(CONTRACTS).join(hash.as_str())
}

/// All contents of a contract that are kept, the oldest first.
pub fn versions(
    project: &Project,
    kind: Kind,
    place: &ContractPlace,
) -> Result<Vec<ContractVersion>, EngineError> {
    let (path, backups) = (path(project, kind, place)?, folder(project, place)?);
    let on_disk = documents::Document { place: project.place(), path: &path, backups: &backups };
    let mut found: Vec<ContractVersion> = Vec::new();
    let present = file::read_bounded(&path, parse::SIZE_MAX as u64)?;
    let mut backups = on_disk.backups()?;
    // What was kept when it was looked at, and is still there, is the present one.
    if let (Some(newest), Some(present)) = (backups.first(), &present)
        && file::read_bounded(newest, parse::SIZE_MAX as u64)?.as_ref() == Some(present)
    {
        backups.remove(0);
    }
    for kept in backups.into_iter().rev() {
        let name = kept.file_stem().map(|it| it.to_string_lossy().into_owned());
        let until = name.and_then(|name| Some(name.rsplit_once('.')?.1.to_owned()));
        found.push(ContractVersion { number: found.len() + 1, path: kept, until });
    }
    if present.is_some() {
        found.push(ContractVersion { number: found.len() + 1, path, until: None });
    }
    Ok(found)
}

/// Keeps a contract as it is among its versions: it was looked at, and its file may be written over.
pub(crate) fn keep(
    project: &Project,
    kind: Kind,
    place: &ContractPlace,
) -> Result<(), EngineError> {
    let (path, backups) = (path(project, kind, place)?, folder(project, place)?);
    let on_disk = documents::Document { place: project.place(), path: &path, backups: &backups };
    Ok(on_disk.keep_version(project.clock().now())?)
}

/// The bytes of a version.
pub(crate) fn bytes(version: &ContractVersion) -> Result<Vec<u8>, EngineError> {
    Ok(file::read_bounded(&version.path, parse::SIZE_MAX as u64)?.unwrap_or_default())
}

/// A contract by what it is of.
pub(super) fn file_of(
    project: &Project,
    kind: Kind,
    place: &ContractPlace,
) -> Result<ContractFile, EngineError> {
    Ok(ContractFile { kind, place: place.clone(), path: path(project, kind, place)? })
}
