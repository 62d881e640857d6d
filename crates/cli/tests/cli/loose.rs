//! A state file of a run without a journal behind it: never overwritten, and adopted by a person.

use crate::{
    execute::with,
    harness::{Project, RUN},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::fs;

/// Phase 1 is merged, phase 2 is not begun.
fn loose() -> Project {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: Ground\n\n\
         - [ ] T1.1: Lay the ground\n  - run: `echo T1.1 >> done.txt`\n\n\
         ## Phase 2: Cart\n\n- [ ] T2.1: Pay\n  - run: `echo T2.1 >> done.txt`\n",
    );
    let state = json!({
        "version": "2.0",
        "mode": "ultra-thin",
        "project": "shop",
        "execution": {
            "current_phase": 2,
            "worktree": null,
            "started_at": "2026-01-21T09:00:00Z",
            "last_updated": "2026-01-21T10:30:00Z"
        },
        "tasks": {
            "pending": [], "ready": ["T2.1"], "in_progress": [], "completed": ["T1.1"],
            "failed": [], "blocked": []
        },
        "dependencies": {},
        "checkpoints": {
            "phase_1": {
                "started_at": "2026-01-21T09:01:00Z",
                "completed_at": "2026-01-21T09:30:00Z",
                "tasks_count": 1,
                "tasks": ["T1.1"],
                "merged": true,
                "merge_commit": "abc1234"
            },
            "phase_2": { "started_at": "2026-01-21T09:31:00Z", "progress": "0/1" }
        },
        "metrics": {
            "total_tasks": 2, "completed_count": 1, "failed_count": 0,
            "average_task_time_seconds": 120
        },
        "config": { "max_parallel": 0, "retry_limit": 10, "slack_webhook_url": null }
    });
    project.write(RUN, &format!("{state:#}\n"));
    project
}

#[test]
fn nothing_begins_over_a_state_file_that_nobody_has_adopted() {
    let project = loose();
    let before = project.read(RUN);
    for line in ["run", "run --resume", "run --rebuild-state", "resolve", "run start T2.1"] {
        let ran = project.run(line);
        assert_eq!(ran.code, 3, "{line}\n{ran}");
        assert!(ran.stderr.contains(&format!("waypost adopt {RUN}")), "{line}\n{ran}");
        assert_eq!(project.read(RUN), before, "{line}");
        assert!(!project.path("done.txt").exists(), "{line}");
        assert_eq!(project.log(), Vec::<Value>::new(), "{line}");
    }
    assert_eq!(project.run("resolve").stdout, "ERROR:REFUSED\n");
}

#[test]
fn what_an_adopted_file_says_stays() {
    if no_person_is_here() {
        return;
    }
    let project = loose();
    project.person_must(&format!("adopt {RUN}"));
    let check = |window: &Value| {
        assert_eq!(window["execution"]["started_at"], "2026-01-21T09:00:00Z");
        let phase = &window["checkpoints"]["phase_1"];
        let fields = ["started_at", "completed_at", "merged", "merge_commit"];
        let want = [
            json!("2026-01-21T09:01:00Z"),
            json!("2026-01-21T09:30:00Z"),
            json!(true),
            json!("abc1234"),
        ];
        assert_eq!(fields.map(|field| phase[field].clone()), want, "{window:#}");
        assert_eq!(window["checkpoints"]["phase_2"]["started_at"], "2026-01-21T09:31:00Z");
    };
    let window = project.window(RUN);
    check(&window);
    assert_eq!(window["metrics"]["average_task_time_seconds"], 120);
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T2.1\n", "nothing completed is run again");
    check(&project.window(RUN));
}

#[test]
fn at_a_terminal_the_file_is_offered_as_the_start() {
    if no_person_is_here() {
        return;
    }
    let project = loose();
    let before = project.read(RUN);
    let ran = project.typing("run", "n\n");
    assert_eq!((ran.code, project.read(RUN)), (3, before), "{ran}");
    // Yes to the file, yes to going on with its run.
    let ran = project.typing("run", "y\ny\n");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T2.1\n");
}

#[test]
fn a_state_that_cannot_be_read_is_said_to_be_corrupt() {
    let project = loose();
    project.write(RUN, "{ \"version\": ");
    let ran = project.run("resolve");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "ERROR:STATE_CORRUPT\n"), "{ran}");
    assert_eq!(project.run("run").code, 2);
    assert_eq!(project.read(RUN), "{ \"version\": ");

    // The journal itself is the state, where there is one.
    let project = loose();
    fs::remove_file(project.path(RUN)).unwrap();
    project.must("resolve");
    fs::write(project.journal().join("journal.db"), "no journal").unwrap();
    for log in ["journal.db-wal", "journal.db-shm"] {
        drop(fs::remove_file(project.journal().join(log)));
    }
    let ran = project.run("resolve");
    assert_eq!((ran.code, ran.stdout.as_str()), (5, "ERROR:STATE_CORRUPT\n"), "{ran}");
    let data: Value = serde_json::from_str(&project.run("--json resolve").stdout).unwrap();
    assert_eq!(data, json!({ "answer": "ERROR:STATE_CORRUPT" }));
}
