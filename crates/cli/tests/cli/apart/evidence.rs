//! What a task has to show before its work is joined, and where that is written down.

use super::{RUN, at, ends_well, ground, run, snapshots, task, with};
use crate::{agents, agents::bodies, harness::Project};
use serde_json::{Value, json};
use std::fs;

const LAY: &str = "run: `echo laid >> ground.txt`";

#[test]
fn verify_commands_see_the_commit_and_nothing_else() {
    let look =
        "verify: `git log -1 --format=%B; git status --porcelain; git rev-parse --abbrev-ref HEAD`";
    let project = with(&ground(&[task(
        "T1.1",
        &["run: `echo laid >> ground.txt; echo new > new.txt`", look],
    )]));
    ends_well(&project, RUN);
    let said = project.must("run logs T1.1").stdout;
    assert_eq!(
        said,
        "T1.1: Do T1.1\n\nWaypost-Task: T1.1\nWaypost-Attempt: 1\n\nworktree/phase-1-ground--T1.1-1\n"
    );
    let joined = project.git_command("log -1 --format=%B --grep=^Waypost-Evidence: main");
    assert!(joined.contains("Waypost-Evidence: check `git log -1 --format=%B;"), "{joined}");
    let work = project
        .git_command("log --format=%H --grep=^Waypost-Attempt: --no-merges main")
        .trim()
        .to_owned();
    let evidence = &bodies(&project, "task_completed")[0]["evidence"];
    assert_eq!((&evidence["kind"], &evidence["tree"]), (&json!("check"), &json!(work)));
    let joined = project.git_command("log -1 --format=%h --grep=^Waypost-Evidence: main");
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("check `git log") && why.contains(joined.trim()), "{why}");
}

#[test]
fn a_verification_that_changes_what_it_verifies_proves_nothing() {
    let project =
        with(&ground(&[task("T1.1", &[LAY, "verify: `echo x >> other.txt; echo y > new.txt`"])]));
    run(&project, RUN, 1, &["its verification has changed files that are committed: other.txt"]);
    assert_eq!(at(&project, "main", "ground.txt"), "earth\n");
    // A new file belongs to no task, and is not joined.
    let project = with(&ground(&[task("T1.1", &[LAY, "verify: `echo y > report.txt`"])]));
    run(&project, RUN, 0, &[]);
    assert!(!project.path("report.txt").exists());
}

#[test]
fn a_verification_that_commits_has_not_verified_that() {
    let verify = "verify: `echo x >> other.txt; git commit -qam sneaked`";
    let project = with(&ground(&[task("T1.1", &[LAY, verify])]));
    run(&project, RUN, 1, &["changed files that are committed: other.txt"]);
    assert_eq!(at(&project, "main", "other.txt"), "sky\n");
}

#[test]
fn declared_files_have_to_be_touched() {
    let project = with(&ground(&[task("T1.1", &[LAY, "files: other.txt, docs/"])]));
    run(&project, RUN, 1, &["it changed none of the files that it declares: other.txt, docs/"]);
    let project = with(&ground(&[task("T1.1", &[LAY, "files: ground.txt, docs/"])]));
    ends_well(&project, RUN);
}

#[test]
fn a_command_that_changes_nothing_is_done_without_a_commit() {
    let project = with(&ground(&[task("T1.1", &["run: `true`"]), task("T1.2", &[LAY])]));
    ends_well(&project, RUN);
    let joined = project.git_command("log --format=%s --grep=^Waypost-Evidence: main");
    assert_eq!(joined, "T1.2: Do T1.2\n");
    assert!(project.read("TASKS.md").contains("- [x] T1.1"));
    let refused = project.run("run revert T1.1");
    assert!(refused.stderr.contains("without a commit of its own"), "{refused}");
}

/// One task of a scripted agent, with work trees.
fn agent(attempts: &[Value]) -> Project {
    let project = agents::one(attempts).variable("WAYPOST_RUN_ISOLATION", "auto");
    for line in ["config user.name Mina", "config user.email mina@example.org"] {
        project.git_command(line);
    }
    project
}

#[test]
fn agents_work_in_trees_of_their_own_without_being_told() {
    let project =
        agent(&[json!([{"write": {"file": "a.txt", "text": "made\n"}}, {"done": "made"}])]);
    ends_well(&project, "run --no-budget --retry-limit 0");
    assert_eq!(project.read("a.txt"), "made\n");
    assert_eq!(
        project.git_command("log --first-parent --format=%s main"),
        "Merge phase 1: One\nbegin\n"
    );
}

#[test]
fn a_run_that_does_everything_again_has_trees_as_well() {
    let made = json!([{"run": "echo made >> a.txt"}, {"done": "made"}]);
    let project = agent(&[made.clone(), made]);
    ends_well(&project, "run --no-budget --retry-limit 0");
    ends_well(&project, "run --new --no-budget --retry-limit 0");
    assert_eq!(project.git_command("status --porcelain"), "");
    assert_eq!(
        project.git_command("log --first-parent --format=%s main"),
        "Merge phase 1: One\nMerge phase 1: One\nbegin\n"
    );
}

#[test]
fn an_agent_that_leaves_no_change_and_says_nothing_has_failed() {
    let project = agent(&[json!([{"tool": "Read", "input": "x"}, {"say": "bye"}])]);
    run(
        &project,
        "run --no-budget --retry-limit 0",
        1,
        &["it left no change and did not say `DONE:T1.1`"],
    );
    let project =
        agent(&[json!([{"tool": "Read", "input": "x"}, {"done": "there was nothing to do"}])]);
    ends_well(&project, "run --no-budget --retry-limit 0");
}

#[test]
fn what_an_agent_commits_by_itself_counts_and_keeps_its_words() {
    let commit = "echo a > a.txt && git add . && git commit -qm 'mine: a' && echo b > b.txt";
    let project = agent(&[json!([{"run": commit}, {"done": "made"}])]);
    ends_well(&project, "run --no-budget --retry-limit 0");
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("a\n".into(), "b\n".into()));
    let log = project.git_command("log --topo-order --format=%s --no-merges main");
    assert_eq!(log, "T1.1: Do T1.1\nmine: a\nbegin\n");
    // All of it committed, and nothing left for us.
    let project = agent(&[
        json!([{"run": "echo a > a.txt && git add . && git commit -qm 'mine: a'"}, {"done": "made"}]),
    ]);
    ends_well(&project, "run --no-budget --retry-limit 0");
    assert_eq!(
        project.git_command("log --topo-order --format=%s --no-merges main"),
        "mine: a\nbegin\n"
    );
    assert_eq!(
        project.git_command("log --format=%s --grep=^Waypost-Evidence: main"),
        "T1.1: Do T1.1\n"
    );
}

#[test]
fn an_agent_that_goes_elsewhere_in_its_tree_is_joined_or_told() {
    // On a branch of its own it is still what the tree has.
    let project =
        agent(&[json!([{"run": "git switch -qc mine && echo a > a.txt"}, {"done": "made"}])]);
    run(&project, "run --no-budget --retry-limit 0", 0, &[]);
    assert_eq!(project.read("a.txt"), "a\n");
    let orphan =
        "git switch -q --orphan alone && echo a > a.txt && git add . && git commit -qm alone";
    let project = agent(&[json!([{"run": orphan}, {"done": "made"}])]);
    run(&project, "run --no-budget --retry-limit 0", 1, &["nothing to do with its phase"]);
    assert!(!project.path("a.txt").exists());
}

#[test]
fn a_conversation_goes_on_in_the_same_work_tree() {
    let broken = json!([{"write": {"file": "half.txt", "text": "half\n"}}, {"run": "pwd >> ../../../where"}, {"crash": 3}]);
    let rest =
        json!([{"run": "pwd >> ../../../where; cat half.txt > whole.txt"}, {"done": "whole"}]);
    let project = agent(&[broken, rest]);
    ends_well(&project, "run --no-budget");
    let seen = fs::read_to_string(project.base().join("where")).unwrap();
    let seen: Vec<&str> = seen.lines().collect();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], seen[1]);
    assert_eq!(
        (project.read("half.txt"), project.read("whole.txt")),
        ("half\n".into(), "half\n".into())
    );
    assert_eq!(snapshots(&project), [""; 0]);
}

#[test]
fn one_that_begins_anew_begins_without_what_was_left() {
    let failed =
        json!([{"write": {"file": "half.txt", "text": "half\n"}}, {"fail": "not like this"}]);
    let done = json!([{"run": "test ! -e half.txt && echo new > new.txt"}, {"done": "better"}]);
    let project = agent(&[failed, done]);
    ends_well(&project, "run --no-budget");
    assert!(!project.path("half.txt").exists());
    let kept = snapshots(&project);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(at(&project, &kept[0], "half.txt"), "half\n");
}
