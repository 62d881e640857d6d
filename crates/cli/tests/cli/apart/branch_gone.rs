//! The branch of a phase is deleted in the middle of a run. No task is to blame: the branch is made again
//! with what was joined, and the run goes on by itself.

use super::{PHASE, at, ends_well, git_in, ground, task, with};
use crate::{agents::bodies, harness::Project};
use std::fs;

/// When the branch is deleted.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// An attempt is at work.
    Work,
    /// Its work is done, and in a tree of its own committed, but not joined.
    Verification,
    /// Everything is joined, and the phase about to land.
    Checks,
}

/// A run whose branch is deleted once, when one task is joined, another one about to be, and a third at
/// work, which ends only when the branch has both.
fn with_deletion(moment: Moment, delete: &str) -> Project {
    let once = "sh ../../../once.sh";
    let steps =
        |number: usize, command: &str| format!("run: `echo {number} > {number}.txt; {command}`");
    let deletes = |at: Moment| match at as usize == moment as usize {
        true => once,
        false => "true",
    };
    let verify = format!("verify: `{}`", deletes(Moment::Verification));
    let waits =
        format!("until git -C ../.. cat-file -e {PHASE}:2.txt 2> /dev/null; do sleep 0.05; done");
    let tasks = ground(&[
        task("T1.1", &[&steps(1, "true"), "files: 1.txt"]),
        task("T1.2", &[&steps(2, deletes(Moment::Work)), &verify, "files: 2.txt"]),
        task("T1.3", &[&steps(3, &waits), "files: 3.txt"]),
    ]);
    let project = with(
        &tasks.replace("T1.2: Do T1.2\n  - depends: none", "T1.2: Do T1.2\n  - depends: T1.1"),
    );
    let text = format!(
        "test -e \"$0.done\" && exit 0; touch \"$0.done\"\ncd '{}' && {delete} && ! git rev-parse -q --verify refs/heads/{PHASE}\n",
        project.root.display()
    );
    fs::write(project.base().join("once.sh"), text).unwrap();
    project.write("waypost.toml", &format!("[run]\nchecks = [\"{}\"]\n", deletes(Moment::Checks)));
    project.git_command("add .");
    project.git_command("commit -qm checks");
    project
}

fn check(moment: Moment, isolation: &str, delete: &str) {
    let project = with_deletion(moment, delete);
    let what = format!("{moment:?}, {isolation}, {delete}");
    let ran = ends_well(&project, &format!("run --isolation {isolation} --retry-limit 0"));
    assert!(project.base().join("once.sh.done").exists(), "{what}: it was deleted");
    assert!(ran.stderr.contains("is gone: at "), "{what}: {ran}");
    for number in 1..=3 {
        let file = format!("{number}.txt");
        assert_eq!(at(&project, "main", &file), format!("{number}\n"), "{what}");
    }
    assert_eq!(bodies(&project, "task_completed").len(), 3, "{what}");
    for kind in ["attempt_failed", "task_failed"] {
        assert_eq!(bodies(&project, kind).len(), 0, "{what}: {ran}");
    }
    assert_eq!(project.json("inbox").as_array().unwrap().len(), 0, "{what}");
    assert_eq!(
        git_in(&project, &project.root, &["fsck", "--no-progress", "--no-dangling"]),
        "",
        "{what}"
    );
}

#[test]
fn a_branch_that_is_deleted_while_attempts_have_trees_of_their_own_comes_back() {
    for moment in [Moment::Work, Moment::Verification, Moment::Checks] {
        check(moment, "task", &format!("git branch -qD {PHASE}"));
    }
    check(Moment::Verification, "task", &format!("git update-ref -d refs/heads/{PHASE}"));
}

#[test]
fn a_branch_that_is_deleted_under_attempts_that_share_its_tree_comes_back() {
    for moment in [Moment::Work, Moment::Verification, Moment::Checks] {
        check(moment, "phase", &format!("git update-ref -d refs/heads/{PHASE}"));
    }
}
