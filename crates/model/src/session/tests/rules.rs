//! Retries, escalation, plans that are sent back, looks that are repeated, what is remembered.

use super::*;
use crate::{
    answer::{Answer, OutsideFacts},
    code::Code,
    document::{
        memory::TaskResult,
        session::{GateStatus, GlobalPhase, SessionStatus},
    },
    inbox::Reply,
};

fn refused(walk: &Walk, line: &str) -> Code {
    walk.ask(line).expect_err(line).code
}

fn gate_of(walk: &Walk, id: &str, gate: Gate) -> Option<GateStatus> {
    state::status_of(&walk.subtask(id).gates, gate)
}

#[test]
fn a_request_goes_from_its_plan_to_its_end() {
    let walk = Walk::of(&whole());
    let request = walk.request();
    assert_eq!((request.phase, request.status), (GlobalPhase::Complete, SessionStatus::Completed));
    assert!(request.current_task.is_none());
    assert_eq!(request.progress(), (3, 3));
    let [work] = walk.remembered.as_slice() else { panic!("{:?}", walk.remembered) };
    assert_eq!((work.result, work.metrics.steps_completed), (TaskResult::Success, 3));
    assert!(walk.session.is_active(), "a session goes on after its request");
}

#[test]
fn a_gate_is_tried_again_twice_and_then_a_person_is_asked() {
    let mut walk = Walk::of(IMPLEMENTATION);
    for (tree, delay) in [("a", 1), ("b", 2)] {
        walk.give(&format!("judge T1-S1 3 bad {tree}")).unwrap();
        let not_before = walk.subtask("T1-S1").not_before.unwrap();
        assert_eq!(not_before.since(walk.now).as_secs(), delay);
        assert_eq!(refused(&walk, "judge T1-S1 3 bad z"), Code::TaskDelayed);
        assert_eq!(gate_of(&walk, "T1-S1", Gate::Gate3), Some(GateStatus::Pending));
    }
    walk.give("judge T1-S1 3 bad c").unwrap();
    let subtask = walk.subtask("T1-S1");
    assert_eq!(subtask.status, Status::InProgress);
    assert_eq!(gate_of(&walk, "T1-S1", Gate::Gate3), Some(GateStatus::Failed));
    assert_eq!(walk.inbox.open().len(), 1);
    assert_eq!(refused(&walk, "judge T1-S1 3 ok d"), Code::PersonNeeded);
    answer(&mut walk, "retry");
    assert_eq!(gate_of(&walk, "T1-S1", Gate::Gate3), Some(GateStatus::Pending));
    assert!(walk.inbox.open().is_empty());
    walk.give("judge T1-S1 3 ok d").unwrap();
}

#[test]
fn a_test_run_is_tried_again_three_times() {
    let mut walk = Walk::of(IMPLEMENTATION);
    for tree in ["a", "b", "c", "d"] {
        walk.all(&format!("judge T1-S1 3 ok {tree}; judge T1-S1 4 ok {tree}"));
        assert!(walk.inbox.open().is_empty());
        walk.give(&format!("judge T1-S1 2 implementation_error {tree} r")).unwrap();
    }
    assert_eq!(walk.inbox.open().len(), 1);
    // A person lets it go on where the last run has led it.
    answer(&mut walk, "retry");
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Implementation);
}

#[test]
fn a_task_goes_back_to_its_design_twice_and_the_same_design_is_none() {
    let mut walk = Walk::of(IMPLEMENTATION);
    for (round, tree) in ["a", "b", "c"].into_iter().enumerate() {
        walk.all(&format!("judge T1-S1 3 ok {tree}"));
        walk.give(&format!("judge T1-S1 4 bad {tree}")).unwrap();
        if round == 2 {
            break;
        }
        assert!(walk.request().in_design().is_some());
        let design = if round == 0 { "d" } else { "d0" };
        assert_eq!(walk.give(&format!("design T1 {design}")).unwrap(), Decision::nothing());
        walk.all(&format!("design T1 d{round}; judge T1-S1 1 ok t{round}"));
    }
    assert_eq!(walk.inbox.open().len(), 1);
    assert!(walk.request().in_design().is_none(), "it waits where it was");
    answer(&mut walk, "retry");
    assert!(walk.request().in_design().is_some());
}

#[test]
fn a_second_look_at_the_same_changes_nothing() {
    let mut walk = Walk::of(IMPLEMENTATION);
    walk.give("judge T1-S1 3 bad a").unwrap();
    let before = walk.session.clone();
    assert_eq!(walk.give("judge T1-S1 3 bad a").unwrap(), Decision::nothing());
    assert_eq!(walk.session, before);
    walk.all("judge T1-S1 3 ok b; judge T1-S1 4 ok b; judge T1-S1 2 implementation_error b r");
    // The work that its tests sent back passes nothing before it has changed.
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Implementation);
    assert_eq!(walk.give("judge T1-S1 3 ok b more").unwrap(), Decision::nothing());
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Implementation);
    walk.all("judge T1-S1 3 ok c; judge T1-S1 4 ok c");
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Verification);
}

#[test]
fn tests_count_for_the_work_that_scope_and_design_were_found_good_for() {
    let mut walk = Walk::of(VERIFICATION);
    assert_eq!(refused(&walk, "judge T1-S1 2 ok x r"), Code::FilesChanged);
    walk.all("judge T1-S1 3 ok x; judge T1-S1 4 ok x; judge T1-S1 2 ok x r");
    assert_eq!(walk.subtask("T1-S1").status, Status::Completed);
    assert_eq!(walk.subtask("T1-S2").base.as_deref(), Some("base"));
}

#[test]
fn a_wrong_plan_goes_back_twice_and_then_to_a_person() {
    let mut walk = Walk::of(REQUESTED);
    walk.give("plan a hw").unwrap();
    assert_eq!(walk.request().phase, GlobalPhase::GlobalDiscovery);
    assert_eq!(refused(&walk, "plan a hh"), Code::PlanSentBack);
    walk.all("plan b w; plan c ww");
    assert_eq!(walk.inbox.open().len(), 1);
    assert_eq!(refused(&walk, "plan d h"), Code::PersonNeeded);
    answer(&mut walk, "retry");
    // Less than half: it holds.
    walk.give("plan d hhw").unwrap();
    assert_eq!(walk.request().phase, GlobalPhase::TaskLoop);
    // A plan without assumptions takes nothing for granted.
    let mut walk = Walk::of(REQUESTED);
    walk.give("plan a").unwrap();
    assert_eq!(walk.request().phase, GlobalPhase::TaskLoop);
}

#[test]
fn an_agent_is_called_again_three_times() {
    let mut walk = Walk::of(PLANNED);
    for delay in [1, 2, 4] {
        walk.give("failcall design/T1").unwrap();
        let not_before = walk.request().call_clock(&call("design/T1")).not_before.unwrap();
        assert_eq!(not_before.since(walk.now).as_secs(), delay);
    }
    walk.give("failcall design/T1").unwrap();
    assert_eq!(walk.inbox.open().len(), 1);
    // The work goes on by hand, and the question is over.
    walk.give("design T1 d").unwrap();
    assert!(walk.inbox.open().is_empty() && walk.request().held.is_empty());
}

#[test]
fn a_person_passes_a_gate_with_a_reason_and_an_agent_does_not() {
    let mut walk = Walk::of(TEST_FIRST);
    assert_eq!(refused(&walk, "override T1-S1 1 why"), Code::Reserved);
    assert_eq!(refused(&walk, "person: override T1-S1 1"), Code::ReasonMissing);
    assert_eq!(refused(&walk, "person: override T1-S1 3 why"), Code::GateNotDue);
    walk.all("person: override T1-S1 1 why; person: override T1-S1 3 why; judge T1-S1 4 ok w");
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Verification);
    walk.all("person: override T1-S1 2 why");
    assert_eq!(walk.subtask("T1-S1").status, Status::Completed);
}

#[test]
fn what_a_person_passes_stands_for_the_work_that_it_was_passed_for() {
    let mut walk = Walk::of(IMPLEMENTATION);
    walk.all("person: override T1-S1 3 why w; judge T1-S1 4 ok w");
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Verification);
    // Other files: what a person has seen is not what there is.
    assert_eq!(refused(&walk, "judge T1-S1 2 ok x r"), Code::FilesChanged);
    walk.all("judge T1-S1 3 bad x; judge T1-S1 3 ok y; judge T1-S1 4 ok y");
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Verification);
    // The tests send it back, and it is made as it was again: that is passed still.
    walk.all("judge T1-S1 2 implementation_error y r; judge T1-S1 3 bad w m");
    let subtask = walk.subtask("T1-S1");
    assert_eq!(
        (subtask.phase, subtask.tries.gates.is_empty()),
        (SubtaskPhase::Implementation, true)
    );
    walk.all("judge T1-S1 3 ok w; judge T1-S1 4 ok w; judge T1-S1 2 ok w s");
    assert_eq!(walk.subtask("T1-S1").status, Status::Completed);
}

#[test]
fn a_contract_that_is_gone_brings_its_subtask_one_phase_back() {
    let mut walk = Walk::of(IMPLEMENTATION);
    walk.give("resume T1-S1").unwrap();
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::TestFirst);
    // The same contract, put back, is looked at again.
    walk.give("judge T1-S1 1 ok t").unwrap();
    assert_eq!(walk.subtask("T1-S1").phase, SubtaskPhase::Implementation);
    walk.give("resume T1").unwrap();
    assert!(walk.request().in_design().is_some());
    // The same contract, put back, is a design again.
    walk.give("design T1 d").unwrap();
    assert_eq!(walk.request().at_work().map(|(_, id, _)| id.as_str()), Some("T1-S1"));
    walk.give("resume plan").unwrap();
    assert_eq!(walk.request().phase, GlobalPhase::GlobalDiscovery);
    walk.all("plan p h; design T1 d");
    assert_eq!(walk.request().at_work().map(|(_, id, _)| id.as_str()), Some("T1-S1"));
}

#[test]
fn one_request_at_a_time_and_no_number_twice() {
    let mut walk = Walk::of(PLANNED);
    assert_eq!(refused(&walk, "request list"), Code::RequestActive);
    walk.give("instead list").unwrap();
    assert_eq!(walk.request().id.as_str(), "R2");
    assert_eq!(walk.remembered[0].result, TaskResult::Cancelled);
    let above = Command::Request { text: "more".into(), stop_current: true, above: 7 };
    walk.command(&Actor::Waypost, &above).unwrap();
    assert_eq!(walk.request().id.as_str(), "R8");
    walk.all("stop; start; request again");
    assert_eq!(walk.request().id.as_str(), "R9");
    assert_eq!(walk.session.facts().unwrap().number, 2);
}

#[test]
fn a_plan_that_is_made_again_keeps_what_has_begun() {
    let mut walk = Walk::of(&format!("{TEST_FIRST}; {}", subtask_done("T1-S1")));
    let less = PlanDraft {
        contract: "less".into(),
        tasks: Vec::new(),
        assumptions: Vec::new(),
        briefs: Vec::new(),
    };
    let mut more = planned();
    more.remove(1);
    more[0].subtasks.push(("T1-S3".parse().unwrap(), "empty".into()));
    let refusal = |tasks: Vec<PlannedSessionTask>| {
        let draft = Box::new(PlanDraft { tasks, ..less.clone() });
        let asked = Asked { by: &Actor::Waypost, now: walk.now };
        walk.session.decide(&Command::Plan { draft }, &asked).map_err(|it| it.code)
    };
    assert_eq!(refusal(Vec::new()), Err(Code::PlanEmpty));
    assert_eq!(refusal(planned().split_off(1)), Err(Code::PlanLacksTask));
    let draft = Box::new(PlanDraft { tasks: more, ..less });
    walk.command(&Actor::Waypost, &Command::Plan { draft }).unwrap();
    assert_eq!(walk.subtask("T1-S1").status, Status::Completed);
    assert_eq!(walk.subtask("T1-S2").status, Status::InProgress);
    assert_eq!(walk.subtask("T1-S3").status, Status::Pending);
    assert_eq!(walk.request().tasks.len(), 1);
}

struct NoFacts;

impl OutsideFacts for NoFacts {
    type Error = std::convert::Infallible;

    fn content_of_tree(&self, _tree: &str) -> Result<Option<String>, Self::Error> {
        Ok(None)
    }
}

/// Gives an answer from the inbox.
fn answer(walk: &mut Walk, text: &str) {
    let question = walk.inbox.open()[0].question.clone();
    let (stream, topic) = question.subject.read().unwrap();
    let reply = Reply::Answer(text.to_owned());
    let answer =
        Answer { stream: &stream, topic: &topic, question: &question, reply: &reply, text };
    let Ok(consequence) = walk.session.answered(&answer, &NoFacts);
    assert!(!consequence.commands.is_empty(), "{text} means something");
    for command in consequence.commands {
        walk.command(&Actor::User("mina".into()), &command).unwrap();
    }
}

#[test]
fn a_person_who_is_asked_may_end_it() {
    let mut walk = Walk::of(&format!("{REQUESTED}; plan a w; plan b w; plan c w"));
    let topic = Topic::new("plan");
    assert_eq!(walk.session.holds(&topic), Some(1));
    answer(&mut walk, "stop");
    assert!(!walk.session.is_active());
    assert_eq!(walk.request().status, SessionStatus::Stopped);
    walk.give("resume").unwrap();
    assert_eq!(walk.session.active_request().unwrap().phase, GlobalPhase::GlobalDiscovery);
}

#[test]
fn a_request_that_no_agent_can_be_told_is_bad_input() {
    let walk = Walk::of("start");
    let text = "a".repeat(100_000);
    let command = Command::Request { text, stop_current: false, above: 0 };
    let asked = Asked { by: &Actor::Waypost, now: walk.now };
    let refused = walk.session.decide(&command, &asked).unwrap_err();
    assert_eq!(refused.code, Code::RequestTooLong);
}
