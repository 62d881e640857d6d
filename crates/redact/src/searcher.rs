//! Finds known values in bytes, in every spelling, at the speed of reading.
//!
//! Most of a text is skipped: a look at three bytes tells by how far the next spelling could begin
//! (Wu and Manber). Only where one may begin does the automaton read byte by byte, and it goes on from
//! where that ended; so a hostile text costs a few steps for each byte, and an honest one a fraction.

use crate::{
    automaton::{Automaton, ROOT},
    spelling::{self, Spelling, is_encoded},
};
use std::{collections::BTreeSet, fmt, ops::Range};

/// A shorter value would be found in every text.
const VALUE_MIN: usize = 4;

/// Longer values are searched for in parts of this size, so that each spelling is short.
const PART_MAX: usize = 256;

/// More than all values of a task together; what is beyond it is searched for only as it stands.
const SPELLED_MAX: usize = 64 << 10;

/// How many bytes a look takes in.
const LOOK: usize = 3;

/// A table that stays in the fastest cache.
const TABLE_BITS: u32 = 14;

/// Knows values that must not be seen.
#[derive(Default)]
pub struct Searcher {
    count: usize,
    automaton: Automaton,
    /// For a hash of three bytes: how far the next beginning is at least from here, if the three end a
    /// window. 0: it may be here.
    shifts: Vec<u8>,
    /// As long as the shortest spelling.
    window: usize,
    /// As long as the longest.
    longest: usize,
}

impl Searcher {
    /// Knows these values; of values with several lines each line counts.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let lines = values.into_iter().flat_map(str::lines).map(str::trim);
        let known: BTreeSet<&str> = lines.filter(|line| line.len() >= VALUE_MIN).collect();
        let mut spelled = BTreeSet::new();
        let mut plain = Vec::new();
        let mut size = 0;
        for part in known.iter().flat_map(|value| parts(value)) {
            size += part.len();
            if size <= SPELLED_MAX {
                spelled.insert(part);
            } else {
                plain.push(Spelling::whole(part.as_bytes().to_vec()));
            }
        }
        let mut all = spelling::spellings(spelled);
        all.extend(plain);
        Self::knowing(known.len(), &all)
    }

    fn knowing(count: usize, spellings: &BTreeSet<Spelling>) -> Self {
        let lengths = || spellings.iter().map(|spelling| spelling.bytes.len());
        let Some(window) = lengths().min() else { return Self::default() };
        let furthest = u8::try_from(window - LOOK + 1).unwrap_or(u8::MAX);
        let mut shifts = vec![furthest; 1 << TABLE_BITS];
        for spelling in spellings {
            for (at, look) in spelling.bytes[..window].windows(LOOK).enumerate() {
                let shift = u8::try_from(window - LOOK - at).unwrap_or(u8::MAX);
                let known = &mut shifts[slot(look)];
                *known = (*known).min(shift);
            }
        }
        let automaton = Automaton::of(spellings);
        Self { count, automaton, shifts, window, longest: lengths().max().unwrap_or(0) }
    }

    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a text that is there as a whole has a value in it.
    pub fn is_in(&self, text: &[u8]) -> bool {
        let mut found = Vec::new();
        self.find(text, &mut found);
        !found.is_empty()
    }

    /// How long what is held back of a text can be.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Adds where `text` has a value, ascending and apart. Returns where the text ends for now: behind
    /// that is what may be the beginning of a value.
    pub(crate) fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) -> usize {
        if self.is_empty() {
            return text.len();
        }
        let mut at = 0;
        while let Some(candidate) = self.skip(text, at) {
            match self.walk(text, candidate, found) {
                Walked::Nothing { until } => at = until,
                Walked::Unfinished { from } => return from,
            }
        }
        // Less than the shortest spelling is left: it can only begin here.
        let rest = at.max(text.len().saturating_sub(self.window - 1));
        let mut state = ROOT;
        for byte in &text[rest.min(text.len())..] {
            state = self.automaton.next(state, *byte);
        }
        text.len() - self.automaton.unfinished(state)
    }

    /// The next place where a spelling may begin, as far as whole windows tell.
    fn skip(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut end = from + self.window;
        while let Some(look) = text.get(end - LOOK..end) {
            let shift = self.shifts[slot(look)];
            if shift == 0 {
                return Some(end - self.window);
            }
            end += usize::from(shift);
        }
        None
    }

    /// Reads from a place on until no spelling goes on that began before.
    fn walk(&self, text: &[u8], from: usize, found: &mut Vec<Range<usize>>) -> Walked {
        let mut state = ROOT;
        for (at, byte) in text.iter().enumerate().skip(from) {
            state = self.automaton.next(state, *byte);
            let end = at + 1;
            if let Some((length, is_piece)) = self.automaton.matched(state) {
                add(text, (end - length..end, is_piece), found);
            }
            let depth = self.automaton.depth(state);
            if depth < LOOK && end - depth > from {
                return Walked::Nothing { until: end - depth };
            }
        }
        Walked::Unfinished { from: text.len() - self.automaton.unfinished(state) }
    }
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Searcher({} values)", self.count)
    }
}

/// How a walk ended.
enum Walked {
    /// No spelling goes on that began before this.
    Nothing { until: usize },
    /// The text ended within what may be one.
    Unfinished { from: usize },
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        // The last part is not shorter than what is searched for.
        let end = match rest.len() {
            0 => return None,
            length if length < PART_MAX + VALUE_MIN => length,
            _ => rest.floor_char_boundary(PART_MAX),
        };
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
    .filter(|part| part.len() >= VALUE_MIN)
}

fn slot(look: &[u8]) -> usize {
    let number = u32::from_le_bytes([look[0], look[1], look[2], 0]);
    // The golden ratio spreads what differs in few bits.
    (number.wrapping_mul(0x9E37_79B9) >> (u32::BITS - TABLE_BITS)) as usize
}

/// Adds a match, and to a piece what is encoded around it; puts together what overlaps.
fn add(text: &[u8], (range, is_piece): (Range<usize>, bool), found: &mut Vec<Range<usize>>) {
    let Range { mut start, mut end } = range;
    let behind = found.last().map_or(0, |last| last.end);
    // What is encoded around a piece has been looked at once.
    if found.last().is_some_and(|last| last.start <= start && last.end >= end) {
        return;
    }
    if is_piece {
        while start > behind && is_encoded(text[start - 1]) {
            start -= 1;
        }
        // What follows may hold the next match: it is put together with this one then.
        let run = text[end..].iter().take_while(|byte| is_encoded(**byte)).count();
        end += run;
    }
    while let Some(last) = found.last_mut() {
        if last.end < start || last.end == start && !is_piece {
            break;
        }
        start = start.min(last.start);
        end = end.max(last.end);
        found.pop();
    }
    found.push(start..end);
}
