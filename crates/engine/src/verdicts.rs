//! Takes what the hook wrote down into the journal.
//!
//! The hook appends to `verdicts.jsonl` under a shared lock. Here the file is moved aside under
//! the exclusive one, so that no process writes to it any more, read, committed, and removed. A hook
//! that finds it locked writes a file of its own, which is taken in likewise. A file that was
//! committed and not removed is known by its name and not counted twice.

use crate::{
    error::EngineError,
    gate,
    ledger::{MachineCommand, verdicts_stream},
    project::Project,
};
use std::path::{Path, PathBuf};
use waypost_model::layout;
use waypost_model::verdict::{self, Verdict, Verdicts};
use waypost_store::{file, lock::FileLock};

/// Where the hook writes.
const FILE: &str = layout::state::VERDICTS;

/// How the files are called that were moved aside.
const ASIDE: &str = "verdicts-";

/// The most that is read of one file; the hook stops long before that.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// What the journal knows of the hook.
pub fn list(project: &mut Project) -> Result<Verdicts, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Verdicts::default()) };
    Ok(project.ledger.get::<Verdicts>(&journal.view()?, &verdicts_stream())?.state.clone())
}

/// Takes everything in that the hook has written since; quick where there is nothing.
pub(crate) fn take_in(project: &mut Project) -> Result<(), EngineError> {
    let path = project.setup.place.state.join(FILE);
    if project.journal.is_none() {
        return Ok(());
    }
    if file::Mark::of(&path)?.is_some_and(|mark| mark.size > 0) {
        move_aside(project, &path)?;
    }
    for source in file::list(&project.setup.place.state)? {
        if source.starts_with(ASIDE) {
            take_file(project, &source)?;
        }
    }
    Ok(())
}

fn move_aside(project: &Project, path: &Path) -> Result<PathBuf, EngineError> {
    let _alone = FileLock::acquire(path)?;
    let name = format!("{ASIDE}{}-{}.jsonl", project.clock.now().millis(), std::process::id());
    let aside = project.setup.place.state.join(name);
    file::rename(path, &aside)?;
    Ok(aside)
}

fn take_file(project: &mut Project, source: &str) -> Result<(), EngineError> {
    let path = project.setup.place.state.join(source);
    let Some(bytes) = file::read_bounded(&path, FILE_SIZE_MAX)? else { return Ok(()) };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let read: Vec<Option<Verdict>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    let lost = read.iter().filter(|verdict| verdict.is_none()).count();
    if lost > 0 {
        project.notice(format!("{lost} lines of the hook's log could not be read"));
    }
    let verdicts = read.into_iter().flatten().collect();
    let command = verdict::Command::TakeIn { source: source.to_owned(), verdicts };
    gate::by_waypost(project, &[MachineCommand::verdicts(command)])?;
    Ok(file::remove(&path)?)
}
