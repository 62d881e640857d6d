//! What running programs say: their streams in, common words out.
//!
//! Foreign output never panics and is never lost: a line that says nothing to us is kept as it is.
//! What comes out does not depend on the chunks in which the bytes came in.

pub(crate) mod calls;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod parts;
mod reader;
mod said;

pub use lines::LINE_BYTES_MAX;
pub use reader::{LineUse, Listener, Placed, Reader, ask};
pub use said::{Ask, AskItem, AskKind, Choice, End, LimitStatus, Said, Usage, Why};

/// The choices of a permission where the program has none of its own.
pub const ALLOW: &str = "allow";
pub const DENY: &str = "deny";

/// The longest text of a question; a person reads no more.
pub(crate) const TEXT_LENGTH_MAX: usize = 10_000;

/// The longest account of how a turn ended.
pub(crate) const DETAIL_LENGTH_MAX: usize = 10_000;
