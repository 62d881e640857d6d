//! The gate: every check that a commit must pass, in order, cheap ones first.
//!
//! It stops at the first failure and says how to repeat that step alone. Continuous integration
//! runs this and nothing of its own, so what passes here passes there.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::{e2e, generate, test, tidy};

/// Whether the gate runs the tests itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tests {
    Run,
    /// The tests have just been run, as continuous integration does with the README's command.
    Skip,
}

struct Step {
    name: &'static str,
    /// What a person types to repeat this step alone; it is also what runs, or does the same.
    again: CommandLine,
    work: Work,
}

enum Work {
    /// `again` itself.
    Command,
    /// One of our own commands, run in this process.
    Ours(fn() -> Result<()>),
}

pub(crate) fn run(tests: Tests) -> Result<()> {
    let steps = steps(tests);
    let mut passed: Vec<(&str, Duration)> = Vec::new();
    for step in &steps {
        println!("\n==> {}: {}", step.name, step.again);
        let start = Instant::now();
        let result = match step.work {
            Work::Command => step.again.run(),
            Work::Ours(work) => work(),
        };
        let took = start.elapsed();
        if let Err(error) = result {
            println!("<== {}: FAILED after {:.1} s", step.name, took.as_secs_f64());
            let left = steps.len() - passed.len() - 1;
            println!("\n{}\n{left} steps not run", summary(&passed));
            bail!("{}: {error:#}\n\nrepeat it with: {}", step.name, step.again);
        }
        println!("<== {}: ok in {:.1} s", step.name, took.as_secs_f64());
        passed.push((step.name, took));
    }
    println!("\n{}", summary(&passed));
    if let Some(skipped) = e2e::skipped() {
        println!("{skipped}");
    }
    Ok(())
}

/// The tests of a build without grammars, which says of each language that it does not know it.
const WITHOUT_GRAMMARS: &str = "test --quiet -p waypost-engine -p waypost-imports \
                                --no-default-features --lib --test without_grammars without_grammars";

fn steps(tests: Tests) -> Vec<Step> {
    let command = |name, again| Step { name, again, work: Work::Command };
    let ours = |name, line: &str, work: fn() -> Result<()>| Step {
        name,
        again: CommandLine::cargo(line),
        work: Work::Ours(work),
    };
    let mut steps = vec![
        command("format", CommandLine::cargo("fmt --all --check")),
        command(
            "clippy",
            CommandLine::cargo("clippy --workspace --all-targets --quiet -- -D warnings"),
        ),
        // The grammars are optional, and all other steps have them.
        command(
            "no grammars",
            CommandLine::cargo("check --quiet -p waypost --no-default-features"),
        ),
        ours("tidy", "xtask tidy", tidy::run),
    ];
    if tests == Tests::Run {
        steps.push(ours("tests", "xtask test", || test::run(&[])));
    }
    steps.extend([
        // No other step compiles what says that imports are not read.
        command("unread imports", CommandLine::cargo(WITHOUT_GRAMMARS)),
        command("doc tests", CommandLine::cargo("test --doc --workspace --quiet")),
        command(
            "docs",
            CommandLine::cargo("doc --no-deps --workspace --quiet")
                .variable("RUSTDOCFLAGS", "-D warnings"),
        ),
        ours("generated files", "xtask gen --check", || generate::run(generate::Mode::Check)),
        ours("agent programs", "xtask e2e", e2e::run),
    ]);
    steps
}

fn summary(passed: &[(&str, Duration)]) -> String {
    let mut lines: Vec<String> = passed
        .iter()
        .map(|(name, took)| format!("ok  {name:<16} {:>7.1} s", took.as_secs_f64()))
        .collect();
    let total: Duration = passed.iter().map(|(_, took)| *took).sum();
    lines.push(format!("    {:<16} {:>7.1} s", "together", total.as_secs_f64()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(tests: Tests) -> Vec<String> {
        steps(tests).iter().map(|step| format!("{}: {}", step.name, step.again)).collect()
    }

    const GATE: [&str; 10] = [
        "format: cargo fmt --all --check",
        "clippy: cargo clippy --workspace --all-targets --quiet -- -D warnings",
        "no grammars: cargo check --quiet -p waypost --no-default-features",
        "tidy: cargo xtask tidy",
        "tests: cargo xtask test",
        "unread imports: cargo test --quiet -p waypost-engine -p waypost-imports --no-default-features --lib --test \
         without_grammars without_grammars",
        "doc tests: cargo test --doc --workspace --quiet",
        "docs: RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --workspace --quiet",
        "generated files: cargo xtask gen --check",
        "agent programs: cargo xtask e2e",
    ];

    #[test]
    fn the_gate_is_these_ten_steps_in_this_order() {
        assert_eq!(lines(Tests::Run), GATE);
    }

    #[test]
    fn without_tests_only_the_tests_are_left_out() {
        let without: Vec<&str> =
            GATE.into_iter().filter(|line| !line.starts_with("tests:")).collect();
        assert_eq!(lines(Tests::Skip), without);
    }

    #[test]
    fn the_summary_has_a_line_per_step_and_their_sum() {
        let passed =
            [("format", Duration::from_millis(400)), ("clippy", Duration::from_millis(12_300))];
        assert_eq!(
            summary(&passed),
            "ok  format               0.4 s\n\
             ok  clippy              12.3 s\n    \
             together            12.7 s"
        );
    }
}
