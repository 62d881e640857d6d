//! `git add` and `git commit` where a call cannot write the git folder itself (level C): the broker does it.
//! The repository's own hooks run here, inside, before it is asked.

use super::{ask, asked, become_real, real};
use crate::shell::say;
use std::{
    env,
    ffi::OsString,
    fs,
    io::Write as _,
    os::unix::{
        fs::PermissionsExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};
use waypost_model::layout::variable;
use waypost_wall::Level;

/// Other commands that write the git folder, which is not done from here.
const WRITING: [&str; 20] = [
    "am",
    "bisect",
    "branch",
    "checkout",
    "cherry-pick",
    "gc",
    "merge",
    "mv",
    "notes",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "submodule",
    "switch",
    "tag",
    "update-index",
    "worktree",
];

/// Whether the git folder cannot be written in this call.
pub(super) fn is_needed() -> bool {
    env::var(variable::WALL).is_ok_and(|level| level == Level::C.as_str())
}

/// Whether a command may want to write the git folder.
pub(super) fn is_writing(command: &str) -> bool {
    WRITING.contains(&command)
}

/// Has the real git try it, and says why it could not if it fails.
#[expect(clippy::disallowed_methods, reason = "the real git, inside the wall")]
pub(super) fn try_and_explain(command: &str, words: &[OsString]) -> ExitCode {
    let Some(git) = real("git") else { return become_real("git", words) };
    let Ok(status) = Command::new(git).arg0("git").args(words).status() else {
        return become_real("git", words);
    };
    if !status.success() {
        say(&format!(
            "at level C of the wall `git {command}` cannot change the git folder; `git add` and `git \
             commit` are done from outside, everything else is left to a person"
        ));
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// What is to be staged, as far as it is plain.
#[derive(Debug, Default, PartialEq, Eq)]
struct AddWish<'a> {
    paths: Vec<&'a str>,
    is_all: bool,
    is_known_only: bool,
}

impl<'a> AddWish<'a> {
    fn parse(words: &[&'a str]) -> Result<Self, String> {
        let mut wish = Self::default();
        let mut are_paths = false;
        for word in words {
            match *word {
                "--" => are_paths = true,
                path if are_paths || !path.starts_with('-') => wish.paths.push(path),
                "-A" | "--all" => wish.is_all = true,
                "-u" | "--update" => wish.is_known_only = true,
                "-v" | "--verbose" => {}
                word => return Err(unknown("add", word)),
            }
        }
        match wish.paths.is_empty() && !wish.is_all && !wish.is_known_only {
            true => Err("`git add` needs a path, or -A".to_owned()),
            false => Ok(wish),
        }
    }
}

/// A commit, as far as it is plain.
#[derive(Debug, Default, PartialEq, Eq)]
struct CommitWish {
    messages: Vec<String>,
    file: Option<String>,
    is_all: bool,
    is_amended: bool,
    keeps_message: bool,
    may_be_empty: bool,
    skips_hooks: bool,
}

impl CommitWish {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wish = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().map(str::to_owned).ok_or_else(|| format!("{word} lacks its value"));
            match word {
                "-a" | "--all" => wish.is_all = true,
                "--amend" => wish.is_amended = true,
                "--no-edit" => wish.keeps_message = true,
                "--allow-empty" => wish.may_be_empty = true,
                "-n" | "--no-verify" => wish.skips_hooks = true,
                "-q" | "--quiet" | "-v" | "--verbose" | "--no-gpg-sign" => {}
                "-m" | "--message" => wish.messages.push(value()?),
                "-am" | "-qam" | "-aqm" => {
                    wish.is_all = true;
                    wish.messages.push(value()?);
                }
                "-qm" => wish.messages.push(value()?),
                "-F" | "--file" => wish.file = Some(value()?),
                word => match word.split_once('=') {
                    Some(("--message", text)) => wish.messages.push(text.to_owned()),
                    Some(("--file", name)) => wish.file = Some(name.to_owned()),
                    _ => match word.strip_prefix("-m") {
                        Some(text) => wish.messages.push(text.to_owned()),
                        None => return Err(unknown("commit", word)),
                    },
                },
            }
        }
        Ok(wish)
    }

    /// What is said of the commit; none keeps what was said.
    fn message(&self) -> Result<Option<String>, String> {
        let text = match self.file.as_deref() {
            Some("-") => std::io::read_to_string(std::io::stdin()).map_err(|e| e.to_string())?,
            Some(file) => {
                fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?
            }
            None => self.messages.join("\n\n"),
        };
        match text.trim().is_empty() {
            false => Ok(Some(text)),
            true if self.is_amended && self.keeps_message => Ok(None),
            true => Err("a commit from behind the wall needs its message: -m or -F".to_owned()),
        }
    }
}

fn unknown(command: &str, word: &str) -> String {
    format!(
        "`git {command} {word}` is not done at level C of the wall; `git add` takes paths, -A and -u, and \
         `git commit` -m, -F, -a, --amend, --no-edit, --allow-empty and --no-verify"
    )
}

pub(super) fn add(words: &[&str]) -> Result<ExitCode, String> {
    if words.iter().any(|word| ["-n", "--dry-run"].contains(word)) {
        let words: Vec<OsString> = ["add"].iter().chain(words).map(OsString::from).collect();
        return Ok(become_real("git", &words));
    }
    let wish = AddWish::parse(words)?;
    let mut asked: Vec<OsString> = ["broker", "add"].map(OsString::from).to_vec();
    asked.extend(wish.is_known_only.then(|| "--known".into()));
    asked.push("--".into());
    asked.extend(wish.paths.iter().map(OsString::from));
    Ok(ask("waypost", asked))
}

pub(super) fn commit(words: &[&str]) -> Result<ExitCode, String> {
    let wish = CommitWish::parse(words)?;
    let mut message = wish.message()?;
    if !wish.skips_hooks {
        hook("pre-commit", None)?;
        if let Some(text) = &mut message {
            *text = judged(text)?;
        }
    }
    let mut words: Vec<OsString> = ["broker", "commit"].map(OsString::from).to_vec();
    words.extend(message.map(|text| format!("--message={text}").into()));
    let flags = [
        (wish.is_all, "--all"),
        (wish.is_amended, "--amend"),
        (wish.may_be_empty, "--allow-empty"),
    ];
    words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into()));
    Ok(ask("waypost", words))
}

/// The message as the repository's hook leaves it.
fn judged(text: &str) -> Result<String, String> {
    // In the folder for temporary files no new ones can be made where something in it is masked.
    let shared = Some(PathBuf::from("/dev/shm")).filter(|path| path.is_dir());
    let folder = shared.unwrap_or_else(env::temp_dir);
    let path = folder.join(format!("waypost-message-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("the message cannot be written: {error}");
    let mut file = fs::File::create_new(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let ran = hook("commit-msg", Some(&path));
    let text = fs::read_to_string(&path).map_err(failed);
    // It is in a folder for such files.
    let _left = fs::remove_file(&path);
    ran?;
    text
}

/// Runs a hook of the repository's own, inside.
#[expect(clippy::disallowed_methods, reason = "the repository's hook, inside the wall")]
fn hook(name: &str, argument: Option<&Path>) -> Result<(), String> {
    let path = asked(&["rev-parse", "--git-path", &format!("hooks/{name}")]).map(PathBuf::from);
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let Some(path) = path.filter(is_program) else { return Ok(()) };
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    let top = asked(&["rev-parse", "--show-toplevel"]).unwrap_or_else(|| ".".to_owned());
    let status = Command::new(path).args(argument).current_dir(top).status();
    match status.map_err(|error| format!("the hook {name} cannot be run: {error}"))?.success() {
        true => Ok(()),
        false => Err(format!("the repository's {name} hook refused; nothing was committed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_understood_and_others_are_not() {
        let wish = CommitWish::parse(&["-am", "one", "-m", "two", "--allow-empty"]).unwrap();
        assert_eq!(wish.message(), Ok(Some("one\n\ntwo".to_owned())));
        assert!(wish.is_all && wish.may_be_empty && !wish.is_amended);
        let wish = CommitWish::parse(&["--amend", "--no-edit"]).unwrap();
        assert_eq!(wish.message(), Ok(None));
        assert!(CommitWish::parse(&["-a"]).unwrap().message().is_err(), "no editor is started");
        for word in ["-e", "-p", "--interactive", "-S", "--fixup=x", "-c", "path"] {
            assert!(CommitWish::parse(&["-m", "x", word]).is_err(), "{word}");
        }
        let wish = AddWish::parse(&["-A", "--", "-odd", "a"]).unwrap();
        assert_eq!((wish.paths.as_slice(), wish.is_all), (["-odd", "a"].as_slice(), true));
        for words in [&["-p"][..], &["-i", "a"], &["-e"], &["--chmod=+x", "a"], &["-f", "a"], &[]] {
            assert!(AddWish::parse(words).is_err(), "{words:?}");
        }
    }
}
