//! What git does to the windows, and the windows of several work trees.

use super::{Case, Who::Agent, settled, table};
use crate::harness::{Project, RUN, TASKS, WORKFLOW};
use insta::assert_snapshot;
use std::path::PathBuf;

/// A repository in which a person has tracked both windows, which went on since.
fn tracked() -> Project {
    let project = Project::implementing();
    project.write("TASKS.md", TASKS);
    project.must("run start T0.1");
    project.git_command(&format!("add -f TASKS.md {WORKFLOW} {RUN}"));
    project.git_command("commit -q -m 'all of it'");
    project.must("--quiet develop checkpoint fail cp-1");
    project.must("run done T0.1");
    project
}

#[test]
fn an_earlier_version_from_git_is_not_an_edit() {
    let cases = [
        Case {
            name: "git checkout of both",
            by: Agent,
            edit: |it| drop(it.git_command(&format!("checkout -q -- {WORKFLOW} {RUN}"))),
        },
        Case { name: "git stash", by: Agent, edit: |it| drop(it.git_command("stash -q")) },
        Case {
            name: "git stash, and back",
            by: Agent,
            edit: |it| {
                it.git_command("stash -q");
                it.git_command("stash pop -q");
            },
        },
        Case {
            name: "git reset --hard",
            by: Agent,
            edit: |it| drop(it.git_command("reset -q --hard")),
        },
        Case {
            name: "a branch without them",
            by: Agent,
            edit: |it| {
                it.git_command("reset -q --hard");
                it.git_command("checkout -q --orphan empty");
                it.git_command("rm -q -r -f .");
            },
        },
    ];
    assert_snapshot!("git", table(tracked, &cases));
}

#[test]
fn git_clean_takes_the_windows_and_not_the_truth() {
    let cases = [Case {
        name: "git clean -fdx",
        by: Agent,
        edit: |it| {
            it.git_command(&format!("rm -q --cached {WORKFLOW} {RUN}"));
            it.git_command("clean -q -fdx");
            assert!(!it.path(WORKFLOW).exists() && !it.path(RUN).exists());
        },
    }];
    assert_snapshot!("git_clean", table(tracked, &cases));
}

/// Another work tree of the same repository.
fn add_tree(project: &Project, path: &str) -> PathBuf {
    let branch = path.rsplit('/').next().unwrap();
    project.git_command(&format!("worktree add -q -b {branch} {path}"));
    project.root.join(path).canonicalize().unwrap()
}

#[test]
fn a_second_work_tree_has_its_own_workflow_and_the_same_run() {
    let project = Project::with_tasks();
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    project.must("--quiet develop start First");
    let second = add_tree(&project, "../second");
    let told = ["develop status", "develop start Second", "run start T0.1", "status", "doctor"]
        .map(|line| project.tell(line, &project.run_in(&second, line)));
    assert_snapshot!("second_tree", told.join("\n"));
    assert!(second.join(WORKFLOW).is_file());
    assert!(!second.join(RUN).exists(), "the run is shown in the main work tree only");
    let here = settled(&project);
    assert_eq!(
        here,
        "state:  First DESIGN [] \nstate:  in_progress T0.1, pending T1.1 T1.2 T1.3, ready T0.2\n"
    );
    // An edit of one workflow is no business of the other's.
    let text = std::fs::read_to_string(second.join(WORKFLOW)).unwrap();
    std::fs::write(second.join(WORKFLOW), text.replace("DESIGN", "PR")).unwrap();
    assert_eq!(project.must("--quiet status").stderr, "");
    let said = project.run_in(&second, "--quiet status").stderr;
    assert!(said.contains("was refused: phase: an edit does not change it"), "{said}");
    assert!(said.contains("next: waypost develop advance"), "{said}");
}

#[test]
fn an_edit_of_the_run_is_found_from_every_work_tree() {
    let project = Project::running();
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    let second = add_tree(&project, "../second");
    project.move_task("T1.1", "failed", "completed");
    let said = project.run_in(&second, "--quiet status").stderr;
    assert!(said.contains("waits in the inbox for a person"), "{said}");
    settled(&project);
}

#[test]
fn a_work_tree_made_by_waypost_has_no_window() {
    let project = tracked();
    let tree = add_tree(&project, "worktree/phase-1-cart");
    let twins =
        || [WORKFLOW, RUN].map(|window| std::fs::read_to_string(tree.join(window)).unwrap());
    // Both windows are tracked, so both have a twin here; an agent forges one of them.
    let forged = twins()[0].replace("\"phase\": \"IMPLEMENT\"", "\"phase\": \"DONE\"");
    std::fs::write(tree.join(WORKFLOW), forged).unwrap();
    let before = twins();
    let told = ["develop status", "run start T0.2", "run status"]
        .map(|line| project.tell(line, &project.run_in(&tree, line)));
    assert_snapshot!("made_tree", told.join("\n"));
    assert_eq!(twins(), before, "a twin is neither read nor written");
    // What was done there is shown where the run's window is.
    let shown = project.window(RUN)["tasks"]["in_progress"].clone();
    assert_eq!(shown, serde_json::json!(["T0.2"]));
    settled(&project);
}

#[test]
fn waypost_is_out_of_gits_sight() {
    let project = tracked();
    project.must("init");
    project.git_command(&format!("rm -q --cached {WORKFLOW} {RUN}"));
    project.git_command("commit -q -m 'no windows'");
    let dirt = project.git_command("status --porcelain");
    assert_eq!(dirt, "?? review.md\n");
}
