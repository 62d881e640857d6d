//! Next steps as command lines, and the sentence that an agent gets with one.
//!
//! `cli` spells them the same way for people, and tries every line with its own parser. Words in
//! capitals stand for what only the reader knows; brackets for what may be left out.

use waypost_guard::Refusal;
use waypost_model::{inbox::ReplyVerb, next::NextStep};

/// A refusal as one sentence for an agent: what is refused, and what leads on.
pub fn told(refusal: &Refusal) -> String {
    match &refusal.next {
        Some(step) => format!("{}; next: {}", refusal.message, advice(step)),
        None => refusal.message.clone(),
    }
}

/// A step in the middle of a sentence; what is reserved for a person is handed on to one.
pub fn advice(step: &NextStep) -> String {
    let who = if step.is_reserved() { "a person runs " } else { "" };
    format!("{who}`{}`", command_line(step))
}

/// A step as it is typed in a shell.
#[expect(clippy::too_many_lines, reason = "one row for each step, all before the compiler's eyes")]
pub fn command_line(step: &NextStep) -> String {
    use NextStep as S;
    let fixed = |words: &str| words.to_owned();
    let words = match step {
        S::StartFeature => fixed("develop start FEATURE"),
        S::ShowWorkflow => fixed("develop status"),
        S::ResumeFeature => fixed("develop resume"),
        S::ContinueFeature => fixed("develop resume --continue"),
        S::RestartFeature => fixed("develop resume --restart FEATURE"),
        S::Advance => fixed("develop advance"),
        S::AdvanceWithCheckpoints => fixed("develop advance --checkpoint ID"),
        S::AdvanceWithContract => fixed("develop advance --contract FILE"),
        S::AdvanceWithStrategy => fixed("develop advance --strategy STRATEGY"),
        S::GoBack => fixed("develop back"),
        S::SetContract => fixed("develop contract FILE"),
        S::Review => fixed("develop review"),
        S::TryCheckpoints => fixed("develop ralph"),
        S::PassGate { gate } => format!("develop gate pass {gate}"),
        S::PassGateOrReport { gate } => format!("develop gate pass {gate} [--report FILE]"),
        S::ReportGate { gate } => format!("develop gate pass {gate} --report FILE"),
        S::ConfirmGate { gate } => format!("develop gate pass {gate} --yes"),
        S::ResetGate { gate } => format!("develop gate reset {gate}"),
        S::StartCheckpoint { id } => format!("develop checkpoint start {id}"),
        S::PassCheckpoint { id } => format!("develop checkpoint pass {id}"),
        S::FailCheckpoint { id } => format!("develop checkpoint fail {id}"),
        S::ReopenCheckpoint { id } => format!("develop checkpoint reopen {id}"),
        S::Suspend => fixed("develop suspend --reason TEXT"),
        S::BeginRun => fixed("run"),
        S::BeginPhase { phase } => format!("run --phase {phase}"),
        S::BeginKeepingDone => fixed("run --keep-done"),
        S::BeginAfresh => fixed("run --new"),
        S::BeginFrom { file } => format!("run {} --new", quoted(file)),
        S::BeginWithoutTrees => fixed("run --isolation none"),
        S::BeginWithBudget => fixed("run --budget USD"),
        S::BeginForAgent { agent } => format!("run --agent {} --budget USD", quoted(agent)),
        S::BeginWithoutBudget => fixed("run --no-budget"),
        S::ResumeRun => fixed("run --resume"),
        S::ResumeWithBudget => fixed("run --resume --budget USD"),
        S::RebuildRun => fixed("run --rebuild-state"),
        S::ShowRun => fixed("run status"),
        S::WatchRun => fixed("run status --wait"),
        S::StopRun => fixed("run stop"),
        S::ListRuns => fixed("run list"),
        S::ShowReady => fixed("run next"),
        S::StartTask { id } => format!("run start {id}"),
        S::CompleteTask { id } => format!("run done {id}"),
        S::FailTask { id } => format!("run fail {id}"),
        S::RetryTask { id } => format!("run retry {id}"),
        S::RevertTask { id } => format!("run revert {id}"),
        S::ShowChanges { id } => format!("run diff {id}"),
        S::ShowOutput { id } => format!("run logs {id}"),
        S::FollowOutput { id } => format!("run logs {id} --follow"),
        S::ExplainTask { id } => format!("why {id}"),
        S::OpenTask { id } => format!("open {id}"),
        S::ShowHistory { id } => format!("log {id}"),
        S::NewServedTask => fixed("task new TITLE"),
        S::ListServedTasks => fixed("task list"),
        S::ListTaskTypes => fixed("task types"),
        S::ShowServedTask { task } => format!("task show {task}"),
        S::OpenServedTask { task } => format!("open {task}"),
        S::EditServedTask { task } => format!("task edit {task}"),
        S::SubmitServedTask { task } => format!("task submit {task}"),
        S::CancelServedTask { task } => format!("task cancel {task}"),
        S::ResumeServedTask { task } => format!("task resume {task}"),
        S::RetryServedTask { task } => format!("task retry {task}"),
        S::ShowServedOutput { task } => format!("task logs {task}"),
        S::ListTaskCheckpoints { task } => format!("task checkpoints {task}"),
        S::ExplainServedTask { task } => format!("why {task}"),
        S::StartServer => fixed("serve"),
        S::InitMemory => fixed("memory init"),
        S::ShowMemory => fixed("memory show"),
        S::ExamineMemory => fixed("memory doctor"),
        S::MendMemory => fixed("memory doctor --fix"),
        S::ListMemoryBackups => fixed("memory backup --list"),
        S::NewMemoryTask => fixed("memory task new NAME"),
        S::StartMemoryTask => fixed("memory task start"),
        S::ResumeMemoryTask => fixed("memory task resume"),
        S::RecoverMemoryTask => fixed("memory task recover"),
        S::CompleteMemoryTask => fixed("memory task complete"),
        S::CompletePartially => fixed("memory task complete --partial"),
        S::Replan => fixed("memory task replan"),
        S::AddStep => fixed("memory step add NAME"),
        S::ShowStep { number } => format!("memory step show {number}"),
        S::StartStep { number } => format!("memory step start {number}"),
        S::CompleteStep { number } => format!("memory step complete {number}"),
        S::RetryStep { number } => format!("memory step retry {number}"),
        S::RetryStepWith { number } => format!("memory step retry {number} --agent NAME"),
        S::EscalateStep { number } => format!("memory step escalate {number}"),
        S::StartSession => fixed("session start"),
        S::StartNewSession => fixed("session start --new"),
        S::ShowSession => fixed("session status"),
        S::ListSessions => fixed("session list"),
        S::ResumeSession => fixed("session resume"),
        S::RelocateSession => fixed("session relocate"),
        S::StopSession => fixed("session stop"),
        S::CompleteSession => fixed("session complete"),
        S::RequestWork => fixed("session request TEXT"),
        S::RequestInstead => fixed("session request TEXT --stop-current"),
        S::PlanSession => fixed("session plan"),
        S::PlanWithAssumption => fixed("session plan --assumption N=VERDICT"),
        S::NextOfSession => fixed("session next"),
        S::CheckGates => fixed("session gate check"),
        S::ReportGates => fixed("session gate check --report FILE"),
        S::RunSession => fixed("session run"),
        S::OverrideGate { gate } => format!("session gate override {gate} --reason TEXT"),
        S::ListContracts => fixed("contract list"),
        S::ShowSchema { kind } => format!("schema {kind}"),
        S::ShowKnowledge => fixed("knowledge show"),
        S::ShowInbox => fixed("inbox"),
        S::ShowEntry { id } => format!("inbox show {id}"),
        S::AnswerEntry { id, answers } => format!("inbox answer {id} {}", quoted(answers)),
        S::ReplyToEntry { id, verb } => reply(id.as_str(), *verb),
        S::ListPermits => fixed("inbox permits"),
        S::RevokePermit => fixed("inbox revoke ID"),
        S::SetPin => fixed("pin"),
        S::ListTrees => fixed("worktree list"),
        S::RestoreTree { tree } => format!("worktree undo {tree}"),
        S::ListAgents => fixed("agents"),
        S::CheckAgent { agent } => format!("agents check {agent}"),
        S::SendNotices => fixed("notify send"),
        S::TestNotices => fixed("notify test"),
        S::ShowStatus => fixed("status"),
        S::ShowConfiguration => fixed("config show"),
        S::ValidateFile { file } => format!("validate {}", quoted(file)),
        S::AdoptFile { file } => format!("adopt {}", quoted(file)),
        S::Examine => fixed("doctor"),
        S::TakeUpWorkspaces => fixed("doctor --fix --take-up ID"),
        S::TakeUpAllWorkspaces => fixed("doctor --fix --take-up-all"),
        S::Repair => fixed("doctor --fix"),
        S::Register => fixed("init"),
        S::RegisterGitHooks => fixed("init --git-hooks"),
        S::RegisterSharedGitHooks => fixed("init --git-hooks --shared"),
        S::Unregister => fixed("init --remove"),
        S::RegisterAfresh => fixed("init --fresh"),
        S::RunGit { words } => return format!("git {words}"),
    };
    format!("waypost {words}")
}

/// A reply to an entry of the inbox; a value is typed where it is not seen.
fn reply(id: &str, verb: ReplyVerb) -> String {
    match verb {
        ReplyVerb::Answer | ReplyVerb::Changes => format!("inbox {verb} {id} TEXT"),
        ReplyVerb::Decline | ReplyVerb::Retry | ReplyVerb::Accept | ReplyVerb::Fail => {
            format!("inbox {verb} {id} [TEXT]")
        }
        ReplyVerb::Approve | ReplyVerb::Provide => format!("inbox {verb} {id}"),
    }
}

/// A path, or an answer, which an agent may have worded, as one word of a shell.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}
