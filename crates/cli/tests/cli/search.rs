//! `waypost memory search` and `waypost context`: what was recorded is found again.

use crate::harness::Project;
use serde_json::{Value, json};
use std::fs;

fn titles(found: &Value) -> Vec<String> {
    let title = |it: &Value| it["title"].as_str().unwrap().to_owned();
    found.as_array().unwrap().iter().map(title).collect()
}

const HISTORY: &str = r#"{"version": "1.0", "tasks": [{
  "id": "task-2026-01-16-001", "name": "결제 취소 구현", "result": "success",
  "completed_at": "2026-01-16T10:00:00Z", "summary": "결제를 취소하면 재고가 돌아온다",
  "artifacts": [{"type": "file", "path": "src/refund.rs", "description": "환불"}],
  "lessons": ["재고는 트랜잭션 안에서 되돌린다"]}]}"#;

#[test]
fn everything_that_was_recorded_is_found() {
    let project = Project::running();
    project.write(".claude/memory/task-history.json", HISTORY);
    project.write(
        ".claude/memory/shared-context.json",
        r#"{"shared_data": {"broker": "we chose RabbitMQ"}}"#,
    );
    project.write(
        ".claude/orchestrator/knowledge/a1/knowledge.yaml",
        "version: 1\ndecisions:\n  - id: D1\n    topic: データベース移行\n    decision: 夜に行う\n\
         pitfalls:\n  - id: P1\n    description: キャッシュが消えない\n",
    );
    project.write(
        ".claude/orchestrator/sessions/a1/contracts/R1/explored.yaml",
        "notes: parseConfigFile\n",
    );
    let table = [
        ("결제 취소 환불", "결제 취소 구현", "history"),
        ("재고 트랜잭션", "결제 취소 구현", "lesson"),
        ("rabbitmq", "shared-context.json", "context"),
        ("移行", "データベース移行", "decision"),
        ("ｷｬｯｼｭ", "キャッシュが消えない", "lesson"),
        ("parse_config_file", "explored.yaml", "contract"),
        ("no disk", "task failed T1.1", "transition"),
    ];
    for (text, title, kind) in table {
        let found = project.json(&format!("memory search '{text}'"));
        assert_eq!(
            (&found[0]["title"], &found[0]["kind"]),
            (&title.into(), &kind.into()),
            "{found}"
        );
    }
    // A task's lessons carry its name: both are found by it.
    let found = project.json("memory search '결제 취소'");
    let mut kinds: Vec<&str> =
        found.as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["history", "lesson"], "{found}");
    let by_file = project.json("memory search --file src/refund.rs 결제");
    assert_eq!(titles(&by_file), ["결제 취소 구현", "결제 취소 구현"], "{by_file}");
    let by_kind = project.json("memory search --kind decision --since 2020-01-01 移行");
    assert_eq!(titles(&by_kind), ["データベース移行"]);
    assert_eq!(project.run("memory search --kind nonsense x").code, 2);
    assert_eq!(project.run("memory search --since yesterday x").code, 2);
}

#[test]
fn what_changes_is_found_again_and_the_index_can_go_at_any_time() {
    let project = Project::running();
    project.write(".claude/memory/task-history.json", HISTORY);
    assert_eq!(project.json("memory search 결제").as_array().unwrap().len(), 2);
    project.write(".claude/memory/task-history.json", &HISTORY.replace("결제", "배송"));
    assert_eq!(project.json("memory search 결제"), Value::Array(Vec::new()));
    let found = project.json("memory search 결제 취소");
    assert_eq!(titles(&found), ["배송 취소 구현", "배송 취소 구현"], "취소 is left");
    assert_eq!(project.json("memory search 배송 환불")[0]["kind"], "history");
    let index = project.journal().join("search.db");
    for damage in [&b"no database"[..], b""] {
        fs::write(&index, damage).unwrap();
        assert_eq!(project.json("memory search 배송 환불")[0]["kind"], "history");
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(project.json("memory search 'no disk'")[0]["title"], "task failed T1.1");
    fs::remove_file(project.path(".claude/memory/task-history.json")).unwrap();
    assert_eq!(project.json("memory search 배송"), Value::Array(Vec::new()));
}

#[test]
fn a_task_that_has_ended_is_found_as_the_memory_keeps_it() {
    let project = Project::git();
    for line in [
        "memory init",
        "memory task new 'Refunds'",
        "memory step add Code",
        "memory task start",
        "memory step start 1",
        "memory step complete 1",
        "memory task complete --summary 'Stock returns' --lesson 'Use one transaction'",
    ] {
        project.must(line);
    }
    for (text, kind) in [("stock returns", "history"), ("one transaction", "lesson")] {
        let found = project.json(&format!("memory search --kind {kind} '{text}'"));
        assert_eq!(titles(&found), ["Refunds"], "{found}");
        assert_eq!(found[0]["source"], ".claude/memory/task-history.json", "{found}");
    }
}

#[test]
fn secrets_are_not_indexed() {
    let project = Project::git().variable("SHOP_API_KEY", "canary-4711-secret");
    let token = format!("ghp_{}", "a".repeat(36));
    project.write(
        ".claude/memory/shared-context.json",
        &format!(r#"{{"shared_data": {{"login": "canary-4711-secret", "git": "{token}"}}}}"#),
    );
    project.must("develop start 'Use canary-4711-secret'");
    let logs = project.journal().join("logs/T1.1");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("1.log"), format!("login with canary-4711-secret and {token}\n")).unwrap();
    let found = project.json("memory search --kind transcript login");
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    let bytes = fs::read(project.journal().join("search.db")).unwrap();
    let wal = fs::read(project.journal().join("search.db-wal")).unwrap_or_default();
    let text = String::from_utf8_lossy(&[bytes, wal].concat()).into_owned();
    assert!(!text.contains("canary-4711") && !text.contains(&token));
}

#[test]
fn a_project_without_a_journal_is_searched_and_left_alone() {
    let project = Project::git();
    project.write(".claude/memory/task-history.json", HISTORY);
    assert_eq!(project.json("memory search 재고")[0]["kind"], "lesson");
    assert!(!project.journal().exists());
}

#[test]
fn an_agent_is_told_what_it_needs_within_its_budget() {
    let project = Project::running();
    project.write(".claude/memory/task-history.json", HISTORY);
    project.write("src/db.rs", "");
    project.must("knowledge add decision storage SQLite --ref src/db.rs");
    project.must("knowledge add decision colours blue");
    let told = project.json("context --for worker --task T1.1 --file src/db.rs");
    let text = told["text"].as_str().unwrap();
    for part in
        ["Task T1.1: Put things into the cart (failed)", "no disk", "storage: SQLite", "colours"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert_eq!(told, project.json("context --for worker --task T1.1 --file src/db.rs"));
    let cut = project.json("context --for worker --task T1.1 --file src/db.rs --budget 70");
    let text = cut["text"].as_str().unwrap();
    assert!(
        cut["tokens"].as_u64().unwrap() <= 70 && cut["left_out"].as_u64().unwrap() > 0,
        "{cut}"
    );
    assert!(
        text.contains("T1.1") && text.contains("storage") && !text.contains("colours"),
        "the file's own come first:\n{text}"
    );
}

#[test]
fn a_note_that_has_faded_comes_behind_one_that_holds_and_says_why() {
    let project = Project::git();
    for name in ["cart.rs", "stock.rs"] {
        project.write(name, "fn one() {}\n");
    }
    project.git_command("add .");
    project.git_command("commit -q -m first");
    project.must("memory note 'Totals are kept as integers' --kind decision --file stock.rs");
    project.must("memory note 'Totals are kept as integers' --kind decision --file cart.rs");
    let order = |project: &Project| -> Vec<(String, Value)> {
        let found = project.json("memory search 'totals integers' --kind decision");
        let found = found.as_array().unwrap().iter();
        found.map(|it| (it["title"].as_str().unwrap().to_owned(), it["changed"].clone())).collect()
    };
    let fresh = [("noted n2".to_owned(), json!([])), ("noted n1".to_owned(), json!([]))];
    assert_eq!(order(&project), fresh, "the newer first");
    project.write("cart.rs", "fn two() {}\n");
    let faded = [("noted n1".to_owned(), json!([])), ("noted n2".to_owned(), json!(["cart.rs"]))];
    assert_eq!(order(&project), faded);
    let told = project.must("memory search 'totals integers'").stdout;
    assert!(told.contains("changed since: cart.rs"), "{told}");
    let context = project.json("context --for worker");
    let text = context["text"].as_str().unwrap();
    assert_eq!(text.matches("changed since: cart.rs").count(), 1, "{text}");
    project.write("cart.rs", "fn one() {}\n");
    assert_eq!(order(&project), fresh, "it is about what is there again");

    // A commit that is no part of what is checked out any more.
    project.git_command("commit -q --allow-empty -m second");
    project.must("memory note 'Totals were integers in the second' --kind decision");
    project.git_command("reset -q --hard HEAD~1");
    let found = project.json("memory search 'totals second' --kind decision");
    let gone = found[0]["changed"][0].as_str().unwrap_or_default().to_owned();
    assert!(gone.starts_with("commit "), "{found}");
}

#[test]
fn all_work_trees_know_one_memory() {
    let project = Project::git();
    project.write("a.txt", "a\n");
    project.git_command("add a.txt");
    project.git_command("commit -q -m a");
    project.must("memory init");
    project.must("memory task new 'sell apples'");
    project.must("memory context set shared_data.broker '\"we chose RabbitMQ\"'");
    project.git_command("worktree add -q ../side");
    let side = project.base().join("side");
    for folder in [&side, &project.path("")] {
        let found = project.run_in(folder, "--json memory search rabbitmq");
        assert!(found.stdout.contains("shared-context.json"), "{found}");
        let told = project.run_in(folder, "context --for worker").stdout;
        assert!(told.contains("RabbitMQ") && told.contains("sell apples"), "{told}");
    }
    // What the journal knows is told whatever becomes of its file.
    fs::remove_file(project.path(".claude/memory/task-state.json")).unwrap();
    let told = project.must("context --for worker").stdout;
    assert!(told.contains("sell apples"), "{told}");
}

#[test]
fn what_agents_said_is_found_wherever_they_were_at_work() {
    let project = Project::running();
    let said =
        [("logs/T1.1", "walnut"), ("errands/review", "hazelnut"), ("tasks/task_abc", "chestnut")];
    for (folder, word) in said {
        let folder = project.journal().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("1.log"), format!("it was the {word}\n")).unwrap();
        fs::write(folder.join("1.brief.log"), format!("look for the {word}\n")).unwrap();
    }
    for (folder, word) in said {
        let found = project.json(&format!("memory search --kind transcript {word}"));
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), 1, "{word}: {found:?}");
        assert_eq!(found[0]["reference"], format!("{folder}/1.log"));
    }
}

#[test]
fn a_history_that_no_file_shows_is_found() {
    let project = Project::git();
    project.must("session start");
    project.must("session request 'weigh the apples'");
    project.must("session stop");
    assert!(!project.path(".claude/memory").exists());
    let found = project.json("memory search --kind history apples");
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    // When files show it, they are read instead, and it is there once.
    project.must("memory init");
    let found = project.json("memory search --kind history apples");
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
}
