//! What agent programs tell a hook, and what they understand as its answer.
//!
//! Foreign input never panics: unknown fields and events are tolerated, and what is missing is
//! missing. Only an event that could be a tool call and cannot be understood is an error, because
//! letting it pass unseen would open the gate.

mod event;
mod read;
mod reply;

pub use crate::product::Product;
pub use crate::shell::quoted;
pub(crate) use event::shell_variables;
pub use event::{Event, EventKind, Moment, ToolCall, project_variables};
pub(crate) use read::without_halves;
pub use read::{BadEvent, INPUT_SIZE_MAX, read};
pub use reply::{HookAnswer, Reply, refuse_unread};
pub(crate) use reply::{refusal_before_tool, rewritten_input};
