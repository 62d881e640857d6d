//! A finished run and a finished workflow leave one entry in the history, exactly once.

use super::*;

#[test]
fn a_finished_run_leaves_one_entry_and_changes_it_when_it_goes_on() {
    let project = Project::running();
    assert_eq!(project.json("memory history"), Value::Array(Vec::new()), "it is not over");
    project.must("run start T1.3");
    project.must("run done T1.3");
    let history = project.json("memory history");
    assert_eq!(history.as_array().map(Vec::len), Some(1), "{history}");
    let entry = &history[0];
    assert_eq!(
        (entry["name"].as_str(), entry["result"].as_str()),
        (Some("run 1: shop"), Some("partial"))
    );
    assert_eq!(entry["metrics"]["steps_total"], 5);
    assert_eq!(entry["metrics"]["steps_completed"], 3);
    assert!(entry["lessons"][0].as_str().unwrap().contains("no disk"), "{entry}");
    assert_eq!(entry["artifacts"][0]["path"], "TASKS.md");
    assert!(entry["duration_seconds"].as_u64().is_some_and(|it| it < 600), "{entry}");
    let at = |name: &str| entry[name].as_str().unwrap().to_owned();
    assert!(at("started_at") <= at("completed_at"), "{entry}");
    assert!(!project.path(".claude/memory").exists(), "files are shown when they are wanted");
    // In the transaction of the event that it follows from.
    let kinds: Vec<String> =
        project.log().iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect();
    let closed = kinds.iter().rposition(|kind| kind == "phase_closed").unwrap();
    assert_eq!(kinds[closed + 1], "recorded");
    // It goes on, and its entry says so.
    for line in
        ["run retry T1.1", "run start T1.1", "run done T1.1", "run start T1.2", "run done T1.2"]
    {
        project.must(line);
    }
    let after = project.json("memory history");
    assert_eq!(after.as_array().map(Vec::len), Some(1), "{after}");
    assert_eq!((&after[0]["result"], &after[0]["id"]), (&"success".into(), &entry["id"]));
    assert_eq!(project.json("memory stats")["success"], 1);
    project.must("memory init");
    assert_eq!(project.window(HISTORY)["tasks"][0]["id"], entry["id"]);
    project.must("memory validate");
}

#[test]
fn a_finished_workflow_leaves_an_entry() {
    let project = Project::implementing();
    project.must("memory init");
    project.write("waypost.toml", "[workflow.gates.re_review_clean]\ncheck = \"true\"\n");
    project.must("develop checkpoint fail cp-1");
    project.must("develop checkpoint pass cp-1");
    for id in ["cp-2", "cp-3"] {
        project.must(&format!("develop checkpoint start {id}"));
        project.must(&format!("develop checkpoint pass {id}"));
    }
    for line in [
        "develop gate pass architect_verified --report review.md",
        "develop advance",
        "develop gate pass re_review_clean",
        "develop advance",
    ] {
        project.must(line);
    }
    let window = project.window(HISTORY);
    let entry = &window["tasks"][0];
    assert_eq!(
        (entry["name"].as_str(), entry["result"].as_str()),
        (Some("Live chat"), Some("success"))
    );
    assert_eq!(
        (entry["metrics"]["steps_total"].as_u64(), entry["metrics"]["retries"].as_u64()),
        (Some(3), Some(1))
    );
    assert!(entry["lessons"][0].as_str().unwrap().contains("cp-1 took 2 tries"));
    assert_eq!(entry["artifacts"][0]["path"], "review.md");
}

#[test]
fn a_run_in_which_nothing_was_completed_has_failed() {
    let project = Project::git();
    project.write(
        "TASKS.md",
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: a\n  - run: `exit 3`\n",
    );
    project.git_command("add .");
    project.git_command("commit -q -m begin");
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    let history = project.json("memory history");
    let entry = &history[0];
    assert_eq!(
        (&entry["result"], &entry["metrics"]["steps_completed"]),
        (&"failure".into(), &0.into())
    );
    assert!(entry["lessons"][0].as_str().unwrap().contains("T1.1"), "{entry}");
}

#[test]
fn what_agents_of_a_run_used_up_is_in_its_entry() {
    let done = serde_json::json!([{"tool": "Read", "input": "x"}, {"done": "did it"}]);
    let project = crate::agents::one(&[done]);
    assert_eq!(project.run("run --no-budget").code, 0);
    let history = project.json("memory history");
    let used = history[0]["metrics"]["tokens_used"].as_u64().unwrap();
    let spent = &project.json("run status")["usage"];
    assert!(used > 0, "{history}\n{spent}");
}
