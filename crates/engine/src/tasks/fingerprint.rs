//! The hash of TASKS.md, without reading the file again while it is as it was.
//!
//! Every command of an agent asks whether the plan has changed, and the plan of a large run takes longer
//! to read than the rest of the command.

use crate::{error::EngineError, project::Project};
use serde::{Deserialize, Serialize};
use std::path::Path;
use waypost_model::layout;
use waypost_store::{
    file::{self, Mark},
    hash,
};

/// A file that was written so recently may be written again at what its file system calls the same
/// time.
const RECENT_NS: i128 = 2_000_000_000;

/// Much more than a stamp has.
const STAMP_SIZE_MAX: u64 = 4 << 10;

/// A file and its hash. A cache: without it the file is read.
#[derive(Debug, Serialize, Deserialize)]
struct TasksStamp {
    mark: Mark,
    hash: String,
}

/// The hash of the file at `path`; none if there is none.
pub(super) fn of(project: &Project, path: &Path) -> Result<Option<String>, EngineError> {
    let Some(mark) = Mark::of(path)? else { return Ok(None) };
    let stamp_path = project.setup.place.state.join(layout::state::TASKS_STAMP);
    let kept = file::read_bounded(&stamp_path, STAMP_SIZE_MAX).ok().flatten();
    let kept = kept.and_then(|bytes| serde_json::from_slice::<TasksStamp>(&bytes).ok());
    if let Some(stamp) = kept.filter(|stamp| stamp.mark == mark) {
        return Ok(Some(stamp.hash));
    }
    let Some(bytes) = super::read_bytes(project, path)? else { return Ok(None) };
    let hash = hash::sha256_hex(&bytes);
    let now = i128::from(project.clock.now().millis()) * 1_000_000;
    let is_settled = now - mark.mtime_ns.max(mark.ctime_ns) > RECENT_NS;
    if is_settled && project.has_journal() && Mark::of(path)? == Some(mark) {
        let stamp = TasksStamp { mark, hash: hash.clone() };
        let bytes = serde_json::to_vec(&stamp).expect("a stamp is plain data");
        // What cannot be kept only costs time later.
        drop(file::replace_cache(&stamp_path, &bytes, file::PRIVATE));
    }
    Ok(Some(hash))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]
mod tests {
    use super::*;
    use crate::home::Home;
    use std::{fs, time::SystemTime};
    use waypost_model::actor::Actor;

    /// Gives the file a time at which it can be told from what is written now.
    fn settle(path: &Path, seconds_ago: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        let then = SystemTime::now() - std::time::Duration::from_secs(seconds_ago);
        file.set_modified(then).unwrap();
    }

    #[test]
    fn what_was_just_written_is_read_again_and_what_was_not_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
        project.setup.home = Home { config: None, state: None };
        project.ensure_journal().unwrap();
        let path = folder.path().join("TASKS.md");
        let stamp = project.setup.place.state.join(layout::state::TASKS_STAMP);
        assert_eq!(of(&project, &path).unwrap(), None);
        fs::write(&path, "one").unwrap();
        settle(&path, 60);
        // Its status was changed just now.
        assert_eq!(of(&project, &path).unwrap(), Some(hash::sha256_hex(b"one")));
        assert!(!stamp.exists());
        let mark = Mark::of(&path).unwrap().unwrap();
        let kept = TasksStamp { mark, hash: "kept".into() };
        fs::write(&stamp, serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_eq!(of(&project, &path).unwrap(), Some("kept".into()));
        fs::write(&path, "two").unwrap();
        assert_eq!(of(&project, &path).unwrap(), Some(hash::sha256_hex(b"two")));
        fs::write(&stamp, "{").unwrap();
        assert_eq!(of(&project, &path).unwrap(), Some(hash::sha256_hex(b"two")));
    }
}
