//! Work trees and git's records of them: each can be told from the name of the tree, so that either is
//! made again from it. A project that was moved has records that name its old place.

use super::{Mender, head::is_head};
use crate::{
    error::GitError,
    tree::{self, REASON, TreeMark, TreeRecord, TreeStage, name},
};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_store::file;

const SIZE_MAX: u64 = 64 << 10;

/// A tree, what git keeps of it, and whether each is there.
struct SuspectTree {
    name: String,
    path: PathBuf,
    record: TreeRecord,
}

impl SuspectTree {
    fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    fn has_record(&self) -> bool {
        self.record.folder.symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    fn dot_git(&self) -> PathBuf {
        self.path.join(".git")
    }

    /// What the `.git` of the tree has to say.
    fn pointer(&self) -> Vec<u8> {
        [b"gitdir: ", self.record.folder.as_os_str().as_bytes(), b"\n"].concat()
    }

    /// What the record has to say of the tree.
    fn back_pointer(&self) -> Vec<u8> {
        [self.dot_git().as_os_str().as_bytes(), b"\n"].concat()
    }

    /// Whether the `.git` of the tree leads to a record of this name, wherever that was.
    fn leads_here(&self) -> bool {
        let text = read(&self.dot_git());
        let text = String::from_utf8_lossy(&text);
        let end = format!("/worktrees/{}", name::short(&self.name));
        text.strip_prefix("gitdir: ").is_some_and(|to| to.trim_end().ends_with(&end))
    }
}

impl Mender<'_> {
    pub(super) fn look_at_trees(&mut self) -> Result<(), GitError> {
        for name in self.tree_names() {
            let path = self.trees.path(&name);
            let folder = self.trees.common().join("worktrees").join(name::short(&name));
            let tree = SuspectTree { name, path, record: TreeRecord { folder } };
            if self.is_ours(&tree)? {
                self.look_at_tree(&tree)?;
            }
        }
        Ok(())
    }

    /// Names of folders and of records that are trees of ours by their names.
    fn tree_names(&self) -> BTreeSet<String> {
        let folders = [self.trees.root().join(name::FOLDER), self.trees.common().join("worktrees")];
        let entries = folders.iter().filter_map(|it| fs::read_dir(it).ok()).flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names = names.map(|short| format!("{}/{short}", name::FOLDER));
        names.filter(|name| name::is_name(name)).collect()
    }

    /// Whether a tree is one of ours: git's lock or our mark says so, or the run has one of that name.
    fn is_ours(&self, tree: &SuspectTree) -> Result<bool, GitError> {
        let is_known = self.recorded.knows(&tree.name);
        if !tree.has_record() {
            // A folder that this run has not made is left from another repository.
            let is_torn = tree.dot_git().is_file() && read(&tree.dot_git()).is_empty();
            return Ok(tree.is_there() && is_known && (tree.leads_here() || is_torn));
        }
        let is_marked = tree.record.is_locked_by_us() || tree.record.mark()?.is_some();
        // One of a person's that happens to be called so stands in another place, and whole.
        let elsewhere = tree.record.path()?.filter(|path| *path != tree.path);
        let is_elsewhere = elsewhere.is_some_and(|path| {
            let there = fs::canonicalize(path.join(".git")).is_ok();
            there && !tree.is_there()
        });
        Ok((is_marked || is_known) && !is_elsewhere)
    }

    fn look_at_tree(&mut self, tree: &SuspectTree) -> Result<(), GitError> {
        if !tree.has_record() {
            let what = format!("git's record of {} is gone", tree.name);
            self.rebuilt(what, "made again; files stay as they are");
            if !self.is_mending() {
                return Ok(());
            }
            file::make_private_folder(&tree.record.folder)?;
        } else if !tree.is_there() && !is_path(&read(&tree.record.folder.join("gitdir"))) {
            // Nothing of it was ever ready, or the folder is gone as well.
            let what =
                format!("git's record of {} says nothing, and its folder is gone", tree.name);
            self.rebuilt(what, "put aside");
            return match self.is_mending() {
                true => self.put_aside(&tree.record.folder),
                false => Ok(()),
            };
        }
        self.look_at_record(tree)?;
        if !tree.is_there() || !tree.dot_git().is_file() {
            // It is filled again when it is needed.
            return Ok(());
        }
        if read(&tree.dot_git()) != tree.pointer() {
            self.rewrite(&tree.dot_git(), &tree.pointer())?;
        }
        self.look_at_tree_head(tree)
    }

    /// The files of git's record, each of which follows from the name.
    fn look_at_record(&mut self, tree: &SuspectTree) -> Result<(), GitError> {
        let folder = &tree.record.folder;
        let in_record = |name: &str| folder.join(name);
        if tree.is_there() && read(&in_record("gitdir")) != tree.back_pointer() {
            self.rewrite(&in_record("gitdir"), &tree.back_pointer())?;
        }
        if read(&in_record("commondir")).trim_ascii().is_empty() {
            self.rewrite(&in_record("commondir"), b"../..\n")?;
        }
        if read(&in_record("locked")).is_empty() {
            let reason = format!("{REASON}{}", tree.name);
            self.rewrite(&in_record("locked"), reason.as_bytes())?;
        }
        if !is_head(&read(&in_record("HEAD"))) {
            let head = self.head_of(tree)?;
            self.rewrite(&in_record("HEAD"), head.as_bytes())?;
        }
        let has_mark = in_record(tree::MARK).symlink_metadata().is_ok();
        let is_whole = tree.record.mark()?.is_some();
        // One that was never ready has none; its making begins again.
        if !is_whole && (has_mark || !in_record("index").exists() && tree.leads_here()) {
            let base = self.base_of(tree)?.unwrap_or_default();
            let mark = TreeMark { made: self.trees.now(), base, stage: TreeStage::Ready };
            self.rewrite(&in_record(tree::MARK), mark.to_string().as_bytes())?;
        }
        Ok(())
    }

    /// What the head of a tree has to be: its own branch, or where a phase is whose branch moves
    /// without it.
    fn head_of(&self, tree: &SuspectTree) -> Result<String, GitError> {
        let phase = self.recorded.phase_of(&tree.name).filter(|it| it.branch.name == tree.name);
        let commit = match phase.filter(|phase| !phase.branch.is_shared) {
            Some(phase) => self.trees.commit_of(&phase.branch.head())?,
            None => None,
        };
        let branch = || format!("ref: refs/heads/{}\n", tree.name);
        Ok(commit.map_or_else(branch, |commit| format!("{commit}\n")))
    }

    /// The commit that a tree began with, as far as its branch tells.
    fn base_of(&self, tree: &SuspectTree) -> Result<Option<String>, GitError> {
        let own = self.trees.branch_at(&tree.name)?;
        let phase = self.recorded.phase_of(&tree.name);
        let phase = phase.map(|phase| phase.branch.head());
        match (own, phase) {
            (Some(own), Some(phase)) => {
                let git = self.trees.git()?;
                Ok(git.try_text(&["merge-base", &own, &phase])?.or(Some(own)))
            }
            (own, Some(phase)) => Ok(own.or(self.trees.commit_of(&phase)?)),
            (own, None) => Ok(own.or(self.trees.commit_of("HEAD")?)),
        }
    }

    /// The commit that a tree is at, and its index.
    fn look_at_tree_head(&mut self, tree: &SuspectTree) -> Result<(), GitError> {
        let git = self.trees.git_of(&tree.record, &tree.path)?;
        let text = read(&tree.record.folder.join("HEAD"));
        let text = String::from_utf8_lossy(&text);
        let branch = text.trim_end().strip_prefix("ref: ");
        let is_whole = branch.is_some_and(|branch| self.whole.contains(branch))
            || match git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])? {
                Some(head) => self.is_whole(&head)?,
                None => false,
            };
        if !is_whole && !self.find_head(tree)? {
            return Ok(());
        }
        let index = tree.record.index_path();
        let has_mark = tree.record.mark()?.is_some();
        if index.symlink_metadata().is_err() && has_mark {
            self.rebuilt(format!("{} is gone", index.display()), "read again from the commit");
            return match self.is_mending() {
                true => git.text(&["read-tree", "HEAD"]).map(drop),
                false => Ok(()),
            };
        }
        self.look_at_index(&git, &index)
    }

    /// Brings a tree to the newest commit of its own that is whole; says whether there is one.
    fn find_head(&mut self, tree: &SuspectTree) -> Result<bool, GitError> {
        let logs = [
            tree.record.folder.join("logs/HEAD"),
            self.trees.common().join("logs/refs/heads").join(&tree.name),
        ];
        let mut candidates = self.logged(&logs)?;
        candidates.extend(self.base_of(tree)?);
        let what = format!("{} is at a commit that is gone", tree.name);
        for candidate in candidates {
            if !self.is_whole(&candidate)? {
                continue;
            }
            self.rebuilt(what, format!("at {candidate}; files stay as they are"));
            if self.is_mending() {
                let git = self.trees.git_of(&tree.record, &tree.path)?.durable();
                let is_branch = git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?.is_some();
                let to = ["update-ref", "-m", "waypost: rebuilt", "HEAD", &candidate];
                let detached = [&to[..1], &["--no-deref"], &to[1..]].concat();
                git.text(if is_branch { &to } else { &detached })?;
                self.clear_logs(&logs)?;
            }
            return Ok(self.is_mending());
        }
        self.lost(what, "nothing is known that it could be brought back to; its files stay");
        Ok(false)
    }

    /// Writes a file again that says nothing, or the wrong place.
    fn rewrite(&mut self, path: &Path, bytes: &[u8]) -> Result<(), GitError> {
        let what = match path.symlink_metadata() {
            Ok(found) if found.len() == 0 => "says nothing",
            Ok(_) => "says something else than it should",
            Err(_) => "is gone",
        };
        self.rebuilt(format!("{} {what}", path.display()), "written again");
        if !self.is_mending() {
            return Ok(());
        }
        if path.symlink_metadata().is_ok_and(|found| found.len() > 0) {
            self.put_aside(path)?;
        }
        Ok(file::replace_volatile(path, bytes, file::SHARED)?)
    }
}

/// Whether this is the path of a tree's `.git`, as a record has it.
fn is_path(text: &[u8]) -> bool {
    text.trim_ascii_end().ends_with(b"/.git")
}

fn read(path: &Path) -> Vec<u8> {
    file::read_bounded(path, SIZE_MAX).unwrap_or_default().unwrap_or_default()
}
