//! All runs of a repository: the list of them, and how an earlier one was left.
//!
//! Each run begins with an event of its own in the one stream of the run. A snapshot only holds
//! the present one, so an earlier one is read from the events, up to the next beginning.

use crate::{
    error::EngineError,
    ledger::{decode, run_stream},
    project::Project,
};
use waypost_model::{
    code::Code,
    machine::{Machine as _, Rejected},
    next::NextStep,
    run::{Event, Run, RunBrief},
};
use waypost_store::StoreError;

/// Every run of this repository, the first first.
pub fn list(project: &mut Project) -> Result<Vec<RunBrief>, EngineError> {
    Ok(project.run()?.active().map(|active| active.runs().collect()).unwrap_or_default())
}

/// The run of this number as it is, or as it was when the next one began.
pub fn find(project: &mut Project, number: u32) -> Result<Run, EngineError> {
    let last = project.run()?.active().map_or(0, |active| active.number());
    let Some(journal) = project.journal.as_mut().filter(|_| (1..=last).contains(&number)) else {
        let message = match last {
            0 => "no run has begun".to_owned(),
            1 => format!("there is no run {number}; there is run 1 only"),
            _ => format!("there is no run {number}; there are runs 1 to {last}"),
        };
        return Err(Rejected::unknown(Code::RunUnknown, message).next(NextStep::ListRuns).into());
    };
    let (mut run, mut is_past) = (Run::none(), false);
    journal.view()?.for_each_event(&run_stream(), 0, |entry| -> Result<(), StoreError> {
        if is_past {
            return Ok(());
        }
        let event: Event = decode::<Run>(&entry)?;
        let is_at = run.active().is_some_and(|active| active.number() == number);
        is_past = is_at && matches!(event, Event::Begun { .. });
        if !is_past {
            run.apply(&event, entry.at);
        }
        Ok(())
    })?;
    Ok(run)
}
