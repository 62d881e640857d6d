//! How far a reader of the feed has come, as a value that can leave the program.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The form of the text that the embedded stores write: `1.` and the number of the last entry read.
const VERSION: &str = "1";

/// A position in the feed of one journal: all entries up to it have been read.
///
/// Opaque to its readers, who get one with each entry and hand it back to go on from there. The
/// text begins with the version of its form: a store whose entries do not become visible in the
/// order of their numbers needs two numbers, and must not take the one for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    seq: u64,
}

/// A text that is no cursor of this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a position in the journal that this program knows")]
pub struct BadCursor {
    text: String,
}

impl Cursor {
    /// Before the first entry.
    pub const START: Self = Self { seq: 0 };

    pub(crate) const fn after(seq: u64) -> Self {
        Self { seq }
    }

    pub(crate) const fn seq(self) -> u64 {
        self.seq
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}.{}", self.seq)
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let seq = text.split_once('.').filter(|(version, _)| *version == VERSION);
        let seq = seq.and_then(|(_, seq)| seq.parse().ok());
        let cursor = seq.map(Self::after).filter(|cursor| cursor.to_string() == text);
        cursor.ok_or_else(|| BadCursor { text: text.to_owned() })
    }
}

impl TryFrom<String> for Cursor {
    type Error = BadCursor;

    fn try_from(text: String) -> Result<Self, BadCursor> {
        text.parse()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_as_text() {
        for (cursor, text) in
            [(Cursor::START, "1.0"), (Cursor::after(u64::MAX), "1.18446744073709551615")]
        {
            assert_eq!(cursor.to_string(), text);
            assert_eq!(text.parse(), Ok(cursor));
            let json = serde_json::to_string(&cursor).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Cursor>(&json).unwrap(), cursor);
        }
    }

    #[test]
    fn what_is_no_cursor_of_ours_is_refused() {
        for text in ["", "7", "1", "1.", "1.-1", "1.+1", "1.01", "1.x", " 1.1", "1.1.1", "2.1.1"] {
            let error = text.parse::<Cursor>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
