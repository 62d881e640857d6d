//! Workspaces of both kinds, with real repositories.
#![expect(clippy::disallowed_methods, reason = "tests play the part of agents")]

use super::*;
use crate::tree::tests::{Repository, folder_in_memory};
use std::{fs, os::unix::fs::symlink, process::Command};
use waypost_model::time::Time;

struct Bench {
    _folder: tempfile::TempDir,
    top: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = folder_in_memory();
        let top = folder.path().canonicalize().unwrap();
        Self { _folder: folder, top }
    }

    fn own(&self, task: &str) -> Workspace {
        let workspace = Workspace {
            task: task.to_owned(),
            folder: self.top.join("workspaces").join(task),
            scratch: self.top.join("scratch").join(task),
            state: self.top.join("state"),
            common: None,
        };
        workspace.make("HEAD").unwrap();
        workspace
    }
}

fn order(name: &str) -> KeepOrder<'_> {
    KeepOrder {
        name,
        why: "a test",
        at: Time::from_millis(1_000_000),
        file_size_max: 100,
        size_max: 1_000,
        is_secret: None,
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(folder: &Path, name: &str) -> Option<String> {
    fs::read_to_string(folder.join(name)).ok()
}

fn git(folder: &Path, line: &str) -> String {
    let words = line.split(' ');
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Mina", "-c", "user.email=mina@example.org"]);
    let ran = command.args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "git {line}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

fn paths(workspace: &Workspace, commit: &str) -> Vec<String> {
    workspace.files(commit).unwrap().into_iter().map(|it| it.path).collect()
}

#[test]
fn a_checkpoint_has_everything_but_what_is_said_and_what_is_ignored() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    assert!(!workspace.make("HEAD").unwrap(), "it is there");
    let at = &workspace.folder;
    write(at, ".gitignore", "node_modules/\n");
    write(at, "node_modules/x.js", "x");
    write(at, "docs/01_idea.md", "idea\n");
    write(at, "large.bin", &"x".repeat(101));
    write(at, "key.txt", "hunter2");
    write(at, "lib/.git/HEAD", "ref: refs/heads/main");
    git(&at.join("lib"), "init -q");
    write(at, "lib/inner.txt", "inner");
    symlink("/etc/passwd", at.join("link")).unwrap();
    let is_secret = |path: &Path| fs::read(path).is_ok_and(|it| it == b"hunter2");
    let kept = workspace.keep(&KeepOrder { is_secret: Some(&is_secret), ..order("c1") }).unwrap();
    // A link is in the checkpoint, but among the files that are handed out there is none.
    assert_eq!(paths(&workspace, &kept.commit), [".gitignore", "docs/01_idea.md"]);
    let omitted = |path: &str, why| Omitted { path: path.to_owned(), why };
    let want = [
        omitted("key.txt", Omission::Secret),
        omitted("large.bin", Omission::Large),
        omitted("lib/", Omission::Repository),
    ];
    assert_eq!(kept.omitted, want);
    assert_eq!(git(at, "rev-parse refs/waypost/tasks/t1/c1"), kept.commit);
    // The agent's own index is not touched.
    assert_eq!(git(at, "ls-files"), "");
}

#[test]
fn a_secret_that_comes_into_a_file_takes_it_out_of_the_next_checkpoint() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    write(&workspace.folder, "a.txt", "plain");
    let first = workspace.keep(&order("c1")).unwrap();
    write(&workspace.folder, "a.txt", "hunter2");
    let is_secret = |path: &Path| fs::read(path).is_ok_and(|it| it == b"hunter2");
    let second = workspace.keep(&KeepOrder { is_secret: Some(&is_secret), ..order("c2") }).unwrap();
    assert_eq!(paths(&workspace, &first.commit), ["a.txt"]);
    assert_eq!(paths(&workspace, &second.commit), Vec::<String>::new());
}

#[test]
fn what_goes_beyond_the_size_of_a_checkpoint_is_left_out() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    for name in ["a", "b", "c"] {
        write(&workspace.folder, name, &"x".repeat(90));
    }
    let kept = workspace.keep(&KeepOrder { size_max: 200, ..order("c1") }).unwrap();
    assert_eq!(paths(&workspace, &kept.commit), ["a", "b"]);
    assert_eq!(kept.omitted, [Omitted { path: "c".into(), why: Omission::NoRoom }]);
}

#[test]
fn a_workspace_goes_back_to_a_checkpoint_with_its_commits() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    let at = &workspace.folder;
    write(at, ".gitignore", "cache/\n");
    write(at, "a.txt", "one\n");
    let unborn = workspace.keep(&order("c1")).unwrap();
    git(at, "add -A");
    git(at, "commit -q -m one");
    write(at, "b/c.txt", "two\n");
    let second = workspace.keep(&order("c2")).unwrap();
    let head = git(at, "rev-parse HEAD");
    git(at, "checkout -q -b other");
    write(at, "a.txt", "changed\n");
    write(at, "d/e/f.txt", "new\n");
    write(at, "cache/x", "kept\n");
    fs::remove_dir_all(at.join("b")).unwrap();
    write(at, "b", "a file now\n");
    git(at, "add -A");
    git(at, "commit -q -m three");
    let third = workspace.keep(&order("c3")).unwrap();
    for _ in 0..2 {
        workspace.restore(&second.commit).unwrap();
        assert_eq!(read(at, "a.txt").as_deref(), Some("one\n"));
        assert_eq!(read(at, "b/c.txt").as_deref(), Some("two\n"));
        assert!(!at.join("d").exists());
        assert_eq!(read(at, "cache/x").as_deref(), Some("kept\n"));
        assert_eq!(git(at, "rev-parse HEAD"), head);
        assert_eq!(git(at, "symbolic-ref HEAD"), "refs/heads/main");
        assert_eq!(git(at, "status --porcelain"), "?? b/");
    }
    workspace.restore(&unborn.commit).unwrap();
    assert_eq!((read(at, "a.txt").as_deref(), at.join("b").exists()), (Some("one\n"), false));
    assert_eq!(git(at, "status --porcelain"), "?? .gitignore\n?? a.txt");
    workspace.restore(&third.commit).unwrap();
    assert_eq!(read(at, "b").as_deref(), Some("a file now\n"));
    assert_eq!(git(at, "status --porcelain"), "");
}

#[test]
fn another_task_begins_with_a_checkpoint_of_the_first() {
    let bench = Bench::new();
    let (first, second) = (bench.own("t1"), bench.own("t2"));
    write(&first.folder, "a.txt", "one\n");
    git(&first.folder, "add -A");
    git(&first.folder, "commit -q -m one");
    write(&first.folder, "b.txt", "two\n");
    let kept = first.keep(&order("c1")).unwrap();
    second.begin_from(&first, &kept.commit).unwrap();
    assert_eq!(read(&second.folder, "b.txt").as_deref(), Some("two\n"));
    assert_eq!(git(&second.folder, "log --format=%s"), "one");
    assert_eq!(git(&second.folder, "fsck --no-dangling"), "");
}

#[test]
fn only_the_named_checkpoints_stay() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    for name in ["c1", "c2", "c3"] {
        write(&workspace.folder, "a.txt", name);
        workspace.keep(&order(name)).unwrap();
    }
    assert_eq!(workspace.forget_others(&["c1", "c3"]).unwrap(), 1);
    let left = git(&workspace.folder, "for-each-ref --format=%(refname:lstrip=4)");
    assert_eq!(left, "c1\nc3");
}

#[test]
fn a_diff_is_from_one_checkpoint_to_the_next_or_from_nothing() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    write(&workspace.folder, "a.txt", "one\n");
    let first = workspace.keep(&order("c1")).unwrap().commit;
    write(&workspace.folder, "a.txt", "two\n");
    let second = workspace.keep(&order("c2")).unwrap().commit;
    assert!(workspace.diff(None, &first).unwrap().ends_with("+one"));
    assert!(workspace.diff(Some(&first), &second).unwrap().ends_with("-one\n+two"));
}

#[test]
fn a_repository_that_leads_elsewhere_is_not_touched() {
    let repository = Repository::new();
    let bench = Bench::new();
    let workspace = bench.own("t1");
    let dot_git = workspace.folder.join(".git");
    fs::remove_dir_all(&dot_git).unwrap();
    let elsewhere = repository.root.join(".git");
    fs::write(&dot_git, format!("gitdir: {}\n", elsewhere.display())).unwrap();
    workspace.keep(&order("c1")).unwrap_err();
    fs::remove_file(&dot_git).unwrap();
    symlink(&elsewhere, &dot_git).unwrap();
    workspace.keep(&order("c1")).unwrap_err();
    assert_eq!(git(&repository.root, "for-each-ref refs/waypost"), "");
    fs::remove_file(&dot_git).unwrap();
    // What is gone is made again.
    workspace.make("HEAD").unwrap();
    workspace.keep(&order("c1")).unwrap();
}

#[test]
fn a_work_tree_of_the_project_is_a_workspace_too() {
    let repository = Repository::new();
    let bench = Bench::new();
    let workspace = Workspace {
        task: "t9".to_owned(),
        folder: bench.top.join("workspaces/t9"),
        scratch: bench.top.join("scratch/t9"),
        state: bench.top.join("state"),
        common: Some(repository.root.join(".git")),
    };
    assert!(workspace.make("HEAD").unwrap());
    assert!(!workspace.make("HEAD").unwrap());
    let at = &workspace.folder;
    assert_eq!(read(at, "a.txt").as_deref(), Some("one\n"));
    write(at, "a.txt", "mine\n");
    let kept = workspace.keep(&order("c1")).unwrap();
    write(at, "a.txt", "later\n");
    workspace.restore(&kept.commit).unwrap();
    assert_eq!(read(at, "a.txt").as_deref(), Some("mine\n"));
    assert_eq!(git(at, "symbolic-ref HEAD"), "refs/heads/waypost/t9");
    // The folder is deleted by hand: the branch is taken up again.
    fs::remove_dir_all(at).unwrap();
    workspace.make("HEAD").unwrap();
    workspace.restore(&kept.commit).unwrap();
    assert_eq!(read(at, "a.txt").as_deref(), Some("mine\n"));
    workspace.remove().unwrap();
    assert!(!at.exists());
    assert_eq!(git(&repository.root, "for-each-ref refs/waypost"), "");
    assert_eq!(git(&repository.root, "worktree list --porcelain").matches("worktree ").count(), 1);
}

#[test]
fn what_a_checkpoint_leaves_out_is_moved_and_not_lost() {
    let bench = Bench::new();
    let workspace = bench.own("t1");
    let at = &workspace.folder;
    write(at, "a.txt", "one\n");
    write(at, "data/grows", "small\n");
    let first = workspace.keep(&order("c1")).unwrap();
    let large = "x".repeat(200);
    write(at, "large", &large);
    write(at, "data/grows", &large);
    write(at, "a.txt", "two\n");
    let is_secret = |path: &Path| path.ends_with("key");
    write(at, "deep/key", "secret\n");
    let aside = KeepOrder { is_secret: Some(&is_secret), ..order("aside-1") };
    assert_eq!(workspace.keep(&aside).unwrap().omitted.len(), 3);
    let left_out = workspace.restore(&first.commit).unwrap().unwrap();
    assert_eq!(read(at, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(at, "data/grows").as_deref(), Some("small\n"));
    assert!(!at.join("large").exists() && !at.join("deep").exists());
    for name in ["large", "data/grows"] {
        assert_eq!(read(&left_out, name).as_deref(), Some(&*large), "{name}");
    }
    assert_eq!(read(&left_out, "deep/key").as_deref(), Some("secret\n"));
    // Nothing is left to be moved, and what was moved stays.
    assert_eq!(workspace.restore(&first.commit).unwrap(), None);
    write(at, "large", "another");
    let other = workspace.restore(&first.commit).unwrap().unwrap();
    assert_ne!(other, left_out);
    assert_eq!(read(&left_out, "large").as_deref(), Some(&*large));
}

#[test]
fn a_tree_is_not_added_while_another_one_is() {
    let (bench, repository) = (Bench::new(), Repository::new());
    let state = bench.top.join("state");
    let workspace = Workspace {
        task: "t1".to_owned(),
        folder: bench.top.join("workspaces/t1"),
        scratch: bench.top.join("scratch/t1"),
        state: state.clone(),
        common: Some(repository.root.join(".git")),
    };
    fs::create_dir_all(state.join("trees")).unwrap();
    let another = FileLock::acquire(&state.join("trees/list")).unwrap();
    std::thread::scope(|scope| {
        let making = scope.spawn(|| workspace.make("HEAD").unwrap());
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(!workspace.folder.exists(), "git has read a list that another git writes");
        drop(another);
        assert!(making.join().unwrap());
    });
    assert_eq!(read(&workspace.folder, "a.txt").as_deref(), Some("one\n"));
}
