//! What becomes of the files that the hook has written.

use super::*;
use crate::{
    actor::Actor,
    matrix::{Matrix, command_variants, outcome},
};

fn verdict(at: i64, outcome: VerdictOutcome) -> Verdict {
    Verdict {
        v: Verdict::FORMAT,
        at: Time::from_millis(at),
        tree: "main".into(),
        program: "claude".into(),
        session: Some("s1".into()),
        subagent: None,
        outcome,
    }
}

fn allowed(at: i64, call: Option<&str>) -> Verdict {
    verdict(at, VerdictOutcome::Allowed { tool: "Write".into(), call: call.map(Into::into) })
}

fn refused(at: i64, call: &str) -> Verdict {
    let (tool, rule, message) = ("Bash".into(), "push".into(), "closed".into());
    verdict(at, VerdictOutcome::Refused { tool, call: Some(call.into()), rule, message })
}

fn take(state: &mut Verdicts, source: &str, verdicts: Vec<Verdict>) -> Vec<&'static str> {
    let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(99) };
    let decision =
        state.decide(&Command::TakeIn { source: source.into(), verdicts }, &asked).unwrap();
    let mut kinds = Vec::new();
    for event in &decision.events {
        state.apply(event, asked.now);
        kinds.push(Verdicts::event_kind(event));
    }
    kinds
}

#[test]
fn a_file_counts_once_however_often_it_is_found() {
    let mut state = Verdicts::start();
    let lines = || vec![allowed(1, Some("a")), refused(2, "b"), allowed(3, None)];
    assert_eq!(take(&mut state, "f1", lines()), ["refused", "taken"]);
    assert!(take(&mut state, "f1", lines()).is_empty());
    assert_eq!((state.allowed, state.refused), (2, 1));
    assert_eq!(state.last, Some(Time::from_millis(3)));
}

#[test]
fn a_call_that_two_hooks_judged_counts_once() {
    let mut state = Verdicts::start();
    let lines =
        vec![allowed(1, Some("a")), allowed(1, Some("a")), refused(2, "b"), refused(2, "b")];
    assert_eq!(take(&mut state, "f1", lines), ["refused", "taken"]);
    assert_eq!((state.allowed, state.refused), (1, 1));
}

#[test]
fn only_the_last_sources_are_remembered() {
    let mut state = Verdicts::start();
    for number in 0..40 {
        take(&mut state, &format!("f{number}"), Vec::new());
    }
    assert_eq!(state.sources.len(), SOURCES_KEPT);
    assert!(state.has_taken("f39") && !state.has_taken("f0"));
}

command_variants!(Command: TakeIn);

fn event_line(event: &Event) -> String {
    let rest = match event {
        Event::Taken { source, allowed, uncounted, .. } => {
            format!("{source}: {allowed:?} and {uncounted} more")
        }
        Event::Refused(verdict)
        | Event::Started(verdict)
        | Event::Compacted(verdict)
        | Event::Held(verdict) => verdict.at.to_string(),
    };
    format!("{} {rest}", Verdicts::event_kind(event))
}

#[test]
fn every_command_has_an_answer_in_every_state() {
    let all = || {
        vec![
            allowed(1, Some("a")),
            allowed(2, None),
            refused(3, "b"),
            verdict(4, VerdictOutcome::Started { source: "startup".into() }),
            verdict(5, VerdictOutcome::Compacted { trigger: "auto".into() }),
            verdict(6, VerdictOutcome::Held { message: "open".into() }),
        ]
    };
    let commands = [
        ("take in f1, of all kinds", "f1", all()),
        ("take in f2, of all kinds", "f2", all()),
        ("take in f2, empty", "f2", Vec::new()),
    ];
    let mut matrix = Matrix::default();
    let mut state = Verdicts::start();
    for name in ["nothing taken in", "f1 taken in"] {
        matrix.state(name);
        for (written, source, verdicts) in &commands {
            let (source, verdicts) = ((*source).to_owned(), verdicts.clone());
            let command = Command::TakeIn { source, verdicts };
            let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(99) };
            let line = outcome(&state.decide(&command, &asked), event_line);
            matrix.row((written, 26), variant_of(&command), &line);
        }
        take(&mut state, "f1", all());
    }
    insta::assert_snapshot!("verdicts_by_commands", matrix.page);
    Matrix::assert_shows_all(&[matrix], VARIANTS);
}
