//! Others: a user for whom permissions mean something, and a process that holds the engine's lock.

use crate::harness::{BINARY, Project, Ran, words};
use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    os::unix::{
        fs::{MetadataExt as _, lchown},
        process::CommandExt as _,
    },
    path::Path,
    process::{Child, Stdio},
};

/// The number that every system gives to the user without rights.
const NOBODY: u32 = 65_534;

/// The user who runs the tests, or the one without rights where that is root.
pub(crate) struct Other {
    uid: Option<u32>,
}

impl Other {
    /// `None`, said aloud, where the program cannot be run as another user.
    pub(crate) fn owning(project: &Project) -> Option<Self> {
        let is_root = fs::metadata(project.home()).unwrap().uid() == 0;
        let other = Self { uid: is_root.then_some(NOBODY) };
        let ran = other.start(project, "--version");
        if !ran.as_ref().is_ok_and(|ran| ran.code == 0) {
            println!("skipped: no other user can run the program here");
            return None;
        }
        Some(other)
    }

    /// Gives a folder and everything in it away.
    pub(crate) fn give(&self, folder: &Path) {
        let Some(uid) = self.uid else { return };
        lchown(folder, Some(uid), Some(uid)).unwrap();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                self.give(&entry.path());
            } else {
                lchown(entry.path(), Some(uid), Some(uid)).unwrap();
            }
        }
    }

    pub(crate) fn run(&self, project: &Project, line: &str) -> Ran {
        self.start(project, line).unwrap()
    }

    fn start(&self, project: &Project, line: &str) -> io::Result<Ran> {
        let mut command = project.command(BINARY, Path::new("/"));
        command.args(words(line)).arg("-C").arg(&project.root);
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command.output().map(Ran::from)
    }
}

/// A process that holds the lock of a project's engine, as one that has just begun.
pub(crate) struct Holder(Child);

impl Holder {
    /// `None`, said aloud, without `flock` of util-linux: the lock is an OS lock as any other.
    pub(crate) fn of_engine_lock(project: &Project) -> Option<Self> {
        let mut command = project.command("flock", &project.root);
        command.arg(project.journal().join("engine.lock"));
        command.args(["sh", "-c", "echo held; read line"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        if said != "held\n" {
            child.wait().unwrap();
            println!("skipped: `flock` of util-linux is not here");
            return None;
        }
        Some(Self(child))
    }

    /// Lets go; the process ends when it has nothing more to read.
    pub(crate) fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}
