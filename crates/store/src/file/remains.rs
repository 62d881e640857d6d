//! What a process that died left behind: temporary files that were never put in place.
//!
//! They mean nothing, so removing them may fail. What takes part in an exchange is a person's or an
//! agent's edit and is not touched here: `leftovers` finds that.

use rustix::process::{Pid, test_kill_process};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What stands between the name of a file and the number of the process that was writing it.
const MARK: &str = ".waypost-new-";

/// Removes what is left of dead processes in one folder.
pub fn clear_remains(folder: &Path) {
    let is_remains = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(writer_of).is_some_and(is_dead)
    };
    for path in entries(folder).into_iter().filter(is_remains) {
        // What cannot be removed now is tried again after the next death.
        drop(fs::remove_file(path));
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// The process that wrote a temporary file of ours, by its name.
fn writer_of(name: &str) -> Option<Pid> {
    let (target, rest) = name.strip_prefix('.')?.rsplit_once(MARK)?;
    let number = rest.split('-').next()?.parse().ok()?;
    Pid::from_raw(number).filter(|_| !target.is_empty())
}

/// A number that was given to another process since only delays the cleaning.
fn is_dead(pid: Pid) -> bool {
    test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_dead_writers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        // The largest number that Linux gives to a process is 2^22.
        let dead = "4194305";
        let ours = std::process::id();
        let kept = [
            format!(".state.json.waypost-new-{ours}-0"),
            format!(".state.json.waypost-swap-0123456789abcdef-{dead}-0"),
            format!("state.json.waypost-new-{dead}-0"),
            format!(".waypost-new-{dead}-0"),
            "state.json".to_owned(),
        ];
        let gone = [
            format!(".state.json.waypost-new-{dead}-0"),
            format!(".journal.db.waypost-new-{dead}-12-wal"),
        ];
        for name in kept.iter().chain(&gone) {
            fs::File::create(folder.path().join(name)).unwrap();
        }
        clear_remains(folder.path());
        for name in &kept {
            assert!(folder.path().join(name).exists(), "{name} must stay");
        }
        for name in &gone {
            assert!(!folder.path().join(name).exists(), "{name} must go");
        }
    }
}
