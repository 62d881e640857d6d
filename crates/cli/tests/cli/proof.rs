//! Proof of life: what an agent does past the hook stops its attempt, whatever kind of work that is.

use crate::{
    agents::{left, one},
    execute::wait_for,
    shop::{CUSTOM, Shop, complete, deliverables, say, steps, verdict, write},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::fs;

fn hook_off() -> Value {
    json!({"hook": "off"})
}

/// The refs of a workspace, by their last names.
fn refs(shop: &Shop, id: &str) -> String {
    let workspace = shop.project.path(".waypost/workspaces").join(id);
    shop.project.git_in(&workspace, "for-each-ref --format=%(refname:lstrip=4) refs/waypost")
}

#[test]
fn a_task_whose_agent_went_past_the_hook_is_stopped_and_what_it_left_is_put_aside() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let past = [
        write("note.txt", "allowed\n"),
        hook_off(),
        write("smuggled.txt", "past the hook\n"),
        say("=== CUSTOM TASK COMPLETE ==="),
        json!({"hang": true}),
    ];
    let done = [write("note.txt", "hello\n"), say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&past), steps(&done)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let entry = shop.entry("escalation");
    let told = shop.project.must(&format!("inbox show {entry}")).stdout;
    assert!(told.contains("smuggled.txt") && told.contains("aside-1"), "{told}");
    wait_for("the end of its agent", || shop.processes().is_empty());
    assert_eq!(shop.task(&id)["status"], "in_progress", "what it said counts for nothing");
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    assert!(!workspace.join("smuggled.txt").exists());
    let kept = format!("show refs/waypost/tasks/{id}/aside-1:smuggled.txt");
    assert_eq!(shop.project.git_in(&workspace, &kept).trim(), "past the hook");
    // A host that comes later waits for the person as well.
    shop.end();
    shop.serve();
    shop.project.person_must(&format!("inbox answer {entry} resume"));
    shop.wait(&id, "completed");
    assert!(!workspace.join("smuggled.txt").exists());
    assert_eq!(fs::read_to_string(workspace.join("note.txt")).unwrap(), "hello\n");
    assert!(refs(&shop, &id).contains("aside-1"), "it stays until the task is deleted");
    shop.end();
}

#[test]
fn an_attempt_that_no_host_saw_end_is_judged_by_its_stream() {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let gate = json!({"run": "touch begun; while ! test -e ../../../../go; do sleep 0.05; done"});
    let past = [gate, hook_off(), write("smuggled.txt", "x"), say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&past)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    wait_for("its agent", || workspace.join("begun").exists());
    shop.kill_host();
    fs::write(shop.project.base().join("go"), "").unwrap();
    wait_for("its work", || workspace.join("smuggled.txt").exists());
    crate::execute::kill_all(shop.processes());
    wait_for("the end of all", || shop.processes().is_empty());
    shop.serve();
    let entry = shop.entry("escalation");
    let told = shop.project.must(&format!("inbox show {entry}")).stdout;
    assert!(told.contains("smuggled.txt"), "{told}");
    assert!(!workspace.join("smuggled.txt").exists());
    shop.end();
}

#[test]
fn a_verification_past_the_hook_is_none() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task("'A tea shop' --type create_app --description 'Sells tea.'");
    let mut work = deliverables(1);
    work.extend([complete(1), json!({"turn_end": true})]);
    let look = json!({"tool": "Read", "input": "docs/planning/01_idea.md"});
    let past = [hook_off(), look.clone(), verdict(true, "")];
    let verification = format!("{id}.1.verification");
    let mut tasks = json!({format!("{id}.1"): [steps(&work)]});
    tasks[&verification] = json!([steps(&past)]);
    shop.script(&tasks);
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let entry = shop.entry("unavailable");
    let told = shop.project.must(&format!("inbox show {entry}")).stdout;
    assert!(told.contains("01_idea.md"), "{told}");
    assert_eq!(shop.task(&id)["status"], "in_progress");
    tasks[&verification] = json!([steps(&[look, verdict(true, "")])]);
    shop.script(&tasks);
    shop.project.person_must(&format!("inbox answer {entry} 'try again'"));
    shop.wait(&id, "review");
    shop.end();
}

#[test]
fn a_run_stands_still_for_an_agent_that_went_past_the_hook() {
    if no_person_is_here() {
        return;
    }
    let past = json!([
        {"write": {"file": "a.txt", "text": "allowed"}},
        {"hook": "off"},
        {"write": {"file": "b.txt", "text": "smuggled"}},
        {"done": "wrote both"},
    ]);
    let well = json!([{"write": {"file": "a.txt", "text": "well"}}, {"done": "wrote it"}]);
    let project = one(&[past, well]).variable("WAYPOST_RUN_ISOLATION", "task");
    let ran = project.run("run --no-budget");
    assert_ne!(ran.code, 0, "{ran}");
    let status = project.json("run status");
    assert_eq!(status["counts"]["completed"], 0, "{status}");
    assert!(!project.path("b.txt").exists());
    assert!(left(&project).is_empty());
    let entries = project.json("inbox");
    let entry = &entries[0];
    assert_eq!(entry["kind"], "unavailable", "{entries}");
    assert!(entry["text"].as_str().unwrap().contains("b.txt"), "{entries}");
    // Another start of the run does not answer for the person.
    assert_ne!(project.run("run --resume --no-budget").code, 0);
    let id = entry["id"].as_str().unwrap();
    project.person_must(&format!("inbox answer {id} 'try again'"));
    let ran = project.run("run --resume --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("a.txt"), "well");
    assert!(!project.path("b.txt").exists(), "what it left is not taken over");
    let kept = project.git_command("for-each-ref --format=%(refname) refs/waypost/snapshots");
    assert!(!kept.is_empty(), "and is kept all the same");
}
