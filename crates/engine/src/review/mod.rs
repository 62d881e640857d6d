//! Reviews: a reviewer agent looks at the work, and what it finds is recorded for a gate.
//!
//! The reviewer has a conversation of its own, may change nothing, and is asked nothing. What it
//! found counts for the content that was there before and after it looked, and for no other.

mod brief;
mod findings;

use crate::{
    agent::{Bounds, Errand, HookSource, Mission, Onlooker, SHELL, Trouble, supervise},
    error::{EngineError, Problem},
    ledger::MachineCommand,
    project::Project,
    worktrees,
};
use std::{ffi::OsString, time::Duration};
use waypost_agent::launch::{Access, Prompts};
use waypost_model::{
    code::Code,
    config,
    machine::Rejected,
    next::NextStep,
    workflow::{self, GateName, Review},
};

/// What is to be reviewed, and by whom.
#[derive(Clone, Debug)]
pub struct ReviewOptions<'a> {
    /// None: the gate of the phase.
    pub gate: Option<GateName>,
    /// None: as configured.
    pub agent: Option<&'a str>,
    /// The program that keeps children: `waypost keeper`.
    pub keeper: &'a [OsString],
}

impl Project {
    /// Has the work reviewed and records what was found; none if it was stopped.
    pub fn review(
        &mut self,
        options: &ReviewOptions<'_>,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Option<Review>, EngineError> {
        self.refuse_stale()?;
        let gate = self.reviewed_gate(options.gate)?;
        if options.agent.is_some() && !self.actor().is_person() {
            return Err(Rejected::reserved("choosing the reviewer").into());
        }
        let agent = self.errand_agent(options.agent, "reviewer")?;
        let tree = worktrees::content(self)?;
        let Some(feature) = self.workflow()?.feature.clone() else { return Ok(None) };
        let change = brief::Change::find(self, feature.started_at)?;
        let mission = Mission {
            name: format!("review-{gate}"),
            key: format!("{} {}", feature.started_at.millis(), tree.as_deref().unwrap_or("-")),
            agent,
            access: Access::Read,
            prompts: Prompts::Refused,
            hook: HookSource::Given,
            schema: Some(findings::SCHEMA.to_owned()),
            folder: None,
            environment: None,
            attempt: 1,
            message: brief::message(&feature, gate, change.as_ref()),
            again: brief::again(gate),
            bounds: self.errand_bounds(),
        };
        let name = mission.agent.name.clone();
        let mut errand = Errand::begin(self, options.keeper, mission)?;
        let mut is_corrected = false;
        let outcome = supervise(self, &mut errand, onlooker, &mut |heard| {
            let why = findings::read(&heard.text).err().filter(|_| !is_corrected)?;
            is_corrected = true;
            Some(brief::correction(&why))
        })?;
        let log = errand.log();
        let failed = |text: String| -> EngineError {
            let message = format!("the review by {name} came to nothing: {text}");
            let hint = format!("what it said is in {}", log.display());
            Problem::new(Code::ReviewFailed, message).hint(hint).into()
        };
        match outcome.trouble() {
            Some(Trouble::Stopped) => return Ok(None),
            Some(Trouble::Limited(text) | Trouble::Failed(text)) => return Err(failed(text)),
            None => {}
        }
        if worktrees::content(self)? != tree {
            errand.forget()?;
            return Err(failed("files have changed while it looked, so it does not count".into()));
        }
        let found = findings::read(&outcome.heard.text);
        let findings = match found {
            Ok(findings) => findings,
            Err(why) => {
                errand.forget()?;
                return Err(failed(why));
            }
        };
        let review = Review { gate, agent: name, tree, findings, usage: outcome.usage };
        let command = workflow::Command::Review { review: review.clone() };
        let stream = self.workflow_stream();
        self.by_waypost(&[MachineCommand::workflow(stream, command)])?;
        errand.forget()?;
        Ok(Some(review))
    }

    /// The gate that a review is for: the one of the phase, and no other.
    fn reviewed_gate(&mut self, wanted: Option<GateName>) -> Result<GateName, EngineError> {
        let Some(feature) = &self.workflow()?.feature else {
            let none = Rejected::rule(Code::NoWorkflow, "no workflow is active");
            return Err(none.next(NextStep::StartFeature).into());
        };
        let phase = feature.phase;
        match (phase.gate(), wanted) {
            (Some(gate), None) => Ok(gate),
            (Some(gate), Some(wanted)) if gate == wanted => Ok(gate),
            (_, Some(wanted)) => {
                let owner = wanted.phase();
                let message = format!("{wanted} is reviewed in {owner}, and this is {phase}");
                Err(Rejected::rule(Code::WrongPhase, message).next(feature.next_step()).into())
            }
            (None, None) => {
                let message = format!("{phase} has no gate to review for");
                Err(Rejected::rule(Code::NoGate, message).next(feature.next_step()).into())
            }
        }
    }

    /// The agent for an errand: the one that is named, else the configured one.
    pub(crate) fn errand_agent(
        &self,
        named: Option<&str>,
        part: &str,
    ) -> Result<crate::agent::Agent, EngineError> {
        let run = &self.configuration().values.run;
        let configured = match part {
            "reviewer" => [run.reviewer.as_str(), run.agent.as_str()],
            _ => [run.agent.as_str(), ""],
        };
        let configured = configured.into_iter().find(|name| !name.trim().is_empty());
        let Some(name) = named.or(configured).filter(|name| *name != SHELL) else {
            let key = if part == "reviewer" { "run.reviewer" } else { "run.agent" };
            return Err(Problem::new(Code::AgentMissing, format!("no {part} is configured"))
                .hint(format!("name an agent in waypost.toml, `{key}`"))
                .next(NextStep::ListAgents)
                .into());
        };
        self.agent(name.trim())
    }

    /// What an errand may use up: the same as a task.
    pub(crate) fn errand_bounds(&self) -> Bounds {
        let run = &self.configuration().values.run;
        let seconds = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
        Bounds {
            time: seconds(run.timeout_seconds),
            stall: seconds(run.stall_seconds),
            micros: config::cents(run.task_budget_usd).map(|cents| cents.saturating_mul(10_000)),
        }
    }
}
