//! What the end of an agent's process means, whatever it was given to do.
//!
//! Success is the program's own report; everything else is trouble of one of three kinds: it can go
//! on as soon as it is started again, it can go on later, or it has failed. What follows from that
//! for a task, a review or a checkpoint is decided where the work was given.

use crate::{
    agent::{Agent, Heard, Meter},
    clock::offset_at,
    execute::{ended_in_words, shortened},
};
use std::time::Duration;
use waypost_agent::{
    limits::{self, Trouble as ServiceTrouble},
    stream::{End, Why},
};
use waypost_model::{
    retry::{FailureClass, Outlook, Policy, Scope},
    run::{ParkCause, Parked},
    text::one_line,
    time::Time,
};
use waypost_proc::{Ended, How, Refusal};

/// The longest time after which a limit is over: those of a month.
const WINDOW_MAX: Duration = Duration::from_secs(32 * 24 * 60 * 60);

/// How much later than told a limit is tried again.
const JITTER_MAX: Duration = Duration::from_secs(5);

/// How much of a service's words is kept as the reason of a wait.
const WHY_LENGTH_MAX: usize = 200;

/// How a process came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessEnd {
    Ended(Ended),
    Refused(Refusal),
    /// Its keeper died with it.
    Lost,
}

/// Whose money is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purse {
    /// What this one piece of work may cost: a task, a review, a try at a checkpoint.
    #[default]
    Work,
    /// What the run may cost.
    Run,
    /// What each phase of the run may cost, in the one of this number.
    Phase(u32),
    /// What all agents may cost on one day.
    Day,
}

impl Purse {
    /// Why nothing goes on, in words.
    pub(crate) fn used_up(self) -> String {
        match self {
            Self::Work => "the task's budget is used up".to_owned(),
            Self::Run => "the budget of the run is used up".to_owned(),
            Self::Phase(phase) => {
                format!("the budget of phase {phase} is used up (phase_budget_usd)")
            }
            Self::Day => "the budget of the day is used up".to_owned(),
        }
    }
}

/// Why we ended an agent's process before its work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// It waits again: a person wants that, or has taken the work.
    Given,
    Budget(Purse),
    TimedOut,
    Stalled,
    /// It waits for an answer that cannot be given.
    Unanswerable,
    /// It has done something that Waypost was not asked about.
    Unproven,
}

/// The end of an agent's process, with everything that tells what it means.
#[derive(Clone, Debug)]
pub(crate) struct AgentEnd {
    pub(crate) agent: Agent,
    pub(crate) heard: Heard,
    pub(crate) meter: Meter,
    pub(crate) end: ProcessEnd,
    pub(crate) halt: Option<Halt>,
    /// What it has done that the hook was not asked about: it waits for a person, and what it left counts
    /// for nothing.
    pub(crate) unproven: Option<String>,
    /// Whether its keeper stopped it in the middle of a turn, by no word of an engine: what it said
    /// after that counts for nothing.
    pub(crate) is_cut: bool,
    /// Why it was not started at all.
    pub(crate) held: Option<Parked>,
}

/// What stands against an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It ended without a result, by no fault of its own: it can go on.
    Interrupted,
    /// Its account cannot be used now, or money has run out: it can go on later.
    Parked(Parked),
    Failed {
        text: String,
        class: FailureClass,
        /// Whether the next one goes on in the same conversation.
        resumes: bool,
    },
}

/// What an end is judged by beside itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    /// Names the work, so that not all wait for the same moment.
    pub(crate) work: &'a str,
    /// How often in a row its agent's account could not be used before.
    pub(crate) parked_before: u32,
    pub(crate) now: Time,
}

/// How work waits that may not spend more: until it is given more, or the day is over.
pub(crate) fn out_of_money(agent: &str, purse: Purse, now: Time) -> Parked {
    let until = (purse == Purse::Day).then(|| now.next_day());
    let (agent, why) = (agent.to_owned(), purse.used_up());
    Parked { until, cause: ParkCause::Budget, why, agent, in_a_row: 1, trouble: None }
}

fn failed(text: impl Into<String>, class: FailureClass, resumes: bool) -> Trouble {
    Trouble::Failed { text: text.into(), class, resumes }
}

fn transient(text: impl Into<String>, resumes: bool) -> Trouble {
    failed(text, FailureClass::Transient, resumes)
}

impl AgentEnd {
    /// Of an agent that had no process: it was given up before, or is held.
    pub(crate) fn never_started(agent: Agent, held: Option<Parked>) -> Self {
        let end = ProcessEnd::Refused(Refusal::Withdrawn);
        let (heard, meter) = (Heard::default(), Meter::default());
        Self { agent, heard, meter, end, halt: None, unproven: None, is_cut: false, held }
    }

    /// Why it did not come to a good end; none: its program reports success.
    pub(crate) fn trouble(&self, by: &Circumstances<'_>) -> Option<Trouble> {
        self.cut_short(by).or_else(|| self.by_its_end(by))
    }

    /// It had no chance to come to an end of its own: we ended it, it was never started, or its
    /// keeper died.
    pub(crate) fn cut_short(&self, by: &Circumstances<'_>) -> Option<Trouble> {
        let held = self.held.clone().map(Trouble::Parked);
        held.or_else(|| self.by_us(by)).or_else(|| self.by_refusal())
    }

    /// Why it was ended before its work was done: by an engine, or by its keeper while there was
    /// none.
    pub(crate) fn stopped_for(&self) -> Option<Halt> {
        if self.halt.is_some() || !self.is_cut {
            return self.halt;
        }
        let ProcessEnd::Ended(ended) = &self.end else { return None };
        match ended.how {
            _ if ended.lapsed => Some(Halt::Given),
            // It waited for an answer that no engine could give.
            How::TimedOut | How::Stalled if !self.heard.asks.is_empty() => Some(Halt::Given),
            How::TimedOut => Some(Halt::TimedOut),
            How::Stalled => Some(Halt::Stalled),
            _ => None,
        }
    }

    fn by_us(&self, by: &Circumstances<'_>) -> Option<Trouble> {
        let halt = self.stopped_for()?;
        // It had no chance: its program was waiting for the service.
        if let (Halt::TimedOut | Halt::Stalled, Some(trouble)) = (halt, self.heard.retrying) {
            let parked = self.unavailable(trouble, "its service does not answer", by);
            return Some(Trouble::Parked(parked));
        }
        Some(match halt {
            Halt::Given => Trouble::Interrupted,
            Halt::Budget(purse) => Trouble::Parked(out_of_money(&self.agent.name, purse, by.now)),
            Halt::Unproven => Trouble::Parked(self.unproven(by)),
            Halt::TimedOut => transient("it timed out", false),
            Halt::Unanswerable => transient("it asked something that cannot be answered", false),
            Halt::Stalled => transient("it said nothing for too long", true),
        })
    }

    fn by_refusal(&self) -> Option<Trouble> {
        match &self.end {
            ProcessEnd::Lost | ProcessEnd::Refused(Refusal::Busy { .. } | Refusal::Withdrawn) => {
                // What its program has reported counts, whatever became of its keeper.
                let is_done = self.heard.end.as_ref().is_some_and(|end| end.why == Why::Done);
                (!is_done).then_some(Trouble::Interrupted)
            }
            ProcessEnd::Refused(Refusal::Impossible { detail }) => {
                let text = format!("the agent {} cannot be started: {detail}", self.agent.name);
                Some(failed(text, FailureClass::Resource, false))
            }
            ProcessEnd::Ended(_) => None,
        }
    }

    /// What its program reports, and how its process ended.
    fn by_its_end(&self, by: &Circumstances<'_>) -> Option<Trouble> {
        let Some(end) = &self.heard.end else { return Some(self.broken_off(by)) };
        Some(match end.why {
            Why::Done => return self.ended_badly(),
            Why::RateLimited => Trouble::Parked(self.parked(&end.detail, by)),
            Why::Unavailable(trouble) => {
                Trouble::Parked(self.unavailable(trouble, &end.detail, by))
            }
            Why::Error if limits::read(&end.detail).is_some() => {
                Trouble::Parked(self.parked(&end.detail, by))
            }
            Why::Interrupted => Trouble::Interrupted,
            Why::Cut => self.broken_off(by),
            Why::Budget => Trouble::Parked(out_of_money(&self.agent.name, Purse::Work, by.now)),
            Why::TurnLimit => transient("its turns are used up", true),
            Why::OpenTool | Why::Deferred | Why::Background => {
                transient("it ended while a tool call had no result", true)
            }
            Why::Refused => transient(said("the model declined", end), false),
            // A conversation that could not even be taken up is not taken up again.
            Why::Error => transient(said("an error", end), self.heard.has_begun),
        })
    }

    /// Its program reports success, and its process ended otherwise.
    fn ended_badly(&self) -> Option<Trouble> {
        let ProcessEnd::Ended(ended) = &self.end else { return None };
        // One that has done its work and is not told to go ends by a limit at last.
        if matches!(ended.how, How::Exited(0) | How::Stopped | How::TimedOut | How::Stalled) {
            return None;
        }
        let tail = String::from_utf8_lossy(&ended.tail);
        Some(transient(ended_in_words(ended.how, &tail), true))
    }

    /// Its process ended in the middle of a turn, or before the first one.
    fn broken_off(&self, by: &Circumstances<'_>) -> Trouble {
        let ProcessEnd::Ended(ended) = &self.end else { return Trouble::Interrupted };
        let tail = String::from_utf8_lossy(&ended.tail);
        let last =
            if tail.trim().is_empty() { self.heard.other.clone() } else { tail.into_owned() };
        if !self.heard.has_begun {
            if let Some(trouble) = limits::trouble(&last) {
                return Trouble::Parked(self.unavailable(trouble, &last, by));
            }
            if limits::read(&last).is_some() {
                return Trouble::Parked(self.parked(&last, by));
            }
        }
        let text = match ended.how {
            // By itself that would read like a success.
            How::Exited(0) => {
                format!("it ended without a result, {}", ended_in_words(ended.how, &last))
            }
            how => ended_in_words(how, &last),
        };
        // A conversation that could not even be taken up is not taken up again.
        transient(text, self.heard.has_begun)
    }

    /// It met a limit: until the time that was given, else longer each time.
    pub(crate) fn parked(&self, detail: &str, by: &Circumstances<'_>) -> Parked {
        let resets = self.heard.resets.clone();
        let resets = resets.or_else(|| limits::read(detail).and_then(|limit| limit.resets));
        let (now, delay) = (by.now, by.delay());
        // A moment later than told, and not all of them in the same moment.
        let later = delay.min(JITTER_MAX);
        let until = match resets.map(|reset| reset.time(now, offset_at)) {
            Some(time) if time > now.plus(WINDOW_MAX) => now.plus(delay),
            Some(time) if time > now => time.plus(later),
            // It is over by now; told so again and again, it is not to be believed.
            Some(_) if by.parked_before == 0 => now.plus(later),
            Some(_) | None => now.plus(delay),
        };
        // Behind a bar there is only the time, which is told anyway.
        let words = detail.split('|').next().unwrap_or_default();
        let why = match one_line(words, WHY_LENGTH_MAX) {
            empty if empty.is_empty() => "a limit of its service".to_owned(),
            why => why,
        };
        let (agent, in_a_row) = (self.agent.name.clone(), by.parked_before + 1);
        let (until, cause) = (Some(until), ParkCause::Limit);
        Parked { until, cause, why, agent, in_a_row, trouble: None }
    }

    /// Its gate does not hold: nothing of its agent goes on before a person has looked.
    fn unproven(&self, by: &Circumstances<'_>) -> Parked {
        let why = self.unproven.clone().unwrap_or_default();
        let (agent, in_a_row) = (self.agent.name.clone(), by.parked_before + 1);
        Parked { until: None, cause: ParkCause::Unproven, why, agent, in_a_row, trouble: None }
    }

    /// Its service cannot be used, which is no fault of the work.
    fn unavailable(&self, trouble: ServiceTrouble, detail: &str, by: &Circumstances<'_>) -> Parked {
        let cause = match trouble {
            ServiceTrouble::Outage => ParkCause::Outage,
            ServiceTrouble::SignIn => ParkCause::SignIn,
            ServiceTrouble::Credit => ParkCause::Credit,
        };
        let why = match one_line(detail, WHY_LENGTH_MAX) {
            empty if empty.is_empty() => cause.to_string(),
            why => why,
        };
        let (agent, in_a_row) = (self.agent.name.clone(), by.parked_before + 1);
        let until = Some(by.now.plus(by.delay()));
        Parked { until, cause, why, agent, in_a_row, trouble: None }
    }
}

impl Circumstances<'_> {
    /// How long to wait where the service does not say how long: longer each time.
    fn delay(&self) -> Duration {
        let policy = Policy::of(Scope::RateLimit);
        match policy.after(self.parked_before.min(10), FailureClass::Transient, self.work) {
            Outlook::Again { delay } => delay,
            Outlook::GiveUp => policy.longest_delay,
        }
    }
}

fn said(what: &str, end: &End) -> String {
    match end.detail.trim() {
        "" => what.to_owned(),
        detail => format!("{what}: {}", shortened(&one_line(detail, 300))),
    }
}
