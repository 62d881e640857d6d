//! `waypost agents` and `waypost open`: which agents there are, their gates, their conversations.

use crate::{
    execute::wait_for,
    harness::{BINARY, Project, USER_CONFIG},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

/// A project with an agent `smith` that follows `steps`, and one task for it.
fn project(adapter: &str, steps: &Value) -> Project {
    let project = Project::git().variable("WAYPOST_RUN_ISOLATION", "none");
    let path = project.base().join("script.json");
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    fs::write(&path, script.to_string()).unwrap();
    let sessions = project.base().join("sessions");
    let (path, sessions) = (path.to_str().unwrap(), sessions.to_str().unwrap());
    let command = [
        BINARY,
        "sim",
        "agent",
        "--speak",
        adapter,
        "--script",
        path,
        "--sessions",
        sessions,
        "--",
    ];
    let config = format!("[agents.smith]\nadapter = \"{adapter}\"\ncommand = {}\n", json!(command));
    project.write(USER_CONFIG, &config);
    project.write(
        "TASKS.md",
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only\n  - agent: smith\n",
    );
    project
}

fn agent<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap()
}

#[test]
fn all_agents_are_listed_with_what_is_known_of_them() {
    let project = project("codex", &json!([{"done": "x"}]));
    let list = project.json("agents");
    let smith = agent(&list, "smith");
    assert_eq!((&smith["adapter"], &smith["program"]), (&json!("codex"), &json!(BINARY)));
    assert_eq!(smith["settings"], json!(["user", "project", "local"]));
    assert_eq!(smith["gate"], Value::Null);
    assert_eq!(agent(&list, "claude")["program"], Value::Null);
    let text = project.must("agents").stdout;
    assert!(text.contains("claude is not installed"), "{text}");
    assert!(text.contains("not checked yet"), "{text}");
}

#[test]
fn a_program_without_our_hook_is_found_to_be_silent() {
    let push = json!({"tool": "Bash", "input": "git push origin main"});
    let steps = json!([{"hook": "off"}, push, {"done": "pushed"}]);
    let project = project("claude", &steps);
    project.must("develop start chat");
    let ran = project.run("agents check smith");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("silent: the hook was never asked"), "{ran}");
    let status = project.must("status").stdout;
    assert!(status.contains("the gate of smith: silent"), "{status}");
    assert_eq!(project.json("status")["gates_of_agents"]["smith"]["health"], "silent");
    // The scratch project is gone, and is not reported as missing.
    let state = project.home().join(".local/state/waypost");
    assert_eq!(fs::read_dir(state.join("canary")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(state.join("projects")).unwrap().count(), 1);
}

#[test]
fn a_canary_that_runs_is_seen() {
    let touch = json!({"run": "touch \"$WAYPOST_CANARY\""});
    let steps = json!([{"hook": "off"}, touch, {"done": "ran it"}]);
    let project = project("claude", &steps);
    project.must("develop start chat");
    let ran = project.run("agents check smith");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("does not hold"), "{ran}");
}

#[test]
fn a_gate_that_holds_is_alive_until_its_program_changes() {
    // A program that asks its hook before each call, as the real ones do.
    let project = Project::git();
    let program = project.base().join("double");
    let hook = "printf '{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"cwd\":\"'$PWD'\",\
                \"tool_name\":\"Bash\",\"tool_use_id\":\"t1\",\"tool_input\":{\"command\":\"touch x\"}}'";
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 1.0 && exit\n\
         {hook} | {BINARY} hook claude >/dev/null\n\
         exec {BINARY} sim agent --speak claude --sessions {} -- \"$@\"\n",
        project.base().join("sessions").display()
    );
    fs::write(&program, &script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[agents.smith]\nadapter = \"claude\"\ncommand = [{program:?}]\n");
    project.write(USER_CONFIG, &config);
    project.must("develop start chat");
    let ran = project.must("agents check smith");
    assert!(ran.stdout.contains("alive  (1.0)"), "{ran}");
    assert!(!project.must("status").stdout.contains("smith"));
    fs::write(&program, format!("{script}\n")).unwrap();
    let status = project.must("status").stdout;
    assert!(status.contains("was checked with other settings or another version"), "{status}");
}

/// A program in the place of Claude Code: it asks the hooks that it is given or finds in the project's
/// settings, unless these turn hooks off, and then does what its scripted twin does.
const CLAUDE: &str = r#"
[ "$1" = --version ] && echo 99.2.0 && exit
settings=.claude/settings.local.json
for word; do case $word in --settings=*) settings=${word#--settings=} is_given=1;; esac; done
if [ -n "$is_given" ] || ! grep -qs '"disableAllHooks": true' .claude/settings*.json; then
  grep '^ *"/[^" ]*/waypost-hook",$' "$settings" 2>/dev/null | sort -u | cut -d'"' -f2 > hooks.$$
  while read -r hook; do
    printf '{"hook_event_name":"PreToolUse","session_id":"s","cwd":"%s","tool_name":"Bash",
      "tool_use_id":"t1","tool_input":{"command":"touch x"}}' "$PWD" | "$hook" claude >/dev/null
  done < hooks.$$
  rm hooks.$$
fi
exec "$WAYPOST" sim agent --speak claude --sessions "$SESSIONS" -- "$@"
"#;

fn with_claude() -> Project {
    let project = Project::git();
    project.program("claude", CLAUDE);
    // The check runs apart from the project, with the person's own configuration.
    project.write(USER_CONFIG, "[run]\nenvironment = [\"WAYPOST\", \"SESSIONS\"]\n");
    let sessions = project.base().join("sessions").display().to_string();
    project.variable("WAYPOST", BINARY).variable("SESSIONS", &sessions)
}

fn hook_lines(project: &Project) -> String {
    let told = project.run("doctor").stdout;
    told.lines().filter(|line| line[5..].starts_with("hooks")).map(|it| format!("{it}\n")).collect()
}

#[test]
fn a_hook_is_well_only_after_it_has_refused_a_call_in_this_project() {
    let project = with_claude();
    project.must("init");
    let before = project.git_command("status --porcelain --ignored");
    let told = hook_lines(&project);
    assert!(told.starts_with("note hooks") && told.contains("not tried here"), "{told}");
    let ran = project.must("agents check claude");
    assert!(ran.stdout.contains("alive  (99.2.0)"), "{ran}");
    assert!(ran.stdout.contains("started by you: alive"), "{ran}");
    let told = hook_lines(&project);
    assert!(told.starts_with("ok   hooks") && told.contains("refused a call here"), "{told}");
    // It has left nothing: not in the project, not in its journal, no workflow, no refusal.
    assert_eq!(project.git_command("status --porcelain --ignored"), before);
    assert_eq!(project.must("log --refused").stderr.trim(), "nothing was refused");
    assert_eq!(project.log().len(), 0);
    // Settings that change make it unknown again.
    project.write(".claude/settings.json", "{}\n");
    let told = hook_lines(&project);
    assert!(told.starts_with("note hooks") && told.contains("not tried here"), "{told}");
    assert_eq!(agent(&project.json("agents"), "claude")["gate"]["is_current"], false);
}

#[test]
fn hooks_that_settings_turn_off_are_found_with_and_without_a_call() {
    let project = with_claude();
    project.must("init");
    project.write(".claude/settings.json", "{\"disableAllHooks\": true}\n");
    let told = hook_lines(&project);
    let why = "Claude Code: `disableAllHooks` in .claude/settings.json turns every hook off";
    assert!(told.starts_with("bad  hooks") && told.contains(why), "{told}");
    let ran = project.run("agents check claude");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("alive  (99.2.0)"), "{ran}");
    assert!(ran.stdout.contains("started by you: silent: the hook was never asked"), "{ran}");
    assert!(ran.stdout.contains("take `disableAllHooks` out of .claude/settings.json"), "{ran}");
    // The person's own settings count as well.
    project.write(".claude/settings.json", "{}\n");
    project.write("../home/.claude/settings.json", "{\"disableAllHooks\": true}\n");
    let told = hook_lines(&project);
    assert!(told.contains("`disableAllHooks` in ~/.claude/settings.json"), "{told}");
    assert_eq!(project.run("doctor").code, 1);
}

#[test]
fn doctor_tells_what_keeps_hooks_from_being_asked() {
    let project = Project::git().with_programs();
    project.must("init");
    let plugin = "{\"enabledPlugins\": {\"waypost@shelf\": true}}\n";
    project.write("../home/.claude/settings.json", plugin);
    let told = hook_lines(&project);
    for line in [
        "note hooks          Claude Code has it more than once: .claude/settings.local.json and",
        "bad  hooks          Codex: .codex/hooks.json is not read, because this folder is not trusted",
        "bad  hooks          Gemini CLI: .gemini/settings.json is not read, because this folder",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let root = project.root.display();
    let hooks = project.path(".codex/hooks.json");
    let hooks = hooks.display();
    let trust = format!(
        "[projects.\"{root}\"]\ntrust_level = \"trusted\"\n\
         [hooks.state.\"{hooks}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:7\"\n"
    );
    project.write("../home/.codex/config.toml", &trust);
    let folders = json!({ project.root.to_str().unwrap(): "TRUST_FOLDER" });
    project.write("../home/.gemini/trustedFolders.json", &folders.to_string());
    let told = hook_lines(&project);
    assert!(!told.contains("bad "), "{told}");
    assert!(!told.contains("ok "), "{told}");
}

#[test]
fn what_cannot_be_checked_is_said() {
    let project = project("acp", &json!([{"done": "x"}]));
    let ran = project.must("agents check sim");
    assert!(ran.stdout.contains("the scripted agent asks no model"), "{ran}");
    let ran = project.run("agents check smith sim");
    assert_eq!(ran.code, 1, "no gate of it is alive: {ran}");
    assert!(ran.stdout.contains("a run speaks ACP with it, and by that it asks no hook"), "{ran}");
    assert_eq!(project.run("agents check nobody").code, 2);
    let missing = project.run("agents check claude");
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.stdout.contains("not installed"), "{missing}");
}

#[test]
fn a_conversation_is_opened_by_a_person_at_a_terminal() {
    let steps = json!([{"tool": "Read", "input": "x"}, {"done": "did it"}]);
    let project = project("claude", &steps);
    let nothing = project.run("open T1.1 --print");
    assert_eq!(nothing.code, 2, "{nothing}");
    project.must("run --no-budget");
    let opened = project.json("open T1.1 --print");
    let words: Vec<&str> =
        opened["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(words[words.len() - 2], "--resume");
    let refused = project.run("open T1.1");
    assert_eq!(refused.code, 3, "{refused}");
    if no_person_is_here() {
        return;
    }
    let ran = project.below_terminal(&format!("{BINARY} open T1.1"), "");
    assert!(ran.stdout.contains("T1.1 is yours"), "{ran}");
    assert!(ran.stdout.contains("T1.1 is handed back"), "{ran}");
    let kinds: Vec<Value> = project.log().iter().map(|entry| entry["kind"].clone()).collect();
    let taken = kinds.iter().position(|kind| kind == "task_taken").unwrap();
    assert!(kinds[taken..].contains(&json!("task_returned")), "{kinds:?}");
}

#[test]
fn opening_a_conversation_interrupts_its_agent_and_the_run_goes_on_afterwards() {
    if no_person_is_here() {
        return;
    }
    let wait = json!({"run": "touch ../at-work; while ! test -e ../go; do sleep 0.05; done"});
    let project = project("claude", &json!([wait, {"done": "did it"}]));
    // At a terminal the program only shows that it is there.
    let program = project.base().join("double");
    let words = project.read(USER_CONFIG);
    let words = words.split_once("command = ").unwrap().1.trim();
    let words: Vec<String> = serde_json::from_str(words).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = -p ] && exec {} \"$@\"\necho opened \"$@\"\n",
        words.join(" ")
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[agents.smith]\nadapter = \"claude\"\ncommand = [{program:?}]\n");
    project.write(USER_CONFIG, &config);
    let mut command = project.command(BINARY, &project.root);
    command.args(["run", "--no-budget"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    let at_work = project.base().join("at-work");
    wait_for("the agent at work", || at_work.exists());
    let ran = project.below_terminal(&format!("{BINARY} open T1.1"), "");
    assert!(ran.stdout.contains("opened --resume"), "{ran}");
    assert!(ran.stdout.contains("T1.1 is handed back"), "{ran}");
    fs::write(project.base().join("go"), "").unwrap();
    // Nothing else was to be done while a person had the task.
    run.wait().unwrap();
    project.run("run --resume");
    let kinds: Vec<Value> = project.log().iter().map(|entry| entry["kind"].clone()).collect();
    let at = |kind: &str| kinds.iter().position(|it| it == kind).unwrap_or(usize::MAX);
    assert!(at("attempt_interrupted") < at("task_taken"), "{kinds:?}");
    assert!(at("task_returned") < at("task_completed"), "{kinds:?}");
    // One conversation, before and after.
    assert_eq!(fs::read_dir(project.base().join("sessions")).unwrap().count(), 1);
}
