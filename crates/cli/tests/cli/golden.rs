//! A run that an earlier version began and did not finish goes on.
//!
//! `tests/golden/journal-run-v4.db` is a journal as events of format 4 were first written: T1.1 and T1.2 are
//! completed, T1.2 after a retry whose wake-up is still in the outbox, and T1.3 was being worked on
//! when its engine and its keeper were killed.

use crate::harness::Project;
use serde_json::Value;
use std::{fs, path::Path};

const TASKS: &str = "\
# Plan

## Phase 1: build

- [ ] T1.1: make one
  - run: echo one > one
- [ ] T1.2: fails once
  - run: test -e two || { touch two; exit 1; }
  - depends: T1.1
- [ ] T1.3: waits for a file
  - run: while [ ! -e go ]; do sleep 0.1; done; echo three > three
  - verify: test -e three

## Phase 2: ship

- [ ] T2.1: last
  - run: echo last > last
  - depends: T1.3
";

#[test]
fn a_run_begun_by_an_earlier_version_goes_on() {
    let project = Project::plain();
    project.write("TASKS.md", TASKS);
    project.write("go", "");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/journal-run-v4.db");
    let state = project.root.join(".waypost");
    fs::create_dir(&state).unwrap();
    fs::copy(golden, state.join("journal.db")).unwrap();

    let completed = |project: &Project| {
        project.log().iter().filter(|entry| entry["kind"] == "task_completed").count()
    };
    assert_eq!(completed(&project), 2);

    project.must("run --resume --mode ultra-thin");
    // What was completed then was not done again.
    assert!(!project.root.join("one").exists() && !project.root.join("two").exists());
    assert_eq!(project.read("three"), "three\n");
    assert_eq!(project.read("last"), "last\n");
    assert_eq!(completed(&project), 4);
    let lost = |entry: &Value| entry["kind"] == "attempt_interrupted";
    assert!(project.log().iter().any(lost), "its engine was killed: the attempt is lost");
}
