//! The names that several crates and other programs have to agree on: files beside the journal,
//! variables of the environment, windows.
//!
//! Only names. Who writes a file and what is in it is told where that is done. A name that one
//! module alone knows, below a folder that is listed here, stays there.

/// The folder of the journal inside a repository's own folder (`.git`).
pub const STATE_IN_GIT: &str = "waypost";
/// The folder of the journal in a project that is no repository; it marks the project, too.
pub const STATE_OUTSIDE_GIT: &str = ".waypost";
/// A project's own configuration, in its root.
pub const CONFIGURATION: &str = "waypost.toml";
/// Our folder in `$XDG_CONFIG_HOME`, and a person's own configuration in there.
pub const OWN_FOLDER: &str = "waypost";
pub const OWN_CONFIGURATION: &str = "config.toml";
/// A project's own types of tasks, in its root: one file for each.
pub const TASK_TYPES: &str = "task-types";
/// What the scripted agent does in a project, where its command line names no script.
pub const AGENT_SCRIPT: &str = "waypost-sim.json";

/// The last name of one of these paths.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file of a project that tells an agent program which hooks to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Below the root of the project, with `/` between its names.
    pub path: &'static str,
    /// Whether its last name says what it is in any folder.
    pub is_known_by_name: bool,
}

/// Files and folders in the journal's folder.
pub mod state {
    /// The journal of the embedded store; without it there is no project.
    pub const JOURNAL: &str = "journal.db";
    /// Commits that are not in the journal's main file yet.
    pub const JOURNAL_LOG: &str = "journal.db-wal";
    /// Held while a transaction is open.
    pub const JOURNAL_TURN: &str = "journal.lock";
    /// Shared by all who have the journal open; tells how it was left.
    pub const JOURNAL_SESSIONS: &str = "journal.open";
    pub const BACKUPS: &str = "backups";

    /// The lock behind the engine lease, with its holder's name inside.
    pub const ENGINE_LEASE: &str = "engine.lock";
    pub const ENGINE_SOCKET: &str = "engine.sock";
    /// Our own turn for the lock file of the run's window.
    pub const SEED_TURN: &str = "seed.lock";
    /// The turn for ticking boxes in TASKS.md.
    pub const BOXES_TURN: &str = "boxes.lock";
    /// Which TASKS.md has every box ticked that there is to tick.
    pub const BOXES_STAMP: &str = "boxes.stamp";
    /// The hash of TASKS.md, for as long as it is as it was.
    pub const TASKS_STAMP: &str = "tasks.stamp";

    /// Gate records, one for each work tree.
    pub const GATES: &str = "gate";
    /// What the hook answered and is not in the journal yet.
    pub const VERDICTS: &str = "verdicts.jsonl";
    /// A file for each task of an agent, with the number of its live attempt.
    pub const FENCES: &str = "fences";

    /// Renderings of windows, by hash.
    pub const WINDOWS: &str = "windows";
    pub const REFUSED_EDITS: &str = "refused";
    pub const WAITING_EDITS: &str = "waiting";
    /// Earlier contents of documents.
    pub const DOCUMENTS: &str = "documents";

    /// When what is in the caches of agents was last used.
    pub const MEMORY_CACHE: &str = "memory.cache";

    /// Ends the name of a machine's image, which begins with its stream's.
    pub const IMAGE_SUFFIX: &str = ".image";
    /// Which entries of the journal are about what.
    pub const MENTIONS: &str = "mentions.db";
    /// The words of everything that can be searched.
    pub const SEARCH: &str = "search.db";
    /// The run in brief.
    pub const RUN_SUMMARY: &str = "run.summary";
    /// Room that is kept for the journal where a disk is full.
    pub const RESERVE: &str = "journal.reserve";
    /// What a run in the background says.
    pub const RUN_LOG: &str = "run.log";
    /// Written and removed, to see whether the disk takes it.
    pub const PROBE: &str = "probe";
    /// Outputs of attempts.
    pub const LOGS: &str = "logs";
    /// Jobs: a folder for each, with the logs of its processes; named as earlier versions did.
    pub const JOBS: &str = "errands";
    /// Outputs of attempts at tasks of the server, with their keepers.
    pub const TASKS: &str = "tasks";
    /// What git folders look like to walled calls, one folder for each call that runs.
    pub const VIEWS: &str = "views";
    /// What walled calls put where nothing may be put, moved out of the way.
    pub const MISPLACED: &str = "misplaced";
    /// Values that people gave to tasks, sealed: a folder for each task.
    pub const VALUES: &str = "values";
    pub const KEEPERS: &str = "keepers";
    pub const AGENTS: &str = "agents";
}

/// Names in the data folder, where the workspaces of tasks are.
pub mod data {
    /// The data folder in the root of a project, unless it is moved elsewhere.
    pub const FOLDER: &str = super::STATE_OUTSIDE_GIT;
    /// Has a folder for each task, named by its id.
    pub const WORKSPACES: &str = "workspaces";
    /// In there: the way to the root of the project whose tasks they are.
    pub const OWNER: &str = ".project";
}

/// Folders below `waypost` in the user's own state (`$XDG_STATE_HOME`).
pub mod user_state {
    /// The projects that have a journal.
    pub const PROJECTS: &str = "waypost/projects";
    /// What a person has allowed agents for good.
    pub const PERMITS: &str = "waypost/permits";
    /// What is known of journals outside of their folders, a file for each.
    pub const SEALS: &str = "waypost/seals";
    /// How far the wall reaches on this machine, and under which conditions that was found.
    pub const LEVEL: &str = "waypost/level";
    /// Locks, one for each agent that may work at once.
    pub const SLOTS: &str = "waypost/slots";
    /// What a person types for what opens a gate, as a hash.
    pub const PIN: &str = "waypost/pin";
    /// The key with which values that people give to tasks are sealed.
    pub const VALUES_KEY: &str = "waypost/values.key";
    /// The sockets of walled calls that run.
    pub const CALLS: &str = "waypost/calls";
}

/// Variables of the environment, as children of Waypost find them.
pub mod variable {
    /// The task that a process works on.
    pub const TASK: &str = "WAYPOST_TASK";
    /// The number of its attempt.
    pub const ATTEMPT: &str = "WAYPOST_ATTEMPT";
    /// The job that a process works at, and which of its processes that is.
    pub const JOB: &str = "WAYPOST_JOB";
    /// The file with the number of the live attempt at a task or a job, which the hook looks at.
    pub const FENCE: &str = "WAYPOST_FENCE";
    /// The folder of the keeper that holds a process.
    pub const KEEPER: &str = "WAYPOST_KEEPER";
    /// The keeper's name for the process.
    pub const CHILD: &str = "WAYPOST_CHILD";
    /// How many files the children of a keeper may open, where its engine may open more than that.
    pub const OPEN_FILES: &str = "WAYPOST_OPEN_FILES";
    /// The file that a check of an agent program's gate makes if it is not held.
    pub const CANARY: &str = "WAYPOST_CANARY";
    /// Where a process behind a wall finds the broker of its call.
    pub const BROKER: &str = "WAYPOST_BROKER";
    /// Set for a command that the broker runs: it may be told to read what its caller cannot. Names the journals'
    /// folders of the projects that the caller's call is made for.
    pub const BROKERED: &str = "WAYPOST_BROKERED";
    /// The level of the wall that a process is behind.
    pub const WALL: &str = "WAYPOST_WALL";
    /// Set for a shell call of an agent that is behind a wall as a whole.
    pub const CALL: &str = "WAYPOST_CALL";
    /// Asks for completions instead of running a command.
    pub const COMPLETE: &str = "WAYPOST_COMPLETE";
}

/// The files of the seeds that show a machine's state, relative to a work tree.
pub mod window {
    pub const WORKFLOW_FOLDER: &str = ".develop-workflow";
    pub const WORKFLOW: &str = ".develop-workflow/state.json";
    pub const RUN: &str = ".claude/orchestrate-state.json";
    pub const MEMORY_FOLDER: &str = ".claude/memory";
    pub const TASK_STATE: &str = ".claude/memory/task-state.json";
    pub const TASK_HISTORY: &str = ".claude/memory/task-history.json";
    /// Folders beside the run's window that agents write themselves.
    pub const WRITTEN_BY_AGENTS: [&str; 2] = [MEMORY_FOLDER, super::session::FOLDER];
}

/// Documents in the folder of the memory, beside its windows.
pub mod memory {
    /// What all agents share.
    pub const SHARED_CONTEXT: &str = "shared-context.json";
    /// Has a document for each agent.
    pub const AGENTS: &str = "agents";
    /// Has what was in all of them before.
    pub const BACKUPS: &str = "backup";
}

/// The files of sessions, relative to the repository's own work tree.
pub mod session {
    pub const FOLDER: &str = ".claude/orchestrator";
    /// In there: a folder for each project, named by its hash.
    pub const SESSIONS: &str = ".claude/orchestrator/sessions";
    /// The project, and whether a session is active: in the folder of the session.
    pub const PROJECT_FILE: &str = "session.json";
    /// The request, its tasks and subtasks: in there as well.
    pub const STATE_FILE: &str = "state.json";
    /// Reports on what gates leave open, below the folder of a session.
    pub const REPORTS: &str = "reports";
    /// In there as well, with one file.
    pub const KNOWLEDGE: &str = ".claude/orchestrator/knowledge";
    pub const KNOWLEDGE_FILE: &str = "knowledge.yaml";
}
