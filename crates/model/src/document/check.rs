//! Checks that several documents share.
//!
//! Each adds what it finds to a list; none stops at the first.

use super::code;
use crate::diagnostic::Diagnostic;
use crate::time::Stamp;
use std::collections::{HashMap, HashSet};
use std::{fmt::Display, hash::Hash};

/// What was found in one document so far.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Diagnostic>);

impl Findings {
    pub(super) fn error(&mut self, code: &'static str, path: String, message: String) {
        self.0.push(Diagnostic::error(code, message).path(path));
    }

    pub(super) fn warning(&mut self, code: &'static str, path: String, message: String) {
        self.0.push(Diagnostic::warning(code, message).path(path));
    }

    pub(super) fn add(&mut self, finding: Diagnostic) {
        self.0.push(finding);
    }

    pub(super) fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }

    /// Every id of a list must be another; `path` tells where the one at a position stands.
    pub(super) fn unique<'a, I: Eq + Hash + Display + 'a>(
        &mut self,
        ids: impl IntoIterator<Item = &'a I>,
        path: impl Fn(usize) -> String,
    ) {
        let mut seen = HashSet::new();
        for (at, id) in ids.into_iter().enumerate() {
            if !seen.insert(id) {
                self.error(code::DUPLICATE_ID, path(at), format!("`{id}` is used twice"));
            }
        }
    }

    /// A time that cannot lie before another; times without an offset are not compared.
    pub(super) fn in_order(&mut self, path: &str, earlier: Option<Stamp>, later: Option<Stamp>) {
        if let (Some(Stamp::At(earlier)), Some(Stamp::At(later))) = (earlier, later)
            && later < earlier
        {
            let message = format!("{later} lies before {earlier}, which came first");
            self.warning(code::CONTRADICTION, path.to_owned(), message);
        }
    }

    /// A percentage; the type allows any number, so that the message can say what is wrong.
    pub(super) fn percent(&mut self, path: &str, value: u32) {
        if value > 100 {
            let finding = Diagnostic::error(code::OUT_OF_RANGE, format!("{value} is too large"));
            self.add(finding.path(path).expected("a number from 0 to 100"));
        }
    }

    /// A path that has to be absolute, on whatever system it was written.
    pub(super) fn absolute(&mut self, path: &str, value: &str) {
        let has_drive = value.chars().nth(1) == Some(':');
        if !value.starts_with(['/', '\\']) && !has_drive {
            let message = format!("`{value}` is a relative path");
            let finding = Diagnostic::error(code::RELATIVE_PATH, message);
            self.add(finding.path(path).expected("an absolute path"));
        }
    }

    /// A subtask that consists of writing tests, which every subtask does for itself.
    pub(super) fn test_subtask(&mut self, path: String, name: &str) {
        if is_writing_tests(name) {
            let message = format!("`{name}` is a subtask of its own");
            let finding = Diagnostic::warning(code::SEPARATE_TEST_SUBTASK, message).path(path);
            self.add(finding.hint("tests belong to each subtask's test_first phase"));
        }
    }
}

/// Whether a subtask's name says that writing tests is all it does.
fn is_writing_tests(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "test",
        "tests",
        "testing",
        "write test",
        "write tests",
        "write unit tests",
        "writing tests",
        "add tests",
        "테스트",
        "테스트 작성",
        "테스트 코드 작성",
        "단위 테스트 작성",
    ];
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    NAMES.contains(&words.join(" ").as_str())
}

/// Finds things that wait for each other; the answer starts and ends with the same one.
///
/// `waits[n]` are the positions of what the thing at position `n` waits for.
pub(super) fn find_cycle(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut waited_by = vec![Vec::new(); waits.len()];
    for (at, wanted) in waits.iter().enumerate() {
        for &other in wanted {
            waited_by[other].push(at);
        }
    }
    let mut free: Vec<usize> = (0..waits.len()).filter(|&at| left[at] == 0).collect();
    while let Some(done) = free.pop() {
        for &other in &waited_by[done] {
            left[other] -= 1;
            if left[other] == 0 {
                free.push(other);
            }
        }
    }
    let mut at = left.iter().position(|&count| count > 0)?;
    let (mut path, mut position) = (Vec::new(), HashMap::new());
    loop {
        if let Some(start) = position.insert(at, path.len()) {
            path.drain(..start);
            path.push(at);
            return Some(path);
        }
        path.push(at);
        let stuck = waits[at].iter().find(|&&other| left[other] > 0);
        at = *stuck.expect("what could not be freed waits for something that could not either");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_and_named() {
        let table = [
            (vec![], None),
            (vec![vec![], vec![0], vec![0, 1]], None),
            (vec![vec![0]], Some(vec![0, 0])),
            (vec![vec![1], vec![2], vec![1]], Some(vec![1, 2, 1])),
            (vec![vec![], vec![0, 3], vec![1], vec![2]], Some(vec![1, 3, 2, 1])),
        ];
        for (waits, want) in table {
            assert_eq!(find_cycle(&waits), want, "{waits:?}");
        }
    }

    #[test]
    fn only_subtasks_that_are_nothing_but_tests_are_meant() {
        for name in ["테스트 작성", " Write  Tests ", "tests"] {
            assert!(is_writing_tests(name), "{name}");
        }
        for name in ["컨트롤러 구현", "write tests and implement", "test runner", ""] {
            assert!(!is_writing_tests(name), "{name}");
        }
    }
}
