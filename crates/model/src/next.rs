//! The next step: what leads on after a refusal, a question or a failure, as a value.
//!
//! Nothing here or in the engine knows how a step is typed, called or clicked: that is for what a
//! person or an agent uses to say. The set is closed, so that a test can try the spelling of every
//! step; the words are stable, they are in files and in `--json`.

use crate::{
    document::ServerTaskId,
    id::{CheckpointId, EntryId, TaskId},
    inbox::ReplyVerb,
    workflow::GateName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use std::{fmt, str::FromStr};

/// A text that is no step of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadStep;

/// Makes the steps from one table: the variant, its word, and its fields, each with an example.
macro_rules! steps {
    ($(
        $(#[$doc:meta])*
        $name:ident $word:literal $({ $($field:ident: $kind:ty = $example:literal),+ })?;
    )+) => {
        /// What can be done next.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "step")]
        pub enum NextStep {
            $($(#[$doc])* #[serde(rename = $word)] $name $({ $($field: $kind),+ })?,)+
        }

        impl NextStep {
            /// The step's word, the same as serde's.
            pub fn word(&self) -> &'static str {
                match self { $(Self::$name $({ $($field: _),+ })? => $word,)+ }
            }

            /// One of each, for tests that go through all of them.
            pub fn examples() -> Vec<Self> {
                let wrong = "each example is one of its type";
                let _used_by_those_with_fields = wrong;
                vec![$(Self::$name $({
                    $($field: Piece::take(&mut $example.as_ref()).expect(wrong)),+
                })?),+]
            }
        }

        /// The word and its data in one line, which `parse` reads back.
        impl fmt::Display for NextStep {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        f.write_str($word)?;
                        $($(write!(f, " {}", $field)?;)+)?
                        Ok(())
                    })+
                }
            }
        }

        impl FromStr for NextStep {
            type Err = BadStep;

            fn from_str(line: &str) -> Result<Self, BadStep> {
                let mut rest = line;
                let step = match word(&mut rest) {
                    $($word => Self::$name $({ $($field: Piece::take(&mut rest)?),+ })?,)+
                    _ => return Err(BadStep),
                };
                if rest.is_empty() { Ok(step) } else { Err(BadStep) }
            }
        }
    };
}

steps! {
    StartFeature "start_feature";
    ShowWorkflow "show_workflow";
    ResumeFeature "resume_feature";
    /// Where it stood, without being asked.
    ContinueFeature "continue_feature";
    RestartFeature "restart_feature";
    Advance "advance";
    AdvanceWithCheckpoints "advance_with_checkpoints";
    AdvanceWithContract "advance_with_contract";
    AdvanceWithStrategy "advance_with_strategy";
    GoBack "go_back";
    SetContract "set_contract";
    Review "review";
    /// An agent tries the checkpoints until they pass.
    TryCheckpoints "try_checkpoints";
    /// With what the gate needs already there, or made by passing it.
    PassGate "pass_gate" { gate: GateName = "re_review_clean" };
    /// As `PassGate`; a report helps where nothing else is configured.
    PassGateOrReport "pass_gate_or_report" { gate: GateName = "review_clean_pass" };
    /// Only a report opens the gate.
    ReportGate "report_gate" { gate: GateName = "architect_verified" };
    /// By the person who is there.
    ConfirmGate "confirm_gate" { gate: GateName = "re_review_clean" };
    ResetGate "reset_gate" { gate: GateName = "architect_verified" };
    StartCheckpoint "start_checkpoint" { id: CheckpointId = "cp-1" };
    PassCheckpoint "pass_checkpoint" { id: CheckpointId = "cp-1" };
    FailCheckpoint "fail_checkpoint" { id: CheckpointId = "cp-1" };
    ReopenCheckpoint "reopen_checkpoint" { id: CheckpointId = "cp-1" };
    Suspend "suspend";

    BeginRun "begin_run";
    BeginPhase "begin_phase" { phase: u32 = "2" };
    /// Leaving what earlier runs have completed as it is.
    BeginKeepingDone "begin_keeping_done";
    /// Without regard to earlier runs.
    BeginAfresh "begin_afresh";
    /// With the tasks of a file that is named.
    BeginFrom "begin_from" { file: String = "TASKS.md" };
    /// In the folder itself, without work trees.
    BeginWithoutTrees "begin_without_trees";
    BeginWithBudget "begin_with_budget";
    /// For an agent that is not the configured one.
    BeginForAgent "begin_for_agent" { agent: String = "claude" };
    BeginWithoutBudget "begin_without_budget";
    ResumeRun "resume_run";
    /// With more money.
    ResumeWithBudget "resume_with_budget";
    RebuildRun "rebuild_run";
    ShowRun "show_run";
    WatchRun "watch_run";
    StopRun "stop_run";
    ListRuns "list_runs";
    ShowReady "show_ready";
    StartTask "start_task" { id: TaskId = "T1.3" };
    CompleteTask "complete_task" { id: TaskId = "T1.3" };
    FailTask "fail_task" { id: TaskId = "T1.3" };
    RetryTask "retry_task" { id: TaskId = "T1.3" };
    RevertTask "revert_task" { id: TaskId = "T1.3" };
    ShowChanges "show_changes" { id: TaskId = "T1.3" };
    ShowOutput "show_output" { id: TaskId = "T1.3" };
    FollowOutput "follow_output" { id: TaskId = "T1.3" };
    ExplainTask "explain_task" { id: TaskId = "T1.3" };
    OpenTask "open_task" { id: TaskId = "T1.3" };
    ShowHistory "show_history" { id: TaskId = "T1.3" };

    NewServedTask "new_served_task";
    ListServedTasks "list_served_tasks";
    ListTaskTypes "list_task_types";
    ShowServedTask "show_served_task" { task: ServerTaskId = "task_abc123" };
    OpenServedTask "open_served_task" { task: ServerTaskId = "task_abc123" };
    EditServedTask "edit_served_task" { task: ServerTaskId = "task_abc123" };
    SubmitServedTask "submit_served_task" { task: ServerTaskId = "task_abc123" };
    CancelServedTask "cancel_served_task" { task: ServerTaskId = "task_abc123" };
    ResumeServedTask "resume_served_task" { task: ServerTaskId = "task_abc123" };
    RetryServedTask "retry_served_task" { task: ServerTaskId = "task_abc123" };
    ShowServedOutput "show_served_output" { task: ServerTaskId = "task_abc123" };
    ListTaskCheckpoints "list_task_checkpoints" { task: ServerTaskId = "task_abc123" };
    ExplainServedTask "explain_served_task" { task: ServerTaskId = "task_abc123" };
    StartServer "start_server";
    InitMemory "init_memory";
    ShowMemory "show_memory";
    ExamineMemory "examine_memory";
    MendMemory "mend_memory";
    ListMemoryBackups "list_memory_backups";
    NewMemoryTask "new_memory_task";
    StartMemoryTask "start_memory_task";
    ResumeMemoryTask "resume_memory_task";
    RecoverMemoryTask "recover_memory_task";
    CompleteMemoryTask "complete_memory_task";
    /// With steps left undone.
    CompletePartially "complete_partially";
    /// Drops what has not begun, so that other steps can be added.
    Replan "replan";
    AddStep "add_step";
    ShowStep "show_step" { number: u32 = "2" };
    StartStep "start_step" { number: u32 = "2" };
    CompleteStep "complete_step" { number: u32 = "2" };
    RetryStep "retry_step" { number: u32 = "2" };
    /// By another agent.
    RetryStepWith "retry_step_with" { number: u32 = "2" };
    EscalateStep "escalate_step" { number: u32 = "2" };

    StartSession "start_session";
    /// In the place of one whose files cannot be read, which are kept.
    StartNewSession "start_new_session";
    ShowSession "show_session";
    ListSessions "list_sessions";
    ResumeSession "resume_session";
    RelocateSession "relocate_session";
    StopSession "stop_session";
    CompleteSession "complete_session";
    RequestWork "request_work";
    /// In place of the request that is active.
    RequestInstead "request_instead";
    PlanSession "plan_session";
    /// With what became of an assumption that names no path.
    PlanWithAssumption "plan_with_assumption";
    NextOfSession "next_of_session";
    CheckGates "check_gates";
    /// With a report that confirms what prose leaves open.
    ReportGates "report_gates";
    RunSession "run_session";
    OverrideGate "override_gate" { gate: String = "T1-S1/GATE-3" };

    ListContracts "list_contracts";
    /// The format of a kind of file.
    ShowSchema "show_schema" { kind: String = "design-brief" };
    ShowKnowledge "show_knowledge";

    ShowInbox "show_inbox";
    ShowEntry "show_entry" { id: EntryId = "q1" };
    /// With one of these answers, separated by `|`.
    AnswerEntry "answer_entry" { id: EntryId = "q1", answers: String = "confirm" };
    /// With another verb than `answer`.
    ReplyToEntry "reply_to_entry" { id: EntryId = "q1", verb: ReplyVerb = "approve" };
    ListPermits "list_permits";
    RevokePermit "revoke_permit";
    SetPin "set_pin";

    ListTrees "list_trees";
    RestoreTree "restore_tree" { tree: String = "p1/T1.3-2" };
    ListAgents "list_agents";
    CheckAgent "check_agent" { agent: String = "helper" };
    SendNotices "send_notices";
    TestNotices "test_notices";

    ShowStatus "show_status";
    ShowConfiguration "show_configuration";
    ValidateFile "validate_file" { file: String = "TASKS.md" };
    AdoptFile "adopt_file" { file: String = ".develop-workflow/state.json" };
    Examine "examine";
    Repair "repair";
    /// One of those that were named.
    TakeUpWorkspaces "take_up_workspaces";
    TakeUpAllWorkspaces "take_up_all_workspaces";
    Register "register";
    RegisterGitHooks "register_git_hooks";
    /// With a program that is found by its name, as others who share the folder have it.
    RegisterSharedGitHooks "register_shared_git_hooks";
    Unregister "unregister";
    /// With an empty journal in place of one that is lost.
    RegisterAfresh "register_afresh";

    /// Not ours: what git has to be told first.
    RunGit "run_git" { words: String = "switch -c NAME" };
}

impl NextStep {
    /// Whether only a person may take it, so that an agent has to hand it on.
    pub fn is_reserved(&self) -> bool {
        matches!(
            self,
            Self::RestartFeature
                | Self::ReopenCheckpoint { .. }
                | Self::Suspend
                | Self::OpenTask { .. }
                | Self::OpenServedTask { .. }
                | Self::RebuildRun
                | Self::AdoptFile { .. }
                | Self::Repair
                | Self::TakeUpWorkspaces
                | Self::TakeUpAllWorkspaces
                | Self::OverrideGate { .. }
                | Self::RegisterAfresh
                | Self::Unregister
        )
    }
}

/// Something to be told, with what leads on from it, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remark {
    pub text: String,
    pub next: Vec<NextStep>,
    #[serde(default)]
    pub weight: Weight,
}

/// How much a remark matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Something is not as it should be, or not as it was.
    #[default]
    Warning,
    /// Good to know; a person who wants to hear of trouble only is not told.
    Note,
}

impl Remark {
    pub fn note(text: impl Into<String>) -> Self {
        Self { weight: Weight::Note, ..Self::from(text) }
    }

    pub fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }
}

impl<T: Into<String>> From<T> for Remark {
    fn from(text: T) -> Self {
        Self { text: text.into(), next: Vec::new(), weight: Weight::default() }
    }
}

/// Reads the steps that this version knows; what a later one has added is left out.
pub fn known_steps<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<NextStep>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Known(NextStep),
        Unknown(IgnoredAny),
    }
    let read = Vec::<Read>::deserialize(input)?;
    Ok(read
        .into_iter()
        .filter_map(|step| match step {
            Read::Known(step) => Some(step),
            Read::Unknown(IgnoredAny) => None,
        })
        .collect())
}

/// A field of a step in its line. A text takes all that is left, so it comes last.
trait Piece: Sized {
    fn take(rest: &mut &str) -> Result<Self, BadStep>;
}

/// Takes the next word away.
fn word<'a>(rest: &mut &'a str) -> &'a str {
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    *rest = after;
    word
}

macro_rules! word_pieces {
    ($($kind:ty),+) => {$(
        impl Piece for $kind {
            fn take(rest: &mut &str) -> Result<Self, BadStep> {
                word(rest).parse().map_err(|_| BadStep)
            }
        }
    )+};
}

word_pieces!(TaskId, ServerTaskId, CheckpointId, EntryId, ReplyVerb, u32);

impl Piece for GateName {
    fn take(rest: &mut &str) -> Result<Self, BadStep> {
        Self::from_word(word(rest)).ok_or(BadStep)
    }
}

impl Piece for String {
    fn take(rest: &mut &str) -> Result<Self, BadStep> {
        Ok(std::mem::take(rest).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_step_comes_back_from_its_line_and_from_json() {
        let examples = NextStep::examples();
        for step in &examples {
            assert_eq!(step.to_string().parse().as_ref(), Ok(step));
            let json = serde_json::to_value(step).unwrap();
            assert_eq!(json["step"], step.word());
            assert_eq!(serde_json::from_value::<NextStep>(json).as_ref().ok(), Some(step));
        }
        let words: BTreeSet<&str> = examples.iter().map(NextStep::word).collect();
        assert_eq!(words.len(), examples.len(), "two steps have one word");
    }

    #[test]
    fn a_step_of_a_later_version_is_left_out() {
        let json = r#"[{"step":"fly","to":"x"},{"step":"advance"},7,{"step":"start_task"}]"#;
        let mut input = serde_json::Deserializer::from_str(json);
        assert_eq!(known_steps(&mut input).unwrap(), [NextStep::Advance]);
    }

    #[test]
    fn a_line_that_is_no_step_is_none() {
        for line in ["", "fly", "advance now", "start_task", "start_task a b", "pass_gate x"] {
            assert_eq!(line.parse::<NextStep>(), Err(BadStep), "{line}");
        }
    }
}
