//! The other events: starts, compactions, stops, edits of windows; and the other programs.

use super::{Asked, BOTH, HOOK, Project};
use crate::harness::{BINARY, Ran, WORKFLOW};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn event(project: &Project, name: &str, rest: Value) -> Value {
    let mut event = json!({ "session_id": "s1", "cwd": project.root, "hook_event_name": name });
    event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    event
}

#[track_caller]
fn output(ran: &Ran) -> Value {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
    if ran.stdout.is_empty() { Value::Null } else { serde_json::from_str(&ran.stdout).unwrap() }
}

#[test]
fn a_conversation_is_told_how_things_stand() {
    let project = Project::implementing();
    for asked in BOTH {
        for source in ["startup", "resume", "compact"] {
            let event = event(&project, "SessionStart", json!({ "source": source }));
            let output = output(&project.hook(asked, &event));
            let output = &output["hookSpecificOutput"];
            assert_eq!(output["hookEventName"], "SessionStart");
            insta::assert_snapshot!("context", output["additionalContext"].as_str().unwrap());
        }
    }
    let quiet = Project::git();
    let event = event(&quiet, "SessionStart", json!({ "source": "startup" }));
    assert_eq!(output(&quiet.hook(Asked::Small, &event)), Value::Null);
}

#[test]
fn a_stop_is_held_once_while_a_checkpoint_is_open() {
    let project = Project::implementing();
    let stop = |name: &str, active: Value| {
        let kind = json!({ "stop_hook_active": active, "agent_type": "general-purpose" });
        output(&project.hook(Asked::Small, &event(&project, name, kind)))
    };
    let held = stop("Stop", json!(false));
    assert_eq!(held["decision"], "block");
    assert!(held["reason"].as_str().unwrap().contains("checkpoint cp-1"), "{held}");
    // Whether or not the program says that it was held, it is not held twice in a row.
    assert_eq!(stop("Stop", json!(true)), Value::Null);
    assert_eq!(stop("Stop", json!(false)), Value::Null);
    // Something was done in between: it may be told again.
    project.may_write(Asked::Small, "src/lib.rs");
    assert_eq!(stop("Stop", json!(false))["decision"], "block");
    project.must("develop checkpoint pass cp-1");
    assert_eq!(stop("Stop", json!(false)), Value::Null);
}

#[test]
fn a_subagent_is_not_held_and_does_not_use_up_the_hold() {
    let project = Project::implementing();
    let ask = |name: &str, subagent: Option<&str>| {
        let mut rest = json!({ "stop_hook_active": false });
        if let Some(id) = subagent {
            rest["agent_id"] = json!(id);
            rest["agent_type"] = json!("general-purpose");
        }
        output(&project.hook(Asked::Small, &event(&project, name, rest)))
    };
    assert_eq!(ask("SubagentStop", Some("a7")), Value::Null);
    assert_eq!(ask("Stop", Some("a7")), Value::Null);
    assert_eq!(ask("Stop", None)["decision"], "block");
    // What a subagent does afterwards does not earn its conversation a second hold.
    let input = json!({ "file_path": project.path("src/lib.rs"), "content": "x" });
    let mut write = project.tool_event("Write", &input);
    write["agent_id"] = json!("a7");
    project.hook(Asked::Small, &write);
    assert_eq!(ask("Stop", None), Value::Null);
    let held = project.log().into_iter().filter(|entry| entry["kind"] == "held").count();
    assert_eq!(held, 1);
}

#[test]
fn each_conversation_is_told_its_own_checkpoint() {
    let project = Project::implementing();
    let start = |id: &str, variable: &str, session: &str| {
        let mut command = project.command(BINARY, &project.root);
        command.args(["develop", "checkpoint", "start", id]).env(variable, session);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 0, "{ran}");
    };
    let told = |session: &str| {
        let mut event = event(&project, "Stop", json!({ "stop_hook_active": false }));
        event["session_id"] = json!(session);
        let answer = output(&project.hook(Asked::Small, &event));
        let reason = answer["reason"].as_str().unwrap_or_default();
        reason.split_whitespace().nth(1).unwrap_or("nothing").to_owned()
    };
    start("cp-2", "CLAUDE_CODE_SESSION_ID", "second");
    start("cp-3", "CODEX_THREAD_ID", "third");
    assert_eq!(told("second"), "cp-2");
    assert_eq!(told("third"), "cp-3");
    // It is not known which conversation started the first.
    assert_eq!(told("first"), "cp-1");
    project.must("develop checkpoint pass cp-1");
    assert_eq!(told("another"), "nothing");
}

#[test]
fn an_agent_that_waypost_sent_is_not_held() {
    let project = Project::implementing().variable("WAYPOST_ATTEMPT", "1");
    let stop = event(&project, "Stop", json!({ "stop_hook_active": false }));
    assert_eq!(output(&project.hook(Asked::Small, &stop)), Value::Null);
}

#[test]
fn nobody_is_held_who_cannot_be_recognised_or_who_is_compacted() {
    let project = Project::implementing();
    let mut nameless = event(&project, "Stop", json!({ "stop_hook_active": false }));
    nameless.as_object_mut().unwrap().remove("session_id");
    assert_eq!(output(&project.hook(Asked::Small, &nameless)), Value::Null);
    let unsaid = event(&project, "Stop", json!({}));
    assert_eq!(output(&project.hook(Asked::Small, &unsaid)), Value::Null);
    let rest = json!({ "stop_hook_active": false, "agent_type": "" });
    let compacted = event(&project, "SubagentStop", rest);
    assert_eq!(output(&project.hook(Asked::Small, &compacted)), Value::Null);
    project.write("waypost.toml", "[workflow]\nhold_stop = false\n");
    let stop = event(&project, "Stop", json!({ "stop_hook_active": false }));
    assert_eq!(output(&project.hook(Asked::Small, &stop)), Value::Null);
}

#[test]
fn a_compaction_is_written_down() {
    let project = Project::implementing();
    let event = event(&project, "PreCompact", json!({ "trigger": "auto" }));
    assert_eq!(output(&project.hook(Asked::Small, &event)), Value::Null);
    let log = project.log();
    let compacted = log.iter().find(|entry| entry["kind"] == "compacted").unwrap();
    assert_eq!(compacted["body"]["outcome"]["compacted"]["trigger"], "auto");
}

#[test]
fn an_edit_of_a_window_is_answered_at_once() {
    let project = Project::implementing();
    project.edit(WORKFLOW, |state| state["gates"]["architect_verified"] = json!(true));
    let rest =
        json!({ "tool_name": "Bash", "tool_input": { "command": "jq" }, "tool_response": {} });
    let after = event(&project, "PostToolUse", rest);
    let told = output(&project.hook(Asked::Small, &after));
    let told = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("state.json") && told.contains("refused"), "{told}");
    assert_eq!(output(&project.hook(Asked::Small, &after)), Value::Null);
}

#[test]
fn a_refusal_is_in_the_log_with_when_why_and_to_whom() {
    let project = Project::implementing();
    assert_eq!(project.must("log --refused").stderr.trim(), "nothing was refused");
    project.may_run(Asked::Small, "git push").refused();
    let mut event =
        project.tool_event("Write", &json!({ "file_path": project.path("waypost.toml") }));
    event["agent_id"] = json!("a7");
    event["tool_use_id"] = json!("toolu_2");
    project.hook(Asked::Whole, &event);
    project.may_write(Asked::Small, "src/lib.rs");
    let told = project.redact(&project.must("log --refused").stdout);
    insta::assert_snapshot!("refused", told);
    // What was allowed is counted, and nothing is counted twice.
    let taken = project.log().into_iter().filter(|entry| entry["kind"] == "taken").count();
    assert_eq!(taken, 1);
    assert_eq!(project.must("log --refused --json").stdout.lines().count(), 2);
}

#[test]
fn every_program_is_answered_in_its_own_form() {
    let project = Project::implementing();
    let root = &project.root;
    let events = [
        (
            "codex",
            json!({
                "session_id": "c1", "turn_id": "t1", "model": "m", "cwd": root,
                "hook_event_name": "PreToolUse", "tool_name": "Bash",
                "tool_input": { "command": "git push" }, "tool_use_id": "call_1",
            }),
        ),
        (
            "codex",
            json!({
                "session_id": "c1", "turn_id": "t1", "cwd": root, "hook_event_name": "PreToolUse",
                "tool_name": "apply_patch",
                "tool_input": { "command": "*** Begin Patch\n*** Update File: .develop-workflow/state.json\n*** End Patch\n" },
            }),
        ),
        (
            "gemini",
            json!({
                "session_id": "g1", "cwd": root, "hook_event_name": "BeforeTool",
                "timestamp": "2026-11-15T10:00:00Z", "tool_name": "run_shell_command",
                "tool_input": { "command": "git push" },
            }),
        ),
        (
            "gemini",
            json!({
                "session_id": "g1", "cwd": root, "hook_event_name": "AfterAgent",
                "stop_hook_active": false,
            }),
        ),
        (
            "gemini",
            json!({
                "session_id": "g1", "cwd": root, "hook_event_name": "SessionStart", "source": "startup",
            }),
        ),
    ];
    let mut told = String::new();
    for (product, event) in events {
        let ran = project.hook_in(Asked::Small, root, product, event.to_string().as_bytes());
        writeln!(told, "{product} {}\n{ran}", event["hook_event_name"]).unwrap();
    }
    insta::assert_snapshot!("programs", project.redact(&told));
}

#[test]
fn the_status_line_says_it_in_a_line() {
    let project = Project::implementing();
    let line = project.must("statusline").stdout;
    let told = line.trim().rsplit_once(" wall").unwrap();
    assert!(told.0.starts_with("IMPLEMENT ●○○ 0/3 cp-1 1/3"), "{line}");
    // Which level there is, the machine says; that there is none is said as well.
    assert!(["", " B", " C"].contains(&told.1), "{line}");
    let mut alone = project.command(super::alone(BINARY).to_str().unwrap(), &project.root);
    let line = Ran::from(alone.arg("statusline").output().unwrap()).stdout;
    assert_eq!(line.trim(), "IMPLEMENT ●○○ 0/3 cp-1 1/3 no wall");
    assert_eq!(Project::git().must("statusline").stdout, "");
    assert!(std::path::Path::new(HOOK).is_file());
}
