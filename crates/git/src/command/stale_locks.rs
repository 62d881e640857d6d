//! Locks that a git of ours has left because it was killed.
//!
//! Git takes a lock by making a file, and only the process that made it takes it away. Which
//! process that was, a lock does not say. But a lock is left over when all who might have made it
//! have ended since it was seen: a process that comes later finds it there and leaves it.
//!
//! Only locks that were made while an engine of ours was at work are looked at. A file of ours says
//! since when: it is made before the first git is started, and stays when the engine is killed.

use crate::error::GitError;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use waypost_store::file::{self, Mark};

/// Stands while an engine's git may be at work.
const AT_WORK: &str = "git.at-work";

/// How long it is waited for others' git to end. Longer ones wait for a person.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS_MAX: usize = 300;

/// More than any repository has folders of refs in each other.
const DEPTH_MAX: usize = 64;

/// Says that git is at work from now on, if that is not said already.
pub(crate) fn begin(state: &Path) -> Result<(), GitError> {
    file::create_new(&state.join(AT_WORK), b"", file::PRIVATE)?;
    Ok(())
}

/// Says that no git is at work any more, and that none was killed.
pub(crate) fn end(state: &Path) -> Result<(), GitError> {
    Ok(file::remove(&state.join(AT_WORK))?)
}

/// Takes away locks that no process holds any more; says how many. `places` are the folders from which
/// a process may be using the repository `common`.
pub(crate) fn release(state: &Path, common: &Path, places: &[PathBuf]) -> Result<usize, GitError> {
    let Some(since) = Mark::of(&state.join(AT_WORK))? else { return Ok(0) };
    let mut locks = Vec::new();
    for path in locks_in(common) {
        if let Some(mark) = Mark::of(&path)?.filter(|mark| mark.ctime_ns > since.ctime_ns) {
            locks.push((path, mark));
        }
    }
    if locks.is_empty() || !await_end(suspects(places, &locks)) {
        return Ok(0);
    }
    let mut count = 0;
    for (path, mark) in locks {
        if Mark::of(&path)? == Some(mark) {
            file::remove(&path)?;
            count += 1;
        }
    }
    Ok(count)
}

/// All locks of a repository that keep others from going on.
fn locks_in(common: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|it| it == "lock");
    let trees = entries(&common.join("worktrees"));
    for folder in [common.to_owned()].into_iter().chain(trees.into_iter().map(|(path, _)| path)) {
        let files = entries(&folder).into_iter().filter(|(_, is_folder)| !is_folder);
        found.extend(files.map(|(path, _)| path).filter(is_lock));
        let mut folders = vec![(folder.join("refs"), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for (path, is_folder) in entries(&folder) {
                match is_folder {
                    true if depth < DEPTH_MAX => folders.push((path, depth + 1)),
                    false if is_lock(&path) => found.push(path),
                    _ => {}
                }
            }
        }
    }
    found
}

/// What is in a folder, and whether each is a folder itself; links are none.
fn entries(folder: &Path) -> Vec<(PathBuf, bool)> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?.is_dir()))).collect()
}

/// A process that lives, told from a later one with the same number by when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    folder: PathBuf,
    began: String,
}

impl Process {
    fn is_alive(&self) -> bool {
        began(&self.folder).is_some_and(|began| began == self.began)
    }
}

/// Processes that may hold one of the locks: git at work on the repository, and every process that
/// has a lock open.
fn suspects(places: &[PathBuf], locks: &[(PathBuf, Mark)]) -> Vec<Process> {
    let own = std::process::id();
    let mut found = Vec::new();
    for (folder, _) in entries(Path::new("/proc")) {
        let number = folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        if number.is_none_or(|number| number == own) {
            continue;
        }
        if (is_git(&folder) && is_in(&folder, places)) || has_open(&folder, locks) {
            found.extend(began(&folder).map(|began| Process { folder, began }));
        }
    }
    found
}

/// Waits for the end of processes; `false`: some live on.
fn await_end(mut processes: Vec<Process>) -> bool {
    for _ in 0..LOOKS_MAX {
        processes.retain(Process::is_alive);
        if processes.is_empty() {
            return true;
        }
        thread::sleep(LOOK);
    }
    false
}

/// When a process began, in the system's own count; none if it has ended.
fn began(process: &Path) -> Option<String> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program is in brackets, and may have brackets in it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let began = fields.nth(18)?.to_owned();
    (!matches!(state, "Z" | "X")).then_some(began)
}

/// Whether a process is git; daemons of git's hold no lock for long and never end.
fn is_git(process: &Path) -> bool {
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let line = || fs::read(process.join("cmdline")).unwrap_or_default();
    name.starts_with("git") && !String::from_utf8_lossy(&line()).contains("daemon")
}

/// Whether a process works in one of the folders; one that hides where it works may.
fn is_in(process: &Path, places: &[PathBuf]) -> bool {
    match fs::read_link(process.join("cwd")) {
        Ok(folder) => places.iter().any(|place| folder.starts_with(place)),
        Err(_) => began(process).is_some(),
    }
}

fn has_open(process: &Path, locks: &[(PathBuf, Mark)]) -> bool {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().filter_map(Result::ok);
    let mut open = files.filter_map(|entry| fs::read_link(entry.path()).ok());
    open.any(|file| locks.iter().any(|(path, _)| *path == file))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files and start processes as others do")]
mod tests {
    use super::*;
    use std::{process::Command, slice};

    struct Bench {
        _folder: tempfile::TempDir,
        state: PathBuf,
        common: PathBuf,
    }

    fn bench() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let common = folder.path().canonicalize().unwrap().join("project/.git");
        let state = common.join("waypost");
        for it in ["waypost", "refs/heads/worktree", "worktrees/phase-1-x/refs", "objects"] {
            fs::create_dir_all(common.join(it)).unwrap();
        }
        Bench { _folder: folder, state, common }
    }

    /// The times of files are counted in steps.
    fn await_later_time(state: &Path) {
        let begun = Mark::of(&state.join(AT_WORK)).unwrap().unwrap();
        let probe = state.join("probe");
        let now = || {
            fs::write(&probe, "").unwrap();
            Mark::of(&probe).unwrap().unwrap().ctime_ns
        };
        while now() <= begun.ctime_ns {}
    }

    const LOCKS: [&str; 5] = [
        "index.lock",
        "packed-refs.lock",
        "refs/heads/main.lock",
        "refs/heads/worktree/phase-1-x.lock",
        "worktrees/phase-1-x/HEAD.lock",
    ];

    #[test]
    fn what_a_killed_git_left_is_taken_away_and_nothing_else() {
        let Bench { state, common, _folder } = &bench();
        let others = ["index", "refs/heads/main", "waypost/git.lock", "objects/pack.lock"];
        fs::write(common.join("config.lock"), "older than the engine").unwrap();
        begin(state).unwrap();
        // A second engine does not forget since when the first was at work.
        begin(state).unwrap();
        await_later_time(state);
        for name in LOCKS.iter().chain(&others) {
            fs::write(common.join(name), "").unwrap();
        }
        assert_eq!(release(state, common, slice::from_ref(common)).unwrap(), LOCKS.len());
        let is_there = |name: &&str| common.join(name).exists();
        assert_eq!(LOCKS.iter().filter(|name| is_there(name)).count(), 0);
        assert!(others.iter().all(is_there));
        assert!(common.join("config.lock").exists(), "it was made before us");
    }

    #[test]
    fn a_lock_of_another_process_stays_when_our_git_ended_well() {
        let Bench { state, common, _folder } = &bench();
        begin(state).unwrap();
        end(state).unwrap();
        fs::write(common.join("index.lock"), "").unwrap();
        assert_eq!(release(state, common, slice::from_ref(common)).unwrap(), 0);
        assert!(common.join("index.lock").exists());
    }

    #[test]
    fn processes_that_may_hold_a_lock_are_found() {
        let Bench { common, _folder, .. } = &bench();
        let lock = common.join("index.lock");
        let mut holder = Command::new("sh");
        holder.args(["-c", "exec 3>index.lock; echo; exec sleep 600"]).current_dir(common);
        let mut holder = holder.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = [0];
        std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
        let mark = Mark::of(&lock).unwrap().unwrap();
        let found = suspects(&[], &[(lock, mark)]);
        let folder = PathBuf::from(format!("/proc/{}", holder.id()));
        assert_eq!(found.iter().map(|it| &it.folder).collect::<Vec<_>>(), [&folder]);
        assert!(found[0].is_alive());
        holder.kill().unwrap();
        assert!(await_end(found), "one that is dead and not reaped holds nothing");
        holder.wait().unwrap();
    }
}
