//! RALPH: the checkpoints of a feature, each tried until its validation holds or it is escalated.
//!
//! Read, Analyze, Learn and Patch are one conversation of an agent; Halt is Waypost's: it runs the
//! validation itself. The iteration is in the journal before its agent starts, so the process that
//! comes after a crash goes on with the same try, in the same conversation. From the third try on,
//! another agent says first what is right. Checkpoints that do not wait for each other are worked
//! on side by side as far as the strategy allows.

mod ask;
mod brief;
mod validating;

use crate::{
    accounts,
    agent::{self, Agent, HookSource, Job, JobEnd, JobOrder, Onlooker, Trouble},
    context,
    error::EngineError,
    guest::{Attended, Guest, Waits},
    host,
    project::Project,
};
use brief::{Failed, Try};
use std::{collections::BTreeMap, ffi::OsString};
use validating::{Validated, Validating};
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
    /// How its validation fails, if it does.
    failed: Option<Failed>,
    stage: LaneStage,
}

enum LaneStage {
    /// Before an agent is sent, it is seen how the validation fails.
    Surveyed(Validating),
    WorkedOn(Box<AtWork>),
    /// Its agent has ended, perhaps with trouble of its own; whether the checkpoint holds is seen.
    Judged {
        validating: Validating,
        work: Box<AtWork>,
        trouble: Option<String>,
    },
}

/// An agent at a checkpoint.
struct AtWork {
    job: Job,
    part: Part,
    /// Questions that wait for a person.
    waits: Vec<EntryId>,
}

impl Lane {
    /// Whether it waits for a person and for nothing else.
    fn waits_for_person(&self) -> bool {
        matches!(&self.stage, LaneStage::WorkedOn(work) if !work.waits.is_empty())
    }
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
pub(crate) struct Ralph {
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
    onlooker: Box<dyn Onlooker + Send>,
}

/// Works on checkpoints until none is left that could be worked on. The project comes back in every
/// case but one in which no host could be begun.
pub fn ralph(
    project: Project,
    options: RalphOptions,
    onlooker: Box<dyn Onlooker + Send>,
) -> Result<(Project, Result<RalphEnd, EngineError>), EngineError> {
    host::work(project, "develop ralph", move |project| Ralph::begin(project, options, onlooker))
}

/// Whether an agent that `ralph` sent works on a checkpoint, or will go on with it.
pub fn has_sent_for(project: &mut Project, id: &CheckpointId) -> Result<bool, EngineError> {
    Ok(Job::is_there(project, &worker_name(id))? || Job::is_there(project, &oracle_name(id))?)
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

impl Ralph {
    pub(crate) fn begin(
        project: &mut Project,
        options: RalphOptions,
        onlooker: Box<dyn Onlooker + Send>,
    ) -> Result<Self, EngineError> {
        project.refuse_stale()?;
        check(project.workflow()?.feature.as_ref(), options.checkpoint.as_ref())?;
        let agent = agent::for_job(&project.setup, options.agent.as_deref(), "agent")?;
        let oracle =
            agent::for_job(&project.setup, None, "reviewer").unwrap_or_else(|_| agent.clone());
        let (lanes, failures) = (BTreeMap::new(), BTreeMap::new());
        let (ending, has_moved) = (None, false);
        Ok(Self { options, agent, oracle, lanes, failures, ending, has_moved, onlooker })
    }
}

impl Guest for Ralph {
    type End = RalphEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        for lane in self.lanes.values() {
            match &lane.stage {
                LaneStage::WorkedOn(work) => work.job.waits(waits),
                LaneStage::Surveyed(validating) | LaneStage::Judged { validating, .. } => {
                    validating.waits(waits);
                }
            }
        }
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
                Some(_) => self.halt_lanes(now)?,
            }
            if self.lanes.is_empty() && !self.has_moved {
                return Ok(Attended::Over(self.ending.take().unwrap_or(RalphEnd::Over)));
            }
            self.look(project, now)?;
            let is_waiting = self.lanes.values().all(Lane::waits_for_person);
            if self.ending.is_none() && is_waiting && !self.lanes.is_empty() {
                let waits = self.lanes.values().filter_map(|lane| match &lane.stage {
                    LaneStage::WorkedOn(work) => Some(work.waits.clone()),
                    LaneStage::Surveyed(_) | LaneStage::Judged { .. } => None,
                });
                self.ending = Some(RalphEnd::Waits(waits.flatten().collect()));
                self.has_moved = true;
            }
            if !self.has_moved {
                return Ok(Attended::GoesOn);
            }
        }
    }
}

impl Ralph {
    /// Ends what is under way. Agents are begun again in their conversations. A validation whose
    /// agent has done its work shows what that came to, unless everything is to be stopped.
    fn halt_lanes(&mut self, now: Time) -> Result<(), EngineError> {
        let is_stopped = self.ending == Some(RalphEnd::Stopped);
        // One whose agent has ended and asks something goes on when it is begun again.
        let goes_on = |lane: &Lane| match &lane.stage {
            LaneStage::WorkedOn(work) => work.job.over().is_none() || work.waits.is_empty(),
            LaneStage::Surveyed(_) | LaneStage::Judged { .. } => true,
        };
        self.lanes.retain(|_, lane| goes_on(lane));
        for lane in self.lanes.values_mut() {
            match &mut lane.stage {
                LaneStage::WorkedOn(work) => work.job.halt()?,
                LaneStage::Judged { validating, .. } if is_stopped => validating.halt(now),
                LaneStage::Judged { .. } => {}
                LaneStage::Surveyed(validating) => validating.halt(now),
            }
        }
        Ok(())
    }

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
        let failed = self.failures.get(id).cloned();
        let stage = match failed.is_none() && !is_under_way {
            true => LaneStage::Surveyed(Validating::begin(project, id)?),
            false => self.send(project, (id, iteration), failed.as_ref())?,
        };
        self.lanes.insert(id.clone(), Lane { iteration, failed, stage });
        Ok(true)
    }

    /// Begins a try.
    fn send(
        &mut self,
        project: &mut Project,
        (id, iteration): (&CheckpointId, u32),
        failed: Option<&Failed>,
    ) -> Result<LaneStage, EngineError> {
        let limit = self.limit(project)?;
        self.onlooker.tell(&format!("{id}: try {iteration} of {limit}"));
        let part = match iteration {
            ORACLE_FROM.. => Part::Oracle,
            _ => Part::Worker { oracle: None },
        };
        let job = self.job(project, (id, iteration), failed, &part)?;
        Ok(LaneStage::WorkedOn(Box::new(AtWork { job, part, waits: Vec::new() })))
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
        let role = if is_oracle { "test-oracle" } else { "worker" };
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
        let known = context::for_checkpoint(project, role, checkpoint);
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
            more_folders: Vec::new(),
            environment: None,
            secrets: Vec::new(),
            attempt: iteration,
            message: (if is_oracle { this.oracle_message() } else { this.message() }) + &known,
            again: this.again(),
            bounds: agent::job_bounds(&project.setup),
        };
        Job::begin(project, &self.options.keeper, order)
    }

    /// Looks at every lane once.
    fn look(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        let ids: Vec<CheckpointId> = self.lanes.keys().cloned().collect();
        for id in ids {
            let Some(Lane { iteration, failed, stage }) = self.lanes.remove(&id) else { continue };
            let this = (&id, iteration);
            let found = match stage {
                LaneStage::Surveyed(validating) => self.survey(project, this, validating)?,
                LaneStage::WorkedOn(work) => {
                    let stays = self.look_at_agent(project, this, (work, failed.as_ref()), now)?;
                    stays.map(|stage| (stage, failed))
                }
                LaneStage::Judged { validating, work, trouble } => {
                    let stays = self.judge(project, this, (validating, work, trouble))?;
                    stays.map(|stage| (stage, failed))
                }
            };
            if let Some((stage, failed)) = found {
                self.lanes.insert(id, Lane { iteration, failed, stage });
            }
        }
        Ok(())
    }

    /// Sends an agent when it is known how the validation fails. Says how the lane goes on.
    fn survey(
        &mut self,
        project: &mut Project,
        (id, at): (&CheckpointId, u32),
        mut validating: Validating,
    ) -> Result<Option<(LaneStage, Option<Failed>)>, EngineError> {
        let shown = match validating.take()? {
            Validated::NotYet => return Ok(Some((LaneStage::Surveyed(validating), None))),
            Validated::Shown(shown) if self.ending.is_none() => shown,
            Validated::Shown(_) | Validated::Halted => {
                self.has_moved = true;
                return Ok(None);
            }
        };
        self.has_moved = true;
        if iteration(project, id)? != Some(at) {
            // Another actor has decided about it meanwhile.
            return Ok(None);
        }
        let failed = match shown {
            // The agent that worked on it before has ended well.
            Ok(evidence) if at > 1 => {
                self.pass(project, id, evidence)?;
                return Ok(None);
            }
            shown => shown.err(),
        };
        let stage = self.send(project, (id, at), failed.as_ref())?;
        Ok(Some((stage, failed)))
    }

    /// Looks after an agent. Says how the lane goes on.
    fn look_at_agent(
        &mut self,
        project: &mut Project,
        (id, at): (&CheckpointId, u32),
        (mut work, failed): (Box<AtWork>, Option<&Failed>),
        now: Time,
    ) -> Result<Option<LaneStage>, EngineError> {
        work.job.look(project, now)?;
        if let Some(end) = work.job.over().cloned() {
            return self.conclude(project, (id, at), (work, failed), &end);
        }
        if work.part == Part::Oracle {
            work.job.refuse_all("no person is there to allow it");
        } else {
            self.attend_questions(project, id, &mut work)?;
        }
        if let Some(life) = work.job.life()
            && life.heard().end.is_some()
            && !life.waits()
        {
            life.dismiss(now);
        }
        work.job.attend(now)?;
        self.onlooker.look(id.as_str(), work.job.doing());
        Ok(Some(LaneStage::WorkedOn(work)))
    }

    /// Takes the end of an agent. Says how the lane goes on.
    fn conclude(
        &mut self,
        project: &mut Project,
        (id, at): (&CheckpointId, u32),
        (mut work, failed): (Box<AtWork>, Option<&Failed>),
        end: &JobEnd,
    ) -> Result<Option<LaneStage>, EngineError> {
        let trouble = match end.trouble(&work.job.order.name, project.clock.now()) {
            // What waits for a person is halted by us, and goes on with the answer.
            Some(Trouble::Interrupted) => {
                self.ending.get_or_insert(RalphEnd::Stopped);
                self.has_moved = true;
                return Ok(None);
            }
            // What the try itself may spend is used up: that is its failure.
            Some(Trouble::Parked(parked))
                if parked.cause != ParkCause::Budget || parked.until.is_some() =>
            {
                self.ending = Some(RalphEnd::Limited(accounts::in_words(&parked)));
                self.has_moved = true;
                return Ok(None);
            }
            Some(Trouble::Parked(parked)) => Some(parked.why),
            Some(Trouble::Failed { text, .. }) => Some(text),
            None => None,
        };
        if work.part == Part::Oracle {
            // A silent oracle is no reason to give up.
            let oracle = Some(end.ended.heard.text.clone()).filter(|said| !said.is_empty());
            work.part = Part::Worker { oracle };
            work.job = self.job(project, (id, at), failed, &work.part)?;
            self.has_moved = true;
            return Ok(Some(LaneStage::WorkedOn(work)));
        }
        if let Some(told) = self.text_answers(project, id, &mut work)? {
            work.job.go_on(project, told)?;
            self.has_moved = true;
        }
        if work.job.over().is_none() || !work.waits.is_empty() {
            return Ok(Some(LaneStage::WorkedOn(work)));
        }
        self.has_moved = true;
        if iteration(project, id)? != Some(at) {
            // Another actor has decided about it meanwhile, perhaps the agent itself.
            return self.forget(project, id, &work).map(|()| None);
        }
        if let Some((class, reason)) = own_word(id, end) {
            self.fail(project, id, class, Failed::new(reason, b""))?;
            return self.forget(project, id, &work).map(|()| None);
        }
        let validating = Validating::begin(project, id)?;
        Ok(Some(LaneStage::Judged { validating, work, trouble }))
    }

    /// Takes what the validation shows after a try. Says how the lane goes on.
    fn judge(
        &mut self,
        project: &mut Project,
        (id, at): (&CheckpointId, u32),
        (mut validating, work, trouble): (Validating, Box<AtWork>, Option<String>),
    ) -> Result<Option<LaneStage>, EngineError> {
        let shown = match validating.take()? {
            Validated::NotYet => {
                return Ok(Some(LaneStage::Judged { validating, work, trouble }));
            }
            Validated::Shown(shown) => shown,
            // The job is not over: the next time it is validated again.
            Validated::Halted => {
                self.has_moved = true;
                return Ok(None);
            }
        };
        self.has_moved = true;
        match shown {
            // Another actor has decided about it meanwhile.
            _ if iteration(project, id)? != Some(at) => {}
            Ok(evidence) => self.pass(project, id, evidence)?,
            Err(mut found) => {
                if let Some(text) = trouble {
                    found.outcome = format!("{}; the agent: {text}", found.outcome);
                }
                self.fail(project, id, FailureClass::Validation, found)?;
            }
        }
        self.forget(project, id, &work).map(|()| None)
    }

    /// What became of a try is in the journal; its jobs are over.
    fn forget(
        &self,
        project: &mut Project,
        id: &CheckpointId,
        work: &AtWork,
    ) -> Result<(), EngineError> {
        work.job.forget(project)?;
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
