//! How things are printed: where, in which colours, and from which folder.

use crate::{
    harness::{BINARY, Project, words},
    terminal::no_person_is_here,
};

/// What begins every colour.
const ESCAPE: char = '\u{1b}';

#[test]
fn a_command_works_as_if_started_elsewhere() {
    let project = Project::running();
    project.write("docs/deep/notes.md", "");
    let here = project.must("run status");
    for (folder, line) in [
        (project.base(), "-C shop run status"),
        (project.base(), "run status -C shop"),
        (project.path("docs"), "-C .. run status"),
        (project.path("docs/deep"), "run status"),
        (project.path(".git"), "run status"),
    ] {
        assert_eq!(project.run_in(&folder, line), here, "{line} in {}", folder.display());
    }
    let file = project.run_in(&project.base(), "-C shop validate TASKS.md");
    assert_eq!(file.stdout, "valid TASKS.md (tasks)\n");
    let missing = project.run("-C nowhere status");
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert_eq!(missing.stderr, "error: there is no folder nowhere\n");
}

#[test]
fn quiet_prints_data_and_errors_only() {
    let project = Project::with_tasks();
    let table = [
        ("init", ""),
        ("develop start 'Live chat'", ""),
        ("run start T0.1", ""),
        ("run next", "T0.2       Choose the tools\n"),
        ("inbox", ""),
        ("resolve", "READY:T0.2\n"),
    ];
    for (line, want) in table {
        let ran = project.must(&format!("--quiet {line}"));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (want, ""), "{line}");
    }
    let refused = project.run("-q run start T0.1");
    assert!(refused.stderr.starts_with("error: T0.1 is in_progress"), "{refused}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let project = Project::running();
    for line in ["status", "run start T9.9", "doctor", "log", "--help"] {
        let ran = project.run(line);
        assert!(!format!("{ran}").contains(ESCAPE), "{line}: {ran:?}");
    }
    if no_person_is_here() {
        return;
    }
    let show = |shell: &str| project.below_terminal(shell, "").stdout;
    assert!(show(&format!("{BINARY} status")).contains(ESCAPE));
    assert!(!show(&format!("NO_COLOR=1 {BINARY} status")).contains(ESCAPE));
    assert!(!show(&format!("TERM=dumb {BINARY} status")).contains(ESCAPE));
    assert!(!show(&format!("{BINARY} status --json")).contains(ESCAPE));
    assert!(!show(&format!("{BINARY} status | cat")).contains(ESCAPE));
    assert!(!show(&format!("{BINARY} --color never status")).contains(ESCAPE));
    assert!(!show(&format!("{BINARY} --color never --help")).contains(ESCAPE));
    assert!(show(&format!("NO_COLOR=1 {BINARY} --color always status")).contains(ESCAPE));
}

#[test]
fn colours_can_be_asked_for() {
    let project = Project::running();
    for line in ["--color always status", "run start T9.9 --color=always", "--color=always --help"]
    {
        let ran = project.run(line);
        assert!(format!("{ran}").contains(ESCAPE), "{line}: {ran:?}");
    }
    assert_eq!(project.run("--color sometimes status").code, 2);
    assert_eq!(project.run("-q -v status").code, 2);
}

#[test]
fn errors_are_data_too() {
    let project = Project::running();
    let refused = project.run("--json run start T1.2");
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""));
    let said: serde_json::Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!(
        said,
        serde_json::json!({ "v": 1, "type": "error", "error": {
            "code": 3,
            "kind": "TASK_STATUS",
            "causes": [],
            "message": "T1.2 is blocked: it waits for T1.1 (failed)",
            "hints": [],
            "next": "waypost run retry T1.1",
            "next_steps": [
                { "step": "retry_task", "id": "T1.1", "command": "waypost run retry T1.1" }
            ],
            "files": [],
        }})
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let project = Project::running();
    for line in ["reference", "log", "status", "run next --json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = project
            .command(BINARY, &project.root)
            .args(words(line))
            .stdout(writer)
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!((ran.status.code(), said.as_str()), (Some(0), ""), "{line}");
    }
}
