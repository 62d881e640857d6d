//! Tasks of other tools, as the text of a TASKS.md.
//!
//! What those tools say of a task and a TASKS.md has no field for stands in a quote below the task: it
//! is text for the agent, and nothing in a quote is ever read as a task, a field or a command. What was
//! written is read back before it is handed out, so that it means what was meant.

mod backlog;
mod plan;
mod task_master;
#[cfg(test)]
mod tests;

pub use backlog::{Backlog, BacklogFile, Shelf, backlog};
pub use plan::Converted;
pub use task_master::task_master;

/// Why something cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImportError(pub String);
