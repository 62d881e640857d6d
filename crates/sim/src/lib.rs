//! Stand-ins by script: for a model, behind the three protocols that agent programs speak, and for
//! agent programs themselves.
//!
//! The real programs run against the model without a network, an account or a cost: to rehearse a
//! workflow with one's own agent, and to test Waypost's hook end to end. It listens on loopback
//! only. Scripted agents need no program at all, for demonstrations and tests of whole runs.
//!
//! - [`Script`]: what the model says, turn by turn; strict, and every fault has its place.
//! - [`Server`]: speaks the Messages API (`/v1/messages`), the Responses API (`/v1/responses`) and
//!   the Gemini API (`/v1beta/models`), chosen by the request's path, and logs what the model was
//!   shown.
//! - [`agent`]: doubles of agent programs on standard input and output.
//!
//! Invariant of the model: the answer to a request follows from the request and the script alone, so that a
//! program may repeat a request; only scripted errors are counted.
//!
//! Deliberately absent: any judgement of what a program asks for. Prompts and tool results are not
//! looked at, apart from the markers that tell conversations apart.

pub mod agent;
mod generate;
mod http;
mod log;
mod messages;
mod protocol;
mod responses;
mod script;
mod server;
mod source;

pub use script::{Block, Input, Lasts, Marked, Script, ScriptedError, Turn, TurnOwner, Usage};
pub use server::{Options, Server, SimError};
