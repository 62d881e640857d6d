//! When a child began, in most cases without asking the system.
//!
//! The system tells it in `/proc/PID/stat`, in ticks of a hundredth of a second. Asking costs as much
//! as a tenth of starting the child. But one that was started between two looks at the clock within
//! the same tick began in that tick. Not every system need count from the same moment, so what is
//! computed has to agree with what is told once before it is relied on.

use crate::{clock, process::Process};

#[derive(Debug, Default)]
pub(crate) struct Births {
    trust: Trust,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    /// Nothing has been compared yet.
    #[default]
    Open,
    Given,
    Denied,
}

impl Births {
    /// When `pid` began, in ticks since boot, if it was started just now and not before the tick
    /// `before`. It must be a child that has not been waited for; 0 if nothing is known.
    pub(crate) fn of(&mut self, pid: u32, before: u64) -> u64 {
        let told = || Process::read(pid).ok().flatten().map(|found| found.identity.start);
        self.find(before, clock::ticks(), told).unwrap_or(0)
    }

    fn find(&mut self, before: u64, after: u64, told: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let computed = (before == after).then_some(before);
        match (computed, self.trust) {
            (Some(_), Trust::Given) => computed,
            (Some(computed), Trust::Open) => {
                let told = told()?;
                self.trust = if told == computed { Trust::Given } else { Trust::Denied };
                Some(told)
            }
            _ => told(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_counts_only_after_it_has_agreed() {
        // Each row: the ticks before and after, what the system tells, what is found.
        let check = |rows: &[(u64, u64, Option<u64>, Option<u64>)]| {
            let mut births = Births::default();
            for (before, after, told, want) in rows {
                assert_eq!(births.find(*before, *after, || *told), *want, "{before} {after}");
            }
        };
        check(&[(5, 5, Some(5), Some(5)), (6, 6, None, Some(6)), (7, 8, Some(8), Some(8))]);
        check(&[(5, 6, Some(6), Some(6)), (7, 7, Some(7), Some(7)), (8, 8, None, Some(8))]);
        check(&[(5, 5, Some(900), Some(900)), (6, 6, Some(901), Some(901))]);
        check(&[(5, 5, None, None), (6, 6, Some(6), Some(6)), (7, 7, None, Some(7))]);
    }

    #[test]
    fn this_system_counts_as_is_assumed() {
        let mut births = Births::default();
        for _ in 0..20 {
            let before = clock::ticks();
            #[expect(clippy::disallowed_methods, reason = "a child to look at")]
            let mut child = std::process::Command::new("true").spawn().unwrap();
            let found = births.of(child.id(), before);
            let told = Process::read(child.id()).unwrap().unwrap().identity.start;
            assert_eq!(found, told);
            child.wait().unwrap();
        }
    }
}
