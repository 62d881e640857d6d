//! What the end of a model agent means for its attempt.
//!
//! Success is never the exit code alone: the program has to report it, the agent must not have said
//! that it failed, and where nothing verifies the task it must have done something.

use super::{
    attempt::{Attempt, how, shortened},
    signature::signature,
    workplace::Workplace,
};
use crate::agent::{AgentEnd, Circumstances, Heard, ProcessEnd, Trouble};
use waypost_agent::protocol::{Recovery, Severity, Signal};
use waypost_model::{
    retry::FailureClass,
    run::{Failure, Mode, Parked, Settings},
    text::{one_line, plain},
};

/// How much of an agent's last words is kept as its result.
const RESULT_LENGTH_MAX: usize = 2_000;

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
    pub(super) settings: &'a Settings,
    pub(super) ended: &'a AgentEnd,
    pub(super) by: Circumstances<'a>,
    /// Whether the work tree is another than at the start, where that is known.
    pub(super) has_changed: Option<bool>,
}

/// What the agent said at its end, without the lines for us.
pub(crate) fn result(heard: &Heard) -> Option<String> {
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
        if let Some(trouble) = self.ended.cut_short(&self.by) {
            return self.troubled(trouble);
        }
        self.by_its_word().unwrap_or_else(|| match self.ended.trouble(&self.by) {
            Some(trouble) => self.troubled(trouble),
            None => self.done(),
        })
    }

    fn troubled(&self, trouble: Trouble) -> Verdict {
        match trouble {
            Trouble::Interrupted => Verdict::Interrupted,
            Trouble::Parked(parked) => Verdict::Parked(parked),
            Trouble::Failed { text, class, resumes } => self.failed(text, class, resumes),
        }
    }

    /// It said by itself how it fared.
    fn by_its_word(&self) -> Option<Verdict> {
        let id = self.attempt.id.as_str();
        self.ended.heard.signals.iter().rev().find_map(|signal| match signal {
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
                Some(Verdict::Parked(self.ended.parked(&problem.message, &self.by)))
            }
            _ => None,
        })
    }

    fn done(&self) -> Verdict {
        let heard = &self.ended.heard;
        let is_verified = !self.attempt.verify.is_empty();
        if self.settings.mode == Mode::Ralph && !is_verified {
            let promise = self.settings.completion_promise.as_deref();
            if let Some(promise) = promise.filter(|promise| !heard.has_promised(promise)) {
                let text = format!("it did not say `{promise}`");
                return self.failed(text, FailureClass::Validation, false);
            }
        }
        if is_verified {
            return Verdict::Done { needs_change: false };
        }
        let id = self.attempt.id.as_str();
        let is_done = |signal: &Signal| matches!(signal, Signal::Done { task } if task == id);
        let has_result = self.ended.heard.signals.iter().any(is_done);
        // In a work tree of ours that is known when everything is committed.
        let is_apart = self.attempt.workplace != Workplace::Project;
        let is_told = has_result || self.has_changed == Some(true);
        match (heard.tool_calls, is_told || is_apart) {
            (0, _) if self.ended.agent.adapter.tells_tools() => self.failed(
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
        let AgentEnd { heard, end, .. } = self.ended;
        let signature = match end {
            // What we did to it is the same whatever it said.
            _ if self.ended.stopped_for().is_some() => signature(&text, ""),
            ProcessEnd::Ended(ended) => {
                signature(&how(ended.how), &format!("{}\n{text}", heard.text))
            }
            ProcessEnd::Refused(_) => String::new(),
            ProcessEnd::Lost => signature("", &format!("{}\n{text}", heard.text)),
        };
        Verdict::Failed(Failure { text, class, signature, resumes })
    }
}
