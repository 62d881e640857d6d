//! Claude Code: what it may not do, does not happen, and the model is told why.

use crate::harness::{FEATURE, STATE, Site, assert_refused};
use crate::program::Agent;
use serde_json::{Value, json};

const SETTINGS: &str = ".claude/settings.local.json";

fn site() -> Option<Site> {
    Site::new(Agent::Claude)
}

fn text(text: &str) -> Value {
    json!({"blocks": [{"text": text}]})
}

fn tool(name: &str, input: Value) -> Value {
    json!({"blocks": [{"tool": name, "input": input}]})
}

fn write(site: &Site, name: &str, content: &str) -> Value {
    tool("Write", json!({"file_path": site.path(name), "content": content}))
}

fn read(site: &Site, name: &str) -> Value {
    tool("Read", json!({"file_path": site.path(name)}))
}

fn bash(command: &str) -> Value {
    tool("Bash", json!({"command": command, "description": "try"}))
}

fn agent() -> Value {
    let input = json!({"description": "write it", "prompt": "SUBAGENT, write the file",
                       "subagent_type": "general-purpose"});
    tool("Agent", input)
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_writes_only_once_the_review_gate_is_passed() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.waypost("develop gate reset review_clean_pass");
    let turns = json!([write(&site, "code.rs", "fn main() {}\n"), text("Done.")]);
    let work = site.work(turns.clone(), json!([]));
    assert_refused(&work.tool_results("main"), 0, &["review_clean_pass", "IMPLEMENT"]);
    assert!(!site.exists("code.rs"));

    site.waypost_all(&[
        "develop back",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
    ]);
    let work = site.work(turns, json!([]));
    assert_eq!(site.read("code.rs"), "fn main() {}\n", "{}", work.ran);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn a_subagent_of_claude_is_held_at_the_same_gate() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.waypost("develop gate reset review_clean_pass");
    let turns = json!([agent(), text("It works on it."), text("Done.")]);
    let sub_turns = json!([write(&site, "code.rs", "fn main() {}\n"), text("Done below.")]);
    let work = site.work(turns.clone(), sub_turns.clone());
    assert_refused(&work.tool_results("sub"), 0, &["review_clean_pass", "IMPLEMENT"]);
    assert!(!site.exists("code.rs"));

    site.waypost_all(&[
        "develop back",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
    ]);
    let work = site.work(turns, sub_turns);
    assert_eq!(site.read("code.rs"), "fn main() {}\n", "{}", work.ran);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_pushes_in_no_spelling_before_the_last_gate() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.enter_pr();
    let spellings = ["git push", "git -C . push origin main", r#"bash -c 'git  pu""sh'"#];
    let mut turns: Vec<Value> = spellings.iter().map(|command| bash(command)).collect();
    turns.push(text("Done."));
    let work = site.work(json!(turns), json!([]));
    let results = work.tool_results("main");
    for at in 0..spellings.len() {
        assert_refused(&results, at, &["re_review_clean", "PR"]);
    }
    assert_eq!(site.pushed(), "");

    site.waypost("develop gate pass re_review_clean");
    let work = site.work(json!([bash(spellings[0]), text("Done.")]), json!([]));
    assert_eq!(site.pushed(), "refs/heads/main\n", "{}", work.ran);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_pushes_with_no_other_tool_that_runs_commands() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.enter_pr();
    let input = json!({"command": "git push origin main", "description": "push",
                       "timeout_ms": 5000, "persistent": false});
    let turns = json!([
        // A tool that is seldom used has to be asked for first.
        tool("ToolSearch", json!({"query": "select:Monitor", "max_results": 1})),
        tool("Monitor", input),
        text("Done."),
    ]);
    let work = site.work(turns, json!([]));
    assert_refused(&work.tool_results("main"), 1, &["re_review_clean", "PR"]);
    assert_eq!(site.pushed(), "");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_edits_neither_the_state_nor_the_settings_of_the_hook() {
    let Some(site) = site() else { return };
    site.enter_implement();
    let before = [STATE, SETTINGS].map(|name| site.read(name));
    let forged = before[0].replace("\"architect_verified\": false", "\"architect_verified\": true");
    assert_ne!(forged, before[0]);
    // Claude itself wants a file to be read before it is written.
    let turns = json!([
        read(&site, STATE),
        write(&site, STATE, &forged),
        read(&site, SETTINGS),
        write(&site, SETTINGS, "{}"),
        bash(&format!("echo '{{}}' > {SETTINGS}")),
        write(&site, "code.rs", "fn main() {}\n"),
        text("Done."),
    ]);
    let work = site.work(turns, json!([]));
    let results = work.tool_results("main");
    assert_refused(&results, 1, &[STATE]);
    assert_refused(&results, 3, &[SETTINGS]);
    assert_refused(&results, 4, &[SETTINGS]);
    assert_eq!([STATE, SETTINGS].map(|name| site.read(name)), before);
    // The hook is still there, and what is free is still free.
    assert!(site.exists("code.rs"), "{}", work.ran);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_goes_on_after_errors_of_the_model_and_does_nothing_twice() {
    let Some(site) = site() else { return };
    let append = |word: &str| {
        json!({"tool": "Bash", "input": {
            "command": format!("echo {word} >> words.txt"), "description": "append",
        }})
    };
    let turns = json!([
        {"blocks": [append("one")], "error": {"status": 529, "times": 2}},
        {"blocks": [append("two"), append("three")], "error": {"status": 500}},
        {"blocks": [{"text": "Done."}], "error": {"status": 429}},
    ]);
    let work = site.work(turns, json!([]));
    assert_eq!(site.read("words.txt"), "one\ntwo\nthree\n", "{}", work.ran);
    assert_eq!(work.statuses(), [529, 529, 200, 500, 200, 429, 200]);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_told_the_state_at_the_start_and_after_compaction() {
    let Some(site) = site() else { return };
    site.enter_implement();
    let turns =
        json!([text("One."), text("<analysis>short</analysis><summary>We said one.</summary>"),]);
    let work = site.converse(turns, &["go", "/compact", "go on"]);
    assert!(work.ran.stdout.contains("compact_boundary"), "{}", work.ran);
    let last = work.asked() - 1;
    for (at, moment) in [(0, "at the start"), (last, "after compaction")] {
        let shown = work.shown(at);
        for word in [FEATURE, "IMPLEMENT", "cp-1"] {
            assert!(shown.contains(word), "the model is not told `{word}` {moment}: {shown}");
        }
    }
    // What stood in front of the compaction is gone, so the state was told again.
    let last = work.shown(last);
    assert!(last.contains("We said one."), "{last}");
    assert!(!last.contains("\"One.\""), "{last}");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_held_once_while_a_checkpoint_is_in_progress() {
    let Some(site) = site() else { return };
    site.enter_implement();
    let turns = json!([text("Done."), text("Really done."), text("Once more.")]);
    let work = site.work(turns.clone(), json!([]));
    assert_eq!(work.asked(), 1, "nothing is in progress yet\n{}", work.ran);

    site.waypost("develop checkpoint start cp-1");
    let work = site.work(turns, json!([]));
    assert_eq!(work.asked(), 2, "{}", work.ran);
    let shown = work.shown(1);
    assert!(shown.contains("Stop hook feedback") && shown.contains("cp-1"), "{shown}");
}
