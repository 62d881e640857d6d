//! Runs the fault suites in full: every kill point, every errno, every seed.
//!
//! The ordinary test run takes a sample of them. The suites read `WAYPOST_FAULTS=full` to run all
//! of it and `WAYPOST_FAULTS_SEED` to repeat one seed that they printed.

use std::path::Path;

use anyhow::{Result, bail};

use crate::command_line::{CommandLine, root};
use crate::install::{self, Purpose};
use crate::test::Runner;

/// Packages with a test binary `faults`, and their folders.
const SUITES: &[(&str, &str)] = &[("waypost", "crates/cli"), ("waypost-store", "crates/store")];

pub(crate) fn run(seed: Option<u64>) -> Result<()> {
    let root = root();
    let (there, absent): (Vec<_>, Vec<_>) =
        SUITES.iter().copied().partition(|(_, folder)| has_suite(&root.join(folder)));
    for (package, folder) in &absent {
        println!("not there yet: the fault suite of {package} ({folder}/tests/faults.rs)");
    }
    if there.is_empty() {
        bail!("there is no fault suite to run");
    }
    install::ensure(Purpose::Faults)?;
    let packages: Vec<&str> = there.iter().map(|(package, _)| *package).collect();
    let line = line(Runner::find(), &packages, seed);
    println!("running {line}");
    line.run()
}

fn has_suite(folder: &Path) -> bool {
    folder.join("tests/faults.rs").is_file() || folder.join("tests/faults/main.rs").is_file()
}

fn line(runner: Runner, packages: &[&str], seed: Option<u64>) -> CommandLine {
    let line = match runner {
        // The profile has a longer patience: one test walks through hundreds of kill points.
        Runner::Nextest => CommandLine::cargo("nextest run --profile faults"),
        Runner::Cargo => CommandLine::cargo("test"),
    };
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let line = line.with(packages).with(["--test", "faults"]).variable("WAYPOST_FAULTS", "full");
    match seed {
        Some(seed) => line.variable("WAYPOST_FAULTS_SEED", &seed.to_string()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suites_run_in_full_with_the_seed_that_was_asked_for() {
        assert_eq!(
            line(Runner::Nextest, &["waypost", "waypost-store"], None).to_string(),
            "WAYPOST_FAULTS=full cargo nextest run --profile faults --package waypost \
             --package waypost-store --test faults"
        );
        assert_eq!(
            line(Runner::Cargo, &["waypost-store"], Some(7)).to_string(),
            "WAYPOST_FAULTS=full WAYPOST_FAULTS_SEED=7 cargo test --package waypost-store \
             --test faults"
        );
    }

    #[test]
    fn a_suite_is_a_file_or_a_folder_with_a_main() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_suite(folder.path()));
        std::fs::create_dir_all(folder.path().join("tests/faults")).unwrap();
        assert!(!has_suite(folder.path()));
        std::fs::write(folder.path().join("tests/faults/main.rs"), "").unwrap();
        assert!(has_suite(folder.path()));
    }
}
