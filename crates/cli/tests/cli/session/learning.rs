//! What a session leaves as knowledge, and what agents are told of it.

use super::{running::with_agents, *};
use crate::apart::run;
use std::fs;

/// Brings a request to its end, subtask by subtask.
pub(super) fn finish(project: &Project) {
    for (task, subtasks) in [("T1", &["T1-S1", "T1-S2"][..]), ("T2", &["T2-S1"])] {
        put(project, &format!("{task}/design-contract.yaml"), &design(task, 1));
        for id in subtasks {
            project.must("session next");
            if phase(project, id) == "test_first" {
                write_tests(project, id);
                project.must("session gate check");
            }
            implement(project, id, true);
            project.must("session gate check");
            write_result(project, id, "pass", None);
            project.must("session gate check");
        }
    }
    assert_eq!(project.json("session next")["what"], "done");
}

fn known(project: &Project) -> String {
    project.must("knowledge show").stdout
}

#[test]
fn what_a_person_has_written_beside_the_knowledge_stays() {
    let project = requested();
    project.must("knowledge add decision Store SQLite");
    let folder = project.path(".claude/orchestrator/knowledge");
    let folder = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let path = folder.join("knowledge.yaml");
    let text = format!("# ours\n{}# the end\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, text).unwrap();
    project.must("knowledge add pitfall 'the cart counts from one'");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# ours\n") && text.contains("# the end\n"), "{text}");
    assert!(text.contains("SQLite") && text.contains("counts from one"), "{text}");
}

#[test]
fn a_result_that_no_gate_has_judged_teaches_nothing() {
    let project = designed();
    write_result(&project, "T1-S1", "pass", None);
    assert_eq!(project.json("knowledge learn"), Value::Array(Vec::new()));
    assert!(!known(&project).contains("INV-1"));
}

#[test]
fn the_end_of_a_request_teaches_what_held_and_what_did_not_at_first() {
    let project = tested();
    project.write("other/a.txt", "x\n");
    assert_eq!(project.run("session gate check").code, 1);
    fs::remove_file(project.path("other/a.txt")).unwrap();
    assert!(!known(&project).contains("other/a.txt"), "it has not held yet");
    finish(&project);
    let known = project.json("knowledge show").to_string();
    assert!(known.contains("GATE-3") && known.contains("other/a.txt"), "{known}");
    assert!(known.contains("R1:T1-S1") && known.contains("it counts"), "{known}");
    // It stands on the files of its subtask, so that it is told where these are worked on.
    let entries = project.log().into_iter().filter(|it| it["stream"] == "knowledge");
    let mut entries = entries.map(|it| it.to_string());
    let is_grounded = |it: String| it.contains("GATE-3") && it.contains("tests/t_t1_s1.sh");
    assert!(entries.any(is_grounded), "{:?}", project.log());
    assert_eq!(project.json("knowledge learn"), Value::Array(Vec::new()), "it is learned once");
}

/// What the agent of a call was told, as it is kept beside its log.
fn brief_of(project: &Project, call: &str) -> String {
    let mut found = Vec::new();
    let mut folders = vec![project.journal()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().ends_with("brief.log") => {
                    found.extend(fs::read_to_string(path));
                }
                false => {}
            }
        }
    }
    let of = |text: &String| text.contains(&format!("TASK_ID: {call}"));
    found.into_iter().find(of).unwrap_or_else(|| panic!("no brief of {call}"))
}

#[test]
fn a_call_is_told_what_is_known_about_its_own_files_first() {
    let project = with_agents(|_, _| {});
    project.write("src/other.sh", "true\n");
    project.git_command("add -A src");
    project.git_command("commit -q -m other");
    project.must("knowledge add pitfall 'the cart counts from one' --file src/cart.sh");
    let long = "and so on ".repeat(60);
    for number in 0..14 {
        let pitfall = format!("other {number} {long}");
        project.must(&format!("knowledge add pitfall '{pitfall}' --file src/other.sh"));
    }
    run(&project, "session run", 0, &[]);
    // By what was explored, and then by what the brief covers.
    for call in ["brief-T1", "design-T1", "implement-T1-S1"] {
        let told = brief_of(&project, call);
        let place = told.find("the cart counts from one");
        let other = told.find("other 0 and so on").unwrap_or(usize::MAX);
        assert!(place.is_some_and(|place| place < other), "{call}: {told}");
    }
    // With work trees the request is complete when all is merged, and teaches then.
    assert!(known(&project).contains("it counts"), "{}", known(&project));
}
