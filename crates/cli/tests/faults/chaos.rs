//! A run whose engine and keeper are killed at random, again and again, and taken up each time.
//!
//! Every task counts outside of us how often it was begun and finished. In the end every task is
//! recorded as completed once, none that was recorded as completed was begun again afterwards, and
//! no process is left.

use crate::{
    process,
    sample::{self, Random},
    site::{Site, WAYPOST},
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// How much is done.
struct Scale {
    tasks_per_phase: usize,
    phases: usize,
    kills: usize,
}

const FULL: Scale = Scale { tasks_per_phase: 60, phases: 5, kills: 40 };
const SMALL: Scale = Scale { tasks_per_phase: 12, phases: 3, kills: 8 };

/// The longest time until the next kill.
const LIFE_MAX_MS: u64 = 900;

/// How often, and how many times, it is looked for what is left.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: usize = 200;

/// Far longer than everything takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn a_run_survives_the_death_of_its_engine_and_its_keeper() {
    let scale = if sample::is_full() { FULL } else { SMALL };
    let site = Site::new();
    fs::write(site.path("TASKS.md"), tasks_md(&scale, &site.outside("counts"))).unwrap();
    fs::create_dir(site.outside("counts")).unwrap();
    let mut random = Random::new();
    let mut settled: BTreeMap<String, usize> = BTreeMap::new();
    for kill in 0..scale.kills {
        let mut engine = begin(&site);
        thread::sleep(Duration::from_millis(random.next() % LIFE_MAX_MS));
        // The engine alone, or the keeper alone, or both in either order. An engine that has lost
        // its keeper goes on for a while.
        let which = random.next() % 4;
        if which == 0 || which == 2 {
            let _over = engine.kill();
        }
        if which != 0 {
            keepers(&site).into_iter().for_each(kill_process);
        }
        if which == 3 {
            thread::sleep(Duration::from_millis(random.next() % LIFE_MAX_MS));
        }
        let _over = engine.kill();
        engine.wait().unwrap();
        note_settled(&site, &mut settled, kill);
    }
    let mut last = begin(&site);
    let status = process::wait(&mut last, PATIENCE).expect("the run comes to its end");
    assert!(status.success(), "{status}");
    let tasks = scale.tasks_per_phase * scale.phases;
    note_settled(&site, &mut settled, scale.kills);
    assert_completed_once(&site, tasks);
    assert_no_process_left(&site);
    println!("{tasks} tasks, {} kills, {}", scale.kills, sample::described());
}

/// Fails if a task that had been completed was begun again since.
pub(crate) fn note_settled(site: &Site, settled: &mut BTreeMap<String, usize>, kill: usize) {
    for (id, begun) in settled_now(site) {
        let before = *settled.entry(id.clone()).or_insert(begun);
        assert_eq!(before, begun, "{id} was completed and begun again, before kill {kill}");
    }
}

/// Every task is recorded as completed once, and has been finished before that.
pub(crate) fn assert_completed_once(site: &Site, tasks: usize) {
    let completed = completions(site);
    assert_eq!(completed.len(), tasks, "every task is completed");
    assert!(completed.values().all(|count| *count == 1), "once: {completed:#?}");
    for id in completed.keys() {
        assert!(lines(site, "finished", id) >= 1, "{id} is recorded, and never finished");
    }
}

/// No process is left. A keeper leaves a moment after the engine that it has heard of last.
pub(crate) fn assert_no_process_left(site: &Site) {
    let mut looks = 0;
    while !ours(site).is_empty() {
        looks += 1;
        assert!(looks < LOOKS_MAX, "left running: {:#?}", ours(site));
        thread::sleep(LOOK);
    }
}

/// Tasks that count themselves; half of them wait for the one before.
fn tasks_md(scale: &Scale, counts: &Path) -> String {
    let (mut text, counts) = (String::from("# Chaos\n"), counts.display());
    for phase in 1..=scale.phases {
        writeln!(text, "\n## Phase {phase}: Part {phase}\n").unwrap();
        for task in 1..=scale.tasks_per_phase {
            let id = format!("T{phase}.{task}");
            let depends = match task % 2 {
                0 => format!("T{phase}.{}", task - 1),
                _ => "none".to_owned(),
            };
            writeln!(text, "- [ ] {id}: Count\n  - depends: {depends}").unwrap();
            writeln!(
                text,
                "  - run: `echo x >> {counts}/begun.{id}; sleep 0.0{}; echo x >> {counts}/finished.{id}`",
                task % 9
            )
            .unwrap();
        }
    }
    text
}

fn begin(site: &Site) -> Child {
    let mut command: Command = site.command(WAYPOST);
    command.args(["run", "--resume", "--max-parallel", "4", "--quiet"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// How often each task was recorded as completed.
fn completions(site: &Site) -> BTreeMap<String, usize> {
    let ended = site.waypost(&["--json", "log", "-n", "1000000"]).expect_code(0);
    let mut found = BTreeMap::new();
    for line in ended.stdout.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        if entry["kind"] == "task_completed" {
            let id = entry["body"]["id"].as_str().unwrap().to_owned();
            *found.entry(id).or_insert(0) += 1;
        }
    }
    found
}

/// The tasks that are recorded as completed, with how often each was begun.
fn settled_now(site: &Site) -> Vec<(String, usize)> {
    completions(site)
        .into_keys()
        .map(|id| {
            let begun = lines(site, "begun", &id);
            (id, begun)
        })
        .collect()
}

pub(crate) fn lines(site: &Site, what: &str, id: &str) -> usize {
    let path = site.outside("counts").join(format!("{what}.{id}"));
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Processes below this site: their environment or command line names it.
pub(crate) fn ours(site: &Site) -> Vec<(u32, String)> {
    let root = site.outside("").display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let told = |pid: u32, name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    pids.filter(|pid| *pid != std::process::id())
        .map(|pid| (pid, told(pid, "cmdline"), told(pid, "environ")))
        .filter(|(_, line, environment)| line.contains(&root) || environment.contains(&root))
        .map(|(pid, line, _)| (pid, line))
        .collect()
}

pub(crate) fn keepers(site: &Site) -> Vec<u32> {
    ours(site)
        .into_iter()
        .filter(|(_, line)| line.contains(" keeper "))
        .map(|(pid, _)| pid)
        .collect()
}

pub(crate) fn kill_process(pid: u32) {
    // It may have ended by itself.
    let _over = Command::new("kill").args(["-9", &pid.to_string()]).output();
}
