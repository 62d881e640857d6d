//! A run whose engine is killed at each of its calls of git, and taken up once.
//!
//! In place of git stands a script that counts. At the call that is meant it kills the engine: before
//! the real git, which then runs without its engine or not at all; after it; or in the middle, when
//! git has a lock and is about to make its work seen. There git is also killed alone. The call that
//! moves the user's own files is cut off at everything that it changes.

use crate::{
    process::{self, Ended},
    repository::{Deed, Hands, Repository, Task, Way},
    sample,
    site::WAYPOST,
    tracer,
};
use std::{env, fs, os::unix::fs::PermissionsExt as _, panic, path::Path};

/// How the call that is meant goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The engine is killed, and git does its work after that.
    Late,
    /// Engine and all its git processes are killed before git has done anything.
    Never,
    /// The engine is killed when git has done its work.
    After,
    /// Git is killed before the so many-th file that it renames, links or removes, then the engine.
    Torn(usize),
    /// Git alone is killed so.
    Alone(usize),
    /// Git alone is killed before it has done anything.
    Unborn,
}

impl Fault {
    fn needs_tracer(self) -> bool {
        matches!(self, Self::Torn(_) | Self::Alone(_))
    }

    fn kills_engine(self) -> bool {
        !matches!(self, Self::Alone(_) | Self::Unborn)
    }
}

const FAULTS: [Fault; 8] = [
    Fault::Late,
    Fault::Never,
    Fault::After,
    Fault::Torn(1),
    Fault::Torn(2),
    Fault::Alone(1),
    Fault::Alone(3),
    Fault::Unborn,
];

/// Calls by which git makes its work seen.
const SHOWING: &str = "/^(rename|link|unlink)";
/// Calls by which it changes anything.
const CHANGING: &str = "/^(write|rename|link|unlink|mkdir|symlink)";

/// About how many points the ordinary form takes.
const SAMPLE: usize = 7;

/// Which call of git is meant.
#[derive(Clone, Copy, Debug)]
enum Call {
    None,
    Number(usize),
    /// The one that moves the branch which the user has checked out.
    Merge,
}

type Point = (String, Call, Fault);

#[test]
fn a_kill_at_any_call_of_git_is_made_up_for() {
    let calls = calls_of_a_whole_run();
    let wanted = env::var("WAYPOST_FAULTS_SCENARIO").unwrap_or_default();
    let is_wanted = |fault: &&Fault| format!("{fault:?}").contains(&wanted);
    let points: Vec<Point> = FAULTS
        .iter()
        .filter(is_wanted)
        .flat_map(|fault| {
            (1..=calls).map(move |call| (format!("{fault:?}"), Call::Number(call), *fault))
        })
        .collect();
    try_all("calls of git", &points, SHOWING);
}

#[test]
fn a_checkout_in_which_git_was_killed_is_taken_back() {
    if tracer::obstacle().is_some() {
        process::say("SKIPPED a checkout in which git is killed: nothing can be traced here");
        return;
    }
    let whole = repository();
    run(&whole, Call::Merge, Fault::Alone(0), CHANGING).expect_code(0);
    let traced = fs::read_to_string(whole.site.outside("bin/traced")).unwrap();
    let points: Vec<Point> = (1..=traced.lines().count())
        .flat_map(|at| [Fault::Torn(at), Fault::Alone(at)])
        .map(|fault| {
            (if fault.kills_engine() { "both" } else { "alone" }.into(), Call::Merge, fault)
        })
        .collect();
    assert!(points.len() > 10, "{traced}");
    try_all("changes of a checkout", &points, CHANGING);
}

/// Tries points, or a sample of them. All of those: which ones fail tells more than the first.
fn try_all(what: &str, points: &[Point], traced: &str) {
    let obstacle = tracer::obstacle();
    if let Some(why) = &obstacle {
        process::say(&format!("SKIPPED git that is killed in the middle: {why}"));
    }
    let taken = sample::sample(points, SAMPLE, |(kind, ..)| kind);
    let can = |(_, _, fault): &&Point| obstacle.is_none() || !fault.needs_tracer();
    let fails = |(_, call, fault): &Point| {
        let outcome = panic::catch_unwind(|| check(*call, *fault, traced));
        outcome.is_err().then(|| format!("{call:?} {fault:?}"))
    };
    let tried: Vec<Option<String>> = taken.iter().filter(can).map(fails).collect();
    let failed: Vec<&String> = tried.iter().flatten().collect();
    let (count, all) = (tried.len(), points.len());
    process::say(&format!("{what}: {count} of {all} points, {}", sample::described()));
    assert_eq!(failed, <[&String; 0]>::default());
}

/// Two tasks, one of which commits by itself, and one proves what it did.
fn repository() -> Repository {
    let task =
        |number: usize, deed| Task { id: format!("T1.{number}"), phase: 1, deed, depends: None };
    Repository::new(
        vec![task(1, Deed::Proves), task(2, Deed::Commits)],
        Way::Attempts,
        Hands::Commands,
    )
}

fn calls_of_a_whole_run() -> usize {
    let repository = repository();
    run(&repository, Call::None, Fault::After, SHOWING).expect_code(0);
    repository.assert_whole();
    let count = fs::read_to_string(repository.site.outside("bin/count")).unwrap();
    count.lines().count()
}

/// A run that goes wrong at one call, and is taken up once.
#[expect(clippy::print_stdout, reason = "tells where it was when something does not hold")]
fn check(call: Call, fault: Fault, traced: &str) {
    let repository = repository();
    let first = run(&repository, call, fault, traced);
    let struck = fs::read_to_string(repository.site.outside("bin/struck")).unwrap_or_default();
    // Shown when something does not hold. The settings before the command say nothing here.
    let command: Vec<&str> =
        struck.split(' ').skip_while(|word| *word == "-c" || word.contains('=')).collect();
    println!("{call:?}, {fault:?}: {first:#?} at git {}", command.join(" "));
    repository.assert_safe();
    if !fault.kills_engine() {
        // A run does not end because a child of ours died once.
        assert_eq!(first.code, Some(0), "{first:#?}");
    }
    let again = run(&repository, Call::None, fault, traced);
    println!("taken up: {again:#?}");
    again.expect_code(0);
    repository.assert_whole();
}

/// A run in which the script stands in place of git.
fn run(repository: &Repository, call: Call, fault: Fault, traced: &str) -> Ended {
    let site = &repository.site;
    let bin = site.outside("bin");
    // It is there for the second run.
    let _old = fs::create_dir(&bin);
    fs::write(bin.join("git"), script(&bin, call, fault, traced)).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let _none = fs::remove_file(bin.join("count"));
    let mut command = site.command(WAYPOST);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.args(["run", "--resume", "--isolation", "task"]);
    process::run(&mut command)
}

/// The script holds the lock that is its input, as git does; what it runs holds it, too.
fn script(bin: &Path, call: Call, fault: Fault, traced: &str) -> String {
    let bin = bin.display();
    let torn = |at: usize| {
        let inject = match at {
            0 => String::new(),
            at => format!("-e 'inject={traced}:signal=KILL:when={at}'"),
        };
        format!(
            "strace -f -qq -o {bin}/traced -e signal=none -e 'trace={traced}' {inject} \
             /usr/bin/git \"$@\""
        )
    };
    let strike = match fault {
        Fault::Late => "kill -9 $PPID; exec /usr/bin/git \"$@\"".to_owned(),
        Fault::Never => "kill -9 $PPID $(pgrep -P $PPID -x git)".to_owned(),
        Fault::After => "/usr/bin/git \"$@\"; kill -9 $PPID".to_owned(),
        Fault::Torn(at) => format!("{}; kill -9 $PPID", torn(at)),
        Fault::Alone(at) => format!("exec {}", torn(at)),
        Fault::Unborn => "kill -9 $$".to_owned(),
    };
    let is_meant = match call {
        Call::None => "false".to_owned(),
        Call::Number(number) => format!("[ $at = {number} ]"),
        // Once: the engine may try it again.
        Call::Merge => format!("[ ! -e {bin}/struck ] && echo \"$*\" | grep -q 'merge --ff-only'"),
    };
    format!(
        "#!/bin/sh\n\
         exec 9>>{bin}/count; flock 9; echo x >&9\n\
         at=$(wc -l < {bin}/count); exec 9>&-\n\
         if {is_meant}; then echo \"$*\" > {bin}/struck; {strike}; exit 1; fi\n\
         exec /usr/bin/git \"$@\"\n"
    )
}
