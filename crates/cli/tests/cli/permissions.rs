//! What agents may do without a person, what a person allows them, and that no answer is lost.

use crate::{
    agents::{bodies, tasks, with},
    execute::status,
    harness::{Project, USER_CONFIG},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::fs;

/// The same project with an agent that asks for everything, as Gemini CLI does.
fn with_acp(ids: &[&str], script: &Value, more: &str) -> Project {
    let project = with(&tasks(ids), script);
    let config = project.read(USER_CONFIG).replace("\"claude\"", "\"acp\"");
    project.write(USER_CONFIG, &format!("{config}{more}"));
    project
}

fn permission(tool: &str, input: &str) -> Value {
    json!({"permission": {"tool": tool, "input": input}})
}

fn inbox(project: &Project) -> Vec<String> {
    let list = project.json("inbox");
    let title = |entry: &Value| entry["title"].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(title).collect()
}

#[test]
fn an_agent_that_asks_for_everything_is_answered_by_its_access_level() {
    let steps = |wish: Value, file: &str| json!([{"steps": [wish, {"write": {"file": file, "text": "x"}}, {"done": "did it"}]}]);
    let script = json!({
        "version": 1, "default": [{"steps": [{"done": "x"}]}],
        "tasks": {
            "T1.1": steps(permission("Write", "one.txt"), "one.txt"),
            "T1.2": steps(permission("Bash", "cargo test --all"), "two.txt"),
            "T1.3": steps(permission("Write", "../outside.txt"), "three.txt"),
            "T1.4": steps(permission("Write", ".git/hooks/pre-commit"), "four.txt"),
            "T1.5": steps(permission("Bash", "cargo test && git push"), "five.txt"),
        }
    });
    let ids = ["T1.1", "T1.2", "T1.3", "T1.4", "T1.5"];
    let project = with_acp(&ids, &script, "allowed_tools = [\"Bash(cargo test:*)\"]\n");
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 6, "{ran}");
    for (id, want) in [("T1.1", "completed"), ("T1.2", "completed")] {
        assert_eq!(status(&project, id), want, "{id}: {ran}");
    }
    assert!(project.path("one.txt").exists() && project.path("two.txt").exists());
    let mut asked = inbox(&project);
    asked.sort();
    let ids: Vec<&str> = asked.iter().filter_map(|title| title.split(':').next()).collect();
    assert_eq!(ids, ["T1.3", "T1.4", "T1.5"], "{asked:?}");
    for file in ["three.txt", "four.txt", "five.txt"] {
        assert!(!project.path(file).exists(), "{file}");
    }
}

#[test]
fn what_is_allowed_for_the_run_is_asked_once() {
    if no_person_is_here() {
        return;
    }
    let steps = json!([permission("Bash", "cargo publish"), {"done": "published"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let later = "- [ ] T1.3: Later\n  - agent: alice\n  - depends: T1.1, T1.2\n";
    let project = with(&format!("{}{later}", tasks(&["T1.1", "T1.2"])), &script);
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 6, "{ran}");
    assert_eq!(inbox(&project).len(), 2);
    // An agent cannot allow itself anything.
    assert_ne!(project.run("inbox answer q1 allow-run").code, 0);
    project.person_must("inbox answer q1 allow-run");
    assert_eq!(inbox(&project), [""; 0], "the same question of the other task has its answer");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(bodies(&project, "agent_asked").len(), 2, "the third task does not ask: {ran}");
    assert_eq!(bodies(&project, "task_completed").len(), 3);
}

#[test]
fn what_is_allowed_for_the_project_is_kept_by_the_person_and_can_be_revoked() {
    if no_person_is_here() {
        return;
    }
    let steps = json!([permission("Bash", "cargo publish"), {"done": "published"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&tasks(&["T1.1"]), &script);
    project.run("run --no-budget");
    let choices = &project.json("inbox")[0]["choices"];
    let want = json!(["allow", "allow-task", "allow-run", "allow-project", "deny"]);
    assert_eq!(*choices, want);
    project.person_must("inbox answer q1 allow-project");
    let permits = project.json("inbox permits");
    assert_eq!(permits[0]["what"], "permission for Bash: cargo publish", "{permits}");
    assert!(!project.git_command("status --porcelain").contains("permit"));
    let id = permits[0]["id"].as_str().unwrap().to_owned();
    let shown = project.must("inbox permits").stdout;
    assert!(shown.contains(&id[..8]), "{shown}");
    project.must(&format!("inbox revoke {}", &id[..8]));
    assert_eq!(project.json("inbox permits"), json!([]));
    assert_eq!(project.run(&format!("inbox revoke {id}")).code, 2);
}

#[test]
fn a_conversation_that_the_program_has_lost_is_begun_again_with_the_answer() {
    if no_person_is_here() {
        return;
    }
    let steps = json!([permission("Bash", "cargo publish"), {"done": "published"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with_acp(&["T1.1"], &script, "");
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 6, "{ran}");
    fs::remove_dir_all(project.base().join("sessions")).unwrap();
    project.person_must("inbox answer q1 allow");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(status(&project, "T1.1"), "completed");
    let said = project.must("run logs T1.1").stdout;
    assert!(said.contains("cannot be loaded; a new one begins"), "{said}");
    assert_eq!(bodies(&project, "attempt_failed").len(), 0, "and no failed attempt");
    assert_eq!(bodies(&project, "agent_asked").len(), 1, "and the answer is there");
}
