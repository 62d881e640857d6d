//! Commands of an agent that works: they work behind the wall as without it, and where something is
//! closed they say so.

use crate::{
    sample,
    site::{Phase, Site, Wall},
};
use std::fs;

/// So many commands of each phase are run with the ordinary tests.
const SAMPLE: usize = 30;

/// Ends the need of a command that needs namespaces to work: by Landlock it may fail, and says why.
const ONLY_B: &str = "@b";

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

/// Writes a package of Python's that needs no index.
const WHEEL: &str = "
import zipfile
z = zipfile.ZipFile('small-1.0-py3-none-any.whl', 'w')
z.writestr('small.py', 'x = 1\\n')
d = 'small-1.0.dist-info/'
z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: small\\nVersion: 1.0\\n')
z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
z.writestr(d + 'RECORD', '')
z.close()
";

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
    // Without Python there is no row that needs its package.
    let _none = site.outside("python3").args(["-c", WHEEL]).current_dir(&root).status();
    // A build that may not write finds its lock file; without cargo there is none, and none is needed.
    let mut lock = site.outside("cargo");
    let _none = lock
        .args(["generate-lockfile", "--offline", "-q"])
        .current_dir(root.join("crate"))
        .status();
}

/// Whether the machine has what a command begins with.
fn can_be_run(site: &Site, text: &str) -> bool {
    let programs = [
        "cargo", "npm", "pip", "node", "make", "cc", "curl", "script", "perl", "patch", "gradle",
        "sudo", "docker",
    ];
    let wanted = programs.iter().filter(|it| text.split_whitespace().any(|word| word == **it));
    wanted.into_iter().all(|program| {
        let found = site.outside("which").arg(program).output();
        found.is_ok_and(|output| output.status.success())
    })
}

/// What is wrong with how a command ended, if something is.
fn fault(
    row: &Honest,
    (wall, phase): (Wall, Phase),
    is_success: bool,
    said: &str,
) -> Option<String> {
    let (need, is_partial) = match row.need.strip_suffix(ONLY_B) {
        Some(need) => (need, wall == Wall::C),
        None => (row.need, false),
    };
    let is_open = match need {
        "write" => phase.writes(),
        "commit" => phase.commits(),
        need => !need.starts_with('!'),
    };
    let text = row.text;
    match (is_open, is_success) {
        (true, false) if !is_partial => Some(format!("{text}\n    {said}")),
        // What a command without namespaces cannot do here, the broker may have done.
        (false, true) if wall == Wall::B => Some(format!("{text}: it works")),
        // The kernel's own words do not say which gate is closed, nor the way out.
        (_, false) if !said.lines().any(|line| line.starts_with("waypost: ")) => {
            Some(format!("{text}: it does not say why:\n    {said}"))
        }
        _ => None,
    }
}

fn everything_works(wall: Wall, phase: Phase) {
    let Some(site) = Site::new_with(wall, phase, furnish) else { return };
    let mut failures = Vec::new();
    let name = format!("honest {wall:?} {phase:?}");
    let all = sample::of(&name, commands(), SAMPLE, |it| it.need.to_owned());
    for row in all {
        let Honest { need, text } = row;
        if !can_be_run(&site, text) {
            println!("skipped: {text}");
            continue;
        }
        let before = site.picture();
        let output = site.call(&site.filled(text));
        let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if sample::is_full() {
            println!("{need}: {text}: {}", output.status);
        }
        failures.extend(fault(&row, (wall, phase), output.status.success(), &said));
        if site.picture() != before {
            site.restore();
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn everything_works_while_all_is_open() {
    everything_works(Wall::B, Phase::Open);
}

#[test]
fn everything_but_pushes_works_while_pushes_are_closed() {
    everything_works(Wall::B, Phase::PushesClosed);
}

#[test]
fn what_does_not_commit_works_while_commits_are_closed() {
    everything_works(Wall::B, Phase::CommitsClosed);
}

#[test]
fn what_only_reads_and_builds_works_while_writes_are_closed() {
    everything_works(Wall::B, Phase::WritesClosed);
}

#[test]
fn by_landlock_everything_works_or_says_why_while_all_is_open() {
    everything_works(Wall::C, Phase::Open);
}

#[test]
fn by_landlock_everything_but_pushes_works_or_says_why_while_pushes_are_closed() {
    everything_works(Wall::C, Phase::PushesClosed);
}

#[test]
fn by_landlock_what_does_not_commit_works_or_says_why_while_commits_are_closed() {
    everything_works(Wall::C, Phase::CommitsClosed);
}

#[test]
fn by_landlock_what_only_reads_and_builds_works_while_writes_are_closed() {
    everything_works(Wall::C, Phase::WritesClosed);
}
