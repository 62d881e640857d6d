//! How agent programs come onto a machine and are signed in, as far as that can be told without
//! starting them.
//!
//! What is said here is used to refuse work before it begins, so it errs on the other side: a
//! program counts as signed out only where nothing at all hints at an account.

/// What would be there if a program were signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// How the names of variables begin that carry credentials or lead elsewhere for them.
    pub variables: &'static [&'static str],
    /// Files and folders, below the home folder unless they are absolute.
    pub files: &'static [&'static str],
    /// Files of a project, and the words in them that lead elsewhere for credentials.
    pub project: &'static [(&'static str, &'static [&'static str])],
    /// What a person does about it.
    pub remedy: &'static str,
}

/// The command that installs a program.
pub fn install_command(program: &str) -> Option<&'static str> {
    Some(match program {
        "claude" => "npm install -g @anthropic-ai/claude-code",
        "codex" => "npm install -g @openai/codex",
        "gemini" => "npm install -g @google/gemini-cli",
        _ => return None,
    })
}

/// By what a program's account is seen; none where its absence would prove nothing.
pub fn sign_in(program: &str) -> Option<SignIn> {
    const CLAUDE_WORDS: &[&str] = &["apiKeyHelper", "\"env\""];
    match program {
        "claude" => Some(SignIn {
            variables: &["ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "CLOUD_ML_"],
            files: &[".claude.json", ".claude/.credentials.json", ".claude/settings.json"],
            project: &[
                (".claude/settings.json", CLAUDE_WORDS),
                (".claude/settings.local.json", CLAUDE_WORDS),
            ],
            remedy: "start `claude` once and use `/login`, or set ANTHROPIC_API_KEY",
        }),
        "codex" => Some(SignIn {
            variables: &["OPENAI_", "CODEX_", "AZURE_"],
            files: &[".codex/auth.json", ".codex/config.toml", "/etc/codex"],
            project: &[(".codex/config.toml", &["env_key", "model_provider"])],
            remedy: "`codex login`, or set OPENAI_API_KEY",
        }),
        // Others look for credentials in more places than can be listed.
        _ => None,
    }
}
