//! The text of a dependency: which tasks and phases it names.
//!
//! Ids may be divided by anything (`T1.1, T1.2`, `[T1.1 + T1.2]`, `T1.1 and T1.2`), so words of
//! prose between them do no harm. `T1.1~T1.3` and `T1.1-T1.3` are ranges, `Phase 1` and `P1 전체`
//! every task of a phase. `none`, `-`, `없음`, `n/a` and `[]` say that there is nothing to wait for.
//! A text with none of this is an error: passing over it would let the task start too early.

use super::{
    findings::shorten,
    form::{self, Number},
    ids::{self, Word},
    line::Slice,
};
use std::ops::Range;
use waypost_model::id::TaskId;

/// How to write a dependency, for messages.
pub(super) const DEPENDS_FORMS: &str =
    "ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none";

/// Words behind which everything is a remark: there is no dependency.
const NONE_WORDS: [&str; 4] = ["none", "없음", "n/a", "na"];

/// What joins the two ends of a range.
const RANGE_SIGNS: [char; 7] = ['~', '∼', '〜', '～', '-', '–', '—'];

/// One thing that a dependency names, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) what: What,
    pub(super) span: Range<usize>,
}

/// What a dependency can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Task(TaskId),
    /// Every task from one id to another with the same beginning.
    Range(TaskId, TaskId),
    Phase(u32),
    /// A phase with a dotted number, such as `3.2`; only spec-kit's files have some.
    Part(String),
}

/// Why a dependency text cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DependsFault {
    /// It names nothing at all.
    Prose,
    /// A word that is meant as an id and is none.
    Id(String),
    /// A range with only one end.
    OpenRange,
    PhaseNumber,
}

/// What a dependency text says.
#[derive(Debug, Default)]
pub(super) struct Statement {
    pub(super) wanted: Vec<Wanted>,
    pub(super) faults: Vec<(Range<usize>, DependsFault)>,
}

/// Reads the parts of a dependency as one statement.
pub(super) fn read(slices: &[Slice<'_>]) -> Statement {
    let mut statement = Statement::default();
    if slices.iter().any(says_none) {
        return statement;
    }
    for slice in slices {
        DependsScan { slice, at: 0, statement: &mut statement }.run();
    }
    if statement.wanted.is_empty() && statement.faults.is_empty() {
        let span = slices.first().map_or(0..0, Slice::span);
        statement.faults.push((span, DependsFault::Prose));
    }
    statement
}

/// Whether a value says in so many words that there is nothing.
pub(super) fn says_none(slice: &Slice<'_>) -> bool {
    let text = slice.text();
    let bare = text.trim_matches(|c: char| "[](){}".contains(c) || c.is_whitespace());
    let first = bare.split(|c: char| c.is_whitespace() || ",(;:".contains(c)).next();
    let first = first.map(|word| word.trim_end_matches('.'));
    let dashes = bare.chars().all(|c| "-–—".contains(c));
    (dashes && !text.is_empty())
        || first.is_some_and(|first| NONE_WORDS.iter().any(|word| first.eq_ignore_ascii_case(word)))
}

struct DependsScan<'a, 'l> {
    slice: &'a Slice<'l>,
    at: usize,
    statement: &'a mut Statement,
}

impl DependsScan<'_, '_> {
    fn run(mut self) {
        while let Some(next) = self.rest().chars().next() {
            if let Some((number, length)) = form::phase_number(self.rest()) {
                self.phase(number, length);
            } else if next.is_ascii_alphanumeric() {
                self.word();
            } else {
                self.at += next.len_utf8();
            }
        }
    }

    fn rest(&self) -> &str {
        &self.slice.text()[self.at..]
    }

    fn phase(&mut self, number: Number, length: usize) {
        let span = self.span(self.at..self.at + length);
        self.at += length;
        match number {
            Number::Whole(number) => self.want(What::Phase(number), span),
            Number::Fraction(_) => {
                let text = &self.slice.text()[self.at - length..self.at];
                let label = text.trim_matches(|c: char| !c.is_ascii_digit());
                self.want(What::Part(label.to_owned()), span);
            }
            Number::TooLarge => self.statement.faults.push((span, DependsFault::PhaseNumber)),
        }
    }

    fn word(&mut self) {
        let full = ids::word_length(self.rest());
        let word = self.rest()[..full].trim_end_matches(['.', '-', '_']).to_owned();
        let span = self.span(self.at..self.at + word.len());
        self.at += word.len();
        match ids::classify(&word) {
            Word::Id(id) => self.task_or_range(id, span),
            Word::Phase => match word[1..].parse() {
                Ok(number) => self.want(What::Phase(number), span),
                Err(_) => self.statement.faults.push((span, DependsFault::PhaseNumber)),
            },
            Word::Malformed | Word::Group => match ids::split_range(&word) {
                Some((from, to)) => self.want(What::Range(from, to), span),
                None => self.statement.faults.push((span, DependsFault::Id(word))),
            },
            // What follows the word without a space belongs to it, as in `v1.2/T1`.
            Word::Other => self.at += full - word.len(),
        }
    }

    /// Looks behind an id for the sign and the other end of a range.
    fn task_or_range(&mut self, from: TaskId, span: Range<usize>) {
        let rest = self.rest().trim_start();
        let Some(after) = rest.strip_prefix(RANGE_SIGNS).map(str::trim_start) else {
            return self.want(What::Task(from), span);
        };
        let wavy = rest.starts_with(['~', '∼', '〜', '～']);
        let word = after[..ids::word_length(after)].trim_end_matches(['.', '-', '_']);
        let end = self.slice.text().len() - after.len() + word.len();
        match ids::classify(word) {
            Word::Id(to) => {
                let to_span = self.span(end - word.len()..end);
                self.at = end;
                self.want(What::Range(from, to), span.start..to_span.end);
            }
            // A dash may also introduce a remark, a `~` cannot.
            _ if wavy => {
                self.at = self.slice.text().len() - after.len();
                self.statement.faults.push((span, DependsFault::OpenRange));
            }
            _ => self.want(What::Task(from), span),
        }
    }

    fn want(&mut self, what: What, span: Range<usize>) {
        self.statement.wanted.push(Wanted { what, span });
    }

    fn span(&self, range: Range<usize>) -> Range<usize> {
        let start = self.slice.range.start;
        self.slice.line.span(start + range.start..start + range.end)
    }
}

impl DependsFault {
    /// A message for people.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Prose => "this dependency names no task".to_owned(),
            Self::Id(word) => format!("`{}` is not a task id", shorten(word)),
            Self::OpenRange => "this range has no second id".to_owned(),
            Self::PhaseNumber => "a phase has a whole number".to_owned(),
        }
    }
}
