//! The guide in front of a wall: how a shell call gets behind it, and what is still refused.
//!
//! Skipped aloud where the machine has no wall.

use super::{HOOK, Project};
use crate::harness::Ran;
use serde_json::{Value, json};
use std::{io::Write as _, path::Path, process::Stdio};

const CODE: &str = "python3 build.py && $TOOL test";

fn shell() -> String {
    Path::new(HOOK).with_file_name("waypost-shell").display().to_string()
}

/// A workflow in which nothing may be written; none where there is no wall.
fn closed() -> Option<Project> {
    let project = Project::implementing();
    let line = project.must("statusline").stdout;
    if !line.contains(" wall ") {
        crate::required::skip(&["b", "c"], &line);
        return None;
    }
    project.must("develop gate reset review_clean_pass");
    Some(project)
}

/// What the hook answers to a program's event.
fn ask(project: &Project, words: &[&str], event: &Value, prefix: Option<&str>) -> Ran {
    let mut command = project.command(HOOK, &project.root);
    command.args(words).envs(prefix.map(|it| ("CLAUDE_CODE_SHELL_PREFIX", it)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _closed = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    child.wait_with_output().unwrap().into()
}

fn event(project: &Project, name: &str, tool: &str, command: &str) -> Value {
    json!({"session_id": "s", "cwd": project.root, "hook_event_name": name, "tool_name": tool,
           "tool_use_id": "t", "tool_input": {"command": command, "timeout": 7}})
}

#[track_caller]
fn output(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran}");
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    value["hookSpecificOutput"].clone()
}

#[test]
fn what_cannot_be_told_is_put_behind_the_wall_in_each_programs_form() {
    let Some(project) = closed() else { return };
    let walled = format!("{} '{CODE}'", shell());
    let claude = event(&project, "PreToolUse", "Bash", CODE);
    let told = output(&ask(&project, &["claude"], &claude, None));
    let input = json!({"command": walled, "timeout": 7});
    assert_eq!(told, json!({"hookEventName": "PreToolUse", "updatedInput": input}));
    let told = output(&ask(&project, &["codex"], &claude, None));
    let want = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
                      "updatedInput": input});
    assert_eq!(told, want);
    let gemini = event(&project, "BeforeTool", "run_shell_command", CODE);
    let told = output(&ask(&project, &["gemini"], &gemini, None));
    assert_eq!(told["tool_input"], json!({"command": walled}));
    // Where the program wraps its calls itself, there is nothing to be said.
    let ran = ask(&project, &["claude"], &claude, Some(&shell()));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    // Another wrapper is none of ours.
    assert_eq!(
        output(&ask(&project, &["claude"], &claude, Some("/bin/sh")))["updatedInput"],
        input
    );
}

#[test]
fn what_is_plainly_closed_is_refused_in_front_of_the_wall() {
    let Some(project) = closed() else { return };
    for command in [
        "git push",
        "git commit -m x",
        "echo > src/lib.rs",
        "echo '{}' > .claude/settings.json",
        "waypost develop suspend --reason x",
        "gh pr create",
    ] {
        let told = output(&ask(
            &project,
            &["claude"],
            &event(&project, "PreToolUse", "Bash", command),
            Some(&shell()),
        ));
        assert_eq!(told["permissionDecision"], "deny", "{command}: {told}");
    }
    // A file tool of the program's own is no shell call.
    let write = json!({"session_id": "s", "cwd": project.root, "hook_event_name": "PreToolUse",
                       "tool_name": "Write", "tool_input": {"file_path": "/nowhere/x"}});
    let told = output(&ask(&project, &["claude"], &write, Some(&shell())));
    assert_eq!(told["permissionDecision"], "deny", "{told}");
}

#[test]
fn nothing_is_rewritten_where_nothing_is_held() {
    let project = Project::git();
    project.must("init --no-agents");
    let ran = ask(&project, &["codex"], &event(&project, "PreToolUse", "Bash", CODE), None);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
}

#[test]
fn a_shell_that_is_gone_is_told_with_what_mends_it() {
    // No workflow is needed: without its program every command of the agent ends with 127.
    let project = Project::git();
    let bash = event(&project, "PreToolUse", "Bash", "ls");
    let gone = project.base().join("waypost-shell").display().to_string();
    let told = output(&ask(&project, &["claude"], &bash, Some(&gone)));
    assert_eq!(told["permissionDecision"], "deny");
    let reason = told["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("put it back") && reason.contains("waypost init"), "{reason}");
    // Other tools, and wrappers that are none of ours, are left alone.
    let read = event(&project, "PreToolUse", "Read", "ls");
    assert_eq!(ask(&project, &["claude"], &read, Some(&gone)).stdout, "");
    assert_eq!(ask(&project, &["claude"], &bash, Some("/nowhere/wrapper")).stdout, "");
    // The few words of the shell before the hook say the same where the hook is gone as well.
    project.must("init --agent claude");
    let settings: Value =
        serde_json::from_str(&project.read(".claude/settings.local.json")).unwrap();
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    let mut words: Vec<String> = handler["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    for word in &mut words {
        *word = word.replace(HOOK, "/nowhere/waypost-hook");
    }
    let answer = |event: &Value| -> Ran {
        let mut command = project.command(handler["command"].as_str().unwrap(), &project.root);
        command.args(&words).env("CLAUDE_CODE_SHELL_PREFIX", &gone);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _closed = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
        child.wait_with_output().unwrap().into()
    };
    let ran = answer(&bash);
    assert!(ran.code == 2 && ran.stderr.contains("put it back where it was"), "{ran}");
    assert_eq!(answer(&read).code, 0);
}
