//! What each gate of a subtask looks at, as rules over plain values.
//!
//! What was changed, which imports there are and what tests printed is found out outside. Here is what follows from
//! it: faults, and what only a report can confirm.

pub mod layers;
pub mod scope;
pub mod test_command;
pub mod test_output;
pub mod testing;

/// What a look at a gate has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Why the gate does not hold.
    pub faults: Vec<String>,
    /// What cannot be told here, and a report has to confirm.
    pub open: Vec<String>,
    /// What stands behind it.
    pub evidence: Vec<String>,
}

/// A path as it is compared: from the project's root, with `/` between its names. What is worked on in a tree of
/// its own has two roots, that tree and the project's own, from which briefs are written; the inner one comes first.
pub fn normal_path(path: &str, roots: &[String]) -> String {
    let path = path.trim().trim_matches('`').replace('\\', "/");
    let below = |root: &String| path.strip_prefix(root.as_str()).filter(|it| it.starts_with('/'));
    let inside = roots.iter().find_map(below);
    let path = inside.map_or(path.as_str(), |it| it.trim_start_matches('/'));
    path.trim_start_matches("./").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod path_tests {
    use super::normal_path;

    #[test]
    fn paths_are_compared_from_the_root() {
        let table = [
            ("src/a.rs", "src/a.rs"),
            ("./src/a.rs", "src/a.rs"),
            ("/w/shop/src/a.rs", "src/a.rs"),
            ("/w/shopping/a.rs", "/w/shopping/a.rs"),
            ("`src/`", "src"),
            ("src\\a.rs", "src/a.rs"),
        ];
        for (path, want) in table {
            assert_eq!(normal_path(path, &["/w/shop".to_owned()]), want);
        }
        let roots = ["/w/shop/worktree/t1".to_owned(), "/w/shop".to_owned()];
        for path in ["/w/shop/src/a.rs", "/w/shop/worktree/t1/src/a.rs", "src/a.rs"] {
            assert_eq!(normal_path(path, &roots), "src/a.rs");
        }
    }
}
