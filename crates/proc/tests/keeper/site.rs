//! A folder with a keeper in it, and the means to see what it does.

use rustix::process::{Pid, Signal, kill_process};
use std::{
    env,
    ffi::OsString,
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use waypost_proc::{Ended, How, Keeper, Limits, Program, Report, Spec};

/// Nothing here takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const CHAOS: &str = env!("CARGO_BIN_EXE_chaos-agent");

static SITES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Site {
    pub(crate) folder: TempDir,
    /// The last word of every process that a test starts.
    pub(crate) token: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        let number = SITES.fetch_add(1, Ordering::Relaxed);
        let token = format!("chaos-{}-{number}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), token }
    }

    pub(crate) fn keepers(&self) -> PathBuf {
        self.folder.path().join("keepers")
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper::start(&self.keepers(), &words(&[CHAOS, "keeper"])).unwrap()
    }

    pub(crate) fn spec(&self, id: &str, program: Program) -> Spec {
        Spec {
            id: id.into(),
            program,
            folder: self.folder.path().to_owned(),
            environment: vec![("PATH".into(), env::var("PATH").unwrap())],
            log: self.log(id),
            limits: Limits { grace: Duration::from_millis(200), ..Limits::default() },
            talk: None,
            secrets: Vec::new(),
        }
    }

    /// A child that does one of the fixture's deeds, with this site's token behind it.
    pub(crate) fn chaos(&self, id: &str, deed: &[&str]) -> Spec {
        let words = [&[CHAOS], deed, &[self.token.as_str()]].concat();
        self.spec(id, Program::Argv(self::words(&words)))
    }

    pub(crate) fn shell(&self, id: &str, text: &str) -> Spec {
        self.spec(id, Program::Shell(text.into()))
    }

    pub(crate) fn log(&self, id: &str) -> PathBuf {
        self.folder.path().join(format!("logs/{id}.log"))
    }

    pub(crate) fn text(&self, id: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.log(id)).unwrap_or_default()).into_owned()
    }

    /// Waits until this many processes of a child are where they want to be.
    pub(crate) fn wait_for_up(&self, id: &str, count: usize) {
        until(|| self.text(id).matches("up\n").count() == count);
    }

    /// The processes that carry this site's token and are not only remains.
    pub(crate) fn alive(&self) -> Vec<u32> {
        let carries = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == self.token.as_bytes())
        };
        pids().filter(carries).collect()
    }

    /// How each of them stands, as the system calls it: `S` for asleep, `T` for stopped.
    pub(crate) fn states(&self) -> Vec<char> {
        let state = |pid: u32| -> Option<char> {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(") ")?.1.chars().next()
        };
        self.alive().into_iter().filter_map(state).collect()
    }

    pub(crate) fn assert_nothing_lives(&self) {
        assert_eq!(self.alive(), Vec::<u32>::new());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Only what a failed test has left.
        for pid in self.alive() {
            let _gone = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
        }
    }
}

pub(crate) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

pub(crate) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Waits for a condition.
#[expect(clippy::disallowed_methods, reason = "a test that hangs has to end")]
pub(crate) fn until(mut is_met: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_met() {
        assert!(Instant::now() < deadline, "waited in vain");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The next `count` reports, and what comes with them.
pub(crate) fn reports_at_least(keeper: &Keeper, count: usize) -> Vec<Report> {
    let mut reports = Vec::new();
    while reports.len() < count {
        let more = keeper.next(PATIENCE).unwrap();
        assert!(!more.is_empty(), "waited in vain after {reports:?}");
        reports.extend(more);
    }
    reports
}

/// The next `count` reports; more are not expected.
pub(crate) fn reports(keeper: &Keeper, count: usize) -> Vec<Report> {
    let reports = reports_at_least(keeper, count);
    assert_eq!(reports.len(), count, "{reports:?}");
    reports
}

/// Waits for the end of a child, whatever else is told before.
pub(crate) fn end(keeper: &Keeper, id: &str) -> Ended {
    loop {
        let more = keeper.next(PATIENCE).unwrap();
        assert!(!more.is_empty(), "waited in vain for the end of {id}");
        for report in more {
            match report {
                Report::Ended { id: found, ended } if found == id => return ended,
                Report::Refused { id: found, why } if found == id => panic!("{id}: {why:?}"),
                _ => {}
            }
        }
    }
}

/// Runs one child to its end.
pub(crate) fn run(keeper: &Keeper, spec: Spec) -> Ended {
    let id = spec.id.clone();
    keeper.spawn(vec![spec]).unwrap();
    end(keeper, &id)
}

/// An end without anything unusual; the duration is what it is, and so is how much had been said.
pub(crate) fn plain(how: How, tail: &[u8], ended: &Ended) -> Ended {
    Ended {
        how,
        tail: tail.to_vec(),
        output: tail.len() as u64,
        dropped: 0,
        duration_ms: ended.duration_ms,
        left: 0,
        forced: false,
        survivors: 0,
        lapsed: false,
        stopped_at: ended.stopped_at,
    }
}
