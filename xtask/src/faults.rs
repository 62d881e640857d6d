//! Runs the fault suites in full: every kill point, every errno, every seed.
//!
//! The ordinary test run takes a sample of them. The suites read `WAYPOST_FAULTS=full` to run all
//! of it and `WAYPOST_FAULTS_SEED` to repeat one seed that they printed.

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::install::{self, Purpose};
use crate::test::Runner;
use crate::wall;

/// Which of the suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    All,
    /// A disk that is shut down without a flush.
    Power,
    /// Every hostile and every honest command behind the wall.
    Wall,
}

pub(crate) fn run(suite: Suite, seed: Option<u64>) -> Result<()> {
    install::ensure(Purpose::Faults)?;
    for line in lines(Runner::find(), suite, seed) {
        let line = wall::required(line);
        println!("running {line}");
        line.run()?;
    }
    Ok(())
}

/// The suites are the test binaries `faults` and `wall`, in `cli` what is called `faults_…`, and the
/// keeper's.
fn lines(runner: Runner, suite: Suite, seed: Option<u64>) -> Vec<CommandLine> {
    let line = |words: &str| {
        let line = CommandLine::cargo(words).variable("WAYPOST_FAULTS", "full");
        match seed {
            Some(seed) => line.variable("WAYPOST_FAULTS_SEED", &seed.to_string()),
            None => line,
        }
    };
    match (suite, runner) {
        (Suite::Power, Runner::Nextest) => {
            vec![line("nextest run --profile faults --workspace --test faults").with([
                "-E",
                "test(/^power::/)",
                "--no-capture",
            ])]
        }
        (Suite::Power, Runner::Cargo) => {
            vec![line("test --workspace --test faults power:: -- --nocapture")]
        }
        (Suite::Wall, Runner::Nextest) => {
            let line = line("nextest run --profile faults --workspace --test wall");
            vec![line.with(["--success-output", "final"])]
        }
        (Suite::Wall, Runner::Cargo) => {
            vec![line("test --workspace --test wall -- --nocapture")]
        }
        // The profile has a longer patience: one test walks through hundreds of kill points.
        (Suite::All, Runner::Nextest) => vec![
            line("nextest run --profile faults --workspace --test faults --test cli")
                .with(["-E", "binary(faults) + test(faults_)"]),
            line("nextest run --profile faults --workspace --test keeper"),
            line("nextest run --profile faults --workspace --test wall"),
        ],
        (Suite::All, Runner::Cargo) => vec![
            line("test --workspace --test faults"),
            line("test --workspace --test cli faults_"),
            line("test --workspace --test keeper"),
            line("test --workspace --test wall"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suites_run_in_full_with_the_seed_that_was_asked_for() {
        let shown = |runner, seed| -> Vec<String> {
            lines(runner, Suite::All, seed).iter().map(ToString::to_string).collect()
        };
        let nextest = shown(Runner::Nextest, None);
        assert_eq!(nextest.len(), 3);
        assert!(nextest[0].starts_with("WAYPOST_FAULTS=full cargo nextest run --profile faults"));
        assert!(nextest[0].contains("binary(faults) + test(faults_)"), "{nextest:?}");
        assert_eq!(
            shown(Runner::Cargo, Some(7)),
            [
                "WAYPOST_FAULTS=full WAYPOST_FAULTS_SEED=7 cargo test --workspace --test \
                 faults",
                "WAYPOST_FAULTS=full WAYPOST_FAULTS_SEED=7 cargo test --workspace --test \
                 cli faults_",
                "WAYPOST_FAULTS=full WAYPOST_FAULTS_SEED=7 cargo test --workspace \
                 --test keeper",
                "WAYPOST_FAULTS=full WAYPOST_FAULTS_SEED=7 cargo test --workspace --test \
                 wall",
            ]
        );
    }

    #[test]
    fn the_wall_can_be_tried_alone() {
        for runner in [Runner::Nextest, Runner::Cargo] {
            let shown = lines(runner, Suite::Wall, None);
            assert_eq!(shown.len(), 1);
            assert!(shown[0].to_string().contains("--test wall"), "{}", shown[0]);
        }
    }

    #[test]
    fn power_cuts_run_alone() {
        for runner in [Runner::Nextest, Runner::Cargo] {
            let shown = lines(runner, Suite::Power, None);
            assert_eq!(shown.len(), 1);
            assert!(shown[0].to_string().contains("power::"), "{}", shown[0]);
        }
    }
}
