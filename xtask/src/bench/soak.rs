//! A long run at one task a second in work trees: does anything grow that should not?
//!
//! Samples the engine's memory (what it has for itself), its open files, and what the repository and the
//! journal's folder take. Every task leaves a commit and some entries in the journal, so the disk
//! grows with what was done; what counts is by how much for each task. The first third is not judged:
//! caches fill, and retention begins only when there is something to delete.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::command_line::target;
use crate::dist;

pub(crate) const MINUTES: u32 = 30;

/// Tasks of one phase; each phase is merged into the branch at its end.
const PHASE: u32 = 60;
/// So many tasks at a time, each as many seconds long.
const AT_ONCE: u32 = 4;
const SAMPLES: u32 = 36;
/// How long the run may take beyond the time that its tasks need.
const GRACE: Duration = Duration::from_secs(600);

/// What is measured, and what it may grow by for each task.
const MEASURES: [(&str, u64); 4] = [
    // What a completed task adds to the state of its run: its times, its commit and its evidence.
    ("memory of the engine", 2 << 10),
    ("open files", 0),
    // A commit, a merge, three trees and a file, packed; a ref's log.
    ("the repository", 8 << 10),
    // A dozen entries of the journal, and a log until retention takes it.
    ("the journal's folder", 16 << 10),
];

/// The journal's write-ahead log is emptied when it is large; it may be twice as large as that.
const LOG_MAX: u64 = 32 << 20;

/// One look.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sample {
    seconds: u64,
    tasks: u64,
    loose: u64,
    packs: u64,
    /// The journal's write-ahead log.
    log: u64,
    values: [u64; 4],
}

pub(crate) fn run(minutes: u32) -> Result<()> {
    let programs = match std::env::var_os("WAYPOST_BENCH_PROGRAMS") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let folder = target().join("bench/programs");
            dist::install(&folder)?;
            folder
        }
    };
    let site = Site::begin(&target().join("soak"), minutes * 60)?;
    let mut engine = site.start(&programs)?;
    let samples = watch(&site, &mut engine, minutes);
    if samples.is_err() {
        // It is ours, and has been waited for by no one yet.
        engine.kill().ok();
        engine.wait().ok();
    }
    let samples = samples?;
    print!("\n{}", table(&samples));
    for line in verdicts(&samples) {
        println!("{line}");
    }
    Ok(())
}

/// Samples until the run is over.
fn watch(site: &Site, engine: &mut Child, minutes: u32) -> Result<Vec<Sample>> {
    let (begun, time) = (Instant::now(), Duration::from_secs(u64::from(minutes) * 60));
    let step = (time / SAMPLES).max(Duration::from_secs(2));
    let mut samples = Vec::new();
    loop {
        thread::sleep(step);
        if let Some(status) = engine.try_wait()? {
            if !status.success() {
                let said = fs::read_to_string(site.root.join("../said")).unwrap_or_default();
                bail!("the run ended with {status}:\n{said}");
            }
            return Ok(samples);
        }
        let sample = site.sample(engine.id(), begun.elapsed().as_secs())?;
        println!("{}", row(&sample));
        samples.push(sample);
        if begun.elapsed() > time * 2 + GRACE {
            bail!("the run takes more than twice the time that its tasks need");
        }
    }
}

/// A repository with tasks to be done.
struct Site {
    root: PathBuf,
    home: PathBuf,
}

impl Site {
    fn begin(folder: &Path, tasks: u32) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let site = Self { root: folder.join("shop"), home: folder.join("home") };
        fs::create_dir_all(&site.root)?;
        fs::create_dir_all(&site.home)?;
        let mut text = String::from("# Tasks: soak\n");
        for task in 0..tasks {
            let (phase, number) = (task / PHASE + 1, task % PHASE + 1);
            if number == 1 {
                write!(text, "\n## Phase {phase}: Part {phase}\n\n")?;
            }
            writeln!(
                text,
                "- [ ] T{phase}.{number}: Write\n  - depends: none\n  - run: `sleep {AT_ONCE}; mkdir -p \
                 out/{phase}; seq 200 > out/{phase}/{number}.txt`"
            )?;
        }
        fs::write(site.root.join("TASKS.md"), text)?;
        let retention = "[retention]\nlog_mb = 1\nrendering_mb = 1\n";
        let run = format!("[run]\nmode = \"ultra-thin\"\nmax_parallel = {AT_ONCE}\n");
        fs::write(site.root.join("waypost.toml"), format!("{run}\n{retention}"))?;
        for line in ["init -q -b main", "add -A", "commit -q -m begin"] {
            let status = site.command("git").args(line.split(' ')).status()?;
            if !status.success() {
                bail!("`git {line}` ended with {status}");
            }
        }
        Ok(site)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root).env("HOME", &self.home).stdin(Stdio::null());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        for (name, value) in [("NAME", "soak"), ("EMAIL", "soak@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value);
            command.env(format!("GIT_COMMITTER_{name}"), value);
        }
        command
    }

    fn start(&self, programs: &Path) -> Result<Child> {
        let said = fs::File::create(self.root.join("../said"))?;
        let program = fs::canonicalize(programs.join("waypost"))?;
        let mut command = self.command(&program);
        command.args(["run", "--isolation", "task"]);
        command.stdout(said.try_clone()?).stderr(said);
        command.spawn().with_context(|| format!("cannot start {}", program.display()))
    }

    fn sample(&self, engine: u32, seconds: u64) -> Result<Sample> {
        let git = self.root.join(".git");
        let state = git.join("waypost");
        let (mut loose, mut packs) = (0, 0);
        for entry in fs::read_dir(git.join("objects"))?.flatten() {
            let is_loose = entry.file_name().len() == 2;
            let names = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            let names = names.filter(|name| is_loose || is_pack(&name.path()));
            let count = u64::try_from(names.count())?;
            *(if is_loose { &mut loose } else { &mut packs }) += count;
        }
        let files = fs::read_dir(format!("/proc/{engine}/fd")).map_or(0, Iterator::count);
        let log = state.join("journal.db-wal").metadata().map_or(0, |found| found.blocks() * 512);
        let (all, own) = (size(&git), size(&state));
        let (repository, own) = (all.saturating_sub(own), own.saturating_sub(log));
        let values = [own_memory(engine)?, u64::try_from(files)?, repository, own];
        Ok(Sample { seconds, tasks: self.completed(), loose, packs, log, values })
    }

    /// How many tasks the window says are completed.
    fn completed(&self) -> u64 {
        let text = fs::read_to_string(self.root.join(".claude/orchestrate-state.json"));
        let window: Option<serde_json::Value> =
            text.ok().and_then(|text| serde_json::from_str(&text).ok());
        window.and_then(|it| it["metrics"]["completed_count"].as_u64()).unwrap_or_default()
    }
}

/// The memory that a process has for itself. Pages of its program are not counted: the system brings
/// them in when they are first used and takes them away as it likes, so that they would look like a leak.
fn own_memory(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    own_bytes(&text).with_context(|| format!("{path} tells no Pss"))
}

/// What `smaps_rollup` says; older systems tell only all of it.
fn own_bytes(text: &str) -> Option<u64> {
    let find = |label: &str| text.lines().find_map(|line| line.strip_prefix(label));
    let line = find("Pss_Anon:").or_else(|| find("Pss:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

fn is_pack(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "pack")
}

/// What a folder takes on the disk. What goes meanwhile takes nothing.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        let below = if found.is_dir() { size(&entry.path()) } else { 0 };
        Some(found.blocks() * 512 + below)
    });
    sizes.sum()
}

fn table(samples: &[Sample]) -> String {
    let head =
        "    time   tasks    memory  files  repository   journal     its log  loose  packs\n";
    samples.iter().fold(head.to_owned(), |text, sample| text + &row(sample) + "\n")
}

fn row(sample: &Sample) -> String {
    let Sample { seconds, tasks, loose, packs, log, values: [memory, files, git, state] } = sample;
    let kilobytes = |bytes: &u64| bytes >> 10;
    format!(
        "{seconds:>6} s {tasks:>7} {:>6} KB {files:>6} {:>8} KB {:>6} KB {:>8} KB {loose:>6} {packs:>6}",
        kilobytes(memory),
        kilobytes(git),
        kilobytes(state),
        kilobytes(log)
    )
}

/// Whether each measure is flat, in a line.
fn verdicts(samples: &[Sample]) -> Vec<String> {
    let third = samples.len() / 3;
    let (Some(from), Some(to)) = (samples.get(third), samples.last()) else {
        return vec!["there are too few samples to judge".into()];
    };
    let tasks = to.tasks.saturating_sub(from.tasks);
    if third == 0 || tasks == 0 {
        return vec!["there are too few samples to judge".into()];
    }
    let judge = |(at, (name, limit)): (usize, &(&str, u64))| {
        // The least of a third: what is held for a moment is no growth.
        let least = |some: &[Sample]| some.iter().map(|it| it.values[at]).min().unwrap_or_default();
        let (middle, last) = (&samples[third..2 * third], &samples[samples.len() - third..]);
        let growth = least(last).saturating_sub(least(middle));
        let between = tasks.div_ceil(2).max(1);
        let word = if growth <= limit * between { "flat" } else { "GROWS" };
        format!(
            "{word:5} {name}: {} bytes or files more for each task (at most {limit})",
            growth / between
        )
    };
    let largest = samples.iter().map(|it| it.log).max().unwrap_or_default();
    let word = if largest <= LOG_MAX { "flat" } else { "GROWS" };
    let log = format!("{word:5} the journal's log: at most {} KB", largest >> 10);
    MEASURES.iter().enumerate().map(judge).chain([log]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |at: u64| Sample {
            seconds: at * 10,
            tasks: at * 10,
            loose: 0,
            packs: 0,
            log: at,
            values: [memory(at), 20 + at % 3, (at * 10) << 10, (at * 10) << 13],
        };
        (1..=12).map(sample).collect()
    }

    fn words(samples: &[Sample]) -> Vec<String> {
        let first = |line: String| line.split(' ').next().unwrap().to_owned();
        verdicts(samples).into_iter().map(first).collect()
    }

    #[test]
    fn pages_of_the_program_are_not_its_own_memory() {
        let text = "Rss: 90 kB\nPss: 30 kB\nPss_Anon: 10 kB\nPss_File: 20 kB\n";
        assert_eq!(own_bytes(text), Some(10 << 10));
        assert_eq!(own_bytes("Rss: 90 kB\nPss:  30 kB\n"), Some(30 << 10));
        assert_eq!(own_bytes("Rss: 90 kB\n"), None);
    }

    #[test]
    fn only_what_goes_on_growing_grows() {
        let settles = |at: u64| 10_000_000 + at.min(3) * 1_000_000;
        assert_eq!(words(&samples(settles)), ["flat"; 5]);
        let leaks = |at: u64| 10_000_000 + at * 100_000;
        assert_eq!(words(&samples(leaks)), ["GROWS", "flat", "flat", "flat", "flat"]);
        assert_eq!(verdicts(&samples(settles)[..2]), ["there are too few samples to judge"]);
    }
}
