//! What was found and what an agent is told, as data.

use schemars::JsonSchema;
use serde::Serialize;
use waypost_engine::search::AgedHit;
use waypost_model::context::ComposedContext;

/// Something that a search has found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundLine<'a> {
    /// decision, lesson, note, history, context, contract, knowledge, transition or transcript.
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    /// When it was written or happened, in UTC.
    pub(crate) at: String,
    /// How it is named elsewhere: an id, a stream, a file.
    pub(crate) reference: &'a str,
    /// Where it came from: `journal`, or a file.
    pub(crate) source: &'a str,
    /// Its number there: an event of the journal, else its place.
    pub(crate) place: u64,
    /// The files that it is about.
    pub(crate) files: &'a [String],
    /// Why a note may not hold any more: files that have changed since, `commit N` if that is gone.
    pub(crate) changed: &'a [String],
    pub(crate) snippet: FoundSnippet<'a>,
    /// Higher is better; only to compare within one search.
    pub(crate) score: f64,
}

/// The part of an entry that shows why it was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundSnippet<'a> {
    pub(crate) text: &'a str,
    /// Where it begins in the entry's text, in characters.
    pub(crate) start: usize,
    /// What was found: begin and end, in characters of the snippet.
    pub(crate) marks: Vec<[usize; 2]>,
}

impl<'a> From<&'a AgedHit> for FoundLine<'a> {
    fn from(found: &'a AgedHit) -> Self {
        let AgedHit { hit, changed } = found;
        let marks = hit.snippet.marks.iter().map(|mark| [mark.start, mark.end]).collect();
        Self {
            kind: &hit.kind,
            title: &hit.title,
            at: hit.at.to_string(),
            reference: &hit.reference,
            source: &hit.source,
            place: hit.place,
            files: &hit.files,
            changed,
            snippet: FoundSnippet { text: &hit.snippet.text, start: hit.snippet.start, marks },
            score: hit.score,
        }
    }
}

/// What an agent should know now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContextReport<'a> {
    role: &'a str,
    budget: usize,
    /// Markdown.
    text: &'a str,
    /// What the text costs, roughly.
    tokens: usize,
    /// How many parts did not fit.
    left_out: usize,
}

impl<'a> ContextReport<'a> {
    pub(crate) fn new(role: &'a str, budget: usize, told: &'a ComposedContext) -> Self {
        let ComposedContext { text, tokens, left_out } = told;
        Self { role, budget, text, tokens: *tokens, left_out: *left_out }
    }
}
