//! What is looked for, as units: a word, an identifier, a run of paired characters.

use super::{particles, text};
use std::collections::HashMap;

/// A longer query is cut: a page of text is no query, and every term costs.
const TERMS_MAX: usize = 24;

/// A shorter word begins too many others.
const PREFIX_MIN: usize = 3;

/// One thing that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Its terms in order, each with how much it says beside the others, between 0 and 1.
    pub(super) terms: Vec<(String, f64)>,
    /// An identifier as a whole.
    pub(super) whole: Option<String>,
    /// A beginning that other words may have, for a plain word or a single character.
    pub(super) prefix: Option<String>,
}

/// The units of a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub(super) all: Vec<Unit>,
    /// Which term is where: the unit and the place in it.
    places: HashMap<String, Vec<(usize, usize)>>,
}

impl Units {
    pub(super) fn of(query: &str) -> Self {
        let (mut all, mut left) = (Vec::<Unit>::new(), TERMS_MAX);
        for piece in text::pieces(query) {
            let mut unit = match piece {
                text::TextPiece::Pairs(run) => {
                    pairs(&run.into_iter().map(|(c, _)| c).collect::<Vec<_>>())
                }
                text::TextPiece::Word(parts) => word(&parts),
            };
            unit.terms.truncate(left);
            left -= unit.terms.len();
            // A word that is said twice does not count twice.
            if !unit.terms.is_empty() && !all.iter().any(|it| it.terms == unit.terms) {
                all.push(unit);
            }
        }
        let mut places = HashMap::<String, Vec<(usize, usize)>>::new();
        for (number, unit) in all.iter().enumerate() {
            for (at, (term, _)) in unit.terms.iter().enumerate() {
                places.entry(term.clone()).or_default().push((number, at));
            }
        }
        Self { all, places }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Where a term of a text is asked for.
    pub(super) fn places(&self, term: &str) -> &[(usize, usize)] {
        self.places.get(term).map_or(&[], Vec::as_slice)
    }

    /// The different terms.
    pub(super) fn terms(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }
}

fn pairs(run: &[char]) -> Unit {
    if let [single] = run {
        // It begins every pair that it is the first of, and stands alone where it is the last.
        let term = single.to_string();
        return Unit { terms: vec![(term.clone(), 1.0)], whole: None, prefix: Some(term) };
    }
    let terms = run.windows(2).map(|pair| pair.iter().collect());
    let terms = terms.zip(particles::pair_weights(run)).collect();
    Unit { terms, whole: None, prefix: None }
}

fn word(parts: &[(String, std::ops::Range<usize>)]) -> Unit {
    let terms: Vec<(String, f64)> = parts.iter().map(|(part, _)| (text::stem(part), 1.0)).collect();
    match &terms[..] {
        [(term, _)] => {
            let prefix = (term.chars().count() >= PREFIX_MIN).then(|| term.clone());
            Unit { terms, whole: None, prefix }
        }
        _ => Unit { terms, whole: Some(text::whole(parts)), prefix: None },
    }
}
