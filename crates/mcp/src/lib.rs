//! The Model Context Protocol at standard input and output: framing, versions, cancellation, progress.
//!
//! The only crate with an async runtime. What tools, resources and prompts there are and what they do is
//! a `Desk`, which knows nothing of the protocol and works in plain threads; a call that takes long is told
//! when its client has given up. A client that dies ends the server: nothing is left running.
//!
//! *Invariant:* no message of a client ends the server: too large, not JSON, no request, an unknown tool,
//! arguments of the wrong shape and a desk that panics are all answered with an error.
//! Deliberately not here: projects, journals, rules.

mod answers;
mod call;
mod desk;
mod lines;
mod notices;
mod outlet;
mod server;

pub use call::Call;
pub use desk::{
    About, Desk, PromptArgument, PromptSpec, ResourceSpec, ResourceText, TemplateSpec, ToolFailure,
    ToolResult, ToolSpec,
};
pub use server::{ServeError, serve};
