//! `waypost attend`: the process between an engine and a check, so that nothing of the check outlives the engine. Not
//! for people: the engine starts it.

use crate::output::say;
use std::{ffi::OsString, os::unix::process::ExitStatusExt as _, process::ExitCode};

/// As shells say it: the command was found and not run.
const NOT_RUN: u8 = 126;

/// Runs a program and ends as it did.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    match waypost_engine::attend(words) {
        Ok(Some(status)) => {
            if let Some(signal) = status.signal() {
                // One that ends nothing leaves the code.
                let _alive = signal_hook::low_level::emulate_default_handler(signal);
            }
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            ExitCode::from(code.unwrap_or(NOT_RUN))
        }
        Ok(None) => ExitCode::from(NOT_RUN),
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::from(NOT_RUN)
        }
    }
}
