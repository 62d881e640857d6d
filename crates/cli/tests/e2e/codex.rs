//! Codex: the same gates, with its own tools and in its own words.

use crate::harness::{FEATURE, STATE, Site, assert_refused};
use crate::program::Agent;
use serde_json::{Value, json};

const HOOKS: &str = ".codex/hooks.json";

fn site() -> Option<Site> {
    Site::new(Agent::Codex)
}

fn text(text: &str) -> Value {
    json!({"blocks": [{"text": text}]})
}

fn shell(command: &str) -> Value {
    json!({"blocks": [{"tool": "exec_command", "input": {"cmd": command}}]})
}

fn patch(body: &str) -> Value {
    let patch = format!("*** Begin Patch\n{body}\n*** End Patch\n");
    json!({"blocks": [{"tool": "apply_patch", "input": patch}]})
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_writes_only_once_the_review_gate_is_passed() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.waypost("develop gate reset review_clean_pass");
    let turns = json!([
        shell("echo 'fn main() {}' > code.rs"),
        patch("*** Add File: patched.rs\n+fn main() {}"),
        text("Done."),
    ]);
    let work = site.work(turns.clone(), json!([]));
    let results = work.tool_results("main");
    for at in 0..2 {
        assert_refused(&results, at, &["review_clean_pass", "IMPLEMENT"]);
    }
    assert!(!site.exists("code.rs") && !site.exists("patched.rs"));

    site.waypost_all(&[
        "develop back",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
    ]);
    let work = site.work(turns, json!([]));
    for name in ["code.rs", "patched.rs"] {
        assert_eq!(site.read(name), "fn main() {}\n", "{}", work.ran);
    }
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_pushes_in_no_spelling_before_the_last_gate() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.enter_pr();
    let spellings = ["git push", "git -C . push origin main", r#"bash -c 'git  pu""sh'"#];
    let mut turns: Vec<Value> = spellings.iter().map(|command| shell(command)).collect();
    turns.push(text("Done."));
    let work = site.work(json!(turns), json!([]));
    let results = work.tool_results("main");
    for at in 0..spellings.len() {
        assert_refused(&results, at, &["re_review_clean", "PR"]);
    }
    assert_eq!(site.pushed(), "");

    site.waypost("develop gate pass re_review_clean");
    let work = site.work(json!([shell(spellings[0]), text("Done.")]), json!([]));
    assert_eq!(site.pushed(), "refs/heads/main\n", "{}", work.ran);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_does_not_get_around_the_gate_from_another_folder() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.enter_pr();
    let root = site.path("");
    let command = format!("git -C {root} push origin main");
    // The model chooses the folder of a call, and the hook's event has that one.
    let input = json!({"cmd": command, "workdir": "/"});
    let turn = json!({"blocks": [{"tool": "exec_command", "input": input}]});
    let work = site.work(json!([turn, text("Done.")]), json!([]));
    assert_refused(&work.tool_results("main"), 0, &["re_review_clean"]);
    assert_eq!(site.pushed(), "");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_opens_no_shell_whose_keys_the_hook_cannot_see() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.enter_pr();
    // What is typed into a shell that runs is no tool call for the hook.
    let input = json!({"cmd": "bash", "tty": true, "yield_time_ms": 250});
    let turn = json!({"blocks": [{"tool": "exec_command", "input": input}]});
    let work = site.work(json!([turn, text("Done.")]), json!([]));
    // Behind the wall such a shell may run: whatever is typed is inside.
    match site.waypost("statusline").stdout.contains(" wall ") {
        true => assert!(work.ran.stdout.contains("waypost-shell bash"), "{}", work.ran),
        false => assert_refused(&work.tool_results("main"), 0, &["PR"]),
    }
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_edits_neither_the_state_nor_its_hooks() {
    let Some(site) = site() else { return };
    site.enter_implement();
    let before = [STATE, HOOKS].map(|name| site.read(name));
    let turns = json!([
        shell(&format!("sed -i s/false/true/ {STATE}")),
        shell(&format!("echo '{{}}' > {HOOKS}")),
        patch(&format!("*** Delete File: {HOOKS}")),
        shell("echo free > notes.txt"),
        text("Done."),
    ]);
    let work = site.work(turns, json!([]));
    let results = work.tool_results("main");
    for (at, name) in [(0, STATE), (1, HOOKS), (2, HOOKS)] {
        assert_refused(&results, at, &[name]);
    }
    assert_eq!([STATE, HOOKS].map(|name| site.read(name)), before);
    assert_eq!(site.read("notes.txt"), "free\n", "{}", work.ran);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_goes_on_after_errors_of_the_model_and_does_nothing_twice() {
    let Some(site) = site() else { return };
    let append = |word: &str| {
        json!({"tool": "exec_command", "input": {
            "cmd": format!("echo {word} >> words.txt"),
        }})
    };
    let turns = json!([
        {"blocks": [append("one")], "error": {"status": 500}},
        {"blocks": [append("two")], "error": {"status": 529}},
        {"blocks": [{"text": "Done."}]},
    ]);
    let work = site.work(turns, json!([]));
    assert_eq!(site.read("words.txt"), "one\ntwo\n", "{}", work.ran);
    assert_eq!(work.statuses(), [500, 200, 529, 200, 200]);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_is_told_the_state_and_held_once() {
    let Some(site) = site() else { return };
    site.enter_implement();
    site.waypost("develop checkpoint start cp-1");
    let turns = json!([text("Done."), text("Really done."), text("Once more.")]);
    let work = site.work(turns, json!([]));
    let shown = work.shown(0);
    for word in [FEATURE, "IMPLEMENT", "cp-1"] {
        assert!(shown.contains(word), "the model is not told `{word}`: {shown}");
    }
    assert_eq!(work.asked(), 2, "{}", work.ran);
    let shown = work.shown(1);
    assert!(shown.contains("hook_prompt"), "{shown}");
}
