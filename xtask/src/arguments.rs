//! What the words after `cargo xtask` mean.
//!
//! Written by hand: ten commands with a handful of flags do not pay for an argument parser.

use crate::bench::{Effort, soak};
use crate::check::Tests;
use crate::faults::Suite;
use crate::generate::Mode;
use crate::stress;

pub(crate) const HELP: &str = "\
usage: cargo xtask COMMAND

  check [--without-tests]   the whole gate: format, clippy, tidy, tests, doc tests, docs,
                            generated files, agent programs; run it before every commit
  test [FILTER...]          the tests only; installs what they need on a Debian machine
  stress [ROUNDS]           the tests ten times, or ROUNDS times, on a machine that is kept busy
  tidy                      the repository's own rules: layers, headers, file lengths, words
  gen [--check]             write the generated files, or compare them with what is there
  bench [NAME...] [--quick] measure against the alternatives; a slow result is not a failure
  bench soak [--minutes N]  a run at one task a second for half an hour, or N minutes: does memory or
                            disk grow?
  faults [power|wall] [--seed N]
                            the fault suites in full, or the power cuts or the wall alone
  dist [--to FOLDER]        the programs as they are given away: small, static, quick to start
  e2e                       the tests with the real agent programs; npm installs them into target/
  help                      this text";

/// One command with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Check(Tests),
    Test { filters: Vec<String> },
    Stress { rounds: u32 },
    Tidy,
    Generate(Mode),
    Bench { names: Vec<String>, effort: Effort },
    Soak { minutes: u32 },
    Faults { suite: Suite, seed: Option<u64> },
    Dist { to: Option<String> },
    EndToEnd,
}

impl Task {
    /// Reads the words; the error is a sentence for the person who wrote them.
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((&command, rest)) = words.split_first() else { return Ok(Self::Help) };
        match (command, rest) {
            ("help" | "--help" | "-h", _) | (_, ["--help" | "-h"]) => Ok(Self::Help),
            ("check", []) => Ok(Self::Check(Tests::Run)),
            ("check", ["--without-tests"]) => Ok(Self::Check(Tests::Skip)),
            ("test", filters) => Ok(Self::Test { filters: names("test", filters)? }),
            ("stress", []) => Ok(Self::Stress { rounds: stress::ROUNDS }),
            ("stress", [rounds]) => match rounds.parse() {
                Ok(rounds) if rounds > 0 => Ok(Self::Stress { rounds }),
                _ => Err(format!("`{rounds}` is not a number of rounds")),
            },
            ("tidy", []) => Ok(Self::Tidy),
            ("gen", []) => Ok(Self::Generate(Mode::Write)),
            ("gen", ["--check"]) => Ok(Self::Generate(Mode::Check)),
            ("bench", ["soak"]) => Ok(Self::Soak { minutes: soak::MINUTES }),
            ("bench", ["soak", "--minutes", minutes]) => match minutes.parse() {
                Ok(minutes) if minutes > 0 => Ok(Self::Soak { minutes }),
                _ => Err(format!("`{minutes}` is not a number of minutes")),
            },
            ("bench", rest) => bench(rest),
            ("faults", ["power", rest @ ..]) => faults(Suite::Power, rest),
            ("faults", ["wall", rest @ ..]) => faults(Suite::Wall, rest),
            ("faults", rest) => faults(Suite::All, rest),
            ("dist", []) => Ok(Self::Dist { to: None }),
            ("dist", ["--to", folder]) => Ok(Self::Dist { to: Some((*folder).to_owned()) }),
            ("e2e", []) => Ok(Self::EndToEnd),
            ("check" | "stress" | "tidy" | "gen" | "dist" | "e2e", rest) => {
                Err(format!("`{command}` does not take `{}`", rest.join(" ")))
            }
            _ => Err(format!("there is no command `{command}`")),
        }
    }
}

fn bench(rest: &[&str]) -> Result<Task, String> {
    let (flags, rest): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| **word == "--quick");
    let effort = if flags.is_empty() { Effort::Full } else { Effort::Quick };
    Ok(Task::Bench { names: names("bench", &rest)?, effort })
}

fn faults(suite: Suite, rest: &[&str]) -> Result<Task, String> {
    match rest {
        [] => Ok(Task::Faults { suite, seed: None }),
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => Ok(Task::Faults { suite, seed: Some(seed) }),
            Err(_) => Err(format!("`{seed}` is not a seed: a whole number is")),
        },
        rest => Err(format!("`faults` does not take `{}`", rest.join(" "))),
    }
}

fn names(command: &str, words: &[&str]) -> Result<Vec<String>, String> {
    match words.iter().find(|word| word.starts_with('-')) {
        Some(flag) => Err(format!("`{command}` does not take `{flag}`")),
        None => Ok(words.iter().map(ToString::to_string).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, want: Result<Task, &str>) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(Task::parse(&words), want.map_err(str::to_owned), "cargo xtask {line}");
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_command_of_the_help_is_understood() {
        check("", Ok(Task::Help));
        check("help", Ok(Task::Help));
        check("bench --help", Ok(Task::Help));
        check("check", Ok(Task::Check(Tests::Run)));
        check("check --without-tests", Ok(Task::Check(Tests::Skip)));
        check("test", Ok(Task::Test { filters: vec![] }));
        check("test lock serial_", Ok(Task::Test { filters: owned(&["lock", "serial_"]) }));
        check("stress", Ok(Task::Stress { rounds: 10 }));
        check("stress 3", Ok(Task::Stress { rounds: 3 }));
        check("tidy", Ok(Task::Tidy));
        check("gen", Ok(Task::Generate(Mode::Write)));
        check("gen --check", Ok(Task::Generate(Mode::Check)));
        check("bench", Ok(Task::Bench { names: vec![], effort: Effort::Full }));
        check(
            "bench --quick journal",
            Ok(Task::Bench { names: owned(&["journal"]), effort: Effort::Quick }),
        );
        check("bench soak", Ok(Task::Soak { minutes: 30 }));
        check("bench soak --minutes 5", Ok(Task::Soak { minutes: 5 }));
        check("faults", Ok(Task::Faults { suite: Suite::All, seed: None }));
        check("faults --seed 42", Ok(Task::Faults { suite: Suite::All, seed: Some(42) }));
        check("faults wall", Ok(Task::Faults { suite: Suite::Wall, seed: None }));
        check("faults power", Ok(Task::Faults { suite: Suite::Power, seed: None }));
        check("faults power --seed 7", Ok(Task::Faults { suite: Suite::Power, seed: Some(7) }));
        check("dist", Ok(Task::Dist { to: None }));
        check("dist --to bin", Ok(Task::Dist { to: Some("bin".into()) }));
        check("e2e", Ok(Task::EndToEnd));
    }

    #[test]
    fn misuse_is_named_instead_of_guessed() {
        check("chek", Err("there is no command `chek`"));
        check("check --fast", Err("`check` does not take `--fast`"));
        check("tidy src", Err("`tidy` does not take `src`"));
        check("gen --check now", Err("`gen` does not take `--check now`"));
        check("test --release", Err("`test` does not take `--release`"));
        check("bench --slow", Err("`bench` does not take `--slow`"));
        check("bench soak --minutes 0", Err("`0` is not a number of minutes"));
        check("stress none", Err("`none` is not a number of rounds"));
        check("e2e codex", Err("`e2e` does not take `codex`"));
        check("faults --seed", Err("`faults` does not take `--seed`"));
        check("faults --seed ten", Err("`ten` is not a seed: a whole number is"));
    }
}
