//! A project and a home in a temporary folder, which can be put back to how they were.
//!
//! A site is always put back at the same path, because the user's list of projects knows them by
//! path.

use crate::{
    process::{self, Ended},
    sample,
    scenario::{CONTRACTS, PLANNED},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// The program under test.
pub(crate) const WAYPOST: &str = env!("CARGO_BIN_EXE_waypost");

/// Four tasks in two phases, of which the first can be closed by one task.
pub(crate) const TASKS: &str = "\
# Plan

## Phase 1: Ground

- [ ] T1.1: First

## Phase 2: Walls

- [ ] T2.1: Second
  - depends: T1.1
- [ ] T2.2: Third
  - depends: T1.1
- [ ] T2.3: Fourth
  - depends: T2.1, T2.2
";

/// A project that a test has for itself.
#[derive(Debug)]
pub(crate) struct Site {
    folder: TempDir,
}

impl Site {
    /// A repository with a TASKS.md, nothing of Waypost in it yet.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("wp").tempdir_in(ground()).unwrap();
        let site = Self { folder };
        for folder in ["objects", "refs", "info"] {
            fs::create_dir_all(site.path(".git").join(folder)).unwrap();
        }
        fs::write(site.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(site.path("TASKS.md"), TASKS).unwrap();
        fs::write(site.path("review.md"), "# Review\n\nBlocking: 0\n").unwrap();
        fs::create_dir_all(site.home()).unwrap();
        site
    }

    /// A site on which `commands` were given.
    pub(crate) fn after(commands: &[&str]) -> Self {
        let site = Self::new();
        for command in commands {
            match *command {
                CONTRACTS => site.write_contracts(),
                command => drop(site.waypost(&words(command)).expect_code(0)),
            }
        }
        site
    }

    /// Writes what a plan is made of, as agents do.
    fn write_contracts(&self) {
        let sessions = self.path(".claude/orchestrator/sessions");
        let session = fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
        for (name, text) in PLANNED {
            let path = session.join("contracts/R1").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let head = "version: 1\nrequest_id: R1\ncreated_at: \"2026-01-15T10:05:00Z\"\n";
            fs::write(path, format!("{head}{text}")).unwrap();
        }
    }

    /// Everything that a command may touch is below this.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("live")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// A file of the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    /// A file beside the project that nothing may touch.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program under test in the project.
    #[track_caller]
    pub(crate) fn waypost(&self, args: &[&str]) -> Ended {
        process::run(self.command(WAYPOST).args(args))
    }

    /// A program in the project, with nothing of our environment.
    ///
    /// In a session of its own it has no terminal, so the program takes it for an agent, whichever user
    /// runs the tests.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setsid");
        command.arg(program).current_dir(self.project()).env_clear();
        command.env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        command
    }

    /// Notes how everything is, for `put_back`.
    pub(crate) fn save(&self) {
        copy(&self.root(), &self.outside("saved"));
    }

    /// Makes everything as it was when it was saved.
    pub(crate) fn put_back(&self) {
        // The root itself stays: it may be a file system of its own.
        for entry in fs::read_dir(self.root()).unwrap() {
            remove(&entry.unwrap().path());
        }
        copy(&self.outside("saved"), &self.root());
    }

    /// All files below the root, as paths from there, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.root(), &mut found);
        let root = self.root();
        let relative = |path: &PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
        let mut names: Vec<String> = found.iter().map(relative).collect();
        names.sort_unstable();
        names
    }
}

/// A file system in memory spares the ordinary run the waiting for a disk.
fn ground() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && !sample::is_full() { memory.to_owned() } else { std::env::temp_dir() }
}

/// A command line in words; nothing in these tests needs quotes.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

/// Removes whatever stands at `path`, without following it.
pub(crate) fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Copies a folder of plain files and folders.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
