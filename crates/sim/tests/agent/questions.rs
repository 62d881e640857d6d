//! What an agent asks: permissions and questions, and what becomes of every answer.

use crate::driver::{Act, Site, Talk, all, of};
use insta::assert_snapshot;
use serde_json::{Value, json};
use waypost_agent::Adapter;
use waypost_agent::answer::Answer;
use waypost_agent::launch::{Access, Prompts};
use waypost_agent::protocol::{self, Question, QuestionKind, Signal};
use waypost_agent::stream::Said;

/// Those that can ask while they work.
const ASKING: [Adapter; 3] = [Adapter::CLAUDE, Adapter::CODEX, Adapter::ACP];

fn push(more: &Value) -> Value {
    let mut permission = json!({"tool": "Bash", "input": "git push"});
    permission.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    json!([{"permission": permission}, {"done": "pushed"}])
}

fn deny() -> Answer {
    Answer::Deny { reason: "not now".to_owned() }
}

#[test]
fn a_permission_that_is_given_lets_the_agent_go_on() {
    assert_snapshot!(
        "allowed",
        of(&ASKING, |adapter| Talk {
            answers: vec![Answer::Allow],
            ..Talk::new(adapter, push(&json!({})))
        })
    );
}

#[test]
fn a_permission_that_is_refused_fails_the_task() {
    assert_snapshot!(
        "denied",
        of(&ASKING, |adapter| Talk {
            answers: vec![deny()],
            ..Talk::new(adapter, push(&json!({})))
        })
    );
}

#[test]
fn an_agent_with_another_way_takes_it_when_it_is_refused() {
    let steps = push(
        &json!({"else": [{"say": "then not"}, {"permission": {"tool": "Edit", "input": "a.txt"}}]}),
    );
    assert_snapshot!(
        "otherwise",
        of(&ASKING, |adapter| Talk {
            answers: vec![deny(), Answer::Allow],
            ..Talk::new(adapter, steps.clone())
        })
    );
}

#[test]
fn nobody_is_asked_where_nobody_answers() {
    assert_snapshot!(
        "refused",
        of(&[Adapter::CLAUDE, Adapter::CODEX, Adapter::CODEX_EXEC], |adapter| Talk {
            prompts: Prompts::Refused,
            ..Talk::new(adapter, push(&json!({})))
        })
    );
    assert_snapshot!(
        "unfenced",
        of(&[Adapter::CLAUDE, Adapter::CODEX, Adapter::CODEX_EXEC], |adapter| Talk {
            access: Access::Unfenced,
            ..Talk::new(adapter, push(&json!({})))
        })
    );
}

#[test]
fn a_question_is_asked_by_a_tool_or_in_text_and_its_answer_is_used() {
    let steps = json!([{"question": {"text": "Which\ndatabase?", "choices": ["SQLite", "PostgreSQL"]}},
                       {"done": "{answer} it is"}]);
    let chosen = || Answer::Chosen(vec![vec!["SQLite".to_owned()]]);
    assert_snapshot!(
        "question",
        all(|adapter| Talk {
            answers: vec![chosen()],
            messages: if adapter == Adapter::ACP { vec!["go", "PostgreSQL"] } else { vec!["go"] },
            ..Talk::new(adapter, steps.clone())
        })
    );
}

#[test]
fn a_question_in_text_is_a_signal_and_the_resumed_conversation_has_its_answer() {
    let site = Site::new();
    let steps = json!([{"say": "hm"}, {"question": {"text": "Which\none?", "choices": ["a", "b"]}},
                       {"done": "{answer}"}]);
    let first = Talk::new(Adapter::CODEX_EXEC, steps.clone()).run(&site);
    let texts: Vec<&String> = first
        .said
        .iter()
        .filter_map(|said| match said {
            Said::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    let question = Question {
        kind: QuestionKind::Choice,
        question: "Which\none?".to_owned(),
        options: vec!["a".to_owned(), "b".to_owned()],
        default: None,
        is_required: true,
        cut: Vec::new(),
    };
    assert_eq!(protocol::read(texts[1]), [Signal::Question(question)]);
    let resume = Some("51300000-0000-4000-8000-000000000001".to_owned());
    let talk =
        Talk { resume, messages: vec!["b"], attempt: 2, ..Talk::new(Adapter::CODEX_EXEC, steps) };
    let second = talk.run(&site);
    assert!(second.said.contains(&Said::Text("b\nDONE:T1".to_owned())), "{second:?}");
}

#[test]
fn a_question_that_is_refused_has_no_answer() {
    let steps = json!([{"question": {"text": "Which?"}}, {"done": "[{answer}]"}]);
    assert_snapshot!(
        "unanswered",
        of(&[Adapter::CLAUDE, Adapter::CODEX], |adapter| Talk {
            answers: vec![deny()],
            ..Talk::new(adapter, steps.clone())
        })
    );
}

#[test]
fn a_turn_can_be_stopped_while_it_asks_and_the_next_message_goes_on() {
    assert_snapshot!(
        "stopped_asking",
        of(&ASKING, |adapter| Talk {
            messages: vec!["go", "go on"],
            ..Talk::new(adapter, push(&json!({})))
        })
    );
}

#[test]
fn who_hangs_up_on_a_question_has_refused_it_or_ended_the_program() {
    let steps = json!([{"permission": {"tool": "Bash", "input": "git push"}}, {"done": "pushed"}]);
    assert_snapshot!(
        "hung_up",
        of(&ASKING, |adapter| Talk {
            at_text: Some(("git push", Act::HangUp)),
            ..Talk::new(adapter, steps.clone())
        })
    );
}
