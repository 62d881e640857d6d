//! A session: a request of the user's, its tasks and subtasks, and the gates that each goes through.
//!
//! One machine for each repository; its sessions and requests follow each other in one stream. Its
//! state is shown in two files, `session.json` and `state.json`. What agents hand to each other are
//! documents, of which only fingerprints are noted here. A gate is judged outside, on files; what
//! follows from what was found is decided here.
//!
//! ```text
//! request:  global_discovery → task_loop → complete
//! task:     pending → in design → its subtasks, one after another → completed
//! subtask:  test_first → implementation → verification → complete
//! ```

mod apart;
mod apply;
mod call;
mod found;
pub mod gate;
pub mod gates;
mod judging;
mod machine;
mod planning;
mod remembered;
mod state;
#[cfg(test)]
mod tests;
mod topic;
mod translate;
mod window;
mod words;

pub use apart::TreeStep;
pub use call::{Call, Role};
pub use state::{
    CallClock, HeldUp, JoinedWork, OpenGate, RequestState, RequestTrees, Session, SessionFacts,
    SessionTaskState, SubtaskState, SubtaskTries, TaskTree,
};
pub use topic::Hold;
pub use translate::{translate_session, translate_state};
pub use window::{differs_session, differs_state};
pub use words::{
    Assumption, AssumptionFate, Command, Event, Lead, Look, MissingContract, Named, PlanDraft,
    PlannedBrief, PlannedSessionTask, ProjectFacts,
};
