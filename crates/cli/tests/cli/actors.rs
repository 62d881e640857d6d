//! Who the program takes its caller for.

use crate::{
    harness::{BINARY, Project},
    terminal::no_person_is_here,
};
use std::{fs, path::Path};

/// Who did the first thing in the journal.
fn first_actor(project: &Project) -> String {
    project.log()[0]["actor"].as_str().unwrap().to_owned()
}

/// A shell under another name, as the program's parent.
fn shell_named(project: &Project, name: &str) -> String {
    let path = project.base().join(name);
    fs::copy("/bin/sh", &path).unwrap();
    path.display().to_string()
}

#[test]
fn without_a_terminal_it_is_an_agent() {
    let project = Project::plain();
    project.must("develop start Chat");
    assert_eq!(first_actor(&project), "agent:unknown#0");
}

#[test]
fn an_attempt_is_named_by_its_number() {
    let project = Project::plain().variable("WAYPOST_ATTEMPT", "3");
    project.must("develop start Chat");
    assert_eq!(first_actor(&project), "agent:unknown#3");
}

#[test]
fn no_variable_makes_a_person() {
    let claims = [("USER", "mina"), ("WAYPOST_USER", "mina"), ("SSH_TTY", "/dev/pts/0")];
    let project =
        claims.into_iter().fold(Project::plain(), |it, (name, value)| it.variable(name, value));
    project.must("develop start Chat");
    assert_eq!(first_actor(&project), "agent:unknown#0");
}

#[test]
fn at_a_terminal_it_is_a_person() {
    if no_person_is_here() {
        return;
    }
    let project = Project::plain().variable("USER", "somebody").variable("WAYPOST_ATTEMPT", "3");
    project.person_must("develop start Chat");
    let actor = first_actor(&project);
    let name = actor.strip_prefix("user:").unwrap_or_else(|| panic!("{actor}"));
    assert!(!name.is_empty() && name != "somebody", "{actor}");
}

#[test]
fn below_an_agent_program_it_is_an_agent_even_at_a_terminal() {
    if no_person_is_here() {
        return;
    }
    for (name, want) in [("claude", "agent:claude#0"), ("codex", "agent:codex#0")] {
        let project = Project::plain();
        let shell = shell_named(&project, name);
        // The shell stays the parent, because something comes after the program.
        let line = format!("{shell} -c '{BINARY} develop start Chat; true'");
        project.below_terminal(&line, "");
        assert_eq!(first_actor(&project), want);
    }
}

#[test]
fn below_a_shell_of_another_name_it_is_a_person() {
    if no_person_is_here() {
        return;
    }
    let project = Project::plain();
    let shell = shell_named(&project, "claudette");
    project.below_terminal(&format!("{shell} -c '{BINARY} develop start Chat; true'"), "");
    let actor = first_actor(&project);
    assert!(actor.starts_with("user:"), "{actor}");
}

#[test]
fn a_script_of_an_agent_counts_by_its_name() {
    if no_person_is_here() {
        return;
    }
    let project = Project::plain();
    let folder = project.base().join("node_modules/@anthropic-ai/claude-code");
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("cli.js");
    fs::write(&script, format!("{BINARY} develop start Chat\ntrue\n")).unwrap();
    let node = shell_named(&project, "node");
    assert!(Path::new(&node).is_file());
    project.below_terminal(&format!("{node} {}", script.display()), "");
    assert_eq!(first_actor(&project), "agent:claude#0");
}

#[test]
fn what_a_wall_has_marked_is_an_agent_even_at_a_terminal_of_its_own() {
    if no_person_is_here() {
        return;
    }
    let project = Project::plain();
    // The mark outlives a new session and the terminal that is opened in it.
    let line = format!(
        "setpriv --no-new-privs setsid -w script -q -e -c '{BINARY} develop start Chat' /dev/null"
    );
    let ran = project.below_terminal(&line, "");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(first_actor(&project), "agent:unknown#0");
}

#[test]
fn below_a_keeper_it_is_an_agent_even_at_a_terminal_of_its_own() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git();
    let line = format!("script -q -e -c '{BINARY} develop start Chat' /dev/null");
    project.write(
        "TASKS.md",
        &format!("# Tasks: shop\n\n## Phase 0: A\n\n- [ ] T1: Ask\n  - run: {line}\n"),
    );
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    project.person_must("run --no-progress");
    let log = project.log();
    let started = log.iter().find(|entry| entry["stream"] == "workflow:main");
    let actor = started.unwrap_or_else(|| panic!("{log:?}"))["actor"].as_str().unwrap().to_owned();
    assert!(actor.starts_with("agent:"), "{actor}");
}
