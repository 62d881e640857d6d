//! The hook in the settings of agent programs.

use super::{differences, install, must_with, person_must_with, tree, write_script};
use crate::{harness::Project, terminal::no_person_is_here};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};
use waypost_agent::{Product, registration};

const CLAUDE: &str = ".claude/settings.local.json";
const CLAUDE_SHARED: &str = ".claude/settings.json";
const CODEX: &str = ".codex/hooks.json";
const GEMINI: &str = ".gemini/settings.json";

/// The words of the first command in a settings file, without those that start it.
fn command(project: &Project, file: &str) -> Vec<String> {
    let product = Product::all().find(|it| file.contains(it.as_str())).unwrap();
    let ours = registration::registered(product, &project.read(file)).unwrap();
    // Private ones name the journal, shared ones do not.
    assert_eq!(ours.journal.is_some(), ours.words[0].contains('/'), "{file}");
    ours.words
}

fn exists(project: &Project) -> [bool; 4] {
    [CLAUDE, CLAUDE_SHARED, CODEX, GEMINI].map(|file| project.path(file).exists())
}

/// What the hook of every program has to call.
#[track_caller]
fn check_commands(project: &Project, program: &Path, rest: &str) {
    let mut words = vec![program.to_str().unwrap()];
    words.extend(Some(rest.trim()).filter(|rest| !rest.is_empty()));
    for file in [CLAUDE, CODEX, GEMINI] {
        assert_eq!(command(project, file), words);
    }
}

#[test]
fn every_program_calls_the_installed_one_by_its_path() {
    let project = Project::git().with_programs();
    let waypost = install(&project);
    must_with(&project, &waypost, "init");
    check_commands(&project, &waypost, " hook");
    assert_eq!(project.git_command("status --porcelain"), "");
}

#[test]
fn the_small_program_is_preferred_where_it_is_installed() {
    let project = Project::git().with_programs();
    let waypost = install(&project);
    let hook = waypost.with_file_name("waypost-hook");
    write_script(&hook, 0o755, "");
    must_with(&project, &waypost, "init");
    check_commands(&project, &hook, "");
}

/// A process that can say what the hook calls can say what it answers.
#[test]
fn only_a_person_turns_a_hook_to_another_program() {
    let project = Project::git().with_programs();
    let waypost = install(&project);
    must_with(&project, &waypost, "init --git-hooks");
    let before = tree(&project);
    let lines = ["init", "init --shared", "init --no-agents --git-hooks"];
    assert_snapshot!("turned", project.transcript(&lines));
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
    // One that leads nowhere holds nothing, and may be repaired by an agent.
    let moved = waypost.with_file_name("waypost2");
    fs::rename(&waypost, &moved).unwrap();
    must_with(&project, &moved, "init --git-hooks");
    check_commands(&project, &moved, " hook");
    assert!(project.read(".git/hooks/pre-push").contains("waypost2'\n"));
    if no_person_is_here() {
        return;
    }
    fs::copy(&moved, &waypost).unwrap();
    person_must_with(&project, &waypost, "init --git-hooks");
    check_commands(&project, &waypost, " hook");
    person_must_with(&project, &waypost, "init --shared");
    assert_eq!(exists(&project), [false, true, true, true]);
}

#[test]
fn the_second_time_no_byte_changes() {
    for line in ["init", "init --shared"] {
        for project in [Project::git().with_programs(), Project::plain().with_programs()] {
            project.must(line);
            let before = tree(&project);
            let again = project.json(line);
            let changes: Vec<&Value> =
                again["agents"].as_array().unwrap().iter().map(|it| &it["change"]).collect();
            assert_eq!(changes, ["unchanged"; 3]);
            assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
        }
    }
}

#[test]
fn programs_can_be_chosen() {
    let check = |line: &str, want: [bool; 4]| {
        let project = Project::git().with_programs();
        project.must(line);
        assert_eq!(exists(&project), want, "{line}");
    };
    check("init --agent codex", [false, false, true, false]);
    check("init --agent gemini --agent claude", [true, false, false, true]);
    check("init --no-agents", [false, false, false, false]);
    check("init --shared --agent claude", [false, true, false, false]);
    let project = Project::git().with_programs();
    let lines =
        ["init --agent cursor", "init --agent claude --no-agents", "init --remove --git-hooks"];
    assert_snapshot!("chosen_wrongly", project.transcript(&lines));
}

/// What was registered before stays registered, and out of git's sight.
#[test]
fn choosing_one_program_leaves_the_others() {
    let project = Project::git().with_programs();
    project.must("init");
    let before = tree(&project);
    project.must("init --no-agents");
    project.must("init --agent codex");
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
}

#[test]
fn what_git_tracks_is_everybodys() {
    let project = Project::git().with_programs();
    project.write(GEMINI, "{ \"model\": \"pro\" } // mine\n");
    project.write(CLAUDE_SHARED, "{}");
    project.git_command("add -A");
    if no_person_is_here() {
        return;
    }
    let told = [
        project.transcript(&["init"]),
        project.git_command("status --porcelain"),
        project.tell("init --shared", &project.as_person("init --shared")),
        project.git_command("status --porcelain"),
        project.transcript(&["init", "--json init"]),
    ];
    assert_snapshot!("tracked", told.join("\n"));
    assert_eq!(exists(&project), [false, true, true, true]);
    for file in [CLAUDE_SHARED, CODEX] {
        assert_eq!(command(&project, file), ["waypost-hook"]);
    }
    assert!(project.read(GEMINI).ends_with("} // mine\n"));
    assert!(project.read(".gitignore").contains("\n/.develop-workflow/\n"));
    let exclude = project.read(".git/info/exclude");
    assert!(!exclude.contains("waypost"), "{exclude}");
}

#[test]
fn settings_that_cannot_be_read_stop_it_before_anything_is_done() {
    let project = Project::git().with_programs();
    project.write(GEMINI, "{\n  \"model\": \"pro\"\n  \"ui\": {}\n}\n");
    let before = tree(&project);
    assert_snapshot!("bad_settings", project.transcript(&["init"]));
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
    project.must("init --agent claude --agent codex");
    assert_eq!(exists(&project), [true, false, true, true]);
}

#[test]
fn a_link_in_the_place_of_settings_is_refused() {
    let project = Project::git().with_programs();
    fs::write(project.base().join("elsewhere.json"), "{}").unwrap();
    fs::create_dir(project.path(".claude")).unwrap();
    symlink("../../elsewhere.json", project.path(CLAUDE)).unwrap();
    let before = tree(&project);
    assert_snapshot!("linked_settings", project.transcript(&["init"]));
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
    assert_eq!(fs::read_to_string(project.base().join("elsewhere.json")).unwrap(), "{}");
}

/// A folder that is shared by linking it is the user's own doing.
#[test]
fn a_linked_folder_is_followed() {
    let project = Project::git().with_programs();
    fs::create_dir(project.base().join("shared")).unwrap();
    symlink("../shared", project.path(".claude")).unwrap();
    project.must("init");
    assert!(project.base().join("shared/settings.local.json").is_file());
}

/// Git says nothing about a repository whose format it does not know.
#[test]
fn what_git_cannot_tell_is_not_guessed() {
    let project = Project::git().with_programs();
    project.write(GEMINI, "{}");
    project.git_command("config core.repositoryFormatVersion 99");
    let before = tree(&project);
    let ran = project.run("init");
    assert_eq!(ran.code, 5, "{ran}");
    assert_eq!(differences(&project, &before, &tree(&project)), [""; 0]);
}

#[test]
fn doctor_misses_a_hook_that_is_gone() {
    let project = Project::git().with_programs();
    let waypost = install(&project);
    must_with(&project, &waypost, "init --git-hooks");
    let sound = project.run("doctor").stdout;
    project.write(CLAUDE, "{}\n");
    fs::remove_file(project.path(CODEX)).unwrap();
    project.replace(GEMINI, "waypost' hook gemini", "elsewhere");
    fs::remove_file(project.path(".git/hooks/pre-push")).unwrap();
    let gone = project.transcript(&["doctor"]);
    must_with(&project, &waypost, "init --git-hooks");
    fs::remove_file(&waypost).unwrap();
    let uninstalled = project.transcript(&["doctor"]);
    let told = [project.redact(&sound), gone, uninstalled].map(|told| {
        told.lines().filter(|line| line.contains("hook")).collect::<Vec<_>>().join("\n")
    });
    assert_snapshot!("doctor_hooks", told.join("\n\n"));
}

#[test]
fn data_tells_what_was_done() {
    let project = Project::git().with_programs();
    let first = project.json("init --agent claude --git-hooks");
    assert_eq!(first["agents"], json!([{ "agent": "claude", "file": CLAUDE, "change": "added" }]));
    let hooks = project.path(".git/hooks");
    assert_eq!(
        first["git_hooks"],
        json!([
            { "hook": "pre-commit", "file": hooks.join("pre-commit"), "change": "added", "earlier": null },
            { "hook": "pre-push", "file": hooks.join("pre-push"), "change": "added", "earlier": null },
        ])
    );
}

#[test]
fn only_programs_that_are_installed_get_the_hook() {
    let project = Project::git();
    project.program("codex", "echo 0.0.0");
    let told = project.transcript(&["init"]);
    assert!(told.contains("Codex: the hook is in .codex/hooks.json"), "{told}");
    let skipped = "! not installed, so no hook was registered: Claude Code, Gemini CLI; run \
                   `waypost init` again once they are, or `waypost init --agent claude` now\n";
    assert!(told.contains(skipped), "{told}");
    assert_eq!(exists(&project), [false, false, true, false]);
    assert_eq!(project.json("init")["skipped"], json!(["claude", "gemini"]));
    // One that is named gets it all the same, and keeps it.
    project.must("init --agent claude");
    assert_eq!(exists(&project), [true, false, true, false]);
    assert_eq!(project.json("init")["skipped"], json!(["gemini"]));
    project.program("gemini", "echo 0.0.0");
    project.must("init");
    assert_eq!(exists(&project), [true, false, true, true]);
    assert_eq!(project.git_command("status --porcelain"), "");
}

#[test]
fn state_files_do_not_show_up_in_git_without_init_either() {
    let project = Project::with_tasks();
    project.git_command("add .");
    project.git_command("commit -qm begin");
    project.must("develop start 'Live chat'");
    project.must("run start T0.1");
    assert!(project.path(".claude").is_dir() && project.path(".develop-workflow").is_dir());
    assert_eq!(project.git_command("status --porcelain"), "");
    // What the user has there is still shown.
    project.write(".claude/settings.json", "{}\n");
    assert_eq!(project.git_command("status --porcelain"), "?? .claude/\n");
}

#[test]
fn doctor_tells_of_a_git_that_is_too_old() {
    let project = Project::git();
    let table = [
        ("2.37.1", "bad  git            version 2.37.1 is too old: runs in work trees need 2.38"),
        ("2.39.5 (Apple Git-154)", "note git            version 2.39.5 (Apple Git-154): reverting"),
        ("2.40.0", "ok   git            version 2.40 or later"),
        ("3.0", "ok   git            version 2.40 or later"),
    ];
    for (version, want) in table {
        let script = format!(
            "for word; do test \"$word\" = --version && echo 'git version {version}' && exit; done\n\
             exec /usr/bin/git \"$@\""
        );
        project.program("git", &script);
        let ran = project.run("doctor");
        assert!(ran.stdout.contains(want), "{version}: {ran}");
        assert_eq!(ran.code, i32::from(want.starts_with("bad")), "{version}");
    }
}

const SERVERS: &str = ".mcp.json";

/// What a person's own file of Claude Code may look like before us.
const OWN: [Option<&str>; 4] = [
    None,
    Some("{\n  \"firstStartVersion\": \"2.1.325\"\n}"),
    Some("{\n  \"projects\": {\n    \"/src/other\": {\n      \"mcpServers\": {}\n    }\n  }\n}\n"),
    Some("{\"projects\": {}, \"userID\": \"7\"}"),
];

#[test]
fn a_tracked_file_of_servers_is_left_alone_and_the_local_scope_takes_ours() {
    if no_person_is_here() {
        return;
    }
    for before in OWN {
        let project = Project::git().with_programs();
        let own = project.base().join("home/.claude.json");
        if let Some(text) = before {
            fs::write(&own, text).unwrap();
        }
        project.write(SERVERS, "{\"mcpServers\": {}}\n");
        project.git_command("add .mcp.json");
        let told = project.must("init --agent claude").stderr;
        assert!(told.contains("tracked by git") && told.contains(".claude.json"), "{told}");
        let text = fs::read_to_string(&own).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let server = &value["projects"][project.root.to_str().unwrap()]["mcpServers"]["waypost"];
        assert_eq!(server["args"], json!(["mcp"]), "{text}");
        assert!(Path::new(server["command"].as_str().unwrap()).is_file(), "{text}");
        // Again, nothing is changed.
        let again = project.json("init --agent claude");
        assert_eq!(again["servers"][0]["change"], "unchanged", "{again}");
        assert_eq!(fs::read_to_string(&own).unwrap(), text);
        assert_eq!(project.read(SERVERS), "{\"mcpServers\": {}}\n");
        project.person_must("init --remove");
        assert_eq!(fs::read_to_string(&own).ok().as_deref(), before);
        assert_eq!(project.read(SERVERS), "{\"mcpServers\": {}}\n");
    }
}

#[test]
fn a_persons_own_file_that_is_a_link_is_not_written() {
    let project = Project::git().with_programs();
    fs::write(project.base().join("dotfiles.json"), "{}").unwrap();
    symlink(project.base().join("dotfiles.json"), project.base().join("home/.claude.json"))
        .unwrap();
    project.write(SERVERS, "{}");
    project.git_command("add .mcp.json");
    let told = project.must("init --agent claude").stderr;
    assert!(told.contains("add the server `waypost mcp` in your own settings"), "{told}");
    assert_eq!(fs::read_to_string(project.base().join("dotfiles.json")).unwrap(), "{}");
}
