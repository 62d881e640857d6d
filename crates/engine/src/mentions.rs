//! Entries of the journal about a task, a phase, a gate or an inbox entry, found without reading all.
//!
//! What an entry is about stands in its body, under the same few names for every machine. The index is
//! kept by `store`; where it cannot be, the journal is read from its end.

use crate::{error::EngineError, project::Project, served::task_stream};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use std::{borrow::Cow, collections::HashMap};
use waypost_model::{document::ServerTaskId, id::StreamName};
use waypost_store::{
    StoreError,
    journal::{Cursor, Recorded, View},
    mentions::Mentions,
};

/// Entries of a stream that are read at once from its end.
const PAGE: usize = 256;

/// The newest entries about `id`, oldest first: those that name it, or those of the stream with that name.
/// `run:T1.3` means those of the part `run` that name `T1.3`.
pub fn entries_about(
    project: &mut Project,
    id: &str,
    limit: usize,
    wanted: impl Fn(&Recorded) -> bool,
) -> Result<Vec<Recorded>, EngineError> {
    // A task of the server has a stream of its own, whether its part is named or not.
    let stream = match id.parse::<ServerTaskId>() {
        Ok(task) => Ok(task_stream(&task)),
        Err(_) => id.parse::<StreamName>(),
    };
    if let Ok(stream) = stream
        && let Some(journal) = &mut project.journal
        && journal.view()?.head(&stream)? > 0
    {
        return entries_of_stream(project, &stream, limit, wanted);
    }
    let is_wanted = |entry: &Recorded| is_about(entry, id) && wanted(entry);
    match newest_first(project, bare(id), limit, is_wanted)? {
        Some(mut found) => {
            found.reverse();
            Ok(found)
        }
        None => project.log(limit, is_wanted),
    }
}

/// The newest entries of one stream that are wanted, oldest first.
pub fn entries_of_stream(
    project: &mut Project,
    stream: &StreamName,
    limit: usize,
    wanted: impl Fn(&Recorded) -> bool,
) -> Result<Vec<Recorded>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    Ok(newest_of_stream(&journal.view()?, stream, limit, wanted)?)
}

/// The newest entry that names `id` and is wanted.
pub(crate) fn newest_about(
    project: &mut Project,
    id: &str,
    wanted: impl Fn(&Recorded) -> bool,
) -> Result<Option<Recorded>, EngineError> {
    let is_wanted = |entry: &Recorded| names_of(entry).iter().any(|it| it == id) && wanted(entry);
    let found = match newest_first(project, id, 1, is_wanted)? {
        Some(found) => found,
        None => project.log(1, is_wanted)?,
    };
    Ok(found.into_iter().next())
}

/// The newest entries under a name, newest first; none if there is no index to ask.
fn newest_first(
    project: &mut Project,
    name: &str,
    limit: usize,
    wanted: impl Fn(&Recorded) -> bool,
) -> Result<Option<Vec<Recorded>>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Some(Vec::new())) };
    let (folder, id) = (journal.folder().to_owned(), journal.id().to_owned());
    let view = journal.view()?;
    let Ok(mentions) = Mentions::up_to_date(&folder, &id, &view, names_of) else {
        return Ok(None);
    };
    let (mut found, mut until) = (Vec::new(), view.end()?);
    while found.len() < limit {
        let ends = mentions.of(name, until, limit.min(PAGE))?;
        if ends.is_empty() {
            break;
        }
        for end in ends {
            let entries = view.feed_until(end, 1)?;
            until = entries.first().map_or(Cursor::START, Recorded::cursor_before);
            found.extend(entries.into_iter().filter(&wanted));
        }
    }
    found.truncate(limit);
    Ok(Some(found))
}

fn newest_of_stream(
    view: &View<'_>,
    stream: &StreamName,
    limit: usize,
    wanted: impl Fn(&Recorded) -> bool,
) -> Result<Vec<Recorded>, StoreError> {
    let (mut newest, mut end) = (Vec::new(), view.head(stream)?);
    while newest.len() < limit && end > 0 {
        let start = end.saturating_sub(PAGE.min(limit) as u64);
        let count = usize::try_from(end - start).unwrap_or(limit);
        let page = view.events(stream, start, count)?;
        newest.extend(page.into_iter().rev().filter(&wanted));
        end = start;
    }
    newest.truncate(limit);
    newest.reverse();
    Ok(newest)
}

/// An id without the part that it is looked for in.
fn bare(id: &str) -> &str {
    id.split_once(':').map_or(id, |(_, bare)| bare)
}

/// Whether an entry belongs to the stream or names the id; `run:T1.3` asks for both.
pub fn is_about(entry: &Recorded, id: &str) -> bool {
    if id.parse::<ServerTaskId>().is_ok_and(|task| entry.stream == task_stream(&task)) {
        return true;
    }
    let names = names_of(entry);
    let stream = entry.stream.as_str();
    let is_named = |id: &str| names.iter().any(|name| name == id);
    let in_part = |part: &str, id: &str| stream.split(':').next() == Some(part) && is_named(id);
    stream == id || is_named(id) || id.split_once(':').is_some_and(|(part, id)| in_part(part, id))
}

/// What an entry is about, by name.
fn names_of(entry: &Recorded) -> Vec<String> {
    let Ok(body) = serde_json::from_str::<HashMap<Cow<'_, str>, Named<'_>>>(&entry.body) else {
        return Vec::new();
    };
    let Some(named) = body.get(entry.kind.as_str()) else { return Vec::new() };
    let inner = [&named.decision, &named.pitfall].into_iter().flatten().map(|it| &it.id);
    let own = [&named.id, &named.gate, &named.phase, &named.entry];
    let mut names: Vec<String> = own
        .into_iter()
        .chain(inner)
        .flatten()
        .filter_map(|name| match name {
            Name::Text(text) => Some(text.to_string()),
            Name::Number(number) => Some(number.to_string()),
            Name::Other(_) => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The fields of an event by which it is found; all others are passed over unread.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    id: Option<Name<'a>>,
    #[serde(borrow, default)]
    gate: Option<Name<'a>>,
    #[serde(borrow, default)]
    phase: Option<Name<'a>>,
    /// Of the knowledge, by its id or its path.
    #[serde(borrow, default)]
    entry: Option<Name<'a>>,
    #[serde(borrow, default)]
    decision: Option<Inner<'a>>,
    #[serde(borrow, default)]
    pitfall: Option<Inner<'a>>,
}

/// Something that an event is about, with an id of its own; others have nothing or a text there.
struct Inner<'a> {
    id: Option<Name<'a>>,
}

impl<'a, 'de: 'a> Deserialize<'de> for Inner<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Any<'a> {
            Object {
                #[serde(borrow)]
                id: Name<'a>,
            },
            Other(IgnoredAny),
        }
        Ok(match Any::deserialize(from)? {
            Any::Object { id } => Self { id: Some(id) },
            Any::Other(_) => Self { id: None },
        })
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Name<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Number(serde_json::Number),
    Other(IgnoredAny),
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::{actor::Actor, time::Time};

    fn entry(stream: &str, kind: &str, body: &str) -> Recorded {
        Recorded {
            seq: 1,
            stream: stream.parse().unwrap(),
            stream_seq: 1,
            at: Time::from_millis(0),
            actor: Actor::Waypost,
            format: 1,
            kind: kind.into(),
            body: body.into(),
        }
    }

    #[test]
    fn an_entry_is_about_what_it_names_and_about_its_stream() {
        let started = entry("run", "task_started", r#"{"task_started":{"id":"T1.3","phase":2}}"#);
        let decided = r#"{"decided":{"decision":{"id":"D1","topic":"x"}}}"#;
        assert!(is_about(&entry("knowledge", "decided", decided), "D1"));
        let forgotten = r#"{"forgotten":{"entry":"P2","said":{}}}"#;
        assert!(is_about(&entry("knowledge", "forgotten", forgotten), "P2"));
        let text = r#"{"x":{"decision":"D1","pitfall":null,"id":"T1"}}"#;
        assert_eq!(names_of(&entry("knowledge", "x", text)), ["T1"]);
        let over = entry("run", "over", r#"{"over":null}"#);
        let passed =
            entry("workflow:main", "passed", r#"{"passed":{"gate":"tests","id":{"a":1}}}"#);
        let torn = entry("run", "torn", r#"{"torn":{"id":"T1"#);
        let table = [
            (&started, &["T1.3", "2", "run", "run:T1.3"][..], &["T1", "inbox:T1.3", "3", ""][..]),
            (&over, &["run"], &["null", "over"]),
            (&passed, &["tests", "workflow:main", "workflow:tests"], &["run:tests", "a"]),
            (&torn, &["run"], &["T1"]),
        ];
        for (entry, about, not_about) in table {
            assert!(about.iter().all(|id| is_about(entry, id)), "{entry:?}");
            assert!(!not_about.iter().any(|id| is_about(entry, id)), "{entry:?}");
        }
    }
}
