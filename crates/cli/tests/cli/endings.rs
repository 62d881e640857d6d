//! How `waypost run` ends: the exit code for every way, and what is left of the run.

use crate::{
    execute::{alive, begin, kill, one, status, wait_for, with},
    harness::{Project, RUN, Ran, USER_CONFIG},
};
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _};

/// A task that works until the file `go` is there.
const UNTIL_GO: &str = "touch begun; while ! test -e go; do sleep 0.02; done";

const TWO_PHASES: &str = "# Tasks: shop\n\n\
     ## Phase 1: One\n\n- [ ] T1.1: First\n  - run: `true`\n\n\
     ## Phase 2: Two\n\n- [ ] T2.1: Second\n  - run: `test -e good`\n";

/// Starts a run, waits for its task, and signals it.
fn signalled(project: &Project, signal: &str) -> Ran {
    let child = begin(project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(child.id(), signal);
    child.wait_with_output().unwrap().into()
}

#[test]
fn only_a_run_whose_tasks_are_all_completed_exits_with_0() {
    let project = with(TWO_PHASES);
    project.write("waypost.toml", "[run]\nretry_limit = 0\n");
    // No person is there to say that the next phase may begin.
    let ran = project.run("run --mode normal");
    assert_eq!(ran.code, 6, "{ran}");
    assert!(ran.stderr.contains("waits for a person"), "{ran}");
    assert_eq!(project.run("run status --wait").code, 6);
    // Phase 1 is all that was asked for, and it is completed.
    assert_eq!(project.run("run --resume --phase 1").code, 0);

    let project = with(TWO_PHASES);
    project.write("waypost.toml", "[run]\nretry_limit = 0\n");
    assert_eq!(project.run("run --phase 1").code, 0);
    assert_eq!(project.run("run status --wait").code, 6);
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(project.run("run status --wait").code, 1);
    // What has failed in another phase does not count for this one.
    assert_eq!(project.run("run --resume --phase 1").code, 0);
    project.write("good", "");
    project.must("run retry T2.1");
    assert_eq!(project.run("run --resume").code, 0);
    assert_eq!(project.run("run status --wait").code, 0);
}

#[test]
fn a_failure_is_told_however_the_run_ends() {
    let project = with(&format!(
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Breaks\n  - run: `exit 3`\n  - depends: none\n\
         - [ ] T1.2: Goes on\n  - run: `{UNTIL_GO}`\n  - depends: none\n"
    ));
    project.write("waypost.toml", "[run]\nretry_limit = 0\nstop_grace_seconds = 0\n");
    let child = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    wait_for("the failure", || status(&project, "T1.1") == "failed");
    kill(child.id(), "-TERM");
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(status(&project, "T1.2"), "ready");
}

/// SIGTERM comes once, from a program that will not wait: a supervisor, a shutdown.
#[test]
fn sigterm_stops_what_has_not_finished_when_the_grace_is_over() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        let project = one(UNTIL_GO);
        project.write("waypost.toml", "[run]\nstop_grace_seconds = 0\n");
        let ran = signalled(&project, signal);
        assert_eq!(ran.code, code, "{ran}");
        assert_eq!(status(&project, "T1.1"), "ready");
        wait_for("its end", || alive(&project.root.display().to_string()).is_empty());
    }
    let project = one(&format!("{UNTIL_GO}; touch finished"));
    let child = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(child.id(), "-TERM");
    project.write("go", "");
    let ran: Ran = child.wait_with_output().unwrap().into();
    // It had time enough to finish, and there was nothing else to do.
    assert_eq!(ran.code, 0, "{ran}");
    assert!(project.path("finished").exists());
}

#[test]
fn run_stop_has_the_same_grace_and_says_so() {
    let project = one(UNTIL_GO);
    project.write("waypost.toml", "[run]\nstop_grace_seconds = 0\n");
    let child = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    let stopped = project.must("run stop");
    assert!(stopped.stderr.contains("have 0 s to finish"), "{stopped}");
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 6, "{ran}");
    assert_eq!(status(&project, "T1.1"), "ready");
}

/// Everything is checked first: what is refused has changed nothing, and its advice works.
#[test]
fn a_refused_run_has_changed_nothing() {
    let agents = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only words\n";
    let project = with(agents);
    project.write(USER_CONFIG, "[agents.alice]\nadapter = \"claude\"\ncommand = [\"true\"]\n");
    let table = [
        ("run --agent alice --isolation none", 3, "no budget is set"),
        (
            "run --agent alice --isolation none --budget 5 --detach --phase 9",
            2,
            "its phases are 1 (One)",
        ),
        ("run --phase 9", 2, "there is no phase 9"),
        ("run --rehearse --phase 9", 2, "there is no phase 9"),
        ("run --agent nobody --no-budget --isolation none", 2, "there is no agent `nobody`"),
        (
            "run --agent codex --no-budget --isolation none",
            5,
            "its program `codex` is not installed",
        ),
        (
            "run --agent gemini --isolation none --no-budget --detach",
            5,
            "npm install -g @google/gemini-cli",
        ),
        ("run --mode normal --yes", 3, "reserved for a person"),
    ];
    for (line, code, told) in table {
        let ran = project.run(line);
        assert!(ran.code == code && ran.stderr.contains(told), "{line}\n{ran}");
        assert!(!project.journal().exists() && !project.path(RUN).exists(), "{line}\n{ran}");
    }

    // The same in a run that is there.
    let project = with(TWO_PHASES);
    project.write("waypost.toml", "[run]\nretry_limit = 0\n");
    project.must("run --phase 1");
    let (before, window) = (project.log().len(), project.read(RUN));
    project.replace("TASKS.md", "- run: `test -e good`", "- agent: codex");
    for (line, code) in [("run --resume", 5), ("run --resume --phase 7 --max-parallel 3", 2)] {
        let ran = project.run(line);
        assert_eq!(ran.code, code, "{line}\n{ran}");
        assert_eq!((project.log().len(), project.read(RUN)), (before, window.clone()), "{ran}");
    }
    // Only what is to be worked on needs its program.
    assert_eq!(project.run("run --resume --phase 1").code, 0);
}

#[test]
fn a_program_without_an_account_is_not_started() {
    let project = with("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only words\n");
    project.write("bin/claude", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(project.path("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", project.path("bin").display());
    let project = project.variable("PATH", &path);
    let ran = project.run("run --agent claude --isolation none --no-budget --retry-limit 0");
    assert!(ran.code == 5 && ran.stderr.contains("is not signed in on this machine"), "{ran}");
    assert!(!project.journal().exists(), "{ran}");
    // Anything that may lead to an account is enough: only the program itself knows.
    let ran = project
        .variable("ANTHROPIC_API_KEY", "k")
        .run("run --agent claude --isolation none --no-budget --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
}

/// Stands in for Claude Code: tells its version, and leaves a trace of every other start.
fn claude_of(version: &str) -> Project {
    let project = with("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only words\n");
    let script =
        format!("[ \"$1\" = --version ] && {{ {version}; exit; }}\ntouch ../started\nexit 1");
    project.program("claude", &script);
    project.variable("ANTHROPIC_API_KEY", "k")
}

const CLAUDE_RUN: &str = "run --agent claude --isolation none --no-budget --retry-limit 0";

#[test]
fn a_program_that_is_too_old_is_not_started() {
    let project = claude_of("echo '1.0.3 (Claude Code)'");
    for line in [CLAUDE_RUN, &format!("{CLAUDE_RUN} --detach")] {
        let ran = project.run(line);
        assert_eq!(ran.code, 5, "{ran}");
        let said = "its program `claude` is version 1.0.3; Waypost works with 2.1.";
        assert!(ran.stderr.contains(said) && ran.stderr.contains("@latest"), "{ran}");
    }
    assert!(!project.journal().exists() && !project.path(RUN).exists());
    assert!(!project.path("../started").exists());
    let listed = project.must("agents").stdout;
    assert!(listed.contains("too old: Waypost works with 2.1."), "{listed}");
}

#[test]
fn a_program_of_a_version_that_is_new_or_cannot_be_told_is_started() {
    let newer = claude_of("echo '99.0.0 (Claude Code)'");
    let ran = newer.run(CLAUDE_RUN);
    assert!(ran.code == 1 && newer.path("../started").exists(), "{ran}");
    assert!(!ran.stderr.contains("version"), "{ran}");
    for (version, said) in
        [("echo fine, thank you", "`fine, thank you`"), ("exec sleep 600", "nothing")]
    {
        let project = claude_of(version);
        let ran = project.run(CLAUDE_RUN);
        assert!(ran.code == 1 && project.path("../started").exists(), "{ran}");
        let told = format!(
            "warning: the version of `claude` cannot be told: `claude --version` says {said}"
        );
        assert!(ran.stderr.contains(&told), "{ran}");
    }
}

#[test]
fn a_misspelt_command_is_not_taken_for_a_file() {
    let project = with(TWO_PHASES);
    for (line, meant) in [
        ("run strat T1.1", "did you mean `waypost run start`?"),
        ("run strat", "did you mean `waypost run start`?"),
        ("run lgos T1.1 --follow", "did you mean `waypost run logs`?"),
        ("run stauts", "did you mean `waypost run status`?"),
        ("inbox anwser q1 yes", "answer"),
        ("develop gaet pass x", "gate"),
        ("develop checkpoint strat cp-1", "start"),
        ("agents chekc", "check"),
        ("worktree lits", "list"),
    ] {
        let ran = project.run(line);
        assert!(ran.code == 2 && ran.stderr.contains(meant), "{line}\n{ran}");
        assert!(!project.journal().exists(), "{line}\n{ran}");
    }
}

/// An engine that was killed has left its tasks to the keeper: no command says that it runs, and they
/// can be ended without it.
#[test]
fn what_a_killed_engine_left_is_told_and_ended() {
    let project = with(&format!(
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Goes on\n  - run: `{UNTIL_GO}`\n  - depends: none\n\
         - [ ] T1.2: Comes later\n  - run: `touch second`\n  - depends: T1.1\n"
    ));
    let mut engine = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    assert!(!project.must("run status").stdout.contains("its engine is gone"));
    kill(engine.id(), "-9");
    engine.wait().unwrap();
    for line in ["run status", "status"] {
        let told = project.must(line).stdout;
        assert!(told.contains("its engine is gone; `waypost run --resume`"), "{told}");
        assert!(told.contains("left T1.1") && !told.contains("running"), "{told}");
    }
    assert_eq!(project.json("run status")["engine_gone"], true);
    assert_eq!(project.json("status")["engine_gone"], true);
    assert!(project.must("doctor").stdout.contains("the run's engine is gone"));
    assert!(project.must("statusline").stdout.contains("engine gone"));
    assert!(project.must("why T1.1").stdout.contains("the run's engine is gone"));

    let stopped = project.must("run stop --now");
    assert!(stopped.stderr.contains("what it left is stopped"), "{stopped}");
    wait_for("its end", || alive(&project.root.display().to_string()).is_empty());
    assert_eq!(status(&project, "T1.1"), "ready");
    assert!(!project.path("second").exists());
    let starts = project.log().iter().filter(|it| it["kind"] == "task_started").count();
    assert_eq!(starts, 1, "nothing was started");
    assert_eq!(project.json("run status")["engine_gone"], false);
    assert_eq!(project.run("run stop").code, 3);
    project.write("go", "");
    project.must("run --resume");
    assert!(project.path("second").exists());
}

/// What finishes within the grace counts.
#[test]
fn what_a_killed_engine_left_may_finish() {
    let project = one(&format!("{UNTIL_GO}; touch finished"));
    let mut engine = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(engine.id(), "-9");
    engine.wait().unwrap();
    project.write("go", "");
    project.must("run stop");
    assert!(project.path("finished").exists());
    assert_eq!(status(&project, "T1.1"), "completed");
}

#[test]
fn failed_tasks_are_opened_again_together() {
    let mut tasks = "# Tasks: shop\n\n## Phase 1: One\n\n".to_owned();
    for number in 1..=15 {
        writeln!(tasks, "- [ ] T1.{number}: Breaks\n  - run: `test -e good`").unwrap();
    }
    tasks.push_str("\n## Phase 2: Two\n\n");
    tasks.push_str("- [ ] T2.1: Breaks\n  - run: `test -e good`\n  - depends: none\n");
    let project = with(&tasks);
    let ran = project.run("run --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stdout.contains("  and 6 more (`waypost run status --all`)"), "{ran}");
    assert!(ran.stderr.contains("`waypost run retry --failed`"), "{ran}");
    let told = |line: &str| project.must(line).stdout.matches("  failed T").count();
    assert_eq!((told("run status"), told("run status --all")), (10, 16));

    // All that are meant, or none.
    let before = project.log().len();
    assert_eq!(project.run("run retry T1.1 T9.9").code, 2);
    assert_eq!(project.run("run retry --phase 7").code, 2);
    assert_eq!(project.run("run retry").code, 2);
    assert_eq!(project.log().len(), before);

    let failed = || project.json("run status")["counts"]["failed"].clone();
    project.must("run retry T1.1 T1.2");
    assert_eq!(failed(), 14);
    project.must("run retry --phase 2");
    assert_eq!((failed(), status(&project, "T2.1")), (json!(13), "pending".to_owned()));
    // What was taken out on purpose stays out.
    project.must("run skip T1.3");
    let ran = project.must("run retry --failed");
    assert!(ran.stderr.contains("and 2 more"), "{ran}");
    assert_eq!(failed(), 1);
    assert_eq!(project.run("run retry --failed").code, 3);
    project.write("good", "");
    project.must("run retry T1.3");
    assert_eq!(project.run("run --resume").code, 0);
}

/// A program that watches the state file sees a failure while the run goes on.
#[test]
fn a_failure_is_in_the_window_before_the_run_ends() {
    let mut tasks = "# Tasks: shop\n\n## Phase 1: One\n\n".to_owned();
    writeln!(tasks, "- [ ] T1.1: Goes on\n  - run: `{UNTIL_GO}`").unwrap();
    writeln!(tasks, "- [ ] T1.2: Breaks\n  - run: `exit 3`").unwrap();
    for number in 3..=2_000 {
        writeln!(tasks, "- [ ] T1.{number}: Comes later\n  - run: `true`\n  - depends: T1.1")
            .unwrap();
    }
    let project = with(&tasks);
    let run = begin(&project, "run --retry-limit 0");
    wait_for("the failure", || {
        let window = fs::read_to_string(project.path(RUN)).unwrap_or_default();
        let window: Value = serde_json::from_str(&window).unwrap_or_default();
        window["tasks"]["failed"] == json!(["T1.2"])
    });
    assert!(!project.path("go").exists());
    project.must("run stop --now");
    drop(run.wait_with_output().unwrap());
}
