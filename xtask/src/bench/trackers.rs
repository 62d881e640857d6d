//! Installs the task trackers that we are measured beside, by npm into the target folder and nowhere else.

use std::path::Path;

use anyhow::Result;

use crate::command_line::{CommandLine, is_on_path};

/// A tracker: its package and version, its program below `node_modules`, and what tells the benchmark.
struct Tracker {
    package: &'static str,
    version: &'static str,
    program: &'static str,
    variable: &'static str,
}

const TRACKERS: [Tracker; 2] = [
    Tracker {
        package: "task-master-ai",
        version: "0.43.1",
        program: "task-master-ai/dist/task-master.js",
        variable: "WAYPOST_BENCH_TASK_MASTER",
    },
    Tracker {
        package: "backlog.md",
        version: "1.52.0",
        program: ".bin/backlog",
        variable: "WAYPOST_BENCH_BACKLOG",
    },
];

/// The benchmark's command line with where the trackers are. What cannot be had is skipped by the benchmark,
/// which says so.
pub(super) fn told(line: CommandLine, prefix: &Path) -> Result<CommandLine> {
    let modules = prefix.join("node_modules");
    let is_there = |tracker: &Tracker| modules.join(tracker.program).is_file();
    if !TRACKERS.iter().all(is_there) && is_on_path("npm") {
        std::fs::create_dir_all(prefix)?;
        let install = install_line(prefix);
        println!("running {install}");
        if let Err(error) = install.run() {
            println!("warning: {error:#}");
        }
    }
    let found = TRACKERS.iter().filter(|tracker| is_there(tracker));
    Ok(found.fold(line, |line, tracker| {
        line.variable(tracker.variable, &modules.join(tracker.program).to_string_lossy())
    }))
}

fn install_line(prefix: &Path) -> CommandLine {
    let prefix = prefix.to_string_lossy().into_owned();
    CommandLine::new("npm", ["install", "--prefix", &prefix])
        .with(["--no-audit", "--no-fund", "--loglevel=error"])
        .with(["--fetch-retries=1", "--fetch-timeout=60000"])
        .with(TRACKERS.iter().map(|it| format!("{}@{}", it.package, it.version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trackers_are_installed_in_their_versions_and_nowhere_else() {
        assert_eq!(
            install_line(Path::new("out")).to_string(),
            "npm install --prefix out --no-audit --no-fund --loglevel=error --fetch-retries=1 \
             --fetch-timeout=60000 task-master-ai@0.43.1 backlog.md@1.52.0"
        );
    }
}
