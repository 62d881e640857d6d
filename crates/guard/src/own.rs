//! Which `waypost` commands are reserved for a person.
//!
//! Those that the program or its machines refuse to an agent, also the ones of parts that are still
//! to come. Any command is reserved if it is given another configuration than the project's and the
//! user's: an agent that chooses it chooses what the gates ask for. So is one that runs a check, if
//! it is told where to find programs.

use crate::options::{has, positionals};
use crate::walk::Walk;
use crate::word::UNKNOWN;

/// Answers to what waits for a person.
const ANSWERS: &[&str] =
    &["answer", "provide", "decline", "approve", "changes", "retry", "accept", "fail"];

impl Walk<'_> {
    pub(crate) fn own(&mut self, arguments: &[String], words: &str) {
        let named = positionals(arguments, &["-C", "--color", "--reason"]);
        if let Some(name) = self.shell.scope.chosen.clone() {
            return self.reserve(format!("{name}=… {words}"));
        }
        // These run the project's checks.
        let checks = matches!(
            named.as_slice(),
            ["develop", "gate" | "checkpoint", "pass", ..] | ["run", "done", ..]
        );
        if let Some(name) = self.shell.scope.led.clone().filter(|_| checks) {
            return self.reserve(format!("{name}=… {words}"));
        }
        let depth = match named.as_slice() {
            ["develop" | "session", "gate" | "checkpoint", ..] => 3,
            _ => 2,
        };
        let is_reserved = match named.as_slice() {
            ["adopt" | "open", ..]
            | ["develop", "suspend", ..]
            | ["develop", "checkpoint", "reopen", ..]
            | ["task", "restore" | "delete", ..]
            | ["memory", "restore", ..]
            | ["session", "gate", "override", ..] => true,
            ["inbox", verb, ..] => ANSWERS.contains(verb),
            ["develop", "gate", "pass", ..] => has(arguments, &["--yes"]),
            ["develop", "resume", ..] => has(arguments, &["--restart"]),
            ["run", "skip", ..] => has(arguments, &["--satisfy"]),
            ["run", ..] => has(arguments, &["--rebuild-state"]),
            ["init", ..] => has(arguments, &["--remove", "--fresh"]),
            ["doctor", ..] => has(arguments, &["--fix"]),
            _ => false,
        };
        if is_reserved {
            self.reserve(words.to_owned());
        } else if named.iter().take(depth).any(|word| word.contains(UNKNOWN)) {
            self.unknowable(&format!("what `{words}` does is only known at run time"));
        }
    }

    fn reserve(&mut self, words: String) {
        self.deed.reserved.get_or_insert(words);
    }
}
