//! The signals that an agent puts into its text: what is done, what failed, what it needs.
//!
//! A signal is a line of its own, outside code fences and not indented as code is; blocks are
//! `[NAME]` … `[/NAME]` with fields, `[NAME_JSON]{…}[/NAME_JSON]`, or one line of fields. What
//! looks like a block and is none is reported and fires nothing.
//!
//! Only what the agent itself says may be read here: the whole output of a plain program through
//! a [`Scanner`], or each message of a structured stream by [`read`]. Whether a task, phase or
//! nonce is the right one is for the reader of the signals to say.

mod block;
mod line;
mod scanner;
mod signal;

pub use scanner::Scanner;
pub use signal::{
    Dependency, DependencyKind, Malformed, Problem, Question, QuestionKind, Recovery, Severity,
    Signal, in_order,
};

/// The longest field, in characters.
pub const FIELD_LENGTH_MAX: usize = 10_000;

/// The longest block, in bytes.
pub const BLOCK_BYTES_MAX: usize = 100 * 1024;

/// The signals in a message that is there as a whole.
pub fn read(text: &str) -> Vec<Signal> {
    let mut scanner = Scanner::new();
    let mut signals = scanner.push(text.as_bytes());
    signals.extend(scanner.finish());
    signals
}

#[cfg(test)]
mod tests;
