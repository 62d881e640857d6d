//! Reviews: a reviewer agent looks at the work, and what it finds is recorded for a gate.
//!
//! The reviewer has a conversation of its own, may change nothing, and is asked nothing. What it
//! found counts for the content that was there before and after it looked, and for no other.

mod brief;
mod findings;

use crate::{
    accounts,
    agent::{Agent, HookSource, Job, JobEnd, JobOrder, Onlooker, SHELL, Trouble},
    error::{EngineError, Problem},
    gate,
    guest::{Attended, Guest, Waits, carry},
    ledger::MachineCommand,
    project::Project,
    worktrees,
};
use std::ffi::OsString;
use waypost_agent::launch::{Access, Prompts};
use waypost_model::{
    code::Code,
    machine::Rejected,
    next::NextStep,
    time::Time,
    workflow::{self, GateName, Review},
};

/// What is to be reviewed, and by whom.
#[derive(Clone, Debug)]
pub struct ReviewOptions {
    /// None: the gate of the phase.
    pub gate: Option<GateName>,
    /// None: as configured.
    pub agent: Option<String>,
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<OsString>,
}

/// A reviewer at work.
pub(crate) struct Reviewing<'a> {
    job: Job,
    gate: GateName,
    /// The content of the work tree that it looks at.
    tree: Option<String>,
    /// Whether it was told already that its answer could not be read.
    is_corrected: bool,
    onlooker: Box<dyn Onlooker + 'a>,
}

impl Project {
    /// Has the work reviewed and records what was found; none if it was stopped.
    pub fn review(
        &mut self,
        options: &ReviewOptions,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Option<Review>, EngineError> {
        match Reviewing::begin(self, options, Box::new(onlooker))? {
            Some(mut reviewing) => carry(self, &mut reviewing),
            None => Ok(None),
        }
    }
}

impl<'a> Reviewing<'a> {
    /// Sends a reviewer, or takes up the one that was sent; none without a workflow.
    pub(crate) fn begin(
        project: &mut Project,
        options: &ReviewOptions,
        onlooker: Box<dyn Onlooker + 'a>,
    ) -> Result<Option<Self>, EngineError> {
        project.refuse_stale()?;
        let gate = project.reviewed_gate(options.gate)?;
        if options.agent.is_some() && !project.actor().is_person() {
            return Err(Rejected::reserved("choosing the reviewer").into());
        }
        let agent = project.job_agent(options.agent.as_deref(), "reviewer")?;
        let tree = worktrees::content(project)?;
        let Some(feature) = project.workflow()?.feature.clone() else { return Ok(None) };
        let change = brief::Change::find(project, feature.started_at)?;
        let order = JobOrder {
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
            bounds: project.job_bounds(),
        };
        let job = Job::begin(project, &options.keeper, order)?;
        Ok(Some(Self { job, gate, tree, is_corrected: false, onlooker }))
    }

    /// Takes what the reviewer found.
    fn conclude(
        &mut self,
        project: &mut Project,
        end: &JobEnd,
    ) -> Result<Option<Review>, EngineError> {
        let (job, agent) = (&self.job, self.job.order.agent.name.clone());
        let failed = |text: String| -> EngineError {
            let message = format!("the review by {agent} came to nothing: {text}");
            let hint = format!("what it said is in {}", job.log().display());
            Problem::new(Code::ReviewFailed, message).hint(hint).into()
        };
        match end.trouble(&job.order.name, project.clock.now()) {
            Some(Trouble::Interrupted) => return Ok(None),
            Some(Trouble::Parked(parked)) => return Err(failed(accounts::in_words(&parked))),
            Some(Trouble::Failed { text, .. }) => return Err(failed(text)),
            None => {}
        }
        if worktrees::content(project)? != self.tree {
            job.forget(project)?;
            return Err(failed("files have changed while it looked, so it does not count".into()));
        }
        let findings = match findings::read(&end.ended.heard.text) {
            Ok(findings) => findings,
            Err(why) => {
                job.forget(project)?;
                return Err(failed(why));
            }
        };
        let (gate, tree, usage) = (self.gate, self.tree.clone(), end.usage);
        let review = Review { gate, agent, tree, findings, usage };
        let command = workflow::Command::Review { review: review.clone() };
        let stream = project.workflow_stream();
        gate::by_waypost(project, &[MachineCommand::workflow(stream, command)])?;
        job.forget(project)?;
        Ok(Some(review))
    }
}

impl Guest for Reviewing<'_> {
    /// What was found; none if it was stopped.
    type End = Option<Review>;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.job.waits(waits);
        waits.readable_too(self.onlooker.bell());
    }

    fn attend(
        &mut self,
        project: &mut Project,
        _: Time,
    ) -> Result<Attended<Option<Review>>, EngineError> {
        let Self { job, is_corrected, onlooker, .. } = self;
        let end = job.attend_alone(project, onlooker.as_mut(), &mut |heard| {
            let why = findings::read(&heard.text).err().filter(|_| !*is_corrected)?;
            *is_corrected = true;
            Some(brief::correction(&why))
        })?;
        match end {
            Some(end) => Ok(Attended::Over(self.conclude(project, &end)?)),
            None => Ok(Attended::GoesOn),
        }
    }
}

impl Project {
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

    /// The agent for a job: the one that is named, else the configured one.
    pub(crate) fn job_agent(&self, named: Option<&str>, part: &str) -> Result<Agent, EngineError> {
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
}
