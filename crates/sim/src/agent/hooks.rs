//! The hook of a program that is played: asked before each call, in the way in which the program was
//! told of it. A hook that answers nothing is a yes, as the real programs take it.

use serde_json::Value;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The event before a tool is used.
pub(super) const BEFORE_TOOL: &str = "PreToolUse";

/// The exit code by which a hook refuses.
const REFUSED: i32 = 2;

/// What is to be asked before a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hooks {
    commands: Vec<Vec<String>>,
}

/// What a hook has said about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookSaid {
    Nothing,
    Refused(String),
    /// The call is made with this command in the place of its own.
    Rewritten(String),
}

impl Hooks {
    /// Those that settings name in the form that Claude Code and Codex share.
    pub(super) fn of(settings: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let groups = list(&settings["hooks"][BEFORE_TOOL]);
        let entries = groups.iter().flat_map(|group| list(&group["hooks"]));
        Self { commands: entries.filter_map(|entry| words(&entry)).collect() }
    }

    pub(super) fn are_there(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Forgets them all, as a program does whose settings were emptied.
    pub(super) fn switch_off(&mut self) {
        self.commands.clear();
    }

    /// Asks all of them about an event; the first that does not simply let it pass counts.
    pub(super) fn ask(&self, event: &Value, folder: &Path) -> io::Result<HookSaid> {
        for command in &self.commands {
            match run(command, event, folder)? {
                HookSaid::Nothing => {}
                said => return Ok(said),
            }
        }
        Ok(HookSaid::Nothing)
    }
}

/// The words of one entry: with `args` as they are, else a line for a shell.
fn words(entry: &Value) -> Option<Vec<String>> {
    let command = entry["command"].as_str()?.to_owned();
    match entry["args"].as_array() {
        Some(rest) => {
            let rest = rest.iter().filter_map(Value::as_str).map(str::to_owned);
            Some([command].into_iter().chain(rest).collect())
        }
        None => Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), command]),
    }
}

fn run(words: &[String], event: &Value, folder: &Path) -> io::Result<HookSaid> {
    let Some((program, rest)) = words.split_first() else { return Ok(HookSaid::Nothing) };
    #[expect(clippy::disallowed_methods, reason = "a program asks the hook that it was told of")]
    let child = Command::new(program)
        .args(rest)
        .current_dir(folder)
        .env("CLAUDE_PROJECT_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    // A hook that is not there is a yes.
    let Ok(mut child) = child else { return Ok(HookSaid::Nothing) };
    if let Some(mut input) = child.stdin.take() {
        // One that does not listen answers all the same.
        let _unheard = input.write_all(event.to_string().as_bytes());
    }
    let ended = child.wait_with_output()?;
    if ended.status.code() == Some(REFUSED) {
        return Ok(HookSaid::Refused(String::from_utf8_lossy(&ended.stderr).trim().to_owned()));
    }
    let answer: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    let decision = &answer["hookSpecificOutput"];
    if decision["permissionDecision"] == "deny" {
        let reason = decision["permissionDecisionReason"].as_str().unwrap_or("refused");
        return Ok(HookSaid::Refused(reason.to_owned()));
    }
    let rewritten = decision["updatedInput"]["command"].as_str();
    Ok(rewritten.map_or(HookSaid::Nothing, |command| HookSaid::Rewritten(command.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(script: &str) -> HookSaid {
        let entry = json!({"type": "command", "command": "/bin/sh", "args": ["-c", script]});
        let settings = json!({"hooks": {BEFORE_TOOL: [{"hooks": [entry]}]}});
        let event = json!({"tool_name": "Bash"});
        Hooks::of(&settings).ask(&event, Path::new("/")).unwrap()
    }

    #[test]
    fn an_answer_is_a_refusal_another_command_or_nothing() {
        let refused = |reason: &str| HookSaid::Refused(reason.to_owned());
        assert_eq!(said("echo no >&2; exit 2"), refused("no"));
        let deny = r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"why"}}'"#;
        assert_eq!(said(deny), refused("why"));
        let other = r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}'"#;
        assert_eq!(said(other), HookSaid::Rewritten("ls".to_owned()));
        for silent in ["exit 0", "exit 1", "echo no JSON", "cat >/dev/null"] {
            assert_eq!(said(silent), HookSaid::Nothing, "{silent}");
        }
    }

    #[test]
    fn a_line_without_arguments_is_for_a_shell() {
        let settings = json!({"hooks": {BEFORE_TOOL: [{"hooks": [{"command": "exit 2"}]}]}});
        let mut hooks = Hooks::of(&settings);
        assert_eq!(
            hooks.ask(&json!({}), Path::new("/")).unwrap(),
            HookSaid::Refused(String::new())
        );
        hooks.switch_off();
        assert_eq!(hooks.ask(&json!({}), Path::new("/")).unwrap(), HookSaid::Nothing);
    }
}
