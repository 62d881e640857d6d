//! What `--json` prints: a type for each kind of object, with a version and a schema.
//!
//! Every object of ours begins with `v`, the version of all these forms, and `type`, which names its
//! kind; a list is a list of such objects. Keys are only ever added. What the seeds define (answers
//! of `resolve`, state files) is printed as they have it, without these two.

mod contract;
mod envelope;
mod events;
mod found;
mod inbox;
mod knowledge;
mod memory;
mod run;
mod session;
mod setup;
mod task;
mod trees;
mod workflow;

pub(crate) use contract::{
    ContractChangeLine, ContractDiffReport, ContractLine, ContractPut, ContractText,
};
pub(crate) use envelope::{Enveloped, KINDS, Printed, PrintedKind, schema_of};
pub(crate) use events::{
    ErrorBody, ErrorLine, EventOf, FileFindings, LogLine, RunEvent, RunEventLine, StopEvent,
    StopLine,
};
pub(crate) use found::{ContextReport, FoundLine};
pub(crate) use inbox::{Answered, EntryReport, NoticesWaiting, PermitReport, Revoked, TrialReport};
pub(crate) use knowledge::{KnowledgeNoted, KnowledgeReport, LearnedLine};
pub(crate) use memory::{
    ClearedCache, HistoryLine, MemoryBackedUp, MemoryBackupLine, MemoryBegunLine, MemoryPrunedLine,
    MemoryReport, MemoryRestoredLine, MemoryTaskReport, MemoryValue, NoteReport, SessionLine,
    StatisticsReport,
};
pub(crate) use run::{
    Difference, PlanReport, PlannedPhase, PlannedReport, Reason, RunLine, RunReport, RunStatus,
    TaskLine, WhyReport,
};
pub(crate) use session::{
    SessionBegunLine, SessionFoundLine, SessionGatesReport, SessionNextReport, SessionPlanLine,
    SessionReport, SessionRequestLine,
};
pub(crate) use setup::{
    Adopted, AgentCheckReport, AgentReport, ArchiveReport, CheckedAgent, Examined, FileValidity,
    HookReport, ImportReport, InitLine, KindLine, ModelServer, Obstruction, Programs,
    RegisteredAgent, RemovedFile, RemovedSetup, ServeLine, SettingLine, StatusLine, TypeLine,
};
pub(crate) use task::{
    ServedTaskLine, ServedWhyReport, TaskCheckpointLine, TaskTypeLine, reason_data,
};
pub(crate) use trees::{
    OpenedReport, PruneReport, PrunedTree, StayedTree, TreeList, TreeReport, UndoneTree,
};
pub(crate) use workflow::{NotAdopted, PassReport, ReviewReport, StatusReport, WorkflowReport};
