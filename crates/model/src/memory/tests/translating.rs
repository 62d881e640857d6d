//! What an edit of a file means; the rows of `docs/windows.md`.

use super::*;
use crate::document::memory::{MemoryTask, MemoryTaskStatus, Step, TaskState};

/// Gives what an edit means to the memory; the reasons if it is refused.
fn edit(walk: &mut Walk, change: impl FnOnce(&mut TaskState)) -> Result<(), Vec<String>> {
    let base = walk.memory.render_state().unwrap();
    let mut edited = base.clone();
    change(&mut edited);
    let text = |it: Rejected| it.message;
    let commands = translate_state(&base, &edited)
        .map_err(|refused| refused.into_iter().map(text).collect::<Vec<_>>())?;
    let agent = Actor::Agent { id: "T1".into(), attempt: 1 };
    for command in &commands {
        walk.now = Time::from_millis(walk.now.millis() + 1);
        walk.command(&agent, command).map_err(|it| vec![text(it)])?;
    }
    Ok(())
}

fn task(state: &mut TaskState) -> &mut MemoryTask {
    state.current_task.as_mut().unwrap()
}

fn step(state: &mut TaskState, id: u32) -> &mut Step {
    task(state).plan.steps.iter_mut().find(|step| step.id == id).unwrap()
}

#[track_caller]
fn taken(script: &str, change: impl FnOnce(&mut TaskState)) -> Walk {
    let mut walk = Walk::of(script);
    edit(&mut walk, change).unwrap();
    walk
}

#[track_caller]
fn is_refused(script: &str, reason: &str, change: impl FnOnce(&mut TaskState)) {
    let mut walk = Walk::of(script);
    let reasons = edit(&mut walk, change).expect_err(reason);
    assert!(reasons.iter().any(|it| it.contains(reason)), "{reason} is not in {reasons:?}");
}

#[test]
fn steps_move_forward_and_never_back() {
    let walk = taken(THREE, |state| step(state, 1).status = StepStatus::InProgress);
    assert_eq!(walk.step(1).status, StepStatus::InProgress);
    // In one edit through two statuses, and each after what it waits for.
    let walk = taken(THREE, |state| {
        for id in [2, 1, 3] {
            step(state, id).status = StepStatus::Completed;
            step(state, id).output = Json::from(u64::from(id));
        }
    });
    assert_eq!(walk.step_statuses(), [StepStatus::Completed; 3]);
    assert_eq!(walk.step(2).output, Json::from(2));
    is_refused(THREE, "waits for step 1", |state| step(state, 2).status = StepStatus::Completed);
    let done = "new cart; add design; task start; step start 1; step complete 1";
    is_refused(done, "was completed and cannot become pending", |state| {
        step(state, 1).status = StepStatus::Pending;
    });
}

#[test]
fn a_failure_is_taken_up_with_its_class_and_reason() {
    let started = "new cart; add design; task start; step start 1";
    let fail = |class: &str| {
        let error = crate::document::memory::StepError {
            class: class.into(),
            message: "no network".into(),
            timestamp: None,
            retries: 0,
        };
        move |state: &mut TaskState| {
            step(state, 1).status = StepStatus::Failed;
            step(state, 1).error = Some(error);
        }
    };
    let walk = taken(started, fail("validation"));
    assert_eq!(walk.step(1).error.as_ref().unwrap().class, "validation");
    assert!(walk.kept().clock(1).not_before.is_some());
    is_refused(started, "which is no class", fail("bad luck"));
    // Trying again keeps its time.
    let failed = "new cart; add design; task start; step start 1; step fail 1";
    is_refused(failed, "not tried again before", |state| {
        step(state, 1).status = StepStatus::InProgress;
    });
    let walk = taken(&format!("{failed}; wait 2"), |state| {
        step(state, 1).status = StepStatus::InProgress;
    });
    assert_eq!(walk.step(1).retries, 1);
    is_refused(&format!("{failed}; step escalate 1"), "reserved for a person", |state| {
        step(state, 1).status = StepStatus::InProgress;
    });
}

#[test]
fn steps_are_added_changed_and_taken_out_while_they_have_not_begun() {
    let walk = taken(THREE, |state| {
        let new =
            Step { id: 9, name: "ship".into(), dependencies: vec![3], ..step(state, 3).clone() };
        task(state).plan.steps.push(new);
        step(state, 3).name = "test all".into();
        step(state, 3).agent = Some("tester".into());
    });
    assert_eq!(walk.step(9).dependencies, [3]);
    assert_eq!(
        (walk.step(3).name.as_str(), walk.step(3).agent.as_deref()),
        ("test all", Some("tester"))
    );
    let walk = taken(THREE, |state| task(state).plan.steps.retain(|step| step.id != 3));
    assert_eq!(walk.kept().task.plan.steps.len(), 2);
    is_refused(THREE, "waits for step 1", |state| task(state).plan.steps.retain(|it| it.id != 1));
    let done = "new cart; add design; task start; step start 1; step complete 1";
    is_refused(done, "what has begun stays", |state| task(state).plan.steps.clear());
    is_refused(THREE, "the id of step 3 was changed to 7", |state| step(state, 3).id = 7);
}

#[test]
fn what_a_task_says_is_taken_up_and_times_are_ours() {
    let walk = taken(THREE, |state| {
        let task = task(state);
        task.context.insert("user_request".into(), Json::from("a cart"));
        task.plan.goal = "sell".into();
        task.plan.success_criteria = vec!["it sells".into()];
        task.name = "the cart".into();
        task.updated_at = None;
        task.plan.current_step = Some(3);
        step(state, 1).output = Json::from("notes");
    });
    let task = &walk.kept().task;
    assert_eq!((task.name.as_str(), task.plan.goal.as_str()), ("the cart", "sell"));
    assert_eq!(task.context.get("user_request"), Some(&Json::from("a cart")));
    assert_eq!(walk.step(1).output, Json::from("notes"));
    assert_eq!(task.plan.current_step, Some(1));
    assert!(task.updated_at.is_some());
}

#[test]
fn a_task_is_moved_as_the_picture_has_it() {
    let walk = taken("new cart", |state| task(state).status = MemoryTaskStatus::InProgress);
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::InProgress);
    let walk =
        taken("new cart; task start", |state| task(state).status = MemoryTaskStatus::Completed);
    assert_eq!(walk.memory.history().entries()[0].result, TaskResult::Success);
    is_refused(THREE, "not completed", |state| task(state).status = MemoryTaskStatus::Completed);
    is_refused(THREE, "cannot become pending", |state| {
        task(state).status = MemoryTaskStatus::Pending;
    });
    is_refused(THREE, "was taken out", |state| state.current_task = None);
    is_refused(THREE, "the id of the current task", |state| {
        task(state).id = "task-2026-11-17-009".parse().unwrap();
    });
    let two = "new one; new two; new three; task start";
    is_refused(two, "was taken out of the tasks that wait", |state| state.pending_tasks.clear());
    is_refused(two, "in the order in which they were made", |state| state.pending_tasks.reverse());
    let walk = taken(two, |state| state.pending_tasks[0].status = MemoryTaskStatus::Cancelled);
    assert_eq!(walk.memory.pending().len(), 1);
}

#[test]
fn a_task_that_an_agent_writes_is_made_with_its_steps() {
    let new = |id: &str, state: &mut TaskState| {
        let text = format!(
            r#"{{"id":"{id}","name":"new","status":"in_progress","plan":{{"goal":"g","steps":[
            {{"id":1,"name":"one","status":"completed"}},{{"id":2,"name":"two","dependencies":[1]}}]}},
            "context":{{"user_request":"r"}}}}"#
        );
        state.current_task = Some(serde_json::from_str(&text).unwrap());
    };
    let walk = taken("open", |state| new("task-2026-11-17-004", state));
    assert_eq!(walk.step_statuses(), [StepStatus::Completed, StepStatus::Pending]);
    assert_eq!(walk.kept().task.status, MemoryTaskStatus::InProgress);
    let mut walk = walk;
    walk.give("new next").unwrap();
    assert_eq!(walk.memory.pending()[0].task.id.as_str(), "task-2026-11-17-005");
    let ended = "new cart; task cancel";
    is_refused(ended, "was used before", |state| new("task-2026-11-17-001", state));
    is_refused("open", "none of today's ids", |state| new("task-2025-01-01-001", state));
    is_refused("open", "none of today's ids", |state| new("task-2026-11-17-999999", state));
}

#[test]
fn the_history_is_not_rewritten_but_an_entry_may_end_a_task() {
    let walk = Walk::of("record run/1; open; new cart; task start");
    let base = walk.memory.render_history().unwrap();
    let translate = |edited| translate_history(&walk.memory, &base, &edited);
    let mut changed = base.clone();
    changed.tasks[0].lessons.clear();
    let mut gone = base.clone();
    gone.tasks.clear();
    let mut counted = base.clone();
    counted.statistics.total_tasks = 7;
    let mut foreign = base.clone();
    let mut entry = base.tasks[0].clone();
    entry.id = "task-2026-11-17-090".parse().unwrap();
    foreign.tasks.push(entry.clone());
    for (edited, reason) in [
        (changed, "task-2026-11-17-001 was changed"),
        (gone, "task-2026-11-17-001 was taken out"),
        (counted, "the statistics are counted"),
        (foreign, "is no task that could end"),
    ] {
        let refused = translate(edited).unwrap_err();
        assert!(refused[0].message.contains(reason), "{reason}: {refused:?}");
    }
    let mut ended = base.clone();
    entry.id = "task-2026-11-17-002".parse().unwrap();
    entry.summary = "an agent says so".into();
    ended.tasks.push(entry);
    let commands = translate(ended).unwrap();
    let mut walk = Walk::of("record run/1; open; new cart; task start");
    let agent = Actor::Agent { id: "T1".into(), attempt: 1 };
    commands.iter().for_each(|it| drop(walk.command(&agent, it).unwrap()));
    let entry = walk.memory.history().entries().last().unwrap();
    assert_eq!(
        (entry.id.as_str(), entry.summary.as_str()),
        ("task-2026-11-17-002", "an agent says so")
    );
}
