//! The validation of a checkpoint, in a thread of its own: its agent's neighbours go on meanwhile.

use super::brief::Failed;
use crate::{
    check::{Check, CheckEnder, CheckResult},
    children::Children,
    error::EngineError,
    evidence,
    guest::Waits,
    project::Project,
    threaded::Threaded,
};
use rustix::process::Signal;
use std::{io, time::Duration};
use waypost_model::{evidence::Evidence, id::CheckpointId, time::Time, workflow::Validation};

/// How much of what a validation prints is kept.
const OUTPUT_KEPT_MAX: usize = 64 << 10;

/// How long a validation that is stopped has to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// What a validation shows: that the checkpoint holds, or how it does not.
pub(super) type Shown = Result<Evidence, Failed>;

/// A validation under way.
pub(super) struct Validating {
    /// None: there is nothing to run.
    running: Option<RunningValidation>,
}

struct RunningValidation {
    validation: Validation,
    done: Threaded<(Result<CheckResult, EngineError>, Tail)>,
    ender: CheckEnder,
    /// When it was asked to end.
    halted_at: Option<Time>,
}

/// What became of a validation.
pub(super) enum Validated {
    NotYet,
    /// It was stopped: it shows nothing.
    Halted,
    Shown(Shown),
}

impl Validating {
    /// Runs the validation, where the contract has one. Nothing is recorded.
    pub(super) fn begin(project: &mut Project, id: &CheckpointId) -> Result<Self, EngineError> {
        let Some(validation) = evidence::validation_of(project, id)? else {
            return Ok(Self { running: None });
        };
        let children = Children::of(project)?;
        let (check, ender) = Check::start_in_group(&children, &validation.command, project.root())?;
        let done = Threaded::begin(move || {
            let mut output = Tail::default();
            (check.finish(&mut output), output)
        })?;
        Ok(Self { running: Some(RunningValidation { validation, done, ender, halted_at: None }) })
    }

    /// Asks it to end, and ends it when it has had time for that.
    pub(super) fn halt(&mut self, now: Time) {
        let Some(running) = &mut self.running else { return };
        let signal = match running.halted_at {
            None => Signal::TERM,
            Some(since) if now.since(since) >= GRACE => Signal::KILL,
            Some(_) => return,
        };
        running.halted_at.get_or_insert(now);
        running.ender.signal(signal);
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        let Some(running) = &self.running else { return };
        running.done.waits(waits);
        running.halted_at.into_iter().for_each(|since| waits.until(since.plus(GRACE)));
    }

    /// What became of it.
    pub(super) fn take(&mut self) -> Result<Validated, EngineError> {
        let Some(running) = &mut self.running else {
            return Ok(Validated::Shown(Ok(Evidence::Claimed)));
        };
        let Some((ended, output)) = running.done.take()? else { return Ok(Validated::NotYet) };
        if running.halted_at.is_some() {
            return Ok(Validated::Halted);
        }
        Ok(Validated::Shown(match evidence::judge_validation(&running.validation, ended?) {
            Ok(evidence) => Ok(evidence),
            Err(EngineError::CheckFailed { outcome, .. }) => {
                Err(Failed::new(outcome, &output.bytes))
            }
            Err(error) => return Err(error),
        }))
    }
}

/// The end of what a validation prints.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
}

impl io::Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(OUTPUT_KEPT_MAX);
        self.bytes.drain(..surplus);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
