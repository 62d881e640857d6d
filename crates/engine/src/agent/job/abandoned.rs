//! Jobs that a process which was killed has left and that no process will take up: what they were for has come about.

use super::{folder::JobFolder, recorded, stream, tell};
use crate::{
    agent::{Job, Leftovers, Meter, ProcessEnd, clear, end_unseen, leftovers, named},
    error::EngineError,
    project::Project,
};
use waypost_model::job;
use waypost_store::{StoreError, lock::FileLock};

impl Job {
    /// The jobs of this work tree that were begun and are not over, and whose names begin so.
    pub(crate) fn left(project: &mut Project, start: &str) -> Result<Vec<String>, EngineError> {
        let mut found = Vec::new();
        for name in JobFolder::names(project).into_iter().filter(|it| it.starts_with(start)) {
            if Self::is_there(project, &name)? {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// Ends the agent of a job that no process attends, records what it used up, and forgets the job.
    pub(crate) fn give_up(project: &mut Project, name: &str) -> Result<(), EngineError> {
        let folder = JobFolder::of(project, name);
        let busy = || StoreError::Busy { what: format!("the job {name}"), holder: None };
        let _lock = FileLock::try_acquire(&folder.lock())?.ok_or_else(busy)?;
        let stream = stream(project, name);
        let record = recorded(project, &stream)?.begun().cloned().unwrap_or_default();
        let Leftovers { left, .. } = leftovers(&folder.keepers(), None)?;
        let ended = clear(left, &format!("{name}#{}", record.process))?;
        // An agent that the configuration does not have any more cannot be asked what it has used up.
        let agent = named(&project.setup, &record.agent).ok();
        if let Some(agent) = agent.filter(|_| record.is_live(record.process)) {
            let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
            let (log, meter) = (folder.log(record.process), Meter::new(record.counted));
            let meter = end_unseen(agent, &log, meter, end).meter;
            let (usage, counted, process) = (meter.spent(), meter.counted(), record.process);
            tell(project, &stream, job::Command::Account { process, usage, counted })?;
        }
        Self::forget_named(project, name)
    }
}
