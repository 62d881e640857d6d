//! Every command in every state, as one page to read.

use super::{Command, TO_DONE, TO_IMPLEMENT, TO_PR, TO_REVIEW, Walk, parse, summary};
use crate::matrix::{Matrix, command_variants};

command_variants!(
    Command: Start, Advance, Back, SetContract, PassGate, ConfirmGate, DeclineGate, ResetGate,
    GateStale, Review, Checkpoint, Suspend, Resume, Restart, Adopt
);

/// A state and the way to it.
const STATES: [(&str, &str); 14] = [
    ("no workflow", ""),
    ("DESIGN", "start chat"),
    ("DESIGN, a contract agreed", "start chat; contract"),
    (
        "DESIGN, after IMPLEMENT",
        "start chat; advance cp-1; gate pass review_clean_pass; advance; back; back",
    ),
    ("REVIEW, its gate closed", TO_REVIEW),
    ("REVIEW, its gate passed", "start chat; advance cp-1 cp-2; gate pass review_clean_pass"),
    ("IMPLEMENT, checkpoints pending", TO_IMPLEMENT),
    (
        "IMPLEMENT, every checkpoint passed, architect_verified closed",
        "start chat; advance cp-1; gate pass review_clean_pass; advance; \
         checkpoint start cp-1; checkpoint pass cp-1",
    ),
    (
        "IMPLEMENT, every checkpoint passed, architect_verified passed",
        "start chat; advance cp-1; gate pass review_clean_pass; advance; \
         checkpoint start cp-1; checkpoint pass cp-1; gate pass architect_verified",
    ),
    (
        "IMPLEMENT, architect_verified asked for",
        "start chat; advance cp-1; gate pass review_clean_pass; advance; \
         checkpoint start cp-1; checkpoint pass cp-1; gate ask architect_verified",
    ),
    ("PR, re_review_clean closed", TO_PR),
    (
        "PR, re_review_clean passed",
        "start chat; advance cp-1; gate pass review_clean_pass; advance; \
         checkpoint start cp-1; checkpoint pass cp-1; gate pass architect_verified; advance; \
         gate pass re_review_clean",
    ),
    ("DONE", TO_DONE),
    (
        "suspended in IMPLEMENT",
        "start chat; advance cp-1 cp-2; gate pass review_clean_pass; advance; person: suspend hotfix",
    ),
];

const COMMANDS: [&str; 32] = [
    "start search",
    "advance",
    "advance cp-8 cp-9",
    "advance --contract",
    "advance --strategy agent-teams",
    "back",
    "contract",
    "gate pass review_clean_pass",
    "gate pass architect_verified",
    "gate pass re_review_clean",
    "gate confirm architect_verified",
    "person: gate confirm architect_verified",
    "gate decline architect_verified",
    "person: gate decline architect_verified",
    "gate reset review_clean_pass",
    "gate reset architect_verified",
    "gate reset re_review_clean",
    "gate stale re_review_clean",
    "waypost: review review_clean_pass 1",
    "waypost: review re_review_clean 0",
    "person: review re_review_clean 0",
    "checkpoint start cp-1",
    "checkpoint pass cp-1",
    "checkpoint fail cp-1",
    "checkpoint start cp-7",
    "suspend urgent",
    "person: suspend urgent",
    "resume",
    "restart",
    "person: restart",
    "adopt",
    "person: adopt",
];

/// One checkpoint in each status, and what can be done with it.
const CHECKPOINTS: &str = "start chat; advance cp-1 cp-2 cp-3 cp-4; \
     gate pass review_clean_pass; advance; checkpoint start cp-2; checkpoint start cp-3; \
     checkpoint pass cp-3; checkpoint start cp-4; checkpoint escalate cp-4";

const STEPS: [&str; 9] = [
    "checkpoint start",
    "checkpoint pass",
    "checkpoint fail",
    "checkpoint fail DESIGN_MISMATCH",
    "checkpoint fail ENV_ISSUE",
    "checkpoint escalate",
    "checkpoint reopen",
    "person: checkpoint reopen",
    "person: checkpoint pass",
];

#[test]
fn every_command_has_an_answer_in_every_state() {
    let mut matrix = Matrix::default();
    for (name, script) in STATES {
        let walk = Walk::of(script);
        section(&mut matrix, name, COMMANDS.map(|line| (line.to_owned(), line.to_owned())), &walk);
    }
    insta::assert_snapshot!("states_by_commands", matrix.page);
    Matrix::assert_shows_all(&[matrix], VARIANTS);
}

#[test]
fn every_step_has_an_answer_for_every_checkpoint() {
    let mut matrix = Matrix::default();
    let walk = Walk::of(CHECKPOINTS);
    for name in ["cp-1", "cp-2", "cp-3", "cp-4"] {
        let status = walk.feature().checkpoints.get(name).unwrap().status;
        let lines = STEPS.map(|step| {
            let (verb, class) = match step.rsplit_once(' ') {
                Some((verb, class)) if class.chars().all(|c| c.is_uppercase() || c == '_') => {
                    (verb, format!(" {class}"))
                }
                _ => (step, String::new()),
            };
            (step.to_owned(), format!("{verb} {name}{class}"))
        });
        section(&mut matrix, &format!("a checkpoint that is {status}"), lines, &walk);
    }
    insta::assert_snapshot!("checkpoints_by_steps", matrix.page);
}

/// One state with a line per command: how it is shown, and how it is given.
fn section(
    matrix: &mut Matrix,
    name: &str,
    lines: impl IntoIterator<Item = (String, String)>,
    walk: &Walk,
) {
    matrix.state(name);
    for (shown, given) in lines {
        let variant = variant_of(&parse(&given).1);
        matrix.row((&shown, 31), variant, &summary(&walk.ask(&given)));
    }
}
