//! Recipes of a justfile: those of the name, and of everything that it depends on.
//!
//! A variable has its value if it is a plain string; other expressions are not known. Commands in
//! backticks count for every recipe, for just may run them while it reads the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use waypost_guard::{Recipe as Asked, Script};

use crate::look::lines::{Line, Lines, Source, source, unknown};
use crate::look::{Files, script};

const NAMES: &[&str] = &["justfile", ".justfile", "Justfile", "JUSTFILE"];

/// Files that import files beyond this are not read.
const IMPORT_LIMIT: u8 = 4;

#[derive(Debug, Default)]
struct Justfile {
    recipes: Vec<Recipe>,
    aliases: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    commands: Vec<String>,
    /// Some of it could not be read, or is for another shell.
    is_partial: bool,
}

#[derive(Debug)]
struct Recipe {
    name: String,
    needs: Vec<String>,
    lines: Vec<String>,
}

pub(super) fn find(files: &Files, asked: &Asked<'_>) -> Script {
    let folder = files.absolute(asked.folder);
    let (text, folder) = match found(files, &folder, asked.file) {
        Ok(found) => found,
        Err(script) => return script,
    };
    let mut justfile = Justfile::default();
    justfile.read(&text, &folder, 0);
    for (name, value) in asked.settings.iter().filter_map(|it| it.split_once('=')) {
        justfile.variables.insert(name.to_owned(), value.to_owned());
    }
    justfile.script(asked.name)
}

/// The justfile that is named, else the nearest one up to the project's top.
fn found(files: &Files, folder: &Path, file: Option<&str>) -> Result<(String, PathBuf), Script> {
    let names = file.map_or_else(|| NAMES.to_vec(), |file| vec![file]);
    for folder in folder.ancestors() {
        match source(folder, &names) {
            Source::Text(text) => return Ok((text, folder.to_owned())),
            Source::TooLong => return Err(Script::TooLong),
            Source::None if folder == files.root || file.is_some() => break,
            Source::None => {}
        }
    }
    Err(Script::Absent)
}

impl Justfile {
    fn read(&mut self, text: &str, folder: &Path, depth: u8) {
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                if let Some(recipe) = self.recipes.last_mut() {
                    recipe.lines.push(line.trim().to_owned());
                }
            } else {
                self.statement(line.trim(), folder, depth);
            }
        }
    }

    fn statement(&mut self, line: &str, folder: &Path, depth: u8) {
        let first = line.split_whitespace().next().unwrap_or_default();
        let quoted = || line.split(['\'', '"']).nth(1);
        match first {
            "" => {}
            _ if first.starts_with(['#', '[']) => {}
            "import" | "import?" => match quoted().map(|path| source(folder, &[path])) {
                Some(Source::Text(text)) if depth < IMPORT_LIMIT => {
                    self.read(&text, folder, depth + 1);
                }
                Some(Source::None) if first == "import?" => {}
                _ => self.is_partial = true,
            },
            "mod" | "mod?" => self.is_partial = true,
            "set" if line.contains("shell") && line.contains('[') => {
                self.is_partial |= !script::is_shell_line(quoted().unwrap_or("other"));
            }
            "set" => {}
            _ => match line.split_once(":=") {
                Some((name, value)) => {
                    self.note_commands(value);
                    self.assignment(name.trim(), value.trim());
                }
                None => self.recipe(line),
            },
        }
    }

    fn note_commands(&mut self, value: &str) {
        // Three of them enclose a text of several lines.
        self.is_partial |= value.contains("```");
        let inner = value.split('`').skip(1).step_by(2);
        self.commands.extend(inner.map(str::to_owned));
    }

    fn assignment(&mut self, name: &str, value: &str) {
        if let Some(alias) = name.strip_prefix("alias ") {
            self.aliases.insert(alias.trim().to_owned(), value.to_owned());
            return;
        }
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        let inner = ['\'', '"'].iter().find_map(|&quote| {
            let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
            (!inner.contains([quote, '\\'])).then_some(inner)
        });
        match inner {
            Some(inner) if !self.variables.contains_key(name) => {
                self.variables.insert(name.to_owned(), inner.to_owned());
            }
            _ => drop(self.variables.remove(name)),
        }
    }

    /// `@name parameters: first (second argument) && last`
    fn recipe(&mut self, line: &str) {
        let Some((head, needs)) = line.split_once(':') else { return };
        let name = head.split_whitespace().next().unwrap_or_default().trim_start_matches('@');
        let needs = needs.split('#').next().unwrap_or_default().replace(['(', ')', '&'], " ");
        let needs = needs.split_whitespace().map(str::to_owned).collect();
        self.recipes.push(Recipe { name: name.to_owned(), needs, lines: Vec::new() });
    }

    fn script(&self, name: &str) -> Script {
        let first = self.recipes.first().map_or("", |recipe| recipe.name.as_str());
        let name = if name.is_empty() { first } else { name };
        let mut lines = Lines::default();
        self.commands.iter().for_each(|command| lines.add(&self.filled(command)));
        if !self.collect(name, &mut BTreeSet::new(), &mut lines) && !self.is_partial {
            return Script::Absent;
        }
        if self.is_partial {
            lines.add(&unknown());
        }
        lines.finish()
    }

    fn collect<'a>(
        &'a self,
        name: &'a str,
        seen: &mut BTreeSet<&'a str>,
        lines: &mut Lines,
    ) -> bool {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        let Some(recipe) = self.recipes.iter().rev().find(|recipe| recipe.name == name) else {
            return false;
        };
        if seen.insert(name) {
            // Arguments of a need are among the names; they are no recipes, or harmless ones.
            for need in &recipe.needs {
                self.collect(need, seen, lines);
            }
            self.body(recipe, lines);
        }
        true
    }

    fn body(&self, recipe: &Recipe, lines: &mut Lines) {
        let shebang = recipe.lines.iter().find(|line| !line.is_empty());
        if let Some(line) = shebang.and_then(|line| line.strip_prefix("#!")) {
            if script::is_shell_line(line) {
                lines.add(&self.filled(&recipe.lines.join("\n")));
            }
            return;
        }
        let mut whole = String::new();
        for line in &recipe.lines {
            whole += line;
            match whole.strip_suffix('\\') {
                Some(start) => whole = format!("{start} "),
                None => lines.add(&self.filled(&std::mem::take(&mut whole))),
            }
        }
        lines.add(&self.filled(&whole));
    }

    /// The text with `{{…}}` filled in as far as it is known.
    fn filled(&self, text: &str) -> String {
        let mut line = Line::default();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            line.extend(before);
            if let Some(literal) = after.strip_prefix("{{") {
                line.extend("{{");
                rest = literal;
                continue;
            }
            let (inner, after) = after.split_once("}}").unwrap_or((after, ""));
            match self.variables.get(inner.trim()) {
                Some(value) => line.extend(value),
                None => line.push_unknown(),
            }
            rest = after;
        }
        line.extend(rest);
        line.finish()
    }
}
