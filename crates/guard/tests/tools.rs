//! Tools other than the shell, and what becomes of a deed under the rights of a workflow.

mod world;

use std::fmt::Write as _;

use waypost_guard::{Context, Standing, judge_tool, refusal};
use waypost_model::{
    next::NextStep,
    tool::{Tool, ToolKind},
    workflow::{GateName, Phase, Rights},
};
use world::{World, judged, verdict};

/// Tools as programs have them; their names mean nothing here.
const TOOLS: [Tool; 5] = [
    known("run", ToolKind::Shell, &["command", "cmd"], &["directory"]),
    known("type", ToolKind::Typing, &["chars", "input"], &[]),
    known("patch", ToolKind::Patch, &["input", "patch"], &[]),
    known("save", ToolKind::Writing, &["file_path", "notebook_path"], &[]),
    known("mcp__own__save", ToolKind::Writing, &["file_path"], &[]),
];

const fn known(
    name: &'static str,
    kind: ToolKind,
    fields: &'static [&'static str],
    folders: &'static [&'static str],
) -> Tool {
    Tool { name, kind, fields, folders }
}

#[test]
fn tools_are_judged_by_what_is_known_of_them_and_fields() {
    let check = |want: &str, tool: &str, fields: &[(&str, &str)]| {
        let writing_tools = ["mcp__fs__write".to_owned()];
        let free_tools = ["mcp__tickets__*".to_owned(), "mcp_notes_add".to_owned()];
        let (look, is_walled) = (&World, false);
        let context =
            Context { look, writing_tools: &writing_tools, free_tools: &free_tools, is_walled };
        let known = TOOLS.iter().find(|known| known.name == tool).copied();
        let deed = judge_tool(tool, known, fields, &context);
        assert_eq!(verdict(&deed), want, "{tool} {fields:?}");
    };
    check("write", "save", &[("file_path", "/p/src/a.rs"), ("content", "git push")]);
    check("write", "save", &[("notebook_path", "/p/a.ipynb")]);
    check("write", "save", &[("path", "/p/src/a.rs")]);
    check("write", "save", &[]);
    check("write", "mcp__own__save", &[("file_path", "a")]);
    check("write protected", "save", &[("file_path", "/p/.develop-workflow/state.json")]);
    check("write protected", "save", &[("file_path", "/p/.claude/settings.json")]);
    check("write protected", "save", &[("file_path", "waypost.toml")]);
    check("push", "run", &[("command", "git push"), ("description", "x")]);
    check("push", "run", &[("cmd", "git push")]);
    check("push", "run", &[("command", "./release"), ("directory", "scripts")]);
    check("ok", "run", &[("command", "ls"), ("description", "git push")]);
    check("push", "type", &[("chars", "git push\n")]);
    check("ok", "type", &[]);
    check("unknowable", "run", &[]);
    // Of these nothing is known.
    check("ok", "Bash", &[("command", "git push")]);
    check("write", "mcp__fs__write", &[("path", "a")]);
    check("ok", "mcp__fs__read", &[("path", "a")]);
    for tool in ["mcp__github__get_file", "mcp__x__listFiles", "mcp_github_search_code"] {
        check("ok", tool, &[]);
    }
    for tool in ["mcp__tickets__close", "mcp_notes_add"] {
        check("ok", tool, &[]);
    }
    for tool in [
        "mcp__github__push_files",
        "mcp__github__create_pull_request",
        "mcp__shell__run",
        "mcp__x__get_or_create",
        "mcp__x__getter",
        "mcp__x__",
        "mcp__x",
        "mcp_github_merge_pull_request",
        "mcp_notes_add_all",
    ] {
        check("tool", tool, &[("path", "a")]);
    }
    for path in [
        "/dev/fd/../../p/x",
        "/dev/fd/3",
        "/proc/self/cwd/x",
        "/dev/./fd/3",
        "/tmp/../proc/1/cwd/x",
    ] {
        check("write protected", "save", &[("file_path", path)]);
    }
    check("write protected", "save", &[("file_path", "/p/.claude/skills/ship/SKILL.md")]);
    check("write protected", "save", &[("file_path", "~/.claude/commands/ship.md")]);
    check("write", "save", &[("file_path", "/p/.claude/memory/notes.md")]);
    check("ok", "Read", &[("file_path", "/p/.develop-workflow/state.json")]);
    check("ok", "Task", &[("prompt", "git push")]);
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: waypost.toml\n";
    check("write protected", "patch", &[("input", patch)]);
    check("write", "patch", &[("input", "nonsense")]);
    check("write protected", "run", &[("command", &format!("apply_patch <<'E'\n{patch}E"))]);
}

/// The answer to a command in a phase with some gates passed, as a person would read it.
fn answer(command: &str, phase: Phase, rights: Rights, passed: usize) -> String {
    let closed = &GateName::ALL[passed..];
    let standing = Standing {
        rights,
        phase,
        closed,
        next: &NextStep::ShowWorkflow,
        default_branch: Some("main"),
        current_branch: Some("topic"),
        is_design: &|path| path.starts_with("docs/"),
        is_scratch: &|path| path.starts_with("/tmp/"),
        is_walled: false,
    };
    let answer = refusal(&judged(command), &standing);
    answer.map_or_else(
        || "allowed".to_owned(),
        |it| {
            let next = it.next.map_or_else(String::new, |next| format!(" → {next}"));
            format!("{:?}: {}{next}", it.rule, it.message)
        },
    )
}

#[test]
fn a_refusal_says_what_is_missing() {
    const NONE: Rights = Rights {
        write: false,
        write_design: false,
        commit: false,
        push_branch: false,
        publish: false,
    };
    let free = Rights { write: true, write_design: true, commit: true, ..NONE };
    let early = Rights { push_branch: true, ..free };
    let design = Rights { write_design: true, ..NONE };
    let table = [
        ("git push", Phase::Design, free, 0),
        ("git commit -m x", Phase::Design, free, 0),
        ("echo > docs/a.md", Phase::Review, design, 0),
        ("echo > src/a.rs", Phase::Review, design, 0),
        ("echo > src/a.rs", Phase::Implement, NONE, 0),
        ("git push", Phase::Implement, early, 1),
        ("git push origin main", Phase::Implement, early, 1),
        ("git push --all", Phase::Implement, early, 1),
        ("git commit -m x", Phase::Pr, Rights { commit: false, ..free }, 2),
        ("gh pr create", Phase::Pr, free, 2),
        ("$X push", Phase::Pr, free, 2),
        ("$X push", Phase::Pr, Rights::ALL, 3),
        ("git push", Phase::Pr, Rights::ALL, 3),
        ("rm -rf .develop-workflow", Phase::Pr, Rights::ALL, 3),
        ("echo > .git/hooks/pre-push", Phase::Pr, Rights::ALL, 3),
        ("waypost develop suspend", Phase::Pr, Rights::ALL, 3),
    ];
    let mut text = String::new();
    for (command, phase, rights, passed) in table {
        let answer = answer(command, phase, rights, passed);
        writeln!(text, "{phase} {passed}: {command}\n    {answer}").unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_default_branch_that_is_not_known_is_one_of_two() {
    let rights = Rights { publish: false, ..Rights::ALL };
    let check = |default: Option<&str>, current: Option<&str>, command: &str, want: bool| {
        let standing = Standing {
            rights,
            phase: Phase::Implement,
            closed: &[],
            next: &NextStep::ShowWorkflow,
            default_branch: default,
            current_branch: current,
            is_design: &|_| false,
            is_scratch: &|_| false,
            is_walled: false,
        };
        let is_allowed = refusal(&judged(command), &standing).is_none();
        assert_eq!(is_allowed, want, "{command} of {default:?} on {current:?}");
    };
    check(None, Some("topic"), "git push", true);
    check(None, Some("main"), "git push", false);
    check(None, Some("topic"), "git push origin master", false);
    check(None, None, "git push", false);
    check(Some("dev"), Some("main"), "git push", true);
    check(Some("dev"), Some("main"), "git push origin dev", false);
}
