//! Jobs: work of an agent that is no task of a run, such as a review or a try at a checkpoint.
//!
//! A job has a name, a stream of its own in the journal (`waypost_model::job`), and a folder for what
//! its processes say. Its agent is supervised as every
//! agent is, and has a keeper, so it outlives this process: the process that begins the same job
//! again takes the agent over, takes what it has said at its end, or goes on in its conversation.
//! What its end means is decided by the one who gave the job, who forgets it once that is durable.

mod abandoned;
mod folder;
mod questions;

use super::{
    Adoption, Agent, AgentEnd, Allowance, Bounds, Call, Circumstances, Halt, Heard, Meter,
    ProcessEnd, Purse, Slot, Slots, Supervised, Supervision, Told, Trouble, end_unseen, inherited,
    left::{Leftovers, clear, leftovers},
    new_uuid, prove_unseen, require_key, with_hook,
};
use crate::{
    accounts::{self, accounts_stream},
    context,
    error::EngineError,
    execute::usual_environment,
    fence::Fence,
    gate,
    guest::Waits,
    init,
    ledger::MachineCommand,
    project::{Project, ProjectSetup},
    threaded::Threaded,
    values::secrets_among,
};
use folder::JobFolder;
use std::{ffi::OsString, os::fd::BorrowedFd, path::PathBuf, time::Duration};
use waypost_agent::{
    answer::Answer,
    launch::{Access, Conversation, Order, Prompts},
    stream::Why,
};
use waypost_model::{
    accounts::{Accounts, Command as AccountsCommand},
    config,
    id::StreamName,
    job::{self, BegunJob},
    layout,
    machine::Machine as _,
    run::{ParkCause, Usage},
    time::Time,
};
use waypost_proc::{Ended, Keeper, Report};
use waypost_redact::Secret;
use waypost_store::{StoreError, lock::FileLock};

/// One who watches agents at work.
pub trait Onlooker {
    /// Something worth a line of its own.
    fn tell(&mut self, line: &str);
    /// What an agent does now; called whenever there is news of it, and once a second.
    fn look(&mut self, who: &str, doing: &str);
    /// Whether everything is to be stopped; it can be taken up again later.
    fn wants_stop(&mut self) -> bool;
    /// What becomes readable when that changes, until it is asked for.
    fn bell(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl<T: Onlooker + ?Sized> Onlooker for &mut T {
    fn tell(&mut self, line: &str) {
        (**self).tell(line);
    }

    fn look(&mut self, who: &str, doing: &str) {
        (**self).look(who, doing);
    }

    fn wants_stop(&mut self) -> bool {
        (**self).wants_stop()
    }

    fn bell(&self) -> Option<BorrowedFd<'_>> {
        (**self).bell()
    }
}

/// What an agent is to do.
#[derive(Clone, Debug)]
pub(crate) struct JobOrder {
    /// Names the job in its work tree.
    pub(crate) name: String,
    /// What it is about: a job of the same name about something else is given up.
    pub(crate) key: String,
    pub(crate) agent: Agent,
    pub(crate) access: Access,
    pub(crate) prompts: Prompts,
    /// Who tells its program about our hook.
    pub(crate) hook: HookSource,
    /// The form of its last words, where the program can be held to one.
    pub(crate) schema: Option<String>,
    /// Where it works, if not in the project whose job it is.
    pub(crate) folder: Option<PathBuf>,
    /// Folders that are open to it beside that.
    pub(crate) more_folders: Vec<PathBuf>,
    /// What its program gets beside what every child does, in place of the usual.
    pub(crate) environment: Option<Vec<(String, String)>>,
    /// What is taken out of its output, beside what its environment holds.
    pub(crate) secrets: Vec<Secret>,
    /// Which try this is; the agent and what it runs can read that.
    pub(crate) attempt: u32,
    pub(crate) message: String,
    /// What it is told when its conversation is taken up again.
    pub(crate) again: String,
    /// What all of its processes may use up together, but for time, which each has for itself.
    pub(crate) bounds: Bounds,
}

/// From where an agent's program knows our hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookSource {
    /// We give it along.
    Given,
    /// Only from settings that it finds by itself.
    Settings,
}

/// How a job ended.
#[derive(Clone, Debug)]
pub(crate) struct JobEnd {
    pub(crate) ended: AgentEnd,
    /// What all of its processes used up.
    pub(crate) usage: Usage,
}

/// An agent at a job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) order: JobOrder,
    folder: JobFolder,
    /// The program that keeps its processes.
    keeper: Vec<OsString>,
    stream: StreamName,
    /// How it stands in the journal.
    record: BegunJob,
    stage: JobStage,
    /// Its right to work; one that waits for a person has none.
    slot: Option<Slot>,
    _lock: FileLock,
}

#[derive(Debug)]
enum JobStage {
    Working(Box<Supervised>),
    /// As many agents work on this machine as may: it is started in the conversation that is named,
    /// or in a new one, with this message.
    Queued {
        session: Option<String>,
        message: String,
    },
    /// What an earlier process left is being ended.
    Clearing {
        clearing: Threaded<Result<Option<Ended>, EngineError>>,
        is_new: bool,
    },
    /// Between two processes; nothing is kept of it.
    Between,
    Over(Box<JobEnd>),
}

impl Job {
    /// Begins a job, or takes up the one that is there.
    pub(crate) fn begin(
        project: &mut Project,
        keeper: &[OsString],
        order: JobOrder,
    ) -> Result<Self, EngineError> {
        let folder = JobFolder::make(project, &order.name)?;
        if order.environment.is_none() {
            require_key(&order.agent, project.root(), &project.caller.environment)?;
        }
        let busy = || StoreError::Busy { what: format!("the job {}", order.name), holder: None };
        let lock = FileLock::try_acquire(&folder.lock())?.ok_or_else(busy)?;
        let stream = stream(project, &order.name);
        if let Some(job) = folder.earlier()? {
            tell(project, &stream, job::Command::Import { job })?;
            folder.forget_earlier()?;
        }
        let found = recorded(project, &stream)?.begun().cloned();
        let record = found.filter(|it| it.key == order.key && it.agent == order.agent.name);
        let is_new = record.is_none();
        let mut job = Self {
            order,
            folder,
            keeper: keeper.to_vec(),
            stream,
            record: record.unwrap_or_default(),
            stage: JobStage::Between,
            slot: None,
            _lock: lock,
        };
        job.take_left(project, is_new)?;
        Ok(job)
    }

    /// Whether a job of this name and key was begun and is not over.
    pub(crate) fn is_begun(
        project: &mut Project,
        name: &str,
        key: &str,
    ) -> Result<bool, EngineError> {
        let earlier = JobFolder::of(project, name).earlier()?;
        let stream = stream(project, name);
        let known = recorded(project, &stream)?.begun();
        let known = known.map(|job| &job.key);
        let known = known.or_else(|| earlier.as_ref().map(|job| &job.key));
        Ok(known.is_some_and(|known| known == key))
    }

    /// Whether a job of this name was begun and is not over, whatever it is about.
    pub(crate) fn is_there(project: &mut Project, name: &str) -> Result<bool, EngineError> {
        let earlier = JobFolder::of(project, name).earlier()?;
        let stream = stream(project, name);
        Ok(earlier.is_some() || recorded(project, &stream)?.begun().is_some())
    }

    /// Forgets a job that no agent is at, if there is one.
    pub(crate) fn forget_named(project: &mut Project, name: &str) -> Result<(), EngineError> {
        let folder = JobFolder::of(project, name);
        // A host that died may have left them.
        folder.lower_fences()?;
        if folder.earlier()?.is_some() {
            folder.forget_earlier()?;
        }
        let stream = stream(project, name);
        match recorded(project, &stream)?.begun() {
            Some(_) => tell(project, &stream, job::Command::End),
            None => Ok(()),
        }
    }

    /// Records something of it.
    fn record(&mut self, project: &mut Project, command: job::Command) -> Result<(), EngineError> {
        tell(project, &self.stream, command)?;
        self.record = recorded(project, &self.stream)?.begun().cloned().unwrap_or_default();
        Ok(())
    }

    /// Goes on in the conversation of a job whose agent has ended its turn and its process.
    pub(crate) fn go_on(
        &mut self,
        project: &mut Project,
        message: String,
    ) -> Result<(), EngineError> {
        let JobStage::Over(end) = &self.stage else { return Ok(()) };
        let session = end.ended.heard.session.clone();
        let session = session.or_else(|| self.record.conversation().map(str::to_owned));
        self.stage = JobStage::Queued { session, message };
        self.start_queued(project)
    }

    /// Where its agent works.
    fn workplace(&self, project: &Project) -> PathBuf {
        self.order.folder.clone().unwrap_or_else(|| project.root().to_owned())
    }

    fn child(&self) -> String {
        format!("{}#{}", self.order.name, self.record.process)
    }

    /// Holds back what is left of its earlier processes: from here on only the newest one may change
    /// something. Returns the variables by which it and all below it are known. Work with an
    /// environment of its own has its own fence.
    fn raise_fence(&self) -> Result<Vec<(String, String)>, EngineError> {
        if self.order.environment.is_some() {
            return Ok(Vec::new());
        }
        self.folder.lower_fences()?;
        let file = self.folder.raise_fence(self.record.process, self.order.attempt)?;
        let file = file.to_string_lossy().into_owned();
        let job = Fence::name(&self.stream, self.record.process);
        let ours = [(layout::variable::FENCE, file), (layout::variable::JOB, job)];
        Ok(ours.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Takes over the agent that is at this job, or has what an earlier process left ended, which may
    /// take a while, before its own is started.
    fn take_left(&mut self, project: &mut Project, is_new: bool) -> Result<(), EngineError> {
        if is_new {
            self.folder.lower_fences()?;
        }
        let id = self.child();
        let Leftovers { own, left } = leftovers(&self.folder.keepers(), (!is_new).then_some(&*id))?;
        if left.is_empty() && own.is_none() {
            return self.cleared(project, is_new, None);
        }
        let clearing = Threaded::begin(move || clear(left, &id))?;
        if let Some((keeper, reports)) = own {
            // It works already; the rest is ended beside it.
            return self.adopt(project, keeper, reports);
        }
        self.stage = JobStage::Clearing { clearing, is_new };
        Ok(())
    }

    /// Nothing is left of earlier processes; how the last one ended, if that was seen.
    fn cleared(
        &mut self,
        project: &mut Project,
        is_new: bool,
        ended: Option<Ended>,
    ) -> Result<(), EngineError> {
        if !is_new {
            return self.take_up(project, ended);
        }
        let (key, agent) = (self.order.key.clone(), self.order.agent.name.clone());
        self.record(project, job::Command::Begin { key, agent })?;
        self.start(project, None)
    }

    fn take_up(&mut self, project: &mut Project, ended: Option<Ended>) -> Result<(), EngineError> {
        let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
        let (log, meter) = (self.folder.log(self.record.process), Meter::new(self.record.counted));
        let mut ended = end_unseen(self.order.agent.clone(), &log, meter, end);
        if self.record.process == 0 {
            // Its first process was never started.
            return self.start(project, None);
        }
        // One that was seen to end was judged then, and a person may have let it go on since.
        if self.is_guarded() && self.record.trail.accounted < self.record.process {
            prove_unseen(project, &mut ended)?;
        }
        self.account(project, &ended)?;
        if ended.unproven.is_some() {
            self.end(ended);
            return Ok(());
        }
        if ended.heard.end.as_ref().is_some_and(|end| end.why == Why::Done) {
            self.end(ended);
            return Ok(());
        }
        let heard = ended.heard;
        let session = heard.session.or_else(|| self.record.conversation().map(str::to_owned));
        self.start(project, session.filter(|_| heard.has_begun))
    }

    fn adopt(
        &mut self,
        project: &mut Project,
        keeper: Keeper,
        reports: Vec<Report>,
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        let (message, afresh) = (self.order.message.clone(), self.order.message.clone());
        let folder = self.workplace(project).to_string_lossy().into_owned();
        let known = Adoption {
            id: self.child(),
            agent: self.order.agent.clone(),
            log: &self.folder.log(self.record.process),
            told: Told { message, afresh, folder },
            since: now,
        };
        let allowance = self.allowance(project)?;
        let agent = Supervised::adopt((keeper, reports), known, allowance, now)?;
        // It works already, whether there is a slot or not.
        self.slot = Slots::of(project).take()?;
        self.stage = JobStage::Working(Box::new(agent));
        Ok(())
    }

    /// What its next process may use up: of what the job may, and of what all agents may today.
    fn allowance(&self, project: &mut Project) -> Result<Allowance, EngineError> {
        let spent = self.record.trail.usage.cost_micros;
        let work = self.order.bounds.micros.map(|micros| micros.saturating_sub(spent));
        let day = accounts::day_left(project, project.clock.now())?;
        let (micros, purse) = match (work, day) {
            (work, Some(day)) if work.is_none_or(|work| day < work) => (Some(day), Purse::Day),
            (work, _) => (work, Purse::Work),
        };
        let bounds = Bounds { micros, purse, ..self.order.bounds };
        Ok(Allowance { meter: Meter::new(self.record.counted), bounds, share: None })
    }

    /// Starts a process, in the conversation that is named or in a new one, once there is a slot.
    fn start(&mut self, project: &mut Project, session: Option<String>) -> Result<(), EngineError> {
        let message = match &session {
            Some(_) => self.order.again.clone(),
            None => self.order.message.clone(),
        };
        self.stage = JobStage::Queued { session, message };
        self.start_queued(project)
    }

    /// Starts what waits for a slot, if there is one.
    fn start_queued(&mut self, project: &mut Project) -> Result<(), EngineError> {
        if !self.is_queued() {
            return Ok(());
        }
        let held = accounts::hindrance(project, &self.order.agent.name)?;
        if held.is_some() {
            self.end(AgentEnd::never_started(self.order.agent.clone(), held));
            return Ok(());
        }
        if !self.take_slot(project)? {
            return Ok(());
        }
        match std::mem::replace(&mut self.stage, JobStage::Between) {
            JobStage::Queued { session, message } => self.start_with(project, session, message),
            _ => Ok(()),
        }
    }

    /// Takes a slot, if it has none. Says whether it has one now.
    pub(crate) fn take_slot(&mut self, project: &Project) -> Result<bool, EngineError> {
        if self.slot.is_none() {
            self.slot = Slots::of(project).take()?;
        }
        Ok(self.slot.is_some())
    }

    /// It waits for a person: another agent may work meanwhile.
    pub(crate) fn give_slot_back(&mut self) {
        self.slot = None;
    }

    fn start_with(
        &mut self,
        project: &mut Project,
        session: Option<String>,
        message: String,
    ) -> Result<(), EngineError> {
        let agent = self.order.agent.clone();
        let is_new = session.is_none();
        let conversation = match session {
            Some(id) => Conversation::Resume { id },
            None => Conversation::New { id: new_uuid() },
        };
        let known = match &conversation {
            // The program chooses a name of its own.
            Conversation::New { .. } if !agent.adapter.takes_conversation_id() => None,
            Conversation::New { id } | Conversation::Resume { id } => Some(id.clone()),
        };
        let process = self.folder.next_process()?;
        let wall = agent.wall_with(self.order.access).level;
        let engage = job::Command::Engage { process, conversation: known, is_new, wall };
        self.record(project, engage)?;
        let allowance = self.allowance(project)?;
        let order = self.program_order(project, conversation, message, allowance.bounds.micros)?;
        let folder = self.workplace(project);
        let allowed = project.configuration().values.run.environment.clone();
        let mut environment = usual_environment(&project.caller.environment, &allowed);
        let own = self.order.environment.clone();
        let usual = || inherited(&agent, &folder, &project.caller.environment);
        environment.extend(own.unwrap_or_else(usual));
        environment.push((layout::variable::ATTEMPT.to_owned(), self.order.attempt.to_string()));
        environment.extend(self.raise_fence()?);
        let mut secrets = secrets_among(&environment, &allowed);
        secrets.extend(self.order.secrets.iter().cloned());
        let call = Call {
            secrets,
            id: self.child(),
            agent: &agent,
            order: &order,
            folder,
            environment,
            log: self.folder.log(self.record.process),
            afresh: self.order.message.clone(),
        };
        context::keep_brief(&call.log, &call.order.task);
        let now = project.clock.now();
        let keepers = self.folder.keepers();
        let agent = Supervised::start(&keepers, &self.keeper, call, allowance, now)?;
        self.stage = JobStage::Working(Box::new(agent));
        Ok(())
    }

    fn program_order(
        &self,
        project: &Project,
        conversation: Conversation,
        message: String,
        micros: Option<u64>,
    ) -> Result<Order, EngineError> {
        let JobOrder { agent, access, prompts, schema, .. } = &self.order;
        let words = match self.order.hook {
            HookSource::Given => init::hook_program()?,
            HookSource::Settings => Vec::new(),
        };
        let order = Order {
            task: message,
            more_folders: self
                .order
                .more_folders
                .iter()
                .map(|it| it.to_string_lossy().into())
                .collect(),
            access: *access,
            prompts: if agent.adapter.can_ask() { *prompts } else { Prompts::Refused },
            schema: schema.clone(),
            budget_cents: micros.map(|micros| micros.div_ceil(10_000)),
            ..agent.order(self.workplace(project).to_string_lossy().into_owned(), conversation)
        };
        with_hook(&project.setup, agent, words, order)
    }

    /// Whether its agent is held to the hook: it was told of it, and works in our own name.
    fn is_guarded(&self) -> bool {
        self.order.hook == HookSource::Given && self.order.environment.is_none()
    }

    /// Records what a process used up, and what its end says of its account.
    fn account(&mut self, project: &mut Project, ended: &AgentEnd) -> Result<(), EngineError> {
        let (usage, counted) = (ended.meter.spent(), ended.meter.counted());
        let process = self.record.process;
        self.record(project, job::Command::Account { process, usage, counted })?;
        self.folder.lower_fences()?;
        let (agent, now) = (&self.order.agent.name, project.clock.now());
        let accounts = accounts::current(project)?;
        let by =
            Circumstances { work: &self.order.name, parked_before: accounts.in_a_row(agent), now };
        let command = match ended.trouble(&by) {
            Some(Trouble::Parked(parked)) if parked.cause.holds_agent() => {
                if parked.cause == ParkCause::Unproven {
                    self.ask_about_proof(project, &parked)?;
                }
                AccountsCommand::Hold { parked }
            }
            None if accounts.in_a_row(agent) > 0 => AccountsCommand::Wake { agent: agent.clone() },
            Some(_) | None => return Ok(()),
        };
        gate::by_waypost(project, &[MachineCommand::of::<Accounts>(accounts_stream(), command)])
    }

    fn end(&mut self, ended: AgentEnd) {
        self.slot = None;
        self.stage = JobStage::Over(Box::new(JobEnd { ended, usage: self.record.trail.usage }));
    }

    /// How it ended, if it has.
    pub(crate) fn over(&self) -> Option<&JobEnd> {
        match &self.stage {
            JobStage::Over(end) => Some(end),
            JobStage::Working(_)
            | JobStage::Queued { .. }
            | JobStage::Clearing { .. }
            | JobStage::Between => None,
        }
    }

    /// What it says and does, while it works, and what it has said.
    pub(crate) fn heard(&self) -> Option<&Heard> {
        match &self.stage {
            JobStage::Working(agent) => Some(agent.life.heard()),
            JobStage::Over(end) => Some(&end.ended.heard),
            JobStage::Queued { .. } | JobStage::Clearing { .. } | JobStage::Between => None,
        }
    }

    /// What it does now, in a few words.
    pub(crate) fn doing(&self) -> &str {
        match &self.stage {
            JobStage::Queued { .. } => "waits: as many agents work on this machine as may",
            JobStage::Clearing { .. } => "waits until an earlier process has ended",
            _ => self.heard().map_or("", |heard| heard.doing.as_str()),
        }
    }

    /// Its agent, while it works.
    pub(crate) fn life(&mut self) -> Option<&mut Supervision> {
        match &mut self.stage {
            JobStage::Working(agent) => Some(&mut agent.life),
            JobStage::Queued { .. }
            | JobStage::Clearing { .. }
            | JobStage::Between
            | JobStage::Over(_) => None,
        }
    }

    /// Whether it waits for a slot.
    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.stage, JobStage::Queued { .. })
    }

    /// Starts it if it waited for a slot, hears what is new, and takes its end. Says whether there
    /// was anything.
    pub(crate) fn look(&mut self, project: &mut Project, now: Time) -> Result<bool, EngineError> {
        if let JobStage::Clearing { clearing, is_new } = &mut self.stage {
            let (cleared, is_new) = (clearing.take()?, *is_new);
            let Some(cleared) = cleared else { return Ok(false) };
            self.stage = JobStage::Between;
            self.cleared(project, is_new, cleared?)?;
        }
        self.start_queued(project)?;
        let JobStage::Working(agent) = &mut self.stage else { return Ok(false) };
        let is_news = agent.look(now)?;
        if self.order.hook == HookSource::Given && self.order.environment.is_none() {
            agent.prove(project)?;
        }
        if !agent.life.is_over() {
            return Ok(is_news);
        }
        if let JobStage::Working(agent) = std::mem::replace(&mut self.stage, JobStage::Between) {
            let (ended, remains) = agent.close()?;
            self.account(project, &ended)?;
            remains.forget()?;
            self.end(ended);
        }
        Ok(true)
    }

    /// Keeps the limits, and does to its process what was decided.
    pub(crate) fn attend(&mut self, now: Time) -> Result<(), EngineError> {
        match &mut self.stage {
            JobStage::Working(agent) => agent.attend(now),
            JobStage::Queued { .. }
            | JobStage::Clearing { .. }
            | JobStage::Between
            | JobStage::Over(_) => Ok(()),
        }
    }

    /// What wakes the one who looks after it.
    pub(crate) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        match &self.stage {
            JobStage::Working(agent) => agent.waits(waits),
            JobStage::Clearing { clearing, .. } => clearing.waits(waits),
            JobStage::Queued { .. } | JobStage::Between | JobStage::Over(_) => {}
        }
    }

    /// Ends its process; the conversation can be taken up again. One that waits for a slot, or for the
    /// end of an earlier process, is over before it has begun: it is begun the next time.
    pub(crate) fn halt(&mut self) -> Result<(), EngineError> {
        if self.is_queued() || matches!(self.stage, JobStage::Clearing { .. }) {
            self.end(AgentEnd::never_started(self.order.agent.clone(), None));
        }
        let JobStage::Working(agent) = &mut self.stage else { return Ok(()) };
        agent.life.halt(Halt::Given);
        agent.perform()
    }

    /// Refuses all that it asks for.
    pub(crate) fn refuse_all(&mut self, reason: &str) {
        let Some(life) = self.life() else { return };
        let asks: Vec<_> = life.heard().asks.values().cloned().collect();
        for ask in asks {
            life.answer(&ask, &Answer::Deny { reason: reason.to_owned() });
        }
    }

    /// Where the output of its newest process is.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.log(self.record.process)
    }

    /// What came of it is durable elsewhere; the next job of this name is a new one.
    pub(crate) fn forget(&self, project: &mut Project) -> Result<(), EngineError> {
        self.settle_earlier(project)?;
        tell(project, &self.stream, job::Command::End)
    }

    /// Looks after an agent that is not to ask a person for anything. `more` is what is still to be
    /// said when it has ended its turn. Returns its end once it has come.
    pub(crate) fn attend_alone(
        &mut self,
        project: &mut Project,
        onlooker: &mut dyn Onlooker,
        more: &mut dyn FnMut(&Heard) -> Option<String>,
    ) -> Result<Option<JobEnd>, EngineError> {
        let now = project.clock.now();
        self.look(project, now)?;
        if let Some(end) = self.over() {
            return Ok(Some(end.clone()));
        }
        self.refuse_all("no person is there to allow it");
        if let Some(life) = self.life()
            && let Some(end) = &life.heard().end
        {
            // An agent that met a limit or a fault is not helped by another message.
            let text = end.is_ok().then(|| more(life.heard())).flatten();
            if !text.is_some_and(|text| life.say(&text)) {
                life.dismiss(now);
            }
        }
        if onlooker.wants_stop() {
            self.halt()?;
        }
        self.attend(now)?;
        onlooker.look(&self.order.agent.name, self.doing());
        Ok(None)
    }
}

impl JobEnd {
    /// Why it did not come to a good end; none: its program reports success.
    pub(crate) fn trouble(&self, name: &str, now: Time) -> Option<Trouble> {
        // How long it waits is decided where it is recorded.
        self.ended.trouble(&Circumstances { work: name, parked_before: 0, now })
    }
}

/// The stream of a job of this work tree.
fn stream(project: &Project, name: &str) -> StreamName {
    let name = format!("{}/{name}", project.setup.place.tree.as_str());
    StreamName::of(job::Job::KIND, Some(&name)).expect("a job has a name")
}

/// Whether the job of a folder is not over, or cannot be told. A folder is named by its work tree and
/// its job, with a dot in between that either of them may have, too.
pub(crate) fn is_job_open(project: &mut Project, folder: &str) -> bool {
    folder.match_indices('.').any(|(at, _)| {
        let name = format!("{}/{}", &folder[..at], &folder[at + 1..]);
        let Ok(stream) = StreamName::of(job::Job::KIND, Some(&name)) else { return false };
        recorded(project, &stream).map_or(true, |job| job.begun().is_some())
    })
}

fn recorded<'a>(
    project: &'a mut Project,
    stream: &StreamName,
) -> Result<&'a job::Job, EngineError> {
    let found = project.machine::<job::Job>(stream)?;
    Ok(found.map_or(const { &job::Job::none() }, |loaded| &loaded.state))
}

fn tell(
    project: &mut Project,
    stream: &StreamName,
    command: job::Command,
) -> Result<(), EngineError> {
    gate::by_waypost(project, &[MachineCommand::of::<job::Job>(stream.clone(), command)])
}

/// What a job may use up: the same as a task.
pub(crate) fn job_bounds(setup: &ProjectSetup) -> Bounds {
    let run = &setup.configuration.values.run;
    Bounds {
        time: Bounds::seconds(run.timeout_seconds),
        stall: Bounds::seconds(run.stall_seconds),
        micros: config::cents(run.task_budget_usd).map(|cents| cents.saturating_mul(10_000)),
        purse: Purse::Work,
        unattended: Some(Duration::from_secs(run.unattended_seconds)),
    }
}
