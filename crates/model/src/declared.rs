//! The files that a task declares: names, folders and patterns, as TASKS.md has them.

/// Whether a declared file, folder or pattern means `path`.
pub fn covers(declared: &str, path: &str) -> bool {
    let declared = declared.trim().trim_start_matches("./").trim_matches('`').trim_end_matches('/');
    let (start, is_pattern) = literal_start(declared);
    match is_pattern {
        true => path.starts_with(start),
        false => {
            path == declared || path.strip_prefix(declared).is_some_and(|it| it.starts_with('/'))
        }
    }
}

/// Whether one of the declared files means `path`; nothing declared means everything.
pub fn include(declared: &[String], path: &str) -> bool {
    declared.is_empty() || declared.iter().any(|file| covers(file, path))
}

/// Why what an attempt changed does not prove that its task `id` was worked on.
pub fn proves_nothing(
    (id, declared): (&str, &[String]),
    needs_change: bool,
    changed: &[String],
) -> Option<String> {
    if needs_change && changed.is_empty() {
        return Some(format!("it left no change and did not say `DONE:{id}`"));
    }
    let is_touched = |file: &String| changed.iter().any(|path| covers(file, path));
    match declared.is_empty() || declared.iter().any(is_touched) {
        true => None,
        false => {
            let names = declared.join(", ");
            Some(format!("it changed none of the files that it declares: {names}"))
        }
    }
}

/// Whether two tasks that declare these files may work side by side in one folder.
pub fn are_disjoint(one: &[String], other: &[String]) -> bool {
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

/// The part of a pattern before its first wildcard.
fn literal_start(declared: &str) -> (&str, bool) {
    match declared.find(['*', '?', '[', '{']) {
        Some(end) => (&declared[..end], true),
        None => (declared, false),
    }
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
