//! The gates, judged on a real repository.

use super::*;
use crate::{
    harness::{BINARY, PIN, Ran, USER_CONFIG},
    terminal::no_person_is_here,
};

/// What `session gate check` says, whether its gates hold or not.
pub(super) fn check(project: &Project) -> Value {
    let ran = project.run("--json session gate check");
    assert!(ran.code <= 1, "{ran}");
    let checked: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    assert_eq!(ran.code == 0, checked["holds"] == true, "{ran}");
    checked
}

pub(super) fn faults(checked: &Value) -> String {
    let gates = checked["gates"].as_array().unwrap();
    gates.iter().map(|gate| gate["faults"].to_string()).collect()
}

#[test]
fn gate_1_wants_a_happy_path_and_a_test_file() {
    let project = designed();
    put(&project, "T1/T1-S1/test-contract.yaml", &test_contract("T1-S1", "edge_case"));
    let checked = check(&project);
    assert_eq!((&checked["holds"], &checked["after"]), (&false.into(), &"test_first".into()));
    assert!(faults(&checked).contains("happy_path"), "{checked}");
    // The same once more: nothing is looked at, and no try is spent.
    let again = check(&project);
    assert_eq!(again["gates"][0]["repeated"], true, "{again}");
    assert_eq!(events(&project, "gate_failed").len(), 1);
    let asked = project.json("session next");
    assert_eq!(asked["calls"][0]["call"], "tests/T1-S1", "{asked}");
    write_tests(&project, "T1-S1");
    assert_eq!(check(&project)["after"], "implementation");
}

#[test]
fn gate_3_finds_a_file_out_of_scope_since_the_subtask_began() {
    let project = planned();
    // What was there before the subtask began is no change of its own.
    project.write("notes.txt", "before\n");
    put(&project, "T1/design-contract.yaml", &design("T1", 1));
    project.must("session next");
    let refs = project.git_command("for-each-ref --format=%(refname) refs/waypost/sessions");
    assert_eq!(refs.trim(), "refs/waypost/sessions/R1/T1-S1");
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    implement(&project, "T1-S1", true);
    for name in ["other/a.txt", "src/private/key.sh"] {
        project.write(name, "x\n");
        let checked = check(&project);
        assert_eq!(checked["after"], "implementation");
        assert!(faults(&checked).contains(name), "{checked}");
        assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-3"], "pending");
        std::fs::remove_file(project.path(name)).unwrap();
    }
    let checked = check(&project);
    assert_eq!((&checked["holds"], &checked["after"]), (&true.into(), &"verification".into()));
    let evidence = checked["gates"][0]["evidence"].to_string();
    assert!(evidence.contains("scope_in"), "{evidence}");
    assert_eq!(events(&project, "gate_failed").len(), 2);
}

#[test]
fn a_gate_that_fails_three_times_waits_for_a_person() {
    let project = tested();
    for name in ["a.txt", "b.txt", "c.txt"] {
        project.write(name, "x\n");
        check(&project);
    }
    let shown = subtask(&project, "T1-S1");
    assert_eq!(
        (&shown["status"], &shown["gates"]["GATE-3"]),
        (&"in_progress".into(), &"failed".into())
    );
    let why = project.must("why T1-S1").stdout;
    assert!(why.contains("waypost inbox") && !why.contains("gate check"), "{why}");
    waits_for_a_person(&project);
    if no_person_is_here() {
        return;
    }
    for name in ["a.txt", "b.txt", "c.txt"] {
        std::fs::remove_file(project.path(name)).unwrap();
    }
    let ran = project.at_keyboard(&format!("{BINARY} inbox answer q1 retry"), "");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-3"], "pending");
    implement(&project, "T1-S1", true);
    assert_eq!(check(&project)["after"], "verification");
}

#[test]
fn a_person_passes_a_gate_with_a_pin_and_a_reason() {
    let project = tested();
    implement(&project, "T1-S1", true);
    project.write("other.txt", "generated\n");
    assert_eq!(check(&project)["holds"], false);
    let line = "session gate override T1-S1/GATE-3 --reason generated";
    assert_eq!(project.run(line).code, 3);
    if no_person_is_here() {
        return;
    }
    let ran = project.at_keyboard(&format!("{BINARY} {line}"), "1357\n");
    assert_eq!(ran.code, 3, "{ran}");
    let ran = project.at_keyboard(&format!("{BINARY} {line}"), &format!("{PIN}\n"));
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-3"], "passed");
    let told = events(&project, "gate_overridden")[0].to_string();
    assert!(told.contains("generated"), "{told}");
}

#[test]
fn gate_2_leads_back_to_where_the_fault_is() {
    let project = tested();
    implement(&project, "T1-S1", false);
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "fail", Some("implementation_error"));
    let checked = check(&project);
    assert_eq!((&checked["holds"], &checked["after"]), (&false.into(), &"implementation".into()));
    // The same work passes nothing before it has changed.
    let again = check(&project);
    assert_eq!((&again["holds"], &again["after"]), (&false.into(), &"implementation".into()));
    assert!(faults(&again).contains("nothing was changed"), "{again}");
    assert_eq!(project.json("session next")["calls"][0]["call"], "implement/T1-S1");
    project.write("src/t1_s1.sh", "t1_s1() { return 2; }\n");
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "fail", Some("test_error"));
    assert_eq!(check(&project)["after"], "test_first");
    project.write(&test_file("T1-S1"), "true\n");
    assert_eq!(check(&project)["after"], "implementation");
    assert_eq!(check(&project)["after"], "verification");
    // A result that does not say what Waypost's own run shows is none.
    write_result(&project, "T1-S1", "fail", Some("implementation_error"));
    let checked = check(&project);
    assert_eq!(checked["holds"], false, "{checked}");
    write_result(&project, "T1-S1", "pass", None);
    let checked = check(&project);
    assert_eq!(checked["after"], "complete", "{checked}");
    assert_eq!(subtask(&project, "T1-S2")["status"], "in_progress");
}

#[test]
fn a_wrong_design_is_made_again() {
    let project = tested();
    implement(&project, "T1-S1", false);
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "fail", Some("design_violation"));
    let checked = check(&project);
    assert_eq!(checked["in_design"], true, "{checked}");
    assert_eq!(state(&project)["tasks"]["T1"]["current_subtask"], Value::Null);
    // The design that was sent back is none; another one is.
    assert_eq!(project.json("session next")["calls"][0]["call"], "design/T1");
    put(&project, "T1/design-contract.yaml", &design("T1", 2));
    assert_eq!(project.json("session next")["calls"][0]["call"], "tests/T1-S1");
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-1"], "pending");
}

/// It waits for a person: nothing is called and no gate looked at.
#[track_caller]
fn waits_for_a_person(project: &Project) {
    assert_eq!(project.json("session next")["what"], "wait");
    let inbox = project.json("inbox");
    assert_eq!(inbox[0]["kind"], "escalation", "{inbox}");
    let ran = project.run("--json session gate check");
    assert!(ran.code == 3 && ran.stderr.contains("PERSON_NEEDED"), "{ran}");
}

#[test]
fn tests_are_run_again_three_times_and_then_a_person_is_asked() {
    let project = tested();
    for run in 1..=4 {
        project.write("src/t1_s1.sh", &format!("t1_s1() {{ return {run}; }}\n"));
        assert_eq!(check(&project)["after"], "verification", "{run}");
        write_result(&project, "T1-S1", "fail", Some("implementation_error"));
        assert_eq!(check(&project)["holds"], false, "{run}");
        let gate = if run < 4 { "pending" } else { "failed" };
        assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-2"], gate, "{run}");
    }
    let failed = events(&project, "gate_failed");
    assert_eq!(failed.iter().filter(|it| it["body"]["gate"] == "GATE-2").count(), 4);
    assert_eq!(subtask(&project, "T1-S1")["status"], "in_progress");
    waits_for_a_person(&project);
    if no_person_is_here() {
        return;
    }
    let ran = project.at_keyboard(&format!("{BINARY} inbox answer q1 retry"), "");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("session next")["calls"][0]["call"], "implement/T1-S1");
    implement(&project, "T1-S1", true);
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "pass", None);
    assert_eq!(check(&project)["after"], "complete");
}

#[test]
fn a_design_is_made_again_twice_and_then_a_person_is_asked() {
    let project = designed();
    write_tests(&project, "T1-S1");
    for round in 1..=3 {
        assert_eq!(check(&project)["after"], "implementation", "{round}");
        project.write("src/t1_s1.sh", &format!("t1_s1() {{ return {round}; }}\n"));
        assert_eq!(check(&project)["after"], "verification", "{round}");
        write_result(&project, "T1-S1", "fail", Some("design_violation"));
        let checked = check(&project);
        assert_eq!(checked["in_design"], round < 3, "{round}: {checked}");
        if round < 3 {
            assert_eq!(project.json("session next")["calls"][0]["call"], "design/T1");
            put(&project, "T1/design-contract.yaml", &design("T1", round + 1));
            assert_eq!(project.json("session next")["calls"][0]["call"], "tests/T1-S1");
        }
    }
    assert_eq!(events(&project, "design_reopened").len(), 2);
    waits_for_a_person(&project);
    if no_person_is_here() {
        return;
    }
    let ran = project.at_keyboard(&format!("{BINARY} inbox answer q1 retry"), "");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("session next")["calls"][0]["call"], "design/T1");
}

#[test]
fn how_tests_are_run_is_asked_for_where_nothing_says_it_and_spends_no_try() {
    let project = in_verification(|project| {
        project.write("waypost.toml", "");
        "true;".to_owned()
    });
    write_result(&project, "T1-S1", "pass", None);
    let ran = project.run("--json session gate check");
    assert!(ran.code == 2 && ran.stderr.contains("TESTS_UNKNOWN"), "{ran}");
    assert!(ran.stderr.contains("test_command"), "{ran}");
    assert_eq!(phase(&project, "T1-S1"), "verification");
    assert!(events(&project, "gate_failed").is_empty());
    project.write(USER_CONFIG, "[session]\ntest_command = \"sh tests/all.sh\"\n");
    assert_eq!(check(&project)["after"], "complete");
}

#[test]
fn what_a_person_has_passed_is_not_asked_again_for_the_same_work() {
    if no_person_is_here() {
        return;
    }
    let project = tested();
    implement(&project, "T1-S1", true);
    project.write("other.txt", "generated\n");
    // Without a check before: a person may know it.
    let line = "session gate override T1-S1/GATE-3 --reason generated";
    let ran = project.at_keyboard(&format!("{BINARY} {line}"), &format!("{PIN}\n"));
    assert_eq!(ran.code, 0, "{ran}");
    let checked = check(&project);
    assert_eq!(
        (&checked["holds"], &checked["after"]),
        (&true.into(), &"verification".into()),
        "{checked}"
    );
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-3"], "passed");
    // What was passed is the file as the person knew it.
    write_result(&project, "T1-S1", "pass", None);
    project.write("other.txt", "generated anew\n");
    let checked = check(&project);
    assert_eq!(checked["after"], "implementation", "{checked}");
    assert!(faults(&checked).contains("other.txt"), "{checked}");
    project.write("other.txt", "generated\n");
    let checked = check(&project);
    assert_eq!(checked["after"], "verification", "{checked}");
    assert_eq!(check(&project)["after"], "complete");
    assert_eq!(events(&project, "gate_failed").len(), 1);
}

#[test]
fn gate_2_changes_two_fields_of_a_result_and_nothing_else() {
    let project = tested();
    implement(&project, "T1-S1", true);
    project.must("session gate check");
    let path = file(&project, "contracts/R1/T1/T1-S1/test-result.yaml");
    let (head, tail) = (
        format!(
            "# by the qa-engineer\n{HEAD}task_id: 'T1'   # quoted\nsubtask_id: T1-S1\ncreated_by: qa-engineer\n"
        ),
        "# what it comes to\nrecommendation: {action: complete, reason: \"it's done\"}\nfailed_tests: []\n",
    );
    let own = "execution:\n    result: pass\n    command: sh tests/all.sh\n    timestamp: \"2001-01-01T00:00:00Z\"\n\
               summary: {total: 1, passed: 1, failed: 0}\n";
    project.write(&path, &format!("{head}{own}{tail}"));
    assert_eq!(check(&project)["after"], "complete");
    let text = project.read(&path);
    assert!(text.starts_with(&head) && text.ends_with(tail), "{text}");
    assert!(!text.contains("2001-01-01"), "the time is that of Waypost's own run: {text}");
    project.must(&format!("validate {path}"));
}

#[test]
fn two_checks_at_once_judge_one_after_the_other() {
    let project = in_verification(|_| "sleep 1;".to_owned());
    write_result(&project, "T1-S1", "pass", None);
    std::thread::scope(|scope| {
        let checks: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| project.run("--json session gate check T1-S1")))
            .collect();
        for check in checks {
            let ran = check.join().unwrap();
            // One that comes later finds that its subtask is complete.
            assert!(ran.code == 0 || ran.stderr.contains("GATE_NOT_DUE"), "{ran}");
        }
    });
    assert_eq!(subtask(&project, "T1-S1")["status"], "completed");
    let of = |kind: &str, gate: &str| {
        events(&project, kind).iter().filter(|it| it["body"].to_string().contains(gate)).count()
    };
    assert_eq!(of("gate_passed", "GATE-2"), 1);
    assert_eq!(of("gate_failed", ""), 0);
}

#[test]
fn a_report_among_the_files_that_it_is_about_spends_no_try() {
    let project = tested();
    implement(&project, "T1-S1", true);
    project.write("REPORT.md", "all well\n\nBlocking: 0\n");
    let ran = project.run("--json session gate check --report REPORT.md");
    assert!(ran.code == 2 && ran.stderr.contains("REPORT_IN_THE_WORK"), "{ran}");
    assert!(events(&project, "gate_failed").is_empty());
    std::fs::remove_file(project.path("REPORT.md")).unwrap();
    let report = file(&project, "reports/R1/mine.md");
    project.write(&report, "all well\n\nBlocking: 0\n");
    project.must(&format!("session gate check --report {report}"));
    assert_eq!(phase(&project, "T1-S1"), "verification");
}

#[test]
fn a_snapshot_that_the_repository_has_lost_is_told_with_what_can_be_done() {
    let project = tested();
    implement(&project, "T1-S1", true);
    project.git_command("update-ref -d refs/waypost/sessions/R1/T1-S1");
    project.git_command("-c gc.reflogExpire=now gc -q --prune=now");
    let ran = project.run("--json session gate check");
    assert!(ran.code == 5 && ran.stderr.contains("TREE_GONE"), "{ran}");
    assert!(ran.stderr.contains("gate override T1-S1/GATE-3"), "{ran}");
    assert!(project.run("doctor").stdout.contains("has lost the content that T1-S1 began with"));
    assert!(events(&project, "gate_failed").is_empty());
}

#[test]
fn the_journal_says_at_which_tree_a_gate_was_judged_and_by_what() {
    let project = tested();
    implement(&project, "T1-S1", true);
    project.must("session gate check");
    let passed = events(&project, "gate_passed");
    let trees: Vec<&str> =
        passed.iter().map(|it| it["body"]["look"]["tree"].as_str().unwrap()).collect();
    let [first, third, fourth] = trees.as_slice() else { panic!("{passed:?}") };
    assert!(first.len() == 40 && first.bytes().all(|it| it.is_ascii_hexdigit()), "{first}");
    assert!(first != third && third == fourth, "{trees:?}");
    for event in &passed {
        assert!(!event["body"]["evidence"].as_array().unwrap().is_empty(), "{event}");
    }
}

#[test]
fn tests_during_which_files_change_decide_nothing() {
    let project = in_verification(|project| {
        format!("echo late > {}; exit 1;", project.path("src/late.sh").display())
    });
    write_result(&project, "T1-S1", "fail", Some("implementation_error"));
    let ran = project.run("--json session gate check");
    assert!(ran.stderr.contains("FILES_CHANGED") && ran.stderr.contains("gate check"), "{ran}");
    assert!(events(&project, "gate_failed").is_empty());
    assert_eq!(phase(&project, "T1-S1"), "verification");
}

#[test]
fn no_variable_of_the_callers_makes_tests_pass() {
    let project = in_verification(|_| "exit 1;".to_owned());
    write_result(&project, "T1-S1", "pass", None);
    let lies = [
        ("WAYPOST_WORKTREE_SETUP", "echo true > tests/all.sh"),
        ("WAYPOST_WORKTREE_SHARE", "tests"),
        ("WAYPOST_WORKTREE_KEEP", "tests/*"),
        ("WAYPOST_SESSION_TEST_COMMAND", "true"),
    ];
    for (name, value) in lies {
        let mut command = project.command(BINARY, &project.path(""));
        command.env(name, value).args(["session", "gate", "check"]);
        let ran: Ran = command.output().unwrap().into();
        assert_ne!(ran.code, 0, "{name}: {ran}");
    }
    assert!(events(&project, "gate_passed").iter().all(|it| it["body"]["gate"] != "GATE-2"));
    assert_ne!(phase(&project, "T1-S1"), "complete");
}

#[test]
fn what_a_project_tracks_in_a_folder_called_worktree_is_its_work() {
    let project = planned();
    project.write("worktree/plan.txt", "before\n");
    project.git_command("add -f worktree/plan.txt");
    project.git_command("commit -q -m plan");
    put(&project, "T1/design-contract.yaml", &design("T1", 1));
    project.must("session next");
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    implement(&project, "T1-S1", true);
    project.write("worktree/plan.txt", "after\n");
    let checked = check(&project);
    assert!(faults(&checked).contains("worktree/plan.txt"), "{checked}");
    assert_eq!(checked["after"], "implementation");
    project.write("worktree/plan.txt", "before\n");
    assert_eq!(check(&project)["after"], "verification");
}

/// A subtask in implementation whose brief and design leave something open.
fn with_prose(project: &Project) {
    let prose = brief("T1").replace("scope_out:", "scope_out:\n  - the login of the shop");
    put(project, "T1/design-brief.yaml", &prose);
    let strict = design("T1", 2).replace(
        "boundaries: []\nfile_refs: []\n",
        "boundaries:\n  - {from: Web, to: Store, allowed: false}\nfile_refs:\n  \
         - {entity: Web, path: src/t1_s1.sh}\n  - {entity: Store, path: src/cart.sh}\n",
    );
    put(project, "T1/design-contract.yaml", &strict);
}

#[test]
fn a_report_confirms_the_gate_that_asked_for_it_and_no_other() {
    let project = planned();
    with_prose(&project);
    project.must("session next");
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    implement(&project, "T1-S1", true);
    let open = |gate: &str, line: &str| {
        let ran = project.run(line);
        assert!(ran.code == 3 && ran.stderr.contains("PROOF_MISSING"), "{ran}");
        assert!(ran.stderr.contains(gate), "{gate}: {ran}");
    };
    let passed = |gate: &str| {
        let all = events(&project, "gate_passed");
        all.iter().filter(|it| it["body"]["gate"] == gate).count()
    };
    let report = file(&project, "reports/R1/scope.md");
    project.write(&report, "# Scope\n\nThe login was left alone.\n\nBlocking: 0\n");
    let line = format!("--json session gate check --report {report}");
    // Until then no agent had been asked for it.
    open("GATE-3", &line);
    assert_eq!(passed("GATE-3"), 0);
    // It is about the scope, and says nothing about the design.
    open("GATE-4", &line);
    assert_eq!((passed("GATE-3"), passed("GATE-4")), (1, 0));
    let ran = project.run(&line);
    assert!(ran.code == 2 && ran.stderr.contains("REPORT_TAKEN"), "{ran}");
    assert_eq!(passed("GATE-4"), 0);
    let other = file(&project, "reports/R1/design.md");
    project.write(&other, "# Design\n\nIt uses no store.\n\nBlocking: 0\n");
    project.must(&format!("--json session gate check --report {other}"));
    assert_eq!((passed("GATE-4"), phase(&project, "T1-S1")), (1, "verification".to_owned()));
}

#[test]
fn a_gate_during_which_files_change_decides_nothing() {
    let project = tested();
    implement(&project, "T1-S1", true);
    // Git is asked what has changed: by then something else has.
    let late = project.path("src/late.sh");
    let script = format!(
        "case \"$*\" in *diff-index*) echo late >> {};; esac\nexec /usr/bin/git \"$@\"",
        late.display()
    );
    project.program("git", &script);
    let ran = project.run("--json session gate check");
    assert!(ran.stderr.contains("FILES_CHANGED") && ran.stderr.contains("gate check"), "{ran}");
    assert!(events(&project, "gate_failed").is_empty());
    assert_eq!(events(&project, "gate_passed").len(), 1);
    assert_eq!(phase(&project, "T1-S1"), "implementation");
    project.program("git", "exec /usr/bin/git \"$@\"");
    assert_eq!(check(&project)["after"], "verification");
}

#[test]
fn a_contract_by_another_role_is_told_in_the_evidence() {
    let project = designed();
    write_tests(&project, "T1-S1");
    let own = test_contract("T1-S1", "happy_path");
    let other = own.replace("created_by: qa-engineer", "created_by: implementer");
    put(&project, "T1/T1-S1/test-contract.yaml", &other);
    let checked = check(&project);
    let told = "test-contract.yaml is by `implementer`, and not by the qa-engineer";
    assert!(checked["gates"][0]["evidence"].to_string().contains(told), "{checked}");
    assert_eq!(checked["after"], "implementation");
}
