//! Branches and work trees of ours that another person moves, deletes or has taken.

use super::{
    PHASE, RUN, during, ends_well, git_in, ground, head, is_held, names, run, snapshots, task, with,
};
use crate::harness::Project;
use std::fs;

#[test]
fn a_target_that_lost_what_the_phase_began_with_is_not_given_it_back() {
    let project = during("git reset -q --hard HEAD~1");
    let began = head(&project, "main");
    let reset = project.git_command("rev-parse main~1").trim().to_owned();
    run(
        &project,
        RUN,
        1,
        &["main does not have", &began[..7], "git merge worktree/phase-1-ground"],
    );
    is_held(&project, &reset);
    assert!(!project.path("other.txt").exists());
    // It was meant to come back.
    project.git_command(&format!("reset -q --hard {began}"));
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
}

#[test]
fn a_target_that_was_rebased_may_be_merged_with_by_hand() {
    let project = during("git commit -q --amend -m rewritten");
    let began = head(&project, "main");
    run(&project, RUN, 1, &["main does not have", &began[..7]]);
    project.git_command(&format!("merge -q --no-edit {PHASE}"));
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
}

#[test]
fn work_that_vanishes_from_the_phase_is_missed() {
    let reset = "run: `until git log --format=%s refs/heads/worktree/phase-1-ground | grep -q T1.1; \
                 do sleep 0.05; done; git update-ref refs/heads/worktree/phase-1-ground main`";
    let project =
        with(&ground(&[task("T1.1", &["run: `echo laid >> ground.txt`"]), task("T1.2", &[reset])]));
    let main = head(&project, "main");
    let ran = run(&project, RUN, 1, &["does not have the work of T1.1"]);
    is_held(&project, &main);
    // The text says how it comes back.
    let told = ran.stderr.split('`').find(|part| part.starts_with("git -C worktree/")).unwrap();
    project.git_command(told.strip_prefix("git ").unwrap());
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
}

#[test]
fn an_attempt_without_its_work_tree_has_failed_and_is_done_again() {
    for how in
        ["rm -rf \"$PWD\"", "cd ../.. && git worktree remove -f -f worktree/phase-1-ground--T1.1-1"]
    {
        let work = format!(
            "run: `echo laid >> ground.txt; test -e ../../../once || {{ touch ../../../once; {how}; }}`"
        );
        let project = with(&ground(&[task("T1.1", &[&work])]));
        let ran = ends_well(&project, "run --isolation task --retry-limit 1");
        assert!(ran.stderr.contains("its work tree was removed"), "{how}: {ran}");
        assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    }
}

#[test]
fn a_phase_without_its_work_tree_gets_another() {
    for how in
        ["rm -rf worktree/phase-1-ground", "git worktree remove -f -f worktree/phase-1-ground"]
    {
        let project = during(how);
        ends_well(&project, RUN);
        assert_eq!(project.read("ground.txt"), "earth\nlaid\n", "{how}");
    }
}

#[test]
fn in_the_work_tree_of_its_phase_a_task_is_done_again_as_well() {
    for how in ["rm -rf \"$PWD\"", "cd ../.. && git worktree remove -f -f worktree/phase-1-ground"]
    {
        let work = format!(
            "run: `echo laid >> ground.txt; test -e ../../../once || {{ touch ../../../once; {how}; }}`"
        );
        let project = with(&ground(&[task("T1.1", &[&work])]));
        let ran = ends_well(&project, "run --isolation phase --retry-limit 1");
        assert!(ran.stderr.contains("its work tree was removed"), "{how}: {ran}");
        assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    }
}

/// A refused command has changed nothing.
#[track_caller]
fn nothing_has_begun(project: &Project) {
    assert!(!project.journal().exists(), "a journal was made");
    assert!(!project.path(".claude/orchestrate-state.json").exists(), "a run is shown");
    assert_eq!(project.git_command("for-each-ref refs/waypost"), "");
}

/// Also what only a later phase will need.
#[test]
fn what_is_in_the_way_of_a_later_phase_is_found_before_the_first_begins() {
    let walls = task("T2.1", &["run: `echo more > more.txt`"]);
    let project = with(&format!(
        "{}\n## Phase 2: Walls\n\n{walls}",
        ground(&[task("T1.1", &["run: `true`"])])
    ));
    project.git_command("branch worktree/phase-2-walls");
    run(&project, RUN, 3, &["that this run did not make", "worktree/phase-2-walls"]);
    nothing_has_begun(&project);
    // Only what is to be worked on has to be free.
    run(&project, &format!("{RUN} --phase 1"), 0, &[]);
    let before = project.log().len();
    run(&project, "run --resume", 3, &["that this run did not make"]);
    assert_eq!(project.log().len(), before);
    project.git_command("branch -m worktree/phase-2-walls theirs");
    ends_well(&project, "run --resume");
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let project = during("true");
    project.write("worktree/phase-1-ground/mine.txt", "mine\n");
    run(&project, RUN, 5, &["is in the way", "move it away or delete it"]);
    nothing_has_begun(&project);
    assert_eq!(project.read("worktree/phase-1-ground/mine.txt"), "mine\n");
    fs::rename(project.path("worktree/phase-1-ground"), project.base().join("aside")).unwrap();
    ends_well(&project, RUN);
}

#[test]
fn a_file_where_work_trees_are_made_is_left_alone() {
    let project = during("true");
    project.write("worktree", "mine\n");
    run(&project, RUN, 5, &["is not a folder", "move it away"]);
    nothing_has_begun(&project);
    assert_eq!(project.read("worktree"), "mine\n");
    fs::remove_file(project.path("worktree")).unwrap();
    std::os::unix::fs::symlink(project.base(), project.path("worktree")).unwrap();
    run(&project, RUN, 5, &["is not a folder", "move it away"]);
    nothing_has_begun(&project);
    fs::remove_file(project.path("worktree")).unwrap();
    ends_well(&project, RUN);
    assert!(!names(&project.base()).iter().any(|name| name.starts_with("phase-")));
}

#[test]
fn a_branch_of_somebody_else_is_left_alone() {
    let project = during("true");
    project.git_command("branch worktree/phase-1-ground HEAD~1");
    let theirs = head(&project, PHASE);
    run(&project, RUN, 3, &["that this run did not make", "git branch -m worktree/phase-1-ground"]);
    nothing_has_begun(&project);
    assert_eq!(head(&project, PHASE), theirs);
    project.git_command("branch -m worktree/phase-1-ground theirs");
    ends_well(&project, RUN);
    assert_eq!(head(&project, "theirs"), theirs);
}

#[test]
fn a_branch_whose_name_ours_would_be_below_is_told() {
    let project = during("true");
    project.git_command("branch worktree");
    run(&project, RUN, 3, &["a branch worktree", "git branch -m worktree"]);
    nothing_has_begun(&project);
    project.git_command("branch -m worktree theirs");
    ends_well(&project, RUN);
}

#[test]
fn what_somebody_leaves_in_the_work_tree_of_a_phase_is_kept_aside() {
    let project = during("echo mine > worktree/phase-1-ground/mine.txt");
    run(&project, RUN, 0, &[]);
    assert!(!project.path("mine.txt").exists(), "nobody has committed it");
    let kept = snapshots(&project);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let shown = git_in(&project, &project.root, &["show", &format!("{}:mine.txt", kept[0])]);
    assert_eq!(shown, "mine\n");
}
