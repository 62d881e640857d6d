//! All tasks of a project as one guest of its host.
//!
//! Which tasks there are it knows from the journal: all that are open when it begins, and from there on
//! those that something was recorded of, by whichever process. A task that stands in trouble keeps none of
//! the others.

use super::{
    room::{TaskRoom, Tools, first_plan, usable},
    turns::Turns,
    workspaces::WorkspacesHome,
};
use crate::{
    accounts,
    agent::{self, Agent, Onlooker, Slots},
    error::{EngineError, Problem, with_causes},
    guest::{Attended, Guest, Waits, woken},
    project::Project,
    served::{command_for, lost_cause, trace},
    task_types::task_type,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
    time::Duration,
};
use waypost_git::Git;
use waypost_model::{
    actor::Actor,
    code::Code,
    document::{ServerTaskId, server::ServerTaskStatus},
    machine::Machine as _,
    next::NextStep,
    task::{Command, ServedTask, TaskRow, TaskWorkspace, WorkspaceKind},
    time::Time,
};
use waypost_store::journal::Cursor;

/// How many entries of the journal are looked at at once.
const PAGE: usize = 1_000;

/// How often tasks are looked after before others get their turn.
const ROUNDS_MAX: usize = 16;

/// How long a task waits that could not be set up or looked after: a person who fixes it is not kept
/// waiting. One that stays so is not tried all night at that pace.
const TROUBLE_WAIT: Duration = Duration::from_secs(5);
const LONG_TROUBLE_WAIT: Duration = Duration::from_secs(60);

/// So many tries come quickly: those of ten minutes.
const QUICK_TRIES: u32 = 120;

/// How often is looked for a free slot, or for an account that can be used again.
const QUEUE_INTERVAL: Duration = Duration::from_secs(1);

/// How tasks are worked on.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The program that keeps agents: `waypost keeper`.
    pub keeper: Vec<OsString>,
    /// Where workspaces are; none: in the project.
    pub data: Option<PathBuf>,
}

/// A task that could not be set up or looked after.
#[derive(Clone, Copy, Debug)]
struct TroubledTask {
    tries: u32,
    next: Time,
}

/// What a task is given to an agent with.
struct TaskOutset {
    agent: Agent,
    workspace: TaskWorkspace,
    /// The named tasks, which are completed.
    met: Vec<ServerTaskId>,
}

/// All tasks of a project, and what is done for them.
pub(crate) struct TaskGuest {
    tools: Tools,
    rooms: BTreeMap<ServerTaskId, TaskRoom>,
    /// Tasks that wait for an agent, as they were recorded last.
    pending: BTreeMap<ServerTaskId, TaskRow>,
    /// Everything up to here was looked at.
    seen: Cursor,
    /// Tasks for which there may be something to do.
    ready: BTreeSet<ServerTaskId>,
    /// Whether a pending task may be given to an agent, or a slot may be free.
    is_queue_ready: bool,
    /// When a task that is in trouble is looked after again.
    troubled: BTreeMap<ServerTaskId, TroubledTask>,
    next_queue: Option<Time>,
    onlooker: Box<dyn Onlooker + Send>,
}

impl TaskGuest {
    pub(crate) fn begin(
        project: &mut Project,
        options: ServeOptions,
        onlooker: Box<dyn Onlooker + Send>,
    ) -> Result<Self, EngineError> {
        let data = WorkspacesHome::of(&project.setup, options.data.as_deref());
        data.make(&project.setup)?;
        let values = &project.configuration().values;
        let tools = Tools {
            keeper: options.keeper,
            data,
            slots: Slots::of(project),
            turns: Turns::default(),
            park_after: values.pause.park_after(),
            interval: values.task.checkpoint_interval(),
            optional_wait: values.task.optional_wait(),
            escalation_timeout: values.task.escalation_timeout(),
            is_ending: false,
        };
        let mut guest = Self {
            tools,
            rooms: BTreeMap::new(),
            pending: BTreeMap::new(),
            seen: project.journal_end()?,
            ready: BTreeSet::new(),
            is_queue_ready: true,
            troubled: BTreeMap::new(),
            next_queue: None,
            onlooker,
        };
        for id in super::open_tasks(project)? {
            guest.notice(project, &id)?;
        }
        for id in super::left_behind(project, &guest.tools.data)? {
            guest.notice(project, &id)?;
        }
        Ok(guest)
    }

    /// Takes a task into account, as it stands now.
    fn notice(&mut self, project: &mut Project, id: &ServerTaskId) -> Result<(), EngineError> {
        let Some(file) = trace(project, id)? else { return Ok(()) };
        let is_pending = file.status == ServerTaskStatus::Pending && !file.is_deleted;
        match is_pending {
            true => drop(self.pending.insert(id.clone(), TaskRow::of(file))),
            false => drop(self.pending.remove(id)),
        }
        // What is over may still have a process, or has to be removed.
        let is_wanted = file.is_alive() || file.is_over() && file.workspace.is_some();
        let (is_deleted, is_hindered) = (file.is_deleted, file.hindrance().is_some());
        if !is_hindered {
            // A person has said that it can be tried again, or it goes on.
            self.troubled.remove(id);
        }
        let is_left = is_deleted && super::has_left(project, &self.tools.data, id)?;
        self.is_queue_ready = true;
        if is_wanted || is_left {
            self.ready.insert(id.clone());
            self.rooms.entry(id.clone()).or_insert_with(|| TaskRoom::new(project, id));
        }
        Ok(())
    }

    /// Looks at what was recorded since the last look.
    fn catch_up(&mut self, project: &mut Project) -> Result<(), EngineError> {
        loop {
            let Some(journal) = &mut project.journal else { return Ok(()) };
            let page = journal.view()?.feed(self.seen, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            self.seen = last.cursor();
            let of_tasks = page.iter().filter(|it| it.stream.kind() == ServedTask::KIND);
            let ids: BTreeSet<ServerTaskId> =
                of_tasks.filter_map(|it| it.stream.instance()?.parse().ok()).collect();
            for id in &ids {
                self.notice(project, id)?;
            }
        }
    }

    /// Tasks whose process, thread or time has something to say.
    fn woken(&self, now: Time) -> BTreeSet<ServerTaskId> {
        let waits = self.rooms.iter().map(|(id, room)| {
            let mut waits = Waits::default();
            match self.troubled.get(id) {
                Some(wait) => waits.until(wait.next),
                None => room.waits(&mut waits),
            }
            waits
        });
        let is_woken = woken(waits, now);
        let ids = self.rooms.keys().zip(is_woken).filter(|(_, is_woken)| *is_woken);
        ids.map(|(id, _)| id.clone()).collect()
    }

    /// Looks after tasks.
    fn tend(
        &mut self,
        project: &mut Project,
        ids: BTreeSet<ServerTaskId>,
        now: Time,
    ) -> Result<(), EngineError> {
        for id in ids {
            match self.troubled.get(&id) {
                Some(wait) if now < wait.next => continue,
                Some(_) => configure_again(project),
                None => {}
            }
            let Some(room) = self.rooms.get_mut(&id) else { continue };
            self.tools.turns.begin(&id);
            let tended = room.tend(project, &self.tools, now);
            self.tools.turns.settle(&id);
            match tended {
                Ok(is_over) => {
                    self.troubled.remove(&id);
                    if let Some(doing) = room.doing() {
                        self.onlooker.look(id.as_str(), doing);
                    }
                    if is_over {
                        self.rooms.remove(&id);
                        // Its slot may be free.
                        self.is_queue_ready = true;
                    }
                }
                Err(EngineError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    room.slot = None;
                    self.tools.turns.leave(&id);
                    self.hinder(project, &id, &error, now)?;
                }
            }
        }
        Ok(())
    }

    /// A task cannot be set up or looked after now. It waits with that reason, which is said once, and is
    /// tried again.
    fn hinder(
        &mut self,
        project: &mut Project,
        id: &ServerTaskId,
        error: &EngineError,
        now: Time,
    ) -> Result<(), EngineError> {
        let known = self.troubled.get(id);
        let tries = known.map_or(1, |it| it.tries.saturating_add(1));
        if known.is_none() {
            self.onlooker.tell(&format!("{id}: {}", with_causes(error)));
        }
        let wait = if tries < QUICK_TRIES { TROUBLE_WAIT } else { LONG_TROUBLE_WAIT };
        self.troubled.insert(id.clone(), TroubledTask { tries, next: now.plus(wait) });
        tell(project, id, hindrance(id, error))
    }

    /// Gives pending tasks to agents, as long as there are slots. Those that could not be set up are
    /// looked at whether there are or not, so that no person is told of what was fixed.
    fn assign(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        let is_due = self.is_queue_ready || self.next_queue.is_some_and(|next| next <= now);
        if self.pending.is_empty() || self.tools.is_ending || !is_due {
            return Ok(());
        }
        (self.is_queue_ready, self.next_queue) = (false, None);
        let free = self.tools.slots.free(self.tools.turns.len() + 1)?;
        let is_tried = |id: &ServerTaskId| self.troubled.get(id).is_some_and(|it| it.next <= now);
        if self.pending.keys().any(is_tried) {
            configure_again(project);
        } else if free == 0 {
            self.look_at_queue(now.plus(QUEUE_INTERVAL));
            return Ok(());
        }
        let mut waiting: Vec<&TaskRow> = self.pending.values().collect();
        waiting.sort_by(|one, other| one.turn(now).cmp(&other.turn(now)));
        let waiting: Vec<ServerTaskId> = waiting.into_iter().map(|row| row.id.clone()).collect();
        let mut has_slot = true;
        for id in waiting {
            if let Some(next) = self.troubled.get(&id).map(|it| it.next).filter(|it| *it > now) {
                self.look_at_queue(next);
                continue;
            }
            let Some(row) = self.pending.get(&id) else { continue };
            has_slot = has_slot && self.has_slot_for(row, now)?;
            let tried = (has_slot || row.hindrance.is_some()).then(|| row.clone());
            if !has_slot {
                self.look_at_queue(now.plus(QUEUE_INTERVAL));
            }
            if let Some(row) = tried {
                self.try_assign(project, &row, has_slot, now)?;
            }
        }
        Ok(())
    }

    /// Whether there is a slot for a task that has not begun, beside those for which tasks in progress wait
    /// that come before it.
    fn has_slot_for(&self, row: &TaskRow, now: Time) -> Result<bool, EngineError> {
        let ahead = self.tools.turns.ahead_of_pending(row, now);
        Ok(self.tools.slots.free(ahead + 1)? > ahead)
    }

    /// Looks at the queue again at this time at the latest.
    fn look_at_queue(&mut self, at: Time) {
        self.next_queue = Some(self.next_queue.map_or(at, |next| next.min(at)));
    }

    /// Gives a task to its agent, if nothing stands against that and there is a slot.
    fn try_assign(
        &mut self,
        project: &mut Project,
        file: &TaskRow,
        has_slot: bool,
        now: Time,
    ) -> Result<(), EngineError> {
        match self.prepare(project, file) {
            Ok(Some(outset)) => {
                self.troubled.remove(&file.id);
                match has_slot {
                    true => self.give(project, &file.id, outset, now),
                    false => tell(project, &file.id, Command::EndHindrance),
                }
            }
            Ok(None) => Ok(()),
            Err(EngineError::Store(error)) => Err(error.into()),
            Err(error) => {
                self.hinder(project, &file.id, &error, now)?;
                let next = self.troubled.get(&file.id).map_or(now, |it| it.next);
                self.look_at_queue(next);
                Ok(())
            }
        }
    }

    /// What a pending task begins with; none: it waits for other tasks, or for an account.
    fn prepare(
        &mut self,
        project: &mut Project,
        file: &TaskRow,
    ) -> Result<Option<TaskOutset>, EngineError> {
        let Some(met) = self.dependencies(project, file)? else { return Ok(None) };
        let usual = project.configuration().values.task.agent.clone();
        let mut given = [file.agent.as_str(), usual.trim()].into_iter();
        let given = given.find(|name| !name.is_empty());
        let agent = agent::for_job(&project.setup, given, "agent")?;
        let agent = usable(project, &agent.name)?;
        if let Some(parked) = accounts::hindrance(project, &agent.name)? {
            let at = parked.until.unwrap_or_else(|| project.clock.now().plus(TROUBLE_WAIT));
            self.look_at_queue(at);
            return Ok(None);
        }
        let kind = task_type(&project.setup, &file.task_type)?.workspace;
        let mut workspace = self.tools.data.plan(&project.setup, &file.id, kind)?;
        if workspace.kind == WorkspaceKind::Tree {
            let root = project.setup.place.project_root();
            let head = Git::at(&root).try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
            workspace.base = Some(head.ok_or_else(no_commit)?);
        }
        Ok(Some(TaskOutset { agent, workspace, met }))
    }

    /// Gives a task to its agent. It has its slot before it counts as worked on.
    fn give(
        &mut self,
        project: &mut Project,
        id: &ServerTaskId,
        TaskOutset { agent, workspace, met }: TaskOutset,
        now: Time,
    ) -> Result<(), EngineError> {
        let Some(slot) = self.tools.slots.take()? else {
            self.look_at_queue(now.plus(QUEUE_INTERVAL));
            return Ok(());
        };
        let plan = first_plan(&agent);
        tell(project, id, Command::Assign { plan, workspace, met })?;
        let unguarded = agent.unguarded().map(|why| format!(" (unguarded: {why})"));
        let unguarded = unguarded.unwrap_or_default();
        self.onlooker.tell(&format!("{id}: {} works on it{unguarded}", agent.name));
        self.notice(project, id)?;
        if let Some(room) = self.rooms.get_mut(id) {
            room.slot = Some(slot);
        }
        Ok(())
    }

    /// Those of the named tasks that are completed, if all of them are. One that will never be is told to
    /// the task.
    fn dependencies(
        &self,
        project: &mut Project,
        file: &TaskRow,
    ) -> Result<Option<Vec<ServerTaskId>>, EngineError> {
        let mut met = Vec::new();
        for task in &file.dependencies {
            let status = trace(project, task)?.map(|it| it.status);
            if status == Some(ServerTaskStatus::Completed) {
                met.push(task.clone());
            } else if let Some(cause) = lost_cause(project, task)? {
                tell(project, &file.id, Command::LoseDependency { task: task.clone(), cause })?;
            }
        }
        Ok((met.len() == file.dependencies.len()).then_some(met))
    }
}

/// What could not be set up may be configured otherwise by now. A configuration that cannot be read leaves
/// things as they are: every other command says what is wrong with it.
fn configure_again(project: &mut Project) {
    let _as_it_was = project.setup.configure_again(&project.caller.environment);
}

fn no_commit() -> EngineError {
    let message =
        "a task of this type works in a work tree of the project, and that has no commit yet";
    let words = "commit --allow-empty -m begin".into();
    Problem::new(Code::RepositoryNeeded, message).next(NextStep::RunGit { words }).into()
}

/// Why a task waits that could not be set up, with what fixes it.
fn hindrance(id: &ServerTaskId, error: &EngineError) -> Command {
    let mut why = with_causes(error);
    if let EngineError::Invalid(file) = error {
        why.extend(file.diagnostics.first().map(|first| format!(": {}", first.message)));
    }
    why.extend(error.hint().map(|hint| format!(" ({hint})")));
    let mut next = error.next_steps();
    match error.code() {
        Code::AgentUnknown | Code::AgentMissing | Code::AgentIncomplete | Code::ProgramMissing => {
            next.push(NextStep::ListAgents);
        }
        Code::InvalidFile => {
            if let EngineError::Invalid(file) = error {
                let file = file.path.display().to_string();
                next.push(NextStep::ValidateFile { file });
            }
        }
        _ if next.is_empty() => next.push(NextStep::Examine),
        _ => {}
    }
    next.push(NextStep::CancelServedTask { task: id.clone() });
    next.dedup();
    Command::Hinder { why, next }
}

fn tell(project: &mut Project, id: &ServerTaskId, command: Command) -> Result<(), EngineError> {
    project.commit_each(&Actor::Waypost, &[command_for(id, command)], |_| Vec::new()).map(drop)
}

impl Guest for TaskGuest {
    type End = ();

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        for (id, room) in &self.rooms {
            match self.troubled.get(id) {
                Some(wait) => waits.until(wait.next),
                None => room.waits(waits),
            }
        }
        self.next_queue.into_iter().for_each(|next| waits.until(next));
        if !self.ready.is_empty() {
            waits.until(Time::default());
        }
        waits.readable_too(self.onlooker.bell());
    }

    fn attend(&mut self, project: &mut Project, now: Time) -> Result<Attended<()>, EngineError> {
        if self.onlooker.wants_stop() && !self.tools.is_ending {
            self.tools.is_ending = true;
            self.ready.extend(self.rooms.keys().cloned());
        }
        self.ready.extend(self.woken(now));
        // What is recorded of one task may be a reason for something else.
        for _ in 0..ROUNDS_MAX {
            self.catch_up(project)?;
            self.assign(project, now)?;
            let ready = std::mem::take(&mut self.ready);
            if ready.is_empty() {
                break;
            }
            self.tend(project, ready, now)?;
        }
        let is_idle =
            self.rooms.iter().all(|(id, room)| room.is_idle() || self.troubled.contains_key(id));
        match self.tools.is_ending && is_idle {
            true => Ok(Attended::Over(())),
            false => Ok(Attended::GoesOn),
        }
    }
}
