//! The table of edits of `docs/windows.md`: each row.

use super::{learning::finish, *};

const SESSION: &str = "session.json";
const STATE: &str = "state.json";

/// An edit of one of the files by an agent; whether it was taken up, and what was said.
fn edit(project: &Project, name: &str, change: impl FnOnce(&mut Value)) -> (bool, String) {
    let before = events_of(project);
    project.edit(&file(project, name), change);
    let ran = project.run("session status");
    assert_eq!(ran.code, 0, "{ran}");
    let is_refused = ran.stderr.contains("was refused");
    assert!(is_refused || events_of(project) >= before, "{ran}");
    (!is_refused, ran.stderr)
}

fn events_of(project: &Project) -> usize {
    project.log().into_iter().filter(|it| it["stream"] == "session").count()
}

#[track_caller]
fn taken_up(project: &Project, name: &str, change: impl FnOnce(&mut Value)) {
    let (is_taken, said) = edit(project, name, change);
    assert!(is_taken, "{said}");
}

#[track_caller]
fn refused(project: &Project, name: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let path = file(project, name);
    let before = project.read(&path);
    let (is_taken, said) = edit(project, name, change);
    assert!(!is_taken && said.contains(words), "{said}");
    assert_eq!(project.read(&path), before, "the present state is shown again");
    assert_eq!(project.json("inbox")[0]["kind"], "refused_edit");
}

#[test]
fn names_and_the_manifest_are_taken_up() {
    let project = designed();
    taken_up(&project, SESSION, |it| it["project"]["name"] = "basket".into());
    taken_up(&project, SESSION, |it| it["manifest"]["agents_md"] = "/x/AGENTS.md".into());
    taken_up(&project, STATE, |it| it["tasks"]["T1"]["name"] = "the cart".into());
    taken_up(&project, STATE, |it| it["tasks"]["T1"]["subtasks"]["T1-S1"]["name"] = "put".into());
    let session = project.window(&file(&project, SESSION));
    assert_eq!(session["project"]["name"], "basket");
    assert_eq!(session["manifest"]["agents_md"], "/x/AGENTS.md");
    assert_eq!(state(&project)["tasks"]["T1"]["name"], "the cart");
    assert_eq!(subtask(&project, "T1-S1")["name"], "put");
}

#[test]
fn statuses_are_taken_up_where_a_command_does_the_same() {
    let project = designed();
    taken_up(&project, SESSION, |it| it["status"] = "stopped".into());
    assert_eq!(state(&project)["request"]["status"], "stopped");
    project.must("session resume");
    assert_eq!(state(&project)["request"]["status"], "active");
    let project = designed();
    taken_up(&project, STATE, |it| it["request"]["status"] = "stopped".into());
    assert_eq!(project.window(&file(&project, SESSION))["status"], "stopped");
    // That is what an earlier rendering said, and no edit.
    let (_, said) = edit(&project, STATE, |it| it["request"]["status"] = "active".into());
    assert!(said.contains("was put back"), "{said}");
    project.must("session resume");
    refused(&project, SESSION, "is not complete", |it| it["status"] = "completed".into());
}

#[test]
fn what_lacks_a_contract_goes_back_by_an_edit_as_by_a_command() {
    let project = designed();
    project.must("session stop");
    std::fs::remove_file(project.path(&file(&project, "contracts/R1/T1/design-contract.yaml")))
        .unwrap();
    taken_up(&project, SESSION, |it| {
        it["status"] = "active".into();
        it["project"]["name"] = "basket".into();
    });
    assert_eq!(state(&project)["tasks"]["T1"]["current_subtask"], Value::Null);
    assert_eq!(project.json("session next")["calls"][0]["call"], "design/T1");
}

#[test]
fn a_session_that_was_stopped_goes_on_by_an_edit_that_no_rendering_said_before() {
    let project = designed();
    project.must("session stop");
    taken_up(&project, SESSION, |it| {
        it["status"] = "active".into();
        it["project"]["name"] = "basket".into();
    });
    let session = project.window(&file(&project, SESSION));
    assert_eq!(
        (&session["status"], &session["project"]["name"]),
        (&"active".into(), &"basket".into())
    );
    assert_eq!(state(&project)["request"]["status"], "active");
    assert_eq!(events(&project, "resumed").len(), 1);
    assert_eq!(project.json("session next")["calls"][0]["call"], "tests/T1-S1");
}

#[test]
fn a_session_is_completed_by_an_edit_where_its_request_is_and_stays_so() {
    let project = designed();
    finish(&project);
    taken_up(&project, SESSION, |it| it["status"] = "completed".into());
    assert_eq!(project.window(&file(&project, SESSION))["status"], "completed");
    assert_eq!(events(&project, "completed").len(), 1);
    refused(&project, SESSION, "what is over stays over", |it| {
        it["status"] = "active".into();
        it["project"]["name"] = "basket".into();
    });
    refused(&project, SESSION, "what is over stays over", |it| it["status"] = "stopped".into());
}

#[test]
fn phases_and_gates_need_evidence() {
    let project = designed();
    refused(&project, STATE, "needs evidence", |it| {
        it["tasks"]["T1"]["subtasks"]["T1-S1"]["gates"]["GATE-1"] = "passed".into();
    });
    refused(&project, STATE, "moves by its gates", |it| {
        it["tasks"]["T1"]["subtasks"]["T1-S1"]["phase"] = "implementation".into();
    });
    refused(&project, STATE, "moves by its gates", |it| {
        it["tasks"]["T1"]["subtasks"]["T1-S1"]["phase"] = "complete".into();
        it["tasks"]["T1"]["subtasks"]["T1-S1"]["status"] = "completed".into();
    });
    refused(&project, STATE, "the phase of the request", |it| {
        it["request"]["global_phase"] = "complete".into();
    });
    refused(&project, STATE, "which need evidence", |it| {
        it["tasks"]["T1"]["status"] = "completed".into();
    });
    refused(&project, STATE, "begins when those before it", |it| {
        it["tasks"]["T2"]["status"] = "in_progress".into();
    });
    for (id, status, words) in [
        ("T1-S1", "completed", "a subtask is completed when its phase is complete"),
        ("T1-S1", "pending", "T1-S1 has begun, and that stays"),
        ("T1-S2", "in_progress", "T1-S2 begins when those before it"),
    ] {
        refused(&project, STATE, words, |it| {
            it["tasks"]["T1"]["subtasks"][id]["status"] = status.into();
        });
    }
}

#[test]
fn ids_orders_and_history_stay() {
    let project = designed();
    refused(&project, SESSION, "where the project is", |it| it["project"]["path"] = "/x".into());
    refused(&project, SESSION, "where the project is", |it| {
        it["project"]["hash"] = "00000000".into();
    });
    refused(&project, SESSION, "when the session began", |it| {
        it["created_at"] = "2020-01-01T00:00:00Z".into();
    });
    refused(&project, SESSION, "current task", |it| it["current_task"] = "T2".into());
    refused(&project, STATE, "current task", |it| it["request"]["current_task"] = "T2".into());
    refused(&project, STATE, "the id of the request", |it| it["request"]["id"] = "R9".into());
    refused(&project, STATE, "what was requested", |it| {
        it["request"]["original_request"] = "less".into();
    });
    refused(&project, STATE, "order of the tasks", |it| it["task_order"] = ["T2", "T1"].into());
    refused(&project, STATE, "comes next", |it| {
        it["tasks"]["T1"]["current_subtask"] = "T1-S2".into();
    });
    refused(&project, STATE, "when T1 was planned", |it| {
        it["tasks"]["T1"]["created_at"] = "2020-01-01T00:00:00Z".into();
    });
    refused(&project, STATE, "T2 was taken out", |it| {
        it["tasks"].as_object_mut().unwrap().remove("T2");
    });
    refused(&project, STATE, "is not in the plan", |it| {
        let task = it["tasks"]["T2"].clone();
        it["tasks"]["T3"] = serde_json::json!({
            "name": task["name"], "status": "pending", "subtasks": {}, "subtask_order": []
        });
        it["task_order"] = ["T1", "T2", "T3"].into();
    });
    refused(&project, STATE, "T1-S2 was taken out", |it| {
        it["tasks"]["T1"]["subtasks"].as_object_mut().unwrap().remove("T1-S2");
        it["tasks"]["T1"]["subtask_order"] = ["T1-S1"].into();
    });
    refused(&project, STATE, "T1-S3 is not in the plan", |it| {
        let subtask = it["tasks"]["T1"]["subtasks"]["T1-S2"].clone();
        it["tasks"]["T1"]["subtasks"]["T1-S3"] = subtask;
        it["tasks"]["T1"]["subtask_order"] = ["T1-S1", "T1-S2", "T1-S3"].into();
    });
    refused(&project, STATE, "which subtask of T1 comes next is the plan's", |it| {
        it["tasks"]["T1"]["subtask_order"] = ["T1-S2", "T1-S1"].into();
    });
    refused(&project, STATE, "mood", |it| it["mood"] = "good".into());
    // Times of Waypost's own are passed over, and shown again.
    taken_up(&project, SESSION, |it| it["updated_at"] = "2030-01-01T00:00:00Z".into());
    assert_ne!(project.window(&file(&project, SESSION))["updated_at"], "2030-01-01T00:00:00Z");
    let before = state(&project);
    taken_up(&project, STATE, |it| {
        it["tasks"]["T1"]["updated_at"] = "2030-01-01T00:00:00Z".into();
    });
    assert_eq!(state(&project), before);
}

#[test]
fn one_that_is_no_json_is_kept_beside_its_place_and_the_journal_shown() {
    let project = designed();
    for name in [SESSION, STATE] {
        let path = file(&project, name);
        let before = project.read(&path);
        project.write(&path, "mood: good\n");
        let ran = project.must("session status");
        assert!(ran.stderr.contains(&format!("{name}.corrupt-1")), "{ran}");
        assert_eq!(project.read(&format!("{path}.corrupt-1")), "mood: good\n");
        assert_eq!(project.read(&path), before, "{name}");
    }
}

#[test]
fn a_file_that_is_gone_is_made_when_something_is_new_and_never_by_a_look() {
    let project = designed();
    let (session, shown) = (file(&project, SESSION), file(&project, STATE));
    for path in [&session, &shown] {
        std::fs::remove_file(project.path(path)).unwrap();
    }
    for line in ["session status", "session list", "status", "session show"] {
        project.must(line);
        assert!(!project.path(&session).exists() && !project.path(&shown).exists(), "{line}");
    }
    write_tests(&project, "T1-S1");
    project.must("session gate check");
    assert!(project.path(&session).exists() && project.path(&shown).exists());
    assert_eq!(phase(&project, "T1-S1"), "implementation");
    // Neither counts as a file of the project's.
    assert_eq!(project.git_command("status --porcelain -- .claude"), "");
}
