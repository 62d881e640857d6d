//! `init --remove` restores every byte.

use super::{differences, tree, write_script};
use crate::{harness::Project, terminal::no_person_is_here};
use insta::assert_snapshot;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

const CLAUDE: &str = ".claude/settings.local.json";
const CODEX: &str = ".codex/hooks.json";
const GEMINI: &str = ".gemini/settings.json";
const EXCLUDE: &str = ".git/info/exclude";

/// Sets up, takes out, and compares; `between` is what the user does meanwhile.
#[track_caller]
fn check(project: &Project, line: &str, between: impl Fn(&Project)) {
    let before = {
        let twin = tree(project);
        // What the user does has to be done to the original too.
        between(project);
        let changed = tree(project);
        restore(&twin);
        changed
    };
    project.must(line);
    assert_ne!(differences(project, &before, &tree(project)), [""; 0], "{line}");
    between(project);
    project.person_must("init --remove --shared");
    assert_eq!(differences(project, &before, &tree(project)), [""; 0], "{line}");
    project.person_must("init --remove --shared");
    assert_eq!(differences(project, &before, &tree(project)), [""; 0], "{line}, twice");
}

/// Puts files back that were changed; none was made or removed.
fn restore(tree: &super::Tree) {
    for (path, (_, content)) in tree {
        if path.symlink_metadata().unwrap().is_file() && fs::read(path).unwrap() != *content {
            fs::write(path, content).unwrap();
        }
    }
}

#[test]
fn a_new_project_is_as_before() {
    if no_person_is_here() {
        return;
    }
    for line in ["init", "init --shared", "init --git-hooks", "init --shared --git-hooks"] {
        check(&Project::git().with_programs(), line, |_| ());
    }
    for line in ["init", "init --shared"] {
        check(&Project::plain().with_programs(), line, |_| ());
    }
    // Without git's templates there are neither hooks nor an exclude file.
    let bald = Project::plain().with_programs();
    bald.git_command("init -q --template= .");
    check(&bald, "init --git-hooks", |_| ());
}

/// A project in which everything that we touch is there already, in odd forms.
fn lived_in() -> Project {
    let project = Project::git().with_programs();
    project.write(CLAUDE, "{\r\n\t\"permissions\": {},\r\n\t\"hooks\": { }\r\n}");
    project.write(".claude/settings.json", "{}");
    project.write(CODEX, "{ \"hooks\": { \"Stop\": [{ \"hooks\": [] }] } }");
    project.write(GEMINI, "// mine\n{\n   \"ui\": {}, // dark\n   \"model\": \"pro\" // large \n}");
    project.write(EXCLUDE, "/worktree/\n*.bak");
    project.write(".gitignore", "target/\r\n");
    for (file, mode) in [(CLAUDE, 0o600), (CODEX, 0o664)] {
        fs::set_permissions(project.path(file), fs::Permissions::from_mode(mode)).unwrap();
    }
    write_script(&project.path(".git/hooks/pre-commit"), 0o750, "exit 0");
    project.write("scripts/check", "#!/bin/sh\n");
    symlink("../../scripts/check", project.path(".git/hooks/pre-push")).unwrap();
    project
}

#[test]
fn a_lived_in_project_is_as_before() {
    if no_person_is_here() {
        return;
    }
    for line in ["init", "init --git-hooks", "init --shared --git-hooks"] {
        check(&lived_in(), line, |_| ());
    }
    let project = lived_in();
    fs::remove_file(project.path(CODEX)).unwrap();
    check(&project, "init", |_| ());
    assert!(project.path(".codex").is_dir(), "the folder was there before");
}

#[test]
fn what_the_user_changed_meanwhile_stays() {
    if no_person_is_here() {
        return;
    }
    check(&lived_in(), "init --git-hooks", |project| {
        let change = |file: &str, from: &str, to: &str| {
            let text = project.read(file);
            assert!(text.contains(from), "{file}: {text}");
            fs::write(project.path(file), text.replacen(from, to, 1)).unwrap();
        };
        change(CLAUDE, "\"permissions\": {}", "\"permissions\": { \"allow\": [] }");
        change(GEMINI, "\"pro\"", "\"flash\"");
        change(EXCLUDE, "/worktree/\n", "/worktree/\n*.tmp\n");
    });
}

#[test]
fn only_a_person_takes_it_out_and_what_is_tracked_stays() {
    let project = Project::git().with_programs();
    project.must("--quiet init --shared --git-hooks");
    project.git_command("add .claude");
    let before = tree(&project);
    let refused = project.transcript(&["init --remove"]);
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
    if no_person_is_here() {
        return;
    }
    let lines = ["init --remove", "init --remove --shared", "--json init --remove"];
    let told = lines.map(|line| project.tell(line, &project.as_person(line)));
    assert_snapshot!("removed", format!("{refused}\n{}", told.join("\n")));
    assert!(!project.journal().exists());
}

#[test]
fn hooks_of_all_work_trees_are_taken_out() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git().with_programs();
    project.git_command("commit -q --allow-empty -m one");
    project.git_command("worktree add -q ../side");
    let side = project.base().join("side");
    for folder in [&project.root, &side] {
        assert_eq!(project.run_in(folder, "init").code, 0);
    }
    assert!(side.join(CLAUDE).is_file());
    project.person_must("init --remove");
    assert!(!side.join(".claude").exists() && !project.path(".claude").exists());
}

#[test]
fn an_earlier_hook_does_not_push_a_later_one_aside() {
    if no_person_is_here() {
        return;
    }
    let project = lived_in();
    project.must("--quiet init --git-hooks --no-agents");
    let path = project.path(".git/hooks/pre-commit");
    write_script(&path, 0o755, "exit 3");
    let line = "init --remove";
    assert_snapshot!("removal_blocked", project.tell(line, &project.as_person(line)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 3");
    let kept = project.path(".git/hooks/pre-commit.before-waypost");
    assert_eq!(fs::read_to_string(kept).unwrap(), "#!/bin/sh\nexit 0");
}

#[test]
fn foreign_settings_may_be_as_broken_as_they_like() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git().with_programs();
    project.write(GEMINI, "{ broken");
    project.must("init --agent claude");
    project.person_must("init --remove");
    assert_eq!(project.read(GEMINI), "{ broken");
    assert!(!project.path(".claude").exists());
}

#[test]
fn a_journal_without_entries_goes_with_its_folder() {
    if no_person_is_here() {
        return;
    }
    for project in [Project::git().with_programs(), Project::plain().with_programs()] {
        let state = match project.path(".git").exists() {
            true => project.journal(),
            false => project.path(".waypost"),
        };
        project.must("init");
        assert!(state.is_dir());
        let ran = project.person_must("init --remove");
        assert!(ran.stderr.contains("removed .") && !ran.stderr.contains("stays"), "{ran}");
        assert!(!state.exists());
        // It is not missed afterwards.
        project.must("status");
        project.must("develop start 'Live chat'");
        // With something in it, it stays, and so does what hides the state files.
        let ran = project.person_must("init --remove");
        assert!(ran.stderr.contains("the journal stays in"), "{ran}");
        assert!(state.join("journal.db").is_file());
        if project.path(".git").exists() {
            assert_eq!(project.git_command("status --porcelain"), "");
        }
        assert_eq!(project.must("develop status").code, 0);
    }
}
