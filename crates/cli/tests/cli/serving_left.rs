//! Tasks whose server is gone, and tasks whose project was moved.

use crate::{
    execute::wait_for,
    shop::{CUSTOM, Shop, say, steps, write},
    terminal::no_person_is_here,
};
use serde_json::json;
use std::fs;

const QUESTION: &str =
    "[USER_QUESTION]\ncategory: clarification\nquestion: Which?\nrequired: true\n[/USER_QUESTION]";

/// A task whose agent works on after its server was killed.
fn left_at_work() -> (Shop, String) {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let hangs = [write("note.txt", "begun\n"), json!({"hang": true})];
    let again = [say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&hangs), steps(&again)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let note = shop.project.path(".waypost/workspaces").join(&id).join("note.txt");
    wait_for("the agent's work", || note.exists());
    shop.kill_host();
    assert!(!shop.processes().is_empty(), "its agent is left");
    (shop, id)
}

#[test]
fn a_pause_ends_the_agent_that_a_dead_server_has_left() {
    let (mut shop, id) = left_at_work();
    shop.project.must(&format!("task pause {id}"));
    assert_eq!(shop.processes(), Vec::<u32>::new());
    if no_person_is_here() {
        return;
    }
    shop.serve();
    shop.project.person_must(&format!("task resume {id}"));
    shop.wait(&id, "completed");
    shop.end();
}

#[test]
fn a_cancelled_task_has_no_agent_that_a_dead_server_has_left() {
    let (shop, id) = left_at_work();
    shop.project.must(&format!("task cancel {id}"));
    assert_eq!(shop.processes(), Vec::<u32>::new());
    assert_eq!(shop.task(&id)["status"], "failed");
}

#[test]
fn a_project_that_is_moved_takes_its_workspaces_along() {
    if no_person_is_here() {
        return;
    }
    for kind in ["own", "tree"] {
        let mut shop = Shop::new(&json!({}));
        let text = format!(
            "version = 1\nname = \"note\"\ntitle = \"A note\"\nworkspace = \"{kind}\"\nprompt = \"{{description}}\"\n"
        );
        shop.project.write("task-types/note.toml", &text);
        let id = shop.new_task("'A note' --type note --description 'Write a note.'");
        let first = [write("note.txt", "begun\n"), say(QUESTION)];
        let again = [write("end.txt", "done\n"), say("=== NOTE COMPLETE ===")];
        shop.script(&json!({format!("{id}.0"): [steps(&first), steps(&again)]}));
        shop.serve();
        shop.project.must(&format!("task submit {id}"));
        let entry = shop.entry("agent_question");
        let checkpoints = |shop: &Shop| shop.project.json(&format!("task checkpoints {id}"));
        wait_for("its checkpoint", || !checkpoints(&shop).as_array().unwrap().is_empty());
        shop.end();
        let before = shop.project.root.clone();
        let after = before.with_file_name("moved");
        fs::rename(&before, &after).unwrap();
        shop.project.root.clone_from(&after);
        shop.serve();
        shop.project.person_must(&format!("inbox answer {entry} any"));
        let workspace = after.join(".waypost/workspaces").join(&id);
        wait_for(&format!("the work at its new place\n{}", shop.said()), || {
            workspace.join("end.txt").exists()
        });
        assert_eq!(fs::read_to_string(workspace.join("note.txt")).unwrap(), "begun\n");
        assert!(!before.exists(), "nothing is made where the project was");
        shop.end();
    }
}
