//! Who holds something: a process, told apart from a later one that got the same number.

use serde::{Deserialize, Serialize};
use std::{fmt, sync::LazyLock};
use waypost_model::time::{Stamp, Time};

/// A process as it is written into lock files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// When it started, in clock ticks since boot; with the boot it makes `pid` unique.
    pub started: u64,
    pub boot_id: String,
    /// What it is doing, for people: `run TASKS.md`, `serve`.
    pub runs: String,
    pub since: Stamp,
}

impl Owner {
    /// This process, which has been doing `runs` since `since`.
    pub fn this_process(runs: &str, since: Time) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            started: start_of(pid).unwrap_or(0),
            boot_id: boot_id().to_owned(),
            runs: runs.to_owned(),
            since: since.into(),
        }
    }

    /// Whether exactly this process still runs.
    pub fn is_alive(&self) -> bool {
        self.boot_id == boot_id() && start_of(self.pid) == Some(self.started)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} (`{}`, since {})", self.pid, self.runs, self.since)
    }
}

/// What identifies this boot of the machine; empty where the system does not say.
pub(crate) fn boot_id() -> &'static str {
    static BOOT: LazyLock<String> = LazyLock::new(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.trim().to_owned()
    });
    &BOOT
}

/// The start of a running process in clock ticks since boot; `None`: there is none, or a corpse.
pub(super) fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in parentheses and may itself contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_number_start_and_boot() {
        let ours = Owner::this_process("test", Time::from_millis(0));
        assert!(ours.is_alive());
        assert!(!Owner { started: ours.started + 1, ..ours.clone() }.is_alive());
        assert!(!Owner { boot_id: "another".into(), ..ours.clone() }.is_alive());
        assert!(!Owner { pid: u32::MAX, ..ours }.is_alive());
    }

    #[test]
    fn an_owner_reads_like_a_sentence() {
        let owner = Owner {
            pid: 7,
            started: 1,
            boot_id: "b".into(),
            runs: "run TASKS.md".into(),
            since: Time::from_millis(1_771_236_000_000).into(),
        };
        insta::assert_snapshot!(owner, @"process 7 (`run TASKS.md`, since 2026-02-16T10:00:00Z)");
    }
}
