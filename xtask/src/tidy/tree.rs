//! The files of the repository, held in memory, so that a rule is a function and its test is data.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::command_line::CommandLine;

/// Every file that is tracked or about to be, by its path from the root with `/` in between.
#[derive(Debug)]
pub(crate) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads what git tracks, and what it would track: a violation is found before it is added.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let line = CommandLine::new("git", ["-C", &root.to_string_lossy(), "ls-files", "-z"]);
        let listing = line.with(["--cached", "--others", "--exclude-standard"]).stdout()?;
        let mut files = BTreeMap::new();
        for path in listing.split(|&byte| byte == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8_lossy(path).into_owned();
            let file = root.join(&path);
            // Deleted but not yet committed, or a link: there is no content to judge.
            if !file.symlink_metadata().is_ok_and(|data| data.is_file()) {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
            files.insert(path, bytes);
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| (path.to_string(), text.as_bytes().to_vec());
        Self { files: files.iter().map(owned).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// All files in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// The file's text; nothing where it is absent or not text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.bytes(path).and_then(text)
    }

    /// All files that are text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter_map(|(path, bytes)| Some((path, text(bytes)?)))
    }

    /// Our Rust sources. Fixtures are foreign text, whatever their ending.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs") && !is_fixture(path))
    }
}

/// Whether a file is data that a test reads, and not ours to word.
pub(crate) fn is_fixture(path: &str) -> bool {
    path.ends_with(".snap") || path.contains("/fixtures/") || path.contains("/tests/golden/")
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::is_on_path;

    #[test]
    fn sources_are_rust_files_that_are_ours() {
        let tree = Tree::of(&[
            ("a/src/lib.rs", ""),
            ("a/src/lib.md", ""),
            ("a/src/snapshots/mod.rs", ""),
            ("a/tests/fixtures/broken.rs", ""),
            ("a/tests/golden/old.rs", ""),
            ("a/src/nul.rs", "\0"),
        ]);
        let sources: Vec<&str> = tree.sources().map(|(path, _)| path).collect();
        assert_eq!(sources, ["a/src/lib.rs", "a/src/snapshots/mod.rs"]);
        assert_eq!(tree.len(), 6);
    }

    #[test]
    fn what_git_ignores_or_has_lost_is_not_in_the_tree() {
        if !is_on_path("git") {
            eprintln!("skipped: git is missing");
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let git = |line: &str| {
            let folder = root.path().to_string_lossy().into_owned();
            CommandLine::new("git", ["-C", &folder]).with(line.split(' ')).stdout().unwrap()
        };
        for path in [".gitignore", "tracked", "lost", "new", "ignored"] {
            std::fs::write(root.path().join(path), "ignored\n").unwrap();
        }
        git("init --quiet");
        git("add tracked lost");
        std::fs::remove_file(root.path().join("lost")).unwrap();
        let tree = Tree::load(root.path()).unwrap();
        let paths: Vec<&str> = tree.files().map(|(path, _)| path).collect();
        assert_eq!(paths, [".gitignore", "new", "tracked"]);
    }
}
