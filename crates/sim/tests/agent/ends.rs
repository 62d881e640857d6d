//! How it ends: by faults, limits, interrupts, and when the input is closed.

use crate::driver::{Act, NOW, Site, Talk, all, of, structured};
use insta::assert_snapshot;
use serde_json::{Value, json};
use waypost_agent::Adapter;
use waypost_agent::limits::{Reset, Trouble};
use waypost_agent::stream::{End, LINE_BYTES_MAX, Said, Why};
use waypost_model::time::Time;
use waypost_sim::agent::Exit;

fn ends(steps: &Value) -> Vec<(Exit, Option<Said>)> {
    let run = |adapter| {
        let heard = Talk::new(adapter, steps.clone()).run(&Site::new());
        (heard.exit, heard.said.last().cloned())
    };
    structured().map(run).collect()
}

#[test]
fn a_program_that_breaks_leaves_its_turn_cut() {
    let table = [
        (json!({"crash": 3}), Exit::Crash(3)),
        (json!({"crash": "SIGKILL"}), Exit::Kill),
        (json!({"exit": 0}), Exit::Code(0)),
        (json!({"exit": 7}), Exit::Code(7)),
    ];
    for (step, exit) in table {
        let cut = Said::Ended(End { why: Why::Cut, detail: String::new() });
        let want = vec![(exit, Some(cut)); 4];
        assert_eq!(ends(&json!([{"say": "so far"}, step, {"done": "never"}])), want, "{step}");
    }
}

#[test]
fn a_limit_is_told_in_the_words_of_each_program() {
    let steps = json!([{"say": "so far"}, {"limit": {"resets_in_s": 7}}, {"done": "later"}]);
    assert_snapshot!("limit", all(|adapter| Talk::new(adapter, steps.clone())));
}

#[test]
fn the_limit_of_claude_tells_the_second_at_which_it_ends() {
    let heard =
        Talk::new(Adapter::CLAUDE, json!([{"limit": {"resets_in_s": 2}}])).run(&Site::new());
    let resets = heard.said.iter().filter_map(|said| match said {
        Said::RateLimit { resets, .. } => Some(resets.clone()),
        _ => None,
    });
    let want = Some(Reset::At(Time::from_millis(NOW + 2_000)));
    assert_eq!(resets.collect::<Vec<_>>(), [want.clone(), want]);
}

#[test]
fn a_message_after_a_limit_goes_on() {
    let steps = json!([{"limit": {"resets_in_s": 7}}, {"done": "later"}]);
    for adapter in [Adapter::CLAUDE, Adapter::CODEX, Adapter::ACP] {
        let talk = Talk { messages: vec!["go", "go on"], ..Talk::new(adapter, steps.clone()) };
        let heard = talk.run(&Site::new());
        let end = Said::Ended(End { why: Why::Done, detail: "later\nDONE:T1".to_owned() });
        assert_eq!((heard.exit, heard.said.last()), (Exit::Code(0), Some(&end)), "{adapter}");
    }
}

#[test]
fn a_service_that_cannot_be_used_is_told_in_the_words_of_each_program() {
    let table =
        [("outage", Trouble::Outage), ("sign_in", Trouble::SignIn), ("credit", Trouble::Credit)];
    for (word, want) in table {
        for (_, last) in ends(&json!([{"say": "so far"}, {"unavailable": word}])) {
            let Some(Said::Ended(End { why, detail })) = last else { panic!("{word}: {last:?}") };
            assert_eq!(why, Why::Unavailable(want), "{word}: {detail}");
        }
    }
}

#[test]
fn a_flood_and_garbage_do_not_end_a_turn() {
    let length = LINE_BYTES_MAX + 5;
    let heard = Talk::new(
        Adapter::CODEX_EXEC,
        json!([
            {"garbage": true}, {"flood": length}, {"garbage": true}, {"done": "still here"},
        ]),
    )
    .run(&Site::new());
    let garbage_bytes = b"this is \xff\xfe no JSON {".len();
    let garbage = "this is \u{fffd}\u{fffd} no JSON {";
    let cut = heard.said.iter().position(|said| matches!(said, Said::Cut { .. })).unwrap();
    assert_eq!(heard.said[2], Said::Other(garbage.to_owned()));
    assert_eq!(heard.said[cut], Said::Cut { bytes: length + garbage_bytes });
    assert_eq!(heard.said[cut + 1], Said::Text("still here\nDONE:T1".to_owned()));
}

#[test]
fn a_turn_is_stopped_while_it_waits() {
    let steps =
        json!([{"tool": "Wait", "input": "long"}, {"wait_ms": 60_000}, {"done": "after all"}]);
    assert_snapshot!(
        "stopped_waiting",
        of(&[Adapter::CLAUDE, Adapter::CODEX, Adapter::ACP], |adapter| Talk {
            at_text: Some(("long", Act::Interrupt)),
            ..Talk::new(adapter, steps.clone())
        })
    );
}

#[test]
fn a_turn_is_stopped_with_the_command_that_it_runs() {
    let steps = json!([{"run": "sleep 60"}, {"done": "after all"}]);
    assert_snapshot!(
        "stopped_running",
        of(&[Adapter::CLAUDE, Adapter::CODEX, Adapter::ACP], |adapter| Talk {
            at_text: Some(("sleep", Act::Interrupt)),
            ..Talk::new(adapter, steps.clone())
        })
    );
}

#[test]
fn claude_ends_its_turn_when_the_input_is_closed_and_servers_do_not() {
    let steps = json!([{"say": "bye"}, {"run": "read nothing; sleep 0.2"}, {"done": "all"}]);
    let end = |adapter, why, detail: &str| {
        let talk =
            Talk { at_text: Some(("bye", Act::HangUp)), ..Talk::new(adapter, steps.clone()) };
        let heard = talk.run(&Site::new());
        let want = Said::Ended(End { why, detail: detail.to_owned() });
        assert_eq!((heard.exit, heard.said.last()), (Exit::Code(0), Some(&want)), "{adapter}");
    };
    end(Adapter::CLAUDE, Why::Done, "all\nDONE:T1");
    end(Adapter::CODEX, Why::Cut, "");
    end(Adapter::ACP, Why::Cut, "");
}
