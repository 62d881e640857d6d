//! Retries, escalation, new plans, dependencies, ids.

use super::*;
use crate::{
    answer::{Answer, OutsideFacts},
    code::Code,
    document::memory::MemoryTaskStatus,
    inbox::Reply,
};

fn refused(walk: &Walk, line: &str) -> Code {
    walk.ask(line).expect_err(line).code
}

const STARTED: &str = "new cart; add design; task start; step start 1";

#[test]
fn a_step_is_tried_again_after_two_four_and_eight_seconds_and_then_escalated() {
    let mut walk = Walk::of(STARTED);
    for (retry, delay) in [2, 4, 8].into_iter().enumerate() {
        walk.give("step fail 1").unwrap();
        let not_before = walk.kept().clock(1).not_before.unwrap();
        assert_eq!(not_before.since(walk.now).as_secs(), delay);
        // Half a second too early.
        walk.now = Time::from_millis(not_before.millis() - 1_500);
        assert_eq!(refused(&walk, "step retry 1"), Code::StepDelayed);
        assert_eq!(walk.give("step retry 1").unwrap_err().code, Code::StepDelayed);
        walk.now = Time::from_millis(not_before.millis());
        walk.give("step retry 1").unwrap();
        assert_eq!(walk.step(1).retries, u32::try_from(retry).unwrap() + 1);
    }
    assert!(walk.inbox.open().is_empty());
    walk.give("step fail 1").unwrap();
    assert_eq!(walk.step(1).status, StepStatus::Escalated);
    assert_eq!(walk.inbox.open().len(), 1);
    // An agent cannot go on with it; a person can, and it counts from zero.
    assert_eq!(refused(&walk, "step retry 1"), Code::Reserved);
    walk.give("person: step retry 1").unwrap();
    assert_eq!((walk.step(1).retries, walk.step(1).status), (0, StepStatus::InProgress));
    assert!(walk.inbox.open().is_empty(), "what was asked is settled");
    assert_eq!(walk.kept().clock(1).failures, 0);
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
    let commands = walk.memory.answered(&answer, &NoFacts).unwrap().commands;
    let person = Actor::User("mina".into());
    commands.iter().for_each(|command| drop(walk.command(&person, command).unwrap()));
}

#[test]
fn an_answer_lets_a_step_go_on_or_fails_the_task() {
    let mut walk = Walk::of(&format!("{STARTED}; step fail 1 critical"));
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::Failed);
    answer(&mut walk, "retry");
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::InProgress);
    assert_eq!(walk.step(1).status, StepStatus::InProgress);
    let mut walk = Walk::of(&format!("{STARTED}; step fail 1; step escalate 1"));
    answer(&mut walk, "fail");
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::Failed);
}

#[test]
fn what_follows_from_a_failure_depends_on_its_class() {
    // Validation is tried again like a transient one, and the reason is there.
    let walk = Walk::of(&format!("{STARTED}; step fail 1 validation"));
    let error = walk.step(1).error.clone().unwrap();
    assert_eq!((error.class.as_str(), error.message.as_str()), ("validation", "broke"));
    assert!(walk.kept().clock(1).not_before.is_some());
    // A dependency comes first.
    let mut walk = Walk::of(&format!("{STARTED}; add library; step fail 1 dependency 2"));
    assert_eq!(walk.step(1).dependencies, [2]);
    assert_eq!(refused(&walk, "step retry 1"), Code::StepWaits);
    walk.give("step start 2").unwrap();
    walk.give("step complete 2").unwrap();
    walk.give("step retry 1").unwrap();
    // A resource is a person's matter, or another agent's.
    let mut walk = Walk::of(&format!("{STARTED}; step fail 1 resource"));
    assert_eq!((walk.step(1).status, walk.inbox.open().len()), (StepStatus::Failed, 1));
    assert_eq!(refused(&walk, "step retry 1"), Code::PersonNeeded);
    walk.give("step retry 1 other").unwrap();
    assert_eq!(walk.step(1).agent.as_deref(), Some("other"));
    assert!(walk.inbox.open().is_empty());
    // A wrong plan is made again.
    let mut walk = Walk::of(&format!("{STARTED}; step fail 1 structural"));
    assert_eq!(walk.kept().replan, Some(ReplanCause::Structural));
    assert_eq!(refused(&walk, "step retry 1"), Code::ReplanNeeded);
    walk.give("task replan").unwrap();
    assert_eq!((walk.step_statuses(), walk.kept().replan), (Vec::new(), None));
    // What is critical stops the task.
    let walk = Walk::of(&format!("{STARTED}; step fail 1 critical"));
    assert_eq!(walk.step(1).status, StepStatus::Escalated);
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::Failed);
    assert_eq!(walk.inbox.open().len(), 1);
}

#[test]
fn a_plan_is_made_anew_after_three_failures_in_a_row_and_keeps_what_is_finished() {
    let mut walk = Walk::of(&format!("{THREE}; step start 1; step complete 1; step start 2"));
    for wait in [2, 4] {
        walk.give("step fail 2").unwrap();
        assert_eq!(walk.kept().replan, None);
        walk.give(&format!("wait {wait}")).unwrap();
        walk.give("step retry 2").unwrap();
    }
    walk.give("step fail 2").unwrap();
    assert_eq!(walk.kept().replan, Some(ReplanCause::ThreeFailures));
    walk.give("task replan").unwrap();
    assert_eq!(walk.step_statuses(), [StepStatus::Completed]);
    walk.give("add again 1").unwrap();
    // Ids are not used again, and issues of steps that are gone stay.
    assert_eq!(walk.kept().task.plan.steps.iter().map(|it| it.id).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(walk.kept().task.issues.len(), 3);
    assert!(walk.kept().task.issues.iter().all(|issue| issue.step_id.is_none()));
    assert_eq!(walk.memory.render_state().unwrap().check_all(), Vec::<String>::new());
}

trait CheckAll {
    fn check_all(&self) -> Vec<String>;
}

impl<D: crate::document::Document> CheckAll for D {
    fn check_all(&self) -> Vec<String> {
        self.check().into_iter().map(|finding| finding.message).collect()
    }
}

#[test]
fn a_step_that_takes_twice_as_long_calls_for_a_new_plan() {
    let mut walk = Walk::of("new cart; add design 60s; add build; task start; step start 1");
    let (topic, at) = walk.timers[0].clone();
    assert_eq!(at.since(walk.now).as_secs(), 120);
    assert_eq!(walk.give("waypost: step overdue 1").unwrap().events, [], "it is too early");
    walk.now = at;
    let due = walk.memory.due(&inbox::Topic::new(topic)).unwrap();
    walk.command(&Actor::Waypost, &due).unwrap();
    assert_eq!(walk.kept().replan, Some(ReplanCause::TwiceAsLong));
    // Without a host that watches the time, it is found when the step ends.
    let mut walk =
        Walk::of("new cart; add design 60s; add build; task start; step start 1; wait 120");
    walk.give("step complete 1").unwrap();
    assert_eq!(walk.kept().replan, Some(ReplanCause::TwiceAsLong));
    assert!(walk.timers.is_empty());
    // With nothing left there is nothing to plan.
    let walk =
        Walk::of("new cart; add design 60s; task start; step start 1; wait 500; step complete 1");
    assert_eq!(walk.kept().replan, None);
}

#[test]
fn steps_wait_for_what_they_depend_on_and_never_in_a_circle() {
    let mut walk = Walk::of(THREE);
    assert_eq!(refused(&walk, "step start 2"), Code::StepWaits);
    assert_eq!(walk.kept().task.plan.current_step, Some(1));
    for line in ["step start 3", "step start 1", "step complete 1", "step start 2"] {
        walk.give(line).unwrap();
    }
    assert_eq!(walk.kept().task.plan.current_step, Some(2), "the lowest in progress");
    assert_eq!(refused(&walk, "add more 9"), Code::StepUnknown);
    assert_eq!(refused(&walk, "step fail 3 dependency 3"), Code::StepWaits);
    assert_eq!(refused(&walk, "step start 9"), Code::StepUnknown);
    assert_eq!(refused(&walk, "task complete"), Code::StepsOpen);
    walk.give("task partial").unwrap();
    assert_eq!(walk.memory.history().entries()[0].result, TaskResult::Partial);
    assert_eq!(walk.memory.history().entries()[0].metrics.steps_completed, 1);
}

#[test]
fn one_task_is_current_and_the_next_follows_when_it_ends() {
    let mut walk = Walk::of("new one; new two; new three");
    let ids: Vec<String> = walk.memory.tasks().map(|kept| kept.task.id.to_string()).collect();
    let day = "task-2026-11-17";
    assert_eq!(ids, [format!("{day}-001"), format!("{day}-002"), format!("{day}-003")]);
    assert_eq!(refused(&walk, &format!("task start {day}-002")), Code::CurrentTaskFirst);
    for line in ["task start", "task pause"] {
        walk.give(line).unwrap();
    }
    assert_eq!(walk.kept().task.name, "one", "a paused task stays current");
    walk.give(&format!("task cancel {day}-002")).unwrap();
    walk.give("task resume").unwrap();
    walk.give("task complete").unwrap();
    assert_eq!((walk.kept().task.name.as_str(), walk.memory.pending().len()), ("three", 0));
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::Pending);
    assert_eq!(refused(&walk, &format!("task start {day}-001")), Code::TaskStatus);
    assert_eq!(refused(&walk, "task start task-2026-11-17-777"), Code::TaskUnknown);
}

#[test]
fn ids_are_counted_for_each_day_in_utc_and_grow_beyond_three_digits() {
    let mut walk = Walk::new();
    walk.now = Time::from_millis(TEN).next_day();
    // A second before midnight, and midnight.
    walk.now = Time::from_millis(walk.now.millis() - 3_000);
    walk.give("new late").unwrap();
    walk.give("new later").unwrap();
    walk.give("new early").unwrap();
    let ids: Vec<String> = walk.memory.tasks().map(|kept| kept.task.id.to_string()).collect();
    let want = ["task-2026-11-17-001", "task-2026-11-17-002", "task-2026-11-18-001"];
    assert_eq!(ids, want);
    walk.memory.count_id(&"task-2026-11-18-998".parse().unwrap());
    for want in ["task-2026-11-18-999", "task-2026-11-18-1000", "task-2026-11-18-1001"] {
        walk.give("new more").unwrap();
        assert_eq!(walk.memory.pending().last().unwrap().task.id.as_str(), want);
    }
}

#[test]
fn a_step_has_no_id_after_which_there_is_no_next() {
    let mut walk = Walk::of("new cart");
    let add = |id| {
        let draft = StepDraft { id, name: "design".into(), ..StepDraft::default() };
        Command::AddStep { task: None, draft: Box::new(draft) }
    };
    let agent = Actor::Agent { id: "T1".into(), attempt: 1 };
    let refused = walk.command(&agent, &add(Some(u32::MAX))).unwrap_err();
    assert_eq!(refused.code, Code::BadArgument);
    walk.command(&agent, &add(Some(1_000_000))).unwrap();
    // Also where a file that was taken over has such an id.
    assert_eq!(walk.command(&agent, &add(None)).unwrap_err().code, Code::BadArgument);
}
