//! Process trees: started, watched, limited, stopped as a whole, and found again after a crash.
//!
//! A **keeper** is a process of ours that starts children for an engine and outlives it. The
//! engine speaks to it through [`Keeper`]; the keeper itself is [`serve`]. Whatever must survive
//! the engine stands in the keeper's spool before the engine hears of it, so that a new engine
//! learns from [`find`] what happened while no engine listened.
//!
//! - A child's tree is everything that descends from it, also what made a session of its own or
//!   lost its parent: the keeper is the subreaper of all of them. An end is reported when the
//!   whole tree is gone, never before.
//! - No signal is sent by number alone: each goes through a pidfd whose process was compared with
//!   the start time that was seen.
//! - An end that was not seen is never made up. A keeper that is killed may lose one.
//! - Memory does not grow with output; what a log may not keep is counted.
//! - What a child was given as secret ([`Spec::secrets`]) reaches no disk: the keeper takes it out of
//!   logs, streams and reports before it writes them.
//! - A child may have a lease ([`Lease`]): what it may do without a further word of an engine. Its
//!   keeper holds it to that, with no engine alive. A keeper whose folder is gone ends what it keeps.
//! - A child may be spoken with ([`Talk`]). What was said to it reaches it if the keeper lives, and
//!   what it says stands whole in a file: both outlive the engine.
//! - A program that does not outlive its engine, such as a check, has an attendant ([`attend`]).
//!
//! Deliberately not here: what a child is for, whether its end is a success, retries, and any
//! policy on how many run. Linux only.

mod attend;
mod birth;
mod capture;
mod cgroup;
mod client;
mod clock;
mod command;
mod error;
mod found;
mod keeper;
mod octets;
mod open_files;
mod place;
mod process;
mod spec;
mod spool;
mod stream;
mod wire;

pub use attend::{ASK, BEGIN, OVER, attend};
pub use client::Keeper;
pub use error::ProcError;
pub use found::{Dead, Found, find, is_any_left, look_again};
pub use keeper::serve;
pub use open_files::{limit_open_files, open_files_max, raise_open_files};
pub use process::Identity;
pub use spec::{
    CHILD_VARIABLE, Ended, How, INPUT_SIZE_MAX, KEEPER_VARIABLE, Lease, Limits, Program, Refusal,
    Report, Spec, Stop, Talk,
};
