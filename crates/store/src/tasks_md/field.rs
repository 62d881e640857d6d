//! The labels of fields: which words, in Korean or English, start a field of a task.

use super::{
    ids::{self, Word},
    line::{Line, Origin, Slice},
};
use crate::parse::distance;
use std::ops::Range;

/// Longer texts before a colon are sentences.
const LABEL_LENGTH_MAX: usize = 60;

/// What a task can state about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Owner,
    Depends,
    Parallel,
    Files,
    Spec,
    Worktree,
    Verify,
    Run,
    Timeout,
    Priority,
    Agent,
    Model,
    Budget,
}

impl Field {
    /// The English label, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Depends => "depends",
            Self::Parallel => "parallel",
            Self::Files => "files",
            Self::Spec => "spec",
            Self::Worktree => "worktree",
            Self::Verify => "verify",
            Self::Run => "run",
            Self::Timeout => "timeout",
            Self::Priority => "priority",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Budget => "budget",
        }
    }

    /// Finds the field of a label, whatever its case, spaces, `-` and `_`.
    pub(super) fn of_label(label: &str) -> Option<Self> {
        let label = label.trim_matches(|c: char| !c.is_alphanumeric());
        if label.len() > LABEL_LENGTH_MAX {
            return None;
        }
        let key: String =
            label.chars().filter(|c| !c.is_whitespace() && !"-_".contains(*c)).collect();
        Some(match key.to_lowercase().as_str() {
            "담당" | "owner" => Self::Owner,
            "의존" | "의존성" | "depends" | "dependson" | "dependencies" => Self::Depends,
            "병렬" | "parallel" => Self::Parallel,
            "파일" | "files" => Self::Files,
            "스펙" | "spec" => Self::Spec,
            "worktree" => Self::Worktree,
            "검증" | "verify" => Self::Verify,
            "명령" | "run" => Self::Run,
            "시간제한" | "timeout" => Self::Timeout,
            "우선순위" | "priority" => Self::Priority,
            "agent" => Self::Agent,
            "model" => Self::Model,
            "budget" => Self::Budget,
            _ => return None,
        })
    }
}

/// A field that a line starts with.
#[derive(Debug)]
pub(super) struct Labelled<'l> {
    pub(super) field: Field,
    pub(super) label: Range<usize>,
    pub(super) value: Slice<'l>,
}

/// Reads `label: value`; a label in inline code is a word that is talked about.
pub(super) fn labelled(line: &Line) -> Option<Labelled<'_>> {
    let text = line.text();
    let start = text.find(char::is_alphanumeric)?;
    if line.is_code(start) {
        return None;
    }
    let window = text[start..].char_indices().take(LABEL_LENGTH_MAX);
    let colon = window.into_iter().find(|(_, c)| matches!(c, ':' | '：'));
    match colon {
        Some((length, colon)) => {
            let end = start + length;
            let field = Field::of_label(&text[start..end])?;
            let value = Slice::after(line, end + colon.len_utf8(), Origin::Inline);
            Some(Labelled { field, label: line.span(start..end), value })
        }
        None => depends_on(line, start),
    }
}

/// The fields that a misspelt label could mean; shorter names are like too many other words.
const LONG_NAMES: [&str; 11] = [
    "owner", "depends", "parallel", "files", "worktree", "verify", "timeout", "priority", "agent",
    "model", "budget",
];

/// A label that is one letter away from a field's name: where it stands, and the name.
pub(super) fn misspelt(line: &Line) -> Option<(Range<usize>, &'static str)> {
    let text = line.text();
    let start = text.find(char::is_alphanumeric)?;
    let word =
        text[start..].split([':', '：']).next().filter(|word| start + word.len() < text.len())?;
    let letters: Vec<char> =
        word.chars().take(LABEL_LENGTH_MAX).flat_map(char::to_lowercase).collect();
    if line.is_code(start) || letters.len() < 4 || !letters.iter().all(char::is_ascii_alphabetic) {
        return None;
    }
    let name = LONG_NAMES.into_iter().find(|name| distance(&letters, name) == 1)?;
    Some((line.span(start..start + word.len()), name))
}

/// Reads `Depends on T1.1`, the one field that people write as a sentence.
fn depends_on(line: &Line, start: usize) -> Option<Labelled<'_>> {
    let end = start + depends_words(&line.text()[start..])?;
    let value = Slice::after(line, end, Origin::Inline);
    let first = &value.text()[..ids::word_length(value.text())];
    let names_task = matches!(ids::classify(first), Word::Id(_));
    names_task.then(|| Labelled { field: Field::Depends, label: line.span(start..end), value })
}

/// Finds `(depends on T010)` in `line` from `start` on: the brackets, and where the text inside
/// them starts. The closing bracket may be missing when the line was wrapped.
pub(super) fn depends_remark(line: &Line, start: usize) -> Option<(Range<usize>, usize)> {
    let text = line.text();
    for (at, _) in text[start..].match_indices('(') {
        let open = start + at;
        let inside = &text[open + 1..];
        let Some(words) = depends_words(inside).filter(|_| !line.is_code(open)) else { continue };
        let after = inside[words..].trim_start();
        let after = after.strip_prefix([':', '：']).unwrap_or(after);
        let close = text[open..].find(')').map_or(text.len(), |length| open + length + 1);
        return Some((open..close, text.len() - after.len()));
    }
    None
}

/// The length of `depends on`, `depends` or `의존` at the start of `text`.
fn depends_words(text: &str) -> Option<usize> {
    let labels = ["depends on", "depends", "dependencies", "의존성", "의존"];
    let starts = |label: &&str| {
        let word = text.get(..label.len());
        let ends = || !text[label.len()..].starts_with(char::is_alphanumeric);
        word.is_some_and(|word| word.eq_ignore_ascii_case(label)) && ends()
    };
    labels.into_iter().find(starts).map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_known_in_every_spelling() {
        let table: [(Field, &[&str]); 13] = [
            (Field::Owner, &["담당", "owner", "Owner", "OWNER"]),
            (
                Field::Depends,
                &["의존", "의존성", "depends", "Depends on", "depends_on", "Dependencies"],
            ),
            (Field::Parallel, &["병렬", "parallel"]),
            (Field::Files, &["파일", "files", "📁 Files"]),
            (Field::Spec, &["스펙", "spec"]),
            (Field::Worktree, &["worktree", "Worktree"]),
            (Field::Verify, &["검증", "verify"]),
            (Field::Run, &["명령", "run"]),
            (Field::Timeout, &["시간제한", "시간 제한", "timeout", "time-out"]),
            (Field::Priority, &["우선순위", "priority"]),
            (Field::Agent, &["agent"]),
            (Field::Model, &["model"]),
            (Field::Budget, &["budget"]),
        ];
        for (field, labels) in table {
            for label in labels {
                assert_eq!(Field::of_label(label), Some(field), "{label}");
            }
            assert_eq!(Field::of_label(field.name()), Some(field));
        }
        for other in ["", "note", "완료 조건", "owners", "run the tests", "의존하는 것"] {
            assert_eq!(Field::of_label(other), None, "{other}");
        }
    }
}
