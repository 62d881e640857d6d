//! `waypost session run`, killed at its calls of git and while tests run: it comes to the same end as one that was
//! never killed.
//!
//! In place of git stands a script that counts. The ordinary run takes a few calls; `WAYPOST_FAULTS=full` takes each.

use super::{
    running::{contracts, is_complete, keepers, test_runs, with_agents},
    *,
};
use crate::execute::{begin, kill, wait_for};
use std::{collections::BTreeMap, env, fs, os::unix::fs::PermissionsExt as _};

/// How the process goes at the call that is meant.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Git does its work after it.
    Late,
    /// Git does nothing any more.
    Never,
    /// Git has done its work.
    After,
}

const FAULTS: [Fault; 3] = [Fault::Late, Fault::Never, Fault::After];

/// How many calls the ordinary run takes of each fault.
const SAMPLE: usize = 2;

/// Puts the script in place of git; call 0 is none.
fn replace_git(project: &Project, call: usize, fault: Fault) {
    let folder = project.base().join("programs");
    fs::create_dir_all(&folder).unwrap();
    let base = project.base();
    let count = base.join("count").display().to_string();
    let strike = match fault {
        Fault::Late => "kill -9 $PPID; exec /usr/bin/git \"$@\"",
        Fault::Never => "kill -9 $PPID; exit 1",
        Fault::After => "/usr/bin/git \"$@\"; kill -9 $PPID; exit 1",
    };
    // Only those of the process itself: agents and their hooks call git, too.
    let script = format!(
        "#!/bin/sh\n\
         if ! tr '\\0' ' ' < /proc/$PPID/cmdline | grep -q 'waypost session run'; then exec /usr/bin/git \"$@\"; fi\n\
         exec 9>>{count}; flock 9; echo \"$*\" >&9; at=$(wc -l < {count}); exec 9>&-\n\
         if [ $at = {call} ]; then {strike}; fi\n\
         exec /usr/bin/git \"$@\"\n"
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The contracts by name, without the times in them.
pub(super) fn texts(project: &Project) -> BTreeMap<String, String> {
    let home = folder(project);
    let named = contracts(project).into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let is_time = |word: &&str| word.contains("T") && word.trim_matches('"').ends_with('Z');
        let text: Vec<&str> = text.split_whitespace().filter(|it| !is_time(it)).collect();
        (path.strip_prefix(&home).unwrap().display().to_string(), text.join(" "))
    });
    named.collect()
}

/// Ends as one that was not killed.
#[track_caller]
fn ends_as(project: &Project, whole: &BTreeMap<String, String>, what: &str) {
    let ran = project.run("session run");
    assert_eq!(ran.code, 0, "{what}: {ran}");
    is_complete(project);
    assert_eq!(&texts(project), whole, "{what}");
    for kind in ["set_apart", "task_placed", "task_joined", "request_landed", "trees_closed"] {
        assert_eq!(events(project, kind).len(), 1, "{what}: {kind}");
    }
    assert!(keepers(project).is_empty(), "{what}");
}

#[test]
fn faults_session_killed_at_calls_of_git() {
    let whole = with_agents(|_, _| {});
    replace_git(&whole, 0, Fault::After);
    whole.must("session run");
    is_complete(&whole);
    let calls = fs::read_to_string(whole.base().join("count")).unwrap().lines().count();
    assert!(calls > 20, "{calls}");
    let whole = texts(&whole);
    let is_full = env::var("WAYPOST_FAULTS").as_deref() == Ok("full");
    let seed: usize =
        env::var("WAYPOST_FAULTS_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let taken: Vec<usize> = match is_full {
            true => (1..=calls).collect(),
            // Spread over all of them, others of each fault.
            false => (0..SAMPLE)
                .map(|at| 1 + (seed * 7 + number * 5 + at * calls / SAMPLE + calls / 4) % calls)
                .collect(),
        };
        for call in taken {
            let project = with_agents(|_, _| {});
            replace_git(&project, call, fault);
            let killed = project.run("session run");
            let count = fs::read_to_string(project.base().join("count")).unwrap();
            let struck = count.lines().nth(call - 1).unwrap_or("none").to_owned();
            let what = format!("{fault:?} at call {call} of {calls}, git {struck}: {killed}");
            fs::remove_file(project.base().join("programs/git")).unwrap();
            ends_as(&project, &whole, &what);
        }
    }
}

#[test]
fn killed_while_the_tests_of_a_gate_run_it_judges_once() {
    let slow = |project: &Project| {
        let all = project.read("tests/all.sh");
        let waits = "[ -e ../../../go ] || { echo $$ > ../../../at-gate; sleep 600; }\n";
        project.write("tests/all.sh", &format!("{waits}{all}"));
        project.git_command("commit -q -am slow");
    };
    let whole = with_agents(|project, _| slow(project));
    fs::write(whole.base().join("go"), "").unwrap();
    whole.must("session run");
    assert_eq!(test_runs(&whole), 1);
    let whole = texts(&whole);
    let project = with_agents(|project, _| slow(project));
    let mut child = begin(&project, "session run");
    let at_gate = project.base().join("at-gate");
    wait_for("the tests", || fs::read_to_string(&at_gate).is_ok_and(|it| it.ends_with('\n')));
    let tests: u32 = fs::read_to_string(&at_gate).unwrap().trim().parse().unwrap();
    kill(child.id(), "-KILL");
    child.wait().unwrap();
    fs::write(project.base().join("go"), "").unwrap();
    ends_as(&project, &whole, "at GATE-2");
    assert_eq!(test_runs(&project), 1, "of the tests that were killed nothing was counted");
    let is_there = || std::path::Path::new(&format!("/proc/{tests}")).exists();
    wait_for("the end of the tests that were left", || !is_there());
}

/// Tests that do this once there is something to test do not end in time, and nothing of them is left.
#[track_caller]
fn is_ended(hang: &str) {
    let project = in_verification(|project| {
        let limit = "[session]\ntest_command = \"sh tests/all.sh\"\ntest_timeout_seconds = 5\n";
        project.write("waypost.toml", limit);
        hang.replace("PID", &project.base().join("left").display().to_string())
    });
    let pid = project.base().join("left");
    write_result(&project, "T1-S1", "fail", Some("implementation_error"));
    let ran = project.run("session gate check");
    assert!(ran.stdout.contains("did not end within 5 seconds"), "{ran}");
    let left: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{left}")).exists(), "{left} is left");
}

#[test]
fn tests_that_hang_are_ended_with_what_has_left_their_session() {
    // The second of them ignores what it is asked, and no parent of it is alive.
    is_ended(
        "trap '' TERM\n(setsid sh -c 'trap \"\" TERM; echo $$ > PID; exec sleep 600' &)\nsleep 600\n",
    );
}

#[test]
fn tests_that_end_and_leave_one_that_holds_their_output_are_ended_with_it() {
    is_ended(
        "setsid sh -c 'echo $$ > PID; exec sleep 600' &\nwhile ! test -s PID; do :; done; exit 0\n",
    );
}

#[test]
fn tests_that_close_their_output_and_go_on_are_ended() {
    is_ended("echo $$ > PID; exec >/dev/null 2>&1; sleep 600; exit 0\n");
}
