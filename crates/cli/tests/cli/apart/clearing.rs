//! A person who clears up the repository while a run is at work in it.

use super::*;
use std::{
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

/// Twelve tasks, some of which build on each other and commit by themselves.
fn tasks() -> String {
    let task = |number: usize| {
        let depends = match number % 3 {
            0 => format!("T1.{}", number - 1),
            _ => "none".to_owned(),
        };
        let own = if number.is_multiple_of(4) { "; git add -A; git commit -qm own" } else { "" };
        format!(
            "- [ ] T1.{number}: Do {number}\n  - depends: {depends}\n  - run: `mkdir -p d{number}; \
             echo {number} > d{number}/made.txt{own}`\n  - verify: `test -e d{number}/made.txt`\n"
        )
    };
    ground(&(1..=12).map(task).collect::<Vec<_>>())
}

#[test]
fn a_gc_without_a_pause_takes_nothing_from_a_run() {
    for isolation in ["task", "phase"] {
        let project = with(&tasks());
        let (is_over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    let mut gc = Command::new("git");
                    gc.args(["gc", "--quiet", "--prune=now"]).current_dir(&project.root);
                    gc.env("GIT_CONFIG_GLOBAL", "/dev/null");
                    // One that meets a ref in the making fails, and the next one goes on.
                    drop(gc.output().unwrap());
                    rounds.fetch_add(1, Ordering::AcqRel);
                }
            });
            // A git of a task's own may lose what it has just written; it is tried again.
            let ran = project.run(&format!("run --isolation {isolation} --retry-limit 20"));
            is_over.store(true, Ordering::Release);
            assert_eq!(ran.code, 0, "{isolation}: {ran}");
        });
        is_tidy(&project);
        for number in 1..=12 {
            let made = at(&project, "main", &format!("d{number}/made.txt"));
            assert_eq!(made, format!("{number}\n"), "{isolation}");
        }
        assert!(rounds.load(Ordering::Acquire) > 1, "{isolation}");
        assert_eq!(dirt(&project), "");
    }
}

#[test]
fn a_run_leaves_no_loose_objects() {
    let project = with(&tasks());
    let loose = |project: &Project| {
        let counted = project.git_command("count-objects");
        counted.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let before = loose(&project);
    ends_well(&project, "run --isolation task");
    // A task that commits by itself may leave one or the other that is not part of its work.
    let after = loose(&project);
    assert!(after <= before + 12, "{before} and then {after}");
    let kept = names(&project.path(".git/objects/pack"));
    assert!(!kept.iter().any(|name| name.ends_with(".keep")), "{kept:?}");
}
