//! From which version on Waypost works with an agent program.
//!
//! Older ones lack options or events that we rely on, and fail in the middle of a task. Newer ones than
//! we have seen are taken as they are.

use crate::programs::Programs;
use std::fmt;

/// A program's version: three numbers; what follows them does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first version in what a program says of itself, as in `codex-cli 0.166.0`.
    pub fn find(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(Self::read)
    }

    fn read(word: &str) -> Option<Self> {
        let word = word.trim_start_matches('v');
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let mut parts = word[..end].split('.').map(|part| part.parse().ok());
        let (first, second) = (parts.next()??, parts.next()??);
        Some(Self(first, second, parts.next().flatten().unwrap_or(0)))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Programs {
    /// The oldest version of a program that Waypost works with, by the program's path or name; none
    /// for programs that it does not know by name.
    pub fn oldest(&self, program: &str) -> Option<Version> {
        let name = program.rsplit('/').next().unwrap_or(program);
        self.program(name)?.setup.map(|setup| setup.oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::BUILT_IN;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let table = [
            ("2.1.325 (Claude Code)", Some(Version(2, 1, 325))),
            ("codex-cli 0.166.0", Some(Version(0, 166, 0))),
            ("0.62.0-nightly.20261101", Some(Version(0, 62, 0))),
            ("v3.4", Some(Version(3, 4, 0))),
            ("claude 7", None),
            ("command not found", None),
            ("99999999999.1.1", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(Version::find(text), want, "{text}");
        }
    }

    #[test]
    fn versions_compare_by_their_numbers() {
        assert!(Version(0, 9, 0) < Version(0, 10, 0) && Version(2, 0, 99) < Version(2, 1, 0));
        let oldest = |program: &str| BUILT_IN.oldest(program);
        assert_eq!(oldest("/opt/bin/codex"), oldest("codex"));
        assert!(oldest("codex").is_some() && oldest("aider").is_none());
    }
}
