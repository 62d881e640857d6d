//! How a person gives a secret value: typed unseen, from a file, or through a pipe. Never as an argument,
//! which every user of the machine can read.

use super::pin::typed_unseen;
use crate::{Context, error::CliError};
use std::{
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::Path,
};
use waypost_engine::Secret;
use waypost_model::code::Code;

/// More than any value has; what is beyond it is not read.
const SIZE_MAX: u64 = 1 << 20;

/// The value that the caller gives for `name`: from a file if one is named, else from the standard input if that is
/// no terminal, else typed at the terminal without being shown.
pub(crate) fn given_value(
    context: &Context,
    name: &str,
    file: Option<&Path>,
) -> Result<Secret, CliError> {
    if let Some(path) = file {
        let path = context.path(path);
        let opened = File::open(&path).map_err(|error| unreadable(&path.display(), &error))?;
        return read(opened).map_err(|error| unreadable(&path.display(), &error));
    }
    let input = io::stdin();
    if !input.is_terminal() {
        return read(input.lock()).map_err(|error| unreadable(&"the input", &error));
    }
    let typed = typed_unseen(&format!("The value of {name} (it is not shown):"))
        .map_err(|error| unreadable(&"the terminal", &error))?;
    typed.map(Secret::new).ok_or_else(|| CliError::new(Code::ValueInvalid, "no value was typed"))
}

fn read(from: impl Read) -> io::Result<Secret> {
    let mut text = String::new();
    let read = from.take(SIZE_MAX).read_to_string(&mut text);
    // Wiped also if it is no text.
    let text = Secret::new(text);
    read.map(|_| text)
}

fn unreadable(what: &dyn std::fmt::Display, error: &io::Error) -> CliError {
    CliError::new(Code::ValueInvalid, format!("cannot read the value from {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_piped_is_read_whole_and_has_to_be_text() {
        assert_eq!(read(&b"canary-4711\n"[..]).unwrap().expose(), "canary-4711\n");
        assert!(read(&b"\xff\xfe"[..]).is_err());
    }
}
