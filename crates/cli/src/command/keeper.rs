//! `waypost keeper`: the process that keeps the children of an engine. Not for people: the engine
//! starts it.

use crate::output::say;
use std::{path::Path, process::ExitCode};

/// Keeps children until nothing is left to keep.
pub(crate) fn serve(folder: Option<&str>) -> ExitCode {
    let Some(folder) = folder else {
        say("error: `waypost keeper` is started by `waypost run`, with a folder of its own");
        return ExitCode::from(2);
    };
    match waypost_engine::keep(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
