//! An agent session as the executor: `resolve`, `run start`, `run done`, with and without work trees.

use crate::{
    agents,
    harness::{Project, RUN, Ran},
};
use serde_json::json;
use std::{fs, path::PathBuf};

const TASKS: &str = "# Tasks: shop\n\n## Phase 1: Ground\n\n\
    - [ ] T1.1: Lay the ground\n  - depends: none\n  - verify: `grep -q laid ground.txt`\n\
    - [ ] T1.2: Choose the tools\n  - depends: none\n\n\
    ## Phase 2: Cart\n\n- [ ] T2.1: Pay\n  - run: `echo paid > paid.txt`\n";

/// A repository whose configuration wants a work tree for each attempt.
fn with(configuration: &str) -> Project {
    let project = Project::git();
    for line in ["config user.name Mina", "config user.email mina@example.org"] {
        project.git_command(line);
    }
    project.write("ground.txt", "earth\n");
    project.write("waypost.toml", configuration);
    project.write("TASKS.md", TASKS);
    project.git_command("add .");
    project.git_command("commit -qm begin");
    project
}

const APART: &str = "[run]\nisolation = \"task\"\n";

/// Starts a task, which has to tell where to work.
#[track_caller]
fn start(project: &Project, id: &str) -> (PathBuf, Ran) {
    let ran = project.must(&format!("--json run start {id}"));
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    (PathBuf::from(told["worktree"].as_str().unwrap_or_else(|| panic!("{ran}"))), ran)
}

#[test]
fn a_session_works_in_the_work_tree_that_it_is_given() {
    let project = with(APART);
    assert_eq!(project.must("resolve").stdout, "READY:T1.1,T1.2\n");
    let (first, ran) = start(&project, "T1.1");
    assert!(ran.stderr.contains("merged into") && ran.stderr.contains("isolation task"), "{ran}");
    assert_eq!(first, project.path("worktree/phase-1-ground--T1.1-1"));
    let (second, ran) = start(&project, "T1.2");
    assert!(!ran.stderr.contains("isolation"), "it was decided before\n{ran}");

    // Verified where it was done, and only then joined.
    let ran = project.run("run done T1.1");
    assert_eq!(ran.code, 1, "{ran}");
    fs::write(first.join("ground.txt"), "earth\nlaid\n").unwrap();
    project.must("run done T1.1");
    assert_eq!(project.read("ground.txt"), "earth\n", "not merged before the phase has ended");
    assert!(!first.exists(), "its tree is removed");
    fs::write(second.join("tools.txt"), "hammer\n").unwrap();
    let ran = project.must("run done T1.2");
    assert!(ran.stderr.contains("phase 1 is merged into"), "{ran}");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.read("tools.txt"), "hammer\n");
    let phase = &project.window(RUN)["checkpoints"]["phase_1"];
    assert_eq!(phase["merged"], true, "{phase}");
    assert!(project.read("TASKS.md").contains("- [x] T1.1"), "boxes are ticked");
    // And the run goes on.
    assert_eq!(project.must("resolve").stdout, "READY:T2.1\n");
}

#[test]
fn work_that_conflicts_is_not_joined_until_it_is_resolved() {
    let project = with(APART);
    let (first, _) = start(&project, "T1.1");
    let (second, _) = start(&project, "T1.2");
    fs::write(first.join("ground.txt"), "laid\n").unwrap();
    fs::write(second.join("ground.txt"), "paved\n").unwrap();
    project.must("run done T1.1");
    let ran = project.run("run done T1.2");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("it conflicts with what was joined meanwhile"), "{ran}");
    assert_eq!(project.window(RUN)["tasks"]["in_progress"], json!(["T1.2"]), "it is not lost");
    let tree = second.display();
    let merge = format!(
        "cd {tree} && ! git merge -q worktree/phase-1-ground && echo both laid > ground.txt && git commit -qam both"
    );
    let merged = project.command("sh", &project.root).args(["-c", &merge]).output().unwrap();
    assert!(merged.status.success(), "{merged:?}");
    project.must("run done T1.2");
    assert_eq!(project.read("ground.txt"), "both laid\n");
}

#[test]
fn a_run_that_a_session_began_is_isolated_when_an_agent_comes() {
    let steps = json!([
        {"write": {"file": "{task}.txt", "text": "made\n"}},
        {"done": "wrote {task}.txt"}
    ]);
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Do it\n  - depends: none\n";
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = agents::with(tasks, &script).variable("WAYPOST_RUN_ISOLATION", "auto");
    assert_eq!(project.must("resolve").stdout, "READY:T1.1\n");
    let ran = project.run("run --resume --agent alice --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("isolation task"), "it is said\n{ran}");
    let phase = &project.window(RUN)["checkpoints"]["phase_1"];
    assert_eq!(phase["merged"], true, "{phase}");
    let subject = project.git_command("log -1 --format=%s");
    assert!(subject.contains("Merge phase 1: One"), "{subject}");
    assert_eq!(project.read("T1.1.txt"), "made\n");
}

const SHARED: &str = "[run]\nisolation = \"phase\"\n";

/// One task after another: each commit has the work of its own task only.
#[test]
fn a_session_works_in_the_work_tree_of_the_phase_one_task_at_a_time() {
    let project = with(SHARED);
    let (tree, ran) = start(&project, "T1.1");
    assert!(ran.stderr.contains("merged into main (isolation phase)"), "{ran}");
    assert_eq!(tree, project.path("worktree/phase-1-ground"));
    let before = project.log().len();
    let ran = project.run("run start T1.2");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(
        ran.stderr.contains("T1.1 is in progress in the work tree that T1.2 would share"),
        "{ran}"
    );
    assert!(ran.stderr.contains("next: waypost run done T1.1"), "{ran}");
    assert_eq!(project.log().len(), before, "a refused start has changed nothing");

    let ran = project.run("run done T1.1");
    assert_eq!(ran.code, 1, "verified where it was done: {ran}");
    fs::write(tree.join("ground.txt"), "earth\nlaid\n").unwrap();
    project.must("run done T1.1");
    let (again, _) = start(&project, "T1.2");
    assert_eq!(again, tree);
    fs::write(tree.join("tools.txt"), "hammer\n").unwrap();
    let ran = project.must("run done T1.2");
    assert!(ran.stderr.contains("phase 1 is merged into main"), "{ran}");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.read("tools.txt"), "hammer\n");
    let log = project.git_command("log --topo-order --no-merges --name-only --format=%s main");
    assert!(log.starts_with("T1.2: Choose the tools\n\ntools.txt\n"), "{log}");
    assert!(log.contains("T1.1: Lay the ground\n\nground.txt\n"), "{log}");
    assert!(!tree.exists(), "its tree is removed");
    assert_eq!(project.must("resolve").stdout, "READY:T2.1\n");
}

#[test]
fn tasks_that_declare_different_files_share_the_work_tree_of_a_phase() {
    let project = with(SHARED);
    project.replace(
        "TASKS.md",
        "T1.1: Lay the ground\n",
        "T1.1: Lay the ground\n  - files: ground.txt\n",
    );
    project.replace(
        "TASKS.md",
        "T1.2: Choose the tools\n",
        "T1.2: Choose the tools\n  - files: tools.txt\n",
    );
    project.git_command("commit -qam files");
    let (tree, _) = start(&project, "T1.1");
    assert_eq!(start(&project, "T1.2").0, tree);
    fs::write(tree.join("ground.txt"), "laid\n").unwrap();
    fs::write(tree.join("tools.txt"), "hammer\n").unwrap();
    project.must("run done T1.2");
    project.must("run done T1.1");
    let log = project.git_command("log --topo-order --no-merges --name-only --format=%s main");
    assert!(log.contains("T1.2: Choose the tools\n\ntools.txt\n"), "{log}");
    assert!(log.contains("T1.1: Lay the ground\n\nground.txt\n"), "{log}");
}

/// What a failed attempt left is kept, and is in nothing that is merged.
#[test]
fn what_a_session_failed_at_is_taken_out_of_the_work_tree_of_the_phase() {
    let project = with(SHARED);
    let (tree, _) = start(&project, "T1.1");
    fs::write(tree.join("rubbish.txt"), "rubbish\n").unwrap();
    project.must("run fail T1.1 --class critical --reason 'no idea'");
    start(&project, "T1.2");
    assert!(!tree.join("rubbish.txt").exists());
    fs::write(tree.join("tools.txt"), "hammer\n").unwrap();
    project.must("run done T1.2");
    assert_eq!(project.read("tools.txt"), "hammer\n");
    assert!(!project.path("rubbish.txt").exists());
    let kept = project.git_command("for-each-ref --format=%(refname) refs/waypost/snapshots");
    let shown = project.git_command(&format!("show {}:rubbish.txt", kept.lines().next().unwrap()));
    assert_eq!(shown, "rubbish\n");
}

#[test]
fn a_start_whose_work_tree_cannot_be_made_has_changed_nothing() {
    for configuration in [APART, SHARED] {
        let project = with(configuration);
        project.write("worktree/phase-1-ground/mine.txt", "mine\n");
        let ran = project.run("run start T1.1");
        assert!(ran.code == 5 && ran.stderr.contains("is in the way"), "{configuration}: {ran}");
        assert!(!project.journal().exists() && !project.path(RUN).exists(), "{ran}");
        // The same in a run that has begun.
        project.must("resolve");
        let (before, window) = (project.log().len(), project.read(RUN));
        let ran = project.run("run start T1.1");
        assert_eq!(ran.code, 5, "{ran}");
        assert_eq!((project.log().len(), project.read(RUN)), (before, window), "{ran}");
    }
}

#[test]
fn without_agents_it_is_said_that_the_projects_folder_is_worked_in() {
    let project = with("");
    project.must("resolve");
    let ran = project.must("run start T1.1");
    let said = "from here on tasks are worked on in the project's folder itself (isolation none)";
    assert!(ran.stderr.contains(said), "{ran}");
    assert!(!project.must("run start T1.2").stderr.contains("isolation"), "it was decided before");
    fs::write(project.path("ground.txt"), "laid\n").unwrap();
    project.must("run done T1.1");
    assert!(!project.path("worktree").exists());
}

#[test]
fn resolve_takes_a_file() {
    let project = with("");
    project.write("other.md", &TASKS.replace("T1.", "T7."));
    assert_eq!(project.must("resolve --tasks other.md").stdout, "READY:T7.1,T7.2\n");
    let again = project.must("resolve");
    assert_eq!(again.stdout, "READY:T7.1,T7.2\n", "the run's own file is known from then on");
}

#[test]
fn a_start_that_is_refused_has_begun_no_run() {
    let project = with(APART);
    let ran = project.run("run start T9.9");
    assert_ne!(ran.code, 0, "{ran}");
    assert!(!project.path(RUN).exists());
    project.git_command("checkout -q --detach");
    let ran = project.run("run start T1.1");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(!project.path(RUN).exists());
}
