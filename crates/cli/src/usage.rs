//! What is said about a command line that is none: as the parser says it, or as an error object.

use crate::{error::CliError, suggest::Misspelt};
use clap::error::{ContextKind, ErrorKind};
use std::{env, io::Write as _, process::ExitCode};
use waypost_model::code::Code;

/// Prints what the parser has to say. Help and version are text for people, also with `--json`;
/// anything else is bad input.
pub(crate) fn tell(error: &clap::Error) -> ExitCode {
    let json = is_json(env::args().skip(1));
    if error.use_stderr() {
        // It suggests commands by itself, but for those that it takes for an argument.
        if error.kind() != ErrorKind::InvalidSubcommand {
            let misspelt = Misspelt::find(env::args().skip(1)).filter(|it| it.meant().is_some());
            if let Some(misspelt) = misspelt {
                return misspelt.error().report(json);
            }
        }
        if json {
            return as_error(error).report(json);
        }
    }
    let text = error.render();
    // Nothing can be said if neither output takes text any more.
    if error.use_stderr() {
        let _unheard = write!(anstream::stderr(), "{}", text.ansi());
        ExitCode::from(2)
    } else {
        let _unheard = write!(anstream::stdout(), "{}", text.ansi());
        ExitCode::SUCCESS
    }
}

/// Whether `--json` was typed, in a line that could not be read as a whole.
fn is_json(words: impl Iterator<Item = String>) -> bool {
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// The parser's words as an error: the first paragraph is the message, advice and usage are hints.
fn as_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let code = match error.kind() {
        ErrorKind::InvalidSubcommand => Code::CommandUnknown,
        _ => Code::BadArgument,
    };
    let told = CliError::new(code, message(&text));
    let hints = text.lines().map(str::trim).filter_map(|line| match line.strip_prefix("tip: ") {
        Some(tip) => Some(tip),
        None => Some(line).filter(|line| line.starts_with("Usage: ")),
    });
    let told = hints.fold(told, CliError::hint);
    match error.get(ContextKind::Usage) {
        Some(_) => told,
        None => told.hint("`--help` says what there is"),
    }
}

/// The first paragraph in one line, without the word before it.
fn message(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser as _;

    #[test]
    fn what_the_parser_says_is_an_error_with_hints() {
        let table = [
            ("waypost run --nonsense", "BadArgument", "unexpected argument '--nonsense' found"),
            ("waypost stauts", "CommandUnknown", "unrecognized subcommand 'stauts'"),
            ("waypost why", "BadArgument", "required arguments were not provided: <ID>"),
            ("waypost run --phase x", "BadArgument", "invalid value 'x' for '--phase <N>'"),
            ("waypost develop --json", "BadArgument", "'waypost develop' requires a subcommand"),
        ];
        for (line, code, message) in table {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            let told = format!("{:?}", as_error(&error));
            for part in [code, message, "hints: [\""] {
                assert!(told.contains(part), "{line}: no {part} in {told}");
            }
        }
    }

    #[test]
    fn a_word_after_two_dashes_is_no_option() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(is_json(words("run --json x").into_iter()));
        assert!(!is_json(words("run -- --json").into_iter()));
    }
}
