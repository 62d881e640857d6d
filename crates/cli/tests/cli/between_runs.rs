//! What people and other tools do between two runs and during one, and its documented answer
//! (docs/run.md): edits of the state file, its lock file, and changes of TASKS.md.

use crate::{
    execute::{begin, keepers, kill, one, status, wait_for, with},
    harness::{Project, RUN, Ran},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Child, Stdio},
    time::{Duration, SystemTime},
};

const LOCK: &str = ".claude/orchestrate-state.json.lock";

/// T1.1 fails and blocks T1.2; T1.3 works until the file `go` is there.
const FAILING: &str = "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: Fails
  - run: `exit 3`
- [ ] T1.2: Waits for it
  - run: `echo T1.2 >> done.txt`
  - depends: T1.1
- [ ] T1.3: Takes long
  - run: `touch begun; while ! test -e go; do sleep 0.02; done; echo T1.3 >> done.txt`
";

/// Two phases, of which the first is done.
fn half_done() -> Project {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: Ground\n\n\
         - [ ] T1.1: Lay the ground\n  - run: `echo T1.1 >> done.txt`\n\
         - [ ] T1.2: Choose the tools\n  - run: `echo T1.2 >> done.txt`\n  - depends: T1.1\n\n\
         ## Phase 2: Cart\n\n\
         - [ ] T2.1: Put things into the cart\n  - run: `echo T2.1 >> done.txt`\n\
         - [ ] T2.2: Pay for them\n  - run: `echo T2.2 >> done.txt`\n  - depends: T2.1\n",
    );
    assert_eq!(project.run("run --phase 1").code, 0);
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\n");
    project
}

/// The seed's own edit, with `jq` itself where it is here.
fn force(project: &Project, id: &str) {
    let line = format!(
        "jq '.tasks.failed -= [\"{id}\"] | .tasks.completed += [\"{id}\"]' {RUN} > tmp.json && \
         mv tmp.json {RUN}"
    );
    let jq = project.command("sh", &project.root).args(["-c", &line]).output().unwrap();
    if !jq.status.success() {
        println!("without `jq`, which is not here: the same edit by the test");
        project.move_task(id, "failed", "completed");
    }
}

/// The kind of evidence by which a task was completed.
fn evidence(project: &Project, id: &str) -> Value {
    let log = project.log();
    let completed = |entry: &&Value| entry["kind"] == "task_completed" && entry["body"]["id"] == id;
    log.iter().find(completed).map_or(Value::Null, |it| it["body"]["evidence"]["kind"].clone())
}

/// A run with a failed task, and one that works on.
fn live() -> (Project, Child) {
    let project = with(FAILING);
    let run = begin(&project, "run --retry-limit 0");
    wait_for("the failure", || {
        project.path("begun").exists()
            && fs::read_to_string(project.path(RUN))
                .is_ok_and(|text| failed(&text).contains(&json!("T1.1")))
    });
    (project, run)
}

fn failed(window: &str) -> Vec<Value> {
    let window: Value = serde_json::from_str(window).unwrap_or_default();
    window["tasks"]["failed"].as_array().cloned().unwrap_or_default()
}

fn over(run: Child) -> Ran {
    run.wait_with_output().unwrap().into()
}

#[test]
fn the_seeds_edit_between_two_runs_is_taken_up_by_a_person() {
    if no_person_is_here() {
        return;
    }
    let project = with(FAILING);
    project.write("go", "");
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    force(&project, "T1.1");
    let ran = project.as_person("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("took up an edit of"), "{ran}");
    assert_eq!(project.read("done.txt"), "T1.3\nT1.2\n", "what it had blocked is free");
    assert_eq!(evidence(&project, "T1.1"), "forced");
    assert_eq!(project.window(RUN)["metrics"]["completed_count"], 3);
}

#[test]
fn the_seeds_edit_between_two_runs_waits_if_an_agent_comes_next() {
    let project = with(FAILING);
    project.write("go", "");
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    force(&project, "T1.1");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("waits in the inbox for a person"), "{ran}");
    assert_eq!(status(&project, "T1.1"), "failed");
    assert_eq!(failed(&project.read(RUN)), [json!("T1.1")], "the truth is shown again");
    if no_person_is_here() {
        return;
    }
    project.person_must("inbox answer q1 accept");
    assert_eq!(project.run("run --resume").code, 0);
    assert_eq!(
        (project.read("done.txt").as_str(), evidence(&project, "T1.1")),
        ("T1.3\nT1.2\n", json!("forced"))
    );
}

#[test]
fn the_seeds_edit_during_a_live_run_waits_in_the_inbox() {
    let (project, run) = live();
    force(&project, "T1.1");
    // The next process finds it: a command, or the run itself when it shows something.
    project.must("status");
    let inbox = project.json("inbox");
    assert_eq!(inbox.as_array().unwrap().len(), 1, "{inbox}");
    assert_eq!(inbox[0]["kind"], "waiting_edit", "{inbox}");
    assert_eq!(status(&project, "T1.1"), "failed");
    if no_person_is_here() {
        project.write("go", "");
        assert_eq!(over(run).code, 1);
        return;
    }
    // Accepted, it is taken up by the run that is at work.
    project.person_must("inbox answer q1 accept");
    // The file is there a moment before the line is in it.
    wait_for("what it had blocked", || {
        fs::read_to_string(project.path("done.txt")).is_ok_and(|text| text == "T1.2\n")
    });
    project.write("go", "");
    let ran = over(run);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(evidence(&project, "T1.1"), "forced");
}

#[test]
fn an_edit_that_the_run_itself_finds_waits_as_well() {
    let (project, run) = live();
    force(&project, "T1.1");
    project.write("go", "");
    let ran = over(run);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("waits in the inbox for a person"), "{ran}");
    assert_eq!(failed(&project.read(RUN)), [json!("T1.1")]);
    assert_eq!(project.json("inbox")[0]["kind"], "waiting_edit");
}

#[test]
fn the_backup_copied_back_never_leads_to_an_older_state() {
    let copy = |project: &Project| {
        let bak = project.path(&format!("{RUN}.bak"));
        // It is put there a moment after the file that it is the backup of.
        wait_for("the backup", || bak.exists());
        fs::copy(bak, project.path(RUN)).unwrap();
    };
    let project = half_done();
    copy(&project);
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("an earlier .claude/orchestrate-state.json was put back"), "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT2.1\nT2.2\n", "nothing is done twice");

    let (project, run) = live();
    // One rendering may have shown all of it; the next one makes a backup of that.
    project.must("run retry T1.1");
    copy(&project);
    project.write("go", "");
    let ran = over(run);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(failed(&project.read(RUN)), [json!("T1.1")]);
    assert_eq!(project.window(RUN)["tasks"]["completed"], json!(["T1.3"]));
    assert_eq!(project.json("inbox"), json!([]));
}

/// Makes a lock file that was last changed so long ago.
fn lock(project: &Project, text: &str, age: Duration) {
    project.write(LOCK, text);
    let file = fs::File::options().write(true).open(project.path(LOCK)).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[track_caller]
fn is_taken_over(project: &Project, why: &str) {
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    let said = format!("took over {LOCK}: {why}");
    assert_eq!(ran.stderr.matches(&said).count(), 1, "{said}\n{ran}");
    assert!(!project.path(LOCK).exists());
    assert_eq!(project.window(RUN)["metrics"]["completed_count"], 4);
}

#[test]
fn an_empty_lock_counts_for_thirty_seconds_from_its_last_change() {
    let project = half_done();
    lock(&project, "", Duration::from_secs(31));
    is_taken_over(&project, "it names no owner and is older than 30 s");
    // One second is left: the run waits for it, and not for the whole time again.
    let project = half_done();
    lock(&project, "", Duration::from_secs(29));
    is_taken_over(&project, "it names no owner and is older than 30 s");
}

#[test]
fn a_lock_whose_owner_is_gone_is_taken_over_at_once() {
    let project = half_done();
    let mut owner = project.command("true", &project.root).spawn().unwrap();
    owner.wait().unwrap();
    lock(&project, &owner.id().to_string(), Duration::ZERO);
    is_taken_over(&project, &format!("its owner, process {}, is gone", owner.id()));
}

#[test]
fn a_lock_whose_owner_lives_is_waited_for() {
    let project = one("touch finished");
    let mut owner = project.command("cat", &project.root);
    let mut owner = owner.stdin(Stdio::piped()).spawn().unwrap();
    // However old it is, it counts while its owner lives.
    lock(&project, &json!({ "pid": owner.id() }).to_string(), Duration::from_secs(3_600));
    let text = project.read(LOCK);
    let mut run = begin(&project, "run");
    wait_for("the commit", || project.journal().join("journal.db").exists());
    wait_for("the run's turn", || project.journal().join("seed.lock").exists());
    assert!(!project.path(RUN).exists(), "nothing is shown under somebody else's lock");
    assert_eq!((project.read(LOCK), run.try_wait().unwrap()), (text, None));
    fs::remove_file(project.path(LOCK)).unwrap();
    let ran = over(run);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stderr.contains("took over"), "{ran}");
    assert_eq!(project.window(RUN)["metrics"]["completed_count"], 1);
    drop(owner.stdin.take());
    owner.wait().unwrap();
}

#[test]
fn of_two_runs_at_once_the_second_is_told_who_runs() {
    let (project, run) = live();
    let second = project.run("run --resume");
    assert_eq!(second.code, 4, "{second}");
    let runs = format!("as process {}", run.id());
    assert!(second.stderr.contains("already running, since 20"), "{second}");
    assert!(second.stderr.contains(&runs), "{second}");
    // All else works beside it.
    for line in ["run status", "run next", "why T1.2", "run retry T1.1"] {
        project.must(line);
    }
    project.write("go", "");
    assert_eq!(over(run).code, 1);
}

/// Goes on with a run whose TASKS.md was changed: what was said of it, what was done since, and
/// where the tasks are.
#[track_caller]
fn resume(project: &Project, code: i32) -> (String, String) {
    let before = project.read("done.txt").len();
    let ran = project.run("run --resume");
    assert_eq!(ran.code, code, "{ran}");
    let is_said = |line: &&str| line.contains("TASKS.md has changed") || line.contains(" begins ");
    let said = ran.stderr.lines().find(is_said);
    let said = said.map_or("", |line| line.trim_start_matches("warning: ")).to_owned();
    let done = project.read("done.txt")[before..].replace('\n', " ");
    // A second time there is nothing left to say or do.
    let again = project.run("run --resume");
    let is_quiet = !again.stderr.lines().any(|line| is_said(&line));
    assert_eq!((again.code, is_quiet), (code, true), "{again}");
    assert_eq!(project.read("done.txt")[before..].replace('\n', " "), done);
    (said, done)
}

fn changed(added: usize, removed: usize, kept: usize) -> String {
    format!("TASKS.md has changed: {added} tasks added, {removed} removed, {kept} kept")
}

/// What is said when the next run begins because of these tasks.
fn begins(number: u32, tasks: &str) -> String {
    format!("run {number} begins with TASKS.md: new or changed since the run before: {tasks}")
}

#[test]
fn a_task_that_was_added_is_done() {
    let project = half_done();
    let task = "- [ ] T2.3: Send them\n  - run: `echo T2.3 >> done.txt`\n  - depends: T2.2\n";
    let with_one_more = |project: &Project, task: &str| {
        project.write("TASKS.md", &format!("{}{task}", project.read("TASKS.md")));
    };
    with_one_more(&project, task);
    assert_eq!(resume(&project, 0), (changed(1, 0, 4), "T2.1 T2.2 T2.3 ".into()));
    // Added to a run that is over, and to a phase that was closed, they are the next run's.
    with_one_more(&project, &task.replace("T2.3", "T2.4"));
    assert_eq!(resume(&project, 0), (begins(2, "T2.4"), "T2.4 ".into()));
    let late = "- [ ] T1.9: Forgotten\n  - run: `echo T1.9 >> done.txt`\n\n## Phase 2: Cart";
    project.replace("TASKS.md", "## Phase 2: Cart", late);
    assert_eq!(resume(&project, 0), (begins(3, "T1.9"), "T1.9 ".into()));
}

#[test]
fn a_file_that_is_not_there_is_named_whatever_became_of_the_run() {
    let fresh = with("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: One\n  - run: `true`\n");
    let done = one("echo T1.1 >> done.txt");
    assert_eq!(done.run("run").code, 0);
    for (state, project) in [("none", fresh), ("over", done), ("unfinished", half_done())] {
        let before = project.run("log --json").stdout;
        for line in ["run missing.md", "run --resume missing.md", "run --dry-run missing.md"] {
            let ran = project.run(line);
            assert_eq!(ran.code, 2, "{line}, {state}: {ran}");
            assert!(ran.stderr.contains("there is no missing.md"), "{line}, {state}: {ran}");
            assert_eq!(ran.stdout, "", "{line}, {state}");
        }
        let ran = project.run("run next --tasks missing.md");
        assert_eq!(ran.code, 2, "{state}: {ran}");
        assert!(ran.stderr.contains("missing.md"), "{state}: {ran}");
        assert_eq!(project.run("log --json").stdout, before, "{state}");
    }
}

#[test]
fn a_completed_task_that_was_removed_stays_completed_if_it_comes_back() {
    let project = half_done();
    let whole = project.read("TASKS.md");
    project.replace(
        "TASKS.md",
        "- [x] T1.1: Lay the ground\n  - run: `echo T1.1 >> done.txt`\n",
        "",
    );
    project.replace("TASKS.md", "  - depends: T1.1\n", "");
    assert_eq!(resume(&project, 0), (changed(0, 1, 3), "T2.1 T2.2 ".into()));
    assert_eq!(project.window(RUN)["tasks"]["completed"], json!(["T1.2", "T2.1", "T2.2"]));
    project.write("TASKS.md", &whole);
    assert_eq!(resume(&project, 0), (changed(1, 0, 3), String::new()), "it is not done again");
    assert_eq!(project.window(RUN)["metrics"]["completed_count"], 4);
}

#[test]
fn a_pending_task_that_was_removed_is_not_done() {
    let project = half_done();
    let task = "- [ ] T2.2: Pay for them\n  - run: `echo T2.2 >> done.txt`\n  - depends: T2.1\n";
    project.replace("TASKS.md", task, "");
    assert_eq!(resume(&project, 0), (changed(0, 1, 3), "T2.1 ".into()));
    assert_eq!(project.run("why T2.2").code, 2, "the run does not know it any more");
}

#[test]
fn a_task_that_others_depend_on_cannot_simply_be_removed() {
    let project = half_done();
    let task = "- [ ] T2.1: Put things into the cart\n  - run: `echo T2.1 >> done.txt`\n";
    project.replace("TASKS.md", task, "");
    let (said, done) = {
        let ran = project.run("run --resume");
        assert_eq!(ran.code, 0, "{ran}");
        (ran.stderr, project.read("done.txt"))
    };
    assert!(said.contains("has changed and cannot be read"), "{said}");
    assert!(said.contains("the run goes on with what it has"), "{said}");
    assert_eq!(done, "T1.1\nT1.2\nT2.1\nT2.2\n");
}

#[test]
fn a_task_under_a_new_id_is_another_task() {
    let project = half_done();
    project.replace("TASKS.md", "T2.1: Put", "T2.7: Put");
    project.replace("TASKS.md", "depends: T2.1", "depends: T2.7");
    assert_eq!(
        resume(&project, 0),
        (changed(1, 1, 3), "T2.1 T2.2 ".into()),
        "its command is the same"
    );
    assert_eq!(project.window(RUN)["tasks"]["completed"], json!(["T1.1", "T1.2", "T2.7", "T2.2"]));
    // A completed one is done again under its new id, unless its box is ticked.
    project.replace("TASKS.md", "[x] T1.2: Choose", "[ ] T1.7: Choose");
    assert_eq!(resume(&project, 0), (begins(2, "T1.7"), "T1.2 ".into()));
    project.replace("TASKS.md", "[x] T1.7: Choose", "[x] T1.8: Choose");
    assert_eq!(resume(&project, 0), (begins(3, "T1.8"), String::new()));
}

#[test]
fn a_changed_dependency_counts_from_then_on() {
    let project = half_done();
    project.replace("TASKS.md", "  - depends: T2.1\n", "  - depends: none\n");
    project.replace(
        "TASKS.md",
        "- [ ] T2.1: Put things into the cart\n",
        "- [ ] T2.1: Put things into the cart\n  - depends: T2.2\n",
    );
    assert_eq!(resume(&project, 0), (changed(0, 0, 4), "T2.2 T2.1 ".into()));
    // What is completed is not done again because it now depends on something else.
    project.replace("TASKS.md", "  - depends: T1.1\n", "  - depends: none\n");
    assert_eq!(resume(&project, 0), (changed(0, 0, 4), String::new()));
    project.replace("TASKS.md", "  - depends: none\n", "  - depends: T1.2\n");
    let circular = project.run("run --resume");
    assert_eq!(circular.code, 2, "{circular}");
    assert!(circular.stderr.contains("wait for each other"), "{circular}");
}

#[test]
fn an_open_task_that_says_something_else_is_done_as_it_says_now() {
    let project = half_done();
    project.replace("TASKS.md", "T2.1: Put things into the cart", "T2.1: Fill the cart");
    project.replace("TASKS.md", "echo T2.1 >>", "echo T2.1 again >>");
    assert_eq!(resume(&project, 0), (changed(0, 0, 4), "T2.1 again T2.2 ".into()));
    let plan = project.must("run --dry-run").stdout;
    assert!(plan.contains("Fill the cart"), "{plan}");
}

/// How many events the journal has, and the state file: what a refused command leaves alone.
fn state(project: &Project) -> (usize, String) {
    (project.log().len(), project.read(RUN))
}

#[test]
fn a_completed_task_that_says_something_else_is_named_and_decided_on() {
    let reworded = || {
        let project = half_done();
        project.replace("TASKS.md", "T1.1: Lay the ground", "T1.1: Lay the foundation");
        project
    };
    let project = reworded();
    let before = state(&project);
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 3, "{ran}");
    for words in ["T1.1 is completed in run 1 and says something else", "--keep-done", "--new"] {
        assert!(ran.stderr.contains(words), "{words}\n{ran}");
    }
    assert_eq!(state(&project), before, "a refused command has changed nothing");
    let ran = project.run("run --keep-done");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT2.1\nT2.2\n");
    assert!(project.must("run --dry-run").stdout.contains("Lay the foundation"));
    assert_eq!(project.json("run list").as_array().unwrap().len(), 1, "it is the same run");

    let project = reworded();
    let ran = project.run("run --new --yes");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT1.1\nT1.2\nT2.1\nT2.2\n");

    if no_person_is_here() {
        return;
    }
    // At a terminal it is asked: only what has changed is done again in the new run.
    let project = reworded();
    let ran = project.typing("run --resume", "new\n");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT1.1\nT2.1\nT2.2\n");
    assert_eq!(project.json("run list").as_array().unwrap().len(), 2);
}

#[test]
fn a_single_task_is_worked_on_while_the_plan_waits_for_a_decision() {
    let project = with("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: One\n- [ ] T1.2: Two\n");
    project.must("run start T1.1");
    project.must("run done T1.1");
    project.replace("TASKS.md", "T1.1: One", "T1.1: Another");
    let ran = project.must("run start T1.2");
    assert!(ran.stderr.contains("T1.1 is completed and says something else now"), "{ran}");
    assert_eq!(project.window(RUN)["tasks"]["in_progress"], json!(["T1.2"]));
}

/// A run over two tasks that is over.
fn finished() -> Project {
    let project = with(
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n  - run: `echo one >> done.txt`\n\
         - [ ] T1.2: Second\n  - run: `echo two >> done.txt`\n  - depends: T1.1\n",
    );
    assert_eq!(project.run("run").code, 0);
    project
}

const NEXT_PLAN: &str = "# Tasks: shop\n\n## Phase 1: Next\n\n\
    - [ ] T1.1: Other\n  - run: `echo other >> done.txt`\n";

#[test]
fn a_new_plan_that_uses_ids_again_is_a_new_run() {
    let project = finished();
    project.write("TASKS.md", NEXT_PLAN);
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains(&begins(2, "T1.1")), "{ran}");
    assert_eq!(project.read("done.txt"), "one\ntwo\nother\n");
    // Attempts go on counting, so that the first run's log is still there.
    assert_eq!(project.must("run logs T1.1 --attempt 1").code, 0);
    assert_eq!(project.json("run status")["number"], 2);

    // Another file likewise.
    project.write("later.md", &NEXT_PLAN.replace("other", "later").replace("Other", "Later"));
    let ran = project.run("run later.md");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "one\ntwo\nother\nlater\n");

    let runs = project.json("run list");
    let of = |field: &str| -> Vec<Value> {
        runs.as_array().unwrap().iter().map(|run| run[field].clone()).collect()
    };
    assert_eq!(of("number"), [json!(1), json!(2), json!(3)]);
    assert_eq!(of("file"), [json!("TASKS.md"), json!("TASKS.md"), json!("later.md")]);
    assert_eq!(of("completed"), [json!(2), json!(1), json!(1)]);
    assert!(runs[0]["ended_at"].is_string(), "{runs}");
    // The state file of an earlier run as it was left.
    let first = project.json("run show 1");
    assert_eq!(first["tasks"]["completed"], json!(["T1.1", "T1.2"]));
    assert!(project.must("run show 2").stdout.starts_with("Run 2"));
    let unknown = project.run("run show 4");
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr.contains("there are runs 1 to 3"), "{unknown}");
}

#[test]
fn a_finished_run_of_the_same_plan_is_not_begun_again_by_itself() {
    let project = finished();
    let before = state(&project);
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("all 2 tasks are done"), "{ran}");
    assert!(ran.stderr.contains("waypost run --new"), "{ran}");
    assert_eq!(state(&project), before, "nothing has begun");
    // Asked for, everything is done again, although the run has ticked the boxes.
    assert!(project.read("TASKS.md").contains("- [x] T1.2"));
    let ran = project.run("run --new");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "one\ntwo\none\ntwo\n");
    assert_eq!(project.json("run list").as_array().unwrap().len(), 2);
}

#[test]
fn a_box_that_a_person_ticks_counts_in_the_next_run() {
    let project = finished();
    let more = "- [x] T1.3: By hand\n  - run: `echo three >> done.txt`\n";
    project.write("TASKS.md", &format!("{}{more}", project.read("TASKS.md")));
    assert_eq!(project.run("run").code, 0);
    assert_eq!(project.read("done.txt"), "one\ntwo\n");
    assert_eq!(project.window(RUN)["metrics"]["completed_count"], 3);
    assert_eq!(project.run("run --new").code, 0);
    assert_eq!(project.read("done.txt"), "one\ntwo\none\ntwo\n", "T1.3 is as the person says");
}

#[test]
fn a_failed_task_that_was_changed_is_done_in_the_next_run() {
    let project = with(FAILING);
    project.write("go", "");
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    // The same plan: as it was left, with the command that leads on.
    let again = project.run("run");
    assert_eq!(again.code, 1, "{again}");
    assert!(again.stderr.contains("waypost run retry T1.1"), "{again}");
    project.replace("TASKS.md", "exit 3", "echo T1.1 >> done.txt");
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.3\nT1.1\nT1.2\n");
}

#[test]
fn another_file_is_refused_while_a_run_is_not_finished() {
    let project = half_done();
    project.write("other.md", NEXT_PLAN);
    let before = state(&project);
    for line in
        ["run other.md --resume", "resolve --tasks other.md", "run start T2.1 --tasks other.md"]
    {
        let ran = project.run(line);
        assert_eq!(ran.code, 3, "{line}\n{ran}");
        let said = "run 1 works on TASKS.md and is not finished; other.md is another file";
        assert!(ran.stderr.contains(said), "{line}\n{ran}");
    }
    assert_eq!(state(&project), before);
    // The same file by another way is no other file, and one that was moved is the same plan.
    fs::create_dir(project.path("docs")).unwrap();
    fs::rename(project.path("TASKS.md"), project.path("docs/plan.md")).unwrap();
    let ran = project.run("run ./docs/plan.md --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nT2.1\nT2.2\n");
}

#[test]
fn a_run_that_is_not_finished_is_given_up_only_with_a_yes() {
    let project = half_done();
    let before = state(&project);
    let ran = project.run("run --new");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("--new --yes") && ran.stderr.contains("--resume"), "{ran}");
    assert_eq!(state(&project), before);
    project.write("other.md", NEXT_PLAN);
    let ran = project.run("run other.md --new --yes");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\nT1.2\nother\n");
    let list = project.must("run list").stdout;
    assert!(list.contains("2 of 4 completed, not finished"), "{list}");
}

#[test]
fn an_attempt_of_an_earlier_run_speaks_for_no_later_one() {
    let project = one("echo T1.1 >> done.txt");
    project.must("run start T1.1");
    let ran = project.run("run --new --yes");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), "T1.1\n");
    let late = project.run("run done T1.1 --attempt 1");
    assert_eq!(late.code, 4, "{late}");
    assert!(late.stderr.contains("attempt 1 of T1.1 is not the current one"), "{late}");
}

#[test]
fn a_task_that_was_removed_while_it_ran_is_stopped_by_the_next_run() {
    let project =
        one("touch begun; while ! test -e go; do sleep 0.02; done; echo T1.1 >> done.txt");
    project.write("done.txt", "");
    let mut engine = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    kill(engine.id(), "-9");
    engine.wait().unwrap();
    assert_eq!(keepers(&project).len(), 1, "it works on");
    project.write(
        "TASKS.md",
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.2: Other\n  - run: `echo T1.2 >> done.txt`\n",
    );
    assert_eq!(resume(&project, 0), (changed(1, 1, 0), "T1.2 ".into()));
    wait_for("its end", || keepers(&project).is_empty());
    project.write("go", "");
    assert_eq!(project.read("done.txt"), "T1.2\n", "nothing is left of it");
}

#[test]
fn a_task_that_was_removed_while_somebody_works_on_it_ends_first() {
    let project = with("# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: One\n- [ ] T1.2: Two\n");
    project.must("run start T1.1");
    project.replace("TASKS.md", "T1.1: One", "T1.5: One");
    let said = "TASKS.md has changed and no longer has T1.1, which is in progress; it is taken up \
                when that has ended";
    for line in ["run start T1.2", "resolve", "run fail T1.1 --reason gone"] {
        let ran = project.must(line);
        assert!(ran.stderr.contains(said), "{line}\n{ran}");
    }
    let ran = project.must("run done T1.2");
    assert!(ran.stderr.contains(&changed(1, 1, 1)), "{ran}");
    assert_eq!(project.window(RUN)["tasks"]["ready"], json!(["T1.5"]));
}
