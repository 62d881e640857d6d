//! Power cuts: a real ext4 on a loop device is shut down without a flush, at random moments of a real
//! run, and mounted again. What the program had not synced is gone then, as on a machine that loses
//! its power: files that were made have no bytes, and files that were replaced have their old ones.
//!
//! `waypost run --resume` alone has to go on each time, as often as it takes. Once it has had its look, git
//! finds nothing missing, and the checkout has the user's changes and no others.

use crate::{
    chaos::{self, PATIENCE},
    chaos_apart,
    process::{self, say},
    repository::{Hands, Repository, Way},
    sample::{self, Random},
    site::{Site, WAYPOST},
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The disk's size: sparse, and enough for a run's trees and its journal.
const DISK_SIZE: u64 = 4 << 30;

/// Shuts a file system down as a power cut would: nothing that waits is written any more. The number
/// is `EXT4_IOC_SHUTDOWN`, and 2 says that not even the file system's own log is.
const CUT: &str = "open(my $f, '<', $ARGV[0]) or die \"open: $!\"; my $how = pack('I', 2); \
                   ioctl($f, 0x8004587d, $how) or die \"ioctl: $!\";";

/// How much is done.
struct Scale {
    tasks_per_phase: usize,
    phases: usize,
    cuts: usize,
    /// The longest time until the next cut. The kernel writes by itself after five seconds.
    life_max_ms: u64,
}

const FULL: Scale = Scale { tasks_per_phase: 40, phases: 4, cuts: 20, life_max_ms: 7_000 };
const SMALL: Scale = Scale { tasks_per_phase: 7, phases: 2, cuts: 3, life_max_ms: 2_500 };

/// As much time as a run gets at least, now and then, until the next cut: enough to do something.
const LIFE_MAX_LEAST_MS: u64 = 400;

/// How long it is waited for processes to let go of a disk.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 500;

#[test]
fn serial_a_run_goes_on_after_power_cuts() {
    goes_on(Way::Project);
}

#[test]
fn serial_a_run_in_one_tree_for_each_phase_goes_on_after_power_cuts() {
    goes_on(Way::Phases);
}

#[test]
fn serial_a_run_apart_goes_on_after_power_cuts() {
    goes_on(Way::Attempts);
}

/// Cuts the power again and again.
fn goes_on(way: Way) {
    let mut scale = if sample::is_full() { FULL } else { SMALL };
    if way == Way::Project {
        // Without trees to make, tasks are done ten times as fast.
        scale.tasks_per_phase *= 5;
        scale.life_max_ms /= 10;
    }
    let site = Site::new();
    let disk = match Disk::over(&site) {
        Ok(disk) => disk,
        Err(why) => return say(&format!("SKIPPED: power cuts ({way:?}): {why}")),
    };
    let plan = chaos_apart::plan(&chaos_apart::Scale::of(scale.tasks_per_phase, scale.phases), way);
    let repository = Repository::on(site, plan, way, Hands::Commands);
    let site = &repository.site;
    // Let go of before the folder that it is over.
    let disk = disk;
    process::run(Command::new("sync").arg("-f").arg(site.root())).expect_code(0);
    let (mut random, start) = (Random::new(), Instant::now());
    let mut settled: BTreeMap<String, usize> = BTreeMap::new();
    let (mut underway, mut life_max_ms) = (0, scale.life_max_ms);
    for cut in 0..scale.cuts {
        let mut engine = begin(site, way);
        thread::sleep(Duration::from_millis(random.next() % life_max_ms));
        let ended = engine.try_wait().unwrap();
        assert!(ended.is_none_or(|ended| ended.success()), "cut {cut}: {ended:?}: {}", said(site));
        underway += usize::from(ended.is_none());
        disk.cut(site);
        engine.wait().unwrap();
        take_up(&repository, way);
        chaos::note_settled(site, &mut settled, cut);
        // What is left to do has to last for the cuts that are left, however fast the machine is.
        if settled.len() * scale.cuts > repository.tasks.len() * (cut + 1) {
            life_max_ms = (life_max_ms * 2 / 3).max(LIFE_MAX_LEAST_MS);
        }
    }
    let mut last = begin(site, way);
    let status = process::wait(&mut last, PATIENCE).expect("the run comes to its end");
    assert!(status.success(), "{status}: {}", said(site));
    chaos::note_settled(site, &mut settled, scale.cuts);
    match way {
        Way::Attempts | Way::Phases => repository.assert_whole(),
        // What tasks wrote into the project's folder is not synced by us.
        Way::Project => {
            chaos::assert_completed_once(site, repository.tasks.len());
            chaos::assert_no_process_left(site);
            repository.assert_sound_checkout();
        }
    }
    let (tasks, cuts, seconds) = (repository.tasks.len(), scale.cuts, start.elapsed().as_secs());
    let told = format!("{tasks} tasks ({way:?}), {cuts} power cuts, {underway} under way");
    say(&format!("{told}, {seconds} s, {}", sample::described()));
    // A small run may be over before its first cut on a machine with nothing else to do.
    let is_fair = !sample::is_full() || underway * 2 >= cuts;
    assert!(is_fair, "most cuts find it under way: {underway} of {cuts}");
}

/// After a cut `--resume` takes up the run, and is asked to end at once: everything is as it should be then.
fn take_up(repository: &Repository, way: Way) {
    let site = &repository.site;
    let resumed = site.waypost(&[&resume(way)[..], &["--detach"]].concat());
    let log = || fs::read_to_string(site.path(".git/waypost/run.log")).unwrap_or_default();
    assert_eq!(resumed.code, Some(0), "{resumed:#?}\n{}", log());
    let stopped = site.waypost(&["run", "stop", "--now"]);
    // It may have come to its end before.
    assert!(matches!(stopped.code, Some(0 | 3)), "{stopped:#?}\n{}", log());
    chaos::assert_no_process_left(site);
    repository.assert_sound_checkout();
}

fn resume(way: Way) -> [&'static str; 8] {
    let isolation = way.isolation();
    ["run", "--resume", "--isolation", isolation, "--max-parallel", "4", "--retry-limit", "100"]
}

fn begin(site: &Site, way: Way) -> Child {
    let mut command = site.command(WAYPOST);
    command.args(resume(way));
    let said = fs::File::create(site.outside("said")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    command.spawn().unwrap()
}

/// What the last engine said.
fn said(site: &Site) -> String {
    fs::read_to_string(site.outside("said")).unwrap()
}

/// An ext4 in a file, over the root of a site.
struct Disk {
    root: PathBuf,
    image: PathBuf,
}

impl Disk {
    /// Puts the site on a disk of its own, or says why that cannot be done here.
    fn over(site: &Site) -> Result<Self, String> {
        let try_run = |command: &mut Command| match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(format!("{command:?}: {error}")),
        };
        let image = site.outside("disk");
        fs::File::create(&image).and_then(|file| file.set_len(DISK_SIZE)).unwrap();
        try_run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
        site.save();
        let disk = Self { root: site.root(), image };
        // A sandbox that starts meanwhile has a copy of every mount. Only what is shared is unmounted
        // there as well; otherwise the disk that was cut would come back as it is kept there.
        let around = disk.root.parent().unwrap();
        try_run(Command::new("mount").arg("--bind").args([around, around]))?;
        try_run(Command::new("mount").arg("--make-shared").arg(around))?;
        try_run(&mut disk.mount())?;
        site.put_back();
        // Whether it can be cut is found out before anything depends on it.
        try_run(Command::new("sync").arg("-f").arg(&disk.root))?;
        try_run(&mut cut(&disk.root))?;
        disk.mount_again(site);
        Ok(disk)
    }

    fn mount(&self) -> Command {
        let mut mount = Command::new("mount");
        mount.args(["-t", "ext4", "-o", "loop"]).arg(&self.image).arg(&self.root);
        mount
    }

    /// Cuts the power: nothing more is written, all processes are gone, and the disk comes back.
    fn cut(&self, site: &Site) {
        process::run(&mut cut(&self.root)).expect_code(0);
        self.mount_again(site);
    }

    fn mount_again(&self, site: &Site) {
        let mut looks = 0;
        loop {
            chaos::ours(site).into_iter().for_each(|(pid, _)| chaos::kill_process(pid));
            if Command::new("umount").arg(&self.root).output().unwrap().status.success() {
                process::run(&mut self.mount()).expect_code(0);
                if self.takes_a_file() {
                    return;
                }
            }
            looks += 1;
            assert!(looks < LOOKS_MAX, "the disk is in use: {:#?}", chaos::ours(site));
            thread::sleep(LOOK);
        }
    }

    /// Whether it is back. While a sandbox of another test has a copy of the mount that shares
    /// nothing, the disk that was cut is what is mounted again.
    fn takes_a_file(&self) -> bool {
        let probe = self.root.join("probe");
        fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).is_ok()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What still uses it keeps it until it ends.
        for path in self.root.ancestors().take(2) {
            let _stays = Command::new("umount").arg("-l").arg(path).output();
        }
    }
}

fn cut(root: &Path) -> Command {
    let mut perl = Command::new("perl");
    perl.args(["-e", CUT]).arg(root);
    perl
}
