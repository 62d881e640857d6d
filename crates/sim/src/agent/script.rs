//! What a scripted agent does: steps for every attempt at a task.
//!
//! Strict like the script of the model: unknown fields are errors, and every fault has its place.
//! Which steps are taken follows from the script, the task and the attempt alone, also where the
//! script wants faults by chance.

mod raw;

use crate::source;
use raw::RawAgentScript;
pub(super) use raw::is_below;
use std::collections::BTreeMap;
use std::time::Duration;
use waypost_model::diagnostic::Diagnostic;

/// From here on an attempt is never spoilt, so that a run with faults comes to its end.
const FAULTY_ATTEMPT_MAX: u32 = 3;

/// What agents do, task by task.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentScript {
    /// For tasks that are not named. Never empty.
    default: Vec<Attempt>,
    /// None of the lists is empty.
    tasks: BTreeMap<String, Vec<Attempt>>,
    faults: Faults,
}

/// The steps of one attempt at a task, over all of its turns.
pub(super) type Attempt = Vec<Step>;

/// One thing that an agent does. Texts may have placeholders.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Say(String),
    /// A tool that does nothing.
    Tool {
        name: String,
        input: String,
    },
    /// Really writes a file.
    Write {
        file: String,
        text: String,
        is_appended: bool,
    },
    /// Really runs a command.
    Run(String),
    Permission {
        tool: String,
        input: String,
        /// What is done first when it is refused; without it the task has failed.
        otherwise: Option<Vec<Self>>,
    },
    Question {
        text: String,
        choices: Vec<String>,
    },
    /// What is done depends on how things stand.
    When {
        condition: Condition,
        then: Vec<Self>,
        otherwise: Vec<Self>,
    },
    Wait(Duration),
    Crash(Crash),
    Hang {
        is_deaf: bool,
    },
    /// So many bytes, and no line break.
    Flood(u64),
    /// A line that is no JSON.
    Garbage,
    /// From here on the program asks its hook no more.
    HookOff,
    Limit {
        resets_in: Duration,
    },
    /// The service cannot be used; the turn ends.
    Unavailable(Trouble),
    /// At the end of the turn.
    Usage(Spent),
    /// One request to the model, told at once where the program does.
    Spend(Spent),
    TurnEnd,
    Fail(String),
    Done(String),
    Exit(u8),
}

/// How things may stand for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// A file is there, below the working folder.
    File(String),
    /// A variable of its environment is set.
    Variable(String),
    /// The message that its turn began with has this text.
    Told(String),
}

/// Why a service cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Outage,
    SignIn,
    Credit,
}

impl Trouble {
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Outage => 529,
            Self::SignIn => 401,
            Self::Credit => 400,
        }
    }

    /// What programs say of it.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Outage => "API Error: 529 Overloaded",
            Self::SignIn => "Invalid API key · Please run /login",
            Self::Credit => "Credit balance is too low",
        }
    }
}

/// How a program breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    Code(u8),
    Kill,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) input: u64,
    pub(super) output: u64,
    /// Millionths of a dollar: sums of these are exact.
    pub(super) cost_micros: u64,
}

impl Spent {
    /// What a turn costs whose script does not say.
    pub(super) const SMALL: Self = Self { input: 1_000, output: 100, cost_micros: 10_000 };

    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cost_micros: self.cost_micros.saturating_add(more.cost_micros),
        }
    }
}

/// How many of the attempts are spoilt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Faults {
    percent: u64,
    seed: u64,
}

impl AgentScript {
    /// Reads a script; every fault that can be told at once is told.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        let raw: RawAgentScript = source::read(bytes, "waypost sim agent")?;
        raw.settle()
    }

    /// An agent that looks busy for a moment, changes nothing and is done.
    pub fn busy() -> Self {
        let (tasks, faults) = (BTreeMap::new(), Faults::default());
        Self { default: vec![busy()], tasks, faults }
    }

    /// What is done in an attempt, counted from 1; the last one of a list is repeated.
    pub(super) fn steps(&self, task: &str, attempt: u32) -> Attempt {
        if let Some(fault) = self.faults.strike(task, attempt) {
            return vec![fault];
        }
        let attempts = self.tasks.get(task).unwrap_or(&self.default);
        let at = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let steps = attempts.get(at).or_else(|| attempts.last());
        steps.cloned().expect("a list of attempts is never empty")
    }
}

fn busy() -> Attempt {
    let tool = |name: &str, input: &str| Step::Tool { name: name.into(), input: input.into() };
    let pause = || Step::Wait(Duration::from_millis(100));
    vec![
        Step::Say("I look at {task}.".to_owned()),
        tool("Read", "README.md"),
        pause(),
        tool("Grep", "{task}"),
        pause(),
        tool("Bash", "git status --short"),
        pause(),
        Step::Done("There is nothing left to do for {task}.".to_owned()),
    ]
}

impl Faults {
    /// What happens in place of the script, if anything does.
    fn strike(self, task: &str, attempt: u32) -> Option<Step> {
        let dice = mixed(self.seed, task, attempt);
        let is_struck = attempt <= FAULTY_ATTEMPT_MAX && dice % 100 < self.percent;
        is_struck.then(|| match (dice / 100) % 3 {
            0 => Step::Crash(Crash::Code(1)),
            1 => Step::Fail("a fault that the script wants".to_owned()),
            _ => Step::Exit(0),
        })
    }
}

/// A number that looks random and is the same on every machine: FNV-1a, then mixed so that every
/// bit counts in the remainder.
fn mixed(seed: u64, task: &str, attempt: u32) -> u64 {
    let numbers = [seed.to_le_bytes(), u64::from(attempt).to_le_bytes()].concat();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in numbers.iter().copied().chain(task.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests;
