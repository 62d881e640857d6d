//! Reviews: a reviewer agent looks at the work, and what it finds is recorded for a gate.
//!
//! The reviewer has a conversation of its own, may change nothing, and is asked nothing. What it
//! found counts for the content that was there before and after it looked, and for no other.

mod brief;
mod findings;

use crate::{
    accounts,
    agent::{self, Agent, HookSource, Job, JobEnd, JobOrder, Onlooker, Trouble},
    context,
    error::{EngineError, Problem},
    gate,
    guest::{Attended, Guest, Waits},
    host,
    ledger::MachineCommand,
    project::Project,
    threaded::Threaded,
};
use std::ffi::OsString;
use waypost_agent::launch::{Access, Prompts};
use waypost_model::{
    code::Code,
    machine::Rejected,
    next::NextStep,
    time::Time,
    workflow::{self, Feature, GateName, Review},
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

/// A review under way.
pub(crate) struct Reviewing {
    feature: Feature,
    gate: GateName,
    agent: Agent,
    keeper: Vec<OsString>,
    stage: ReviewStage,
    /// Whether the reviewer was told already that its answer could not be read.
    is_corrected: bool,
    onlooker: Box<dyn Onlooker + Send>,
}

/// What is done for it. Git is asked in a thread of its own.
enum ReviewStage {
    /// It is found what there is to look at.
    Prepared(Threaded<Result<Reviewed, EngineError>>),
    /// The reviewer looks.
    Looked { job: Box<Job>, tree: Option<String> },
    /// It has looked; whether files have changed meanwhile is found.
    Compared {
        job: Box<Job>,
        tree: Option<String>,
        end: Box<JobEnd>,
        present: Threaded<Result<Option<String>, EngineError>>,
    },
    /// Between two of these.
    Between,
}

/// What a reviewer looks at.
struct Reviewed {
    /// The content of the work tree.
    tree: Option<String>,
    change: Option<brief::FeatureChange>,
}

/// Has the work reviewed and records what was found; none if it was stopped. The project comes back
/// in every case but one in which no host could be begun.
pub fn review(
    project: Project,
    options: ReviewOptions,
    onlooker: Box<dyn Onlooker + Send>,
) -> Result<(Project, Result<Option<Review>, EngineError>), EngineError> {
    host::work(project, "develop review", move |project| {
        Reviewing::begin(project, options, onlooker)
    })
}

impl Reviewing {
    /// Begins a review, or takes up the one that was begun.
    pub(crate) fn begin(
        project: &mut Project,
        options: ReviewOptions,
        onlooker: Box<dyn Onlooker + Send>,
    ) -> Result<Self, EngineError> {
        project.refuse_stale()?;
        let (feature, gate) = reviewed_gate(project, options.gate)?;
        if options.agent.is_some() && !project.actor().is_person() {
            return Err(Rejected::reserved("choosing the reviewer").into());
        }
        let agent = agent::for_job(&project.setup, options.agent.as_deref(), "reviewer")?;
        let (place, since) = (project.place().clone(), feature.started_at);
        let prepared = Threaded::begin(move || {
            let tree = waypost_git::content(&place)?;
            Ok(Reviewed { tree, change: brief::FeatureChange::find(&place, since)? })
        })?;
        let (stage, is_corrected) = (ReviewStage::Prepared(prepared), false);
        Ok(Self { feature, gate, agent, keeper: options.keeper, stage, is_corrected, onlooker })
    }

    /// Sends a reviewer, or takes up the one that was sent.
    fn send(&self, project: &mut Project, reviewed: &Reviewed) -> Result<Job, EngineError> {
        let Self { feature, gate, .. } = self;
        let tree = reviewed.tree.as_deref().unwrap_or("-");
        let known = context::for_brief(project, "reviewer", None);
        let order = JobOrder {
            name: format!("review-{gate}"),
            key: format!("{} {tree}", feature.started_at.millis()),
            agent: self.agent.clone(),
            access: Access::Read,
            prompts: Prompts::Refused,
            hook: HookSource::Given,
            schema: Some(findings::SCHEMA.to_owned()),
            folder: None,
            more_folders: Vec::new(),
            environment: None,
            secrets: Vec::new(),
            attempt: 1,
            message: brief::message(feature, *gate, reviewed.change.as_ref()) + &known,
            again: brief::again(*gate),
            bounds: agent::job_bounds(&project.setup),
        };
        Job::begin(project, &self.keeper, order)
    }

    /// Goes one step on, if what it waits for has come.
    fn step(&mut self, project: &mut Project) -> Result<ReviewStep, EngineError> {
        match std::mem::replace(&mut self.stage, ReviewStage::Between) {
            ReviewStage::Prepared(mut prepared) => {
                if self.onlooker.wants_stop() {
                    return Ok(ReviewStep::Over(None));
                }
                let Some(reviewed) = prepared.take()? else {
                    self.stage = ReviewStage::Prepared(prepared);
                    return Ok(ReviewStep::Waits);
                };
                let reviewed = reviewed?;
                let job = Box::new(self.send(project, &reviewed)?);
                self.stage = ReviewStage::Looked { job, tree: reviewed.tree };
                Ok(ReviewStep::Moved)
            }
            ReviewStage::Looked { mut job, tree } => {
                let Self { is_corrected, onlooker, .. } = self;
                let end = job.attend_alone(project, onlooker.as_mut(), &mut |heard| {
                    let why = findings::read(&heard.text).err().filter(|_| !*is_corrected)?;
                    *is_corrected = true;
                    Some(brief::correction(&why))
                })?;
                let Some(end) = end.map(Box::new) else {
                    self.stage = ReviewStage::Looked { job, tree };
                    return Ok(ReviewStep::Waits);
                };
                match end.trouble(&job.order.name, project.clock.now()) {
                    Some(Trouble::Interrupted) => return Ok(ReviewStep::Over(None)),
                    Some(Trouble::Parked(parked)) => {
                        return Err(failed(&job, &accounts::in_words(&parked)));
                    }
                    Some(Trouble::Failed { text, .. }) => return Err(failed(&job, &text)),
                    None => {}
                }
                let place = project.place().clone();
                let present = Threaded::begin(move || Ok(waypost_git::content(&place)?))?;
                self.stage = ReviewStage::Compared { job, tree, end, present };
                Ok(ReviewStep::Moved)
            }
            ReviewStage::Compared { job, tree, end, mut present } => {
                if self.onlooker.wants_stop() {
                    return Ok(ReviewStep::Over(None));
                }
                match present.take()? {
                    None => {
                        self.stage = ReviewStage::Compared { job, tree, end, present };
                        Ok(ReviewStep::Waits)
                    }
                    Some(present) => {
                        let is_same = present? == tree;
                        self.conclude(project, &job, (tree, is_same), &end).map(ReviewStep::Over)
                    }
                }
            }
            ReviewStage::Between => Ok(ReviewStep::Over(None)),
        }
    }

    /// Takes what the reviewer found.
    fn conclude(
        &self,
        project: &mut Project,
        job: &Job,
        (tree, is_same): (Option<String>, bool),
        end: &JobEnd,
    ) -> Result<Option<Review>, EngineError> {
        if !is_same {
            job.forget(project)?;
            return Err(failed(job, "files have changed while it looked, so it does not count"));
        }
        let findings = match findings::read(&end.ended.heard.text) {
            Ok(findings) => findings,
            Err(why) => {
                job.forget(project)?;
                return Err(failed(job, &why));
            }
        };
        let (gate, agent, usage) = (self.gate, self.agent.name.clone(), end.usage);
        let review = Review { gate, agent, tree, findings, usage };
        let command = workflow::Command::Review { review: review.clone() };
        let stream = project.workflow_stream();
        gate::by_waypost(project, &[MachineCommand::workflow(stream, command)])?;
        job.forget(project)?;
        Ok(Some(review))
    }
}

/// What became of a step.
enum ReviewStep {
    /// The next one may be done at once.
    Moved,
    Waits,
    Over(Option<Review>),
}

fn failed(job: &Job, text: &str) -> EngineError {
    let message = format!("the review by {} came to nothing: {text}", job.order.agent.name);
    let hint = format!("what it said is in {}", job.log().display());
    Problem::new(Code::ReviewFailed, message).hint(hint).into()
}

impl Guest for Reviewing {
    /// What was found; none if it was stopped.
    type End = Option<Review>;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        match &self.stage {
            ReviewStage::Prepared(prepared) => prepared.waits(waits),
            ReviewStage::Looked { job, .. } => job.waits(waits),
            ReviewStage::Compared { present, .. } => present.waits(waits),
            ReviewStage::Between => {}
        }
        waits.readable_too(self.onlooker.bell());
    }

    fn attend(
        &mut self,
        project: &mut Project,
        _: Time,
    ) -> Result<Attended<Option<Review>>, EngineError> {
        loop {
            match self.step(project)? {
                ReviewStep::Moved => {}
                ReviewStep::Waits => return Ok(Attended::GoesOn),
                ReviewStep::Over(review) => return Ok(Attended::Over(review)),
            }
        }
    }
}

/// The gate that a review is for, and its feature: the gate of the phase, and no other.
fn reviewed_gate(
    project: &mut Project,
    wanted: Option<GateName>,
) -> Result<(Feature, GateName), EngineError> {
    let Some(feature) = &project.workflow()?.feature else {
        let none = Rejected::rule(Code::NoWorkflow, "no workflow is active");
        return Err(none.next(NextStep::StartFeature).into());
    };
    let phase = feature.phase;
    match (phase.gate(), wanted) {
        (Some(gate), None) => Ok((feature.clone(), gate)),
        (Some(gate), Some(wanted)) if gate == wanted => Ok((feature.clone(), gate)),
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
