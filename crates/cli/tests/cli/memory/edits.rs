//! Edits of the two windows, row by row as `docs/windows.md` has them.

use super::*;

/// Edits a file of a task at work, as an agent does, and tells what the next command says.
#[track_caller]
fn edited(file: &str, change: impl FnOnce(&mut Value)) -> (Project, String) {
    let project = at_work();
    project.edit(file, change);
    let ran = project.run("status");
    assert_eq!(ran.code, 0, "{ran}");
    (project, ran.stderr)
}

#[track_caller]
fn taken(file: &str, change: impl FnOnce(&mut Value)) -> Project {
    let (project, said) = edited(file, change);
    assert!(said.contains("took up an edit of"), "{said}");
    assert_eq!(project.json("inbox"), Value::Array(Vec::new()));
    project.must("memory validate");
    project
}

#[track_caller]
fn refused(file: &str, why: &str, change: impl FnOnce(&mut Value)) {
    let before = at_work().window(file);
    let (project, said) = edited(file, change);
    assert!(said.contains("was refused") && said.contains(why), "{why}: {said}");
    let asked = project.json("inbox");
    assert_eq!(asked[0]["kind"], "refused_edit", "{asked}");
    // What was written is kept, and the truth is shown again.
    let kept = said.split("kept as ").nth(1).unwrap().split(')').next().unwrap();
    assert!(std::path::Path::new(kept).is_file(), "{kept}");
    let plain = |window: &Value| {
        let task = &window["current_task"];
        (
            task["status"].clone(),
            task["plan"]["steps"].as_array().map(Vec::len),
            window["tasks"].clone(),
        )
    };
    assert_eq!(plain(&project.window(file)), plain(&before));
}

fn step(state: &mut Value, at: usize) -> &mut Value {
    &mut state["current_task"]["plan"]["steps"][at]
}

#[test]
fn a_status_moved_forward_is_taken_up() {
    let project = taken(STATE, |state| step(state, 0)["status"] = "in_progress".into());
    assert_eq!(statuses(&project), ["in_progress", "pending", "pending"]);
    // Several at once, and in the order in which they wait for each other.
    let project = taken(STATE, |state| {
        step(state, 1)["status"] = "completed".into();
        step(state, 0)["status"] = "completed".into();
        step(state, 0)["output"] = "a drawing".into();
    });
    assert_eq!(statuses(&project), ["completed", "completed", "pending"]);
    assert_eq!(current(&project)["plan"]["current_step"], 3);
    assert!(current(&project)["plan"]["steps"][1]["completed_at"].is_string());
}

#[test]
fn a_step_that_is_added_and_a_changed_context_or_output_are_taken_up() {
    let project = taken(STATE, |state| {
        let steps = state["current_task"]["plan"]["steps"].as_array_mut().unwrap();
        steps.push(serde_json::json!({"id": 4, "name": "Ship", "dependencies": [3]}));
    });
    assert_eq!(statuses(&project).len(), 4);
    let project = taken(STATE, |state| {
        state["current_task"]["context"]["constraints"] = serde_json::json!(["cheap"]);
        step(state, 0)["output"] = serde_json::json!({"draft": true});
        state["current_task"]["plan"]["goal"] = "Sell more".into();
    });
    let task = current(&project);
    assert_eq!(task["context"]["constraints"][0], "cheap");
    assert_eq!(task["plan"]["steps"][0]["output"]["draft"], true);
    assert_eq!(task["plan"]["goal"], "Sell more");
}

#[test]
fn a_new_task_and_the_end_of_one_are_taken_up() {
    let project = taken(STATE, |state| {
        let day = state["current_task"]["id"].as_str().unwrap()[..16].to_owned();
        let task = serde_json::json!({"id": format!("{day}007"), "name": "Later"});
        state["pending_tasks"].as_array_mut().unwrap().push(task);
    });
    assert_eq!(project.window(STATE)["pending_tasks"][0]["name"], "Later");
    let project = taken(STATE, |state| {
        (0..3).for_each(|at| step(state, at)["status"] = "completed".into());
        state["current_task"]["status"] = "completed".into();
    });
    assert_eq!(project.window(HISTORY)["tasks"][0]["result"], "success");
    // Or by the entry that an agent of the seed writes into the history.
    let (project, said) = edited(HISTORY, |history| {
        let id = format!("task-{}-001", history_day());
        let entry = serde_json::json!({"id": id, "name": "Cart", "result": "partial", "summary": "half",
            "lessons": ["less"]});
        history["tasks"].as_array_mut().unwrap().push(entry);
    });
    assert!(said.contains("took up an edit of"), "{said}");
    assert_eq!(project.window(HISTORY)["tasks"][0]["lessons"][0], "less");
    assert_eq!(project.window(STATE)["current_task"], Value::Null);
}

/// Today's day in UTC, as the ids have it.
fn history_day() -> String {
    let ran = at_work().json("memory show")["state"]["current_task"]["id"].clone();
    ran.as_str().unwrap()[5..15].to_owned()
}

#[test]
fn what_contradicts_the_rules_is_refused_with_the_reason() {
    refused(STATE, "steps 1, 2, 3", |state| state["current_task"]["status"] = "completed".into());
    refused(STATE, "the id of step 3 was changed to 30", |state| step(state, 2)["id"] = 30.into());
    refused(STATE, "the id of the current task", |state| {
        state["current_task"]["id"] = "task-2020-01-01-001".into();
    });
    refused(STATE, "was taken out", |state| state["current_task"] = Value::Null);
    refused(STATE, "waits for step 1", |state| step(state, 1)["status"] = "completed".into());
    refused(STATE, "unknown field", |state| state["current_task"]["mood"] = "good".into());
    refused(HISTORY, "is no task that could end", |history| {
        let entry =
            serde_json::json!({"id": "task-2020-01-01-001", "name": "x", "result": "success"});
        history["tasks"].as_array_mut().unwrap().push(entry);
    });
    refused(HISTORY, "the statistics are counted", |history| {
        history["statistics"]["total_tasks"] = 500.into();
    });
}

#[test]
fn a_history_that_was_rewritten_is_refused() {
    let project = at_work();
    project.must("memory task cancel --lesson 'Ask first'");
    project.edit(HISTORY, |history| history["tasks"][0]["result"] = "success".into());
    let ran = project.run("status");
    assert!(ran.stderr.contains("the history is not rewritten"), "{ran}");
    project.edit(HISTORY, |history| history["tasks"] = Value::Array(Vec::new()));
    let ran = project.run("status");
    assert!(ran.stderr.contains("was taken out"), "{ran}");
    assert_eq!(project.window(HISTORY)["tasks"][0]["result"], "cancelled");
}

#[test]
fn a_file_that_is_missing_is_made_when_it_is_written_and_never_by_a_read() {
    let project = Project::git();
    project.must("status");
    project.must("memory show");
    project.must("memory history");
    assert!(!project.path(".claude").exists(), "a read has made something");
    let project = at_work();
    for file in [STATE, HISTORY] {
        std::fs::remove_file(project.path(file)).unwrap();
    }
    for line in ["status", "memory show", "memory context get", "memory validate", "doctor"] {
        assert!(project.run(line).code < 3, "{line}");
        assert!(!project.path(STATE).exists() && !project.path(HISTORY).exists(), "{line}");
    }
    project.must("memory step start 1");
    assert_eq!(statuses(&project)[0], "in_progress");
    assert!(project.path(HISTORY).exists());
}

#[test]
fn the_files_are_no_content_of_a_gate_and_git_does_not_show_them() {
    let project = Project::implementing();
    project.git_command("add review.md");
    let before = project.git_command("status --porcelain");
    project.must("memory init");
    project.must("memory agent helper set preferences.tone '\"dry\"'");
    assert_eq!(project.git_command("status --porcelain"), before);
    // Tracked by the user, they are still no content that a gate is bound to.
    project.git_command("add -f .claude/memory/shared-context.json");
    project.git_command("commit -q -m memory");
    project.must("develop checkpoint pass cp-1");
    for id in ["cp-2", "cp-3"] {
        project.must(&format!("develop checkpoint start {id}"));
        project.must(&format!("develop checkpoint pass {id}"));
    }
    project.must("develop gate pass architect_verified --report review.md");
    project.must("memory context set shared_data.late true");
    project.must("memory task new Other");
    let stale = project.must("develop status");
    assert!(!stale.stderr.contains("changed"), "{stale}");
    project.must("develop advance");
}

#[test]
fn what_was_taken_out_is_judged_as_an_edit_of_what_is_shown_now() {
    // Without the last step the file says what it said before that was added.
    let project = taken(STATE, |state| {
        state["current_task"]["plan"]["steps"].as_array_mut().unwrap().pop();
    });
    assert_eq!(statuses(&project), ["pending", "pending"]);
    // The same by one who dates what it writes.
    let project = taken(STATE, |state| {
        state["current_task"]["plan"]["steps"].as_array_mut().unwrap().pop();
        state["last_updated"] = "2031-01-01T00:00:00Z".into();
    });
    assert_eq!(statuses(&project), ["pending", "pending"]);
    refused(STATE, "was taken out", |state| state["current_task"] = Value::Null);
    let project = at_work();
    project.must("memory task new Later");
    project.edit(STATE, |state| state["pending_tasks"] = Value::Array(Vec::new()));
    let said = project.must("memory show").stderr;
    assert!(said.contains("was taken out of the tasks that wait"), "{said}");
    assert_eq!(project.window(STATE)["pending_tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn an_earlier_file_that_is_put_back_changes_nothing() {
    let project = at_work();
    let earlier = project.read(STATE);
    project.must("memory step start 1");
    project.save(STATE, &earlier);
    let said = project.must("memory show").stderr;
    assert!(said.contains("was put back"), "{said}");
    assert_eq!(statuses(&project), ["in_progress", "pending", "pending"]);
}

#[test]
fn a_step_that_failed_is_taken_up_with_or_without_an_error() {
    let project = taken(STATE, |state| step(state, 0)["status"] = "failed".into());
    let failed = &current(&project)["plan"]["steps"][0];
    assert_eq!(
        (&failed["status"], &failed["error"]["type"]),
        (&"failed".into(), &"transient".into())
    );
    assert!(project.json("memory show")["waiting"][0]["not_before"].is_string());
    let project = taken(STATE, |state| {
        step(state, 0)["status"] = "failed".into();
        step(state, 0)["error"] = serde_json::json!({"type": "structural", "message": "no"});
    });
    let failed = &current(&project)["plan"]["steps"][0];
    assert_eq!(
        (&failed["error"]["type"], &failed["error"]["message"]),
        (&"structural".into(), &"no".into())
    );
    assert_eq!(project.json("memory show")["replan"], "structural");
    // An error is an object, as the seed has it.
    refused(STATE, "expected an object", |state| {
        step(state, 0)["status"] = "failed".into();
        step(state, 0)["error"] = "boom".into();
    });
}

#[test]
fn a_step_that_failed_begins_again_when_its_time_has_come() {
    let project = at_work();
    project.must("memory step start 1");
    project.must("memory step fail 1 --reason once");
    project.must("memory step retry 1");
    project.must("memory step fail 1 --reason twice");
    let again = |state: &mut Value| step(state, 0)["status"] = "in_progress".into();
    project.edit(STATE, again);
    let early = project.run("status");
    assert!(early.stderr.contains("was refused") && early.stderr.contains("step 1"), "{early}");
    assert_eq!(statuses(&project)[0], "failed");
    crate::execute::wait_for("its time", || {
        project.edit(STATE, again);
        project.run("status").stderr.contains("took up an edit of")
    });
    assert_eq!(statuses(&project)[0], "in_progress");
}

#[test]
fn an_escalated_step_goes_on_by_the_edit_that_a_person_takes_up() {
    if crate::terminal::no_person_is_here() {
        return;
    }
    let project = at_work();
    for line in ["start 1", "fail 1 --reason no", "escalate 1 --reason 'I cannot'"] {
        project.must(&format!("memory step {line}"));
    }
    let again = |state: &mut Value| step(state, 0)["status"] = "in_progress".into();
    project.edit(STATE, again);
    let by_agent = project.run("status");
    assert!(by_agent.stderr.contains("was refused"), "{by_agent}");
    assert_eq!(statuses(&project)[0], "escalated");
    project.edit(STATE, again);
    let by_person = project.as_person("status");
    assert!(by_person.stderr.contains("took up an edit of"), "{by_person}");
    assert_eq!(statuses(&project)[0], "in_progress");
}

#[test]
fn artifacts_issues_criteria_and_names_are_taken_up() {
    let project = taken(STATE, |state| {
        let task = &mut state["current_task"];
        task["name"] = "Basket".into();
        task["artifacts"] =
            serde_json::json!([{"type": "file", "path": "cart.md", "description": "it"}]);
        task["issues"] = serde_json::json!([{"type": "slow", "message": "it takes long"}]);
        task["plan"]["success_criteria"] = serde_json::json!(["It sells", "It ships"]);
        step(state, 0)["name"] = "Draw".into();
    });
    let task = current(&project);
    assert_eq!(
        (&task["name"], &task["artifacts"][0]["path"]),
        (&"Basket".into(), &"cart.md".into())
    );
    assert_eq!(task["issues"][0]["message"], "it takes long");
    assert_eq!(task["plan"]["success_criteria"][1], "It ships");
    assert_eq!(task["plan"]["steps"][0]["name"], "Draw");
}

#[test]
fn the_status_of_a_task_moves_as_the_picture_has_it() {
    let project = at_work();
    for (status, by) in [
        ("paused", "pause"),
        ("in_progress", "resume"),
        ("failed", "fail"),
        ("in_progress", "recover"),
    ] {
        project.edit(STATE, |state| state["current_task"]["status"] = status.into());
        let ran = project.must("status");
        assert!(ran.stderr.contains("took up an edit of"), "{by}: {ran}");
        assert_eq!(current(&project)["status"], status, "{by}");
    }
    project.edit(STATE, |state| state["current_task"]["status"] = "cancelled".into());
    project.must("status");
    assert_eq!(project.window(HISTORY)["tasks"][0]["result"], "cancelled");
    assert_eq!(project.window(STATE)["current_task"], Value::Null);
    // One that is written in as the current one.
    let id = format!("task-{}-009", history_day());
    project.edit(STATE, |state| {
        state["current_task"] = serde_json::json!({"id": id, "name": "Next",
            "plan": {"steps": [{"id": 1, "name": "Begin"}]}});
    });
    let ran = project.must("status");
    assert!(ran.stderr.contains("took up an edit of"), "{ran}");
    assert_eq!(
        (&current(&project)["name"], statuses(&project)),
        (&"Next".into(), vec!["pending".to_owned()])
    );
}

#[test]
fn a_step_that_has_begun_stays_and_no_status_goes_back() {
    let begun = || {
        let project = at_work();
        project.must("memory step start 1");
        project
    };
    for (why, change) in [
        ("step 1", (|state| drop(steps_of(state).remove(0))) as fn(&mut Value)),
        ("step 1", |state| step(state, 0)["status"] = "pending".into()),
        ("cannot become pending", |state| state["current_task"]["status"] = "pending".into()),
    ] {
        let project = begun();
        project.edit(STATE, change);
        let ran = project.run("status");
        assert!(ran.stderr.contains("was refused") && ran.stderr.contains(why), "{why}: {ran}");
        assert_eq!(statuses(&project), ["in_progress", "pending", "pending"]);
    }
}

fn steps_of(state: &mut Value) -> &mut Vec<Value> {
    state["current_task"]["plan"]["steps"].as_array_mut().unwrap()
}

#[test]
fn what_is_counted_and_timed_is_no_edit() {
    let project = at_work();
    project.must("memory step start 1");
    let before = project.log().len();
    project.edit(STATE, |state| {
        let task = &mut state["current_task"];
        task["started_at"] = "2031-01-01T00:00:00Z".into();
        task["plan"]["current_step"] = 3.into();
        step(state, 0)["retries"] = 2.into();
        step(state, 0)["started_at"] = "2031-01-01T00:00:00Z".into();
        state["last_updated"] = "2031-01-01T00:00:00Z".into();
    });
    let ran = project.must("memory show");
    assert!(!ran.stderr.contains("refused") && !ran.stderr.contains("took up"), "{ran}");
    assert_eq!(project.log().len(), before, "nothing is recorded");
    project.must("memory step complete 1");
    let task = current(&project);
    assert_eq!(
        (&task["plan"]["steps"][0]["retries"], &task["plan"]["current_step"]),
        (&0.into(), &2.into())
    );
    assert!(!task.to_string().contains("2031"), "{task}");
}
