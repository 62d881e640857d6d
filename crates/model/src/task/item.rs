//! What an agent waits for: open questions and values, each by the place at which it was asked for.

use super::signal::{SpokenQuestion, ValueRequest};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How many items may be open at once; an agent that asks for more is told to stop asking.
pub const ITEMS_MAX: usize = 50;

/// Names an item: the attempt that asked, and where in its stream. Written as `3-1024`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ItemKey {
    pub attempt: u32,
    pub offset: u64,
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.attempt, self.offset)
    }
}

/// A text that names no item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an item: expected an attempt, `-` and a place, as in 3-1024")]
pub struct BadItemKey(String);

impl FromStr for ItemKey {
    type Err = BadItemKey;

    fn from_str(text: &str) -> Result<Self, BadItemKey> {
        let bad = || BadItemKey(text.to_owned());
        let (attempt, offset) = text.split_once('-').ok_or_else(bad)?;
        let (attempt, offset) = (attempt.parse(), offset.parse());
        Ok(Self { attempt: attempt.map_err(|_| bad())?, offset: offset.map_err(|_| bad())? })
    }
}

impl TryFrom<String> for ItemKey {
    type Error = BadItemKey;

    fn try_from(text: String) -> Result<Self, BadItemKey> {
        text.parse()
    }
}

impl From<ItemKey> for String {
    fn from(key: ItemKey) -> Self {
        key.to_string()
    }
}

/// Something that an agent waits for. When the default of one that is not required is taken is known
/// to the inbox, which answers for the person then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItem {
    pub since: Time,
    pub want: ItemWant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemWant {
    Answer(SpokenQuestion),
    Value(ValueRequest),
}

impl ItemWant {
    pub fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }

    pub fn is_required(&self) -> bool {
        match self {
            Self::Answer(question) => question.is_required,
            Self::Value(value) => value.is_required,
        }
    }

    pub fn default(&self) -> Option<&str> {
        match self {
            Self::Answer(question) => question.default.as_deref(),
            Self::Value(value) => value.default.as_deref(),
        }
    }
}
