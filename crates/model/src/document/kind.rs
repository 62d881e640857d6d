//! Which kinds of documents there are, how each is written, and where each is found.
//!
//! The names are a contract: `waypost schema NAME`, the schemas' file names and their ids use them.

use super::contract::ContractPlace;
use crate::{diagnostic::Diagnostic, layout};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// How a kind of document is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Yaml,
    Toml,
}

/// A kind of document of one of the five parts, or the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    WorkflowState,
    CheckpointContract,
    RunState,
    Task,
    Agent,
    Transition,
    TaskType,
    TaskState,
    TaskHistory,
    SharedContext,
    AgentMemory,
    Session,
    SessionState,
    Explored,
    TaskBreakdown,
    DesignBrief,
    DesignContract,
    TestContract,
    TestResult,
    Knowledge,
    Config,
}

/// A strict type of one kind of document.
///
/// Implementors refuse unknown fields (`deny_unknown_fields`): what is not defined is an error.
pub trait Document: Serialize + DeserializeOwned + JsonSchema {
    const KIND: Kind;

    /// Says what is wrong with a document whose every field is well formed.
    ///
    /// Findings have a path and no place; a caller that has the text can tell where the path is.
    fn check(&self) -> Vec<Diagnostic>;

    /// Says what does not fit the place that the document's path names. Only contracts have one.
    fn check_place(&self, _place: &ContractPlace) -> Vec<Diagnostic> {
        Vec::new()
    }
}

impl Kind {
    pub const ALL: [Self; 21] = [
        Self::WorkflowState,
        Self::CheckpointContract,
        Self::RunState,
        Self::Task,
        Self::Agent,
        Self::Transition,
        Self::TaskType,
        Self::TaskState,
        Self::TaskHistory,
        Self::SharedContext,
        Self::AgentMemory,
        Self::Session,
        Self::SessionState,
        Self::Explored,
        Self::TaskBreakdown,
        Self::DesignBrief,
        Self::DesignContract,
        Self::TestContract,
        Self::TestResult,
        Self::Knowledge,
        Self::Config,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::WorkflowState => "workflow-state",
            Self::CheckpointContract => "checkpoint-contract",
            Self::RunState => "run-state",
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Transition => "transition",
            Self::TaskType => "task-type",
            Self::TaskState => "task-state",
            Self::TaskHistory => "task-history",
            Self::SharedContext => "shared-context",
            Self::AgentMemory => "agent-memory",
            Self::Session => "session",
            Self::SessionState => "session-state",
            Self::Explored => "explored",
            Self::TaskBreakdown => "task-breakdown",
            Self::DesignBrief => "design-brief",
            Self::DesignContract => "design-contract",
            Self::TestContract => "test-contract",
            Self::TestResult => "test-result",
            Self::Knowledge => "knowledge",
            Self::Config => "config",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// One line for lists and schema titles.
    pub fn title(self) -> &'static str {
        match self {
            Self::WorkflowState => "Workflow: phase, gates and checkpoints of one feature",
            Self::CheckpointContract => "Workflow: the checkpoints to be built and their tests",
            Self::RunState => "Run: the tasks of TASKS.md and how far each one is",
            Self::Task => "Server: the state of one task",
            Self::Agent => "Server: the state of the agent of one task",
            Self::Transition => "Server: one record of the transition log",
            Self::TaskType => "Server: a type of tasks, task-types/NAME.toml",
            Self::TaskState => "Memory: the current task and those that wait",
            Self::TaskHistory => "Memory: tasks that have ended",
            Self::SharedContext => "Memory: what all agents share",
            Self::AgentMemory => "Memory: what one agent keeps",
            Self::Session => "Session: the project and whether a session is active",
            Self::SessionState => "Session: request, tasks and subtasks with their gates",
            Self::Explored => "Contract: what was found in the code",
            Self::TaskBreakdown => "Contract: a request as tasks and subtasks",
            Self::DesignBrief => "Contract: what one task is to achieve",
            Self::DesignContract => "Contract: the design that one task must keep to",
            Self::TestContract => "Contract: the test cases of one subtask",
            Self::TestResult => "Contract: the outcome of one subtask's tests",
            Self::Knowledge => "Knowledge: patterns, decisions and pitfalls of the project",
            Self::Config => "Configuration: waypost.toml",
        }
    }

    pub fn syntax(self) -> Syntax {
        match self {
            Self::WorkflowState
            | Self::RunState
            | Self::Task
            | Self::Agent
            | Self::Transition
            | Self::TaskState
            | Self::TaskHistory
            | Self::SharedContext
            | Self::AgentMemory
            | Self::Session
            | Self::SessionState => Syntax::Json,
            Self::CheckpointContract
            | Self::Explored
            | Self::TaskBreakdown
            | Self::DesignBrief
            | Self::DesignContract
            | Self::TestContract
            | Self::TestResult
            | Self::Knowledge => Syntax::Yaml,
            Self::TaskType | Self::Config => Syntax::Toml,
        }
    }

    /// The kind of the document that stands at `path`, by its file name and folders.
    ///
    /// A task, an agent and a transition are answers of the API and have no file of their own.
    pub fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.rsplit(['/', '\\']);
        let name = parts.next()?;
        let (folder, above) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        match (folder, name) {
            (".develop-workflow", "state.json") => Some(Self::WorkflowState),
            (_, "state.json") if above == "sessions" => Some(Self::SessionState),
            ("agents", _) if above == "memory" && name.ends_with(".json") => {
                Some(Self::AgentMemory)
            }
            ("backup", _) if above == "memory" => Self::of_backup(name),
            ("waypost", "config.toml") => Some(Self::Config),
            (layout::TASK_TYPES, _) if name.ends_with(".toml") => Some(Self::TaskType),
            _ => Self::of_name(name),
        }
    }

    /// The kind by a file name that stands for itself in every folder.
    fn of_name(name: &str) -> Option<Self> {
        match name {
            "orchestrate-state.json" | "orchestrate-state.json.bak" => Some(Self::RunState),
            "task-state.json" => Some(Self::TaskState),
            "task-history.json" => Some(Self::TaskHistory),
            "shared-context.json" => Some(Self::SharedContext),
            "session.json" => Some(Self::Session),
            "waypost.toml" => Some(Self::Config),
            _ => {
                let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"))?;
                Self::from_name(stem).filter(|kind| kind.syntax() == Syntax::Yaml)
            }
        }
    }

    /// The kind of a backup of the memory, whose name is that of its file and then a time.
    fn of_backup(name: &str) -> Option<Self> {
        let stem = name.split('.').next()?;
        Self::of_name(&format!("{stem}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("Task"), None);
    }

    #[test]
    fn paths_tell_the_kind() {
        let contracts = ".claude/orchestrator/sessions/a1b2c3d4/contracts/R1";
        let table = [
            (".develop-workflow/state.json", "workflow-state"),
            ("/home/me/app/.develop-workflow/state.json", "workflow-state"),
            (".claude/orchestrator/sessions/a1b2c3d4/state.json", "session-state"),
            (".claude/orchestrator/sessions/a1b2c3d4/session.json", "session"),
            (".claude/orchestrator/knowledge/a1b2c3d4/knowledge.yaml", "knowledge"),
            (".claude/orchestrate-state.json", "run-state"),
            (".claude/orchestrate-state.json.bak", "run-state"),
            (".claude/orchestrate-state.json.lock", "-"),
            (".claude/memory/task-state.json", "task-state"),
            (".claude/memory/task-history.json", "task-history"),
            (".claude/memory/shared-context.json", "shared-context"),
            (".claude/memory/agents/writing-assistant.json", "agent-memory"),
            (".claude\\memory\\agents\\orchestrator.json", "agent-memory"),
            (".claude/memory/backup/task-state.20251118T100000Z.json", "task-state"),
            (".claude/memory/backup/notes.json", "-"),
            (&format!("{contracts}/explored.yaml"), "explored"),
            (&format!("{contracts}/task-breakdown.yaml"), "task-breakdown"),
            (&format!("{contracts}/T1/design-brief.yaml"), "design-brief"),
            (&format!("{contracts}/T1/design-contract.yml"), "design-contract"),
            (&format!("{contracts}/T1/T1-S1/test-contract.yaml"), "test-contract"),
            (&format!("{contracts}/T1/T1-S1/test-result.yaml"), "test-result"),
            ("checkpoint-contract.yaml", "checkpoint-contract"),
            ("waypost.toml", "config"),
            ("/home/me/.config/waypost/config.toml", "config"),
            ("task-types/create_app.toml", "task-type"),
            ("task-types/README.md", "-"),
            ("create_app.toml", "-"),
            ("state.json", "-"),
            ("task.yaml", "-"),
            ("config.toml", "-"),
            ("package.json", "-"),
            ("", "-"),
        ];
        for (path, want) in table {
            assert_eq!(Kind::of_path(path).map_or("-", Kind::name), want, "{path}");
        }
    }
}
