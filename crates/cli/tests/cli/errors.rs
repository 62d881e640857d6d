//! What is wrong with a file, and where: line, column, the line itself, what was expected, and the
//! nearest thing that would have been right.

use crate::{
    harness::{BINARY, Project, Ran, WORKFLOW},
    terminal::no_person_is_here,
};
use insta::assert_snapshot;
use std::{collections::BTreeSet, fs, path::Path};

/// A workflow's state as an older tool wrote it.
const STATE: &str = include_str!("fixtures/000-1-workflow-state.json");

const CONTRACT: &str = "\
checkpoints:
  - id: cp-1
    description: Messages are stored
    interface: [src/store.rs]
    tests: [tests/store.rs]
    validation:
      command: cargo test store
      expected: ok
    dependencies: []
  - id: cp-2
    description: Messages are shown
    interface: [src/view.rs]
    tests: [tests/view.rs]
    validation:
      command: cargo test view
      expected: ok
    dependencies: [cp-1]
";

const CONFIG: &str = "\
[workflow]
max_iterations = 3

[workflow.gates.review_clean_pass]
check = \"cargo test\"

[run]
mode = \"normal\"
retry_limit = 10
";

const TASKS: &str = "\
# Tasks: shop

## Phase 0: Ground

- [ ] T0.1: Lay the ground
  - verify: `true`
- [ ] T0.2: Choose the tools
  - depends: T0.1
  - priority: high
";

/// A file with one thing changed.
struct Mistake {
    name: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn mistake(name: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { name, from, to }
}

/// Makes each mistake in turn, and tells what is said by `line`, which has to exit with 2.
fn check(file: &str, good: &str, line: &str, mistakes: &[Mistake]) -> String {
    let project = Project::git();
    let told = mistakes.iter().map(|mistake| {
        assert!(good.contains(mistake.from), "{}", mistake.name);
        project.write(file, &good.replacen(mistake.from, mistake.to, 1));
        let ran = match line.strip_prefix("(person) ") {
            Some(line) => project.as_person(line),
            None => project.run(line),
        };
        assert_eq!(ran.code, 2, "{}\n{ran}", mistake.name);
        let told = project.redact(&ran.stderr);
        let place = format!("{file}:");
        assert!(told.contains(&place), "{} has no place\n{told}", mistake.name);
        format!("## {}\n{told}", mistake.name)
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn mistakes_in_json_are_shown() {
    if no_person_is_here() {
        return;
    }
    let mistakes = [
        mistake("an unknown field", "\"strategy\"", "\"strategi\""),
        mistake("an unknown gate", "\"re_review_clean\"", "\"rereview_clean\""),
        mistake("a bad value", "\"IMPLEMENT\"", "\"IMPLEMENTED\""),
        mistake("a bad type", "\"iteration\": 2", "\"iteration\": \"2\""),
        mistake("a missing field", "\"phase\": \"IMPLEMENT\",", ""),
        mistake("a contradiction", "\"iteration\": 0", "\"iteration\": 1"),
        mistake("a key twice", "\"phase\":", "\"feature\": \"x\", \"phase\":"),
        mistake("a comma too many", "\"iteration\": 0 }", "\"iteration\": 0, }"),
        mistake(
            "wide characters before it",
            "\"실시간 채팅 기능\"",
            "\"실시간 채팅 기능\", \"x\": 1",
        ),
    ];
    let line = format!("(person) adopt {WORKFLOW}");
    assert_snapshot!("json", check(WORKFLOW, STATE, &line, &mistakes));
}

#[test]
fn mistakes_in_yaml_are_shown() {
    let mistakes = [
        mistake("an unknown field", "    interface: [src/view", "    interfaces: [src/view"),
        mistake("a bad value", "id: cp-2", "id: 'cp 2'"),
        mistake("a bad type", "tests: [tests/view.rs]", "tests: 7"),
        mistake("a dependency that is not there", "[cp-1]", "[cp-9]"),
        mistake("a cycle", "dependencies: []", "dependencies: [cp-2]"),
        mistake("a file owned twice", "[src/view.rs]", "[src/store.rs]"),
        mistake(
            "bad indentation",
            "    validation:\n      command: cargo test view",
            "    validation:\n   command: cargo test view",
        ),
    ];
    let line = "develop advance --contract contract.yaml";
    assert_snapshot!("yaml", check("contract.yaml", CONTRACT, line, &mistakes));
}

#[test]
fn mistakes_in_the_configuration_are_shown() {
    let mistakes = [
        mistake("an unknown field", "retry_limit", "retry_limits"),
        mistake("an unknown section", "[run]", "[runs]"),
        mistake("an unknown gate", "review_clean_pass", "review_clean"),
        mistake("a bad value", "\"normal\"", "\"norml\""),
        mistake("a bad type", "= 10", "= \"ten\""),
        mistake("a number out of range", "max_iterations = 3", "max_iterations = 0"),
        mistake("no TOML", "mode = \"normal\"", "mode = normal"),
    ];
    assert_snapshot!("toml", check("waypost.toml", CONFIG, "status", &mistakes));
}

#[test]
fn mistakes_in_tasks_are_shown() {
    let mistakes = [
        mistake("a dependency that is not there", "depends: T0.1", "depends: T0.9"),
        mistake("a cycle", "  - verify: `true`", "  - depends: T0.2"),
        mistake("an id twice", "T0.2: Choose", "T0.1: Choose"),
        mistake("a bad value", "priority: high", "priority: hihg"),
    ];
    assert_snapshot!("tasks", check("TASKS.md", TASKS, "run next", &mistakes));
}

#[test]
fn validate_shows_the_same_places() {
    let project = Project::git();
    project.write("TASKS.md", &TASKS.replace("depends: T0.1", "depends: T0.9"));
    project.write("knowledge.yaml", "version: 1\npattern: {}\n");
    project.write("waypost.toml", &CONFIG.replace("retry_limit", "retry_limits"));
    project.write(WORKFLOW, &STATE.replace("strategy", "strategi"));
    let line = format!("validate TASKS.md knowledge.yaml waypost.toml {WORKFLOW}");
    assert_snapshot!("validate", project.transcript(&[&line]));
    let findings = project.run("--json validate knowledge.yaml");
    assert_eq!(findings.code, 2);
    let findings: serde_json::Value = serde_json::from_str(&findings.stdout).unwrap();
    let finding = &findings[0]["findings"][0];
    let place = ["line", "column", "length"].map(|field| finding[field].as_u64());
    assert_eq!(place, [Some(2), Some(1), Some(7)]);
}

/// Every whole document in the seeds is valid; what is only a template is warned of.
#[test]
fn the_examples_of_the_seeds_are_valid() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/seeds");
    let project = Project::plain();
    let kinds = project.must("schema --list").stdout;
    let mut judged = BTreeSet::new();
    for entry in fs::read_dir(seeds).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        // `001-2-initial-run-state` is of the kind with the longest name that it ends in.
        let fits = kinds.lines().filter(|kind| stem.ends_with(&format!("-{kind}")));
        let kind = fits.max_by_key(|kind| kind.len()).unwrap_or_else(|| panic!("{stem}"));
        let mut command = project.command(BINARY, &project.root);
        command.args(["validate", "--kind", kind]).arg(&path);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 0, "{stem}\n{ran}");
        assert!(!ran.stderr.contains("error:"), "{stem}\n{ran}");
        judged.insert(kind.to_owned());
    }
    // The seeds have no example of these.
    let unseen = kinds.lines().filter(|kind| !judged.contains(*kind)).collect::<Vec<_>>();
    assert_eq!(unseen, ["checkpoint-contract", "task-type", "config"]);
}
