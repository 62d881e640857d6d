//! Checkpoints of a task: the workspace's content as a commit, taken in a thread of its own, and then the
//! record. The commit is there before the record names it; one that no record names is written over by
//! the next.

use super::{live::said_to, workspaces::workspace_of};
use crate::{error::EngineError, guest::Waits, project::Project, threaded::Threaded};
use std::{path::Path, sync::Arc};
use waypost_git::{
    GitError,
    workspace::{ASIDE, KeepOrder, Kept, Workspace},
};
use waypost_model::{
    document::server::{AgentStatus, ServerTaskStatus},
    task::{CheckpointReason, CheckpointTaken, Command, TaskFile},
    time::Time,
};

/// A larger file is no source and no document; it is left out, and that is said.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// What goes beyond this in one checkpoint is left out, and that is said.
const SIZE_MAX: u64 = 1 << 30;

/// How many paths are named that were left out.
const NAMED_MAX: usize = 10;

/// Why something was put aside.
const ASIDE_WHY: &str = "a tool call went past the hook";

/// Why what a restored checkpoint takes the place of is kept.
const REPLACED_WHY: &str = "another checkpoint was put in its place";

/// Whether a file holds something that must not be kept.
pub(super) type IsSecret = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// A checkpoint that is being taken.
#[derive(Debug)]
pub(super) struct Keeping {
    reason: CheckpointReason,
    deliverables: Vec<String>,
    said_to: u64,
    done: Threaded<Result<Kept, GitError>>,
}

impl Keeping {
    pub(super) fn begin(
        project: &Project,
        file: &TaskFile,
        reason: CheckpointReason,
        (deliverables, is_secret): (Vec<String>, Option<IsSecret>),
    ) -> Result<Option<Self>, EngineError> {
        let Some(planned) = &file.workspace else { return Ok(None) };
        let said_to = said_to(project, file);
        let workspace = workspace_of(&project.setup, &file.id, planned);
        let name = reference_name(file.checkpoint_count + 1);
        let kept: Vec<String> = file.checkpoints.iter().map(|it| reference_name(it.id)).collect();
        let now = project.clock.now();
        let done = Threaded::begin(move || {
            // What was pruned from the record goes here, and not before the record is durable.
            let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
            let _stays_longer = workspace.forget_others(&kept);
            keep(&workspace, (&name, reason.as_str()), is_secret.as_deref(), now)
        })?;
        Ok(Some(Self { reason, deliverables, said_to, done }))
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.done.waits(waits);
    }

    /// The record, once the content is kept. Where that failed, the record says why.
    pub(super) fn take(&mut self) -> Result<Option<Command>, EngineError> {
        let Some(done) = self.done.take()? else { return Ok(None) };
        let (commit, note) = match done {
            Ok(kept) => (Some(kept.commit.clone()), omitted(&kept)),
            Err(error) => (None, format!("the workspace could not be kept: {error}")),
        };
        let (reason, deliverables) = (self.reason, std::mem::take(&mut self.deliverables));
        Ok(Some(Command::Checkpoint {
            taken: CheckpointTaken { reason, commit, deliverables, said_to: self.said_to, note },
        }))
    }
}

/// How the ref of a checkpoint is called.
pub(super) fn reference_name(id: u32) -> String {
    id.to_string()
}

fn keep(
    workspace: &Workspace,
    (name, why): (&str, &str),
    is_secret: Option<&(dyn Fn(&Path) -> bool + Send + Sync)>,
    at: Time,
) -> Result<Kept, GitError> {
    let is_secret = is_secret.map(|it| it as &dyn Fn(&Path) -> bool);
    let order =
        KeepOrder { name, why, at, file_size_max: FILE_SIZE_MAX, size_max: SIZE_MAX, is_secret };
    workspace.keep(&order)
}

/// Keeps what an attempt left that went past the hook, under a ref that no pruning takes away. Says which.
pub(super) fn keep_aside(
    workspace: &Workspace,
    attempt: u32,
    is_secret: Option<&(dyn Fn(&Path) -> bool + Send + Sync)>,
    at: Time,
) -> Result<String, GitError> {
    let name = format!("{ASIDE}{attempt}");
    keep(workspace, (&name, ASIDE_WHY), is_secret, at)?;
    workspace.reference(&name)
}

/// Keeps what a person has another checkpoint put in the place of, in the same way.
pub(super) fn keep_replaced(
    workspace: &Workspace,
    is_secret: Option<&(dyn Fn(&Path) -> bool + Send + Sync)>,
    at: Time,
) -> Result<(), GitError> {
    let name = format!("{ASIDE}before-restore-{}", at.millis());
    keep(workspace, (&name, REPLACED_WHY), is_secret, at).map(drop)
}

/// What a person should know of what was left out.
fn omitted(kept: &Kept) -> String {
    let mut named: Vec<String> = kept
        .omitted
        .iter()
        .take(NAMED_MAX)
        .map(|it| format!("{} is left out: {}", it.path, it.why.told()))
        .collect();
    let more = kept.omitted.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join("; ")
}

/// What a checkpoint was last taken for: another one is due when this has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    status: ServerTaskStatus,
    agent: AgentStatus,
    attempt: u32,
    claims: u32,
    messages: u32,
    restarts: u32,
}

impl Moment {
    pub(super) fn of(file: &TaskFile) -> Self {
        Self {
            status: file.status,
            agent: file.agent,
            attempt: file.attempt_number(),
            claims: file.claim_count,
            messages: file.message_count,
            restarts: file.restarts,
        }
    }
}

/// The checkpoint that belongs to how a task stands. Derived from the state, so that one which a crash
/// has prevented is taken by the next engine.
pub(super) fn belonging(file: &TaskFile) -> Option<CheckpointReason> {
    use CheckpointReason as R;
    file.workspace.as_ref()?;
    if file.restoring.is_some() {
        // It is about to be put back to another one.
        return None;
    }
    let has_broken_off = file.restarts > 0 && file.live_attempt().is_none();
    Some(match (file.status, file.agent) {
        (ServerTaskStatus::Completed, _) => R::Completed,
        (ServerTaskStatus::Failed, _) if file.is_cancelled() => R::Cancelled,
        (ServerTaskStatus::Failed, _) => R::Failed,
        (_, AgentStatus::WaitingReview) if file.unverified().is_some() => R::PhaseComplete,
        (_, AgentStatus::WaitingDependency) => R::Dependency,
        (_, AgentStatus::WaitingQuestion) => R::Question,
        // What an attempt left that was stopped is no place to go on from.
        (_, AgentStatus::Paused) if file.is_quarantined() => return None,
        // Its workspace is as it was, or is not there.
        (_, AgentStatus::Paused) if file.hindrance().is_some() => return None,
        (_, AgentStatus::Paused) if file.pauses.person.is_some() => R::UserPause,
        (_, AgentStatus::Paused) => R::RateLimit,
        (_, AgentStatus::Running) if has_broken_off => R::Error,
        _ => return None,
    })
}

/// Whether the newest checkpoint is the one that belongs to how a task stands.
pub(super) fn is_kept(file: &TaskFile, reason: CheckpointReason) -> bool {
    file.checkpoints.last().is_some_and(|it| {
        it.taken.reason == reason && it.task == file.status && it.agent == file.agent
    })
}
