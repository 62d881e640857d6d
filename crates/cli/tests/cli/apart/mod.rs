//! `waypost run` with work trees: what it does in each situation that a repository may be in.
//!
//! `docs/run.md` has tables of these situations; each of their rows is a test here. What
//! a person does in the middle of a run is done by the task itself, so that nothing depends on time.

mod branch_gone;
mod changes;
mod clearing;
mod disk;
mod ends;
mod evidence;
mod held;
mod hostile;
mod moved;
mod outputs;
mod places;
mod shared;
mod target;

use crate::harness::{Project, Ran};
use std::{fs, path::Path};

/// The usual run.
const RUN: &str = "run --isolation task --retry-limit 0";

/// The work tree and the branch of the first phase.
const PHASE: &str = "worktree/phase-1-ground";

/// What a task says in TASKS.md.
fn task(id: &str, fields: &[&str]) -> String {
    let fields: String = fields.iter().map(|field| format!("  - {field}\n")).collect();
    format!("- [ ] {id}: Do {id}\n  - depends: none\n{fields}")
}

/// Tasks of one phase.
fn ground(tasks: &[String]) -> String {
    format!("# Tasks: shop\n\n## Phase 1: Ground\n\n{}", tasks.concat())
}

/// A repository with two commits, in which tasks may commit, too.
fn with(tasks: &str) -> Project {
    let project = Project::git();
    for line in ["config user.name Mina", "config user.email mina@example.org"] {
        project.git_command(line);
    }
    project.write("ground.txt", "earth\n");
    project.git_command("add .");
    project.git_command("commit -qm first");
    project.write("other.txt", "sky\n");
    project.write("TASKS.md", tasks);
    project.git_command("add .");
    project.git_command("commit -qm begin");
    project
}

/// One task that changes `ground.txt`, in the middle of which `meanwhile` is done by a person in
/// the project's folder, once.
fn during(meanwhile: &str) -> Project {
    let step = "run: `echo laid >> ground.txt; sh ../../../meanwhile.sh`";
    let project = with(&ground(&[task("T1.1", &[step])]));
    let root = project.root.display();
    let text =
        format!("test -e \"$0.done\" && exit 0; touch \"$0.done\"\ncd '{root}'\n{meanwhile}\n");
    fs::write(project.base().join("meanwhile.sh"), text).unwrap();
    project
}

/// Runs, which has to end with this code and to say all of this.
#[track_caller]
pub(crate) fn run(project: &Project, line: &str, code: i32, says: &[&str]) -> Ran {
    let ran = project.run(line);
    assert_eq!(ran.code, code, "{line}: {ran}");
    for text in says {
        assert!(ran.stderr.contains(text), "{line}: wanted `{text}` in {ran}");
    }
    ran
}

/// The run ends well, and nothing but the branch is left of it.
#[track_caller]
fn ends_well(project: &Project, line: &str) -> Ran {
    let ran = run(project, line, 0, &[]);
    is_tidy(project);
    ran
}

/// Nothing of ours is left in git or beside it.
#[track_caller]
fn is_tidy(project: &Project) {
    let refs = project.git_command("for-each-ref refs/heads/worktree refs/waypost/phases");
    assert_eq!(refs, "");
    assert!(!project.path("worktree").exists(), "{:?}", names(&project.path("worktree")));
    let trees = project.git_command("worktree list --porcelain");
    assert!(!trees.contains("phase-"), "{trees}");
    project.git_command("fsck --connectivity-only --no-dangling");
}

/// The phase could not be merged, and everything is kept.
#[track_caller]
fn is_held(project: &Project, before: &str) {
    assert_eq!(head(project, "main"), before, "main is where it was");
    assert!(project.path(PHASE).join(".git").exists());
    let inbox = project.json("inbox");
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    let phase = &project.window(crate::harness::RUN)["checkpoints"]["phase_1"];
    assert_ne!(phase["merged"], true, "{phase}");
}

fn head(project: &Project, branch: &str) -> String {
    project.git_command(&format!("rev-parse refs/heads/{branch}")).trim().to_owned()
}

/// A file as a branch has it.
fn at(project: &Project, branch: &str, file: &str) -> String {
    project.git_command(&format!("show {branch}:{file}"))
}

/// What git takes for changed.
fn dirt(project: &Project) -> String {
    project.git_command("status --porcelain --untracked-files=all")
}

/// The refs of what was kept.
fn snapshots(project: &Project) -> Vec<String> {
    let listed = project.git_command("for-each-ref --format=%(refname) refs/waypost/snapshots");
    listed.lines().map(str::to_owned).collect()
}

/// Git in a work tree of the project.
#[track_caller]
fn git_in(project: &Project, folder: &Path, arguments: &[&str]) -> String {
    let ran: Ran = project.command("git", folder).args(arguments).output().unwrap().into();
    assert_eq!(ran.code, 0, "git {arguments:?}\n{ran}");
    ran.stdout
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
