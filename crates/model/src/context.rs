//! What an agent should know now, put together from parts and cut to a budget.
//!
//! Each part has a value; the most valuable ones that fit are taken, newer before older where they are
//! worth the same. What is taken stands in the order of sections, newest first. The same parts and the same
//! budget give the same bytes: after a compaction an agent is told what it was told before, unless
//! something has happened.

use crate::{text::one_line, time::Time};
use std::{collections::BTreeSet, fmt::Write as _};

/// What a part is about, in the order in which an agent reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextSection {
    /// How the work stands that the agent is part of.
    State,
    /// What waits for a person.
    Questions,
    /// What persons have answered to questions of conversations.
    Answers,
    Decisions,
    Pitfalls,
    /// What the agent itself has kept.
    OwnMemory,
    /// What agents share.
    Shared,
    /// What a search for its task finds.
    Found,
}

impl ContextSection {
    pub const ALL: [Self; 8] = [
        Self::State,
        Self::Questions,
        Self::Answers,
        Self::Decisions,
        Self::Pitfalls,
        Self::OwnMemory,
        Self::Shared,
        Self::Found,
    ];

    fn heading(self) -> &'static str {
        match self {
            Self::State => "How it stands",
            Self::Questions => "Waiting for a person",
            Self::Answers => "Answered by a person",
            Self::Decisions => "Decided",
            Self::Pitfalls => "To look out for",
            Self::OwnMemory => "What you kept",
            Self::Shared => "What agents share",
            Self::Found => "Found in the memory",
        }
    }

    /// What a part of this section is worth to a role before anything else is known of it.
    pub fn value_for(self, role: &str) -> u32 {
        let usual = match self {
            Self::State => 1_000,
            Self::Questions => 900,
            Self::Answers => 880,
            Self::Decisions => 600,
            Self::Pitfalls => 590,
            Self::OwnMemory => 560,
            Self::Shared => 300,
            Self::Found => 400,
        };
        let more = match (role, self) {
            ("reviewer" | "test-oracle", Self::Decisions | Self::Pitfalls) => 200,
            ("architect" | "planner" | "orchestrator", Self::Found | Self::Shared) => 180,
            _ => 0,
        };
        usual + more
    }
}

/// Something that an agent may be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextPart {
    pub section: ContextSection,
    pub value: u32,
    pub at: Option<Time>,
    pub text: String,
}

/// What an agent is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComposedContext {
    pub text: String,
    /// What it costs, as `tokens_of` counts.
    pub tokens: usize,
    /// How many parts had no place.
    pub left_out: usize,
}

/// A part is a few lines; what is longer is cut, so that one part does not cost all others.
const PART_CHARS_MAX: usize = 1_200;

/// What a model reads as so many tokens, roughly: four Latin letters, or one of other scripts. Without a
/// model's own table nothing is exact; this is a little too much rather than too little.
pub fn tokens_of(text: &str) -> usize {
    let ascii = text.chars().filter(char::is_ascii).count();
    let other = text.chars().count() - ascii;
    ascii.div_ceil(4) + other
}

/// Puts the most valuable parts together that cost no more than the budget.
pub fn compose(mut parts: Vec<ContextPart>, budget: usize) -> ComposedContext {
    parts.iter_mut().for_each(|part| part.text = bounded(&part.text));
    parts.retain(|part| !part.text.is_empty());
    parts.sort_by(|one, other| {
        let newer = other.at.cmp(&one.at);
        other.value.cmp(&one.value).then(newer).then(one.text.cmp(&other.text))
    });
    let mut said = BTreeSet::new();
    parts.retain(|part| said.insert(part.text.clone()));
    let total = parts.len();
    let (mut taken, mut sections, mut left) = (Vec::new(), BTreeSet::new(), budget);
    for part in parts {
        let heading = match sections.contains(&part.section) {
            true => 0,
            false => tokens_of(&headed(part.section)),
        };
        let cost = tokens_of(&listed(&part)) + heading;
        if cost <= left {
            left -= cost;
            sections.insert(part.section);
            taken.push(part);
        }
    }
    let left_out = total - taken.len();
    let text = written(&taken);
    ComposedContext { tokens: tokens_of(&text), text, left_out }
}

fn written(taken: &[ContextPart]) -> String {
    let mut text = String::new();
    for section in ContextSection::ALL {
        let mut parts: Vec<&ContextPart> =
            taken.iter().filter(|part| part.section == section).collect();
        if parts.is_empty() {
            continue;
        }
        parts.sort_by_key(|part| std::cmp::Reverse(part.at));
        text.push_str(&headed(section));
        parts.iter().for_each(|part| text.push_str(&listed(part)));
    }
    text
}

fn headed(section: ContextSection) -> String {
    format!("## {}\n", section.heading())
}

/// A part as an item of a list; its further lines belong to it.
fn listed(part: &ContextPart) -> String {
    let mut text = String::new();
    for (number, line) in part.text.lines().enumerate() {
        let begin = if number == 0 { "- " } else { "  " };
        let _infallible = writeln!(text, "{begin}{line}");
    }
    text
}

fn bounded(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= PART_CHARS_MAX {
        return text.to_owned();
    }
    one_line(text, PART_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(section: ContextSection, value: u32, at: i64, text: &str) -> ContextPart {
        ContextPart { section, value, at: Some(Time::from_millis(at)), text: text.into() }
    }

    #[test]
    fn the_most_valuable_parts_are_told_newest_first() {
        use ContextSection as S;
        let parts = vec![
            part(S::Decisions, 600, 1, "older decision"),
            part(S::Found, 400, 5, "found"),
            part(S::Decisions, 600, 2, "newer decision\nbecause"),
            part(S::State, 1_000, 0, "T1.1 is in progress"),
            part(S::Decisions, 600, 1, "older decision"),
        ];
        let all = compose(parts.clone(), 1_000);
        let want = "## How it stands\n- T1.1 is in progress\n## Decided\n- newer decision\n  because\n\
                    - older decision\n## Found in the memory\n- found\n";
        assert_eq!((all.text.as_str(), all.left_out), (want, 0));
        assert_eq!(all.tokens, tokens_of(want));
        let table = [
            (0, "", 4),
            (12, "## How it stands\n- T1.1 is in progress\n", 3),
            (
                22,
                "## How it stands\n- T1.1 is in progress\n## Decided\n- newer decision\n  because\n",
                2,
            ),
        ];
        for (budget, want, left_out) in table {
            let told = compose(parts.clone(), budget);
            assert_eq!((told.text.as_str(), told.left_out), (want, left_out), "{budget}");
        }
    }

    proptest! {
        #[test]
        fn a_context_never_costs_more_than_its_budget_and_does_not_depend_on_the_order(
            values in prop::collection::vec((0_usize..8, 0_u32..50, 0_i64..9, "[a-z가-힣 \n]{0,80}"), 0..30),
            budget in 0_usize..300,
        ) {
            let parts: Vec<ContextPart> = values
                .iter()
                .map(|(section, value, at, text)| part(ContextSection::ALL[*section], *value, *at, text))
                .collect();
            let told = compose(parts.clone(), budget);
            prop_assert!(told.tokens <= budget, "{} of {budget}", told.tokens);
            let mut turned = parts;
            turned.reverse();
            prop_assert_eq!(compose(turned, budget), told);
        }
    }
}
