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

/// Which machine asked, and about what: its stream, a slash, its topic. A slash in the stream's own name
/// is written as `%2F`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(String);

impl Subject {
    pub fn of(asker: &StreamName, topic: &Topic) -> Self {
        let asker = MARKS.iter().fold(asker.to_string(), |name, mark| {
            name.replace(mark, &format!("%25{}", mark.trim_start_matches('%')))
        });
        Self(format!("{}/{topic}", asker.replace('/', "%2F")))
    }

    /// Who asked, and about what; none if the text names no stream.
    pub fn read(&self) -> Option<(StreamName, Topic)> {
        let (asker, topic) = self.0.split_once('/')?;
        Some((plain(asker).parse().ok()?, Topic::new(topic)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What stands for a percent sign and for a slash in the name of a stream that asks.
const MARKS: [&str; 2] = ["%25", "%2F"];

/// The name of a stream without marks. A percent sign that begins no mark stands for itself, as in
/// subjects of earlier versions.
fn plain(name: &str) -> String {
    let (mut plain, mut rest) = (String::new(), name);
    while let Some(next) = rest.chars().next() {
        let mark = MARKS.iter().zip(['%', '/']).find(|(mark, _)| rest.starts_with(**mark));
        plain.push(mark.map_or(next, |(_, meant)| meant));
        rest = &rest[mark.map_or_else(|| next.len_utf8(), |(mark, _)| mark.len())..];
    }
    plain
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_finds_its_way_back_whatever_the_stream_is_called() {
        let table = [
            ("run", "run/phase/3"),
            ("workflow:main", "workflow:main/phase/3"),
            ("workflow:50%", "workflow:50%/phase/3"),
            ("job:main/review", "job:main%2Freview/phase/3"),
            ("job:a%2Fb/%25", "job:a%252Fb%2F%2525/phase/3"),
            ("job:%%25%2%", "job:%%2525%2%/phase/3"),
        ];
        let topic = Topic::new("phase/3");
        for (stream, want) in table {
            let stream: StreamName = stream.parse().unwrap();
            let subject = Subject::of(&stream, &topic);
            assert_eq!(subject.as_str(), want);
            assert_eq!(subject.read(), Some((stream, topic.clone())), "{want}");
        }
        assert_eq!(Subject("no stream".to_owned()).read(), None);
    }
}
