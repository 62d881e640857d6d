//! Every test that the table of faults names exists.
//!
//! A row of `docs/faults.md` promises that something was tried. Tests are named there by the last words of
//! their path, with `…` for the rest of a name or for all tests of a module; a module may be named as well. A renamed or removed test leaves
//! a promise that nothing keeps. Whether a test shows what its row says is left to people.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

const PAGE: &str = "docs/faults.md";

/// Stands for the rest of a name.
const REST: char = '…';

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else { return Vec::new() };
    let known: Vec<TestFile> =
        tree.sources().filter_map(|(path, text)| tests(path, text)).collect();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        for name in named(line).filter(|name| !known.iter().any(|file| file.has(name))) {
            findings.push(Finding::new(PAGE, number, format!("there is no test `{name}`")));
        }
    }
    findings
}

/// What a line names as tests: what stands in backticks and is a path.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:…".contains(c);
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(move |text| text.contains("::") && text.chars().all(is_path))
}

/// A source file with tests in it.
struct TestFile {
    /// Where they may stand: the file, and the modules in it.
    modules: Vec<String>,
    names: Vec<String>,
}

impl TestFile {
    fn has(&self, wanted: &str) -> bool {
        let Some((module, name)) = wanted.rsplit_once("::") else { return false };
        let is_named = |it: &String| match name.strip_suffix(REST) {
            Some(beginning) => it.starts_with(beginning),
            None => it == name,
        };
        let is_in = |module: &str| self.modules.iter().any(|it| ends_with(it, module));
        is_in(wanted) || is_in(module) && self.names.iter().any(is_named)
    }
}

/// Whether a path of modules ends with these.
fn ends_with(path: &str, module: &str) -> bool {
    path.strip_suffix(module).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

/// The tests of a source file, if it has any.
fn tests(path: &str, text: &str) -> Option<TestFile> {
    let (mut names, mut inner) = (Vec::new(), Vec::new());
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        if line == "#[test]" {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| is_test) {
            names.extend(rest.split(['(', '<']).next().map(str::to_owned));
            is_test = false;
        } else if let Some(name) = line.strip_prefix("mod ").and_then(|it| it.strip_suffix(" {")) {
            inner.push(name);
        }
    }
    let file = module(path)?;
    let modules = inner.iter().map(|name| format!("{file}::{name}"));
    let modules = modules.chain([file.clone()]).collect();
    (!names.is_empty()).then_some(TestFile { modules, names })
}

/// The module that a file of a crate is, by the crate's folder, without the one of its sources.
fn module(path: &str) -> Option<String> {
    let path = path.strip_prefix("crates/")?.strip_suffix(".rs")?;
    let folders = path.split('/').enumerate();
    let folders = folders.filter(|(at, folder)| *at != 1 && *folder != "mod");
    Some(folders.map(|(_, folder)| folder).collect::<Vec<_>>().join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    const SOURCE: &str = "\
#[test]
#[ignore = \"why\"]
fn a_disk_is_full() {}

fn a_helper() {}

mod tests {
    #[test]
    fn an_edge() {}
}
";

    fn page(cell: &str) -> String {
        format!("| A | a fault | {cell} |\n")
    }

    #[test]
    fn tests_are_found_by_the_end_of_their_path() {
        for name in [
            "`disk::a_disk_is_full`, and more of it in `crates/cli`",
            "`apart::disk::a_disk_is_full`",
            "`disk::tests::an_edge`",
            "`disk::…`",
            "`disk::a_disk_…`",
            "`apart::disk` shows more",
            "no test, but `git gc`",
        ] {
            let page = page(name);
            assert_finds(
                check,
                &[("crates/cli/tests/cli/apart/disk.rs", SOURCE), (PAGE, &page)],
                &[],
            );
        }
    }

    #[test]
    fn what_is_no_test_is_found() {
        for name in ["disk::a_helper", "sk::a_disk_is_full", "disk::another…", "gone::…"] {
            let page = page(&format!("`{name}`"));
            let want = format!("docs/faults.md:1: there is no test `{name}`");
            let files = [("crates/cli/tests/cli/apart/disk.rs", SOURCE), (PAGE, page.as_str())];
            assert_finds(check, &files, &[want.as_str()]);
        }
    }

    #[test]
    fn without_a_page_there_is_nothing_to_check() {
        assert_finds(check, &[("crates/cli/tests/cli/disk.rs", SOURCE)], &[]);
    }
}
