//! One host for each project: a run beside a process that is the host already is handed over to it,
//! and outlives it.

use crate::{
    detach::has_ended,
    execute::{begin, kill, wait_for},
    harness::{BINARY, Project, Ran, words},
    ralph::{implementing, validated_by_a_pipe, write_into_the_pipe},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

/// The second task waits until the test says so; each leaves a line.
const TASKS: &str = "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: First
  - run: `echo first $TZ >> done.txt`
- [ ] T1.2: Second
  - run: `touch begun; while ! test -e go; do sleep 0.02; done; echo second >> done.txt`
  - depends: T1.1
- [ ] T1.3: Third
  - run: `echo third >> done.txt`
  - depends: T1.2
";

const ALL: &str = "first UTC\nsecond\nthird\n";

/// A project whose host is a `develop ralph` that waits until the file `checked` is there.
struct Shop {
    project: Project,
    ralph: Child,
}

impl Shop {
    fn open() -> Self {
        Self::with(TASKS)
    }

    fn with(tasks: &str) -> Self {
        let wait = json!({"run": "while ! test -e ../checked; do sleep 0.02; done"});
        let write = json!({"write": {"file": "cp-1.txt", "text": "good\n"}});
        let steps = json!([{"say": "I look."}, wait, write, {"done": "did it"}]);
        let project = implementing(&json!({"cp-1": [{ "steps": steps }]}), true);
        project.write("TASKS.md", tasks);
        let ralph = begin(&project, "develop ralph --checkpoint cp-1");
        let shop = Self { project, ralph };
        wait_for("the host", || {
            shop.host().is_some_and(|it| it["owner"]["pid"] == shop.ralph.id())
        });
        shop
    }

    fn host(&self) -> Option<Value> {
        ask(&self.project, WHO)
    }

    /// The run in the host, as that tells of it.
    fn run(&self) -> Option<Value> {
        run_in(&self.host()?)
    }

    /// What the run knows is wished of it.
    fn wish(&self) -> Value {
        self.run().unwrap()["wish"].clone()
    }

    /// Starts a run, and waits until its second task works in the host of the other process.
    fn hand_over(&self, line: &str) -> Child {
        let run = begin(&self.project, line);
        self.wait_for_second();
        run
    }

    fn wait_for_second(&self) {
        wait_for("the second task", || self.project.path("begun").exists());
        let host = self.host().unwrap();
        assert_eq!(host["owner"]["pid"], self.ralph.id(), "{host}");
        assert!(run_in(&host).is_some(), "{host}");
    }

    fn go(&self) {
        self.project.write("go", "");
    }

    /// Lets the checkpoint be done; its command ends well.
    fn end_ralph(mut self) -> Project {
        self.project.write("../checked", "");
        assert_eq!(self.ralph.wait().unwrap().code(), Some(0));
        self.project
    }
}

const WHO: &str = r#"{"v":1,"ask":"who"}"#;

/// Asks the host of a project something; what it answers.
fn ask(project: &Project, line: &str) -> Option<Value> {
    let mut socket = UnixStream::connect(project.journal().join("engine.sock")).ok()?;
    writeln!(socket, "{line}").ok()?;
    let mut answer = String::new();
    BufReader::new(socket).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

fn run_in(host: &Value) -> Option<Value> {
    host["guests"].as_array()?.iter().find(|guest| guest["kind"] == "run").cloned()
}

fn ended(run: Child) -> Ran {
    run.wait_with_output().unwrap().into()
}

#[test]
fn a_run_beside_a_host_is_handed_over_with_its_environment() {
    let shop = Shop::open();
    let mut command = shop.project.command(BINARY, &shop.project.root);
    command
        .args(words("run"))
        .env("TZ", "Asia/Seoul")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    shop.wait_for_second();
    assert_eq!(shop.project.must("notify send").stderr, "no notice waits\n");
    let refused = shop.project.run("run --resume");
    assert_eq!(refused.code, 4, "{refused}");
    assert!(refused.stderr.contains("already running, since "), "{refused}");
    shop.go();
    let ran = ended(run);
    assert_eq!(ran.code, 0, "{ran}");
    // It shows what a run of its own shows.
    for line in ["T1.1 started", "T1.1 completed", "T1.3 completed", "phase 1 done"] {
        assert!(ran.stderr.contains(line), "{line}\n{ran}");
    }
    assert!(ran.stdout.contains("3/3"), "{ran}");
    assert_eq!(shop.project.read("done.txt"), "first Asia/Seoul\nsecond\nthird\n");
    let host = shop.host().unwrap();
    assert_eq!(host["owner"]["pid"], shop.ralph.id());
    let guests = host["guests"].as_array().unwrap().iter().map(|guest| &guest["kind"]);
    assert_eq!(guests.collect::<Vec<_>>(), ["job"]);
    shop.end_ralph();
}

#[test]
fn the_host_decides_by_the_process_who_hands_a_run_over() {
    if no_person_is_here() {
        return;
    }
    let shop = Shop::open();
    // The host was started by no person.
    let from = |shop: &Shop| shop.run().unwrap()["from"].clone();
    let line = format!("{BINARY} run");
    thread::scope(|scope| {
        let person = scope.spawn(|| shop.project.below_terminal(&line, ""));
        shop.wait_for_second();
        let actor = from(&shop);
        assert!(actor.as_str().unwrap().starts_with("user:"), "{actor}");
        shop.go();
        assert_eq!(person.join().unwrap().code, 0);
    });
    for name in ["go", "begun"] {
        fs::remove_file(shop.project.path(name)).unwrap();
    }
    let run = shop.hand_over("run --new");
    assert_eq!(from(&shop), "agent:unknown#0");
    shop.go();
    assert_eq!(ended(run).code, 0);
    shop.end_ralph();
}

#[test]
fn an_interrupt_ends_only_the_run_that_was_handed_over() {
    let shop = Shop::open();
    let mut run = shop.hand_over("run");
    kill(run.id(), "-INT");
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let word = "no new tasks are started; running ones finish (again: they are stopped)";
    assert!(said.any(|line| line == word));
    wait_for("the wish", || shop.wish() == "finish");
    shop.go();
    assert_eq!(
        said.filter(|line| line.contains("completed")).collect::<Vec<_>>(),
        ["T1.2 completed"]
    );
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(shop.project.read("done.txt"), "first UTC\nsecond\n");
    // The third one is left for later.
    let ran = shop.project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(shop.project.read("done.txt"), ALL);
    shop.end_ralph();
}

#[test]
fn a_second_interrupt_and_run_stop_stop_what_runs() {
    let shop = Shop::open();
    let run = shop.hand_over("run");
    kill(run.id(), "-INT");
    kill(run.id(), "-INT");
    let ran = ended(run);
    assert_eq!(ran.code, 130, "{ran}");
    assert!(ran.stderr.contains("running tasks are stopped"), "{ran}");
    fs::remove_file(shop.project.path("begun")).unwrap();
    let run = shop.hand_over("run --resume");
    let stopped = shop.project.must("run stop --now");
    assert!(stopped.stderr.contains(&format!("asked process {} ", shop.ralph.id())), "{stopped}");
    let ran = ended(run);
    assert_eq!(ran.code, 6, "{ran}");
    assert_eq!(shop.project.run("run stop").code, 3);
    shop.end_ralph();
}

/// Two phases; the second one waits until the test says so.
const PHASES: &str = "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: First
  - run: `echo first >> done.txt`

## Phase 2: Two

- [ ] T2.1: Second
  - run: `touch begun; while ! test -e go; do sleep 0.02; done; echo second >> done.txt`
";

#[test]
fn a_person_is_asked_between_phases_by_the_process_that_was_started() {
    if no_person_is_here() {
        return;
    }
    let shop = Shop::with(PHASES);
    let question = "Phase 1 is done. Go on with the next one? [Y/n]";
    let ran = shop.project.typing("run --mode normal", "n\n");
    assert_eq!(ran.code, 6, "{ran}");
    assert_eq!(ran.stderr.matches(question).count(), 1, "{ran}");
    assert!(ran.stderr.contains("phase 1 is done; the run waits for a person"), "{ran}");
    assert_eq!(shop.run(), None);
    thread::scope(|scope| {
        let person = scope.spawn(|| shop.project.typing("run --resume", "y\n"));
        // What follows is handed over, too.
        shop.wait_for_second();
        let actor = shop.run().unwrap()["from"].clone();
        assert!(actor.as_str().unwrap().starts_with("user:"), "{actor}");
        shop.go();
        let ran = person.join().unwrap();
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(ran.stderr.matches(question).count(), 1, "{ran}");
        assert!(ran.stderr.contains("T2.1 completed"), "{ran}");
    });
    assert_eq!(shop.project.read("done.txt"), "first\nsecond\n");
    shop.end_ralph();
}

/// What a program is told of a run, but for times, places in the journal and how long it took.
fn told(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told = lines.map(|mut line| {
        let cursor = line.as_object_mut().unwrap().remove("cursor");
        assert_eq!(cursor.is_some(), line["event"] != "ended", "{line}");
        if let Some(run) = line.get_mut("run") {
            *run = json!({"over": run["over"], "counts": run["counts"], "failed": run["failed"]});
        }
        line
    });
    told.collect()
}

#[test]
fn a_program_is_told_of_a_run_that_was_handed_over_what_it_is_told_of_its_own() {
    let shop = Shop::open();
    shop.go();
    let handed = shop.project.run("--json run");
    assert_eq!(handed.code, 0, "{handed}");
    assert_eq!(shop.host().unwrap()["owner"]["pid"], shop.ralph.id());
    shop.end_ralph();
    let project = Project::git();
    project.write("TASKS.md", TASKS);
    project.write("go", "");
    let own = project.run("--json run");
    assert_eq!(own.code, 0, "{own}");
    assert_eq!(told(&own).len(), 8, "{own}");
    assert_eq!(told(&handed), told(&own));
}

#[test]
fn a_signal_to_end_is_obeyed_by_the_run_and_not_by_the_host() {
    let shop = Shop::open();
    let run = shop.hand_over("run");
    kill(run.id(), "-TERM");
    wait_for("the wish", || shop.wish() == "finish");
    shop.go();
    let ran = ended(run);
    assert_eq!(ran.code, 143, "{ran}");
    assert!(ran.stderr.contains("no new tasks are started; running ones have 30 s"), "{ran}");
    assert_eq!(shop.project.read("done.txt"), "first UTC\nsecond\n");
    assert_eq!(shop.run(), None);
    shop.project.must("run --resume");
    assert_eq!(shop.project.read("done.txt"), ALL);
    shop.end_ralph();
}

#[test]
fn run_stop_lets_running_tasks_finish_and_the_host_goes_on() {
    let shop = Shop::open();
    let mut run = shop.hand_over("run");
    let stopper = begin(&shop.project, "run stop");
    wait_for("the wish", || shop.wish() == "finish");
    assert!(run.try_wait().unwrap().is_none(), "it waits for the task");
    shop.go();
    let stopped = ended(stopper);
    assert_eq!(stopped.code, 0, "{stopped}");
    assert!(stopped.stderr.contains("the run has stopped"), "{stopped}");
    let ran = ended(run);
    assert_eq!(ran.code, 6, "{ran}");
    assert!(ran.stderr.contains("no new tasks are started; running ones have 30 s"), "{ran}");
    assert_eq!(shop.project.read("done.txt"), "first UTC\nsecond\n");
    assert_eq!(shop.host().unwrap()["owner"]["pid"], shop.ralph.id());
    shop.project.must("run --resume");
    assert_eq!(shop.project.read("done.txt"), ALL);
    shop.end_ralph();
}

#[test]
fn a_run_goes_on_when_its_host_is_killed() {
    let mut shop = Shop::open();
    let run = shop.hand_over("run");
    shop.ralph.kill().unwrap();
    shop.ralph.wait().unwrap();
    wait_for("another host", || shop.host().is_some_and(|it| it["owner"]["pid"] == run.id()));
    shop.go();
    let ran = ended(run);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("the engine that carried the run has ended"), "{ran}");
    assert_eq!(shop.project.read("done.txt"), ALL);
    // The agent at the checkpoint has gone on, too, and is taken up again.
    shop.project.write("../checked", "");
    shop.project.must("develop ralph --checkpoint cp-1");
}

#[test]
fn a_run_goes_on_when_its_host_has_nothing_else_to_do() {
    let shop = Shop::open();
    let run = shop.hand_over("run");
    let pid = run.id();
    let project = shop.end_ralph();
    project.write("go", "");
    let ran = ended(run);
    assert_eq!(ran.code, 0, "{ran} ({pid})");
    assert_eq!(project.read("done.txt"), ALL);
    let attempts: Vec<Value> =
        project.log().into_iter().filter(|it| it["kind"] == "task_started").collect();
    assert_eq!(attempts.len(), 3, "{attempts:?}");
}

#[test]
fn a_run_whose_own_process_was_killed_goes_on_behind_its_host() {
    let shop = Shop::open();
    let mut run = shop.hand_over("run");
    run.kill().unwrap();
    run.wait().unwrap();
    let watcher = begin(&shop.project, "run status --wait");
    let project = shop.end_ralph();
    let carries_run = |host: Value| run_in(&host).is_some();
    wait_for("another host", || ask(&project, WHO).is_some_and(carries_run));
    project.write("go", "");
    let ran = ended(watcher);
    assert!(ran.stdout.contains("3/3"), "{ran}");
    assert_eq!(project.read("done.txt"), ALL);
}

#[test]
fn a_run_in_the_background_is_handed_over_too() {
    let shop = Shop::open();
    let told = shop.project.json("run --detach");
    let pid = u32::try_from(told["pid"].as_u64().unwrap()).unwrap();
    shop.wait_for_second();
    assert_eq!(shop.project.run("run --detach --resume").code, 4);
    let watcher = begin(&shop.project, "run status --wait");
    shop.go();
    assert_eq!(ended(watcher).code, 0);
    wait_for("its end", || has_ended(pid));
    assert_eq!(shop.project.read("done.txt"), ALL);
    shop.end_ralph();
}

#[test]
fn a_run_is_worked_on_while_a_checkpoint_is_validated() {
    let project = validated_by_a_pipe();
    project.write("TASKS.md", TASKS);
    project.write("go", "");
    let mut ralph = begin(&project, "develop ralph --checkpoint cp-1");
    wait_for("the agent", || project.path("made").exists());
    // The validation waits for the pipe, and the host for neither.
    let ran = project.run("run");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("done.txt"), ALL);
    let host = ask(&project, WHO).unwrap();
    assert_eq!(host["owner"]["pid"], ralph.id(), "{host}");
    write_into_the_pipe(&project, "good\n");
    assert_eq!(ralph.wait().unwrap().code(), Some(0));
}

#[test]
fn what_a_host_does_not_understand_has_an_answer() {
    let shop = Shop::open();
    let unknown = json!({"v": 1, "say": "refused", "why": "unknown"});
    for line in ["wake", "{}", r#"{"v":1,"ask":"dance"}"#, r#"{"v":2,"ask":"who"}"#] {
        let answer = ask(&shop.project, line).unwrap();
        assert_eq!((&answer["say"], &answer["why"]), (&unknown["say"], &unknown["why"]), "{line}");
    }
    let answer = ask(&shop.project, r#"{"v":1,"ask":"poke","later":true}"#).unwrap();
    assert_eq!(answer, json!({"v": 1, "say": "heard"}));
    // One that says nothing keeps no other waiting.
    let _silent = UnixStream::connect(shop.project.journal().join("engine.sock")).unwrap();
    assert_eq!(shop.host().unwrap()["owner"]["pid"], shop.ralph.id());
    shop.end_ralph();
}

/// How often a process has waited for something and been woken, all its threads together.
fn wakes(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let counts = threads.filter_map(|it| {
        let text = fs::read_to_string(it.path().join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    });
    counts.sum()
}

#[test]
fn an_idle_host_wakes_once_a_second() {
    const WATCHED: Duration = Duration::from_secs(10);
    const PERIODS_MAX: usize = 4;
    let project = implementing(&json!({}), true);
    project.write(
        "TASKS.md",
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n  - run: `touch begun; sleep 600`\n",
    );
    let mut run = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    // What there is to do at the start, or for others on a busy machine, counts as well: one quiet period is
    // enough. With two wake-ups a second there is none.
    let mut counts = Vec::new();
    let is_quiet = (0..PERIODS_MAX).any(|_| {
        let before = wakes(run.id());
        thread::sleep(WATCHED);
        counts.push(wakes(run.id()) - before);
        counts.last().is_some_and(|count| *count <= WATCHED.as_secs() * 3 / 2)
    });
    assert!(run.try_wait().unwrap().is_none(), "the host is at work");
    project.must("run stop --now");
    run.wait().unwrap();
    assert!(is_quiet, "in {WATCHED:?} each: {counts:?}");
}
