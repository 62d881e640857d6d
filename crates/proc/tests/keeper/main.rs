//! Real processes that behave badly, under a real keeper.
//!
//! Rows C1 to C11 of the fault matrix as far as processes go; `WAYPOST_FAULTS=full` makes the flood
//! as large as it gets.
#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

mod adoption;
mod freezer;
mod lease;
mod limits;
mod output;
mod running;
mod secrets;
mod shortage;
mod site;
mod talk;
mod trees;
