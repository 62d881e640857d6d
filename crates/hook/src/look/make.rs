//! Recipes of a makefile: those of the target, and of everything that it depends on.
//!
//! Both sides of every condition count. A variable has its value if there is only one that it can
//! have; everything else that make fills in is not known. Commands that make runs while it reads
//! the file (`$(shell …)`) count for every target.

mod parse;

use std::collections::{BTreeMap, BTreeSet};

use waypost_guard::{Recipe, Script};

use crate::look::Files;
use crate::look::lines::{Line, Lines, Source, has_unknown, source, unknown};
use crate::look::make::parse::{Makefile, Rule, closing};

const NAMES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// Variables inside variables beyond this are not followed.
const DEPTH_LIMIT: u8 = 8;

/// Targets that are looked at for one command.
const TARGET_LIMIT: usize = 500;

/// Text that is expanded for one command: variables can multiply.
const EXPANSION_LIMIT: usize = 256 * 1024;

/// Variables that make sets by itself.
const BUILT_IN: &[(&str, &str)] = &[
    ("MAKE", "make"),
    ("CC", "cc"),
    ("CXX", "c++"),
    ("AR", "ar"),
    ("RM", "rm -f"),
    ("CURDIR", "."),
];

pub(super) fn find(files: &Files, recipe: &Recipe<'_>) -> Script {
    let folder = files.absolute(recipe.folder);
    let names = recipe.file.map_or_else(|| NAMES.to_vec(), |file| vec![file]);
    let text = match source(&folder, &names) {
        Source::Text(text) => text,
        Source::TooLong => return Script::TooLong,
        Source::None => return Script::Absent,
    };
    let mut makefile = Makefile::default();
    makefile.read(&text, &folder, 0);
    let settings = recipe.settings.iter().filter_map(|it| it.split_once('='));
    let given = settings.map(|(name, value)| (name.trim_end_matches([':', '+', '?']), value));
    Making {
        makefile: &makefile,
        given: given.collect(),
        seen: BTreeSet::new(),
        left: EXPANSION_LIMIT,
    }
    .script(recipe.name)
}

/// The making of one target.
struct Making<'a> {
    makefile: &'a Makefile,
    /// Variables of the command line, which win.
    given: BTreeMap<&'a str, &'a str>,
    seen: BTreeSet<String>,
    left: usize,
}

impl Making<'_> {
    fn script(mut self, target: &str) -> Script {
        let makefile = self.makefile;
        let mut lines = Lines::default();
        for command in &makefile.commands {
            lines.add(&self.expanded(command));
        }
        // Files that are included are made first, where there is a rule for them.
        for included in &makefile.included {
            self.collect(included, &mut lines);
        }
        let goal = self.default_goal();
        let target = if target.is_empty() { goal.as_str() } else { target };
        let is_found = self.collect(target, &mut lines) || self.collect(".DEFAULT", &mut lines);
        let is_shell = self.expanded("$(SHELL)");
        let is_foreign =
            makefile.variables.contains_key("SHELL") && !super::script::is_shell_line(&is_shell);
        if !is_found && !makefile.is_partial {
            return Script::Absent;
        }
        let is_unclear = !is_found || is_foreign || self.left == 0;
        if is_unclear || makefile.variables.contains_key(".RECIPEPREFIX") {
            lines.add(&unknown());
        }
        lines.finish()
    }

    fn default_goal(&mut self) -> String {
        if self.makefile.variables.contains_key(".DEFAULT_GOAL") {
            return self.expanded("$(.DEFAULT_GOAL)");
        }
        let makefile = self.makefile;
        let is_goal = |name: &String| !name.starts_with('.') && !name.contains('%');
        let mut targets = makefile.rules.iter().filter_map(|rule| {
            self.expanded(&rule.targets).split_whitespace().next().map(str::to_owned)
        });
        targets.find(is_goal).unwrap_or_default()
    }

    /// Adds the recipes of a target, after those that it depends on; false if there are none.
    fn collect(&mut self, target: &str, lines: &mut Lines) -> bool {
        if self.seen.len() >= TARGET_LIMIT {
            lines.add(&unknown());
            return true;
        }
        if !self.seen.insert(target.to_owned()) {
            return true;
        }
        let makefile = self.makefile;
        let is_for = |making: &mut Self, rule: &Rule, pattern: bool| {
            let targets = making.expanded(&rule.targets);
            targets.split_whitespace().any(|it| match pattern {
                false => it == target || has_unknown(it),
                true => stem(it, target).is_some(),
            })
        };
        let mut rules: Vec<&Rule> =
            makefile.rules.iter().filter(|rule| is_for(self, rule, false)).collect();
        if rules.iter().all(|rule| rule.recipe.is_empty()) {
            rules.extend(makefile.rules.iter().filter(|rule| is_for(self, rule, true)));
        }
        for rule in &rules {
            self.prerequisites(rule, target, lines);
            self.recipe(rule, lines);
        }
        !rules.is_empty()
    }

    fn prerequisites(&mut self, rule: &Rule, target: &str, lines: &mut Lines) {
        let names = self.expanded(&rule.prerequisites);
        let patterns = self.expanded(&rule.targets);
        let stem = patterns.split_whitespace().find_map(|pattern| stem(pattern, target));
        for name in names.split_whitespace() {
            let name = &stem.map_or_else(|| name.to_owned(), |stem| name.replace('%', stem));
            // Some file or other: any rule that makes files may be meant.
            if has_unknown(name) || name.contains('%') {
                let makefile = self.makefile;
                let is_named = |rule: &&Rule| makefile.is_for_files(rule);
                makefile.rules.iter().filter(is_named).for_each(|rule| self.recipe(rule, lines));
            } else {
                self.collect(name, lines);
            }
        }
    }

    fn recipe(&mut self, rule: &Rule, lines: &mut Lines) {
        let is_one_shell = self.makefile.rules.iter().any(|rule| rule.targets == ".ONESHELL");
        let each: Vec<String> = rule.recipe.iter().map(|line| self.expanded(line)).collect();
        if is_one_shell {
            return lines.add(&each.join("\n"));
        }
        each.iter().for_each(|line| lines.add(line));
    }

    fn expanded(&mut self, text: &str) -> String {
        let mut line = Line::default();
        self.expand(text, &mut line, 0);
        line.finish()
    }

    fn expand(&mut self, text: &str, line: &mut Line, depth: u8) {
        self.left = self.left.saturating_sub(text.len());
        if depth > DEPTH_LIMIT || self.left == 0 {
            return line.push_unknown();
        }
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            line.extend(&rest[..at]);
            let after = &rest[at + 1..];
            let Some(first) = after.chars().next() else { return };
            rest = match first {
                '$' => {
                    line.push('$');
                    &after[1..]
                }
                '(' | '{' => match closing(after) {
                    Some(end) => {
                        self.reference(&after[1..end], line, depth);
                        &after[end + 1..]
                    }
                    None => return line.push_unknown(),
                },
                _ => {
                    let end = first.len_utf8();
                    self.reference(&after[..end], line, depth);
                    &after[end..]
                }
            };
        }
        line.extend(rest);
    }

    /// `$(…)`: a variable, or one of make's functions.
    fn reference(&mut self, inner: &str, line: &mut Line, depth: u8) {
        let word = inner.split_whitespace().next().unwrap_or_default();
        if word != inner && matches!(word, "info" | "warning" | "error" | "eval") {
            return;
        }
        let makefile = self.makefile;
        let given = self.given.get(inner).copied();
        if let Some(value) = given {
            return line.extend(value);
        }
        let built_in = BUILT_IN.iter().find(|(name, _)| *name == inner).map(|(_, value)| *value);
        match makefile.variables.get(inner).map(Vec::as_slice) {
            Some([Some(value)]) => self.expand(value, line, depth + 1),
            // Marks for the beginning of a line, of which one or the other is set.
            Some(values) if values.iter().all(|it| it.as_deref().is_some_and(is_mark)) => {}
            Some(_) => line.push_unknown(),
            None => match built_in {
                Some(value) => line.extend(value),
                None => line.push_unknown(),
            },
        }
    }
}

fn is_mark(text: &str) -> bool {
    text.chars().all(|char| "@-+".contains(char))
}

/// What `%` stands for if the pattern is one for this target.
fn stem<'a>(pattern: &str, target: &'a str) -> Option<&'a str> {
    let (start, end) = pattern.split_once('%')?;
    target.strip_prefix(start)?.strip_suffix(end)
}
