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

/// All fields by their English labels.
pub(super) const NAMES: [&str; 13] = [
    "owner", "depends", "parallel", "files", "spec", "worktree", "verify", "run", "timeout",
    "priority", "agent", "model", "budget",
];

/// Names that are like too many other words to be taken for a misspelling of them.
const SHORT_NAMES: [&str; 2] = ["run", "spec"];

/// Words that people write for a field, and the field.
const OTHER_WORDS: [(&str, &[&str]); 11] = [
    (
        "run",
        &["cmd", "command", "commands", "exec", "execute", "script", "shell", "명령어", "실행"],
    ),
    (
        "verify",
        &[
            "verification",
            "verified",
            "verifies",
            "validate",
            "validation",
            "check",
            "checks",
            "test",
            "tests",
            "testing",
            "확인",
            "테스트",
            "검증방법",
        ],
    ),
    (
        "depends",
        &[
            "dependency",
            "depend",
            "deps",
            "dependson",
            "requires",
            "needs",
            "after",
            "blockedby",
            "의존관계",
            "선행",
            "선행작업",
            "선행태스크",
        ],
    ),
    ("files", &["file", "path", "paths", "touches", "대상파일", "파일목록"]),
    ("owner", &["assignee", "assigned", "assignedto", "responsible", "담당자"]),
    ("priority", &["prio", "urgency", "우선도"]),
    ("timeout", &["timelimit", "deadline", "제한시간", "타임아웃"]),
    ("budget", &["cost", "maxcost", "예산", "비용"]),
    ("model", &["llm", "모델"]),
    ("agent", &["agents", "runner", "executor", "에이전트"]),
    ("spec", &["specs", "specification", "design", "명세", "사양"]),
];

/// Labels that start a text: no person means a field by them.
const TEXT_WORDS: [&str; 45] = [
    "acceptance",
    "approach",
    "background",
    "caution",
    "context",
    "criteria",
    "description",
    "details",
    "eg",
    "example",
    "examples",
    "fixme",
    "goal",
    "goals",
    "hint",
    "ie",
    "important",
    "input",
    "note",
    "notes",
    "output",
    "purpose",
    "rationale",
    "reason",
    "reference",
    "references",
    "result",
    "scope",
    "see",
    "steps",
    "summary",
    "tip",
    "todo",
    "warning",
    "why",
    "비고",
    "설명",
    "목표",
    "배경",
    "예시",
    "이유",
    "주의",
    "참고",
    "완료조건",
    "수용기준",
];

/// Where a line stands that may state a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is the item of a list right below its task.
    Item,
    /// It is a line of text.
    Text,
}

/// A label that is no field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) span: Range<usize>,
    pub(super) label: String,
    /// The field that may be meant.
    pub(super) nearest: Option<&'static str>,
}

/// Finds a label that is no field, where one would stand: `- word: value`, or in bold. In a line of
/// text it has to be like a field; such lines are full of words with a colon behind them.
pub(super) fn unknown(line: &Line, source: &str, standing: Standing) -> Option<Unknown> {
    let text = line.text();
    let start = text.find(char::is_alphanumeric)?;
    let window = text[start..].char_indices().take(LABEL_LENGTH_MAX);
    let (length, colon) = window.into_iter().find(|(_, c)| matches!(c, ':' | '：'))?;
    let (label, after) = (&text[start..start + length], &text[start + length + colon.len_utf8()..]);
    let is_letter = |c: char| c.is_alphabetic() || " -_".contains(c);
    // An address, a path of a program, a time: the colon is part of a word.
    let is_inside = colon == ':' && after.starts_with(|c: char| !c.is_whitespace());
    let span = line.span(start..start + length);
    let is_bold = source[..span.start].ends_with(['*', '_']);
    if line.is_code(start) || !label.chars().all(is_letter) || is_inside && !is_bold {
        return None;
    }
    let key: String =
        label.chars().filter(|c| c.is_alphabetic()).collect::<String>().to_lowercase();
    if TEXT_WORDS.contains(&key.as_str()) || key.chars().count() < 2 {
        return None;
    }
    let nearest = nearest(&key);
    let is_word = !label.trim().contains(' ');
    let has_value = !after.trim().is_empty();
    let is_stated = (standing == Standing::Item || is_bold) && is_word && has_value;
    let label = label.trim().to_owned();
    (nearest.is_some() || is_stated).then_some(Unknown { span, label, nearest })
}

/// The field that a label may mean.
fn nearest(key: &str) -> Option<&'static str> {
    let other = OTHER_WORDS.iter().find(|(_, words)| words.contains(&key));
    if let Some((name, _)) = other {
        return Some(name);
    }
    let letters: Vec<char> = key.chars().collect();
    let is_long = |name: &&&str| !SHORT_NAMES.contains(*name) && letters.len() >= 4;
    NAMES.iter().filter(is_long).find(|name| distance(&letters, name) == 1).copied()
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
        assert_eq!(NAMES.map(|name| Field::of_label(name).map(Field::name)), NAMES.map(Some));
        for (name, words) in OTHER_WORDS {
            assert!(NAMES.contains(&name));
            for word in words {
                let field = Field::of_label(word).map(Field::name);
                assert!(field.is_none_or(|field| field == name), "{word}");
            }
        }
    }

    /// Lines that state a field are not what a task says; the model knows them by their labels.
    #[test]
    fn every_label_that_is_no_text_is_a_field() {
        for label in waypost_model::run::FIELD_LABELS {
            assert!(Field::of_label(label).is_some(), "{label}");
        }
    }
}
