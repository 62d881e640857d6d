//! The chaos of `chaos`, with a work tree for each attempt or for each phase: engine, keeper and git
//! are killed at random, again and again, and the run is taken up each time.
//!
//! In the end the target branch has every task's change once, nothing of the trees is left but
//! snapshots of what would have been lost, and the user's own files are as they were.

use crate::{
    chaos::{self, PATIENCE},
    process,
    repository::{Deed, Hands, Repository, Task, Way},
    sample::{self, Random},
    site::{Site, WAYPOST},
};
use std::{
    collections::BTreeMap,
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How much is done.
pub(crate) struct Scale {
    tasks_per_phase: usize,
    phases: usize,
    kills: usize,
    /// The longest time until the next kill.
    life_max_ms: u64,
}

impl Scale {
    /// A plan of this size, for others that do something else to its run.
    pub(crate) fn of(tasks_per_phase: usize, phases: usize) -> Self {
        Self { tasks_per_phase, phases, ..SMALL }
    }
}

const FULL: Scale = Scale { tasks_per_phase: 60, phases: 5, kills: 40, life_max_ms: 5_000 };
const SMALL: Scale = Scale { tasks_per_phase: 7, phases: 2, kills: 5, life_max_ms: 1_500 };

#[test]
fn a_run_apart_survives_the_death_of_its_engine_its_keeper_and_git() {
    let scale = if sample::is_full() { FULL } else { SMALL };
    survives(&scale, Way::Attempts, Hands::Commands);
}

#[test]
fn a_run_in_one_tree_for_each_phase_survives_the_same() {
    let full = Scale { tasks_per_phase: 20, phases: 3, ..FULL };
    let scale = if sample::is_full() { full } else { SMALL };
    survives(&scale, Way::Phases, Hands::Commands);
}

/// Agents take longer than commands, and have a keeper each.
const AGENTS_FULL: Scale = Scale { tasks_per_phase: 40, phases: 5, kills: 60, life_max_ms: 8_000 };
const AGENTS_SMALL: Scale = Scale { tasks_per_phase: 4, phases: 2, kills: 4, life_max_ms: 3_000 };

#[test]
fn a_run_of_agents_in_the_project_survives_the_same() {
    agents_survive(Way::Project);
}

#[test]
fn a_run_of_agents_in_trees_of_their_own_survives_the_same() {
    agents_survive(Way::Attempts);
}

#[test]
fn a_run_of_agents_in_the_trees_of_phases_survives_the_same() {
    agents_survive(Way::Phases);
}

fn agents_survive(way: Way) {
    let scale = if sample::is_full() { AGENTS_FULL } else { AGENTS_SMALL };
    survives(&scale, way, Hands::Agents);
}

fn survives(scale: &Scale, way: Way, hands: Hands) {
    let repository = Repository::new(plan(scale, way), way, hands);
    let site = &repository.site;
    let mut random = Random::new();
    let mut settled: BTreeMap<String, usize> = BTreeMap::new();
    let mut struck = Struck::default();
    let start = Instant::now();
    for kill in 0..scale.kills {
        let mut engine = begin(site, way);
        let pause = |random: &mut Random| {
            thread::sleep(Duration::from_millis(random.next() % scale.life_max_ms));
        };
        // By progress, so that kills are spread over the whole run; and by time, so that they also
        // meet an engine that has just begun.
        match kill % 2 {
            0 => await_begun(&repository, &mut engine, repository.tasks.len() * kill / scale.kills),
            _ => pause(&mut random),
        }
        struck.underway += usize::from(engine.try_wait().unwrap().is_none());
        // Any of the three, or all of them; then the engine, if it has been spared so far.
        let which = random.next() % 7 + 1;
        if which & 1 != 0 {
            let _over = engine.kill();
        }
        if which & 2 != 0 {
            let keepers = chaos::keepers(site);
            struck.keepers += keepers.len();
            keepers.into_iter().for_each(chaos::kill_process);
        }
        if which & 4 != 0 {
            struck.gits += kill_gits(site);
        }
        if which & 1 == 0 {
            pause(&mut random);
            let _over = engine.kill();
        }
        engine.wait().unwrap();
        chaos::note_settled(site, &mut settled, kill);
        repository.assert_safe();
    }
    let mut last = begin(site, way);
    let status = process::wait(&mut last, PATIENCE).expect("the run comes to its end");
    assert!(status.success(), "{status}: {}", said(site));
    chaos::note_settled(site, &mut settled, scale.kills);
    repository.assert_whole();
    let seconds = start.elapsed().as_secs();
    let (tasks, kills) = (repository.tasks.len(), scale.kills);
    let told =
        format!("{tasks} tasks ({way:?}, {hands:?}), {kills} kills, {struck:?}, {seconds} s");
    process::say(&format!("{told}, {}", sample::described()));
    assert!(struck.underway * 2 >= kills, "those by progress find it under way: {struck:?}");
}

#[test]
fn a_run_apart_goes_on_when_its_keeper_dies_again_and_again() {
    let scale = Scale { tasks_per_phase: 9, phases: 1, ..SMALL };
    let repository = Repository::new(plan(&scale, Way::Attempts), Way::Attempts, Hands::Commands);
    let site = &repository.site;
    // The check at the phase's end waits for its keeper's death the first time.
    let (mark, path) = (site.outside("checked"), site.path("waypost.toml"));
    let check = format!("test -e {0} || {{ touch {0}; sleep 600; }}", mark.display());
    fs::write(&path, format!("[run]\nchecks = [{check:?}]\n")).unwrap();
    repository.git(&["commit", "-qm", "Wait in a check", "--", "waypost.toml"]);
    let mut engine = begin(site, Way::Attempts);
    let (mut random, mut kills) = (Random::new(), 0);
    let is_over = |engine: &mut Child| engine.try_wait().unwrap().is_some();
    while !mark.exists() && !is_over(&mut engine) {
        // The moment of a kill is what is drawn; after the last one this is how often it is looked.
        thread::sleep(Duration::from_millis(random.next() % 500));
        if kills < 8 {
            let keepers = chaos::keepers(site);
            kills += keepers.len();
            keepers.into_iter().for_each(chaos::kill_process);
        }
    }
    assert!(!is_over(&mut engine), "{}", said(site));
    chaos::keepers(site).into_iter().for_each(chaos::kill_process);
    let status = process::wait(&mut engine, PATIENCE).expect("the run comes to its end");
    assert!(status.success(), "{status}: {}", said(site));
    repository.assert_whole();
}

#[test]
fn a_burst_of_keeper_deaths_is_asked_in_the_inbox_and_ends_no_run() {
    let scale = Scale { tasks_per_phase: 2, phases: 1, ..SMALL };
    let repository = Repository::new(plan(&scale, Way::Attempts), Way::Attempts, Hands::Commands);
    let site = &repository.site;
    // The check at the phase's end never ends by itself, so there is a keeper at work all the time.
    fs::write(site.path("waypost.toml"), "[run]\nchecks = [\"sleep 600\"]\n").unwrap();
    repository.git(&["commit", "-qm", "Wait in a check", "--", "waypost.toml"]);
    let mut engine = begin(site, Way::Attempts);
    let start = Instant::now();
    while !site.waypost(&["inbox"]).stdout.contains("keepers are killed") {
        assert!(engine.try_wait().unwrap().is_none(), "{}", said(site));
        assert!(start.elapsed() < PATIENCE, "{}", said(site));
        chaos::keepers(site).into_iter().for_each(chaos::kill_process);
        thread::sleep(Duration::from_millis(20));
    }
    assert!(engine.try_wait().unwrap().is_none(), "{}", said(site));
    let _over = engine.kill();
    engine.wait().unwrap();
    site.waypost(&["run", "stop"]).expect_code(0);
    repository.assert_safe();
}

/// Waits until so many tasks have been begun, or the engine has ended.
fn await_begun(repository: &Repository, engine: &mut Child, count: usize) {
    const LOOK: Duration = Duration::from_millis(5);
    let is_begun = |task: &&Task| chaos::lines(&repository.site, "begun", &task.id) > 0;
    while engine.try_wait().unwrap().is_none()
        && repository.tasks.iter().filter(is_begun).count() <= count
    {
        thread::sleep(LOOK);
    }
}

/// What the kills have met.
#[derive(Debug, Default)]
struct Struck {
    /// Engines that were at work.
    underway: usize,
    keepers: usize,
    gits: usize,
}

pub(crate) fn plan(scale: &Scale, way: Way) -> Vec<Task> {
    let deeds = [
        Deed::Writes,
        Deed::Proves,
        Deed::Commits,
        Deed::Shares,
        Deed::Writes,
        Deed::Shares,
        Deed::Nothing,
        Deed::Proves,
        Deed::Writes,
        Deed::Commits,
    ];
    let mut tasks = Vec::new();
    for phase in 1..=scale.phases {
        for number in 1..=scale.tasks_per_phase {
            let depends = (number % 5 == 0).then(|| format!("T{phase}.{}", number - 1));
            let id = format!("T{phase}.{number}");
            let deed = match deeds[(number - 1) % deeds.len()] {
                // What an attempt has committed in a tree that others share stays there.
                Deed::Commits if way != Way::Attempts => Deed::Writes,
                deed => deed,
            };
            tasks.push(Task { id, phase, deed, depends });
        }
    }
    tasks
}

fn begin(site: &Site, way: Way) -> Child {
    let mut command = site.command(WAYPOST);
    command.args(["run", "--resume", "--isolation", way.isolation(), "--max-parallel", "4"]);
    command.args(["--retry-limit", "100", "--no-budget"]);
    let said = fs::File::create(site.outside("said")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    command.spawn().unwrap()
}

/// What the last engine said.
fn said(site: &Site) -> String {
    fs::read_to_string(site.outside("said")).unwrap()
}

/// Kills the git processes of this site, those of tasks among them. They live for so short a time
/// that it is looked for them more than once.
fn kill_gits(site: &Site) -> usize {
    const LOOKS: usize = 50;
    let is_git = |line: &str| line.split(' ').next().is_some_and(|it| it.ends_with("git"));
    let gits = || {
        let ours = chaos::ours(site).into_iter();
        ours.filter(|(_, line)| is_git(line)).map(|(pid, _)| pid).collect::<Vec<u32>>()
    };
    let found = (0..LOOKS).map(|_| gits()).find(|gits| !gits.is_empty()).unwrap_or_default();
    found.iter().copied().for_each(chaos::kill_process);
    found.len()
}
