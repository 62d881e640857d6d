//! What of the knowledge an agent is told, by the files that its work is about.

use super::{KnownThings, pattern_paths, show};
use crate::{error::EngineError, project::Project};
use waypost_model::{
    context::{ContextPart, ContextSection},
    declared::covers,
    json::Json,
    layout,
    text::one_line,
};

/// What an entry about one of the agent's own files is worth more than another.
const OF_OWN_FILE: u32 = 220;

/// One that is about other files, and about none of the agent's, is worth so much less.
const OF_OTHER_FILES: u32 = 150;

/// What has changed since is worth this part of what it would be; about an own file, of what that is worth more.
const FADED_SHARE: u32 = 2;

/// How much of one entry is told.
const TEXT_MAX: usize = 400;

/// The knowledge as parts of a context; nothing where there is none.
pub(crate) fn told_for(
    project: &mut Project,
    role: &str,
    files: &[String],
) -> Result<Vec<ContextPart>, EngineError> {
    match super::path(project) {
        Ok(path) if path.symlink_metadata().is_ok() => {}
        _ => return Ok(Vec::new()),
    }
    let known = show(project)?;
    let telling = Telling { known: &known, role, files };
    let mut parts = Vec::new();
    for it in &known.document.decisions {
        let why = it.rationale.as_ref().map(|why| format!(" Why: {why}")).unwrap_or_default();
        let text = format!("{}: {}.{why}", it.topic, it.decision.trim_end_matches('.'));
        parts.push(telling.part(ContextSection::Decisions, it.id.as_str(), &text, &it.refs));
    }
    for it in &known.document.pitfalls {
        let why = it.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let text = format!("{}{why}", it.description);
        parts.push(telling.part(ContextSection::Pitfalls, it.id.as_str(), &text, &[]));
    }
    for (path, value) in pattern_paths(&known.document) {
        let text = format!("{path}: {}", in_words(&value));
        parts.push(telling.part(ContextSection::Shared, &path, &text, &[]));
    }
    Ok(parts)
}

/// Whether something that was found is from the knowledge, which is told as a whole.
pub(crate) fn is_of_knowledge(source: &str) -> bool {
    source.starts_with(layout::session::KNOWLEDGE)
}

struct Telling<'a> {
    known: &'a KnownThings,
    role: &'a str,
    files: &'a [String],
}

impl Telling<'_> {
    /// One entry, with what it stands on and whether that has changed.
    fn part(
        &self,
        section: ContextSection,
        entry: &str,
        text: &str,
        refs: &[String],
    ) -> ContextPart {
        let none = Vec::new();
        let noted = self.known.stands_on.get(entry).unwrap_or(&none);
        let on: Vec<&String> =
            if noted.is_empty() { refs.iter().collect() } else { noted.iter().collect() };
        let is_own =
            |it: &&&String| self.files.iter().any(|file| covers(it, file) || covers(file, it));
        let changed = self.known.changed.get(entry);
        let whole = section.value_for(self.role);
        let share = if changed.is_some() { FADED_SHARE } else { 1 };
        let value = match (on.iter().any(|it| is_own(&it)), on.is_empty() || self.files.is_empty())
        {
            // It stays one about the agent's own file: they change all the time.
            (true, _) => whole + OF_OWN_FILE / share,
            (false, true) => whole / share,
            (false, false) => whole.saturating_sub(OF_OTHER_FILES) / share,
        };
        let mut stands = vec![entry.to_owned()];
        if !on.is_empty() {
            let names: Vec<&str> = on.iter().map(|it| it.as_str()).collect();
            stands.push(format!("stands on {}", names.join(", ")));
        }
        if let Some(changed) = changed {
            stands.push(format!("changed since: {}", changed.join(", ")));
        }
        let text = format!("{} ({})", one_line(text, TEXT_MAX), stands.join("; "));
        ContextPart { section, value, at: None, text }
    }
}

fn in_words(value: &Json) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string(value).unwrap_or_default(),
    }
}
