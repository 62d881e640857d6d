//! What must hold after a fault, whatever the fault was.

use crate::{
    process::Ended,
    scenario::{Fate, MEMORY_HISTORY, MEMORY_STATE, RUN, Scenario, WORKFLOW},
    site::Site,
};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// What the project looked like right before the command.
#[derive(Debug)]
pub(crate) struct Before {
    log: Vec<String>,
    files: BTreeMap<&'static str, Option<Vec<u8>>>,
}

/// How a faulty command turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// It reported success, and everything is there.
    Done,
    /// It did not report success, and nothing is there.
    Undone,
    /// It did not report success, but at least a part had been recorded.
    Recorded,
}

/// Files that are either as before, edited, or a rendering of ours; never anything else.
const WINDOWS: [&str; 4] = [WORKFLOW, RUN, MEMORY_STATE, MEMORY_HISTORY];
/// Files of which no command writes more than ticks of boxes.
const INPUTS: [&str; 2] = ["TASKS.md", "review.md"];
/// Settings of agent programs, in which the whole hook is registered or nothing.
const SETTINGS: [&str; 3] =
    [".claude/settings.local.json", ".codex/hooks.json", ".gemini/settings.json"];
const EXCLUDE: &str = ".git/info/exclude";

impl Before {
    /// Looks at a site that is prepared for the command, without taking up its edits.
    pub(crate) fn of(site: &Site) -> Self {
        let read = |name: &'static str| (name, fs::read(site.path(name)).ok());
        let files = WINDOWS.into_iter().chain(INPUTS).chain([EXCLUDE]).map(read).collect();
        let log = fs::read_to_string(site.outside("log")).unwrap();
        Self { log: log.lines().map(str::to_owned).collect(), files }
    }
}

/// Whether the fault was in taking something away, which is then there until the next rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cleaning {
    Works,
    Failed,
}

/// Looks at a site after a fault. Panics with what does not hold.
pub(crate) fn judge(
    scenario: &Scenario,
    site: &Site,
    before: &Before,
    ended: &Ended,
    cleaning: Cleaning,
) -> Verdict {
    assert_ne!(ended.code, Some(70), "a bug of ours: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "a panic");
    assert!(ended.signal.is_none_or(|signal| signal == 9), "died of a signal");
    // What `doctor` has found is its data.
    let is_told = !ended.stderr.is_empty() || ended.stdout.contains("bad ");
    assert!(ended.is_done() || ended.signal.is_some() || is_told, "no message: {}", ended.stdout);
    every_file_is_whole(site, before);
    site.waypost(&["status"]).expect_code(0);
    let recorded = recorded(scenario, site, before);
    let all = scenario.records.len();
    assert!(
        !ended.is_done() || recorded == all,
        "reported, but only {recorded} of {all} are there"
    );
    windows_are_in_step(site);
    if cleaning == Cleaning::Works {
        nothing_is_left_over(site, &UNTIL_REPEATED);
    }
    edit_is_not_lost(scenario, site, before);
    doctor_is_content(site);
    repeating_completes(scenario, site, before, recorded);
    if cleaning == Cleaning::Works {
        nothing_is_left_over(site, &[]);
    }
    match recorded {
        _ if ended.is_done() => Verdict::Done,
        0 => Verdict::Undone,
        // What a later command takes up by itself is no sign that this one had got so far.
        1 if scenario.edit.is_some() => Verdict::Undone,
        _ => Verdict::Recorded,
    }
}

/// Before anything else looks at the project: no file is torn, mixed or missing.
fn every_file_is_whole(site: &Site, before: &Before) {
    let renderings = renderings(site);
    for name in WINDOWS {
        match (fs::read(site.path(name)).ok(), &before.files[name]) {
            (None, old) => assert!(old.is_none(), "{name} is gone"),
            (Some(now), old) => assert!(
                old.as_ref() == Some(&now) || renderings.contains(&hash_of(&site.path(name))),
                "{name} is neither old nor new"
            ),
        }
    }
    for name in INPUTS {
        let unticked = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).replace("[x]", "[ ]");
        let now = fs::read(site.path(name)).ok();
        let (now, old) = (now.as_ref().map(unticked), before.files[name].as_ref().map(unticked));
        assert_eq!(now, old, "{name}");
    }
    let exclude = fs::read_to_string(site.path(EXCLUDE)).unwrap_or_default();
    let lines = exclude.lines().filter(|line| line.starts_with('/')).count();
    let is_whole = (4..=7).contains(&lines) && exclude.ends_with("\n# waypost init: end\n");
    assert!(exclude.is_empty() || is_whole, "{exclude:?}");
    for name in SETTINGS {
        let Ok(text) = fs::read_to_string(site.path(name)) else { continue };
        let settings: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let events = settings["hooks"].as_object().map_or(0, serde_json::Map::len);
        assert!(events >= 5, "{name} has a part of the hook only: {text}");
    }
    let backup = site.path(&format!("{RUN}.bak"));
    if backup.exists() {
        assert!(renderings.contains(&hash_of(&backup)), "the .bak is no rendering");
    }
}

/// The hashes of the newest files that the program has put into a window of this site.
fn renderings(site: &Site) -> Vec<String> {
    let shelf = site.path(".git/waypost/windows");
    let kept = |name: &String| {
        name.starts_with("project/.git/waypost/windows/") && name.ends_with(".json")
    };
    assert!(shelf.exists() || site.files().iter().all(|name| !kept(name)));
    site.files().iter().filter(|name| kept(name)).map(|name| hash_in(name)).collect()
}

/// The hash in the name under which a rendering is kept: the newest is there without its bytes.
fn hash_in(name: &str) -> String {
    let name = name.strip_suffix(".json").unwrap_or(name);
    name.rsplit('-').next().unwrap_or_default().to_owned()
}

fn hash_of(path: &Path) -> String {
    blake3::hash(&fs::read(path).unwrap()).to_hex().to_string()
}

/// How many of the scenario's transactions are in the journal: each as a whole, in their order.
fn recorded(scenario: &Scenario, site: &Site, before: &Before) -> usize {
    let log = log(site);
    let (old, new) = log.split_at(before.log.len().min(log.len()));
    let new = without_rewording(new);
    assert_eq!(old, before.log, "the log of before must still be there");
    let counts = 0..=scenario.records.len();
    let found = counts.into_iter().find(|count| scenario.kinds(*count) == new);
    found.unwrap_or_else(|| panic!("no whole number of transactions: {new:?}"))
}

/// A refused edit that is found again is told again, with the new place where it is kept.
fn without_rewording(kinds: &[String]) -> Vec<&str> {
    kinds.iter().map(String::as_str).filter(|kind| *kind != "reworded").collect()
}

/// The kinds of all entries, oldest first, after checking that their numbers have no gap.
pub(crate) fn log(site: &Site) -> Vec<String> {
    let ended = site.waypost(&["log", "--json", "-n", "100000"]).expect_code(0);
    let entries: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry["seq"], at + 1, "entries are numbered without gaps");
    }
    entries.iter().map(|entry| entry["kind"].as_str().unwrap().to_owned()).collect()
}

/// A window shows the newest rendering.
fn windows_are_in_step(site: &Site) {
    for (window, shelf) in [
        (WORKFLOW, "workflow-main"),
        (RUN, "run"),
        (MEMORY_STATE, "memory.task-state"),
        (MEMORY_HISTORY, "memory.task-history"),
    ] {
        let folder = site.path(".git/waypost/windows").join(shelf);
        let mut kept: Vec<_> = match fs::read_dir(folder) {
            Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => continue,
        };
        kept.sort_unstable();
        let newest = kept.last().map(|path| hash_in(path.to_str().unwrap()));
        let shown = site.path(window);
        let shown = shown.exists().then(|| hash_of(&shown));
        assert_eq!(shown, newest, "{window} shows the newest state");
    }
}

/// What only the command that makes these files can take away, because it was not in the journal
/// yet when it died.
const UNTIL_REPEATED: [&str; 6] = [
    "/.journal.db.waypost-new-",
    "/.exclude.waypost-new-",
    "/.TASKS.md.waypost-",
    "/.shared-context.json.waypost-",
    "/.helper.json.waypost-",
    "/.knowledge.yaml.waypost-",
];

/// The next command has cleaned up.
fn nothing_is_left_over(site: &Site, excepted: &[&str]) {
    let is_temporary = |name: &&String| {
        let is_ours = name.contains(".waypost-") || name.ends_with(".json.lock");
        is_ours && !excepted.iter().any(|part| name.contains(part))
    };
    let files = site.files();
    let left: Vec<&String> = files.iter().filter(is_temporary).collect();
    assert!(left.is_empty(), "left over: {left:#?}");
}

fn edit_is_not_lost(scenario: &Scenario, site: &Site, before: &Before) {
    let Some(edit) = &scenario.edit else { return };
    let edited = before.files[edit.file].as_ref().unwrap();
    let folder = match edit.fate {
        // It is in the log, which was looked at.
        Fate::Adopted => return assert!(recorded(scenario, site, before) > 0, "the edit is lost"),
        Fate::Refused => "refused",
        Fate::Waits => "waiting",
    };
    let kept = fs::read_dir(site.path(".git/waypost").join(folder)).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().path()).collect();
    let holds = |path: &Path| match edit.fate {
        Fate::Waits => {
            let waiting: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            waiting["edited"] == serde_json::from_slice::<Value>(edited).unwrap()
        }
        _ => &fs::read(path).unwrap() == edited,
    };
    assert!(kept.iter().any(|path| holds(path)), "the edit is not in {folder}: {kept:?}");
}

fn doctor_is_content(site: &Site) {
    let ended = site.waypost(&["doctor", "--json"]).expect_code(0);
    let findings: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    for finding in &findings {
        assert_ne!(finding["verdict"], "bad", "{finding}");
        let is_window = finding["subject"] == "windows";
        assert!(!is_window || finding["verdict"] == "ok", "{finding}");
    }
}

/// The command can be repeated, and then everything is there, once.
fn repeating_completes(scenario: &Scenario, site: &Site, before: &Before, recorded: usize) {
    let all = scenario.records.len();
    let again = site.waypost(&scenario.args());
    let want = if recorded == all { scenario.again } else { 0 };
    assert_eq!(again.code, Some(want), "repeated with {recorded} of {all} there: {again:#?}");
    let log = log(site);
    let new = without_rewording(&log[before.log.len()..]);
    assert_eq!(new, scenario.kinds(all), "after repeating");
    windows_are_in_step(site);
}
