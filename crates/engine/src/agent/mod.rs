//! Model agents: which there are, how one is started, spoken with and understood.
//!
//! One agent process has one keeper of its own, which holds its input open and writes down what it
//! says. So nothing is lost with this process: the next process reads the stream from its
//! beginning and speaks on. What an agent's words mean for a task, a review or a gate is decided by
//! those who gave it the work.

mod ask;
mod asking;
mod canary;
mod heard;
mod job;
mod left;
mod meter;
mod name;
mod patience;
mod prepare;
mod profile;
mod slots;
mod startable;
mod supervised;
mod surroundings;
mod transcript;
pub(crate) mod version;

pub(crate) use ask::told;
pub(crate) use asking::{Asking, text_questions};
pub use canary::{
    AgentCheck, CANARY, CheckMeans, GateHealth, canary_call, check, checks, obstacles_of,
};
pub(crate) use canary::{obstacles, registered_at};
pub(crate) use heard::Heard;
pub use job::Onlooker;
pub(crate) use job::{HookSource, Job, JobEnd, JobOrder, is_job_open, job_bounds};
pub(crate) use left::{Leftovers, clear, leftovers};
pub(crate) use meter::{Meter, Tally};
pub(crate) use name::new_uuid;
pub use profile::{Agent, Installed, installed, named, names};
pub(crate) use profile::{SHELL, find_program, for_job, known_names, with_hook};
pub(crate) use slots::{Slot, Slots};
pub(crate) use supervised::{
    Adoption, AgentEnd, Allowance, Bounds, Call, Circumstances, Halt, MadeCall, ProcessEnd, Purse,
    Remains, Supervised, Supervision, Told, Trouble, agents_folder, bury, end_child, end_unseen,
    heard_in, inherited, out_of_money, prove_unseen, stream_path,
};
pub(crate) use surroundings::{look_around, require_key};
pub use transcript::{Transcript, transcript};
pub(crate) use transcript::{told_in, transcript_beside};

#[cfg(test)]
mod tests;
