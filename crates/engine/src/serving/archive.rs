//! What a task has left, as a ZIP: the files of its newest checkpoint. So nothing gets in that a checkpoint
//! leaves out (what git ignores, what holds a secret), and no link, whatever it leads to.

use super::workspaces::workspace_of;
use crate::{
    error::{EngineError, Problem},
    project::Project,
    served,
};
use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::Path,
};
use waypost_git::workspace::{ContentFile, Workspace};
use waypost_model::{code::Code, document::ServerTaskId, machine::Rejected, next::NextStep};
use waypost_store::file;
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// What every archive begins with.
const ZIP_BEGINS: &[u8; 2] = b"PK";

/// What was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    pub files: usize,
    /// Unpacked.
    pub bytes: u64,
    /// The checkpoint that it was made of.
    pub checkpoint: u32,
}

/// Packs the deliverables of a task into a file. The same checkpoint is always the same file.
pub fn archive(
    project: &mut Project,
    id: &ServerTaskId,
    target: &Path,
) -> Result<Archive, EngineError> {
    let file = served::file(project, id)?;
    let newest = file.newest_checkpoint();
    let found = newest.and_then(|it| Some((it.id, it.taken.commit.clone()?)));
    let Some(((checkpoint, commit), planned)) = found.zip(file.workspace.clone()) else {
        let message = format!("{id} has no checkpoint yet: there is nothing to pack");
        return Err(Rejected::unknown(Code::CheckpointUnknown, message)
            .next(NextStep::ShowServedTask { task: id.clone() })
            .into());
    };
    require_place(target, id)?;
    let workspace = workspace_of(&project.setup, id, &planned);
    let mut files = workspace.files(&commit)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let draft = file::create_empty(target, file::SHARED)?;
    let packed = pack(&workspace, &files, &draft);
    let placed = packed.and_then(|bytes| {
        file::rename(&draft, target)?;
        Ok(bytes)
    });
    match placed {
        Ok(bytes) => Ok(Archive { files: files.len(), bytes, checkpoint }),
        Err(error) => {
            file::remove(&draft)?;
            Err(error)
        }
    }
}

/// Refuses a target that is something else than an archive: it would be gone.
fn require_place(target: &Path, id: &ServerTaskId) -> Result<(), EngineError> {
    let place = target.display();
    let refused = |what: &str, hint: String| -> Result<(), EngineError> {
        Err(Problem::new(Code::NotRegular, format!("{place} {what}")).hint(hint).into())
    };
    if target.is_dir() {
        let inside = target.join(format!("{id}.zip"));
        return refused("is a folder", format!("name a file, such as {}", inside.display()));
    }
    let mut start = [0; ZIP_BEGINS.len()];
    let read = File::open(target).and_then(|mut found| found.read_exact(&mut start));
    match (target.exists(), read) {
        (true, Ok(())) if start == *ZIP_BEGINS => Ok(()),
        (false, _) => Ok(()),
        _ => {
            refused("is no ZIP, and is not replaced", "name another file, or delete it".to_owned())
        }
    }
}

/// Writes the archive. Says how many bytes are in it.
fn pack(workspace: &Workspace, files: &[ContentFile], draft: &Path) -> Result<u64, EngineError> {
    let cannot = |error: &dyn std::fmt::Display| {
        let message = format!("cannot write {}: {error}", draft.display());
        Problem::new(Code::SystemFailed, message)
    };
    let created = File::create(draft).map_err(|error| cannot(&error))?;
    let mut zip = ZipWriter::new(created);
    let mut bytes = 0;
    for file in files {
        let content = workspace.bytes(file)?;
        bytes += content.len() as u64;
        let mode = if file.is_program { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        zip.start_file(file.path.as_str(), options).map_err(|error| cannot(&error))?;
        zip.write_all(&content).map_err(|error| cannot(&error))?;
    }
    let written = zip.finish().map_err(|error| cannot(&error))?;
    written.sync_all().map_err(|error| cannot(&error))?;
    Ok(bytes)
}
