//! The ways in which programs write a value: what is searched for in its place.
//!
//! Whatever is encoded in part, or by an encoder that escapes more than it has to, is not here; a text
//! that is there as a whole is decoded instead (`known`).

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use std::{collections::BTreeSet, fmt::Write as _};
use zeroize::{Zeroize as _, Zeroizing};

/// Encoders break lines at 57 bytes and more; a spelling that fits into less is never broken.
const UNBROKEN_MAX: usize = 60;

/// So long are the pieces of a spelling that may be broken: a line of one has at least three of them.
const PIECE_LENGTH: usize = 16;

/// One way to write a value, or a piece of one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spelling {
    pub(crate) bytes: Vec<u8>,
    /// Whether it is a piece of base64 or of hexadecimal digits, whose neighbours belong to it.
    pub(crate) is_piece: bool,
}

impl Spelling {
    pub(crate) fn whole(bytes: Vec<u8>) -> Self {
        Self { bytes, is_piece: false }
    }
}

impl Drop for Spelling {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// All ways to write these values.
pub(crate) fn spellings<'a>(values: impl IntoIterator<Item = &'a str>) -> BTreeSet<Spelling> {
    let mut found = BTreeSet::new();
    for value in values {
        found.insert(Spelling::whole(value.as_bytes().to_vec()));
        let texts = for_addresses(value).into_iter().chain(in_json(value));
        found.extend(texts.map(|text| Spelling::whole(text.into_bytes())));
        for encoded in in_hex(value.as_bytes()).into_iter().chain(in_base64(value.as_bytes())) {
            if encoded.len() > UNBROKEN_MAX {
                found.extend(pieces(&encoded));
            }
            found.insert(Spelling::whole(encoded));
        }
    }
    found
}

fn pieces(encoded: &[u8]) -> impl Iterator<Item = Spelling> {
    encoded
        .chunks_exact(PIECE_LENGTH)
        .map(|piece| Spelling { bytes: piece.to_vec(), is_piece: true })
}

/// Whether a byte can stand in base64 of either alphabet, and so in hexadecimal digits.
pub(crate) fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn in_hex(bytes: &[u8]) -> Vec<Vec<u8>> {
    let small: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let large: Vec<String> = small.iter().map(|digits| digits.to_uppercase()).collect();
    let mut found = Vec::new();
    for digits in [small, large] {
        for between in ["", ":", " ", "\\x", "\\\\x"] {
            found.push(digits.join(between).into_bytes());
        }
    }
    found
}

/// Base64 has three spellings, by where a value begins in its group of three bytes; what of them does
/// not depend on its neighbours is searched for.
fn in_base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    (0..3).flat_map(|at| base64_cores(bytes, at)).collect()
}

/// What base64 makes of `bytes` that begin as the byte `at` of a group, without the characters that
/// hold bits of a neighbour; in both alphabets.
pub(crate) fn base64_cores(bytes: &[u8], at: usize) -> [Vec<u8>; 2] {
    let mut padded = Zeroizing::new(vec![0; at]);
    padded.extend_from_slice(bytes);
    let cut = |coded: String| {
        let coded = Zeroizing::new(coded);
        let whole = padded.len() * 8 / 6;
        let first = (at * 8).div_ceil(6);
        coded.as_bytes()[first..whole].to_vec()
    };
    [cut(STANDARD_NO_PAD.encode(&*padded)), cut(URL_SAFE_NO_PAD.encode(&*padded))]
}

/// With `%41` in place of what an address or a form does not take as it is, once and twice.
fn for_addresses(value: &str) -> Vec<String> {
    // What encoders leave alone beside letters and digits: by the standard for parts of an address,
    // as browsers do it, for whole addresses, and for forms.
    const LEFT_ALONE: [&str; 4] = ["-_.~", "-_.~!'()*", "-_.~!'()*;,/?:@&=+$#", "-_.*"];
    let mut found = Vec::new();
    for left_alone in LEFT_ALONE {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || left_alone.contains(byte as char);
        for digits in [b"0123456789ABCDEF", b"0123456789abcdef"] {
            let once = percent(value, is_plain, digits);
            found.push(once.replace("%20", "+"));
            found.push(percent(&once, is_plain, digits));
            found.push(once);
        }
    }
    found
}

fn percent(text: &str, is_plain: impl Fn(u8) -> bool, digits: &[u8; 16]) -> String {
    let mut found = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        if is_plain(byte) {
            found.push(char::from(byte));
        } else {
            found.push('%');
            found.push(char::from(digits[usize::from(byte >> 4)]));
            found.push(char::from(digits[usize::from(byte & 15)]));
        }
    }
    found
}

/// Characters that some writers of JSON escape and others do not.
#[derive(Clone, Copy)]
struct Habit {
    escapes_slash: bool,
    /// `<`, `>` and `&`, for JSON inside of a page.
    escapes_markup: bool,
    is_ascii: bool,
    has_large_digits: bool,
}

/// As JSON writes a text, and a text with such a text in it.
fn in_json(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    let flags = [false, true];
    for bits in 0..16 {
        let flag = |at: usize| flags[bits >> at & 1];
        let habit = Habit {
            escapes_slash: flag(0),
            escapes_markup: flag(1),
            is_ascii: flag(2),
            has_large_digits: flag(3),
        };
        let once = escaped(value, habit);
        let twice = escaped(&once, habit);
        found.push(escaped(&twice, habit));
        found.push(twice);
        found.push(once);
    }
    found
}

fn escaped(text: &str, habit: Habit) -> String {
    let mut found = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '"' => found.push_str("\\\""),
            '\\' => found.push_str("\\\\"),
            '/' if habit.escapes_slash => found.push_str("\\/"),
            '\t' => found.push_str("\\t"),
            '<' | '>' | '&' if habit.escapes_markup => unicode(&mut found, c, habit),
            c if c.is_control() || habit.is_ascii && !c.is_ascii() => unicode(&mut found, c, habit),
            c => found.push(c),
        }
    }
    found
}

fn unicode(to: &mut String, c: char, habit: Habit) {
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        let written = match habit.has_large_digits {
            true => write!(to, "\\u{unit:04X}"),
            false => write!(to, "\\u{unit:04x}"),
        };
        written.expect("writing to a string cannot fail");
    }
}
