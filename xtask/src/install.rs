//! Installs the programs that tests and measurements call, by package name, on Debian's family.
//!
//! Nothing is run when nothing is missing. Where we cannot install (another system, no right to,
//! no network) we say what will be skipped and why, and go on: a missing `strace` must not keep
//! a person from running the other tests. It never installs what building needs; without that we
//! would not be running.

use std::io::IsTerminal as _;

use anyhow::Result;

use crate::command_line::{CommandLine, is_on_path};

/// What the programs are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Tests,
    Bench,
    Faults,
    EndToEnd,
}

/// A program that we call, where it comes from, and what is lost without it.
#[derive(Debug, PartialEq, Eq)]
struct Need {
    program: &'static str,
    package: &'static str,
    purposes: &'static [Purpose],
    /// Completes "skipped: …".
    lost: &'static str,
}

/// To call one more program in a test, add its row here.
const NEEDS: &[Need] = &[
    Need {
        program: "git",
        package: "git",
        purposes: &[Purpose::Tests, Purpose::Bench, Purpose::Faults, Purpose::EndToEnd],
        lost: "everything in a repository: worktrees, merges, hooks, `init`, `run`",
    },
    Need {
        program: "strace",
        package: "strace",
        purposes: &[Purpose::Tests, Purpose::Faults],
        lost: "faults of the real binary at every system call",
    },
    Need {
        program: "bwrap",
        package: "bubblewrap",
        purposes: &[Purpose::Tests, Purpose::Bench, Purpose::Faults, Purpose::EndToEnd],
        lost: "the wall in namespaces; what Landlock alone holds is still tested",
    },
    Need {
        program: "jq",
        package: "jq",
        purposes: &[Purpose::Tests, Purpose::Bench],
        lost: "reading our `--json` output with jq, and the shell loop that we are measured against",
    },
    Need {
        program: "time",
        package: "time",
        purposes: &[Purpose::Bench],
        lost: "the peak memory of single commands",
    },
    Need {
        program: "script",
        package: "bsdutils",
        purposes: &[Purpose::Tests],
        lost: "commands that are reserved for a person at a terminal",
    },
    Need {
        program: "tmux",
        package: "tmux",
        purposes: &[Purpose::Tests],
        lost: "the picture of a run in a terminal that is resized",
    },
    Need {
        program: "flock",
        package: "util-linux",
        purposes: &[Purpose::Tests, Purpose::Bench, Purpose::Faults],
        lost: "locks held by another program, and full disks (`unshare`)",
    },
    Need {
        program: "faketime",
        package: "faketime",
        purposes: &[Purpose::Tests, Purpose::Faults],
        lost: "a clock that jumps",
    },
    Need {
        program: "perl",
        package: "perl-base",
        purposes: &[Purpose::Tests, Purpose::Faults],
        lost: "power cuts",
    },
    Need {
        program: "mkfs.ext4",
        package: "e2fsprogs",
        purposes: &[Purpose::Tests, Purpose::Faults],
        lost: "power cuts",
    },
    Need {
        program: "make",
        package: "make",
        purposes: &[Purpose::Tests, Purpose::Bench],
        lost: "runs beside `make`",
    },
    Need {
        program: "ninja",
        package: "ninja-build",
        purposes: &[Purpose::Bench],
        lost: "runs beside `ninja`",
    },
    Need {
        program: "rg",
        package: "ripgrep",
        purposes: &[Purpose::Bench],
        lost: "searches beside `ripgrep`",
    },
    Need {
        program: "npm",
        package: "npm",
        purposes: &[Purpose::Tests, Purpose::Bench, Purpose::EndToEnd],
        lost: "gates on a project in TypeScript, all tests with real agent programs, and measurements \
               beside tools that npm installs",
    },
    Need {
        program: "node",
        package: "nodejs",
        purposes: &[Purpose::Tests],
        lost: "gates on a project in TypeScript",
    },
    Need {
        program: "javac",
        package: "default-jdk-headless",
        purposes: &[Purpose::Tests],
        lost: "gates on a project in Java",
    },
    Need {
        program: "python3",
        package: "python3-venv",
        purposes: &[Purpose::Tests, Purpose::EndToEnd],
        lost: "gates on a project in Python, and tests with the official Python client of tools",
    },
    Need {
        program: "task",
        package: "taskwarrior",
        purposes: &[Purpose::Bench],
        lost: "single commands beside `taskwarrior`",
    },
];

/// Installs what is missing for `purpose` as far as this machine lets us.
pub(crate) fn ensure(purpose: Purpose) -> Result<()> {
    let missing = missing(purpose, is_on_path);
    if missing.is_empty() {
        return Ok(());
    }
    let reason = match plan(&missing, Machine::look()) {
        Ok(lines) => {
            install(&lines);
            "apt-get could not install it"
        }
        Err(reason) => reason,
    };
    // The packages may have arrived in part, so the path decides, not the exit code.
    for need in self::missing(purpose, is_on_path) {
        println!("{}", skipped(need, reason));
    }
    Ok(())
}

fn missing(purpose: Purpose, is_there: impl Fn(&str) -> bool) -> Vec<&'static Need> {
    let is_missing = |need: &&Need| need.purposes.contains(&purpose) && !is_there(need.program);
    NEEDS.iter().filter(is_missing).collect()
}

fn install(lines: &[CommandLine]) {
    for line in lines {
        println!("running {line}");
        // A failed `update` can still be followed by an install from the lists that are there.
        if let Err(error) = line.run() {
            println!("warning: {error:#}");
        }
    }
}

fn skipped(need: &Need, reason: &str) -> String {
    let Need { program, package, lost, .. } = need;
    format!("skipped: {lost}: `{program}` is missing (package {package}): {reason}")
}

/// What decides how packages can be installed here.
#[derive(Clone, Copy, Debug)]
struct Machine {
    has_apt: bool,
    is_root: bool,
    has_sudo: bool,
    has_terminal: bool,
}

impl Machine {
    fn look() -> Self {
        let user = CommandLine::new("id", ["-u"]).stdout().unwrap_or_default();
        Self {
            has_apt: is_on_path("apt-get"),
            is_root: user.trim_ascii() == b"0",
            has_sudo: is_on_path("sudo"),
            has_terminal: std::io::stdin().is_terminal(),
        }
    }
}

/// The command lines that install `missing`, or why there are none.
fn plan(missing: &[&Need], machine: Machine) -> Result<Vec<CommandLine>, &'static str> {
    if !machine.has_apt {
        return Err("this system has no apt-get; install it with its own package tool");
    }
    let apt_get = match machine {
        Machine { is_root: true, .. } => {
            CommandLine::new("apt-get", [""; 0]).variable("DEBIAN_FRONTEND", "noninteractive")
        }
        Machine { has_sudo: false, .. } => {
            return Err("we are not root and there is no sudo");
        }
        // A password can be asked for only where a person can type one.
        Machine { has_terminal: true, .. } => CommandLine::new("sudo", ["apt-get"]).interactive(),
        Machine { has_terminal: false, .. } => CommandLine::new("sudo", ["-n", "apt-get"]),
    };
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    Ok(vec![
        apt_get.clone().with(["update"]),
        apt_get.with(["install", "-y", "--no-install-recommends"]).with(packages),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: Machine =
        Machine { has_apt: true, is_root: true, has_sudo: false, has_terminal: false };

    fn check(machine: Machine, want: Result<&[&str], &str>) {
        let missing = missing(Purpose::Tests, |program| !["strace", "jq"].contains(&program));
        let got = plan(&missing, machine);
        let got = got.map(|lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(got, want.map(|lines| lines.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn each_kind_of_machine_has_its_way_to_install() {
        check(
            BARE,
            Ok(&[
                "DEBIAN_FRONTEND=noninteractive apt-get update",
                "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
                 jq strace",
            ]),
        );
        check(
            Machine { is_root: false, has_sudo: true, has_terminal: true, ..BARE },
            Ok(&[
                "sudo apt-get update",
                "sudo apt-get install -y --no-install-recommends \
                 jq strace",
            ]),
        );
        check(
            Machine { is_root: false, has_sudo: true, ..BARE },
            Ok(&[
                "sudo -n apt-get update",
                "sudo -n apt-get install -y \
                 --no-install-recommends jq strace",
            ]),
        );
        check(Machine { is_root: false, ..BARE }, Err("we are not root and there is no sudo"));
        check(
            Machine { has_apt: false, ..BARE },
            Err("this system has no apt-get; install it with its own package tool"),
        );
    }

    #[test]
    fn only_what_the_purpose_needs_is_missing() {
        let names = |purpose| -> Vec<&str> {
            missing(purpose, |_| false).iter().map(|need| need.program).collect()
        };
        assert_eq!(
            names(Purpose::Tests),
            [
                "git",
                "strace",
                "bwrap",
                "jq",
                "script",
                "tmux",
                "flock",
                "faketime",
                "perl",
                "mkfs.ext4",
                "make",
                "npm",
                "node",
                "javac",
                "python3"
            ]
        );
        assert_eq!(
            names(Purpose::Bench),
            ["git", "bwrap", "jq", "time", "flock", "make", "ninja", "rg", "npm", "task"]
        );
        assert_eq!(
            names(Purpose::Faults),
            ["git", "strace", "bwrap", "flock", "faketime", "perl", "mkfs.ext4"]
        );
        assert_eq!(names(Purpose::EndToEnd), ["git", "bwrap", "npm", "python3"]);
        assert_eq!(missing(Purpose::Tests, |_| true), Vec::<&Need>::new());
    }

    #[test]
    fn a_skipped_group_of_tests_is_named_with_its_reason() {
        let strace = missing(Purpose::Faults, |program| program != "strace")[0];
        assert_eq!(
            skipped(strace, "we are not root and there is no sudo"),
            "skipped: faults of the real binary at every system call: `strace` is missing \
             (package strace): we are not root and there is no sudo"
        );
    }
}
