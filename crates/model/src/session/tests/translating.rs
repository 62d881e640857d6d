//! Edits of both files, and what they mean.

use super::*;
use crate::document::{Document as _, session::SessionFile, session::SessionState};

fn check_session(script: &str, edit: impl FnOnce(&mut SessionFile), expected: Result<&str, &str>) {
    let walk = Walk::of(script);
    let base = walk.session.render_session().unwrap();
    let mut edited = base.clone();
    edit(&mut edited);
    told(translate_session(&base, &edited), expected);
}

fn check_state(script: &str, edit: impl FnOnce(&mut SessionState), expected: Result<&str, &str>) {
    let walk = Walk::of(script);
    let base = walk.session.render_state().unwrap();
    assert!(base.check().is_empty(), "{:?}", base.check());
    let mut edited = base.clone();
    edit(&mut edited);
    told(translate_state(&base, &edited), expected);
}

fn told(translated: Result<Vec<Command>, Vec<Rejected>>, expected: Result<&str, &str>) {
    let told = translated
        .map(|commands| commands.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join("; "))
        .map_err(|refused| refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    match (&told, expected) {
        (Ok(told), Ok(expected)) | (Err(told), Err(expected)) => {
            assert!(told.contains(expected), "{told} does not say {expected}");
            assert!(!expected.is_empty() || told.is_empty(), "{told}");
        }
        _ => panic!("{told:?} instead of {expected:?}"),
    }
}

#[test]
fn edits_of_the_session() {
    use crate::document::session::SessionStatus::{Active, Completed, Stopped};
    check_session("start", |_| {}, Ok(""));
    check_session("start", |it| it.updated_at = Time::from_millis(0).into(), Ok(""));
    check_session("start", |it| it.project.name = "basket".into(), Ok("basket"));
    check_session(
        "start",
        |it| it.manifest.claude_md = Some("/x/CLAUDE.md".into()),
        Ok("CLAUDE.md"),
    );
    check_session("start", |it| it.status = Stopped, Ok("Stop"));
    check_session("start", |it| it.status = Completed, Ok("Complete"));
    check_session("start; stop", |it| it.status = Active, Ok("Resume"));
    check_session("start; complete", |it| it.status = Active, Err("what is over"));
    check_session("start", |it| it.project.path = "/other".into(), Err("where the project is"));
    check_session(
        "start",
        |it| it.created_at = Time::from_millis(0).into(),
        Err("when the session"),
    );
    check_session(PLANNED, |it| it.current_task = None, Err("current task"));
}

#[test]
fn edits_of_the_state() {
    use crate::document::session::{GateStatus, GlobalPhase, SessionStatus};
    let task = |state: &mut SessionState, edit: fn(&mut crate::document::session::SessionTask)| {
        edit(state.tasks.get_mut("T1").unwrap());
    };
    check_state(TEST_FIRST, |_| {}, Ok(""));
    check_state(TEST_FIRST, |it| task(it, |task| task.name = "basket".into()), Ok("basket"));
    check_state(
        TEST_FIRST,
        |it| task(it, |task| task.subtasks.get_mut("T1-S1").unwrap().name = "put".into()),
        Ok("put"),
    );
    check_state(TEST_FIRST, |it| it.request.status = SessionStatus::Stopped, Ok("Stop"));
    check_state(
        TEST_FIRST,
        |it| {
            task(it, |task| {
                task.subtasks.get_mut("T1-S1").unwrap().phase = SubtaskPhase::Implementation;
            });
        },
        Err("the phase of T1-S1 moves by its gates"),
    );
    check_state(
        TEST_FIRST,
        |it| {
            task(it, |task| {
                let gates = &mut task.subtasks.get_mut("T1-S1").unwrap().gates;
                gates.tests_written = Some(GateStatus::Passed);
            });
        },
        Err("a gate of T1-S1 needs evidence"),
    );
    check_state(TEST_FIRST, |it| task(it, |task| task.status = Status::Completed), Err("evidence"));
    check_state(PLANNED, |it| it.request.global_phase = GlobalPhase::Complete, Err("the phase"));
    check_state(PLANNED, |it| it.request.id = "R7".parse().unwrap(), Err("the id of the request"));
    check_state(PLANNED, |it| it.request.original_request = "x".into(), Err("what was requested"));
    check_state(PLANNED, |it| it.request.current_task = None, Err("current task"));
    check_state(PLANNED, |it| it.task_order.reverse(), Err("the order of the tasks"));
    check_state(PLANNED, |it| drop(it.tasks.remove("T2")), Err("T2 was taken out"));
    check_state(
        PLANNED,
        |it| {
            let task = it.tasks.get("T2").unwrap().clone();
            it.tasks.insert("T3".parse().unwrap(), task);
        },
        Err("T3 is not in the plan"),
    );
    check_state(PLANNED, |it| task(it, |task| task.subtask_order.reverse()), Err("comes next"));
    let late = |task: &mut crate::document::session::SessionTask| {
        task.updated_at = Some(Time::from_millis(0).into());
    };
    check_state(TEST_FIRST, |it| task(it, late), Ok(""));
}

#[test]
fn a_status_of_a_subtask_follows_from_its_gates_alone() {
    for (id, status, why) in [
        ("T1-S1", Status::Completed, "T1-S1 is completed by its gates"),
        ("T1-S1", Status::Pending, "T1-S1 has begun, and that stays"),
        ("T1-S2", Status::InProgress, "T1-S2 begins when those before it"),
    ] {
        check_state(
            TEST_FIRST,
            |it| {
                let task = it.tasks.get_mut("T1").unwrap();
                task.subtasks.get_mut(id).unwrap().status = status;
            },
            Err(why),
        );
    }
}

/// What an agent of the seed has written becomes the beginning, also with the gates it leaves out.
#[test]
fn files_of_the_seed_are_taken_over() {
    let walk = Walk::of(VERIFICATION);
    let session = walk.session.render_session().unwrap();
    let mut state = walk.session.render_state().unwrap();
    state.tasks.remove("T2");
    let first = state.tasks.get_mut("T1").unwrap().subtasks.get_mut("T1-S1").unwrap();
    (first.status, first.phase) = (Status::Completed, SubtaskPhase::Complete);
    (first.gates.in_scope, first.gates.design_kept) = (None, None);
    state.tasks.get_mut("T1").unwrap().current_subtask = Some("T1-S2".parse().unwrap());
    let second = state.tasks.get_mut("T1").unwrap().subtasks.get_mut("T1-S2").unwrap();
    (second.status, second.phase) = (Status::InProgress, SubtaskPhase::Implementation);
    let mut taken = Walk::new();
    let command = Command::TakeOver {
        session: Box::new(session),
        state: Some(Box::new(state)),
        base: Some("now".into()),
    };
    taken.command(&Actor::Waypost, &command).unwrap();
    assert_eq!(taken.subtask("T1-S1").gates.in_scope, None);
    assert_eq!(taken.subtask("T1-S2").base.as_deref(), Some("now"));
    assert_eq!(taken.request().tasks.len(), 2);
    taken.all("judge T1-S2 3 ok w; judge T1-S2 4 ok w; judge T1-S2 2 ok w r");
    assert_eq!(taken.request().current().map(|(id, _)| id.as_str()), Some("T2"));
    taken.all("instead list");
    assert_eq!(taken.request().id.as_str(), "R2");
}
