//! An agent under supervision: started, heard, spoken with, held to what it may use up, taken over
//! from an engine that died, and ended. The same for a task of a run, a review, a checkpoint.
//!
//! `supervision` decides and does nothing, `process` does and decides nothing; here they are put
//! together. What an agent's words mean for its work is decided by those who gave it.

mod dialogue;
mod ending;
mod lease;
mod process;
mod proof;
mod supervision;
#[cfg(test)]
mod tests;

use super::{Agent, Meter};
use crate::{error::EngineError, guest::Waits, project::Project};
pub(crate) use dialogue::Told;
pub(crate) use ending::{AgentEnd, Circumstances, Halt, ProcessEnd, Purse, Trouble, out_of_money};
use process::{AgentProcess, heard_until};
pub(crate) use process::{
    Call, Remains, Stream, agents_folder, bury, end_child, heard_in, inherited, stream_path,
};
pub(crate) use proof::{MadeCall, prove_unseen};
use std::{ffi::OsString, os::fd::AsFd as _, path::Path};
pub(crate) use supervision::{Bounds, Supervision};
use waypost_agent::{Adapter, stream::Why};
use waypost_model::time::Time;
use waypost_proc::{How, Keeper, Report};

/// An agent's process, and what is known and decided of it.
#[derive(Debug)]
pub(crate) struct Supervised {
    process: AgentProcess,
    pub(crate) life: Supervision,
}

/// What an agent has used up and may still use up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowance {
    /// Counts from what its conversation has used up before.
    pub(crate) meter: Meter,
    pub(crate) bounds: Bounds,
    /// What it may spend of a purse that it shares; none: no limit.
    pub(crate) share: Option<u64>,
}

/// An agent that works already, as the one who takes it over knows it.
#[derive(Debug)]
pub(crate) struct Adoption<'a> {
    /// What its keeper calls it.
    pub(crate) id: String,
    pub(crate) agent: Agent,
    pub(crate) log: &'a Path,
    pub(crate) told: Told,
    /// Since when its time counts.
    pub(crate) since: Time,
}

impl Supervised {
    /// Starts an agent under a keeper of its own in `folder`; whether that worked is heard later.
    pub(crate) fn start(
        folder: &Path,
        keeper: &[OsString],
        call: Call<'_>,
        allowance: Allowance,
        now: Time,
    ) -> Result<Self, EngineError> {
        let agent = call.agent.clone();
        let Allowance { meter, bounds, share } = allowance;
        let lease = bounds.first_lease(share);
        let (process, dialogue) = AgentProcess::start(folder, keeper, call, lease)?;
        let mut life = Supervision::new(agent, dialogue, meter, bounds, (now, now));
        life.set_share(share);
        life.is_leased(now);
        Ok(Self { process, life })
    }

    /// Takes over an agent that another engine started; its keeper has told `reports` already.
    pub(crate) fn adopt(
        keeper: (Keeper, Vec<Report>),
        known: Adoption<'_>,
        allowance: Allowance,
        now: Time,
    ) -> Result<Self, EngineError> {
        let Adoption { id, agent, log, told, since } = known;
        let said_in = (log, agent.adapter);
        let (process, dialogue) = AgentProcess::adopt(id, keeper, said_in, told)?;
        let Allowance { meter, bounds, share } = allowance;
        let mut life = Supervision::new(agent, dialogue, meter, bounds, (since, now));
        life.set_share(share);
        life.is_taken_over();
        Ok(Self { process, life })
    }

    /// Hears what is new. Says whether there was anything.
    pub(crate) fn look(&mut self, now: Time) -> Result<bool, EngineError> {
        if self.life.is_over() {
            return Ok(false);
        }
        let has_settled = self.life.settle(now);
        if !self.process.has_news()? {
            return Ok(has_settled);
        }
        let end = self.process.end().cloned();
        // One that floods leaves time for the others, until it has ended.
        loop {
            let Some(bytes) = self.process.read()? else { return Ok(false) };
            if !bytes.is_empty() {
                self.life.hear(&bytes, now);
            }
            if bytes.is_empty() || end.is_none() {
                break;
            }
        }
        if let Some(end) = end {
            self.life.ended(end);
        }
        self.perform()?;
        Ok(true)
    }

    /// Stops it if it has done something that Waypost was not asked about.
    pub(crate) fn prove(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let made = self.life.take_made();
        if made.is_empty() {
            return Ok(());
        }
        if let Some(why) = proof::unproven(project, &self.life.agent, &made)? {
            self.life.expose(why);
            self.perform()?;
        }
        Ok(())
    }

    /// Ends it if it has used up what it may, and does what was decided.
    pub(crate) fn attend(&mut self, now: Time) -> Result<(), EngineError> {
        self.life.keep_bounds(now);
        self.perform()
    }

    /// Renews its lease, if that is due.
    pub(crate) fn renew(&mut self, now: Time) -> Result<(), EngineError> {
        self.life.renew(now);
        self.perform()
    }

    /// Does to its process what was decided.
    pub(crate) fn perform(&mut self) -> Result<(), EngineError> {
        self.life.take_acts().into_iter().try_for_each(|act| self.process.perform(act))
    }

    /// What wakes the one who looks after it.
    pub(crate) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        waits.readable(self.process.as_fd());
        if self.process.has_more() {
            waits.until(Time::default());
        }
        if let Some(due) = self.life.due() {
            waits.until(due);
        }
    }

    /// Takes leave of it once it is over: how it ended, and what is left of it.
    pub(crate) fn close(self) -> Result<(AgentEnd, Remains), EngineError> {
        let adapter = self.life.agent.adapter;
        let stream = self.process.stream().to_owned();
        let (end, remains) = self.process.close()?;
        let is_cut = is_cut(&stream, adapter, &end);
        Ok((AgentEnd { is_cut, ..self.life.close(end) }, remains))
    }
}

/// How an agent ended that no engine saw end: by what its stream says.
pub(crate) fn end_unseen(agent: Agent, log: &Path, mut meter: Meter, end: ProcessEnd) -> AgentEnd {
    let heard = heard_in(log, agent.adapter);
    meter.read(&heard.tally, &agent);
    let is_cut = is_cut(&stream_path(log, agent.adapter), agent.adapter, &end);
    AgentEnd { agent, heard, meter, end, halt: None, unproven: None, is_cut, held: None }
}

/// Whether a process was in the middle of a turn when its keeper stopped it. One that had ended its
/// turn by then waited for a word that no engine said.
fn is_cut(stream: &Path, adapter: Adapter, end: &ProcessEnd) -> bool {
    let ProcessEnd::Ended(ended) = end else { return false };
    let is_by_keeper = ended.lapsed || matches!(ended.how, How::TimedOut | How::Stalled);
    ended.stopped_at.filter(|_| is_by_keeper).is_some_and(|size| {
        let heard = heard_until(stream, adapter, size);
        heard.end.is_none_or(|end| end.why == Why::Cut)
    })
}
