//! Work trees in real repositories.

use crate::tree::make;
mod cleared;
mod hostile;
mod killed;
mod leftovers;
mod listing;
mod making;
mod outputs;
mod packing;
mod removal;
mod undoing;

pub(crate) use killed::{Moment, end_if_cut};

use super::{Trees, TreesPlace};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};
use tempfile::TempDir;
use waypost_model::{config::WorktreeConfig, time::Time};
use waypost_store::place::Place;

/// A repository with one commit; gone when dropped.
pub(crate) struct Repository {
    _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) config: WorktreeConfig,
}

/// A folder for repositories: in memory where there is such a place, because each of these tests syncs hundreds of
/// times, and none of them cuts the power.
pub(crate) fn folder_in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    folder.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

pub(super) const NAME: &str = "worktree/phase-1-cart--T1.1-1";

impl Repository {
    pub(crate) fn new() -> Self {
        let folder = folder_in_memory();
        let root = folder.path().canonicalize().unwrap().join("shop");
        fs::create_dir(&root).unwrap();
        let config = WorktreeConfig::default();
        let repository = Self { _folder: folder, root, config };
        repository.git("init -q -b main .");
        repository.git("config user.name Mina");
        repository.git("config user.email mina@example.org");
        repository.write("a.txt", "one\n");
        repository.write("b.txt", "two\n");
        repository.write(".gitignore", "*.log\nsecret/\nnode_modules/\n");
        repository.git("add -A");
        repository.git("commit -q -m begin");
        repository
    }

    pub(crate) fn trees(&self) -> Trees {
        trees_of(&self.root, &self.config)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.root.join(name), text);
    }

    pub(crate) fn git(&self, line: &str) -> String {
        git(&self.root, line)
    }

    pub(super) fn head(&self) -> String {
        self.git("rev-parse HEAD")
    }

    /// A tree that is ready.
    pub(super) fn made(&self) -> (Trees, PathBuf) {
        let trees = self.trees();
        let made = make(&trees, NAME, &self.head()).unwrap();
        assert!(made.is_new);
        (trees, made.path)
    }

    /// Everything that git knows of trees, branches and snapshots.
    pub(super) fn state(&self) -> String {
        let trees = self.git("worktree list --porcelain");
        let trees = trees.lines().filter(|line| line.starts_with("worktree "));
        let trees: Vec<String> =
            trees.map(|line| line.replace(&self.root.display().to_string(), ".")).collect();
        let refs = self.git("for-each-ref --format=%(refname)");
        format!("{}\n{refs}", trees.join("\n"))
    }

    /// The files of a commit with their contents.
    pub(super) fn files(&self, commit: &str) -> Vec<(String, String)> {
        let listed = self.git(&format!("ls-tree -r --name-only {commit}"));
        let content = |name: &str| self.git(&format!("show {commit}:{name}"));
        listed.lines().map(|name| (name.to_owned(), content(name))).collect()
    }
}

/// The trees of the repository at a folder.
pub(crate) fn trees_of(root: &Path, config: &WorktreeConfig) -> Trees {
    let place = Place::find(root).unwrap();
    Trees::of(TreesPlace {
        root: place.root.clone(),
        source: place.root,
        state: place.state,
        common: place.git_common.unwrap(),
        config: config.clone(),
        now,
    })
}

/// The time that the system tells.
#[expect(clippy::disallowed_methods, reason = "a test plays the engine, which has a clock")]
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time::from_millis(since.as_millis().try_into().unwrap())
}

/// Leaves the tree in the middle of a merge with `main` that has a conflict in `a.txt`.
pub(super) fn conflict(repository: &Repository, path: &Path) {
    write(&path.join("a.txt"), "ours\n");
    git(path, "commit -q -a -m ours");
    repository.write("a.txt", "theirs\n");
    repository.git("commit -q -a -m theirs");
    assert!(std::panic::catch_unwind(|| git(path, "merge -q main")).is_err());
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
}

/// The user's or an agent's git.
#[expect(clippy::disallowed_methods, reason = "a test plays the user")]
pub(crate) fn git(folder: &Path, line: &str) -> String {
    let mut command = Command::new("git");
    // It would go on in the background, inside the tree.
    command.args(["-c", "maintenance.auto=false"]);
    command.args(line.split(' '));
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "git {line}\n{said}{printed}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
