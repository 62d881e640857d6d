//! `waypost session`: its commands, its gates on a real repository, edits of its files, damage, a project
//! that was moved. `docs/session.md` tells the same.

mod apart;
mod commands;
mod damage;
mod edits;
mod gates;
mod killed;
mod languages;
mod learning;
mod places;
mod roles;
mod running;
mod seed;

use crate::harness::Project;
use serde_json::Value;
use std::path::PathBuf;

/// A repository whose tests are a shell script, with a session and a request.
fn requested() -> Project {
    let project = Project::git();
    project.write("src/cart.sh", "count() { echo 0; }\n");
    project.write("waypost.toml", "[session]\ntest_command = \"sh tests/all.sh\"\n");
    project
        .write("tests/all.sh", "for t in tests/t_*.sh; do [ ! -e $t ] || sh $t || exit 1; done\n");
    project.write(".gitignore", "/.claude/orchestrator/\n");
    project.git_command("add -A");
    project.git_command("commit -q -m shop");
    project.must("session start");
    project.must("session request 'count what is in the cart'");
    project
}

/// The same with a plan of two tasks: T1 with two subtasks, T2 with one.
fn planned() -> Project {
    let project = requested();
    put(&project, "explored.yaml", &explored());
    put(&project, "task-breakdown.yaml", &breakdown(&[]));
    for task in ["T1", "T2"] {
        put(&project, &format!("{task}/design-brief.yaml"), &brief(task));
    }
    project.must("session plan");
    project
}

/// The same with a design of T1: T1-S1 is in test_first.
fn designed() -> Project {
    let project = planned();
    put(&project, "T1/design-contract.yaml", &design("T1", 1));
    project.must("session next");
    project
}

/// The same with tests: T1-S1 is in implementation.
fn tested() -> Project {
    let project = designed();
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    assert_eq!(phase(&project, "T1-S1"), "implementation");
    project
}

/// A subtask in verification, whose tests this stands before once there is something to test.
fn in_verification(before: impl FnOnce(&Project) -> String) -> Project {
    let project = planned();
    let (before, all) = (before(&project), project.read("tests/all.sh"));
    project.write("tests/all.sh", &format!("[ ! -e src/t1_s1.sh ] || {{ {before} }}\n{all}"));
    put(&project, "T1/design-contract.yaml", &design("T1", 1));
    project.must("session next");
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    implement(&project, "T1-S1", true);
    project.must("session gate check");
    project
}

/// The folder of the session.
fn folder(project: &Project) -> PathBuf {
    PathBuf::from(project.json("session status")["folder"].as_str().unwrap())
}

/// A file of the session, below the project.
fn file(project: &Project, name: &str) -> String {
    let folder = folder(project);
    let folder = folder.strip_prefix(project.path("")).unwrap().to_str().unwrap().to_owned();
    format!("{folder}/{name}")
}

/// Writes a contract of R1 as an agent does.
fn put(project: &Project, name: &str, text: &str) {
    project.write(&file(project, &format!("contracts/R1/{name}")), text);
}

fn state(project: &Project) -> Value {
    project.window(&file(project, "state.json"))
}

/// A subtask as its file shows it.
fn subtask(project: &Project, id: &str) -> Value {
    let task = id.split('-').next().unwrap();
    state(project)["tasks"][task]["subtasks"][id].clone()
}

fn phase(project: &Project, id: &str) -> String {
    subtask(project, id)["phase"].as_str().unwrap().to_owned()
}

/// The events of a kind in the stream of the session.
fn events(project: &Project, kind: &str) -> Vec<Value> {
    let of = |entry: &Value| entry["stream"] == "session" && entry["kind"] == kind;
    project.log().into_iter().filter(of).collect()
}

const HEAD: &str = "version: 1\nrequest_id: R1\ncreated_at: \"2026-11-17T10:00:00Z\"\n";

fn explored() -> String {
    format!(
        "{HEAD}created_by: code-explore\nexplored_files:\n  - path: src/cart.sh\n    summary: the cart\n\
         directory_structure:\n  tests: tests\n"
    )
}

/// A plan with these assumptions.
fn breakdown(assumptions: &[&str]) -> String {
    let lines: Vec<String> = assumptions.iter().map(|it| format!("  - \"{it}\"\n")).collect();
    let listed =
        if lines.is_empty() { " []\n".to_owned() } else { format!("\n{}", lines.concat()) };
    format!(
        "{HEAD}created_by: planner\noriginal_request: count what is in the cart\nobjective: count\n\
         tasks:\n  - id: T1\n    name: cart\n    subtasks:\n      - id: T1-S1\n        name: add\n      \
         - id: T1-S2\n        name: remove\n  - id: T2\n    name: list\n    subtasks:\n      \
         - id: T2-S1\n        name: show\nassumptions:{listed}task_order: [T1, T2]\n"
    )
}

fn brief(task: &str) -> String {
    format!(
        "{HEAD}task_id: {task}\ncreated_by: orchestrator\nscope_in:\n  - src/**\nscope_out:\n  \
         - src/private/**\n"
    )
}

/// A design; another number is another design.
fn design(task: &str, number: u32) -> String {
    format!(
        "{HEAD}task_id: {task}\ncreated_by: architect\ninvariants:\n  - id: INV-{number}\n    \
         rule: it counts\ninterfaces: []\nboundaries: []\nfile_refs: []\n"
    )
}

fn test_file(id: &str) -> String {
    format!("tests/t_{}.sh", id.to_lowercase().replace('-', "_"))
}

/// A test contract with a case of this category.
fn test_contract(id: &str, category: &str) -> String {
    let task = id.split('-').next().unwrap();
    format!(
        "{HEAD}task_id: {task}\nsubtask_id: {id}\ncreated_by: qa-engineer\nsubtask_name: x\ntest_cases:\n  \
         - id: TC-1\n    name: counts\n    category: {category}\ntest_file_path: {}\n",
        test_file(id)
    )
}

fn at(id: &str, name: &str) -> String {
    format!("{}/{id}/{name}", id.split('-').next().unwrap())
}

/// Writes the test of a subtask, which looks for a function of its name, and its contract.
fn write_tests(project: &Project, id: &str) {
    let name = id.to_lowercase().replace('-', "_");
    project.write(&test_file(id), &format!(". ./src/{name}.sh && {name}\n"));
    put(project, &at(id, "test-contract.yaml"), &test_contract(id, "happy_path"));
}

/// Makes the test pass, or not.
fn implement(project: &Project, id: &str, is_right: bool) {
    let name = id.to_lowercase().replace('-', "_");
    let code = if is_right { "return 0" } else { "return 1" };
    project.write(&format!("src/{name}.sh"), &format!("{name}() {{ {code}; }}\n"));
}

fn write_result(project: &Project, id: &str, result: &str, category: Option<&str>) {
    let task = id.split('-').next().unwrap();
    let failed = match category {
        Some(category) => format!("failed_tests:\n  - id: TC-1\n    category: {category}\n"),
        None => "failed_tests: []\n".to_owned(),
    };
    let (passed, wrong) = if result == "pass" { (1, 0) } else { (0, 1) };
    let action = match category {
        None => "complete",
        Some("test_error") => "retry_test",
        Some("design_violation") => "retry_design",
        Some(_) => "retry_implementation",
    };
    let text = format!(
        "{HEAD}task_id: {task}\nsubtask_id: {id}\ncreated_by: qa-engineer\nexecution:\n  result: {result}\n\
         summary:\n  total: 1\n  passed: {passed}\n  failed: {wrong}\n{failed}recommendation:\n  \
         action: {action}\n"
    );
    put(project, &at(id, "test-result.yaml"), &text);
}
