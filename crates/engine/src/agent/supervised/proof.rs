//! Whether an agent was asked about everything that it does: each tool call in its stream that came to
//! a result has a verdict of the hook's, which was written down before the call was made.
//!
//! A call without a result proves nothing yet: its program may not have come to it. What is asked of
//! programs without a hook is told by their requests alone (`CallGuard`).

use super::{AgentEnd, Halt};
use crate::{agent::Agent, error::EngineError, project::Project, verdicts};
use waypost_agent::CallGuard;
use waypost_model::text::one_line;

/// How much of a call is told.
const CALL_LENGTH_MAX: usize = 160;

/// A tool call that came to a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MadeCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// Its gist, in one line.
    pub(crate) input: String,
}

impl MadeCall {
    /// Why an attempt is stopped that has made it.
    fn told(&self) -> String {
        let call = one_line(format!("{} {}", self.tool, self.input).trim(), CALL_LENGTH_MAX);
        format!("the hook was not asked about a tool call that was made: {call}")
    }
}

/// Whether the hook has to be asked about everything that an agent does.
fn is_hooked(agent: &Agent) -> bool {
    agent.adapter.call_guard() == CallGuard::Hook
}

/// Why an agent that has made these calls has to be stopped; none: all of them were allowed or refused.
pub(super) fn unproven(
    project: &mut Project,
    agent: &Agent,
    made: &[MadeCall],
) -> Result<Option<String>, EngineError> {
    let guarded =
        made.iter().filter(|call| is_hooked(agent) && agent.adapter.is_guarded(&call.tool));
    let guarded: Vec<&MadeCall> = guarded.collect();
    let missing = verdicts::unjudged(project, guarded.iter().map(|call| call.id.as_str()))?;
    let found = guarded.into_iter().find(|call| missing.contains(&call.id));
    Ok(found.map(MadeCall::told))
}

/// Judges a process that no engine saw end by what its stream says.
pub(crate) fn prove_unseen(project: &mut Project, ended: &mut AgentEnd) -> Result<(), EngineError> {
    let made = std::mem::take(&mut ended.heard.made);
    if let Some(why) = unproven(project, &ended.agent, &made)? {
        (ended.halt, ended.unproven) = (Some(Halt::Unproven), Some(why));
    }
    Ok(())
}
