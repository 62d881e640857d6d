//! Every command by its effects, its exit code, and what it prints.

use super::*;
use crate::hook::Asked;

/// What `session next` says: who is called, or which command comes next.
fn next(project: &Project) -> String {
    let next = project.json("session next");
    match next["what"].as_str().unwrap() {
        "call" => {
            let calls = next["calls"].as_array().unwrap();
            calls.iter().map(|call| call["call"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
        }
        "command" => next["command"].as_str().unwrap().to_owned(),
        other => other.to_owned(),
    }
}

#[test]
fn the_whole_loop_is_driven_by_asking_what_comes_next() {
    let project = Project::git();
    assert_eq!(next(&project), "waypost session start");
    let project = requested();
    assert_eq!(next(&project), "explore plan");
    put(&project, "explored.yaml", &explored());
    assert_eq!(next(&project), "plan");
    put(&project, "task-breakdown.yaml", &breakdown(&["src/cart.sh has the cart", "it is small"]));
    assert_eq!(next(&project), "brief/T1 brief/T2");
    for task in ["T1", "T2"] {
        put(&project, &format!("{task}/design-brief.yaml"), &brief(task));
    }
    let plan = project.json("session next");
    assert_eq!(plan["assumptions"][0]["number"], 2, "{plan}");
    let planned = project.json("session plan --assumption 2=held");
    assert_eq!((&planned["tasks"], &planned["subtasks"]), (&2.into(), &3.into()));
    for (task, subtasks) in [("T1", &["T1-S1", "T1-S2"][..]), ("T2", &["T2-S1"])] {
        assert_eq!(next(&project), format!("design/{task}"));
        put(&project, &format!("{task}/design-contract.yaml"), &design(task, 1));
        for id in subtasks {
            assert_eq!(next(&project), format!("tests/{id}"));
            write_tests(&project, id);
            assert_eq!(next(&project), "waypost session gate check");
            project.must("session gate check");
            assert_eq!(next(&project), format!("implement/{id}"));
            implement(&project, id, true);
            project.must("session gate check");
            assert_eq!(next(&project), format!("verify/{id}"));
            write_result(&project, id, "pass", None);
            assert_eq!(next(&project), "waypost session gate check");
            let checked = project.json("session gate check");
            assert_eq!((&checked["holds"], &checked["after"]), (&true.into(), &"complete".into()));
        }
    }
    assert_eq!(next(&project), "done");
    let state = state(&project);
    assert_eq!(state["request"]["global_phase"], "complete");
    assert_eq!(state["request"]["current_task"], Value::Null);
    assert_eq!(events(&project, "gate_passed").len(), 12, "each gate was judged once");
    assert!(events(&project, "gate_failed").is_empty());
    project.must(&format!("validate {}", file(&project, "state.json")));
    project.must(&format!("validate {}", file(&project, "session.json")));
    let history = project.json("memory history");
    assert_eq!(history[0]["result"], "success", "{history}");
    assert_eq!(history[0]["metrics"]["steps_completed"], 3);
    project.must("session complete");
    assert_eq!(project.window(&file(&project, "session.json"))["status"], "completed");
}

#[test]
fn a_call_names_its_role_its_files_and_what_comes_after() {
    let project = designed();
    let next = project.json("session next");
    let call = &next["calls"][0];
    assert_eq!(call["role"], "qa-engineer");
    assert_eq!(call["kind"], "test-contract");
    let output = call["output"].as_str().unwrap();
    assert!(output.ends_with("contracts/R1/T1/T1-S1/test-contract.yaml"), "{output}");
    let inputs = call["inputs"].as_array().unwrap();
    assert_eq!(inputs.len(), 2);
    assert!(inputs.iter().all(|it| std::path::Path::new(it.as_str().unwrap()).exists()));
    assert_eq!(call["then"], "waypost session gate check");
    let text = project.must("session next").stdout;
    assert!(
        text.contains("qa-engineer") && text.contains("writes") && text.contains("then"),
        "{text}"
    );
    // A contract that is not valid is asked for again, with the reason.
    put(&project, "T1/T1-S1/test-contract.yaml", "version: 1\nmood: good\n");
    let next = project.json("session next");
    let faults = next["calls"][0]["faults"].to_string();
    assert!(faults.contains("mood"), "{faults}");
}

#[test]
fn a_session_names_the_instructions_for_agents_that_the_project_has() {
    for there in [&[][..], &["CLAUDE.md"], &["AGENTS.md"], &["AGENTS.md", "CLAUDE.md"]] {
        let project = Project::git();
        there.iter().for_each(|name| project.write(name, "# Shop\n"));
        project.must("session start");
        let path = file(&project, "session.json");
        let path_of = |name: &str| match there.contains(&name) {
            true => Value::from(project.path(name).to_str().unwrap()),
            false => Value::Null,
        };
        let manifest = serde_json::json!({"claude_md": path_of("CLAUDE.md"), "agents_md": path_of("AGENTS.md")});
        assert_eq!(project.window(&path)["manifest"], manifest, "{there:?}");
        project.must(&format!("validate {path}"));
    }
}

#[test]
fn what_a_rule_stands_against_is_refused_with_what_leads_on() {
    let project = Project::git();
    let table = [
        ("session request more", 3, "NO_SESSION"),
        ("session stop", 3, "NO_SESSION"),
        ("session complete", 3, "NO_SESSION"),
        ("session resume", 3, "NOTHING_TO_RESUME"),
        ("session plan", 3, "NO_SESSION"),
        ("session gate check", 3, "NO_SESSION"),
        ("session relocate", 2, "SESSION_UNKNOWN"),
    ];
    for (line, code, word) in table {
        let ran = project.run(&format!("--json {line}"));
        assert_eq!(ran.code, code, "{line}: {ran}");
        assert!(ran.stderr.contains(word), "{line}: {ran}");
    }
    let project = requested();
    let table = [
        ("session request more", 3, "REQUEST_ACTIVE"),
        ("session request ' '", 3, "NAME_MISSING"),
        ("session complete", 3, "REQUEST_ACTIVE"),
        ("session plan", 3, "SESSION_CONTRACT_MISSING"),
        ("session gate check", 3, "GATE_NOT_DUE"),
        ("session gate check T1-S1", 2, "SUBTASK_UNKNOWN"),
        ("session gate check T1", 2, "BAD"),
        ("session gate override GATE-1 --reason x", 3, "RESERVED"),
        ("session gate override GATE-9 --reason x", 2, "GATE_UNKNOWN"),
        ("session show R7", 2, "SESSION_UNKNOWN"),
        ("session show 00000000", 2, "SESSION_UNKNOWN"),
        ("session plan --assumption many", 2, "assumption"),
    ];
    for (line, code, word) in table {
        let ran = project.run(&format!("--json {line}"));
        assert_eq!(ran.code, code, "{line}: {ran}");
        assert!(ran.stderr.contains(word), "{line}: {ran}");
    }
}

#[test]
fn requests_follow_each_other_and_stay_to_be_seen() {
    let project = planned();
    project.must("session request 'show a list' --stop-current");
    assert_eq!(state(&project)["request"]["id"], "R2");
    let past = project.json("session show R1");
    assert_eq!(past["state"]["request"]["status"], "stopped");
    assert_eq!(past["state"]["tasks"]["T1"]["name"], "cart");
    let why = project.must("why R1").stdout;
    assert!(why.contains("R2 is the last request now") && !why.contains("next:"), "{why}");
    assert_eq!(project.json("memory history")[0]["result"], "cancelled");
    // A session that was stopped goes on with its request, and a new one counts on.
    project.must("session stop");
    assert_eq!(state(&project)["request"]["status"], "stopped");
    assert_eq!(project.run("session request more").code, 3);
    project.must("session resume");
    assert_eq!(state(&project)["request"]["status"], "active");
    project.must("session stop");
    project.must("session start");
    project.must("session request again");
    assert_eq!(state(&project)["request"]["id"], "R3");
    let told = project.must("session status").stdout;
    assert!(told.contains("R3") && told.contains("again"), "{told}");
    assert!(project.must("status").stdout.contains("Session"));
    assert_eq!(project.json("status")["session"]["state"]["request"]["id"], "R3");
}

#[test]
fn a_wrong_plan_goes_back_to_the_planner() {
    let project = requested();
    put(&project, "explored.yaml", &explored());
    let wrong = ["payment/ has the payments", "src/cart.sh has the cart"];
    put(&project, "task-breakdown.yaml", &breakdown(&wrong));
    let ran = project.run("session plan");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("goes back to the planner"), "{ran}");
    assert_eq!(state(&project)["request"]["global_phase"], "global_discovery");
    let next = project.json("session next");
    assert_eq!(next["calls"][0]["role"], "planner");
    assert!(
        next["calls"][0]["faults"].to_string().contains("explored.yaml has no payment"),
        "{next}"
    );
    let again = project.run("--json session plan");
    assert_eq!(again.code, 3, "{again}");
    assert!(again.stderr.contains("PLAN_SENT_BACK"), "{again}");
    // What names no path has to be said by the caller, and an unknown one is not wrong.
    put(&project, "task-breakdown.yaml", &breakdown(&["it is small", "src/cart.sh has the cart"]));
    for task in ["T1", "T2"] {
        put(&project, &format!("{task}/design-brief.yaml"), &brief(task));
    }
    let ran = project.run("--json session plan");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("ASSUMPTION_OPEN") && ran.stderr.contains("it is small"), "{ran}");
    assert_eq!(project.run("session plan --assumption 9=held").code, 2);
    project.must("session plan --assumption 1=unknown");
    assert_eq!(state(&project)["request"]["global_phase"], "task_loop");
    assert_eq!(state(&project)["task_order"].as_array().unwrap().len(), 2);
    assert_eq!(subtask(&project, "T2-S1")["status"], "pending");
}

#[test]
fn why_log_and_doctor_know_sessions() {
    let project = tested();
    for (id, words) in [
        ("R1", "GATE-3 and GATE-4 lead on"),
        ("session:T1", "GATE-3 and GATE-4 lead on"),
        ("T1", "GATE-3 and GATE-4 lead on"),
        ("T1-S1", "GATE-3 and GATE-4 lead on"),
        ("T1-S2", "it waits for T1-S1"),
        ("session:T2", "it waits for T1"),
    ] {
        let told = project.must(&format!("why {id}")).stdout;
        assert!(told.contains(words), "{id}: {told}");
        assert!(told.contains("event "), "{id} has no event: {told}");
    }
    let log = project.must("log T1-S1").stdout;
    assert!(log.contains("subtask_begun") && log.contains("gate_passed"), "{log}");
    assert!(!log.contains("request_made"), "{log}");
    let found = project.run("doctor").stdout;
    assert!(found.contains("R1 is its last request"), "{found}");
    std::fs::remove_file(project.path(&file(&project, "contracts/R1/T1/design-contract.yaml")))
        .unwrap();
    let found = project.run("doctor").stdout;
    assert!(found.contains("the design contract of T1 is gone"), "{found}");
}

#[test]
fn a_role_and_a_conversation_that_begins_anew_are_told_where_the_session_stands() {
    let project = tested();
    let told = project.json("context --for architect")["text"].as_str().unwrap().to_owned();
    for words in ["request R1 is in task_loop", "T1 cart: in progress", "T1-S1 add is worked on"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let event = serde_json::json!({
        "hook_event_name": "SessionStart", "source": "compact", "session_id": "s1",
        "transcript_path": "/nowhere.jsonl", "cwd": project.path(""),
    });
    let ran = project.hook(Asked::Small, &event);
    assert!(ran.code == 0 && ran.stdout.contains("T1-S1 add is worked on"), "{ran}");
}

#[test]
fn a_contract_that_is_gone_brings_its_phase_back_at_a_resume() {
    let project = tested();
    let remove = |name: &str| {
        std::fs::remove_file(project.path(&file(&project, &format!("contracts/R1/{name}"))))
            .unwrap();
    };
    remove("T1/T1-S1/test-contract.yaml");
    project.must("session resume");
    assert_eq!(phase(&project, "T1-S1"), "test_first");
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    remove("T1/design-contract.yaml");
    project.must("session resume");
    assert_eq!(state(&project)["tasks"]["T1"]["current_subtask"], Value::Null);
    assert_eq!(project.json("session next")["calls"][0]["call"], "design/T1");
    remove("explored.yaml");
    project.must("session resume");
    assert_eq!(state(&project)["request"]["global_phase"], "global_discovery");
    put(&project, "explored.yaml", &explored());
    project.must("session plan");
    put(&project, "T1/design-contract.yaml", &design("T1", 1));
    // The tests of before are still there, and are looked at again.
    assert_eq!(project.json("session next")["command"], "waypost session gate check");
    project.must("session gate check");
    assert_eq!(phase(&project, "T1-S1"), "implementation");
}

#[test]
fn a_plan_that_cannot_be_worked_on_goes_back_and_then_to_a_person() {
    let project = requested();
    put(&project, "explored.yaml", &explored());
    let plan = breakdown(&[]);
    let (head, _) = plan.split_once("tasks:").unwrap();
    let without_subtasks = plan
        .replace("    subtasks:\n      - id: T2-S1\n        name: show\n", "    subtasks: []\n");
    let wrong = [
        (format!("{head}tasks: []\nassumptions: []\ntask_order: []\n"), "the plan has no task"),
        (without_subtasks, "T2 has no subtask"),
        (format!("{head}tasks: []\nassumptions: []\ntask_order: [] # again\n"), "no task"),
    ];
    for task in ["T1", "T2"] {
        put(&project, &format!("{task}/design-brief.yaml"), &brief(task));
    }
    for (at, (text, why)) in wrong.iter().enumerate() {
        put(&project, "task-breakdown.yaml", text);
        let ran = project.run("session plan");
        assert_eq!(ran.code, 1, "{ran}");
        assert!(
            ran.stdout.contains("goes back to the planner") && ran.stdout.contains(why),
            "{ran}"
        );
        let next = project.json("session next");
        match at {
            2 => assert_eq!(next["what"], "wait", "{next}"),
            _ => {
                assert_eq!(next["calls"][0]["call"], "plan", "{next}");
                assert!(next["calls"][0]["faults"].to_string().contains(why), "{next}");
            }
        }
    }
    assert_eq!(project.json("inbox")[0]["kind"], "escalation");
}

#[test]
fn a_plan_that_changes_on_the_way_is_taken_up_with_a_brief_for_what_is_new() {
    let project = tested();
    let more = breakdown(&[]).replace(
        "assumptions:",
        "  - id: T3\n    name: print\n    subtasks:\n      - id: T3-S1\n        name: paper\nassumptions:",
    );
    put(&project, "task-breakdown.yaml", &more.replace("[T1, T2]", "[T1, T2, T3]"));
    assert_eq!(next(&project), "brief/T3");
    put(&project, "T3/design-brief.yaml", &brief("T3"));
    assert_eq!(next(&project), "waypost session plan");
    project.must("session plan");
    assert_eq!(subtask(&project, "T3-S1")["status"], "pending");
    assert_eq!(phase(&project, "T1-S1"), "implementation", "what has begun goes on");
    assert_eq!(next(&project), "implement/T1-S1");
    // One that leaves out what has begun is not taken up, and work goes on by the one before.
    let fewer = more.replace("[T1, T2]", "[T2, T3]");
    let from = fewer.find("  - id: T1").unwrap();
    let to = fewer.find("  - id: T2").unwrap();
    put(&project, "task-breakdown.yaml", &format!("{}{}", &fewer[..from], &fewer[to..]));
    let ran = project.run("--json session plan");
    assert!(ran.code == 3 && ran.stderr.contains("PLAN_LACKS_TASK"), "{ran}");
    assert_eq!(next(&project), "implement/T1-S1");
}

#[test]
fn briefs_of_a_plan_that_was_sent_back_are_written_again_where_their_task_is_another() {
    let project = requested();
    put(&project, "explored.yaml", &explored());
    put(&project, "task-breakdown.yaml", &breakdown(&["payment/ has the payments"]));
    for task in ["T1", "T2"] {
        put(&project, &format!("{task}/design-brief.yaml"), &brief(task));
    }
    assert_eq!(project.run("session plan").code, 1);
    let other = breakdown(&["src/cart.sh has the cart"]).replace("name: cart", "name: basket");
    put(&project, "task-breakdown.yaml", &other);
    assert_eq!(next(&project), "brief/T1", "T2 is what it was");
    let faults = project.json("session next")["calls"][0]["faults"].to_string();
    assert!(faults.contains("a plan that was sent back"), "{faults}");
    let ran = project.run("--json session plan");
    assert!(ran.code == 3 && ran.stderr.contains("SESSION_CONTRACT_MISSING"), "{ran}");
    put(&project, "T1/design-brief.yaml", &format!("{}# for the basket\n", brief("T1")));
    assert_eq!(next(&project), "waypost session plan");
    project.must("session plan");
}

#[test]
fn the_state_is_first_written_by_a_request() {
    let project = Project::git();
    project.must("session start");
    let (session, state) = (file(&project, "session.json"), file(&project, "state.json"));
    assert!(project.path(&session).exists() && !project.path(&state).exists());
    for line in
        ["session status", "session next", "session stop", "session resume", "session start"]
    {
        project.run(line);
        assert!(!project.path(&state).exists(), "{line}");
    }
    project.must("session request 'count what is in the cart'");
    assert_eq!(project.window(&state)["request"]["id"], "R1");
}

#[test]
fn a_plan_that_is_mostly_wrong_on_the_way_leaves_the_one_before() {
    let project = designed();
    put(&project, "task-breakdown.yaml", &breakdown(&["the cart is a list"]));
    let ran = project.run("session plan --assumption 1=wrong");
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(state(&project)["request"]["global_phase"], "task_loop");
    assert_eq!(phase(&project, "T1-S1"), "test_first");
    assert_eq!(project.json("session next")["calls"][0]["call"], "tests/T1-S1");
    assert_eq!(project.json("inbox"), Value::Array(Vec::new()));
    let ran = project.run("--json session plan --assumption 1=held");
    assert!(ran.code == 3 && ran.stderr.contains("PLAN_SENT_BACK"), "{ran}");
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    assert_eq!(phase(&project, "T1-S1"), "implementation");
}
