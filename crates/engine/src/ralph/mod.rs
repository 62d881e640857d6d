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
    agent::{
        Agent, Errand, Halted, HookSource, LOOK_INTERVAL, Mission, Onlooker, Outcome, Trouble,
    },
    error::EngineError,
    project::Project,
};
use brief::{Failed, Try};
use std::{collections::BTreeMap, ffi::OsString, io, thread};
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
pub struct RalphOptions<'a> {
    /// None: all of them.
    pub checkpoint: Option<CheckpointId>,
    /// None: as configured.
    pub agent: Option<&'a str>,
    /// Escalates earlier than the feature would.
    pub max_iterations: Option<u32>,
    /// The program that keeps children: `waypost keeper`.
    pub keeper: &'a [OsString],
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
    errand: Errand,
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

struct Ralph<'a> {
    project: &'a mut Project,
    options: &'a RalphOptions<'a>,
    agent: Agent,
    oracle: Agent,
    lanes: BTreeMap<CheckpointId, Lane>,
    /// How the last try failed, where that was seen.
    failures: BTreeMap<CheckpointId, Failed>,
    /// Why nothing new is begun.
    ending: Option<RalphEnd>,
}

impl Project {
    /// Works on checkpoints until none is left that could be worked on.
    pub fn ralph(
        &mut self,
        options: &RalphOptions<'_>,
        onlooker: &mut dyn Onlooker,
    ) -> Result<RalphEnd, EngineError> {
        self.refuse_stale()?;
        check(self.workflow()?.feature.as_ref(), options.checkpoint.as_ref())?;
        let agent = self.errand_agent(options.agent, "agent")?;
        let oracle = self.errand_agent(None, "reviewer").unwrap_or_else(|_| agent.clone());
        let (lanes, failures) = (BTreeMap::new(), BTreeMap::new());
        Ralph { project: self, options, agent, oracle, lanes, failures, ending: None }
            .work(onlooker)
    }
}

impl Project {
    /// Whether an agent that `ralph` sent works on a checkpoint, or will go on with it.
    pub fn has_sent_for(&self, id: &CheckpointId) -> Result<bool, EngineError> {
        Ok(Errand::is_there(self, &worker_name(id))? || Errand::is_there(self, &oracle_name(id))?)
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

impl Ralph<'_> {
    fn work(mut self, onlooker: &mut dyn Onlooker) -> Result<RalphEnd, EngineError> {
        loop {
            if onlooker.wants_stop() && self.ending.is_none() {
                self.ending = Some(RalphEnd::Stopped);
            }
            match &self.ending {
                None => self.begin_lanes(onlooker)?,
                Some(_) => {
                    self.lanes.values_mut().try_for_each(|it| it.errand.halt(Halted::Asked))?;
                }
            }
            if self.lanes.is_empty() {
                return Ok(self.ending.unwrap_or(RalphEnd::Over));
            }
            self.look(onlooker)?;
            let waits = || self.lanes.values().flat_map(|lane| lane.waits.iter().cloned());
            if self.ending.is_none() && self.lanes.values().all(|lane| !lane.waits.is_empty()) {
                self.ending = (!self.lanes.is_empty()).then(|| RalphEnd::Waits(waits().collect()));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn feature(&mut self) -> Result<Option<Feature>, EngineError> {
        Ok(self.project.workflow()?.feature.clone())
    }

    /// Begins what can be begun, as far as the strategy allows.
    fn begin_lanes(&mut self, onlooker: &mut dyn Onlooker) -> Result<(), EngineError> {
        let Some(feature) = self.feature()?.filter(|it| it.phase == Phase::Implement) else {
            return Ok(());
        };
        let Some(contract) = &feature.contract else { return Ok(()) };
        let width = match feature.strategy {
            Some(Strategy::Subagent) => 4,
            Some(Strategy::AgentTeams) => {
                self.project.configuration().values.run.max_agents as usize
            }
            Some(Strategy::Direct) | None => 1,
        };
        while self.lanes.len() < width {
            let Some(id) = self.next(&feature, contract) else { return Ok(()) };
            if !self.begin(&id, onlooker)? {
                // It is over already; others may be free now.
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
    fn begin(
        &mut self,
        id: &CheckpointId,
        onlooker: &mut dyn Onlooker,
    ) -> Result<bool, EngineError> {
        let step = CheckpointStep::Start { conversation: Some(OWNER.to_owned()) };
        self.project.develop(Command::Checkpoint { id: id.clone(), step })?;
        let Some(iteration) = self.iteration(id)? else { return Ok(false) };
        let Some(feature) = self.feature()? else { return Ok(false) };
        let key = key(&feature, iteration);
        let is_under_way = Errand::is_begun(self.project, &worker_name(id), &key)?
            || Errand::is_begun(self.project, &oracle_name(id), &key)?;
        let mut failed = self.failures.get(id).cloned();
        if failed.is_none() && !is_under_way {
            match self.validate(id)? {
                // The agent that worked on it before has ended well.
                Ok(evidence) if iteration > 1 => {
                    self.pass(id, evidence, onlooker)?;
                    return Ok(false);
                }
                validated => failed = validated.err(),
            }
        }
        let limit = self.limit()?;
        onlooker.tell(&format!("{id}: try {iteration} of {limit}"));
        let part = match iteration {
            ORACLE_FROM.. => Part::Oracle,
            _ => Part::Worker { oracle: None },
        };
        let errand = self.errand(id, iteration, failed.as_ref(), &part)?;
        let waits = Vec::new();
        self.lanes.insert(id.clone(), Lane { iteration, errand, failed, part, waits });
        Ok(true)
    }

    fn limit(&mut self) -> Result<u32, EngineError> {
        let limit = self.feature()?.map_or(1, |feature| feature.max_iterations);
        Ok(self.options.max_iterations.map_or(limit, |own| own.clamp(1, limit)))
    }

    /// Which try a checkpoint is at, if it is being worked on.
    fn iteration(&mut self, id: &CheckpointId) -> Result<Option<u32>, EngineError> {
        let feature = self.project.workflow()?.feature.as_ref();
        let found = feature.and_then(|feature| feature.checkpoints.get(id));
        let found = found.filter(|it| it.status == CheckpointStatus::InProgress);
        Ok(found.map(|it| it.iteration))
    }

    /// Sends an agent, or takes up the one that was sent.
    fn errand(
        &mut self,
        id: &CheckpointId,
        iteration: u32,
        failed: Option<&Failed>,
        part: &Part,
    ) -> Result<Errand, EngineError> {
        let (is_oracle, oracle) = match part {
            Part::Oracle => (true, None),
            Part::Worker { oracle } => (false, oracle.as_deref()),
        };
        let limit = self.limit()?;
        let feature = self.feature()?;
        let contract = feature.as_ref().and_then(|it| it.contract.as_ref());
        let checkpoint = contract.and_then(|contract| contract.checkpoint(id));
        let (Some(feature), Some(checkpoint)) = (&feature, checkpoint) else {
            return Err(Rejected::rule(
                Code::ContractInvalid,
                format!("{id} is not in the contract any more"),
            )
            .into());
        };
        let root = self.project.root().to_owned();
        let this = Try { feature, checkpoint, iteration, limit, root: &root, failed, oracle };
        let agent = if is_oracle { self.oracle.clone() } else { self.agent.clone() };
        let mission = Mission {
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
            bounds: self.project.errand_bounds(),
        };
        Errand::begin(self.project, self.options.keeper, mission)
    }

    /// Looks at every agent once.
    fn look(&mut self, onlooker: &mut dyn Onlooker) -> Result<(), EngineError> {
        let ids: Vec<CheckpointId> = self.lanes.keys().cloned().collect();
        for id in ids {
            let Some(mut lane) = self.lanes.remove(&id) else { continue };
            let now = self.project.clock.now();
            lane.errand.look(now)?;
            if let Some(outcome) = lane.errand.over().cloned() {
                self.conclude(id, lane, &outcome, onlooker)?;
                continue;
            }
            if lane.part == Part::Oracle {
                lane.errand.refuse_all("no person is there to allow it")?;
            } else {
                self.attend_questions(&id, &mut lane, onlooker)?;
            }
            let heard = lane.errand.heard();
            let (is_over, doing) =
                heard.map_or((false, ""), |it| (it.end.is_some(), it.doing.as_str()));
            onlooker.look(id.as_str(), doing);
            if is_over && lane.waits.is_empty() {
                lane.errand.dismiss(now)?;
            }
            self.lanes.insert(id, lane);
        }
        Ok(())
    }

    /// Takes what became of a try.
    fn conclude(
        &mut self,
        id: CheckpointId,
        mut lane: Lane,
        outcome: &Outcome,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), EngineError> {
        match outcome.trouble() {
            // What waits for a person is halted by us, and goes on with the answer.
            Some(Trouble::Stopped) => {
                self.ending.get_or_insert(RalphEnd::Stopped);
                return Ok(());
            }
            Some(Trouble::Limited(text)) => {
                self.ending = Some(RalphEnd::Limited(text));
                return Ok(());
            }
            Some(Trouble::Failed(_)) | None => {}
        }
        if lane.part == Part::Oracle {
            // A silent oracle is no reason to give up.
            let oracle = Some(outcome.heard.text.clone()).filter(|said| !said.is_empty());
            lane.part = Part::Worker { oracle };
            lane.errand = self.errand(&id, lane.iteration, lane.failed.as_ref(), &lane.part)?;
            self.lanes.insert(id, lane);
            return Ok(());
        }
        if let Some(told) =
            self.text_answers(&id, &mut lane, onlooker)?.filter(|_| lane.waits.is_empty())
        {
            lane.errand.go_on(self.project, self.options.keeper, told)?;
        }
        if lane.errand.over().is_none() || !lane.waits.is_empty() {
            self.lanes.insert(id, lane);
            return Ok(());
        }
        if self.iteration(&id)? != Some(lane.iteration) {
            // Another actor has decided about it meanwhile, perhaps the agent itself.
            return self.forget(&id, lane);
        }
        let own = own_word(&id, outcome);
        match own {
            Some((class, reason)) => self.fail(&id, class, Failed::new(reason, b""), onlooker)?,
            None => match self.validate(&id)? {
                Ok(evidence) => self.pass(&id, evidence, onlooker)?,
                Err(failed) => {
                    let failed = match outcome.trouble() {
                        Some(Trouble::Failed(text)) => {
                            let outcome = format!("{}; the agent: {text}", failed.outcome);
                            Failed { outcome, ..failed }
                        }
                        _ => failed,
                    };
                    self.fail(&id, FailureClass::Validation, failed, onlooker)?;
                }
            },
        }
        self.forget(&id, lane)
    }

    /// What became of a try is in the journal; its errands are over.
    fn forget(&mut self, id: &CheckpointId, lane: Lane) -> Result<(), EngineError> {
        self.settle(&lane)?;
        lane.errand.forget()?;
        Errand::forget_named(self.project, &oracle_name(id))
    }

    /// Runs the validation; how it fails, if it does. Nothing is recorded.
    fn validate(&mut self, id: &CheckpointId) -> Result<Result<Evidence, Failed>, EngineError> {
        let mut output = Tail::default();
        match self.project.check_checkpoint(id, &mut output) {
            Ok(evidence) => Ok(Ok(evidence)),
            Err(EngineError::CheckFailed { outcome, .. }) => {
                Ok(Err(Failed::new(outcome, &output.bytes)))
            }
            Err(error) => Err(error),
        }
    }

    /// Passes a checkpoint whose validation has just held.
    fn pass(
        &mut self,
        id: &CheckpointId,
        evidence: Evidence,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), EngineError> {
        let step = CheckpointStep::Pass { evidence };
        self.project.develop(Command::Checkpoint { id: id.clone(), step })?;
        self.failures.remove(id);
        onlooker.tell(&format!("{id}: passed"));
        Ok(())
    }

    fn fail(
        &mut self,
        id: &CheckpointId,
        class: FailureClass,
        failed: Failed,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), EngineError> {
        let is_last = self.iteration(id)?.is_some_and(|at| self.limit().is_ok_and(|it| at >= it));
        let step = if is_last && class.is_retryable() {
            CheckpointStep::Escalate
        } else {
            CheckpointStep::Fail { class }
        };
        self.project.develop(Command::Checkpoint { id: id.clone(), step })?;
        let is_open = self.iteration(id)?.is_some();
        let what = if is_open { "is tried again" } else { "escalated; it waits in the inbox" };
        onlooker.tell(&format!("{id}: {what}: {}", failed.outcome));
        self.failures.insert(id.clone(), failed);
        Ok(())
    }
}

/// Names the try: another try, or another feature, is another errand.
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
fn own_word(id: &CheckpointId, outcome: &Outcome) -> Option<(FailureClass, String)> {
    outcome.heard.signals.iter().rev().find_map(|signal| match signal {
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
