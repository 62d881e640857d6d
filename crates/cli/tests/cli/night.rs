//! A night of `waypost serve` in fast motion: tasks of all types by agents that break by chance, and kills of
//! everything by chance. In the morning nothing is left open, nothing runs, and nothing has piled up.
//!
//! The ordinary run takes a handful of tasks; `WAYPOST_FAULTS=full` takes 200, `WAYPOST_FAULTS_SEED` draws
//! other faults.

use crate::{
    execute::{alive, comes_within, kill_all},
    harness::USER_CONFIG,
    shop::{QUESTION, Shop, deliverables, say, steps, verdict, write},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

const VALUE: &str = "[DEPENDENCY_REQUEST]\ntype: api_key\nname: NIGHT_KEY\ndescription: for the lamp\n\
                     required: true\n[/DEPENDENCY_REQUEST]";

/// More than is read at once.
const FLOOD_BYTES: u64 = 4 << 20;

/// What the host itself may hold in memory in the morning: 32 MiB, which a build for tests needs idle, and a machine
/// state with its listing for each task. A room that was not taken away, with its stream, is more.
const HOST_KB: u64 = 64 << 10;
const HOST_KB_PER_TASK: u64 = 128;

/// What a task may leave on the disk beside floods: its workspace, at most ten checkpoints and the ends of its phases,
/// what its agents said, its part of the journal.
const DISK_BYTES: u64 = 64 << 20;
const DISK_BYTES_PER_TASK: u64 = (2 << 20) + 2 * FLOOD_BYTES;

/// A small generator, the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) >> 16) % sides
    }
}

/// What a phase of each type is to leave.
fn documents(kind: &str, phase: u32) -> Vec<Value> {
    let text = "A sentence of a document that says something. ".repeat(30);
    let names: &[&str] = match (kind, phase) {
        ("create_app", phase) => return deliverables(phase),
        ("modify_app", 1) => {
            &["analysis/01_structure", "analysis/02_dependencies", "analysis/current_state"]
        }
        ("modify_app", 2) => &[
            "planning/01_scope",
            "planning/02_impact",
            "planning/modification_plan",
            "planning/04_test_plan",
        ],
        ("modify_app", 3) => &[
            "implementation/01_prepare",
            "implementation/02_data",
            "implementation/03_logic",
            "implementation/04_interface",
            "implementation/05_tests",
            "implementation/06_cleanup",
        ],
        ("modify_app", _) => {
            &["verification/01_regression", "verification/02_acceptance", "verification/03_report"]
        }
        ("workflow", 1) => &["planning/workflow_requirements"],
        ("workflow", 2) => &["design/workflow_design"],
        ("workflow", 3) => return vec![write("src/main.txt", "code")],
        _ => &["verification/report"],
    };
    names.iter().map(|name| write(&format!("docs/{name}.md"), &text)).collect()
}

/// What the agent of a task does from a phase on.
fn from_phase(kind: &str, phase: u32) -> Vec<Value> {
    let mut all = Vec::new();
    for phase in phase..=4 {
        all.extend(documents(kind, phase));
        all.push(say(&format!("=== PHASE {phase} COMPLETE ===")));
        all.push(json!({"turn_end": true}));
    }
    all
}

/// The attempts at a piece of work: some of the first ones break, in all the ways that agents have.
fn attempts(dice: &mut Dice, well: &[Value]) -> Value {
    let mut all = Vec::new();
    for _ in 0..2 {
        let half = usize::try_from(dice.roll(well.len() as u64)).unwrap();
        let (done, rest) = well.split_at(half);
        let end = json!({"turn_end": true});
        let fault = match dice.roll(14) {
            0 => vec![json!({"crash": 3})],
            1 => vec![json!({"crash": "SIGKILL"})],
            2 => vec![json!({"exit": 0})],
            3 => vec![json!({"limit": {"resets_in_s": 1}})],
            4 => vec![json!({"garbage": true})],
            5 => vec![json!({"unavailable": "outage"})],
            // Until it is killed by chance.
            6 => vec![json!({"hang": true})],
            7 => [vec![json!({"flood": FLOOD_BYTES})], rest.to_vec()].concat(),
            8 => [vec![say(QUESTION), end], rest.to_vec()].concat(),
            // It goes on in another process, which has the value.
            9 => vec![say(VALUE), end],
            _ => break,
        };
        all.push(steps(&[done.to_vec(), fault].concat()));
    }
    all.push(steps(well));
    json!(all)
}

/// A night of a shop.
struct Night {
    shop: Shop,
    dice: Dice,
    ids: Vec<String>,
}

impl Night {
    fn begin(count: usize, seed: u64) -> Self {
        let mut shop = Shop::new(&json!({}));
        let config = shop.project.read(USER_CONFIG).replace("[run]\n", "[run]\nmax_agents = 8\n");
        shop.project.write(USER_CONFIG, &config);
        let mut dice = Dice(seed);
        let (mut ids, mut tasks) = (Vec::new(), json!({}));
        for number in 0..count {
            // Most have no reviews, each of which takes a person.
            let kind = match (number, number % 16) {
                (1, _) | (16.., 3) => "create_app",
                (3, _) | (16.., 7) => "modify_app",
                (5, _) | (16.., 11) => "workflow",
                _ => "custom",
            };
            let line = format!("'Task {number}' --type {kind} --description 'Do it.'");
            let id = shop.new_task(&line);
            if kind == "custom" {
                let done = [write("note.txt", "x"), say("=== CUSTOM TASK COMPLETE ===")];
                tasks[format!("{id}.0")] = attempts(&mut dice, &done);
            }
            for phase in 1..=4_u32 {
                if kind != "custom" {
                    tasks[format!("{id}.{phase}")] = attempts(&mut dice, &from_phase(kind, phase));
                    let passes = steps(&[verdict(true, "")]);
                    tasks[format!("{id}.{phase}.verification")] = json!([passes]);
                }
            }
            ids.push(id);
        }
        shop.script(&tasks);
        shop.serve();
        for id in &ids {
            shop.project.must(&format!("task submit {id}"));
        }
        Self { shop, dice, ids }
    }

    /// How many tasks are in which state.
    fn states(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for row in self.shop.project.json("task list --limit 1000").as_array().unwrap() {
            *found.entry(row["status"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        found
    }

    /// Something breaks, or nothing does.
    fn strike(&mut self) {
        let some = |dice: &mut Dice, pids: Vec<u32>| {
            let at = usize::try_from(dice.roll(pids.len().max(1) as u64)).unwrap();
            pids.into_iter().nth(at).into_iter().collect::<Vec<_>>()
        };
        match self.dice.roll(12) {
            0 => {
                self.shop.kill_host();
                self.shop.serve();
            }
            1 => kill_all(
                some(&mut self.dice, alive("/keepers"))
                    .into_iter()
                    .filter(|pid| self.shop.processes().contains(pid))
                    .collect(),
            ),
            2 => {
                let talks = self.shop.project.base().join("talks");
                let agents = alive(talks.to_str().unwrap());
                kill_all(some(&mut self.dice, agents));
            }
            _ => {}
        }
    }

    /// A person looks again at what an outage holds, now and then.
    fn resume(&mut self) {
        if self.dice.roll(4) > 0 {
            return;
        }
        for row in self.shop.project.json("task list --state in_progress").as_array().unwrap() {
            if row["paused_by"] == "rate_limit" {
                // It may go on by itself meanwhile.
                let id = row["id"].as_str().unwrap();
                let _gone_on = self.shop.project.as_person(&format!("task resume {id}"));
            }
        }
    }

    /// A person approves and answers what waits.
    fn approve(&self) {
        let given = self.shop.project.base().join("given");
        fs::write(&given, "lamp-0123456789").unwrap();
        let entries = self.shop.project.json("inbox");
        for entry in entries.as_array().unwrap() {
            let (id, kind) = (entry["id"].as_str().unwrap(), entry["kind"].as_str().unwrap());
            match kind {
                "review" => drop(self.shop.project.person_must(&format!("inbox approve {id}"))),
                "escalation" => drop(self.shop.project.as_person(&format!("inbox retry {id}"))),
                // A task may fail between the look and the answer.
                "agent_question" => {
                    drop(self.shop.project.as_person(&format!("inbox answer {id} green")));
                }
                "value" => {
                    let line = format!("inbox provide {id} --file {}", given.display());
                    drop(self.shop.project.as_person(&line));
                }
                other => panic!("{other} waits: {entry}"),
            }
        }
    }

    fn play(&mut self, patience: Duration) {
        let began = Instant::now();
        let is_over = |states: &BTreeMap<String, usize>, count: usize| {
            let of = |word: &str| states.get(word).copied().unwrap_or(0);
            of("completed") + of("failed") == count
        };
        loop {
            let states = self.states();
            if is_over(&states, self.ids.len()) {
                break;
            }
            assert!(began.elapsed() < patience, "{states:?}\n{}", self.shop.said());
            self.strike();
            self.approve();
            self.resume();
        }
    }

    /// In the morning.
    fn check(&mut self) {
        let shop = &self.shop;
        assert!(comes_within(60, || shop.processes().len() <= 1), "{:?}", shop.processes());
        let host = shop.server.as_ref().unwrap().id();
        let open = fs::read_dir(format!("/proc/{host}/fd")).unwrap().count();
        assert!(open < 64, "the host holds {open} files open");
        let (count, held) = (self.ids.len() as u64, anonymous_kb(host));
        assert!(held < HOST_KB + count * HOST_KB_PER_TASK, "the host holds {held} KB");
        // The host takes them away when it has seen that the processes are gone.
        // What begins with a dot is a file that a killed host was writing, and no attempt.
        let fences = || -> Vec<String> {
            let all = fs::read_dir(shop.project.journal().join("fences")).into_iter().flatten();
            let names = all.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
            names.filter(|name| !name.starts_with('.')).collect()
        };
        assert!(comes_within(60, || fences().is_empty()), "an attempt is live: {:?}", fences());
        let states = self.states();
        // An agent that breaks three times in a row without having achieved anything fails its task.
        assert!(states["completed"] * 10 >= self.ids.len() * 8, "{states:?}");
        self.shop.end();
        let project = &self.shop.project;
        assert_eq!(self.shop.processes(), Vec::<u32>::new());
        assert_eq!(open_effects(&project.journal()), 0);
        let left = |path: &Path| fs::read_dir(path).map_or(0, Iterator::count);
        for id in &self.ids {
            let folder = project.journal().join("tasks").join(id);
            assert_eq!(left(&folder.join("keepers")), 0, "{id} has no keeper");
            let transitions = self.shop.transitions(id);
            let ends = transitions
                .iter()
                .filter(|it| it.ends_with(" completed") || it.ends_with(" failed"));
            assert_eq!(ends.count(), 1, "{id} ends once: {transitions:?}");
        }
        let taken = size(&project.journal()) + size(&project.path(".waypost"));
        assert!(taken < DISK_BYTES + count * DISK_BYTES_PER_TASK, "{taken} bytes are left");
        for finding in project.json("doctor").as_array().unwrap() {
            assert_ne!(finding["verdict"], "bad", "{finding}");
        }
    }
}

/// The memory of a process that is its own.
fn anonymous_kb(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How many bytes there are below a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

/// How many effects are not performed; those of a time yet to come are the reminders of open entries.
fn open_effects(journal: &Path) -> u64 {
    let db = rusqlite::Connection::open(journal.join("journal.db")).unwrap();
    db.query_row("SELECT count(*) FROM effect WHERE done_at IS NULL", [], |row| row.get(0)).unwrap()
}

#[test]
fn faults_night_of_a_server_leaves_nothing_behind() {
    if no_person_is_here() {
        return;
    }
    let is_full = env::var("WAYPOST_FAULTS").as_deref() == Ok("full");
    let seed = env::var("WAYPOST_FAULTS_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let (count, patience) = if is_full { (200, 3_000) } else { (8, 240) };
    eprintln!("{count} tasks, seed {seed}");
    let mut night = Night::begin(count, seed);
    night.play(Duration::from_secs(patience));
    night.check();
}
