//! Which kinds of documents there are, how each is written, and where each is found.
//!
//! The names are a contract: `waypost schema NAME`, the schemas' file names and their ids use them.

use super::contract::ContractPlace;
use crate::{
    diagnostic::Diagnostic,
    layout::{self, file_name, memory, session, window},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// How a kind of document is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Yaml,
    Toml,
}

/// Every kind with its name, how it is written, and its title: all but where it is found.
macro_rules! kinds {
    ($($kind:ident $name:literal $syntax:ident $title:literal;)+) => {
        /// A kind of document of one of the five parts, or the configuration.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($kind,)+
        }

        impl Kind {
            const COUNT: usize = [$($name),+].len();
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// One line for lists and schema titles.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$kind => $title,)+
                }
            }

            pub const fn syntax(self) -> Syntax {
                match self {
                    $(Self::$kind => Syntax::$syntax,)+
                }
            }
        }
    };
}

kinds! {
    WorkflowState "workflow-state" Json
        "Workflow: phase, gates and checkpoints of one feature";
    CheckpointContract "checkpoint-contract" Yaml
        "Workflow: the checkpoints to be built and their tests";
    RunState "run-state" Json
        "Run: the tasks of TASKS.md and how far each one is";
    Task "task" Json
        "Server: the state of one task";
    Agent "agent" Json
        "Server: the state of the agent of one task";
    Transition "transition" Json
        "Server: one record of the transition log";
    TaskType "task-type" Toml
        "Server: a type of tasks, task-types/NAME.toml";
    TaskState "task-state" Json
        "Memory: the current task and those that wait";
    TaskHistory "task-history" Json
        "Memory: tasks that have ended";
    SharedContext "shared-context" Json
        "Memory: what all agents share";
    AgentMemory "agent-memory" Json
        "Memory: what one agent keeps";
    Session "session" Json
        "Session: the project and whether a session is active";
    SessionState "session-state" Json
        "Session: request, tasks and subtasks with their gates";
    Explored "explored" Yaml
        "Contract: what was found in the code";
    TaskBreakdown "task-breakdown" Yaml
        "Contract: a request as tasks and subtasks";
    DesignBrief "design-brief" Yaml
        "Contract: what one task is to achieve";
    DesignContract "design-contract" Yaml
        "Contract: the design that one task must keep to";
    TestContract "test-contract" Yaml
        "Contract: the test cases of one subtask";
    TestResult "test-result" Yaml
        "Contract: the outcome of one subtask's tests";
    Knowledge "knowledge" Yaml
        "Knowledge: patterns, decisions and pitfalls of the project";
    Config "config" Toml
        "Configuration: waypost.toml";
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

/// What can be read strictly from a text and written down: documents of all kinds, and what a window shows
/// that is no kind of its own, which no path tells and no schema is printed of.
pub trait Form: Serialize + DeserializeOwned + JsonSchema {
    const SYNTAX: Syntax;
    /// The kind of a document.
    const DOCUMENT: Option<Kind> = None;

    /// As `Document::check`.
    fn check(&self) -> Vec<Diagnostic>;

    /// As `Document::check_place`.
    fn check_place(&self, _place: &ContractPlace) -> Vec<Diagnostic> {
        Vec::new()
    }
}

impl<D: Document> Form for D {
    const SYNTAX: Syntax = D::KIND.syntax();
    const DOCUMENT: Option<Kind> = Some(D::KIND);

    fn check(&self) -> Vec<Diagnostic> {
        Document::check(self)
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        Document::check_place(self, place)
    }
}

impl Kind {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of the document that stands at `path`, by its file name and folders.
    ///
    /// A task, an agent and a transition are answers of the API and have no file of their own.
    pub fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.rsplit(['/', '\\']);
        let name = parts.next()?;
        let (folder, above) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let is_of_memory = above == file_name(window::MEMORY_FOLDER);
        match folder {
            window::WORKFLOW_FOLDER if name == file_name(window::WORKFLOW) => {
                Some(Self::WorkflowState)
            }
            _ if name == session::STATE_FILE && above == file_name(session::SESSIONS) => {
                Some(Self::SessionState)
            }
            memory::AGENTS if is_of_memory && name.ends_with(".json") => Some(Self::AgentMemory),
            memory::BACKUPS if is_of_memory => Self::of_backup(name),
            layout::OWN_FOLDER if name == layout::OWN_CONFIGURATION => Some(Self::Config),
            layout::TASK_TYPES if name.ends_with(".toml") => Some(Self::TaskType),
            _ => Self::of_name(name),
        }
    }

    /// The kind by a file name that stands for itself in every folder.
    fn of_name(name: &str) -> Option<Self> {
        const NAMES: [(&str, Kind); 6] = [
            (window::RUN, Kind::RunState),
            (window::TASK_STATE, Kind::TaskState),
            (window::TASK_HISTORY, Kind::TaskHistory),
            (memory::SHARED_CONTEXT, Kind::SharedContext),
            (session::PROJECT_FILE, Kind::Session),
            (layout::CONFIGURATION, Kind::Config),
        ];
        let plain = name.strip_suffix(".bak").filter(|it| *it == file_name(window::RUN));
        let found = NAMES.iter().find(|(path, _)| file_name(path) == plain.unwrap_or(name));
        found.map(|(_, kind)| *kind).or_else(|| {
            let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"))?;
            Self::from_name(stem).filter(|kind| kind.syntax() == Syntax::Yaml)
        })
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
            ("memory/agents/planner.json", "agent-memory"),
            ("memory/backup/task-state.20251118T100000Z.json", "task-state"),
            ("agents/planner.json", "-"),
            ("sessions/a1b2c3d4/state.json", "session-state"),
            ("sessions/state.json", "-"),
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
