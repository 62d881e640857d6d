//! GATE-3: only what the task covers was changed.
//!
//! A changed file is covered by a `file_refs` of brief or contract, by being the test file, or by an entry of
//! `scope_in` that is a path or a pattern; an entry of `scope_out` that is one forbids it, whatever else
//! covers it. All other entries are prose: a report has to confirm what they leave open.

use super::{Judged, normal_path};
use crate::{
    document::contract::{DesignBrief, DesignContract, FileRef},
    pattern,
};

/// What a task covers, and what was found of the project.
#[derive(Clone, Copy)]
pub struct TaskScope<'a> {
    pub brief: &'a DesignBrief,
    pub contract: Option<&'a DesignContract>,
    pub test_file: Option<&'a str>,
    /// The project's root, for paths that were written whole.
    pub roots: &'a [String],
    /// Whether there is such a file or folder, now or when the subtask began.
    pub is_there: &'a dyn Fn(&str) -> bool,
}

/// An entry of `scope_in` or `scope_out`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ScopeEntry {
    /// A file, or a folder with all that is in it.
    Path(String),
    Pattern(String),
    Prose(String),
}

impl TaskScope<'_> {
    /// Judges the paths of files that were changed, made or deleted.
    pub fn judge(&self, changed: &[String]) -> Judged {
        let entries = |list: &[String]| list.iter().map(|it| self.entry(it)).collect::<Vec<_>>();
        let (inside, outside) = (entries(&self.brief.scope_in), entries(&self.brief.scope_out));
        let prose = |list: &[ScopeEntry]| {
            let texts = list.iter().filter_map(ScopeEntry::prose);
            texts.map(|text| format!("«{text}»")).collect::<Vec<_>>()
        };
        let mut judged = Judged::default();
        for path in changed {
            if let Some(entry) = outside.iter().find(|it| it.means(path)) {
                judged.faults.push(format!("{path} is out of scope: `{}`", entry.text()));
            } else if let Some(by) = self.covered_by(path, &inside) {
                judged.evidence.push(format!("{path}: {by}"));
            } else if prose(&inside).is_empty() {
                judged.faults.push(format!("{path} is in no file_refs and no scope_in"));
            } else {
                let meant = prose(&inside).join(", ");
                judged.open.push(format!("{path} belongs to what scope_in means: {meant}"));
            }
        }
        if !changed.is_empty() {
            let left = prose(&outside).into_iter();
            judged.open.extend(left.map(|text| format!("{text} of scope_out was left alone")));
        }
        judged
    }

    /// What covers a path.
    fn covered_by(&self, path: &str, inside: &[ScopeEntry]) -> Option<String> {
        let names = |refs: &[FileRef]| refs.iter().any(|it| self.normal(&it.path) == path);
        if self.test_file.is_some_and(|file| self.normal(file) == path) {
            return Some("test_file_path".to_owned());
        }
        if names(&self.brief.file_refs) {
            return Some("file_refs of the brief".to_owned());
        }
        if self.contract.is_some_and(|contract| names(&contract.file_refs)) {
            return Some("file_refs of the contract".to_owned());
        }
        let entry = inside.iter().find(|it| it.means(path))?;
        Some(format!("scope_in `{}`", entry.text()))
    }

    fn normal(&self, path: &str) -> String {
        normal_path(path, self.roots)
    }

    /// What an entry is: paths have no spaces, but a file may have some.
    fn entry(&self, text: &str) -> ScopeEntry {
        let path = self.normal(text);
        let is_word = !path.is_empty() && !path.contains(char::is_whitespace);
        if is_word && path.contains(['*', '?']) {
            return ScopeEntry::Pattern(path);
        }
        // A folder may have its slash at the end.
        let has_slash = path.contains('/') || text.trim().trim_matches('`').ends_with('/');
        let is_path = (self.is_there)(&path) || (is_word && has_slash && !path.starts_with('/'));
        match is_path && !path.is_empty() {
            true => ScopeEntry::Path(path),
            false => ScopeEntry::Prose(text.trim().to_owned()),
        }
    }
}

impl ScopeEntry {
    fn means(&self, path: &str) -> bool {
        match self {
            Self::Path(own) => {
                path == own || path.strip_prefix(own.as_str()).is_some_and(|it| it.starts_with('/'))
            }
            Self::Pattern(pattern) => {
                pattern::matches(pattern, &path.split('/').collect::<Vec<_>>())
            }
            Self::Prose(_) => false,
        }
    }

    fn prose(&self) -> Option<&str> {
        match self {
            Self::Prose(text) => Some(text),
            Self::Path(_) | Self::Pattern(_) => None,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Path(text) | Self::Pattern(text) | Self::Prose(text) => text,
        }
    }
}

impl std::fmt::Debug for TaskScope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskScope").field("brief", self.brief).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Stamp, Time};

    fn brief(inside: &[&str], outside: &[&str], refs: &[&str]) -> DesignBrief {
        let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let file = |path: &&str| FileRef { entity: None, path: (*path).to_owned(), status: None };
        DesignBrief {
            version: Default::default(),
            request_id: None,
            task_id: None,
            created_at: Stamp::At(Time::from_millis(0)),
            created_by: "orchestrator".into(),
            task_name: None,
            objective: None,
            subtasks: Vec::new(),
            completion_criteria: Vec::new(),
            scope_in: texts(inside),
            scope_out: texts(outside),
            file_refs: refs.iter().map(file).collect(),
        }
    }

    fn judge(brief: &DesignBrief, changed: &[&str]) -> (Vec<String>, Vec<String>) {
        let is_there = |path: &str| ["src", "Makefile", "my file.txt"].contains(&path);
        let scope = TaskScope {
            brief,
            contract: None,
            test_file: Some("./tests/a.rs"),
            roots: &["/w".to_owned()],
            is_there: &is_there,
        };
        let changed: Vec<String> = changed.iter().map(|it| (*it).to_owned()).collect();
        let Judged { faults, open, .. } = scope.judge(&changed);
        (faults, open)
    }

    #[test]
    fn a_file_that_nothing_covers_is_a_fault() {
        let plain = brief(&["src/cart/**", "docs/"], &["src/auth"], &["/w/src/main.rs"]);
        let none: (Vec<String>, Vec<String>) = Default::default();
        let covered = ["src/main.rs", "tests/a.rs", "src/cart/x/y.rs", "docs/a.md"];
        assert_eq!(judge(&plain, &covered), none);
        let (faults, open) = judge(&plain, &["src/other.rs", "src/auth/key.rs"]);
        assert_eq!(
            faults,
            [
                "src/other.rs is in no file_refs and no scope_in",
                "src/auth/key.rs is out of scope: `src/auth`"
            ]
        );
        assert!(open.is_empty());
    }

    #[test]
    fn what_is_out_of_scope_is_so_whatever_else_covers_it() {
        let plain = brief(&["src/**"], &["src/auth/**"], &["src/auth/key.rs"]);
        assert_eq!(judge(&plain, &["src/auth/key.rs"]).0.len(), 1);
    }

    #[test]
    fn prose_leaves_open_what_a_report_confirms() {
        let prose =
            brief(&["GET /api/a endpoint", "AController class"], &["login"], &["src/A.java"]);
        let (faults, open) = judge(&prose, &["src/A.java", "src/B.java"]);
        assert!(faults.is_empty());
        assert_eq!(
            open,
            [
                "src/B.java belongs to what scope_in means: «GET /api/a endpoint», «AController class»",
                "«login» of scope_out was left alone"
            ]
        );
        assert_eq!(judge(&prose, &[]).1.len(), 0);
    }

    #[test]
    fn entries_are_paths_patterns_or_prose() {
        let empty = brief(&[], &[], &[]);
        let is_there = |path: &str| ["src", "Makefile", "my file.txt"].contains(&path);
        let scope = TaskScope {
            brief: &empty,
            contract: None,
            test_file: None,
            roots: &["/w".to_owned()],
            is_there: &is_there,
        };
        let path = |text: &str| ScopeEntry::Path(text.into());
        for (text, want) in [
            ("src", path("src")),
            ("Makefile", path("Makefile")),
            ("my file.txt", path("my file.txt")),
            ("new/file.rs", path("new/file.rs")),
            ("new/", path("new")),
            ("`src/a.rs`", path("src/a.rs")),
            ("*.rs", ScopeEntry::Pattern("*.rs".into())),
            ("/api/a", ScopeEntry::Prose("/api/a".into())),
            ("AController", ScopeEntry::Prose("AController".into())),
            ("GET /api/a", ScopeEntry::Prose("GET /api/a".into())),
            ("is it *.rs?", ScopeEntry::Prose("is it *.rs?".into())),
        ] {
            assert_eq!(scope.entry(text), want);
        }
    }
}
