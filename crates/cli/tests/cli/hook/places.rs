//! Where a tool call is made from: sub-folders, work trees, other folders, inside the repository.

use super::{Asked, BOTH, Project, answer};
use serde_json::json;
use std::{fs, path::Path};

fn closed() -> Project {
    let project = Project::implementing();
    project.git_command("add review.md");
    project.git_command("commit -q -m start");
    project.must("develop gate reset review_clean_pass");
    project
}

#[track_caller]
fn may_write_from(project: &Project, asked: Asked, own: &Path, cwd: &Path) -> bool {
    let mut event = project.tool_event("Write", &json!({ "file_path": project.path("a.rs") }));
    event["cwd"] = json!(cwd);
    answer(&project.hook_in(asked, own, "claude", event.to_string().as_bytes())).is_allowed()
}

#[test]
fn a_workflow_holds_in_every_folder_of_its_work_tree() {
    let project = closed();
    fs::create_dir_all(project.path("src/deep")).unwrap();
    for asked in BOTH {
        for folder in ["src/deep", "src", ".", ".git", ".git/refs"] {
            let folder = project.path(folder);
            assert!(!may_write_from(&project, asked, &folder, &folder), "{asked:?} {folder:?}");
        }
    }
}

#[test]
fn another_folder_for_one_call_is_no_way_out() {
    let project = closed();
    let elsewhere = project.base();
    for asked in BOTH {
        assert!(!may_write_from(&project, asked, &project.root, &elsewhere), "{asked:?}");
        assert!(!may_write_from(&project, asked, &project.root, Path::new("/nowhere")));
        assert!(!may_write_from(&project, asked, &elsewhere, &project.root));
        assert!(may_write_from(&project, asked, &elsewhere, &elsewhere), "nothing holds there");
    }
    let told = Project::implementing();
    told.must("develop gate reset review_clean_pass");
    let root = told.root.display().to_string();
    let told = told.variable("CLAUDE_PROJECT_DIR", &root);
    let elsewhere = told.base();
    assert!(!may_write_from(&told, Asked::Small, &elsewhere, &elsewhere));
}

#[test]
fn a_folder_that_was_removed_is_no_way_out() {
    let project = closed();
    let gone = project.path("src/gone");
    for asked in BOTH {
        fs::create_dir_all(&gone).unwrap();
        let program = match asked {
            Asked::Small => super::HOOK.to_owned(),
            Asked::Whole => format!("{} hook", crate::harness::BINARY),
        };
        let mut event = project.tool_event("Write", &json!({ "file_path": project.path("a.rs") }));
        event["cwd"] = json!(gone);
        project.write("event.json", &event.to_string());
        let mut command = project.command("sh", &gone);
        let line =
            format!("rmdir ../gone; exec {program} codex < {}/event.json", project.root.display());
        let ran = command.args(["-c", &line]).output().unwrap().into();
        assert!(!answer(&ran).is_allowed(), "{asked:?}");
    }
}

#[test]
fn each_work_tree_has_its_own_workflow() {
    let project = closed();
    let linked = project.base().join("linked");
    project.git_command(&format!("worktree add -q {}", linked.display()));
    for asked in BOTH {
        assert!(may_write_from(&project, asked, &linked, &linked), "no workflow there");
    }
    let ran = project.run_in(&linked, "develop start other");
    assert_eq!(ran.code, 0, "{ran}");
    project.write("waypost.toml", "[workflow]\nstrict = true\n");
    fs::copy(project.path("waypost.toml"), linked.join("waypost.toml")).unwrap();
    for asked in BOTH {
        assert!(!may_write_from(&project, asked, &linked, &linked), "{asked:?}");
    }
    assert!(project.journal().join("gate/linked").is_file());
}

#[test]
fn a_project_outside_git_is_held_too() {
    let project = Project::plain();
    project.must("develop start chat");
    project.write("waypost.toml", "[workflow]\nstrict = true\n");
    for asked in BOTH {
        project.may_write(asked, "src/lib.rs").refused();
        assert!(project.may_write(asked, "docs/plan.md").is_allowed());
    }
}
