//! The executor: takes the ready tasks of a run, has them worked on, and records what came of them.
//!
//! It decides nothing about tasks: every start and every end is a command to the run's machine, and
//! nothing is started before its start is durable. Children belong to the keeper, so the executor
//! may die at any instant: the next one finds them again (`recover`).
//!
//! Starts are claimed in the transaction that records ends, a few ahead of the free slots while
//! tasks end quickly, and ends are gathered for a moment. So a run of many short tasks costs one
//! commit for many of them, and a slow one is shown as it is.

mod attempt;
mod recover;

use crate::{error::EngineError, ledger::MachineCommand, project::Project, summary, windows};
pub(crate) use attempt::log_path;
use attempt::{Attempt, Step};
use std::{collections::BTreeMap, time::Duration};
use waypost_model::{
    actor::Actor,
    id::TaskId,
    machine::Rejected,
    run::{self, Active, PhaseStage, TaskStatus},
    time::Time,
};
use waypost_proc::{Keeper, ProcError, Report, Stop};
use waypost_store::lock::{EngineLock, Owner};

/// How many keepers may die on one execution before something is wrong with the machine.
const KEEPERS_MAX: usize = 20;

/// As many children as a run without a limit has at once: more than any machine runs well.
const SLOTS_MAX: usize = 128;

/// The most tasks that are claimed ahead of free slots.
const AHEAD_MAX: usize = 64;

/// With fewer claims left than this, ends are recorded at once: slots would run dry.
const AHEAD_MIN: usize = 4;

/// How long ends are gathered while there is claimed work.
const GATHER: Duration = Duration::from_millis(5);

/// How often commits of others are looked for, and the audience is told how things stand.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The shortest time between two renderings, and the part of all time that they may take.
const RENDER_INTERVAL: Duration = Duration::from_millis(250);
const RENDER_SHARE: u32 = 20;

/// How a run is executed.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<std::ffi::OsString>,
    /// Only this phase.
    pub phase: Option<u32>,
}

/// What somebody who watches a run is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    Started {
        id: TaskId,
        attempt: u32,
    },
    Completed {
        id: TaskId,
    },
    /// It is tried again.
    Retried {
        id: TaskId,
        text: String,
        not_before: Time,
    },
    Failed {
        id: TaskId,
        text: String,
    },
    /// The attempt ended without a result; the task waits again.
    Interrupted {
        id: TaskId,
        why: String,
    },
    PhaseClosed {
        phase: u32,
    },
    Note(String),
}

/// What somebody who watches wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    #[default]
    GoOn,
    /// Running tasks finish, none is started.
    Finish,
    /// Running tasks are stopped and wait again.
    Stop,
}

/// Somebody who watches a run.
pub trait Audience {
    fn tell(&mut self, happening: &Happening);
    /// Called about ten times a second.
    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time);
    fn wish(&mut self) -> Wish;
}

/// A task that is being worked on.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    pub id: &'a TaskId,
    pub attempt: u32,
    pub since: Time,
    pub is_verifying: bool,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Nothing is left to do.
    Over,
    /// A person has to answer first.
    Waits { phase: u32 },
    /// The phase that was asked for is done.
    PhaseDone,
    /// It was asked to end.
    Stopped,
}

struct Executor<'a> {
    project: Project,
    keeper: Keeper,
    options: &'a RunOptions,
    audience: &'a mut dyn Audience,
    /// Claimed, and not given to the keeper yet.
    claimed: Vec<Attempt>,
    /// Given to the keeper, by the child's name; some of them wait for a slot there.
    running: BTreeMap<String, Attempt>,
    /// How many slots the keeper knows of.
    slots_told: usize,
    /// Ends that are not recorded yet, and since when there are some.
    ended: Vec<run::Command>,
    ended_since: Option<Time>,
    /// How many attempts ended since the last look: a measure of how far ahead to claim.
    pace: usize,
    ahead: usize,
    wish: Wish,
    next_look: Time,
    next_rendering: Time,
    is_shown: bool,
    known: Known,
    _lock: EngineLock,
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
        let lock = EngineLock::acquire(&self.place, &owner)?;
        let recovered = recover::recover(&mut self, options)?;
        let (keeper, found) = recovered.split();
        let now = self.clock.now();
        let mut executor = Executor {
            project: self,
            keeper,
            options,
            audience,
            claimed: Vec::new(),
            slots_told: 0,
            running: BTreeMap::new(),
            ended_since: None,
            ended: Vec::new(),
            pace: 0,
            ahead: 0,
            wish: Wish::GoOn,
            next_look: now,
            next_rendering: now,
            is_shown: false,
            known: Known::default(),
            _lock: lock,
        };
        executor.take_over(found)?;
        let end = executor.work_with_keepers()?;
        executor.show()?;
        let Executor { project, keeper, .. } = executor;
        keeper.close()?;
        Ok((project, end))
    }
}

impl Executor<'_> {
    /// Works on when a keeper dies, with a new one and what the old one has left.
    fn work_with_keepers(&mut self) -> Result<RunEnd, EngineError> {
        for _ in 0..KEEPERS_MAX {
            match self.work() {
                Err(EngineError::Proc(ProcError::Gone { .. })) => {
                    self.audience.tell(&Happening::Note("the keeper has died; going on".into()));
                    // What was claimed and not given away is in progress as far as anybody knows.
                    self.claimed.clear();
                    let recovered = recover::recover(&mut self.project, self.options)?;
                    let (keeper, found) = recovered.split();
                    self.keeper = keeper;
                    self.slots_told = 0;
                    self.take_over(found)?;
                }
                other => return other,
            }
        }
        self.work()
    }

    /// Takes over what was found: what runs, what has ended unheard, and what is lost.
    fn take_over(&mut self, found: recover::Left) -> Result<(), EngineError> {
        // Ends that were heard are recorded first: then they are not found to be lost.
        self.running = found.running;
        let heard: Vec<TaskId> = self.ended.iter().filter_map(|it| it.task().cloned()).collect();
        let is_heard = |command: &run::Command| command.task().is_some_and(|id| heard.contains(id));
        self.running.retain(|_, attempt| !heard.contains(&attempt.id));
        for command in found.lost.into_iter().filter(|command| !is_heard(command)) {
            self.end_with(command);
        }
        for report in found.reports {
            self.take(report)?;
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
            if now >= self.next_look {
                self.look_around(now)?;
            }
            if self.is_time_to_record(now)? {
                self.record(now)?;
            }
            self.give_to_keeper()?;
            let is_idle =
                self.running.is_empty() && self.claimed.is_empty() && self.ended.is_empty();
            if is_idle && let Some(end) = self.end()? {
                return Ok(end);
            }
            let reports = self.keeper.next(self.patience(now))?;
            for report in reports {
                self.take(report)?;
            }
        }
    }

    fn slots(&mut self) -> Result<usize, EngineError> {
        let limit = self.project.run()?.active().map_or(0, |it| it.settings().max_parallel);
        Ok(if limit == 0 { SLOTS_MAX } else { (limit as usize).min(SLOTS_MAX) })
    }

    /// How long to wait for news.
    fn patience(&self, now: Time) -> Duration {
        let look = self.next_look.since(now);
        match self.ended_since {
            Some(since) => GATHER.saturating_sub(now.since(since)).min(look),
            None => look,
        }
    }

    /// Whether ends have waited long enough, or slots are about to run dry.
    fn is_time_to_record(&mut self, now: Time) -> Result<bool, EngineError> {
        let slots = self.slots()?;
        let ahead = self.running.len().saturating_sub(slots);
        let is_due = self.ended_since.is_some_and(|since| now.since(since) >= GATHER);
        Ok(is_due || (ahead < AHEAD_MIN && (!self.ended.is_empty() || self.running.len() < slots)))
    }

    /// Records what has ended and claims what comes next, in one transaction.
    fn record(&mut self, now: Time) -> Result<(), EngineError> {
        let claims = self.wanted(now)?;
        if self.ended.is_empty() && claims.is_empty() {
            return Ok(());
        }
        let ended = std::mem::take(&mut self.ended);
        self.ended_since = None;
        self.is_shown = false;
        let told: Vec<(TaskId, bool)> = ended
            .iter()
            .filter_map(|it| {
                Some((it.task()?.clone(), matches!(it, run::Command::Interrupt { .. })))
            })
            .collect();
        let commands: Vec<MachineCommand> = ended
            .into_iter()
            .chain(claims.iter().map(|id| run::Command::Claim { id: id.clone() }))
            .map(MachineCommand::Run)
            .collect();
        for refused in self.project.commit_each(&Actor::Waypost, &commands)? {
            self.audience.tell(&Happening::Note(refused));
        }
        self.tell_ends(&told)?;
        self.take_claims(&claims)
    }

    /// The tasks to claim: for free slots, and some ahead of them while tasks end quickly.
    fn wanted(&mut self, now: Time) -> Result<Vec<TaskId>, EngineError> {
        if self.wish != Wish::GoOn {
            return Ok(Vec::new());
        }
        let slots = self.slots()?;
        let taken = self.running.len() + self.claimed.len();
        // What has ended is still among the running ones of the machine, and frees its slot now.
        let wanted = (slots + self.ahead).saturating_sub(taken);
        let only = self.options.phase;
        let Some(active) = self.project.run()?.active() else { return Ok(Vec::new()) };
        let is_ours = |view: &run::TaskView<'_>| {
            only.is_none_or(|phase| view.planned.phase == phase)
                && view.last_failure.is_none_or(|failure| failure.not_before <= now)
        };
        let ready = active.ready().filter(is_ours).take(wanted);
        Ok(ready.map(|view| view.planned.id.clone()).collect())
    }

    fn take_claims(&mut self, claims: &[TaskId]) -> Result<(), EngineError> {
        let root = self.project.root().to_owned();
        let state = self.project.place.state.clone();
        let allowed = self.project.configuration().values.run.environment.clone();
        let Some(active) = self.project.run()?.active() else { return Ok(()) };
        for id in claims {
            // One that was refused has not become ours.
            let claimed = active.task(id).filter(|view| view.status == TaskStatus::InProgress);
            if let Some(view) = claimed {
                self.claimed.push(Attempt::new(&view, &root, &state, &allowed));
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
                Step::Over(command) => self.end_with(*command),
            }
        }
        if !specs.is_empty() {
            self.keeper.spawn(specs)?;
        }
        Ok(())
    }

    fn end_with(&mut self, command: run::Command) {
        let now = self.project.clock.now();
        self.ended.push(command);
        self.ended_since.get_or_insert(now);
        self.pace += 1;
    }

    fn take(&mut self, report: Report) -> Result<(), EngineError> {
        let (name, step) = match report {
            Report::Started { id, .. } => {
                self.started(&id);
                return Ok(());
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
        match step {
            Step::Run(spec) => {
                self.running.insert(spec.id.clone(), name);
                self.keeper.spawn(vec![*spec])?;
            }
            Step::Over(command) => self.end_with(*command),
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
        let Some(active) = self.project.run()?.active() else { return Ok(()) };
        for (id, is_interrupted) in ends {
            let Some(view) = active.task(id) else { continue };
            let id = id.clone();
            let text = || view.last_failure.map_or(String::new(), |it| it.text.clone());
            let happening = match (view.status, view.last_failure) {
                (TaskStatus::Completed, _) => Happening::Completed { id },
                (TaskStatus::Failed, _) => Happening::Failed { id, text: text() },
                (_, Some(failure)) if !is_interrupted => {
                    Happening::Retried { id, text: text(), not_before: failure.not_before }
                }
                _ => Happening::Interrupted { id, why: "it ended without a result".into() },
            };
            self.audience.tell(&happening);
        }
        for (phase, stage) in active.phases() {
            let is_closed = matches!(stage, PhaseStage::Closed { .. });
            if is_closed && !self.known.closed.contains(&phase) {
                self.known.closed.push(phase);
                self.audience.tell(&Happening::PhaseClosed { phase });
            }
        }
        Ok(())
    }

    /// What there is to do between two batches: others' commits, wishes, windows, the audience.
    fn look_around(&mut self, now: Time) -> Result<(), EngineError> {
        self.next_look = now.plus(LOOK_INTERVAL);
        // What may end while a commit is made: none of slow tasks, many of short ones.
        self.ahead = (self.pace / 4).min(AHEAD_MAX);
        self.pace = 0;
        let wish = self.audience.wish();
        if wish > self.wish {
            self.wish = wish;
            self.give_back(wish)?;
        }
        if self.project.others_committed() {
            self.is_shown = false;
            self.stop_what_is_not_ours()?;
        }
        if !self.is_shown && now >= self.next_rendering {
            self.show()?;
        }
        let running: Vec<Running<'_>> =
            self.running.values().filter_map(Attempt::running).collect();
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
        Ok(())
    }

    /// Somebody else has ended an attempt of ours (skipped it, completed it): its process goes.
    fn stop_what_is_not_ours(&mut self) -> Result<(), EngineError> {
        let Some(active) = self.project.run()?.active() else { return Ok(()) };
        let is_ours = |attempt: &Attempt| {
            active.task(&attempt.id).is_some_and(|view| {
                view.status == TaskStatus::InProgress && view.attempts == attempt.number
            })
        };
        let lost = self.running.iter().filter(|(_, attempt)| !is_ours(attempt));
        for (name, _) in lost {
            self.keeper.stop(name, Stop::Asked)?;
        }
        Ok(())
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
        if let Some(wanted) = only.filter(|wanted| *wanted != phase) {
            let message = format!("phase {wanted} comes after phase {phase}, which is not done");
            return Err(Rejected::rule(message)
                .next(format!("waypost run --phase {phase}"))
                .into());
        }
        let is_open = matches!(active.phase(phase), Some(PhaseStage::Open { .. }));
        if !is_open {
            return Ok(Some(RunEnd::Waits { phase }));
        }
        if self.wish != Wish::GoOn {
            return Ok(Some(RunEnd::Stopped));
        }
        // Something is ready, or will be when a retry's delay is over; else somebody outside works.
        Ok(None)
    }

    fn show(&mut self) -> Result<(), EngineError> {
        let start = self.project.clock.now();
        windows::render(&mut self.project)?;
        summary::keep(&mut self.project);
        self.is_shown = true;
        for notice in self.project.take_notices() {
            self.audience.tell(&Happening::Note(notice));
        }
        let end = self.project.clock.now();
        self.next_rendering = end.plus(RENDER_INTERVAL.max(end.since(start) * RENDER_SHARE));
        Ok(())
    }
}
