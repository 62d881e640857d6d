//! Two parsers against each other: every command that tree-sitter finds is one that the judge saw,
//! or the judge says that it cannot tell.
//!
//! Only where tree-sitter reads the text without an error and understands it; what it is known to
//! get wrong stands in a list, with the reason. Of the kept texts every command has to be seen, even where
//! something else in them cannot be told, unless the judge refuses to read the text at all.

mod grammar;
mod kept;
mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tree_sitter::{Node, Parser, Tree};
use waypost_guard::{Context, started_programs};
use world::{World, judged, verdict};

/// Words of the shell's grammar, with where tree-sitter takes them for names of programs. It has not
/// understood such a text, and cannot say what the commands in it are.
#[rustfmt::skip]
const GRAMMAR: &[(&[&str], &str)] = &[
    (&["case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "then", "until", "while"],
     "a compound command behind `!`, or in a place where only bash allows one"),
    (&["[[", "{", "!"], "the same, where its first word is a sign"),
    (&["select"], "it does not know this loop in all places"),
    (&["time", "coproc"], "it takes what follows, a compound command too, for arguments"),
];

fn tree(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .expect("the grammar is of a version that the library reads");
    parser.parse(text, None).filter(|tree| !tree.root_node().has_error())
}

/// The names of commands as they are written, outside of functions that are not called.
fn named<'a>(node: Node<'_>, text: &'a str, called: &BTreeSet<String>, names: &mut Vec<&'a str>) {
    let part = |node: Node<'_>| &text[node.byte_range()];
    if node.kind() == "function_definition"
        && node.child_by_field_name("name").is_some_and(|name| !called.contains(part(name)))
    {
        return;
    }
    if node.kind() == "command_name" {
        names.push(part(node));
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).for_each(|child| named(child, text, called, names));
}

/// What came of reading a text twice.
struct Comparison {
    /// Names that tree-sitter finds and the judge did not see.
    missed: Vec<String>,
    is_unknowable: bool,
    /// The judge refuses to read the text at all.
    is_unread: bool,
}

/// Compares the two; `None` if tree-sitter cannot read the text.
fn compared(text: &str) -> Option<Comparison> {
    let tree = tree(text)?;
    let context = Context { look: &World, writing_tools: &[], free_tools: &[], is_walled: false };
    let (deed, programs) = started_programs(text, &context);
    let seen: BTreeSet<String> = programs.into_iter().collect();
    let mut names = Vec::new();
    named(tree.root_node(), text, &seen, &mut names);
    let is_grammar = |name: &&str| GRAMMAR.iter().any(|(words, _)| words.contains(name));
    if names.iter().any(is_grammar) {
        return None;
    }
    let is_letter = |char: char| char.is_ascii_alphanumeric() || "_./:+%@,-".contains(char);
    names.retain(|name| name.chars().all(is_letter));
    let is_missed = |name: &&str| !seen.contains(*name);
    let missed = names.into_iter().filter(is_missed).map(str::to_owned).collect();
    let is_unknowable = deed.unknowable.is_some();
    Some(Comparison { missed, is_unknowable, is_unread: is_unknowable && seen.is_empty() })
}

/// The commands of the table, and the scripts of the corpus.
fn kept_texts() -> Vec<String> {
    let lines = include_str!("commands.txt").lines();
    let cases = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands = cases.filter_map(|line| Some(line.split_once('|')?.1.replace('⏎', "\n")));
    let texts = kept::corpus().into_iter().map(|(_, text)| text);
    commands.chain(texts).collect()
}

#[test]
fn no_command_of_a_kept_text_is_missed() {
    let texts = kept_texts();
    let mut wrong = Vec::new();
    let mut count = 0;
    for text in &texts {
        let Some(Comparison { missed, is_unread, .. }) = compared(text) else { continue };
        count += 1;
        if !missed.is_empty() && !is_unread {
            wrong.push(format!("{missed:?} in {text}"));
        }
    }
    assert!(wrong.is_empty(), "{} texts:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count * 10 >= texts.len() * 9, "only {count} of {} can be compared", texts.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_generated_command_is_missed(script in grammar::script()) {
        let context = Context { look: &World, writing_tools: &[], free_tools: &[], is_walled: false };
        let (deed, programs) = started_programs(&script.text, &context);
        if deed.unknowable.is_none() {
            let is_missed = |name: &&String| !programs.contains(name);
            let lost: Vec<&String> = script.names.iter().filter(is_missed).collect();
            prop_assert!(lost.is_empty(), "{lost:?} in {}", script.text);
        }
        if let Some(Comparison { missed, is_unknowable: false, .. }) = compared(&script.text) {
            // A name that the grammar did not make is a variable, which tree-sitter mistakes.
            let lost: Vec<&String> = missed.iter().filter(|it| it.starts_with("tool")).collect();
            prop_assert!(lost.is_empty(), "{lost:?} in {}", script.text);
        }
    }
}

/// A test that compares nothing would pass too.
#[test]
fn most_generated_commands_are_compared_and_judged() {
    const COUNT: usize = 200;
    let mut runner = TestRunner::deterministic();
    let (mut read, mut told) = (0, 0);
    for _ in 0..COUNT {
        let script = grammar::script().new_tree(&mut runner).unwrap().current();
        read += usize::from(compared(&script.text).is_some());
        told += usize::from(!verdict(&judged(&script.text)).contains("unknowable"));
    }
    assert!(read * 2 >= COUNT, "tree-sitter reads only {read} of {COUNT}");
    assert!(told * 4 >= COUNT * 3, "only {told} of {COUNT} can be told");
}
