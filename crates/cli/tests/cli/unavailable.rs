//! Services that cannot be used: overload, network, sign-in, credit. Tasks wait, and lose nothing.

use crate::{
    agents::{bodies, left, tasks, with},
    execute::{begin, status, wait_for},
    harness::Project,
    terminal::no_person_is_here,
};
use serde_json::{Value, json};

fn steps(trouble: &str) -> Value {
    json!([{"say": "I begin."}, {"unavailable": trouble}])
}

fn done() -> Value {
    json!([{"tool": "Read", "input": "x"}, {"done": "now"}])
}

/// The first attempt at each task finds its service unavailable.
fn troubled(ids: &[&str], trouble: &str) -> Project {
    let default = json!([{"steps": steps(trouble)}, {"steps": done()}]);
    with(&tasks(ids), &json!({"version": 1, "default": default}))
}

#[test]
fn an_outage_parks_its_tasks_and_who_gets_through_wakes_them() {
    let slow = json!([{"run": "until test -e go; do sleep 0.05; done"}, {"done": "through"}]);
    let troubled = json!([{"steps": steps("outage")}, {"steps": done()}]);
    let tasks_of = json!({"T1.1": troubled, "T1.2": troubled, "T1.3": [{"steps": slow}]});
    let script = json!({"version": 1, "tasks": tasks_of});
    let project = with(&tasks(&["T1.1", "T1.2", "T1.3"]), &script);
    let mut run = begin(&project, "run --no-budget --retry-limit 0");
    wait_for("the tasks to be parked", || bodies(&project, "attempt_parked").len() == 2);
    let parked = bodies(&project, "attempt_parked");
    assert_eq!(parked[0]["cause"], "outage", "{parked:?}");
    let inbox = project.json("inbox");
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    assert_eq!(inbox[0]["title"], "alice: service unavailable");
    let shown = project.must("run status").stdout;
    assert!(shown.contains("waits T1.1 until"), "{shown}");
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("529") && why.contains("it waits until"), "{why}");
    project.write("go", "");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    assert_eq!(bodies(&project, "task_woken").len(), 2);
    assert_eq!(bodies(&project, "attempt_failed").len(), 0, "no retry was spent");
    assert_eq!(project.json("run status")["counts"]["completed"], 3);
    assert_eq!(project.json("inbox"), json!([]), "the entry is settled");
    assert!(left(&project).is_empty());
}

#[test]
fn a_run_that_only_a_person_can_help_ends_and_goes_on_when_resumed() {
    for (trouble, title) in [("sign_in", "alice: not signed in"), ("credit", "alice: no credit")] {
        let project = troubled(&["T1.1", "T1.2"], trouble);
        project.write("waypost.toml", "[run]\nmax_agents = 1\n");
        let ran = project.run("run --no-budget --retry-limit 0");
        assert!(ran.stderr.contains("until its agent can be used again"), "{ran}");
        assert_ne!(ran.code, 1, "{ran}");
        assert_eq!(project.json("inbox")[0]["title"], title);
        assert_eq!(bodies(&project, "task_failed").len(), 0, "{ran}");
        assert_eq!(bodies(&project, "task_started").len(), 1, "others of the account wait, too");
        // The second task meets it as well, and then there is nothing left that can go on.
        let mut resumed = 0;
        while status(&project, "T1.1") != "completed" || status(&project, "T1.2") != "completed" {
            project.run("run --resume");
            resumed += 1;
            assert!(resumed <= 3, "{trouble}");
        }
        assert_eq!(project.json("inbox"), json!([]));
    }
}

#[test]
fn the_answer_to_its_entry_wakes_all_tasks_of_an_account() {
    if no_person_is_here() {
        return;
    }
    let project = troubled(&["T1.1", "T1.2"], "outage");
    let mut run = begin(&project, "run --no-budget --retry-limit 0");
    wait_for("the tasks to be parked", || bodies(&project, "attempt_parked").len() == 2);
    project.person_must("inbox answer q1 'try again'");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    assert_eq!(project.json("run status")["counts"]["completed"], 2);
}

#[test]
fn an_outage_is_waited_for_after_a_resume_too() {
    let project = troubled(&["T1.1"], "outage");
    let mut run = begin(&project, "run --no-budget --retry-limit 0");
    wait_for("the task to be parked", || bodies(&project, "attempt_parked").len() == 1);
    run.kill().unwrap();
    run.wait().unwrap();
    let mut next = begin(&project, "run --resume");
    let owner = format!("\"pid\":{},", next.id());
    wait_for("the next engine", || project.read(".git/waypost/engine.lock").contains(&owner));
    assert_eq!(bodies(&project, "task_started").len(), 1, "it is not due");
    project.must("run retry T1.1");
    wait_for("the run to end", || next.try_wait().unwrap().is_some());
    assert_eq!(status(&project, "T1.1"), "completed");
}
