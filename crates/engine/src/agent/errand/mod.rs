//! Errands: work of an agent that is no task of a run, such as a review or a checkpoint.
//!
//! An errand has a name and a folder of its own beside the journal. Its agent has a keeper, so it
//! outlives this process: the command that begins the same errand again takes the agent over, takes
//! what it has said at its end, or goes on in its conversation. What the outcome means is decided
//! by the one who gave the errand, who forgets it once that is durable.

mod record;

use super::{
    Agent, Call, Heard, Meter, ProcessEnd, Talking, Told, bury, heard_in, inherited, new_uuid,
    require_key,
};
use crate::{
    error::{EngineError, Problem},
    execute::{ended_in_words, usual_environment},
    project::Project,
};
use record::{Desk, FOLDER, Record};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use waypost_agent::{
    answer::Answer,
    launch::{Access, Conversation, Order, Prompts},
    stream::Why,
};
use waypost_model::{id::EntryId, layout, run::Usage, time::Time};
use waypost_proc::{Ended, Found, Keeper, Refusal, Report, Stop, find};
use waypost_store::{StoreError, file, lock::FileLock};

/// How long a program may take to end after its turn is done.
const FAREWELL: Duration = Duration::from_secs(10);
/// How often an agent is looked at.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// One who watches agents at work.
pub trait Onlooker {
    /// Something worth a line of its own.
    fn tell(&mut self, line: &str);
    /// What an agent does now; called many times a second.
    fn look(&mut self, who: &str, doing: &str);
    /// Whether everything is to be stopped; it can be taken up again later.
    fn wants_stop(&mut self) -> bool;
}

/// What an agent is sent to do.
#[derive(Clone, Debug)]
pub(crate) struct Mission {
    /// Names the errand in its work tree.
    pub(crate) name: String,
    /// What it is about: an errand of the same name about something else is given up.
    pub(crate) key: String,
    pub(crate) agent: Agent,
    pub(crate) access: Access,
    pub(crate) prompts: Prompts,
    /// Who tells its program about our hook.
    pub(crate) hook: HookSource,
    /// The form of its last words, where the program can be held to one.
    pub(crate) schema: Option<String>,
    /// Where it works, if not in the project whose errand it is.
    pub(crate) folder: Option<PathBuf>,
    /// What its program gets beside what every child does, in place of the usual.
    pub(crate) environment: Option<Vec<(String, String)>>,
    /// Which try this is; the agent and what it runs can read that.
    pub(crate) attempt: u32,
    pub(crate) message: String,
    /// What it is told when its conversation is taken up again.
    pub(crate) again: String,
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

/// What an errand may use up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) time: Option<Duration>,
    pub(crate) stall: Option<Duration>,
    /// Millionths of a dollar.
    pub(crate) micros: Option<u64>,
}

/// Why an agent was ended before its work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halted {
    /// A person wanted it.
    Asked,
    TimedOut,
    Stalled,
    Budget,
}

/// How an errand ended.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) heard: Heard,
    pub(crate) end: ProcessEnd,
    pub(crate) halted: Option<Halted>,
    /// What all of its processes used up.
    pub(crate) usage: Usage,
    /// What its program counts for the conversation.
    counted: Usage,
}

/// What stands against an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It was stopped, or its process was lost: it can go on.
    Stopped,
    /// A limit of its service was met; it can go on later.
    Limited(String),
    Failed(String),
}

impl Outcome {
    /// Why it did not come to its end; none: its program reports success.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let failed = |text: &str| Some(Trouble::Failed(text.to_owned()));
        match self.halted {
            Some(Halted::Asked) => return Some(Trouble::Stopped),
            Some(Halted::TimedOut) => return failed("it timed out"),
            Some(Halted::Stalled) => return failed("it said nothing for too long"),
            Some(Halted::Budget) => return failed("its budget is used up"),
            None => {}
        }
        let Some(end) = &self.heard.end else { return Some(self.broken_off()) };
        match end.why {
            Why::Done => None,
            Why::RateLimited | Why::Unavailable(_) => Some(Trouble::Limited(end.detail.clone())),
            Why::Interrupted => Some(Trouble::Stopped),
            Why::Cut => Some(self.broken_off()),
            Why::Budget => failed("its budget is used up"),
            Why::TurnLimit => failed("its turns are used up"),
            Why::Refused => failed("the model declined"),
            Why::OpenTool | Why::Deferred | Why::Background => {
                failed("it ended while a tool call had no result")
            }
            Why::Error => failed(&end.detail),
        }
    }

    /// Its process ended in the middle of its turn, or before the first one.
    fn broken_off(&self) -> Trouble {
        match &self.end {
            ProcessEnd::Ended(ended) => {
                let tail = String::from_utf8_lossy(&ended.tail);
                let last = if tail.trim().is_empty() { self.heard.other.as_str() } else { &tail };
                Trouble::Failed(ended_in_words(ended.how, last))
            }
            ProcessEnd::Refused(Refusal::Impossible { detail } | Refusal::Busy { detail }) => {
                Trouble::Failed(format!("it could not be started: {detail}"))
            }
            ProcessEnd::Refused(Refusal::Withdrawn) | ProcessEnd::Lost => Trouble::Stopped,
        }
    }
}

/// An agent on its errand.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) mission: Mission,
    desk: Desk,
    record: Record,
    stage: Stage,
    _lock: FileLock,
}

#[derive(Debug)]
enum Stage {
    Working(Box<Working>),
    /// Between two processes; nothing is kept of it.
    Gone,
    Over(Box<Outcome>),
}

#[derive(Debug)]
struct Working {
    talking: Talking,
    meter: Meter,
    since: Time,
    heard_at: Time,
    /// Whether it waits for a person; its limits stand still meanwhile.
    is_waiting: bool,
    stop_at: Option<Time>,
    halted: Option<Halted>,
}

impl Errand {
    /// Begins an errand, or takes up the one that is there.
    pub(crate) fn begin(
        project: &Project,
        keeper: &[OsString],
        mission: Mission,
    ) -> Result<Self, EngineError> {
        let desk = Desk::of(project, &mission.name);
        file::make_private_folder(&project.place.state.join(FOLDER))?;
        file::make_private_folder(&desk.folder)?;
        if mission.environment.is_none() {
            require_key(&mission.agent, project.root(), &project.environment)?;
        }
        let path = desk.folder.join("lock");
        let busy =
            || StoreError::Busy { what: format!("the errand {}", mission.name), holder: None };
        let lock = FileLock::try_acquire(&path)?.ok_or_else(busy)?;
        let found = desk.load()?;
        let record = found.filter(|it| it.key == mission.key && it.agent == mission.agent.name);
        let is_new = record.is_none();
        let record = record.unwrap_or_else(|| Record::new(&mission.key, &mission.agent.name));
        let mut errand = Self { mission, desk, record, stage: Stage::Gone, _lock: lock };
        if is_new {
            errand.clear()?;
            errand.start(project, keeper, None)?;
        } else {
            errand.take_up(project, keeper)?;
        }
        Ok(errand)
    }

    /// Whether an errand of this name and key was begun and is not over.
    pub(crate) fn is_begun(project: &Project, name: &str, key: &str) -> Result<bool, EngineError> {
        let found = Desk::of(project, name).load()?;
        Ok(found.is_some_and(|record| record.key == key))
    }

    /// Whether an errand of this name was begun and is not over, whatever it is about.
    pub(crate) fn is_there(project: &Project, name: &str) -> Result<bool, EngineError> {
        Ok(Desk::of(project, name).load()?.is_some())
    }

    /// Forgets an errand that nobody is on, if there is one.
    pub(crate) fn forget_named(project: &Project, name: &str) -> Result<(), EngineError> {
        let desk = Desk::of(project, name);
        if desk.load()?.is_some() { desk.forget() } else { Ok(()) }
    }

    /// Goes on in the conversation of an errand whose agent has ended its turn and its process.
    pub(crate) fn go_on(
        &mut self,
        project: &Project,
        keeper: &[OsString],
        message: String,
    ) -> Result<(), EngineError> {
        let Stage::Over(outcome) = &self.stage else { return Ok(()) };
        let session = outcome.heard.session.clone().or_else(|| self.record.conversation.clone());
        (self.record.spent, self.record.counted) = (outcome.usage, outcome.counted);
        self.start_with(project, keeper, session, message)
    }

    /// Where its agent works.
    fn folder(&self, project: &Project) -> PathBuf {
        self.mission.folder.clone().unwrap_or_else(|| project.root().to_owned())
    }

    fn child(&self) -> String {
        format!("{}#{}", self.mission.name, self.record.process)
    }

    /// Ends whatever an errand of this name has left.
    fn clear(&self) -> Result<(), EngineError> {
        for found in find(&self.desk.keepers())? {
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
        let (id, now) = (self.child(), project.clock.now());
        let mut ended: Option<Ended> = None;
        for found in find(&self.desk.keepers())? {
            match found {
                Found::Alive(keeper) => {
                    let reports = keeper.next(Duration::ZERO)?;
                    if reports.iter().any(|report| report.id() == id) {
                        let folder = self.folder(project);
                        return self.adopt(keeper, reports, now, &folder);
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
        let heard = heard_in(&self.desk.log(self.record.process), self.mission.agent.adapter);
        let mut meter = Meter::new(self.record.counted);
        meter.read(&heard.tally, &self.mission.agent);
        if heard.end.as_ref().is_some_and(|end| end.why == Why::Done) {
            let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
            self.stage = Stage::Over(Box::new(self.outcome(heard, end, None, &meter)));
            return Ok(());
        }
        self.record.spent.add(&meter.spent());
        self.record.counted = meter.counted();
        let session = heard.session.or_else(|| self.record.conversation.clone());
        self.start(project, keeper, session.filter(|_| heard.has_begun))
    }

    fn adopt(
        &mut self,
        keeper: Keeper,
        reports: Vec<Report>,
        now: Time,
        folder: &Path,
    ) -> Result<(), EngineError> {
        let log = self.desk.log(self.record.process);
        let adapter = self.mission.agent.adapter;
        let (message, afresh) = (self.mission.message.clone(), self.mission.message.clone());
        let told = Told { message, afresh, folder: folder.to_owned() };
        let mut talking = Talking::adopt(self.child(), adapter, keeper, &log, told)?;
        talking.note(reports);
        let meter = Meter::new(self.record.counted);
        self.stage = Stage::Working(Box::new(Working::new(talking, meter, now)));
        Ok(())
    }

    /// Starts a process, in the conversation that is named or in a new one.
    fn start(
        &mut self,
        project: &Project,
        keeper: &[OsString],
        session: Option<String>,
    ) -> Result<(), EngineError> {
        let message = match &session {
            Some(_) => self.mission.again.clone(),
            None => self.mission.message.clone(),
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
        let agent = self.mission.agent.clone();
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
        self.record.process = self.desk.next_process()?;
        self.desk.save(&self.record)?;
        let order = self.order(project, conversation, message)?;
        let folder = self.folder(project);
        let allowed = project.configuration().values.run.environment.clone();
        let mut environment = usual_environment(&project.environment, &allowed);
        let own = self.mission.environment.clone();
        environment.extend(own.unwrap_or_else(|| inherited(&agent, &folder, &project.environment)));
        environment.push((layout::variable::ATTEMPT.to_owned(), self.mission.attempt.to_string()));
        let call = Call {
            id: self.child(),
            agent: &agent,
            order: &order,
            folder,
            environment,
            log: self.desk.log(self.record.process),
            afresh: self.mission.message.clone(),
        };
        let talking = Talking::start(&self.desk.keepers(), keeper, call)?;
        let (meter, now) = (Meter::new(self.record.counted), project.clock.now());
        self.stage = Stage::Working(Box::new(Working::new(talking, meter, now)));
        Ok(())
    }

    fn order(
        &self,
        project: &Project,
        conversation: Conversation,
        message: String,
    ) -> Result<Order, EngineError> {
        let Mission { agent, access, prompts, schema, bounds, .. } = &self.mission;
        let words = match self.mission.hook {
            HookSource::Given => project.hook_words()?,
            HookSource::Settings => Vec::new(),
        };
        let left = bounds.micros.map(|it| it.saturating_sub(self.record.spent.cost_micros));
        // Its own project is open to an agent that works in another one.
        let own = self.mission.folder.as_ref().map(|_| project.root().to_string_lossy());
        let order = Order {
            task: message,
            more_folders: own.into_iter().map(Into::into).collect(),
            access: *access,
            prompts: if agent.adapter.can_ask() { *prompts } else { Prompts::Refused },
            schema: schema.clone(),
            budget_cents: left.map(|micros| micros.div_ceil(10_000)),
            ..agent.order(self.folder(project).to_string_lossy().into_owned(), conversation)
        };
        project.with_hook(agent, words, order)
    }

    fn outcome(
        &self,
        heard: Heard,
        end: ProcessEnd,
        halted: Option<Halted>,
        meter: &Meter,
    ) -> Outcome {
        let mut usage = self.record.spent;
        usage.add(&meter.spent());
        Outcome { heard, end, halted, usage, counted: meter.counted() }
    }

    /// How it ended, if it has.
    pub(crate) fn over(&self) -> Option<&Outcome> {
        match &self.stage {
            Stage::Over(outcome) => Some(outcome),
            Stage::Working(_) | Stage::Gone => None,
        }
    }

    /// What it says and does, while it works.
    pub(crate) fn heard(&self) -> Option<&Heard> {
        match &self.stage {
            Stage::Working(working) => Some(&working.talking.heard),
            Stage::Over(outcome) => Some(&outcome.heard),
            Stage::Gone => None,
        }
    }

    /// Hears what is new, keeps the limits, and takes its end.
    pub(crate) fn look(&mut self, now: Time) -> Result<(), EngineError> {
        let Stage::Working(working) = &mut self.stage else { return Ok(()) };
        working.look(now, &self.mission)?;
        if working.talking.end().is_none() {
            return working.keep_bounds(now, &self.mission.bounds, &self.record.spent);
        }
        let Stage::Working(working) = std::mem::replace(&mut self.stage, Stage::Gone) else {
            return Ok(());
        };
        let Working { talking, meter, halted, .. } = *working;
        let (end, heard, remains) = talking.close()?;
        remains.forget()?;
        self.stage = Stage::Over(Box::new(self.outcome(heard, end, halted, &meter)));
        Ok(())
    }

    /// Nothing more is said to it: a program that has ended its turn ends.
    pub(crate) fn dismiss(&mut self, now: Time) -> Result<(), EngineError> {
        match &mut self.stage {
            Stage::Working(working) => working.dismiss(now),
            Stage::Gone | Stage::Over(_) => Ok(()),
        }
    }

    /// Ends its process; the conversation can be taken up again.
    pub(crate) fn halt(&mut self, why: Halted) -> Result<(), EngineError> {
        match &mut self.stage {
            Stage::Working(working) => working.halt(why),
            Stage::Gone | Stage::Over(_) => Ok(()),
        }
    }

    /// Refuses whatever it asks for.
    pub(crate) fn refuse_all(&mut self, reason: &str) -> Result<(), EngineError> {
        let Stage::Working(working) = &mut self.stage else { return Ok(()) };
        let asks: Vec<_> = working.talking.heard.asks.values().cloned().collect();
        for ask in asks {
            working.talking.answer(&ask, &Answer::Deny { reason: reason.to_owned() })?;
        }
        Ok(())
    }

    pub(crate) fn answer(
        &mut self,
        ask: &waypost_agent::stream::Ask,
        answer: &Answer,
    ) -> Result<(), EngineError> {
        match &mut self.stage {
            Stage::Working(working) => working.talking.answer(ask, answer),
            Stage::Gone | Stage::Over(_) => Ok(()),
        }
    }

    /// Says something further. Says whether its program takes that.
    pub(crate) fn say(&mut self, text: &str) -> Result<bool, EngineError> {
        match &mut self.stage {
            Stage::Working(working) => working.talking.say(text),
            Stage::Gone | Stage::Over(_) => Ok(false),
        }
    }

    /// Notes whether it waits for a person.
    pub(crate) fn set_waits(&mut self, waits: bool, now: Time) {
        if let Stage::Working(working) = &mut self.stage {
            if working.is_waiting && !waits {
                working.heard_at = now;
            }
            working.is_waiting = waits;
        }
    }

    /// The questions that were put to a person.
    pub(crate) fn asked(&self) -> &BTreeMap<String, EntryId> {
        &self.record.asked
    }

    pub(crate) fn note_asked(&mut self, key: String, entry: EntryId) -> Result<(), EngineError> {
        self.record.asked.insert(key, entry);
        self.desk.save(&self.record)
    }

    /// Where the output of its newest process is.
    pub(crate) fn log(&self) -> PathBuf {
        self.desk.log(self.record.process)
    }

    /// What came of it is durable elsewhere; the next errand of this name is a new one.
    pub(crate) fn forget(self) -> Result<(), EngineError> {
        self.desk.forget()
    }
}

impl Working {
    fn new(talking: Talking, meter: Meter, now: Time) -> Self {
        Self {
            talking,
            meter,
            since: now,
            heard_at: now,
            is_waiting: false,
            stop_at: None,
            halted: None,
        }
    }

    fn look(&mut self, now: Time, mission: &Mission) -> Result<(), EngineError> {
        if self.talking.look()? {
            self.heard_at = now;
        }
        self.meter.read(&self.talking.heard.tally, &mission.agent);
        Ok(())
    }

    fn dismiss(&mut self, now: Time) -> Result<(), EngineError> {
        if !self.talking.is_hung_up() {
            self.talking.hang_up()?;
            self.stop_at = Some(now.plus(FAREWELL));
        }
        Ok(())
    }

    fn halt(&mut self, why: Halted) -> Result<(), EngineError> {
        if self.halted.is_some() {
            return Ok(());
        }
        self.halted = Some(why);
        self.talking.stop(match why {
            Halted::TimedOut => Stop::TimedOut,
            Halted::Stalled => Stop::Stalled,
            Halted::Asked | Halted::Budget => Stop::Asked,
        })
    }

    fn keep_bounds(
        &mut self,
        now: Time,
        bounds: &Bounds,
        before: &Usage,
    ) -> Result<(), EngineError> {
        if self.stop_at.is_some_and(|at| now >= at) {
            self.stop_at = None;
            self.talking.stop(Stop::Asked)?;
        }
        if self.is_waiting || self.talking.is_hung_up() {
            return Ok(());
        }
        let spent = before.cost_micros.saturating_add(self.meter.spent().cost_micros);
        if bounds.micros.is_some_and(|micros| spent >= micros) {
            self.halt(Halted::Budget)?;
        } else if bounds.time.is_some_and(|time| now.since(self.since) >= time) {
            self.halt(Halted::TimedOut)?;
        } else if bounds.stall.is_some_and(|stall| now.since(self.heard_at) >= stall) {
            self.halt(Halted::Stalled)?;
        }
        Ok(())
    }
}

/// Sees an errand through to its end, in the foreground. Nobody is asked anything. `more` is what
/// is still to be said when the agent has ended its turn.
pub(crate) fn supervise(
    project: &Project,
    errand: &mut Errand,
    onlooker: &mut dyn Onlooker,
    more: &mut dyn FnMut(&Heard) -> Option<String>,
) -> Result<Outcome, EngineError> {
    loop {
        let now = project.clock.now();
        errand.look(now)?;
        if let Some(outcome) = errand.over() {
            return Ok(outcome.clone());
        }
        errand.refuse_all("no person is there to allow it")?;
        if let Some((ended, end)) = errand.heard().and_then(|it| Some((it, it.end.as_ref()?))) {
            // An agent that met a limit or a fault is not helped by another message.
            let is_heard = match end.is_ok().then(|| more(ended)).flatten() {
                Some(text) => errand.say(&text)?,
                None => false,
            };
            if !is_heard {
                errand.dismiss(now)?;
            }
        }
        if onlooker.wants_stop() {
            errand.halt(Halted::Asked)?;
        }
        if let Some(heard) = errand.heard() {
            onlooker.look(&errand.mission.agent.name, &heard.doing);
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// Ends an agent that nobody wants any more, and waits until it has ended.
fn end(keeper: Keeper) -> Result<(), EngineError> {
    let reports = keeper.next(Duration::ZERO)?;
    let Some(id) = reports.first().map(|report| report.id().to_owned()) else {
        return Ok(keeper.close()?);
    };
    keeper.stop(&id, Stop::Asked)?;
    let is_end = |report: &Report| !matches!(report, Report::Started { .. });
    let mut has_ended = reports.iter().any(is_end);
    while !has_ended {
        has_ended = keeper.next(LOOK_INTERVAL)?.iter().any(is_end);
    }
    Ok(keeper.close()?)
}

fn foreign(id: &str) -> EngineError {
    Problem::other_version(id, "agent has").into()
}
