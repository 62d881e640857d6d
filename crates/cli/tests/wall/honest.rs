//! Commands of an agent that works: they work behind the wall as without it, and where something is
//! closed they say so.

use crate::{
    sample,
    site::{Phase, Site, Wall},
};
use std::fs;

/// So many commands of each phase are run with the ordinary tests.
const SAMPLE: usize = 20;

struct Honest {
    need: &'static str,
    text: &'static str,
}

fn commands() -> Vec<Honest> {
    let lines = include_str!("honest.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| line.split_once('\t').unwrap())
        .map(|(need, text)| Honest { need, text })
        .collect()
}

#[test]
fn there_are_enough_honest_commands() {
    assert!(commands().len() >= 200, "{}", commands().len());
}

/// Small projects of each kind beside what the site has.
fn furnish(site: &Site) {
    let root = site.root();
    let manifest =
        |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2021\"\n[workspace]\n");
    let files = [
        ("crate/Cargo.toml", manifest("small")),
        ("crate/src/main.rs", "fn main() {}\n#[test]\nfn it_works() {}\n".to_owned()),
        ("crate2/Cargo.toml", manifest("other")),
        ("crate2/src/lib.rs", String::new()),
        ("Makefile", "check:\n\ttest -f a.txt\ngenerate:\n\techo x > generated\n".to_owned()),
        (
            "src/test_a.py",
            "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass\n".to_owned(),
        ),
        ("src/test.js", "require('node:test')('works', () => {});\n".to_owned()),
        ("part/package.json", "{\"name\":\"part\",\"version\":\"1.0.0\"}".to_owned()),
        (
            "web/package.json",
            "{\"name\":\"web\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e 1\"},\"dependencies\":{\"part\":\"file:../part\"}}"
                .to_owned(),
        ),
    ];
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(root.join("target")).unwrap();
    // A build that may not write finds its lock file; without cargo there is none, and none is needed.
    let mut lock = site.outside("cargo");
    let _none = lock
        .args(["generate-lockfile", "--offline", "-q"])
        .current_dir(root.join("crate"))
        .status();
}

/// Whether the machine has what a command begins with.
fn can_be_run(site: &Site, text: &str) -> bool {
    let programs = ["cargo", "npm", "pip", "node", "make", "cc", "curl", "script", "perl", "patch"];
    let wanted = programs.iter().filter(|it| text.split_whitespace().any(|word| word == **it));
    wanted.into_iter().all(|program| {
        let found = site.outside("which").arg(program).output();
        found.is_ok_and(|output| output.status.success())
    })
}

fn everything_works(phase: Phase) {
    let Some(site) = Site::new_with(Wall::B, phase, furnish) else { return };
    let mut failures = Vec::new();
    let all = sample::of(commands(), SAMPLE);
    for Honest { need, text } in all {
        if !can_be_run(&site, text) {
            println!("skipped: {text}");
            continue;
        }
        let is_open = match need {
            "write" => phase.writes(),
            "commit" => phase.commits(),
            need => !need.starts_with('!'),
        };
        let before = site.picture();
        let output = site.call(&site.filled(text));
        let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if sample::is_full() {
            println!("{need}: {text}: {}", output.status);
        }
        match is_open {
            true if !output.status.success() => failures.push(format!("{text}\n    {said}")),
            false if output.status.success() => failures.push(format!("{text}: it works")),
            false if said.trim().is_empty() => failures.push(format!("{text}: it says nothing")),
            _ => {}
        }
        if site.picture() != before {
            site.restore();
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn everything_works_while_all_is_open() {
    everything_works(Phase::Open);
}

#[test]
fn everything_but_pushes_works_while_pushes_are_closed() {
    everything_works(Phase::PushesClosed);
}

#[test]
fn what_does_not_commit_works_while_commits_are_closed() {
    everything_works(Phase::CommitsClosed);
}

#[test]
fn what_only_reads_and_builds_works_while_writes_are_closed() {
    everything_works(Phase::WritesClosed);
}
