//! The version and the kind of what is printed, and the schema of each kind.

use super::{
    Adopted, AgentReport, Answered, ArchiveReport, CheckedAgent, ContextReport, ContractDiffReport,
    ContractLine, ContractPut, ContractText, Difference, EntryReport, ErrorLine, Examined,
    FileValidity, FoundLine, HistoryLine, ImportReport, InitLine, KindLine, KnowledgeNoted,
    KnowledgeReport, LearnedLine, LogLine, MemoryBackedUp, MemoryBackupLine, MemoryBegunLine,
    MemoryPrunedLine, MemoryReport, MemoryRestoredLine, MemoryTaskReport, MemoryValue, ModelServer,
    NoteReport, NoticesWaiting, OpenedReport, PermitReport, PlanReport, PruneReport, RemovedSetup,
    ReviewReport, Revoked, RunEventLine, RunLine, RunStatus, ServeLine, ServedTaskLine,
    ServedWhyReport, SessionBegunLine, SessionFoundLine, SessionGatesReport, SessionLine,
    SessionNextReport, SessionPlanLine, SessionReport, SessionRequestLine, SettingLine,
    StatisticsReport, StatusLine, StatusReport, StopLine, TaskCheckpointLine, TaskLine,
    TaskTypeLine, TreeList, TrialReport, TypeLine, UndoneTree, WhyReport, WorkflowReport,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The version of all forms. It would be raised if a key lost its meaning.
pub(crate) const VERSION: u32 = 1;

/// Something that `--json` prints.
pub(crate) trait Printed: Serialize + JsonSchema {
    /// The word in `type`.
    const TYPE: &'static str;
}

/// An object as it is printed.
#[derive(Serialize)]
pub(crate) struct Enveloped<'a, T> {
    v: u32,
    r#type: &'static str,
    #[serde(flatten)]
    object: &'a T,
}

impl<'a, T: Printed> Enveloped<'a, T> {
    pub(crate) fn new(object: &'a T) -> Self {
        Self { v: VERSION, r#type: T::TYPE, object }
    }
}

/// A kind of object.
pub(crate) struct PrintedKind {
    pub(crate) name: &'static str,
    /// Which commands print it.
    pub(crate) commands: &'static str,
    pub(crate) schema: fn() -> Value,
}

/// Declares all kinds: the type, its word, and who prints it.
macro_rules! kinds {
    ($($kind:ty = $word:literal $commands:literal;)+) => {
        $(impl Printed for $kind {
            const TYPE: &'static str = $word;
        })+

        /// All kinds, in order.
        pub(crate) const KINDS: &[PrintedKind] = &[$(PrintedKind {
            name: $word,
            commands: $commands,
            schema: schema_of::<$kind>,
        }),+];
    };
}

kinds! {
    Adopted<'_> = "adopted" "adopt";
    AgentReport<'_> = "agent" "agents, one for each";
    CheckedAgent = "agent_check" "agents check, one for each";
    Answered<'_> = "answered" "inbox answer and the other verbs";
    ArchiveReport<'_> = "archive" "task deliverables";
    ContextReport<'_> = "context" "context";
    ContractLine<'_> = "contract" "contract list, one for each";
    ContractDiffReport<'_> = "contract_diff" "contract diff";
    ContractPut<'_> = "contract_put" "contract put";
    ContractText<'_> = "contract_text" "contract get";
    Difference<'_> = "difference" "run --verify, one for each";
    ErrorLine<'_> = "error" "every command that fails, on standard error";
    Examined<'_> = "examined" "doctor, one for each";
    FileValidity<'_> = "file_validity" "validate and contract validate, one for each";
    FoundLine<'_> = "found" "memory search, one for each";
    ImportReport<'_> = "imported" "import";
    EntryReport<'_> = "inbox_entry" "inbox, one for each; inbox show";
    InitLine<'_> = "init" "init";
    KindLine<'_> = "kind" "schema, one for each";
    KnowledgeReport<'_> = "knowledge" "knowledge show";
    KnowledgeNoted<'_> = "knowledge_noted" "knowledge add and remove";
    LearnedLine<'_> = "learned" "knowledge learn, one for each";
    LogLine<'_> = "log_entry" "log, a line for each";
    MemoryReport = "memory" "memory show";
    MemoryBackupLine<'_> = "memory_backup" "memory backup --list, one for each";
    MemoryBackedUp<'_> = "memory_backups_made" "memory backup";
    MemoryBegunLine<'_> = "memory_begun" "memory init";
    HistoryLine<'_> = "memory_entry" "memory history, one for each";
    NoteReport<'_> = "memory_note" "memory note; memory notes, one for each";
    MemoryPrunedLine = "memory_pruned" "memory prune";
    MemoryRestoredLine<'_> = "memory_restored" "memory restore";
    SessionLine<'_> = "memory_session" "memory context new-session";
    StatisticsReport = "memory_statistics" "memory stats";
    MemoryTaskReport<'_> = "memory_task" "memory task and memory step";
    MemoryValue<'_> = "memory_value" "memory context and memory agent, get, set and unset";
    ModelServer = "model_server" "sim model";
    TrialReport<'_> = "notice_trial" "notify test, one for each target";
    NoticesWaiting<'_> = "notices_waiting" "notify send, one for each target";
    OpenedReport<'_> = "opened" "open --print";
    PermitReport<'_> = "permit" "inbox permits, one for each";
    PlanReport<'_> = "plan" "run --dry-run";
    TypeLine<'_> = "printed_type" "schema json, one for each";
    RemovedSetup<'_> = "removed_setup" "init --remove";
    ReviewReport<'_> = "review" "develop review";
    Revoked<'_> = "revoked" "inbox revoke";
    RunLine<'_> = "run" "run list, one for each";
    RunEventLine<'_> = "run_event" "run and run status --wait, a line for each";
    RunStatus<'_> = "run_status" "run status";
    StopLine = "run_stop" "run stop";
    ServeLine = "serve_event" "serve, a line for each";
    ServedTaskLine<'_> = "served_task" "task list, one for each; task new, edit, submit and others about one task";
    TaskCheckpointLine<'_> = "served_task_checkpoint" "task checkpoints, one for each";
    TaskTypeLine<'_> = "served_task_type" "task types, one for each";
    ServedWhyReport<'_> = "served_task_why" "why, about a task of the server";
    SessionReport = "session" "session status, session show and others about the session";
    SessionBegunLine<'_> = "session_begun" "session start, resume and relocate";
    SessionFoundLine<'_> = "session_found" "session list, one for each; session show HASH";
    SessionGatesReport<'_> = "session_gates" "session gate check";
    SessionNextReport = "session_next" "session next";
    SessionPlanLine = "session_plan" "session plan";
    SessionRequestLine = "session_request" "session show, about one request";
    SettingLine<'_> = "setting" "config show, one for each";
    StatusReport<'_> = "status" "status";
    StatusLine = "status_line" "statusline";
    TaskLine<'_> = "task" "run start, run done and others about one task; run next and run retry, one for each";
    UndoneTree<'_> = "tree_undone" "worktree undo";
    PruneReport<'_> = "trees_pruned" "worktree prune";
    WhyReport<'_> = "why" "why";
    TreeList<'_> = "work_trees" "worktree list";
    WorkflowReport<'_> = "workflow" "develop and all that changes the workflow";
}

/// The JSON Schema of an object as it is printed, draft 2020-12.
pub(crate) fn schema_of<T: Printed>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.insert("title".into(), json!(T::TYPE));
        root.insert("type".into(), json!("object"));
        let properties = root.entry("properties").or_insert_with(|| Map::new().into());
        properties["v"] = json!({ "const": VERSION, "description": "The version of the form." });
        properties["type"] = json!({ "const": T::TYPE, "description": "The kind of object." });
        let required = root.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(names) = required {
            names.extend([json!("v"), json!("type")]);
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_order_and_unique() {
        assert!(KINDS.is_sorted_by(|one, next| one.name < next.name));
    }

    #[test]
    fn no_key_of_an_object_is_hidden_by_its_envelope() {
        for kind in KINDS {
            let schema = (kind.schema)();
            let keys = schema["properties"].as_object().unwrap();
            assert!(keys.contains_key("v") && keys["type"]["const"] == kind.name, "{}", kind.name);
        }
    }
}
