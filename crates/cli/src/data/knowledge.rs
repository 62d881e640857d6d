//! The knowledge of a project as data.

use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, path::Path};
use waypost_engine::knowledge::{KnownThings, Learned, Noted};
use waypost_model::document::knowledge::Knowledge;

/// What is known about the project.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnowledgeReport<'a> {
    pub(crate) path: &'a Path,
    /// As it is in the file.
    pub(crate) knowledge: &'a Knowledge,
    /// The files that an entry stands on, by its id or the path of a pattern.
    pub(crate) stands_on: &'a BTreeMap<String, Vec<String>>,
    /// Which of these have changed since it was written down.
    pub(crate) changed: &'a BTreeMap<String, Vec<String>>,
}

impl<'a> From<&'a KnownThings> for KnowledgeReport<'a> {
    fn from(known: &'a KnownThings) -> Self {
        Self {
            path: &known.path,
            knowledge: &known.document,
            stands_on: &known.stands_on,
            changed: &known.changed,
        }
    }
}

/// An entry that was written down or taken out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnowledgeNoted<'a> {
    /// D and a number, P and a number, or the path of a pattern.
    pub(crate) entry: &'a str,
    /// Whether it took the place of another, which stays in the journal.
    pub(crate) replaced: bool,
    pub(crate) removed: bool,
}

impl<'a> From<&'a Noted> for KnowledgeNoted<'a> {
    fn from(noted: &'a Noted) -> Self {
        Self { entry: &noted.entry, replaced: noted.is_replaced, removed: false }
    }
}

/// Something that was learned from finished work.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LearnedLine<'a> {
    pub(crate) entry: &'a str,
    pub(crate) replaced: bool,
    /// Where it was learned, as in R1/T1.
    pub(crate) from: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> From<&'a Learned> for LearnedLine<'a> {
    fn from(learned: &'a Learned) -> Self {
        Self {
            entry: &learned.noted.entry,
            replaced: learned.noted.is_replaced,
            from: &learned.from,
            text: &learned.text,
        }
    }
}
