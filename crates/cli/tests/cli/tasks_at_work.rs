//! TASKS.md is edited while a run is at work: each row of the table in docs/run.md.

use crate::{
    execute::{begin, status, wait_for, with},
    harness::{Project, RUN, Ran},
};
use std::{fs, process::Child};

/// T1.1 is worked on until the file `go` is there; T1.2 waits for it.
const PLAN: &str = "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: Takes long
  - run: `touch begun; while ! test -e go; do sleep 0.02; done; echo T1.1 >> done.txt`
- [ ] T1.2: Comes next
  - run: `echo T1.2 >> done.txt`
  - depends: T1.1
";

fn at_work(plan: &str) -> (Project, Child) {
    let project = with(plan);
    let run = begin(&project, "run --isolation none --retry-limit 0");
    wait_for("the first task", || project.path("begun").exists());
    (project, run)
}

/// Lets the first task end; how the run ended.
fn go(project: &Project, run: Child) -> Ran {
    project.write("go", "");
    run.wait_with_output().unwrap().into()
}

#[track_caller]
fn says(ran: &Ran, text: &str) {
    assert_eq!(ran.stderr.matches(text).count(), 1, "wanted `{text}` once in {ran}");
}

/// The titles in the inbox.
fn inbox(project: &Project) -> Vec<String> {
    let entries = project.json("inbox");
    let title = |entry: &serde_json::Value| entry["title"].as_str().unwrap().to_owned();
    entries.as_array().unwrap().iter().map(title).collect()
}

/// The state file; it is shown a moment after the run has begun.
fn shown(project: &Project) -> String {
    fs::read_to_string(project.path(RUN)).unwrap_or_default()
}

const WAITS: &str = "TASKS.md has changed, and the run has not taken up all of it";

#[test]
fn a_task_that_is_added_is_done_before_the_run_is_over() {
    let last = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Takes long\n  - run: `touch begun; \
                while ! test -e go; do sleep 0.02; done; echo T1.1 >> done.txt`\n";
    let (project, run) = at_work(last);
    let more = "- [ ] T1.2: New\n  - run: `echo T1.2 >> done.txt`\n\n## Phase 2: Two\n\n\
                - [ ] T2.1: Later\n  - run: `echo T2.1 >> done.txt`\n";
    project.save("TASKS.md", &format!("{last}{more}"));
    let ran = go(&project, run);
    assert_eq!(ran.code, 0, "{ran}");
    says(&ran, "TASKS.md has changed: 2 tasks added, 0 removed, 1 kept");
    let mut done: Vec<String> = project.read("done.txt").lines().map(str::to_owned).collect();
    done.sort();
    assert_eq!(done, ["T1.1", "T1.2", "T2.1"]);
    assert_eq!(project.read("TASKS.md").matches("[x]").count(), 3, "and ticked");
    assert_eq!(project.run("run --verify").code, 0);
    assert!(inbox(&project).is_empty());
}

#[test]
fn a_task_that_is_not_begun_is_done_as_it_says_now_or_not_at_all() {
    let (project, run) = at_work(PLAN);
    let three = "- [ ] T1.3: Goes\n  - run: `echo T1.3 >> done.txt`\n  - depends: T1.1\n";
    project.save("TASKS.md", &format!("{PLAN}{three}"));
    wait_for("the third task", || shown(&project).contains("T1.3"));
    project.save("TASKS.md", &PLAN.replace("echo T1.2", "echo T1.2 otherwise"));
    wait_for("its end", || !shown(&project).contains("T1.3"));
    let ran = go(&project, run);
    assert_eq!(ran.code, 0, "{ran}");
    says(&ran, "TASKS.md has changed: 0 tasks added, 1 removed, 2 kept");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2 otherwise\n");
}

#[test]
fn a_task_in_progress_ends_as_it_began_and_a_person_is_asked_about_it() {
    let (project, run) = at_work(PLAN);
    let mut plan = PLAN.replace("T1.1: Takes long", "T1.1: Takes longer");
    plan += "- [ ] T1.3: New\n  - run: `touch third; while ! test -e end; do sleep 0.02; done`\n";
    project.save("TASKS.md", &plan);
    wait_for("what is new", || project.path("third").exists());
    project.write("go", "");
    wait_for("the question", || inbox(&project) == [WAITS]);
    project.write("end", "");
    let ran = go(&project, run);
    assert_eq!(ran.code, 0, "{ran}");
    says(&ran, "about what is in progress (T1.1): that counts when its attempt has ended");
    says(&ran, "about what is completed (T1.1): it stays completed");
    says(&ran, "TASKS.md has what this run has not done: T1.1");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\n");
    let ran = project.run("run");
    assert!(ran.stderr.contains("new or changed since the run before: T1.1"), "{ran}");
    assert!(inbox(&project).is_empty(), "it is decided");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT1.1\n");
}

#[test]
fn a_task_in_progress_that_is_gone_is_let_finish() {
    let (project, run) = at_work(PLAN);
    let start = PLAN.find("- [ ] T1.1").unwrap();
    let end = PLAN.find("- [ ] T1.2").unwrap();
    let rest = PLAN[end..].replace("  - depends: T1.1\n", "");
    project.save("TASKS.md", &format!("{}{rest}", &PLAN[..start]));
    wait_for("the second task", || {
        project.path("done.txt").exists() && project.read("done.txt").contains("T1.2")
    });
    assert_eq!(status(&project, "T1.1"), "in_progress");
    let ran = go(&project, run);
    assert_eq!(ran.code, 0, "{ran}");
    says(&ran, "about what is in progress (T1.1)");
    assert_eq!(project.read("done.txt"), "T1.2\nT1.1\n");
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_the_run_goes_on() {
    let (project, run) = at_work(PLAN);
    project.save("TASKS.md", &PLAN.replace("depends: T1.1", "depends: T9.9"));
    wait_for("the question", || inbox(&project) == [WAITS]);
    project.save("TASKS.md", PLAN);
    wait_for("its end", || inbox(&project).is_empty());
    let ran = go(&project, run);
    assert_eq!(ran.code, 0, "{ran}");
    says(&ran, "cannot be taken up (line 9: T1.2 depends on T9.9, which is not in the file)");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\n");
}

#[test]
fn a_task_that_could_not_be_worked_on_is_said_and_not_taken_up() {
    let (project, run) = at_work(PLAN);
    project.save("TASKS.md", &format!("{PLAN}- [ ] T1.3: New\n  - agent: nobody-knows\n"));
    wait_for("the question", || inbox(&project) == [WAITS]);
    let ran = go(&project, run);
    assert_eq!(ran.code, 0, "{ran}");
    says(&ran, "has changed and cannot be taken up");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\n");
}
