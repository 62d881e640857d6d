//! Words that we do not use, each with what to write instead.
//!
//! Type and file names must say what a thing is; comments and pages must not carry notes to
//! ourselves. Strings in code are not searched: there the word may be a user's data.

use crate::tidy::Finding;
use crate::tidy::tree::{Tree, is_fixture};

/// Parts of a type's name that say nothing about it.
const TYPE_WORDS: &[(&str, &str)] = &[
    ("Manager", "a noun for what it is, or a free function"),
    ("Helper", "a noun for what it is, or a free function"),
    ("Util", "the name of the one thing it does"),
    ("Utils", "the name of the one thing it does"),
    ("Data", "what the data is"),
    ("Info", "what the information is"),
    ("Impl", "what sets this one apart"),
];

/// Names of files that collect whatever has no home.
const FILE_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "misc"];

/// A reader has to know whether a person, an agent or a process of ours is meant.
const WHO: &str = "who it is: a person, an agent, a process";

/// Words in comments and pages.
const PROSE_WORDS: &[(&str, Case, &str)] = &[
    ("TODO", Case::Exact, "do it, or open an issue"),
    ("FIXME", Case::Exact, "fix it, or open an issue"),
    ("XXX", Case::Exact, "a sentence that says what is odd"),
    ("whitelist", Case::Any, "allow-list"),
    ("blacklist", Case::Any, "deny-list"),
    ("whoever", Case::Any, WHO),
    ("somebody", Case::Any, WHO),
    ("nobody", Case::Any, WHO),
    ("anybody", Case::Any, WHO),
    ("giver", Case::Any, WHO),
    ("somewhere", Case::Any, "where it is"),
    ("anew", Case::Any, "again"),
    ("mend", Case::Any, "fix"),
    ("mended", Case::Any, "fixed"),
    ("mends", Case::Any, "fixes"),
];

/// Whether capitals matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Exact,
    Any,
}

/// This file and its tests have to name the words.
const OWN: &str = "xtask/src/tidy/words.rs";

/// What agents are told about documents names the words that must not stand in these.
const TOLD_TO_AGENTS: &str = "crates/engine/task-types/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_ours =
        |path: &str| !is_fixture(path) && path != OWN && !path.starts_with(TOLD_TO_AGENTS);
    for (path, text) in tree.texts().filter(|(path, _)| is_ours(path)) {
        let is_source = path.ends_with(".rs");
        if is_source {
            findings.extend(check_file_name(path));
        }
        for (number, line) in (1..).zip(text.lines()) {
            let messages = match path.rsplit('.').next() {
                Some("rs") => [type_message(line), prose_message(comment(line))],
                Some("md") => [None, prose_message(&without_code(line))],
                Some("toml" | "yml" | "yaml" | "sh") => [None, prose_message(line)],
                _ => [None, None],
            };
            let messages = messages.into_iter().flatten();
            findings.extend(messages.map(|message| Finding::new(path, number, message)));
        }
    }
    findings
}

fn check_file_name(path: &str) -> Option<Finding> {
    let name = path.trim_end_matches("/mod.rs").trim_end_matches(".rs").rsplit('/').next()?;
    let message = || format!("a file called `{name}` collects anything; name it after one thing");
    FILE_NAMES.contains(&name).then(|| Finding::new(path, 1, message()))
}

fn type_message(line: &str) -> Option<String> {
    let name = defined_type(line)?;
    let (word, instead) = TYPE_WORDS.iter().find(|(word, _)| has_part(name, word))?;
    Some(format!("`{word}` in `{name}` says nothing; write {instead}"))
}

/// The name of the type that the line defines. An alias counts at the file's top level only: in
/// an `impl`, its name is the trait's.
pub(super) fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let first = words.find(|word| !word.starts_with("pub"))?;
    let is_definition = match first {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = words.next().filter(|_| is_definition)?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Whether `word` is one of the capitalised parts of `name`.
fn has_part(name: &str, word: &str) -> bool {
    name.match_indices(word)
        .any(|(at, _)| !name[at + word.len()..].starts_with(|c: char| c.is_lowercase()))
}

fn prose_message(text: &str) -> Option<String> {
    let words = || text.split(|c: char| !c.is_alphanumeric());
    let is_used = |word: &str, case| match case {
        Case::Exact => words().any(|used| used == word),
        Case::Any => words().any(|used| used.eq_ignore_ascii_case(word)),
    };
    let (word, _, instead) = PROSE_WORDS.iter().find(|(word, case, _)| is_used(word, *case))?;
    Some(format!("instead of `{word}`: {instead}"))
}

/// The line's comment.
fn comment(line: &str) -> &str {
    line.find("//").map_or("", |at| &line[at..])
}

/// The line without what stands between back-ticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn a_type_whose_name_says_nothing_is_found() {
        assert_finds(
            check,
            &[(
                "a.rs",
                "struct TaskManager;\npub(crate) enum InfoKind {\nstruct DataSet<T>(T);\n\
                 pub type RunUtils = ();\ntrait Helper: Sized {}\n",
            )],
            &[
                "a.rs:1: `Manager` in `TaskManager` says nothing; \
                 write a noun for what it is, or a free function",
                "a.rs:2: `Info` in `InfoKind` says nothing; write what the information is",
                "a.rs:3: `Data` in `DataSet` says nothing; write what the data is",
                "a.rs:4: `Utils` in `RunUtils` says nothing; \
                 write the name of the one thing it does",
                "a.rs:5: `Helper` in `Helper` says nothing; \
                 write a noun for what it is, or a free function",
            ],
        );
    }

    #[test]
    fn a_word_inside_another_or_of_another_trait_is_not_a_part() {
        assert_finds(
            check,
            &[(
                "a.rs",
                "struct Database;\nstruct TaskMetadata;\nstruct Utilisation;\n    type Data = ();\n\
                 impl Foo for TaskManager {}\nlet structure = Info;\n",
            )],
            &[],
        );
    }

    #[test]
    fn a_note_to_ourselves_is_found_in_comments_and_pages() {
        assert_finds(
            check,
            &[
                ("a.rs", "fn a() {} // TODO: more\nlet text = \"TODO\";\n/// FIXME\n// XXX odd\n"),
                ("b.md", "Say `TODO` never.\n\nTODO: write this\n"),
                ("c.toml", "# a Whitelist\n"),
                ("a/fixtures/d.md", "TODO\n"),
                ("e.txt", "TODO\n"),
            ],
            &[
                "a.rs:1: instead of `TODO`: do it, or open an issue",
                "a.rs:3: instead of `FIXME`: fix it, or open an issue",
                "a.rs:4: instead of `XXX`: a sentence that says what is odd",
                "b.md:3: instead of `TODO`: do it, or open an issue",
                "c.toml:1: instead of `whitelist`: allow-list",
            ],
        );
    }

    #[test]
    fn who_does_something_is_named() {
        assert_finds(
            check,
            &[("a.rs", "// Nobody waits.\nfn nobody() {}\n"), ("b.md", "It is mended anew.\n")],
            &[
                "a.rs:1: instead of `nobody`: who it is: a person, an agent, a process",
                "b.md:1: instead of `anew`: again",
            ],
        );
    }

    #[test]
    fn a_file_for_anything_is_found() {
        assert_finds(
            check,
            &[("src/utils.rs", ""), ("src/helpers/mod.rs", ""), ("src/futile.rs", "")],
            &[
                "src/helpers/mod.rs:1: a file called `helpers` collects anything; \
                 name it after one thing",
                "src/utils.rs:1: a file called `utils` collects anything; \
                 name it after one thing",
            ],
        );
    }
}
