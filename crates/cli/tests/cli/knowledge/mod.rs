//! `waypost knowledge`: written down, replaced, learned, and given to agents. `docs/knowledge.md` tells the same.

use crate::contracts::{EXAMPLES, put};
use crate::harness::Project;
use serde_json::{Value, json};
use std::fs;

/// The file of the knowledge.
fn file(project: &Project) -> String {
    project.json("knowledge show")["path"].as_str().unwrap().to_owned()
}

fn known(project: &Project) -> Value {
    project.json("knowledge show")["knowledge"].clone()
}

#[test]
fn entries_are_written_down_with_ids_that_are_not_given_twice() {
    let project = Project::git();
    assert!(project.must("knowledge show").stderr.contains("nothing is known here yet"));
    project.must("knowledge add pattern naming.methods camelCase");
    project.must("knowledge add pattern limits '{\"lines\": 70}'");
    project.must("knowledge add decision Store SQLite --rationale 'one file'");
    project.must("knowledge add pitfall 'no Lombok' --reason policy --learned-from T3");
    project.must("knowledge add pitfall 'public methods only'");
    project.must("knowledge remove P2");
    let said = project.json("knowledge add pitfall 'no globals'");
    assert_eq!((said["entry"].as_str(), said["replaced"].as_bool()), (Some("P3"), Some(false)));
    let known = known(&project);
    assert_eq!(known["patterns"]["naming"]["methods"], "camelCase");
    assert_eq!(known["patterns"]["limits"]["lines"], 70);
    assert_eq!(known["decisions"][0]["id"], "D1");
    assert_eq!(known["pitfalls"][0]["learned_from"], "T3");
    assert_eq!(known["pitfalls"][1]["id"], "P3");
    let ran = project.run(&format!("validate {}", file(&project)));
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.run("knowledge remove D9").code, 2);
    project.must("knowledge remove limits");
    assert!(self::known(&project)["patterns"].get("limits").is_none());
}

#[test]
fn a_decision_about_the_same_topic_replaces_the_older_one_which_stays_in_the_journal() {
    let project = Project::git();
    project.must("knowledge add decision Login JWT --rationale 'no state'");
    let said = project.json("knowledge add decision Login Cookies --rationale 'simpler'");
    assert_eq!((said["entry"].as_str(), said["replaced"].as_bool()), (Some("D1"), Some(true)));
    let known = known(&project);
    assert_eq!(known["decisions"].as_array().unwrap().len(), 1);
    assert_eq!(known["decisions"][0]["decision"], "Cookies");
    let decided: Vec<Value> =
        project.log().into_iter().filter(|it| it["kind"] == "decided").collect();
    assert_eq!(decided.len(), 2);
    assert_eq!(decided[1]["body"]["before"]["decision"], "JWT", "{decided:?}");
    // Said again, nothing is new.
    project.must("knowledge add decision Login Cookies --rationale 'simpler'");
    assert_eq!(project.log().iter().filter(|it| it["kind"] == "decided").count(), 2);
}

#[test]
fn what_an_entry_stands_on_is_told_to_agents_and_whether_it_has_changed() {
    let project = Project::git();
    project.write("src/login.rs", "a");
    project.write("src/cart.rs", "a");
    project.must("knowledge add decision Login JWT --ref src/login.rs");
    project.must("knowledge add pitfall 'prices are cents' --file src/cart.rs");
    project.must("knowledge add pattern testing 'cargo nextest'");
    let context = |files: &str| {
        let told = project.json(&format!("context --for worker --budget 2000 {files}"));
        told["text"].as_str().unwrap().to_owned()
    };
    let told = context("--file src/login.rs");
    assert!(told.contains("Login: JWT. (D1; stands on src/login.rs)"), "{told}");
    assert!(told.contains("testing: cargo nextest"), "{told}");
    // What is about other files is left out first.
    let tight = project.json("context --for worker --budget 20 --file src/cart.rs");
    let tight = tight["text"].as_str().unwrap();
    assert!(tight.contains("prices are cents") && !tight.contains("JWT"), "{tight}");
    project.write("src/login.rs", "b");
    let told = context("--file src/login.rs");
    assert!(told.contains("changed since: src/login.rs"), "{told}");
    let shown = project.must("knowledge show").stdout;
    assert!(shown.contains("changed since: src/login.rs"), "{shown}");
    project.must("knowledge add decision Login JWT --ref src/login.rs");
    assert!(!project.must("knowledge show").stdout.contains("changed since"));
}

#[test]
fn it_learns_from_finished_work_once() {
    let project = Project::git();
    project.write("src/main/java/com/example/controller/AController.java", "class A {}");
    assert_eq!(project.json("knowledge learn"), Value::Array(Vec::new()));
    for (path, text) in EXAMPLES {
        put(&project, crate::contracts::kind_of(path), text);
    }
    let result = EXAMPLES[5].1;
    let failed = result
        .replace("result: \"pass\"", "result: \"fail\"")
        .replace("passed: 2", "passed: 1")
        .replace("failed: 0", "failed: 1")
        .replace("action: \"complete\"", "action: \"retry_implementation\"")
        .replace(
            "failed_tests: []",
            "failed_tests: [{id: TC-2, reason: \"null for unknown ids\", category: implementation_error}]",
        );
    put(&project, "test-result", &failed);
    put(&project, "test-result", result);
    // Only one of three subtasks of the task is done: its design is not learned from yet.
    let learned = project.json("knowledge learn");
    let texts: Vec<&str> =
        learned.as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts,
        ["존재하지_않는_ID로_조회_실패: null for unknown ids", "tests are run by `./gradlew test`"]
    );
    for subtask in ["T1-S1", "T1-S3"] {
        put(&project, "test-result", &result.replace("T1-S2", subtask));
    }
    let learned = project.json("knowledge learn");
    assert_eq!(learned.as_array().unwrap().len(), 2, "{learned}");
    let known = known(&project);
    assert_eq!(known["decisions"][0]["topic"], "a API 구현: INV-1");
    assert_eq!(
        known["decisions"][0]["refs"][0],
        "src/main/java/com/example/controller/AController.java"
    );
    assert_eq!(known["pitfalls"][0]["learned_from"], "R1:T1-S2");
    assert_eq!(project.json("knowledge learn"), Value::Array(Vec::new()));
}

/// A plan of the request of the examples, in which T1 has four subtasks.
const PLAN: &str = "version: 1\nrequest_id: R1\ncreated_at: \"2026-11-17T10:00:00Z\"\ncreated_by: planner\n\
    original_request: x\nobjective: x\nassumptions: []\ntask_order: [T1]\ntasks:\n  - id: T1\n    name: a\n    \
    subtasks: [{id: T1-S1, name: a}, {id: T1-S2, name: b}, {id: T1-S3, name: c}, {id: T1-S4, name: d}]\n";

#[test]
fn a_task_with_a_planned_subtask_that_has_not_begun_is_not_finished() {
    let project = Project::git();
    for (path, text) in EXAMPLES {
        put(&project, crate::contracts::kind_of(path), text);
    }
    put(&project, "task-breakdown", PLAN);
    for subtask in ["T1-S1", "T1-S2", "T1-S3"] {
        put(&project, "test-result", &EXAMPLES[5].1.replace("T1-S2", subtask));
    }
    let learned = project.json("knowledge learn").to_string();
    assert!(!learned.contains("INV-1") && known(&project)["decisions"][0].is_null(), "{learned}");
    put(&project, "test-result", &EXAMPLES[5].1.replace("T1-S2", "T1-S4"));
    project.must("knowledge learn");
    assert_eq!(known(&project)["decisions"][0]["topic"], "a API 구현: INV-1");
}

#[test]
fn a_file_that_is_not_valid_is_told_and_left_alone() {
    let project = Project::git();
    project.must("knowledge add pattern testing JUnit");
    let path = file(&project);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("patterns:", "pattern:")).unwrap();
    for line in ["knowledge show", "knowledge add pattern a b", "knowledge learn"] {
        let ran = project.run(line);
        // Nothing is learned where there are no contracts.
        let want = if line == "knowledge learn" { 0 } else { 2 };
        assert_eq!(ran.code, want, "{line}\n{ran}");
    }
    assert!(fs::read_to_string(&path).unwrap().contains("pattern:"));
    // An agent is given its brief all the same.
    let ran = project.run("context --for worker");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("the knowledge is not told"), "{ran}");
}

#[test]
fn the_example_of_the_format_is_read_and_searched() {
    let project = Project::git();
    let path = file(&project);
    let text = include_str!("../../../../store/tests/fixtures/seeds/004-9-knowledge.yaml");
    fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let shown = project.must("knowledge show").stdout;
    assert!(shown.contains("D1 인증 방식: JWT + Refresh Token"), "{shown}");
    let found = project.json("memory search JWT --kind decision");
    assert_eq!(found[0]["reference"], "D1");
    project.must("knowledge add decision 로그 JSON");
    assert_eq!(known(&project)["decisions"][1]["id"], "D2");
}

/// What is known about `src/cart.sh`, and more than a brief has room for about another file.
fn with_knowledge(project: &Project) {
    project.write("src/cart.sh", "count() { echo 0; }\n");
    project.write("src/other.sh", "other\n");
    project.git_command("add -A");
    project.git_command("commit -q -m files");
    for number in 0..25 {
        let text = format!("pitfall {number} {}", "about another file ".repeat(12));
        project.must(&format!("knowledge add pitfall '{text}' --file src/other.sh"));
    }
    project.must("knowledge add pitfall 'carts may be empty' --file src/cart.sh");
    project.must("knowledge add decision Rounding 'half to even' --ref src/cart.sh");
    // It has changed since, and that is said.
    project.write("src/cart.sh", "count() { echo 1; }\n");
    project.git_command("commit -q -am changed");
}

/// The brief of an attempt tells first what its own file is about.
#[track_caller]
fn is_told(project: &Project, log: &str) {
    let path = project.journal().join(log);
    let brief = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let (_, known) = brief.split_once("# What is known").unwrap_or_else(|| panic!("{brief}"));
    for words in ["carts may be empty", "half to even", "src/cart.sh", "changed since"] {
        assert!(known.contains(words), "{words} is not in {known}");
    }
    let of_another = known.find("pitfall 0").unwrap_or(usize::MAX);
    assert!(known.find("carts may be empty").unwrap() < of_another, "{known}");
}

#[test]
fn a_task_of_a_run_is_told_what_is_known_about_its_files() {
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Count\n  - files: src/cart.sh\n  - agent: alice\n";
    let done =
        json!({"version": 1, "default": [{"steps": [{"run": "true"}, {"done": "it counts"}]}]});
    let project = crate::agents::with(tasks, &done);
    with_knowledge(&project);
    project.must("run --no-budget");
    is_told(&project, "logs/T1.1/1.brief.log");
}

#[test]
fn a_review_is_told_what_is_known_about_what_was_changed() {
    let clean = json!([{"steps": [{"done": "```json\n{\"blocking\": 0, \"findings\": []}\n```"}]}]);
    let project = crate::review::reviewing("claude", &clean);
    with_knowledge(&project);
    project.write("src/cart.sh", "count() { echo 2; }\n");
    project.must("develop review");
    is_told(&project, "errands/main.review-review_clean_pass/1.brief.log");
}

#[test]
fn a_checkpoint_is_told_what_is_known_about_the_files_that_it_names() {
    let writes = json!({"steps": [{"write": {"file": "src/cart.sh", "text": "good\n"}}, {"done": "wrote it"}]});
    let project = crate::ralph::with_contract(
        &json!({"cp-1": [writes]}),
        "checkpoints:\n  - id: cp-1\n    description: it counts\n    interface: [\"src/cart.sh: count\"]\n    \
         tests: [\"tests/cart.sh\"]\n    validation:\n      command: \"grep good src/cart.sh\"\n    dependencies: []\n",
    );
    with_knowledge(&project);
    project.must("develop ralph");
    is_told(&project, "errands/main.ralph-cp-1/1.brief.log");
}

#[test]
fn a_task_of_the_server_is_told_what_is_known_about_the_files_that_it_names() {
    let mut shop = crate::shop::Shop::new(&json!({}));
    with_knowledge(&shop.project);
    let id = shop.new_task(
        "'Count' --type custom --description 'Make `count` in src/cart.sh count (see README).'",
    );
    let steps = crate::shop::steps(&[crate::shop::say("=== CUSTOM TASK COMPLETE ===")]);
    shop.script(&json!({format!("{id}.0"): [steps]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "completed");
    is_told(&shop.project, &format!("tasks/{id}/1.brief.log"));
    shop.end();
}

#[test]
fn why_and_log_know_what_is_known() {
    let project = Project::git();
    project.write("src/cart.sh", "count\n");
    project.must("knowledge add decision Store SQLite --rationale 'one file' --ref src/cart.sh");
    project.must("knowledge add pitfall 'carts may be empty'");
    let why = project.must("why D1").stdout;
    for words in
        ["D1 is known", "Store: SQLite (one file)", "event 1 decided", "stands on src/cart.sh"]
    {
        assert!(why.contains(words), "{words} is not in {why}");
    }
    project.write("src/cart.sh", "count more\n");
    let why = project.json("why D1");
    assert_eq!(
        (&why["status"], why["reasons"].as_array().unwrap().len()),
        (&"doubtful".into(), 3),
        "{why}"
    );
    assert!(project.must("why P1").stdout.contains("carts may be empty"));
    project.must("knowledge remove P1");
    let log = project.must("log P1").stdout;
    assert!(log.contains("warned") && log.contains("forgotten"), "{log}");
    assert!(!log.contains("decided"), "{log}");
    assert_eq!(project.run("why P1").code, 2, "it is not known any more");
}
