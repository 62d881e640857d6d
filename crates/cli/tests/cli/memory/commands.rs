//! Every command by its effects, its exit code, and what it prints.

use super::*;

#[test]
fn a_task_goes_from_its_beginning_into_the_history() {
    let project = at_work();
    let id = current(&project)["id"].as_str().unwrap().to_owned();
    for line in [
        "memory step start 1",
        "memory step complete 1 --output '{\"pages\": 2}' --artifact 'design.md=The design'",
        "memory step start 2",
        "memory step complete 2",
        "memory step start 3",
        "memory step complete 3",
    ] {
        project.must(line);
    }
    let task = current(&project);
    assert_eq!(task["plan"]["steps"][0]["output"]["pages"], 2);
    assert_eq!(task["artifacts"][0]["path"], "design.md");
    let told = project
        .json("memory task complete --summary 'It sells' --lesson 'Draw first' --tokens 900");
    assert_eq!(told["ended"]["id"], id.as_str());
    let window = project.window(HISTORY);
    let entry = &window["tasks"][0];
    assert_eq!(entry["result"], "success");
    assert_eq!(entry["lessons"][0], "Draw first");
    assert_eq!(entry["metrics"]["steps_completed"], 3);
    assert_eq!(entry["metrics"]["tokens_used"], 900);
    assert_eq!(window["statistics"]["total_tasks"], 1);
    assert_eq!(project.window(STATE)["current_task"], Value::Null);
    project.must(&format!("validate {STATE} {HISTORY} {CONTEXT}").replace(CONTEXT, ""));
    let listed = project.json("memory history --result success");
    assert_eq!(listed[0]["id"], id.as_str());
    assert_eq!(project.json("memory history --result failure"), Value::Array(Vec::new()));
    assert_eq!(project.json("memory history --since 1d").as_array().map(Vec::len), Some(1));
    assert_eq!(project.json("memory history --since 2999-01-01"), Value::Array(Vec::new()));
    assert_eq!(project.run("memory history --since soon").code, 2);
    assert_eq!(project.json("memory stats")["success"], 1);
    assert_eq!(project.run("memory task start").code, 3, "there is no current task");
}

#[test]
fn a_task_is_paused_resumed_failed_recovered_closed_and_cancelled() {
    let project = at_work();
    project.must("memory task new Next");
    let status = |project: &Project| current(project)["status"].as_str().unwrap().to_owned();
    for (line, want) in [
        ("memory task pause", "paused"),
        ("memory task resume", "in_progress"),
        ("memory task fail --reason 'no network'", "failed"),
        ("memory task recover --how 'it is back'", "in_progress"),
        ("memory task fail --reason 'no network again'", "failed"),
    ] {
        project.must(line);
        assert_eq!(status(&project), want, "{line}");
    }
    let issues = current(&project)["issues"].clone();
    assert_eq!((&issues[0]["resolved"], &issues[1]["resolved"]), (&true.into(), &false.into()));
    assert_eq!(issues[0]["resolution"], "it is back");
    // A failed task stays current until it is closed; then the next one follows.
    assert_eq!(current(&project)["name"], "Cart");
    project.must("memory task close --summary 'given up'");
    assert_eq!(current(&project)["name"], "Next");
    project.must("memory task cancel");
    let results: Vec<Value> = project.window(HISTORY)["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["result"].clone())
        .collect();
    assert_eq!(results, ["failure", "cancelled"]);
}

#[test]
fn what_a_rule_stands_against_is_refused_with_what_leads_on() {
    let project = at_work();
    let table = [
        ("memory step start 2", 3, "STEP_WAITS", "memory step show 1"),
        ("memory step complete 1", 3, "STEP_STATUS", "memory step start 1"),
        ("memory step retry 1", 3, "STEP_STATUS", "memory step start 1"),
        ("memory step start 9", 2, "STEP_UNKNOWN", "memory show"),
        ("memory task complete", 3, "STEPS_OPEN", "memory task complete --partial"),
        ("memory task resume task-2020-01-01-001", 2, "TASK_UNKNOWN", "memory show"),
        ("memory task close", 3, "TASK_STATUS", "memory task complete"),
    ];
    let before = project.log().len();
    for (line, code, kind, next) in table {
        let ran = project.run(&format!("--json {line}"));
        assert_eq!(ran.code, code, "{line}\n{ran}");
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(error["error"]["kind"], kind, "{line}");
        let told = error["error"]["next"].as_str().unwrap_or_default();
        assert!(told.contains(next), "{line}: {next} is not in {told}");
    }
    assert_eq!(project.log().len(), before, "a refused command has changed nothing");
    for (line, why) in [
        ("memory task start T1", "is not a task id"),
        ("memory step fail 1 --class odd --reason x", "no class"),
        ("memory step complete 1 --output nonsense", "not JSON"),
        ("memory show nonsense", "no file of the memory"),
    ] {
        let ran = project.run(line);
        assert_eq!((ran.code, ran.stderr.contains(why)), (2, true), "{line}\n{ran}");
    }
}

#[test]
fn a_retry_waits_for_its_time_or_says_that_it_has_not_come() {
    let project = at_work();
    project.must("memory step start 1");
    project.must("memory step fail 1 --reason 'no network'");
    let refused = project.run("--json memory step retry 1 --no-wait");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("STEP_DELAYED"), "{refused}");
    let waiting = project.json("memory show")["waiting"][0].clone();
    assert_eq!(waiting["step"], 1);
    // The time is in the journal: another process waits for the same.
    project.must("memory step retry 1");
    let step = current(&project)["plan"]["steps"][0].clone();
    assert_eq!((step["status"].as_str(), step["retries"].as_u64()), (Some("in_progress"), Some(1)));
    let started = step["started_at"].as_str().unwrap().to_owned();
    assert!(started.as_str() >= waiting["not_before"].as_str().unwrap(), "{started} {waiting}");
}

#[test]
fn an_escalated_step_goes_on_by_a_person_alone() {
    let project = at_work();
    project.must("memory step start 1");
    project.must("memory step fail 1 --class critical --reason 'the disk burns'");
    assert_eq!(
        (statuses(&project)[0].as_str(), &current(&project)["status"]),
        ("escalated", &"failed".into())
    );
    let asked = project.json("inbox");
    assert!(asked[0]["text"].as_str().unwrap().contains("the disk burns"), "{asked}");
    project.must("memory task recover");
    assert_eq!(project.run("memory step retry 1").code, 3);
    let id = asked[0]["id"].as_str().unwrap();
    let answered = project.as_person(&format!("inbox answer {id} retry"));
    assert_eq!(answered.code, 0, "{answered}");
    assert_eq!(statuses(&project)[0], "in_progress");
    assert_eq!(project.json("inbox"), Value::Array(Vec::new()));
}

#[test]
fn a_new_plan_keeps_what_is_finished_and_a_backup_of_the_old_one() {
    let project = at_work();
    for line in ["memory step start 1", "memory step complete 1", "memory task replan"] {
        project.must(line);
    }
    assert_eq!(statuses(&project), ["completed"]);
    project.must("memory step add 'Build otherwise' --after 1 --agent builder --expected 60");
    let step = current(&project)["plan"]["steps"][1].clone();
    assert_eq!((step["id"].as_u64(), step["agent"].as_str()), (Some(4), Some("builder")));
    let kept = project.json("memory backup --list");
    let of: Vec<&str> =
        kept.as_array().unwrap().iter().map(|it| it["of"].as_str().unwrap()).collect();
    assert_eq!(of, ["task-history.json", "task-state.json"]);
}

#[test]
fn what_is_shown_is_what_the_files_have() {
    let project = at_work();
    project.must("memory init");
    let state: Value =
        serde_json::from_str(&project.must("--json memory show task-state").stdout).unwrap();
    assert_eq!(state, project.window(STATE));
    let history: Value =
        serde_json::from_str(&project.must("memory show task-history.json").stdout).unwrap();
    assert_eq!(history, project.window(HISTORY));
    let context: Value =
        serde_json::from_str(&project.must("memory show shared-context").stdout).unwrap();
    assert_eq!(context, project.window(CONTEXT));
    assert_eq!(project.json("memory show")["state"], state);
    let told = project.must("memory show").stdout;
    assert!(told.contains("Cart") && told.contains("waits for 1"), "{told}");
    assert!(project.must("memory step show 2").stdout.contains("Build"));
    assert!(project.must("memory task show").stdout.contains("Sell things"));
    assert_eq!(project.run("memory validate").code, 0);
    assert_eq!(project.run("memory doctor").code, 0);
}

#[test]
fn many_processes_make_many_tasks_and_lose_none() {
    const PROCESSES: usize = 16;
    let project = Project::git();
    project.must("memory init");
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let project = &project;
            scope.spawn(move || {
                project.must(&format!("memory task new 'Task {process}'"));
                project.must(&format!("memory context set shared_data.p{process} {process}"));
                project.must(&format!("memory agent crowd set cache.p{process} '[{process}]'"));
                project.must(&format!("memory note 'Note {process}'"));
            });
        }
    });
    let state = project.window(STATE);
    let mut ids: Vec<String> = state["pending_tasks"]
        .as_array()
        .unwrap()
        .iter()
        .chain([&state["current_task"]])
        .map(|task| task["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), PROCESSES, "no id was given out twice");
    let context = project.window(CONTEXT);
    let agent = project.window(".claude/memory/agents/crowd.json");
    for process in 0..PROCESSES {
        assert_eq!(context["shared_data"][format!("p{process}")], process);
        assert_eq!(agent["cache"][format!("p{process}")][0], process);
    }
    assert_eq!(project.json("memory notes").as_array().map(Vec::len), Some(PROCESSES));
    project.must("memory validate");
}

#[test]
fn files_that_were_written_by_hand_are_taken_up_by_the_first_command() {
    let written = r#"{"version": "1.0", "current_task": {"id": "task-2026-02-16-001", "name": "Cart",
        "status": "in_progress", "orchestrator": "main", "plan": {"goal": "Sell", "steps": [
        {"id": 1, "name": "Design", "status": "completed", "dependencies": []},
        {"id": 2, "name": "Build", "status": "pending", "dependencies": [1]}]},
        "context": {}, "artifacts": [], "issues": []}, "pending_tasks": []}"#;
    for line in ["memory task new Later", "memory note found", "memory context set shared_data.x 1"]
    {
        let project = Project::git();
        project.write(STATE, written);
        let ran = project.must(line);
        assert!(ran.stderr.contains("took over"), "{line}: {ran}");
        let task = current(&project);
        assert_eq!((&task["name"], statuses(&project).len()), (&"Cart".into(), 2), "{line}");
    }
    // What cannot be taken up is left, and nothing is done.
    let project = Project::git();
    let bad = written.replace("in_progress", "nearly");
    project.write(STATE, &bad);
    let refused = project.run("memory task new Later");
    assert_eq!(refused.code, 2, "{refused}");
    assert_eq!(project.read(STATE), bad);
}

#[test]
fn what_is_repeated_says_what_was_not_taken() {
    let project = at_work();
    project.must("memory step start 1");
    project.must("memory step complete 1 --output 1");
    let again = project.must("memory step complete 1 --output 2 --artifact late.md");
    assert!(again.stderr.contains("not taken: --output, --artifact"), "{again}");
    assert_eq!(project.json("memory step show 1")["output"], 1);
    let plain = project.must("memory step complete 1");
    assert!(!plain.stderr.contains("not taken"), "{plain}");
    project.must("memory step start 2");
    project.must("memory step fail 2 --reason first");
    let again = project.must("memory step fail 2 --reason second");
    assert!(again.stderr.contains("not taken: --reason"), "{again}");
    assert_eq!(project.json("memory step show 2")["error"]["message"], "first");
    project.must("memory task fail --reason 'no tea'");
    let again = project.must("memory task fail --reason 'no cups'");
    assert!(again.stderr.contains("not taken: --reason"), "{again}");
}

#[test]
fn an_agent_does_not_drop_what_waits_for_a_person() {
    let project = at_work();
    project.must("memory step start 1");
    project.must("memory step fail 1 --reason broken");
    project.must("memory step escalate 1 --reason 'I cannot'");
    let refused = project.run("memory task replan");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("step 1"), "{refused}");
    assert_eq!(project.json("inbox").as_array().unwrap().len(), 1);
    assert_eq!(statuses(&project)[0], "escalated");
}

#[test]
fn a_command_that_looks_makes_no_file() {
    let project = at_work();
    for file in [STATE, HISTORY] {
        std::fs::remove_file(project.path(file)).unwrap();
    }
    project.must("memory show");
    project.must("status");
    for file in [STATE, HISTORY] {
        assert!(!project.path(file).exists(), "{file}");
    }
    project.must("memory step start 1");
    assert!(project.path(STATE).exists(), "what is new is shown");
}

#[test]
fn the_history_keeps_its_newest_entries_and_all_totals() {
    let project = Project::git();
    let entry = |number: u32, day: &str| {
        serde_json::json!({"id": format!("task-{day}-{number:03}"), "name": format!("Work {number}"),
            "result": if number.is_multiple_of(4) { "failure" } else { "success" },
            "started_at": format!("{day}T10:00:00Z"), "completed_at": format!("{day}T10:00:10Z"),
            "duration_seconds": 10, "summary": "it went", "lessons": ["rest"],
            "artifacts": [{"type": "file", "path": "a.md", "description": ""}]})
    };
    let entries: Vec<Value> = (1..=120).map(|number| entry(number, "2025-01-02")).collect();
    let statistics =
        serde_json::json!({"total_tasks": 120, "success_rate": 0.75, "avg_duration_seconds": 10});
    let history = serde_json::json!({"version": "1.0", "tasks": entries, "statistics": statistics});
    project.write(HISTORY, &history.to_string());
    project.must("memory init");
    let before = project.json("memory stats");
    assert_eq!((&before["total_tasks"], &before["failure"]), (&120.into(), &30.into()), "{before}");
    let backups = || project.json("memory backup --list").as_array().unwrap().len();
    let kept = backups();
    let pruned = project.json("memory prune");
    assert_eq!(pruned["listed"], 100, "{pruned}");
    assert!(backups() > kept, "a copy is made first");
    let window = project.window(HISTORY);
    let listed = window["tasks"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[99]["name"]), (100, &"Work 120".into()));
    assert!(listed.iter().all(|it| it["summary"] == "it went"), "summaries stay");
    let details =
        |it: &Value| [&it["lessons"], &it["artifacts"]].map(|it| it.as_array().unwrap().len());
    assert!(listed.iter().all(|it| details(it) == [0, 0]), "{}", listed[0]);
    assert_eq!(window["statistics"]["total_tasks"], 120);
    let after = project.json("memory stats");
    for name in ["total_tasks", "success", "failure", "success_rate", "avg_duration_seconds"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    project.must("memory validate");
}
