//! Damage: the journal first, then the file before, then a new beginning; nothing is ever deleted.

use super::*;
use std::fs;

const DAMAGES: [(&str, &[u8]); 4] = [
    ("empty", b""),
    ("cut short", b"{\"version\": 1, \"proj"),
    ("zeros", &[0; 64]),
    ("not text", b"\xff\xfe\x00{"),
];

fn names(project: &Project) -> Vec<String> {
    let names = fs::read_dir(folder(project)).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_that_cannot_be_read_is_shown_again_from_the_journal() {
    for (name, bytes) in DAMAGES {
        for window in ["session.json", "state.json"] {
            let project = designed();
            let path = file(&project, window);
            let before = project.window(&path);
            fs::write(project.path(&path), bytes).unwrap();
            let ran = project.run("session status");
            assert_eq!(ran.code, 0, "{name}: {ran}");
            assert_eq!(project.window(&path), before, "{name}");
            assert!(ran.stderr.contains("is shown again"), "{name}: {ran}");
        }
    }
}

/// The files of a session without a journal behind them, as an agent of the seed leaves them.
fn without_journal() -> (Project, PathBuf) {
    let project = tested();
    let folder = folder(&project);
    fs::remove_dir_all(project.journal()).unwrap();
    fs::remove_dir_all(project.home().join(".local/state/waypost")).unwrap();
    (project, folder)
}

#[test]
fn files_without_a_journal_are_taken_over() {
    let (project, folder) = without_journal();
    let ran = project.run("session status");
    assert!(ran.stderr.contains("has no journal behind it"), "{ran}");
    let begun = project.json("session start");
    assert_eq!(begun["taken_over"].as_array().unwrap().len(), 2, "{begun}");
    assert!(folder.join("state.json").exists());
    // A file says what it likes: from an agent's hand its gates are judged again, on the same contracts.
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-1"], "pending");
    assert_eq!(project.json("session next")["command"], "waypost session gate check");
    project.must("session gate check");
    assert_eq!(phase(&project, "T1-S1"), "implementation");
    assert_eq!(subtask(&project, "T1-S1")["gates"]["GATE-1"], "passed");
    implement(&project, "T1-S1", true);
    project.must("session gate check");
    assert_eq!(phase(&project, "T1-S1"), "verification");
    project.must("session request more --stop-current");
    assert_eq!(state(&project)["request"]["id"], "R2");
}

#[test]
fn without_a_journal_the_file_before_is_taken_and_the_bad_one_kept() {
    let (project, folder) = without_journal();
    let path = folder.join("state.json");
    assert!(folder.join("state.json.bak").exists());
    fs::write(&path, b"{").unwrap();
    let ran = project.run("session start");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("state.json.bak is taken"), "{ran}");
    assert_eq!(fs::read(folder.join("state.json.corrupt-1")).unwrap(), b"{");
    assert_eq!(state(&project)["request"]["id"], "R1");
}

#[test]
fn where_nothing_can_be_read_a_new_beginning_is_offered() {
    let (project, folder) = without_journal();
    for name in ["session.json", "session.json.bak"] {
        fs::write(folder.join(name), b"{").unwrap();
    }
    let ran = project.run("session start");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("next: waypost session start --new"), "{ran}");
    assert_eq!(fs::read(folder.join("session.json")).unwrap(), b"{");
    project.must("session start --new");
    assert_eq!(fs::read(folder.join("session.json.corrupt-1")).unwrap(), b"{");
    assert!(names(&project).iter().any(|name| name == "state.json.corrupt-1"));
    // The contracts are still there, and their number is not given out again.
    project.must("session request more");
    assert_eq!(state(&project)["request"]["id"], "R2");
}

#[test]
fn a_state_of_version_1_is_told_with_its_field_and_offered_anew() {
    let (project, folder) = without_journal();
    for name in ["state.json", "state.json.bak"] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        fs::write(folder.join(name), text.replace("\"version\": 2", "\"version\": 1")).unwrap();
    }
    let ran = project.run("session start");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("version") && ran.stderr.contains("--new"), "{ran}");
    project.must("session start --new");
    assert_eq!(project.json("session status")["state"], Value::Null);
}

#[test]
fn a_state_of_version_1_is_refused_where_a_journal_is() {
    let project = designed();
    let path = file(&project, "state.json");
    let before = project.read(&path);
    project.replace(&path, "\"version\": 2", "\"version\": 1");
    let edited = project.read(&path);
    let ran = project.run(&format!("validate {path}"));
    assert_eq!(ran.code, 2, "{ran}");
    for words in [&format!("{path}:2:14"), "at version", "expected 2"] {
        assert!(ran.stderr.contains(words), "{words}: {ran}");
    }
    assert_eq!(project.read(&path), edited, "it is only looked at");
    let ran = project.must("session status");
    assert!(ran.stderr.contains("was refused: line 2, column 14"), "{ran}");
    assert!(ran.stderr.contains("expected 2"), "{ran}");
    assert_eq!(project.read(&path), before, "the present state is shown again");
    assert_eq!(project.json("inbox")[0]["kind"], "refused_edit");
    let kept = fs::read_dir(project.journal().join("refused")).unwrap();
    let kept: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
    assert!(kept.iter().any(|path| fs::read_to_string(path).unwrap() == edited), "{kept:?}");
    project.must(&format!("validate {path}"));
}

#[test]
fn what_forged_files_say_to_be_done_is_not_done() {
    let (project, folder) = without_journal();
    let path = folder.join("state.json");
    let mut forged: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    forged["request"]["status"] = "completed".into();
    forged["request"]["global_phase"] = "complete".into();
    forged["request"]["current_task"] = Value::Null;
    for (task, subtasks) in [("T1", &["T1-S1", "T1-S2"][..]), ("T2", &["T2-S1"])] {
        forged["tasks"][task]["status"] = "completed".into();
        forged["tasks"][task]["current_subtask"] = Value::Null;
        for id in subtasks {
            let subtask = &mut forged["tasks"][task]["subtasks"][id];
            subtask["status"] = "completed".into();
            subtask["phase"] = "complete".into();
            for gate in ["GATE-1", "GATE-2", "GATE-3", "GATE-4"] {
                subtask["gates"][gate] = "passed".into();
            }
        }
    }
    fs::write(&path, forged.to_string()).unwrap();
    let path = folder.join("session.json");
    let mut session: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    session["current_task"] = Value::Null;
    fs::write(&path, session.to_string()).unwrap();
    let ran = project.must("session start");
    assert!(ran.stderr.contains("is judged again"), "{ran}");
    let state = state(&project);
    assert_eq!(state["request"]["status"], "active", "{state}");
    for id in ["T1-S2", "T2-S1"] {
        let shown = subtask(&project, id);
        assert_eq!(
            (&shown["status"], &shown["gates"]["GATE-2"]),
            (&"pending".into(), &"pending".into())
        );
    }
    assert_ne!(project.json("session next")["what"], "done");
}

#[test]
fn doctor_names_documents_that_cannot_be_read_and_what_they_said_before() {
    let project = designed();
    for number in [7, 8] {
        let text = design("T1", number);
        assert_eq!(project.run_with_input("contract put design-contract --task T1", &text).code, 0);
    }
    project.must("knowledge add pattern testing JUnit");
    project.must("knowledge add pattern naming camel");
    let knowledge = project.json("knowledge show")["path"].as_str().unwrap().to_owned();
    put(&project, "T1/design-contract.yaml", "version: [\n");
    fs::write(&knowledge, "version: [\n").unwrap();
    let found = project.run("doctor");
    assert_eq!(found.code, 1, "{found}");
    for name in ["T1/design-contract.yaml is not valid", "knowledge.yaml is not valid"] {
        let line = found.stdout.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {found}"));
        let kept = line.rsplit("is kept as ").next().unwrap().trim();
        assert!(project.path(kept).is_file(), "{line}");
    }
    assert!(found.stdout.contains("waypost validate "), "{found}");
}
