//! `waypost worktree`: what is listed, brought back and cleared up.

use crate::{harness::Project, terminal::no_person_is_here};
use insta::assert_snapshot;
use std::{fs, path::PathBuf};

const NAME: &str = "phase-1-cart--T1.1-2";

/// A repository with a tree of a failed attempt in it, made by hand as Waypost makes them.
fn kept() -> (Project, PathBuf) {
    let project = Project::with_tasks();
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    project.must("--quiet init");
    let tree = format!("worktree/{NAME}");
    project.git_command(&format!(
        "worktree add -q --lock --reason 'waypost: {tree}' -b {tree} {tree}"
    ));
    let base = project.git_command("rev-parse HEAD");
    let mark = format!("made 1000\nbase {}\nstage ready\n", base.trim());
    project.write(&format!(".git/worktrees/{NAME}/waypost"), &mark);
    project.write(&format!("{tree}/notes.txt"), "half done\n");
    let path = project.path(&tree);
    (project, path)
}

fn redacted(text: &str) -> String {
    let is_size = |word: &str| word.ends_with("kB") || word.parse::<u64>().is_ok();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        words
            .iter()
            .map(|word| if is_size(word) { "#" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_tree_is_listed_removed_and_brought_back() {
    let (project, path) = kept();
    let told = project.transcript(&[
        "worktree list",
        "worktree prune",
        "worktree prune --older-than 0",
        "worktree list",
        &format!("worktree undo {NAME}"),
        &format!("worktree undo {NAME}"),
        "worktree undo nonsense",
        "worktree undo phase-9-x",
    ]);
    assert_snapshot!(redacted(&told));
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "half done\n");
}

#[test]
fn the_list_is_data() {
    let (project, path) = kept();
    let mut list = project.json("worktree list");
    let tree = list["trees"][0].as_object_mut().unwrap();
    assert!(tree.remove("size_bytes").unwrap().as_u64() > Some(0));
    assert!(tree.remove("used_at").unwrap().is_string());
    assert!(tree.remove("head").unwrap().is_string());
    assert_eq!(
        list,
        serde_json::json!({ "v": 1, "type": "work_trees", "trees": [{
            "name": format!("worktree/{NAME}"), "path": path, "phase": 1, "request": null, "task": "T1.1",
            "attempt": 2, "state": "kept", "branch": format!("worktree/{NAME}"), "dirty": true,
            "processes": [], "snapshots": [],
        }] })
    );
    let pruned = project.json("worktree prune --older-than 0");
    let snapshot = format!("refs/waypost/snapshots/{NAME}/1");
    assert_eq!(
        pruned,
        serde_json::json!({
            "v": 1, "type": "trees_pruned",
            "removed": [{ "name": format!("worktree/{NAME}"), "snapshot": snapshot }],
            "stayed": [], "deleted_snapshots": [], "swept": 0,
        })
    );
    assert_eq!(project.json("worktree list")["trees"][0]["state"], "removed");
}

#[test]
fn what_loses_something_is_for_a_person() {
    let (project, path) = kept();
    let ran = project.run("worktree prune --older-than 0 --force");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(path.exists());
    // A snapshot of long ago stays as long as no person asks.
    let reference = format!("refs/waypost/snapshots/{NAME}/1");
    let tree = project.git_command("rev-parse HEAD^{tree}");
    let mut command = project.command("git", &project.root);
    command.args(["commit-tree", "-m", "old", tree.trim()]);
    command.env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z");
    let commit = String::from_utf8(command.output().unwrap().stdout).unwrap();
    project.git_command(&format!("update-ref {reference} {}", commit.trim()));
    let pruned = project.json("worktree prune");
    assert_eq!(pruned["deleted_snapshots"], serde_json::json!([]));
    if no_person_is_here() {
        return;
    }
    let ran = project.person_must("--json worktree prune");
    assert!(ran.stdout.contains(&reference), "{ran}");
    let refs = project.git_command("for-each-ref refs/waypost/snapshots");
    assert_eq!(refs, "");
}

#[test]
fn outside_git_there_are_none() {
    let project = Project::plain();
    let ran = project.run("worktree list");
    assert_eq!(ran.code, 5, "{ran}");
    assert!(ran.stderr.contains("work trees need a git repository"), "{ran}");
}
