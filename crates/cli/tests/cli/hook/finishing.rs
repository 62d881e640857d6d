//! What finishes the work: allowed for the content that the last gate was passed for, no other.

use super::{Answer, Asked, Project, answer};
use crate::terminal::no_person_is_here;
use serde_json::json;
use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, process::Stdio};

/// In PR, with the first two gates passed; what the last one needs is in waypost.toml.
fn in_pr(needs: &str) -> Project {
    let project = Project::git();
    project.write("waypost.toml", &format!("[workflow.gates.re_review_clean]\n{needs}\n"));
    project.write("review.md", "Blocking: 0\n");
    project.write("src/lib.rs", "pub fn one() {}\n");
    project.git_command("add -A");
    project.git_command("commit -q -m start");
    for line in [
        "develop start 'Live chat'",
        "develop advance --checkpoint cp-1",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
        "develop checkpoint start cp-1",
        "develop checkpoint pass cp-1",
        "develop gate pass architect_verified --report review.md",
        "develop advance",
    ] {
        project.must(line);
    }
    project
}

fn is_passed(project: &Project) -> bool {
    project.json("develop status")["state"]["gates"]["re_review_clean"] == json!(true)
}

#[test]
fn an_edit_after_the_last_gate_closes_it_again() {
    let project = in_pr("check = \"true\"");
    project.must("develop gate pass re_review_clean");
    assert_eq!(project.may_run(Asked::Small, "git commit -am x"), Answer::Allowed);
    // Committing does not change the content.
    project.write("src/lib.rs", "pub fn two() {}\n");
    project.must("develop gate pass re_review_clean");
    project.git_command("commit -q -am two");
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);

    project.write("src/new.rs", "an untracked file counts\n");
    assert!(is_passed(&project), "looked at by finishing commands only");
    let refused = project.may_run(Asked::Small, "git push");
    insta::assert_snapshot!(refused.refused(), @"files have changed since re_review_clean was passed, so it is closed again; `git push` pushes, which is closed in phase PR; it needs re_review_clean passed; next: `waypost develop gate pass re_review_clean`");
    assert!(!is_passed(&project));
    let log = project.log();
    let reset = log.iter().rev().find(|entry| entry["kind"] == "gate_reset").unwrap();
    assert_eq!(
        (reset["body"]["why"].as_str(), reset["actor"].as_str()),
        (Some("stale"), Some("waypost"))
    );
}

#[test]
fn nothing_leaves_but_what_was_reviewed() {
    // Staged and committed before, with the files as they should be.
    let project = in_pr("check = \"true\"");
    project.write("src/lib.rs", "pub fn evil() {}\n");
    project.git_command("add src/lib.rs");
    project.write("src/lib.rs", "pub fn two() {}\n");
    project.must("develop gate pass re_review_clean");
    let refused = project.may_run(Asked::Small, "git commit -m x");
    assert!(refused.refused().contains("what is staged of src/lib.rs"), "{refused:?}");
    project.git_command("commit -q -m evil");
    let refused = project.may_run(Asked::Small, "git push");
    assert!(refused.refused().contains("the last commit has not src/lib.rs"), "{refused:?}");
    project.git_command("commit -q -am good");
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);
    // A file that was reviewed, and is staged to go.
    let project = in_pr("check = \"true\"");
    project.git_command("rm -q --cached src/lib.rs");
    project.must("develop gate pass re_review_clean");
    assert!(!project.may_run(Asked::Small, "git commit -m x").is_allowed());
}

#[test]
fn what_is_ignored_and_what_is_ours_does_not_count() {
    let project = in_pr("check = \"true\"");
    project.write(".gitignore", "target/\n");
    project.must("develop gate pass re_review_clean");
    project.write("target/build.log", "noise\n");
    project.write(".develop-workflow/notes.txt", "ours\n");
    project.write(".claude/settings.local.json", "{}\n");
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);
    assert!(project.git_command("status --porcelain --untracked-files=all").contains(".gitignore"));
    assert_eq!(
        project.git_command("diff --cached --name-only"),
        "",
        "the user's index is not ours"
    );
}

#[test]
fn nothing_of_the_repository_is_run_to_look_at_the_content() {
    let project = in_pr("check = \"true\"");
    let mark = project.base().join("was-run");
    let evil = format!("touch {}; cat", mark.display());
    project.git_command(&format!("config filter.evil.clean '{evil}'"));
    project.git_command("config filter.evil.required true");
    project.git_command(&format!("config core.fsmonitor '{evil}'"));
    project.write(".gitattributes", "* filter=evil\n");
    let hook = project.path(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{evil}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    project.must("develop gate pass re_review_clean");
    assert!(is_passed(&project));
    assert!(!mark.exists(), "a program of the repository was run");
}

/// What is done to a work tree, as lines for a shell.
#[track_caller]
fn shell(project: &Project, line: &str) {
    let mut command = project.command("sh", &project.root);
    let ran = crate::harness::Ran::from(command.args(["-c", line]).output().unwrap());
    assert_eq!(ran.code, 0, "{line}: {ran}");
}

#[test]
fn no_setting_of_the_repository_hides_an_edit() {
    let check = |before: &str, after: &str| {
        let project = in_pr("check = \"true\"");
        shell(&project, before);
        project.must("develop gate pass re_review_clean");
        assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed, "{before}");
        shell(&project, after);
        let refused = project.may_run(Asked::Small, "git push");
        assert!(refused.refused().contains("files have changed"), "{before}; {after}: {refused:?}");
    };
    let edit = "echo 'pub fn two() {}' > src/lib.rs";
    // As large as before, and with the same time.
    let same = "touch -d 2020-01-01T00:00:00Z src/lib.rs";
    check(same, &format!("{edit}; {same}"));
    check(&format!("git config core.checkStat minimal; {same}"), &format!("{edit}; {same}"));
    check(&format!("git config core.trustctime false; {same}"), &format!("{edit}; {same}"));
    check("git config core.ignoreStat true", edit);
    check("git config core.worktree ../elsewhere; cp -r . ../elsewhere", edit);
    check("git config core.fileMode false", "chmod +x src/lib.rs");
    check("git update-index --assume-unchanged src/lib.rs", edit);
    check("git update-index --skip-worktree src/lib.rs", edit);
    check("git sparse-checkout set docs; mkdir -p src; echo > src/new.rs", "echo x > src/new.rs");
    check("echo 'src/' > .git/info/exclude", edit);
    check("mkdir gen; echo 'gen/' > .gitignore; echo > gen/a; git add -f gen", "echo x > gen/a");
    check("mkdir worktree; echo > worktree/a; git add -f worktree", "echo x > worktree/a");
}

#[test]
fn a_file_that_has_come_to_be_ignored_does_not_count() {
    let project = in_pr("check = \"true\"");
    project.write("build.log", "noise\n");
    project.must("develop gate pass re_review_clean");
    project.write(".gitignore", "build.log\n");
    project.must("develop gate pass re_review_clean");
    project.write("build.log", "more noise\n");
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);
}

#[test]
fn an_index_of_ours_that_is_broken_is_made_anew() {
    let project = in_pr("check = \"true\"");
    project.must("develop gate pass re_review_clean");
    fs::write(project.journal().join("scratch/main/index"), "no index").unwrap();
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);
}

#[test]
fn a_check_that_changes_files_has_proven_nothing() {
    let project = in_pr("check = \"echo x >> src/lib.rs\"");
    let ran = project.run("develop gate pass re_review_clean");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("changed files"), "{ran}");
    assert!(!is_passed(&project));
}

#[test]
fn the_last_phase_is_left_only_with_a_gate_that_still_holds() {
    let project = in_pr("check = \"true\"");
    project.must("develop gate pass re_review_clean");
    project.write("src/lib.rs", "pub fn late() {}\n");
    let ran = project.run("develop advance");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("DONE needs re_review_clean"), "{ran}");
    project.must("develop gate pass re_review_clean");
    project.must("develop advance");
}

#[test]
fn taking_the_work_up_again_looks_at_the_gate_of_its_phase() {
    let project = in_pr("check = \"true\"");
    project.must("develop gate pass re_review_clean");
    project.must("develop resume --continue");
    assert!(is_passed(&project), "nothing has changed");
    project.write("src/lib.rs", "pub fn other() {}\n");
    project.must("develop resume --continue");
    assert!(!is_passed(&project));
}

#[test]
fn a_person_is_asked_in_the_inbox_and_answers_for_what_was_there() {
    if no_person_is_here() {
        return;
    }
    let project = in_pr("human = true\ncheck = \"true\"");
    let asked = project.run("develop gate pass re_review_clean");
    assert_eq!(asked.code, 3, "{asked}");
    let told = project.transcript(&["develop gate pass re_review_clean", "inbox show q1"]);
    insta::assert_snapshot!("asked", told);
    assert_eq!(project.run("inbox answer q1 confirm").code, 3, "not for an agent");

    project.write("src/lib.rs", "pub fn later() {}\n");
    let late = project.as_person("inbox answer q1 confirm");
    assert_eq!(late.code, 3, "{late}");
    assert!(late.stderr.contains("files have changed"), "{late}");
    assert_eq!(project.run("develop gate pass re_review_clean").code, 3);
    project.person_must("inbox answer q1 confirm");
    assert!(is_passed(&project));
    assert_eq!(project.may_run(Asked::Small, "git commit -am later"), Answer::Allowed);
    project.git_command("commit -q -am later");
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);
    assert_eq!(project.json("inbox list"), json!([]));
}

#[test]
fn gits_own_hooks_hold_the_same_gates() {
    let project = in_pr("check = \"true\"");
    let git = |line: &str, refs: &str| {
        let mut command = project.command(crate::harness::BINARY, &project.root);
        command.args(["hook", "git"]).args(line.split(' '));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _unread = child.stdin.take().unwrap().write_all(refs.as_bytes());
        crate::harness::Ran::from(child.wait_with_output().unwrap())
    };
    let topic = "refs/heads/topic 1111 refs/heads/topic 0000\n";
    let commit = git("pre-commit", "");
    assert_eq!(commit.code, 1, "{commit}");
    assert!(commit.stderr.contains("which is closed in phase PR"), "{commit}");
    assert_eq!(git("pre-push origin url", topic).code, 1);
    assert_eq!(git("pre-push origin url", "").code, 0, "nothing is pushed");
    project.must("develop gate pass re_review_clean");
    assert_eq!(git("pre-commit", "").code, 0);
    assert_eq!(git("pre-push origin url", topic).code, 0);
    project.write("src/lib.rs", "pub fn late() {}\n");
    assert_eq!(git("pre-commit", "").code, 1);
    let refused = project.must("log --refused --json").stdout;
    assert!(refused.contains("\"program\":\"git\""), "{refused}");
}

#[test]
fn suspended_gates_let_everything_pass_but_what_they_rest_on() {
    if no_person_is_here() {
        return;
    }
    let project = in_pr("check = \"true\"");
    project.person_must("develop suspend --reason hotfix");
    assert_eq!(project.may_run(Asked::Small, "git push"), Answer::Allowed);
    project.may_write(Asked::Small, "waypost.toml").refused();
    project.must("develop resume --continue");
    project.may_run(Asked::Small, "git push").refused();
    let ran = project.hook(Asked::Small, &project.tool_event("Read", &json!({ "file_path": "x" })));
    assert!(answer(&ran).is_allowed());
}
