//! Jobs: work of an agent that is no task of a run, such as a review or a try at a checkpoint.
//!
//! A job has a name and a folder of its own beside the journal. Its agent is supervised as every
//! agent is, and has a keeper, so it outlives this process: the process that begins the same job
//! again takes the agent over, takes what it has said at its end, or goes on in its conversation.
//! What its end means is decided by the one who gave the job, who forgets it once that is durable.

mod record;

use super::{
    Adoption, Agent, AgentEnd, Allowance, Bounds, Call, Circumstances, Halt, Heard, Meter,
    ProcessEnd, Supervised, Supervision, Told, Trouble, bury, end_child, end_unseen, inherited,
    new_uuid, require_key,
};
use crate::{
    error::{EngineError, Problem},
    execute::usual_environment,
    guest::Waits,
    project::Project,
};
use record::{JobFolder, JobRecord};
use std::{
    collections::BTreeMap, ffi::OsString, os::fd::BorrowedFd, path::PathBuf, time::Duration,
};
use waypost_agent::{
    answer::Answer,
    launch::{Access, Conversation, Order, Prompts},
    stream::Why,
};
use waypost_model::{config, id::EntryId, layout, run::Usage, time::Time};
use waypost_proc::{Ended, Found, Keeper, Report, find};
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
    /// What its program gets beside what every child does, in place of the usual.
    pub(crate) environment: Option<Vec<(String, String)>>,
    /// Which try this is; the agent and what it runs can read that.
    pub(crate) attempt: u32,
    pub(crate) message: String,
    /// What it is told when its conversation is taken up again.
    pub(crate) again: String,
    /// What all of its processes may use up together, but for time, which each has anew.
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
    record: JobRecord,
    stage: JobStage,
    _lock: FileLock,
}

#[derive(Debug)]
enum JobStage {
    Working(Box<Supervised>),
    /// Between two processes; nothing is kept of it.
    Between,
    Over(Box<JobEnd>),
}

impl Job {
    /// Begins a job, or takes up the one that is there.
    pub(crate) fn begin(
        project: &Project,
        keeper: &[OsString],
        order: JobOrder,
    ) -> Result<Self, EngineError> {
        let folder = JobFolder::make(project, &order.name)?;
        if order.environment.is_none() {
            require_key(&order.agent, project.root(), &project.environment)?;
        }
        let busy = || StoreError::Busy { what: format!("the job {}", order.name), holder: None };
        let lock = FileLock::try_acquire(&folder.lock())?.ok_or_else(busy)?;
        let found = folder.load()?;
        let record = found.filter(|it| it.key == order.key && it.agent == order.agent.name);
        let is_new = record.is_none();
        let record = record.unwrap_or_else(|| JobRecord::new(&order.key, &order.agent.name));
        let mut job = Self { order, folder, record, stage: JobStage::Between, _lock: lock };
        if is_new {
            job.clear()?;
            job.start(project, keeper, None)?;
        } else {
            job.take_up(project, keeper)?;
        }
        Ok(job)
    }

    /// Whether a job of this name and key was begun and is not over.
    pub(crate) fn is_begun(project: &Project, name: &str, key: &str) -> Result<bool, EngineError> {
        let found = JobFolder::of(project, name).load()?;
        Ok(found.is_some_and(|record| record.key == key))
    }

    /// Whether a job of this name was begun and is not over, whatever it is about.
    pub(crate) fn is_there(project: &Project, name: &str) -> Result<bool, EngineError> {
        Ok(JobFolder::of(project, name).load()?.is_some())
    }

    /// Forgets a job that no agent is at, if there is one.
    pub(crate) fn forget_named(project: &Project, name: &str) -> Result<(), EngineError> {
        let folder = JobFolder::of(project, name);
        if folder.load()?.is_some() { folder.forget() } else { Ok(()) }
    }

    /// Goes on in the conversation of a job whose agent has ended its turn and its process.
    pub(crate) fn go_on(
        &mut self,
        project: &Project,
        keeper: &[OsString],
        message: String,
    ) -> Result<(), EngineError> {
        let JobStage::Over(end) = &self.stage else { return Ok(()) };
        let session = end.ended.heard.session.clone();
        let session = session.or_else(|| self.record.conversation.clone());
        (self.record.spent, self.record.counted) = (end.usage, end.ended.meter.counted());
        self.start_with(project, keeper, session, message)
    }

    /// Where its agent works.
    fn workplace(&self, project: &Project) -> PathBuf {
        self.order.folder.clone().unwrap_or_else(|| project.root().to_owned())
    }

    fn child(&self) -> String {
        format!("{}#{}", self.order.name, self.record.process)
    }

    /// Ends what a job of this name has left.
    fn clear(&self) -> Result<(), EngineError> {
        for found in find(&self.folder.keepers())? {
            match found {
                Found::Alive(keeper) => end(keeper)?,
                Found::Dead(dead) => {
                    bury(&dead, "")?;
                    dead.remove()?;
                }
                Found::Foreign { id, .. } => return Err(foreign(&id)),
            }
        }
        Ok(())
    }

    fn take_up(&mut self, project: &Project, keeper: &[OsString]) -> Result<(), EngineError> {
        let id = self.child();
        let mut ended: Option<Ended> = None;
        for found in find(&self.folder.keepers())? {
            match found {
                Found::Alive(keeper) => {
                    let reports = keeper.next(Duration::ZERO)?;
                    if reports.iter().any(|report| report.id() == id) {
                        return self.adopt(project, keeper, reports);
                    }
                    end(keeper)?;
                }
                Found::Dead(dead) => {
                    ended = bury(&dead, &id)?.or(ended);
                    dead.remove()?;
                }
                Found::Foreign { id, .. } => return Err(foreign(&id)),
            }
        }
        let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
        let (log, meter) = (self.folder.log(self.record.process), Meter::new(self.record.counted));
        let ended = end_unseen(self.order.agent.clone(), &log, meter, end);
        if ended.heard.end.as_ref().is_some_and(|end| end.why == Why::Done) {
            self.end(ended);
            return Ok(());
        }
        self.record.spent.add(&ended.meter.spent());
        self.record.counted = ended.meter.counted();
        let heard = ended.heard;
        let session = heard.session.or_else(|| self.record.conversation.clone());
        self.start(project, keeper, session.filter(|_| heard.has_begun))
    }

    fn adopt(
        &mut self,
        project: &Project,
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
        let agent = Supervised::adopt((keeper, reports), known, self.allowance(), now)?;
        self.stage = JobStage::Working(Box::new(agent));
        Ok(())
    }

    /// What its next process may use up.
    fn allowance(&self) -> Allowance {
        let spent = self.record.spent.cost_micros;
        let micros = self.order.bounds.micros.map(|micros| micros.saturating_sub(spent));
        let bounds = Bounds { micros, ..self.order.bounds };
        Allowance { meter: Meter::new(self.record.counted), bounds }
    }

    /// Starts a process, in the conversation that is named or in a new one.
    fn start(
        &mut self,
        project: &Project,
        keeper: &[OsString],
        session: Option<String>,
    ) -> Result<(), EngineError> {
        let message = match &session {
            Some(_) => self.order.again.clone(),
            None => self.order.message.clone(),
        };
        self.start_with(project, keeper, session, message)
    }

    fn start_with(
        &mut self,
        project: &Project,
        keeper: &[OsString],
        session: Option<String>,
        message: String,
    ) -> Result<(), EngineError> {
        let agent = self.order.agent.clone();
        let conversation = match session {
            Some(id) => Conversation::Resume { id },
            None => {
                self.record.counted = Usage::default();
                Conversation::New { id: new_uuid() }
            }
        };
        self.record.conversation = match &conversation {
            // The program chooses a name of its own.
            Conversation::New { .. } if !agent.adapter.takes_conversation_id() => None,
            Conversation::New { id } | Conversation::Resume { id } => Some(id.clone()),
        };
        self.record.process = self.folder.next_process()?;
        self.folder.save(&self.record)?;
        let allowance = self.allowance();
        let order = self.program_order(project, conversation, message, allowance.bounds.micros)?;
        let folder = self.workplace(project);
        let allowed = project.configuration().values.run.environment.clone();
        let mut environment = usual_environment(&project.environment, &allowed);
        let own = self.order.environment.clone();
        let usual = || inherited(&agent, &folder, &project.environment);
        environment.extend(own.unwrap_or_else(usual));
        environment.push((layout::variable::ATTEMPT.to_owned(), self.order.attempt.to_string()));
        let call = Call {
            id: self.child(),
            agent: &agent,
            order: &order,
            folder,
            environment,
            log: self.folder.log(self.record.process),
            afresh: self.order.message.clone(),
        };
        let now = project.clock.now();
        let agent = Supervised::start(&self.folder.keepers(), keeper, call, allowance, now)?;
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
            HookSource::Given => project.hook_words()?,
            HookSource::Settings => Vec::new(),
        };
        // Its own project is open to an agent that works in another one.
        let own = self.order.folder.as_ref().map(|_| project.root().to_string_lossy());
        let order = Order {
            task: message,
            more_folders: own.into_iter().map(Into::into).collect(),
            access: *access,
            prompts: if agent.adapter.can_ask() { *prompts } else { Prompts::Refused },
            schema: schema.clone(),
            budget_cents: micros.map(|micros| micros.div_ceil(10_000)),
            ..agent.order(self.workplace(project).to_string_lossy().into_owned(), conversation)
        };
        project.with_hook(agent, words, order)
    }

    fn end(&mut self, ended: AgentEnd) {
        let mut usage = self.record.spent;
        usage.add(&ended.meter.spent());
        self.stage = JobStage::Over(Box::new(JobEnd { ended, usage }));
    }

    /// How it ended, if it has.
    pub(crate) fn over(&self) -> Option<&JobEnd> {
        match &self.stage {
            JobStage::Over(end) => Some(end),
            JobStage::Working(_) | JobStage::Between => None,
        }
    }

    /// What it says and does, while it works, and what it has said.
    pub(crate) fn heard(&self) -> Option<&Heard> {
        match &self.stage {
            JobStage::Working(agent) => Some(agent.life.heard()),
            JobStage::Over(end) => Some(&end.ended.heard),
            JobStage::Between => None,
        }
    }

    /// Its agent, while it works.
    pub(crate) fn life(&mut self) -> Option<&mut Supervision> {
        match &mut self.stage {
            JobStage::Working(agent) => Some(&mut agent.life),
            JobStage::Between | JobStage::Over(_) => None,
        }
    }

    /// Hears what is new, and takes its end. Says whether there was anything.
    pub(crate) fn look(&mut self, now: Time) -> Result<bool, EngineError> {
        let JobStage::Working(agent) = &mut self.stage else { return Ok(false) };
        let is_news = agent.look(now)?;
        if !agent.life.is_over() {
            return Ok(is_news);
        }
        if let JobStage::Working(agent) = std::mem::replace(&mut self.stage, JobStage::Between) {
            let (ended, remains) = agent.close()?;
            remains.forget()?;
            self.end(ended);
        }
        Ok(true)
    }

    /// Keeps the limits, and does to its process what was decided.
    pub(crate) fn attend(&mut self, now: Time) -> Result<(), EngineError> {
        match &mut self.stage {
            JobStage::Working(agent) => agent.attend(now),
            JobStage::Between | JobStage::Over(_) => Ok(()),
        }
    }

    /// What wakes the one who looks after it.
    pub(crate) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        if let JobStage::Working(agent) = &self.stage {
            agent.waits(waits);
        }
    }

    /// Ends its process; the conversation can be taken up again.
    pub(crate) fn halt(&mut self) -> Result<(), EngineError> {
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

    /// The questions that were put to a person.
    pub(crate) fn asked(&self) -> &BTreeMap<String, EntryId> {
        &self.record.asked
    }

    pub(crate) fn note_asked(&mut self, key: String, entry: EntryId) -> Result<(), EngineError> {
        self.record.asked.insert(key, entry);
        self.folder.save(&self.record)
    }

    /// Where the output of its newest process is.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.log(self.record.process)
    }

    /// What came of it is durable elsewhere; the next job of this name is a new one.
    pub(crate) fn forget(&self) -> Result<(), EngineError> {
        self.folder.forget()
    }

    /// Looks after an agent that is not to ask a person for anything. `more` is what is still to be
    /// said when it has ended its turn. Returns its end once it has come.
    pub(crate) fn attend_alone(
        &mut self,
        now: Time,
        onlooker: &mut dyn Onlooker,
        more: &mut dyn FnMut(&Heard) -> Option<String>,
    ) -> Result<Option<JobEnd>, EngineError> {
        self.look(now)?;
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
        if let Some(heard) = self.heard() {
            onlooker.look(&self.order.agent.name, &heard.doing);
        }
        Ok(None)
    }
}

impl JobEnd {
    /// Why it did not come to a good end; none: its program reports success.
    pub(crate) fn trouble(&self, name: &str, now: Time) -> Option<Trouble> {
        self.ended.trouble(&Circumstances { work: name, parked_before: 0, now })
    }
}

impl Project {
    /// What a job may use up: the same as a task.
    pub(crate) fn job_bounds(&self) -> Bounds {
        let run = &self.configuration().values.run;
        Bounds {
            time: Bounds::seconds(run.timeout_seconds),
            stall: Bounds::seconds(run.stall_seconds),
            micros: config::cents(run.task_budget_usd).map(|cents| cents.saturating_mul(10_000)),
        }
    }
}

/// Ends an agent that is not wanted any more, and waits until it has ended.
fn end(keeper: Keeper) -> Result<(), EngineError> {
    let reports = keeper.next(Duration::ZERO)?;
    if let Some(id) = reports.first().map(|report| report.id().to_owned()) {
        end_child(&keeper, &id, reports)?;
    }
    Ok(keeper.close()?)
}

fn foreign(id: &str) -> EngineError {
    Problem::other_version(id, "agent has").into()
}
