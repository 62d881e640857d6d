//! `waypost session run` with work trees: tasks apart from the project's own work tree, joined and landed.

use super::{
    running::{contract, is_complete, puts, small_plan, test_result, with_agents},
    *,
};
use crate::apart::run;
use serde_json::json;
use std::{fs, process::Command};

const TREE: &str = "worktree/request-R1--T1-1";

fn merges(project: &Project) -> Vec<String> {
    let listed = project.git_command("log --first-parent --merges --format=%s main");
    listed.lines().map(str::to_owned).collect()
}

/// The work is in the target once, and nothing of ours is left in git or beside it.
#[track_caller]
pub(super) fn is_merged(project: &Project) {
    assert_eq!(merges(project), ["Merge request R1: count what is in the cart"]);
    let trailer = "log -1 --format=%(trailers:key=Waypost-Request,valueonly) main";
    assert_eq!(project.git_command(trailer).trim(), "R1");
    let refs = "for-each-ref refs/heads/worktree refs/waypost/requests";
    assert_eq!(project.git_command(refs), "");
    assert!(!project.path("worktree").exists());
    assert!(!project.git_command("worktree list --porcelain").contains("request-"));
    project.git_command("fsck --connectivity-only --no-dangling");
}

fn is_clean(project: &Project) -> bool {
    project.git_command("status --porcelain").is_empty()
}

#[test]
fn the_work_of_a_request_is_merged_and_the_checkout_follows() {
    let project = with_agents(|_, _| {});
    let says = [
        "each task works in a work tree of its own, and is merged into main",
        "T1 is worked on in worktree/request-R1--T1-1",
        "the work of T1 is joined",
        "R1 is merged into main",
    ];
    run(&project, "session run", 0, &says);
    is_complete(&project);
    assert!(is_clean(&project), "{}", project.git_command("status"));
    assert_eq!(project.read("src/t1_s1.sh"), "t1_s1() { return 0; }\n");
    let log = project
        .git_command("log --format=%s%x20%(trailers:key=Waypost-Task,valueonly,separator=) main");
    assert!(log.contains("R1-T1: cart R1-T1"), "{log}");
}

/// Paths that begin where the project is, as roles find them when they explore the checkout.
fn whole_paths(project: &Project, tasks: &mut Value) {
    let below = |name: &str| project.path(name).display().to_string();
    let covered = brief("T1").replace("src/**", &below("src/t1_s1.sh"));
    tasks["brief-T1"] = json!([contract(project, "T1/design-brief.yaml", &covered)]);
    let (file, name) = (test_file("T1-S1"), below(&test_file("T1-S1")));
    let tests = test_contract("T1-S1", "happy_path").replace(&file, &name);
    let tests = puts(project, "contracts/R1/T1/T1-S1/test-contract.yaml", &tests);
    tasks["tests-T1-S1"] = json!([{"steps": [
        {"write": {"file": file, "text": ". ./src/t1_s1.sh && t1_s1\n"}},
        {"run": tests},
        {"done": "wrote them"},
    ]}]);
}

#[test]
fn paths_of_the_checkout_mean_the_same_in_a_tree_of_a_task() {
    let project = with_agents(whole_paths);
    run(&project, "session run", 0, &["the work of T1 is joined"]);
    is_complete(&project);
    assert!(events(&project, "gate_failed").is_empty());
    assert!(project.json("inbox").as_array().unwrap().is_empty());
}

/// Two tasks of one subtask each; the second one's tests need what the first one made.
fn two_tasks(project: &Project, tasks: &mut Value) {
    let plan = small_plan("src/cart.sh has the cart").replace(
        "assumptions:",
        "  - id: T2\n    name: list\n    subtasks:\n      - id: T2-S1\n        name: show\nassumptions:",
    );
    let plan = plan.replace("task_order: [T1]", "task_order: [T1, T2]");
    tasks["plan"] = json!([contract(project, "task-breakdown.yaml", &plan)]);
    tasks["brief-T2"] = json!([contract(project, "T2/design-brief.yaml", &brief("T2"))]);
    tasks["design-T2"] = json!([contract(project, "T2/design-contract.yaml", &design("T2", 1))]);
    let tests = test_contract("T2-S1", "happy_path");
    let tests = puts(project, "contracts/R1/T2/T2-S1/test-contract.yaml", &tests);
    tasks["tests-T2-S1"] = json!([{"steps": [
        {"write": {"file": test_file("T2-S1"), "text": ". ./src/t2_s1.sh && t2_s1\n"}},
        {"run": tests},
        {"done": "wrote them"},
    ]}]);
    let code = ". ./src/t1_s1.sh\nt2_s1() { t1_s1; }\n";
    tasks["implement-T2-S1"] = json!([{"steps": [
        {"run": "test -e src/t1_s1.sh"},
        {"write": {"file": "src/t2_s1.sh", "text": code}},
        {"done": "did it"},
    ]}]);
    let result = contract(project, "T2/T2-S1/test-result.yaml", &test_result("T2-S1"));
    tasks["verify-T2-S1"] = json!([result]);
}

#[test]
fn a_task_builds_on_the_one_before_it_and_leaves_what_a_person_has_not_committed() {
    let project = with_agents(two_tasks);
    project.write("src/cart.sh", "count() { echo mine; }\n");
    project.write("notes.txt", "mine\n");
    run(&project, "session run", 0, &["the work of T1 is joined", "the work of T2 is joined"]);
    is_merged(&project);
    assert_eq!(events(&project, "task_joined").len(), 2);
    assert_eq!(events(&project, "gate_passed").len(), 8);
    assert_eq!(project.read("src/t2_s1.sh"), ". ./src/t1_s1.sh\nt2_s1() { t1_s1; }\n");
    assert_eq!(project.read("src/cart.sh"), "count() { echo mine; }\n");
    let dirty = project.git_command("status --porcelain");
    assert_eq!(dirty.trim(), "M src/cart.sh\n?? notes.txt");
    assert_eq!(project.git_command("show main:src/cart.sh"), "count() { echo 0; }\n");
}

/// The merge waits for a person: nothing is moved, everything is kept.
#[track_caller]
fn is_held(project: &Project, before: &str, why: &str) {
    assert_eq!(project.git_command("rev-parse main"), before, "main is where it was");
    let inbox = project.json("inbox");
    assert_eq!((&inbox[0]["kind"], inbox.as_array().unwrap().len()), (&json!("held_merge"), 1));
    assert!(inbox.to_string().contains(why), "{inbox}");
    assert!(project.path("worktree/request-R1/.git").exists());
    assert_eq!(state(project)["request"]["global_phase"], "task_loop");
}

#[test]
fn a_tree_in_which_a_person_is_stays_and_is_cleared_up_later() {
    let project = with_agents(|_, _| {});
    let run = crate::execute::begin(&project, "session run");
    crate::execute::wait_for("the tree", || project.path(TREE).join("src").exists());
    let mut shell = Command::new("sleep");
    let mut shell = shell.arg("600").current_dir(project.path(TREE)).spawn().unwrap();
    let ran: crate::harness::Ran = run.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran}");
    let kept = format!("{TREE} is kept: sleep ({}) is in it", shell.id());
    assert!(ran.stderr.contains(&kept), "{ran}");
    shell.kill().unwrap();
    shell.wait().unwrap();
    project.must("worktree prune --older-than 0");
    is_complete(&project);
}

#[test]
fn a_file_in_the_way_holds_the_merge_until_it_is_gone() {
    let project = with_agents(|_, _| {});
    project.write("src/t1_s1.sh", "mine\n");
    let before = project.git_command("rev-parse main");
    let says = ["R1 could not be merged", "uncommitted changes"];
    run(&project, "session run", 3, &says);
    is_held(&project, &before, "uncommitted changes");
    assert_eq!(project.read("src/t1_s1.sh"), "mine\n");
    // As long as it is there, the same is found again, and asked once.
    run(&project, "session run", 3, &says);
    is_held(&project, &before, "uncommitted changes");
    fs::remove_file(project.path("src/t1_s1.sh")).unwrap();
    run(&project, "session run", 0, &["R1 is merged into main"]);
    is_complete(&project);
    assert!(is_clean(&project));
    assert_eq!(project.json("inbox"), json!([]));
}

#[test]
fn a_conflict_with_the_target_is_held_and_resolved_in_the_tree_of_the_request() {
    let project = with_agents(|_, tasks| {
        tasks["implement-T1-S1"] = json!([{"steps": [
            {"write": {"file": "src/t1_s1.sh", "text": "t1_s1() { return 0; }\n"}},
            {"write": {"file": "src/cart.sh", "text": "count() { echo 1; }\n"}},
            {"done": "did it"},
        ]}]);
    });
    // A person commits to the target while the task is worked on.
    let mut child = crate::execute::begin(&project, "session run");
    crate::execute::wait_for("the task's tree", || !events(&project, "task_placed").is_empty());
    project.write("src/cart.sh", "count() { echo 2; }\n");
    project.git_command("commit -qam mine");
    let before = project.git_command("rev-parse main");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    is_held(&project, &before, "conflicts with main in src/cart.sh");
    let tree = project.path("worktree/request-R1");
    let merged = project.command("git", &tree).args(["merge", "-q", "main"]).output().unwrap();
    assert!(!merged.status.success(), "it conflicts");
    fs::write(tree.join("src/cart.sh"), "count() { echo 3; }\n").unwrap();
    project.git_in(&tree, "commit -qam resolved");
    run(&project, "session run", 0, &["R1 is merged into main"]);
    is_merged(&project);
    assert!(is_clean(&project));
    assert_eq!(project.read("src/cart.sh"), "count() { echo 3; }\n");
}

#[test]
fn without_work_trees_everything_stays_in_the_checkout() {
    let project = with_agents(|_, _| {});
    let before = project.git_command("rev-parse main");
    run(&project, "session run --isolation none", 0, &[]);
    assert_eq!(state(&project)["request"]["global_phase"], "complete");
    assert_eq!(project.git_command("rev-parse main"), before);
    assert!(events(&project, "set_apart").is_empty());
    assert_eq!(project.read("src/t1_s1.sh"), "t1_s1() { return 0; }\n");
    assert!(project.git_command("status --porcelain").contains("src/t1_s1.sh"));
    assert!(!project.git_command("worktree list --porcelain").contains("request-"));
}

#[test]
fn a_person_goes_on_in_the_tree_that_agents_began_with() {
    let project = with_agents(|_, tasks| {
        tasks["tests-T1-S1"] = json!([{"steps": [{"done": "nothing"}]}]);
    });
    run(&project, "session run", 3, &["waits for a person"]);
    let status = project.json("session status");
    let tree = project.path(TREE);
    assert_eq!(status["work_tree"], json!(tree));
    assert!(project.must("session status").stdout.contains(&format!("in {TREE}")));
    let why = project.must("why T1-S1").stdout;
    assert!(why.contains(&format!("it is worked on in {TREE}")), "{why}");
    // Tests in the checkout are none: the tree is looked at.
    project.write(&test_file("T1-S1"), ". ./src/t1_s1.sh && t1_s1\n");
    put(&project, "T1/T1-S1/test-contract.yaml", &test_contract("T1-S1", "happy_path"));
    let ran = project.run("session gate check");
    assert!(ran.code == 1 && ran.stdout.contains("there is no test file"), "{ran}");
    fs::rename(project.path(&test_file("T1-S1")), tree.join(test_file("T1-S1"))).unwrap();
    project.must("session gate check");
    let next = project.json("session next");
    let call = &next["calls"][0];
    assert_eq!((&call["call"], &call["folder"]), (&json!("implement/T1-S1"), &json!(tree)));
    fs::write(tree.join("src/t1_s1.sh"), "t1_s1() { return 0; }\n").unwrap();
    // From inside the tree as from outside.
    let ran = project.run_in(&tree, "session gate check");
    assert_eq!(ran.code, 0, "{ran}");
    write_result(&project, "T1-S1", "pass", None);
    let ran = project.must("session gate check");
    assert!(ran.stderr.contains("R1 is merged into main"), "{ran}");
    is_merged(&project);
    assert!(is_clean(&project));
    assert_eq!(project.json("session next")["what"], "done");
}

#[test]
fn what_cannot_be_joined_waits_and_what_was_changed_since_its_last_gate_is_not_joined() {
    let project = with_agents(|_, tasks| {
        tasks["tests-T1-S1"] = json!([{"steps": [{"done": "nothing"}]}]);
    });
    run(&project, "session run", 3, &[]);
    let (tree, code) = (project.path(TREE), "t1_s1() { return 0; }\n");
    fs::write(tree.join(test_file("T1-S1")), ". ./src/t1_s1.sh && t1_s1\n").unwrap();
    put(&project, "T1/T1-S1/test-contract.yaml", &test_contract("T1-S1", "happy_path"));
    project.must("session gate check");
    fs::write(tree.join("src/t1_s1.sh"), code).unwrap();
    project.must("session gate check");
    write_result(&project, "T1-S1", "pass", None);
    // A person has committed the same file to the request's branch meanwhile.
    let of_request = project.path("worktree/request-R1");
    project.git_in(&of_request, "switch -q worktree/request-R1");
    fs::write(of_request.join("src/t1_s1.sh"), "other\n").unwrap();
    project.git_in(&of_request, "add -A");
    project.git_in(&of_request, "commit -qm other");
    let ran = project.must("session gate check");
    assert!(ran.stderr.contains("conflicts with what is in worktree/request-R1"), "{ran}");
    assert_eq!(project.json("inbox")[0]["kind"], "held_merge");
    let merged = project
        .command("git", &tree)
        .args(["merge", "-q", "worktree/request-R1"])
        .output()
        .unwrap();
    assert!(!merged.status.success(), "it conflicts");
    // What was judged is joined, and nothing else.
    fs::write(tree.join("src/t1_s1.sh"), "t1_s1() { return 1; }\n").unwrap();
    project.git_in(&tree, "commit -qam resolved");
    run(&project, "session run", 3, &["have changed since the last gate of T1 was passed"]);
    fs::write(tree.join("src/t1_s1.sh"), code).unwrap();
    run(&project, "session run", 0, &["the work of T1 is joined", "R1 is merged into main"]);
    is_merged(&project);
    assert_eq!(project.read("src/t1_s1.sh"), code);
    assert!(is_clean(&project));
}

/// A brief whose scope is prose.
fn in_prose(project: &Project, tasks: &mut Value) {
    let prose = brief("T1").replace("src/private/**", "the login").replace("src/**", "the cart");
    tasks["brief-T1"] = json!([contract(project, "T1/design-brief.yaml", &prose)]);
    let report = |name: &str, text: &str| {
        let command = puts(project, &format!("reports/R1/{name}.md"), text);
        json!({"steps": [{"run": command}, {"done": "looked at it"}]})
    };
    let first = report("T1-S1-GATE-3-1", "# Scope\n\nThe login was touched.\n\nBlocking: 1\n");
    let second = report("T1-S1-GATE-3-2", "# Scope\n\nIt is the cart.\n\nBlocking: 0\n");
    tasks["confirm-T1-S1-GATE-3"] = json!([first, second]);
    tasks["implement-T1-S1"] = json!([
        {"steps": [
            {"write": {"file": "src/t1_s1.sh", "text": "t1_s1() { echo login; }\n"}},
            {"done": "did it"},
        ]},
        {"steps": [
            {"write": {"file": "src/t1_s1.sh", "text": "t1_s1() { return 0; }\n"}},
            {"done": "did it"},
        ]},
    ]);
}

#[test]
fn what_prose_leaves_open_is_found_out_by_the_role_that_can() {
    let project = with_agents(in_prose);
    run(&project, "session run", 0, &["confirm-T1-S1-GATE-3: qa-engineer", "GATE-3 does not hold"]);
    is_merged(&project);
    assert_eq!(events(&project, "gate_left_open").len(), 2);
    assert_eq!(events(&project, "gate_failed").len(), 1);
    assert_eq!(events(&project, "gate_passed").len(), 4);
    assert_eq!(project.read("src/t1_s1.sh"), "t1_s1() { return 0; }\n");
}

#[test]
fn a_report_that_does_not_come_is_asked_of_a_person_in_the_end() {
    let project = with_agents(|project, tasks| {
        in_prose(project, tasks);
        tasks["confirm-T1-S1-GATE-3"] = json!([{"steps": [{"done": "nothing"}]}]);
    });
    run(&project, "session run", 3, &["waits for a person"]);
    assert_eq!(events(&project, "call_failed").len(), 4);
    assert_eq!(project.json("inbox")[0]["kind"], "escalation");
    let next = project.must("session next").stdout;
    assert!(next.contains("the qa-engineer for T1-S1"), "{next}");
}
