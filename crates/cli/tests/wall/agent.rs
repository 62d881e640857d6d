//! A whole agent behind the wall: what its program keeps for the next time, what it cannot change, and what
//! its shell calls cannot read.

use crate::site::{CANARY, Phase, Site, Wall};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    process::{Command, Output, Stdio},
};

/// An agent program of this name that does what `script` says, started as Waypost starts one.
fn agent(site: &Site, name: &str, script: &str) -> Command {
    let program = site.path("programs").join(name);
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let shell = site.shell("");
    let mut command = Command::new(shell.get_program());
    command.arg(format!("--agent={name}")).arg("--").arg(&program).env_clear();
    command.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(site.root()).env("WAYPOST_ATTEMPT", "1").stdin(Stdio::null());
    command
}

fn run(site: &Site, name: &str, script: &str) -> Output {
    agent(site, name, script).output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn a_program_finds_again_what_it_has_kept() {
    for (name, folder) in [("claude", ".claude"), ("codex", ".codex"), ("gemini", ".gemini")] {
        let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
        // The first start on a machine: there is nothing yet.
        let _none = fs::remove_dir_all(site.path("home").join(folder));
        let write = format!(
            "echo level=$WAYPOST_WALL; mkdir -p ~/{folder}/projects && echo one > ~/{folder}/projects/talk \
             && echo signed-in > ~/{folder}/sign-in"
        );
        let output = run(&site, name, &write);
        assert!(output.status.success(), "{name}: {}", said(&output));
        assert!(said(&output).contains("level=a"), "{name}: {}", said(&output));
        let output = run(&site, name, &format!("cat ~/{folder}/projects/talk ~/{folder}/sign-in"));
        assert_eq!(said(&output), "one\nsigned-in\n", "{name}");
    }
}

#[test]
fn what_tells_a_program_what_to_run_is_not_changed_from_inside() {
    for (name, folder, there, missing, runs) in [
        ("claude", ".claude", "settings.json", "settings.local.json", "skills"),
        ("codex", ".codex", "config.toml", "hooks.json", "prompts"),
        ("gemini", ".gemini", "settings.json", "GEMINI.md", "extensions"),
    ] {
        let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
        let own = site.path("home").join(folder);
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join(there), "mine\n").unwrap();
        fs::write(site.path("home/.claude.json"), "{\"mine\": 1}\n").unwrap();
        let script = format!(
            "cd ~/{folder}; echo evil > {there}; rm -f {there}; mv {there} x; echo evil > new; mv new {there}\n\
             echo evil > {missing}; echo evil > {runs}/evil; mv {runs} aside; rmdir {runs}\n\
             echo evil > ~/.claude.json; echo own > ~/.claude.json.new; mv ~/.claude.json.new ~/.claude.json\n\
             mkdir -p shell-snapshots; echo evil > shell-snapshots/evil\n\
             for i in $(seq 100); do [ -e {missing} ] || exit 0; sleep 0.05; done; exit 9"
        );
        let output = run(&site, name, &script);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        assert_eq!(fs::read_to_string(own.join(there)).unwrap(), "mine\n", "{name}");
        assert!(!own.join(missing).exists(), "{name}");
        assert!(!own.join(runs).join("evil").exists() && own.join(runs).is_dir(), "{name}");
        let servers = fs::read_to_string(site.path("home/.claude.json")).unwrap();
        assert_eq!(servers, "{\"mine\": 1}\n", "{name}");
        assert_eq!(name == "claude", !own.join("shell-snapshots/evil").exists(), "{name}");
    }
}

#[test]
fn shell_calls_of_an_agent_do_not_read_what_it_signs_in_with() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let shell = site.path("programs/waypost-shell");
    for (name, file) in [("claude", ".claude/.credentials.json"), ("codex", ".codex/auth.json")] {
        let inside = format!(
            "cat ~/{file} /proc/$PPID/environ /proc/1/environ; env; echo still-works > src/made.txt; \
             git add -A && git commit -qm made && git log -1 --format=%s"
        );
        let script = format!(
            "cat ~/{file} > /dev/null && echo signed-in; exec {} '{inside}'",
            shell.display()
        );
        let output = run(&site, name, &script);
        let said = said(&output);
        assert!(said.contains("signed-in"), "the program itself reads it: {name}: {said}");
        assert!(!said.contains(CANARY), "{name}: {said}");
        assert!(said.contains("\nmade\n"), "{name}: {said}");
        site.restore();
    }
}

#[test]
fn a_shell_that_is_called_by_its_name_is_wrapped_for_a_program_that_asks_no_hook() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    fs::create_dir_all(site.path("home/.gemini")).unwrap();
    fs::write(site.path("home/.gemini/oauth_creds.json"), CANARY).unwrap();
    let script = "cat ~/.gemini/oauth_creds.json > /dev/null && echo signed-in\n\
                  bash -c 'cat ~/.gemini/oauth_creds.json; echo [$GITHUB_TOKEN]; bash -c \"echo deep\"; exit 4'";
    let output = run(&site, "gemini", script);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("signed-in"), "{}", said(&output));
    assert!(said(&output).contains("[]\ndeep\n"), "{}", said(&output));
    assert!(!said(&output).contains(CANARY), "{}", said(&output));
}

#[test]
fn an_agent_is_ended_when_a_gate_closes_under_it() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let script =
        "echo up; while echo x >> src/lib.txt; do sleep 0.02; done; echo closed; sleep 1000";
    let mut command = agent(&site, "claude", script);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    site.waypost(&["develop", "gate", "reset", "review_clean_pass"]);
    // It would go on for ever.
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
    assert!(said(&ended).contains("a gate has closed"), "{}", said(&ended));
    // The next one begins with what is open then.
    let before = fs::read(site.root().join("src/lib.txt")).unwrap();
    run(&site, "claude", "echo evil >> src/lib.txt");
    assert_eq!(fs::read(site.root().join("src/lib.txt")).unwrap(), before);
}

#[test]
fn settings_that_a_person_changes_end_an_agent_instead_of_opening_them() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let settings = site.path("home/.claude/settings.json");
    fs::write(&settings, "mine\n").unwrap();
    let script =
        "echo up; while :; do echo evil > ~/.claude/settings.json; sleep 0.02; done 2>/dev/null";
    let mut command = agent(&site, "claude", script);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    fs::write(site.path("home/new"), "changed\n").unwrap();
    fs::rename(site.path("home/new"), &settings).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
    assert!(said(&ended).contains("was replaced outside"), "{}", said(&ended));
}
