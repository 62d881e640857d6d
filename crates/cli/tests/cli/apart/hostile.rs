//! A repository whose configuration, hooks and attributes name programs everywhere: a whole run with
//! work trees starts none of them.

use super::{at, head, is_tidy, run, task, with};
use crate::harness::Project;
use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// Settings that name a program, in a section of their own; `!` is the program.
const SETTINGS: [(&str, &str); 41] = [
    ("core.hooksPath", "HOOKS"),
    ("core.fsmonitor", "!"),
    ("core.sshCommand", "!"),
    ("core.pager", "!"),
    ("core.editor", "!"),
    ("core.askPass", "!"),
    ("core.gitProxy", "!"),
    ("core.alternateRefsCommand", "!"),
    ("core.worktree", "ELSEWHERE"),
    ("sequence.editor", "!"),
    ("credential.helper", "!"),
    ("gpg.program", "!"),
    ("gpg.ssh.program", "!"),
    ("gpg.x509.program", "!"),
    ("commit.gpgSign", "true"),
    ("tag.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("merge.verifySignatures", "true"),
    ("pager.log", "!"),
    ("pager.diff", "!"),
    ("pager.status", "true"),
    ("interactive.diffFilter", "!"),
    ("diff.external", "!"),
    ("diff.evil.command", "!"),
    ("diff.evil.textconv", "!"),
    ("diff.evil.cachetextconv", "true"),
    ("merge.evil.driver", "! %A"),
    ("merge.default", "evil"),
    ("filter.evil.clean", "!"),
    ("filter.evil.smudge", "!"),
    ("filter.evil.process", "!"),
    ("filter.evil.required", "true"),
    ("trailer.evil.key", "Waypost-Task"),
    ("trailer.evil.command", "!"),
    ("gc.auto", "1"),
    ("gc.recentObjectsHook", "!"),
    ("uploadpack.packObjectsHook", "!"),
    ("remote.origin.url", "ext::! %S"),
    ("remote.origin.promisor", "true"),
    ("submodule.evil.update", "!!"),
    ("alias.status", "!!"),
];

/// A program that leaves a mark, and answers with what it was given.
fn program(project: &Project, name: &str) -> PathBuf {
    let (path, mark) = (project.base().join("evil").join(name), project.base().join("ran"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\necho {name} \"$@\" >> '{}'\ncat\n", mark.display()))
        .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What a repository's own configuration would say, with a part of it in another file.
fn configuration(project: &Project) -> String {
    let mut text = fs::read_to_string(project.path(".git/config")).unwrap();
    let mut included = String::new();
    for (number, (key, value)) in SETTINGS.iter().enumerate() {
        let program = program(project, &key.replace('.', "-")).display().to_string();
        let value = match *value {
            "HOOKS" => project.base().join("evil/hooks").display().to_string(),
            "ELSEWHERE" => project.base().join("elsewhere").display().to_string(),
            "!!" => format!("!{program}"),
            value => value.replace('!', &program),
        };
        let (section, name) = key.rsplit_once('.').unwrap();
        let section = match section.split_once('.') {
            Some((section, part)) => format!("{section} \"{part}\""),
            None => section.to_owned(),
        };
        let into = if number % 3 == 2 { &mut included } else { &mut text };
        writeln!(into, "[{section}]\n\t{name} = \"{value}\"").unwrap();
    }
    let other = project.base().join("evil/included");
    fs::write(&other, included).unwrap();
    format!("{text}[include]\n\tpath = {}\n", other.display())
}

/// Two phases, a conflict, verification and checks; the first task does `first` while no git is at
/// work: one that has begun reads what it finds.
fn site(first: &str) -> Project {
    let wait = |mark: &str| format!("until test -e ../../../{mark}; do sleep 0.05; done");
    let first = format!("{}; {first}; touch ../../../T1.1", wait("T1.2"));
    let second = format!("touch ../../../T1.2; {}", wait("T1.1"));
    let both = "touch data.bin; echo $WAYPOST_TASK >> same.txt";
    let tasks = format!(
        "# Tasks: shop\n\n## Phase 1: Ground\n\n{}{}\n## Phase 2: Cart\n\n- [ ] T2.1: Go on\n  - run: `echo on >> ground.txt`\n",
        task("T1.1", &[&format!("run: `{first}; {both}`"), "verify: `grep -q T1.1 same.txt`"]),
        task("T1.2", &[&format!("run: `{second}; {both}`")]),
    );
    let project = with(&tasks);
    project.write("waypost.toml", "[run]\nchecks = ['test -e same.txt']\n");
    project.write(".gitattributes", "*.bin filter=evil\n* merge=evil diff=evil\n");
    project.write("data.bin", "data\n");
    project.git_command("add .");
    project.git_command("commit -qm more");
    for hook in HOOKS {
        let path = program(&project, &format!("hooks/{hook}"));
        fs::copy(path, project.path(&format!(".git/hooks/{hook}"))).unwrap();
    }
    fs::create_dir(project.base().join("elsewhere")).unwrap();
    project.write(".git/info/attributes", "*.bin filter=evil\n* merge=evil diff=evil\n");
    fs::write(project.base().join("config"), configuration(&project)).unwrap();
    project
}

fn ran(project: &Project) -> String {
    fs::read_to_string(project.base().join("ran")).unwrap_or_default()
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    // There from the start, or written by a task in the middle of it.
    for first in ["true", "cp ../../../config ../../.git/config"] {
        let project = site(first);
        let clean = fs::read(project.path(".git/config")).unwrap();
        let hostile = project.base().join("config");
        if first == "true" {
            fs::copy(&hostile, project.path(".git/config")).unwrap();
        }
        run(
            &project,
            "run --isolation task --retry-limit 2",
            0,
            &["it conflicts with what was joined meanwhile"],
        );
        for line in
            ["run diff T1.1", "run revert T2.1", "run --verify", "status", "run status", "why T1.1"]
        {
            project.run(line);
        }
        project.must("run retry T2.1");
        run(&project, "run --resume", 0, &[]);
        assert_eq!(ran(&project), "", "{first}");
        assert_eq!(fs::read_dir(project.base().join("elsewhere")).unwrap().count(), 0);
        fs::write(project.path(".git/config"), &clean).unwrap();
        fs::remove_dir_all(project.path(".git/hooks")).unwrap();
        fs::remove_file(project.path(".git/info/attributes")).unwrap();
        is_tidy(&project);
        assert_eq!(project.read("ground.txt"), "earth\non\n");
        assert_eq!(project.read("same.txt").lines().count(), 2);
        assert_eq!(at(&project, "main", "data.bin"), "data\n");
    }
}

#[test]
fn the_programs_would_leave_a_mark() {
    let project = site("true");
    fs::copy(project.base().join("config"), project.path(".git/config")).unwrap();
    project.replace(".git/config", "hooksPath", "hooksPathNot");
    let included = project.base().join("evil/included");
    let text = fs::read_to_string(&included).unwrap().replace("worktree = ", "worktreeNot = ");
    fs::write(&included, text).unwrap();
    project.write("data.bin", "other\n");
    let _said =
        project.command("git", &project.root).args(["commit", "-qam", "x"]).output().unwrap();
    let marks = ran(&project);
    assert!(marks.contains("filter-evil") && marks.contains("core-fsmonitor"), "{marks}");
}

#[test]
fn files_that_a_foreign_filter_would_write_are_left_to_a_person() {
    let project = site("true");
    let tasks = project.read("TASKS.md").replace("echo on >> ground.txt", "echo more >> data.bin");
    project.write("TASKS.md", &tasks);
    project.git_command("-c core.hooksPath=/dev/null commit -qam tasks");
    let clean = fs::read(project.path(".git/config")).unwrap();
    fs::copy(project.base().join("config"), project.path(".git/config")).unwrap();
    run(
        &project,
        "run --isolation task --retry-limit 2",
        1,
        &["a filter", "does not run: data.bin"],
    );
    assert_eq!(ran(&project), "");
    assert_eq!(project.read("data.bin"), "data\n");
    let before = {
        fs::write(project.path(".git/config"), &clean).unwrap();
        fs::remove_dir_all(project.path(".git/hooks")).unwrap();
        head(&project, "main")
    };
    run(&project, "run --resume", 0, &[]);
    assert_ne!(head(&project, "main"), before);
    assert_eq!(project.read("data.bin"), "data\nmore\n");
    is_tidy(&project);
}
