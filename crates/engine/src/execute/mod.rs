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
mod attempt;
mod attendance;
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
    agent::{Halt, Remains},
    error::EngineError,
    guest::Attended,
    ledger::MachineCommand,
    preflight::require_phase,
    project::Project,
    summary, windows,
    worktrees::Reclaim,
};
use apart::Apart;
use attempt::{Attempt, Step, Work, Workplace};
pub(crate) use attempt::{log_path, reason as ended_in_words, shortened, usual_environment};
pub use audience::{AgentView, Audience, Doing, Happening, Running, Wish};
use claims::Room;
use held::Limited;
use serde::{Deserialize, Serialize};
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
use waypost_proc::{Keeper, Report, Stop};
use waypost_store::StoreError;
use worker::Worker;
pub(crate) use yard::{Made, make as make_attempt_tree};

/// As many children as a run without a limit has at once: more than any machine runs well.
const SLOTS_MAX: usize = 128;

/// The most tasks that are claimed ahead of free slots.
const AHEAD_MAX: usize = 128;

/// How often commits of others are looked for, and the audience is told how things stand.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A look that is so late was not delayed by work.
const JUMP_MIN: Duration = Duration::from_secs(60);

/// How a run is executed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunOptions {
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<std::ffi::OsString>,
    /// Only this phase.
    pub phase: Option<u32>,
    /// Whether to wait for as long as it takes when nobody but a person can go on.
    pub waits: bool,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

pub(crate) struct Executor<'a> {
    keeper: Keeper,
    place: Rc<Workplace>,
    options: RunOptions,
    audience: Box<dyn Audience + 'a>,
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
    /// Whether any task is for an agent; none: the plan may have changed.
    has_agents: Option<bool>,
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
    /// How many keepers have died.
    keepers_lost: usize,
    /// How it ended, while git still removes what it left.
    end: Option<RunEnd>,
}

/// What the audience has been told of phases.
#[derive(Default)]
struct Known {
    closed: Vec<u32>,
}

impl<'a> Executor<'a> {
    /// Takes up the run: what works on it already, what has ended unheard, and what is lost. For
    /// the holder of the engine lock.
    pub(crate) fn begin(
        project: &mut Project,
        options: RunOptions,
        audience: Box<dyn Audience + 'a>,
    ) -> Result<Self, EngineError> {
        if let Some(decided) = project.decide_place()? {
            project.commit(&[MachineCommand::run(decided)])?;
        }
        let apart = Apart::of(project)?;
        let adopted = adopted::adopt_agents(project)?;
        let trees = apart.as_ref().map(|apart| &apart.yard.trees);
        let recovered = recover::recover(project, &options, &adopted.tasks, trees)?;
        let (keeper, found) = recovered.split();
        let now = project.clock.now();
        project.say_unused_address();
        let mut executor = Executor {
            place: Workplace::of(project),
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
            has_agents: None,
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
            keepers_lost: 0,
            end: None,
        };
        executor.take_up(project, adopted, found)?;
        Ok(executor)
    }

    /// Lets go of what served it, once it is over.
    pub(crate) fn finish(self) -> Result<(), EngineError> {
        if let Some(apart) = self.apart {
            apart.close()?;
        }
        Ok(self.keeper.close()?)
    }

    /// Leaves the run to another host: keepers and what they keep go on. Git work that was given
    /// is done first, because this process may live on without the right to it.
    pub(crate) fn let_go(self) {
        if let Some(apart) = self.apart {
            apart.yard.drain();
        }
    }
}

impl Executor<'_> {
    fn take_up(
        &mut self,
        project: &mut Project,
        adopted: adopted::Adopted,
        found: recover::Left,
    ) -> Result<(), EngineError> {
        self.note_closed(project)?;
        // A run that is asked to end before it has begun claims nothing, and stops what it finds.
        self.wish = self.audience.wish();
        self.take_agents(project, adopted)?;
        self.take_over(project, found)?;
        self.reclaim(project, Reclaim::Age)?;
        self.tidy_trees(project)?;
        match self.wish {
            Wish::GoOn => self.commit(project, vec![run::Command::JoinAgain]),
            wish => self.give_back(wish),
        }
    }

    fn change_keeper(&mut self, project: &mut Project) -> Result<(), EngineError> {
        // What was claimed and not given away is in progress as far as anybody knows.
        self.claimed.clear();
        self.running.clear();
        self.lose_check();
        let mut apart: BTreeSet<TaskId> = self.workers.keys().cloned().collect();
        let attempts = self.apart.iter().flat_map(|apart| &apart.attempts);
        apart.extend(attempts.map(|attempt| attempt.id.clone()));
        let trees = self.apart.as_ref().map(|apart| &apart.yard.trees);
        let recovered = recover::recover(project, &self.options, &apart, trees)?;
        let (keeper, found) = recovered.split();
        self.keeper = keeper;
        self.slots_told = 0;
        self.take_over(project, found)
    }

    /// Phases that have ended before need not be told again.
    fn note_closed(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let active = project.run()?.active();
        let phases = active.iter().flat_map(|active| active.phases());
        let closed = phases.filter(|(_, stage)| matches!(stage, PhaseStage::Closed { .. }));
        self.known.closed = closed.map(|(phase, _)| phase).collect();
        Ok(())
    }

    /// Takes over agents that were found at work, and what became of others.
    fn take_agents(
        &mut self,
        project: &mut Project,
        adopted: adopted::Adopted,
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        self.try_accounts(project)?;
        self.try_budgets(project)?;
        self.find_limits(project, now)?;
        for worker in adopted.workers {
            self.workers.insert(worker.attempt.id.clone(), worker);
        }
        self.remains.extend(adopted.remains);
        adopted.endings.into_iter().try_for_each(|ending| self.conclude(project, ending, now))?;
        self.keep_budget(project)
    }

    /// Takes over what was found: what runs, what has ended unheard, and what is lost.
    fn take_over(
        &mut self,
        project: &mut Project,
        found: recover::Left,
    ) -> Result<(), EngineError> {
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
            self.take(project, report)?;
        }
        for attempt in found.committed {
            self.give_to_yard(attempt, &Step::Commit);
        }
        self.record(project, project.clock.now())?;
        for keeper in found.dead {
            keeper.remove()?;
        }
        Ok(())
    }

    fn work(&mut self, project: &mut Project, now: Time) -> Result<Attended<RunEnd>, EngineError> {
        let reports = self.keeper.next(Duration::ZERO)?;
        reports.into_iter().try_for_each(|report| self.take(project, report))?;
        self.take_from_yard(project)?;
        if let Some(end) = self.end.clone() {
            return self.wind_up(project, end);
        }
        self.follow_clock(now);
        if now >= self.next_look {
            self.look_around(project, now)?;
        }
        if !self.ended.is_empty() || self.running.len() < self.slots(project)? {
            self.record(project, now)?;
        }
        self.give_to_keeper(project)?;
        self.attend_phases(project)?;
        let is_idle = self.running.is_empty()
            && self.claimed.is_empty()
            && self.ended.is_empty()
            && !self.workers.values().any(Worker::is_busy)
            && !self.apart.as_ref().is_some_and(Apart::is_busy);
        if is_idle && let Some(end) = self.end(project)? {
            if self.workers.is_empty() {
                self.tidy_trees(project)?;
                self.end = Some(end.clone());
                return self.wind_up(project, end);
            }
            // They wait for a person: what they asked is in the inbox, and they come back.
            self.workers.values_mut().try_for_each(|worker| worker.halt(Halt::Given))?;
        }
        Ok(Attended::GoesOn)
    }

    /// The run has ended; it is over once git has removed what it left.
    fn wind_up(
        &mut self,
        project: &mut Project,
        end: RunEnd,
    ) -> Result<Attended<RunEnd>, EngineError> {
        if self.apart.as_ref().is_some_and(|apart| apart.yard.is_busy()) {
            self.next_look = project.clock.now().plus(LOOK_INTERVAL);
            return Ok(Attended::GoesOn);
        }
        project.is_hurried = false;
        project.tick_boxes()?;
        self.show(project)?;
        Ok(Attended::Over(end))
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

    fn slots(&mut self, project: &mut Project) -> Result<usize, EngineError> {
        let limit = project.run_seen()?.active().map_or(0, |it| it.settings().max_parallel);
        Ok(if limit == 0 { SLOTS_MAX } else { (limit as usize).min(SLOTS_MAX) })
    }

    /// Records what has ended and claims what comes next, in one transaction.
    fn record(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        let room = self.room(project, now)?;
        let (workers, running) = (&self.workers, &self.running);
        let apart = self.apart.as_ref().map_or(&[][..], |apart| &apart.attempts);
        let has_process = |id: &TaskId| {
            let mut attempts = running.values().chain(apart);
            workers.contains_key(id) || attempts.any(|attempt| attempt.id == *id)
        };
        let run = project.run_seen()?;
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
        let commands: Vec<MachineCommand> = ended.into_iter().map(MachineCommand::run).collect();
        let trees = self.trees_of(project, &commands);
        let mut claims = Vec::new();
        // What the ends have made ready is claimed with them.
        let refused = project.commit_each(&Actor::Waypost, &commands, |run| {
            claims = room.claims(run, has_process);
            let commands = claims.iter().map(|id| run::Command::Claim { id: id.clone() });
            commands.map(MachineCommand::run).collect()
        })?;
        for refused in refused {
            self.audience.tell(&Happening::Note(refused.message));
        }
        // Before that, whoever came after us would have to find them.
        self.remains.drain(..).try_for_each(Remains::forget)?;
        self.tell_ends(project, &told)?;
        self.retire_joined(project, &trees)?;
        self.take_claims(project, &claims)
    }

    /// What there is room for now.
    fn room(&mut self, project: &mut Project, now: Time) -> Result<Room, EngineError> {
        let slots = self.slots(project)?;
        let busy = self.workers.values().filter(|worker| worker.is_busy()).count();
        let taken = self.running.len() + self.claimed.len() + self.apart_count() + busy;
        // The keeper knows nothing of agents: beside them it gets no more than has a slot.
        let ahead = if busy == 0 { self.ahead() } else { 0 };
        let mut room = Room {
            // What has ended is still in progress in the machine, and frees its slot now.
            commands: (slots + ahead).saturating_sub(taken),
            agents: match self.has_agents(project)? && self.has_money(project, busy)? {
                true => self.agents_free(project, busy)?,
                false => 0,
            },
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

    fn take_claims(&mut self, project: &mut Project, claims: &[TaskId]) -> Result<(), EngineError> {
        let Some(active) = project.run_seen()?.active() else { return Ok(()) };
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
    fn give_to_keeper(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let slots = self.slots(project)?;
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
                Step::Engage(name) => self.engage(project, attempt, &name)?,
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
    fn trees_of(&self, project: &Project, commands: &[MachineCommand]) -> Vec<(TaskId, String)> {
        if self.apart.is_none() {
            return Vec::new();
        }
        let done = commands.iter().filter_map(|command| match command.wanted_of::<run::Run>() {
            Some(run::Command::Done { id, .. }) => Some(id),
            _ => None,
        });
        let active = project.run_known().and_then(run::Run::active);
        done.filter_map(|id| Some((id.clone(), active?.task_tree(id)?))).collect()
    }

    fn end_with(&mut self, command: run::Command) {
        self.ended.push(command);
        self.pace += 1;
    }

    fn take(&mut self, project: &mut Project, report: Report) -> Result<(), EngineError> {
        let (attempt, step) = match report {
            Report::Started { id, .. } => {
                self.started(project, &id);
                return Ok(());
            }
            Report::Ended { id, ended } if self.is_check(&id) => {
                return self.check_ended(project, Ok(&ended));
            }
            Report::Refused { id, why } if self.is_check(&id) => {
                return self.check_ended(project, Err(&why));
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
        self.follow(project, attempt, step)
    }

    /// Does what comes next for an attempt.
    fn follow(
        &mut self,
        project: &mut Project,
        attempt: Attempt,
        step: Step,
    ) -> Result<(), EngineError> {
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
            Step::Engage(name) => self.engage(project, attempt, &name)?,
            Step::Over(command) => self.end_attempt(attempt, Some(*command)),
            Step::Place | Step::Commit | Step::Join => self.give_to_yard(attempt, &step),
        }
        Ok(())
    }

    fn started(&mut self, project: &mut Project, name: &str) {
        let now = project.clock.now();
        let Some(attempt) = self.running.get_mut(name) else { return };
        if attempt.started(now) {
            let (id, number) = (attempt.id.clone(), attempt.number);
            self.audience.tell(&Happening::Started { id, attempt: number });
        }
    }

    /// Says what became of tasks, from the state after the commit; with each, whether its attempt
    /// was interrupted.
    fn tell_ends(
        &mut self,
        project: &mut Project,
        ends: &[(TaskId, bool)],
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        let Some(active) = project.run_seen()?.active() else { return Ok(()) };
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
        if has_closed { project.tick_boxes() } else { Ok(()) }
    }

    /// What there is to do between two batches: others' commits, wishes, windows, the audience.
    fn look_around(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        self.next_look = now.plus(LOOK_INTERVAL);
        self.pace_before = std::mem::take(&mut self.pace);
        let wish = self.audience.wish();
        if wish > self.wish {
            self.wish = wish;
            self.give_back(wish)?;
        }
        if project.others_committed() {
            self.showing.change();
            self.has_agents = None;
            self.find_limits(project, now)?;
            self.stop_what_is_not_ours(project)?;
        }
        self.attend_workers(project, now)?;
        if self.showing.is_due(now) {
            self.show(project)?;
        }
        let agents = self.workers.values().map(Worker::running);
        let apart = self.apart.iter().flat_map(|apart| &apart.attempts);
        let attempts = self.running.values().chain(apart).filter_map(Attempt::running);
        let running: Vec<Running<'_>> = attempts.chain(agents).collect();
        if let Some(active) = project.run()?.active() {
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
    fn stop_what_is_not_ours(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let lost = self.running.iter().filter(|(_, attempt)| !is_at(active, attempt));
        for (name, _) in lost {
            self.keeper.stop(name, Stop::Asked)?;
        }
        let agents = self.workers.values_mut().filter(|worker| !is_at(active, &worker.attempt));
        agents.into_iter().try_for_each(|worker| worker.halt(Halt::Given))
    }

    /// Whether the execution is over, now that nothing runs and nothing is claimed.
    fn end(&mut self, project: &mut Project) -> Result<Option<RunEnd>, EngineError> {
        let only = self.options.phase;
        let Some(active) = project.run()?.active() else { return Ok(Some(RunEnd::Over)) };
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
        self.standstill(project)
    }

    fn show(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let start = project.clock.now();
        let is_shown = match windows::render(project) {
            Ok(()) => true,
            // Another tool holds the file's lock; tasks do not wait for that.
            Err(EngineError::Store(StoreError::Busy { .. })) => false,
            Err(error) => return Err(error),
        };
        summary::keep(project);
        project.back_up_if_due();
        for notice in project.take_notices() {
            self.audience.tell(&Happening::Remark(notice));
        }
        let end = project.clock.now();
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
