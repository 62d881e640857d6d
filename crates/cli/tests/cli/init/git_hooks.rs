//! The gates in git's own hooks.

use super::{differences, install, must_with, tree, write_script};
use crate::harness::{Project, Ran, words};
use insta::assert_snapshot;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// A repository with our hooks in it, and a stand-in that notes how it is called.
fn hooked(earlier: impl FnOnce(&Project)) -> (Project, PathBuf) {
    let project = Project::git();
    earlier(&project);
    let waypost = install(&project);
    must_with(&project, &waypost, "init --git-hooks --no-agents");
    note_calls(&project, &waypost, "waypost", 0o755, 0);
    (project, waypost)
}

/// A script that notes its arguments and what it reads, and ends with a code.
fn note_calls(project: &Project, path: &Path, name: &str, mode: u32, code: u8) {
    let log = project.base().join("calls");
    let text = format!(
        "{{ printf '%s' {name}; printf ' <%s>' \"$@\"; echo; cat; }} >>{}\nexit {code}\n",
        log.display()
    );
    write_script(path, mode, &text);
}

/// How the scripts were called since this was last asked.
fn calls(project: &Project) -> String {
    let path = project.base().join("calls");
    let text = fs::read_to_string(&path).unwrap_or_default();
    drop(fs::remove_file(path));
    text.replace(&project.base().display().to_string(), "[BASE]")
}

fn git(project: &Project, folder: &Path, line: &str) -> Ran {
    project.command("git", folder).args(words(line)).output().unwrap().into()
}

fn hook(project: &Project, name: &str) -> PathBuf {
    project.path(".git/hooks").join(name)
}

#[test]
fn commits_and_pushes_are_judged() {
    let (project, waypost) = hooked(|_| ());
    project.git_command("init -q --bare ../remote.git");
    project.git_command("commit -q --allow-empty -m one");
    assert_eq!(calls(&project), "waypost <hook> <git> <pre-commit>\n");
    project.git_command("push -q ../remote.git main main:other");
    let head = project.git_command("rev-parse main");
    let (head, none) = (head.trim(), "0".repeat(40));
    assert_eq!(
        calls(&project),
        format!(
            "waypost <hook> <git> <pre-push> <../remote.git> <../remote.git>\n\
             refs/heads/main {head} refs/heads/main {none}\n\
             refs/heads/main {head} refs/heads/other {none}\n"
        )
    );
    note_calls(&project, &waypost, "waypost", 0o755, 1);
    for line in ["commit -q --allow-empty -m two", "push -q ../remote.git main:third"] {
        assert_eq!(git(&project, &project.root, line).code, 1, "{line}");
    }
    assert_eq!(project.git_command("rev-list --count main"), "1\n");
}

#[test]
fn earlier_hooks_are_asked_first_and_keep_their_say() {
    let earlier = |project: &Project| {
        for name in ["pre-commit", "pre-push"] {
            note_calls(project, &hook(project, name), name, 0o750, 0);
        }
    };
    let (project, _) = hooked(earlier);
    project.git_command("init -q --bare ../remote.git");
    project.git_command("commit -q --allow-empty -m one");
    project.git_command("push -q ../remote.git main");
    let head = project.git_command("rev-parse main");
    let refs = format!("refs/heads/main {0} refs/heads/main {1}", head.trim(), "0".repeat(40));
    assert_eq!(
        calls(&project),
        format!(
            "pre-commit <>\nwaypost <hook> <git> <pre-commit>\n\
             pre-push <../remote.git> <../remote.git>\n{refs}\n\
             waypost <hook> <git> <pre-push> <../remote.git> <../remote.git>\n{refs}\n"
        )
    );
    note_calls(&project, &hook(&project, "pre-commit.before-waypost"), "no", 0o755, 7);
    let script = hook(&project, "pre-commit");
    let ran: Ran =
        project.command(script.to_str().unwrap(), &project.root).output().unwrap().into();
    assert_eq!((ran.code, calls(&project).as_str()), (7, "no <>\n"));
    // Git does not run a hook that is not executable, so neither do we.
    note_calls(&project, &hook(&project, "pre-commit.before-waypost"), "no", 0o644, 7);
    project.git_command("commit -q --allow-empty -m two");
    assert_eq!(calls(&project), "waypost <hook> <git> <pre-commit>\n");
}

#[test]
fn nothing_to_push_is_nothing_to_read() {
    let (project, _) = hooked(|_| ());
    let script = hook(&project, "pre-push");
    let ran: Ran =
        project.command(script.to_str().unwrap(), &project.root).output().unwrap().into();
    assert_eq!((ran.code, calls(&project).as_str()), (0, "waypost <hook> <git> <pre-push>\n"));
}

#[test]
fn a_program_that_is_gone_refuses_and_says_what_to_do() {
    let (project, waypost) = hooked(|_| ());
    fs::remove_file(waypost).unwrap();
    let ran = git(&project, &project.root, "commit -q --allow-empty -m one");
    assert_eq!(ran.code, 1);
    assert_snapshot!("gone", project.redact(&ran.stderr));
}

#[test]
fn a_linked_work_tree_shares_the_hooks() {
    let project = Project::git();
    project.git_command("commit -q --allow-empty -m one");
    project.git_command("worktree add -q ../side");
    let waypost = install(&project);
    let side = project.base().join("side");
    let line = "init --git-hooks --no-agents";
    let ran: Ran = project
        .command(waypost.to_str().unwrap(), &side)
        .args(words(line))
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{ran}");
    note_calls(&project, &waypost, "waypost", 0o755, 0);
    assert_eq!(git(&project, &side, "commit -q --allow-empty -m two").code, 0);
    assert_eq!(git(&project, &project.root, "commit -q --allow-empty -m three").code, 0);
    assert_eq!(calls(&project), "waypost <hook> <git> <pre-commit>\n".repeat(2));
}

#[test]
fn the_configured_folder_is_used_where_it_is_this_repositorys() {
    let project = Project::git();
    project.git_command("config core.hooksPath .husky/_");
    project.must("init --git-hooks --no-agents");
    assert!(
        project.path(".husky/_/pre-commit").is_file() && !hook(&project, "pre-commit").exists()
    );
    let before = tree(&project);
    project.must("init --git-hooks --no-agents");
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
}

#[test]
fn folders_of_others_are_refused_with_a_way_out() {
    let line = "init --git-hooks";
    let refused = |setup: &dyn Fn(&Project)| {
        let project = Project::git();
        setup(&project);
        let before = tree(&project);
        let told = project.tell(line, &project.run(line));
        assert_eq!(differences(&project, &before, &tree(&project)), [""; 0], "{told}");
        told
    };
    let global = refused(&|project| {
        project.git_command("config --global core.hooksPath .githooks");
    });
    let outside = refused(&|project| {
        project.git_command(&format!(
            "config core.hooksPath {}",
            project.base().join("hooks").display()
        ));
    });
    for elsewhere in ["~/hooks", "../hooks", "a/../../hooks", "/"] {
        refused(&|project| {
            project.git_command(&format!("config core.hooksPath {elsewhere}"));
        });
    }
    let tracked = refused(&|project| {
        project.write(".githooks/pre-commit", "#!/bin/sh\n");
        project.git_command("add -A");
        project.git_command("config core.hooksPath .githooks");
    });
    let plain = Project::plain();
    let no_git = plain.tell(line, &plain.run(line));
    assert_snapshot!("hooks_refused", [global, outside, tracked, no_git].join("\n"));
}

#[test]
fn a_tracked_folder_takes_the_shared_form() {
    let project = Project::git();
    project.write(".githooks/pre-commit", "#!/bin/sh\nexit 0\n");
    project.git_command("add -A");
    project.git_command("config core.hooksPath .githooks");
    project.must("init --git-hooks --no-agents --shared");
    let script = project.read(".githooks/pre-commit");
    assert!(script.contains("\nprogram='waypost'\n"), "{script}");
    assert_eq!(project.read(".githooks/pre-commit.before-waypost"), "#!/bin/sh\nexit 0\n");
    fs::set_permissions(project.path(".githooks/pre-commit"), fs::Permissions::from_mode(0o644))
        .unwrap();
    let again = project.json("init --git-hooks --no-agents --shared");
    assert_eq!(again["git_hooks"][0]["change"], "updated");
    let ran = git(&project, &project.root, "commit -q -m one");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("waypost: waypost is gone"), "{ran}");
}

#[test]
fn two_foreign_hooks_for_one_place_are_refused() {
    let project = Project::git();
    for name in ["pre-commit", "pre-commit.before-waypost"] {
        write_script(&hook(&project, name), 0o755, "exit 0\n");
    }
    let before = tree(&project);
    assert_snapshot!("hooks_twice", project.transcript(&["init --git-hooks"]));
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
}
