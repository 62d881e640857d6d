//! `waypost run`: the tasks of TASKS.md really run.

use crate::harness::{BINARY, Project, Ran};
use serde_json::json;
use std::{
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

/// Two phases; each task writes its own name into `done.txt`.
const TASKS: &str = "\
# Tasks: shop

## Phase 1: Ground

- [ ] T1.1: Lay the ground
  - run: `echo T1.1 >> done.txt`
- [ ] T1.2: Choose the tools
  - run: `echo T1.2 >> done.txt`
  - depends: T1.1
  - verify: `grep -q T1.2 done.txt`

## Phase 2: Cart

- [ ] T2.1: Put things into the cart
  - run: `echo T2.1 >> done.txt; echo said by T2.1`
";

pub(crate) fn with(tasks: &str) -> Project {
    let project = Project::git();
    project.write("TASKS.md", tasks);
    project
}

/// A task in a file of its own phase.
pub(crate) fn one(command: &str) -> Project {
    with(&format!("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only\n  - run: `{command}`\n"))
}

pub(crate) fn status(project: &Project, id: &str) -> String {
    let why = project.json(&format!("why {id}"));
    why["status"].as_str().unwrap().to_owned()
}

/// Starts a run and leaves it running.
pub(crate) fn begin(project: &Project, line: &str) -> Child {
    let mut command = project.command(BINARY, &project.root);
    command.args(crate::harness::words(line)).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(crate) fn wait_for(what: &str, is_there: impl FnMut() -> bool) {
    assert!(comes_within(30, is_there), "waited in vain for {what}");
}

/// Whether something comes to be within so many seconds.
pub(crate) fn comes_within(seconds: u32, mut is_there: impl FnMut() -> bool) -> bool {
    (0..seconds * 20).any(|look| {
        if look > 0 {
            thread::sleep(Duration::from_millis(50));
        }
        is_there()
    })
}

/// The processes that carry `mark` in their command line.
pub(crate) fn alive(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    })
    .collect()
}

/// The keepers of a project.
pub(crate) fn keepers(project: &Project) -> Vec<u32> {
    alive(&format!("{}/.git/waypost/keepers", project.root.display()))
}

pub(crate) fn kill(pid: u32, signal: &str) {
    let project = Project::plain();
    let ran = project.command("kill", &project.root).args([signal, &pid.to_string()]).output();
    assert!(ran.unwrap().status.success());
}

/// Kills all of them; behind a wall some go with others.
pub(crate) fn kill_all(pids: Vec<u32>) {
    let project = Project::plain();
    for pid in pids {
        let mut command = project.command("kill", &project.root);
        command.args(["-KILL", &pid.to_string()]).output().unwrap();
    }
}

#[test]
fn what_is_not_taken_up_is_said_with_its_line() {
    let project = with(
        "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: Build
  - run: `true`
- [-] T1.2: Test

| task | what |
|---|---|
| T1.3 | Tell |
",
    );
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    for text in [
        "7: T1.2 stands behind `[-]`, which is no box that is known; it will not be run",
        "11: T1.3 stands in a table; it will not be run",
    ] {
        assert!(ran.stderr.contains(text), "wanted `{text}` in {ran}");
    }
    assert_eq!(project.json("run status")["counts"]["completed"], 1);
}

#[test]
fn all_phases_are_worked_through() {
    let project = with(TASKS);
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT2.1\n");
    insta::assert_snapshot!("worked_through", project.tell("run", &ran));
    assert_eq!(project.must("run logs T2.1").stdout, "said by T2.1\n");
    let log = project.log();
    let completed: Vec<_> = log
        .iter()
        .filter(|entry| entry["kind"] == "task_completed")
        .map(|entry| (entry["body"]["id"].clone(), entry["body"]["evidence"]["kind"].clone()))
        .collect();
    let want = [("T1.1", "unverified"), ("T1.2", "check"), ("T2.1", "unverified")];
    assert_eq!(completed, want.map(|(id, kind)| (json!(id), json!(kind))));
    // Nothing is done twice.
    assert_eq!(project.run("run --resume").code, 0);
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT2.1\n");
}

#[test]
fn a_failure_blocks_what_depends_on_it_and_nothing_else() {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Breaks\n  - run: `echo no such luck; exit 3`\n\
         - [ ] T1.2: Waits for it\n  - run: `echo T1.2 >> done.txt`\n  - depends: T1.1\n\
         - [ ] T1.3: Does not\n  - run: `echo T1.3 >> done.txt`\n  - depends: none\n",
    );
    let ran = project.run("run --retry-limit 0 --max-parallel 1");
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.3\n");
    assert!(ran.stderr.contains("waypost run retry T1.1"), "{ran}");
    let told = project.transcript(&["why T1.1", "why T1.2", "why T1.3"]);
    insta::assert_snapshot!("why", told);
}

#[test]
fn what_failed_is_tried_again() {
    let project = one("test -e tried || { touch tried; exit 1; }");
    let ran = project.run("run --retry-limit 1");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr.contains("T1.1 is tried again in ") && ran.stderr.contains(": exit code 1"),
        "{ran}"
    );
    assert_eq!(project.json("run status")["counts"]["completed"], 1);
}

#[test]
fn success_is_not_the_exit_code_alone() {
    let table = [
        ("echo FAIL:T1.1:no disk", "no disk"),
        ("true`\n  - verify: `false", "`false` did not pass"),
        ("kill -9 $$", "ended by signal 9"),
        ("sleep 60`\n  - timeout: `1", "it timed out"),
    ];
    for (command, reason) in table {
        let project = one(command);
        let ran = project.run("run --retry-limit 0");
        assert_eq!(ran.code, 1, "{command}: {ran}");
        assert!(ran.stderr.contains(reason), "{command}: {ran}");
    }
    let nothing = with("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only words\n");
    let ran = nothing.run("run");
    assert!(ran.code == 1 && ran.stderr.contains("neither a command nor an agent"), "{ran}");
}

#[test]
fn only_so_many_run_at_once() {
    let mut tasks = String::from("# Tasks: shop\n\n## Phase 1: One\n\n");
    for number in 1..=6 {
        writeln!(tasks, "- [ ] T1.{number}: Alone\n  - depends: none").unwrap();
        writeln!(tasks, "  - run: `mkdir lock && sleep 0.05 && rmdir lock`").unwrap();
    }
    let project = with(&tasks);
    let ran = project.run("run --max-parallel 1 --retry-limit 0");
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn tasks_get_no_secrets_and_know_who_they_are() {
    let project = one("env > env.txt").variable("AWS_SECRET_ACCESS_KEY", "s3cret");
    project.must("run");
    let environment = project.read("env.txt");
    assert!(!environment.contains("s3cret"), "{environment}");
    for line in ["WAYPOST_TASK=T1.1\n", "WAYPOST_ATTEMPT=1\n", "PATH="] {
        assert!(environment.contains(line), "{line}: {environment}");
    }
    let wanted = one("env > env.txt").variable("DEPLOY_TARGET", "staging");
    wanted.write("waypost.toml", "[run]\nenvironment = [\"DEPLOY_TARGET\"]\n");
    wanted.must("run");
    assert!(wanted.read("env.txt").contains("DEPLOY_TARGET=staging\n"));
}

#[test]
fn a_second_run_is_told_who_runs_the_first() {
    let project = one("touch begun; sleep 30");
    let mut first = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    let second = project.run("run --resume");
    assert_eq!(second.code, 4, "{second}");
    assert_eq!(status(&project, "T1.1"), "in_progress");
    kill(first.id(), "-INT");
    // Two that come before the first is heard would count as one.
    let said = BufReader::new(first.stderr.take().unwrap());
    let mut said = said.lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("no new tasks are started")));
    kill(first.id(), "-INT");
    assert!(said.any(|line| line.contains("running tasks are stopped")));
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert_eq!(status(&project, "T1.1"), "ready", "stopped, and waits again");
    assert!(alive(&project.root.display().to_string()).is_empty());
}

#[test]
fn one_interrupt_lets_running_tasks_finish() {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Runs\n  - run: `touch begun; sleep 1; touch finished`\n\
         - [ ] T1.2: Comes after\n  - run: `touch second`\n  - depends: T1.1\n",
    );
    let child = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(child.id(), "-INT");
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 130, "{ran}");
    assert!(project.path("finished").exists() && !project.path("second").exists(), "{ran}");
    assert_eq!(project.run("run").code, 3, "it wants to be told to go on");
    project.must("run --resume");
    assert!(project.path("second").exists());
}

#[test]
fn an_engine_that_dies_leaves_its_tasks_running_and_the_next_takes_them_up() {
    let project = one("echo begun >> begun; sleep 2; echo finished >> finished");
    let mut engine = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(engine.id(), "-9");
    engine.wait().unwrap();
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(
        (project.read("begun"), project.read("finished")),
        ("begun\n".into(), "finished\n".into())
    );
    assert_eq!(status(&project, "T1.1"), "completed");
}

#[test]
fn what_ended_while_nobody_listened_is_not_done_again() {
    let project = one("echo begun >> begun; sleep 1; echo finished >> finished");
    let mut engine = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(engine.id(), "-9");
    engine.wait().unwrap();
    wait_for("its end", || project.path("finished").exists());
    // With nothing left to keep and no engine there, the keeper leaves.
    wait_for("the keeper's end", || keepers(&project).is_empty());
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("begun"), "begun\n");
}

#[test]
fn nothing_is_left_of_a_keeper_that_dies_too() {
    let mark = "sleep 31.4159";
    let project = one(&format!("echo begun >> begun; {mark} & setsid {mark} & wait"));
    let mut engine = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(engine.id(), "-9");
    engine.wait().unwrap();
    keepers(&project).into_iter().for_each(|keeper| kill(keeper, "-9"));
    project.replace("TASKS.md", &format!("{mark} & setsid {mark} & wait"), "true");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("begun"), "begun\nbegun\n", "it was interrupted and begun again");
    wait_for("the end of what was left", || alive("31.4159").is_empty());
}

#[test]
fn an_engine_goes_on_when_its_keeper_dies() {
    let project = one("echo begun >> begun; test -e again || { touch again; sleep 30; }");
    let engine = begin(&project, "run");
    wait_for("the task", || project.path("again").exists());
    keepers(&project).into_iter().for_each(|keeper| kill(keeper, "-9"));
    let ran: Ran = engine.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("the keeper has died"), "{ran}");
    assert_eq!(project.read("begun"), "begun\nbegun\n");
    let skipped = with(TASKS).run("run --phase 2");
    assert_eq!(skipped.code, 3, "{skipped}");
}

#[test]
fn a_plan_is_shown_before_it_is_run() {
    let project = with(TASKS);
    for format in ["table", "mermaid", "dot", "svg", "json"] {
        let told = project.must(&format!("run --dry-run --format {format}")).stdout;
        insta::assert_snapshot!(format!("plan_{format}"), told);
    }
    assert!(!project.path("done.txt").exists());
    assert!(!project.journal().exists(), "nothing was done");
}

#[test]
fn differences_between_tasks_md_and_the_state_are_told() {
    let project = with(TASKS);
    project.must("run --phase 1");
    project.replace("TASKS.md", "- [ ] T2.1: Put", "- [x] T2.1: Put");
    project.replace("TASKS.md", "- [x] T1.1: Lay", "- [ ] T1.9: Lay");
    project.replace("TASKS.md", "- [x] T1.2: Choose", "- [ ] T1.2: Choose");
    project.replace("TASKS.md", "depends: T1.1", "depends: T1.9");
    let ran = project.run("run --verify");
    assert_eq!(ran.code, 1, "{ran}");
    insta::assert_snapshot!(ran.stdout);
    assert_eq!(project.run("run stats").code, 2);
}

#[test]
fn boxes_are_ticked_in_the_file_when_a_phase_ends() {
    let project = with(TASKS);
    let text = format!("\u{feff}{}\r\n<!-- mine -->  \r\n", TASKS.replace('\n', "\r\n"));
    project.write("TASKS.md", &text);
    let ran = project.run("run --mode ultra-thin");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("TASKS.md"), text.replace("- [ ]", "- [x]"), "every other byte stays");
    let verified = project.run("run --verify");
    assert_eq!(verified.code, 0, "{verified}");
    assert_eq!(project.run("run --resume").code, 0);
    assert_eq!(project.read("done.txt").lines().count(), 3, "nothing is done again");
}

#[test]
fn boxes_of_what_failed_and_of_phases_that_go_on_stay_empty() {
    let tasks = TASKS.replace("echo T2.1 >> done.txt; echo said by T2.1", "exit 1");
    let project = with(&tasks);
    let ran = project.run("run --mode ultra-thin --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    let text = project.read("TASKS.md");
    assert!(text.contains("- [x] T1.1") && text.contains("- [x] T1.2"), "{text}");
    assert!(text.contains("- [ ] T2.1"), "{text}");
}

#[test]
fn a_file_of_tasks_that_is_being_edited_is_not_ticked_and_that_is_said() {
    // The task plays the person who edits, saved or not.
    let table = ["sed -i 's/Choose/Select/' TASKS.md", "touch .TASKS.md.swp"];
    for edit in table {
        let tasks = TASKS.replace("echo T1.1 >> done.txt", edit).replace("grep -q T1.2", "true");
        let project = with(&tasks);
        let ran = project.run("run --mode ultra-thin --phase 1");
        assert!(ran.stderr.contains("TASKS.md is being edited"), "{edit}: {ran}");
        let edited = tasks.replace("Choose", "Select");
        let want = if edit.starts_with("sed") { edited } else { tasks };
        assert_eq!(project.read("TASKS.md"), want);
    }
}

#[test]
fn tasks_done_by_hand_are_ticked_when_their_phase_ends() {
    let project = Project::with_tasks();
    for line in ["run start T0.1", "run done T0.1", "run start T0.2"] {
        project.must(line);
    }
    assert!(!project.read("TASKS.md").contains("[x]"), "the phase goes on");
    project.must("run done T0.2");
    let text = project.read("TASKS.md");
    assert!(text.contains("- [x] T0.1") && text.contains("- [x] T0.2"), "{text}");
    assert!(text.contains("- [ ] T1.1"), "{text}");
}

#[test]
fn labels_that_are_no_fields_are_said_by_every_command_that_reads_them() {
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only\n  - cmd: `make`\n  \
                 - Verification: `make test`\n  - run: `true`\n";
    for line in ["validate TASKS.md", "run --dry-run", "run --mode ultra-thin"] {
        let project = with(tasks);
        let ran = project.run(line);
        assert_eq!(ran.code, 0, "{line}: {ran}");
        for said in ["`cmd` is not a field of a task; did you mean `run`?", "mean `verify`?"] {
            assert!(ran.stderr.contains(said) || ran.stdout.contains(said), "{line}: {ran}");
        }
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let ran = one("./missing").run("run --mode ultra-thin --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("cannot start ./missing: there is no such file"), "{ran}");
    assert!(!ran.stderr.contains("os error"), "{ran}");
}
