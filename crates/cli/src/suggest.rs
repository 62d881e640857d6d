//! The command that was probably meant, where a misspelt one is taken for something else: `run`
//! takes a file, so that `run strat T1.1` is no unknown command to the parser.

use crate::{args::Cli, error::CliError};
use clap::{Command, CommandFactory as _};
use waypost_engine::nearest;
use waypost_model::code::Code;

/// A word in the place of a command that there is not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misspelt {
    /// The command before it, as in `waypost run`.
    parent: String,
    word: String,
    meant: Option<String>,
}

impl Misspelt {
    /// The first word of a command line that should be a command and is none.
    pub(crate) fn find(arguments: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut root = Cli::command();
        root.build();
        let (mut at, mut parent) = (&root, "waypost".to_owned());
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                return None;
            }
            if word.starts_with('-') {
                if takes_next(at, &word) {
                    words.next();
                }
                continue;
            }
            match at.find_subcommand(&word) {
                Some(inner) => at = inner,
                None => return Self::of(at, parent, word),
            }
            parent = format!("{parent} {word}");
        }
        None
    }

    fn of(at: &Command, parent: String, word: String) -> Option<Self> {
        let visible = at.get_subcommands().filter(|it| !it.is_hide_set());
        let names: Vec<&str> = visible.map(Command::get_name).collect();
        // What is left of a command without any are its arguments.
        if names.is_empty() || is_file(&word) {
            return None;
        }
        let meant = nearest(&word, &names).map(str::to_owned);
        Some(Self { parent, word, meant })
    }

    /// The command that was probably meant, in full.
    pub(crate) fn meant(&self) -> Option<String> {
        self.meant.as_ref().map(|meant| format!("{} {meant}", self.parent))
    }

    pub(crate) fn error(&self) -> CliError {
        let Self { parent, word, .. } = self;
        CliError::new(Code::CommandUnknown, format!("`{parent}` has no command `{word}`")).hint(
            match self.meant() {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("`{parent} --help` lists its commands"),
            },
        )
    }
}

/// Whether a word is meant as a file rather than as a command.
pub(crate) fn is_file(word: &str) -> bool {
    word.contains('/') || word.ends_with(".md")
}

/// Whether an option has its value in the next word.
fn takes_next(command: &Command, word: &str) -> bool {
    if word.contains('=') {
        return false;
    }
    let option = command.get_arguments().find(|argument| match word.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument
            .get_short()
            .is_some_and(|short| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))),
    });
    option.is_some_and(|option| option.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found_at_every_level() {
        let table = [
            ("run strat T1.1", Some("waypost run start")),
            ("run strat", Some("waypost run start")),
            ("-C elsewhere run lgos T1.1 --follow", Some("waypost run logs")),
            ("run --max-parallel 3 retyr T1.1 T1.2", Some("waypost run retry")),
            ("stauts", Some("waypost status")),
            ("inbox anwser q1 yes", Some("waypost inbox answer")),
            ("develop checkpoint strat cp-1", Some("waypost develop checkpoint start")),
            ("run banana T1.1", None),
            ("run plan.md", None),
            ("run ./plan", None),
            ("run start T1.1", None),
            ("run -- strat", None),
        ];
        for (line, want) in table {
            let words = line.split(' ').map(str::to_owned);
            let found = Misspelt::find(words).and_then(|it| it.meant());
            assert_eq!(found.as_deref(), want, "{line}");
        }
    }
}
