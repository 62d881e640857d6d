//! Many processes on one project at once: nothing is lost, nothing is torn.
//!
//! The ordinary run takes a few changes per process; `WAYPOST_FAULTS=full` takes many.

use crate::harness::{Project, RUN, WORKFLOW};
use serde_json::Value;
use std::{collections::BTreeMap, env, fmt::Write as _, thread};

/// As many as a busy machine runs agents.
const PROCESSES: usize = 16;

/// Changes that each process makes: enough to meet the others, or enough to meet them for long.
fn changes() -> usize {
    if env::var("WAYPOST_FAULTS").as_deref() == Ok("full") { 200 } else { 8 }
}

/// How often each kind of event is in the journal.
fn count(project: &Project, kinds: &[&str]) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> =
        kinds.iter().map(|kind| ((*kind).to_owned(), 0)).collect();
    for entry in project.log() {
        if let Some(count) = counts.get_mut(entry["kind"].as_str().unwrap()) {
            *count += 1;
        }
    }
    counts
}

/// Every process at once, each with the same number of steps.
fn at_once(work: impl Fn(usize, usize) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            scope.spawn(move || (0..changes()).for_each(|step| work(process, step)));
        }
    });
}

/// The journal verifies, and both windows show what it says.
fn check_sound(project: &Project) {
    let findings = project.json("doctor");
    for finding in findings.as_array().unwrap() {
        assert_ne!(finding["verdict"], "bad", "{finding}");
        if finding["subject"] == "windows" {
            assert_eq!(finding["text"], "in step with the journal");
        }
    }
    let seqs: Vec<u64> = project.log().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    let gap_free: Vec<u64> = (1..=seqs.len() as u64).collect();
    assert_eq!(seqs, gap_free);
}

#[test]
fn faults_a_run_that_many_begin_at_once_begins_once_and_refuses_none() {
    let ids: Vec<String> = (1..=PROCESSES).map(|number| format!("T0.{number}")).collect();
    for _ in 0..4 {
        let project = &Project::git();
        let tasks: String = ids.iter().map(|id| format!("- [ ] {id}: Task\n")).collect();
        project.write("TASKS.md", &format!("# Tasks: crowd\n\n## Phase 0: All\n\n{tasks}"));
        thread::scope(|scope| {
            for id in &ids {
                scope.spawn(move || project.must(&format!("run start {id}")));
                scope.spawn(move || project.json("run status"));
            }
        });
        let want = [("begun", 1), ("task_started", PROCESSES)];
        let counts = count(project, &want.map(|(kind, _)| kind));
        assert_eq!(counts, want.map(|(kind, count)| (kind.to_owned(), count)).into());
    }
}

#[test]
fn faults_a_run_loses_nothing_to_many_processes() {
    let project = Project::git();
    let steps = changes();
    let mut tasks = "# Tasks: crowd\n\n## Phase 0: All\n\n".to_owned();
    for process in 0..PROCESSES {
        for step in 0..steps {
            writeln!(tasks, "- [ ] T0.{}: Task", process * steps + step + 1).unwrap();
        }
    }
    // So many that the run has an image, to which all processes add.
    tasks += "\n## Phase 1: Later\n\n";
    for number in 1..=300 {
        writeln!(tasks, "- [ ] T1.{number}: Task").unwrap();
    }
    project.write("TASKS.md", &tasks);
    at_once(|process, step| {
        let id = format!("T0.{}", process * steps + step + 1);
        project.must(&format!("run start {id}"));
        match step % 4 {
            0 => project.must(&format!("run fail {id} --class critical --reason unlucky")),
            _ => project.must(&format!("run done {id} --attempt 1")),
        };
    });
    let all = PROCESSES * steps;
    let failed = PROCESSES * steps.div_ceil(4);
    let want = [("task_completed", all - failed), ("task_failed", failed), ("task_started", all)];
    let kinds = ["task_started", "task_completed", "task_failed"];
    let want: BTreeMap<String, usize> =
        want.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect();
    assert_eq!(count(&project, &kinds), want);
    let window = project.window(RUN);
    let listed = |list: &str| window["tasks"][list].as_array().map(Vec::len);
    assert_eq!((listed("completed"), listed("failed")), (Some(all - failed), Some(failed)));
    assert_eq!(window["metrics"]["completed_count"], Value::from(all - failed));
    check_sound(&project);
    let with_image = (project.json("run status"), project.must("run status --all").stdout);
    for cache in ["run.image", "run.summary"] {
        std::fs::remove_file(project.journal().join(cache)).unwrap();
    }
    let without = (project.json("run status"), project.must("run status --all").stdout);
    assert_eq!(with_image, without, "the image says what the journal says");
}

#[test]
fn faults_a_workflow_loses_nothing_to_many_processes() {
    let project = Project::git();
    project.write("review.md", "Blocking: 0\n");
    project.write("waypost.toml", "[workflow]\nmax_iterations = 1000000\n");
    project.must("develop start Crowd");
    let ids: Vec<String> = (0..PROCESSES).map(|each| format!("--checkpoint cp-{each}")).collect();
    project.must(&format!("develop advance {}", ids.join(" ")));
    project.must("develop gate pass review_clean_pass --report review.md");
    project.must("develop advance");
    at_once(|process, step| {
        let verb = if step == 0 { "start" } else { "fail" };
        project.must(&format!("-q develop checkpoint {verb} cp-{process}"));
    });
    let counted = count(&project, &["checkpoint_started", "checkpoint_failed"]);
    let want =
        [("checkpoint_failed", PROCESSES * (changes() - 1)), ("checkpoint_started", PROCESSES)];
    let want: BTreeMap<String, usize> =
        want.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect();
    assert_eq!(counted, want);
    let window = project.window(WORKFLOW);
    for process in 0..PROCESSES {
        let row = &window["checkpoints"][format!("cp-{process}")];
        assert_eq!(row["iteration"], Value::from(changes()), "cp-{process}");
    }
    assert_eq!(window, project.json("develop status")["state"]);
    check_sound(&project);
}
