//! The end of a phase: verification, rework, escalation, review.

use super::{
    ask,
    command::UnverifiedWork,
    event::{Event, MoveFacts},
    review::{ClaimStage, EscalatedWork, EscalationChoice, PhaseClaim, TaskReport, TaskReview},
    state::TaskFile,
    topic::TaskTopic,
    work::prefixed,
};
use crate::{
    actor::Actor,
    code::Code,
    document::server::{AgentStatus, ServerTaskStatus, Trigger},
    inbox::{COMMENTS_MAX, LineComment, ReviewedDiff},
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    retry::{Policy, Scope},
    run::Usage,
    time::Time,
};
use std::time::Duration;

/// What the engine tells of a verification.
pub(super) struct Verification<'a> {
    pub(super) claim: u32,
    pub(super) report: &'a TaskReport,
    pub(super) usage: &'a Usage,
    pub(super) commit: Option<&'a str>,
    pub(super) diff: Option<&'a ReviewedDiff>,
    pub(super) escalation_timeout: Option<Duration>,
}

impl TaskFile {
    pub(super) fn verify(&self, verification: &Verification<'_>) -> Decision<Event> {
        let Some(claim) = self.unverified().filter(|it| it.number == verification.claim) else {
            return Decision::nothing();
        };
        let Verification { report, usage, commit, diff, escalation_timeout, .. } = verification;
        let (number, phase) = (claim.number, claim.phase);
        let verified = Event::Verified { claim: number, report: (*report).clone(), usage: **usage };
        let limit = Policy::of(Scope::Rework).limit;
        if report.is_passed {
            let review = self.next_review(phase, report, *commit);
            return prefixed([verified], self.open_review(review, *diff));
        }
        if self.reworks < limit {
            let rework = self.reworks + 1;
            let again = self.rework(phase, report.told(), (rework, limit));
            return prefixed([verified], again);
        }
        let why = format!("phase {phase} did not hold after {limit} reworks");
        let (commit, diff) = (commit.map(str::to_owned), diff.cloned());
        let work = EscalatedWork { report: None, commit, diff };
        let escalated = self.escalate(claim, (&why, report), work, *escalation_timeout);
        prefixed([verified], escalated)
    }

    pub(super) fn give_up_verifying(
        &self,
        number: u32,
        (why, seen): (&str, &UnverifiedWork),
        timeout: Option<Duration>,
    ) -> Decision<Event> {
        let Some(claim) = self.unverified().filter(|it| it.number == number) else {
            return Decision::nothing();
        };
        let UnverifiedWork { report, commit, diff } = seen.clone();
        let work = EscalatedWork { report: Some(report), commit, diff };
        self.escalate(claim, (why, &seen.report), work, timeout)
    }

    /// The findings go back to the agent.
    fn rework(&self, phase: u32, findings: Vec<String>, count: (u32, u32)) -> Decision<Event> {
        let (rework, limit) = count;
        let facts = MoveFacts { phase: Some(phase), ..MoveFacts::default() };
        let moved = Event::Moved {
            task: None,
            agent: Some(AgentStatus::Running),
            trigger: Trigger::VerificationFailed,
            facts,
        };
        Decision::events([Event::ReworkAsked { phase, findings, rework, limit }, moved])
    }

    fn escalate(
        &self,
        claim: &PhaseClaim,
        (why, report): (&str, &TaskReport),
        work: EscalatedWork,
        timeout: Option<Duration>,
    ) -> Decision<Event> {
        let question = ask::escalation(self, claim, (why, report), timeout);
        let event = Event::Escalated { claim: claim.number, why: why.to_owned(), work };
        Decision::events([event]).with(Effect::Ask(question))
    }

    fn next_review(&self, phase: u32, report: &TaskReport, commit: Option<&str>) -> TaskReview {
        TaskReview {
            version: self.review_count + 1,
            phase,
            report: report.clone(),
            is_accepted: !report.is_passed || !self.escalated.is_none(),
            commit: commit.map(str::to_owned),
            since: self.end_of_phase_before(),
        }
    }

    fn open_review(&self, review: TaskReview, diff: Option<&ReviewedDiff>) -> Decision<Event> {
        let seen = review.report.deliverables.len();
        let facts = MoveFacts {
            phase: Some(review.phase),
            deliverables: u32::try_from(seen).ok(),
            ..MoveFacts::default()
        };
        let moved = Event::Moved {
            task: Some(ServerTaskStatus::Review),
            agent: None,
            trigger: Trigger::VerificationPassed,
            facts,
        };
        let question = ask::review(self, &review, diff);
        Decision::events([Event::ReviewOpened { review }, moved]).with(Effect::Ask(question))
    }

    /// The commit that the phase before ended with, else the one that the workspace began with.
    fn end_of_phase_before(&self) -> Option<String> {
        let before = self.phase.and_then(|phase| phase.checked_sub(1));
        let ended =
            self.checkpoints.iter().rev().find(|it| {
                it.taken.reason.ends_phase() && it.phase.is_some() && it.phase <= before
            });
        let base = || self.workspace.as_ref().and_then(|it| it.base.clone());
        ended.and_then(|it| it.taken.commit.clone()).or_else(base)
    }

    /// The review that is open, if it is the one that is meant.
    fn reviewed(
        &self,
        version: Option<u32>,
        (by, what): (&Actor, &str),
    ) -> Result<&TaskReview, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved(what));
        }
        let open = self.review.as_ref().filter(|_| self.status == ServerTaskStatus::Review);
        match open {
            Some(review) if version.is_none_or(|it| it == review.version) => Ok(review),
            _ if version.is_some_and(|it| it <= self.review_count) => {
                let version = version.unwrap_or_default();
                let message = format!("review {version} of {} is not the open one", self.id);
                let step = NextStep::ShowServedTask { task: self.id.clone() };
                Err(Rejected::outdated(Code::ReviewStale, message).next(step))
            }
            _ => Err(self.unfit("reviewed", "no review of it is open")),
        }
    }

    pub(super) fn approve(
        &self,
        version: Option<u32>,
        (by, now): (&Actor, Time),
    ) -> Result<Decision<Event>, Rejected> {
        let review = self.reviewed(version, (by, "approving"))?;
        let approved = Event::Approved { version: review.version, by: by.clone() };
        let settle = Effect::Settle { topic: TaskTopic::Review(review.version).into() };
        if review.phase >= self.shape.total() {
            return Ok(prefixed([approved], self.completed(Trigger::Approve, now)));
        }
        let begun = Event::PhaseBegun { phase: review.phase + 1 };
        let moved = self.back_to_work(Trigger::Approve, review.phase + 1);
        Ok(Decision::events([approved, begun, moved]).with(settle))
    }

    pub(super) fn request_changes(
        &self,
        version: Option<u32>,
        (text, comments): (&str, &[LineComment]),
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        let review = self.reviewed(version, (by, "requesting changes"))?;
        if text.trim().is_empty() {
            let message = "a request for changes needs a text that says what to change";
            return Err(Rejected::rule(Code::ReasonMissing, message));
        }
        if comments.len() > COMMENTS_MAX || comments.iter().any(|it| it.line == 0) {
            let message = format!("comments are on lines from 1, at most {COMMENTS_MAX} of them");
            return Err(Rejected::unknown(Code::BadArgument, message));
        }
        let requested = Event::ChangesRequested {
            version: review.version,
            by: by.clone(),
            text: text.to_owned(),
            comments: comments.to_vec(),
        };
        let moved = self.back_to_work(Trigger::RequestChanges, review.phase);
        let settle = Effect::Settle { topic: TaskTopic::Review(review.version).into() };
        Ok(Decision::events([requested, moved]).with(settle))
    }

    fn back_to_work(&self, trigger: Trigger, phase: u32) -> Event {
        let facts = MoveFacts { phase: Some(phase), ..MoveFacts::default() };
        let task = Some(ServerTaskStatus::InProgress);
        Event::Moved { task, agent: Some(AgentStatus::Running), trigger, facts }
    }

    pub(super) fn decide_escalation(
        &self,
        number: u32,
        (choice, text): (EscalationChoice, &str),
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let by = asked.by;
        let may_decide =
            by.is_person() || (*by == Actor::Waypost && choice == EscalationChoice::Fail);
        if !may_decide {
            return Err(Rejected::reserved("deciding about an escalation"));
        }
        let is_meant = |it: &&PhaseClaim| it.number == number && it.stage == ClaimStage::Escalated;
        let Some(claim) = self.claim.as_ref().filter(is_meant) else {
            let message = format!("{} waits for no such decision", self.id);
            return match by {
                Actor::Waypost => Ok(Decision::nothing()),
                _ => Err(Rejected::rule(Code::NotAsked, message).next(NextStep::ShowInbox)),
            };
        };
        let decided = Event::EscalationDecided { claim: number, choice, by: by.clone() };
        let EscalatedWork { report, commit, diff } = &self.escalated;
        let report = report.clone().or_else(|| self.report.clone()).unwrap_or_default();
        let decision = match choice {
            EscalationChoice::Retry => {
                let said = (!text.is_empty()).then(|| text.to_owned());
                let findings = report.told().into_iter().chain(said).collect();
                self.rework(claim.phase, findings, (0, Policy::of(Scope::Rework).limit))
            }
            EscalationChoice::Accept => {
                let newest = || self.checkpoints.last().and_then(|it| it.taken.commit.as_deref());
                let review =
                    self.next_review(claim.phase, &report, commit.as_deref().or_else(newest));
                self.open_review(review, diff.as_ref())
            }
            EscalationChoice::Fail => {
                let reason = format!("phase {} did not hold", claim.phase);
                self.failed(Trigger::VerificationFailed, &reason, asked.now)
            }
        };
        let topic = TaskTopic::Escalation(number).into();
        Ok(prefixed([decided], decision).with(Effect::Settle { topic }))
    }
}
