//! The signals that an agent puts into its text: what is done, what failed, what it needs.
//!
//! A signal is a line of its own, outside code fences and not indented as code is; blocks are
//! `[NAME]` … `[/NAME]` with fields, `[NAME_JSON]{…}[/NAME_JSON]`, or one line of fields. What
//! looks like a block and is none is reported and fires nothing.
//!
//! Only what the agent itself says may be read here: the whole output of a plain program through
//! a [`Scanner`], or each message of a structured stream by [`read`]. A signal is known by its place in
//! the stream ([`Places`]), counts if it is what was [`Expected`], and is told with those that came
//! together with it ([`Window`]).

mod block;
mod line;
mod scanner;
mod signal;
mod spoken;

pub use scanner::Scanner;
pub use signal::{
    Dependency, DependencyKind, Malformed, Problem, Question, QuestionKind, Recovery, Severity,
    Signal, in_order,
};
pub use spoken::{Expected, Places, Spoken, WINDOW, Window};

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
