//! Whether the real programs ask their hook in this project, and what their conversations are told.

use crate::{
    harness::{Site, assert_refused},
    program::{Agent, Ran, run},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, process::Command};

/// A project with the hook registered, and the program on the path under its own name.
fn site(agent: Agent) -> Option<Site> {
    let site = Site::new(agent)?;
    symlink(&site.programs.agent, site.base().join("bin").join(agent.name())).unwrap();
    Some(site)
}

fn waypost(site: &Site, line: &str) -> Command {
    let mut command = site.waypost_command(line);
    command.env("CODEX_HOME", site.base().join("codex"));
    command
}

fn check(site: &Site) -> (Ran, Value) {
    let ran = run(waypost(site, &format!("--json agents check {}", site.agent.name())), "");
    let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    let gate = found[0]["gate"].clone();
    (ran, gate)
}

fn doctor(site: &Site) -> String {
    run(waypost(site, "doctor"), "").stdout
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_found_to_ask_its_hook_in_this_project_or_not() {
    let Some(site) = site(Agent::Claude) else { return };
    let (ran, gate) = check(&site);
    assert_eq!(
        (ran.code, &gate["health"], &gate["registered"]),
        (Some(0), &json!("alive"), &json!("alive")),
        "{ran}"
    );
    let told = doctor(&site);
    assert!(
        told.contains("ok   hooks          .claude/settings.local.json: refused a call"),
        "{told}"
    );
    // Nothing of it is left in the project or its journal.
    assert_eq!(site.git("status --porcelain"), "");
    assert_eq!(site.waypost("--json log -n 100").stdout, "");
    for folder in [".claude", "../home/.claude"] {
        let file = format!("{folder}/settings.json");
        fs::create_dir_all(site.root.join(folder)).unwrap();
        site.write(&file, "{\"disableAllHooks\": true}\n");
        let told = doctor(&site);
        assert!(told.contains("turns every hook off") && !told.contains("ok   hooks"), "{told}");
        let (ran, gate) = check(&site);
        assert_eq!((ran.code, &gate["registered"]), (Some(1), &json!("silent")), "{file}: {ran}");
        site.remove(&file);
    }
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_is_found_to_skip_a_hook_that_nobody_trusts() {
    let Some(site) = site(Agent::Codex) else { return };
    let (ran, gate) = check(&site);
    assert_eq!(
        (ran.code, &gate["health"], &gate["registered"]),
        (Some(1), &json!("alive"), &json!("ran")),
        "{ran}"
    );
    assert!(ran.stdout.contains("this folder is not trusted"), "{ran}");
    // The check has not made Codex trust the folder.
    let config = fs::read_to_string(site.base().join("codex/config.toml")).unwrap_or_default();
    assert!(!config.contains("trust_level"), "{config}");
    let trust = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", site.root.display());
    fs::write(site.base().join("codex/config.toml"), trust).unwrap();
    let (ran, gate) = check(&site);
    assert_eq!((ran.code, &gate["registered"]), (Some(1), &json!("ran")), "{ran}");
    assert!(ran.stdout.contains("is skipped, because it is not trusted"), "{ran}");
}

/// What Gemini CLI does with a push that the workflow does not allow yet, started as a person does.
fn pushes_as_gemini(site: &Site) -> (Vec<String>, String) {
    let turns = json!([site.agent.command("git push -q origin main"), {"blocks": [{"text": "."}]}]);
    let work = site.work(turns, json!([]));
    (work.tool_results("main"), site.pushed())
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn gemini_asks_its_hook_in_a_trusted_folder_and_nothing_claims_more() {
    let Some(site) = site(Agent::Gemini) else { return };
    let own = site.home().join(".gemini");
    fs::create_dir_all(&own).unwrap();
    let auth = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    fs::write(own.join("settings.json"), auth.to_string()).unwrap();
    let is_honest = |site: &Site| {
        let (ran, gate) = check(site);
        assert_eq!(ran.code, Some(1), "{ran}");
        let said = gate["health"]["no_hook"].as_str().unwrap_or_default();
        assert!(said.contains("by that it asks no hook"), "{ran}");
        assert!(gate["registered"]["failed"].is_string(), "{ran}");
        doctor(site)
    };
    let told = is_honest(&site);
    assert!(told.contains("because this folder is not trusted"), "{told}");
    assert!(!told.contains("ok   hooks") && !told.contains("--skip-trust"), "{told}");
    let folders = json!({ site.root.to_str().unwrap(): "TRUST_FOLDER" });
    fs::write(own.join("trustedFolders.json"), folders.to_string()).unwrap();
    let told = is_honest(&site);
    assert!(told.contains("not known whether it is asked"), "{told}");
    assert!(!told.contains("ok   hooks"), "{told}");
    // In a folder that it trusts the hook refuses; in one that it has to be told to start in, nothing
    // does.
    site.enter_implement();
    let (results, pushed) = pushes_as_gemini(&site);
    assert_refused(&results, 0, &["re_review_clean"]);
    assert_eq!(pushed, "");
    fs::remove_file(own.join("trustedFolders.json")).unwrap();
    let site = site.with_arguments(&["--skip-trust"]);
    let (_, pushed) = pushes_as_gemini(&site);
    assert_eq!(pushed, "refs/heads/main\n", "the words about trust are true");
}

/// A conversation that starts a checkpoint is told of that one, and not of another's.
fn is_told_its_own(agent: Agent) {
    let Some(site) = Site::new(agent) else { return };
    site.waypost_all(&[
        "develop start chat",
        "develop advance --checkpoint cp-1 --checkpoint cp-2",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
        "develop checkpoint start cp-1",
    ]);
    let start =
        format!("{} develop checkpoint start cp-2", site.programs.bin.join("waypost").display());
    let done = json!({"blocks": [{"text": "Done."}]});
    let work = site.work(json!([agent.command(&start), done, done]), json!([]));
    assert_eq!(work.requests.len(), 3, "{}", work.ran);
    let shown = work.shown(2);
    assert!(shown.contains("checkpoint cp-2 of `chat` is in progress"), "{shown}");
    assert!(!shown.contains("checkpoint cp-1 of `chat` is in progress"), "{shown}");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_told_its_own_checkpoint() {
    is_told_its_own(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_is_told_its_own_checkpoint() {
    is_told_its_own(Agent::Codex);
}
