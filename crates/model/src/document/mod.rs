//! The files that agents and people see, as strict types with JSON Schemas.
//!
//! A field that is not defined here is an error, and so is a value of another type. Reading text
//! is not done here: these are the types, and what can be said of a value without its text.

pub mod code;
pub mod contract;
pub mod knowledge;
pub mod memory;
pub mod server;
pub mod session;
pub mod task_type;

mod check;
mod fields;
mod ids;
mod kind;
#[cfg(test)]
mod tests;

pub use fields::{DateOrTime, TextVersion, Version};
pub use ids::{
    DecisionId, MemorySessionId, MemoryTaskId, PitfallId, ProjectHash, RequestId, ServerTaskId,
    SessionTaskId, SubtaskId,
};
pub use kind::{Document, Form, Kind, Syntax};
