//! The rules of this repository that no compiler checks.
//!
//! Each rule is a function from the tree to findings, in a file of its own with its table on top.
//! A rule reads; it never changes a file. What a rule forbids is said with what to do instead.

mod codes;
mod commands;
mod contents;
mod faults;
mod golden;
mod layers;
mod manifest;
mod modules;
mod reference;
mod sources;
mod tree;
mod types;
mod words;

use std::fmt;

use anyhow::{Result, bail};

use crate::command_line::root;
use crate::tidy::tree::Tree;

/// One violation of one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counts from 1; 1 as well where the whole file is meant.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

/// To add a rule, write it in a file of its own and add its row here.
const RULES: &[Rule] = &[
    layers::check,
    sources::check_headers,
    sources::check_lengths,
    modules::check,
    types::check,
    words::check,
    contents::check_sizes,
    contents::check_leaks,
    contents::check_lock,
    golden::check,
    reference::check,
    commands::check,
    codes::check,
    faults::check,
];

pub(crate) fn run() -> Result<()> {
    let tree = Tree::load(&root())?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort_unstable();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: {} files, nothing found", tree.len()),
        1 => bail!("tidy found 1 violation"),
        count => bail!("tidy found {count} violations"),
    }
    Ok(())
}

/// Asserts what `rule` finds in a tree of these files.
#[cfg(test)]
fn assert_finds(rule: Rule, files: &[(&str, &str)], want: &[&str]) {
    let found: Vec<String> = rule(&Tree::of(files)).iter().map(ToString::to_string).collect();
    assert_eq!(found, want);
}
