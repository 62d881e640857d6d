//! An agent whose attempt is over: every tool call is refused, by both programs.

use super::{Answer, BOTH, Project};
use crate::harness::{BINARY, Ran};
use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::PathBuf};

/// A project without a workflow, asked by attempt 2 of T1.3; nothing but the fence can refuse.
fn fenced() -> (Project, PathBuf) {
    let project = Project::running();
    let file = project.journal().join("fence-T1.3");
    let path = file.display().to_string();
    let project = project
        .variable("WAYPOST_TASK", "T1.3")
        .variable("WAYPOST_ATTEMPT", "2")
        .variable("WAYPOST_FENCE", &path);
    (project, file)
}

#[track_caller]
fn check(project: &Project, what: &str, is_over: bool) {
    let want = match is_over {
        true => Answer::Refused("attempt 2 of T1.3 is over; stop here".into()),
        false => Answer::Allowed,
    };
    for asked in BOTH {
        assert_eq!(project.may_write(asked, "src/lib.rs"), want, "{what}, {asked:?}");
        assert_eq!(project.may_run(asked, "cat README.md"), want, "{what}, {asked:?}");
        let read = project.may(asked, "Read", &json!({ "file_path": project.path("README.md") }));
        assert_eq!(read, want, "{what}, {asked:?}");
    }
}

#[test]
fn only_the_live_attempt_goes_on() {
    let (project, file) = fenced();
    check(&project, "no file", true);
    let table = [
        ("2", false),
        ("2\n", false),
        ("1", true),
        ("3\n", true),
        ("", true),
        ("22", true),
        ("2 3", true),
        ("+2", true),
        ("two", true),
        ("2                                   ", true),
    ];
    for (text, is_over) in table {
        fs::write(&file, text).unwrap();
        check(&project, &format!("{text:?}"), is_over);
    }
    fs::write(&file, [0x32, 0xff]).unwrap();
    check(&project, "no text", true);
}

#[test]
fn whatever_else_stands_in_the_place_of_the_file_ends_the_attempt() {
    let (project, file) = fenced();
    let elsewhere = project.base().join("number");
    fs::write(&elsewhere, "2").unwrap();
    symlink(&elsewhere, &file).unwrap();
    check(&project, "a link", true);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    check(&project, "a folder", true);
    fs::remove_dir(&file).unwrap();
    let pipe = project.command("mkfifo", &project.root).arg(&file).status().unwrap();
    assert!(pipe.success());
    check(&project, "a pipe", true);
}

#[test]
fn an_attempt_without_a_number_is_over() {
    let project = Project::running();
    let file = project.journal().join("fence-T1.3");
    fs::write(&file, "1").unwrap();
    let project = project.variable("WAYPOST_FENCE", &file.display().to_string());
    let want = Answer::Refused("this attempt is over; stop here".into());
    assert_eq!(project.both(|it, asked| it.may_write(asked, "a.rs")), want);
}

#[test]
fn an_attempt_that_is_over_is_refused_whatever_it_sends() {
    let (project, file) = fenced();
    for input in ["", "{", "[]"] {
        for asked in BOTH {
            let ran = project.hook_in(asked, &project.root, "claude", input.as_bytes());
            let said = ran.stderr.trim();
            assert_eq!((ran.code, said), (2, "attempt 2 of T1.3 is over; stop here"), "{input:?}");
        }
    }
    // Other events are no tool calls.
    for asked in BOTH {
        let stop = json!({ "hook_event_name": "Stop", "session_id": "s1", "cwd": project.root });
        let ran = project.hook(asked, &stop);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
    }
    assert_eq!(refusals(&project), 0, "nothing but tool calls is written down");
    fs::write(&file, "3").unwrap();
    check(&project, "taken over", true);
    // All of these were the same call as far as its name goes.
    assert_eq!(refusals(&project), 1);
}

/// How many refusals of late attempts the log tells a process outside of any.
fn refusals(project: &Project) -> usize {
    let mut command = project.command(BINARY, &project.root);
    command.env_remove("WAYPOST_TASK").args(["log", "--refused"]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran}");
    ran.stdout.matches("attempt 2 of T1.3 is over; stop here").count()
}

#[test]
fn outside_of_the_project_an_attempt_is_over_as_well() {
    let (project, _) = fenced();
    let event = json!({
        "session_id": "s1", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "true" }, "tool_use_id": "toolu_1",
    });
    for asked in BOTH {
        let input = event.to_string();
        let ran = project.hook_in(asked, &project.base(), "claude", input.as_bytes());
        assert!(!super::answer(&ran).is_allowed(), "{asked:?}\n{ran}");
    }
}

#[test]
fn git_is_held_too() {
    let (project, file) = fenced();
    let mut told = Vec::new();
    for text in ["1", "2"] {
        fs::write(&file, text).unwrap();
        let ran = project.run("hook git pre-commit");
        told.push((ran.code, ran.stderr));
    }
    let refused = "waypost: attempt 2 of T1.3 is over; stop here\n".to_owned();
    assert_eq!(told, [(1, refused), (0, String::new())]);
}
