//! Runs the measurements and shows them in one table.
//!
//! Every benchmark measures us and an alternative in the same run, because only the ratio of two
//! numbers from one machine and one minute means anything elsewhere. A slow result is never a
//! failure here; a benchmark that does not run is.
//!
//! A benchmark prints one JSON object per line on its standard output: `name`, `ours`, `unit`, and
//! where there is an alternative `other` and `ratio`, which is ours divided by the other's. Its
//! `target`, if it has one, is what the ratio should be: `"<= 1.5"` or `">= 0.8"`. All else that
//! it has to say goes to its standard error.

mod measurement;
pub(crate) mod soak;
mod trackers;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::bench::measurement::{Measurement, table};
use crate::command_line::{CommandLine, root, target};
use crate::dist;
use crate::install::{self, Purpose};

/// How long the measurements may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Full,
    /// Small numbers, to see that a benchmark works.
    Quick,
}

/// Cargo tells programs where its own libraries are. Every child of a benchmark would look there
/// first for all that it needs, those of others more often than ours.
const RUNNER: &str = r#"target."cfg(unix)".runner = ["env", "-u", "LD_LIBRARY_PATH"]"#;

/// A bench target of one of our packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bench {
    name: &'static str,
    folder: &'static str,
}

/// To run one more benchmark, add its row here.
const BENCHES: &[Bench] = &[
    Bench { name: "journal", folder: "crates/store" },
    Bench { name: "search", folder: "crates/store" },
    Bench { name: "contracts", folder: "crates/store" },
    Bench { name: "keeper", folder: "crates/proc" },
    Bench { name: "reading", folder: "crates/agent" },
    Bench { name: "engine", folder: "crates/engine" },
    Bench { name: "host", folder: "crates/engine" },
    Bench { name: "cli", folder: "crates/cli" },
    // Measured as it is given away, because how it is linked is half of what it costs.
    Bench { name: "hook", folder: "crates/cli" },
    Bench { name: "run", folder: "crates/cli" },
    Bench { name: "scale", folder: "crates/cli" },
    Bench { name: "agents", folder: "crates/cli" },
    Bench { name: "trees", folder: "crates/cli" },
    Bench { name: "tasks", folder: "crates/cli" },
    Bench { name: "trackers", folder: "crates/cli" },
];

pub(crate) fn run(names: &[String], effort: Effort) -> Result<()> {
    let root = root();
    let benches = selected(names, |bench| bench.is_there(&root))?;
    install::ensure(Purpose::Bench)?;
    let (mut measurements, mut broken) = (Vec::new(), Vec::new());
    for bench in benches {
        match bench.measure(effort) {
            Ok(found) => measurements.extend(found),
            // The others are still worth having after minutes of measuring.
            Err(error) => broken.push(format!("{}: {error:#}", bench.name)),
        }
    }
    if !measurements.is_empty() {
        print!("\n{}", table(&measurements));
        println!("\nsaved as {}", save(&measurements, effort)?.display());
    }
    if !broken.is_empty() {
        bail!("broken:\n{}", broken.join("\n"));
    }
    Ok(())
}

/// The benchmarks of these names, all that are there if no name is given.
fn selected(names: &[String], is_there: impl Fn(&Bench) -> bool) -> Result<Vec<&'static Bench>> {
    if names.is_empty() {
        let (there, absent): (Vec<&Bench>, Vec<&Bench>) =
            BENCHES.iter().partition(|bench| is_there(bench));
        for bench in absent {
            println!("not there yet: {} ({})", bench.name, bench.path());
        }
        if there.is_empty() {
            bail!("there is no benchmark to run");
        }
        return Ok(there);
    }
    let mut benches = Vec::new();
    for name in names {
        let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
            let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
            bail!("there is no benchmark `{name}`; there are: {}", known.join(", "));
        };
        if !is_there(bench) {
            bail!("the benchmark `{name}` is not there yet ({})", bench.path());
        }
        benches.push(bench);
    }
    Ok(benches)
}

impl Bench {
    fn path(&self) -> String {
        format!("{}/benches/{}.rs", self.folder, self.name)
    }

    fn is_there(&self, root: &Path) -> bool {
        root.join(self.path()).is_file()
    }

    fn line(&self, effort: Effort) -> CommandLine {
        // All of the workspace, so that each is built from the same dependencies.
        let line = CommandLine::cargo("bench");
        let line = line.with(["--config", RUNNER, "--workspace", "--bench", self.name]);
        match effort {
            Effort::Full => line,
            Effort::Quick => line.variable("WAYPOST_BENCH_QUICK", "1"),
        }
    }

    fn measure(&self, effort: Effort) -> Result<Vec<Measurement>> {
        let line = match self.name {
            "agents" | "cli" | "hook" | "run" | "tasks" | "trees" if effort == Effort::Full => {
                let programs = target().join("bench/programs");
                dist::install(&programs)?;
                let programs = programs.display().to_string();
                self.line(effort).variable("WAYPOST_BENCH_PROGRAMS", &programs)
            }
            "trackers" => trackers::told(self.line(effort), &target().join("bench/npm"))?,
            _ => self.line(effort),
        };
        println!("running {line}");
        let output = line.stdout()?;
        measurements(&String::from_utf8_lossy(&output))
    }
}

/// The measurements in what a benchmark printed; lines that are no JSON object are shown and left.
fn measurements(output: &str) -> Result<Vec<Measurement>> {
    let mut found = Vec::new();
    for line in output.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('{') {
            let measurement = Measurement::parse(line);
            found.push(measurement.with_context(|| format!("cannot read the line {line}"))?);
        } else {
            eprintln!("{line}");
        }
    }
    if found.is_empty() {
        bail!("it printed no measurement");
    }
    Ok(found)
}

/// Keeps the numbers beside the build, so that two runs can be compared later.
fn save(measurements: &[Measurement], effort: Effort) -> Result<PathBuf> {
    let text = |line: CommandLine| -> Result<String> {
        Ok(String::from_utf8(line.stdout()?)?.trim().to_owned())
    };
    // The time is part of the name, else the second run of a day would replace the first.
    let date = text(CommandLine::new("date", ["-u", "+%Y-%m-%dT%H%M%SZ"]))?;
    let commit = text(CommandLine::new("git", ["describe", "--always", "--dirty"])).ok();
    let results: Vec<&Value> = measurements.iter().map(|measurement| &measurement.raw).collect();
    let quick = effort == Effort::Quick;
    let document = json!({"date": date, "commit": commit, "quick": quick, "results": results});

    let folder = target().join("bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join(format!("{date}.json"));
    std::fs::write(&path, format!("{document:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_selected(names: &[&str], there: &[&str], want: Result<&[&str], &str>) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let got = selected(&names, |bench| there.contains(&bench.name));
        let got = got.map(|benches| benches.iter().map(|bench| bench.name).collect::<Vec<_>>());
        let got = got.map_err(|error| error.to_string());
        assert_eq!(got, want.map(<[_]>::to_vec).map_err(str::to_owned));
    }

    #[test]
    fn without_names_all_that_are_there_are_run() {
        check_selected(&[], &["journal", "cli"], Ok(&["journal", "cli"]));
        check_selected(&[], &["journal"], Ok(&["journal"]));
        check_selected(&[], &[], Err("there is no benchmark to run"));
        check_selected(&["cli"], &["journal", "cli"], Ok(&["cli"]));
    }

    #[test]
    fn a_name_that_cannot_be_run_is_an_error() {
        check_selected(
            &["jornal"],
            &["journal"],
            Err(
                "there is no benchmark `jornal`; there are: journal, search, contracts, keeper, reading, engine, host, \
                 cli, hook, run, scale, agents, trees, tasks, trackers",
            ),
        );
        check_selected(
            &["cli"],
            &["journal"],
            Err("the benchmark `cli` is not there yet (crates/cli/benches/cli.rs)"),
        );
    }

    #[test]
    fn quick_is_told_to_the_benchmark() {
        let bench = format!("cargo bench --config '{RUNNER}' --workspace --bench journal");
        assert_eq!(
            BENCHES[0].line(Effort::Quick).to_string(),
            format!("WAYPOST_BENCH_QUICK=1 {bench}")
        );
        assert_eq!(BENCHES[0].line(Effort::Full).to_string(), bench);
    }

    #[test]
    fn a_run_without_a_readable_measurement_is_broken() {
        let check = |output: &str, want: Result<usize, &str>| {
            let got = measurements(output).map(|found| found.len());
            assert_eq!(got.map_err(|error| format!("{error:#}")), want.map_err(str::to_owned));
        };
        check("{\"name\":\"a\",\"ours\":1,\"unit\":\"ms\"}\n\nnoise\n", Ok(1));
        check("noise\n", Err("it printed no measurement"));
        check("{\"name\":1}\n", Err("cannot read the line {\"name\":1}: `name` is not a text"));
    }
}
