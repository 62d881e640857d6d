//! The shape of a source file: a header that says what it is for, and a length that can be read.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

/// About what the longest files of well-kept projects have; above it, one file does two things.
const LINES_MAX: usize = 800;

/// Files that may be longer for now, each with its length as the limit: `PATH LINES` per line.
const LONG_FILES: &str = "xtask/long-files.txt";

pub(crate) fn check_headers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.sources() {
        let first = text.lines().next().unwrap_or_default();
        if first.strip_prefix("//!").is_none_or(|rest| rest.trim().is_empty()) {
            let message = "the first line must be `//!` and say what the file is for";
            findings.push(Finding::new(path, 1, message));
        }
    }
    findings
}

pub(crate) fn check_lengths(tree: &Tree) -> Vec<Finding> {
    let (allowed, mut findings) = allowances(tree.text(LONG_FILES).unwrap_or_default());
    let lengths: BTreeMap<&str, usize> = tree
        .sources()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (path, production_lines(text)))
        .collect();
    for (&path, &length) in &lengths {
        let limit = allowed.get(path).map_or(LINES_MAX, |(limit, _)| *limit);
        if length > limit {
            let message = format!("{length} lines without tests, the limit is {limit}: split it");
            findings.push(Finding::new(path, limit + 1, message));
        }
    }
    for (path, (_, line)) in allowed {
        if lengths.get(path).is_none_or(|&length| length <= LINES_MAX) {
            let message = format!("`{path}` is not a long file any more: delete this line");
            findings.push(Finding::new(LONG_FILES, line, message));
        }
    }
    findings
}

/// Limit and line for each path of the list, and what is wrong with the list.
fn allowances(text: &str) -> (BTreeMap<&str, (usize, usize)>, Vec<Finding>) {
    let (mut allowed, mut findings) = (BTreeMap::new(), Vec::new());
    for (line, entry) in (1..).zip(text.lines().map(str::trim)) {
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        let limit = entry
            .split_once(' ')
            .and_then(|(path, limit)| Some((path, limit.trim().parse::<usize>().ok()?)));
        match limit {
            Some((path, limit)) => {
                allowed.insert(path, (limit, line));
            }
            None => findings.push(Finding::new(LONG_FILES, line, "this is not `PATH LINES`")),
        }
    }
    (allowed, findings)
}

/// Whether the whole file is tests.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|folder| folder == "tests")
}

/// Counts the lines outside `#[cfg(test)] mod … { … }`, as rustfmt lays it out.
fn production_lines(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens_tests = |next: &str| next.starts_with("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(|next| opens_tests(next)) {
            lines.find(|line| *line == "}");
        } else {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn a_file_without_a_header_is_found() {
        let message = "the first line must be `//!` and say what the file is for";
        assert_finds(
            check_headers,
            &[
                ("a.rs", "//! The header.\n"),
                ("b.rs", "use std::fs;\n//! Too late.\n"),
                ("c.rs", "//!\n//! Empty first line.\n"),
                ("d.rs", ""),
                ("e.md", "no header needed"),
                ("a/tests/fixtures/f.rs", "none here either"),
            ],
            &[
                &format!("b.rs:1: {message}"),
                &format!("c.rs:1: {message}"),
                &format!("d.rs:1: {message}"),
            ],
        );
    }

    #[test]
    fn only_lines_outside_of_test_modules_count() {
        let tests = "#[cfg(test)]\nmod tests {\n    fn a() {\n    }\n}\n";
        assert_eq!(production_lines(&format!("fn a() {{\n}}\n{tests}")), 2);
        assert_eq!(production_lines(&format!("{tests}fn after() {{\n}}\n")), 2);
        assert_eq!(production_lines("#[cfg(test)]\nmod tests;\nfn a() {}\n"), 3);
        assert_eq!(production_lines("#[cfg(test)]\nfn of_tests() {\n}\n"), 3);
    }

    #[test]
    fn a_long_file_is_found_unless_it_is_tests_or_listed() {
        let lines = |count: usize| "\n".repeat(count);
        let too_long = "801 lines without tests, the limit is 800: split it";
        assert_finds(
            check_lengths,
            &[
                ("src/long.rs", &lines(801)),
                ("src/right.rs", &lines(800)),
                ("src/run/tests.rs", &lines(2000)),
                ("tests/all.rs", &lines(2000)),
                ("src/listed.rs", &lines(900)),
                (LONG_FILES, "# path lines\n\nsrc/listed.rs 900\n"),
            ],
            &[&format!("src/long.rs:801: {too_long}")],
        );
    }

    #[test]
    fn the_list_of_long_files_may_only_shrink() {
        let lines = |count: usize| "\n".repeat(count);
        assert_finds(
            check_lengths,
            &[
                ("src/grown.rs", &lines(901)),
                ("src/mended.rs", &lines(700)),
                (LONG_FILES, "src/grown.rs 900\nsrc/mended.rs 900\nsrc/gone.rs 900\nsrc/x.rs\n"),
            ],
            &[
                "xtask/long-files.txt:4: this is not `PATH LINES`",
                "src/grown.rs:901: 901 lines without tests, the limit is 900: split it",
                "xtask/long-files.txt:3: `src/gone.rs` is not a long file any more: \
                 delete this line",
                "xtask/long-files.txt:2: `src/mended.rs` is not a long file any more: \
                 delete this line",
            ],
        );
    }
}
