//! What `--json` prints is what the schemas say, and the stream of events can be followed by cursor.
//!
//! `check` looks at everything that any test of this program has printed with `--json`.

use crate::harness::{BINARY, Project, Ran, words};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, ChildStdout, Stdio},
    sync::LazyLock,
};

/// The committed schemas, by type; keys that they do not have are refused.
static SCHEMAS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/json");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let mut schema: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            schema["unevaluatedProperties"] = json!(false);
            (name, jsonschema::validator_for(&schema).unwrap())
        })
        .collect()
});

/// Compares all objects of ours with their schemas.
#[track_caller]
pub(crate) fn check(line: &str, ran: &Ran) {
    let stream = |text: &str| -> Vec<Value> {
        serde_json::Deserializer::from_str(text)
            .into_iter::<Value>()
            .map_while(Result::ok)
            .collect()
    };
    let printed: Vec<Value> = [stream(&ran.stdout), stream(&ran.stderr)].concat();
    types(line, &printed);
}

/// Compares objects with their schemas, and returns their types.
#[track_caller]
fn types(line: &str, printed: &[Value]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for value in printed {
        let objects = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        for object in objects.iter().filter(|object| object.get("v").is_some()) {
            let name = object["type"].as_str().unwrap_or_default();
            let schema = SCHEMAS.get(name).unwrap_or_else(|| panic!("{line}: no type {name}"));
            let faults: Vec<String> = schema.iter_errors(object).map(|it| it.to_string()).collect();
            assert_eq!(faults, Vec::<String>::new(), "{line}: {object}");
            found.insert(name.to_owned());
        }
    }
    found
}

/// What a line prints is all of ours, or nothing of it is.
#[track_caller]
fn printed(project: &Project, line: &str) -> (Vec<Value>, BTreeSet<String>) {
    let ran = project.run(&format!("--json {line}"));
    let text = if ran.stdout.is_empty() { &ran.stderr } else { &ran.stdout };
    let read = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let values: Vec<Value> =
        read.map(|it| it.unwrap_or_else(|error| panic!("{line}: {error}\n{ran}"))).collect();
    let found = types(line, &values);
    (values, found)
}

#[test]
fn every_command_prints_the_type_that_it_is_said_to_print() {
    let project = Project::running();
    let contract = project.path("bad.json");
    fs::write(contract, "{}").unwrap();
    let table = [
        ("status", "status"),
        ("run status", "run_status"),
        ("run list", "run"),
        ("run retry T1.1", "task"),
        ("run next", "task"),
        ("run start T1.1", "task"),
        ("run --dry-run", "plan"),
        ("run start T9.9", "error"),
        ("run stop", "error"),
        ("why T1.1", "why"),
        ("log", "log_entry"),
        ("log --after 7", "error"),
        ("config show", "setting"),
        ("doctor", "examined"),
        ("validate TASKS.md", "file_validity"),
        ("validate --kind checkpoint-contract bad.json", "file_validity"),
        ("schema", "kind"),
        ("init --no-agents", "init"),
        ("agents", "agent"),
        ("worktree list", "work_trees"),
        ("worktree prune", "trees_pruned"),
        ("worktree undo nothing", "error"),
        ("develop status", "workflow"),
        ("develop start chat", "workflow"),
    ];
    for (line, want) in table {
        let (_, found) = printed(&project, line);
        assert_eq!(found, BTreeSet::from([want.to_owned()]), "{line}");
    }
}

#[test]
fn a_run_prints_events_and_its_end() {
    let project = Project::git();
    project.write("TASKS.md", "## Phase 1: A\n\n- [ ] T1.1: a\n  - run: `true`\n");
    let (lines, found) = printed(&project, "run");
    assert_eq!(found, BTreeSet::from(["run_event".to_owned()]));
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert!(events.contains(&"completed") && events.last() == Some(&"ended"), "{events:?}");
}

#[test]
fn what_the_seeds_define_has_no_envelope() {
    let project = Project::running();
    for line in ["resolve", "run show 1"] {
        let (values, found) = printed(&project, line);
        assert!(!values.is_empty() && found.is_empty(), "{line}: {values:?}");
    }
}

#[test]
fn every_type_has_a_committed_schema_that_is_listed() {
    let project = Project::git();
    let listed = project.must("schema json --list").stdout;
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    assert_eq!(listed, SCHEMAS.keys().cloned().collect());
    assert_eq!(project.run("schema json nothing").code, 2);
    assert_eq!(project.run("schema task nothing").code, 2);
}

/// A process that follows the log.
struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Following {
    fn after(project: &Project, cursor: &str) -> Self {
        let line = format!("--json log --follow --after {cursor}");
        let mut command = project.command(BINARY, &project.root);
        let mut child = command.args(words(&line)).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_follower_that_was_away_goes_on_without_gap_or_duplicate() {
    let project = Project::running();
    let whole = project.log().len();
    let (mut seen, mut cursor) = (Vec::new(), "1.0".to_owned());
    let mut follow = |count: usize| {
        let mut following = Following::after(&project, &cursor);
        for _ in 0..count {
            let entry = following.next();
            cursor = entry["cursor"].as_str().unwrap().to_owned();
            seen.push(entry["seq"].as_u64().unwrap());
        }
        seen.clone()
    };
    follow(2);
    follow(whole - 2);
    // Something happens while nobody follows, and something while it is followed.
    project.must("run retry T1.1");
    let away = project.log().len() - whole;
    follow(away);
    project.must("run start T1.1");
    let all: Vec<u64> = project.log().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    let seen = follow(all.len() - whole - away);
    assert_eq!(seen, all);
    // Without `--follow` the same is printed and it ends.
    let rest = project.must(&format!("--json log --after {cursor}")).stdout;
    assert_eq!(rest, "");
    let ahead = project.run("--json log --after 1.999999");
    assert_eq!(ahead.code, 5, "{ahead}");
    assert!(ahead.stderr.contains("JOURNAL_RESTORED"), "{ahead}");
}
