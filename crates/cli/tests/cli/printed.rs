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
            if name == "error" {
                let error = &object["error"];
                let has_steps = error["next_steps"].as_array().is_some_and(|it| !it.is_empty());
                assert_eq!(error["next"].is_string(), has_steps, "{line}: {object}");
            }
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
        ("schema json", "printed_type"),
        ("schema json --list", "printed_type"),
        ("statusline", "status_line"),
        ("demo", "error"),
        // What the parser refuses is told as everything else.
        ("stauts", "error"),
        ("run --nonsense", "error"),
        ("run strat T1.1", "error"),
        ("run --phase x", "error"),
        ("why", "error"),
        ("develop", "error"),
        ("inbox show q9", "error"),
        ("inbox show nonsense", "error"),
        ("open T1.1", "error"),
        ("run", "error"),
        ("run --new", "error"),
        ("develop resume", "error"),
        ("init --no-agents", "init"),
        ("agents", "agent"),
        ("worktree list", "work_trees"),
        ("worktree prune", "trees_pruned"),
        ("worktree undo nothing", "error"),
        ("develop status", "workflow"),
        ("develop start chat", "workflow"),
        ("develop resume", "error"),
        ("develop resume --continue", "workflow"),
    ];
    for (line, want) in table {
        let (_, found) = printed(&project, line);
        assert_eq!(found, BTreeSet::from([want.to_owned()]), "{line}");
    }
}

#[test]
fn what_leads_on_from_an_error_is_a_value_as_well() {
    let project = Project::running();
    let table = [
        ("run stop", "resume_run", "waypost run --resume"),
        ("run", "resume_run", "waypost run --resume"),
        ("run --new", "resume_run", "waypost run --resume"),
        ("inbox show q9", "show_inbox", "waypost inbox"),
        ("inbox answer nonsense yes", "show_inbox", "waypost inbox"),
        ("develop resume", "start_feature", "waypost develop start FEATURE"),
    ];
    for (line, step, command) in table {
        let ran = project.run(&format!("--json {line}"));
        let told: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{ran}"));
        let want = json!([{"step": step, "command": command}]);
        assert_eq!(told["error"]["next_steps"], want, "{line}");
        assert_eq!(told["error"]["next"], command, "{line}");
    }
}

#[test]
fn a_line_that_is_no_command_is_an_error_object_with_the_same_exit_code() {
    let project = Project::git();
    let table = [
        ("stauts", "COMMAND_UNKNOWN", "unrecognized subcommand 'stauts'"),
        ("run strat T1.1", "COMMAND_UNKNOWN", "`waypost run` has no command `strat`"),
        ("run --nonsense", "BAD_ARGUMENT", "unexpected argument '--nonsense' found"),
        ("why", "BAD_ARGUMENT", "the following required arguments were not provided: <ID>"),
        ("demo", "BAD_ARGUMENT", "the demo is for people to read: it prints no JSON"),
    ];
    for (line, kind, message) in table {
        let ran = project.run(&format!("{line} --json"));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{line}: {ran}");
        let told: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{ran}"));
        let error = &told["error"];
        let got = (&error["code"], &error["kind"], &error["message"]);
        assert_eq!(got, (&json!(2), &json!(kind), &json!(message)), "{line}");
        assert!(error["hints"].as_array().is_some_and(|hints| !hints.is_empty()), "{line}: {ran}");
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
fn the_newest_fifty_events_are_printed_or_all_of_them() {
    let project = Project::git();
    let tasks: String =
        (1..=30).map(|at| format!("- [ ] T1.{at}: Task {at}\n  - run: `true`\n")).collect();
    project.write("TASKS.md", &format!("## Phase 1: A\n\n{tasks}"));
    project.must("run");
    let numbers = |line: &str| -> Vec<u64> {
        let lines = project.must(line).stdout;
        let read = |line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
        lines.lines().map(read).collect()
    };
    let all = numbers("log --all --json");
    assert!(all.len() > 60 && all.first() == Some(&1), "{all:?}");
    assert_eq!(numbers("log --json"), all[all.len() - 50..]);
    assert_eq!(numbers("log --json -n 3"), all[all.len() - 3..]);
    assert_eq!(project.run("log --all -n 3").code, 2);
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
    // Something happens while no process follows, and something while it is followed.
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
