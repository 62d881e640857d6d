//! The seed's own examples, as projections of a task's state.

use super::*;
use crate::{document::server::ServerTask, json::Json};
use serde_json::{Value, json};

fn as_json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn the_end_of_a_phase_is_logged_as_the_seed_has_it() {
    let world = World::verifying(4);
    let record = world.log.last().unwrap();
    let mut found = as_json(record);
    let metadata = found["metadata"].as_object_mut().unwrap();
    let own = (metadata.remove("task").unwrap(), metadata.remove("agent").unwrap());
    let stay = json!({ "from": "in_progress", "to": "in_progress" });
    assert_eq!(own, (stay, json!({ "from": "running", "to": "waiting_review" })));
    let seed = json!({
        "timestamp": "1970-01-01T00:16:40Z",
        "taskId": "task_abc123",
        "type": "state_transition",
        "from": "in_progress",
        "to": "waiting_review",
        "trigger": "PHASE_COMPLETE",
        "metadata": { "phase": 1, "deliverables": 9 },
    });
    assert_eq!(found, seed);
    let text = serde_json::to_string(record).unwrap();
    let read: Transition = serde_json::from_str(&text).unwrap();
    assert_eq!(read, *record);
}

#[test]
fn the_two_answers_have_all_fields_of_the_seed() {
    let mut world = World::running(4);
    let step = Some("03_users".to_owned());
    world.give(&Command::Observe { phase: Some(1), steps_done: 2, current_step: step });
    let usage = Usage { input: 12_000, output: 500, cached: 0, cost_micros: 0 };
    let account = crate::run::Account { usage, counted: usage, result: None };
    world.give(&Command::Account { attempt: 1, account });
    world.give(&taken(CheckpointReason::Interval));
    let task = json!({
        "id": "task_abc123",
        "status": "in_progress",
        "currentPhase": 1,
        "totalPhases": 4,
        "progress": 12,
        "createdAt": "1970-01-01T00:16:40Z",
        "startedAt": "1970-01-01T00:16:40Z",
        "completedAt": null,
        "failedAt": null,
    });
    assert_eq!(as_json(&world.file().task_document()), task);
    let agent = json!({
        "status": "running",
        "currentPhase": 1,
        "currentStep": "03_users",
        "progress": 12,
        "tokensUsed": 12_500,
        "blockedBy": null,
        "lastUpdate": "1970-01-01T00:16:40Z",
        "checkpoint": { "lastSaved": "1970-01-01T00:16:40Z", "autoSaveInterval": 600_000 },
    });
    assert_eq!(as_json(&world.file().agent_document(&LiveAgent::default())), agent);
    let live = LiveAgent { tokens: 7, ..LiveAgent::default() };
    assert_eq!(world.file().agent_document(&live).tokens_used, 12_507);
}

#[test]
fn a_cancelled_task_is_a_failed_one_that_says_so() {
    let mut world = World::running(4);
    world.pass(1);
    world.person(&cancel());
    let task = as_json(&world.file().task_document());
    let own = json!({
        "status": task["status"], "reason": task["reason"],
        "cancelledAt": task["cancelledAt"], "failedAt": task["failedAt"],
    });
    let expected = json!({
        "status": "failed", "reason": "cancelled",
        "cancelledAt": "1970-01-01T00:16:41Z", "failedAt": "1970-01-01T00:16:41Z",
    });
    assert_eq!(own, expected);
    let read: ServerTask = serde_json::from_value(task).unwrap();
    assert_eq!(crate::document::Document::check(&read), Vec::new());
}

#[test]
fn progress_is_finished_phases_and_steps_of_the_present_one() {
    let mut world = World::running(2);
    let progress = |world: &World| world.file().progress();
    assert_eq!(progress(&world), 0);
    let observe = |steps_done| Command::Observe { phase: Some(1), steps_done, current_step: None };
    world.give(&observe(3));
    assert_eq!(progress(&world), 37);
    // Of another phase: it is late.
    world.give(&Command::Observe { phase: Some(2), steps_done: 1, current_step: None });
    assert_eq!(progress(&world), 37);
    world.give(&observe(4));
    world.say(10, complete(1));
    world.give(&verify(1, true));
    assert_eq!(progress(&world), 50);
    world.person(&approve());
    assert_eq!((progress(&world), world.file().phase), (50, Some(2)));
    world.say(20, complete(2));
    world.give(&verify(2, true));
    world.person(&approve());
    assert_eq!((progress(&world), world.states().0), (100, ServerTaskStatus::Completed));
}

#[test]
fn a_custom_task_has_no_phases_and_goes_from_nothing_to_all() {
    let mut world = World::running(0);
    let told = |world: &World| {
        let task = world.file().task_document();
        (task.status, task.total_phases, task.current_phase, task.progress)
    };
    assert_eq!(told(&world), (ServerTaskStatus::InProgress, 0, None, 0));
    world.say(10, TaskSignal::CustomComplete {});
    assert_eq!(told(&world), (ServerTaskStatus::Completed, 0, None, 100));
    assert_eq!(world.states().1, AgentStatus::Completed);
}

#[test]
fn what_a_person_sees_is_the_agents_state_while_it_waits() {
    let shown = |log: &[Transition]| -> Vec<String> {
        let word = |state: &crate::document::server::ShownState| {
            as_json(state).as_str().unwrap().to_owned()
        };
        log.iter().map(|it| format!("{}>{}", word(&it.from), word(&it.to))).collect()
    };
    let mut world = World::review(2);
    world.person(&approve());
    world.say(20, question(true));
    world.person(&Command::Answer { key: "1-20".into(), text: "black".into() });
    world.person(&pause());
    world.person(&Command::Resume);
    world.person(&cancel());
    let expected = [
        "draft>pending",
        "pending>in_progress",
        "in_progress>in_progress",
        "in_progress>waiting_review",
        "waiting_review>waiting_review",
        "waiting_review>in_progress",
        "in_progress>waiting_question",
        "waiting_question>in_progress",
        "in_progress>paused",
        "paused>in_progress",
        "in_progress>failed",
    ];
    assert_eq!(shown(&world.log), expected);
    let reason = world.log.last().unwrap().metadata.get("reason").cloned();
    assert_eq!(reason, Some(Json::from("cancelled")));
}
