//! The memory: one current task with its steps, tasks that wait, the history of what has ended, notes.
//!
//! One machine for each repository. Its state is shown in two files, `task-state.json` and
//! `task-history.json`; the shared context and the memory of each agent are documents, of which only
//! the hashes are noted here. What other machines have finished becomes an entry of the history in
//! the same transaction (`Effect::Remember`, `bridge`).

mod apply;
mod bridge;
mod history;
mod machine;
mod state;
mod steps;
mod tasks;
#[cfg(test)]
mod tests;
mod topic;
mod translate;
mod window;
mod words;

pub use bridge::FinishedWork;
pub use history::{HISTORY_DAYS, HISTORY_MAX, History, Totals};
pub use state::{KeptTask, Memory, Note, NotedFile, ReplanCause, StepClock};
pub use topic::MemoryTopic;
pub use translate::{translate_history, translate_state};
pub use window::{differs_history, differs_state};
pub use words::{
    Amendment, Command, Ending, Event, NoteKind, StepAct, StepDraft, StepFailure, TaskAct,
    TaskDraft,
};
