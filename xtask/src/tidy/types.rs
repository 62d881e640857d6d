//! A type's name stands for one thing in its crate.
//!
//! Modules tell two types of one name apart for the compiler, and not for a person who reads a line
//! or searches for a word. Tests may say it in their own way.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;
use crate::tidy::words::defined_type;
use std::collections::BTreeMap;

/// What each machine has; it is said with the machine's name, as in `run::Command`.
const OF_EACH_MACHINE: &[&str] = &["Command", "Event"];

/// The crate in which the machines are.
const MACHINES: &str = "crates/model/src/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut first: BTreeMap<(&str, &str), (&str, usize)> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, text) in tree.sources().filter(|(path, _)| !is_test(path)) {
        let Some(folder) = source_folder(path) else { continue };
        for (number, name) in defined(text) {
            if folder == MACHINES && OF_EACH_MACHINE.contains(&name) {
                continue;
            }
            if let Some((other, line)) = first.get(&(folder, name)) {
                let message = format!(
                    "`{name}` is a type at {other}:{line} too; name the one that fewer files use \
                     after what it is"
                );
                findings.push(Finding::new(path, number, message));
            } else {
                first.insert((folder, name), (path, number));
            }
        }
    }
    findings
}

/// The folder of a crate's own sources, with `/` at its end.
fn source_folder(path: &str) -> Option<&str> {
    let end = if path.starts_with("src/") { 0 } else { path.find("/src/")? + 1 };
    Some(&path[..end + "src/".len()])
}

/// Whether a whole file is for tests.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Types that a file defines outside of its tests, with their lines.
fn defined(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let begins_tests = |two: &[&str]| {
        two[0] == "#[cfg(test)]" && two[1].starts_with("mod ") && two[1].ends_with('{')
    };
    let end = lines.windows(2).position(begins_tests).unwrap_or(lines.len());
    let found = lines.into_iter().take(end).enumerate();
    found.filter_map(|(at, line)| Some((at + 1, defined_type(line)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn a_type_that_is_defined_twice_in_a_crate_is_found() {
        assert_finds(
            check,
            &[
                ("crates/a/src/one.rs", "//! One.\nstruct Plan;\n"),
                ("crates/a/src/two/mod.rs", "pub(crate) enum Plan {}\ntype Plan = ();\n"),
                ("crates/b/src/lib.rs", "trait Plan {}\n"),
            ],
            &[
                "crates/a/src/two/mod.rs:1: `Plan` is a type at crates/a/src/one.rs:2 too; name the \
                 one that fewer files use after what it is",
                "crates/a/src/two/mod.rs:2: `Plan` is a type at crates/a/src/one.rs:2 too; name the \
                 one that fewer files use after what it is",
            ],
        );
    }

    #[test]
    fn tests_associated_types_and_the_words_of_machines_may_be_there_again() {
        assert_finds(
            check,
            &[
                (
                    "crates/a/src/one.rs",
                    "struct Plan;\n#[cfg(test)]\nmod tests {\n    struct Plan;\n",
                ),
                ("crates/a/src/tests.rs", "struct Plan;\n"),
                ("crates/a/src/one/tests/world.rs", "struct Plan;\n"),
                ("crates/a/tests/whole.rs", "struct Plan;\n"),
                ("crates/a/src/two.rs", "impl Iterator for A {\n    type Plan = u8;\n}\n"),
                ("crates/model/src/run.rs", "pub enum Command {}\n"),
                ("crates/model/src/job.rs", "pub enum Command {}\n"),
            ],
            &[],
        );
    }
}
