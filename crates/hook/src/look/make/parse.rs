//! The rules and variables of a makefile, as they are written.

use std::collections::BTreeMap;
use std::path::Path;

use crate::look::read::{Text, text};

/// Makefiles that include makefiles beyond this are not read.
const INCLUDE_LIMIT: u8 = 4;

/// Values of one variable that are kept: one is enough to know it, two to know that it is not.
const VALUES: usize = 4;

/// What is written in a makefile and those that it includes.
#[derive(Debug, Default)]
pub(super) struct Makefile {
    pub(super) rules: Vec<Rule>,
    /// Every value that a variable is given; `None` is one that is not known.
    pub(super) variables: BTreeMap<String, Vec<Option<String>>>,
    /// Commands that run while the file is read.
    pub(super) commands: Vec<String>,
    pub(super) included: Vec<String>,
    /// Some of it could not be read: there may be more rules.
    pub(super) is_partial: bool,
}

#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) targets: String,
    pub(super) prerequisites: String,
    pub(super) recipe: Vec<String>,
}

impl Makefile {
    pub(super) fn read(&mut self, text: &str, folder: &Path, depth: u8) {
        self.note_commands(text);
        let mut lines = text.lines();
        let mut in_rule = false;
        while let Some(line) = lines.next() {
            let mut whole = line.to_owned();
            let is_recipe = in_rule && line.starts_with('\t');
            while ends_in_backslash(&whole)
                && let Some(next) = lines.next()
            {
                if is_recipe {
                    whole.push('\n');
                    whole += next.strip_prefix('\t').unwrap_or(next);
                } else {
                    whole.pop();
                    whole += next;
                }
            }
            match self.rules.last_mut() {
                Some(rule) if is_recipe => rule.recipe.push(whole),
                _ => {
                    let line = without_comment(&whole).trim();
                    if let Some(name) = line.strip_prefix("define ") {
                        self.definition(name);
                        lines.by_ref().find(|line| line.trim() == "endef");
                    } else if !line.is_empty() {
                        in_rule = self.statement(line, in_rule, (folder, depth));
                    }
                }
            }
        }
    }

    fn definition(&mut self, name: &str) {
        let name = name.trim().trim_end_matches(['=', ':', '?', '+', ' ']);
        self.set(name, None);
    }

    /// Reads one logical line that is no recipe's, and returns whether a rule is open after it.
    fn statement(&mut self, line: &str, in_rule: bool, place: (&Path, u8)) -> bool {
        let first = line.split_whitespace().next().unwrap_or_default();
        match first {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif" => return in_rule,
            "include" | "-include" | "sinclude" => {
                self.include(line[first.len()..].trim(), place);
                return false;
            }
            "vpath" | "undefine" | "unexport" => return false,
            _ => {}
        }
        let is_word = |word: &str| matches!(word, "export" | "override" | "private");
        let line = if is_word(first) { line[first.len()..].trim() } else { line };
        match operator(line) {
            Some((at, "=")) => {
                self.assignment(line, at);
                false
            }
            Some((at, _)) => self.rule(line, at),
            None => {
                // A function that is called by itself may make rules.
                self.is_partial |= line.starts_with('$');
                false
            }
        }
    }

    fn assignment(&mut self, line: &str, at: usize) {
        let (name, value) = (&line[..at], line[at + 1..].trim());
        let bare = name.trim_end_matches(['?', '+', '!', ':']);
        let (name, operator) = (bare.trim(), &name[bare.len()..]);
        match operator {
            "!" => {
                self.commands.push(value.to_owned());
                self.set(name, None);
            }
            "+" => match self.variables.get_mut(name).map(Vec::as_mut_slice) {
                Some([Some(one)]) => *one = format!("{one} {value}"),
                Some(_) => self.set(name, None),
                None => self.set(name, Some(value)),
            },
            _ => self.set(name, Some(value)),
        }
    }

    fn set(&mut self, name: &str, value: Option<&str>) {
        let values = self.variables.entry(name.to_owned()).or_default();
        let value = value.map(str::to_owned);
        if values.len() < VALUES && !values.contains(&value) {
            values.push(value);
        }
    }

    fn rule(&mut self, line: &str, at: usize) -> bool {
        let targets = line[..at].trim_end_matches('&').trim();
        let rest = line[at..].trim_start_matches(':').trim();
        if let Some((at, "=")) = operator(rest) {
            // A variable for these targets only; elsewhere it has its other value.
            self.assignment(rest, at);
            return false;
        }
        let (names, recipe) = match rest.split_once(';') {
            Some((names, line)) => (names, vec![line.trim().to_owned()]),
            None => (rest, Vec::new()),
        };
        // In a static pattern rule the pattern stands between two colons.
        let names = operator(names).map_or(names, |(at, _)| names[at..].trim_start_matches(':'));
        let prerequisites = names.replace('|', " ");
        self.rules.push(Rule { targets: targets.to_owned(), prerequisites, recipe });
        true
    }

    fn include(&mut self, names: &str, (folder, depth): (&Path, u8)) {
        for name in names.split_whitespace() {
            if name.contains(['$', '*', '?', '[']) || depth >= INCLUDE_LIMIT {
                self.is_partial = true;
                continue;
            }
            self.included.push(name.to_owned());
            match text(&folder.join(name)) {
                Text::Whole(text) => self.read(&text, folder, depth + 1),
                Text::TooLong => self.is_partial = true,
                Text::None => {}
            }
        }
    }

    /// Notes every `$(shell …)`, wherever it stands.
    fn note_commands(&mut self, text: &str) {
        for opening in ["$(shell ", "${shell "] {
            for (at, _) in text.match_indices(opening) {
                let inner = &text[at + 1..];
                match closing(inner) {
                    Some(end) => self.commands.push(inner[opening.len() - 1..end].to_owned()),
                    None => self.is_partial = true,
                }
            }
        }
    }

    /// Whether a rule makes files, rather than being a name for something to do.
    pub(super) fn is_for_files(&self, rule: &Rule) -> bool {
        let phony = self.rules.iter().filter(|rule| rule.targets == ".PHONY");
        let mut names = phony.flat_map(|rule| rule.prerequisites.split_whitespace());
        !names.any(|name| rule.targets.split_whitespace().any(|target| target == name))
    }
}

/// Where the line's first `=` or `:` outside of references is, and which of them.
fn operator(line: &str) -> Option<(usize, &'static str)> {
    let mut at = 0;
    while let Some(char) = line[at..].chars().next() {
        match char {
            '$' => {
                let after = &line[at + 1..];
                at += 1 + match after.chars().next() {
                    Some('(' | '{') => closing(after)? + 1,
                    other => other.map_or(0, char::len_utf8),
                };
                continue;
            }
            '=' => return Some((at, "=")),
            ':' => {
                let colons = line[at..].chars().take_while(|&char| char == ':').count();
                return match line[at + colons..].starts_with('=') {
                    true => Some((at + colons, "=")),
                    false => Some((at, ":")),
                };
            }
            _ => {}
        }
        at += char.len_utf8();
    }
    None
}

/// The index of the parenthesis or brace that closes the one at the beginning.
pub(super) fn closing(text: &str) -> Option<usize> {
    let (open, close) = if text.starts_with('(') { ('(', ')') } else { ('{', '}') };
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        if char == open {
            depth += 1;
        } else if char == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

fn ends_in_backslash(line: &str) -> bool {
    line.chars().rev().take_while(|&char| char == '\\').count() % 2 == 1
}

fn without_comment(line: &str) -> &str {
    let is_comment = |at: &usize| *at == 0 || !line[..*at].ends_with('\\');
    let at = line.match_indices('#').map(|(at, _)| at).find(is_comment);
    &line[..at.unwrap_or(line.len())]
}
