//! Runs the tests, on a machine that has just been set up as well as on a developer's.
//!
//! What is missing is installed first (see [`install`]); what cannot be installed costs the tests
//! that need it, which is said, and not the others.

use std::num::NonZero;
use std::thread;

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::install::{self, Purpose};
use crate::wall;

pub(crate) fn run(filters: &[String]) -> Result<()> {
    install::ensure(Purpose::Tests)?;
    let line = wall::required(Runner::find().line(filters));
    println!("running {line}");
    line.run()
}

/// The program that runs test binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    Cargo,
}

impl Runner {
    /// Takes nextest where it is installed, and says so where it is not.
    pub(crate) fn find() -> Self {
        if CommandLine::cargo("nextest --version").succeeds() {
            Self::Nextest
        } else {
            println!("cargo-nextest is not installed: using `cargo test`, which is slower");
            println!("hint: cargo install --locked cargo-nextest");
            Self::Cargo
        }
    }

    /// All tests of the workspace whose name contains one of `filters`; all if there are none.
    pub(crate) fn line(self, filters: &[String]) -> CommandLine {
        match self {
            Self::Nextest => CommandLine::cargo("nextest run --workspace")
                .with(["--test-threads".to_owned(), tests_at_once().to_string()])
                .with(filters),
            // Cargo itself takes one filter only; behind the dashes the test binaries take any
            // number.
            Self::Cargo if filters.is_empty() => CommandLine::cargo("test --workspace"),
            Self::Cargo => CommandLine::cargo("test --workspace --").with(filters),
        }
    }
}

/// Three for each processor: many tests wait for a process, a lock or a disk.
fn tests_at_once() -> usize {
    3 * thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runner: Runner, filters: &[&str], want: &str) {
        let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
        assert_eq!(runner.line(&filters).to_string(), want);
    }

    #[test]
    fn both_runners_get_all_filters() {
        let nextest = format!("cargo nextest run --workspace --test-threads {}", tests_at_once());
        check(Runner::Nextest, &[], &nextest);
        check(Runner::Nextest, &["a", "b"], &format!("{nextest} a b"));
        check(Runner::Cargo, &[], "cargo test --workspace");
        check(Runner::Cargo, &["a", "b"], "cargo test --workspace -- a b");
    }
}
