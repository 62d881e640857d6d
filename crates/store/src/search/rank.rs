//! Which entries come first, and the part of each that shows why.
//!
//! An entry is worth how much of what was asked for it has, rare terms counting more. What stands in
//! its title counts more than what stands below, decisions and lessons more than what was merely said,
//! and newer entries more than older ones, by a little: they only part what would be equal.

use super::{
    query::{Unit, Units},
    text,
};
use std::{collections::HashMap, ops::Range};
use waypost_model::time::Time;

/// Characters of a snippet.
const SNIPPET_CHARS: usize = 160;
/// Characters before the first mark in it.
const SNIPPET_LEAD: usize = 40;

/// How much it is worth beyond its terms that they stand together as in the query.
const TOGETHER: f64 = 0.3;
/// What a word is worth that only begins like the one that is looked for.
const BEGINNING: f64 = 0.6;
/// How much all of the query in the title is worth.
const TITLE: f64 = 0.4;
/// How much being new is worth; half of it is gone after `HALF_LIFE_DAYS`.
const NEW: f64 = 0.1;
const HALF_LIFE_DAYS: f64 = 30.0;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    pub kind: String,
    pub title: String,
    pub at: Time,
    /// Where it came from: the journal or a file.
    pub source: String,
    pub place: u64,
    pub reference: String,
    pub files: Vec<String>,
    pub score: f64,
    pub snippet: Snippet,
}

/// A part of an entry's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// As it stands in the entry, with line ends as blanks.
    pub text: String,
    /// Where it begins in the entry's text, in characters.
    pub start: usize,
    /// What was found, in characters of the snippet.
    pub marks: Vec<Range<usize>>,
}

/// How rare each term is.
pub(super) type Rarity = HashMap<String, f64>;

/// What one text has of a query.
struct Match {
    units: Vec<UnitMatch>,
    /// Bytes of the text that have something that is looked for, ascending.
    places: Vec<Range<usize>>,
}

/// What an entry is ranked by.
pub(super) struct Candidate<'a> {
    pub(super) kind: &'a str,
    pub(super) title: &'a str,
    pub(super) body: &'a str,
    pub(super) at: Time,
}

/// The worth of an entry, and its snippet.
pub(super) fn judge(
    units: &Units,
    rarity: &Rarity,
    entry: &Candidate<'_>,
    now: Time,
) -> (f64, Snippet) {
    let (title, body) = (look(units, entry.title), look(units, entry.body));
    // A term in the title and another one in the body are both there.
    let both = worth(units, rarity, &title.with(&body));
    let in_title = worth(units, rarity, &title.units);
    let days = now.since(entry.at).as_secs_f64() / 86_400.0;
    let newness = NEW * (-days / HALF_LIFE_DAYS).exp2();
    let worth = (both + TITLE * in_title) * of_kind(entry.kind) * (1.0 + newness);
    let snippet = match body.places.is_empty() {
        true if !title.places.is_empty() => snippet(entry.title, &title.places),
        _ => snippet(entry.body, &body.places),
    };
    (worth, snippet)
}

/// What was decided and learnt is looked for more often than what was merely said.
fn of_kind(kind: &str) -> f64 {
    match kind {
        "decision" => 1.15,
        "lesson" | "note" | "knowledge" => 1.1,
        "history" | "contract" => 1.05,
        "transition" => 0.95,
        "transcript" => 0.85,
        _ => 1.0,
    }
}

fn look(units: &Units, text: &str) -> Match {
    let mut found: Vec<UnitMatch> = units.all.iter().map(UnitMatch::new).collect();
    let mut places = Vec::<Range<usize>>::new();
    for token in text::tokens(text) {
        let mut is_found = false;
        for (number, at) in units.places(&token.term) {
            found[*number].meet(*at);
            is_found = true;
        }
        for (unit, found) in units.all.iter().zip(&mut found) {
            is_found |= found.meet_form(unit, &token.term);
        }
        if is_found {
            match places.last_mut().filter(|last| last.end >= token.bytes.start) {
                Some(last) => {
                    last.start = last.start.min(token.bytes.start);
                    last.end = last.end.max(token.bytes.end);
                }
                None => places.push(token.bytes),
            }
        }
    }
    Match { units: found, places }
}

impl Match {
    /// What two texts have together.
    fn with(&self, other: &Self) -> Vec<UnitMatch> {
        self.units.iter().zip(&other.units).map(|(one, other)| one.or(other)).collect()
    }
}

/// Between 0 and about 1.3.
fn worth(units: &Units, rarity: &Rarity, found: &[UnitMatch]) -> f64 {
    let (mut sum, mut most) = (0.0, 0.0);
    for (unit, found) in units.all.iter().zip(found) {
        let weight = unit_weight(unit, rarity);
        sum += weight * found.worth(unit, rarity);
        most += weight;
    }
    if most > 0.0 { sum / most } else { 0.0 }
}

/// How much a unit says beside the others: as rare as its terms are, and a little more if it is long.
fn unit_weight(unit: &Unit, rarity: &Rarity) -> f64 {
    let said: f64 = unit.terms.iter().map(|(_, weight)| weight).sum();
    let rare: f64 = unit.terms.iter().map(|(term, weight)| weight * rarity_of(rarity, term)).sum();
    if said > 0.0 { rare / said * said.sqrt() } else { 0.0 }
}

fn rarity_of(rarity: &Rarity, term: &str) -> f64 {
    rarity.get(term).copied().unwrap_or(1.0)
}

/// What a text has of one unit.
struct UnitMatch {
    terms: Vec<bool>,
    /// How many terms in a row have just been met.
    row: usize,
    is_together: bool,
    has_whole: bool,
    has_beginning: bool,
}

impl UnitMatch {
    fn new(unit: &Unit) -> Self {
        let terms = vec![false; unit.terms.len()];
        Self { terms, row: 0, is_together: false, has_whole: false, has_beginning: false }
    }

    fn or(&self, other: &Self) -> Self {
        Self {
            terms: self.terms.iter().zip(&other.terms).map(|(one, other)| *one || *other).collect(),
            row: 0,
            is_together: self.is_together || other.is_together,
            has_whole: self.has_whole || other.has_whole,
            has_beginning: self.has_beginning || other.has_beginning,
        }
    }

    fn meet(&mut self, at: usize) {
        self.terms[at] = true;
        self.row = match at {
            at if at == self.row => self.row + 1,
            0 => 1,
            _ => 0,
        };
        self.is_together |= self.row == self.terms.len();
    }

    /// Whether a term is the unit in another form.
    fn meet_form(&mut self, unit: &Unit, term: &str) -> bool {
        let is_whole = unit.whole.as_deref() == Some(term);
        let begins = unit.prefix.as_deref().is_some_and(|prefix| term.starts_with(prefix));
        self.has_whole |= is_whole;
        self.has_beginning |= begins;
        is_whole || begins
    }

    fn worth(&self, unit: &Unit, rarity: &Rarity) -> f64 {
        let value = |(term, weight): &(String, f64)| weight * rarity_of(rarity, term);
        let most: f64 = unit.terms.iter().map(value).sum();
        let met = unit.terms.iter().zip(&self.terms).filter(|(_, met)| **met);
        let share = met.map(|(term, _)| value(term)).sum::<f64>() / most.max(f64::MIN_POSITIVE);
        let is_exact = self.has_whole || (self.is_together && self.terms.len() > 1);
        let formed = if self.has_beginning { BEGINNING } else { 0.0 };
        match is_exact {
            true => 1.0 + TOGETHER,
            false => share.max(formed),
        }
    }
}

/// A text that nothing was looked for in.
pub(super) fn beginning(text: &str) -> Snippet {
    snippet(text, &[])
}

/// The same places in order, without overlaps: an identifier is found as a whole and by its parts.
fn apart(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_unstable_by_key(|place| (place.start, place.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match apart.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => apart.push(place),
        }
    }
    apart
}

/// The part of a text with the most of what was found.
fn snippet(text: &str, places: &[Range<usize>]) -> Snippet {
    let chars = |bytes: usize| text[..bytes].chars().count();
    let total = text.chars().count();
    // The window that begins at a mark and has the most marks in it, the first of several.
    let width = SNIPPET_CHARS - SNIPPET_LEAD;
    let places = apart(places.iter().map(|it| chars(it.start)..chars(it.end)).collect());
    let inside = |first: usize| {
        let end = places[first].start + width;
        places[first..].iter().take_while(|it| it.end <= end).map(Range::len).sum::<usize>()
    };
    let mut best = (0, 0);
    for first in 0..places.len() {
        let worth = inside(first);
        if worth > best.0 {
            best = (worth, first);
        }
    }
    let first = places.get(best.1).map_or(0, |it| it.start);
    let start = first.saturating_sub(SNIPPET_LEAD).min(total.saturating_sub(SNIPPET_CHARS));
    let shown: String = text.chars().skip(start).take(SNIPPET_CHARS).collect();
    let length = shown.chars().count();
    let marks = places
        .into_iter()
        .filter(|it| it.start >= start && it.end <= start + length)
        .map(|it| it.start - start..it.end - start)
        .collect();
    let text = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Snippet { text, start, marks }
}
