//! What both ways to run Codex have in common.

use super::{script::Trouble, voice::Limit};

/// A command in the form in which Codex runs and shows it.
pub(super) fn shell_line(command: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/=:".contains(c);
    if !command.is_empty() && command.chars().all(is_plain) {
        return format!("/bin/bash -lc {command}");
    }
    format!("/bin/bash -lc '{}'", command.replace('\'', r"'\''"))
}

pub(super) fn limit_message(limit: Limit) -> String {
    format!("You've hit your usage limit. Try again in {} seconds.", limit.resets_in.as_secs())
}

/// What Codex says when its service cannot be used.
pub(super) fn trouble_message(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Outage => "exceeded retry limit, last status: 503 Service Unavailable",
        Trouble::SignIn => "unexpected status 401 Unauthorized: Missing bearer authentication",
        Trouble::Credit => "Quota exceeded. Check your plan and billing details.",
    }
}

/// What the agent hears when a call needs a permission that no person can give.
pub(super) const FENCED: &str = "the sandbox does not permit it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_where_they_have_to_be() {
        let table = [
            ("false", "/bin/bash -lc false"),
            ("echo hi", "/bin/bash -lc 'echo hi'"),
            ("echo 'a'", r"/bin/bash -lc 'echo '\''a'\'''"),
            ("", "/bin/bash -lc ''"),
        ];
        for (command, want) in table {
            assert_eq!(shell_line(command), want);
        }
    }
}
