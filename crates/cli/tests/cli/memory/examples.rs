//! Every example of the memory's files: read, taken over, written and validated, with nothing changed.

use super::*;

/// A new task as an agent writes it.
const NEW_TASK: &str = include_str!("examples/new-task.json");
const EMPTY: &str = include_str!("examples/empty-state.json");
const TASK_STATE: &str = include_str!("examples/task-state.json");
const TASK_HISTORY: &str = include_str!("examples/task-history.json");
const SHARED: &str = include_str!("examples/shared-context.json");
const AGENT: &str = include_str!("examples/writing-assistant.json");

/// What `status` says where nothing goes on.
const IDLE: &str = "nothing is going on here; `waypost develop start FEATURE` or `waypost run next` \
                    begins something\n";

/// Every value of `part` is in `whole`: what is absent may have got its default.
fn holds(whole: &Value, part: &Value, at: &str) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in part {
                let found = whole.get(key).unwrap_or_else(|| panic!("{at}.{key} is gone"));
                holds(found, value, &format!("{at}.{key}"));
            }
        }
        (Value::Array(whole), Value::Array(part)) => {
            assert_eq!(whole.len(), part.len(), "{at}");
            for (number, (found, value)) in whole.iter().zip(part).enumerate() {
                holds(found, value, &format!("{at}[{number}]"));
            }
        }
        (whole, part) => assert_eq!(whole, part, "{at}"),
    }
}

#[test]
fn files_of_an_agent_are_taken_over_and_shown_with_everything_that_they_had() {
    for state in [NEW_TASK, EMPTY, TASK_STATE] {
        let project = Project::git();
        project.write(STATE, state);
        project.write(HISTORY, TASK_HISTORY);
        project.write(CONTEXT, SHARED);
        project.write(".claude/memory/agents/writing-assistant.json", AGENT);
        project.must("memory validate");
        let said = project.run("status").stderr;
        assert!(said.contains("memory init"), "{said}");
        let begun = project.json("memory init");
        assert_eq!(begun["taken_over"].as_array().map(Vec::len), Some(2));
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        holds(&project.window(STATE), &parse(state), "state");
        assert_eq!(project.window(HISTORY), parse(TASK_HISTORY));
        assert_eq!(project.window(CONTEXT), parse(SHARED));
        assert_eq!(project.window(".claude/memory/agents/writing-assistant.json"), parse(AGENT));
        project.must("memory validate");
        // Without a current task nothing goes on, and `status` says just that.
        let rest = if current(&project).is_null() { IDLE } else { "" };
        assert_eq!(project.run("status").stderr, rest, "nothing is an edit, nothing is said again");
        // A second time nothing happens.
        assert_eq!(project.json("memory init")["was_open"], true);
    }
}

#[test]
fn an_example_that_is_worked_on_goes_on() {
    let project = Project::git();
    project.write(STATE, TASK_STATE);
    project.must("memory init");
    project.must("memory step start 2");
    project.must("memory step complete 2");
    assert_eq!(statuses(&project), ["completed", "completed"]);
    project.must("memory task complete");
    assert_eq!(project.window(HISTORY)["tasks"][0]["result"], "success");
}

#[test]
fn a_person_may_also_adopt_the_file() {
    let project = Project::git();
    project.write(STATE, TASK_STATE);
    let adopted = project.as_person(&format!("adopt {STATE}"));
    assert_eq!(adopted.code, 0, "{adopted}");
    assert_eq!(current(&project)["id"], "task-2025-11-18-003");
}
