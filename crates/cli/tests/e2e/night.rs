//! A night in small: Claude Code works through three tasks with two compactions. What it is told after each
//! is compared with what it needs to go on: the state, what was decided, what is open, what was answered.

use crate::harness::{Site, Work};
use crate::mcp_agents::call;
use crate::program::Agent;
use crate::talk::Talk;
use serde_json::{Value, json};

const TASKS: &str = "# Tasks: shop\n\n## Phase 1: Night\n\n\
                     - [ ] T1.1: Store the carts\n  - files: `cart.rs`\n\
                     - [ ] T1.2: Price the carts\n  - files: `price.rs`\n  - depends: T1.1\n\
                     - [ ] T1.3: Ship the carts\n  - files: `ship.rs`\n  - depends: T1.2\n";

/// What the model says of the conversation so far when it is compacted: nothing that would help.
const FIRST: &str = "SUMMARY-AFTER-ONE";
const SECOND: &str = "SUMMARY-AFTER-TWO";

/// Stands in the conversation only, so that a compaction is seen to have taken it away.
const FORGOTTEN: &str = "zebra crossing";

fn text(text: &str) -> Value {
    json!({"blocks": [{"text": text}]})
}

fn summary(word: &str) -> Value {
    text(&format!("<analysis>short</analysis><summary>{word}</summary>"))
}

/// The turns of a task: begun, worked on, something kept, done. Its beginning stands there twice: after a
/// compaction the program may have kept an answer of the model's in front, which counts as a turn.
fn task(site: &Site, id: &str, file: &str, note: Value) -> Vec<Value> {
    let begin = call("task_start", json!({"id": id}));
    vec![
        begin.clone(),
        begin,
        Agent::Claude.write(site, file, "fn it_works() {}"),
        call("memory_note", note),
        call("task_done", json!({"id": id})),
    ]
}

fn script(site: &Site) -> Value {
    let decision = json!({"text": "Carts are kept in SQLite", "kind": "decision",
                          "files": ["cart.rs"]});
    let mut first = task(site, "T1.1", "cart.rs", decision);
    first.remove(0);
    let says = json!({"text": format!("I begin, and mind the {FORGOTTEN}.")});
    first[0]["blocks"].as_array_mut().unwrap().insert(0, says);
    let question = json!({"question": "Which currency do we charge in?",
                          "choices": ["euro", "yen"], "wait_seconds": 0});
    // The program may leave its last answer out when it asks for a summary, so that is the same.
    let end = |word| [summary(word), summary(word), summary(word)];
    first.push(call("question_ask", question));
    first.extend(end(FIRST));
    let lesson = json!({"text": "Prices are whole cents, never floats", "kind": "lesson",
                        "files": ["price.rs"]});
    let mut second = task(site, "T1.2", "price.rs", lesson);
    second.extend(end(SECOND));
    let note =
        json!({"text": "Parcels go out at noon", "kind": "exploration", "files": ["ship.rs"]});
    let mut third = task(site, "T1.3", "ship.rs", note);
    third.push(text("All is done."));
    json!({"version": 1, "turns": first, "conversations": [
        {"marker": SECOND, "turns": third}, {"marker": FIRST, "turns": second},
    ]})
}

/// All that the model was shown first after a compaction.
#[track_caller]
fn shown_after(work: &Work, marker: &str) -> String {
    let request = work.requests.iter().find(|request| request["conversation"] == marker);
    request.unwrap_or_else(|| panic!("nothing after {marker}\n{}", work.ran))["body"].to_string()
}

#[track_caller]
fn check_told(shown: &str, needed: &[(&str, &str)], gone: &[&str]) {
    for (what, words) in needed {
        assert!(shown.contains(words), "it needs {what} and is not told `{words}`: {shown}");
    }
    for words in gone {
        assert!(!shown.contains(words), "it is told `{words}`: {shown}");
    }
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_told_what_it_needs_through_a_night_with_two_compactions() {
    let Some(site) = Site::bare(Agent::Claude) else { return };
    site.write("TASKS.md", TASKS);
    site.git("add .");
    site.git("commit -q -m tasks");
    site.waypost("init --agent claude");
    let mut talk = Talk::begin(&site, &script(&site));
    for prompt in ["work through the tasks", "/compact", "go on"] {
        talk.say(prompt);
    }
    // A person looks in between the second and the third task.
    let inbox: Value = serde_json::from_str(&site.waypost("--json inbox list").stdout).unwrap();
    site.as_person(&format!("inbox answer {} euro", inbox[0]["id"].as_str().unwrap()));
    for prompt in ["/compact", "go on"] {
        talk.say(prompt);
    }
    let work = talk.end();
    assert_eq!(work.ran.stdout.matches("\"compact_boundary\"").count(), 2, "{}", work.ran);

    let after_first = shown_after(&work, FIRST);
    check_told(
        &after_first,
        &[
            ("the state of the run", "1 of 3"),
            ("what was decided", "Carts are kept in SQLite"),
            ("what is open", "Which currency do we charge in?"),
        ],
        &[FORGOTTEN, "answer: euro"],
    );
    let after_second = shown_after(&work, SECOND);
    check_told(
        &after_second,
        &[
            ("the state of the run", "2 of 3"),
            ("what was decided", "Carts are kept in SQLite"),
            ("what was learnt", "Prices are whole cents, never floats"),
            ("what was asked", "Which currency do we charge in?"),
            ("what was answered", "euro"),
        ],
        &[FORGOTTEN, FIRST, "1 of 3"],
    );
    let run: Value = serde_json::from_str(&site.waypost("--json run status").stdout).unwrap();
    assert_eq!(run["counts"]["completed"], 3, "{run}\n{}", work.ran);
    // What the night leaves is one entry of the history.
    let history = site.waypost("--json memory history").stdout;
    let history: Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history.as_array().map(Vec::len), Some(1), "{history}");
    assert_eq!(history[0]["result"], "success", "{history}");
}
