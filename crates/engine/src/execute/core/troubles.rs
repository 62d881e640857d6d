//! Troubles of the machine as the core knows them: while one stands nothing new is begun, what cannot be
//! done waits, and none of it counts against a task.
//!
//! A trouble stands for a while and is then looked at. One that is found to be gone is over, if the look
//! proves it; otherwise the next deed has to prove it, and meeting it again before that counts as the
//! next time in a row. A person is asked when the first wait has not helped.

use super::{
    super::{audience::Wish, life::LifeInput},
    attempts::Core,
    words::Output,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use waypost_model::{
    id::TaskId,
    retry::{FailureClass, Outlook, Policy, Scope},
    run::{self, Parked, Run},
    time::Time,
    trouble::Trouble,
};

/// So many times in a row are one wait that has not helped.
const ASKED_AT: u32 = 2;

/// So often in a row git's work for an attempt may meet a repository that cannot be used: then it may
/// be the attempt that has made it so.
const REPOSITORY_MAX: u32 = 5;

/// What is in trouble.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    all: BTreeMap<Trouble, StandingTrouble>,
    /// Attempts whose work for git is given again.
    held: BTreeSet<TaskId>,
}

#[derive(Debug)]
struct StandingTrouble {
    why: String,
    in_a_row: u32,
    /// When it is looked at next. None: it seems to be gone, and no deed has proven that yet.
    until: Option<Time>,
    is_looked_at: bool,
    is_asked: bool,
}

impl Troubles {
    /// Whether anything holds everything.
    fn stands(&self) -> bool {
        self.all.values().any(|it| it.until.is_some() || it.is_looked_at)
    }

    /// When something is looked at next.
    fn next(&self) -> Option<Time> {
        self.all.values().filter(|it| !it.is_looked_at).filter_map(|it| it.until).min()
    }
}

fn delay(trouble: Trouble, in_a_row: u32) -> Duration {
    let policy = Policy::of(Scope::Infrastructure);
    match policy.after(in_a_row.saturating_sub(1), FailureClass::Transient, trouble.word()) {
        Outlook::Again { delay } => delay,
        Outlook::GiveUp => policy.longest_delay,
    }
}

impl Core {
    /// Notes that Waypost has met a trouble, and says how what met it waits.
    pub(super) fn meet(&mut self, trouble: Trouble, why: String, now: Time) -> Parked {
        let found = self.troubles.all.get(&trouble);
        if let Some((until, it)) = found.and_then(|it| Some((it.until?, it))) {
            return Parked::troubled(trouble, it.why.clone(), (until, it.in_a_row));
        }
        let in_a_row = found.map_or(0, |it| it.in_a_row) + 1;
        let is_asked = found.is_some_and(|it| it.is_asked);
        let until = now.plus(delay(trouble, in_a_row));
        let why = if why.is_empty() { trouble.to_string() } else { why };
        if in_a_row == 1 {
            self.note(format!("nothing new is begun: {trouble}: {why}; it goes on by itself"));
        }
        let parked = Parked::troubled(trouble, why.clone(), (until, in_a_row));
        let standing =
            StandingTrouble { why, in_a_row, until: Some(until), is_looked_at: false, is_asked };
        self.troubles.all.insert(trouble, standing);
        self.ask_about(trouble);
        self.want(Output::WakeAt(until));
        parked
    }

    fn ask_about(&mut self, trouble: Trouble) {
        let Some(it) = self.troubles.all.get_mut(&trouble) else { return };
        if it.in_a_row >= ASKED_AT && !std::mem::replace(&mut it.is_asked, true) {
            let why = it.why.clone();
            self.want(Output::Command(vec![run::Command::ReportTrouble { trouble, why }]));
        }
    }

    /// Whether something holds everything.
    pub(super) fn is_troubled(&self) -> bool {
        self.troubles.stands()
    }

    /// Why nothing new is begun.
    pub(in crate::execute) fn trouble_in_words(&self) -> Option<String> {
        let standing = |it: &&StandingTrouble| it.until.is_some() || it.is_looked_at;
        let mut all = self.troubles.all.iter().filter(|(_, it)| standing(it));
        all.next().map(|(trouble, it)| format!("{trouble}: {}", it.why))
    }

    /// When a trouble is looked at next.
    pub(super) fn next_probe(&self) -> Option<Time> {
        self.troubles.next()
    }

    /// How something waits that went wrong while the machine is in trouble: without a disk that takes what is
    /// written, or a process or a file to be had, nothing can be done well.
    pub(super) fn machine_trouble(&self) -> Option<Parked> {
        let is_machine = |trouble: &Trouble| trouble.is_disk() || trouble.is_shortage();
        let mut all = self.troubles.all.iter().filter(|(trouble, _)| is_machine(trouble));
        all.find_map(|(trouble, it)| {
            Some(Parked::troubled(*trouble, it.why.clone(), (it.until?, it.in_a_row)))
        })
    }

    /// Looks at troubles whose time has come.
    pub(super) fn attend_troubles(&mut self, now: Time) {
        let mut due = Vec::new();
        for (trouble, it) in &mut self.troubles.all {
            if !it.is_looked_at && it.until.is_some_and(|until| until <= now) {
                it.is_looked_at = true;
                due.push(*trouble);
            }
        }
        due.into_iter().for_each(|trouble| self.want(Output::Probe(trouble)));
        let next = self.next_probe();
        next.into_iter().for_each(|time| self.want(Output::WakeAt(time)));
    }

    /// Others have changed something, perhaps the trouble: it is looked at soon.
    pub(super) fn hasten_probes(&mut self, now: Time) {
        for it in self.troubles.all.values_mut() {
            it.until = it.until.map(|until| until.min(now));
        }
    }

    /// What a look has shown.
    pub(super) fn probed(&mut self, trouble: Trouble, is_gone: bool, run: &Run, now: Time) {
        let Some(it) = self.troubles.all.get_mut(&trouble) else { return };
        it.is_looked_at = false;
        if !is_gone {
            it.in_a_row += 1;
            let until = now.plus(delay(trouble, it.in_a_row));
            it.until = Some(until);
            self.want(Output::WakeAt(until));
            return self.ask_about(trouble);
        }
        it.until = None;
        self.want(Output::WakeAt(now));
        if trouble.is_disk() {
            self.is_over(trouble, run);
        }
        if !self.is_troubled() {
            for id in std::mem::take(&mut self.troubles.held) {
                self.give_git_again(&id);
            }
        }
    }

    /// A deed has shown that troubles of a kind are gone.
    pub(super) fn has_worked(&mut self, run: &Run, is_of_kind: impl Fn(Trouble) -> bool) {
        let proven = |(trouble, it): (&Trouble, &StandingTrouble)| {
            (it.until.is_none() && !it.is_looked_at && is_of_kind(*trouble)).then_some(*trouble)
        };
        let gone: Vec<Trouble> = self.troubles.all.iter().filter_map(proven).collect();
        gone.into_iter().for_each(|trouble| self.is_over(trouble, run));
    }

    fn is_over(&mut self, trouble: Trouble, run: &Run) {
        let Some(it) = self.troubles.all.remove(&trouble) else { return };
        let waits = |active: &run::Active| {
            let mut parked = active.tasks().filter_map(|view| view.trail?.parked.as_ref());
            parked.any(|parked| parked.trouble == Some(trouble))
        };
        if it.is_asked || run.active().is_some_and(waits) {
            self.want(Output::Command(vec![run::Command::WakeTrouble { trouble }]));
        }
    }

    /// Git could not do its work for an attempt because of a trouble. What can be given up is parked;
    /// what would be lost is given to git again later.
    pub(super) fn git_met(&mut self, id: &TaskId, trouble: Trouble, why: String, at: (&Run, Time)) {
        let (run, now) = at;
        let parked = self.meet(trouble, why.clone(), now);
        let Some(life) = self.lives.get(id) else { return };
        let is_last = trouble == Trouble::Repository && parked.in_a_row > REPOSITORY_MAX;
        match () {
            () if life.is_placing() => self.advance(id, LifeInput::NoRoom(parked), run),
            () if is_last => self.advance(id, LifeInput::GitFailed(why), run),
            () if self.wish != Wish::GoOn => self.advance(id, LifeInput::GivenUp, run),
            () => drop(self.troubles.held.insert(id.clone())),
        }
    }

    /// The run is to end: what waits for git does not wait any longer.
    pub(super) fn give_up_held(&mut self, run: &Run) {
        for id in std::mem::take(&mut self.troubles.held) {
            self.advance(&id, LifeInput::GivenUp, run);
        }
    }
}
