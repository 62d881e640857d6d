//! What the hook answered, and what it heard: verdicts on tool calls, starts, compactions, stops.
//!
//! The hook itself only appends lines to a file. They are taken into the journal as this machine's
//! events at the next load, a file at a time, each file once.

use crate::{
    machine::{Asked, Decision, Machine, Rejected},
    time::Time,
};
use serde::{Deserialize, Serialize};

/// How many of the files that were taken in are remembered; they are removed soon after.
const SOURCES_KEPT: usize = 16;

/// One line of the hook's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The format of the line.
    pub v: u32,
    pub at: Time,
    /// The work tree whose workflow was asked.
    pub tree: String,
    /// To whom: the agent program, its conversation, and the subagent inside it.
    pub program: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    pub outcome: VerdictOutcome,
}

/// What the answer was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictOutcome {
    /// A tool call was allowed.
    Allowed { tool: String, call: Option<String> },
    /// A tool call was refused.
    Refused { tool: String, call: Option<String>, rule: String, message: String },
    /// A conversation began, or went on: `source` says which.
    Started { source: String },
    /// A conversation's context was about to be compacted.
    Compacted { trigger: String },
    /// The agent wanted to stop, and was told what is open.
    Held { message: String },
}

impl Verdict {
    /// The format that is written.
    pub const FORMAT: u32 = 1;
}

/// What the journal knows of the hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The last files that were taken in.
    sources: Vec<String>,
    pub allowed: u64,
    pub refused: u64,
    /// When the hook last answered.
    pub last: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// By Waypost: what was found in one file of the hook's.
    TakeIn { source: String, verdicts: Vec<Verdict> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// One file was taken in; the calls that it allowed are only listed.
    Taken {
        source: String,
        allowed: Vec<String>,
        uncounted: u64,
        last: Option<Time>,
    },
    Refused(Verdict),
    Started(Verdict),
    Compacted(Verdict),
    Held(Verdict),
}

impl Verdicts {
    /// Whether a file was taken in already.
    pub fn has_taken(&self, source: &str) -> bool {
        self.sources.iter().any(|taken| taken == source)
    }
}

impl Machine for Verdicts {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "verdicts";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, _asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let Command::TakeIn { source, verdicts } = command;
        if self.has_taken(source) {
            return Ok(Decision::nothing());
        }
        let (mut allowed, mut uncounted) = (Vec::new(), 0);
        let mut events = Vec::new();
        for verdict in verdicts {
            match &verdict.outcome {
                // The same call may have been judged by two hooks: a plugin and a setting.
                VerdictOutcome::Allowed { call: Some(call), .. } if allowed.contains(call) => {}
                VerdictOutcome::Allowed { call: Some(call), .. } => allowed.push(call.clone()),
                VerdictOutcome::Allowed { call: None, .. } => uncounted += 1,
                VerdictOutcome::Refused { .. } if events.iter().any(|it| is_twin(it, verdict)) => {}
                VerdictOutcome::Refused { .. } => events.push(Event::Refused(verdict.clone())),
                VerdictOutcome::Started { .. } => events.push(Event::Started(verdict.clone())),
                VerdictOutcome::Compacted { .. } => events.push(Event::Compacted(verdict.clone())),
                VerdictOutcome::Held { .. } => events.push(Event::Held(verdict.clone())),
            }
        }
        let last = verdicts.iter().map(|verdict| verdict.at).max();
        let source = source.clone();
        events.push(Event::Taken { source, allowed, uncounted, last });
        Ok(Decision::events(events))
    }

    fn apply(&mut self, event: &Event, _at: Time) {
        match event {
            Event::Taken { source, allowed, uncounted, last } => {
                self.allowed += allowed.len() as u64 + uncounted;
                self.last = self.last.max(*last);
                self.sources.push(source.clone());
                let surplus = self.sources.len().saturating_sub(SOURCES_KEPT);
                self.sources.drain(..surplus);
            }
            Event::Refused(_) => self.refused += 1,
            Event::Started(_) | Event::Compacted(_) | Event::Held(_) => {}
        }
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Taken { .. } => "taken",
            Event::Refused(_) => "refused",
            Event::Started(_) => "started",
            Event::Compacted(_) => "compacted",
            Event::Held(_) => "held",
        }
    }
}

/// Whether an event is a refusal of the very call that `verdict` refuses.
fn is_twin(event: &Event, verdict: &Verdict) -> bool {
    let call = |verdict: &Verdict| match &verdict.outcome {
        VerdictOutcome::Refused { call, .. } => call.clone(),
        _ => None,
    };
    match event {
        Event::Refused(other) => call(other).is_some() && call(other) == call(verdict),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
