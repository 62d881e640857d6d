//! What a question is about: which machine asked, and about what in that machine's own words.
//!
//! Journals hold subjects as text (`run/phase/3`), so every text is one. An answer goes to the
//! machine whose stream the text begins with; only that machine reads the rest.

use crate::id::StreamName;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a machine asks about, or sets a timer for: `phase/3`. Only that machine reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Topic(String);

impl Topic {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which machine asked, and about what: its stream, a slash, its topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(String);

impl Subject {
    pub fn of(asker: &StreamName, topic: &Topic) -> Self {
        Self(format!("{asker}/{topic}"))
    }

    /// Who asked, and about what; none if the text names no stream.
    pub fn read(&self) -> Option<(StreamName, Topic)> {
        let (asker, topic) = self.0.split_once('/')?;
        Some((asker.parse().ok()?, Topic::new(topic)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
