//! The one retry policy: how often something is tried again, and after how long.
//!
//! Counters live in the machines' states; here are only limits and delays. Jitter is derived from
//! a key, not from chance, so that a replay decides the same.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is being retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A task of a run.
    Task,
    /// One pass over a task in ralph mode.
    RalphPass,
    /// An iteration of a workflow's checkpoint.
    Checkpoint,
    /// An agent process that ended by itself.
    AgentProcess,
    /// Rework after a failed verification of a server task's phase.
    Rework,
    /// A step of the memory's plan.
    Step,
    /// A call of an agent in a session.
    AgentCall,
    /// A session's gate.
    Gate,
    /// A session's test run.
    TestRun,
    /// A session's phase.
    Phase,
    /// A notice that could not be delivered; how long it is tried is a matter of its age.
    Delivery,
    /// An agent that met a usage limit without being told when it ends.
    RateLimit,
    /// A trouble of the machine that Waypost works on.
    Infrastructure,
}

/// Why something failed, as far as it matters for what comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// May go away by itself, or with another try.
    #[default]
    Transient,
    /// The result did not hold; it goes back with the reasons.
    Validation,
    /// Something it stands on is missing.
    Dependency,
    /// The machine or the environment lacks something (`ENV_ISSUE`).
    Resource,
    /// The plan or the design is wrong (`DESIGN_MISMATCH`).
    Structural,
    /// Going on would do harm.
    Critical,
}

impl FailureClass {
    /// Whether trying the same again can help.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::Validation)
    }

    /// Our own word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Validation => "validation",
            Self::Dependency => "dependency",
            Self::Resource => "resource",
            Self::Structural => "structural",
            Self::Critical => "critical",
        }
    }

    /// Reads our own words and the seed's.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "transient" => Self::Transient,
            "validation" => Self::Validation,
            "dependency" => Self::Dependency,
            "resource" | "ENV_ISSUE" => Self::Resource,
            "structural" | "DESIGN_MISMATCH" => Self::Structural,
            "critical" => Self::Critical,
            _ => return None,
        })
    }
}

/// How often and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Retries after the first try.
    pub limit: u32,
    /// The delay before the first retry; it doubles with each.
    pub first_delay: Duration,
    pub longest_delay: Duration,
    /// How much of a delay is spread, in percent, so that many do not come back at once.
    pub jitter_percent: u32,
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    Again { delay: Duration },
    GiveUp,
}

impl Policy {
    /// The limits and delays of each scope; configuration may change `limit`.
    pub const fn of(scope: Scope) -> Self {
        match scope {
            Scope::Task => Self::new(10, 2, 120).jitter(25),
            Scope::RalphPass => Self::new(50, 0, 0),
            // Three iterations are one try and two retries.
            Scope::Checkpoint => Self::new(2, 0, 0),
            Scope::AgentProcess => Self::new(3, 2, 60).jitter(25),
            Scope::Rework => Self::new(3, 0, 0),
            Scope::Step => Self::new(3, 2, 8),
            Scope::AgentCall | Scope::TestRun => Self::new(3, 1, 30),
            Scope::Gate | Scope::Phase => Self::new(2, 1, 30),
            Scope::Delivery => Self::new(u32::MAX, 5, 1_800).jitter(25),
            Scope::RateLimit => Self::new(u32::MAX, 60, 3_600).jitter(10),
            // A look costs little, and a run that could go on waits for it.
            Scope::Infrastructure => Self::new(u32::MAX, 2, 10),
        }
    }

    const fn new(limit: u32, first_seconds: u64, longest_seconds: u64) -> Self {
        Self {
            limit,
            first_delay: Duration::from_secs(first_seconds),
            longest_delay: Duration::from_secs(longest_seconds),
            jitter_percent: 0,
        }
    }

    const fn jitter(mut self, percent: u32) -> Self {
        self.jitter_percent = percent;
        self
    }

    pub const fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Decides after a failure of `class` when `used` retries were already made; `key` names what
    /// is retried, so that its delays differ from its neighbours'.
    pub fn after(&self, used: u32, class: FailureClass, key: &str) -> Outlook {
        if used >= self.limit || !class.is_retryable() {
            return Outlook::GiveUp;
        }
        let doubled = self.first_delay.saturating_mul(1u32.checked_shl(used).unwrap_or(u32::MAX));
        let delay = doubled.min(self.longest_delay);
        let spread = delay.mul_f64(f64::from(self.jitter_percent) / 100.0);
        Outlook::Again { delay: delay + spread.mul_f64(fraction(key, used)) }
    }
}

/// A number in 0..1 that looks random and depends on its arguments only (FNV-1a).
fn fraction(key: &str, salt: u32) -> f64 {
    let bytes = key.bytes().chain(salt.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    f64::from(u32::try_from(hash >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_their_longest() {
        let delays: Vec<u64> = (0..4)
            .map(|used| match Policy::of(Scope::Step).after(used, FailureClass::Transient, "s") {
                Outlook::Again { delay } => delay.as_secs(),
                Outlook::GiveUp => 0,
            })
            .collect();
        assert_eq!(delays, [2, 4, 8, 0]);
    }

    #[test]
    fn jitter_is_bounded_and_repeats() {
        let policy = Policy::of(Scope::Task);
        for used in 0..10 {
            let outlook = policy.after(used, FailureClass::Validation, "T1.3");
            assert_eq!(outlook, policy.after(used, FailureClass::Validation, "T1.3"));
            let Outlook::Again { delay } = outlook else {
                panic!("retry {used} is within the limit")
            };
            let plain = Duration::from_secs((2 << used).min(120));
            assert!(delay >= plain && delay <= plain.mul_f64(1.25), "{used}: {delay:?}");
        }
    }

    #[test]
    fn what_another_try_cannot_mend_is_given_up_at_once() {
        for class in [FailureClass::Structural, FailureClass::Resource, FailureClass::Critical] {
            assert_eq!(Policy::of(Scope::Task).after(0, class, "T1"), Outlook::GiveUp);
        }
    }
}
