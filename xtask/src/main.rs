//! Development commands: the gate, the tests, the repository's own rules, generated files.
//!
//! Not shipped. It uses no crate of the workspace, so that it builds fast and still runs when
//! they do not build. Whatever it does can be done by hand; it prints the commands that it runs.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool: it starts programs, times them, writes files and talks to a person"
)]

mod arguments;
mod bench;
mod check;
mod command_line;
mod dist;
mod e2e;
mod faults;
mod generate;
mod install;
mod stress;
mod test;
mod tidy;
mod wall;

use std::process::ExitCode;

use crate::arguments::Task;

/// Misuse has a code of its own, so that a script can tell it from a failed gate.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let task = match Task::parse(&words) {
        Ok(task) => task,
        Err(misuse) => {
            eprintln!("error: {misuse}\n\n{}", arguments::HELP);
            return ExitCode::from(EXIT_USAGE);
        }
    };
    match perform(task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Help => {
            println!("{}", arguments::HELP);
            Ok(())
        }
        Task::Check(tests) => check::run(tests),
        Task::Test { filters } => test::run(&filters),
        Task::Stress { rounds } => stress::run(rounds),
        Task::Tidy => tidy::run(),
        Task::Generate(mode) => generate::run(mode),
        Task::Bench { names, effort } => bench::run(&names, effort),
        Task::Soak { minutes } => bench::soak::run(minutes),
        Task::Faults { suite, seed } => faults::run(suite, seed),
        Task::Dist { to } => dist::run(to.as_deref()),
        Task::EndToEnd => e2e::run(),
    }
}
