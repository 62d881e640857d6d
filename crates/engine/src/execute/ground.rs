//! Where an attempt works, and what its place asks of it.

use super::attempt::Attempt;
use crate::merge::PhaseBranch;
use waypost_model::run::{Active, Isolation, TaskView};

/// The place of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// The project folder itself.
    Project,
    /// The work tree of its phase, on the phase's branch.
    Shared { phase: PhaseBranch },
    /// A work tree of its own, by its name.
    Own { phase: PhaseBranch, name: String },
}

impl Ground {
    pub(super) fn of(active: &Active, view: &TaskView<'_>) -> Self {
        let number = view.planned.phase;
        let Some(phase) = PhaseBranch::of(active, number) else { return Self::Project };
        match active.settings().isolation {
            Isolation::Task => {
                let tree = view.tree.unwrap_or(view.attempts);
                let name = format!("{}--{}-{tree}", phase.name, view.planned.id);
                Self::Own { phase, name }
            }
            Isolation::None | Isolation::Phase => Self::Shared { phase },
        }
    }

    pub(super) fn phase(&self) -> Option<&PhaseBranch> {
        match self {
            Self::Project => None,
            Self::Shared { phase } | Self::Own { phase, .. } => Some(phase),
        }
    }

    /// The name of a work tree that is the attempt's own.
    pub(super) fn own(&self) -> Option<&str> {
        match self {
            Self::Own { name, .. } => Some(name),
            Self::Project | Self::Shared { .. } => None,
        }
    }
}

/// Why what an attempt changed does not prove that its task was worked on.
pub(super) fn proves_nothing(attempt: &Attempt, changed: &[String]) -> Option<String> {
    let Attempt { id, files, needs_change, .. } = attempt;
    if *needs_change && changed.is_empty() {
        return Some(format!("it left no change and did not say `DONE:{id}`"));
    }
    let is_touched = |file: &String| changed.iter().any(|path| covers(file, path));
    match files.is_empty() || files.iter().any(is_touched) {
        true => None,
        false => {
            Some(format!("it changed none of the files that it declares: {}", files.join(", ")))
        }
    }
}

/// Whether a declared file, folder or pattern means `path`.
fn covers(declared: &str, path: &str) -> bool {
    let declared = declared.trim().trim_start_matches("./").trim_matches('`').trim_end_matches('/');
    let (start, is_pattern) = literal_start(declared);
    match is_pattern {
        true => path.starts_with(start),
        false => {
            path == declared || path.strip_prefix(declared).is_some_and(|it| it.starts_with('/'))
        }
    }
}

/// The part of a pattern before its first wildcard.
fn literal_start(declared: &str) -> (&str, bool) {
    match declared.find(['*', '?', '[', '{']) {
        Some(end) => (&declared[..end], true),
        None => (declared, false),
    }
}

/// Whether two tasks that declare these files may work side by side in one folder.
pub(super) fn are_disjoint(one: &[String], other: &[String]) -> bool {
    let overlap = |a: &str, b: &str| {
        let (a, b) = (a.trim().trim_start_matches("./"), b.trim().trim_start_matches("./"));
        let ((a_start, a_open), (b_start, b_open)) = (literal_start(a), literal_start(b));
        match (a_open, b_open) {
            (false, false) => covers(a, b) || covers(b, a),
            _ => a_start.starts_with(b_start) || b_start.starts_with(a_start),
        }
    };
    let is_known = !one.is_empty() && !other.is_empty();
    is_known && !one.iter().any(|a| other.iter().any(|b| overlap(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_file_means_itself_and_what_is_below_it() {
        let table = [
            ("src/a.rs", "src/a.rs", true),
            ("./src/a.rs", "src/a.rs", true),
            ("`src/a.rs`", "src/a.rs", true),
            ("src", "src/deep/a.rs", true),
            ("src/", "src/a.rs", true),
            ("src/a", "src/a.rs", false),
            ("src/*.rs", "src/b.rs", true),
            ("src/**", "tests/b.rs", false),
        ];
        for (declared, path, want) in table {
            assert_eq!(covers(declared, path), want, "{declared} {path}");
        }
    }

    #[test]
    fn tasks_work_side_by_side_only_on_files_known_to_be_others() {
        let files = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let table: [(&[&str], &[&str], bool); 7] = [
            (&["a.rs"], &["b.rs"], true),
            (&["a.rs"], &["a.rs"], false),
            (&["src"], &["src/a.rs"], false),
            (&["src/*"], &["src/a.rs"], false),
            (&["src/*"], &["docs/*"], true),
            (&[], &["b.rs"], false),
            (&["a.rs", "c"], &["b.rs", "c/d"], false),
        ];
        for (one, other, want) in table {
            assert_eq!(are_disjoint(&files(one), &files(other)), want, "{one:?} {other:?}");
        }
    }
}
