//! What a script of agents may say, where a bad one goes wrong, and which steps are chosen.

use super::*;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn parse(source: &Value) -> AgentScript {
    AgentScript::parse(source.to_string().as_bytes()).unwrap()
}

fn done(text: &str) -> Attempt {
    vec![Step::Done(text.to_owned())]
}

#[test]
fn every_kind_of_step_is_read() {
    let text = str::to_owned;
    let table = [
        (json!({"say": "a"}), Step::Say(text("a"))),
        (json!({"tool": "Read"}), Step::Tool { name: text("Read"), input: text("") }),
        (
            json!({"tool": "Read", "input": "a"}),
            Step::Tool { name: text("Read"), input: text("a") },
        ),
        (
            json!({"write": {"file": "a/b", "text": "c", "append": true}}),
            Step::Write { file: text("a/b"), text: text("c"), is_appended: true },
        ),
        (json!({"run": "true"}), Step::Run(text("true"))),
        (
            json!({"permission": {"tool": "Bash", "input": "ls", "else": [{"garbage": true}]}}),
            Step::Permission {
                tool: text("Bash"),
                input: text("ls"),
                otherwise: Some(vec![Step::Garbage]),
            },
        ),
        (
            json!({"question": {"text": "Which?", "choices": ["a", "b"]}}),
            Step::Question { text: text("Which?"), choices: vec![text("a"), text("b")] },
        ),
        (json!({"wait_ms": 5}), Step::Wait(Duration::from_millis(5))),
        (json!({"crash": 3}), Step::Crash(Crash::Code(3))),
        (json!({"crash": "SIGKILL"}), Step::Crash(Crash::Kill)),
        (json!({"hang": true}), Step::Hang { is_deaf: false }),
        (json!({"hang": "deaf"}), Step::Hang { is_deaf: true }),
        (json!({"flood": 9}), Step::Flood(9)),
        (json!({"garbage": true}), Step::Garbage),
        (json!({"limit": {"resets_in_s": 7}}), Step::Limit { resets_in: Duration::from_secs(7) }),
        (
            json!({"usage": {"input": 1, "output": 2, "cost_usd": 0.29}}),
            Step::Usage(Spent { input: 1, output: 2, cost_micros: 290_000 }),
        ),
        (json!({"turn_end": true}), Step::TurnEnd),
        (json!({"fail": "no"}), Step::Fail(text("no"))),
        (json!({"done": "yes"}), Step::Done(text("yes"))),
        (json!({"exit": 4}), Step::Exit(4)),
    ];
    for (raw, want) in table {
        let script = parse(&json!({"version": 1, "default": [{"steps": [raw]}]}));
        assert_eq!(script.steps("T1", 1), [want]);
    }
}

#[test]
fn the_steps_follow_from_task_and_attempt_and_the_last_attempt_is_repeated() {
    let attempt = |text: &str| json!({"steps": [{"done": text}]});
    let script = parse(&json!({"version": 1, "default": [attempt("a")],
                               "tasks": {"T1": [attempt("b"), attempt("c")]}}));
    let table = [("T1", 1, "b"), ("T1", 2, "c"), ("T1", 9, "c"), ("T1", 0, "b"), ("T2", 3, "a")];
    for (task, number, want) in table {
        assert_eq!(script.steps(task, number), done(want), "{task} {number}");
    }
    let script = parse(&json!({"version": 1}));
    assert_eq!(script, AgentScript::busy());
}

#[test]
fn faults_strike_the_same_attempts_every_time_and_none_after_the_third() {
    let script = |percent: u64, seed: u64| {
        parse(&json!({"version": 1, "default": [{"steps": [{"done": "a"}]}],
                      "faults": {"percent": percent, "seed": seed}}))
    };
    let struck = |script: &AgentScript, attempt| -> Vec<Step> {
        let steps = (0..1_000).flat_map(|task| script.steps(&format!("T{task}"), attempt));
        steps.filter(|step| *step != Step::Done("a".to_owned())).collect()
    };
    let some = script(20, 7);
    let faults = struck(&some, 1);
    assert_eq!(faults, struck(&some, 1));
    assert_ne!(faults, struck(&some, 2));
    assert_ne!(faults, struck(&script(20, 8), 1));
    let count = |want: fn(&Step) -> bool| faults.iter().filter(|step| want(step)).count();
    let kinds = [
        count(|step| *step == Step::Crash(Crash::Code(1))),
        count(|step| matches!(step, Step::Fail(_))),
        count(|step| *step == Step::Exit(0)),
    ];
    assert!(kinds.iter().all(|count| (40..100).contains(count)), "{kinds:?}");
    assert!((160..240).contains(&faults.len()), "{}", faults.len());
    assert_eq!(struck(&script(100, 7), 3).len(), 1_000);
    assert_eq!(struck(&script(100, 7), 4), []);
    assert_eq!(struck(&script(0, 7), 1), []);
}

#[test]
fn a_bad_script_is_refused_with_its_place_and_a_remedy() {
    let step = |step: &str| format!("{{\"version\": 1, \"default\": [{{\"steps\": [{step}]}}]}}");
    let sources = [
        "{".to_owned(),
        "{}".to_owned(),
        r#"{"version": 2, "default": [], "faults": {"percent": 101}}"#.to_owned(),
        r#"{"version": 1, "tasks": {"T1.2": [{"steps": []}, {"steps": [{"exit": 0}, {}]}]}}"#
            .to_owned(),
        "{\"version\": 1, \"default\": [\n  {\"step\": []}]}".to_owned(),
        step(r#"{"says": "a"}"#),
        step(r#"{"say": "a", "done": "b"}"#),
        step(r#"{"say": "a", "input": "b"}"#),
        step(r#"{"garbage": false}"#),
        step(r#"{"tool": ""}"#),
        step(r#"{"write": {"file": "../a", "text": ""}}"#),
        step(r#"{"write": {"file": "/etc/passwd", "text": ""}}"#),
        step(r#"{"write": {"file": "", "text": ""}}"#),
        step(r#"{"permission": {"tool": "", "input": "ls"}}"#),
        step(r#"{"permission": {"tool": "Bash", "else": [{"crash": -1}]}}"#),
        step(r#"{"question": {"text": " "}}"#),
        step(r#"{"question": {"text": "a", "choices": ["b"]}}"#),
        step(r#"{"wait_ms": 600001}"#),
        step(r#"{"crash": "SIGTERM"}"#),
        step(r#"{"hang": "blind"}"#),
        step(r#"{"flood": 2000000000}"#),
        step(r#"{"limit": {"resets_in_s": 99999999999}}"#),
        step(r#"{"usage": {"cost_usd": -1}}"#),
        step(r#"{"exit": 256}"#),
    ];
    let mut told = String::new();
    for source in sources {
        writeln!(told, "{source}").unwrap();
        for finding in AgentScript::parse(source.as_bytes()).unwrap_err() {
            let Diagnostic { code, place, path, message, expected, hint, .. } = finding;
            let place = place.map(|place| format!("{}:{}", place.line, place.column));
            let place = place.unwrap_or(path);
            writeln!(told, "=> {code} at {place}: {message}").unwrap();
            let remedies = [("expected", expected), ("hint", hint)];
            for (word, remedy) in remedies {
                if let Some(remedy) = remedy {
                    writeln!(told, "   {word}: {remedy}").unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(told);
}
