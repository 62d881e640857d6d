//! Doubles of agent programs, heard by the reader that hears the real ones.

#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

mod driver;
mod ends;
mod plain;
mod questions;
mod turns;
