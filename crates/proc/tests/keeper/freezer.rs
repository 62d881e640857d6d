//! Children in control groups of their own. Where none can be made, these say so and do nothing.

use crate::site::{CHAOS, Site, end, plain, reports, run, until};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_proc::{Ended, Found, How, Keeper, Spec, Stop, find};

/// The control group that these tests and their keepers run in; `None`: no other can be made in it.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::/"));
    let found = mount.zip(path).and_then(|(mount, path)| {
        let folder = Path::new(mount.split(' ').nth(4)?).join(path);
        let probe = folder.join(format!("waypost-probe-{}", std::process::id()));
        fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).ok()?;
        Some(folder)
    });
    if found.is_none() {
        eprintln!("SKIPPED: no control group can be made here");
    }
    found
}

/// The groups of one keeper's children.
fn groups(own: &Path, keeper: &str) -> Vec<PathBuf> {
    let prefix = format!("waypost-{keeper}-");
    let entries = fs::read_dir(own).unwrap().map(|entry| entry.unwrap());
    let is_its_own = |name: &str| name.starts_with(&prefix);
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_its_own))
        .map(|entry| entry.path())
        .collect()
}

fn group(own: &Path, keeper: &str) -> PathBuf {
    let mut found = groups(own, keeper);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn is_frozen(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.events")).unwrap().contains("frozen 1")
}

fn grouped(mut spec: Spec) -> Spec {
    spec.limits.cgroup = true;
    spec
}

fn kill_keeper(keeper: &Keeper) {
    let pid = keeper.process().unwrap().pid;
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    until(|| keeper.process().is_none());
}

/// A child in whose tree a process counts on, in a session of its own and without its parent.
fn counting(site: &Site) -> Spec {
    let count = format!(
        "trap '' TERM TSTP HUP; n=0; while :; do n=$((n+1)); echo $n > {}; sleep 0.01; done",
        site.folder.path().join("count").display()
    );
    let text = format!("sleep 0.1; (setsid sh -c \"$0\" {} &); exec cat", site.token);
    let mut spec = grouped(site.shell("T1", ""));
    let words = ["sh", "-c", &text, &count];
    spec.program = waypost_proc::Program::Argv(crate::site::words(&words));
    let stream = site.folder.path().join("stream");
    spec.talk =
        Some(waypost_proc::Talk { stream, stream_size: 1 << 20, opening: vec![], is_all: false });
    spec
}

fn count(site: &Site) -> String {
    fs::read_to_string(site.folder.path().join("count")).unwrap_or_default()
}

#[test]
fn serial_a_frozen_tree_stands_still_with_all_that_left_it() {
    let Some(own) = own_group() else { return };
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![counting(&site)]).unwrap();
    until(|| !count(&site).is_empty());
    let group = group(&own, keeper.id());
    for _ in 0..2 {
        keeper.pause("T1").unwrap();
        until(|| is_frozen(&group));
        // What is asked of it meanwhile waits.
        keeper.say("T1", b"x").unwrap();
        let (before, stream) = (count(&site), fs::read(site.folder.path().join("stream")).unwrap());
        run(&keeper, site.shell(&format!("other{before}"), "sleep 0.1"));
        assert!(is_frozen(&group));
        assert_eq!(count(&site), before);
        assert_eq!(fs::read(site.folder.path().join("stream")).unwrap(), stream);
        keeper.resume("T1").unwrap();
        until(|| count(&site) != before && !count(&site).is_empty());
        until(|| fs::read(site.folder.path().join("stream")).unwrap().len() == stream.len() + 1);
    }
    keeper.pause("T1").unwrap();
    until(|| is_frozen(&group));
    keeper.stop("T1", Stop::Asked).unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, Ended { output: 2, forced: true, ..plain(How::Stopped, b"", &ended) });
    site.assert_nothing_lives();
    assert_eq!(groups(&own, keeper.id()), Vec::<PathBuf>::new());
    keeper.close().unwrap();
}

#[test]
fn serial_a_tree_in_a_group_behaves_as_any_other() {
    let Some(own) = own_group() else { return };
    let site = Site::new();
    let keeper = site.keeper();
    let ended = run(&keeper, grouped(site.shell("plain", "echo text; exit 3")));
    assert_eq!(ended, plain(How::Exited(3), b"text\n", &ended));
    keeper.spawn(vec![grouped(site.chaos("tree", &["tree"]))]).unwrap();
    site.wait_for_up("tree", 5);
    keeper.stop("tree", Stop::Asked).unwrap();
    let ended = end(&keeper, "tree");
    assert_eq!(ended, Ended { forced: true, ..plain(How::Stopped, &ended.tail, &ended) });
    site.assert_nothing_lives();
    // One that was not asked for has none.
    keeper.spawn(vec![site.chaos("other", &["stay"])]).unwrap();
    site.wait_for_up("other", 1);
    assert_eq!(groups(&own, keeper.id()), Vec::<PathBuf>::new());
    keeper.stop("other", Stop::Asked).unwrap();
    end(&keeper, "other");
    keeper.close().unwrap();
}

#[test]
fn serial_one_that_wiped_everything_is_known_by_its_group() {
    let Some(own) = own_group() else { return };
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![grouped(site.shell("other", "exec sleep 1000"))]).unwrap();
    reports(&keeper, 1);
    // Without a group it could be the other's too, and would outlive the end of this one.
    let text = format!("sleep 0.1; (setsid env -i {CHAOS} deaf {} &); exec sleep 1000", site.token);
    keeper.spawn(vec![grouped(site.shell("wiper", &text))]).unwrap();
    site.wait_for_up("wiper", 1);
    assert_eq!(groups(&own, keeper.id()).len(), 2);
    keeper.stop("wiper", Stop::Asked).unwrap();
    let ended = end(&keeper, "wiper");
    assert_eq!(ended, Ended { forced: true, ..plain(How::Stopped, &ended.tail, &ended) });
    site.assert_nothing_lives();
    keeper.stop("other", Stop::Asked).unwrap();
    end(&keeper, "other");
}

#[test]
fn serial_groups_of_a_dead_keeper_are_emptied_and_removed() {
    let Some(own) = own_group() else { return };
    let site = Site::new();
    let keeper = site.keeper();
    let id = keeper.id().to_owned();
    keeper.spawn(vec![counting(&site)]).unwrap();
    until(|| !count(&site).is_empty());
    // It made a group of its own in its group, and was frozen when its keeper died.
    let group = group(&own, &id);
    fs::create_dir(group.join("inner")).unwrap();
    keeper.pause("T1").unwrap();
    until(|| is_frozen(&group));
    kill_keeper(&keeper);
    let Some(Found::Dead(dead)) = find(&site.keepers()).unwrap().pop() else { panic!() };
    // The shell, the program that it waits for if it was frozen while there was one, and what they
    // start within their grace.
    let ended = dead.reap(Duration::from_millis(200)).unwrap();
    assert!(ended >= 1, "{ended}");
    site.assert_nothing_lives();
    assert_eq!(groups(&own, &id), Vec::<PathBuf>::new());
    assert_eq!(dead.reap(Duration::ZERO).unwrap(), 0);
    dead.remove().unwrap();
}
