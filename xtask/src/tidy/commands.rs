//! Below the faces nothing is typed: no message there names a command line of ours, a part of one (as in
//! `session next`), or a flag.
//!
//! What leads on is a `NextStep`, which each face spells in its own way. Comments may name commands,
//! and so may tests. A string that is a mark in a file, or belongs to a foreign program, has a row here.
//! A flag that is a string of its own is an argument of a program, and so is one after another word of a
//! command line.

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

/// Our own reference, whose headings are all our commands.
const REFERENCE: &str = "docs/cli.md";

/// Words after which a flag is one that a reader is to type.
const BEFORE_FLAG: &[&str] =
    &["`", "(", "with ", "use ", "or ", "and ", "by ", "without ", "give ", "say "];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let is_below = |path: &str| {
        CRATES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")))
            && path.ends_with(".rs")
            && !path.contains("/tests")
    };
    let commands = commands(tree);
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_below(path)) {
        for (number, line) in (1..).zip(text.lines()) {
            // Tests stand at the end of a file.
            if line == "#[cfg(test)]" {
                break;
            }
            let found = command(line).or_else(|| part(line, &commands)).or_else(|| flag(line));
            let Some(found) = found else { continue };
            let is_mark = |(file, mark): &&(&str, &str)| *file == path && line.contains(mark);
            if !MARKS.iter().any(|row| is_mark(&row)) {
                let message = format!("`{found}` is a command line: return a `NextStep` instead");
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// Our commands of several words, without the name of the program.
fn commands(tree: &Tree) -> Vec<&str> {
    let headings = tree.text(REFERENCE).unwrap_or_default().lines();
    let named = headings.filter_map(|line| {
        let (_, name) = line.strip_prefix('#')?.split_once('`')?;
        name.strip_suffix('`')?.strip_prefix(PROGRAM)?.strip_prefix(' ')
    });
    named.filter(|name| name.contains(' ')).collect()
}

/// One of our commands as words in a string, where the program is not named.
fn part(line: &str, commands: &[&str]) -> Option<String> {
    let quoted = spans(line).map(|(_, span)| span);
    let mut found = quoted.filter_map(|span| {
        let is_begun = |name: &&&str| {
            let rest = span.strip_prefix(**name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
        };
        commands.iter().find(is_begun).map(|name| (*name).to_owned())
    });
    found.next()
}

/// What follows each mark of code in a string of this line.
fn spans(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let strings = line.find('"').filter(|_| !is_comment(line)).unwrap_or(line.len());
    line.match_indices('`')
        .filter(move |(at, _)| *at > strings)
        .map(|(at, _)| (at, &line[at + 1..]))
}

/// A flag that a reader is to type, in a string of this line.
fn flag(line: &str) -> Option<String> {
    let strings = line.find('"').filter(|_| !is_comment(line))?;
    line.match_indices("--").filter(|(at, _)| *at > strings).find_map(|(at, _)| {
        let name = line[at + 2..].split(|c: char| !c.is_ascii_lowercase() && c != '-').next()?;
        let is_typed = BEFORE_FLAG.iter().any(|word| line[..at].ends_with(word));
        (is_typed && name.len() > 1).then(|| format!("--{name}"))
    })
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The beginning of a command line in a string of this line of code.
fn command(line: &str) -> Option<String> {
    if is_comment(line) {
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
    fn parts_of_command_lines_and_flags_are_found() {
        let reference = ("docs/cli.md", "## `waypost session`\n### `waypost session next`\n");
        let line = |text: &str| format!("hint(\"{text}\");\n");
        let findings = |text: &str| {
            let source = line(text);
            let tree = Tree::of(&[reference, ("crates/engine/src/a.rs", &source)]);
            check(&tree).into_iter().map(|it| it.to_string()).collect::<Vec<_>>()
        };
        for (text, found) in [
            ("`session next` says more", "session next"),
            ("see `session next --json`", "session next"),
            ("name it with --tasks", "--tasks"),
            ("or use `--shared` instead", "--shared"),
            ("begin anew (`--new`)", "--new"),
        ] {
            let want = format!(
                "crates/engine/src/a.rs:1: `{found}` is a command line: return a `NextStep` instead"
            );
            assert_eq!(findings(text), [want], "{text}");
        }
        for text in [
            "the `session nextly` word",
            "`session` is a word",
            "`git merge --squash` did not work",
            "--porcelain",
            "a -- b",
        ] {
            assert_eq!(findings(text), [""; 0], "{text}");
        }
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
