//! What the end of a model agent means for its attempt.
//!
//! Success is never the exit code alone: the program has to report it, the agent must not have said
//! that it failed, and where nothing verifies the task it must have done something.

use super::{
    attempt::{Attempt, how, reason, shortened},
    brief::one_line,
    ground::Ground,
    signature::signature,
};
use crate::{
    agent::{Agent, Heard, ProcessEnd},
    clock::offset_at,
};
use std::time::Duration;
use waypost_agent::{
    limits::{self, Trouble},
    protocol::{Recovery, Severity, Signal},
    stream::{End, Why},
};
use waypost_model::{
    retry::{FailureClass, Outlook, Policy, Scope},
    run::{Failure, Mode, ParkCause, Parked, Settings},
    text::plain,
    time::Time,
};
use waypost_proc::{How, Refusal};

/// How much of an agent's last words is kept as its result.
const RESULT_LENGTH_MAX: usize = 2_000;

/// Why a task is not worked on any further.
pub(super) const BUDGET_USED_UP: &str = "the task's budget is used up";

const RUN_BUDGET_USED_UP: &str = "the budget of the run or of its phase is used up";

/// How a task waits that may not spend more: until somebody gives it more.
pub(super) fn out_of_money(agent: &Agent, why: &str) -> Parked {
    let (agent, why) = (agent.name.clone(), why.to_owned());
    Parked { until: None, cause: ParkCause::Budget, why, agent, in_a_row: 1 }
}

/// Why we ended an agent's process before its work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It waits again: somebody wants the run to stop, or has taken the task.
    Given,
    /// The run, or its phase, may not spend more.
    RunBudget,
    /// The task may not spend more.
    TaskBudget,
    TimedOut,
    Stalled,
    /// It waits for an answer that nobody can give.
    Unanswerable,
}

/// What became of the work of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// It is to be verified, if anything verifies it.
    Done {
        /// Only if it left a change.
        needs_change: bool,
    },
    Failed(Failure),
    /// It ended without a result and waits again.
    Interrupted,
    Parked(Parked),
}

/// All that a verdict is made from.
pub(super) struct Case<'a> {
    pub(super) attempt: &'a Attempt,
    pub(super) agent: &'a Agent,
    pub(super) settings: &'a Settings,
    pub(super) heard: &'a Heard,
    pub(super) end: &'a ProcessEnd,
    pub(super) halt: Option<Halt>,
    /// Whether the work tree is another than at the start, where that is known.
    pub(super) has_changed: Option<bool>,
    /// How often in a row tasks of its agent's account were parked before.
    pub(super) parked_before: u32,
    pub(super) now: Time,
}

/// What the agent said at its end, without the lines for us.
pub(super) fn result(heard: &Heard) -> Option<String> {
    let is_ours = |line: &&str| line.starts_with("DONE:") || line.starts_with("FAIL:");
    let lines: Vec<&str> = heard.text.lines().filter(|line| !is_ours(&line.trim())).collect();
    let text = plain(lines.join("\n").trim());
    let text = match text.char_indices().nth(RESULT_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    (!text.is_empty()).then_some(text)
}

impl Case<'_> {
    pub(super) fn verdict(&self) -> Verdict {
        self.by_us()
            .or_else(|| self.by_refusal())
            .or_else(|| self.by_its_word())
            .unwrap_or_else(|| self.by_its_end())
    }

    /// We ended it.
    fn by_us(&self) -> Option<Verdict> {
        let failed = |text: &str, class, resumes| {
            let text = text.to_owned();
            let signature = signature(&text, "");
            Some(Verdict::Failed(Failure { text, class, signature, resumes }))
        };
        // It had no chance: its program was waiting for the service.
        if let (Halt::TimedOut | Halt::Stalled, Some(trouble)) = (self.halt?, self.heard.retrying) {
            return Some(Verdict::Parked(self.unavailable(trouble, "its service does not answer")));
        }
        match self.halt? {
            Halt::Given => Some(Verdict::Interrupted),
            Halt::RunBudget => Some(Verdict::Parked(out_of_money(self.agent, RUN_BUDGET_USED_UP))),
            Halt::TaskBudget => Some(Verdict::Parked(out_of_money(self.agent, BUDGET_USED_UP))),
            Halt::TimedOut => failed("it timed out", FailureClass::Transient, false),
            Halt::Unanswerable => {
                failed("it asked something that cannot be answered", FailureClass::Transient, false)
            }
            Halt::Stalled => failed("it said nothing for too long", FailureClass::Transient, true),
        }
    }

    /// It was never started, or its keeper died.
    fn by_refusal(&self) -> Option<Verdict> {
        match self.end {
            ProcessEnd::Lost | ProcessEnd::Refused(Refusal::Busy { .. } | Refusal::Withdrawn) => {
                Some(Verdict::Interrupted)
            }
            ProcessEnd::Refused(Refusal::Impossible { detail }) => {
                let text = format!("the agent {} cannot be started: {detail}", self.agent.name);
                Some(Verdict::Failed(Failure {
                    text,
                    class: FailureClass::Resource,
                    ..Failure::default()
                }))
            }
            ProcessEnd::Ended(_) => None,
        }
    }

    /// It said by itself how it fared.
    fn by_its_word(&self) -> Option<Verdict> {
        let id = self.attempt.id.as_str();
        self.heard.signals.iter().rev().find_map(|signal| match signal {
            Signal::Failed { task, reason } if task == id => {
                let text = match reason.trim() {
                    "" => "it said that it failed".to_owned(),
                    reason => shortened(reason),
                };
                Some(self.failed(text, FailureClass::Transient, false))
            }
            Signal::Dependency(wanted) if wanted.is_required => {
                let text = format!(
                    "it needs {} ({}): put it into its environment (`run.environment`), then \
                     retry",
                    wanted.name,
                    one_line(&wanted.description, 200)
                );
                Some(self.failed(text, FailureClass::Dependency, true))
            }
            Signal::Problem(problem) if problem.severity == Severity::Fatal => {
                let text = format!("a fatal error: {}", shortened(&problem.message));
                Some(self.failed(text, FailureClass::Structural, false))
            }
            Signal::Problem(problem) if problem.recovery == Some(Recovery::PauseAndRetry) => {
                Some(Verdict::Parked(self.parked(&problem.message)))
            }
            _ => None,
        })
    }

    /// What its program reports, and how its process ended.
    fn by_its_end(&self) -> Verdict {
        let Some(end) = &self.heard.end else { return self.broken_off() };
        match end.why {
            Why::Done => self.done(),
            Why::RateLimited => Verdict::Parked(self.parked(&end.detail)),
            Why::Unavailable(trouble) => Verdict::Parked(self.unavailable(trouble, &end.detail)),
            Why::Error if limits::read(&end.detail).is_some() => {
                Verdict::Parked(self.parked(&end.detail))
            }
            Why::Interrupted => Verdict::Interrupted,
            Why::Cut => self.broken_off(),
            Why::Budget => Verdict::Parked(out_of_money(self.agent, BUDGET_USED_UP)),
            Why::TurnLimit => {
                self.failed("its turns are used up".into(), FailureClass::Transient, true)
            }
            Why::OpenTool | Why::Deferred | Why::Background => self.failed(
                "it ended while a tool call had no result".into(),
                FailureClass::Transient,
                true,
            ),
            Why::Refused => {
                self.failed(said("the model declined", end), FailureClass::Transient, false)
            }
            // A conversation that could not even be taken up is not taken up again.
            Why::Error => {
                let resumes = self.heard.has_begun;
                self.failed(said("an error", end), FailureClass::Transient, resumes)
            }
        }
    }

    /// Its process ended in the middle of a turn, or before the first one.
    fn broken_off(&self) -> Verdict {
        let ProcessEnd::Ended(ended) = self.end else { return Verdict::Interrupted };
        let tail = String::from_utf8_lossy(&ended.tail);
        let last =
            if tail.trim().is_empty() { self.heard.other.clone() } else { tail.into_owned() };
        if !self.heard.has_begun {
            if let Some(trouble) = limits::trouble(&last) {
                return Verdict::Parked(self.unavailable(trouble, &last));
            }
            if limits::read(&last).is_some() {
                return Verdict::Parked(self.parked(&last));
            }
        }
        // A conversation that could not even be taken up is not taken up again.
        let resumes = self.heard.has_begun;
        let text = match ended.how {
            // By itself that would read like a success.
            How::Exited(0) => format!("it ended without a result, {}", reason(ended.how, &last)),
            how => reason(how, &last),
        };
        self.failed(text, FailureClass::Transient, resumes)
    }

    fn done(&self) -> Verdict {
        if let ProcessEnd::Ended(ended) = self.end
            && !matches!(ended.how, How::Exited(0) | How::Stopped)
        {
            let tail = String::from_utf8_lossy(&ended.tail);
            return self.failed(reason(ended.how, &tail), FailureClass::Transient, true);
        }
        let is_verified = !self.attempt.verify.is_empty();
        if self.settings.mode == Mode::Ralph && !is_verified {
            let promise = self.settings.completion_promise.as_deref();
            if let Some(promise) = promise.filter(|promise| !self.heard.has_promised(promise)) {
                let text = format!("it did not say `{promise}`");
                return self.failed(text, FailureClass::Validation, false);
            }
        }
        if is_verified {
            return Verdict::Done { needs_change: false };
        }
        let id = self.attempt.id.as_str();
        let is_done = |signal: &Signal| matches!(signal, Signal::Done { task } if task == id);
        let has_result = self.heard.signals.iter().any(is_done);
        // In a work tree of ours that is known when everything is committed.
        let is_apart = self.attempt.ground != Ground::Project;
        let is_told = has_result || self.has_changed == Some(true);
        match (self.heard.tool_calls, is_told || is_apart) {
            (0, _) => self.failed(
                "it ended without doing anything: no tool was used".into(),
                FailureClass::Validation,
                false,
            ),
            (_, false) => {
                let text = format!("it left no change and did not say `DONE:{id}`");
                self.failed(text, FailureClass::Validation, false)
            }
            (_, true) => Verdict::Done { needs_change: !is_told },
        }
    }

    fn failed(&self, text: String, class: FailureClass, resumes: bool) -> Verdict {
        let ended = match self.end {
            ProcessEnd::Ended(ended) => how(ended.how),
            _ => String::new(),
        };
        let signature = signature(&ended, &format!("{}\n{text}", self.heard.text));
        Verdict::Failed(Failure { text, class, signature, resumes })
    }

    /// It met a limit: until the time that was given, else longer each time.
    fn parked(&self, detail: &str) -> Parked {
        let resets = self.heard.resets.clone();
        let resets = resets.or_else(|| limits::read(detail).and_then(|limit| limit.resets));
        let delay = self.delay();
        // A moment later than told, and not all of them in the same moment.
        let later = delay.min(JITTER_MAX);
        let until = match resets.map(|reset| reset.time(self.now, offset_at)) {
            Some(time) if time > self.now.plus(WINDOW_MAX) => self.now.plus(delay),
            Some(time) if time > self.now => time.plus(later),
            // It is over by now; told so again and again, it is not to be believed.
            Some(_) if self.parked_before == 0 => self.now.plus(later),
            Some(_) | None => self.now.plus(delay),
        };
        // Behind a bar there is only the time, which is told anyway.
        let words = detail.split('|').next().unwrap_or_default();
        let why = match one_line(words, 200) {
            empty if empty.is_empty() => "a limit of its service".to_owned(),
            why => why,
        };
        let (agent, in_a_row) = (self.agent.name.clone(), self.parked_before + 1);
        Parked { until: Some(until), cause: ParkCause::Limit, why, agent, in_a_row }
    }
}

impl Case<'_> {
    /// How long to wait where nobody says how long: longer each time.
    fn delay(&self) -> Duration {
        let policy = Policy::of(Scope::RateLimit);
        let id = self.attempt.id.as_str();
        match policy.after(self.parked_before.min(10), FailureClass::Transient, id) {
            Outlook::Again { delay } => delay,
            Outlook::GiveUp => policy.longest_delay,
        }
    }

    /// Its service cannot be used, which is no fault of the task.
    fn unavailable(&self, trouble: Trouble, detail: &str) -> Parked {
        let cause = match trouble {
            Trouble::Outage => ParkCause::Outage,
            Trouble::SignIn => ParkCause::SignIn,
            Trouble::Credit => ParkCause::Credit,
        };
        let why = match one_line(detail, 200) {
            empty if empty.is_empty() => cause.to_string(),
            why => why,
        };
        let (agent, in_a_row) = (self.agent.name.clone(), self.parked_before + 1);
        Parked { until: Some(self.now.plus(self.delay())), cause, why, agent, in_a_row }
    }
}

/// The longest time after which a limit is over: those of a month.
const WINDOW_MAX: Duration = Duration::from_secs(32 * 24 * 60 * 60);

/// How much later than told a limit is tried again.
const JITTER_MAX: Duration = Duration::from_secs(5);

fn said(what: &str, end: &End) -> String {
    match end.detail.trim() {
        "" => what.to_owned(),
        detail => format!("{what}: {}", shortened(&one_line(detail, 300))),
    }
}
