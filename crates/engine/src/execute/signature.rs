//! What makes two failures the same: how the process ended and its last lines, without what
//! differs between two runs of the same thing.

use std::fmt::Write as _;

/// How many of the last lines count.
const LINES: usize = 20;

/// The signature of an end, given in words, and of what was said last.
pub(super) fn signature(end: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let mut text = end.to_owned();
    for line in last {
        text.push('\n');
        text.push_str(&without_particulars(line));
    }
    // Only ever compared: the journal does not need the text.
    let mut name = String::with_capacity(16);
    let _infallible = write!(name, "{:016x}", fnv(text.as_bytes()));
    name
}

/// A line without paths and digits.
fn without_particulars(line: &str) -> String {
    let is_word = |word: &&str| !word.contains('/') && word.contains(char::is_alphabetic);
    let words = line.split_whitespace().filter(is_word);
    let plain = words.map(|word| word.chars().filter(|char| !char.is_ascii_digit()).collect());
    // Of a number, a point or nothing is left.
    let has_letters = |word: &String| word.chars().any(char::is_alphabetic);
    plain.filter(has_letters).collect::<Vec<String>>().join(" ")
}

/// FNV-1a: the same in every version of this program.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_paths_make_no_difference() {
        let one = signature("exit code 101", "at src/a.rs:14:2\nerror 7 in 0.3 s\n");
        assert_eq!(one, signature("exit code 101", "at src/lib/b.rs:9\nerror 12 in 4 s"));
        assert_ne!(one, signature("exit code 1", "at src/a.rs:14:2\nerror 7 in 0.3 s\n"));
        assert_ne!(one, signature("exit code 101", "at src/a.rs:14:2\nwarning 7 in 0.3 s\n"));
    }

    #[test]
    fn only_the_last_lines_count() {
        let lines = |first: &str| format!("{first}\n{}", "same\n".repeat(LINES));
        assert_eq!(signature("x", &lines("a")), signature("x", &lines("b")));
    }
}
