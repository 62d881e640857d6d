//! Files that the product itself writes: the CLI reference and the schemas of its documents.
//!
//! They are committed, so that a reader and a reviewer see them, and compared with what the
//! program prints by the gate. This file knows no content, only which command prints which file.
//!
//! A generator that `waypost` does not have yet is reported and not an error, as long as nothing
//! that it would write is committed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::command_line::{Answer, CommandLine, root};

/// What to do with the text that the generators print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    /// Write nothing; a difference is an error.
    Check,
}

/// One kind of generated file.
#[derive(Debug)]
enum Generator {
    /// `arguments` prints the file.
    Page { arguments: &'static [&'static str], path: &'static str },
    /// `list` prints names, one per line; `each` and a name print `folder/NAME.extension`.
    Family {
        list: &'static [&'static str],
        each: &'static [&'static str],
        folder: &'static str,
        extension: &'static str,
    },
}

const GENERATORS: &[Generator] = &[
    Generator::Page { arguments: &["reference"], path: "docs/cli.md" },
    Generator::Family {
        list: &["schema", "--list"],
        each: &["schema"],
        folder: "schemas",
        extension: "json",
    },
    Generator::Family {
        list: &["schema", "json", "--list"],
        each: &["schema", "json"],
        folder: "schemas/json",
        extension: "json",
    },
];

/// What `waypost` exits with when it does not know a subcommand.
const EXIT_BAD_INPUT: i32 = 2;

pub(crate) fn run(mode: Mode) -> Result<()> {
    let program = binary()?;
    let ask = |arguments: &[&str]| {
        CommandLine::new(&program, arguments.iter().copied())
            .variable("NO_COLOR", "1")
            .variable("TERM", "dumb")
            .answer()
    };
    let mut changes = Vec::new();
    for generator in GENERATORS {
        let files = generator.files(&ask)?;
        changes.extend(generator.settle(files, mode, &root())?);
    }
    for change in &changes {
        println!("{change}");
    }
    if mode == Mode::Check && !changes.is_empty() {
        bail!("generated files differ from what waypost prints; write them with `cargo xtask gen`");
    }
    Ok(())
}

/// The program to ask: the one named by `WAYPOST_BIN`, else a fresh build.
fn binary() -> Result<String> {
    if let Some(program) = std::env::var_os("WAYPOST_BIN") {
        // Children start in the root folder, where a relative path would mean another file.
        let program = std::path::absolute(program).context("WAYPOST_BIN is not a path")?;
        return Ok(program.to_string_lossy().into_owned());
    }
    let line = "build --quiet --workspace --bin waypost --message-format json-render-diagnostics";
    let messages = CommandLine::cargo(line).stdout()?;
    executable(&String::from_utf8_lossy(&messages)).context("cargo did not say where waypost is")
}

/// The path of the program in cargo's build messages, one JSON object per line.
fn executable(messages: &str) -> Option<String> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message.get("executable")?.as_str()?.to_owned())
    })
}

/// Paths and contents, or nothing where `waypost` has no such generator yet.
type Files = Option<BTreeMap<String, Vec<u8>>>;

type Ask<'a> = &'a dyn Fn(&[&str]) -> Result<Answer>;

impl Generator {
    fn files(&self, ask: Ask<'_>) -> Result<Files> {
        match self {
            Self::Page { arguments, path } => {
                let text = output(ask, arguments)?;
                Ok(text.map(|text| BTreeMap::from([(path.to_string(), text)])))
            }
            Self::Family { list, each, folder, extension } => {
                let Some(names) = output(ask, list)? else { return Ok(None) };
                let names = String::from_utf8(names).context("the list of names is not UTF-8")?;
                let mut files = BTreeMap::new();
                for name in names.lines() {
                    check_name(name)?;
                    let arguments: Vec<&str> = each.iter().copied().chain([name]).collect();
                    let Some(text) = output(ask, &arguments)? else {
                        bail!("waypost lists `{name}` but does not print it");
                    };
                    files.insert(format!("{folder}/{name}.{extension}"), text);
                }
                Ok(Some(files))
            }
        }
    }

    /// Writes or compares `files`, and says what was written or differs.
    fn settle(&self, files: Files, mode: Mode, root: &Path) -> Result<Vec<String>> {
        let there = self.committed(root)?;
        let Some(files) = files else {
            let line = self.line();
            if let Some(path) = there.first() {
                bail!("{path} is committed, but waypost has no `{line}`");
            }
            println!("not there yet: waypost has no `{line}`, so {} is not made", self.made());
            return Ok(Vec::new());
        };
        let mut changes = Vec::new();
        for (path, new) in &files {
            let file = root.join(path);
            let old = std::fs::read(&file).unwrap_or_default();
            if old == *new {
                continue;
            }
            changes.push(match mode {
                Mode::Check => format!("{path}:{}: differs", first_difference(&old, new)),
                Mode::Write => {
                    write(&file, new)?;
                    format!("wrote {path}")
                }
            });
        }
        for path in there.iter().filter(|path| !files.contains_key(*path)) {
            changes.push(match mode {
                Mode::Check => format!("{path}:1: is not generated any more"),
                Mode::Write => {
                    std::fs::remove_file(root.join(path))
                        .with_context(|| format!("cannot remove {path}"))?;
                    format!("removed {path}")
                }
            });
        }
        Ok(changes)
    }

    /// The generated files that are there now.
    fn committed(&self, root: &Path) -> Result<Vec<String>> {
        match self {
            Self::Page { path, .. } if root.join(path).exists() => Ok(vec![path.to_string()]),
            Self::Page { .. } => Ok(Vec::new()),
            Self::Family { folder, extension, .. } => {
                let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
                    return Ok(Vec::new());
                };
                let mut paths = Vec::new();
                for entry in entries {
                    let entry = entry.with_context(|| format!("cannot list {folder}"))?;
                    let name = entry.file_name().to_string_lossy().into_owned();
                    if name.ends_with(&format!(".{extension}")) {
                        paths.push(format!("{folder}/{name}"));
                    }
                }
                paths.sort_unstable();
                Ok(paths)
            }
        }
    }

    /// The call that shows whether the generator exists.
    fn line(&self) -> String {
        match self {
            Self::Page { arguments: line, .. } | Self::Family { list: line, .. } => line.join(" "),
        }
    }

    fn made(&self) -> String {
        match self {
            Self::Page { path, .. } => path.to_string(),
            Self::Family { folder, .. } => format!("{folder}/"),
        }
    }
}

/// What waypost prints for `arguments`; nothing where it does not know them.
fn output(ask: Ask<'_>, arguments: &[&str]) -> Result<Option<Vec<u8>>> {
    let Answer { status, stdout } = ask(arguments)?;
    match status.code() {
        // A program that is still a stub succeeds without a word.
        Some(0) if stdout.is_empty() => Ok(None),
        Some(0) => Ok(Some(stdout)),
        Some(EXIT_BAD_INPUT) => Ok(None),
        _ => bail!("`waypost {}` ended with {status}", arguments.join(" ")),
    }
}

/// Refuses a name that would leave its folder.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        bail!("waypost lists `{name}`, which cannot be a file name");
    }
    Ok(())
}

/// The number of the first line that is not the same in both.
fn first_difference(old: &[u8], new: &[u8]) -> usize {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    1 + new[..same].iter().filter(|&&byte| byte == b'\n').count()
}

fn write(file: &Path, text: &[u8]) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests;
