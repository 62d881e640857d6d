//! Files that a task leaves and git ignores.

use super::{NAME, Repository, write};
use crate::{
    merge::{BranchKind, Committed, PhaseBranch, Stamp, commit_attempt, open_phase},
    tree::{IgnoredOutputs, ignored_outputs, keep_outputs, make},
};
use std::{fs, os::unix::fs::symlink};
use waypost_model::layout::{session, window};

const PHASE: &str = "worktree/phase-1-cart";

/// A repository that ignores logs, `secret/`, `node_modules/` and `dist/`, and keeps what is told.
fn keeping(patterns: &[&str]) -> Repository {
    let mut repository = Repository::new();
    repository.config.keep = patterns.iter().map(|it| (*it).to_owned()).collect();
    repository.write(".gitignore", "*.log\nsecret/\nnode_modules/\ndist/\n");
    repository.git("commit -q -a -m ignore");
    repository
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn what_goes_with_the_tree_is_told() {
    let mut repository = keeping(&[]);
    repository.config.share = texts(&["node_modules"]);
    repository.write("secret/key", "the project's own");
    repository.write(".worktreeinclude", "secret/\n");
    let own = [window::WORKFLOW_FOLDER, window::RUN, window::MEMORY_FOLDER, session::FOLDER];
    repository.write(".git/info/exclude", &own.join("\n"));
    repository.write(".claude/agents/scribe.md", "a folder with work in it");
    repository.git("add .claude/agents");
    repository.git("commit -q -m scribe");
    let (trees, path) = repository.made();
    assert_eq!(ignored_outputs(&trees, NAME, &[]).unwrap(), IgnoredOutputs::default());
    write(&path.join("dist/app.js"), "built");
    write(&path.join("a.log"), "said");
    // What is Waypost's own, and agents' by its word, is no output.
    for own in [window::WORKFLOW, window::RUN, window::TASK_STATE] {
        write(&path.join(own), "{}");
    }
    write(&path.join(session::SESSIONS).join("0a1b2c3d/session.json"), "{}");
    let lost = |declared: &[&str]| ignored_outputs(&trees, NAME, &texts(declared)).unwrap().lost;
    assert_eq!(lost(&[]), ["a.log", "dist/"]);
    assert_eq!(lost(&["dist/app.js"]), ["a.log", "dist/app.js"]);
    assert_eq!(lost(&["dist"]), ["a.log", "dist/"]);
    assert_eq!(lost(&["secret/key"]), ["a.log", "dist/", "secret/key"], "it was to be made");
    let told = ignored_outputs(&trees, NAME, &[]).unwrap().told().unwrap();
    assert!(told.starts_with("git ignores a.log, dist/: "), "{told}");
    // What a setup command makes is no output.
    repository.config.setup = "npm ci".into();
    let trees = repository.trees();
    assert_eq!(ignored_outputs(&trees, NAME, &[]).unwrap().lost, ["a.log"]);
}

#[test]
fn what_is_kept_is_in_the_project_and_in_every_later_tree() {
    let repository = keeping(&["/dist/", "*.log"]);
    let trees = repository.trees();
    let name = PHASE.to_owned();
    let phase = PhaseBranch {
        kind: BranchKind::Phase,
        number: 1,
        name,
        target: "main".into(),
        is_shared: false,
    };
    open_phase(&trees, &phase).unwrap();
    make(&trees, NAME, PHASE).unwrap();
    let path = repository.root.join(NAME);
    write(&path.join("dist/deep/app.js"), "built");
    write(&path.join("a.log"), "said");
    write(&path.join("secret/key"), "not to be kept");
    symlink("/etc/passwd", path.join("dist/link")).unwrap();
    repository.write("a.log", "older");
    let stamp = Stamp { id: "T1.1".parse().unwrap(), attempt: 1, title: "cart".into() };
    let files = texts(&["dist/deep/app.js"]);
    let committed = commit_attempt(&trees, NAME, &phase, &stamp, &files).unwrap();
    let Committed::At { changed, ignored, .. } = committed else { panic!("{committed:?}") };
    assert_eq!(changed, ["a.log", "dist/deep/app.js", "dist/link"], "they prove something");
    assert_eq!(ignored.lost, ["secret/"]);
    keep_outputs(&trees, NAME).unwrap();
    let read = |name: &str| fs::read_to_string(repository.root.join(name)).ok();
    assert_eq!(read("dist/deep/app.js").as_deref(), Some("built"));
    assert_eq!(read("a.log").as_deref(), Some("said"), "the newest counts");
    for absent in ["secret/key", "dist/link"] {
        assert!(repository.root.join(absent).symlink_metadata().is_err(), "{absent}");
    }
    assert_eq!(repository.git("status --porcelain"), "");
    let next = "worktree/phase-1-cart--T1.2-1";
    make(&trees, next, PHASE).unwrap();
    let made = fs::read_to_string(repository.root.join(next).join("dist/deep/app.js"));
    assert_eq!(made.unwrap(), "built");
}

/// A file that the project does not ignore is never touched, nor is what stands behind a link.
#[test]
fn nothing_is_kept_over_what_git_does_not_ignore() {
    let repository = keeping(&["*.log", "/dist/"]);
    let (trees, path) = repository.made();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), repository.root.join("dist")).unwrap();
    repository.write(".gitignore", "dist\n");
    repository.write("a.log", "mine");
    write(&path.join("a.log"), "the task's");
    write(&path.join("dist/app.js"), "built");
    keep_outputs(&trees, NAME).unwrap();
    assert_eq!(fs::read_to_string(repository.root.join("a.log")).unwrap(), "mine");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
