//! A disk that is really full, and one that is read-only: rows A4 and A9.
//!
//! The work is done by a second copy of this test program in a namespace of its own, where it may
//! mount a small file system over the site. Nothing is mounted outside of it.

use crate::{
    judge::{self, Before, Cleaning, Verdict},
    process::{self, say},
    sample,
    scenario::{self, Scenario},
    site::{Site, remove},
};
use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::Command,
};

/// Tells the second copy that it may mount.
const INSIDE: &str = "WAYPOST_FAULTS_INSIDE";
/// A disk of this size holds a project several times over.
const DISK: &str = "size=4m";
const KIB: u64 = 1024;
/// How much is left on the disk when a command starts; files grow by pages of 4 KiB.
const LEFT: [u64; 12] = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];

#[test]
fn a_full_disk_loses_nothing_that_was_reported() {
    run_inside("full_disk::inside_a_small_disk");
}

#[test]
fn a_read_only_disk_is_reported_and_changes_nothing() {
    run_inside("full_disk::inside_a_read_only_disk");
}

/// Runs one ignored test of this program where it may mount.
pub(crate) fn run_inside(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut probe = Command::new("unshare");
    probe.args(["-Urm", "mount", "-t", "tmpfs", "-o", DISK, "none"]).arg(folder.path());
    match probe.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            say(&format!("SKIPPED: {test}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            return;
        }
        Err(error) => {
            say(&format!("SKIPPED: {test}: unshare cannot be started: {error}"));
            return;
        }
    }
    let output = Command::new("unshare")
        .arg("-Urm")
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let [out, said] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(out.contains("1 passed"), "{out}\n{said}");
    say(said.trim_end());
}

pub(crate) fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

#[test]
#[ignore = "runs where it may mount, started by a_full_disk_loses_nothing_that_was_reported"]
fn inside_a_small_disk() {
    if !is_inside() {
        return;
    }
    let mut failures = Vec::new();
    for scenario in scenario::chosen() {
        failures.extend(fill_up(scenario));
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

fn fill_up(scenario: &Scenario) -> Vec<String> {
    let site = scenario.site();
    let _disk = Disk::over(site.root(), DISK);
    let left: Vec<u64> = sample::sample(&LEFT, 5, |_| "left");
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for left in left {
        let tried = AssertUnwindSafe(|| with_space(scenario, &site, left * KIB));
        match panic::catch_unwind(tried) {
            Ok(verdict) => *tally.entry(format!("{verdict:?}")).or_default() += 1,
            Err(cause) => {
                let cause = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                failures.push(format!("- {} with {left} KiB left:\n{cause}", scenario.name));
            }
        }
    }
    say(&format!("full disk, {}: {tally:?}", scenario.name));
    failures
}

fn with_space(scenario: &Scenario, site: &Site, left: u64) -> Verdict {
    scenario.prepare(site);
    let before = Before::of(site);
    let filler = site.root().join("filler");
    fill(&filler, left);
    let ended = site.waypost(&scenario.args());
    remove(&filler);
    judge::judge(scenario, site, &before, &ended, Cleaning::Works)
}

/// A small file system over a folder; taken away before the folder is.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn over(folder: PathBuf, options: &str) -> Self {
        let mut mount = Command::new("mount");
        process::run(mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(&folder))
            .expect_code(0);
        Self(folder)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // If it stays, an empty folder stays behind with the namespace gone.
        let _stays = Command::new("umount").arg(&self.0).status();
    }
}

/// Writes until nothing goes any more, then gives `left` bytes back.
pub(crate) fn fill(path: &Path, left: u64) {
    let mut file = fs::File::create(path).unwrap();
    let chunk = [0_u8; 4096];
    while file.write_all(&chunk).is_ok() {}
    let size = file.metadata().unwrap().len();
    file.set_len(size.saturating_sub(left)).unwrap();
}

#[test]
#[ignore = "runs where it may mount, started by a_read_only_disk_is_reported_and_changes_nothing"]
fn inside_a_read_only_disk() {
    if !is_inside() {
        return;
    }
    let site = Site::after(scenario::IMPLEMENT);
    site.save();
    let _disk = Disk::over(site.root(), DISK);
    site.put_back();
    site.waypost(&["status"]).expect_code(0);
    let before = site.files();
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        process::run(mount.args(["-o", how]).arg(site.root())).expect_code(0);
    };
    remount("remount,ro");
    let refused = site.waypost(&["develop", "checkpoint", "start", "cp-1"]).expect_code(5);
    assert!(refused.stderr.contains("journal"), "{refused:#?}");
    let doctor = site.waypost(&["doctor"]).expect_code(1);
    assert!(doctor.stdout.contains("bad  journal"), "{doctor:#?}");
    assert_eq!(site.files(), before);
    remount("remount,rw");
    site.waypost(&["develop", "checkpoint", "start", "cp-1"]).expect_code(0);
    site.waypost(&["doctor"]).expect_code(0);
}
