//! Repositories of other kinds than usual, and folders that are none.

use super::{
    RUN, at, dirt, during, ends_well, git_in, ground, head, is_tidy, names, run, task, with,
};
use crate::harness::{BINARY, Project};
use crate::terminal::no_person_is_here;
use std::fs;

const LAY: &str = "run: `echo laid >> ground.txt`";

#[test]
fn a_folder_outside_git_has_no_work_trees() {
    let project = Project::plain();
    project.write("TASKS.md", &ground(&[task("T1.1", &[LAY])]));
    for isolation in ["task", "phase"] {
        let line = format!("run --isolation {isolation}");
        run(&project, &line, 3, &["there is none here", "git init", "--isolation none"]);
    }
    run(&project, "run --isolation none", 0, &[]);
    assert_eq!(project.read("ground.txt"), "laid\n");
}

#[test]
fn a_repository_without_commits_wants_one_first() {
    let project = Project::git();
    project.write("TASKS.md", &ground(&[task("T1.1", &[LAY])]));
    run(&project, RUN, 3, &["main has no commit yet", "git commit --allow-empty -m start"]);
    assert!(!project.path("worktree").exists());
    project.git_command("commit -q --allow-empty -m start");
    ends_well(&project, RUN);
    assert_eq!(project.read("ground.txt"), "laid\n");
}

#[test]
fn a_detached_head_has_nothing_to_merge_into() {
    let project = during("true");
    project.git_command("switch -q --detach");
    run(&project, RUN, 3, &["HEAD is detached", "git switch -c NAME"]);
    assert_eq!(names(&project.path("worktree")), [""; 0]);
    project.git_command("switch -q -c work");
    ends_well(&project, RUN);
    assert_eq!(at(&project, "work", "ground.txt"), "earth\nlaid\n");
    assert_eq!(at(&project, "main", "ground.txt"), "earth\n");
}

#[test]
fn a_bare_repository_is_worked_on_from_its_work_trees() {
    for isolation in ["task", "phase"] {
        let project = during("true");
        let bare = project.base().join("shop.git");
        git_in(&project, &project.root, &["clone", "-q", "--bare", ".", "../shop.git"]);
        let line = format!("run --isolation {isolation} --retry-limit 0");
        let ran = project.run_in(&bare, &line);
        assert_eq!(ran.code, 3, "{ran}");
        assert!(ran.stderr.contains("git worktree add"), "{ran}");
        git_in(&project, &bare, &["worktree", "add", "-q", "../work", "main"]);
        let work = project.base().join("work");
        let write = |name: &str, text: &str| fs::write(work.join(name), text).unwrap();
        write(".worktreeinclude", "secret.env\n");
        write("secret.env", "key\n");
        fs::write(bare.join("info/exclude"), "secret.env\n.claude/\n.worktreeinclude\n").unwrap();
        let run = format!("run: `cat secret.env >> ground.txt; {BINARY} status`");
        write("TASKS.md", &ground(&[task("T1.1", &[&run])]));
        git_in(&project, &work, &["commit", "-qam", "tasks"]);
        let ran = project.run_in(&work, &line);
        assert_eq!(ran.code, 0, "{isolation}: {ran}");
        assert_eq!(fs::read_to_string(work.join("ground.txt")).unwrap(), "earth\nkey\n");
        assert_eq!(git_in(&project, &work, &["status", "--porcelain"]), "");
        let refs = ["for-each-ref", "refs/waypost", "refs/heads/worktree"];
        assert_eq!(git_in(&project, &bare, &refs), "");
        assert!(!bare.join("worktree").exists() && !work.join("worktree").exists());
    }
}

#[test]
fn a_submodule_stays_as_it_is() {
    let lib = with(&ground(&[task("T1.1", &[LAY])]));
    let project = during("true");
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        lib.root.to_str().unwrap(),
        "lib",
    ];
    git_in(&project, &project.root, &add);
    project.git_command("commit -qm lib");
    let link = project.git_command("ls-tree main lib");
    ends_well(&project, RUN);
    assert_eq!(project.git_command("ls-tree main lib"), link);
    assert_eq!(dirt(&project), "");
    assert_eq!(project.read("lib/ground.txt"), "earth\n");
    // A submodule is a repository of its own, with a run of its own.
    let inside = project.path("lib");
    let ran = project.run_in(&inside, RUN);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("lib/ground.txt"), "earth\nlaid\n");
    assert_eq!(
        git_in(&project, &inside, &["status", "--porcelain"])
            .replace("?? .claude/orchestrate-state.json\n", "")
            .replace("?? .claude/\n", ""),
        ""
    );
    assert!(!inside.join("worktree").exists());
    assert_eq!(dirt(&project).trim(), "M lib");
}

#[test]
fn a_submodule_is_there_for_tasks_if_the_setup_command_gets_it() {
    let lib = with(&ground(&[]));
    let project = with(&ground(&[task("T1.1", &["run: `cat lib/ground.txt >> ground.txt`"])]));
    fs::write(project.home().join(".gitconfig"), "[protocol \"file\"]\n\tallow = always\n")
        .unwrap();
    git_in(&project, &project.root, &["submodule", "add", "-q", lib.root.to_str().unwrap(), "lib"]);
    project.write("waypost.toml", "[worktree]\nsetup = \"git submodule update --init --quiet\"\n");
    project.git_command("add .");
    project.git_command("commit -qm lib");
    let link = project.git_command("ls-tree main lib");
    let ran = run(&project, RUN, 0, &[]);
    assert!(!ran.stderr.contains("is kept"), "{ran}");
    is_tidy(&project);
    assert_eq!(project.read("ground.txt"), "earth\nearth\n");
    assert_eq!(project.git_command("ls-tree main lib"), link);
    assert_eq!(dirt(&project), "");
}

#[test]
fn a_sparse_checkout_stays_sparse_and_nothing_is_left_out() {
    let work = "run: `echo laid >> ground.txt; mkdir -p docs src; echo more >> docs/a.md; echo new > docs/new.md; echo y > src/y.rs`";
    for isolation in ["task", "phase"] {
        let project = with(&ground(&[task("T1.1", &[work])]));
        project.write("docs/a.md", "a\n");
        project.write("src/x.rs", "x\n");
        project.git_command("add .");
        project.git_command("commit -qm more");
        project.git_command("sparse-checkout set src");
        assert!(!project.path("docs").exists());
        ends_well(&project, &format!("run --isolation {isolation}"));
        assert_eq!(at(&project, "main", "docs/a.md").lines().last(), Some("more"), "{isolation}");
        assert_eq!(at(&project, "main", "docs/new.md"), "new\n");
        assert_eq!(at(&project, "main", "src/x.rs"), "x\n");
        assert_eq!(project.read("src/y.rs"), "y\n");
        assert!(!project.path("docs").exists(), "it stays sparse");
        assert_eq!(dirt(&project), "");
    }
}

#[test]
fn odd_names_of_tasks_phases_and_branches_are_only_names() {
    let tasks = "# Tasks: shop\n\n## Phase 1: --upload-pack=touch ../x; $(touch y) `z` \u{1b}[31m 사용자\n\n\
                 - [ ] T1.1: --amend $(touch y) \"; touch y; 'x\n  - depends: none\n  - run: `echo laid >> ground.txt`\n";
    let project = with(tasks);
    let main = head(&project, "main");
    // Git makes no branch of such a name; a file does.
    project.write(".git/refs/heads/--force", &format!("{main}\n"));
    project.write(".git/HEAD", "ref: refs/heads/--force\n");
    let ran = project.run(RUN);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(at(&project, "refs/heads/--force", "ground.txt"), "earth\nlaid\n");
    assert_eq!(head(&project, "main"), main);
    project.write(".git/HEAD", "ref: refs/heads/main\n");
    if no_person_is_here() {
        return;
    }
    project.person_must("run --isolation task --rebuild-state");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert!(!project.path("y").exists() && !project.path("x").exists());
    is_tidy(&project);
}
