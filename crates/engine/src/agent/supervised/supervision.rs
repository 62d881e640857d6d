//! The life of one agent process under supervision: what it may use up, whether it waits for a
//! person, and how it is brought to its end.
//!
//! Nothing here does anything: bytes, times and its end come in, acts go out (`take_acts`), and
//! `due` names the time at which it has to be looked after even if nothing comes.

use super::{
    dialogue::{Act, Dialogue},
    ending::{AgentEnd, Halt, ProcessEnd, Purse},
    lease::{Renewal, Spending},
    proof::MadeCall,
};
use crate::agent::{Agent, Heard, Meter};
use std::time::Duration;
use waypost_agent::{
    answer::Answer,
    protocol::{Spoken, WINDOW},
    stream::Ask,
};
use waypost_model::{run::Usage, time::Time};
use waypost_proc::{Lease, Stop};

/// How long a program may take to end after its turn is done.
pub(super) const FAREWELL: Duration = Duration::from_secs(10);

/// What one process of an agent may use up. All of it stands still while it waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) time: Option<Duration>,
    /// How long it may be silent.
    pub(crate) stall: Option<Duration>,
    /// What it may spend, in millionths of a dollar.
    pub(crate) micros: Option<u64>,
    /// Whose money that is.
    pub(crate) purse: Purse,
    /// How long it may go on without an engine; 0: it ends with its engine, none: as long as it
    /// takes.
    pub(crate) unattended: Option<Duration>,
}

impl Bounds {
    /// From so many seconds; 0 is no limit.
    pub(crate) fn seconds(seconds: u64) -> Option<Duration> {
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// What a process may do before its engine has heard of it.
    pub(super) fn first_lease(&self, share: Option<u64>) -> Option<Lease> {
        let left_micros = self.micros.into_iter().chain(share).min();
        let pace = Spending { left_micros, ..Spending::default() };
        let lease = pace.lease(self.unattended)?;
        Some(Lease { time: self.time, stall: self.stall, ..lease })
    }
}

/// An agent's process, as far as it is known here.
#[derive(Debug)]
pub(crate) struct Supervision {
    pub(crate) agent: Agent,
    dialogue: Dialogue,
    pub(crate) meter: Meter,
    bounds: Bounds,
    since: Time,
    /// When it last said something.
    heard_at: Time,
    /// Since when it waits for a person.
    waits_since: Option<Time>,
    waited: Duration,
    /// Whether all of its tree stands still; none: that is not known of one that was taken over.
    is_paused: Option<bool>,
    halt: Option<Halt>,
    /// What it has done that the hook was not asked about.
    unproven: Option<String>,
    /// When it is stopped if it does not end by itself.
    stop_at: Option<Time>,
    end: Option<ProcessEnd>,
    /// What it may spend of a purse that it shares, in millionths of a dollar; none: no limit.
    share: Option<u64>,
    renewal: Renewal,
}

impl Supervision {
    /// Of a process that works since `since`; it was last heard `now`.
    pub(crate) fn new(
        agent: Agent,
        dialogue: Dialogue,
        meter: Meter,
        bounds: Bounds,
        (since, now): (Time, Time),
    ) -> Self {
        let mut supervision = Self {
            agent,
            dialogue,
            meter,
            bounds,
            since,
            heard_at: now,
            waits_since: None,
            waited: Duration::ZERO,
            is_paused: Some(false),
            halt: None,
            unproven: None,
            stop_at: None,
            end: None,
            share: None,
            renewal: Renewal::default(),
        };
        supervision.read_meter();
        supervision
    }

    /// Its keeper was given its first lease when it was started.
    pub(super) fn is_leased(&mut self, now: Time) {
        self.renewal = Renewal::told(self.bounds.first_lease(self.share), now);
    }

    fn read_meter(&mut self) {
        self.meter.read(&self.dialogue.heard.tally, &self.agent);
    }

    pub(crate) fn heard(&self) -> &Heard {
        &self.dialogue.heard
    }

    pub(crate) fn since(&self) -> Time {
        self.since
    }

    pub(crate) fn spent(&self) -> Usage {
        self.meter.spent()
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.halt.is_some()
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits_since.is_some()
    }

    /// Since when it waits for a person, if it does.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        self.waits_since
    }

    /// Whether its process has ended, and all that it said was heard.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// What is to be done to its process now, in order.
    pub(crate) fn take_acts(&mut self) -> Vec<Act> {
        self.dialogue.take_acts()
    }

    /// Hears more of what it says.
    pub(crate) fn hear(&mut self, bytes: &[u8], now: Time) {
        self.heard_at = now;
        self.dialogue.hear(bytes);
        self.read_meter();
    }

    /// Hears what its program held back for lines that need not come, if it has been quiet. Says
    /// whether there was anything.
    pub(crate) fn settle(&mut self, now: Time) -> bool {
        let is_due = self.settles_at().is_some_and(|at| now >= at);
        if is_due {
            self.dialogue.settle();
            self.read_meter();
        }
        is_due
    }

    fn settles_at(&self) -> Option<Time> {
        self.dialogue.is_unsettled().then(|| self.heard_at.plus(WINDOW))
    }

    /// Its process has ended, and everything that it said was heard.
    pub(crate) fn ended(&mut self, end: ProcessEnd) {
        self.dialogue.finish();
        self.read_meter();
        self.end = Some(end);
    }

    /// The clock jumped: what was at the time `from` is at the time `to` now.
    pub(crate) fn shift(&mut self, from: Time, to: Time) {
        let by = to.millis().saturating_sub(from.millis());
        let times = [&mut self.since, &mut self.heard_at];
        let others = [&mut self.waits_since, &mut self.stop_at].into_iter().flatten();
        for time in times.into_iter().chain(others) {
            *time = Time::from_millis(time.millis().saturating_add(by));
        }
        self.renewal.shift(by);
    }

    /// What it may spend of a purse that it shares with others.
    pub(crate) fn set_share(&mut self, micros: Option<u64>) {
        self.share = micros;
    }

    /// Notes whether it waits for a person.
    pub(crate) fn set_waits(&mut self, waits: bool, now: Time) {
        match (self.waits_since, waits) {
            (None, true) => self.waits_since = Some(now),
            (Some(since), false) => {
                self.waited += now.since(since);
                self.heard_at = now;
                self.waits_since = None;
            }
            _ => {}
        }
    }

    /// Makes all of its tree stand still, or go on; its limits do as it does.
    pub(crate) fn set_paused(&mut self, is_paused: bool, now: Time) {
        if self.is_paused != Some(is_paused) && !self.is_over() {
            self.is_paused = Some(is_paused);
            self.dialogue.pause(is_paused);
        }
        self.set_waits(is_paused, now);
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused == Some(true)
    }

    /// It was taken over: an engine that died may have made it stand still.
    pub(super) fn is_taken_over(&mut self) {
        self.is_paused = None;
    }

    /// What it has signalled since this was last asked for, each with its place in the stream.
    pub(crate) fn take_spoken(&mut self) -> Vec<Spoken> {
        std::mem::take(&mut self.dialogue.heard.spoken)
    }

    /// Says something further. Says whether its program takes that.
    pub(crate) fn say(&mut self, text: &str) -> bool {
        self.dialogue.say(text)
    }

    pub(crate) fn can_answer(&self, ask: &Ask) -> bool {
        self.dialogue.can_answer(ask)
    }

    /// Answers a question. One that cannot be answered holds its program up for ever: that is
    /// ended, and asks again.
    pub(crate) fn answer(&mut self, ask: &Ask, given: &Answer) {
        if !self.dialogue.answer(ask, given) {
            self.halt(Halt::Unanswerable);
        }
    }

    /// Nothing more is said to it: a program that has ended its turn ends.
    pub(crate) fn dismiss(&mut self, now: Time) {
        if !self.dialogue.is_hung_up() {
            self.dialogue.hang_up();
            self.stop_at = Some(now.plus(FAREWELL));
        }
    }

    /// Ends it before its work is done; the first reason counts.
    pub(crate) fn halt(&mut self, why: Halt) {
        if self.halt.is_some() {
            return;
        }
        // Its work is done, and counts; it only has to go sooner.
        if why == Halt::Given && self.dialogue.is_hung_up() {
            return self.dialogue.stop(Stop::Asked);
        }
        self.halt = Some(why);
        self.dialogue.stop(match why {
            Halt::TimedOut => Stop::TimedOut,
            Halt::Stalled => Stop::Stalled,
            Halt::Given | Halt::Budget(_) | Halt::Unanswerable | Halt::Unproven => Stop::Asked,
        });
    }

    /// The calls that came to a result since this was last asked for.
    pub(super) fn take_made(&mut self) -> Vec<MadeCall> {
        std::mem::take(&mut self.dialogue.heard.made)
    }

    /// It has done something that the hook was not asked about: whatever else it was to end for, it is
    /// stopped for that.
    pub(super) fn expose(&mut self, why: String) {
        self.unproven.get_or_insert(why);
        if self.halt.replace(Halt::Unproven) != Some(Halt::Unproven) && !self.is_over() {
            self.dialogue.stop(Stop::Asked);
        }
    }

    /// Whether it was found to have done something that the hook was not asked about: what it says counts
    /// for nothing.
    pub(crate) fn is_exposed(&self) -> bool {
        self.unproven.is_some()
    }

    /// Ends its turn: a program that can be told so counts what it cost, others are stopped.
    pub(crate) fn interrupt(&mut self, why: Halt, now: Time) {
        if self.halt.is_some() {
            return;
        }
        if !self.dialogue.interrupt() {
            return self.halt(why);
        }
        self.halt = Some(why);
        self.stop_at = Some(now.plus(FAREWELL));
    }

    /// Ends it if it has used up what it may.
    pub(crate) fn keep_bounds(&mut self, now: Time) {
        if self.stop_at.is_some_and(|at| now >= at) {
            self.stop_at = None;
            self.dialogue.stop(Stop::Asked);
        }
        if self.halt.is_some() && self.heard().end.is_some() {
            // The turn was interrupted, and its program has counted what it cost.
            self.dismiss(now);
        }
        if self.is_bounded() {
            self.keep_limits(now);
        }
        self.renew(now);
    }

    fn keep_limits(&mut self, now: Time) {
        let is_past = |time: Option<Time>| time.is_some_and(|time| now >= time);
        if self.bounds.micros.is_some_and(|micros| self.spent().cost_micros >= micros) {
            self.interrupt(Halt::Budget(self.bounds.purse), now);
        } else if is_past(self.time_is_up()) {
            self.halt(Halt::TimedOut);
        } else if is_past(self.is_stalled_at()) {
            self.halt(Halt::Stalled);
        }
    }

    /// Says how long it may go on without a further word, if its keeper has to be told that.
    pub(crate) fn renew(&mut self, now: Time) {
        if self.is_over() {
            return;
        }
        if let Some(lease) = self.lease(now)
            && self.renewal.renew(lease, now)
        {
            self.dialogue.renew(lease);
        }
    }

    fn lease(&self, now: Time) -> Option<Lease> {
        if !self.is_bounded() {
            // It costs nothing now, or is about to go: limits of its own stand still.
            let lease = Spending::default().lease(self.bounds.unattended)?;
            let span = if self.waits() { lease.span } else { lease.span.min(FAREWELL * 2) };
            return Some(Lease { span, ..lease });
        }
        let spent_micros = self.spent().cost_micros;
        let own = self.bounds.micros.map(|micros| micros.saturating_sub(spent_micros));
        let worked = now.since(self.since).saturating_sub(self.waited);
        let left_micros = own.into_iter().chain(self.share).min();
        let lease = Spending { spent_micros, worked, left_micros }.lease(self.bounds.unattended)?;
        let time = self.time_is_up().map(|at| at.since(now));
        Some(Lease { time, stall: self.bounds.stall, ..lease })
    }

    /// Whether its limits count now.
    fn is_bounded(&self) -> bool {
        self.halt.is_none() && !self.waits() && !self.dialogue.is_hung_up()
    }

    fn time_is_up(&self) -> Option<Time> {
        self.bounds.time.map(|time| self.since.plus(time.saturating_add(self.waited)))
    }

    fn is_stalled_at(&self) -> Option<Time> {
        self.bounds.stall.map(|stall| self.heard_at.plus(stall))
    }

    /// When it has to be looked after at the latest, if nothing comes before.
    pub(crate) fn due(&self) -> Option<Time> {
        let bounds = [self.time_is_up(), self.is_stalled_at()].into_iter().flatten();
        let bounds = bounds.filter(|_| self.is_bounded());
        let renewal = self.renewal.due().filter(|_| !self.is_over());
        let settling = self.settles_at().filter(|_| !self.is_over());
        bounds.chain(self.stop_at).chain(renewal).chain(settling).min()
    }

    /// How it ended; `end` is what became of its process.
    pub(crate) fn close(self, end: ProcessEnd) -> AgentEnd {
        let Self { agent, dialogue, meter, halt, unproven, .. } = self;
        let heard = dialogue.heard;
        AgentEnd { agent, heard, meter, end, halt, unproven, is_cut: false, held: None }
    }
}
