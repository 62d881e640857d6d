//! Which `waypost` commands are reserved for a person.

use crate::options::{has, positionals};
use crate::walk::Walk;
use crate::word::UNKNOWN;

impl Walk<'_> {
    pub(crate) fn own(&mut self, arguments: &[String], words: &str) {
        let named = positionals(arguments, &["-C", "--color", "--reason"]);
        let is_reserved = match named.as_slice() {
            ["adopt", ..]
            | ["develop", "suspend", ..]
            | ["develop", "gate", "override" | "config" | "configure", ..]
            | ["develop", "checkpoint", "reopen", ..]
            | ["inbox", "approve", ..]
            | ["task", "restore" | "delete", ..]
            | ["memory", "restore", ..]
            | ["session", "gate", "override", ..] => true,
            ["develop", "resume", ..] => has(arguments, &["--restart"]),
            ["run", "skip", ..] => has(arguments, &["--satisfy"]),
            ["run", ..] => has(arguments, &["--rebuild-state"]),
            ["init", ..] => has(arguments, &["--remove"]),
            _ => false,
        };
        if is_reserved {
            self.deed.reserved.get_or_insert_with(|| words.to_owned());
        } else if named.iter().take(2).any(|word| word.contains(UNKNOWN)) {
            self.unknowable(&format!("what `{words}` does is only known at run time"));
        }
    }
}
