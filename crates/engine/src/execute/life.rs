//! The life of an attempt, from its claim to its end: a machine that knows no file and no process.
//!
//! The task's own command or a model agent first, then its verify commands one after another. A
//! shell succeeds by exit code 0, and says `FAIL:ID:REASON` if it has failed all the same; whether
//! an agent has succeeded is for `conclude` to say. In a work tree of the attempt's own, what it did
//! is committed before it is verified and joined to its phase after that; in its phase's tree it is
//! committed when it is verified, and what did not succeed is taken out of the tree again.
//!
//! What an attempt hears that does not belong to its stage is ignored: a report of a child that was
//! given up, or one that comes twice. `tests/snapshots` has the matrix.

use super::{
    Doing, Running, Wish,
    attempt::{Attempt, SETUP, TaskWork},
    conclude::Verdict,
    workplace::Workplace,
};
use waypost_git::{Committed, Join, name_some};
use waypost_model::{
    declared::proves_nothing,
    evidence::Evidence,
    retry::FailureClass,
    run::{Command, Parked},
    time::Time,
};
use waypost_proc::{Ended, How, Refusal};

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its claim is durable, and nothing is done for it yet.
    Claimed,
    /// Its work tree is being made.
    Placing,
    /// The command runs that makes a new work tree ready.
    SettingUp,
    Working,
    /// What it did is being committed.
    Committing,
    /// This verify command runs, from 1.
    Verifying(usize),
    /// It is being joined to its phase.
    Joining,
    /// What it left is being taken out of the work tree that it shared.
    Leaving,
    Over,
}

/// What an attempt hears.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LifeInput {
    /// Its turn has come.
    Turn,
    /// A new engine has found out how far it is.
    Found(Whereabouts),
    /// Its work tree is there.
    Placed {
        is_new: bool,
    },
    /// The machine has no room for it: its disk for the work tree, or its memory for the child.
    NoRoom(Parked),
    /// Its child has ended.
    Ended(Ended),
    /// No child could be had.
    Refused(Refusal),
    /// Its agent has come to an end.
    Concluded(Verdict),
    Committed(Committed),
    Joined(Join),
    /// Git could not do what it was asked for; why.
    GitFailed(String),
    /// The run is to end before git could do what it was asked for.
    GivenUp,
    /// What it left is out of the work tree that it shared.
    Left,
}

/// What a new engine has found of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// Its child runs, or has ended unheard: its command, or so many of its verify commands were
    /// started. With a work tree of its own, what is verified is this commit.
    Runs { verify: usize, commit: Option<String> },
    /// Its agent runs, or has ended unheard.
    WithAgent,
    /// Its work is done and committed, and not verified yet.
    Committed,
    /// It is in its phase's branch by this commit; the other one is what was joined.
    Joined { commit: String, work: Option<String> },
    /// Nothing is known of it.
    Lost,
}

/// What is to be done for an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Its work tree has to be made.
    Place,
    /// Its next child has to be started, with this command.
    Run(String),
    /// A model agent has to be started.
    Engage,
    /// What it did has to be committed.
    Commit,
    /// What it did has to be joined to its phase.
    Join,
    /// What it left has to be taken out of the work tree of its phase; why it is over.
    Leave { why: String },
    /// It is over, and this is to be recorded; nothing, if the task is not at this attempt any more.
    Over(Option<Box<Command>>),
    /// Nothing new has to be done: it waits for what it waited for before.
    Wait,
}

/// What an attempt has to know of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Others {
    pub(super) wish: Wish,
    /// Whether the task is at this attempt.
    pub(super) is_ours: bool,
}

/// An attempt and how far it is.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) attempt: Attempt,
    stage: Stage,
    /// Since when its first process runs.
    since: Option<Time>,
    /// Its agent waits for a person.
    pub(super) is_waiting: bool,
    /// Nothing but a change in its work tree can prove that something was done.
    needs_change: bool,
    /// What is verified and joined, and whether it changes anything, where that is known.
    commit: Option<(String, Option<bool>)>,
    /// How it ended, while what it left is taken out of the work tree that it shared.
    end: Option<Command>,
}

impl Life {
    pub(super) fn new(attempt: Attempt) -> Self {
        Self {
            attempt,
            stage: Stage::Claimed,
            since: None,
            is_waiting: false,
            needs_change: false,
            commit: None,
            end: None,
        }
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes what it hears, and says what is to be done next.
    pub(super) fn step(&mut self, input: LifeInput, around: Others) -> Step {
        use LifeInput as I;
        let step = match (self.stage, input) {
            (Stage::Claimed, I::Turn) => self.begin(),
            (Stage::Claimed, I::Found(found)) => self.found(found),
            (Stage::Placing, I::Placed { is_new }) => self.placed(is_new),
            (Stage::Placing, I::NoRoom(parked)) => self.park(parked),
            (_, I::NoRoom(parked)) if self.has_child() => self.park(parked),
            (Stage::Working, I::Concluded(verdict)) if self.attempt.has_agent() => {
                self.concluded(verdict)
            }
            (_, I::Ended(ended)) if self.has_child() => self.ended(&ended),
            (_, I::Refused(why)) if self.has_child() => self.refused(&why),
            (Stage::Committing, I::Committed(committed)) => self.committed(committed),
            (Stage::Joining, I::Joined(join)) => self.joined(join),
            (Stage::Placing | Stage::Committing | Stage::Joining, I::GitFailed(text)) => {
                self.fail(FailureClass::Transient, &text)
            }
            (Stage::Committing | Stage::Joining, I::GivenUp) => over(self.attempt.interrupt()),
            (Stage::Leaving, I::Left | I::GivenUp | I::GitFailed(_)) => {
                self.stage = Stage::Over;
                return Step::Over(self.end.take().map(Box::new));
            }
            _ => return Step::Wait,
        };
        self.admit(step, around)
    }

    /// Whether a child of the keeper works for it.
    pub(super) fn has_child(&self) -> bool {
        match self.stage {
            Stage::SettingUp | Stage::Verifying(_) => true,
            Stage::Working => !self.attempt.has_agent(),
            _ => false,
        }
    }

    /// Whether a model agent works on it now.
    pub(super) fn is_with_agent(&self) -> bool {
        self.stage == Stage::Working && self.attempt.has_agent()
    }

    /// Whether a model agent works on it, or is about to.
    pub(super) fn wants_agent(&self) -> bool {
        use Stage::{Claimed, Placing, SettingUp, Working};
        self.attempt.has_agent()
            && matches!(self.stage, Claimed | Placing | SettingUp | Working)
            && !self.is_waiting
    }

    /// Whether its work tree is being made.
    pub(super) fn is_placing(&self) -> bool {
        self.stage == Stage::Placing
    }

    /// What git is at work for.
    pub(super) fn git_step(&self) -> Option<Step> {
        match self.stage {
            Stage::Placing => Some(Step::Place),
            Stage::Committing => Some(Step::Commit),
            Stage::Joining => Some(Step::Join),
            Stage::Leaving => Some(Step::Leave { why: why_over(self.end.as_ref()) }),
            Stage::Claimed | Stage::SettingUp | Stage::Working => None,
            Stage::Verifying(_) | Stage::Over => None,
        }
    }

    /// What the keeper calls its present child.
    pub(super) fn child(&self) -> Option<String> {
        let name = self.attempt.name();
        self.has_child().then(|| match self.stage {
            Stage::SettingUp => format!("{name}/{SETUP}"),
            Stage::Verifying(step) => format!("{name}/{step}"),
            _ => name,
        })
    }

    /// Whether a process works for it, perhaps with git of its own.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.stage, Stage::SettingUp | Stage::Working | Stage::Verifying(_))
    }

    /// How it is being worked on; none while it waits for a slot.
    pub(super) fn running(&self) -> Option<Running<'_>> {
        Some(Running {
            id: &self.attempt.id,
            attempt: self.attempt.number,
            since: self.since?,
            doing: match self.stage {
                Stage::Claimed | Stage::Placing | Stage::SettingUp => Doing::Preparing,
                Stage::Working => Doing::Working,
                Stage::Verifying(_) => Doing::Verifying,
                Stage::Committing | Stage::Joining | Stage::Leaving | Stage::Over => Doing::Joining,
            },
            agent: None,
        })
    }

    /// Whether a process of it has run.
    pub(super) fn has_started(&self) -> bool {
        self.since.is_some()
    }

    /// Its process runs. Says whether that is the first one of the attempt.
    pub(super) fn started(&mut self, now: Time) -> bool {
        let is_first = self.since.is_none();
        self.since.get_or_insert(now);
        is_first
    }

    pub(super) fn needs_change(&self) -> bool {
        self.needs_change
    }

    /// What is verified and joined.
    pub(super) fn commit(&self) -> Option<&str> {
        self.commit.as_ref().map(|(commit, _)| commit.as_str())
    }

    /// What stands behind it once all verify commands have passed.
    pub(super) fn evidence(&self) -> Evidence {
        match self.attempt.verify.is_empty() {
            true => Evidence::Unverified,
            false => Evidence::Check {
                command: self.attempt.verify.join(" && "),
                tree: self.commit().map(str::to_owned),
            },
        }
    }

    /// Lets a step through unless a person wants otherwise, or the attempt has been taken away: what
    /// is not begun needs a run that goes on, what is under way one that is not to stop at once.
    fn admit(&mut self, step: Step, around: Others) -> Step {
        let is_new = matches!(self.stage, Stage::Placing | Stage::SettingUp | Stage::Working);
        let is_wanted = match (&step, around.wish) {
            (_, Wish::GoOn) | (Step::Over(_), _) => true,
            // What was found at work is stopped like everything else, by its own end.
            (Step::Wait, _) => true,
            (_, Wish::Finish) => !is_new,
            (_, Wish::Stop) => false,
        };
        match step {
            Step::Over(end) if around.is_ours || is_done(end.as_deref()) => {
                self.end(end.map(|end| *end))
            }
            Step::Wait if around.is_ours => Step::Wait,
            _ if !around.is_ours => self.end(None),
            _ if !is_wanted => self.end(Some(self.attempt.interrupt())),
            step => step,
        }
    }

    /// It has come to an end. What it left in a work tree that it shares is taken out of it first,
    /// unless it is committed: the end is recorded when that is done.
    fn end(&mut self, end: Option<Command>) -> Step {
        let is_placed = !matches!(self.stage, Stage::Claimed | Stage::Placing);
        let is_shared = matches!(self.attempt.workplace, Workplace::PhaseTree { .. });
        if is_done(end.as_ref()) || !is_placed || !is_shared {
            self.stage = Stage::Over;
            return Step::Over(end.map(Box::new));
        }
        let why = why_over(end.as_ref());
        self.stage = Stage::Leaving;
        self.end = end;
        Step::Leave { why }
    }

    fn begin(&mut self) -> Step {
        match (&self.attempt.workplace, &self.attempt.work) {
            (Workplace::Project, _) | (_, TaskWork::Nobody(_)) => self.begin_work(),
            (Workplace::PhaseTree { .. } | Workplace::OwnTree { .. }, _) => {
                self.stage = Stage::Placing;
                Step::Place
            }
        }
    }

    fn found(&mut self, found: Whereabouts) -> Step {
        // Whatever it did before counts as work until it is known to be more.
        self.stage = Stage::Working;
        let is_own = self.attempt.workplace.own().is_some();
        let is_apart = self.attempt.workplace != Workplace::Project;
        match found {
            Whereabouts::Runs { verify, commit } => {
                match verify.min(self.attempt.verify.len()) {
                    // What runs is a command, whatever the plan says by now.
                    0 if !self.has_child() => self.attempt.work = TaskWork::Command(String::new()),
                    0 => {}
                    verify => {
                        self.stage = Stage::Verifying(verify);
                        self.commit = commit.filter(|_| is_own).map(|commit| (commit, None));
                    }
                }
                Step::Wait
            }
            Whereabouts::WithAgent if self.attempt.has_agent() => Step::Wait,
            Whereabouts::Committed if is_own => {
                self.stage = Stage::Committing;
                Step::Commit
            }
            Whereabouts::Joined { commit, work } if is_apart => {
                self.commit = work.map(|work| (work, Some(true)));
                self.done(Some(commit))
            }
            _ => over(self.attempt.interrupt()),
        }
    }

    /// Its work tree is there; a new one may have to be made ready by the project's own command.
    fn placed(&mut self, is_new: bool) -> Step {
        match self.attempt.site.setup.clone().filter(|_| is_new) {
            Some(setup) => {
                self.stage = Stage::SettingUp;
                Step::Run(setup)
            }
            None => self.begin_work(),
        }
    }

    fn begin_work(&mut self) -> Step {
        self.stage = Stage::Working;
        match &self.attempt.work {
            TaskWork::Command(command) => Step::Run(command.clone()),
            TaskWork::Agent(_) => Step::Engage,
            TaskWork::Nobody(why) => {
                // Nothing was done for it, so nothing can be left of it.
                self.stage = Stage::Claimed;
                self.fail(FailureClass::Structural, why)
            }
        }
    }

    /// What the end of a child means.
    fn ended(&mut self, ended: &Ended) -> Step {
        let is_setup = self.stage == Stage::SettingUp;
        if let Some(reason) = self.attempt.own_failure(ended).filter(|_| !is_setup) {
            return self.fail(FailureClass::Transient, &reason);
        }
        let (what, class) = match self.stage {
            Stage::Verifying(step) => {
                let command = &self.attempt.verify[step - 1];
                (format!("`{command}` did not pass: "), FailureClass::Validation)
            }
            Stage::SettingUp => {
                ("its work tree could not be set up: ".to_owned(), FailureClass::Transient)
            }
            _ => (String::new(), FailureClass::Transient),
        };
        match ended.how {
            How::Exited(0) if is_setup => self.begin_work(),
            How::Exited(0) => self.next(),
            How::Stopped => over(self.attempt.interrupt()),
            _ => {
                let failure = self.attempt.child_failure(&what, class, ended);
                over(self.attempt.fail_with(failure))
            }
        }
    }

    /// What it means that no process could be had.
    fn refused(&self, why: &Refusal) -> Step {
        match why {
            Refusal::Busy { .. } | Refusal::Withdrawn => over(self.attempt.interrupt()),
            Refusal::Impossible { detail } => self.fail(FailureClass::Structural, detail),
        }
    }

    fn concluded(&mut self, verdict: Verdict) -> Step {
        self.is_waiting = false;
        match verdict {
            Verdict::Done { needs_change } => {
                self.needs_change = needs_change;
                self.next()
            }
            Verdict::Failed(failure) => over(self.attempt.fail_with(failure)),
            Verdict::Interrupted => over(self.attempt.interrupt()),
            Verdict::Parked(parked) => self.park(parked),
        }
    }

    /// What comes after the work, or after a verify command that has passed.
    fn next(&mut self) -> Step {
        let is_own = self.attempt.workplace.own().is_some();
        if is_own && self.commit.is_none() {
            self.stage = Stage::Committing;
            return Step::Commit;
        }
        let verified = match self.stage {
            Stage::Verifying(step) => step,
            _ => 0,
        };
        // In its phase's tree it is committed when everything has passed.
        let is_shared_commit = self.stage == Stage::Committing && !is_own;
        let next = self.attempt.verify.get(verified).filter(|_| !is_shared_commit);
        if let Some(command) = next.cloned() {
            self.stage = Stage::Verifying(verified + 1);
            return Step::Run(command);
        }
        match (&self.attempt.workplace, &self.commit) {
            (Workplace::PhaseTree { .. }, None) => {
                self.stage = Stage::Committing;
                Step::Commit
            }
            // Nothing was changed, so there is nothing to join.
            (Workplace::OwnTree { .. }, Some((_, changed))) if *changed != Some(false) => {
                self.stage = Stage::Joining;
                Step::Join
            }
            (Workplace::PhaseTree { .. }, Some((commit, Some(true)))) => {
                self.done(Some(commit.clone()))
            }
            _ => self.done(None),
        }
    }

    /// What it did is committed, or cannot be.
    fn committed(&mut self, committed: Committed) -> Step {
        match committed {
            Committed::At { commit, changed, ignored } => {
                let task = (self.attempt.id.as_str(), &*self.attempt.files);
                if let Some(why) = proves_nothing(task, self.needs_change, &changed) {
                    let told = ignored.told().map(|told| format!("; {told}")).unwrap_or_default();
                    return self.fail(FailureClass::Validation, &format!("{why}{told}"));
                }
                self.commit = Some((commit, Some(!changed.is_empty())));
                self.next()
            }
            Committed::Gone => self.fail(FailureClass::Transient, "its work tree was removed"),
            Committed::Astray(why) => self.fail(FailureClass::Transient, &why),
        }
    }

    /// It is joined to its phase, or cannot be.
    fn joined(&self, join: Join) -> Step {
        let text = match join {
            Join::Done { commit } => return self.done(Some(commit)),
            Join::Nothing => return self.done(None),
            Join::Conflict { files } => format!(
                "it conflicts with what was joined meanwhile, in {}; it is done again on top of \
                 that",
                name_some(&files)
            ),
            Join::Unclean { files } => format!(
                "its verification has changed files that are committed: {}",
                name_some(&files)
            ),
        };
        self.fail(FailureClass::Validation, &text)
    }

    /// Its work is proven, and where it has a work tree of its own it is joined by this commit.
    fn done(&self, commit: Option<String>) -> Step {
        let (id, attempt) = (self.attempt.id.clone(), Some(self.attempt.number));
        over(Command::Done { id, attempt, evidence: self.evidence(), commit })
    }

    fn fail(&self, class: FailureClass, text: &str) -> Step {
        over(self.attempt.fail(class, text))
    }

    fn park(&self, parked: Parked) -> Step {
        let (id, attempt) = (self.attempt.id.clone(), self.attempt.number);
        over(Command::Park { id, attempt, parked })
    }
}

/// It is over, and this is to be recorded.
fn over(end: Command) -> Step {
    Step::Over(Some(Box::new(end)))
}

/// Why an attempt is over.
fn why_over(end: Option<&Command>) -> String {
    match end {
        Some(Command::Fail { failure, .. }) => failure.text.clone(),
        Some(Command::Park { parked, .. }) => parked.why.clone(),
        _ => "it was interrupted".to_owned(),
    }
}

fn is_done(end: Option<&Command>) -> bool {
    matches!(end, Some(Command::Done { .. }))
}

#[cfg(test)]
mod tests;
