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
