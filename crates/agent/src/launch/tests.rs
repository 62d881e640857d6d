//! Command lines and first input, from the shortest order to the longest.

use super::*;
use crate::{registration::starter, shell::quote};
use insta::assert_snapshot;
use std::fmt::Write as _;

fn order(program: &[&str]) -> Order {
    Order {
        program: program.iter().map(ToString::to_string).collect(),
        task: "Write the \"parser\"\nand test it".to_owned(),
        conversation: Conversation::New { id: "0f8fad5b-d9cb-469f-a165-70867728950e".to_owned() },
        model: None,
        turns_max: None,
        budget_cents: None,
        folder: "/proj/shop".to_owned(),
        more_folders: Vec::new(),
        access: Access::Edit,
        allowed_tools: Vec::new(),
        prompts: Prompts::Asked,
        setting_sources: None,
        has_mcp: true,
        settings: None,
        hook: Vec::new(),
        schema: None,
    }
}

/// An order with everything in it.
fn full(program: &[&str]) -> Order {
    Order {
        conversation: Conversation::Resume { id: "01a1e186".to_owned() },
        model: Some("best".to_owned()),
        turns_max: Some(40),
        budget_cents: Some(1_205),
        more_folders: vec!["/proj/shared".to_owned(), "/proj/my docs".to_owned()],
        allowed_tools: vec!["Bash(cargo *)".to_owned(), "WebFetch".to_owned()],
        prompts: Prompts::Refused,
        setting_sources: Some("user,local".to_owned()),
        has_mcp: false,
        settings: Some("/state/settings.json".to_owned()),
        hook: vec!["/my tools/waypost-hook".to_owned()],
        schema: Some("{\"type\":\"object\"}".to_owned()),
        ..order(program)
    }
}

#[test]
fn an_allowed_tool_is_never_read_as_an_option() {
    let tools = ["--settings=evil.json", "WebFetch", "-p"].map(str::to_owned).to_vec();
    let order = Order { allowed_tools: tools, ..order(&["claude"]) };
    let words = Adapter::CLAUDE.launch(&order).program;
    assert!(words.iter().any(|word| word == "WebFetch"), "{words:?}");
    assert!(!words.iter().any(|word| word.contains("evil")), "{words:?}");
}

fn shown(adapter: Adapter, order: &Order) -> String {
    let Launch { program, environment, without, stdin, opening } = adapter.launch(order);
    let mut text = program.join("\n  ");
    for (name, value) in environment {
        write!(text, "\nwith {name}={value}").unwrap();
    }
    write!(text, "\nwithout {}", without.len()).unwrap();
    for line in stdin {
        write!(text, "\n< {line}").unwrap();
    }
    write!(text, "\n{opening:?}\n").unwrap();
    // The words before a hook are told apart, and shown nowhere else.
    for (decides, name) in [(true, "DECIDING"), (false, "TELLING")] {
        let words = serde_json::to_string(&quote(&starter::words(decides))).unwrap();
        text = text.replace(&words[1..words.len() - 1], name);
    }
    text
}

#[test]
fn claude_is_started_with_streams_in_both_directions() {
    assert_snapshot!(shown(Adapter::CLAUDE, &order(&["claude"])), @r#"
    claude
      -p
      --input-format=stream-json
      --output-format=stream-json
      --verbose
      --session-id=0f8fad5b-d9cb-469f-a165-70867728950e
      --permission-mode=acceptEdits
      --permission-prompt-tool=stdio
    with DISABLE_AUTOUPDATER=1
    without 11
    < {"message":{"content":"Write the \"parser\"\nand test it","role":"user"},"type":"user"}
    Said
    "#);
    assert_snapshot!(shown(Adapter::CLAUDE, &full(&["claude"])), @r#"
    claude
      -p
      --input-format=stream-json
      --output-format=stream-json
      --verbose
      --resume=01a1e186
      --permission-mode=acceptEdits
      --permission-prompts=none
      --model=best
      --max-turns=40
      --max-budget-usd=12.05
      --settings=/state/settings.json
      --setting-sources=user,local
      --json-schema={"type":"object"}
      --strict-mcp-config
      --add-dir
      /proj/shared
      --add-dir
      /proj/my docs
      --allowedTools
      Bash(cargo *)
      WebFetch
    with DISABLE_AUTOUPDATER=1
    without 11
    < {"message":{"content":"Write the \"parser\"\nand test it","role":"user"},"type":"user"}
    Said
    "#);
}

#[test]
fn claude_may_read_only_or_do_everything() {
    let read = Order { access: Access::Read, ..order(&["claude"]) };
    assert_snapshot!(shown(Adapter::CLAUDE, &read), @r#"
    claude
      -p
      --input-format=stream-json
      --output-format=stream-json
      --verbose
      --session-id=0f8fad5b-d9cb-469f-a165-70867728950e
      --permission-mode=plan
      --permission-prompt-tool=stdio
      --disallowedTools
      Edit
      Write
      NotebookEdit
      ExitPlanMode
      EnterWorktree
      CronCreate
      CronDelete
      ScheduleWakeup
    with DISABLE_AUTOUPDATER=1
    without 11
    < {"message":{"content":"Write the \"parser\"\nand test it","role":"user"},"type":"user"}
    Said
    "#);
    let unfenced = Order { access: Access::Unfenced, ..order(&["claude"]) };
    assert_snapshot!(shown(Adapter::CLAUDE, &unfenced), @r#"
    claude
      -p
      --input-format=stream-json
      --output-format=stream-json
      --verbose
      --session-id=0f8fad5b-d9cb-469f-a165-70867728950e
      --permission-mode=bypassPermissions
      --permission-prompt-tool=stdio
    with DISABLE_AUTOUPDATER=1
    with IS_SANDBOX=1
    without 11
    < {"message":{"content":"Write the \"parser\"\nand test it","role":"user"},"type":"user"}
    Said
    "#);
}

#[test]
fn codex_is_started_once_for_a_message_or_as_a_server() {
    assert_snapshot!(shown(Adapter::CODEX_EXEC, &order(&["codex"])), @r#"
    codex
      exec
      --json
      --skip-git-repo-check
      -c
      approval_policy="never"
      -c
      sandbox_mode="workspace-write"
      -
    without 3
    < Write the "parser"
    and test it
    Closed
    "#);
    assert_snapshot!(shown(Adapter::CODEX_EXEC, &full(&["codex"])), @r#"
    codex
      exec
      resume
      --json
      --skip-git-repo-check
      --model=best
      -c
      approval_policy="never"
      -c
      sandbox_mode="workspace-write"
      -c
      sandbox_workspace_write.writable_roots=["/proj/shared", "/proj/my docs"]
      --dangerously-bypass-hook-trust
      -c
      hooks.PostToolUse=[{hooks = [{command = "/bin/sh -c TELLING '/my tools/waypost-hook' codex", timeout = 60, type = "command"}], matcher = "Bash|apply_patch|Write|Edit"}]
      -c
      hooks.PreCompact=[{hooks = [{command = "/bin/sh -c TELLING '/my tools/waypost-hook' codex", timeout = 60, type = "command"}]}]
      -c
      hooks.PreToolUse=[{hooks = [{command = "/bin/sh -c DECIDING '/my tools/waypost-hook' codex", timeout = 60, type = "command"}]}]
      -c
      hooks.SessionStart=[{hooks = [{command = "/bin/sh -c TELLING '/my tools/waypost-hook' codex", timeout = 60, type = "command"}]}]
      -c
      hooks.Stop=[{hooks = [{command = "/bin/sh -c TELLING '/my tools/waypost-hook' codex", timeout = 60, type = "command"}]}]
      01a1e186
      -
    without 3
    < Write the "parser"
    and test it
    Closed
    "#);
    assert_snapshot!(shown(Adapter::CODEX, &order(&["codex"])), @r#"
    codex
      app-server
    without 3
    < {"id":"initialize","jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"experimentalApi":true,"requestAttestation":false},"clientInfo":{"name":"waypost","title":"Waypost","version":"0.1.0"}}}
    < {"jsonrpc":"2.0","method":"initialized","params":{}}
    < {"id":"session","jsonrpc":"2.0","method":"thread/start","params":{"approvalPolicy":"on-request","config":{"features.default_mode_request_user_input":true},"cwd":"/proj/shop","sandbox":"workspace-write"}}
    AfterSession
    "#);
    let read = Order { access: Access::Read, ..full(&["codex"]) };
    assert_snapshot!(shown(Adapter::CODEX, &read), @r#"
    codex
      app-server
    without 3
    < {"id":"initialize","jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"experimentalApi":true,"requestAttestation":false},"clientInfo":{"name":"waypost","title":"Waypost","version":"0.1.0"}}}
    < {"jsonrpc":"2.0","method":"initialized","params":{}}
    < {"id":"session","jsonrpc":"2.0","method":"thread/resume","params":{"approvalPolicy":"never","config":{"bypass_hook_trust":true,"hooks":{"PostToolUse":[{"hooks":[{"command":"/bin/sh -c TELLING '/my tools/waypost-hook' codex","timeout":60,"type":"command"}],"matcher":"Bash|apply_patch|Write|Edit"}],"PreCompact":[{"hooks":[{"command":"/bin/sh -c TELLING '/my tools/waypost-hook' codex","timeout":60,"type":"command"}]}],"PreToolUse":[{"hooks":[{"command":"/bin/sh -c DECIDING '/my tools/waypost-hook' codex","timeout":60,"type":"command"}]}],"SessionStart":[{"hooks":[{"command":"/bin/sh -c TELLING '/my tools/waypost-hook' codex","timeout":60,"type":"command"}]}],"Stop":[{"hooks":[{"command":"/bin/sh -c TELLING '/my tools/waypost-hook' codex","timeout":60,"type":"command"}]}]}},"cwd":"/proj/shop","excludeTurns":true,"model":"best","sandbox":"read-only","threadId":"01a1e186"}}
    AfterSession
    "#);
}

#[test]
fn an_acp_agent_is_asked_for_a_session() {
    assert_snapshot!(shown(Adapter::ACP, &order(&["gemini", "--acp"])), @r#"
    gemini
      --acp
    with GEMINI_CLI_NO_RELAUNCH=true
    without 0
    < {"id":"initialize","jsonrpc":"2.0","method":"initialize","params":{"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"waypost","title":"Waypost","version":"0.1.0"},"protocolVersion":1}}
    < {"id":"session","jsonrpc":"2.0","method":"session/new","params":{"cwd":"/proj/shop","mcpServers":[]}}
    AfterSession
    "#);
    assert_snapshot!(shown(Adapter::ACP, &full(&["gemini", "--acp"])), @r#"
    gemini
      --acp
    with GEMINI_CLI_NO_RELAUNCH=true
    without 0
    < {"id":"initialize","jsonrpc":"2.0","method":"initialize","params":{"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"waypost","title":"Waypost","version":"0.1.0"},"protocolVersion":1}}
    < {"id":"load:01a1e186","jsonrpc":"2.0","method":"session/load","params":{"cwd":"/proj/shop","mcpServers":[],"sessionId":"01a1e186"}}
    AfterSession
    "#);
}

#[test]
fn a_call_that_was_put_off_goes_on_without_a_message() {
    let order = Order { task: String::new(), ..full(&["claude"]) };
    assert_eq!(Adapter::CLAUDE.launch(&order).stdin, [""; 0]);
}

#[test]
fn the_task_is_never_an_argument() {
    for adapter in Adapter::all() {
        let order = Order { task: "--help".to_owned(), ..order(&["program"]) };
        assert!(!adapter.launch(&order).program.contains(&order.task), "{adapter}");
    }
}

#[test]
fn a_person_opens_a_conversation_in_the_programs_own_words() {
    let words = |adapter, program: &str| {
        let words = interactive(adapter, &[program.to_owned()], "c1");
        words.map(|words| words.join(" "))
    };
    assert_eq!(words(Adapter::CLAUDE, "claude").as_deref(), Some("claude --resume c1"));
    assert_eq!(words(Adapter::CODEX, "codex").as_deref(), Some("codex resume c1"));
    assert_eq!(words(Adapter::CODEX_EXEC, "codex").as_deref(), Some("codex resume c1"));
    assert_eq!(words(Adapter::ACP, "gemini"), None);
    assert_eq!(words(Adapter::PLAIN, "helper"), None);
}

#[test]
fn a_plain_program_is_told_where_a_message_ends() {
    let order =
        Order { task: "one\n=== END OF MESSAGE ===\ntwo\n".to_owned(), ..order(&["helper"]) };
    let launch = Adapter::PLAIN.launch(&order);
    let want = "one\n === END OF MESSAGE ===\ntwo\n=== END OF MESSAGE ===";
    assert_eq!((launch.program, launch.stdin), (vec!["helper".to_owned()], vec![want.to_owned()]));
    let more = Adapter::PLAIN.message("plain", 2, "more").unwrap();
    assert_eq!(more, "more\n=== END OF MESSAGE ===");
    assert!(!Adapter::PLAIN.can_resume() && Adapter::CLAUDE.can_resume());
}
