//! Golden journals: files that a released version wrote, and that every later one must load.
//!
//! A golden file is never edited. Each folder `crates/*/tests/golden/` lists its files in
//! `SHA256SUMS`, in the format of `sha256sum`; adding a file there is fine, changing a line shows
//! in review. A folder without that list is not checked.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

const LIST: &str = "SHA256SUMS";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let lists = tree.texts().filter_map(|(path, text)| Some((golden_folder(path)?, path, text)));
    lists.flat_map(|(folder, list, text)| check_folder(tree, folder, (list, text))).collect()
}

/// The golden folder with `/` at its end, if this is its list.
fn golden_folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix(LIST)?;
    let name = folder.strip_prefix("crates/")?.strip_suffix("/tests/golden/")?;
    (!name.contains('/')).then_some(folder)
}

fn check_folder(tree: &Tree, folder: &str, (list, text): (&str, &str)) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut listed = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        match line.split_once(' ') {
            Some((sum, name)) => {
                let path = format!("{folder}{}", name.trim_start_matches([' ', '*']));
                listed.insert(path, (sum, number));
            }
            None => findings.push(Finding::new(list, number, "this is not `SUM  FILE`")),
        }
    }
    for (path, bytes) in tree.files().filter(|(path, _)| path.starts_with(folder)) {
        let sum = listed.remove(path).map(|(sum, _)| sum);
        let message = match sum {
            _ if path == list => continue,
            Some(sum) if sum == hex(bytes) => continue,
            Some(_) => "a golden file is never changed: restore it and add a new one".to_owned(),
            None => {
                format!("not in {LIST}: add the line `{}  {}`", hex(bytes), &path[folder.len()..])
            }
        };
        findings.push(Finding::new(path, 1, message));
    }
    for (path, (_, number)) in listed {
        let message = format!("{path} is gone; what was released must stay loadable");
        findings.push(Finding::new(list, number, message));
    }
    findings
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    /// The SHA-256 of `abc`, from the standard's own example.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn untouched_golden_files_are_fine() {
        assert_finds(
            check,
            &[
                ("crates/store/tests/golden/SHA256SUMS", &format!("{ABC}  v1/journal.db\n")),
                ("crates/store/tests/golden/v1/journal.db", "abc"),
                ("crates/cli/tests/golden/unlisted.txt", "no list, no check"),
            ],
            &[],
        );
    }

    #[test]
    fn a_changed_a_new_and_a_missing_golden_file_are_found() {
        let list = format!("{ABC}  changed\n{ABC} *gone\nnonsense\n");
        assert_finds(
            check,
            &[
                ("crates/store/tests/golden/SHA256SUMS", &list),
                ("crates/store/tests/golden/changed", "abd"),
                ("crates/store/tests/golden/new", "abc"),
            ],
            &[
                "crates/store/tests/golden/SHA256SUMS:3: this is not `SUM  FILE`",
                "crates/store/tests/golden/changed:1: a golden file is never changed: \
                 restore it and add a new one",
                &format!(
                    "crates/store/tests/golden/new:1: not in SHA256SUMS: add the line `{ABC}  new`"
                ),
                "crates/store/tests/golden/SHA256SUMS:2: crates/store/tests/golden/gone is gone; \
                 what was released must stay loadable",
            ],
        );
    }
}
