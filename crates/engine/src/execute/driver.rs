//! The executor as the guest of a host: turns what becomes ready into inputs of the core, and does what
//! the core wants. It decides nothing about attempts and phases.

use super::{
    RunEnd, RunOptions, Running,
    adopted::{self, Adopted},
    audience::{Audience, Happening, Wish},
    core::{AgentLimits, Core, Input, Output, Setup, TreesFound},
    git_work::GitWork,
    held::Limited,
    life::Life,
    losses::{Loss, Losses},
    news::{NewsReader, RunNews, Starts},
    recover::{self, Recovered},
    showing::Showing,
    worker::Worker,
    workplace::Site,
};
use crate::{
    agent::{Halt, Purse, Remains, Slots},
    bell::Bell,
    boxes,
    error::EngineError,
    guest::{Attended, Guest, Waits, woken},
    isolation,
    ledger::{HOST_INTERVAL, MachineCommand},
    mending, notify,
    preflight::Preflight,
    project::Project,
    resources::Resources,
    summary,
    tasks::{LiveTasks, TasksEdit, left_over},
    windows,
    worktrees::{Reclaim, reclaim, trees_of},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    os::fd::AsFd as _,
    rc::Rc,
    sync::Arc,
    thread,
    time::Duration,
};
use waypost_git::{
    Hold, PhaseBranch,
    mend::{self, Damage},
    merge, tree,
};
use waypost_model::{
    actor::Actor,
    id::TaskId,
    run::{self, Active, Isolation, PhaseStage, TaskStatus},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{Dead, Keeper, ProcError, Stop};
use waypost_store::{StoreError, journal::Cursor};

/// How many commands run at once on each processor where a run sets no limit: enough for commands that
/// mostly wait, and fewer than make a machine hard to use.
const SLOTS_PER_PROCESSOR: usize = 64;

/// The shortest time between two looks of the audience.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How often all agents are looked at though nothing tells that they have said something: the keeper of
/// an agent that another version started does not tell it.
const AGENTS_INTERVAL: Duration = Duration::from_secs(1);

/// How many agents are started before everything is looked at again: each takes tens of milliseconds.
const STARTS_MAX: usize = 16;

/// A wake-up that is so late was not delayed by work: a host wakes each second.
const JUMP_MIN: Duration = Duration::from_secs(60);

pub(crate) struct Executor<'a> {
    pub(super) core: Core,
    /// What the core has not heard yet.
    pub(super) inputs: VecDeque<Input>,
    /// Whether the machine was tried because of what comes next.
    pub(super) is_machine_tried: bool,
    keeper: Keeper,
    /// Whether the present keeper has died, and when the next one is started.
    pub(super) is_keeper_lost: bool,
    keeper_at: Option<Time>,
    pub(super) losses: Losses,
    /// Keepers that died: forgotten when what they told is recorded.
    dead: Vec<Dead>,
    /// Git's threads, where tasks have work trees.
    pub(super) git: Option<GitWork>,
    site: Rc<Site>,
    pub(super) resources: Resources,
    pub(super) options: RunOptions,
    pub(super) audience: Box<dyn Audience + 'a>,
    /// Reads the journal for it.
    news: NewsReader,
    /// Model agents at work, by their tasks.
    pub(super) workers: BTreeMap<TaskId, Worker>,
    /// What is left of agents whose end is not recorded yet.
    pub(super) remains: Vec<Remains>,
    /// How many agents may work on this machine.
    pub(super) slots: Slots,
    /// Until when agents of a name are not started, and why.
    pub(super) limited: Limited,
    /// Whose money is used up, of run and phase: no agent is started.
    pub(super) used_up: Option<Purse>,
    /// What each agent at work may spend of what all of them may, in millionths of a dollar.
    pub(super) share: Option<u64>,
    /// What the dearest request of an agent cost so far, in millionths of a dollar.
    pub(super) request_micros: u64,
    /// Whether any task is for an agent; none: the plan may have changed.
    pub(super) has_agents: Option<bool>,
    /// What was said once about agents' costs.
    pub(super) said: BTreeSet<String>,
    pub(super) showing: Showing,
    /// What the core was last told that agents may do, and whether more may be started than that.
    allowance: AgentLimits,
    are_more_free: bool,
    /// Rung by the audience when its wish has changed.
    bell: Bell,
    /// When it was last attended to.
    attended_at: Time,
    /// When the audience last looked, and whether something has happened since.
    looked_at: Time,
    has_news: bool,
    /// When all agents are looked at next.
    agents_at: Time,
    /// When the core wants to be asked again.
    pub(super) wakes_at: Option<Time>,
    /// Whether the core has to be asked what follows from a command of its own.
    has_commanded: bool,
    tasks: LiveTasks,
    end: Option<RunEnd>,
}

impl<'a> Executor<'a> {
    /// Takes up the run: what works on it already, what has ended unheard, and what is lost. For
    /// the holder of the engine lock. The audience was told everything up to `told`.
    pub(crate) fn begin(
        project: &mut Project,
        options: RunOptions,
        (audience, told): (Box<dyn Audience + 'a>, Cursor),
    ) -> Result<Self, EngineError> {
        if let Some(decided) = isolation::decide_place(project)? {
            project.commit(&[MachineCommand::run(decided)])?;
        }
        let (git, rebuilt) = open_git(project)?.unzip();
        let site = Site::of(project)?;
        let adopted = adopted::adopt_agents(project)?;
        let trees = git.as_ref().map(|git| &git.trees);
        let recovered = recover::recover(project, &options, &adopted.tasks, (&site, trees))?;
        let now = project.clock.now();
        notify::say_unused_address(project);
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let setup = Setup {
            site: Rc::clone(&site),
            phase: options.phase,
            waits: options.waits,
            has_trees: git.is_some(),
            slots_max: processors * SLOTS_PER_PROCESSOR,
        };
        let bell = Bell::new()?;
        let mut executor = Executor {
            core: Core::new(setup),
            inputs: VecDeque::new(),
            is_machine_tried: false,
            keeper: recovered.keeper,
            is_keeper_lost: false,
            keeper_at: None,
            losses: Losses::default(),
            dead: recovered.dead,
            git,
            site,
            resources: Resources::of(project),
            options,
            audience,
            news: NewsReader::after(told),
            workers: BTreeMap::new(),
            remains: Vec::new(),
            slots: Slots::of(project),
            limited: Limited::new(),
            used_up: None,
            share: None,
            request_micros: 0,
            has_agents: None,
            said: BTreeSet::new(),
            // The first look comes before there is a child; the second shows the run.
            showing: Showing::from(now.plus(Duration::from_millis(1))),
            allowance: AgentLimits::default(),
            are_more_free: false,
            bell: bell.clone(),
            attended_at: now,
            // The first look is at once: who watches has to see that it is at work.
            looked_at: Time::default(),
            has_news: true,
            agents_at: now,
            wakes_at: None,
            has_commanded: false,
            tasks: LiveTasks::default(),
            end: None,
        };
        for damage in rebuilt.into_iter().flatten() {
            executor.say(Happening::Note(mending::in_a_line(&damage)));
        }
        executor.audience.ring_when_wished(Arc::new(move || bell.ring()));
        // A run that is asked to end before it has begun claims nothing, and stops what it finds.
        let wish = executor.audience.wish();
        executor.hear(project, Input::Wish(wish), now)?;
        executor.take_agents(project, adopted)?;
        executor.inputs.push_back(Input::Surveyed(recovered.survey));
        executor.take_up(project, now)?;
        Ok(executor)
    }

    /// The audience was told everything up to here.
    pub(crate) fn told(&self) -> Cursor {
        self.news.seen()
    }

    /// Why nothing new is begun, if the machine is in trouble.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.core.trouble_in_words()
    }

    /// Lets go of what served it, once it is over.
    pub(crate) fn finish(self) -> Result<(), EngineError> {
        if let Some(git) = self.git {
            // What was removed is gone when it is over.
            tree::settle(&git.trees);
            tree::end_work(&git.trees)?;
        }
        Ok(self.keeper.close()?)
    }

    /// Leaves the run to another host: keepers and what they keep go on. Git work that was given
    /// is done first, because this process may live on without the right to it.
    pub(crate) fn let_go(self) {
        if let Some(git) = self.git {
            git.drain();
        }
    }
}

/// Git for the work trees of a run; none where the project folder itself is worked in. What an engine, a git or the power left damaged is rebuilt first; what that was.
fn open_git(project: &mut Project) -> Result<Option<(GitWork, Vec<Damage>)>, EngineError> {
    let isolation = project.run()?.active().map(|active| active.settings().isolation);
    if !isolation.is_some_and(Isolation::has_trees) {
        return Ok(None);
    }
    // Git processes of an engine that was killed have ended when this is ours.
    let hold = Hold::acquire(&project.setup.place.state)?;
    let trees = trees_of(project)?.held(hold);
    tree::begin_work(&trees)?;
    let rebuilt = mend::mend(&trees, &mending::recorded(project)?)?;
    tree::sweep(&trees)?;
    merge::settle_move(&trees)?;
    let open = project.run()?.active().and_then(|active| {
        let number = active.current_phase();
        let is_open = matches!(active.phase(number), Some(PhaseStage::Open { .. }));
        PhaseBranch::of(active, number).filter(|_| is_open)
    });
    if let Some(phase) = open {
        merge::take_back(&trees, &phase)?;
        let others = project.run()?.active().and_then(|active| declared(active, phase.number));
        others.map_or(Ok(()), |others| merge::clear_strays(&trees, &phase, &others))?;
    }
    Ok(Some((GitWork::open(trees)?, rebuilt)))
}

/// The files that attempts in progress have declared; none: one of them has the tree for itself, and
/// everything there is its own.
fn declared(active: &Active, phase: u32) -> Option<Vec<String>> {
    let at_work = active.tasks_with(TaskStatus::InProgress);
    let mut files = Vec::new();
    for view in at_work.filter(|view| view.planned.phase == phase) {
        let declared = view.planned.details.as_deref().map(|it| &it.files);
        files.extend(declared.filter(|files| !files.is_empty())?.iter().cloned());
    }
    Some(files)
}

impl Guest for Executor<'_> {
    type End = RunEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        // The end of one that is gone would be readable all the time.
        match self.keeper_at.filter(|_| self.is_keeper_lost) {
            Some(time) => waits.until(time),
            None => waits.readable(self.keeper.as_fd()),
        }
        if let Some(git) = &self.git {
            waits.readable(git.bell());
        }
        waits.readable(self.bell.as_fd());
        self.workers.values().for_each(|worker| worker.agent.waits(waits));
        waits.until(self.next_look());
        self.showing.due().into_iter().for_each(|time| waits.until(time));
        self.wakes_at.into_iter().for_each(|time| waits.until(time));
    }

    fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<RunEnd>, EngineError> {
        project.is_hurried = true;
        let attended = self.work(project, now);
        project.is_hurried = false;
        attended
    }
}

impl Executor<'_> {
    fn work(&mut self, project: &mut Project, now: Time) -> Result<Attended<RunEnd>, EngineError> {
        self.follow_clock(now);
        self.wakes_at = None;
        self.listen()?;
        let wish = self.audience.wish();
        if wish != self.core.wish() {
            self.inputs.push_back(Input::Wish(wish));
        }
        self.inputs.extend(self.resources.look().map(|(it, why)| Input::Troubled(it, why)));
        let is_changed = self.hear_others(project, now)? | self.follow_tasks(project, now)?;
        self.follow_wall(project, is_changed)?;
        let agents = self.agents_to_look_at(is_changed, now);
        self.has_news |= is_changed || !agents.is_empty() || !self.inputs.is_empty();
        self.drain(project, now)?;
        self.attend_workers(project, agents, now)?;
        self.settle(project, now)?;
        self.look(project, now)?;
        self.wait_for_slots(now);
        match self.end.take() {
            None => Ok(Attended::GoesOn),
            Some(end) => {
                project.is_hurried = false;
                boxes::tick(project)?;
                self.show(project)?;
                self.tell_recorded(project)?;
                if let Some(word) = left_over(project)? {
                    self.say(Happening::Remark(word));
                }
                Ok(Attended::Over(end))
            }
        }
    }

    /// A workflow that begins or ends puts what is started from now on behind another wall.
    fn follow_wall(&mut self, project: &mut Project, is_changed: bool) -> Result<(), EngineError> {
        if is_changed && self.site.children.are_stale(project)? {
            self.site = Site::of(project)?;
            self.inputs.push_back(Input::Site(Rc::clone(&self.site)));
        }
        Ok(())
    }

    /// Takes over what was found.
    fn take_up(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        self.drain(project, now)?;
        self.reclaim(project, Reclaim::Age)?;
        self.perform(project, Output::FindTrees, now)?;
        // A phase that could not be merged is no reason to end at once: it is tried again.
        if self.core.wish() == Wish::GoOn {
            let again = Output::Command(vec![run::Command::JoinAgain]);
            self.perform(project, again, now)?;
        }
        self.drain(project, now)
    }

    /// Takes over agents that were found at work, and what became of others.
    fn take_agents(&mut self, project: &mut Project, adopted: Adopted) -> Result<(), EngineError> {
        let now = project.clock.now();
        self.try_accounts(project)?;
        self.try_budgets(project)?;
        self.try_troubles(project)?;
        self.find_limits(project, now)?;
        let running = adopted.workers.iter().map(|worker| &worker.attempt);
        let attempts = running.chain(adopted.endings.iter().map(|ending| &ending.attempt));
        self.inputs.extend(
            attempts.map(|attempt| Input::AgentFound {
                id: attempt.id.clone(),
                attempt: attempt.number,
            }),
        );
        for worker in adopted.workers {
            self.workers.insert(worker.attempt.id.clone(), worker);
        }
        self.remains.extend(adopted.remains);
        self.drain(project, now)?;
        adopted.endings.into_iter().try_for_each(|ending| self.conclude(project, ending, now))?;
        self.keep_budget(project)?;
        self.drain(project, now)
    }

    /// Hears what keeper and git have to tell.
    fn listen(&mut self) -> Result<(), EngineError> {
        match self.keeper.next(Duration::ZERO) {
            Ok(reports) => self.inputs.extend(reports.into_iter().map(Input::Report)),
            Err(ProcError::Gone { .. }) => self.is_keeper_lost = true,
            Err(error) => return Err(error.into()),
        }
        while let Some(result) = self.git.as_mut().and_then(GitWork::ended) {
            self.inputs.push_back(Input::Git(result));
        }
        self.bell.hear();
        Ok(())
    }

    /// Agents that have said something or whose time has come; those that wait may find an answer in
    /// what others have committed, or a slot.
    fn agents_to_look_at(&mut self, is_changed: bool, now: Time) -> Vec<TaskId> {
        let is_time = now >= self.agents_at;
        if is_time {
            self.agents_at = now.plus(AGENTS_INTERVAL);
        }
        let waits = self.workers.values().map(|worker| {
            let mut waits = Waits::default();
            worker.agent.waits(&mut waits);
            waits
        });
        let woken = woken(waits, now);
        let workers = self.workers.iter().zip(woken);
        let wanted = workers.filter(|((_, worker), is_woken)| {
            *is_woken || is_time || worker.is_held || is_changed && worker.waits()
        });
        wanted.map(|((id, _), _)| id.clone()).collect()
    }

    /// Commits of other processes and threads. Says whether there were any.
    fn hear_others(&mut self, project: &mut Project, now: Time) -> Result<bool, EngineError> {
        if !project.others_committed() {
            return Ok(false);
        }
        project.run()?;
        self.showing.change();
        self.has_agents = None;
        self.find_limits(project, now)?;
        self.inputs.push_back(Input::Changed);
        self.tell_recorded(project)?;
        Ok(true)
    }

    /// Takes up an edit of TASKS.md, or says why not. Says whether the run has changed by it.
    ///
    /// Not while the end of a phase is under way: git is at work on what the phase was then.
    fn follow_tasks(&mut self, project: &mut Project, now: Time) -> Result<bool, EngineError> {
        if self.core.is_ending_phase() || self.core.wish() != Wish::GoOn {
            return Ok(false);
        }
        let edit = self.tasks.look(project, now)?;
        let again = self.tasks.again_at().into_iter().chain(self.wakes_at).min();
        self.wakes_at = again;
        let Some(mut edit) = edit else { return Ok(false) };
        let mut is_changed = !edit.replan.is_empty();
        if is_changed && let Err(error) = self.replan(project, &edit) {
            let why = match error {
                EngineError::Rejected(_) | EngineError::Problem(_) | EngineError::Git(_) => error,
                error => return Err(error),
            };
            let name = project.run_seen()?.active().and_then(|it| it.plan().source.clone());
            let name = name.map_or_else(String::new, |source| source.path);
            edit = self.tasks.refused(&name, &why.to_string()).unwrap_or_default();
            is_changed = false;
        }
        if !edit.inbox.is_empty() {
            project.commit_each(&Actor::Waypost, &edit.inbox, |_| Vec::new())?;
        }
        edit.words.into_iter().for_each(|word| self.say(Happening::Remark(word)));
        if is_changed {
            self.showing.change();
            self.has_agents = None;
            self.find_limits(project, now)?;
            self.inputs.push_back(Input::Changed);
            self.tell_recorded(project)?;
        }
        Ok(is_changed)
    }

    /// Goes on with another plan, if a run with it could be worked on.
    fn replan(&mut self, project: &mut Project, edit: &TasksEdit) -> Result<(), EngineError> {
        let mut preflight = Preflight::of(project, self.options.phase)?;
        preflight.look_ahead(project, &edit.replan)?;
        let notices = project.commit_if(&edit.replan, |run| preflight.check(run))?;
        notices.into_iter().for_each(|notice| project.notice(notice));
        Ok(())
    }

    /// Has the core follow from everything that was heard, until there is nothing more to record.
    fn settle(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        loop {
            self.tell_of_agents(project)?;
            self.has_commanded = false;
            self.hear(project, Input::Now, now)?;
            if self.is_keeper_lost && self.is_keeper_due(project, now)? {
                self.change_keeper(project, now)?;
            } else if self.core.unrecorded().is_empty() && !self.has_commanded {
                // What they told is recorded, or is being dealt with.
                return Ok(self.dead.drain(..).try_for_each(Dead::remove)?);
            }
        }
    }

    /// Whether the keeper that has died is replaced now. A run that is to end does not wait for that.
    fn is_keeper_due(&mut self, project: &mut Project, now: Time) -> Result<bool, EngineError> {
        if let Some(time) = self.keeper_at {
            return Ok(now >= time || self.core.wish() != Wish::GoOn);
        }
        let Loss { wait, burst } = self.losses.note(now);
        let text = match burst {
            None => "the keeper has died; going on".to_owned(),
            Some(count) => {
                let why = format!("{count} keepers have died within ten minutes");
                let text = format!("{why}; the next one is started in {} s", wait.as_secs());
                self.hear(project, Input::Troubled(Trouble::KeeperDied, why), now)?;
                text
            }
        };
        self.say(Happening::Note(text));
        self.keeper_at = Some(now.plus(wait));
        Ok(wait.is_zero())
    }

    /// Goes on when a keeper dies, with a new one and what the old one has left.
    fn change_keeper(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        self.keeper_at = None;
        // Those that died before and are not recorded yet are looked at again: while they are held
        // here, each seems to be a keeper that does not answer.
        self.dead.clear();
        self.hear(project, Input::KeeperLost, now)?;
        let known = self.core.lives().map(|life| life.attempt.id.clone()).collect();
        let trees = self.git.as_ref().map(|git| &git.trees);
        let recovered = recover::recover(project, &self.options, &known, (&self.site, trees));
        let Recovered { keeper, survey, dead } = match recovered {
            // The next one may die while it is taken over.
            Err(EngineError::Proc(ProcError::Gone { .. })) => return Ok(()),
            // The machine has nothing left for it, most likely.
            Err(EngineError::Proc(error @ ProcError::Start { .. })) => {
                self.say(Happening::Note(format!("no keeper could be started: {error}")));
                return Ok(());
            }
            recovered => recovered?,
        };
        self.keeper = keeper;
        self.is_keeper_lost = false;
        self.dead.extend(dead);
        self.hear(project, Input::Surveyed(survey), now)
    }

    /// Tells the core what agents may do and which of them wait, if that has changed.
    fn tell_of_agents(&mut self, project: &mut Project) -> Result<(), EngineError> {
        for life in self.core.lives().filter(|life| life.is_with_agent()) {
            let id = &life.attempt.id;
            let is_waiting = self.workers.get(id).is_some_and(|worker| !worker.is_busy());
            if is_waiting != life.is_waiting {
                self.inputs.push_back(Input::AgentWaits { id: id.clone(), is_waiting });
            }
        }
        let busy = self.workers.values().filter(|worker| worker.is_busy()).count();
        let free = match self.has_agents(project)? && self.has_money(project, busy)? {
            true => self.agents_free(project, busy)?,
            false => 0,
        };
        if free == 0 && busy > 0 && self.used_up.is_none() {
            self.say_full(project, busy)?;
        }
        self.are_more_free = free > STARTS_MAX;
        let free = free.min(STARTS_MAX);
        let most = self.core.lives().filter(|life| life.wants_agent()).count() + free;
        let allowance = AgentLimits { most, limited: self.limited.clone(), used_up: self.used_up };
        if allowance != self.allowance {
            self.allowance = allowance.clone();
            self.inputs.push_back(Input::Allowed(allowance));
        }
        Ok(())
    }

    /// Gives the core an input, after those that wait, and does what it wants.
    fn hear(&mut self, project: &mut Project, input: Input, now: Time) -> Result<(), EngineError> {
        self.inputs.push_back(input);
        self.drain(project, now)
    }

    fn drain(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        while let Some(input) = self.next_input() {
            for output in self.core.handle(input, project.run_seen()?, now) {
                self.perform(project, output, now)?;
            }
        }
        Ok(())
    }

    fn perform(
        &mut self,
        project: &mut Project,
        output: Output,
        now: Time,
    ) -> Result<(), EngineError> {
        match output {
            Output::Start(specs) => self.keep(|keeper| keeper.spawn(specs))?,
            Output::Stop(child) => self.keep(|keeper| keeper.stop(&child, Stop::Asked))?,
            Output::SetSlots(slots) => self.keep(|keeper| keeper.set_slots(slots))?,
            Output::Git(job) => self.git.as_mut().map_or((), |git| git.give(job)),
            Output::Reclaim(id) => {
                let has_helped = self.reclaim(project, Reclaim::Need)?;
                self.inputs.push_back(Input::Reclaimed { id, has_helped });
            }
            Output::Probe(trouble) => {
                let is_gone = self.probe(project, trouble)?;
                self.inputs.push_back(Input::Probed { trouble, is_gone });
            }
            Output::FindTrees => {
                let found = match (&self.git, project.run()?.active()) {
                    (Some(git), Some(active)) => recover::find_trees(&git.trees, active)?,
                    _ => TreesFound::default(),
                };
                self.inputs.push_back(Input::TreesFound(found));
            }
            Output::Engage(attempt) => self.engage(project, *attempt)?,
            Output::Halt(id) => {
                let worker = self.workers.get_mut(&id);
                worker.map_or(Ok(()), |worker| worker.halt(Halt::Given))?;
            }
            Output::Record(ended) => self.record(project, ended, now)?,
            Output::Command(commands) => {
                self.commit(project, commands)?;
                self.has_commanded = true;
            }
            Output::Say(word) => self.say(word),
            // It wants to be asked now.
            Output::WakeAt(time) if time <= now => self.has_commanded = true,
            Output::WakeAt(time) => {
                self.wakes_at = Some(self.wakes_at.map_or(time, |at| at.min(time)));
            }
            Output::Over(end) => self.end = Some(end),
            Output::Fail(error) => return Err(error),
        }
        Ok(())
    }

    /// Asks something of the keeper. One that is gone is noted; the rest that it should have done is
    /// found to be missing when its successor takes over.
    fn keep(
        &mut self,
        ask: impl FnOnce(&Keeper) -> Result<(), ProcError>,
    ) -> Result<(), EngineError> {
        if self.is_keeper_lost {
            return Ok(());
        }
        match ask(&self.keeper) {
            Err(ProcError::Gone { .. }) => self.is_keeper_lost = true,
            asked => asked?,
        }
        Ok(())
    }

    /// Records what has ended and claims what comes next, in one transaction.
    fn record(
        &mut self,
        project: &mut Project,
        ended: Vec<run::Command>,
        now: Time,
    ) -> Result<(), EngineError> {
        self.showing.change();
        let commands: Vec<MachineCommand> = ended.into_iter().map(MachineCommand::run).collect();
        let mut claims = Vec::new();
        // What the ends have made ready is claimed with them.
        let refused = project.commit_each(&Actor::Waypost, &commands, |run| {
            claims = self.core.claims(run, now).ids;
            let commands = claims.iter().map(|id| run::Command::Claim { id: id.clone() });
            commands.map(MachineCommand::run).collect()
        })?;
        // Before that, the engine that comes after this one would have to find them.
        self.remains.drain(..).try_for_each(Remains::forget)?;
        self.tell_recorded(project)?;
        let refused = refused.into_iter().map(|refused| refused.message).collect();
        if self.are_more_free && !claims.is_empty() {
            self.wakes_at = Some(now);
        }
        self.inputs.push_back(Input::Recorded { claims, refused });
        Ok(())
    }

    /// Tells those who watch what was recorded since, by whichever process, and does what follows
    /// from it beside the journal.
    pub(super) fn tell_recorded(&mut self, project: &mut Project) -> Result<(), EngineError> {
        for news in self.news.take(project, Starts::Said)? {
            if matches!(news.happening, Happening::Failed { .. }) {
                self.showing.fail();
            }
            self.audience.tell(&news);
            if matches!(news.happening, Happening::PhaseClosed { .. }) {
                boxes::tick(project)?;
            }
        }
        Ok(())
    }

    /// Tells what is in no journal, after everything that is.
    pub(super) fn say(&mut self, happening: Happening) {
        // What this engine records is told at once, and what others do when that is heard of: there
        // is nothing to read for each word.
        self.audience.tell(&RunNews { happening, cursor: self.news.seen() });
    }

    /// Retires trees that are not worked in. Says whether anything went.
    pub(super) fn reclaim(
        &mut self,
        project: &mut Project,
        by: Reclaim,
    ) -> Result<bool, EngineError> {
        let Some(trees) = self.git.as_ref().map(|git| git.trees.clone()) else { return Ok(false) };
        let pruned = reclaim(project, &trees, by)?;
        for (name, snapshot) in &pruned.removed {
            let kept = snapshot.as_ref().map_or_else(String::new, |it| format!(", kept in {it}"));
            self.say(Happening::Note(format!("{name} is removed{kept}")));
        }
        Ok(!pruned.removed.is_empty() || pruned.swept > 0)
    }

    /// A clock that was set, or a machine that slept: nothing has worked or waited meanwhile.
    fn follow_clock(&mut self, now: Time) {
        let before = std::mem::replace(&mut self.attended_at, now);
        if now >= before && now.since(before) <= JUMP_MIN {
            return;
        }
        self.showing.follow_clock(now);
        (self.looked_at, self.agents_at) = (now, now);
        self.workers.values_mut().for_each(|worker| worker.shift(before, now));
    }

    /// When the audience looks again.
    fn next_look(&self) -> Time {
        let interval = if self.has_news { LOOK_INTERVAL } else { self.audience.pace() };
        self.looked_at.plus(interval)
    }

    /// Shows the run if it has changed, and tells the audience how things stand.
    fn look(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        if self.showing.is_due(now) {
            self.show(project)?;
        }
        if now < self.next_look() {
            return Ok(());
        }
        (self.looked_at, self.has_news) = (now, false);
        let agents = self.workers.values().map(Worker::running);
        let others = self.core.lives().filter(|life| !life.is_with_agent());
        let running: Vec<Running<'_>> = others.filter_map(Life::running).chain(agents).collect();
        if let Some(active) = project.run_seen()?.active() {
            self.audience.look(active, &running, now);
        }
        Ok(())
    }

    fn show(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let start = project.clock.now();
        let is_shown = match windows::render(project) {
            Ok(()) => true,
            // Another tool holds the file's lock; tasks do not wait for that.
            Err(EngineError::Store(StoreError::Busy { .. })) => false,
            // It is shown when there is room for it.
            Err(error) if error.trouble().is_some() => false,
            Err(error) => return Err(error),
        };
        summary::keep(project);
        project.keep_images(HOST_INTERVAL);
        project.back_up_if_due();
        for notice in project.take_notices() {
            self.say(Happening::Remark(notice));
        }
        let end = project.clock.now();
        self.showing.rendered(is_shown, (start, end));
        Ok(())
    }
}
