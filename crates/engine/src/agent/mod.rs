//! Model agents: which there are, how one is started, spoken with and understood.
//!
//! One agent process has one keeper of its own, which holds its input open and writes down what it
//! says. So nothing is lost with this process: the next process reads the stream from its
//! beginning and speaks on. What an agent's words mean for a task, a review or a gate is decided by
//! those who gave it the work.

mod canary;
mod errand;
mod heard;
mod meter;
mod name;
mod prepare;
mod profile;
mod surroundings;
mod talking;
mod transcript;

pub(crate) use canary::version;
pub use canary::{AgentCheck, CANARY, GateHealth, canary_call};
pub use errand::Onlooker;
pub(crate) use errand::{
    Bounds, Errand, Halted, HookSource, LOOK_INTERVAL, Mission, Outcome, Trouble, supervise,
};
pub(crate) use heard::Heard;
pub(crate) use meter::{Meter, Tally};
pub(crate) use name::new_uuid;
pub use profile::{Agent, Installed};
pub(crate) use profile::{SHELL, built_in_names, find_program};
pub(crate) use surroundings::require_key;
pub(crate) use talking::{
    Call, ProcessEnd, Remains, Talking, Told, agents_folder, bury, end_child, heard_in, inherited,
    stream_path,
};
pub use transcript::Transcript;
