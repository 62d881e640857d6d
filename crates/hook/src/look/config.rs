//! Git's configuration, read as files.
//!
//! System, user, repository, work tree, in this order; later values win. Included files are read
//! in their place, whether or not their condition holds: what git may do, the judge must know.

use std::path::{Path, PathBuf};

use crate::look::Files;
use crate::look::read::{Text, text};

/// Files that include files beyond this are not read; git itself stops at 10.
const DEPTH_LIMIT: u8 = 10;

/// Files that are read in all: a configuration that a person wrote has a handful.
const FILE_LIMIT: usize = 40;

/// Everything that git is told by its configuration files.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    entries: Vec<Entry>,
    /// A file could not be read to its end, so that an absent entry says nothing.
    is_partial: bool,
    files: usize,
}

/// One line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// In lower case, as is `key`: git does not tell them apart.
    section: String,
    part: Option<String>,
    key: String,
    value: String,
}

impl Settings {
    /// The last value of `section.key`.
    pub(super) fn get(&self, section: &str, key: &str) -> Option<&str> {
        let is_it =
            |entry: &&Entry| entry.section == section && entry.part.is_none() && entry.key == key;
        self.entries.iter().rev().find(is_it).map(|entry| entry.value.as_str())
    }

    /// All values of `section.key`, in every part of that section.
    pub(super) fn all<'a>(
        &'a self,
        section: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        let is_it = move |entry: &&Entry| entry.section == section && entry.key == key;
        self.entries.iter().filter(is_it).map(|entry| entry.value.as_str())
    }

    /// What an alias stands for; a NUL if that cannot be told.
    pub(super) fn alias(&self, name: &str) -> Option<String> {
        let is_it = |entry: &&Entry| match &entry.part {
            _ if entry.section != "alias" => false,
            None => entry.key.eq_ignore_ascii_case(name),
            Some(part) => part.eq_ignore_ascii_case(name) && entry.key == "command",
        };
        let found = self.entries.iter().rev().find(is_it).map(|entry| entry.value.clone());
        found.or_else(|| self.is_partial.then(|| "\0".to_owned()))
    }

    fn read(&mut self, path: &Path, home: Option<&Path>, depth: u8) {
        if depth > DEPTH_LIMIT || self.files >= FILE_LIMIT {
            self.is_partial = true;
            return;
        }
        self.files += 1;
        let text = match text(path) {
            Text::Whole(text) => text,
            Text::TooLong => {
                self.is_partial = true;
                return;
            }
            Text::None => return,
        };
        for entry in entries(&text) {
            let includes = matches!(entry.section.as_str(), "include" | "includeif");
            if includes && entry.key == "path" {
                self.read(&included(path, &entry.value, home), home, depth + 1);
            } else {
                self.entries.push(entry);
            }
        }
    }
}

/// The path of an included file, which may be relative to the one that includes it.
fn included(from: &Path, path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => from.parent().unwrap_or_else(|| Path::new("/")).join(path),
    }
}

impl Files {
    pub(super) fn load_settings(&self) -> Settings {
        let homes = &self.homes;
        let below = |base: &Option<PathBuf>, name: &str| base.as_ref().map(|base| base.join(name));
        let files = [
            homes.git_system.clone(),
            below(&homes.config, "git/config"),
            below(&homes.home, ".gitconfig"),
            below(&self.git_common, "config"),
            self.git_folder().map(|folder| folder.join("config.worktree")),
        ];
        let mut settings = Settings::default();
        for path in files.into_iter().flatten() {
            settings.read(&path, homes.home.as_deref(), 0);
        }
        settings
    }
}

/// The entries of a configuration file. A line that git would refuse is passed over.
fn entries(text: &str) -> Vec<Entry> {
    let mut found = Vec::new();
    let (mut section, mut part) = (String::new(), None);
    let mut chars = Chars(text.trim_start_matches('\u{feff}').chars().peekable());
    loop {
        chars.skip_blank();
        match chars.0.peek() {
            None => return found,
            Some('#' | ';') => chars.skip_line(),
            Some('[') => (section, part) = chars.section(),
            Some(_) => {
                let (key, value) = chars.setting();
                found.push(Entry { section: section.clone(), part: part.clone(), key, value });
            }
        }
    }
}

/// A configuration file under way.
struct Chars<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl Chars<'_> {
    fn skip_blank(&mut self) {
        while self.0.next_if(|char| char.is_whitespace()).is_some() {}
    }

    fn skip_line(&mut self) {
        while self.0.next_if(|&char| char != '\n').is_some() {}
    }

    /// `[name]`, `[name "part"]` or the old `[name.part]`.
    fn section(&mut self) -> (String, Option<String>) {
        let mut name = String::new();
        let mut part: Option<String> = None;
        let mut in_quotes = false;
        self.0.next();
        while let Some(char) = self.0.next_if(|&char| char != '\n') {
            match (char, in_quotes) {
                ('"', _) => {
                    in_quotes = !in_quotes;
                    part.get_or_insert_default();
                }
                ('\\', true) => part.get_or_insert_default().extend(self.0.next()),
                (_, true) => part.get_or_insert_default().push(char),
                (']', false) => break,
                (_, false) if char.is_whitespace() => {}
                (_, false) => name.push(char),
            }
        }
        let name = name.to_ascii_lowercase();
        match name.split_once('.') {
            Some((name, old)) if part.is_none() => (name.to_owned(), Some(old.to_owned())),
            _ => (name, part),
        }
    }

    fn setting(&mut self) -> (String, String) {
        let mut key = String::new();
        while let Some(char) = self.0.next_if(|&char| char != '=' && char != '\n') {
            key.push(char);
        }
        let key = key.split(['#', ';']).next().unwrap_or_default().trim().to_ascii_lowercase();
        match self.0.next_if_eq(&'=') {
            Some(_) => (key, self.value()),
            // A key alone is true.
            None => (key, "true".to_owned()),
        }
    }

    fn value(&mut self) -> String {
        let mut value = String::new();
        // Blanks at the end do not count unless they are quoted.
        let mut kept = 0;
        let mut in_quotes = false;
        while let Some(char) = self.0.next() {
            match (char, in_quotes) {
                ('\n', _) => break,
                ('"', _) => in_quotes = !in_quotes,
                ('#' | ';', false) => {
                    self.skip_line();
                    break;
                }
                ('\\', _) => match self.0.next() {
                    Some('\n') | None => continue,
                    Some('\r') => drop(self.0.next_if_eq(&'\n')),
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(other) => value.push(other),
                },
                (_, false) if char.is_whitespace() && value.is_empty() => {}
                (_, false) if char.is_whitespace() => {
                    value.push(char);
                    continue;
                }
                _ => value.push(char),
            }
            kept = value.len();
        }
        value.truncate(kept);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_file_is_read_as_git_reads_it() {
        let shown = |text: &str| -> Vec<String> {
            let show = |entry: Entry| {
                let part = entry.part.map(|part| format!("<{part}>")).unwrap_or_default();
                format!("{}{part}.{}={}", entry.section, entry.key, entry.value)
            };
            entries(text).into_iter().map(show).collect()
        };
        let check = |text: &str, want: &[&str]| assert_eq!(shown(text), want, "{text}");
        check("[alias]\n\tp = push\n", &["alias.p=push"]);
        check("[Alias]\nP = push origin   # why\n", &["alias.p=push origin"]);
        check("[alias] s = !git \"push ;\" x ; y\n", &["alias.s=!git push ; x"]);
        check("[alias]\nx = !a && \\\n  b\n", &["alias.x=!a &&   b"]);
        check("[alias]\nq = \"a\\\"b\\\\c\\n\"\n", &["alias.q=a\"b\\c\n"]);
        check("[remote \"a\\\"]b\"]\nurl = x\n[b.C]\nz\n", &["remote<a\"]b>.url=x", "b<c>.z=true"]);
        check("# c\n; d\n[a]\n", &[]);
        check("[alias]\nx = a\r\ny = b", &["alias.x=a", "alias.y=b"]);
        check("[", &[]);
        check("[a \"", &[]);
        check("[a]\n= \\", &["a.="]);
    }
}
