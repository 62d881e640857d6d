//! The branch that a run is merged into, and its checkout: dirty, elsewhere, in the middle of
//! something, or gone.

use super::{
    RUN, at, dirt, during, ends_well, git_in, ground, head, is_held, is_tidy, run, task, with,
};
use std::fs;

#[test]
fn dirt_that_the_merge_does_not_touch_stays_as_it_is() {
    for isolation in ["task", "phase"] {
        let project = with(&ground(&[task("T1.1", &["run: `echo laid >> ground.txt`"])]));
        project.write("other.txt", "mine\n");
        project.write("staged.txt", "staged\n");
        project.git_command("add staged.txt");
        project.write("note.txt", "mine, too\n");
        let before = dirt(&project);
        ends_well(&project, &format!("run --isolation {isolation}"));
        assert_eq!(dirt(&project), before);
        assert_eq!(project.read("other.txt"), "mine\n");
        assert_eq!(project.read("ground.txt"), "earth\nlaid\n", "{isolation}");
        assert_eq!(at(&project, "main", "other.txt"), "sky\n");
    }
}

#[test]
fn dirt_that_the_merge_would_touch_holds_it() {
    let mend: [(&str, &str, &str); 5] = [
        ("ground.txt", "", "checkout -q ground.txt"),
        ("ground.txt", "add ground.txt", "reset -q --hard"),
        ("new.txt", "", "clean -qfd"),
        ("new.txt", "add new.txt", "reset -q --hard"),
        // A file where a folder has to be.
        ("deep", "", "clean -qfd"),
    ];
    for (file, stage, mend) in mend {
        let work =
            "run: `echo laid >> ground.txt; echo made > new.txt; mkdir deep; echo x > deep/x`";
        let project = with(&ground(&[task("T1.1", &[work])]));
        project.write(file, "mine\n");
        if !stage.is_empty() {
            project.git_command(stage);
        }
        let (before, main) = (dirt(&project), head(&project, "main"));
        let says = ["The merge changes files that have uncommitted changes in", file];
        run(&project, RUN, 1, &says);
        is_held(&project, &main);
        assert_eq!((dirt(&project), project.read(file)), (before, "mine\n".into()), "{file}");
        // As often as one likes.
        run(&project, "run --resume", 1, &says);
        is_held(&project, &main);
        project.git_command(mend);
        ends_well(&project, "run --resume");
        assert_eq!(project.read("deep/x"), "x\n");
        assert_eq!(dirt(&project), "");
    }
}

#[test]
fn ignored_files_that_the_merge_would_replace_hold_it() {
    // What is there, what the task makes, and what is named.
    let table = [
        (".env", "echo fake > .env", ".env"),
        ("data/rows", "echo fake > data", "data/rows"),
        ("data", "mkdir data; echo fake > data/x", "data"),
        ("data/deep/rows", "mkdir data; echo fake > data/deep", "data/deep/rows"),
    ];
    for (file, make, named) in table {
        for isolation in ["task", "phase"] {
            let work = format!("run: `{make}; git add -f .; git commit -qm forced`");
            let project = with(&ground(&[task("T1.1", &[&work])]));
            fs::write(project.path(".git/info/exclude"), ".env\ndata\n").unwrap();
            project.write(file, "mine\n");
            let main = head(&project, "main");
            let line = format!("run --isolation {isolation} --retry-limit 0");
            let says = ["The merge would replace files in", "that git ignores", named];
            run(&project, &line, 1, &says);
            is_held(&project, &main);
            assert_eq!(project.read(file), "mine\n", "{make}");
            run(&project, "run --resume", 1, &says);
            assert_eq!(project.read(file), "mine\n", "{make}");
            let there = named.split('/').next().unwrap();
            fs::rename(project.path(there), project.base().join("aside")).unwrap();
            ends_well(&project, "run --resume");
            assert!(project.git_command("ls-tree -r --name-only main").contains(there));
        }
    }
}

#[test]
fn changes_that_git_was_told_not_to_see_hold_the_merge() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let project = with(&ground(&[task("T1.1", &["run: `echo laid >> ground.txt`"])]));
        project.git_command(&format!("update-index {mark} ground.txt"));
        project.write("ground.txt", "mine\n");
        let main = head(&project, "main");
        run(&project, RUN, 1, &["could not be updated", "local changes"]);
        is_held(&project, &main);
        assert_eq!(project.read("ground.txt"), "mine\n", "{mark}");
    }
}

#[test]
fn ignored_files_beside_the_merge_stay() {
    let work = "run: `mkdir data; echo new > data/new; git add -f data; git commit -qm forced`";
    let project = with(&ground(&[task("T1.1", &[work])]));
    fs::write(project.path(".git/info/exclude"), ".env\ndata\n").unwrap();
    project.write("data/rows", "mine\n");
    project.write(".env", "mine\n");
    ends_well(&project, RUN);
    assert_eq!(project.read("data/rows"), "mine\n");
    assert_eq!(project.read("data/new"), "new\n");
    assert_eq!(project.read(".env"), "mine\n");
}

#[test]
fn a_link_in_the_way_is_neither_followed_nor_replaced() {
    let work = "run: `mkdir data; echo fake > data/rows; git add -f data; git commit -qm forced`";
    let project = with(&ground(&[task("T1.1", &[work])]));
    fs::write(project.path(".git/info/exclude"), "data\n").unwrap();
    let aside = project.base().join("aside");
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("rows"), "mine\n").unwrap();
    std::os::unix::fs::symlink(&aside, project.path("data")).unwrap();
    let main = head(&project, "main");
    run(&project, RUN, 1, &["that git ignores", "data"]);
    is_held(&project, &main);
    assert_eq!(fs::read_to_string(aside.join("rows")).unwrap(), "mine\n");
    assert_eq!(fs::read_link(project.path("data")).unwrap(), aside);
}

#[test]
fn taking_a_task_back_replaces_no_ignored_file() {
    let project = with(&ground(&[task("T1.1", &["run: `git rm -q other.txt`"])]));
    ends_well(&project, RUN);
    fs::write(project.path(".git/info/exclude"), "other.txt\n").unwrap();
    project.write("other.txt", "mine\n");
    let main = head(&project, "main");
    let ran = project.run("run revert T1.1");
    assert_ne!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("that git ignores: other.txt"), "{ran}");
    assert_eq!((head(&project, "main"), project.read("other.txt")), (main, "mine\n".into()));
    fs::remove_file(project.path("other.txt")).unwrap();
    project.must("run revert T1.1");
    assert_eq!(project.read("other.txt"), "sky\n");
}

#[test]
fn a_commit_of_somebody_else_is_merged_with() {
    let project = during("echo more >> other.txt; git commit -qam theirs");
    ends_well(&project, RUN);
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.read("other.txt"), "sky\nmore\n");
    assert_eq!(
        project.git_command("log --first-parent --format=%s -3"),
        "Merge phase 1: Ground\ntheirs\nbegin\n"
    );
}

#[test]
fn a_conflict_with_somebody_else_is_resolved_in_the_phase() {
    resolve_in_the_phase(RUN);
}

#[test]
fn what_a_person_does_in_a_shared_tree_that_is_held_stays() {
    resolve_in_the_phase("run --isolation phase --retry-limit 0");
}

fn resolve_in_the_phase(line: &str) {
    let project = during("echo theirs >> ground.txt; git commit -qam theirs");
    let ran = project.run(line);
    let theirs = head(&project, "main");
    assert_eq!(ran.code, 1, "{ran}");
    let command = "git -C worktree/phase-1-ground merge main";
    assert!(ran.stderr.contains("ground.txt") && ran.stderr.contains(command), "{ran}");
    is_held(&project, &theirs);
    let phase = project.path(super::PHASE);
    let merge = project.command("git", &phase).args(["merge", "main"]).output().unwrap();
    assert!(!merge.status.success());
    fs::write(phase.join("ground.txt"), "earth\ntheirs\nlaid\n").unwrap();
    // Not committed yet: nothing of it may be thrown away.
    run(&project, "run --resume", 1, &["ground.txt", "commit"]);
    assert_eq!(fs::read_to_string(phase.join("ground.txt")).unwrap(), "earth\ntheirs\nlaid\n");
    git_in(&project, &phase, &["commit", "-qam", "resolved"]);
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\ntheirs\nlaid\n");
    assert!(project.read("TASKS.md").contains("- [x] T1.1"));
}

#[test]
fn a_conflict_with_somebody_else_is_resolved_on_the_target() {
    let project = during("echo theirs >> ground.txt; git commit -qam theirs");
    run(&project, RUN, 1, &["ground.txt"]);
    let merge =
        project.command("git", &project.root).args(["merge", super::PHASE]).output().unwrap();
    assert!(!merge.status.success());
    project.write("ground.txt", "earth\nboth\n");
    project.git_command("commit -qam resolved");
    let resolved = head(&project, "main");
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nboth\n");
    let phase = project.window(crate::harness::RUN)["checkpoints"]["phase_1"].clone();
    assert_eq!(phase["merged"], true, "{phase}");
    project.git_command(&format!("merge-base --is-ancestor {resolved} main"));
}

#[test]
fn a_target_that_is_not_checked_out_is_merged_into_all_the_same() {
    let project = during("git switch -qc elsewhere");
    let before = head(&project, "main");
    ends_well(&project, RUN);
    assert_eq!(head(&project, "elsewhere"), before);
    assert_eq!(at(&project, "main", "ground.txt"), "earth\nlaid\n");
    assert_eq!(project.read("ground.txt"), "earth\n", "what is checked out was not touched");
    assert_eq!(dirt(&project), "");
}

#[test]
fn a_target_in_another_work_tree_is_updated_there() {
    let project = during("git switch -qc elsewhere; git worktree add -q ../beside main");
    ends_well(&project, RUN);
    let beside = project.base().join("beside");
    assert_eq!(fs::read_to_string(beside.join("ground.txt")).unwrap(), "earth\nlaid\n");
    assert_eq!(git_in(&project, &beside, &["status", "--porcelain"]), "");
    assert_eq!(project.read("ground.txt"), "earth\n");
}

#[test]
fn a_run_that_begins_in_another_work_tree_merges_there() {
    let project = with(&ground(&[task("T1.1", &["run: `echo laid >> ground.txt`"])]));
    project.git_command("worktree add -q -b side ../beside");
    let beside = project.base().join("beside");
    let ran = project.run_in(&beside, RUN);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(fs::read_to_string(beside.join("ground.txt")).unwrap(), "earth\nlaid\n");
    assert_eq!(project.read("ground.txt"), "earth\n");
    is_tidy(&project);
}

#[test]
fn a_rebase_of_the_target_is_waited_for() {
    let project = during("git rebase -q side || true");
    project.git_command("branch side HEAD~1");
    project.git_command("switch -q side");
    project.write("other.txt", "rain\n");
    project.git_command("add .");
    project.git_command("commit -qm rain");
    project.git_command("switch -q main");
    let before = head(&project, "main");
    run(&project, RUN, 1, &["main is being rebased in", "finish that or abort it"]);
    is_held(&project, &before);
    project.git_command("rebase --abort");
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
}

#[test]
fn a_target_that_was_deleted_is_missed() {
    let project = during("git switch -q --detach; git branch -qD main");
    let before = head(&project, "main");
    run(&project, RUN, 1, &["The branch main is gone"]);
    project.git_command(&format!("branch main {before}"));
    ends_well(&project, "run --resume");
    assert_eq!(at(&project, "main", "ground.txt"), "earth\nlaid\n");
}

#[test]
fn boxes_of_a_file_that_is_being_edited_are_left() {
    let project = during("echo '<!-- mine -->' >> TASKS.md");
    let ran = ends_well(&project, RUN);
    let told = "TASKS.md has changes of yours, and no merge comes after this one: tick the boxes of phase 1";
    assert!(ran.stderr.contains(told), "{ran}");
    let text = project.read("TASKS.md");
    assert!(text.ends_with("<!-- mine -->\n") && text.contains("- [ ] T1.1"), "{text}");
    assert!(at(&project, "main", "TASKS.md").contains("- [ ] T1.1"));
    // The next merge has them.
    project.write("TASKS.md", &format!("{text}{}", task("T1.2", &["run: `echo x > x.txt`"])));
    project.git_command("commit -qam edited");
    ends_well(&project, RUN);
    let text = project.read("TASKS.md");
    assert!(text.contains("- [x] T1.1") && text.contains("- [x] T1.2"), "{text}");
}

#[test]
fn a_file_of_tasks_that_git_does_not_know_is_not_ticked() {
    let project = during("true");
    project.git_command("rm -q --cached TASKS.md");
    project.git_command("commit -qm untracked");
    ends_well(&project, RUN);
    assert!(project.read("TASKS.md").contains("- [ ] T1.1"));
    assert_eq!(dirt(&project), "?? TASKS.md\n");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
}
