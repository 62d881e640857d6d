//! The machine's table, row by row: what is legal when, what it leads to, and what is said else.

use super::{
    CheckpointStep, Command, Event, Feature, MAX_ITERATIONS, TO_DONE, TO_IMPLEMENT, TO_PR,
    TO_REVIEW, Walk, agent, chain, check, command, id, person, steps, summary, topic_of,
};
use crate::{
    evidence::Evidence,
    machine::{Asked, Cause, Machine as _},
    retry::FailureClass,
    time::Time,
};

/// After `script`, `line` is done and leaves this state.
#[track_caller]
fn leads(script: &str, line: &str, want: &str) {
    let mut walk = Walk::of(script);
    walk.say(line).unwrap_or_else(|rejected| panic!("`{line}` was refused: {rejected}"));
    assert_eq!(walk.line(), want, "`{line}` after `{script}`");
}

/// After `script`, `line` is refused with this message and this next step.
#[track_caller]
fn refuses(script: &str, line: &str, want: &str) {
    let mut walk = Walk::of(script);
    let before = walk.state.clone();
    let rejected = walk.say(line).expect_err("it is refused");
    let next = steps(&rejected.next);
    assert_eq!(format!("{}{next}", rejected.message), want, "`{line}` after `{script}`");
    assert_eq!(walk.state, before, "a refusal changes nothing");
}

#[test]
fn a_workflow_starts_where_there_is_none_or_it_is_done() {
    leads("", "start chat", "DESIGN - [] ");
    leads(TO_DONE, "start search", "DESIGN - [] ");
    refuses(
        "start chat",
        "start search",
        "`chat` is in DESIGN; only one feature at a time → resume_feature",
    );
    refuses("", "start", "a feature needs a name → start_feature");
    refuses("", "advance", "no workflow is active → start_feature");
}

#[test]
fn a_new_workflow_begins_with_nothing_of_the_old_one() {
    let walk = Walk::of(&format!("{TO_DONE}; start search"));
    let at = walk.now;
    let want = Feature {
        name: "search".into(),
        started_at: at,
        updated_at: at,
        max_iterations: MAX_ITERATIONS,
        ..Walk::of("start chat").feature().clone()
    };
    assert_eq!(*walk.feature(), want);
}

#[test]
fn design_is_left_with_checkpoints() {
    leads("start chat", "advance cp-1 cp-2", "REVIEW - [] cp-1 pending/0, cp-2 pending/0");
    leads("start chat", "advance --contract", "REVIEW - [] cp-1 pending/0, cp-2 pending/0");
    leads("start chat; contract", "advance", "REVIEW - [] cp-1 pending/0, cp-2 pending/0");
    refuses(
        "start chat",
        "advance",
        "REVIEW needs at least one checkpoint → advance_with_checkpoints",
    );
    refuses(
        "start chat; contract",
        "advance --strategy direct",
        "the strategy is given when REVIEW ends → advance",
    );
    refuses(
        "start chat",
        "advance cp-1 cp-1",
        "checkpoint cp-1 is given twice → advance_with_checkpoints",
    );
    refuses(
        "start chat",
        "advance cp-1 --contract",
        "give either checkpoints or a contract, not both → advance_with_contract",
    );
}

#[test]
fn review_is_left_through_its_gate() {
    let passed = format!("{TO_REVIEW}; gate pass review_clean_pass");
    leads(
        &passed,
        "advance",
        "IMPLEMENT subagent [review_clean_pass] cp-1 pending/0, cp-2 pending/0",
    );
    leads(
        &passed,
        "advance --strategy direct",
        "IMPLEMENT direct [review_clean_pass] cp-1 pending/0, cp-2 pending/0",
    );
    refuses(
        TO_REVIEW,
        "advance",
        "IMPLEMENT needs review_clean_pass → pass_gate_or_report review_clean_pass",
    );
    refuses(&passed, "advance cp-3", "checkpoints are given when DESIGN ends → advance");
}

#[test]
fn implement_is_left_with_both_gates_and_every_checkpoint() {
    let one = "start chat; advance cp-1; gate pass review_clean_pass; advance";
    let passed = format!("{one}; checkpoint start cp-1; checkpoint pass cp-1");
    let verified = format!("{passed}; gate pass architect_verified");
    leads(&verified, "advance", "PR direct [review_clean_pass architect_verified] cp-1 passed/1");
    refuses(
        one,
        "advance",
        "PR needs every checkpoint passed; open: cp-1 pending → \
         start_checkpoint cp-1",
    );
    refuses(
        &format!("{one}; checkpoint start cp-1; checkpoint escalate cp-1"),
        "advance",
        "PR needs every checkpoint passed; open: cp-1 escalated → \
         reopen_checkpoint cp-1",
    );
    refuses(
        &passed,
        "advance",
        "PR needs architect_verified → pass_gate_or_report architect_verified",
    );
    refuses(
        &format!("{verified}; gate reset review_clean_pass"),
        "advance",
        "PR needs review_clean_pass → go_back",
    );
    refuses(
        &verified,
        "advance --strategy direct",
        "the strategy is given when REVIEW ends → advance",
    );
}

#[test]
fn pr_is_left_with_all_three_gates() {
    let clean = format!("{TO_PR}; gate pass re_review_clean");
    leads(
        &clean,
        "advance",
        "DONE direct [review_clean_pass architect_verified re_review_clean] cp-1 passed/1",
    );
    refuses(TO_PR, "advance", "DONE needs re_review_clean → pass_gate re_review_clean");
    refuses(
        &format!("{clean}; gate reset architect_verified"),
        "advance",
        "DONE needs architect_verified → go_back",
    );
    refuses(
        &format!("{clean}; gate stale re_review_clean"),
        "advance",
        "DONE needs re_review_clean → pass_gate re_review_clean",
    );
}

#[test]
fn back_closes_the_gate_of_the_phase_entered_and_every_later_one() {
    let implement = format!("{TO_IMPLEMENT}; gate pass architect_verified; checkpoint start cp-1");
    let pr = format!("{TO_PR}; gate pass re_review_clean");
    leads(
        &format!("{TO_REVIEW}; gate pass review_clean_pass"),
        "back",
        "DESIGN - [] cp-1 pending/0, cp-2 pending/0",
    );
    leads(&implement, "back", "REVIEW - [] cp-1 in_progress/1, cp-2 pending/0");
    leads(&pr, "back", "IMPLEMENT direct [review_clean_pass] cp-1 passed/1");
    refuses("start chat", "back", "there is no phase before DESIGN → advance_with_checkpoints");
    refuses(TO_DONE, "back", "`chat` is done → start_feature");
}

#[test]
fn checkpoints_stay_until_design_is_left_again() {
    let back = format!("{TO_IMPLEMENT}; checkpoint start cp-1; checkpoint pass cp-1; back; back");
    leads(&back, "contract", "DESIGN - [] cp-1 passed/1, cp-2 pending/0");
    leads(&back, "advance cp-1 cp-9", "REVIEW - [] cp-1 pending/0, cp-9 pending/0");
    let again = format!("{TO_IMPLEMENT}; checkpoint start cp-1; checkpoint pass cp-1; back");
    leads(
        &format!("{again}; gate pass review_clean_pass"),
        "advance",
        "IMPLEMENT subagent [review_clean_pass] cp-1 passed/1, cp-2 pending/0",
    );
}

#[test]
fn the_strategy_follows_from_the_number_of_checkpoints() {
    let table = [
        (1, "direct"),
        (2, "subagent"),
        (3, "subagent"),
        (4, "subagent"),
        (5, "agent-teams"),
        (9, "agent-teams"),
    ];
    for (count, want) in table {
        let ids: Vec<String> = (1..=count).map(|number| format!("cp-{number}")).collect();
        let script = format!("start chat; advance {}", ids.join(" "));
        let walk = Walk::of(&format!("{script}; gate pass review_clean_pass; advance"));
        assert_eq!(walk.feature().strategy.unwrap().as_str(), want, "{count} checkpoints");
    }
}

#[test]
fn a_checkpoint_has_three_tries_and_stays_at_the_limit() {
    let steps = [
        ("checkpoint start cp-1", "in_progress/1"),
        ("checkpoint fail cp-1", "in_progress/2"),
        ("checkpoint fail cp-1 validation", "in_progress/3"),
        ("checkpoint fail cp-1", "escalated/3"),
        ("checkpoint escalate cp-1", "escalated/3"),
        ("person: checkpoint reopen cp-1", "in_progress/1"),
        ("checkpoint fail cp-1", "in_progress/2"),
        ("checkpoint pass cp-1", "passed/2"),
        ("checkpoint pass cp-1", "passed/2"),
    ];
    let mut walk = Walk::of(TO_IMPLEMENT);
    for (line, want) in steps {
        walk.say(line).unwrap();
        let row = walk.feature().checkpoints.get("cp-1").unwrap();
        assert_eq!(format!("{}/{}", row.status, row.iteration), want, "after `{line}`");
    }
}

#[test]
fn the_limit_is_the_one_that_the_workflow_started_with() {
    for limit in 1..=5 {
        let mut walk = Walk::default();
        let feature = "chat".to_owned();
        walk.give(&Command::Start { feature, max_iterations: limit }, &agent()).unwrap();
        for line in ["advance cp-1", "gate pass review_clean_pass", "advance"] {
            walk.say(line).unwrap();
        }
        walk.say("checkpoint start cp-1").unwrap();
        let fails = (0..).take_while(|_| walk.say("checkpoint fail cp-1").is_ok()).count();
        assert_eq!(fails, limit as usize, "limit {limit}");
        assert_eq!(walk.feature().checkpoints.get("cp-1").unwrap().iteration, limit);
    }
}

#[test]
fn a_wrong_design_or_environment_escalates_at_once() {
    for class in ["DESIGN_MISMATCH", "ENV_ISSUE"] {
        let mut walk = Walk::of(&format!("{TO_IMPLEMENT}; checkpoint start cp-1"));
        let decision = walk.say(&format!("checkpoint fail cp-1 {class}")).unwrap();
        let class = FailureClass::from_word(class).unwrap();
        assert_eq!(decision.events, [Event::CheckpointEscalated { id: id("cp-1"), class }]);
        let row = walk.feature().checkpoints.get("cp-1").unwrap();
        assert_eq!(format!("{}/{}", row.status, row.iteration), "escalated/1");
    }
}

#[test]
fn an_escalation_waits_in_the_inbox_until_it_is_reopened_or_replaced() {
    let open = |script: &str| -> Vec<String> {
        let walk = Walk::of(script);
        walk.inbox.open().iter().map(topic_of).collect()
    };
    let escalated = format!("{TO_IMPLEMENT}; checkpoint start cp-1; checkpoint escalate cp-1");
    assert_eq!(open(&escalated), ["checkpoint/cp-1"]);
    assert_eq!(open(&format!("{escalated}; back")), ["checkpoint/cp-1"]);
    let settled: [String; 0] = [];
    assert_eq!(open(&format!("{escalated}; person: checkpoint reopen cp-1")), settled);
    assert_eq!(open(&format!("{escalated}; back; back; advance cp-1")), settled);
    assert_eq!(open(&format!("{escalated}; person: restart")), settled);
}

#[test]
fn checkpoints_are_worked_on_in_implement_only() {
    let table = [
        ("start chat", "DESIGN", "advance_with_checkpoints"),
        (TO_REVIEW, "REVIEW", "pass_gate_or_report review_clean_pass"),
        (TO_PR, "PR", "go_back"),
    ];
    for (script, phase, next) in table {
        for verb in ["start", "pass", "fail", "escalate", "reopen"] {
            let said = "checkpoints are worked on in IMPLEMENT, and this is";
            let want = format!("{said} {phase} → {next}");
            refuses(script, &format!("person: checkpoint {verb} cp-1"), &want);
        }
    }
    refuses(
        TO_IMPLEMENT,
        "checkpoint start cp-9",
        "there is no checkpoint cp-9; there are cp-1, cp-2 → show_workflow",
    );
}

#[test]
fn a_contract_puts_checkpoints_in_order_and_says_what_passes_them() {
    let agreed = "start chat; advance --contract; gate pass review_clean_pass; advance";
    refuses(
        agreed,
        "checkpoint start cp-2",
        "cp-2 depends on cp-1, which has not passed → start_checkpoint cp-1",
    );
    let begun = format!("{agreed}; checkpoint start cp-1");
    refuses(
        &begun,
        "checkpoint start cp-2",
        "cp-2 depends on cp-1, which has not passed → pass_checkpoint cp-1",
    );
    let claim = "cp-1 needs `cargo test` to pass → pass_checkpoint cp-1";
    refuses(&begun, "checkpoint pass cp-1", claim);
    refuses(&begun, "person: checkpoint pass cp-1", claim);
    leads(
        &format!("{begun}; checkpoint pass cp-1 checked"),
        "checkpoint start cp-2",
        "IMPLEMENT subagent [review_clean_pass] cp-1 passed/1, cp-2 in_progress/1",
    );
    let other = CheckpointStep::Pass { evidence: check("true") };
    let rejected =
        Walk::of(&begun).give(&Command::Checkpoint { id: id("cp-1"), step: other }, &agent());
    assert_eq!(summary(&rejected), format!("refused: {claim}"));
}

#[test]
fn without_a_contract_a_passed_checkpoint_is_only_claimed() {
    let walk = Walk::of(&format!("{TO_IMPLEMENT}; checkpoint start cp-1; checkpoint pass cp-1"));
    let evidence = walk.feature().checkpoints.get("cp-1").unwrap().evidence.clone();
    assert_eq!(evidence, Some(Evidence::Claimed));
}

#[test]
fn a_contract_belongs_to_its_own_checkpoints() {
    let table = [
        ("start chat; contract; advance", true),
        ("start chat; contract; advance cp-1 cp-2", true),
        ("start chat; contract; advance cp-2 cp-1", true),
        ("start chat; contract; advance cp-1", false),
        ("start chat; contract; advance cp-1 cp-2 cp-3", false),
        ("start chat; contract; advance other", false),
    ];
    for (script, is_kept) in table {
        let contract = Walk::of(script).feature().contract.clone();
        assert_eq!(contract, is_kept.then(|| chain(&["cp-1", "cp-2"])), "`{script}`");
    }
    refuses(TO_REVIEW, "contract", "a contract is agreed in DESIGN, and this is REVIEW → go_back");
}

#[test]
fn an_unsound_contract_is_not_agreed() {
    let mut contract = chain(&["cp-1", "cp-2"]);
    contract.checkpoints[1].dependencies = vec![id("cp-7")];
    let advance = Command::Advance {
        checkpoints: Vec::new(),
        contract: Some(contract.clone()),
        strategy: None,
    };
    for command in [advance, Command::SetContract { contract }] {
        let result = Walk::of("start chat").give(&command, &agent());
        assert_eq!(
            summary(&result),
            "refused: the contract does not hold: cp-2 depends on cp-7, which is not there → \
             validate_file FILE"
        );
    }
}

#[test]
fn what_is_reserved_is_refused_to_agents_and_to_waypost_itself() {
    let escalated = format!("{TO_IMPLEMENT}; checkpoint start cp-1; checkpoint escalate cp-1");
    let table = [
        ("", "adopt", "adopting a state file"),
        (TO_PR, "restart", "restarting a workflow"),
        (TO_DONE, "restart", "restarting a workflow"),
        (TO_PR, "suspend hotfix", "suspending the gate"),
        (escalated.as_str(), "checkpoint reopen cp-1", "reopening what was escalated"),
    ];
    for (script, line, what) in table {
        let walk = Walk::of(script);
        for by in [agent(), crate::actor::Actor::Waypost] {
            let asked = Asked { by: &by, now: Time::default() };
            let rejected = walk.state.decide(&command(line), &asked).unwrap_err();
            let message = format!("{what} is reserved for a person at a terminal");
            assert_eq!((rejected.cause, rejected.message), (Cause::Reserved, message), "{line}");
        }
        let asked = Asked { by: &person(), now: Time::default() };
        assert!(walk.state.decide(&command(line), &asked).is_ok(), "a person may {line}");
    }
}

#[test]
fn a_suspension_has_a_reason_and_ends_with_resume() {
    let mut walk = Walk::of(TO_PR);
    assert_eq!(
        summary(&walk.say("person: suspend")),
        "refused: a suspension needs a reason → suspend"
    );
    walk.say("person: suspend hotfix").unwrap();
    let suspended = walk.feature().suspended.clone().unwrap();
    let told = (suspended.reason.as_str(), suspended.by, suspended.since);
    assert_eq!(told, ("hotfix", person(), walk.now));
    assert_eq!(summary(&walk.say("person: suspend again")), "nothing");
    assert_eq!(summary(&walk.say("resume")), "resumed");
    assert_eq!(walk.feature().suspended, None);
    assert_eq!(summary(&walk.say("resume")), "nothing");
}

#[test]
fn restart_keeps_the_feature_unless_one_is_given() {
    for (line, want) in [("person: restart", "chat"), ("person: restart search", "search")] {
        let mut walk = Walk::of(TO_PR);
        walk.say(line).unwrap();
        assert_eq!((walk.feature().name.as_str(), walk.line().as_str()), (want, "DESIGN - [] "));
    }
    refuses("", "person: restart", "no workflow is active → start_feature");
}

#[test]
fn a_file_is_adopted_only_where_the_journal_is_empty() {
    leads(
        "",
        "person: adopt",
        "IMPLEMENT subagent [review_clean_pass] cp-1 passed/2, cp-2 in_progress/1, cp-3 pending/0",
    );
    for (script, phase) in [(TO_PR, "PR"), (TO_DONE, "DONE")] {
        let want = format!("the journal already has `chat` in {phase} → show_workflow");
        refuses(script, "person: adopt", &want);
    }
}

#[test]
fn taking_the_work_up_again_asks_about_what_was_escalated_and_left() {
    let mut walk = Walk::of(TO_IMPLEMENT);
    walk.say("checkpoint start cp-1").unwrap();
    walk.say("checkpoint escalate cp-1").unwrap();
    let id = walk.inbox.open()[0].id.clone();
    let answer = crate::inbox::Command::Answer {
        id,
        reply: crate::inbox::Reply::answer("leave"),
        version: None,
    };
    let asked = Asked { by: &person(), now: walk.now };
    for event in walk.inbox.decide(&answer, &asked).unwrap().events {
        walk.inbox.apply(&event, walk.now);
    }
    assert!(walk.inbox.open().is_empty());
    assert_eq!(summary(&walk.say("resume")), "ask: checkpoint cp-1 of `chat` was escalated");
    assert_eq!(walk.inbox.open().len(), 1);
}
