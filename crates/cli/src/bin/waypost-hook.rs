//! The `waypost-hook` binary: only the small crate behind it, so that it starts at once.

use std::process::ExitCode;

fn main() -> ExitCode {
    waypost_hook::run()
}
