//! `waypost session run`: scripted agents in the roles, from exploring to the last gate.

use super::{killed::texts, *};
use crate::execute::{begin, kill, wait_for};
use serde_json::json;
use std::fs;

/// A plan of one task with one subtask, with these assumptions.
pub(super) fn small_plan(assumption: &str) -> String {
    format!(
        "{HEAD}created_by: planner\noriginal_request: count what is in the cart\nobjective: count\n\
         tasks:\n  - id: T1\n    name: cart\n    subtasks:\n      - id: T1-S1\n        name: add\n\
         assumptions:\n  - \"{assumption}\"\ntask_order: [T1]\n"
    )
}

/// The command by which an agent writes a file of the session, wherever it works.
pub(super) fn puts(project: &Project, name: &str, text: &str) -> String {
    let number = fs::read_dir(project.base()).unwrap().count();
    let (source, target) =
        (project.base().join(format!("given-{number}")), folder(project).join(name));
    fs::write(&source, text).unwrap();
    let above = target.parent().unwrap().display();
    format!("mkdir -p {above} && cp {} {}", source.display(), target.display())
}

/// Writes a contract, and is done.
pub(super) fn contract(project: &Project, name: &str, text: &str) -> Value {
    let command = puts(project, &format!("contracts/R1/{name}"), text);
    json!({"steps": [{"run": command}, {"done": "wrote it"}]})
}

pub(super) fn test_result(id: &str) -> String {
    let task = id.split('-').next().unwrap();
    format!(
        "{HEAD}task_id: {task}\nsubtask_id: {id}\ncreated_by: qa-engineer\nexecution:\n  result: pass\n\
         summary:\n  total: 1\n  passed: 1\n  failed: 0\nfailed_tests: []\nrecommendation:\n  \
         action: complete\n"
    )
}

/// What agents do in each role, where everything goes well.
fn script(project: &Project) -> Value {
    let tests = puts(
        project,
        "contracts/R1/T1/T1-S1/test-contract.yaml",
        &test_contract("T1-S1", "happy_path"),
    );
    json!({
        "explore": [contract(project, "explored.yaml", &explored())],
        "plan": [contract(project, "task-breakdown.yaml", &small_plan("src/cart.sh has the cart"))],
        "brief-T1": [contract(project, "T1/design-brief.yaml", &brief("T1"))],
        "design-T1": [contract(project, "T1/design-contract.yaml", &design("T1", 1))],
        "tests-T1-S1": [{"steps": [
            {"write": {"file": test_file("T1-S1"), "text": ". ./src/t1_s1.sh && t1_s1\n"}},
            {"run": tests},
            {"done": "wrote them"},
        ]}],
        "implement-T1-S1": [{"steps": [
            {"write": {"file": "src/t1_s1.sh", "text": "t1_s1() { return 0; }\n"}},
            {"done": "did it"},
        ]}],
        "verify-T1-S1": [contract(project, "T1/T1-S1/test-result.yaml", &test_result("T1-S1"))],
    })
}

/// Where tests that have come to their end are counted, beside the project.
const RUNS: &str = "runs";

/// How often the tests have been run to their end.
pub(super) fn test_runs(project: &Project) -> usize {
    let runs = fs::read_to_string(project.base().join(RUNS)).unwrap_or_default();
    runs.lines().count()
}

/// A request with agents that follow a script.
pub(super) fn with_agents(change: impl FnOnce(&Project, &mut Value)) -> Project {
    let project = requested();
    let all = project.read("tests/all.sh");
    let runs = project.base().join(RUNS);
    project.write("tests/all.sh", &format!("{all}echo run >> {}\n", runs.display()));
    project.git_command("commit -q -am counted");
    let mut tasks = script(&project);
    change(&project, &mut tasks);
    let idle = json!([{"steps": [{"say": "Nothing."}]}]);
    project.set_script("claude", &json!({"version": 1, "default": idle, "tasks": tasks}));
    project
}

pub(super) fn contracts(project: &Project) -> Vec<PathBuf> {
    fn walk(folder: &std::path::Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let (mut found, folder) = (Vec::new(), folder(project).join("contracts"));
    walk(&folder, &mut found);
    found.sort();
    found
}

/// The keepers of agents in their roles.
pub(super) fn keepers(project: &Project) -> Vec<u32> {
    crate::execute::alive(&project.journal().join("errands").display().to_string())
}

/// Everything is done: six contracts, four gates, each judged once.
#[track_caller]
pub(super) fn is_complete(project: &Project) {
    apart::is_merged(project);
    assert_eq!(state(project)["request"]["global_phase"], "complete", "{}", state(project));
    assert_eq!(contracts(project).len(), 6, "{:?}", contracts(project));
    let passed: Vec<Value> = events(project, "gate_passed");
    assert_eq!(passed.len(), 4, "{passed:?}");
    assert!(events(project, "gate_failed").is_empty());
    for path in contracts(project) {
        project.must(&format!("validate {}", path.display()));
    }
}

#[test]
fn agents_in_their_roles_complete_a_request() {
    let project = with_agents(|_, _| {});
    let ran = project.must("session run");
    for word in ["explore:", "plan:", "design-T1:", "planned: 1 tasks", "GATE-2 holds"] {
        assert!(ran.stderr.contains(word), "{word}: {ran}");
    }
    is_complete(&project);
    assert_eq!(test_runs(&project), 1, "a gate is judged once for each tree");
    // Nothing is left to be done, and no agent is called again.
    let engaged = || project.log().iter().filter(|it| it["kind"] == "engaged").count();
    let before = engaged();
    assert_eq!(before, 7);
    project.must("session run");
    assert_eq!((engaged(), test_runs(&project)), (before, 1));
}

#[test]
fn a_wrong_plan_and_a_bad_contract_come_back_to_their_agents() {
    let project = with_agents(|project, tasks| {
        let wrong = contract(project, "task-breakdown.yaml", &small_plan("payment/ has it"));
        let right =
            contract(project, "task-breakdown.yaml", &small_plan("src/cart.sh has the cart"));
        tasks["plan"] = json!([wrong, right]);
        // Told that it is not valid, the agent corrects it in the same conversation.
        let name = "contracts/R1/T1/design-contract.yaml";
        let steps = json!([
            {"run": puts(project, name, "version: 1\nmood: good\n")},
            {"turn_end": true},
            {"run": puts(project, name, &design("T1", 1))},
            {"done": "corrected"},
        ]);
        tasks["design-T1"] = json!([{"steps": steps}]);
    });
    let ran = project.must("session run");
    assert!(ran.stderr.contains("the plan goes back to the planner"), "{ran}");
    is_complete(&project);
    assert_eq!(events(&project, "plan_sent_back").len(), 1);
    assert!(events(&project, "call_failed").is_empty(), "{ran}");
}

#[test]
fn an_agent_that_writes_nothing_is_called_four_times_and_then_a_person_is_asked() {
    let project = with_agents(|_, tasks| {
        tasks["explore"] = json!([{"steps": [{"done": "nothing"}]}]);
    });
    let ran = project.run("session run");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("waits for a person"), "{ran}");
    assert_eq!(events(&project, "call_failed").len(), 4);
    assert_eq!(project.json("inbox")[0]["kind"], "escalation");
    // The planner has done its part meanwhile.
    assert!(contracts(&project).iter().any(|path| path.ends_with("task-breakdown.yaml")));
}

/// Drives the session to its end, with a process that is killed at each of its events; how many were. Each time `look`
/// is called.
fn kill_at_every_event(project: &Project, mut look: impl FnMut()) -> usize {
    let events_of = |project: &Project| {
        let lines = project.run("--json log session -n 1000").stdout;
        lines.lines().count()
    };
    let mut kills = 0;
    loop {
        let before = events_of(project);
        let mut child = begin(project, "session run");
        let mut code = None;
        wait_for("a step of the session", || {
            code = child.try_wait().unwrap().map(|status| status.code());
            code.is_some() || events_of(project) > before
        });
        if code.is_none() {
            kill(child.id(), "-KILL");
            kills += 1;
            assert!(kills < 80, "it comes to an end: {}", project.run("log -n 45").stdout);
        }
        let ran: crate::harness::Ran = child.wait_with_output().unwrap().into();
        look();
        if code.is_some() {
            assert_eq!(ran.code, 0, "{ran}\n{}", project.run("log -n 1000").stdout);
            return kills;
        }
    }
}

/// What is done once was done once, and no agent is left.
#[track_caller]
fn was_done_once(project: &Project) {
    for kind in ["set_apart", "task_placed", "task_joined", "request_landed", "trees_closed"] {
        assert_eq!(events(project, kind).len(), 1, "{kind}");
    }
    assert!(keepers(project).is_empty());
}

#[test]
fn killed_at_every_step_of_what_is_corrected_it_comes_to_the_same_end() {
    let corrected = |project: &Project, tasks: &mut Value| {
        let wrong = contract(project, "task-breakdown.yaml", &small_plan("payment/ has it"));
        tasks["plan"] = json!([wrong, tasks["plan"][0]]);
        let mut first = tasks["implement-T1-S1"][0].clone();
        let outside = json!({"write": {"file": "other.txt", "text": "x\n"}});
        first["steps"].as_array_mut().unwrap().insert(0, outside);
        let second = json!({"steps": [{"run": "rm other.txt"}, {"done": "took it back"}]});
        tasks["implement-T1-S1"] = json!([first, second]);
    };
    let whole = with_agents(corrected);
    whole.must("session run");
    let whole = texts(&whole);
    let project = with_agents(corrected);
    let kills = kill_at_every_event(&project, || ());
    assert!(kills >= 8, "{kills}");
    apart::is_merged(&project);
    assert_eq!(state(&project)["request"]["global_phase"], "complete");
    assert_eq!(texts(&project), whole);
    for (kind, times) in [("plan_sent_back", 1), ("gate_failed", 1), ("call_failed", 0)] {
        let all = events(&project, kind);
        assert_eq!(all.len(), times, "{kind}: {all:#?}\n{}", project.run("log -n 1000").stdout);
    }
    was_done_once(&project);
}

#[test]
fn killed_at_every_step_it_comes_to_the_same_end() {
    let whole = with_agents(|_, _| {});
    whole.must("session run");
    let whole = texts(&whole);
    let project = with_agents(|_, _| {});
    let is_judged = || {
        let of_tests = |it: &&Value| it["body"]["gate"] == "GATE-2";
        events(&project, "gate_passed").iter().filter(of_tests).count() == 1
    };
    let mut runs_when_judged = None;
    let kills = kill_at_every_event(&project, || {
        if runs_when_judged.is_none() && is_judged() {
            runs_when_judged = Some(test_runs(&project));
        }
    });
    assert!(kills >= 6, "{kills}");
    is_complete(&project);
    assert_eq!(texts(&project), whole);
    // Tests whose run was killed are run again; those that were judged never are.
    assert_eq!(runs_when_judged, Some(test_runs(&project)));
    was_done_once(&project);
}

#[test]
fn an_agent_whose_call_is_over_ends_with_the_next_process() {
    let project = with_agents(|project, tasks| {
        let written = puts(project, "contracts/R1/T1/design-contract.yaml", &design("T1", 1));
        tasks["design-T1"] = json!([{"steps": [{"run": written}, {"hang": "deaf"}]}]);
    });
    let mut child = begin(&project, "session run");
    let contract = folder(&project).join("contracts/R1/T1/design-contract.yaml");
    wait_for("the contract", || contract.exists());
    kill(child.id(), "-KILL");
    child.wait().unwrap();
    assert_eq!(keepers(&project).len(), 1);
    project.must("session run");
    is_complete(&project);
    assert!(keepers(&project).is_empty());
    let of_design = |it: &&Value| it["stream"].as_str().unwrap().contains("design-T1");
    let log = project.log();
    let kinds: Vec<_> = log.iter().filter(of_design).map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, ["begun", "engaged", "accounted", "ended"]);
}

#[test]
fn a_session_goes_on_beside_the_host_of_another_process() {
    let project = with_agents(|_, _| {});
    let base = project.base();
    let (begun, go) = (base.join("begun"), base.join("go"));
    let waits =
        format!("touch {}; while ! test -e {}; do sleep 0.02; done", begun.display(), go.display());
    let tasks =
        format!("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n  - run: `{waits}`\n");
    project.write("TASKS.md", &tasks);
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    let mut host = begin(&project, "run");
    wait_for("the run", || begun.exists());
    crate::apart::run(&project, "session run", 0, &[]);
    assert_eq!(project.json("session next")["what"], "done");
    assert!(host.try_wait().unwrap().is_none(), "it was the host all the time");
    fs::write(go, "").unwrap();
    host.wait().unwrap();
}
