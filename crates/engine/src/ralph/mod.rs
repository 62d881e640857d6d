//! RALPH: the checkpoints of a feature, each tried until its validation holds or it is escalated.
//!
//! Read, Analyze, Learn and Patch are one conversation of an agent; Halt is Waypost's: it runs the
//! validation itself. The iteration is in the journal before its agent starts, so the process that
//! comes after a crash goes on with the same try, in the same conversation. From the third try on,
//! another agent says first what is right. Checkpoints that do not wait for each other are worked
//! on side by side as far as the strategy allows.

mod ask;
mod brief;

use crate::{
    accounts,
    agent::{Agent, HookSource, Job, JobEnd, JobOrder, Onlooker, Trouble},
    error::EngineError,
    evidence,
    guest::{Attended, Guest, Waits, carry},
    project::Project,
};
use brief::{Failed, Try};
use std::{collections::BTreeMap, ffi::OsString, io};
use waypost_agent::{
    launch::{Access, Prompts},
    protocol::{Severity, Signal},
};
use waypost_model::{
    code::Code,
    evidence::Evidence,
    id::{CheckpointId, EntryId},
    machine::Rejected,
    next::NextStep,
    retry::FailureClass,
    run::ParkCause,
    time::Time,
    workflow::{
        CheckpointContract, CheckpointStatus, CheckpointStep, Command, Feature, Phase, Strategy,
    },
};

/// From this try on a test oracle is asked first.
const ORACLE_FROM: u32 = 3;

/// What stands in the place of a conversation at checkpoints that are started here: until they end,
/// Waypost validates them itself, whichever conversation works on them.
const OWNER: &str = "ralph";

/// How much of what a validation prints is kept.
const OUTPUT_KEPT_MAX: usize = 64 << 10;

/// What is to be worked on, and by whom.
#[derive(Clone, Debug)]
pub struct RalphOptions {
    /// None: all of them.
    pub checkpoint: Option<CheckpointId>,
    /// None: as configured.
    pub agent: Option<String>,
    /// Escalates earlier than the feature would.
    pub max_iterations: Option<u32>,
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<OsString>,
}

/// Why no checkpoint is worked on any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RalphEnd {
    /// Nothing is left that could be worked on.
    Over,
    /// An agent waits for the answer to these.
    Waits(Vec<EntryId>),
    /// A limit of the agents' service was met.
    Limited(String),
    Stopped,
}

/// A checkpoint that is being worked on.
struct Lane {
    iteration: u32,
    job: Job,
    failed: Option<Failed>,
    part: Part,
    /// Questions that wait for a person.
    waits: Vec<EntryId>,
}

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Says what is right, and changes nothing.
    Oracle,
    /// Does the work, with what the oracle said.
    Worker { oracle: Option<String> },
}

/// Checkpoints and their agents at work.
pub(crate) struct Ralph<'a> {
    options: RalphOptions,
    agent: Agent,
    oracle: Agent,
    lanes: BTreeMap<CheckpointId, Lane>,
    /// How the last try failed, where that was seen.
    failures: BTreeMap<CheckpointId, Failed>,
    /// Why nothing new is begun.
    ending: Option<RalphEnd>,
    /// Whether something has come to its end, so that something else may begin.
    has_moved: bool,
    onlooker: Box<dyn Onlooker + 'a>,
}

impl Project {
    /// Works on checkpoints until none is left that could be worked on.
    pub fn ralph(
        &mut self,
        options: RalphOptions,
        onlooker: &mut dyn Onlooker,
    ) -> Result<RalphEnd, EngineError> {
        let mut ralph = Ralph::begin(self, options, Box::new(onlooker))?;
        carry(self, &mut ralph)
    }

    /// Whether an agent that `ralph` sent works on a checkpoint, or will go on with it.
    pub fn has_sent_for(&mut self, id: &CheckpointId) -> Result<bool, EngineError> {
        Ok(Job::is_there(self, &worker_name(id))? || Job::is_there(self, &oracle_name(id))?)
    }
}

/// Refuses what cannot be worked on.
fn check(feature: Option<&Feature>, wanted: Option<&CheckpointId>) -> Result<(), Rejected> {
    let Some(feature) = feature else {
        return Err(
            Rejected::rule(Code::NoWorkflow, "no workflow is active").next(NextStep::StartFeature)
        );
    };
    if feature.phase != Phase::Implement {
        let message =
            format!("checkpoints are worked on in IMPLEMENT, and this is {}", feature.phase);
        return Err(Rejected::rule(Code::WrongPhase, message).next(feature.next_step()));
    }
    let Some(contract) = &feature.contract else {
        let message = "there is no checkpoint contract, so nothing would show that a checkpoint \
                       holds; one is agreed in DESIGN";
        return Err(Rejected::rule(Code::ContractMissing, message).next(NextStep::GoBack));
    };
    if let Some(id) = wanted.filter(|id| contract.checkpoint(id).is_none()) {
        let known: Vec<String> = contract.ids().iter().map(ToString::to_string).collect();
        let message = format!("there is no checkpoint {id}; there are {}", known.join(", "));
        return Err(
            Rejected::unknown(Code::CheckpointUnknown, message).next(NextStep::ShowWorkflow)
        );
    }
    Ok(())
}

impl<'a> Ralph<'a> {
    pub(crate) fn begin(
        project: &mut Project,
        options: RalphOptions,
        onlooker: Box<dyn Onlooker + 'a>,
    ) -> Result<Self, EngineError> {
        project.refuse_stale()?;
        check(project.workflow()?.feature.as_ref(), options.checkpoint.as_ref())?;
        let agent = project.job_agent(options.agent.as_deref(), "agent")?;
        let oracle = project.job_agent(None, "reviewer").unwrap_or_else(|_| agent.clone());
        let (lanes, failures) = (BTreeMap::new(), BTreeMap::new());
        let (ending, has_moved) = (None, false);
        Ok(Self { options, agent, oracle, lanes, failures, ending, has_moved, onlooker })
    }
}

impl Guest for Ralph<'_> {
    type End = RalphEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.lanes.values().for_each(|lane| lane.job.waits(waits));
        waits.readable_too(self.onlooker.bell());
    }

    fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<RalphEnd>, EngineError> {
        loop {
            self.has_moved = false;
            if self.onlooker.wants_stop() && self.ending.is_none() {
                self.ending = Some(RalphEnd::Stopped);
            }
            match &self.ending {
                None => self.begin_lanes(project)?,
                Some(_) => {
                    // One whose agent has ended and asks something goes on when it is begun again.
                    self.lanes.retain(|_, it| it.job.over().is_none() || it.waits.is_empty());
                    self.lanes.values_mut().try_for_each(|it| it.job.halt())?;
                }
            }
            if self.lanes.is_empty() && !self.has_moved {
                return Ok(Attended::Over(self.ending.take().unwrap_or(RalphEnd::Over)));
            }
            self.look(project, now)?;
            let is_waiting = self.lanes.values().all(|lane| !lane.waits.is_empty());
            if self.ending.is_none() && is_waiting && !self.lanes.is_empty() {
                let waits = self.lanes.values().flat_map(|lane| lane.waits.iter().cloned());
                self.ending = Some(RalphEnd::Waits(waits.collect()));
                self.has_moved = true;
            }
            if !self.has_moved {
                return Ok(Attended::GoesOn);
            }
        }
    }
}

impl Ralph<'_> {
    /// Begins what can be begun, as far as the strategy allows.
    fn begin_lanes(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(feature) = feature(project)?.filter(|it| it.phase == Phase::Implement) else {
            return Ok(());
        };
        let Some(contract) = &feature.contract else { return Ok(()) };
        let width = match feature.strategy {
            Some(Strategy::Subagent) => 4,
            Some(Strategy::AgentTeams) => project.configuration().values.run.max_agents as usize,
            Some(Strategy::Direct) | None => 1,
        };
        while self.lanes.len() < width {
            let Some(id) = self.next(&feature, contract) else { return Ok(()) };
            if !self.begin_lane(project, &id)? {
                // It is over already; others may be free now.
                self.has_moved = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The next checkpoint to work on: what was begun first, then in the contract's order.
    fn next(&self, feature: &Feature, contract: &CheckpointContract) -> Option<CheckpointId> {
        let status = |id: &CheckpointId| feature.checkpoints.get(id).map(|it| it.status);
        let is_wanted = |id: &CheckpointId| {
            self.options.checkpoint.as_ref().is_none_or(|wanted| wanted == id)
                && !self.lanes.contains_key(id)
        };
        let with = |wanted: CheckpointStatus| {
            contract.checkpoints.iter().filter(move |it| {
                status(&it.id) == Some(wanted)
                    && is_wanted(&it.id)
                    && it.dependencies.iter().all(|id| status(id) == Some(CheckpointStatus::Passed))
            })
        };
        let mut next = with(CheckpointStatus::InProgress).chain(with(CheckpointStatus::Pending));
        next.next().map(|it| it.id.clone())
    }

    /// Begins the try at which a checkpoint is. Says whether an agent works on it now.
    fn begin_lane(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
    ) -> Result<bool, EngineError> {
        let step = CheckpointStep::Start { conversation: Some(OWNER.to_owned()) };
        project.develop(Command::Checkpoint { id: id.clone(), step })?;
        let Some(iteration) = iteration(project, id)? else { return Ok(false) };
        let Some(feature) = feature(project)? else { return Ok(false) };
        let key = key(&feature, iteration);
        let is_under_way = Job::is_begun(project, &worker_name(id), &key)?
            || Job::is_begun(project, &oracle_name(id), &key)?;
        let mut failed = self.failures.get(id).cloned();
        if failed.is_none() && !is_under_way {
            match validate(project, id)? {
                // The agent that worked on it before has ended well.
                Ok(evidence) if iteration > 1 => {
                    self.pass(project, id, evidence)?;
                    return Ok(false);
                }
                validated => failed = validated.err(),
            }
        }
        let limit = self.limit(project)?;
        self.onlooker.tell(&format!("{id}: try {iteration} of {limit}"));
        let part = match iteration {
            ORACLE_FROM.. => Part::Oracle,
            _ => Part::Worker { oracle: None },
        };
        let job = self.job(project, (id, iteration), failed.as_ref(), &part)?;
        let waits = Vec::new();
        self.lanes.insert(id.clone(), Lane { iteration, job, failed, part, waits });
        Ok(true)
    }

    fn limit(&self, project: &mut Project) -> Result<u32, EngineError> {
        let limit = feature(project)?.map_or(1, |feature| feature.max_iterations);
        Ok(self.options.max_iterations.map_or(limit, |own| own.clamp(1, limit)))
    }

    /// Sends an agent, or takes up the one that was sent.
    fn job(
        &self,
        project: &mut Project,
        (id, iteration): (&CheckpointId, u32),
        failed: Option<&Failed>,
        part: &Part,
    ) -> Result<Job, EngineError> {
        let (is_oracle, oracle) = match part {
            Part::Oracle => (true, None),
            Part::Worker { oracle } => (false, oracle.as_deref()),
        };
        let limit = self.limit(project)?;
        let feature = feature(project)?;
        let contract = feature.as_ref().and_then(|it| it.contract.as_ref());
        let checkpoint = contract.and_then(|contract| contract.checkpoint(id));
        let (Some(feature), Some(checkpoint)) = (&feature, checkpoint) else {
            return Err(Rejected::rule(
                Code::ContractInvalid,
                format!("{id} is not in the contract any more"),
            )
            .into());
        };
        let root = project.root().to_owned();
        let this = Try { feature, checkpoint, iteration, limit, root: &root, failed, oracle };
        let agent = if is_oracle { self.oracle.clone() } else { self.agent.clone() };
        let order = JobOrder {
            name: if is_oracle { oracle_name(id) } else { worker_name(id) },
            key: key(feature, iteration),
            access: if is_oracle { Access::Read } else { agent.access() },
            prompts: if is_oracle { Prompts::Refused } else { Prompts::Asked },
            agent,
            hook: HookSource::Given,
            schema: None,
            folder: None,
            environment: None,
            attempt: iteration,
            message: if is_oracle { this.oracle_message() } else { this.message() },
            again: this.again(),
            bounds: project.job_bounds(),
        };
        Job::begin(project, &self.options.keeper, order)
    }

    /// Looks at every agent once.
    fn look(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        let ids: Vec<CheckpointId> = self.lanes.keys().cloned().collect();
        for id in ids {
            let Some(mut lane) = self.lanes.remove(&id) else { continue };
            lane.job.look(project, now)?;
            if let Some(end) = lane.job.over().cloned() {
                self.conclude(project, id, lane, &end)?;
                continue;
            }
            if lane.part == Part::Oracle {
                lane.job.refuse_all("no person is there to allow it");
            } else {
                self.attend_questions(project, &id, &mut lane)?;
            }
            if let Some(life) = lane.job.life()
                && life.heard().end.is_some()
                && !life.waits()
            {
                life.dismiss(now);
            }
            lane.job.attend(now)?;
            self.onlooker.look(id.as_str(), lane.job.doing());
            self.lanes.insert(id, lane);
        }
        Ok(())
    }

    /// Takes what became of a try.
    fn conclude(
        &mut self,
        project: &mut Project,
        id: CheckpointId,
        mut lane: Lane,
        end: &JobEnd,
    ) -> Result<(), EngineError> {
        let trouble = end.trouble(&lane.job.order.name, project.clock.now());
        let failed = match trouble {
            // What waits for a person is halted by us, and goes on with the answer.
            Some(Trouble::Interrupted) => {
                self.ending.get_or_insert(RalphEnd::Stopped);
                self.has_moved = true;
                return Ok(());
            }
            // What the try itself may spend is used up: that is its failure.
            Some(Trouble::Parked(parked))
                if parked.cause != ParkCause::Budget || parked.until.is_some() =>
            {
                self.ending = Some(RalphEnd::Limited(accounts::in_words(&parked)));
                self.has_moved = true;
                return Ok(());
            }
            Some(Trouble::Parked(parked)) => Some(parked.why),
            Some(Trouble::Failed { text, .. }) => Some(text),
            None => None,
        };
        if lane.part == Part::Oracle {
            // A silent oracle is no reason to give up.
            let oracle = Some(end.ended.heard.text.clone()).filter(|said| !said.is_empty());
            lane.part = Part::Worker { oracle };
            let this = (&id, lane.iteration);
            lane.job = self.job(project, this, lane.failed.as_ref(), &lane.part)?;
            self.has_moved = true;
            self.lanes.insert(id, lane);
            return Ok(());
        }
        if let Some(told) = self.text_answers(project, &id, &mut lane)? {
            lane.job.go_on(project, told)?;
            self.has_moved = true;
        }
        if lane.job.over().is_none() || !lane.waits.is_empty() {
            self.lanes.insert(id, lane);
            return Ok(());
        }
        self.has_moved = true;
        if iteration(project, &id)? != Some(lane.iteration) {
            // Another actor has decided about it meanwhile, perhaps the agent itself.
            return self.forget(project, &id, &lane);
        }
        match own_word(&id, end) {
            Some((class, reason)) => self.fail(project, &id, class, Failed::new(reason, b""))?,
            None => match validate(project, &id)? {
                Ok(evidence) => self.pass(project, &id, evidence)?,
                Err(mut found) => {
                    if let Some(text) = failed {
                        found.outcome = format!("{}; the agent: {text}", found.outcome);
                    }
                    self.fail(project, &id, FailureClass::Validation, found)?;
                }
            },
        }
        self.forget(project, &id, &lane)
    }

    /// What became of a try is in the journal; its jobs are over.
    fn forget(
        &self,
        project: &mut Project,
        id: &CheckpointId,
        lane: &Lane,
    ) -> Result<(), EngineError> {
        lane.job.forget(project)?;
        Job::forget_named(project, &oracle_name(id))
    }

    /// Passes a checkpoint whose validation has just held.
    fn pass(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        evidence: Evidence,
    ) -> Result<(), EngineError> {
        let step = CheckpointStep::Pass { evidence };
        project.develop(Command::Checkpoint { id: id.clone(), step })?;
        self.failures.remove(id);
        self.onlooker.tell(&format!("{id}: passed"));
        Ok(())
    }

    fn fail(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        class: FailureClass,
        failed: Failed,
    ) -> Result<(), EngineError> {
        let limit = self.limit(project)?;
        let is_last = iteration(project, id)?.is_some_and(|at| at >= limit);
        let step = if is_last && class.is_retryable() {
            CheckpointStep::Escalate
        } else {
            CheckpointStep::Fail { class }
        };
        project.develop(Command::Checkpoint { id: id.clone(), step })?;
        let is_open = iteration(project, id)?.is_some();
        let what = if is_open { "is tried again" } else { "escalated; it waits in the inbox" };
        self.onlooker.tell(&format!("{id}: {what}: {}", failed.outcome));
        self.failures.insert(id.clone(), failed);
        Ok(())
    }
}

fn feature(project: &mut Project) -> Result<Option<Feature>, EngineError> {
    Ok(project.workflow()?.feature.clone())
}

/// Which try a checkpoint is at, if it is being worked on.
fn iteration(project: &mut Project, id: &CheckpointId) -> Result<Option<u32>, EngineError> {
    let feature = project.workflow()?.feature.as_ref();
    let found = feature.and_then(|feature| feature.checkpoints.get(id));
    let found = found.filter(|it| it.status == CheckpointStatus::InProgress);
    Ok(found.map(|it| it.iteration))
}

/// Runs the validation; how it fails, if it does. Nothing is recorded.
fn validate(
    project: &mut Project,
    id: &CheckpointId,
) -> Result<Result<Evidence, Failed>, EngineError> {
    let mut output = Tail::default();
    match evidence::check_checkpoint(project, id, &mut output) {
        Ok(evidence) => Ok(Ok(evidence)),
        Err(EngineError::CheckFailed { outcome, .. }) => {
            Ok(Err(Failed::new(outcome, &output.bytes)))
        }
        Err(error) => Err(error),
    }
}

/// Names the try: another try, or another feature, is another job.
fn key(feature: &Feature, iteration: u32) -> String {
    format!("{} {iteration}", feature.started_at.millis())
}

fn worker_name(id: &CheckpointId) -> String {
    format!("ralph-{id}")
}

fn oracle_name(id: &CheckpointId) -> String {
    format!("oracle-{id}")
}

/// What the agent itself says stands against it.
fn own_word(id: &CheckpointId, end: &JobEnd) -> Option<(FailureClass, String)> {
    end.ended.heard.signals.iter().rev().find_map(|signal| match signal {
        Signal::Failed { task, reason } if task == id.as_str() => {
            let word = reason.split([' ', ':']).next().unwrap_or_default();
            let class = match word {
                "DESIGN_MISMATCH" | "ENV_ISSUE" => FailureClass::from_word(word),
                _ => None,
            };
            Some((class.unwrap_or_default(), format!("the agent gave up: {reason}")))
        }
        Signal::Problem(problem) if problem.severity == Severity::Fatal => {
            Some((FailureClass::Structural, format!("a fatal error: {}", problem.message)))
        }
        _ => None,
    })
}

/// The end of what a validation prints.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
}

impl io::Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(OUTPUT_KEPT_MAX);
        self.bytes.drain(..surplus);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
