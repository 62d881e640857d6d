//! Takes secrets out of what leaves a process: texts for people elsewhere, and output on its way to
//! a disk.
//!
//! - A [`Secret`] is a value that is shown by no message and wiped when it is dropped.
//! - A [`Searcher`] knows a set of them in every usual spelling: as they are, in base64 wherever they
//!   begin, for addresses, as hexadecimal digits, and as JSON writes them, once or twice.
//! - A [`Sieve`] is one stream of bytes on its way to a file. What it lets through has a mark in
//!   place of each value, wherever the pieces of the stream were cut; lines of JSON stay JSON.
//! - A [`Redactor`] cleans texts that are there as a whole, and looks further than a sieve can afford: for
//!   names that sound secret, for shapes of tokens, for what was encoded twice.
//!
//! All of it is linear in what is read, whatever is in it, and a sieve holds a bounded part of it.
//!
//! *Absent:* where values come from, files, and any way to write a secret down.

mod automaton;
mod fields;
mod known;
mod lines;
mod searcher;
mod secret;
mod sieve;
mod spelling;
mod text;

pub use searcher::Searcher;
pub use secret::{Secret, is_secret_name};
pub use sieve::{Form, Sieve};
pub use text::{Redactor, secret_values};

#[cfg(test)]
mod tests;

/// What stands in a secret's place.
pub const MARK: &str = "[redacted]";
