//! A run that outlasts troubles of the machine: where its executor cannot go on because the disk, the
//! journal or the machine does not let it, the run waits and is taken up again.
//!
//! An executor may die between any two of its deeds, and the next one finds what was done. So one that
//! has met a trouble is dropped like one that has died, with its keepers untouched, and another one
//! begins when the trouble seems to be gone. What is no trouble of the machine ends the run as ever.

use super::pulse::Pulse;
use crate::{
    attendance::Haste,
    bell::Bell,
    error::{EngineError, with_causes},
    execute::{Audience, Executor, Happening, Ring, RunEnd, RunNews, RunOptions, Running, Wish},
    guest::{Attended, Guest, Waits},
    notify,
    project::Project,
    resources::Resources,
};
use std::{cell::RefCell, os::fd::AsFd as _, rc::Rc, sync::Arc, time::Duration};
use waypost_model::{
    next::NextStep,
    notice::{Notice, NoticeKind},
    retry::{FailureClass, Outlook, Policy, Scope},
    run::Active,
    time::Time,
    trouble::Trouble,
};
use waypost_store::{journal::Cursor, reserve};

/// How often a beginning is tried again at once because a git was killed under it.
const BEGINNINGS_MAX: usize = 3;

/// A run and, while it can be worked on, its executor.
pub(super) struct EnduringRun {
    options: RunOptions,
    audience: LentAudience,
    resources: Resources,
    pulse: Arc<Pulse>,
    /// Wakes it while it has no executor.
    bell: Bell,
    course: RunCourse,
}

enum RunCourse {
    Worked(Box<Executor<'static>>),
    Waiting(TroubledWait),
}

/// Why a run has no executor.
struct TroubledWait {
    trouble: Trouble,
    /// The audience was told everything up to here.
    told: Cursor,
    since: Time,
    in_a_row: u32,
    next: Time,
}

impl EnduringRun {
    /// Begins to work on the run. The one who wants that is there to hear what stands against it.
    pub(super) fn begin(
        project: &mut Project,
        options: RunOptions,
        (audience, told): (Box<dyn Audience + Send>, Cursor),
        pulse: Arc<Pulse>,
    ) -> Result<Self, EngineError> {
        let audience = LentAudience(Rc::new(RefCell::new(audience)));
        pulse.speak_through(audience.voice());
        let resources = Resources::of(project);
        reserve::keep(&project.setup.place.state);
        let mut tries = 1;
        let executor = loop {
            let lent = Box::new(audience.clone());
            match Executor::begin(project, options.clone(), (lent, told)) {
                Err(error)
                    if error.trouble() == Some(Trouble::GitDied) && tries < BEGINNINGS_MAX =>
                {
                    tries += 1;
                    project.ledger.forget();
                }
                begun => break begun?,
            }
        };
        let course = RunCourse::Worked(Box::new(executor));
        Ok(Self { options, audience, resources, pulse, bell: Bell::new()?, course })
    }

    /// Lets go of what served it, once it is over.
    pub(super) fn finish(self) -> Result<(), EngineError> {
        self.pulse.is_well();
        match self.course {
            RunCourse::Worked(executor) => executor.finish(),
            RunCourse::Waiting(_) => Ok(()),
        }
    }

    /// Leaves the run to another host.
    pub(super) fn let_go(self) {
        self.pulse.is_well();
        if let RunCourse::Worked(executor) = self.course {
            executor.let_go();
        }
    }

    /// What came of a look after the executor: it goes on, it is over, or it cannot go on now.
    fn judge(
        &mut self,
        project: &mut Project,
        attended: Result<Attended<RunEnd>, EngineError>,
        now: Time,
    ) -> Result<Attended<RunEnd>, EngineError> {
        let error = match attended {
            Ok(Attended::Over(end)) => {
                if end == RunEnd::Stopped {
                    self.tell_stopped(project, "it was asked to end", now);
                }
                return Ok(Attended::Over(end));
            }
            Ok(Attended::GoesOn) => {
                if let RunCourse::Worked(executor) = &self.course {
                    self.pulse.report(executor.trouble());
                }
                return Ok(Attended::GoesOn);
            }
            Err(error) => error,
        };
        match error.trouble().filter(|_| self.resources.is_there()) {
            Some(trouble) => {
                self.wait_for(project, (trouble, &with_causes(&error)), now);
                Ok(Attended::GoesOn)
            }
            None => {
                self.tell_stopped(project, &with_causes(&error), now);
                Err(error)
            }
        }
    }

    /// The executor is given up, and another one is begun later.
    fn wait_for(&mut self, project: &mut Project, (trouble, why): (Trouble, &str), now: Time) {
        let (told, since, in_a_row) = match &self.course {
            RunCourse::Worked(executor) => (executor.told(), now, 1),
            RunCourse::Waiting(wait) => (wait.told, wait.since, wait.in_a_row + 1),
        };
        if in_a_row == 1 {
            self.audience.note(format!("the run waits: {trouble}: {why}"), told);
            self.pulse.say(&format!("the run waits: {trouble}: {why}; it goes on by itself"));
        }
        self.pulse.report(Some(format!("{trouble}: {why}")));
        // What is kept for this moment lets the journal take what is at hand.
        let has_reserve =
            trouble == Trouble::NoSpace && reserve::give_up(&project.setup.place.state);
        let next = if has_reserve { now } else { now.plus(delay(in_a_row)) };
        let wait = TroubledWait { trouble, told, since, in_a_row, next };
        if let RunCourse::Worked(executor) =
            std::mem::replace(&mut self.course, RunCourse::Waiting(wait))
        {
            executor.let_go();
        }
        project.is_hurried = false;
        // What is in memory may be ahead of what was recorded.
        project.ledger.forget();
        let bell = self.bell.clone();
        self.audience.clone().ring_when_wished(Arc::new(move || bell.ring()));
    }

    /// Looks whether the run can be taken up.
    fn try_again(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<RunEnd>, EngineError> {
        self.bell.hear();
        let RunCourse::Waiting(wait) = &mut self.course else { return Ok(Attended::GoesOn) };
        if self.audience.clone().wish() != Wish::GoOn {
            self.tell_stopped(project, "it was asked to end while it waited", now);
            return Ok(Attended::Over(RunEnd::Stopped));
        }
        // A clock that was set back does not keep it waiting.
        if now < wait.next && wait.next.since(now) <= delay(wait.in_a_row) {
            return Ok(Attended::GoesOn);
        }
        let is_clear = match wait.trouble.is_disk() {
            true => self.resources.takes_a_file(),
            false => self.resources.is_clear_of(wait.trouble),
        };
        if !is_clear && self.resources.is_there() {
            wait.in_a_row += 1;
            wait.next = now.plus(delay(wait.in_a_row));
            return Ok(Attended::GoesOn);
        }
        let (told, since) = (wait.told, wait.since);
        let lent = Box::new(self.audience.clone());
        match Executor::begin(project, self.options.clone(), (lent, told)) {
            Ok(executor) => {
                self.course = RunCourse::Worked(Box::new(executor));
                self.pulse.report(None);
                reserve::keep(&project.setup.place.state);
                let seconds = now.since(since).as_secs();
                self.audience.note(format!("the run goes on; it had to wait {seconds} s"), told);
                Ok(Attended::GoesOn)
            }
            Err(error) => self.judge(project, Err(error), now),
        }
    }

    /// A person who is not looking is told that the run stands still.
    fn tell_stopped(&self, project: &mut Project, why: &str, now: Time) {
        if !self.options.waits {
            // It ends before the eyes of the one who started it.
            return;
        }
        let notice = Notice::new(NoticeKind::RunStopped, "the run has stopped", now)
            .text(why)
            .next(NextStep::ResumeRun);
        // What the journal does not take is sent as it is.
        if notify::announce(project, &notice).is_err() {
            self.pulse.tell(notice);
        }
    }
}

fn delay(in_a_row: u32) -> Duration {
    let policy = Policy::of(Scope::Infrastructure);
    match policy.after(in_a_row.saturating_sub(1), FailureClass::Transient, "run") {
        Outlook::Again { delay } => delay,
        Outlook::GiveUp => policy.longest_delay,
    }
}

impl Guest for EnduringRun {
    type End = RunEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        match &self.course {
            RunCourse::Worked(executor) => executor.waits(waits),
            RunCourse::Waiting(wait) => {
                waits.readable(self.bell.as_fd());
                waits.until(wait.next);
            }
        }
    }

    fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<RunEnd>, EngineError> {
        match &mut self.course {
            RunCourse::Worked(executor) => {
                let attended = executor.attend(project, now);
                self.judge(project, attended, now)
            }
            RunCourse::Waiting(_) => self.try_again(project, now),
        }
    }
}

/// The audience of a run, lent to one executor after another.
#[derive(Clone)]
struct LentAudience(Rc<RefCell<Box<dyn Audience + Send>>>);

impl LentAudience {
    /// Tells what is in no journal.
    fn note(&self, text: String, cursor: Cursor) {
        let happening = Happening::Note(text);
        self.0.borrow_mut().tell(&RunNews { happening, cursor });
    }
}

impl Audience for LentAudience {
    fn tell(&mut self, news: &RunNews) {
        self.0.borrow_mut().tell(news);
    }

    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time) {
        self.0.borrow_mut().look(active, running, now);
    }

    fn wish(&mut self) -> Wish {
        self.0.borrow_mut().wish()
    }

    fn end(&mut self, haste: Haste) {
        self.0.borrow_mut().end(haste);
    }

    fn pace(&self) -> Duration {
        self.0.borrow().pace()
    }

    fn ring_when_wished(&mut self, ring: Ring) {
        self.0.borrow_mut().ring_when_wished(ring);
    }

    fn voice(&self) -> Option<crate::execute::Voice> {
        self.0.borrow().voice()
    }
}
