//! Which files are the design's: the paths that `workflow.design_paths` names.
//!
//! What patterns mean is in `model/src/pattern.rs`. A path counts by where it really leads; one that leads out
//! of the project is not the design's.

use std::path::Path;
use waypost_model::pattern::matches;

use crate::look::resolved;

/// Whether a path, relative to `folder` or absolute, is one of the design's in the project at
/// `root`.
pub fn is_design(patterns: &[String], root: &Path, folder: &Path, path: &str) -> bool {
    // A home or a glob is filled in by the shell; what it becomes is not known here.
    if path.is_empty() || path.starts_with('~') || path.contains(['\0', '*', '?', '[', '{']) {
        return false;
    }
    let whole = folder.join(path);
    let target = resolved(&whole);
    let Ok(inside) = target.strip_prefix(resolved(root)) else { return false };
    let Some(inside) = inside.to_str() else { return false };
    let parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty()).collect();
    !parts.is_empty() && patterns.iter().any(|pattern| matches(pattern, &parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_counts_by_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir_all(root.join("docs/sub")).unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, root.join(from)).unwrap();
        link("../src", "docs/code");
        link("../../outside", "docs/out");
        link("../src/a.rs", "docs/new.md");
        link("docs", "papers");
        let patterns = ["docs/**".to_owned(), "*.md".to_owned()];
        let check = |folder: &str, path: &str, want: bool| {
            let path = path.replace("ROOT", root.to_str().unwrap());
            let got = is_design(&patterns, &root, &root.join(folder), &path);
            assert_eq!(got, want, "{path} in {folder}");
        };
        check("", "docs/a.txt", true);
        check("", "docs/new/folder/a.txt", true);
        check("", "./docs//a.txt", true);
        check("docs/sub", "a.txt", true);
        check("src", "../docs/a.txt", true);
        check("", "ROOT/docs/a.txt", true);
        check("", "papers/a.txt", true);
        check("", "src/NOTES.md", true);
        check("", "src/a.rs", false);
        check("", "docs/../src/a.rs", false);
        check("", "docs/missing/../../src/a.rs", false);
        check("", "docs/code/a.rs", false);
        check("", "docs/code/../a.rs", false);
        check("", "docs/out/a.txt", false);
        check("", "docs/new.md", false);
        check("", "../a.md", false);
        check("", "/tmp/a.md", false);
        check("", "~/a.md", false);
        check("", "docs/*", false);
        check("", "", false);
        check("", ".", false);
    }
}
