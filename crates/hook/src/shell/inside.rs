//! The first program inside new namespaces: it mounts what the wall consists of, and becomes the call.
//!
//! What is to be mounted and the call's environment are not in its own environment, so that nothing of the
//! call's has a say in what this program does.

use super::{NOT_RUN, become_it, say, told};
use std::{ffi::OsString, process::ExitCode};
use waypost_wall::Mounts;

/// Mounts what it is told to, and becomes the program that the words name.
pub(super) fn begin(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = words.next() else {
        say("the wall begins with this; it is called by nothing else");
        return ExitCode::from(NOT_RUN);
    };
    match Mounts::told().and_then(|mounts| mounts.make().map(|()| mounts)) {
        Ok(mounts) => become_it(&program, words, Some(mounts.variables)),
        Err(error) => {
            say(&format!("the wall cannot be built, so nothing was run: {}", told(&error)));
            ExitCode::from(NOT_RUN)
        }
    }
}
