//! Runs in the background: `run --detach`, `run status --wait`, `run stop`.

use crate::{
    agents,
    execute::{alive, begin, kill, one, status, wait_for, with},
    harness::{BINARY, Project, Ran},
    other::Holder,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
};

/// Lets a run go on in the background; its process.
#[track_caller]
fn detach(project: &Project, line: &str) -> u32 {
    let told = project.json(line);
    assert_eq!(told["event"], "detached", "{told}");
    u32::try_from(told["pid"].as_u64().unwrap()).unwrap()
}

/// A task that works until the file `go` is there.
const UNTIL_GO: &str = "touch begun; while ! test -e go; do sleep 0.02; done; touch finished";

pub(crate) fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Its parent may be slow to wait for it.
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn a_run_goes_on_in_the_background_and_can_be_watched() {
    let project = one(UNTIL_GO);
    let ran = project.must("run --detach");
    assert!(ran.stderr.contains("the run goes on in the background, as process "), "{ran}");
    assert!(ran.stderr.contains("`waypost run status --wait`"), "{ran}");
    assert!(ran.stderr.contains("`waypost run stop`"), "{ran}");
    let watcher = begin(&project, "run status --wait");
    wait_for("the task", || project.path("begun").exists());
    project.write("go", "");
    let watched: Ran = watcher.wait_with_output().unwrap().into();
    assert_eq!(watched.code, 0, "{watched}");
    assert!(watched.stdout.contains("1/1"), "{watched}");
    assert!(project.path("finished").exists());
    let log = fs::read_to_string(project.journal().join("run.log")).unwrap();
    assert!(log.contains("T1.1 completed"), "{log}");
    // There is nothing more to wait for.
    assert_eq!(project.must("run status --wait").stdout, watched.stdout);
}

#[test]
fn what_is_over_is_told_and_does_not_go_on_in_the_background() {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n  - run: `true`\n\n\
         ## Phase 2: Two\n\n- [ ] T2.1: Second\n  - run: `exit 3`\n",
    );
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    let ran = project.run("run --detach");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(!ran.stderr.contains("in the background"), "{ran}");
    assert!(ran.stdout.contains("T2.1") && ran.stderr.contains("`waypost run logs T2.1`"), "{ran}");
    let ran = project.run("run --detach --json");
    assert_eq!(ran.code, 1, "{ran}");
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["event"], &last["run"]["failed"][0]["id"]),
        (&json!("ended"), &json!("T2.1"))
    );
    // One phase that is over is told as well.
    let ran = project.run("run --detach --phase 1");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stderr.contains("in the background"), "{ran}");
    // What can be worked on goes on.
    project.must("run retry T2.1");
    let ran = project.must("run --detach --resume");
    assert!(ran.stderr.contains("the run goes on in the background"), "{ran}");
    assert_eq!(project.run("run status --wait").code, 1);
    let done = one("true");
    assert_eq!(done.run("run").code, 0);
    let ran = done.must("run --detach");
    assert!(ran.stderr.contains("nothing in TASKS.md is new"), "{ran}");
}

#[test]
fn only_the_watching_ends_by_a_signal() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let project = one(UNTIL_GO);
        let pid = detach(&project, "run --detach");
        let mut watcher = begin(&project, "--json run status --wait");
        let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("watching"));
        wait_for("the task", || project.path("begun").exists());
        kill(watcher.id(), signal);
        let watched: Ran = watcher.wait_with_output().unwrap().into();
        assert_eq!(watched.code, code, "{watched}");
        assert!(
            watched.stderr.contains("the run goes on; `waypost run status --wait`"),
            "{watched}"
        );
        assert!(!has_ended(pid), "{watched}");
        project.write("go", "");
        assert_eq!(project.run("run status --wait").code, 0);
    }
}

#[test]
fn one_phase_can_be_watched() {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n  - run: `true`\n\n\
         ## Phase 2: Two\n\n\
         - [ ] T2.1: Second\n  - run: `while ! test -e go; do sleep 0.02; done; exit 3`\n",
    );
    let pid = detach(&project, "run --detach --retry-limit 0");
    let ran = project.run("run status --wait --phase 1");
    assert_eq!(ran.code, 0, "it is done, and the run is not: {ran}");
    assert!(!has_ended(pid), "{ran}");
    let unknown = project.run("run status --wait --phase 7");
    assert!(
        unknown.code == 2 && unknown.stderr.contains("its phases are 1 (One), 2 (Two)"),
        "{unknown}"
    );
    project.write("go", "");
    assert_eq!(project.run("run status --wait --phase 2").code, 1);
    assert_eq!(project.run("run status --wait --phase 1").code, 0);
    assert_eq!(project.run("run status --wait").code, 1);
}

#[test]
fn what_happens_is_told_to_whoever_watches() {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: First\n  - run: `while ! test -e go; do sleep 0.02; done; exit 3`\n\
         - [ ] T1.2: Second\n  - run: `true`\n  - depends: T1.1\n",
    );
    let pid = detach(&project, "run --detach --retry-limit 0");
    assert!(!has_ended(pid));
    let mut watcher = begin(&project, "--json run status --wait");
    let lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let first = events.next().unwrap();
    assert_eq!((&first["event"], &first["run"]["over"]), (&json!("watching"), &json!(false)));
    project.write("go", "");
    let events: Vec<Value> = events.collect();
    let (last, before) = events.split_last().unwrap();
    let log = project.log();
    let entry = log.iter().find(|entry| entry["kind"] == "task_failed").unwrap();
    let failed = json!({
        "v": 1, "type": "run_event", "event": "failed", "id": "T1.1", "reason": "exit code 3",
        "cursor": entry["cursor"],
    });
    assert!(before.contains(&failed), "{before:?}");
    assert_eq!((&last["event"], &last["run"]["over"]), (&json!("ended"), &json!(true)));
    assert_eq!(watcher.wait().unwrap().code(), Some(1));
    wait_for("its end", || has_ended(pid));
}

#[test]
fn it_outlives_the_conversation_that_started_it() {
    let project = one(UNTIL_GO);
    let mut shell = project.command("sh", &project.root);
    shell.args(["-c", &format!("{BINARY} --json run --detach > told; sleep 60")]);
    // Below an attempt of some other run, in a session that is killed as a whole.
    shell.env("WAYPOST_KEEPER", "k-1").env("WAYPOST_FENCE", "/elsewhere/T9");
    shell.env("WAYPOST_TASK", "T9").env("WAYPOST_ATTEMPT", "4");
    let mut shell = shell.spawn().unwrap();
    wait_for("the run", || {
        fs::read_to_string(project.path("told")).is_ok_and(|it| it.ends_with('\n'))
    });
    let told: Value = serde_json::from_str(&project.read("told")).unwrap();
    let pid = u32::try_from(told["pid"].as_u64().unwrap()).unwrap();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains("WAYPOST_"), "{environment}");
    let group = project
        .command("kill", &project.root)
        .args(["-9", "--", &format!("-{}", shell.id())])
        .status();
    assert!(group.unwrap().success());
    shell.wait().unwrap();
    project.write("go", "");
    assert_eq!(project.run("run status --wait").code, 0);
    assert_eq!(status(&project, "T1.1"), "completed");
}

#[test]
fn what_keeps_it_from_beginning_is_said_in_the_foreground() {
    let none = Project::git().run("run --detach");
    assert_eq!(none.code, 2, "{none}");
    assert!(none.stderr.contains("TASKS_NOT_FOUND"), "{none}");

    let project = one("true");
    project.must("run next");
    project.must("init --no-agents");
    fs::write(project.journal().join("keepers"), "a file where a folder has to be").unwrap();
    let foreground = project.run("run");
    let background = project.run("run --detach --resume");
    assert_eq!(foreground.code, 5, "{foreground}");
    assert_eq!((background.code, background.stderr), (5, foreground.stderr));

    let normal = one("true").run("run --detach --yes --mode normal");
    assert_eq!(normal.code, 2, "{normal}");
}

#[test]
fn a_run_that_is_over_at_once_says_so() {
    let project = one("true");
    project.must("run");
    let again = project.run("run --detach");
    assert_eq!(again.code, 0, "{again}");
    let failing = one("exit 1");
    assert_eq!(failing.run("run --retry-limit 0").code, 1);
    assert_eq!(failing.run("run status --wait").code, 1, "it exits as the run did");
}

#[test]
fn a_second_run_changes_nothing_and_is_told_who_runs() {
    let project = one(UNTIL_GO);
    let pid = detach(&project, "run --detach");
    wait_for("the task", || project.path("begun").exists());
    let before = project.log().len();
    for line in ["run --resume --max-parallel 7", "run --detach --resume --max-parallel 7"] {
        let second = project.run(line);
        assert_eq!(second.code, 4, "{line}\n{second}");
        assert!(second.stderr.contains("already running, since 20"), "{second}");
        for told in [&format!("as process {pid}"), "waypost run status --wait", "waypost run stop"]
        {
            assert!(second.stderr.contains(told), "{told}: {second}");
        }
    }
    assert_eq!(project.log().len(), before, "its settings are not taken either");
    let log = fs::read_to_string(project.journal().join("run.log")).unwrap();
    assert!(log.contains("the run is at work") || log.contains("\"working\""), "{log}");
    project.must("run stop --now");
}

#[test]
fn stop_lets_running_tasks_finish() {
    let project = with(&format!(
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Runs\n  - run: `{UNTIL_GO}`\n\
         - [ ] T1.2: Comes after\n  - run: `touch second`\n  - depends: T1.1\n",
    ));
    let pid = detach(&project, "run --detach");
    wait_for("the task", || project.path("begun").exists());
    let stopper = begin(&project, "run stop");
    let log = project.journal().join("run.log");
    wait_for("the wish", || fs::read_to_string(&log).unwrap().contains("no new tasks"));
    assert!(!has_ended(pid), "it waits for the task");
    project.write("go", "");
    let stopped: Ran = stopper.wait_with_output().unwrap().into();
    assert_eq!(stopped.code, 0, "{stopped}");
    assert!(project.path("finished").exists() && !project.path("second").exists());
    let ended = project.run("run stop");
    assert_eq!(ended.code, 3, "{ended}");
    assert!(ended.stderr.contains("no run is at work"), "{ended}");
    project.must("run --resume");
    assert!(project.path("second").exists());
}

#[test]
fn stop_now_stops_running_tasks_which_are_ready_again() {
    let project = one(UNTIL_GO);
    let pid = detach(&project, "run --detach");
    wait_for("the task", || project.path("begun").exists());
    let watcher = begin(&project, "run status --wait");
    assert_eq!(
        project.json("run stop --now"),
        json!({ "v": 1, "type": "run_stop", "event": "stopped", "pid": pid })
    );
    assert_eq!(status(&project, "T1.1"), "ready");
    wait_for("the end of everything", || alive(&project.root.display().to_string()).is_empty());
    let watched: Ran = watcher.wait_with_output().unwrap().into();
    assert!(
        watched.code == 6 && watched.stderr.contains("no process works on the run"),
        "{watched}"
    );
    assert!(!project.path("finished").exists());
}

#[test]
fn a_run_in_the_foreground_is_stopped_and_watched_as_well() {
    let project = one(UNTIL_GO);
    let first = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    project.must("run stop --now");
    let ran: Ran = first.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 6, "{ran}");
    assert_eq!(status(&project, "T1.1"), "ready");
}

#[test]
fn an_engine_that_dies_is_not_waited_for() {
    let project = one(UNTIL_GO);
    let pid = detach(&project, "run --detach");
    wait_for("the task", || project.path("begun").exists());
    let watcher = begin(&project, "run status --wait");
    kill(pid, "-9");
    let watched: Ran = watcher.wait_with_output().unwrap().into();
    assert_eq!(watched.code, 6, "{watched}");
    assert!(watched.stderr.contains("its engine is gone; `waypost run --resume`"), "{watched}");
    detach(&project, "run --detach --resume");
    project.write("go", "");
    assert_eq!(project.run("run status --wait").code, 0);
}

#[test]
fn a_watcher_is_told_by_the_host_what_no_journal_has() {
    let wait = json!({"run": "while ! test -e go; do sleep 0.02; done"});
    let write = json!({"write": {"file": "a.txt", "text": "x"}});
    let project = agents::one(&[json!([wait, write, {"done": "did it"}])]);
    let pid = detach(&project, "run --detach --no-budget");
    let mut watcher = begin(&project, "--verbose run status --wait");
    let mut said = BufReader::new(watcher.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.starts_with("T1.1 alice: ") && line.contains("test -e go")));
    project.write("go", "");
    assert_eq!(watcher.wait().unwrap().code(), Some(0));
    wait_for("its end", || has_ended(pid));
}

#[test]
fn without_an_answer_from_the_host_the_journal_is_watched() {
    let project = one(UNTIL_GO);
    let pid = detach(&project, "run --detach");
    wait_for("the task", || project.path("begun").exists());
    fs::remove_file(project.journal().join("engine.sock")).unwrap();
    let mut watcher = begin(&project, "--json run status --wait");
    let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("watching"));
    project.write("go", "");
    assert!(lines.any(|line| line.contains("\"completed\"") && line.contains("T1.1")));
    assert_eq!(watcher.wait().unwrap().code(), Some(0));
    wait_for("its end", || has_ended(pid));
}

#[test]
fn a_run_that_waits_for_a_person_is_not_waited_for() {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Is short\n  - run: `true`\n\n\
         ## Phase 2: Two\n\n- [ ] T2.1: Comes after\n  - run: `touch second`\n",
    );
    let ran = project.run("run --detach --mode normal");
    // It may be at the question before a watcher is told that it works.
    assert!([0, 6].contains(&ran.code), "{ran}");
    let watched = project.run("run status --wait");
    assert_eq!(watched.code, 6, "{watched}");
    assert!(watched.stderr.contains("phase 1 is done; the run waits for a person"), "{watched}");
    assert!(!project.path("second").exists());
}

#[test]
fn an_attempt_that_stops_its_own_run_does_not_wait_for_itself() {
    let project = one(&format!("{BINARY} run stop && touch stopped"));
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(project.path("stopped").exists());
}

#[test]
fn no_process_is_signalled_by_its_number_alone() {
    let project = Project::running();
    let Some(engine) = Holder::of_engine_lock(&project) else { return };
    let mut bystander = project.command("sleep", &project.root).arg("60").spawn().unwrap();
    let owner = json!({
        "pid": bystander.id(), "started": 1, "boot_id": "b", "runs": "run",
        "since": "2026-02-16T10:00:00Z",
    });
    fs::write(project.journal().join("engine.lock"), owner.to_string()).unwrap();
    let ran = project.run("run stop --now");
    engine.end();
    assert_eq!(ran.code, 5, "{ran}");
    assert!(bystander.try_wait().unwrap().is_none(), "{ran}");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}
