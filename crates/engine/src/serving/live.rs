//! What is known of a task's agent that is not recorded: from its stream, so it is the same whether a host
//! lives or not.

use super::folder::TaskFolder;
use crate::{
    agent::{self, Meter, heard_in, stream_path},
    project::Project,
};
use std::path::{Path, PathBuf};
use waypost_model::{
    document::server::ServerTaskStatus,
    run::Usage,
    task::{LiveAgent, TaskFile},
    time::Time,
};
use waypost_store::file;

/// What the attempt at work has used up, and when it last said something.
pub fn live_agent(project: &Project, file: &TaskFile) -> (LiveAgent, Usage) {
    let interval = project.configuration().values.task.checkpoint_interval();
    let live = LiveAgent {
        checkpoint_interval_ms: u64::try_from(interval.as_millis()).unwrap_or(0),
        ..LiveAgent::default()
    };
    let number = file.attempt_number();
    let is_accounted = file.trail.accounted >= number;
    let Some(attempt) = file.live_attempt().filter(|_| !is_accounted) else {
        return (live, Usage::default());
    };
    // Of one that is not configured any more nothing can be read.
    let Ok(agent) = agent::named(&project.setup, &attempt.plan.agent) else {
        return (live, Usage::default());
    };
    let log = TaskFolder::of(&project.setup, &file.id).log(number);
    let counted = file.trail.conversation.as_ref().map(|it| it.counted).unwrap_or_default();
    let mut meter = Meter::new(counted);
    meter.read(&heard_in(&log, agent.adapter).tally, &agent);
    let usage = meter.spent();
    let heard = written_at(&stream_path(&log, agent.adapter));
    (LiveAgent { tokens: usage.tokens(), heard, ..live }, usage)
}

/// How much the agent of the newest attempt has said, in bytes of its stream.
pub(super) fn said_to(project: &Project, file: &TaskFile) -> u64 {
    let agent = file.attempt.as_ref().map(|it| agent::named(&project.setup, &it.plan.agent));
    let Some(Ok(agent)) = agent else { return 0 };
    let log = TaskFolder::of(&project.setup, &file.id).log(file.attempt_number());
    let mark = file::Mark::of(&stream_path(&log, agent.adapter)).ok().flatten();
    mark.map_or(0, |mark| mark.size)
}

/// When something was last written to a file.
fn written_at(path: &Path) -> Option<Time> {
    let mark = file::Mark::of(path).ok()??;
    Some(Time::from_millis(i64::try_from(mark.mtime_ns / 1_000_000).ok()?))
}

/// Where what the last agent of a failed task wrote is kept: beside its answers, else these. None where it had no agent, or
/// where that was deleted with age.
pub fn error_log(project: &Project, file: &TaskFile) -> Option<PathBuf> {
    let has_failed = file.status == ServerTaskStatus::Failed;
    let attempt = Some(file.attempt_number()).filter(|number| has_failed && *number > 0)?;
    let log = TaskFolder::of(&project.setup, &file.id).log(attempt);
    // One that wrote nothing beside its answers has those.
    let agent = file.attempt.as_ref().map(|it| agent::named(&project.setup, &it.plan.agent));
    let stream = agent.and_then(Result::ok).map(|agent| stream_path(&log, agent.adapter));
    [Some(log), stream].into_iter().flatten().find(|path| path.is_file())
}
