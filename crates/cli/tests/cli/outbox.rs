//! The outbox: what a run leaves in it, and timers that outlive the program.

use crate::{
    agents::{bodies, with},
    execute::{begin, wait_for},
    harness::{Project, USER_CONFIG},
    host::Host,
};
use serde_json::json;
use std::{collections::BTreeMap, fs};

/// Phases of shell tasks, one of which is tried twice, and of an agent.
const TASKS: &str = "\
# Tasks: shop

## Phase 1: Ground

- [ ] T1.1: Lay the ground
  - run: `echo ground > ground`
- [ ] T1.2: Is tried twice
  - run: `test -e ../twice || { touch ../twice; exit 1; }`

## Phase 2: Cart

- [ ] T2.1: Put things into the cart
  - agent: alice

## Phase 3: Till

- [ ] T3.1: Count the money
  - run: `echo money > money`
";

/// The rows of the outbox: how many of each kind there were, and how many are open.
fn rows(project: &Project) -> BTreeMap<String, (u64, u64)> {
    let db = rusqlite::Connection::open(project.journal().join("journal.db")).unwrap();
    let sql = "SELECT kind, count(*), sum(done_at IS NULL) FROM effect GROUP BY kind";
    let mut statement = db.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_finished_run_leaves_no_row_open() {
    let steps = json!([{"run": "echo cart > cart"}, {"done": "it is in"}]);
    let script = json!({ "version": 1, "default": [{ "steps": steps }] });
    let target = Host::new();
    let project = with(TASKS, &script).variable("WAYPOST_RUN_ISOLATION", "task");
    let config = project.read(USER_CONFIG);
    let notify = format!("[notify]\nwebhooks = [{{ url = \"{}/hook\" }}]\n", target.url());
    project.write(USER_CONFIG, &format!("{config}\n{notify}"));
    let mut line = "run --mode normal --no-budget".to_owned();
    for entry in ["q1", "q2"] {
        project.run(&line);
        assert_eq!(rows(&project)["timer"].1, 1, "{entry} waits for a person");
        project.person_must(&format!("inbox answer {entry} continue"));
        line = "run --resume --no-budget".to_owned();
    }
    project.must(&line);
    assert_eq!(bodies(&project, "attempt_failed").len(), 1);
    assert_eq!(bodies(&project, "phase_closed").len(), 3);
    let rows = rows(&project);
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["notify", "timer"]);
    assert_eq!(rows["timer"], (2, 0));
    assert!(rows["notify"].0 >= 6 && rows["notify"].1 == 0, "{rows:?}");
}

/// Two phases, between which the run waits for a person.
const WAITING: &str = "\
# Tasks: shop

## Phase 1: Ground

- [ ] T1.1: Lay the ground
  - run: `true`

## Phase 2: Cart

- [ ] T2.1: Put things into the cart
  - run: `true`
";

#[test]
fn a_timer_outlives_the_program_and_fires_once() {
    let project = Project::git();
    project.write("TASKS.md", WAITING);
    project.run("run --mode normal");
    assert_eq!(rows(&project)["timer"], (1, 1));
    // A day passes while no program runs.
    let journal = project.journal().join("journal.db");
    let db = rusqlite::Connection::open(journal).unwrap();
    db.execute("UPDATE effect SET due = 1 WHERE kind = 'timer'", []).unwrap();
    drop(db);
    // Hosts that are killed as soon as they are there, which is when the timer fires.
    let socket = project.journal().join("engine.sock");
    for _ in 0..8 {
        let _gone = fs::remove_file(&socket);
        let mut run = begin(&project, "run --resume");
        wait_for("a host", || socket.exists() || run.try_wait().unwrap().is_some());
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(bodies(&project, "reminded").len() <= 1);
    }
    let mut run = begin(&project, "run --resume");
    wait_for("the reminder", || !bodies(&project, "reminded").is_empty());
    run.wait().unwrap();
    project.run("run --resume");
    assert_eq!(bodies(&project, "reminded"), [json!({ "id": "q1" })]);
    assert_eq!(rows(&project)["timer"], (1, 1), "the next one is a day away");
}
