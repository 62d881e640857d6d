//! The core and its attempts: what each of them hears, and what is claimed next.

use super::{
    super::{
        attempt::Attempt,
        audience::{Happening, Wish},
        claims::{Claims, Room},
        conclude::Verdict,
        git_work::{GitJob, GitResult, Joining, Made},
        life::{Life, LifeInput, Others, Stage, Step},
        recover::read_name,
        workplace::{Site, Workplace},
    },
    ends::Recording,
    phases::Phases,
    troubles::Troubles,
    words::{AgentLimits, Concluded, Input, Output},
};
use crate::{
    error::EngineError,
    execute::{RunEnd, is_at},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};
use waypost_git::{Committed, Occupant};
use waypost_model::{
    id::TaskId,
    run::{self, Parked, Run, TaskStatus},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{How, Refusal, Report};

/// The most tasks that are claimed ahead of free slots.
const AHEAD_MAX: usize = 128;

/// The time for which ends are counted to find out how fast tasks end.
const PACE_INTERVAL: Duration = Duration::from_millis(100);

/// What a core is told of the place and of its order when it is made.
#[derive(Debug, Default)]
pub(in crate::execute) struct Setup {
    pub(in crate::execute) site: Rc<Site>,
    /// Only this phase.
    pub(in crate::execute) phase: Option<u32>,
    /// Whether to wait for as long as it takes when only a person can go on.
    pub(in crate::execute) waits: bool,
    /// Whether tasks have work trees.
    pub(in crate::execute) has_trees: bool,
    /// How many commands run at once where the run sets no limit.
    pub(in crate::execute) slots_max: usize,
}

/// An executor's mind.
#[derive(Debug)]
pub(in crate::execute) struct Core {
    pub(super) setup: Setup,
    /// What is under way, by task: there is never more than one attempt at a task.
    pub(super) lives: BTreeMap<TaskId, Life>,
    /// Children of attempts that are over, which are being stopped: until they are gone, nothing is
    /// started for their tasks.
    pub(super) strays: BTreeSet<String>,
    /// Ends that are not recorded yet, and what is to be recorded with them.
    pub(super) ended: Vec<run::Command>,
    /// Ends that are being recorded.
    pub(super) recording: Recording,
    pub(super) phases: Phases,
    pub(super) troubles: Troubles,
    pub(super) allowance: AgentLimits,
    pub(super) wish: Wish,
    /// How the run ended, while git still removes what it left.
    pub(super) end: Option<RunEnd>,
    /// How many slots the keeper knows of.
    slots_told: usize,
    pace: Pace,
    outputs: Vec<Output>,
}

/// How many attempts ended in the present interval and in the one before it: a measure of how far
/// ahead to claim.
#[derive(Debug, Default)]
struct Pace {
    until: Option<Time>,
    now: usize,
    before: usize,
}

impl Pace {
    fn follow(&mut self, now: Time) {
        match self.until {
            // A clock that was set back counts as one that has gone on.
            Some(until) if now < until && until.since(now) <= PACE_INTERVAL => {}
            Some(until) if until <= now && now.since(until) < PACE_INTERVAL => {
                self.before = std::mem::take(&mut self.now);
                self.until = Some(until.plus(PACE_INTERVAL));
            }
            _ => {
                (self.before, self.now) = (0, 0);
                self.until = Some(now.plus(PACE_INTERVAL));
            }
        }
    }

    /// How many tasks to claim beyond the free slots: what may end while a commit is made, which is
    /// none of slow tasks and many of short ones.
    fn ahead(&self) -> usize {
        (self.now.max(self.before) / 2).min(AHEAD_MAX)
    }
}

impl Core {
    pub(in crate::execute) fn new(setup: Setup) -> Self {
        Self {
            phases: Phases::new(setup.has_trees),
            setup,
            lives: BTreeMap::new(),
            strays: BTreeSet::new(),
            ended: Vec::new(),
            recording: Recording::default(),
            troubles: Troubles::default(),
            allowance: AgentLimits::default(),
            wish: Wish::GoOn,
            end: None,
            slots_told: 0,
            pace: Pace::default(),
            outputs: Vec::new(),
        }
    }

    /// Takes what has happened, and says what is to be done because of it. `run` is how the journal
    /// has it now.
    pub(in crate::execute) fn handle(&mut self, input: Input, run: &Run, now: Time) -> Vec<Output> {
        self.pace.follow(now);
        match input {
            Input::Report(report) => self.report(report, run, now),
            Input::KeeperLost => self.keeper_lost(),
            Input::Surveyed(survey) => self.surveyed(survey, run, now),
            Input::Git(result) => self.git(result, run, now),
            Input::Reclaimed { id, has_helped } => {
                let why = "the disk is nearly full".to_owned();
                let parked = match has_helped {
                    true => Parked::troubled(Trouble::NoSpace, why, (now, 1)),
                    false => self.meet(Trouble::NoSpace, why, now),
                };
                self.advance(&id, LifeInput::NoRoom(parked), run);
            }
            Input::TreesFound(found) => {
                self.tidy(&found, run);
                self.wind_up();
            }
            Input::AgentFound { id, attempt } => self.agent_found(&id, attempt, run, now),
            Input::Engaged { id, attempt } => self.engaged(&id, attempt, now),
            Input::AgentWaits { id, is_waiting } => {
                self.lives.get_mut(&id).into_iter().for_each(|life| life.is_waiting = is_waiting);
            }
            Input::Concluded(concluded) => self.concluded(*concluded, run, now),
            Input::Allowed(allowance) => self.allowance = allowance,
            Input::Recorded { claims, refused } => self.recorded(&claims, refused, run, now),
            Input::Changed => {
                self.stop_what_is_not_ours(run);
                self.hasten_probes(now);
            }
            Input::Troubled(trouble, why) => drop(self.meet(trouble, why, now)),
            Input::Probed { trouble, is_gone } => self.probed(trouble, is_gone, run, now),
            Input::Site(site) => self.setup.site = site,
            Input::Wish(wish) => self.take_wish(wish, run),
            Input::Now => self.settle(run, now),
        }
        std::mem::take(&mut self.outputs)
    }

    /// What is to be recorded and is not yet.
    pub(in crate::execute) fn unrecorded(&self) -> &[run::Command] {
        &self.ended
    }

    pub(in crate::execute) fn wish(&self) -> Wish {
        self.wish
    }

    pub(in crate::execute) fn lives(&self) -> impl Iterator<Item = &Life> {
        self.lives.values()
    }

    /// The most urgent of the ready tasks that there is room for.
    pub(in crate::execute) fn claims(&self, run: &Run, now: Time) -> Claims {
        match (&self.end, self.wish) {
            (None, Wish::GoOn) if self.is_troubled() => {
                Claims { ids: Vec::new(), next: self.next_probe() }
            }
            (None, Wish::GoOn) => self.room(run, now).claims(run, |id| self.has_process(id)),
            _ => Claims::default(),
        }
    }

    fn has_process(&self, id: &TaskId) -> bool {
        let is_its =
            |child: &String| read_name(child).is_some_and(|(task, ..)| task == id.as_str());
        self.lives.contains_key(id) || self.strays.iter().any(is_its)
    }

    pub(super) fn want(&mut self, output: Output) {
        self.outputs.push(output);
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.want(Output::Say(Happening::Note(text.into())));
    }

    /// What follows when everything that has happened was told: ends are recorded and room is claimed,
    /// or there is nothing to record.
    fn settle(&mut self, run: &Run, now: Time) {
        let (slots, _) = self.slots(run);
        if slots != self.slots_told {
            self.slots_told = slots;
            self.want(Output::SetSlots(slots));
        }
        self.attend_troubles(now);
        let is_due = !self.ended.is_empty() || !self.claims(run, now).ids.is_empty();
        match is_due && self.end.is_none() {
            true => self.record(run),
            false => self.rest(run, now),
        }
    }

    /// Nothing is to be recorded: phases are looked after, and the run may be over.
    pub(super) fn rest(&mut self, run: &Run, now: Time) {
        if self.end.is_some() {
            return self.wind_up();
        }
        let next = self.claims(run, now).next;
        next.into_iter().for_each(|time| self.want(Output::WakeAt(time)));
        self.attend_phases(run, now);
        self.look_for_end(run, now);
    }

    /// How many slots there are for commands, and for commands and agents together.
    fn slots(&self, run: &Run) -> (usize, usize) {
        match run.active().map_or(0, |it| it.settings().max_parallel) as usize {
            0 => (self.setup.slots_max, usize::MAX),
            limit => (limit, limit),
        }
    }

    /// What there is room for now.
    fn room(&self, run: &Run, now: Time) -> Room {
        let (for_commands, slots) = self.slots(run);
        let taken = self.lives.values().filter(|life| !life.is_waiting).count();
        let working = self.lives.values().filter(|it| it.is_with_agent() && !it.is_waiting).count();
        let agents = self.lives.values().filter(|life| life.wants_agent()).count();
        // The keeper knows nothing of agents: beside them it gets no more than has a slot.
        let ahead = if working == 0 { self.pace.ahead() } else { 0 };
        // Without a limit of the run, agents take nothing away from commands.
        let beside = if slots == usize::MAX { taken - agents } else { taken };
        let has_money = run.active().is_none_or(|active| self.allowance.has_money(active));
        let most = if has_money { self.allowance.most } else { 0 };
        let limited = self.allowance.limited.iter();
        Room {
            // What has ended is still in progress in the machine, and frees its slot now.
            commands: (for_commands + ahead).saturating_sub(beside),
            agents: most.saturating_sub(agents),
            slots: slots.saturating_sub(taken),
            phase: self.setup.phase,
            limited: limited.map(|(name, (until, _))| (name.clone(), *until)).collect(),
            occupied: self.occupied(),
            now,
        }
    }

    /// The files that attempts declare which are in the work tree of their phase.
    fn occupied(&self) -> Vec<Vec<String>> {
        let lives = self.lives.values();
        let shared = lives.filter(|it| matches!(it.attempt.workplace, Workplace::PhaseTree { .. }));
        shared.map(|life| life.attempt.files.clone()).collect()
    }

    /// Begins what was claimed.
    pub(super) fn take_claims(&mut self, claims: &[TaskId], run: &Run) {
        let Some(active) = run.active() else { return };
        let mut begun = Vec::with_capacity(claims.len());
        for id in claims {
            // One that was refused has not become ours.
            let claimed = active.task(id).filter(|view| view.status == TaskStatus::InProgress);
            if let Some(view) = claimed {
                let life = Life::new(Attempt::new(&view, active, &self.setup.site));
                self.lives.insert(id.clone(), life);
                begun.push(id.clone());
            }
        }
        // The most urgent first, and all children with one word to the keeper.
        let mut specs = Vec::new();
        for id in begun {
            let before = self.outputs.len();
            self.advance(&id, LifeInput::Turn, run);
            if matches!(self.outputs.last(), Some(Output::Start(_)) if self.outputs.len() > before)
                && let Some(Output::Start(start)) = self.outputs.pop()
            {
                specs.extend(start);
            }
        }
        if !specs.is_empty() {
            self.want(Output::Start(specs));
        }
    }

    pub(super) fn report(&mut self, report: Report, run: &Run, now: Time) {
        if !matches!(report, Report::Started { .. }) {
            self.strays.remove(report.id());
        }
        if self.is_check(report.id()) {
            return self.check_reported(report, run, now);
        }
        // A child whose attempt has gone on, or is over, changes nothing.
        let Some(id) = self.life_of(report.id()) else { return };
        match report {
            Report::Started { .. } => {
                self.started(&id, now);
                self.has_worked(run, |trouble| !trouble.is_git());
            }
            Report::Ended { ended, .. } => {
                let has_failed = !matches!(ended.how, How::Exited(0) | How::Stopped);
                let input = match self.machine_trouble().filter(|_| has_failed) {
                    Some(parked) => LifeInput::NoRoom(parked),
                    None => LifeInput::Ended(ended),
                };
                self.advance(&id, input, run);
            }
            // The machine has nothing left for it now; asking again at once would find the same.
            Report::Refused { why: Refusal::Busy { detail }, .. } => {
                let trouble = Trouble::of_words(&detail).unwrap_or(Trouble::NoProcesses);
                let parked = self.meet(trouble, detail, now);
                self.advance(&id, LifeInput::NoRoom(parked), run);
            }
            Report::Refused { why, .. } => self.advance(&id, LifeInput::Refused(why), run),
        }
    }

    /// The task whose present child has this name.
    fn life_of(&self, child: &str) -> Option<TaskId> {
        let id: TaskId = read_name(child)?.0.parse().ok()?;
        let life = self.lives.get(&id)?;
        (life.child()? == child).then_some(id)
    }

    pub(super) fn started(&mut self, id: &TaskId, now: Time) {
        let Some(life) = self.lives.get_mut(id) else { return };
        let attempt = life.attempt.number;
        if life.started(now) {
            self.want(Output::Say(Happening::Started { id: id.clone(), attempt }));
        }
    }

    fn engaged(&mut self, id: &TaskId, attempt: u32, now: Time) {
        let life = self.lives.get(id).filter(|life| life.attempt.number == attempt);
        let Some(life) = life else { return };
        // The task was taken away, or the run is to end, while its agent was being started.
        if !life.is_with_agent() || self.wish == Wish::Stop {
            self.want(Output::Halt(id.clone()));
        }
        self.started(id, now);
    }

    fn concluded(&mut self, concluded: Concluded, run: &Run, now: Time) {
        let Concluded { id, attempt, verdict, with } = concluded;
        let verdict = match (verdict, self.machine_trouble()) {
            (Verdict::Failed(_), Some(parked)) => Verdict::Parked(parked),
            (Verdict::Parked(Parked { trouble: Some(trouble), why, .. }), _) => {
                Verdict::Parked(self.meet(trouble, why, now))
            }
            (verdict, _) => verdict,
        };
        self.ended.extend(with);
        let life = self.lives.get_mut(&id).filter(|life| life.attempt.number == attempt);
        if let Some(life) = life {
            if matches!(verdict, Verdict::Done { .. }) {
                life.started(now);
            }
            self.advance(&id, LifeInput::Concluded(verdict), run);
        }
    }

    /// Gives something to an attempt, and has done what it wants then.
    pub(super) fn advance(&mut self, id: &TaskId, input: LifeInput, run: &Run) {
        let wish = self.wish;
        let Some(life) = self.lives.get_mut(id) else { return };
        let is_ours = run.active().is_some_and(|active| is_at(active, &life.attempt));
        let output = match life.step(input, Others { wish, is_ours }) {
            Step::Wait => return,
            Step::Run(command) => {
                let Some(name) = life.child() else { return };
                Output::Start(vec![life.attempt.child(name, command)])
            }
            Step::Engage => Output::Engage(Box::new(life.attempt.clone())),
            step @ (Step::Place | Step::Commit | Step::Join | Step::Leave { .. }) => {
                return self.give_to_git(id, step);
            }
            Step::Over(end) => {
                self.lives.remove(id);
                self.pace.now += 1;
                return self.ended.extend(end.map(|end| *end));
            }
        };
        self.want(output);
    }

    /// Gives the git work of an attempt away once more.
    pub(super) fn give_git_again(&mut self, id: &TaskId) {
        if let Some(step) = self.lives.get(id).and_then(Life::git_step) {
            self.give_to_git(id, step);
        }
    }

    /// Gives the git work of an attempt away.
    fn give_to_git(&mut self, id: &TaskId, step: Step) {
        let Some(life) = self.lives.get(id) else { return };
        let (attempt, id) = (&life.attempt, id.clone());
        let stamp = attempt.stamp.clone();
        let evidence = life.evidence().to_string();
        let job = match (&attempt.workplace, step) {
            // One that works in the project's folder has nothing for git to do.
            (Workplace::Project, _) => return,
            (Workplace::OwnTree { phase, name }, Step::Place) => {
                GitJob::Make { id, name: name.clone(), phase: phase.clone() }
            }
            (Workplace::OwnTree { phase, name }, Step::Join) => {
                let joining = Joining {
                    phase: phase.clone(),
                    name: name.clone(),
                    commit: life.commit().unwrap_or_default().to_owned(),
                    stamp,
                    evidence,
                    was_verified: !attempt.verify.is_empty(),
                };
                GitJob::Join { id, joining }
            }
            (Workplace::OwnTree { phase, name }, _) => {
                let (phase, files) = (phase.clone(), attempt.files.clone());
                GitJob::Commit { id, name: name.clone(), phase, stamp, files }
            }
            (Workplace::PhaseTree { phase }, step) => {
                let is_other = |(other, life): (&TaskId, &Life)| {
                    *other != id && life.stage() != Stage::Claimed
                };
                let occupant = Occupant {
                    phase: phase.clone(),
                    stamp,
                    files: attempt.files.clone(),
                    is_alone: !self.lives.iter().any(is_other),
                };
                match step {
                    Step::Place => GitJob::Prepare { occupant, goes_on: attempt.goes_on },
                    Step::Leave { why } => GitJob::Leave { occupant, why },
                    _ => {
                        let needs_change = life.needs_change();
                        GitJob::CommitShared { occupant, needs_change, evidence }
                    }
                }
            }
        };
        self.give(job);
    }

    fn git(&mut self, result: GitResult, run: &Run, now: Time) {
        self.phases.under_way = self.phases.under_way.saturating_sub(1);
        let failed = |error: EngineError| LifeInput::GitFailed(error.to_string());
        match result.trouble() {
            Some((Some(id), trouble, why)) => {
                return self.git_met(&id, trouble, why, (run, now));
            }
            Some((None, trouble, why)) => drop(self.meet(trouble, why, now)),
            None if result.is_done() => self.has_worked(run, |_| true),
            None => {}
        }
        match result {
            GitResult::Made { id, made: Ok(Made::NoSpace) } => self.want(Output::Reclaim(id)),
            GitResult::Made { id, made } => {
                if let Ok(Made::Kept { without: Some(why) }) = &made {
                    self.note(format!("{id} goes on without what it had done before: {why}"));
                }
                let is_new = matches!(made, Ok(Made::New));
                let input = made.map_or_else(failed, |_| LifeInput::Placed { is_new });
                self.advance(&id, input, run);
            }
            GitResult::Left { id, left } => {
                if let Err(error) = left {
                    self.note(format!("what {id} left stays: {error}"));
                }
                self.advance(&id, LifeInput::Left, run);
            }
            GitResult::Committed { id, committed } => {
                if let Ok(Committed::At { ignored, .. }) = &committed
                    && let Some(text) = ignored.told()
                {
                    self.note(format!("{id}: {text}"));
                }
                self.advance(&id, committed.map_or_else(failed, LifeInput::Committed), run);
            }
            GitResult::Joined { id, join } => {
                self.phases.is_behind = true;
                self.advance(&id, join.map_or_else(failed, LifeInput::Joined), run);
            }
            result => self.phase_result(result, run),
        }
    }

    fn take_wish(&mut self, wish: Wish, run: &Run) {
        if wish > self.wish {
            self.wish = wish;
            self.give_up_held(run);
            self.keep_to_wish();
        }
    }

    /// What has not begun waits again; when asked to stop, what runs is stopped too.
    pub(super) fn keep_to_wish(&mut self) {
        if self.wish == Wish::GoOn {
            return;
        }
        let is_stop = self.wish == Wish::Stop;
        let mut outputs = Vec::new();
        for (id, life) in &self.lives {
            match life.child() {
                Some(child) if is_stop || !life.has_started() => outputs.push(Output::Stop(child)),
                None if life.is_with_agent() && (is_stop || life.is_waiting) => {
                    outputs.push(Output::Halt(id.clone()));
                }
                _ => {}
            }
        }
        self.outputs.extend(outputs);
        if is_stop {
            self.stop_check();
        }
    }

    /// Another process has ended an attempt (skipped it, completed it): its process goes.
    fn stop_what_is_not_ours(&mut self, run: &Run) {
        let active = run.active();
        let is_lost = |life: &Life| !active.is_some_and(|active| is_at(active, &life.attempt));
        let mut outputs = Vec::new();
        for (id, life) in self.lives.iter().filter(|(_, life)| is_lost(life)) {
            match life.child() {
                Some(child) => outputs.push(Output::Stop(child)),
                None if life.is_with_agent() => outputs.push(Output::Halt(id.clone())),
                None => {}
            }
        }
        self.outputs.extend(outputs);
    }

    pub(super) fn forget_slots(&mut self) {
        self.slots_told = 0;
    }
}
