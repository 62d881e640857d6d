//! By which names agent programs run.

use crate::programs::{BUILT_IN, Programs};

/// Programs that act for a model and of which we know nothing else. Whatever runs below one of them, or
/// below one that we know more of, is not a person.
const OTHER_PROGRAMS: &[&str] =
    &["aider", "amp", "copilot", "crush", "cursor-agent", "goose", "opencode", "qwen"];

/// Interpreters whose first file argument is the program that counts.
const INTERPRETERS: &[&str] = &["node", "bun", "deno", "python", "python3", "npx", "npm"];

/// How many arguments of an interpreter are looked at for the script it runs.
const SCRIPT_ARGUMENTS_MAX: usize = 4;

/// Longer than any name of a conversation.
const CONVERSATION_LENGTH_MAX: usize = 128;

/// The conversation that a process is started from, as its environment says; the hook is told the
/// same name. Good enough to tell conversations apart, and proof of nothing.
pub fn conversation(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_name = |text: &String| {
        (1..=CONVERSATION_LENGTH_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let mut variables = BUILT_IN.all().filter_map(|program| program.conversation_variable);
    variables.find_map(|name| variable(name).filter(is_name))
}

impl Programs {
    /// Names the agent program that a command line belongs to, if it is one.
    pub fn recognise<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'static str> {
        let mut arguments = arguments.into_iter();
        let program = base_name(arguments.next()?);
        if let Some(known) = self.known(program) {
            return Some(known);
        }
        let is_interpreter = INTERPRETERS.iter().any(|name| program.starts_with(name));
        if !is_interpreter {
            return None;
        }
        let mut words = arguments.take(SCRIPT_ARGUMENTS_MAX).filter(|text| !text.starts_with('-'));
        words.find_map(|path| self.script(path))
    }

    /// A script counts by its file name or by the package folder that it lies in.
    fn script(&self, path: &str) -> Option<&'static str> {
        let known = |name: &str| self.known(name);
        let stem = |part: &'_ str| known(part.split('.').next().unwrap_or(part));
        path.rsplit('/').take(4).find_map(|part| {
            stem(part).or_else(|| part.split('-').next().and_then(known)).or_else(|| {
                part.strip_suffix("-code").or_else(|| part.strip_suffix("-cli")).and_then(known)
            })
        })
    }

    fn known(&self, name: &str) -> Option<&'static str> {
        let files = self.all().filter_map(|program| program.file);
        files.chain(OTHER_PROGRAMS.iter().copied()).find(|known| *known == name)
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_has_a_plain_name_or_none() {
        let table = [
            ("CLAUDE_CODE_SESSION_ID", "ef820c1e-6f3b", Some("ef820c1e-6f3b")),
            ("CODEX_THREAD_ID", "0199a213", Some("0199a213")),
            ("CLAUDE_CODE_SESSION_ID", "", None),
            ("CODEX_THREAD_ID", "two words", None),
            ("SHELL", "/bin/sh", None),
        ];
        for (name, value, want) in table {
            let found = conversation(|wanted| (wanted == name).then(|| value.to_owned()));
            assert_eq!(found.as_deref(), want, "{name}={value}");
        }
    }

    #[test]
    fn agent_programs_are_recognised_however_they_are_started() {
        let table: &[(&[&str], Option<&str>)] = &[
            (&["claude", "-p", "x"], Some("claude")),
            (&["/usr/local/bin/codex", "exec"], Some("codex")),
            (&["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], Some("claude")),
            (&["node", "--no-warnings", "/opt/gemini-cli/dist/index.js"], Some("gemini")),
            (&["python3", "-m", "aider"], Some("aider")),
            (&["bash", "-l"], None),
            (&["vim", "claude.md"], None),
            (&["node", "server.js"], None),
            (&[], None),
        ];
        for (arguments, want) in table {
            assert_eq!(BUILT_IN.recognise(arguments.iter().copied()), *want, "{arguments:?}");
        }
    }
}
