//! Tasks of the server that a person takes in hand: conversations that are opened, ends that have to name a
//! word, what waits behind an entry, and workspaces whose journal is gone.

use crate::{
    execute::{alive, wait_for},
    harness::{BINARY, USER_CONFIG},
    shop::{CUSTOM, Shop, complete, deliverables, say, steps, verdict, wait_for_file, write},
    terminal::no_person_is_here,
};
use serde_json::json;
use std::fs;

#[test]
fn a_conversation_is_opened_in_its_workspace_and_handed_back() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let nothing = shop.project.run(&format!("open {id} --print"));
    assert_eq!(nothing.code, 3, "{nothing}");
    let gate = wait_for_file("../../../../go");
    let work = [write("note.txt", "begun"), gate, say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&work)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    wait_for("its agent", || workspace.join("note.txt").exists());
    let opened = shop.project.json(&format!("open task:{id} --print"));
    assert_eq!(opened["id"], id.as_str());
    assert_eq!(opened["folder"], workspace.canonicalize().unwrap().to_str().unwrap(), "{opened}");
    assert!(opened["command"].to_string().contains("--resume"), "{opened}");
    let refused = shop.project.run(&format!("open {id}"));
    assert_ne!(refused.code, 0, "an agent opens nothing: {refused}");
    // The program is the scripted one, which ends when its input does.
    let talks = shop.project.base().join("talks");
    let talks = talks.to_str().unwrap().to_owned();
    let before = alive(&talks);
    let ran = shop.project.below_terminal(&format!("{BINARY} open {id}"), "");
    assert!(ran.stdout.contains("is handed back"), "{ran}");
    assert!(before.iter().all(|pid| !alive(&talks).contains(pid)), "its process was ended first");
    fs::write(shop.project.base().join("go"), "").unwrap();
    shop.wait(&id, "completed");
    let triggers = shop.transitions(&id);
    let count = |word: &str| triggers.iter().filter(|it| it.starts_with(word)).count();
    assert_eq!((count("PAUSE"), count("RESUME"), count("PROCESS_EXIT")), (1, 1, 0), "{triggers:?}");
    shop.end();
}

#[test]
fn an_end_has_to_name_the_word_where_that_is_demanded() {
    let mut shop = Shop::new(&json!({}));
    let config = shop.project.read(USER_CONFIG);
    shop.project.write(USER_CONFIG, &format!("{config}\n[protocol]\nnonce = true\n"));
    let id = shop.new_task(CUSTOM);
    let bare = [say("=== CUSTOM TASK COMPLETE ==="), json!({"turn_end": true})];
    shop.script(&json!({format!("{id}.0"): [steps(&bare)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let entry = shop.entry("malformed_block");
    let told = shop.project.must(&format!("inbox show {entry}")).stdout;
    let word = told.rsplit("COMPLETE ").next().and_then(|rest| rest.split(' ').next()).unwrap();
    assert_eq!(word.len(), 8, "{told}");
    assert_eq!(shop.task(&id)["status"], "in_progress");
    // The agent was told the same word with its work, and is told it again.
    shop.end();
    let named = [say(&format!("=== CUSTOM TASK COMPLETE {word} ==="))];
    shop.script(&json!({format!("{id}.0"): [steps(&named)]}));
    shop.serve();
    shop.wait(&id, "completed");
    shop.end();
}

#[test]
fn an_entry_holds_all_tasks_that_wait_behind_its_own() {
    let mut shop = Shop::new(&json!({}));
    let first = shop.new_task(CUSTOM);
    let second = shop.new_task(&format!("{CUSTOM} --after {first}"));
    let third = shop.new_task(&format!("{CUSTOM} --after {second}"));
    let other = shop.new_task(&format!("{CUSTOM} --after {first}"));
    let ask = say("[USER_QUESTION]\ncategory: clarification\nquestion: Which?\n[/USER_QUESTION]");
    shop.script(&json!({format!("{first}.0"): [steps(&[ask])]}));
    shop.serve();
    for id in [&first, &second, &third, &other] {
        shop.project.must(&format!("task submit {id}"));
    }
    let entry = shop.entry("agent_question");
    let entries = shop.project.json("inbox");
    let found = entries.as_array().unwrap().iter().find(|it| it["id"] == entry.as_str()).unwrap();
    assert_eq!(found["holds"], 4, "{found}");
    shop.end();
}

#[test]
fn workspaces_are_taken_up_again_where_the_journal_is_gone() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let data = shop.project.base().join("elsewhere");
    shop.data = Some(data.clone());
    let id = shop.new_task("'A tea shop' --type create_app --description 'Sells tea.'");
    let end = json!({"turn_end": true});
    let mut work = deliverables(1);
    work.extend([complete(1), end.clone()]);
    let mut rest = deliverables(2);
    rest.extend([complete(2), end]);
    let mut tasks = json!({format!("{id}.1"): [steps(&work)], format!("{id}.2"): [steps(&rest)]});
    for phase in 1..=2 {
        tasks[format!("{id}.{phase}.verification")] = json!([steps(&[verdict(true, "")])]);
    }
    shop.script(&tasks);
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "review");
    shop.end();
    let journal = shop.project.journal();
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _not_there = fs::remove_file(journal.join(name));
    }
    let _none = fs::remove_dir_all(journal.join("backups"));
    let closed = shop.project.run("task list");
    assert_eq!(closed.code, 5, "{closed}");
    let fix = format!("doctor --fix --data-dir {}", data.display());
    assert_eq!(shop.project.run(&fix).code, 3, "an agent does not begin again");
    // What is there is offered; a person says which of it is taken up.
    let offered = shop.project.as_person(&fix);
    assert!(offered.stdout.contains("create_app, 1 of 4 phases finished"), "{offered}");
    assert!(offered.stdout.contains("doctor --fix --take-up ID"), "{offered}");
    assert_eq!(shop.project.json("task list"), json!([]));
    let unknown = shop.project.as_person(&format!("{fix} --take-up task_nobody"));
    assert!(unknown.stderr.contains("task_nobody"), "{unknown}");
    let fixed = shop.project.as_person(&format!("{fix} --take-up {id}"));
    assert!(fixed.stderr.contains("create_app, 1 of 4 phases finished"), "{fixed}");
    let shown = shop.project.must(&format!("task show {id}")).stdout;
    assert!(shown.contains("draft"), "{shown}");
    assert_eq!(shop.project.run(&format!("task submit {id}")).code, 3, "what it is about is gone");
    shop.project.must(&format!("task edit {id} --description 'Sells tea.'"));
    shop.project.must(&format!("task submit {id}"));
    shop.serve();
    shop.wait(&id, "review");
    assert_eq!(shop.task(&id)["currentPhase"], 2, "it goes on behind what is finished");
    let idea = data.join("workspaces").join(&id).join("docs/planning/01_idea.md");
    assert!(idea.exists());
    shop.end();
}
