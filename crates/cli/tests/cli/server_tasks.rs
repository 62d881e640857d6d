//! `waypost task` without a server: what any process may do with tasks, and what is printed.

use crate::harness::Project;
use serde_json::{Value, json};

const NEW: &str = "task new 'A tea shop' --type create_app --description 'sells tea'";

/// Makes a task, and returns its id.
fn made(project: &Project, line: &str) -> String {
    project.must(line).stdout.trim().to_owned()
}

#[test]
fn a_task_is_written_handed_in_and_cancelled_by_any_process() {
    let project = Project::git();
    let id = made(&project, "task new 'A tea shop'");
    assert!(id.starts_with("task_"), "{id}");
    let refused = project.run(&format!("task submit {id}"));
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("without: type, description"), "{refused}");
    project.must(&format!("task edit {id} --type create_app --description 'sells tea'"));
    let submitted = project.must(&format!("task submit task:{id}"));
    assert!(submitted.stderr.contains("waypost serve"), "it says what is missing: {submitted}");
    let refused = project.run(&format!("task edit {id} --title other"));
    assert_eq!(refused.code, 3, "{refused}");
    project.must(&format!("task edit {id} --priority high"));
    project.must(&format!("task cancel {id} --reason 'no tea'"));
    assert_eq!(project.run(&format!("task cancel {id}")).code, 3);
    let kinds: Vec<Value> =
        project.json_lines(&format!("log {id}")).iter().map(|it| it["kind"].clone()).collect();
    let expected =
        ["created", "edited", "submitted", "moved", "edited", "failed", "moved"].map(Value::from);
    assert_eq!(kinds, expected);
}

#[test]
fn without_a_checkpoint_there_is_nothing_to_pack() {
    let project = Project::git();
    let id = made(&project, NEW);
    let refused = project.run(&format!("task deliverables {id} --zip shop.zip"));
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("has no checkpoint yet"), "{refused}");
    assert!(!project.root.join("shop.zip").exists());
}

#[test]
fn a_task_that_is_over_is_an_entry_of_the_memory() {
    let project = Project::git();
    let id = made(&project, &format!("{NEW} --submit"));
    assert_eq!(project.json("memory history"), json!([]), "it is not over");
    project.must(&format!("task cancel {id} --reason 'no tea'"));
    let history = project.json("memory history");
    let [entry] = history.as_array().unwrap().as_slice() else { panic!("one entry: {history}") };
    assert_eq!((&entry["name"], &entry["result"]), (&json!("A tea shop"), &json!("cancelled")));
    assert_eq!(entry["metrics"]["steps_total"], 4, "{entry}");
    assert_eq!(entry["lessons"], json!(["no tea"]), "{entry}");
    assert!(entry["summary"].as_str().unwrap().contains(&id), "{entry}");
}

#[test]
fn show_answers_as_the_seeds_api() {
    let project = Project::git();
    let id = made(&project, &format!("{NEW} --submit"));
    let task = project.json(&format!("task show {id}"));
    let created = task["createdAt"].clone();
    assert!(created.as_str().is_some_and(|it| it.ends_with('Z')), "{task}");
    let expected = json!({
        "id": id,
        "status": "pending",
        "currentPhase": null,
        "totalPhases": 4,
        "progress": 0,
        "createdAt": created,
        "startedAt": null,
        "completedAt": null,
        "failedAt": null,
    });
    assert_eq!(task, expected);
    let mut agent = project.json(&format!("task show {id} --agent"));
    agent["lastUpdate"] = Value::Null;
    let expected = json!({
        "status": "idle",
        "currentPhase": null,
        "currentStep": null,
        "progress": 0,
        "tokensUsed": 0,
        "blockedBy": null,
        "lastUpdate": null,
        "checkpoint": { "lastSaved": null, "autoSaveInterval": 600_000 },
    });
    assert_eq!(agent, expected);
    let log = project.json(&format!("task transitions {id}"));
    let record = &log[0];
    let told =
        json!([record["type"], record["from"], record["to"], record["trigger"], record["taskId"]]);
    assert_eq!(told, json!(["state_transition", "draft", "pending", "SUBMIT", id]));
    // What is printed is what `validate` takes.
    project.write("task.json", &task.to_string());
    project.write("agent.json", &agent.to_string());
    project.write("transition.json", &record.to_string());
    for kind in ["task", "agent", "transition"] {
        project.must(&format!("validate --kind {kind} {kind}.json"));
    }
}

#[test]
fn lists_are_filtered_ordered_and_paged() {
    let project = Project::git();
    let low = made(&project, &format!("{NEW} --submit --priority low"));
    let high =
        made(&project, "task new Coffee --type custom --description x --priority high --submit");
    let draft = made(&project, "task new 'Green TEA'");
    let ids = |line: &str| -> Vec<String> {
        let rows = project.json(&format!("task list {line}"));
        rows.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut all = ids("");
    all.sort();
    let mut expected = vec![low.clone(), high.clone(), draft.clone()];
    expected.sort();
    assert_eq!(all, expected);
    assert_eq!(ids("--queue --state pending"), [high.clone(), low.clone()]);
    assert_eq!(ids("--state draft"), std::slice::from_ref(&draft));
    assert_eq!(ids("--priority high"), std::slice::from_ref(&high));
    assert_eq!(ids("--text tea").len(), 2);
    let first = ids("-n 1");
    assert_eq!(ids(&format!("-n 5 --from {}", first[0])).len(), 2);
    assert_eq!(project.run("task list --state paused").code, 2);
    assert_eq!(project.json("status")["tasks"], json!({ "draft": 1, "pending": 2 }));
    project.must(&format!("task cancel {low}"));
    project.must(&format!("task archive {low}"));
    assert!(!ids("").contains(&low) && ids("--all").contains(&low));
    let doctor = project.run("doctor");
    assert!(doctor.stdout.contains("tasks"), "{doctor}");
}

#[test]
fn a_failed_task_is_tried_again_as_another_one() {
    let project = Project::git();
    let id = made(&project, &format!("{NEW} --submit"));
    assert_eq!(project.run(&format!("task retry {id}")).code, 3);
    project.must(&format!("task cancel {id}"));
    let again = made(&project, &format!("task retry {id}"));
    assert_ne!(again, id);
    assert_eq!(project.json(&format!("task show {again}"))["status"], "pending");
    let shown = project.must(&format!("task show {id}")).stdout;
    assert!(shown.contains(&again), "{shown}");
    assert_eq!(project.run(&format!("task retry {id} --checkpoint 7")).code, 2);
    // Deleting and going back are a person's.
    assert_eq!(project.run(&format!("task delete {id} --yes")).code, 3);
    assert_eq!(project.run(&format!("task restore {again} --checkpoint 1")).code, 3);
}

#[test]
fn what_waits_for_a_task_that_is_lost_says_so_and_stays_pending() {
    let project = Project::git();
    let first = made(&project, &format!("{NEW} --submit"));
    let second = made(&project, &format!("{NEW} --submit --after {first}"));
    let why = project.json(&format!("why {second}"));
    let text = why["reasons"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text, format!("it waits for {first}"));
    project.must(&format!("task cancel {first}"));
    let why = project.json(&format!("why task:{second}"));
    let reason = &why["reasons"][0];
    assert_eq!(reason["text"], format!("it waits for {first}, which was cancelled"));
    assert_eq!(reason["event"]["kind"], "dependency_lost");
    assert_eq!(project.json(&format!("task show {second}"))["status"], "pending");
    let inbox = project.must("inbox").stdout;
    assert!(inbox.contains(&format!("{second} waits for {first}")), "{inbox}");
    // Neither itself nor what is not there, nor in a circle.
    assert_eq!(project.run(&format!("{NEW} --submit --after task_nowhere")).code, 2);
    let draft = made(&project, NEW);
    let other = made(&project, &format!("{NEW} --submit --after {draft}"));
    project.must(&format!("task edit {draft} --after {other}"));
    let refused = project.run(&format!("task submit {draft}"));
    assert_eq!(refused.code, 3, "{refused}");
}

#[test]
fn a_project_has_types_of_its_own_and_bad_ones_are_told_with_their_place() {
    let project = Project::git();
    let types = project.json("task types");
    let names: Vec<&str> =
        types.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["create_app", "custom", "modify_app", "workflow"]);
    let good = "version = 1\nname = \"site\"\ntitle = \"A site\"\nworkspace = \"own\"\n\
                [[phases]]\nname = \"Only\"\nprompt = \"Do {title}.\"\n";
    project.write("task-types/site.toml", good);
    project.must("validate task-types/site.toml");
    let id = made(&project, "task new x --type site --description y --submit");
    assert_eq!(project.json(&format!("task show {id}"))["totalPhases"], 1);
    project.write("task-types/site.toml", &good.replace("prompt", "promt"));
    let refused = project.run("task new x --type site --description y --submit");
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("promt") && refused.stderr.contains("site.toml"), "{refused}");
    let doctor = project.run("doctor");
    assert!(doctor.stdout.contains("task types"), "{doctor}");
    let refused = project.run("task new x --type nothing --description y --submit");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("create_app"), "{refused}");
    project.must("schema task-type");
}

#[test]
fn a_task_that_cannot_be_handed_in_at_once_names_no_id_that_is_not_kept() {
    let project = Project::git();
    let refused = project.run("task new 'A tea shop' --submit");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("without: type, description"), "{refused}");
    assert!(!refused.stderr.contains("task_"), "{refused}");
    assert_eq!(project.json("task list"), json!([]));
}

#[test]
fn a_type_that_is_called_otherwise_than_its_file_is_found_by_validate_and_doctor() {
    let project = Project::git();
    let draft = made(&project, "task new x --type creat_app --description y");
    let kind = "version = 1\nname = \"site\"\ntitle = \"A site\"\nworkspace = \"own\"\n";
    project.write("task-types/sight.toml", kind);
    let validated = project.run("validate task-types/sight.toml");
    assert_eq!(validated.code, 2, "{validated}");
    let doctor = project.run("doctor");
    assert_eq!(doctor.code, 1, "{doctor}");
    for ran in [&validated, &doctor] {
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(all.contains("the type is called `site`, its file `sight.toml`"), "{ran}");
        assert!(all.contains("call the file `site.toml`, or the type `sight`"), "{ran}");
    }
    let unknown = format!("{draft} cannot be worked on: there is no task type `creat_app`");
    assert!(doctor.stdout.contains(&unknown), "{doctor}");
    assert!(doctor.stdout.contains("did you mean `create_app`?"), "{doctor}");
}

#[test]
fn a_text_that_is_too_long_is_refused_with_the_limit_in_every_language() {
    let project = Project::git();
    let id = made(&project, "task new x");
    for letter in ["a", "\u{d55c}", "\u{1f375}"] {
        project.write("brief.md", &letter.repeat(2_000_000));
        let refused = project.run(&format!("task edit {id} --file brief.md"));
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains("at most"), "{refused}");
        let refused = project.run("inbox answer q1 --file brief.md");
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains("at most 102400 bytes"), "{refused}");
    }
}

#[test]
fn no_edit_makes_two_tasks_wait_for_each_other() {
    let project = Project::git();
    let first = made(&project, &format!("{NEW} --submit"));
    let second = made(&project, &format!("{NEW} --after {first} --submit"));
    let refused = project.run(&format!("task edit {first} --after {second}"));
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("would wait for itself"), "{refused}");
    let why = project.json(&format!("why {first}")).to_string();
    assert!(!why.contains(&second), "it does not wait for it: {why}");
}
