//! The executor: takes the ready tasks of a run, has them worked on, and records what came of them.
//!
//! It decides nothing about tasks: every start and every end is a command to the run's machine, and
//! nothing is started before its start is durable. Children belong to the keeper, so the executor
//! may die at any instant: the next one finds them again (`recover`).
//!
//! Starts are claimed in the transaction that records ends, a few ahead of the free slots while
//! tasks end quickly, and the keeper gathers ends for a moment while it has others to start. So a
//! run of many short tasks costs one commit for many of them, and a slow one is shown as it is.

mod adopted;
mod agents;
mod apart;
pub(crate) mod ask;
mod attempt;
mod audience;
mod brief;
mod claims;
mod conclude;
mod ending;
mod ground;
mod held;
mod recover;
mod showing;
mod signature;
mod worker;
mod yard;

use crate::{
    agent::Remains, background::take_engine_lock, error::EngineError, ledger::MachineCommand,
    notify::Courier, preflight::require_phase, project::Project, summary, tree::Reclaim, windows,
};
use apart::Apart;
use attempt::{Attempt, Step, Work, Workplace};
pub(crate) use attempt::{log_path, reason as ended_in_words, usual_environment};
pub use audience::{AgentView, Audience, Doing, Happening, Running, Wish};
use claims::Room;
use conclude::Halt;
use held::Limited;
use showing::Showing;
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};
use waypost_model::{
    actor::Actor,
    id::TaskId,
    run::{self, Active, PhaseStage, TaskStatus},
    time::Time,
};
use waypost_proc::{Keeper, ProcError, Report, Stop};
use waypost_store::{
    StoreError,
    lock::{EngineLease, Owner},
};
use worker::Worker;
pub(crate) use yard::{Made, make as make_attempt_tree};

/// How many keepers may die on one execution before something is wrong with the machine.
const KEEPERS_MAX: usize = 20;

/// As many children as a run without a limit has at once: more than any machine runs well.
const SLOTS_MAX: usize = 128;

/// The most tasks that are claimed ahead of free slots.
const AHEAD_MAX: usize = 128;

/// How often commits of others are looked for, and the audience is told how things stand.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A look that is so late was not delayed by work.
const JUMP_MIN: Duration = Duration::from_secs(60);

/// How a run is executed.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<std::ffi::OsString>,
    /// Only this phase.
    pub phase: Option<u32>,
    /// Whether to wait for as long as it takes when nobody but a person can go on.
    pub waits: bool,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Nothing is left to do.
    Over,
    /// A person has to answer first.
    Waits { phase: u32 },
    /// A phase could not be merged; why is in the inbox.
    NotJoined { phase: u32 },
    /// Nothing can go on before a person has answered what is in the inbox.
    Asks,
    /// Model agents have work, and may not spend more.
    OutOfMoney,
    /// No agent that has work can be used before a person has signed in or paid; what to do is in
    /// the inbox.
    Unavailable,
    /// The phase that was asked for is done.
    PhaseDone,
    /// It was asked to end.
    Stopped,
}

struct Executor<'a> {
    project: Project,
    keeper: Keeper,
    place: Rc<Workplace>,
    options: &'a RunOptions,
    audience: &'a mut dyn Audience,
    /// Claimed, and not given to the keeper yet.
    claimed: Vec<Attempt>,
    /// Given to the keeper, by the child's name; some of them wait for a slot there.
    running: BTreeMap<String, Attempt>,
    /// Model agents at work, by their tasks.
    workers: BTreeMap<TaskId, Worker>,
    /// What is left of agents whose end is not recorded yet.
    remains: Vec<Remains>,
    /// Until when agents of a name are not started, and why.
    limited: Limited,
    is_out_of_money: bool,
    /// What the dearest request of an agent cost so far, in millionths of a dollar.
    request_micros: u64,
    /// What was said once about agents' costs.
    said: BTreeSet<String>,
    /// Work trees, where tasks have some.
    apart: Option<Apart>,
    /// How many slots the keeper knows of.
    slots_told: usize,
    /// Ends that are not recorded yet.
    ended: Vec<run::Command>,
    /// How many attempts ended since the last look, and between that and the one before it: a
    /// measure of how far ahead to claim.
    pace: usize,
    pace_before: usize,
    wish: Wish,
    next_look: Time,
    showing: Showing,
    known: Known,
    courier: Courier,
    _lock: EngineLease,
}

/// What the audience has been told of phases.
#[derive(Default)]
struct Known {
    closed: Vec<u32>,
}

impl Project {
    /// Works through the run until nothing is left, somebody has to answer, or it is asked to end.
    /// The project comes back in every case but an error.
    pub fn execute(
        mut self,
        options: &RunOptions,
        audience: &mut dyn Audience,
    ) -> Result<(Self, RunEnd), EngineError> {
        self.ensure_journal()?;
        let owner = Owner::this_process("run", self.clock.now());
        let lock = take_engine_lock(&self.place, &owner)?;
        if let Some(decided) = self.decide_place()? {
            self.commit(&[MachineCommand::Run(decided)])?;
        }
        let apart = Apart::of(&mut self)?;
        let adopted = adopted::adopt_agents(&mut self, options)?;
        let trees = apart.as_ref().map(|apart| &apart.yard.trees);
        let recovered = recover::recover(&mut self, options, &adopted.tasks, trees)?;
        let (keeper, found) = recovered.split();
        let now = self.clock.now();
        self.say_ignored_keys();
        let courier = Courier::new(&self);
        let mut executor = Executor {
            place: Workplace::of(&self),
            project: self,
            keeper,
            options,
            audience,
            claimed: Vec::new(),
            slots_told: 0,
            running: BTreeMap::new(),
            workers: BTreeMap::new(),
            remains: Vec::new(),
            limited: Limited::new(),
            is_out_of_money: false,
            request_micros: 0,
            said: BTreeSet::new(),
            apart,
            ended: Vec::new(),
            pace: 0,
            pace_before: 0,
            wish: Wish::GoOn,
            next_look: now,
            // The first look comes before there is a child; the second shows the run.
            showing: Showing::from(now.plus(Duration::from_millis(1))),
            known: Known::default(),
            courier,
            _lock: lock,
        };
        executor.note_closed()?;
        // Who is asked to end before it has begun claims nothing, and stops what it finds.
        executor.wish = executor.audience.wish();
        executor.take_agents(adopted)?;
        executor.take_over(found)?;
        executor.reclaim(Reclaim::Age)?;
        executor.tidy_trees()?;
        match executor.wish {
            Wish::GoOn => executor.commit(vec![run::Command::JoinAgain])?,
            wish => executor.give_back(wish)?,
        }
        executor.project.is_hurried = true;
        let end = executor.work_with_keepers()?;
        executor.tidy_trees()?;
        executor.await_yard()?;
        executor.project.is_hurried = false;
        executor.project.tick_boxes()?;
        executor.show()?;
        executor.courier.finish(&mut executor.project);
        let Executor { project, keeper, apart, .. } = executor;
        if let Some(apart) = apart {
            apart.close()?;
        }
        keeper.close()?;
        Ok((project, end))
    }
}

impl Executor<'_> {
    /// Works on when a keeper dies, with a new one and what the old one has left.
    fn work_with_keepers(&mut self) -> Result<RunEnd, EngineError> {
        let mut worked = self.work();
        for _ in 0..KEEPERS_MAX {
            match worked {
                Err(EngineError::Proc(ProcError::Gone { .. })) => {
                    self.audience.tell(&Happening::Note("the keeper has died; going on".into()));
                    // The next one may die while it takes over.
                    worked = self.change_keeper().and_then(|()| self.work());
                }
                other => return other,
            }
        }
        worked
    }

    fn change_keeper(&mut self) -> Result<(), EngineError> {
        // What was claimed and not given away is in progress as far as anybody knows.
        self.claimed.clear();
        self.running.clear();
        self.lose_check();
        let mut apart: BTreeSet<TaskId> = self.workers.keys().cloned().collect();
        let attempts = self.apart.iter().flat_map(|apart| &apart.attempts);
        apart.extend(attempts.map(|attempt| attempt.id.clone()));
        let trees = self.apart.as_ref().map(|apart| &apart.yard.trees);
        let recovered = recover::recover(&mut self.project, self.options, &apart, trees)?;
        let (keeper, found) = recovered.split();
        self.keeper = keeper;
        self.slots_told = 0;
        self.take_over(found)
    }

    /// Phases that have ended before need not be told again.
    fn note_closed(&mut self) -> Result<(), EngineError> {
        let active = self.project.run()?.active();
        let phases = active.iter().flat_map(|active| active.phases());
        let closed = phases.filter(|(_, stage)| matches!(stage, PhaseStage::Closed { .. }));
        self.known.closed = closed.map(|(phase, _)| phase).collect();
        Ok(())
    }

    /// Takes over agents that were found at work, and what became of others.
    fn take_agents(&mut self, adopted: adopted::Adopted) -> Result<(), EngineError> {
        let now = self.project.clock.now();
        self.try_accounts()?;
        self.try_budgets()?;
        self.find_limits(now)?;
        for worker in adopted.workers {
            self.workers.insert(worker.attempt.id.clone(), worker);
        }
        self.remains.extend(adopted.remains);
        adopted.endings.into_iter().try_for_each(|ending| self.conclude(ending, now))?;
        self.keep_budget()
    }

    /// Takes over what was found: what runs, what has ended unheard, and what is lost.
    fn take_over(&mut self, found: recover::Left) -> Result<(), EngineError> {
        // Ends that were heard are recorded first: then they are not found to be lost.
        self.running.extend(found.running);
        let ends = self.ended.iter().filter(|it| !matches!(it, run::Command::Account { .. }));
        let heard: Vec<TaskId> = ends.filter_map(|it| it.task().cloned()).collect();
        self.running.retain(|_, attempt| !heard.contains(&attempt.id));
        for (attempt, end) in found.lost {
            if !heard.contains(&attempt.id) {
                self.end_attempt(attempt, Some(end));
            }
        }
        for report in found.reports {
            self.take(report)?;
        }
        for attempt in found.committed {
            self.give_to_yard(attempt, &Step::Commit);
        }
        self.record(self.project.clock.now())?;
        for keeper in found.dead {
            keeper.remove()?;
        }
        Ok(())
    }

    fn work(&mut self) -> Result<RunEnd, EngineError> {
        loop {
            let now = self.project.clock.now();
            self.follow_clock(now);
            if now >= self.next_look {
                self.look_around(now)?;
            }
            if !self.ended.is_empty() || self.running.len() < self.slots()? {
                self.record(now)?;
            }
            self.give_to_keeper()?;
            self.attend_phases()?;
            let is_idle = self.running.is_empty()
                && self.claimed.is_empty()
                && self.ended.is_empty()
                && !self.workers.values().any(Worker::is_busy)
                && !self.apart.as_ref().is_some_and(Apart::is_busy);
            if is_idle && let Some(end) = self.end()? {
                if self.workers.is_empty() {
                    return Ok(end);
                }
                // They wait for a person: what they asked is in the inbox, and they come back.
                self.workers.values_mut().try_for_each(|worker| worker.halt(Halt::Given))?;
            }
            self.wait(self.next_look, now)?;
        }
    }

    /// A clock that was set, or a machine that slept: nobody has worked or waited meanwhile.
    fn follow_clock(&mut self, now: Time) {
        let (late, early) = (now.since(self.next_look), self.next_look.since(now));
        if early <= LOOK_INTERVAL && late <= JUMP_MIN {
            return;
        }
        self.showing.follow_clock(now);
        let to = std::mem::replace(&mut self.next_look, now);
        self.workers.values_mut().for_each(|worker| worker.shift(to, now));
    }

    fn slots(&mut self) -> Result<usize, EngineError> {
        let limit = self.project.run_seen()?.active().map_or(0, |it| it.settings().max_parallel);
        Ok(if limit == 0 { SLOTS_MAX } else { (limit as usize).min(SLOTS_MAX) })
    }

    /// Records what has ended and claims what comes next, in one transaction.
    fn record(&mut self, now: Time) -> Result<(), EngineError> {
        let room = self.room(now)?;
        let (workers, running) = (&self.workers, &self.running);
        let apart = self.apart.as_ref().map_or(&[][..], |apart| &apart.attempts);
        let has_process = |id: &TaskId| {
            let mut attempts = running.values().chain(apart);
            workers.contains_key(id) || attempts.any(|attempt| attempt.id == *id)
        };
        let run = self.project.run_seen()?;
        if self.ended.is_empty() && room.claims(run, has_process).is_empty() {
            return Ok(());
        }
        let ended = std::mem::take(&mut self.ended);
        self.showing.change();
        let told: Vec<(TaskId, bool)> = ended
            .iter()
            .filter_map(|it| {
                let is_end = !matches!(it, run::Command::Account { .. });
                let is_interrupted = matches!(it, run::Command::Interrupt { .. });
                Some((it.task().filter(|_| is_end)?.clone(), is_interrupted))
            })
            .collect();
        let commands: Vec<MachineCommand> = ended.into_iter().map(MachineCommand::Run).collect();
        let trees = self.trees_of(&commands);
        let mut claims = Vec::new();
        // What the ends have made ready is claimed with them.
        let refused = self.project.commit_each(&Actor::Waypost, &commands, |run| {
            claims = room.claims(run, has_process);
            let commands = claims.iter().map(|id| run::Command::Claim { id: id.clone() });
            commands.map(MachineCommand::Run).collect()
        })?;
        for refused in refused {
            self.audience.tell(&Happening::Note(refused));
        }
        // Before that, whoever came after us would have to find them.
        self.remains.drain(..).try_for_each(Remains::forget)?;
        self.tell_ends(&told)?;
        self.put_away_joined(&trees)?;
        self.take_claims(&claims)
    }

    /// What there is room for now.
    fn room(&mut self, now: Time) -> Result<Room, EngineError> {
        let slots = self.slots()?;
        let busy = self.workers.values().filter(|worker| worker.is_busy()).count();
        let taken = self.running.len() + self.claimed.len() + self.apart_count() + busy;
        // The keeper knows nothing of agents: beside them it gets no more than has a slot.
        let ahead = if busy == 0 { self.ahead() } else { 0 };
        let mut room = Room {
            // What has ended is still in progress in the machine, and frees its slot now.
            commands: (slots + ahead).saturating_sub(taken),
            agents: if self.has_money(busy)? { self.agents_free(busy) } else { 0 },
            slots: slots.saturating_sub(taken),
            phase: self.options.phase,
            limited: self.limited.iter().map(|(it, (until, _))| (it.clone(), *until)).collect(),
            occupied: self.occupied(),
            now,
        };
        if self.wish != Wish::GoOn {
            (room.commands, room.agents) = (0, 0);
        }
        Ok(room)
    }

    /// How many tasks to claim beyond the free slots: what may end while a commit is made, which is
    /// none of slow tasks and many of short ones.
    fn ahead(&self) -> usize {
        (self.pace.max(self.pace_before) / 2).min(AHEAD_MAX)
    }

    /// How many more agents may start; those that wait for a person take no slot.
    fn agents_free(&self, busy: usize) -> usize {
        if self.is_out_of_money {
            return 0;
        }
        let limit = self.project.configuration().values.run.max_agents as usize;
        let claimed = self.claimed.iter().filter(|attempt| attempt.has_agent()).count();
        limit.saturating_sub(busy + claimed)
    }

    fn take_claims(&mut self, claims: &[TaskId]) -> Result<(), EngineError> {
        let Some(active) = self.project.run_seen()?.active() else { return Ok(()) };
        for id in claims {
            // One that was refused has not become ours.
            let claimed = active.task(id).filter(|view| view.status == TaskStatus::InProgress);
            if let Some(view) = claimed {
                self.claimed.push(Attempt::new(&view, active, &self.place));
            }
        }
        Ok(())
    }

    /// Gives what was claimed to the keeper, which starts it as slots become free.
    fn give_to_keeper(&mut self) -> Result<(), EngineError> {
        let slots = self.slots()?;
        if slots != self.slots_told {
            self.keeper.set_slots(slots)?;
            self.slots_told = slots;
        }
        let mut specs = Vec::new();
        for mut attempt in std::mem::take(&mut self.claimed) {
            match attempt.begin() {
                Step::Run(spec) => {
                    self.running.insert(spec.id.clone(), attempt);
                    specs.push(*spec);
                }
                Step::Engage(name) => self.engage(attempt, &name)?,
                Step::Over(command) => self.end_with(*command),
                step @ (Step::Place | Step::Commit | Step::Join) => {
                    self.give_to_yard(attempt, &step);
                }
            }
        }
        if !specs.is_empty() {
            self.keeper.spawn(specs)?;
        }
        Ok(())
    }

    /// The work trees of attempts whose work is said to be done.
    fn trees_of(&self, commands: &[MachineCommand]) -> Vec<(TaskId, String)> {
        if self.apart.is_none() {
            return Vec::new();
        }
        let done = commands.iter().filter_map(|command| match command {
            MachineCommand::Run(run::Command::Done { id, .. }) => Some(id),
            _ => None,
        });
        let active = self.project.run_known().and_then(run::Run::active);
        done.filter_map(|id| Some((id.clone(), active?.task_tree(id)?))).collect()
    }

    fn end_with(&mut self, command: run::Command) {
        self.ended.push(command);
        self.pace += 1;
    }

    fn take(&mut self, report: Report) -> Result<(), EngineError> {
        let (attempt, step) = match report {
            Report::Started { id, .. } => {
                self.started(&id);
                return Ok(());
            }
            Report::Ended { id, ended } if self.is_check(&id) => {
                return self.check_ended(Ok(&ended));
            }
            Report::Refused { id, why } if self.is_check(&id) => {
                return self.check_ended(Err(&why));
            }
            Report::Ended { id, ended } => {
                let Some(mut attempt) = self.running.remove(&id) else { return Ok(()) };
                let step = attempt.ended(&ended);
                (attempt, step)
            }
            Report::Refused { id, why } => {
                let Some(attempt) = self.running.remove(&id) else { return Ok(()) };
                let step = attempt.refused(&why);
                (attempt, step)
            }
        };
        self.follow(attempt, step)
    }

    /// Does what comes next for an attempt.
    fn follow(&mut self, attempt: Attempt, step: Step) -> Result<(), EngineError> {
        match step {
            // Whoever wants everything to stop does not want it verified first.
            Step::Run(_) | Step::Commit | Step::Join if self.wish == Wish::Stop => {
                let end = attempt.interrupt();
                self.end_attempt(attempt, Some(end));
            }
            Step::Run(spec) => {
                self.running.insert(spec.id.clone(), attempt);
                self.keeper.spawn(vec![*spec])?;
            }
            // Whoever wants no new task does not want an agent to begin either.
            Step::Engage(_) if self.wish != Wish::GoOn => {
                let end = attempt.interrupt();
                self.end_attempt(attempt, Some(end));
            }
            Step::Engage(name) => self.engage(attempt, &name)?,
            Step::Over(command) => self.end_attempt(attempt, Some(*command)),
            Step::Place | Step::Commit | Step::Join => self.give_to_yard(attempt, &step),
        }
        Ok(())
    }

    fn started(&mut self, name: &str) {
        let now = self.project.clock.now();
        let Some(attempt) = self.running.get_mut(name) else { return };
        if attempt.started(now) {
            let (id, number) = (attempt.id.clone(), attempt.number);
            self.audience.tell(&Happening::Started { id, attempt: number });
        }
    }

    /// Says what became of tasks, from the state after the commit; with each, whether its attempt
    /// was interrupted.
    fn tell_ends(&mut self, ends: &[(TaskId, bool)]) -> Result<(), EngineError> {
        let now = self.project.clock.now();
        let Some(active) = self.project.run_seen()?.active() else { return Ok(()) };
        for (id, is_interrupted) in ends {
            let Some(view) = active.task(id) else { continue };
            let id = id.clone();
            let text = || view.last_failure.map_or(String::new(), |it| it.text.clone());
            let happening = match (view.status, view.last_failure) {
                (TaskStatus::Completed, _) => Happening::Completed { id },
                (TaskStatus::Failed, _) => {
                    self.showing.fail();
                    Happening::Failed { id, text: text() }
                }
                _ if let Some(parked) = view.parked(now) => {
                    let (why, until) = (parked.why.clone(), parked.until);
                    Happening::Parked { id, cause: parked.cause, why, until }
                }
                (_, Some(failure)) if !is_interrupted && !view.waits_for_person() => {
                    Happening::Retried { id, text: text(), not_before: failure.not_before }
                }
                _ if view.waits_for_person() => {
                    Happening::Interrupted { id, why: "a person has to answer first".into() }
                }
                _ => Happening::Interrupted { id, why: "it ended without a result".into() },
            };
            self.audience.tell(&happening);
        }
        let mut has_closed = false;
        for (phase, stage) in active.phases() {
            let PhaseStage::Closed { merge_commit, .. } = stage else { continue };
            if !self.known.closed.contains(&phase) {
                has_closed = true;
                self.known.closed.push(phase);
                let merge_commit = merge_commit.clone();
                let progress = active.progress(phase);
                let missing = progress.total - progress.completed;
                self.audience.tell(&Happening::PhaseClosed { phase, merge_commit, missing });
            }
        }
        if has_closed { self.project.tick_boxes() } else { Ok(()) }
    }

    /// What there is to do between two batches: others' commits, wishes, windows, the audience.
    fn look_around(&mut self, now: Time) -> Result<(), EngineError> {
        self.next_look = now.plus(LOOK_INTERVAL);
        self.pace_before = std::mem::take(&mut self.pace);
        let wish = self.audience.wish();
        if wish > self.wish {
            self.wish = wish;
            self.give_back(wish)?;
        }
        if self.project.others_committed() {
            self.showing.change();
            if !self.limited.is_empty() {
                self.find_limits(now)?;
            }
            self.stop_what_is_not_ours()?;
        }
        self.attend_workers(now)?;
        self.courier.attend(&mut self.project, now);
        if self.showing.is_due(now) {
            self.show()?;
        }
        let agents = self.workers.values().map(Worker::running);
        let apart = self.apart.iter().flat_map(|apart| &apart.attempts);
        let attempts = self.running.values().chain(apart).filter_map(Attempt::running);
        let running: Vec<Running<'_>> = attempts.chain(agents).collect();
        if let Some(active) = self.project.run()?.active() {
            self.audience.look(active, &running, now);
        }
        Ok(())
    }

    /// What has not begun waits again; when asked to stop, what runs is stopped too.
    fn give_back(&mut self, wish: Wish) -> Result<(), EngineError> {
        for attempt in std::mem::take(&mut self.claimed) {
            self.end_with(attempt.interrupt());
        }
        for (name, attempt) in &self.running {
            if wish == Wish::Stop || attempt.running().is_none() {
                self.keeper.stop(name, Stop::Asked)?;
            }
        }
        let agents = self.workers.values_mut();
        agents.filter(|it| wish == Wish::Stop || it.waits()).try_for_each(|it| it.halt(Halt::Given))
    }

    /// Somebody else has ended an attempt of ours (skipped it, completed it): its process goes.
    fn stop_what_is_not_ours(&mut self) -> Result<(), EngineError> {
        let Some(active) = self.project.run()?.active() else { return Ok(()) };
        let lost = self.running.iter().filter(|(_, attempt)| !is_at(active, attempt));
        for (name, _) in lost {
            self.keeper.stop(name, Stop::Asked)?;
        }
        let agents = self.workers.values_mut().filter(|worker| !is_at(active, &worker.attempt));
        agents.into_iter().try_for_each(|worker| worker.halt(Halt::Given))
    }

    /// Whether the execution is over, now that nothing runs and nothing is claimed.
    fn end(&mut self) -> Result<Option<RunEnd>, EngineError> {
        let only = self.options.phase;
        let Some(active) = self.project.run()?.active() else { return Ok(Some(RunEnd::Over)) };
        if active.is_over() {
            return Ok(Some(RunEnd::Over));
        }
        let is_done = |phase| {
            !matches!(active.phase(phase), Some(PhaseStage::Open { .. } | PhaseStage::Waiting))
        };
        if only.is_some_and(is_done) {
            return Ok(Some(RunEnd::PhaseDone));
        }
        let phase = active.current_phase();
        require_phase(active, only)?;
        let stage = active.phase(phase);
        if let Some(PhaseStage::Ending { step: run::EndStep::Stopped, .. }) = stage {
            return Ok(Some(RunEnd::NotJoined { phase }));
        }
        let is_joining =
            matches!(stage, Some(PhaseStage::Ending { step: run::EndStep::Joining, .. }));
        let is_open = matches!(stage, Some(PhaseStage::Open { .. }));
        if !is_open && !is_joining {
            return Ok(Some(RunEnd::Waits { phase }));
        }
        if self.wish != Wish::GoOn {
            return Ok(Some(RunEnd::Stopped));
        }
        if is_joining {
            return Ok(None);
        }
        self.standstill()
    }

    fn show(&mut self) -> Result<(), EngineError> {
        let start = self.project.clock.now();
        let is_shown = match windows::render(&mut self.project) {
            Ok(()) => true,
            // Another tool holds the file's lock; tasks do not wait for that.
            Err(EngineError::Store(StoreError::Busy { .. })) => false,
            Err(error) => return Err(error),
        };
        summary::keep(&mut self.project);
        self.project.back_up_if_due();
        for notice in self.project.take_notices() {
            self.audience.tell(&Happening::Note(notice));
        }
        let end = self.project.clock.now();
        self.showing.rendered(is_shown, (start, end));
        Ok(())
    }
}

/// The model agent that works on a task, if one does.
pub(crate) fn agent_of<'a>(
    task: &'a run::PlannedTask,
    settings: &'a run::Settings,
) -> Option<&'a str> {
    match Work::of(task, settings) {
        Work::Agent(name) => Some(name),
        Work::Command(_) | Work::Nobody(_) => None,
    }
}

/// Whether a model agent works on a task.
pub(crate) fn is_agents(task: &run::PlannedTask, settings: &run::Settings) -> bool {
    agent_of(task, settings).is_some()
}

/// Whether a task is at this attempt.
fn is_at(active: &Active, attempt: &Attempt) -> bool {
    let view = active.task(&attempt.id);
    view.is_some_and(|it| it.status == TaskStatus::InProgress && it.attempts == attempt.number)
}
