//! The seed's own session, file by file as it stands there: taken over by a command, shown with all that it had, and
//! worked on.

use super::*;
use crate::{contracts::EXAMPLES, harness::BINARY, terminal::no_person_is_here};
use std::fs;

const SESSION: &str = include_str!("../../../../store/tests/fixtures/seeds/004-1-session.json");
const STATE: &str = include_str!("../../../../store/tests/fixtures/seeds/004-2-session-state.json");

/// A project with the files of the seed. Of `session.json` only says where the project is: there it is named by a
/// path that no machine has.
fn with_the_seeds_files() -> Project {
    let project = Project::git();
    let home = folder(&project);
    let mut session: Value = serde_json::from_str(SESSION).unwrap();
    session["project"]["path"] = project.path("").to_str().unwrap().trim_end_matches('/').into();
    session["project"]["hash"] = home.file_name().unwrap().to_str().unwrap().into();
    project.write(&file(&project, "session.json"), &session.to_string());
    project.write(&file(&project, "state.json"), STATE);
    for (path, text) in EXAMPLES {
        project.write(&file(&project, &format!("contracts/{path}")), text);
    }
    project
}

/// What both have in common: whatever the seed says is still said. Times of the last change are Waypost's own.
#[track_caller]
fn has_all_of(shown: &Value, seed: &Value, at: &str) {
    match (shown, seed) {
        (Value::Object(shown), Value::Object(seed)) => {
            for (name, value) in seed.iter().filter(|(name, _)| *name != "updated_at") {
                let at = format!("{at}.{name}");
                has_all_of(shown.get(name).unwrap_or_else(|| panic!("no {at}")), value, &at);
            }
        }
        _ => assert_eq!(shown, seed, "{at}"),
    }
}

/// Contracts are documents: none of them is touched, and each is valid where it stands.
#[track_caller]
fn contracts_are_as_in_the_seed(project: &Project) {
    for (path, text) in EXAMPLES {
        let path = file(project, &format!("contracts/{path}"));
        assert_eq!(fs::read_to_string(project.path(&path)).unwrap(), text, "{path}");
        project.must(&format!("validate {path}"));
        project.must(&format!("contract validate {path}"));
    }
    for name in ["session.json", "state.json"] {
        project.must(&format!("validate {}", file(project, name)));
    }
}

/// `session.json` shows what the seed's own says.
#[track_caller]
fn session_is_as_in_the_seed(project: &Project) {
    let session = project.window(&file(project, "session.json"));
    let mut expected: Value = serde_json::from_str(SESSION).unwrap();
    expected["project"] = session["project"].clone();
    has_all_of(&session, &expected, "session");
    assert_eq!(session["project"]["name"], "my-project");
}

#[test]
fn the_seeds_own_session_is_valid_and_from_an_agents_hand_its_gates_are_judged_again() {
    let project = with_the_seeds_files();
    contracts_are_as_in_the_seed(&project);
    let begun = project.must("session start");
    assert_eq!(begun.stderr.matches("took over").count(), 2, "{begun}");
    assert!(begun.stderr.contains("is judged again"), "{begun}");
    contracts_are_as_in_the_seed(&project);
    session_is_as_in_the_seed(&project);
    let (seed, shown): (Value, Value) = (serde_json::from_str(STATE).unwrap(), state(&project));
    has_all_of(&shown["request"], &seed["request"], "request");
    assert_eq!(shown["task_order"], seed["task_order"]);
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-2"], "pending");
}

#[test]
fn the_seeds_own_session_is_taken_over_shown_and_worked_on() {
    let project = with_the_seeds_files();
    contracts_are_as_in_the_seed(&project);
    if no_person_is_here() {
        return;
    }
    // As it is only by a person: from an agent's hand its gates are judged again.
    let begun = project.at_keyboard(&format!("{BINARY} session start"), "");
    assert_eq!(begun.code, 0, "{begun}");
    assert_eq!(begun.stdout.matches("took over").count(), 2, "{begun}");
    let seed: Value = serde_json::from_str(STATE).unwrap();
    has_all_of(&state(&project), &seed, "state");
    session_is_as_in_the_seed(&project);
    contracts_are_as_in_the_seed(&project);
    // An id that the order names and the map does not is pending, and the work goes on where it was.
    let next = project.json("session next");
    assert_eq!(next["calls"][0]["call"], "implement/T1-S2", "{next}");
    let why = project.must("why T1-S3").stdout;
    assert!(why.contains("it waits for T1-S2"), "{why}");
}
