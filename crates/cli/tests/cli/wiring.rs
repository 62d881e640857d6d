//! One test per command: what it prints for people, and what it prints as data.

use crate::{
    harness::{BINARY, PIN, Project, RUN, TASKS, WORKFLOW},
    terminal::no_person_is_here,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

#[test]
fn init_makes_the_journal_and_hides_it_from_git() {
    let project = Project::git().with_programs();
    assert_snapshot!("init", project.transcript(&["init", "init", "--quiet init"]));
    assert!(project.journal().join("journal.db").is_file());
    assert_eq!(project.git_command("status --porcelain"), "");
    assert_snapshot!("init_json", Project::git().with_programs().data(&["init", "init"]));
}

#[test]
fn init_outside_git_keeps_the_journal_in_the_project() {
    let project = Project::plain().with_programs();
    assert_snapshot!("init_plain", project.transcript(&["init", "status", "doctor"]));
    assert!(project.path(".waypost/journal.db").is_file());
}

#[test]
fn status_tells_of_workflow_run_and_inbox() {
    let project = Project::implementing();
    project.write("TASKS.md", TASKS);
    assert_snapshot!(
        "status",
        project.transcript(&[
            "run start T0.1",
            "develop checkpoint fail cp-1 --class DESIGN_MISMATCH",
            "status",
        ])
    );
    assert_snapshot!("status_json", project.data(&["status"]));
    assert_snapshot!("status_of_nothing", Project::plain().transcript(&["status"]));
}

#[test]
fn develop_leads_a_feature_through_its_phases() {
    let project = Project::git();
    project.write("review.md", "Blocking: 0\n");
    project.write("waypost.toml", "[workflow.gates.re_review_clean]\ncheck = \"echo checked\"\n");
    let lines = [
        "develop status",
        "develop start 'Live chat'",
        "develop advance --checkpoint cp-1",
        "develop advance",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance --strategy direct",
        "develop checkpoint start cp-1",
        "develop checkpoint fail cp-1",
        "develop checkpoint pass cp-1",
        "develop gate pass architect_verified --report review.md",
        "develop gate reset architect_verified",
        "develop gate pass architect_verified --report review.md",
        "develop advance",
        "develop back",
        "--quiet develop gate pass architect_verified --report review.md",
        "--quiet develop advance",
        "develop gate pass re_review_clean",
        "develop advance",
        "develop start 'Next one'",
    ];
    assert_snapshot!("develop", project.transcript(&lines));
    assert_snapshot!("develop_json", project.data(&["develop status"]));
}

#[test]
fn develop_takes_a_contract_and_runs_its_validations() {
    let project = Project::git();
    project.write("review.md", "{\"blocking\": 0}");
    project.write("contract.yaml", CONTRACT);
    let lines = [
        "develop start 'Live chat'",
        "develop contract contract.yaml",
        "develop advance",
        "--quiet develop gate pass review_clean_pass --report review.md",
        "develop advance",
        "--quiet develop checkpoint start cp-1",
        "develop checkpoint pass cp-1",
        "develop checkpoint escalate cp-1",
        "inbox list",
        "inbox show q1",
        "develop checkpoint reopen cp-1",
    ];
    assert_snapshot!("develop_contract", project.transcript(&lines));
}

const CONTRACT: &str = "\
checkpoints:
  - id: cp-1
    description: Messages are stored
    interface: [src/store.rs]
    tests: [tests/store.rs]
    validation:
      command: echo 3 passed
      expected: 4 passed
    dependencies: []
";

#[test]
fn develop_resume_reports_and_asks() {
    let project = Project::implementing();
    let lines = ["develop resume", "develop resume --continue", "develop resume --restart"];
    assert_snapshot!("develop_resume", project.transcript(&lines));
    let done = Project::git();
    assert_snapshot!("develop_resume_nothing", done.transcript(&["develop resume"]));
    if no_person_is_here() {
        return;
    }
    let line = "develop resume";
    assert_snapshot!(
        "develop_resume_asked",
        project.tell(line, &project.typing(line, &format!("b\n{PIN}\n")))
    );
    let line = "develop suspend --reason 'hot fix'";
    assert_snapshot!("develop_suspend", project.tell(line, &project.as_person(line)));
    let line = "develop resume --continue";
    assert_snapshot!("develop_suspend_ended", project.tell(line, &project.run(line)));
}

#[test]
fn a_person_is_asked_to_confirm_a_gate() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git();
    project.write("waypost.toml", "[workflow.gates.review_clean_pass]\nhuman = true\n");
    project.must("develop start 'Live chat'");
    project.must("develop advance --checkpoint cp-1");
    let line = "develop gate pass review_clean_pass";
    let told = [
        project.tell(line, &project.run(line)),
        project.tell(line, &project.typing(line, "n\n")),
        project.tell(line, &project.typing(line, "y\n")),
    ];
    assert_snapshot!("gate_confirmed", told.join("\n"));
}

#[test]
fn run_leads_an_executor_through_the_tasks() {
    let project = Project::with_tasks();
    let lines = [
        "run status",
        "run next",
        "run start T0.1",
        "run start T0.2",
        "run next",
        "run done T0.1",
        "run fail T0.2 --class critical --reason 'no disk'",
        "run retry T0.2",
        "run start T0.2",
        "run done T0.2 --attempt 2",
        "run next -n 1",
        "run skip T1.1",
        "run skip T1.1 --satisfy",
        "run start T1.3",
        "run done T1.3",
        "run status",
        "log T1.1",
    ];
    assert_snapshot!("run", project.transcript(&lines));
    let lines = ["run status", "run next", "run retry T1.1", "run start T1.1"];
    assert_snapshot!("run_json", project.data(&lines));
}

#[test]
fn run_done_verifies_first() {
    let project = Project::git();
    project.write("TASKS.md", "# Tasks: shop\n\n- [ ] T0.1: Bake\n  - verify: `test -f cake`\n");
    let before = project.transcript(&["run start T0.1", "run done T0.1"]);
    project.write("cake", "");
    let after = project.transcript(&["run done T0.1", "run status"]);
    assert_snapshot!("run_verify", format!("{before}\n{after}"));
}

#[test]
fn run_takes_up_a_changed_tasks_file() {
    let project = Project::with_tasks();
    project.must("run start T0.1");
    project.write("TASKS.md", &format!("{TASKS}- [ ] T1.4: Wrap them\n"));
    let more = project.transcript(&["run done T0.1"]);
    project.write("TASKS.md", "# Tasks: shop\n\n- [ ] T0.2: Loop (depends on T9.9)\n");
    let broken = project.transcript(&["run start T0.2", "run start T0.2 --tasks TASKS.md"]);
    assert_snapshot!("run_replanned", format!("{more}\n{broken}"));
}

#[test]
fn resolve_answers_in_one_line() {
    let project = Project::with_tasks();
    let lines = [
        "resolve",
        "run start T0.1",
        "run start T0.2",
        "resolve RESOLVE_NEXT",
        "run done T0.1",
        "run done T0.2",
        "resolve RESOLVE_NEXT:PHASE:0",
        "run skip T1.1",
        "run skip T1.3",
        "resolve RESOLVE_NEXT:PHASE:1:FORCE",
        "resolve NEXT",
    ];
    assert_snapshot!("resolve", project.transcript(&lines));
    assert_eq!(project.json("resolve"), json!({ "answer": "PHASE_FAILED:1" }));
    assert_snapshot!("resolve_without_tasks", Project::git().transcript(&["resolve"]));
}

#[test]
fn log_tells_what_happened() {
    let project = Project::running();
    let lines = ["log", "log -n 2", "log T1.1", "log run:T0.1", "log workflow:main", "log nothing"];
    assert_snapshot!("log", project.transcript(&lines));
    let seqs: Vec<Value> = project.log().iter().map(|entry| entry["seq"].clone()).collect();
    let counted: Vec<Value> = (1..=seqs.len()).map(Value::from).collect();
    assert_eq!(seqs, counted);
    let mut last = project.log().pop().unwrap();
    last["at"] = Value::Null;
    assert_eq!(
        last,
        json!({
            "v": 1, "type": "log_entry", "cursor": format!("1.{}", seqs.len()),
            "seq": seqs.len(), "stream": "run", "stream_seq": seqs.len(), "at": null,
            "actor": "agent:unknown#0", "kind": "task_failed",
            "body": { "id": "T1.1", "reason": "hopeless", "text": "no disk" },
        })
    );
}

#[test]
fn inbox_entries_are_listed_shown_and_answered() {
    let project = Project::implementing();
    project.must("--quiet develop checkpoint escalate cp-1");
    let lines = [
        "inbox",
        "inbox list",
        "inbox show q1",
        "inbox show q2",
        "inbox show cp-1",
        "inbox answer q1 reopen",
    ];
    assert_snapshot!("inbox", project.transcript(&lines));
    assert_snapshot!("inbox_json", project.data(&["inbox", "inbox show q1"]));
    if no_person_is_here() {
        return;
    }
    let told = [
        ("inbox answer q1 maybe", ""),
        ("inbox answer q1 reope", ""),
        ("inbox answer q1 REOPEN", ""),
        ("inbox answer q1 reopen", ""),
    ]
    .map(|(line, typed)| project.tell(line, &project.typing(line, typed)));
    assert_snapshot!("inbox_answered", told.join("\n"));
    assert_snapshot!("inbox_empty", project.transcript(&["inbox", "develop status"]));
    project.must("--quiet develop checkpoint escalate cp-1");
    project.write("answer.txt", "reopen\n");
    let answered = project.person_must("--json inbox answer q2 --file answer.txt").stdout;
    let answered: Value = serde_json::from_str(&answered).unwrap();
    assert_eq!(
        answered,
        json!({ "v": 1, "type": "answered", "answered": "q2", "verb": "answer", "text": "reopen" })
    );
}

#[test]
fn adopt_starts_a_journal_from_a_state_file() {
    if no_person_is_here() {
        return;
    }
    let (project, files) = (Project::with_tasks(), Project::implementing());
    project.write(WORKFLOW, &files.read(WORKFLOW));
    let line = format!("adopt {WORKFLOW}");
    let told = [
        project.transcript(&["status", &line]),
        project.tell(&line, &project.as_person(&line)),
        project.tell(&line, &project.as_person(&line)),
        project.transcript(&["status", "adopt README.md"]),
    ];
    assert_snapshot!("adopt", told.join("\n"));
    project.write(RUN, &Project::running().read(RUN));
    let data = project.person_must(&format!("--json adopt {RUN}")).stdout;
    let data: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data, json!({ "v": 1, "type": "adopted", "adopted": RUN, "kind": "run-state" }));
    assert_snapshot!("adopted_run", project.transcript(&["run status", "log T0.1"]));
}

#[test]
fn schema_prints_every_kind() {
    let project = Project::plain();
    assert_snapshot!("schema", project.transcript(&["schema", "schema nothing"]));
    let names = project.must("schema --list").stdout;
    for name in names.lines() {
        let schema = project.json(&format!("schema {name}"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
    }
    let listed = project.json("schema");
    assert_eq!(listed.as_array().map(Vec::len), Some(names.lines().count()));
}

#[test]
fn validate_judges_files() {
    let project = Project::running();
    project.write("notes.txt", "hello\n");
    project.write("knowledge.yaml", KNOWLEDGE);
    let lines = [
        "validate TASKS.md knowledge.yaml .claude/orchestrate-state.json",
        "validate notes.txt",
        "validate nothing.yaml",
        "validate notes.txt --kind knowledge",
    ];
    assert_snapshot!("validate", project.transcript(&lines));
    let lines = ["validate TASKS.md .claude/orchestrate-state.json"];
    assert_snapshot!("validate_json", project.data(&lines));
}

const KNOWLEDGE: &str = "\
version: 1
patterns:
  naming: plain nouns
decisions: []
";

#[test]
fn doctor_looks_everything_over() {
    let project = Project::git().with_programs();
    assert_snapshot!("doctor", project.transcript(&["doctor", "doctor --fix", "init", "doctor"]));
    let project = Project::git();
    project.must("init");
    assert_snapshot!("doctor_json", project.data(&["doctor"]));
}

#[test]
fn config_tells_where_each_value_came_from() {
    let project =
        Project::plain().variable("WAYPOST_RUN_RETRY_LIMIT", "2").variable("WAYPOST_ATTEMPT", "7");
    project.write("waypost.toml", "[run]\nmode = \"ralph\"\n");
    project.write(
        "../home/.config/waypost/config.toml",
        "[workflow]\nmax_iterations = 5\n[run]\nslack_webhook_url = \"https://x/y\"\n\
         [notify]\nwebhooks = [{ url = \"https://x/y\", secret = \"env:NAME\" }]\n",
    );
    assert_snapshot!("config", project.transcript(&["config show"]));
    let values = project.json("config show");
    let of = |key: &str| values.as_array().unwrap().iter().find(|each| each["key"] == key).cloned();
    let origin = "environment WAYPOST_RUN_RETRY_LIMIT";
    let want = json!({ "v": 1, "type": "setting", "key": "run.retry_limit", "value": 2, "origin": origin });
    assert_eq!(of("run.retry_limit"), Some(want));
}

#[test]
fn completions_are_printed_for_every_shell() {
    let project = Project::plain();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = project.must(&format!("completions {shell}")).stdout;
        let asks = script.contains("waypost") && script.contains("WAYPOST_COMPLETE");
        assert!(asks, "{shell}:\n{script}");
    }
    assert_snapshot!("completions_unknown", project.transcript(&["completions tcsh"]));
}

#[test]
fn demo_leaves_a_project_to_look_at() {
    let project = Project::plain();
    let told = project.must("demo tour");
    for said in [
        "T0.4 is tried again",
        "T1.1 is tried again",
        "T1.4 waits until",
        "question: T3.2: sim asks",
        "it conflicts with what was joined meanwhile, in src/limits.txt",
        "phase 3 done, merged as",
    ] {
        assert!(told.stderr.contains(said), "{said}: {told}");
    }
    let folder = project.path("tour");
    let command = format!("$ {BINARY} -C {} inbox answer q1 Exact", folder.display());
    for said in ["refused: IMPLEMENT needs", "still closed", &command, "tokens, $"] {
        assert!(told.stdout.contains(said), "{said}: {told}");
    }
    let (announced, done) = told.stdout.split_once("1. Twenty tasks").unwrap();
    let (_, survived) = done.split_once("how it was survived").unwrap();
    for fault in ["process dies", "usage limit", "the same file", "verify command", "asks a person"]
    {
        assert!(announced.contains(fault) && survived.contains(fault), "{fault}: {told}");
    }
    assert_eq!(survived.matches("(events ").count(), 5, "{told}");
    let tour = project.path("tour");
    let status = project.run_in(&tour, "run status --json").stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["counts"]["completed"], 20, "{status}");
    assert_eq!(status["counts"]["failed"], 0, "{status}");
    let log = project.run_in(&tour, "--json log -n 100000").stdout;
    let log = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let completed: Vec<Value> = log.filter(|entry| entry["kind"] == "task_completed").collect();
    // All but the one that was ticked.
    let is_checked = |entry: &&Value| entry["body"]["evidence"]["kind"] == "check";
    assert_eq!(completed.iter().filter(is_checked).count(), 19, "{completed:#?}");
    let git = |line: &str| project.git_in(&tour, line);
    assert_eq!(git("log --first-parent --merges --format=%s").lines().count(), 4);
    assert_eq!(git("show HEAD:TASKS.md").matches("[x]").count(), 20);
    let limits = git("show HEAD:src/limits.txt");
    assert!(limits.contains("bursts") && limits.contains("per endpoint"), "{limits}");
    assert_eq!(git("worktree list").lines().count(), 1);
    assert_eq!(git("status --porcelain"), "?? review.md\n", "nothing of ours is dirt");
    let looked_over = project.run_in(&tour, "doctor");
    assert_eq!(looked_over.code, 0, "{looked_over}");
    assert_eq!(project.run("demo tour").code, 2, "what is there is left alone");
}

#[test]
fn demo_asks_a_person_before_it_begins() {
    if no_person_is_here() {
        return;
    }
    let project = Project::plain();
    let told = project.typing("demo tour", "n\n");
    assert_eq!(told.code, 0, "{told}");
    assert!(told.stdout.contains("the agent's process dies"), "announced first: {told}");
    assert!(told.stderr.contains("Begin?") && told.stderr.contains("nothing was done"), "{told}");
    assert!(!project.path("tour").exists());
    let told = project.typing("demo tour", "y\n2\n");
    assert_eq!(told.code, 0, "{told}");
    assert!(told.stdout.contains(" inbox answer q1 Vague\n"), "{told}");
    assert_eq!(project.read("tour/src/T3.2.txt"), "limits, Vague\n");
    let told = project.typing("demo --yes other", "");
    assert!(!told.stderr.contains("Begin?") && !told.stderr.contains("Your answer"), "{told}");
    assert_eq!(project.read("other/src/T3.2.txt"), "limits, Exact\n");
}

#[test]
fn a_person_is_shown_the_choices_of_a_question() {
    if no_person_is_here() {
        return;
    }
    let project = Project::implementing();
    project.must("--quiet develop checkpoint escalate cp-1");
    let later = project.typing("inbox answer q1", "\n");
    assert_eq!(later.code, 0, "{later}");
    assert!(later.stderr.contains("\n  1 ") && later.stderr.contains("\n  2 "), "{later}");
    assert!(later.stderr.contains("q1 was not answered"), "{later}");
    assert_eq!(project.json("inbox").as_array().unwrap().len(), 1);
    let choices = project.json("inbox show q1")["choices"].clone();
    let answered = project.typing("--json inbox answer q1", "1\n");
    let told: Value = serde_json::from_str(&answered.stdout).unwrap();
    assert_eq!(told["text"], choices[0], "{answered}");
    assert_eq!(project.json("inbox"), Value::Array(vec![]));
}

#[test]
fn a_rehearsal_leaves_the_project_alone() {
    let project = Project::git();
    project.write(
        "TASKS.md",
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Dangerous\n  - run: `touch harm`\n\
         - [ ] T1.2: Costly\n  - agent: claude\n  - verify: `touch harm`\n",
    );
    let scratch = project.base().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let project = project.variable("TMPDIR", scratch.to_str().unwrap());
    let ran = project.run("run --rehearse");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("T1.2 completed"), "{ran}");
    assert!(!project.path("harm").exists());
    assert!(!project.journal().exists(), "the project has no journal from that");
    let ran = project.run("run --rehearse --faults 100 --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
}

#[test]
fn the_reference_tells_of_every_command() {
    let project = Project::plain();
    assert_snapshot!("reference", project.must("reference").stdout);
    assert_snapshot!("help", project.transcript(&["--help", "run fail --help", "--version"]));
}
