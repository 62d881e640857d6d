//! Everything that can be wrong around the hook, and its documented answer (docs/hook.md): never
//! open while a workflow is or may be active, and never a panic.

use super::{Answer, Asked, BOTH, Project, answer};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    process::Command,
};

/// A workflow whose first gate was closed again: nothing may be written.
fn closed() -> Project {
    let project = Project::implementing();
    project.must("develop gate reset review_clean_pass");
    project
}

#[track_caller]
fn refuses_writing_but_not_reading(project: &Project, what: &str) {
    for asked in BOTH {
        let write = project.may_write(asked, "src/lib.rs");
        assert!(!write.is_allowed(), "{what}, {asked:?}: {write:?}");
        let push = project.may_run(asked, "git push");
        assert!(!push.is_allowed(), "{what}, {asked:?}: {push:?}");
        let read = project.may_run(asked, "git status --short | head");
        assert_eq!(read, Answer::Allowed, "{what}, {asked:?}");
        assert_eq!(project.may_run(asked, "waypost doctor"), Answer::Allowed, "{what}, {asked:?}");
    }
}

#[test]
fn a_window_that_is_no_json_changes_nothing() {
    for text in ["{", "", "null", "{\"phase\": \"MARS\"}", "\u{0}"] {
        let project = closed();
        project.write(".develop-workflow/state.json", text);
        refuses_writing_but_not_reading(&project, &format!("state.json {text:?}"));
        fs::remove_file(project.path(".develop-workflow/state.json")).unwrap();
        refuses_writing_but_not_reading(&project, "no state.json");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let project = closed();
    for name in ["gate/main", "verdicts.jsonl"] {
        let path = project.journal().join(name);
        let _gone = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        refuses_writing_but_not_reading(&project, name);
    }
}

#[test]
fn a_state_file_without_a_journal_holds_nobody() {
    let project = Project::git();
    project.write(
        ".develop-workflow/state.json",
        include_str!("../fixtures/000-1-workflow-state.json"),
    );
    for asked in BOTH {
        assert_eq!(project.may_write(asked, "src/lib.rs"), Answer::Allowed);
    }
}

#[test]
fn a_damaged_journal_allows_only_reading() {
    let project = closed();
    for name in ["journal.db-wal", "journal.db-shm"] {
        let _gone = fs::remove_file(project.journal().join(name));
    }
    fs::write(project.journal().join("journal.db"), "no database").unwrap();
    refuses_writing_but_not_reading(&project, "damaged");
    let reason = project.may_write(Asked::Small, "a.rs");
    assert!(reason.refused().contains("only reading is allowed"), "{reason:?}");
    assert!(reason.refused().contains("waypost doctor"), "{reason:?}");
}

#[test]
fn a_journal_of_another_version_allows_only_reading() {
    let project = closed();
    let db = rusqlite::Connection::open(project.journal().join("journal.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    refuses_writing_but_not_reading(&project, "version 99");
}

#[test]
fn a_journal_that_has_vanished_allows_only_reading() {
    let project = closed();
    fs::remove_dir_all(project.journal()).unwrap();
    refuses_writing_but_not_reading(&project, "folder gone");
    let project = closed();
    fs::remove_file(project.journal().join("journal.db")).unwrap();
    refuses_writing_but_not_reading(&project, "file gone");
}

#[test]
fn a_log_of_the_journal_that_was_removed_is_noticed() {
    let project = Project::implementing();
    project.must("develop gate reset review_clean_pass");
    fs::remove_file(project.journal().join("journal.db-wal")).unwrap();
    refuses_writing_but_not_reading(&project, "journal.db-wal removed");
}

#[test]
fn a_folder_in_the_way_allows_only_reading() {
    let project = closed();
    fs::remove_dir_all(project.journal()).unwrap();
    fs::write(project.journal(), "a file where the journal's folder was").unwrap();
    refuses_writing_but_not_reading(&project, "a file in place of the folder");
    let project = closed();
    fs::remove_file(project.journal().join("journal.db")).unwrap();
    fs::create_dir(project.journal().join("journal.db")).unwrap();
    refuses_writing_but_not_reading(&project, "a folder in place of the journal");
}

#[test]
fn a_folder_that_may_not_be_read_allows_only_reading() {
    let project = closed();
    let (base, state) = (project.base(), project.journal());
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&base, 0o755);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        open(&state, 0o000);
    }
    for program in [super::HOOK, crate::harness::BINARY] {
        let (is_whole, program) = (program == crate::harness::BINARY, super::alone(program));
        let program = program.to_str().unwrap();
        for (tool, input, is_allowed) in [
            ("Write", json!({ "file_path": project.path("a.rs") }), false),
            ("Bash", json!({ "command": "git push" }), false),
            ("Bash", json!({ "command": "ls" }), true),
        ] {
            // Nothing is closed to root, so it becomes another user.
            let mut command =
                project.command(if is_root { "setpriv" } else { program }, &project.root);
            if is_root {
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
            }
            if is_whole {
                command.arg("hook");
            }
            let event = base.join("event.json");
            fs::write(&event, project.tool_event(tool, &input).to_string()).unwrap();
            open(&event, 0o644);
            command.arg("claude").stdin(fs::File::open(&event).unwrap());
            let answer = answer(&crate::harness::Ran::from(command.output().unwrap()));
            assert_eq!(answer.is_allowed(), is_allowed, "{program} {tool} {input}: {answer:?}");
        }
    }
    open(&state, 0o700);
}

#[test]
fn a_record_that_is_damaged_or_gone_is_replaced_by_the_journal() {
    let good = fs::read(closed().record()).unwrap();
    let records: [(&str, Option<Vec<u8>>); 6] = [
        ("gone", None),
        ("empty", Some(Vec::new())),
        ("cut", Some(good[..good.len() / 2].to_vec())),
        ("binary", Some(vec![0xff; 100])),
        ("of another format", Some(b"waypost gate record 9\nsum 0\n".to_vec())),
        ("huge", Some(vec![b'x'; 1 << 20])),
    ];
    for (what, record) in records {
        let project = closed();
        match record {
            Some(bytes) => fs::write(project.record(), bytes).unwrap(),
            None => fs::remove_file(project.record()).unwrap(),
        }
        refuses_writing_but_not_reading(&project, what);
        let text = fs::read_to_string(project.record()).unwrap();
        assert!(text.starts_with("waypost gate record 4\n"), "{what}: written anew");
    }
}

#[test]
fn a_record_that_is_older_than_the_journal_is_not_believed() {
    let project = Project::implementing();
    let open = fs::read(project.record()).unwrap();
    project.must("develop gate reset review_clean_pass");
    let closed = fs::read(project.record()).unwrap();
    fs::write(project.record(), &open).unwrap();
    refuses_writing_but_not_reading(&project, "an old record that allows");
    // The other way round: an old record does not keep an agent from what is open now.
    project.must("develop back");
    project.must("develop gate pass review_clean_pass --report review.md");
    project.must("develop advance");
    fs::write(project.record(), &closed).unwrap();
    for asked in BOTH {
        assert_eq!(project.may_write(asked, "src/lib.rs"), Answer::Allowed);
    }
}

#[test]
fn a_configuration_that_is_not_valid_allows_only_reading() {
    let project = closed();
    project.write("waypost.toml", "[workflow]\nstrict = \"yes\"\n");
    refuses_writing_but_not_reading(&project, "waypost.toml");
    // Without a journal there is nothing to hold.
    let free = Project::git();
    free.write("waypost.toml", "[workflow]\nstrict = \"yes\"\n");
    assert_eq!(free.may_write(Asked::Small, "a.rs"), Answer::Allowed);
}

#[test]
fn an_event_that_cannot_be_read_is_refused_where_a_workflow_is_active() {
    let huge = {
        let content = "x".repeat(10 << 20);
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": { "content": content } })
            .to_string()
            .into_bytes()
    };
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let inputs: [(&str, Vec<u8>); 8] = [
        ("nothing", Vec::new()),
        ("text", b"hello".to_vec()),
        ("half", b"{\"hook_event_name\": \"PreToolUse\", \"tool".to_vec()),
        ("binary", vec![0, 159, 146, 150]),
        ("a list", b"[]".to_vec()),
        ("a tool call without a tool", b"{\"hook_event_name\": \"PreToolUse\"}".to_vec()),
        ("deep", deep),
        ("10 MB", huge),
    ];
    let (project, free) = (closed(), Project::git());
    for (what, input) in &inputs {
        for asked in BOTH {
            for product in ["claude", "codex", "gemini", ""] {
                let ran = project.hook_in(asked, &project.root, product, input);
                assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{what} {product}: {ran}");
                assert!(!ran.stderr.trim().is_empty() && !ran.stderr.contains("panic"), "{ran}");
            }
            let ran = free.hook_in(asked, &free.root, "claude", input);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{what}, no workflow: {ran}");
        }
    }
}

#[test]
fn an_unknown_event_is_a_tool_call_if_it_names_a_tool() {
    let project = closed();
    for asked in BOTH {
        let mut event = project.tool_event("Write", &json!({ "file_path": "a.rs" }));
        event["hook_event_name"] = json!("BeforeToolUse2");
        let ran = project.hook(asked, &event);
        assert_eq!(ran.code, 2, "{ran}");
        let other =
            json!({ "hook_event_name": "MoonPhase", "cwd": project.root, "session_id": "s" });
        let ran = project.hook(asked, &other);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran}");
    }
}

#[test]
fn a_verdict_that_cannot_be_written_changes_no_answer() {
    let project = closed();
    fs::create_dir(project.journal().join("verdicts.jsonl")).unwrap();
    for asked in BOTH {
        project.may_write(asked, "a.rs").refused();
        assert!(project.may_run(asked, "ls").is_allowed());
    }
}

#[test]
fn without_the_other_program_nothing_is_allowed_where_a_journal_is_near() {
    let project = closed();
    let alone = project.base().join("waypost-hook");
    fs::copy(super::HOOK, &alone).unwrap();
    let ask = |folder: &std::path::Path, event: &Value| {
        let mut command = Command::new(&alone);
        command.current_dir(folder).env_clear().env("PATH", "/nowhere").arg("claude");
        let input = project.base().join("event.json");
        fs::write(&input, event.to_string()).unwrap();
        command.stdin(fs::File::open(input).unwrap());
        answer(&crate::harness::Ran::from(command.output().unwrap()))
    };
    let mut commit = project.tool_event("Bash", &json!({ "command": "git commit -m x" }));
    assert!(!ask(&project.root, &commit).is_allowed(), "the record refuses by itself");
    fs::remove_file(project.record()).unwrap();
    let refused = ask(&project.root, &commit);
    assert!(refused.refused().contains("cannot be run"), "{refused:?}");
    commit["cwd"] = json!(project.base());
    assert!(ask(&project.base(), &commit).is_allowed(), "nothing is held there");
}

#[test]
fn a_verdict_is_kept_while_somebody_holds_the_log() {
    let project = closed();
    project.may_run(Asked::Small, "git push").refused();
    let log = fs::File::open(project.journal().join("verdicts.jsonl")).unwrap();
    log.lock().unwrap();
    project.may_run(Asked::Small, "gh pr create").refused();
    drop(log);
    let refused = project.must("log --refused --json").stdout;
    assert_eq!(refused.lines().count(), 2, "{refused}");
}

#[test]
fn verdicts_of_many_hooks_at_once_are_all_taken_in() {
    let project = Project::implementing();
    let calls = 40;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let project = &project;
            scope.spawn(move || {
                for number in 0..calls / 4 {
                    let input = json!({ "command": "git push" });
                    let mut event = project.tool_event("Bash", &input);
                    event["tool_use_id"] = json!(format!("toolu_{thread}_{number}"));
                    assert!(!answer(&project.hook(Asked::Small, &event)).is_allowed());
                }
            });
        }
        for _ in 0..10 {
            project.must("status");
        }
    });
    let refused = project.must("log --refused --json -n 1000").stdout;
    assert_eq!(refused.lines().count(), calls);
    let left = fs::read_dir(project.journal()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("verdicts-")
    });
    assert_eq!(left.count(), 0);
}
