//! What Waypost knows and decides: ids, times, actors, documents and the state machines.
//!
//! Pure by construction: no file, no clock, no random number, no thread. Everything here is a
//! value or a function of values, so every rule of the product can be tested in microseconds.

pub mod accounts;
pub mod actor;
pub mod answer;
pub mod code;
pub mod config;
pub mod context;
pub mod declared;
pub mod diagnostic;
pub mod document;
pub mod evidence;
pub mod id;
pub mod image;
pub mod inbox;
pub mod job;
pub mod json;
pub mod knowledge;
pub mod layout;
pub mod listing;
pub mod machine;
#[cfg(test)]
mod matrix;
pub mod memory;
pub mod next;
pub mod notice;
pub mod ordered;
pub mod paged;
pub mod pattern;
pub mod permission;
pub mod retention;
pub mod retry;
pub mod run;
pub mod seal;
pub mod session;
pub mod task;
pub mod text;
pub mod time;
pub mod tool;
pub mod trouble;
pub mod verdict;
pub mod workflow;
