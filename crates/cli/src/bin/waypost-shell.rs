//! The `waypost-shell` binary: one shell call of an agent's, behind the wall.

use std::process::ExitCode;

fn main() -> ExitCode {
    waypost_hook::shell::run()
}
