//! What is found, by which words, and in which order.

use super::*;
use waypost_model::actor::Actor;
use waypost_store::journal::Recorded;

fn recorded(stream: &str, kind: &str, body: &str) -> Recorded {
    Recorded {
        seq: 7,
        stream: stream.parse().unwrap(),
        stream_seq: 1,
        at: Time::from_millis(5),
        actor: Actor::Waypost,
        format: 1,
        kind: kind.into(),
        body: body.into(),
    }
}

/// Kind, title and text of what an event is found as.
fn told(stream: &str, kind: &str, body: &str) -> Option<(String, String, String)> {
    journal::told(&recorded(stream, kind, body)).map(|it| (it.kind, it.title, it.body))
}

#[test]
fn events_are_found_by_what_was_written_in_them() {
    let table = [
        (
            (
                "run",
                "task_failed",
                r#"{"task_failed":{"id":"T1.1","text":"no disk","hash":"ab12"}}"#,
            ),
            Some(("transition", "task failed T1.1", "T1.1\nno disk")),
        ),
        (
            ("inbox", "answered", r#"{"answered":{"id":"q1","by":"user:mina","text":"sqlite"}}"#),
            Some(("decision", "answered q1", "user:mina\nq1\nsqlite")),
        ),
        (
            ("memory", "noted", r#"{"noted":{"note":{"kind":"decision","text":"use WAL"}}}"#),
            Some(("decision", "noted", "decision\nuse WAL")),
        ),
        (
            ("memory", "noted", r#"{"noted":{"note":{"kind":"lesson","text":"sync first"}}}"#),
            Some(("lesson", "noted", "lesson\nsync first")),
        ),
        (("verdicts", "allowed", r#"{"allowed":{"tool":"Bash"}}"#), None),
        (("accounts", "limited", r#"{"limited":{}}"#), None),
        (("run", "torn", r#"{"torn":"#), None),
    ];
    for ((stream, kind, body), want) in table {
        let want = want.map(|(kind, title, body)| (kind.into(), title.into(), body.into()));
        assert_eq!(told(stream, kind, body), want, "{body}");
    }
}

#[test]
fn an_event_names_its_files() {
    let body = r#"{"noted":{"note":{"files":[{"path":"./src/a.rs"},{"path":"b.md"}],"text":"x"}}}"#;
    let found = journal::told(&recorded("memory", "noted", body)).unwrap();
    assert_eq!(found.files, ["src/a.rs", "b.md"]);
}

#[test]
fn long_texts_are_cut_between_lines_and_lose_nothing() {
    let line = format!("{}\n", "가나 ".repeat(300));
    let text = line.repeat(9) + &"x".repeat(2 * BODY_MAX + 5) + "\nend";
    let chunks = chunks(&text);
    let joined: String = chunks.iter().map(|(_, part)| part.as_str()).collect();
    assert_eq!(joined, text);
    let chars: Vec<char> = text.chars().collect();
    for (at, part) in &chunks {
        let count = part.chars().count();
        assert!(count <= BODY_MAX, "{count}");
        let there: String = chars[*at..*at + count].iter().collect();
        assert_eq!(there, *part);
    }
    assert_eq!(super::chunks(" \n"), []);
}
