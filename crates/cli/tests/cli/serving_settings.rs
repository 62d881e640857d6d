//! Tasks of a server with settings of a person's: parking, deadlines, other adapters. And what is said of a
//! task that failed or whose agent is at work.

use crate::{
    execute::{alive, kill_all, wait_for},
    harness::{BINARY, Ran, USER_CONFIG},
    shop::{CUSTOM, Shop, say, steps, wait_for_file, write},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const ENDS: &str = "=== CUSTOM TASK COMPLETE ===";

fn end() -> Value {
    json!({"turn_end": true})
}

/// Adds sections to the person's settings.
fn set(shop: &Shop, text: &str) {
    let config = shop.project.read(USER_CONFIG);
    shop.project.write(USER_CONFIG, &format!("{config}\n{text}"));
}

/// A task that is handed in, whose agents do this one after another.
fn begun(shop: &mut Shop, processes: &[Value]) -> String {
    let id = shop.new_task(CUSTOM);
    shop.script(&json!({format!("{id}.0"): processes}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    id
}

fn reasons_of_checkpoints(shop: &Shop, id: &str) -> Vec<String> {
    let found = shop.project.json(&format!("task checkpoints {id}"));
    let reason = |it: &Value| it["reason"].as_str().unwrap().to_owned();
    found.as_array().unwrap().iter().map(reason).collect()
}

#[test]
fn a_task_that_failed_says_where_its_log_is() {
    let mut shop = Shop::new(&json!({}));
    let fatal = "[ERROR]\ntype: fatal\nmessage: the well is dry\n[/ERROR]";
    let id = begun(&mut shop, &[steps(&[say(fatal), end()])]);
    shop.wait(&id, "failed");
    let log = shop.task(&id)["errorLog"].as_str().unwrap().to_owned();
    assert!(log.contains(&format!("tasks/{id}/1.")) && Path::new(&log).is_file(), "{log}");
    let shown = shop.project.must(&format!("task show {id}")).stdout;
    assert!(shown.contains(&format!("error log: {log}")), "{shown}");
    let why = shop.project.json(&format!("why {id}"));
    let told = why["reasons"].as_array().unwrap().iter();
    let told = told.filter(|it| it["text"].as_str().unwrap().contains(&log)).count();
    assert_eq!(told, 1, "{why}");
    shop.end();
}

#[test]
fn what_an_agent_at_work_has_used_up_is_told_while_it_works() {
    let mut shop = Shop::new(&json!({}));
    let words = "One of the many sentences that an agent says while it works. ".repeat(40);
    let id = begun(&mut shop, &[steps(&[say(&words), wait_for_file("../../../../go"), say(ENDS)])]);
    let agent = || shop.project.json(&format!("task show {id} --agent"));
    wait_for("tokens of an agent at work", || agent()["tokensUsed"].as_u64() > Some(0));
    let live = agent();
    assert_eq!(live["status"], "running", "{live}");
    fs::write(shop.project.base().join("go"), "").unwrap();
    shop.wait(&id, "completed");
    wait_for("the end of its process", || shop.processes().is_empty());
    assert!(live["lastUpdate"].is_string() && agent()["tokensUsed"].as_u64() > Some(0));
    shop.end();
}

#[test]
fn an_agent_that_breaks_off_leaves_a_checkpoint_of_what_there_was() {
    let mut shop = Shop::new(&json!({}));
    let first = [write("note.txt", "begun\n"), say("It is begun."), json!({"crash": 3})];
    let id = begun(&mut shop, &[steps(&first), steps(&[say(ENDS)])]);
    shop.wait(&id, "completed");
    let found = shop.project.json(&format!("task checkpoints {id}"));
    let kept = found.as_array().unwrap().iter().find(|it| it["reason"] == "error").unwrap();
    assert!(kept["commit"].is_string() && kept["said_to"].as_u64() > Some(0), "{kept}");
    let tree = format!("ls-tree --name-only {}", kept["commit"].as_str().unwrap());
    assert!(shop.project.git_command(&tree).contains("note.txt"));
    shop.end();
}

#[test]
fn an_agent_that_stands_still_for_long_is_parked_and_goes_on_in_its_conversation() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    set(&shop, "[pause]\npark_after_minutes = 0\n");
    let first = [write("note.txt", "begun\n"), say("It is begun."), json!({"hang": true})];
    let again = [json!({"run": "cp note.txt again.txt"}), say(ENDS)];
    let id = begun(&mut shop, &[steps(&first), steps(&again)]);
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    wait_for("its work", || workspace.join("note.txt").exists());
    shop.project.must(&format!("task pause {id}"));
    wait_for("its process to be gone", || shop.processes().is_empty());
    assert_eq!(shop.task(&id)["pausedBy"], "user");
    assert!(reasons_of_checkpoints(&shop, &id).contains(&"user_pause".to_owned()));
    shop.project.person_must(&format!("task resume {id}"));
    shop.wait(&id, "completed");
    assert!(workspace.join("again.txt").exists());
    let talks = fs::read_dir(shop.project.base().join("talks")).unwrap().count();
    assert_eq!(talks, 1, "one conversation");
    let transitions = shop.transitions(&id);
    assert!(!transitions.iter().any(|it| it.contains("PROCESS_EXIT")), "{transitions:?}");
    shop.end();
}

#[test]
fn what_is_optional_takes_its_default_at_its_deadline() {
    let mut shop = Shop::new(&json!({}));
    set(&shop, "[task]\noptional_wait_minutes = 0\n");
    let asks = "[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions:\n- green\n- black\n\
                default: black\nrequired: false\n[/USER_QUESTION]";
    let told = json!({"when": {"told": "black"}, "then": [write("told.txt", "x")], "else": []});
    let id = begun(&mut shop, &[steps(&[say(asks), end(), told, say(ENDS)])]);
    shop.wait(&id, "completed");
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    assert!(workspace.join("told.txt").exists(), "its agent is told the default");
    assert_eq!(shop.project.json("inbox"), json!([]));
    shop.end();
}

#[test]
fn the_default_of_a_value_is_offered_and_is_in_the_environment_when_none_is_given() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let asks = "[DEPENDENCY_REQUEST]\ntype: env_variable\nname: SHOP_MODE\ndescription: how to sell\n\
                required: false\ndefault: by the pound\n[/DEPENDENCY_REQUEST]";
    let again = [json!({"run": "printf %s \"$SHOP_MODE\" > mode.txt"}), say(ENDS)];
    let id = begun(&mut shop, &[steps(&[say(asks), end()]), steps(&again)]);
    let entry = shop.entry("value");
    let shown = shop.project.must(&format!("inbox show {entry}")).stdout;
    assert!(shown.contains("it goes on with by the pound"), "{shown}");
    assert!(shown.contains("`decline` lets it go on with: by the pound"), "{shown}");
    shop.project.person_must(&format!("inbox decline {entry}"));
    shop.wait(&id, "completed");
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    assert_eq!(fs::read_to_string(workspace.join("mode.txt")).unwrap(), "by the pound");
    shop.end();
}

#[test]
fn a_question_is_asked_again_by_who_goes_back_to_it() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let asks = "[USER_QUESTION]\ncategory: clarification\nquestion: Which tea?\nrequired: true\n[/USER_QUESTION]";
    let first = [say(asks), end(), write("note.txt", "first\n"), json!({"hang": true})];
    let told = json!({"when": {"told": "black"}, "then": [write("told.txt", "x")], "else": []});
    let id = begun(&mut shop, &[steps(&first), steps(&[told, say(ENDS)])]);
    let question = shop.entry("agent_question");
    wait_for("its checkpoint", || reasons_of_checkpoints(&shop, &id).contains(&"question".into()));
    shop.project.person_must(&format!("inbox answer {question} green"));
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    wait_for("its work", || workspace.join("note.txt").exists());
    shop.project.person_must(&format!("task restore {id} --checkpoint 1"));
    let again = shop.entry("agent_question");
    assert_eq!(shop.project.json(&format!("task show {id} --agent"))["status"], "waiting_question");
    shop.project.person_must(&format!("inbox answer {again} black"));
    shop.wait(&id, "completed");
    assert!(workspace.join("told.txt").exists() && !workspace.join("note.txt").exists());
    shop.end();
}

#[test]
fn the_data_folder_may_be_anywhere_and_what_is_over_can_be_put_away_while_a_server_works() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let data = shop.project.base().join("elsewhere");
    shop.data = Some(data.clone());
    let id = begun(&mut shop, &[steps(&[write("note.txt", "x\n"), say(ENDS)])]);
    shop.wait(&id, "completed");
    let workspace = data.join("workspaces").join(&id);
    assert!(workspace.join("note.txt").exists(), "{}", shop.said());
    assert!(!shop.project.path(".waypost/workspaces").join(&id).exists());
    shop.project.must(&format!("task archive {id}"));
    assert_eq!(shop.project.json("task list"), json!([]));
    assert_eq!(shop.project.json("task list --all").as_array().unwrap().len(), 1);
    shop.project.person_must(&format!("task delete {id} --yes"));
    wait_for("its workspace to be gone", || !workspace.exists());
    assert_ne!(shop.project.run(&format!("task show {id}")).code, 0);
    shop.end();
}

#[test]
fn programs_that_speak_other_protocols_work_on_tasks() {
    for adapter in ["acp", "codex-exec", "codex"] {
        let mut shop = Shop::speaking(adapter, &json!({}));
        let id = begun(&mut shop, &[steps(&[write("note.txt", "hello\n"), say(ENDS)])]);
        shop.wait(&id, "completed");
        let workspace = shop.project.path(".waypost/workspaces").join(&id);
        assert!(workspace.join("note.txt").exists(), "{adapter}\n{}", shop.said());
        shop.end();
        assert_eq!(shop.processes(), Vec::<u32>::new(), "{adapter}");
    }
}

#[test]
fn a_task_that_is_tried_again_begins_with_the_work_of_the_first_or_with_nothing() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let fatal = say("[ERROR]\ntype: fatal\nmessage: the well is dry\n[/ERROR]");
    let id = begun(&mut shop, &[steps(&[write("note.txt", "of the first\n"), fatal, end()])]);
    shop.wait(&id, "failed");
    wait_for("its last checkpoint", || {
        reasons_of_checkpoints(&shop, &id).contains(&"failed".to_owned())
    });
    shop.end();
    let again = shop.project.person_must(&format!("task retry {id}")).stdout.trim().to_owned();
    let done = json!([steps(&[json!({"run": "ls > there.txt"}), say(ENDS)])]);
    shop.script(&json!({format!("{again}.0"): done}));
    shop.serve();
    shop.wait(&again, "completed");
    let workspaces = shop.project.path(".waypost/workspaces");
    let there = fs::read_to_string(workspaces.join(&again).join("there.txt")).unwrap();
    assert!(there.contains("note.txt"), "{there}");
    shop.end();
    let fail = json!([steps(&[say("[ERROR]\ntype: fatal\nmessage: dry\n[/ERROR]"), end()])]);
    let id = shop.new_task(CUSTOM);
    shop.script(&json!({format!("{id}.0"): fail}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "failed");
    shop.end();
    let fresh = shop.project.person_must(&format!("task retry {id} --fresh")).stdout;
    let fresh = fresh.trim().to_owned();
    shop.script(&json!({format!("{fresh}.0"): done}));
    shop.serve();
    shop.wait(&fresh, "completed");
    let there = fs::read_to_string(workspaces.join(&fresh).join("there.txt")).unwrap();
    assert!(!there.contains("note.txt"), "{there}");
    shop.end();
}

#[test]
fn an_attempt_at_a_task_that_is_over_changes_nothing() {
    let mut shop = Shop::new(&json!({}));
    let id = begun(&mut shop, &[steps(&[write("note.txt", "x\n"), say(ENDS)])]);
    shop.wait(&id, "completed");
    shop.end();
    let before = shop.project.log().len();
    let mut command = shop.project.command(BINARY, &shop.project.root);
    command.env("WAYPOST_JOB", format!("task:{id}#1")).env("WAYPOST_ATTEMPT", "1");
    let ran: Ran = command.args(["task", "new", "another"]).output().unwrap().into();
    assert!(ran.code != 0 && ran.stderr.contains("STALE_ATTEMPT"), "{ran}");
    assert_eq!(shop.project.log().len(), before, "nothing was recorded");
}

#[test]
fn a_host_that_is_killed_again_while_it_recovers_leaves_the_next_one_the_same() {
    let mut shop = Shop::new(&json!({}));
    let gate = wait_for_file("../../../../go");
    let work = [write("note.txt", "begun\n"), gate, say(ENDS)];
    let id = begun(&mut shop, &[steps(&work), steps(&work), steps(&work)]);
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    wait_for("its work", || workspace.join("note.txt").exists());
    shop.kill_host();
    // At its first step, when it has looked at its tasks, and when its agent is killed beside it.
    shop.serve();
    shop.kill_host();
    shop.serve();
    wait_for("a host that is ready", || shop.said().contains("tasks are worked on"));
    shop.kill_host();
    shop.serve();
    kill_all(alive(&format!("tasks/{id}/keepers")));
    shop.kill_host();
    shop.serve();
    fs::write(shop.project.base().join("go"), "").unwrap();
    shop.wait(&id, "completed");
    let triggers = shop.transitions(&id);
    let count = |word: &str| triggers.iter().filter(|it| it.starts_with(word)).count();
    assert_eq!((count("SUBMIT"), count("PHASE_COMPLETE")), (1, 1), "{triggers:?}");
    assert!(count("PROCESS_EXIT") <= 1, "{triggers:?}");
    wait_for("the end of the agent", || shop.processes().is_empty());
    shop.end();
}
