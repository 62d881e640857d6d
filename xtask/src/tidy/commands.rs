//! Below the faces nothing is typed: no message there names a command line of ours.
//!
//! What leads on is a `NextStep`, which each face spells in its own way. Comments may name commands,
//! and so may tests. A string that is a mark in a file, not a message, has a row here.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

/// The crates below the faces.
const CRATES: &[&str] = &[
    "agent", "engine", "git", "guard", "imports", "mcp", "model", "proc", "redact", "store", "wall",
];

/// What the program is called in a command line.
const PROGRAM: &str = "waypost";

/// Strings that files have had from the beginning, by which Waypost finds again what it made; and
/// what begins a record.
const MARKS: &[(&str, &str)] = &[
    ("crates/engine/src/init/git_hooks.rs", "waypost init"),
    ("crates/git/src/command/exclude.rs", "waypost init"),
    ("crates/model/src/workflow/record.rs", "waypost gate record"),
    ("crates/store/src/journal/sqlite/chain.rs", "waypost stream"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let is_below = |path: &str| {
        CRATES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")))
            && path.ends_with(".rs")
            && !path.contains("/tests")
    };
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_below(path)) {
        for (number, line) in (1..).zip(text.lines()) {
            // Tests stand at the end of a file.
            if line == "#[cfg(test)]" {
                break;
            }
            let Some(found) = command(line) else { continue };
            let is_mark = |(file, mark): &&(&str, &str)| *file == path && line.contains(mark);
            if !MARKS.iter().any(|row| is_mark(&row)) {
                let message = format!("`{found}` is a command line: return a `NextStep` instead");
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// The beginning of a command line in a string of this line of code.
fn command(line: &str) -> Option<String> {
    if line.trim_start().starts_with("//") {
        return None;
    }
    line.match_indices(PROGRAM).find_map(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + PROGRAM.len()..]);
        let begins = before.chars().next_back().is_none_or(|c| " `'\"(".contains(c));
        let next = after.strip_prefix(' ')?.split(|c: char| !c.is_ascii_lowercase()).next()?;
        let is_text = !before.contains("// ");
        (begins && is_text && next.len() > 1).then(|| format!("{PROGRAM} {next}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn a_command_line_below_the_faces_is_found() {
        assert_finds(
            check,
            &[
                ("crates/engine/src/a.rs", "fn a() {\n    hint(\"`waypost doctor` says more\");\n"),
                ("crates/store/src/b.rs", "x(\"see (waypost inbox)\");\n"),
                ("crates/model/src/c.rs", "let long = \"first\n    waypost run --resume\";\n"),
            ],
            &[
                "crates/engine/src/a.rs:2: `waypost doctor` is a command line: \
                 return a `NextStep` instead",
                "crates/model/src/c.rs:2: `waypost run` is a command line: \
                 return a `NextStep` instead",
                "crates/store/src/b.rs:1: `waypost inbox` is a command line: \
                 return a `NextStep` instead",
            ],
        );
    }

    #[test]
    fn comments_tests_marks_and_faces_may_name_commands() {
        assert_finds(
            check,
            &[
                ("crates/engine/src/a.rs", "/// `waypost run` does\nlet x = 1; // waypost run\n"),
                ("crates/engine/src/b.rs", "#[cfg(test)]\nmod tests { f(\"waypost run\"); }\n"),
                ("crates/engine/src/c/tests/d.rs", "f(\"waypost run\");\n"),
                ("crates/cli/src/e.rs", "f(\"waypost run\");\n"),
                ("crates/hook/src/f.rs", "f(\"waypost run\");\n"),
                (
                    "crates/model/src/workflow/record.rs",
                    "const A: &str = \"waypost gate record 2\";\n",
                ),
                (
                    "crates/engine/src/g.rs",
                    "f(\"in waypost.toml\", \"waypost-hook\", \"waypost {id}\");\n",
                ),
            ],
            &[],
        );
    }
}
