//! What an agent may do without a person: by its access level, by its list of allowed commands, or
//! because a person has allowed it before.

use crate::config::AgentAccess;
use serde::{Deserialize, Serialize};

/// What a permission is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// These files would be changed, as the program names them.
    Edit {
        paths: Vec<String>,
    },
    Run {
        command: String,
    },
    /// Something that only a person can judge.
    Other,
}

/// The answer to a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    Deny,
    /// It is for a person to say.
    Ask,
}

/// Answers a permission by the agent's access level: an edit below its work tree (`is_inside`) and
/// the commands of its list, in which `shells` are the tools by which programs run commands.
pub fn rule(
    access: AgentAccess,
    allowed: &[String],
    shells: &[&str],
    want: &Want,
    is_inside: bool,
) -> Ruling {
    let is_listed = |command| allowed.iter().any(|pattern| covers(pattern, shells, command));
    match (access, want) {
        (AgentAccess::Unfenced, _) => Ruling::Allow,
        (AgentAccess::Read, Want::Edit { .. }) => Ruling::Deny,
        (AgentAccess::Edit, Want::Edit { .. }) if is_inside => Ruling::Allow,
        (_, Want::Run { command }) if is_listed(command) => Ruling::Allow,
        (AgentAccess::Edit | AgentAccess::Read, _) => Ruling::Ask,
    }
}

/// What joins, redirects or expands commands. A command with any of it may do something else than
/// its first words say.
const COMMAND_SIGNS: &[char] =
    &[';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\n', '\r', '\\'];

/// Whether a pattern such as `Bash(cargo test:*)`, which begins with one of `shells`, allows a command. `:*`
/// and ` *` at its end stand for any further words, `*` alone for any ending; without them the command has
/// to be the same.
pub fn covers(pattern: &str, shells: &[&str], command: &str) -> bool {
    let command = command.trim();
    if command.contains(COMMAND_SIGNS) {
        return false;
    }
    let inner = shells
        .iter()
        .find_map(|tool| pattern.trim().strip_prefix(tool)?.strip_prefix('(')?.strip_suffix(')'));
    let Some(inner) = inner.map(str::trim) else { return false };
    let words = inner.strip_suffix(":*").or_else(|| inner.strip_suffix(" *"));
    match (words, inner.strip_suffix('*')) {
        (Some(words), _) => {
            command.strip_prefix(words).is_some_and(|it| it.is_empty() || it.starts_with(' '))
        }
        (None, Some(start)) => command.starts_with(start),
        (None, None) => command == inner,
    }
}

/// For how long a permission is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// For this request.
    Once,
    /// Whenever this task wants the same.
    Task,
    /// Whenever a task of this run wants the same.
    Run,
    /// Whenever an agent wants the same in this project, until it is revoked.
    Project,
}

impl Grant {
    pub const ALL: [Self; 4] = [Self::Once, Self::Task, Self::Run, Self::Project];

    /// The word for it in an answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "allow",
            Self::Task => "allow-task",
            Self::Run => "allow-run",
            Self::Project => "allow-project",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.as_str().eq_ignore_ascii_case(word.trim()))
    }

    /// What the word means, for the person who chooses.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Once => "this request",
            Self::Task => "the same whenever this task asks for it",
            Self::Run => "the same whenever a task of this run asks for it",
            Self::Project => {
                "the same whenever an agent asks for it in this project, until you revoke it"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELLS: [&str; 3] = ["Bash", "run_shell_command", "ShellTool"];

    fn run(command: &str) -> Want {
        Want::Run { command: command.to_owned() }
    }

    #[test]
    fn the_access_level_answers_what_it_covers_and_nothing_else() {
        let edit = Want::Edit { paths: vec!["/w/a".into()] };
        let allowed = ["Bash(cargo test:*)".to_owned()];
        let table = [
            (AgentAccess::Edit, &edit, true, Ruling::Allow),
            (AgentAccess::Edit, &edit, false, Ruling::Ask),
            (AgentAccess::Edit, &run("cargo test -p x"), true, Ruling::Allow),
            (AgentAccess::Edit, &run("git push"), true, Ruling::Ask),
            (AgentAccess::Edit, &Want::Other, true, Ruling::Ask),
            (AgentAccess::Read, &edit, true, Ruling::Deny),
            (AgentAccess::Read, &run("cargo test"), true, Ruling::Allow),
            (AgentAccess::Read, &run("git push"), true, Ruling::Ask),
            (AgentAccess::Unfenced, &edit, false, Ruling::Allow),
            (AgentAccess::Unfenced, &Want::Other, false, Ruling::Allow),
        ];
        for (access, want, is_inside, ruling) in table {
            assert_eq!(
                rule(access, &allowed, &SHELLS, want, is_inside),
                ruling,
                "{access:?} {want:?}"
            );
        }
    }

    #[test]
    fn a_pattern_covers_its_commands_and_nothing_that_joins_others() {
        let table = [
            ("Bash(cargo test:*)", "cargo test", true),
            ("Bash(cargo test:*)", "cargo test -p x", true),
            ("Bash(cargo test:*)", "cargo tests", false),
            ("Bash(cargo test:*)", "cargo test && git push", false),
            ("Bash(cargo test:*)", "cargo test; git push", false),
            ("Bash(cargo test:*)", "cargo test\ngit push", false),
            ("Bash(cargo test:*)", "cargo test $(git push)", false),
            ("Bash(cargo test:*)", "cargo test > /etc/passwd", false),
            ("run_shell_command(git log *)", "git log -1", true),
            ("ShellTool(ls*)", "lsof", true),
            ("Bash(make)", "make", true),
            ("Bash(make)", "make install", false),
            ("Bash", "make", false),
            ("Write(make)", "make", false),
            ("WebFetch", "make", false),
        ];
        for (pattern, command, is_covered) in table {
            assert_eq!(covers(pattern, &SHELLS, command), is_covered, "{pattern} {command}");
        }
    }

    #[test]
    fn each_grant_is_read_from_its_word() {
        for grant in Grant::ALL {
            assert_eq!(Grant::from_word(grant.as_str()), Some(grant));
        }
        assert_eq!(Grant::from_word("deny"), None);
    }
}
