//! A run, a keeper, git and agents as plain data, and an engine that does what the core wants of them.
//! The engine may die before any of its deeds; what it had done is there then, and nothing else.

use crate::{
    agent::Purse,
    error::{EngineError, Problem},
    execute::{
        RunEnd, Wish,
        conclude::Verdict,
        core::{AgentLimits, Concluded, Core, GitTrace, Input, Output, Setup, Survey, TreesFound},
        git_work::{GitJob, GitResult, Made},
        recover::{Traces, follow},
        workplace::Site,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    time::Duration,
};
use waypost_git::{Committed, IgnoredOutputs, Join, Land, Retirement};
use waypost_model::{
    actor::Actor,
    id::TaskId,
    machine::{Asked, Machine as _},
    run::{
        Command, Depends, Details, Event, Isolation, Plan, PlannedTask, Priority, Run, Settings,
        TaskStatus,
    },
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{Ended, How, Refusal, Report};

/// More than any run here needs to come to its end.
const PATIENCE: usize = 2_000;

/// When everything begins.
pub(super) const START: Time = Time::from_millis(1_000_000);

/// A task: its id, its phase, what it depends on, who works on it.
pub(super) type Row<'a> = (&'a str, u32, &'a [&'a str], Who);

/// Who works on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Command,
    /// With a command that verifies it.
    Verified,
    Agent,
    Nobody,
}

/// What a keeper has: the children that live, and all that it has told.
#[derive(Debug, Default)]
struct SimulatedKeeper {
    /// By name, whether each has started.
    children: BTreeMap<String, bool>,
    /// Those of them that are being stopped.
    stopping: BTreeSet<String>,
    told: Vec<Report>,
    /// How much of that the engine has heard.
    heard: usize,
}

/// All that there is.
pub(super) struct World {
    pub(super) run: Run,
    pub(super) now: Time,
    pub(super) core: Core,
    setup: (Rc<Site>, bool),
    /// What agents may do.
    allowance: AgentLimits,
    inputs: VecDeque<Input>,
    has_commanded: bool,
    keeper: SimulatedKeeper,
    dead: Vec<Report>,
    /// What git is at work for.
    git: VecDeque<GitJob>,
    joined: BTreeMap<(TaskId, u32), String>,
    committed: BTreeSet<(TaskId, u32)>,
    /// Agents that live, and what became of those that do not and were not heard.
    pub(super) agents: BTreeMap<TaskId, u32>,
    agents_ended: Vec<(TaskId, u32, Verdict)>,
    pub(super) halted: BTreeSet<TaskId>,
    pub(super) over: Option<RunEnd>,
    /// What the machine is in trouble with.
    pub(super) troubles: BTreeSet<Trouble>,
    wakes_at: Option<Time>,
    completions: BTreeMap<TaskId, usize>,
    /// The engine dies before the deed after so many.
    pub(super) dies_after: Option<usize>,
    pub(super) is_dead: bool,
    pub(super) deeds: usize,
    /// The deeds in a few words.
    pub(super) log: Vec<String>,
}

pub(super) fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

pub(super) fn ended(name: &str, how: How) -> Report {
    let forced = matches!(how, How::Stopped | How::TimedOut);
    Report::Ended {
        id: name.to_owned(),
        ended: Ended {
            how,
            tail: Vec::new(),
            output: 0,
            dropped: 0,
            duration_ms: 1,
            left: 0,
            forced,
            survivors: 0,
            lapsed: false,
            stopped_at: None,
        },
    }
}

fn plan(rows: &[Row<'_>]) -> Plan {
    let task = |(name, phase, depends, who): &Row<'_>| PlannedTask {
        id: id(name),
        title: (*name).to_owned(),
        phase: *phase,
        depends: Depends::On(depends.iter().map(|it| id(it)).collect()),
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: Some(Box::new(Details {
            command: matches!(who, Who::Command | Who::Verified).then(|| "make".into()),
            agent: (*who == Who::Agent).then(|| AGENT.into()),
            verify: if *who == Who::Verified { vec!["test".into()] } else { Vec::new() },
            ..Details::default()
        })),
    };
    Plan::new("demo".into(), BTreeMap::new(), rows.iter().map(task).collect()).unwrap()
}

impl World {
    pub(super) fn new(rows: &[Row<'_>], isolation: Isolation) -> Self {
        Self::with(rows, isolation, AgentLimits { most: 4, ..AgentLimits::default() })
    }

    /// With what agents may do from the beginning.
    pub(super) fn with(rows: &[Row<'_>], isolation: Isolation, allowance: AgentLimits) -> Self {
        let target = isolation.has_trees().then(|| "main".to_owned());
        let settings = Settings { isolation, target, ..Settings::default() };
        let begin = Command::Begin { plan: plan(rows), settings };
        let now = START;
        let run = Run::imagine([&begin], &Asked { by: &Actor::Waypost, now }).unwrap();
        let checks = isolation.has_trees().then(|| "check".to_owned());
        let site = Site { checks: checks.into_iter().collect(), ..Site::default() };
        let setup = (Rc::new(site), isolation.has_trees());
        let core = Core::new(given(&setup));
        let mut world = Self {
            run,
            now,
            core,
            setup,
            allowance,
            inputs: VecDeque::new(),
            has_commanded: false,
            keeper: SimulatedKeeper::default(),
            dead: Vec::new(),
            git: VecDeque::new(),
            joined: BTreeMap::new(),
            committed: BTreeSet::new(),
            agents: BTreeMap::new(),
            agents_ended: Vec::new(),
            halted: BTreeSet::new(),
            over: None,
            troubles: BTreeSet::new(),
            wakes_at: None,
            completions: BTreeMap::new(),
            dies_after: None,
            is_dead: false,
            deeds: 0,
            log: Vec::new(),
        };
        world.take_up();
        world
    }

    /// A new engine begins, as the driver does.
    fn take_up(&mut self) {
        // An agent whose attempt is over is ended before anything is begun.
        let active = self.run.active().unwrap();
        self.agents.retain(|id, attempt| {
            let view = active.task(id).unwrap();
            view.status == TaskStatus::InProgress && view.attempts == *attempt
        });
        self.inputs.push_back(Input::Allowed(self.allowance.clone()));
        for (id, attempt) in &self.agents {
            let (id, attempt) = (id.clone(), *attempt);
            self.inputs.push_back(Input::AgentFound { id, attempt });
        }
        for (id, attempt, verdict) in std::mem::take(&mut self.agents_ended) {
            let found = Input::AgentFound { id: id.clone(), attempt };
            let concluded = Concluded { id, attempt, verdict, with: Vec::new() };
            self.inputs.extend([found, Input::Concluded(Box::new(concluded))]);
        }
        self.survey();
        self.drain();
        self.perform(Output::FindTrees);
        self.perform(Output::Command(vec![Command::JoinAgain]));
        self.settle();
    }

    /// What a new engine, or one whose keeper has died, finds.
    fn survey(&mut self) {
        let mut traces = Traces::new();
        follow(&mut traces, self.keeper.told.clone(), true);
        follow(&mut traces, std::mem::take(&mut self.dead), false);
        self.keeper.heard = self.keeper.told.len();
        let mut git = BTreeMap::new();
        let active = self.run.active().unwrap();
        for view in active.tasks().filter(|view| view.status == TaskStatus::InProgress) {
            let key = (view.planned.id.clone(), view.attempts);
            let trace = traces.get(&(key.0.to_string(), key.1));
            let is_known = trace.is_some_and(|trace| trace.is_kept || trace.end.is_some());
            let found = match self.joined.get(&key) {
                _ if is_known && self.committed.contains(&key) => {
                    Some(GitTrace::At(commit_of(&key)))
                }
                _ if is_known => None,
                Some(commit) => {
                    let work = Some(commit_of(&key));
                    Some(GitTrace::Joined { commit: commit.clone(), work })
                }
                None => self.committed.contains(&key).then_some(GitTrace::Committed),
            };
            git.extend(found.map(|found| (key.0, found)));
        }
        let survey = Survey { children: traces.into_values().collect(), git };
        self.inputs.push_back(Input::Surveyed(survey));
    }

    /// The engine dies, and another one takes up. Of what git was doing, so much had happened.
    pub(super) fn restart(&mut self, git_done: usize) {
        self.is_dead = false;
        self.dies_after = None;
        for job in std::mem::take(&mut self.git).into_iter().take(git_done) {
            self.do_git(job);
        }
        self.inputs.clear();
        self.withdraw_waiting();
        self.core = Core::new(given(&self.setup));
        self.take_up();
    }

    /// The keeper dies with all its children; the engine notices.
    pub(super) fn lose_keeper(&mut self) {
        let lost = std::mem::take(&mut self.keeper);
        self.dead.extend(lost.told);
        self.hear(Input::KeeperLost);
        self.survey();
        self.settle();
    }

    /// What waits in the keeper is not started without an engine.
    fn withdraw_waiting(&mut self) {
        let waiting: Vec<String> = self.children(false);
        for name in waiting {
            self.keeper.children.remove(&name);
            self.keeper.told.push(Report::Refused { id: name, why: Refusal::Withdrawn });
        }
    }

    /// What agents may do from now on.
    pub(super) fn allow(&mut self, allowance: AgentLimits) {
        self.allowance = allowance.clone();
        self.hear(Input::Allowed(allowance));
    }

    /// Nothing stands against agents any more.
    pub(super) fn allow_all(&mut self) {
        self.allow(AgentLimits { most: 4, ..AgentLimits::default() });
    }

    /// An agent waits for a person, or goes on.
    pub(super) fn wait_for_person(&mut self, id: &TaskId, is_waiting: bool) {
        if self.agents.contains_key(id) && !self.halted.contains(id) {
            self.hear(Input::AgentWaits { id: id.clone(), is_waiting });
        }
    }

    /// What attempts get from now on: new trees are set up, or they are not.
    pub(super) fn change_site(&mut self, has_setup: bool) {
        let setup = has_setup.then(|| "npm ci".to_owned());
        let site = Site { checks: self.setup.0.checks.clone(), setup, ..Site::default() };
        self.setup.0 = Rc::new(site);
        self.hear(Input::Site(Rc::clone(&self.setup.0)));
    }

    /// Whether agents of this name may be given work.
    fn may_begin(&self, agent: &str) -> bool {
        let is_limited =
            self.allowance.limited.get(agent).is_some_and(|(until, _)| *until > self.now);
        let has_money = match self.allowance.used_up {
            None => true,
            Some(Purse::Phase(phase)) => phase != self.run.active().unwrap().current_phase(),
            Some(_) => false,
        };
        self.allowance.most > 0 && has_money && !is_limited
    }

    /// Children that have started, or that wait.
    pub(super) fn children(&self, has_started: bool) -> Vec<String> {
        let children = self.keeper.children.iter().filter(|(_, started)| **started == has_started);
        children.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn start_child(&mut self, name: &str) {
        if let Some(started) = self.keeper.children.get_mut(name)
            && !std::mem::replace(started, true)
        {
            let report = Report::Started { id: name.to_owned(), pid: 1, start: 1 };
            self.keeper.told.push(report);
        }
    }

    pub(super) fn end_child(&mut self, name: &str, how: How) {
        self.start_child(name);
        let how = if self.keeper.stopping.remove(name) { How::Stopped } else { how };
        if self.keeper.children.remove(name).is_some() {
            self.keeper.told.push(ended(name, how));
        }
    }

    /// A child is ended by its keeper, because no engine has said for long that it may go on.
    pub(super) fn lapse_child(&mut self, name: &str) {
        self.start_child(name);
        self.keeper.stopping.remove(name);
        if self.keeper.children.remove(name).is_some() {
            let mut report = ended(name, How::Stopped);
            if let Report::Ended { ended, .. } = &mut report {
                ended.lapsed = true;
            }
            self.keeper.told.push(report);
        }
    }

    pub(super) fn refuse_child(&mut self, name: &str, why: Refusal) {
        if self.keeper.children.remove(name).is_some() {
            self.keeper.told.push(Report::Refused { id: name.to_owned(), why });
        }
    }

    /// An agent's work comes to an end.
    pub(super) fn end_agent(&mut self, id: &TaskId, verdict: Verdict) {
        if let Some(attempt) = self.agents.remove(id) {
            let verdict = if self.halted.remove(id) { Verdict::Interrupted } else { verdict };
            self.agents_ended.push((id.clone(), attempt, verdict));
        }
    }

    /// What is being stopped, is gone.
    pub(super) fn finish_stops(&mut self) {
        for name in self.keeper.stopping.clone() {
            self.end_child(&name, How::Stopped);
        }
        for id in self.halted.clone() {
            self.end_agent(&id, Verdict::Interrupted);
        }
        self.settle();
    }

    /// Git does the first of what it was given.
    pub(super) fn finish_git(&mut self, is_well: bool) {
        let Some(job) = self.git.pop_front() else { return };
        let result = match (job, is_well) {
            (job, true) => self.do_git(job),
            (GitJob::Make { id, .. }, false) => GitResult::Made { id, made: Err(broken()) },
            (GitJob::Prepare { occupant, .. }, false) => {
                GitResult::Made { id: occupant.stamp.id, made: Ok(Made::NoSpace) }
            }
            (GitJob::Commit { id, .. }, false) => {
                GitResult::Committed { id, committed: Ok(Committed::Gone) }
            }
            (GitJob::Join { id, .. }, false) => {
                let files = vec!["a.txt".to_owned()];
                GitResult::Joined { id, join: Ok(Join::Conflict { files }) }
            }
            (job, false) => self.do_git(job),
        };
        self.inputs.push_back(Input::Git(result));
    }

    /// Git meets a trouble in the first of what it was given.
    pub(super) fn fail_git(&mut self, error: EngineError) {
        let Some(job) = self.git.pop_front() else { return };
        let result = match job {
            GitJob::Make { id, .. } => GitResult::Made { id, made: Err(error) },
            GitJob::Prepare { occupant, .. } => {
                GitResult::Made { id: occupant.stamp.id, made: Err(error) }
            }
            GitJob::Leave { occupant, .. } => {
                GitResult::Left { id: occupant.stamp.id, left: Err(error) }
            }
            GitJob::Commit { id, .. } => GitResult::Committed { id, committed: Err(error) },
            GitJob::CommitShared { occupant, .. } => {
                GitResult::Committed { id: occupant.stamp.id, committed: Err(error) }
            }
            GitJob::Join { id, .. } => GitResult::Joined { id, join: Err(error) },
            GitJob::Retire { name, .. } => GitResult::Retired { name, retired: Err(error) },
            GitJob::OpenPhase(phase) => GitResult::Opened { phase, base: Err(error) },
            GitJob::SyncPhase(_) => GitResult::Synced(Err(error)),
            GitJob::SettlePhase { phase, .. } => {
                GitResult::Settled { phase: phase.number, settled: Err(error) }
            }
            GitJob::Land(landing) => {
                GitResult::Landed { phase: landing.phase.number, land: Err(error) }
            }
            GitJob::HandOver(phase, why) => {
                GitResult::HandedOver { phase: phase.number, why, handed: Err(error) }
            }
            GitJob::ClosePhase(_) => GitResult::Closed(Err(error)),
        };
        self.inputs.push_back(Input::Git(result));
    }

    /// The driver has found the machine in trouble.
    pub(super) fn find_trouble(&mut self, trouble: Trouble) {
        self.troubles.insert(trouble);
        self.hear(Input::Troubled(trouble, "it was looked at".into()));
    }

    /// How often the task has failed.
    pub(super) fn retries(&self, task: &str) -> u32 {
        self.run.active().unwrap().task(&id(task)).unwrap().retries
    }

    fn do_git(&mut self, job: GitJob) -> GitResult {
        let at = |stamp: &waypost_git::Stamp| (stamp.id.clone(), stamp.attempt);
        let changed = || vec!["a.txt".to_owned()];
        match job {
            GitJob::Make { id, .. } => GitResult::Made { id, made: Ok(Made::New) },
            GitJob::Prepare { occupant, .. } => {
                GitResult::Made { id: occupant.stamp.id, made: Ok(Made::New) }
            }
            GitJob::Leave { occupant, .. } => {
                GitResult::Left { id: occupant.stamp.id, left: Ok(()) }
            }
            GitJob::Commit { id, stamp, .. } => {
                self.committed.insert(at(&stamp));
                let commit = commit_of(&at(&stamp));
                let committed = Ok(Committed::At {
                    commit,
                    changed: changed(),
                    ignored: IgnoredOutputs::default(),
                });
                GitResult::Committed { id, committed }
            }
            GitJob::CommitShared { occupant, .. } => {
                let key = at(&occupant.stamp);
                self.joined.insert(key.clone(), commit_of(&key));
                let committed = Ok(Committed::At {
                    commit: commit_of(&key),
                    changed: changed(),
                    ignored: IgnoredOutputs::default(),
                });
                GitResult::Committed { id: key.0, committed }
            }
            GitJob::Join { id, joining } => {
                let commit = format!("join-{}", joining.commit);
                self.joined.insert(at(&joining.stamp), commit.clone());
                GitResult::Joined { id, join: Ok(Join::Done { commit }) }
            }
            GitJob::Retire { name, .. } => {
                GitResult::Retired { name, retired: Ok(Retirement::Gone) }
            }
            GitJob::OpenPhase(phase) => GitResult::Opened { phase, base: Ok("base".into()) },
            GitJob::SyncPhase(_) => GitResult::Synced(Ok(())),
            GitJob::SettlePhase { phase, .. } => {
                GitResult::Settled { phase: phase.number, settled: Ok(()) }
            }
            GitJob::Land(landing) => {
                let land = Land::Done { commit: "landed".into(), leaves_boxes: false };
                GitResult::Landed { phase: landing.phase.number, land: Ok(land) }
            }
            GitJob::HandOver(phase, why) => {
                GitResult::HandedOver { phase: phase.number, why, handed: Ok(()) }
            }
            GitJob::ClosePhase(_) => GitResult::Closed(Ok(())),
        }
    }

    pub(super) fn wish(&mut self, wish: Wish) {
        self.hear(Input::Wish(wish));
        self.settle();
    }

    /// Another process changes the run.
    pub(super) fn command(&mut self, command: &Command) -> bool {
        let is_taken = self.decide(command, &Actor::User("mina".into()));
        self.hear(Input::Changed);
        self.settle();
        is_taken
    }

    fn hear(&mut self, input: Input) {
        if self.is_dead {
            return;
        }
        self.inputs.push_back(input);
        self.drain();
    }

    /// The engine hears everything and does what follows.
    pub(super) fn settle(&mut self) {
        if self.is_dead {
            return;
        }
        let news: Vec<Report> = self.keeper.told[self.keeper.heard..].to_vec();
        self.keeper.heard = self.keeper.told.len();
        self.inputs.extend(news.into_iter().map(Input::Report));
        for (id, attempt, verdict) in std::mem::take(&mut self.agents_ended) {
            let concluded = Concluded { id, attempt, verdict, with: Vec::new() };
            self.inputs.push_back(Input::Concluded(Box::new(concluded)));
        }
        self.wakes_at = None;
        for _ in 0..PATIENCE {
            self.has_commanded = false;
            self.hear(Input::Now);
            if self.is_dead || self.core.unrecorded().is_empty() && !self.has_commanded {
                return;
            }
        }
        panic!("the core never comes to rest");
    }

    fn drain(&mut self) {
        while let Some(input) = self.inputs.pop_front() {
            for output in self.core.handle(input, &self.run, self.now) {
                if self.dies_after == Some(self.deeds) {
                    self.is_dead = true;
                }
                if self.is_dead {
                    return;
                }
                self.deeds += 1;
                self.perform(output);
            }
        }
    }

    fn decide_all(&mut self, commands: Vec<Command>) {
        for command in commands {
            match &command {
                Command::ReportTrouble { trouble, .. } => {
                    self.log.push(format!("ask {}", trouble.word()));
                }
                Command::WakeTrouble { trouble } => {
                    self.log.push(format!("wake {}", trouble.word()));
                }
                _ => {}
            }
            self.decide(&command, &Actor::Waypost);
        }
        self.has_commanded = true;
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::Start(specs) => {
                for spec in specs {
                    self.log.push(format!("start {}", spec.id));
                    self.begin_process(&spec.id);
                    self.keeper.children.insert(spec.id, false);
                }
            }
            Output::Stop(name) => {
                self.log.push(format!("stop {name}"));
                match self.keeper.children.get(&name) {
                    Some(true) => drop(self.keeper.stopping.insert(name)),
                    Some(false) => self.refuse_child(&name, Refusal::Withdrawn),
                    None => {}
                }
            }
            Output::SetSlots(_) => {}
            Output::Git(job) => self.git.push_back(job),
            Output::Reclaim(id) => {
                self.inputs.push_back(Input::Reclaimed { id, has_helped: false });
            }
            Output::Probe(trouble) => {
                self.log.push(format!("probe {}", trouble.word()));
                let is_gone = !self.troubles.contains(&trouble);
                self.inputs.push_back(Input::Probed { trouble, is_gone });
            }
            Output::FindTrees => self.inputs.push_back(Input::TreesFound(TreesFound::default())),
            Output::Engage(attempt) => {
                self.log.push(format!("engage {}", attempt.name()));
                self.begin_process(&attempt.name());
                self.agents.insert(attempt.id.clone(), attempt.number);
                let (id, attempt) = (attempt.id, attempt.number);
                self.inputs.push_back(Input::Engaged { id, attempt });
            }
            Output::Halt(id) => {
                self.log.push(format!("halt {id}"));
                self.halted.insert(id);
            }
            Output::Record(ended) => {
                let mut refused = Vec::new();
                for command in ended {
                    if !self.decide(&command, &Actor::Waypost) {
                        refused.push(format!("{command:?}"));
                    }
                }
                let claims = self.core.claims(&self.run, self.now).ids;
                for id in &claims {
                    let is_agents = id_is_of_agent(&self.run, id);
                    assert!(!is_agents || self.may_begin(AGENT), "{id} is claimed for an agent");
                    self.decide(&Command::Claim { id: id.clone() }, &Actor::Waypost);
                }
                self.inputs.push_back(Input::Recorded { claims, refused });
            }
            Output::Command(commands) => self.decide_all(commands),
            Output::Say(_) => {}
            Output::WakeAt(time) if time <= self.now => self.has_commanded = true,
            Output::WakeAt(time) => {
                self.wakes_at = Some(self.wakes_at.map_or(time, |at| at.min(time)));
            }
            Output::Over(end) => self.over = Some(end),
            Output::Fail(error) => panic!("{error}"),
        }
    }

    /// Nothing is started but for the attempt that its task is at, and never beside another process
    /// of the task.
    fn begin_process(&self, name: &str) {
        let Some((task, rest)) = name.split_once('#') else { panic!("{name} has no attempt") };
        if task.starts_with("phase-") {
            return;
        }
        let number = rest.split('/').next().unwrap().parse().unwrap();
        let view = self.run.active().unwrap().task(&id(task)).unwrap();
        let at = (view.status, view.attempts);
        assert_eq!(at, (TaskStatus::InProgress, number), "{name} is started");
        let others = self.keeper.children.keys().filter(|it| it.split('#').next() == Some(task));
        assert_eq!(others.count(), 0, "{name} is started beside another process");
        assert!(!self.agents.contains_key(&id(task)), "{name} is started beside an agent");
    }

    /// Gives a command to the run's machine. Says whether it was taken.
    fn decide(&mut self, command: &Command, by: &Actor) -> bool {
        let asked = Asked { by, now: self.now };
        let Ok(decision) = self.run.decide(command, &asked) else { return false };
        let mut events = decision.events;
        loop {
            for event in events {
                if let Event::TaskCompleted { id, .. } = &event {
                    *self.completions.entry(id.clone()).or_default() += 1;
                }
                self.run.apply(&event, self.now);
            }
            let Some(next) = self.run.follow_up() else { break };
            let asked = Asked { by: &Actor::Waypost, now: self.now };
            events = self.run.decide(&next, &asked).unwrap().events;
        }
        true
    }

    /// Lets everything that is under way come to a good end, until the run is over.
    pub(super) fn finish(&mut self) -> RunEnd {
        for _ in 0..PATIENCE {
            self.work();
            if let Some(end) = self.over.clone() {
                return end;
            }
        }
        panic!("the run does not end: {:#?}", self.log);
    }

    /// Lets one thing come to a good end, and has the engine do what follows.
    pub(super) fn work(&mut self) {
        self.settle();
        if self.is_dead || self.over.is_some() {
            return;
        }
        if !self.git.is_empty() {
            self.finish_git(true);
        } else if let Some(name) = self.keeper.children.keys().next().cloned() {
            self.end_child(&name, How::Exited(0));
        } else if let Some(id) = self.agents.keys().next().cloned() {
            self.end_agent(&id, Verdict::Done { needs_change: false });
        } else {
            let next = self.wakes_at.filter(|time| *time > self.now);
            self.now = next.unwrap_or_else(|| self.now.plus(Duration::from_secs(1)));
        }
        self.settle();
    }

    /// What comes of an attempt that is over changes nothing: the end of a child, or of an agent.
    pub(super) fn hear_late(&mut self, input: Input) {
        self.settle();
        if self.is_dead {
            return;
        }
        let before = format!("{:?}", self.core);
        let outputs = self.core.handle(input, &self.run, self.now);
        assert!(outputs.is_empty(), "{outputs:?}");
        assert_eq!(format!("{:?}", self.core), before);
    }

    /// What git has done for an attempt that is over begins, ends and records nothing; that it works may show
    /// that a trouble is gone.
    pub(super) fn hear_late_git(&mut self, result: GitResult) {
        self.settle();
        if self.is_dead {
            return;
        }
        let held = |core: &Core| {
            (format!("{:?}", core.lives().collect::<Vec<_>>()), format!("{:?}", core.unrecorded()))
        };
        let before = held(&self.core);
        let what = format!("{result:?}");
        let outputs = self.core.handle(Input::Git(result), &self.run, self.now);
        assert_eq!(held(&self.core), before, "{what}");
        for output in outputs {
            let wakes = |it: &Command| matches!(it, Command::WakeTrouble { .. });
            let is_wake = matches!(&output, Output::Command(all) if all.iter().all(wakes));
            assert!(is_wake, "{what}: {output:?}");
            self.perform(output);
        }
    }

    pub(super) fn statuses(&self) -> Vec<(String, TaskStatus, u32)> {
        let tasks = self.run.active().unwrap().tasks();
        tasks.map(|view| (view.planned.id.to_string(), view.status, view.attempts)).collect()
    }

    pub(super) fn status(&self, task: &str) -> TaskStatus {
        self.run.active().unwrap().task(&id(task)).unwrap().status
    }

    /// No task was completed twice.
    pub(super) fn check_completions(&self) {
        assert!(self.completions.values().all(|count| *count == 1), "{:?}", self.completions);
    }

    pub(super) fn has_git_work(&self) -> bool {
        !self.git.is_empty()
    }
}

/// The agent of all tasks that have one.
pub(super) const AGENT: &str = "codex";

fn id_is_of_agent(run: &Run, id: &TaskId) -> bool {
    let view = run.active().unwrap().task(id).unwrap();
    view.planned.details.as_ref().is_some_and(|details| details.agent.is_some())
}

fn given((site, has_trees): &(Rc<Site>, bool)) -> Setup {
    Setup { site: Rc::clone(site), has_trees: *has_trees, slots_max: 8, ..Setup::default() }
}

fn commit_of((id, attempt): &(TaskId, u32)) -> String {
    format!("commit-{id}-{attempt}")
}

fn broken() -> EngineError {
    let cause = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    Problem::system("git was killed", cause).into()
}
