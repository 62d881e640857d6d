//! What an edit of the state file means: commands, or reasons why it is not taken over.

use super::{
    CheckpointStep, Command, MAX_ITERATIONS, Walk, WorkflowState, agent, person, steps, summary,
};
use crate::workflow::translate;
use serde_json::Value;

/// A workflow that stands as the seed's example does, with one checkpoint more that is escalated.
const LIKE_THE_SEED: &str = "start chat; advance cp-1 cp-2 cp-3 cp-4; \
     gate pass review_clean_pass; advance; checkpoint start cp-1; checkpoint fail cp-1; \
     checkpoint pass cp-1; checkpoint start cp-2; checkpoint start cp-4; checkpoint escalate cp-4";

/// Edits a rendering as `jq` would: a path and a value each; `null` for a checkpoint removes it.
fn edited(base: &WorkflowState, edits: &[(&str, &str)]) -> WorkflowState {
    let mut file = serde_json::to_value(base).unwrap();
    for (path, value) in edits {
        let value: Value = serde_json::from_str(value).unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let parent = file.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value.is_null() && parent.contains_key("cp-1") {
            parent.remove(key);
        } else {
            parent.insert(key.to_owned(), value);
        }
    }
    serde_json::from_value(file).unwrap()
}

/// A command of an edit in one word or two.
fn word(command: &Command) -> String {
    let Command::Checkpoint { id, step } = command else { return format!("{command:?}") };
    let verb = match step {
        CheckpointStep::Start { .. } => "start",
        CheckpointStep::Pass { .. } => "pass",
        CheckpointStep::Fail { .. } => "fail",
        CheckpointStep::Escalate => "escalate",
        CheckpointStep::Reopen => "reopen",
    };
    format!("{verb} {id}")
}

#[track_caller]
fn check(edits: &[(&str, &str)], want: Result<&[&str], &[&str]>) {
    let base = Walk::of(LIKE_THE_SEED).feature().render();
    let got = translate(&base, &edited(&base, edits))
        .map(|commands| commands.iter().map(word).collect::<Vec<_>>())
        .map_err(|refused| {
            refused
                .iter()
                .map(|it| format!("{}{}", it.message, steps(&it.next)))
                .collect::<Vec<_>>()
        });
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    assert_eq!(got, want.map(owned).map_err(owned), "{edits:?}");
}

#[test]
fn steps_of_a_checkpoint_are_taken_over_as_commands() {
    let row = r#"{"status": "in_progress", "iteration": 1}"#;
    check(&[("/checkpoints/cp-3", row)], Ok(&["start cp-3"]));
    check(&[("/checkpoints/cp-2/iteration", "2")], Ok(&["fail cp-2"]));
    check(&[("/checkpoints/cp-2/iteration", "3")], Ok(&["fail cp-2", "fail cp-2"]));
    check(&[("/checkpoints/cp-2/status", "\"escalated\"")], Ok(&["escalate cp-2"]));
    check(&[("/checkpoints/cp-4", row)], Ok(&["reopen cp-4"]));
    check(
        &[("/checkpoints/cp-3", row), ("/checkpoints/cp-2/iteration", "2")],
        Ok(&["fail cp-2", "start cp-3"]),
    );
}

#[test]
fn what_only_says_when_is_no_edit() {
    check(&[], Ok(&[]));
    check(&[("/updated_at", "\"2030-01-01T00:00:00Z\"")], Ok(&[]));
}

#[test]
fn gates_and_phase_are_never_taken_over() {
    check(
        &[("/gates/architect_verified", "true")],
        Err(&[
            "gates.architect_verified: an edit does not change it → pass_gate architect_verified",
        ]),
    );
    check(
        &[("/gates/review_clean_pass", "false")],
        Err(&[
            "gates.review_clean_pass: an edit does not change it → reset_gate review_clean_pass",
        ]),
    );
    check(&[("/phase", "\"PR\"")], Err(&["phase: an edit does not change it → advance"]));
    check(&[("/phase", "\"DONE\"")], Err(&["phase: an edit does not change it → advance"]));
    check(&[("/phase", "\"REVIEW\"")], Err(&["phase: an edit does not change it → go_back"]));
}

#[test]
fn passed_is_never_taken_over() {
    let refused =
        |id: &str| format!("checkpoints.{id}: an edit does not pass it → pass_checkpoint {id}");
    let passed = r#"{"status": "passed", "iteration": 1}"#;
    for id in ["cp-2", "cp-3", "cp-4"] {
        check(&[(&format!("/checkpoints/{id}"), passed)], Err(&[&refused(id)]));
    }
    check(&[("/checkpoints/cp-1/iteration", "1")], Err(&[&refused("cp-1")]));
}

#[test]
fn no_step_is_invented() {
    let table = [
        ("cp-1", "pending", 0, "passed (iteration 2) to pending (iteration 0)"),
        ("cp-1", "in_progress", 2, "passed (iteration 2) to in_progress (iteration 2)"),
        ("cp-2", "pending", 0, "in_progress (iteration 1) to pending (iteration 0)"),
        ("cp-2", "in_progress", 0, "in_progress (iteration 1) to in_progress (iteration 0)"),
        ("cp-2", "escalated", 3, "in_progress (iteration 1) to escalated (iteration 3)"),
        ("cp-3", "in_progress", 2, "pending (iteration 0) to in_progress (iteration 2)"),
        ("cp-3", "escalated", 1, "pending (iteration 0) to escalated (iteration 1)"),
        ("cp-4", "in_progress", 2, "escalated (iteration 1) to in_progress (iteration 2)"),
        ("cp-4", "pending", 0, "escalated (iteration 1) to pending (iteration 0)"),
    ];
    for (id, status, iteration, what) in table {
        let row = format!(r#"{{"status": "{status}", "iteration": {iteration}}}"#);
        let want = format!("checkpoints.{id}: {what} is no legal step");
        check(&[(&format!("/checkpoints/{id}"), &row)], Err(&[&want]));
    }
}

#[test]
fn what_was_agreed_is_not_edited() {
    check(
        &[("/checkpoints/cp-9", r#"{"status": "pending", "iteration": 0}"#)],
        Err(&["checkpoints.cp-9: checkpoints are set when DESIGN ends"]),
    );
    check(
        &[("/checkpoints/cp-3", "null")],
        Err(&["checkpoints.cp-3: a checkpoint is not removed by an edit"]),
    );
    check(
        &[("/feature", "\"search\"")],
        Err(&["feature: an edit does not change it → restart_feature"]),
    );
    check(
        &[("/strategy", "null")],
        Err(&["strategy: an edit does not change it → advance_with_strategy"]),
    );
    check(
        &[("/started_at", "\"2020-01-01T00:00:00Z\"")],
        Err(&["started_at: it is what the journal says"]),
    );
}

#[test]
fn one_refusal_refuses_the_whole_file_and_every_reason_is_told() {
    check(
        &[
            ("/phase", "\"PR\""),
            ("/gates/re_review_clean", "true"),
            ("/checkpoints/cp-2/iteration", "2"),
            ("/checkpoints/cp-3/status", "\"passed\""),
        ],
        Err(&[
            "phase: an edit does not change it → advance",
            "gates.re_review_clean: an edit does not change it → pass_gate re_review_clean",
            "checkpoints.cp-3: an edit does not pass it → pass_checkpoint cp-3",
        ]),
    );
}

#[test]
fn an_edit_has_no_more_power_than_its_commands() {
    let walk = || Walk::of(LIKE_THE_SEED);
    let base = walk().feature().render();
    let reopen = r#"{"status": "in_progress", "iteration": 1}"#;
    let reopened = translate(&base, &edited(&base, &[("/checkpoints/cp-4", reopen)])).unwrap();
    assert_eq!(
        summary(&walk().give(&reopened[0], &agent())),
        "refused: reopening what was escalated is reserved for a person at a terminal"
    );
    assert_eq!(
        summary(&walk().give(&reopened[0], &person())),
        "checkpoint_reopened cp-4; settle checkpoint/cp-4"
    );

    // More failures than there are tries: the last one meets a checkpoint that is escalated.
    let beyond = edited(&base, &[("/checkpoints/cp-2/iteration", "5")]);
    let mut walk = walk();
    let results: Vec<bool> = translate(&base, &beyond)
        .unwrap()
        .iter()
        .map(|command| walk.give(command, &agent()).is_ok())
        .collect();
    assert_eq!(results, [true, true, true, false]);
    assert_eq!(walk.feature().checkpoints.get("cp-2").unwrap().iteration, MAX_ITERATIONS);
}

#[test]
fn the_difference_counts_what_was_changed() {
    let base = Walk::of(LIKE_THE_SEED).feature().render();
    let table: [(&[(&str, &str)], usize); 5] = [
        (&[], 0),
        (&[("/updated_at", "\"2030-01-01T00:00:00Z\"")], 1),
        (&[("/gates/re_review_clean", "true"), ("/phase", "\"DONE\"")], 2),
        (&[("/checkpoints/cp-2/iteration", "2"), ("/checkpoints/cp-3", "null")], 2),
        (&[("/checkpoints/cp-9", r#"{"status": "pending", "iteration": 0}"#)], 1),
    ];
    for (edits, want) in table {
        let edited = edited(&base, edits);
        assert_eq!((edited.difference(&base), base.difference(&edited)), (want, want));
    }
}
