//! Who is in a folder: processes that work there, as `/proc` shows them.
//!
//! Processes of other users cannot be looked at and are not seen.

use std::{fs, path::Path};

/// The processes in a folder, this one aside, each with the name of its program.
pub(crate) fn in_folder(folder: &Path) -> Vec<(u32, String)> {
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if pid != own && is_in(&entry.path(), folder) {
            let program = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push((pid, program.trim_end().to_owned()));
        }
    }
    found.sort_unstable();
    found
}

fn is_in(process: &Path, folder: &Path) -> bool {
    ["cwd", "root"]
        .iter()
        .any(|link| fs::read_link(process.join(link)).is_ok_and(|place| place.starts_with(folder)))
}
