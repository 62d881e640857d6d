//! The texts of `corpus/`: scripts as projects have them, and inputs that once were trouble.

use std::path::PathBuf;

/// Every text with its file name, in the order of the names.
pub(crate) fn corpus() -> Vec<(String, String)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"));
    let entries = folder.read_dir().expect("the corpus is part of the repository");
    let paths = entries.map(|entry| entry.expect("a folder of ours can be listed").path());
    let mut texts: Vec<(String, String)> = paths
        .map(|path| {
            let bytes = std::fs::read(&path).expect("a file of ours can be read");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect();
    texts.sort_unstable();
    texts
}
