//! What a person and an agent are told of each other, to the word: pauses, escalations, refusals, values, blocks
//! that cannot be read.

use crate::{
    execute::wait_for,
    shop::{CUSTOM, Shop, say, steps, wait_for_file, write},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const ENDS: &str = "=== CUSTOM TASK COMPLETE ===";

fn end() -> Value {
    json!({"turn_end": true})
}

/// A type with one phase that is verified by a command.
fn kind(command: &str) -> String {
    format!(
        "version = 1\nname = \"one\"\ntitle = \"One\"\nworkspace = \"own\"\n[[phases]]\nname = \"Only\"\n\
         prompt = \"Do it. {{marker}}\"\n[[phases.steps]]\nname = \"a\"\ndeliverable = \"docs/a.md\"\n\
         min_characters = 3\n[phases.verification]\ncommands = [\"{command}\"]\n"
    )
}

/// Everything that agents were told and said, as their program keeps it.
fn talk(shop: &Shop) -> String {
    fn read(folder: &Path, all: &mut String) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => read(&path, all),
                path => all.push_str(&fs::read_to_string(path).unwrap_or_default()),
            }
        }
    }
    let mut all = String::new();
    read(&shop.project.base().join("talks"), &mut all);
    read(&shop.project.journal().join("tasks"), &mut all);
    all
}

#[test]
fn a_pause_while_a_phase_is_verified_is_said_as_what_it_is() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let gate = shop.project.base().join("go");
    let command = format!("while ! test -e {}; do sleep 0.05; done", gate.display());
    shop.project.write("task-types/one.toml", &kind(&command));
    let id = shop.new_task("x --type one --description y");
    let claim = [write("docs/a.md", "tea\n"), say("=== PHASE 1 COMPLETE ==="), end()];
    shop.script(&json!({format!("{id}.1"): [steps(&claim)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let agent = || shop.project.json(&format!("task show {id} --agent"))["status"].clone();
    wait_for(&format!("the verification\n{}", shop.said()), || agent() == "waiting_review");
    let said = shop.project.must(&format!("task pause {id}")).stderr;
    assert!(said.contains("is going to be paused: being verified 1/1, then paused"), "{said}");
    assert_eq!((agent(), &shop.task(&id)["pausedBy"]), (json!("waiting_review"), &Value::Null));
    let why = shop.project.json(&format!("why {id}"));
    let texts: Vec<&str> =
        why["reasons"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 2, "{why}");
    assert_eq!(texts[0], "phase 1 is being verified");
    assert!(texts[1].ends_with("it stands still when its agent would go on"), "{why}");
    fs::write(&gate, "").unwrap();
    shop.wait(&id, "review");
    // What was said can be taken back there, too.
    shop.project.person_must(&format!("task resume {id}"));
    let review = shop.entry("review");
    shop.project.person_must(&format!("inbox approve {review}"));
    shop.wait(&id, "completed");
    shop.end();
}

#[test]
fn what_is_accepted_after_an_escalation_is_reviewed_with_diff_and_deliverables() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    shop.project.write("task-types/one.toml", &kind("false"));
    let id = shop.new_task("x --type one --description y");
    let claim = [write("docs/a.md", "green tea\n"), say("=== PHASE 1 COMPLETE ==="), end()];
    let often: Vec<Value> = (0..4).flat_map(|_| claim.clone()).collect();
    shop.script(&json!({format!("{id}.1"): [steps(&often)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let escalation = shop.entry("escalation");
    shop.project.person_must(&format!("inbox accept {escalation}"));
    let review = shop.entry("review");
    let shown = shop.project.json(&format!("inbox show {review}"));
    let material = &shown["review"];
    assert_eq!(material["deliverables"][0]["path"], "docs/a.md", "{shown}");
    assert!(material["diff"]["text"].as_str().unwrap().contains("+green tea"), "{shown}");
    shop.end();
}

#[test]
fn the_reason_of_a_no_is_told_to_the_agent_and_stands_in_the_log() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let asks = "[USER_QUESTION]\ncategory: clarification\nquestion: Which tea?\nrequired: false\n[/USER_QUESTION]";
    let permission = json!({"permission": {"tool": "Bash", "input": "cargo publish", "else": []}});
    let told = json!({"when": {"told": "nobody drinks tea"}, "then": [write("told.txt", "x")], "else": []});
    let all = [say(asks), end(), told, permission, say(ENDS)];
    shop.script(&json!({format!("{id}.0"): [steps(&all)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let question = shop.entry("agent_question");
    shop.project.person_must(&format!("inbox decline {question} 'nobody drinks tea'"));
    let permission = shop.entry("permission");
    shop.project.person_must(&format!("inbox decline {permission} 'it is not ready'"));
    shop.wait(&id, "completed");
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    assert!(workspace.join("told.txt").exists(), "the agent is told why there is no answer");
    let told = talk(&shop);
    assert!(told.contains("it is not ready"), "the agent is told why it may not: {told}");
    for reason in ["nobody drinks tea", "it is not ready"] {
        let log = shop.project.must("--json log").stdout;
        assert!(log.contains(reason), "the log does not say: {reason}");
    }
    shop.end();
}

#[test]
fn a_value_is_told_by_the_variable_it_is_in() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let asks = "[DEPENDENCY_REQUEST]\ntype: api_key\nname: Stripe key\ndescription: for the till\n\
                required: true\n[/DEPENDENCY_REQUEST]";
    let first = [say(asks), end()];
    let again = [json!({"run": "test -n \"$STRIPE_KEY\" && touch given.txt"}), say(ENDS)];
    shop.script(&json!({format!("{id}.0"): [steps(&first), steps(&again)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let value = shop.entry("value");
    let given = shop.project.base().join("given");
    fs::write(&given, "sk_test_0123456789").unwrap();
    shop.project.person_must(&format!("inbox provide {value} --file {}", given.display()));
    shop.wait(&id, "completed");
    assert!(shop.project.path(".waypost/workspaces").join(&id).join("given.txt").exists());
    assert!(talk(&shop).contains("as the variable STRIPE_KEY"), "{}", talk(&shop));
    shop.end();
}

#[test]
fn a_permission_for_a_call_with_a_secret_in_it_is_refused_without_a_person() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let secret = "sk_test_canary_9876543210";
    let asks = "[DEPENDENCY_REQUEST]\ntype: api_key\nname: SHOP_KEY\ndescription: x\nrequired: true\n\
                [/DEPENDENCY_REQUEST]";
    let call = format!("curl -H {secret} shop.example");
    let again = [json!({"permission": {"tool": "Bash", "input": call}}), say(ENDS)];
    shop.script(&json!({format!("{id}.0"): [steps(&[say(asks), end()]), steps(&again)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let value = shop.entry("value");
    let given = shop.project.base().join("given");
    fs::write(&given, secret).unwrap();
    shop.project.person_must(&format!("inbox provide {value} --file {}", given.display()));
    shop.wait(&id, "completed");
    let asked = shop.project.json_lines("log -n 1000").into_iter();
    assert_eq!(asked.filter(|it| it["kind"] == "agent_asked").count(), 0);
    shop.end();
}

#[test]
fn what_an_agent_said_and_could_not_be_read_is_one_entry_that_holds_nothing() {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let bad = say("[USER_QUESTION]\ncategory: nonsense\n[/USER_QUESTION]");
    let gate = wait_for_file("../../../../go");
    let all = [bad.clone(), end(), bad, gate, end(), say(ENDS)];
    shop.script(&json!({format!("{id}.0"): [steps(&all)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.entry("malformed_block");
    let log = || shop.project.json_lines("log -n 1000");
    let heard = || log().iter().filter(|it| it["kind"] == "heard").count();
    wait_for("both of them", || heard() == 2);
    let inbox = shop.project.json("inbox");
    let [entry] = inbox.as_array().unwrap().as_slice() else { panic!("one entry: {inbox}") };
    assert_eq!(entry["holds"], 0, "{entry}");
    fs::write(shop.project.base().join("go"), "").unwrap();
    shop.wait(&id, "completed");
    assert_eq!(shop.project.json("inbox"), json!([]));
    shop.end();
}

#[test]
fn an_answer_to_a_review_that_is_not_open_any_more_is_refused_as_stale() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    shop.project.write("task-types/one.toml", &kind("true"));
    let id = shop.new_task("x --type one --description y");
    let claim = [write("docs/a.md", "green tea\n"), say("=== PHASE 1 COMPLETE ==="), end()];
    let often: Vec<Value> = (0..3).flat_map(|_| claim.clone()).collect();
    shop.script(&json!({format!("{id}.1"): [steps(&often)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let first = shop.entry("review");
    let textless = shop.project.as_person(&format!("inbox changes {first}"));
    assert_ne!(textless.code, 0, "a request for changes needs a text: {textless}");
    shop.project.person_must(&format!("inbox changes {first} 'more sugar'"));
    wait_for("the second review", || {
        let entries = shop.project.json("inbox");
        let mut entries = entries.as_array().unwrap().iter();
        entries.any(|it| it["kind"] == "review" && it["id"] != first.as_str())
    });
    let stale = shop.project.as_person(&format!("inbox approve {first}"));
    assert_eq!(stale.code, 4, "{stale}");
    assert_eq!(shop.task(&id)["status"], "review", "nothing was approved");
    let second = shop.entry("review");
    shop.project.person_must(&format!("inbox approve {second}"));
    shop.wait(&id, "completed");
    shop.end();
}

#[test]
fn an_archive_is_put_only_where_it_takes_nothing_away() {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let done = [write("note.txt", "hello\n"), say(ENDS)];
    shop.script(&json!({format!("{id}.0"): [steps(&done)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "completed");
    wait_for("its last checkpoint", || {
        let found = shop.project.json(&format!("task checkpoints {id}"));
        found.as_array().unwrap().last().is_some_and(|it| it["reason"] == "completed")
    });
    shop.end();
    let project = &shop.project;
    let out = project.base().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("letter.txt"), "dear all\n").unwrap();
    fs::write(project.base().join("out.zip.part"), "mine\n").unwrap();
    let names = || -> Vec<_> {
        let all = fs::read_dir(project.base()).unwrap().chain(fs::read_dir(&out).unwrap());
        let mut names: Vec<_> = all.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let refused = project.run(&format!("task deliverables {id} --zip ../out"));
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("is a folder") && refused.stderr.contains(".zip"), "{refused}");
    let refused = project.run(&format!("task deliverables {id} --zip ../out/letter.txt"));
    assert_eq!(refused.code, 2, "{refused}");
    assert_eq!(names(), before, "nothing is left of it");
    assert_eq!(fs::read_to_string(out.join("letter.txt")).unwrap(), "dear all\n");
    assert_eq!(fs::read_to_string(project.base().join("out.zip.part")).unwrap(), "mine\n");
    for _ in 0..2 {
        project.must(&format!("task deliverables {id} --zip ../out/shop.zip"));
    }
    assert!(fs::read(out.join("shop.zip")).unwrap().starts_with(b"PK"));
}
