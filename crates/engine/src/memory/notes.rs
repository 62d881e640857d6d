//! Notes: what was explored, decided or learned, with the commit and the files that it is about.
//!
//! A note fades when one of its files is not as it was any more, or when its commit is not part of what is
//! checked out: what it says may not hold.

use super::give;
use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use std::{
    collections::BTreeMap,
    path::{Component, Path},
};
use waypost_git::Git;
use waypost_model::{
    code::Code,
    knowledge::Ground,
    memory::{Command, Note, NoteKind, NotedFile},
};
use waypost_store::{file, hash};

/// The largest file whose content a note remembers; a larger one is told by its size.
const FILE_SIZE_MAX: u64 = 16 << 20;

/// Whether a note still is about what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Its files are as they were, or it names none, and its commit is part of what is checked out.
    Fresh,
    /// These files have changed since, or are gone; `commit N` where that is not part of it any more.
    Faded { changed: Vec<String> },
}

/// Writes a note down, with the commit that is checked out and the files as they are.
pub fn note(
    project: &mut Project,
    kind: NoteKind,
    text: &str,
    files: &[String],
) -> Result<Note, EngineError> {
    let named = files.iter().map(|path| noted(project, path)).collect::<Result<Vec<_>, _>>()?;
    let commit = checked_out(project)?;
    let memory =
        give(project, Command::Note { kind, text: text.to_owned(), commit, files: named })?;
    Ok(memory.notes().last().expect("a note was made").clone())
}

/// The commit that is checked out, if there is one.
pub(crate) fn checked_out(project: &Project) -> Result<Option<String>, EngineError> {
    let commit = match &project.place().git_common {
        Some(_) => {
            Git::at(project.root()).try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?
        }
        None => None,
    };
    Ok(commit.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// A file as it is now, by its path below the project's root.
pub(crate) fn noted(project: &Project, path: &str) -> Result<NotedFile, EngineError> {
    let root = project.root();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let below = absolute.strip_prefix(root).ok().map(Path::to_owned);
    let below = below.unwrap_or_else(|| path.into());
    let is_plain = |it: Component<'_>| matches!(it, Component::Normal(_) | Component::CurDir);
    let Some(below) = below.to_str().filter(|_| below.components().all(is_plain)) else {
        let message = format!("{path} is not below {}", root.display());
        return Err(Problem::new(Code::BadArgument, message).into());
    };
    let below = below.trim_start_matches("./").to_owned();
    Ok(NotedFile { hash: content(project, &below), path: below })
}

/// What stands for a file's content; none if there is no such file.
fn content(project: &Project, path: &str) -> Option<String> {
    match file::read_bounded(&project.root().join(path), FILE_SIZE_MAX) {
        Ok(bytes) => bytes.map(|bytes| hash::sha256_hex(&bytes)),
        Err(_) => {
            let size = project.root().join(path).symlink_metadata().ok()?.len();
            Some(format!("size {size}"))
        }
    }
}

/// How many digits of a commit are told.
const COMMIT_DIGITS: usize = 10;

/// Tells fresh notes from faded ones; what is found out about a commit is asked of git once.
#[derive(Debug, Default)]
pub struct NoteAges {
    commits: BTreeMap<String, bool>,
}

impl NoteAges {
    /// Whether what a note is about is as it was.
    pub fn freshness(&mut self, project: &Project, note: &Note) -> Freshness {
        self.since(project, note.commit.as_deref(), &note.files)
    }

    /// Whether what an entry of the knowledge stands on is as it was.
    pub(crate) fn of_ground(&mut self, project: &Project, ground: &Ground) -> Freshness {
        // Commits come and go while files stay: of those alone an entry speaks.
        self.since(project, None, &ground.files)
    }

    fn since(&mut self, project: &Project, commit: Option<&str>, files: &[NotedFile]) -> Freshness {
        let is_other = |it: &&NotedFile| content(project, &it.path) != it.hash;
        let mut changed: Vec<String> =
            files.iter().filter(is_other).map(|it| it.path.clone()).collect();
        if let Some(commit) = commit.filter(|it| !self.is_part(project, it)) {
            changed.push(format!("commit {}", &commit[..commit.len().min(COMMIT_DIGITS)]));
        }
        if changed.is_empty() { Freshness::Fresh } else { Freshness::Faded { changed } }
    }

    /// Whether a commit leads to what is checked out. Where git cannot say, nothing is held against it.
    fn is_part(&mut self, project: &Project, commit: &str) -> bool {
        if let Some(known) = self.commits.get(commit) {
            return *known;
        }
        let is_hash = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let asked = ["merge-base", "--is-ancestor", commit, "HEAD"];
        let git = Git::at(project.root());
        let is_part = !is_hash
            || project.place().git_common.is_none()
            || git.try_text(&asked).map_or(true, |found| found.is_some());
        self.commits.insert(commit.to_owned(), is_part);
        is_part
    }
}
