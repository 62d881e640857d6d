//! Finds values that are known to be secret, as they are and as programs write them.
//!
//! A value is looked for in several **views** of a text: as it stands, with `%41` decoded, with the
//! escapes of JSON decoded, and without the blanks that break encoded lines. In base64 a value has
//! three spellings, by where it begins in its group of three bytes; what of them does not depend on
//! its neighbours is looked for. Each search reads a view once, whatever is in it, and the number of
//! views and spellings is fixed.

use crate::spelling::base64_cores;
use std::{collections::BTreeSet, ops::Range};

/// So much of a spelling at the edge of a text gives it away: six bytes of the value.
const EDGE_BYTES: usize = 6;

/// A text with the bytes of the original that each of its bytes stands for.
struct TextView {
    bytes: Vec<u8>,
    origins: Vec<Range<usize>>,
}

/// What a spelling is looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Looked {
    /// Every view that is decoded, and the text itself.
    Decoded,
    /// The text without blanks.
    Squeezed,
    /// The same in small letters, without the colons of fingerprints.
    Hex,
}

/// One way to write a value.
#[derive(Debug)]
struct SecretSpelling {
    looked: Looked,
    bytes: Vec<u8>,
    /// How much of it is too much at an edge.
    edge_min: usize,
    /// For each length of a beginning, the longest shorter beginning that is also its end.
    borders: Vec<usize>,
    reversed: Vec<u8>,
    reversed_borders: Vec<usize>,
}

/// All ways to write all values.
#[derive(Default)]
pub(crate) struct Known {
    spellings: Vec<SecretSpelling>,
}

impl Known {
    pub(crate) fn of(values: &BTreeSet<String>) -> Self {
        let mut found: BTreeSet<(Looked, Vec<u8>, usize)> = BTreeSet::new();
        for value in values {
            let bytes = value.as_bytes();
            found.insert((Looked::Decoded, bytes.to_vec(), EDGE_BYTES));
            if value.contains(' ') {
                let with_plus = value.replace(' ', "+").into_bytes();
                found.insert((Looked::Decoded, with_plus, EDGE_BYTES));
            }
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            found.insert((Looked::Hex, hex.into_bytes(), EDGE_BYTES * 2));
            for at in 0..3 {
                let [plain, for_urls] = base64_cores(bytes, at);
                let edge = EDGE_BYTES * 4 / 3;
                found.insert((Looked::Squeezed, plain, edge));
                found.insert((Looked::Squeezed, for_urls, edge));
            }
        }
        let spellings = found.into_iter().map(|(looked, bytes, edge_min)| {
            let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
            SecretSpelling {
                looked,
                borders: borders(&bytes),
                reversed_borders: borders(&reversed),
                reversed,
                bytes,
                edge_min,
            }
        });
        Self { spellings: spellings.collect() }
    }

    /// Where `text` has a value, in any spelling, or part of one at its edges; ascending, apart.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        if self.spellings.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (looked, view) in views(text) {
            for spelling in self.spellings.iter().filter(|it| it.looked == looked) {
                spelling.find(&view, &mut found);
            }
        }
        merged(found)
    }
}

impl SecretSpelling {
    fn find(&self, view: &TextView, found: &mut Vec<Range<usize>>) {
        let length = self.bytes.len();
        let mut matched = 0;
        for (at, byte) in view.bytes.iter().enumerate() {
            matched = step(&self.bytes, &self.borders, matched, *byte);
            if matched == length {
                found.push(view.original(at + 1 - length..at + 1));
                matched = self.borders[matched];
            }
        }
        let end = view.bytes.len();
        if matched >= self.edge_min {
            found.push(view.original(end - matched..end));
        }
        let mut matched = 0;
        for byte in view.bytes[..end.min(length)].iter().rev() {
            matched = step(&self.reversed, &self.reversed_borders, matched, *byte);
            matched = if matched == length { self.reversed_borders[matched] } else { matched };
        }
        if matched >= self.edge_min {
            found.push(view.original(0..matched));
        }
    }
}

/// How much of the beginning of `wanted` is matched after one more byte.
fn step(wanted: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && wanted[matched] != byte {
        matched = borders[matched];
    }
    matched + usize::from(wanted[matched] == byte)
}

fn borders(wanted: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len() + 1];
    for at in 1..wanted.len() {
        borders[at + 1] = step(wanted, &borders, borders[at], wanted[at]);
    }
    borders
}

impl TextView {
    fn of(text: &str) -> Self {
        let origins = (0..text.len()).map(|at| at..at + 1).collect();
        Self { bytes: text.as_bytes().to_vec(), origins }
    }

    fn original(&self, range: Range<usize>) -> Range<usize> {
        self.origins[range.start].start..self.origins[range.end - 1].end
    }

    /// The same with runs of bytes replaced: `decode` says what the bytes from a place on mean and
    /// how many they are; `None` leaves the byte as it is.
    fn mapped(&self, decode: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> Self {
        let mut view = Self { bytes: Vec::with_capacity(self.bytes.len()), origins: Vec::new() };
        let mut at = 0;
        while at < self.bytes.len() {
            let (means, length) =
                decode(&self.bytes[at..]).unwrap_or_else(|| (vec![self.bytes[at]], 1));
            let origin = self.original(at..at + length);
            view.origins.extend(means.iter().map(|_| origin.clone()));
            view.bytes.extend(means);
            at += length;
        }
        view
    }
}

/// Everything that a text may be read as. What was encoded twice is decoded twice.
fn views(text: &str) -> Vec<(Looked, TextView)> {
    let plain = TextView::of(text);
    let squeezed = plain.mapped(blank);
    let hex = squeezed.mapped(small_hex);
    let mut views = vec![(Looked::Squeezed, squeezed), (Looked::Hex, hex)];
    if text.contains('%') {
        let once = plain.mapped(percent);
        views.push((Looked::Decoded, once.mapped(percent)));
        views.push((Looked::Decoded, once));
    }
    if text.contains('\\') {
        let once = plain.mapped(escape);
        views.push((Looked::Decoded, once.mapped(escape)));
        views.push((Looked::Squeezed, once.mapped(blank)));
        views.push((Looked::Decoded, once));
    }
    views.push((Looked::Decoded, plain));
    views
}

fn blank(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    bytes[0].is_ascii_whitespace().then(|| (Vec::new(), 1))
}

fn small_hex(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    match bytes[0] {
        b':' => Some((Vec::new(), 1)),
        byte => Some((vec![byte.to_ascii_lowercase()], 1)),
    }
}

fn percent(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let value = digit(high)? * 16 + digit(low)?;
    Some((vec![u8::try_from(value).ok()?], 3))
}

fn escape(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let [b'\\', kind, rest @ ..] = bytes else { return None };
    let plain = match kind {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'u' => {
            let digits = std::str::from_utf8(rest.get(..4)?).ok()?;
            let decoded = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            return Some((decoded.to_string().into_bytes(), 6));
        }
        b'"' | b'\\' | b'/' => *kind,
        _ => return None,
    };
    Some((vec![plain], 2))
}

/// Ranges in order, those that touch put together.
fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{
        Engine as _,
        engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
    };

    fn cleaned(values: &[&str], text: &str) -> String {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        let mut clean = text.to_owned();
        for range in Known::of(&values).find(text).into_iter().rev() {
            clean.replace_range(range, "*");
        }
        clean
    }

    #[test]
    fn a_value_is_found_in_base64_wherever_it_begins() {
        let secret = "canary-4711-secret";
        for before in ["", "u", "us", "user:", "user::"] {
            for after in ["", "!", "!!", "!!!"] {
                let whole = format!("{before}{secret}{after}");
                for coded in [STANDARD_NO_PAD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                    let clean = cleaned(&[secret], &format!("x {coded} y"));
                    assert!(clean.contains('*'), "{whole} {clean}");
                    // At most one character at each end holds bits of it.
                    let left = clean.len() - "x * y".len();
                    let around = (before.len() + after.len()) * 4 / 3 + 4;
                    assert!(left <= around, "{whole} {clean}");
                }
            }
        }
        let wrapped = STANDARD_NO_PAD.encode(secret);
        let (one, two) = wrapped.split_at(9);
        assert_eq!(cleaned(&[secret], &format!("{one}\n{two}")), "*");
        assert_eq!(cleaned(&[secret], &format!("{one}\\n{two}")), "*");
    }

    #[test]
    fn other_spellings_are_found_too() {
        let table = [
            ("pa&ss wo/rd", "p=pa%26ss%20wo%2Frd!", "p=*!"),
            ("pa&ss wo/rd", "p=pa%26ss+wo%2frd!", "p=*!"),
            ("pa&ss wo/rd", "p=%70%61%26ss%20wo/rd!", "p=*!"),
            ("pa&ss wo/rd", "p=pa%2526ss%2520wo%252Frd!", "p=*!"),
            ("quo\"te\\back", r#"{"x":"quo\"te\\back"}"#, r#"{"x":"*"}"#),
            ("quo\"te\\back", r#""{\"x\":\"quo\\\"te\\\\back\"}""#, r#""{\"x\":\"*\"}""#),
            ("quo\"te\\back", r"\u0071uo\u0022te\u005cback", "*"),
            ("schl\u{fc}ssel", r"schl\u00fcssel", "*"),
            ("canary-47", "63616e6172792d3437", "*"),
            ("canary-47", "x 63616E61 72792D34 37 y", "x * y"),
            ("canary-47", "63:61:6e:61:72:79:2d:34:37", "*"),
        ];
        for (value, text, want) in table {
            assert_eq!(cleaned(&[value], text), want, "{text}");
        }
    }

    #[test]
    fn what_an_edge_cuts_off_is_found_in_every_spelling() {
        let secret = "canary-4711-secret";
        let coded = STANDARD_NO_PAD.encode(secret);
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for whole in [secret, &coded, &hex] {
            let cut = whole.len() * 2 / 3;
            assert_eq!(cleaned(&[secret], &format!("ends {}", &whole[..cut])), "ends *");
            let tail = cleaned(&[secret], &format!("{} begins", &whole[whole.len() - cut..]));
            assert!(tail.len() <= "* begins".len() + 1, "{tail}");
        }
        assert_eq!(cleaned(&[secret], "ends canar"), "ends canar");
    }
}
