//! The plugin for Claude Code and the marketplace that offers it, judged and used by Claude Code.

use crate::harness::{FEATURE, Site, assert_refused};
use crate::program::Agent;
use serde_json::{Value, json};
use waypost_agent::{
    Product,
    registration::{HookProgram, register_given},
};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugin");

#[test]
fn the_plugin_registers_what_init_registers_and_what_a_session_needs() {
    let words = ["waypost-hook".to_owned()];
    let program = HookProgram::new(&words);
    // Contracts are below `.claude`, about which the program asks its person each time.
    let registered = register_given(Product::CLAUDE, "{}", &program).unwrap();
    let hooks = |text: &str| serde_json::from_str::<Value>(text).unwrap()["hooks"].clone();
    let plugin = std::fs::read_to_string(format!("{PLUGIN}/hooks/hooks.json")).unwrap();
    assert_eq!(hooks(&plugin), hooks(&registered));
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn plugin_and_marketplace_are_valid() {
    let Some(site) = Site::new(Agent::Claude) else { return };
    for folder in [REPOSITORY, PLUGIN] {
        let ran = site.agent(&["plugin", "validate", "--strict", folder]);
        assert_eq!(ran.code, Some(0), "{folder}\n{ran}");
        assert!(ran.stdout.contains("Validation passed"), "{ran}");
    }
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn the_plugin_alone_brings_its_commands_and_holds_the_agent() {
    let Some(site) = Site::new(Agent::Claude) else { return };
    let site = site.with_arguments(&["--plugin-dir", PLUGIN]);
    site.remove(".claude/settings.local.json");
    site.enter_implement();
    site.waypost("develop gate reset review_clean_pass");
    let input = json!({"file_path": site.path("code.rs"), "content": "x"});
    let write = json!({"blocks": [{"tool": "Write", "input": input}]});
    let work = site.work(json!([write, {"blocks": [{"text": "Done."}]}]), json!([]));
    assert_refused(&work.tool_results("main"), 0, &["review_clean_pass"]);
    assert!(!site.exists("code.rs"));
    assert!(work.shown(0).contains(FEATURE), "{}", work.shown(0));

    let init = work.ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut init = init.filter(|line: &Value| line["subtype"] == "init");
    let init = init.next().unwrap_or_else(|| panic!("no init\n{}", work.ran));
    let names = |key: &str| init[key].as_array().cloned().unwrap_or_default();
    let (skills, agents) = (names("slash_commands"), names("agents"));
    for name in ["waypost:develop", "waypost:auto-orchestrate"] {
        assert!(skills.contains(&json!(name)), "no {name} in {skills:?}");
    }
    for name in ["waypost:reviewer", "waypost:design-verifier", "waypost:test-oracle"] {
        assert!(agents.contains(&json!(name)), "no {name} in {agents:?}");
    }
}
