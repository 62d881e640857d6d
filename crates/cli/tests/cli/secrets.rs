//! What was declared as secret reaches no file, whichever process prints it and however.

use crate::{
    agents::{bodies, left, one},
    canary::Canary,
    harness::{Project, USER_CONFIG},
};
use serde_json::json;
use std::path::Path;

/// Prints the variable in every way that a shell has at hand.
const TELL: &str = "printf '%s\\n' \"$CANARY_VALUE\"; printf '%s' \"$CANARY_VALUE\" | base64 -w0; echo; \
                    printf 'user:%s' \"$CANARY_VALUE\" | base64 -w0; echo; \
                    printf '%s' \"$CANARY_VALUE\" | od -An -v -tx1 | tr -d ' \\n'; echo; \
                    printf '%s\\n' \"$CANARY_VALUE\" >&2; printf '%.20s' \"$CANARY_VALUE\" >&2; \
                    printf '%s\\n' \"${CANARY_VALUE#????????????????????}\" >&2";

fn declared(project: &Project) {
    project.write("waypost.toml", "[run]\nenvironment = [\"CANARY_VALUE\"]\n");
}

#[test]
fn a_shell_task_does_not_write_down_what_it_was_given() {
    let canary = Canary::new("shell");
    let project = Project::git()
        .variable("WAYPOST_RUN_ISOLATION", "none")
        .variable("CANARY_VALUE", &canary.value);
    declared(&project);
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Tell\n  - run: sh tell.sh\n";
    project.write("TASKS.md", tasks);
    project.write("tell.sh", TELL);
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    let log = std::fs::read_to_string(project.journal().join("logs/T1.1/1.log")).unwrap();
    assert!(log.matches("[redacted]").count() >= 5, "{log}");
    canary.assert_in_no_file(&project, &[]);
}

#[test]
fn an_agent_does_not_write_down_what_it_was_given() {
    let canary = Canary::new("agent");
    let steps = json!([{"run": "sh tell.sh"}, {"done": "told"}]);
    let project = one(&[steps]).variable("CANARY_VALUE", &canary.value);
    declared(&project);
    project.write("tell.sh", TELL);
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    let stream = project.journal().join("logs/T1.1/1.claude.jsonl");
    let stream = std::fs::read_to_string(stream).unwrap();
    assert!(stream.contains("[redacted]"), "{stream}");
    assert!(stream.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    assert_eq!(bodies(&project, "attempt_accounted").len(), 1);
    // The program's own memory is its own.
    let own = project.base().join("sessions");
    canary.assert_in_no_file(&project, &[own.as_path()]);
    assert!(left(&project).is_empty());
}

#[test]
fn a_plain_agent_works_and_tells_nothing_either() {
    let canary = Canary::new("plain");
    let steps = json!([{"say": "I begin."}, {"run": "sh tell.sh"}, {"done": "told"}]);
    let project = one(&[steps]).variable("CANARY_VALUE", &canary.value);
    declared(&project);
    project.write("tell.sh", TELL);
    let config = project.read(USER_CONFIG).replace("\"claude\"", "\"plain\"");
    project.write(USER_CONFIG, &config);
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    let stream = project.journal().join("logs/T1.1/1.plain.jsonl");
    let stream = std::fs::read_to_string(stream).unwrap();
    assert!(stream.contains("[redacted]") && stream.contains("DONE:T1.1"), "{stream}");
    canary.assert_in_no_file(&project, &[Path::new("/nowhere")]);
    assert!(left(&project).is_empty());
}
