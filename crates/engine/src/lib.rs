//! The loop between a command and the world: load, decide, commit, show; later also perform.
//!
//! The only crate that puts machines, journal and windows together, and the only one below the
//! faces that has a clock and starts processes.

pub mod accounts;
mod actor;
pub mod adopt;
pub mod agent;
pub mod answer;
pub mod attendance;
mod bell;
pub mod boxes;
pub mod by_hand;
pub mod changes;
mod check;
mod children;
mod clock;
mod config;
mod conflict;
pub mod context;
pub mod contracts;
pub mod conversation;
mod doctor;
pub mod entries;
mod environment;
mod error;
pub mod evidence;
mod execute;
mod fence;
pub mod gate;
mod given;
mod guest;
mod home;
pub mod host;
pub mod import;
pub mod init;
pub mod isolation;
pub mod knowledge;
mod ledger;
mod machines;
pub mod memory;
mod mending;
pub mod mentions;
pub mod notify;
pub mod open;
mod outbox;
pub mod permits;
pub mod pin;
mod preflight;
mod project;
pub mod publish;
mod ralph;
mod remains;
mod resettle;
mod resources;
mod retention;
mod review;
pub mod runs;
mod scratch;
mod seal;
pub mod search;
pub mod served;
mod served_why;
pub mod serving;
pub mod session_gates;
pub mod sessions;
mod spelling;
pub mod summary;
mod task_types;
pub mod tasks;
mod test_path;
mod threaded;
mod validate;
pub mod values;
pub mod verdicts;
pub mod wall;
pub mod why;
mod windows;
mod worktrees;

pub use actor::{identify, is_sent_by_waypost, own_conversation};
pub use agent::{
    Agent, AgentCheck, CANARY, CheckMeans, GateHealth, Installed, Onlooker, Transcript, canary_call,
};
pub use answer::{GivenReply, RecordedReply};
pub use attendance::{Begun, Haste, RunLog};
pub use clock::Clock;
pub use config::{Configuration, Origin, Setting, Sources};
pub use doctor::{Doctor, Finding, Health, Repair, WantedWorkspaces};
pub use entries::WaitingEntry;
pub use environment::Environment;
pub use error::{EngineError, InvalidFile, Problem, with_causes};
pub use evidence::GateClaim;
pub use execute::{
    AgentView, Audience, Doing, Happening, Ring, RunEnd, RunNews, RunOptions, Running, Voice, Wish,
};
pub use home::Home;
pub use host::{Follower, Handle, Happened, Host, News, RunWatch, Stopping, Subscription};
pub use init::{
    AgentChoice, AgentSetup, Change, GitHookSetup, InitOptions, InitReport, Removal, Removed,
    ServerSetup,
};
pub use ledger::MachineCommand;
pub use notify::{Trial, Waiting};
pub use open::Opened;
pub use preflight::{require_known_phase, require_phase};
pub use project::{Project, ProjectSetup};
pub use ralph::{RalphEnd, RalphOptions, has_sent_for, ralph};
pub use review::{ReviewOptions, review};
pub use scratch::make_scratch;
pub use served_why::{ServedWhy, explain_task};
pub use spelling::Spelling;
pub use task_types::{KnownType, task_type, task_types};
pub use tasks::{Ahead, Onward, TasksSource};
pub use validate::{Validity, schema, validate_file};
pub use waypost_agent::{Product, registration::Sharing, settings::Obstacle};
pub use waypost_git::{GitError, Pruned, Remedy};
pub use waypost_proc::{ProcError, attend, serve as keep};
pub use waypost_redact::Secret;
pub use waypost_store::{
    StoreError,
    journal::{BadCursor, Cursor, Recorded},
    lock::Owner,
    parse::nearest,
    permits::Permit,
};
pub use why::{Reason, Why};
pub use worktrees::{
    PruneOptions, TreeState, Undone, WorkTree, prune_work_trees, undo_work_tree, work_trees,
};

/// Puts `bytes` at `path` in one step, as all files of ours are written.
pub fn write_file(path: &std::path::Path, bytes: &[u8]) -> Result<(), EngineError> {
    Ok(waypost_store::file::replace(path, bytes, waypost_store::file::SHARED)?)
}
