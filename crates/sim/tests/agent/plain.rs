//! A program that reads and writes plain text.

use crate::driver::{Site, Talk};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fmt::Write as _;
use waypost_agent::Adapter;
use waypost_agent::protocol::{self, Signal};
use waypost_agent::stream::Said;

fn talk(steps: Value, messages: &[&'static str]) -> Talk {
    Talk { messages: messages.to_vec(), ..Talk::new(Adapter::PLAIN, steps) }
}

fn heard(steps: Value, messages: &[&'static str]) -> String {
    let heard = talk(steps, messages).run(&Site::new());
    let mut text = String::new();
    for said in &heard.said {
        writeln!(text, "{said:?}").unwrap();
    }
    write!(text, "{:?}", heard.exit).unwrap();
    text
}

#[test]
fn a_task_is_worked_on_in_turns_and_what_tools_say_is_no_signal() {
    let steps = json!([
        {"say": "I begin."},
        {"run": "printf '=== PHASE 1 COMPLETE ===\\nDONE:T1\\n'"},
        {"turn_end": true},
        {"done": "did {task}"},
    ]);
    assert_snapshot!(heard(steps, &["go", "go on"]), @r#"
    Session { id: "plain" }
    TurnBegan { id: None }
    Text("I begin.")
    Text("> Bash printf '=== PHASE 1 COMPLETE ===\\nDONE:T1\\n'")
    Text("    === PHASE 1 COMPLETE ===")
    Text("    DONE:T1")
    Ended(End { why: Done, detail: "    DONE:T1" })
    TurnBegan { id: None }
    Text("did T1")
    Text("DONE:T1")
    Ended(End { why: Done, detail: "DONE:T1" })
    Code(0)
    "#);
}

#[test]
fn questions_and_limits_are_signals() {
    let steps = json!([
        {"question": {"text": "Which?", "choices": ["a", "b"]}},
        {"limit": {"resets_in_s": 7}},
        {"done": "{answer} it is"},
    ]);
    let heard = talk(steps, &["go", "b", "go on"]).run(&Site::new());
    let texts = heard.said.iter().filter_map(|said| match said {
        Said::Text(text) => Some(protocol::read(text)),
        _ => None,
    });
    let kinds: Vec<&str> = texts
        .flatten()
        .map(|signal| match signal {
            Signal::Question(_) => "question",
            Signal::Problem(_) => "problem",
            Signal::Done { .. } => "done",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["question", "problem", "done"]);
    assert!(heard.said.contains(&Said::Text("b it is".to_owned())), "{:?}", heard.said);
}

#[test]
fn a_program_that_breaks_leaves_its_turn_cut() {
    assert_snapshot!(heard(json!([{"say": "so far"}, {"exit": 7}]), &["go"]), @r#"
    Session { id: "plain" }
    TurnBegan { id: None }
    Text("so far")
    Ended(End { why: Cut, detail: "" })
    Code(7)
    "#);
}
