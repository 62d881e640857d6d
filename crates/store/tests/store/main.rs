//! The store as its users, its rivals and its accidents see it: real files, real processes.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "everything in here is a test")]

mod common;
mod conformance;
mod damage;
mod golden;
mod journal;
mod model;
mod processes;
