//! One task and what is done for it: its agent's process, its checkpoints, its verification.
//!
//! Nothing here remembers what has to be done: that follows from the task as the journal has it and from
//! what there is of processes. So a host that comes after one that died goes on by the same steps.

mod aside;
mod keep;
mod start;

pub(super) use start::{first_plan, usable};

use self::aside::PuttingAside;
use super::{
    agent::{Reading, TaskAgent, hear},
    brief::TaskBrief,
    checkpoints::{Keeping, Moment},
    folder::TaskFolder,
    kind,
    order::PhaseOrder,
    questions,
    turns::Turns,
    verify::Verification,
    workspaces::{WorkspacesHome, as_it_lies},
};
use crate::{
    accounts::{self, accounts_stream},
    agent::{
        self, AgentEnd, Circumstances, Halt, Leftovers, Meter, ProcessEnd, Slot, Slots, Told,
        Trouble, clear, end_unseen, leftovers, prove_unseen, stream_path,
    },
    error::{EngineError, Problem},
    guest::Waits,
    ledger::MachineCommand,
    project::Project,
    served::{command_for, task_stream},
    threaded::Threaded,
    values,
};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use waypost_model::{
    accounts::{Accounts, Command as AccountsCommand},
    actor::Actor,
    code::Code,
    document::{ServerTaskId, server::AgentStatus},
    id::StreamName,
    run::{self, Usage},
    task::{AttemptLife, AttemptPlan, Command, ExitCause, ServedTask, TaskFile},
    time::Time,
};
use waypost_proc::{Ended, Keeper, Refusal, Report};
use waypost_store::hash;

/// How often an agent that ends its turn without a word of how it stands is reminded.
const REMINDERS_MAX: u32 = 3;

/// How often is looked for a free slot, and whether something can be begun again.
const SLOT_INTERVAL: Duration = Duration::from_secs(1);

/// How often is looked how far the steps of a phase are.
const SURVEY_INTERVAL: Duration = Duration::from_secs(2);

/// As many letters as no text has by chance.
const NONCE_LENGTH: usize = 8;

/// What all tasks are done with.
pub(super) struct Tools {
    /// The program that keeps agents.
    pub(super) keeper: Vec<OsString>,
    pub(super) data: WorkspacesHome,
    pub(super) slots: Slots,
    /// The tasks in progress that wait for one.
    pub(super) turns: Turns,
    /// After how long an agent that stands still is ended.
    pub(super) park_after: Duration,
    /// How long lies between two checkpoints of an agent that works.
    pub(super) interval: Duration,
    /// How long something waits that an agent asks for and does not need.
    pub(super) optional_wait: Duration,
    /// How long a phase that did not hold waits for a person.
    pub(super) escalation_timeout: Option<Duration>,
    /// Nothing new is begun any more: all agents are to end.
    pub(super) is_ending: bool,
}

impl Tools {
    /// Whether there is a slot for a task in progress, and none that waits comes before it.
    pub(super) fn has_turn(&self, file: &TaskFile, now: Time) -> Result<bool, EngineError> {
        self.turns.ask(&file.id, file.fields.priority, now);
        let free = self.slots.free(self.turns.len())?;
        Ok(self.turns.ahead_of(&file.id, now) < free)
    }

    /// A slot for a task in progress, when it is its turn.
    pub(super) fn take_slot(
        &self,
        file: &TaskFile,
        now: Time,
    ) -> Result<Option<Slot>, EngineError> {
        if !self.has_turn(file, now)? {
            return Ok(None);
        }
        let slot = self.slots.take()?;
        if slot.is_some() {
            self.turns.leave(&file.id);
        }
        Ok(slot)
    }
}

/// What is looked after for one task.
pub(super) struct TaskRoom {
    pub(super) id: ServerTaskId,
    stream: StreamName,
    folder: TaskFolder,
    /// What its agent has to name at the end of a phase, where that is demanded.
    nonce: Option<String>,
    /// What an earlier host has left was looked for.
    past: Past,
    agent: Option<TaskAgent>,
    /// The right to let its agent work, until that is started.
    pub(super) slot: Option<Slot>,
    /// The workspace is being made or put back.
    making: Option<Threaded<Result<(), EngineError>>>,
    is_made: bool,
    /// The checkpoint that the workspace is being put back to, and the one that it was put back to.
    putting_back: Option<u32>,
    put_back: Option<u32>,
    keeping: Option<Keeping>,
    /// What an attempt left that went past the hook is being put aside.
    aside: Option<PuttingAside>,
    /// What the last checkpoint was taken for.
    kept: Option<Moment>,
    is_shut_down: bool,
    verification: Option<Verification>,
    next_survey: Time,
    /// The next time at which something is due even if nothing comes.
    next: Option<Time>,
}

/// What an earlier host has left of a task's processes.
enum Past {
    Unknown,
    /// It is being ended; the live attempt, if it is among it, is taken over.
    Clearing {
        clearing: Threaded<Result<Option<Ended>, EngineError>>,
        own: Option<Box<(Keeper, Vec<Report>)>>,
    },
    /// How the last process ended, if that was seen.
    Known(Option<Ended>),
}

/// What its agent is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posture {
    Work,
    Still,
    Gone,
}

fn posture(file: &TaskFile) -> Posture {
    if !file.is_alive() || file.must_replace() || file.is_taken() {
        return Posture::Gone;
    }
    match file.agent {
        _ if file.wants_agent() => Posture::Work,
        AgentStatus::Completed | AgentStatus::Failed => Posture::Gone,
        _ => Posture::Still,
    }
}

/// What the agent of a task has to name at the end of a phase, where the configuration demands that. It
/// follows from the journal, so that every host demands the same.
fn nonce(project: &Project, id: &ServerTaskId) -> Option<String> {
    let journal =
        project.journal.as_ref().filter(|_| project.configuration().values.protocol.nonce)?;
    let hash = hash::sha256_hex(format!("{} {id}", journal.id()).as_bytes());
    Some(hash.chars().take(NONCE_LENGTH).collect())
}

impl TaskRoom {
    pub(super) fn new(project: &Project, id: &ServerTaskId) -> Self {
        Self {
            id: id.clone(),
            stream: task_stream(id),
            folder: TaskFolder::of(&project.setup, id),
            nonce: nonce(project, id),
            past: Past::Unknown,
            agent: None,
            slot: None,
            making: None,
            is_made: false,
            putting_back: None,
            put_back: None,
            keeping: None,
            aside: None,
            kept: None,
            is_shut_down: false,
            verification: None,
            next_survey: Time::default(),
            next: None,
        }
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.agent.iter().for_each(|agent| agent.waits(waits));
        self.making.iter().for_each(|making| making.waits(waits));
        self.keeping.iter().for_each(|keeping| keeping.waits(waits));
        self.aside.iter().for_each(|aside| aside.waits(waits));
        self.verification.iter().for_each(|verification| verification.waits(waits));
        if let Past::Clearing { clearing, .. } = &self.past {
            clearing.waits(waits);
        }
        self.next.into_iter().for_each(|next| waits.until(next));
    }

    /// Wants to be looked after at this time at the latest.
    fn wake(&mut self, at: Time) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// What its agent does now, in a few words.
    pub(super) fn doing(&self) -> Option<&str> {
        self.agent.as_ref().map(TaskAgent::doing)
    }

    /// Whether nothing of it is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.agent.is_none()
            && self.making.is_none()
            && self.keeping.is_none()
            && self.aside.is_none()
            && self.verification.is_none()
            && matches!(self.past, Past::Known(_))
    }

    /// Whether what it could not be set up for is being done: a process that was only just asked for may
    /// turn out not to be one.
    fn is_under_way(&self) -> bool {
        self.agent.as_ref().is_some_and(TaskAgent::has_said_something)
            || self.verification.is_some()
    }

    /// The task as it stands.
    pub(super) fn file(&self, project: &mut Project) -> Result<Option<TaskFile>, EngineError> {
        let found = project.machine::<ServedTask>(&self.stream)?;
        let file = found.and_then(|loaded| loaded.state.file().cloned());
        Ok(file.map(|file| as_it_lies(&project.setup, file)))
    }

    /// Records something of it; what is refused is late or repeated.
    fn tell(&self, project: &mut Project, commands: Vec<Command>) -> Result<(), EngineError> {
        if commands.is_empty() {
            return Ok(());
        }
        let commands: Vec<MachineCommand> =
            commands.into_iter().map(|it| command_for(&self.id, it)).collect();
        project.commit_each(&Actor::Waypost, &commands, |_| Vec::new()).map(drop)
    }

    /// Does what there is to do. Says whether the room is not needed any more.
    pub(super) fn tend(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        now: Time,
    ) -> Result<bool, EngineError> {
        self.next = None;
        self.look_back(project)?;
        self.finish_keeping(project)?;
        self.finish_aside(project)?;
        self.listen(project, tools, now)?;
        let Some(file) = self.file(project)? else { return self.leave(project, tools, now) };
        self.direct(project, tools, &file, now)?;
        let Some(file) = self.file(project)? else { return Ok(false) };
        self.keep(project, tools, &file, now)?;
        self.verify(project, tools, &file, now)?;
        self.survey(project, &file, now)?;
        if let Some(agent) = &mut self.agent {
            agent.attend(now)?;
        }
        if self.agent.is_some() || !file.wants_agent() {
            self.slot = None;
        }
        if file.hindrance().is_some() && self.is_under_way() {
            self.tell(project, vec![Command::EndHindrance])?;
        }
        let is_over = !file.is_alive() && self.is_idle() && self.kept == Some(Moment::of(&file));
        if is_over {
            // A host that died may have left them.
            self.folder.lower_fence()?;
            Verification::forget(project, &self.id)?;
        }
        Ok(is_over)
    }

    /// Looks for what an earlier host has left, once.
    fn look_back(&mut self, project: &mut Project) -> Result<(), EngineError> {
        match &mut self.past {
            Past::Known(_) => {}
            Past::Unknown => {
                self.folder.make()?;
                let attempt = self.file(project)?.map_or(0, |file| file.attempt_number());
                let id = self.folder.child(attempt);
                let Leftovers { own, left } = leftovers(&self.folder.keepers(), Some(&id))?;
                if left.is_empty() && own.is_none() {
                    self.past = Past::Known(None);
                    return Ok(());
                }
                let clearing = Threaded::begin(move || clear(left, &id))?;
                self.past = Past::Clearing { clearing, own: own.map(Box::new) };
            }
            Past::Clearing { clearing, own } => {
                let Some(ended) = clearing.take()? else { return Ok(()) };
                let own = own.take();
                self.past = Past::Known(ended?);
                if let Some(Err(error)) = own.map(|own| self.adopt(project, *own)) {
                    // It lives on under its keeper, and is looked for again.
                    self.past = Past::Unknown;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn adopt(
        &mut self,
        project: &mut Project,
        (keeper, reports): (Keeper, Vec<Report>),
    ) -> Result<(), EngineError> {
        let Some(file) = self.file(project)? else {
            return end(&self.folder, keeper, reports, 0);
        };
        let plan = file.attempt.as_ref().filter(|it| !it.is_over()).map(|it| it.plan.clone());
        let agent = plan.as_ref().map(|plan| agent::named(&project.setup, &plan.agent));
        let (Some(_), Some(Ok(agent))) = (plan, agent) else {
            // Its attempt is over, or its agent is not known any more.
            return end(&self.folder, keeper, reports, file.attempt_number());
        };
        let kind = kind::of(project, &file)?;
        let told = self.told(&file, &kind.order(file.phase), true);
        let adopted =
            TaskAgent::adopt(project, (&file, &agent), &self.folder, (keeper, reports), told)?;
        self.agent = Some(adopted);
        self.is_made = true;
        Ok(())
    }

    fn workspace_folder(file: &TaskFile) -> PathBuf {
        file.workspace.as_ref().map(|it| PathBuf::from(&it.folder)).unwrap_or_default()
    }

    /// What its agent is told first.
    fn told(&self, file: &TaskFile, order: &PhaseOrder, is_known: bool) -> Told {
        let workspace = Self::workspace_folder(file);
        let nonce = self.nonce.as_deref();
        let brief = TaskBrief { file, order, workspace: &workspace, nonce };
        let afresh = brief.first();
        let message = if is_known { brief.again() } else { afresh.clone() };
        Told { message, afresh, folder: workspace.to_string_lossy().into_owned() }
    }

    /// Hears its agent, and takes its end.
    fn listen(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        now: Time,
    ) -> Result<(), EngineError> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        agent.look(now)?;
        // What an agent says that went past the hook counts for nothing.
        if agent.prove(project)? {
            let reading =
                Reading { optional_wait: tools.optional_wait, nonce: self.nonce.as_deref() };
            let news = agent.news(&reading, now);
            self.tell(project, news)?;
            self.ask(project)?;
        }
        let Some(agent) = self.agent.take_if(|agent| agent.is_over()) else { return Ok(()) };
        let (attempt, is_dismissed) = (agent.attempt, agent.is_dismissed);
        let (ended, remains) = agent.close()?;
        let concluded = self.conclude(project, tools, (attempt, is_dismissed), ended);
        if !matches!(concluded, Err(EngineError::Store(_))) {
            // What became of it is recorded.
            remains.forget()?;
        }
        concluded
    }

    /// Puts questions of its program to a person, and tells it the answers.
    fn ask(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(file) = self.file(project)? else { return Ok(()) };
        let Some(agent) = &mut self.agent else { return Ok(()) };
        let asked = questions::attend(project, &file, agent)?;
        self.tell(project, asked)
    }

    /// Records how a process ended. One that could not be started is an error, after that.
    fn conclude(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        (attempt, is_dismissed): (u32, bool),
        mut ended: AgentEnd,
    ) -> Result<(), EngineError> {
        if ended.unproven.is_some() {
            return self.put_aside(project, attempt, &ended);
        }
        let (name, now) = (ended.agent.name.clone(), project.clock.now());
        let said = std::mem::take(&mut ended.heard.spoken);
        let reading = Reading { optional_wait: tools.optional_wait, nonce: self.nonce.as_deref() };
        let heard = hear(attempt, said, &reading, now);
        let mut commands: Vec<Command> = heard.into_iter().collect();
        if let Some(id) = ended.heard.session.clone() {
            let (agent, counted) = (name.clone(), Usage::default());
            let wall = Some(ended.agent.wall_with(ended.agent.access()).level);
            let conversation = run::Conversation { agent, id, is_open: true, counted, wall };
            commands.insert(0, Command::Converse { attempt, conversation });
        }
        let (usage, counted) = (ended.meter.spent(), ended.meter.counted());
        let result = crate::execute::result_of(&ended.heard);
        let account = run::Account { usage, counted, result };
        commands.push(Command::Account { attempt, account });
        let parked_before = accounts::current(project)?.in_a_row(&name);
        let by = Circumstances { work: self.id.as_str(), parked_before, now };
        let trouble = ended.trouble(&by);
        let is_asked = is_dismissed || ended.stopped_for() == Some(Halt::Given);
        let (cause, why) = match &trouble {
            Some(Trouble::Parked(parked)) => {
                commands.push(Command::Limit { attempt, parked: parked.clone() });
                (ExitCause::Asked, parked.why.clone())
            }
            _ if is_asked => (ExitCause::Asked, "it was asked to end".to_owned()),
            Some(Trouble::Failed { text, .. }) => (cause_of(&ended), text.clone()),
            Some(Trouble::Interrupted) => (ExitCause::Itself, "its process was lost".to_owned()),
            None => (ExitCause::Itself, "its process ended".to_owned()),
        };
        commands.push(Command::Exit { attempt, cause, why: why.clone() });
        self.folder.lower_fence()?;
        self.tell(project, commands)?;
        if cause == ExitCause::NotStarted {
            let message = format!("{name} cannot be started: {why}");
            return Err(Problem::new(Code::ProgramMissing, message).into());
        }
        if trouble.is_none() && parked_before > 0 {
            let command = AccountsCommand::Wake { agent: name };
            let command = MachineCommand::of::<Accounts>(accounts_stream(), command);
            project.commit_each(&Actor::Waypost, &[command], |_| Vec::new())?;
        }
        Ok(())
    }

    /// Has the agent do what it is to do.
    fn direct(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let posture = if tools.is_ending { Posture::Gone } else { posture(file) };
        if self.agent.is_some() {
            return self.direct_agent(project, tools, (file, posture), now);
        }
        let Past::Known(ended) = &self.past else { return Ok(()) };
        let ended = ended.clone();
        match &file.attempt {
            Some(attempt) if !attempt.is_over() => {
                let is_begun = attempt.life != AttemptLife::Planned || ended.is_some();
                if is_begun || self.has_said_something(&attempt.plan, project) {
                    return self.conclude_unseen(project, tools, file, ended);
                }
                match posture {
                    Posture::Work => self.start(project, tools, file, now),
                    // It was not started, and is not to be now.
                    Posture::Still | Posture::Gone => {
                        let (attempt, cause) = (attempt.number(), ExitCause::Asked);
                        let why = "it was not started".to_owned();
                        self.tell(project, vec![Command::Exit { attempt, cause, why }])
                    }
                }
            }
            _ if file.is_alive() && !tools.is_ending => self.engage(project, tools, file, now),
            _ => Ok(()),
        }
    }

    /// Whether the process of an attempt was there, although that is not recorded.
    fn has_said_something(&self, plan: &AttemptPlan, project: &Project) -> bool {
        let log = self.folder.log(plan.number);
        project.setup.programs.adapters().any(|adapter| stream_path(&log, adapter).exists())
    }

    /// The process of the attempt is gone, and no engine saw how it ended.
    fn conclude_unseen(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        file: &TaskFile,
        ended: Option<Ended>,
    ) -> Result<(), EngineError> {
        let Some(attempt) = &file.attempt else { return Ok(()) };
        let number = attempt.number();
        if self.aside.is_some() {
            return Ok(());
        }
        // Without it what was said cannot be read: that waits until it is configured again.
        let agent = agent::named(&project.setup, &attempt.plan.agent)?;
        self.past = Past::Known(None);
        let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
        let counted = file.trail.conversation.as_ref().map(|it| it.counted).unwrap_or_default();
        let mut ended = end_unseen(agent, &self.folder.log(number), Meter::new(counted), end);
        prove_unseen(project, &mut ended)?;
        self.conclude(project, tools, (number, false), ended)
    }

    fn direct_agent(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        (file, posture): (&TaskFile, Posture),
        now: Time,
    ) -> Result<(), EngineError> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        match posture {
            Posture::Gone => agent.end(),
            Posture::Still => {
                agent.set_still(true, now);
                let parks_at = agent.still_since.map(|since| since.plus(tools.park_after));
                match parks_at {
                    Some(at) if now >= at => agent.end(),
                    Some(at) => {
                        agent.attend(now)?;
                        self.wake(at);
                        return Ok(());
                    }
                    None => {}
                }
            }
            Posture::Work => {
                if agent.slot.is_none() {
                    agent.slot = tools.take_slot(file, now)?;
                }
                // One that was taken over works already; one that stood still waits for its turn.
                if agent.still_since.is_some() && agent.slot.is_none() {
                    self.wake(now.plus(SLOT_INTERVAL));
                    return Ok(());
                }
                agent.set_still(false, now);
                return self.converse(project, file, now);
            }
        }
        agent.attend(now)
    }

    /// Speaks with an agent that has ended its turn.
    fn converse(
        &mut self,
        project: &mut Project,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        if file.live_attempt().is_some_and(|it| it.life == AttemptLife::Planned) {
            // Its process was started with all of them, and that was not recorded.
            let (attempt, up_to) = (agent.attempt, file.message_count);
            agent.told = up_to;
            let launched = vec![Command::Launch { attempt }, Command::Deliver { attempt, up_to }];
            return self.tell(project, launched);
        }
        if !agent.has_ended_turn() {
            return agent.attend(now);
        }
        let has_failed = agent.life().heard().end.as_ref().is_some_and(|end| !end.is_ok());
        if has_failed {
            // A limit, an outage or an error: what that means is told at the end of its process.
            agent.dismiss(now);
            return agent.attend(now);
        }
        let workspace = Self::workspace_folder(file);
        let (order, nonce) = (kind::of(project, file)?.order(file.phase), self.nonce.as_deref());
        let brief = TaskBrief { file, order: &order, workspace: &workspace, nonce };
        let up_to = file.message_count;
        let text = match file.undelivered().next() {
            Some(_) => brief.messages(),
            None if agent.reminders < REMINDERS_MAX => {
                agent.reminders += 1;
                brief.reminder()
            }
            None => {
                agent.dismiss(now);
                return agent.attend(now);
            }
        };
        if !agent.say(&text) {
            // Its program takes one message: it goes on in another process.
            agent.is_dismissed = true;
            agent.dismiss(now);
            return agent.attend(now);
        }
        let attempt = agent.attempt;
        if up_to > file.delivered {
            agent.reminders = 0;
        }
        agent.told = up_to;
        agent.attend(now)?;
        self.tell(project, vec![Command::Deliver { attempt, up_to }])
    }

    /// Takes away what is left of a task that was deleted. Says whether that is done.
    fn leave(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        now: Time,
    ) -> Result<bool, EngineError> {
        if let Some(agent) = &mut self.agent {
            agent.end();
            agent.attend(now)?;
            return Ok(false);
        }
        if !self.is_idle() {
            return Ok(false);
        }
        if let Some(workspace) = tools.data.left_by(&project.setup, &self.id) {
            workspace.remove()?;
        }
        Verification::forget(project, &self.id)?;
        self.folder.remove()?;
        values::forget(project, self.id.as_str())?;
        Ok(true)
    }
}

fn cause_of(ended: &AgentEnd) -> ExitCause {
    match (&ended.end, ended.stopped_for()) {
        (ProcessEnd::Refused(Refusal::Impossible { .. }), _) => ExitCause::NotStarted,
        (_, Some(Halt::Stalled | Halt::TimedOut)) => ExitCause::Stalled,
        _ => ExitCause::Itself,
    }
}

/// Ends a process that no attempt needs any more.
fn end(
    folder: &TaskFolder,
    keeper: Keeper,
    reports: Vec<Report>,
    attempt: u32,
) -> Result<(), EngineError> {
    agent::end_child(&keeper, &folder.child(attempt), reports)?;
    Ok(keeper.close()?)
}
