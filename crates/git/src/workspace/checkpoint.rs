//! Keeping the content of a workspace as a commit.

use super::{REFS, Workspace};
use crate::{command::Git, error::GitError};
use rustix::fs::{Access, access};
use std::{
    collections::BTreeSet, ffi::OsStr, fmt, fs::File, io::Write as _, os::unix::ffi::OsStrExt as _,
    path::Path,
};
use waypost_model::time::Time;
use waypost_store::file;

/// How the names of checkpoints begin that are no part of a task's history.
pub const ASIDE: &str = "aside-";

/// What is to be kept, and what is not.
pub struct KeepOrder<'a> {
    /// Names the checkpoint.
    pub name: &'a str,
    /// Why it is made, in a line.
    pub why: &'a str,
    pub at: Time,
    /// A larger file is left out.
    pub file_size_max: u64,
    /// What goes beyond this in all is left out.
    pub size_max: u64,
    /// Whether a file holds something that must not be kept; none: nothing does.
    pub is_secret: Option<&'a dyn Fn(&Path) -> bool>,
}

/// A checkpoint that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub commit: String,
    /// What is in the workspace and not in the commit, beside what git ignores.
    pub omitted: Vec<Omitted>,
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    pub path: String,
    pub why: Omission,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omission {
    /// It is larger than a file may be.
    Large,
    /// All together would be larger than a checkpoint may be.
    NoRoom,
    /// It is a repository of its own.
    Repository,
    /// It holds a value that is a secret.
    Secret,
    /// It cannot be read.
    Unreadable,
}

impl fmt::Debug for KeepOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepOrder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Omission {
    /// In words.
    pub fn told(self) -> &'static str {
        match self {
            Self::Large => "it is too large",
            Self::NoRoom => "there is no room for it in a checkpoint",
            Self::Repository => "it is a repository of its own",
            Self::Secret => "it holds a secret",
            Self::Unreadable => "it cannot be read",
        }
    }
}

impl Workspace {
    /// Keeps its content under a ref of ours. May be done again; then the newer one counts.
    pub fn keep(&self, order: &KeepOrder<'_>) -> Result<Kept, GitError> {
        let _turn = self.turn()?;
        let reference = self.reference(order.name)?;
        let git = self.git()?;
        let head = head(&git)?;
        let own = git.clone().variable("GIT_INDEX_FILE", self.index());
        let look = || self.look(&own, head.as_deref(), order);
        let (tree, omitted) = look().or_else(|_| {
            // The index may be at fault; without one everything is read.
            file::remove(&self.index())?;
            look()
        })?;
        let commit = commit(&git, &tree, head.as_deref(), order)?;
        git.text(&["update-ref", &reference, &commit])?;
        Ok(Kept { commit, omitted })
    }

    /// The files as one tree.
    fn look(
        &self,
        own: &Git,
        head: Option<&str>,
        order: &KeepOrder<'_>,
    ) -> Result<(String, Vec<Omitted>), GitError> {
        if !self.index().exists() {
            own.text(&["read-tree", head.unwrap_or("--empty")])?;
        }
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = own.bytes(&list)?;
        let paths: BTreeSet<&[u8]> =
            listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
        let (mut added, mut dropped, mut omitted) = (Vec::new(), Vec::new(), Vec::new());
        let mut room = order.size_max;
        for path in paths {
            match self.judge(path, &mut room, order) {
                Ok(()) => added.extend(path.iter().chain(b"\0")),
                Err(why) => {
                    dropped.extend(path.strip_suffix(b"/").unwrap_or(path).iter().chain(b"\0"));
                    omitted.push(Omitted { path: String::from_utf8_lossy(path).into(), why });
                }
            }
        }
        // A file may have taken the place of a folder, or the other way round.
        self.update(own, &["--add", "--remove", "--replace"], &added)?;
        self.update(own, &["--force-remove"], &dropped)?;
        Ok((own.text(&["write-tree"])?, omitted))
    }

    /// Whether a path is kept; one that is gone is kept as gone.
    fn judge(&self, path: &[u8], room: &mut u64, order: &KeepOrder<'_>) -> Result<(), Omission> {
        if path.ends_with(b"/") {
            return Err(Omission::Repository);
        }
        let file = self.folder.join(OsStr::from_bytes(path));
        let Ok(found) = file.symlink_metadata() else { return Ok(()) };
        if found.is_dir() {
            return Err(Omission::Repository);
        }
        if !found.is_file() {
            return Ok(());
        }
        if found.len() > order.file_size_max {
            return Err(Omission::Large);
        }
        if access(&file, Access::READ_OK).is_err() {
            return Err(Omission::Unreadable);
        }
        if order.is_secret.is_some_and(|is_secret| is_secret(&file)) {
            return Err(Omission::Secret);
        }
        *room = room.checked_sub(found.len()).ok_or(Omission::NoRoom)?;
        Ok(())
    }

    fn update(&self, own: &Git, words: &[&str], paths: &[u8]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let list = self.scratch.join("paths");
        let written = File::create(&list).and_then(|mut file| file.write_all(paths));
        written.map_err(|error| GitError::file("write", &list, error))?;
        let words = [&["update-index"], words, &["-z", "--stdin"]].concat();
        own.clone().reading(&list).text(&words).map(drop)
    }

    /// Forgets all checkpoints but those that are named.
    pub fn forget_others(&self, kept: &[&str]) -> Result<usize, GitError> {
        let _turn = self.turn()?;
        // What was put aside is for a person, and stays until the task is deleted.
        self.forget_refs(&|name| name.starts_with(ASIDE) || kept.contains(&name))
    }

    pub(super) fn forget_refs(&self, is_kept: &dyn Fn(&str) -> bool) -> Result<usize, GitError> {
        let Ok(git) = self.git() else { return Ok(0) };
        let all = format!("{REFS}/{}/", self.task);
        let listed = git.text(&["for-each-ref", "--format=%(refname)", &all])?;
        let is_kept = |name: &&str| name.strip_prefix(&all).is_some_and(is_kept);
        let gone: Vec<&str> = listed.lines().filter(|name| !is_kept(name)).collect();
        for name in &gone {
            git.text(&["update-ref", "-d", name])?;
        }
        Ok(gone.len())
    }
}

/// The commit that is checked out, if there is one.
pub(super) fn head(git: &Git) -> Result<Option<String>, GitError> {
    git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
}

/// The branch that is checked out, whether it has a commit or not.
fn branch(git: &Git) -> Result<Option<String>, GitError> {
    git.try_text(&["symbolic-ref", "--quiet", "HEAD"])
}

fn commit(
    git: &Git,
    tree: &str,
    head: Option<&str>,
    order: &KeepOrder<'_>,
) -> Result<String, GitError> {
    let branch = branch(git)?.unwrap_or_else(|| "detached".to_owned());
    let message =
        format!("waypost: checkpoint {}\n\n{}\n\nWaypost-Head: {branch}\n", order.name, order.why);
    let date = format!("@{} +0000", order.at.millis() / 1_000);
    let git =
        git.clone().variable("GIT_AUTHOR_DATE", &*date).variable("GIT_COMMITTER_DATE", &*date);
    let mut words = vec!["commit-tree", tree, "-m", &message];
    words.extend(head.iter().flat_map(|head| ["-p", head]));
    git.text(&words)
}
