//! Snapshots: everything of a work tree as one commit, under a ref of ours.
//!
//! The commit's tree is the files, tracked or not, that git does not ignore. Its first parent is
//! the tree's head; the others are the index, if it has something of its own, and the commits that
//! only the tree knew. The message tells what is needed to bring the tree back. The tree's own index
//! is read and never written.

use super::{
    Trees,
    index::{self, IndexFile},
    inspection::{InspectedTree, Inspection, OWN, inspect},
    lost_objects::rebuild_head,
    make::{TreeCondition, condition, remake, unusable},
    name,
    nested::{self, Nested},
};
use crate::{
    command::Git,
    durable::sync_objects,
    error::{Absence, GitError, Mistake},
    packs,
};
use std::{
    cell::Cell,
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_store::file;

/// Where snapshots are.
pub(super) const REFS: &str = "refs/waypost/snapshots";

/// Under this name the tree of a kept index has the index file itself.
pub(super) const INDEX_FILE: &str = ".waypost-index";
/// Versions of files whose merge was not resolved stand below this folder there.
const STAGES: &str = ".waypost-stages";

/// A reason is a line; what is longer is cut.
const WHY_MAX: usize = 300;
/// Entries for one call of git.
const ENTRIES_AT_ONCE: usize = 200;

/// A snapshot and what it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptSnapshot {
    pub(super) reference: Option<String>,
    /// The files as one tree.
    files: String,
}

/// Keeps in a snapshot what would be lost with a tree; none if that is nothing. The tree stays.
pub fn take_snapshot(trees: &Trees, name: &str, why: &str) -> Result<Option<String>, GitError> {
    name::check(name)?;
    let (trees, _turn) = trees.turn(name)?;
    let standing = match condition(&trees, name)? {
        TreeCondition::Missing(..) => refill(&trees, name)?,
        standing => standing,
    };
    let TreeCondition::Ready(record, mark) = standing else {
        return Err(no_tree(name));
    };
    let subject = InspectedTree { name: name.to_owned(), record, mark, folder: trees.path(name) };
    until_kept(&trees, &subject, |closeness| {
        let seen = inspect(&trees, &subject)?;
        if !seen.has_something_to_lose() {
            return Ok(None);
        }
        Ok(keep(&trees, &subject, &seen, (why, closeness))?.reference)
    })
}

/// How a tree is read for a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closeness {
    /// What git knows to be unchanged is taken from its index.
    Quick,
    /// Every file is read and written again: objects that the index names may be gone.
    Close,
}

/// Keeps something of a tree until no other git has taken it apart meanwhile.
pub(super) fn until_kept<T>(
    trees: &Trees,
    subject: &InspectedTree,
    keep: impl Fn(Closeness) -> Result<T, GitError>,
) -> Result<T, GitError> {
    let closeness = Cell::new(Closeness::Quick);
    let rebuild = || {
        closeness.set(Closeness::Close);
        let git = trees.git_of(&subject.record, &subject.folder)?;
        rebuild_head(&git, &subject.mark.base).map(drop)
    };
    packs::until_whole(|| keep(closeness.get()), rebuild)
}

/// Makes a snapshot of what was seen, and makes sure that it is whole.
pub(super) fn keep(
    trees: &Trees,
    subject: &InspectedTree,
    seen: &Inspection,
    (why, closeness): (&str, Closeness),
) -> Result<KeptSnapshot, GitError> {
    let InspectedTree { name, mark, .. } = subject;
    let work = TreeReader { closeness, ..reader(trees, subject, seen)? };
    let files = work.files()?;
    let index = work.index(&files)?;
    let is_as_head = match &seen.commit {
        Some(commit) => work.git.text(&["rev-parse", &format!("{commit}^{{tree}}")])? == files,
        None => false,
    };
    if is_as_head && index == "head" && seen.lost.is_empty() {
        // Git was told not to look, and there was nothing to see.
        return Ok(KeptSnapshot { reference: None, files });
    }
    let mut parents: Vec<&str> = seen.commit.iter().map(String::as_str).collect();
    parents.extend(Some(&*index).filter(|index| !matches!(*index, "head" | "tree")));
    for lost in &seen.lost {
        if !parents.contains(&&**lost) {
            parents.push(lost);
        }
    }
    let none = || "none".to_owned();
    let message = [
        format!("waypost: snapshot of {name}\n\n{}\n\n", one_line(why)),
        format!("Waypost-Tree: {name}\n"),
        format!("Waypost-Head: {}\n", seen.branch.as_deref().unwrap_or("detached")),
        format!("Waypost-Commit: {}\n", seen.commit.clone().unwrap_or_else(none)),
        format!("Waypost-Branch: {}\n", seen.own_branch.clone().unwrap_or_else(none)),
        format!("Waypost-Index: {index}\n"),
        format!("Waypost-Base: {}\n", mark.base),
    ];
    let reference = record_snapshot(trees, name, &files, &parents, &message.concat())?;
    Ok(KeptSnapshot { reference: Some(reference), files })
}

/// Makes a snapshot of commits whose tree is gone, with the files of one of them.
pub(super) fn keep_commits(
    trees: &Trees,
    name: &str,
    why: &str,
    commit: &str,
    all: &[String],
) -> Result<String, GitError> {
    let files = trees.git()?.text(&["rev-parse", &format!("{commit}^{{tree}}")])?;
    let others = all.iter().map(String::as_str).filter(|it| *it != commit);
    let parents: Vec<&str> = std::iter::once(commit).chain(others).collect();
    record_left(trees, name, (&files, &parents), why)
}

/// Makes a snapshot of files that are no tree's any more, on top of the first of `parents`.
pub(super) fn record_left(
    trees: &Trees,
    name: &str,
    (files, parents): (&str, &[&str]),
    why: &str,
) -> Result<String, GitError> {
    let commit = parents.first().copied().unwrap_or("none");
    let message = format!(
        "waypost: snapshot of {name}\n\n{}\n\nWaypost-Tree: {name}\nWaypost-Head: {name}\n\
         Waypost-Commit: {commit}\nWaypost-Branch: {commit}\nWaypost-Index: head\n\
         Waypost-Base: {commit}\n",
        one_line(why)
    );
    record_snapshot(trees, name, files, parents, &message)
}

/// Whether the files are still those of the snapshot.
pub(super) fn is_still(
    trees: &Trees,
    subject: &InspectedTree,
    seen: &Inspection,
    kept: &KeptSnapshot,
) -> Result<bool, GitError> {
    Ok(reader(trees, subject, seen)?.files()? == kept.files)
}

pub(super) fn reader<'a>(
    trees: &Trees,
    subject: &'a InspectedTree,
    seen: &'a Inspection,
) -> Result<TreeReader<'a>, GitError> {
    let git = trees.git_of(&subject.record, &subject.folder)?.durable();
    let scratch = scratch_of(trees, &subject.name)?;
    Ok(TreeReader { git, scratch, seen, subject, closeness: Closeness::Quick })
}

/// A folder for git to work in, for the thread that has the turn of the tree.
pub(super) fn scratch_of(trees: &Trees, name: &str) -> Result<TreeScratch, GitError> {
    TreeScratch::take(trees.state().join("trees/scratch").join(name::short(name)))
}

/// Commits a snapshot and puts a ref on it; the newest one is taken if it is the same.
fn record_snapshot(
    trees: &Trees,
    name: &str,
    files: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, GitError> {
    let git = trees.git()?.durable();
    let below = format!("{REFS}/{}", name::short(name));
    let list = ["for-each-ref", "--format=%(refname)", &below];
    let listed = git.text(&list)?;
    let number = |line: &str| line.rsplit('/').next()?.parse::<u64>().ok();
    let newest = listed.lines().filter_map(number).max();
    if let Some(newest) = newest {
        let reference = format!("{below}/{newest}");
        let shown = git.text(&["show", "--no-patch", "--format=%T %P%n%B", &reference])?;
        let (made_of, told) = shown.split_once('\n').unwrap_or_default();
        let is_same = made_of == format!("{files} {}", parents.join(" "));
        // Why it is made does not matter.
        if is_same && trailers(told) == trailers(message) {
            return Ok(reference);
        }
    }
    let mut arguments = vec!["commit-tree", files, "-m", message];
    arguments.extend(parents.iter().flat_map(|parent| ["-p", parent]));
    let commit = git.text(&arguments)?;
    // All of it is there, as far as no branch has it that stays.
    let heads =
        git.text(&["for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads"])?;
    let heads = heads.lines().filter_map(|line| line.split_once(' '));
    let others = heads.filter(|(_, branch)| name::attempt(branch).is_none() && *branch != name);
    let others: Vec<&str> = others.map(|(commit, _)| commit).collect();
    let kept = packs::secure(trees, &commit, &others)?;
    sync_objects(trees, &git, &commit, &others)?;
    let reference = format!("{below}/{}", newest.unwrap_or(0) + 1);
    let nothing = "0".repeat(commit.len());
    git.text(&["update-ref", &reference, &commit, &nothing])?;
    kept.release()?;
    match git.text(&["rev-parse", "--verify", &reference])? == commit {
        true => Ok(reference),
        false => Err(Absence::Snapshot { reference }.into()),
    }
}

/// Fills a tree again whose folder was deleted, to look at it.
pub(super) fn refill(trees: &Trees, name: &str) -> Result<TreeCondition, GitError> {
    match condition(trees, name)? {
        TreeCondition::Missing(record, mark) => {
            match remake(trees, &trees.path(name), &record, &mark)? {
                true => condition(trees, name),
                false => Ok(TreeCondition::Missing(record, mark)),
            }
        }
        standing => Ok(standing),
    }
}

/// Those of some paths and patterns that mean a file which git tracks or could: `git add` refuses the
/// others.
pub(crate) fn known<'a>(git: &Git, some: &[&'a str]) -> Result<Vec<&'a str>, GitError> {
    let mut found = Vec::new();
    for file in some {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", file];
        if git.try_bytes(&list)?.is_some_and(|listed| !listed.is_empty()) {
            found.push(*file);
        }
    }
    Ok(found)
}

pub(super) fn no_tree(name: &str) -> GitError {
    Mistake::UnknownTree { name: name.to_owned() }.into()
}

/// What a snapshot's message tells, the reason apart.
fn trailers(message: &str) -> &str {
    message.split_once("\nWaypost-Tree: ").map_or("", |(_, trailers)| trailers.trim_end())
}

/// A reason as one line of bounded length.
fn one_line(why: &str) -> String {
    let line: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().chars().take(WHY_MAX).collect()
}

/// A tree that is being read.
pub(super) struct TreeReader<'a> {
    git: Git,
    scratch: TreeScratch,
    seen: &'a Inspection,
    subject: &'a InspectedTree,
    closeness: Closeness,
}

impl TreeReader<'_> {
    /// The files as one tree.
    pub(super) fn files(&self) -> Result<String, GitError> {
        let InspectedTree { record, folder, .. } = self.subject;
        let own = self.scratch.0.join("files");
        let git = self.git.clone().variable("GIT_INDEX_FILE", &*own);
        let index = record.index()?;
        let copy = index.filter(|_| self.closeness == Closeness::Quick).and_then(|index| {
            let copy = index::without_blinkers(&index.bytes, self.subject.oid_length(), folder)?;
            Some((index, copy))
        });
        let is_added = match copy {
            Some((index, copy)) => {
                index.copy_to(&own, &copy)?;
                self.add(&git, &[]).is_ok()
            }
            None => false,
        };
        if !is_added {
            // Without a usable index everything is read.
            file::remove(&own)?;
            git.text(&["read-tree", self.seen.commit.as_deref().unwrap_or("--empty")])?;
            self.add(&git, &[])?;
        }
        git.text(&["write-tree"])
    }

    /// A commit's files, with some of them as they are in the tree, as one tree.
    pub(super) fn files_over(&self, commit: &str, some: &[&str]) -> Result<String, GitError> {
        let own = self.scratch.0.join("some");
        let git = self.git.clone().variable("GIT_INDEX_FILE", &*own);
        git.text(&["read-tree", commit])?;
        let some = known(&git, some)?;
        if !some.is_empty() {
            self.add(&git, &some)?;
        }
        git.text(&["write-tree"])
    }

    /// Puts files into the tree's own index: these, or all.
    pub(super) fn stage(&self, only: &[&str]) -> Result<(), GitError> {
        self.add(&self.git, only)
    }

    /// Puts all files into a copy of an index. Returns the copy; none if git cannot do that.
    pub(super) fn stage_aside(&self, index: &IndexFile) -> Result<Option<PathBuf>, GitError> {
        let copy = self.scratch.0.join("index");
        index.copy_to(&copy, &index.bytes)?;
        match self.add(&self.git.clone().variable("GIT_INDEX_FILE", &*copy), &[]) {
            Ok(()) => Ok(Some(copy)),
            Err(killed @ GitError::Killed { .. }) => Err(killed),
            Err(_) => Ok(None),
        }
    }

    /// Puts files into the index that `git` has: these, or all.
    fn add(&self, git: &Git, only: &[&str]) -> Result<(), GitError> {
        let is_link =
            |file: &&&str| self.seen.links.iter().any(|(path, _)| path == file.as_bytes());
        let files: Vec<&str> = match only.is_empty() {
            true => vec!["."],
            false => only.iter().filter(|file| !is_link(file)).copied().collect(),
        };
        if !files.is_empty() {
            let list = self.scratch.0.join("paths");
            write(&list, &self.pathspecs(&files))?;
            let from = format!("--pathspec-from-file={}", text(&list)?);
            // Also what a sparse checkout would not have: it was written all the same.
            git.text(&["add", "--all", "--sparse", &from, "--pathspec-file-nul"])?;
        }
        let links = self.seen.links.iter();
        let is_wanted =
            |path: &[u8]| only.is_empty() || only.iter().any(|it| it.as_bytes() == path);
        let mut links = links.filter(|(path, _)| is_wanted(path));
        links.try_for_each(|(path, noted)| self.note_link(git, path, noted))
    }

    /// Files without our own and without other repositories: git would note a commit of those that
    /// may be nowhere, and would run what they configure to find out whether they have changed.
    fn pathspecs(&self, files: &[&str]) -> Vec<u8> {
        let mut list: Vec<Vec<u8>> =
            files.iter().chain(&OWN).map(|it| it.as_bytes().to_vec()).collect();
        let links = self.seen.links.iter().map(|(path, _)| path);
        for path in self.seen.nested.iter().chain(links) {
            list.push([b":(exclude,top,literal)".as_slice(), path].concat());
        }
        list.join(&0)
    }

    /// Notes the commit that a submodule has now.
    fn note_link(&self, git: &Git, path: &[u8], noted: &str) -> Result<(), GitError> {
        let folder = self.subject.folder.join(OsStr::from_bytes(path));
        let Ok(path) = str::from_utf8(path) else { return Ok(()) };
        if !nested::is_repository(&folder) {
            return Ok(());
        }
        let tree = self.subject.record.path()?;
        let home = tree.map_or_else(|| folder.clone(), |tree| tree.join(path));
        match (Nested { folder, home }).head()? {
            Some(head) if head != noted => {
                let entry = format!("160000,{head},{path}");
                git.text(&["update-index", "--cacheinfo", &entry]).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// What the index is: as the head, as the files, or a commit of its own.
    fn index(&self, files: &str) -> Result<String, GitError> {
        let Some(index) = self.subject.record.index()?.filter(|_| self.seen.is_staged) else {
            return Ok("head".into());
        };
        let own = self.scratch.0.join("staged");
        index.copy_to(&own, &index.bytes)?;
        let git = self.git.clone().variable("GIT_INDEX_FILE", &*own);
        let unmerged = git.try_bytes(&["ls-files", "--unmerged", "-z"])?;
        let Some(unmerged) = unmerged else {
            // An index that git cannot read has nothing that could be brought back.
            return Ok("head".into());
        };
        if unmerged.is_empty() {
            match git.text(&["write-tree"]) {
                Ok(staged) if staged == files => return Ok("tree".into()),
                // What is staged is gone for good.
                Err(error) if error.is_lost() && self.closeness == Closeness::Close => {
                    return Ok("head".into());
                }
                staged => staged?,
            };
        }
        self.set_stages_aside(&git, &unmerged)?;
        let copy = self.scratch.0.join("copy");
        write(&copy, &index.bytes)?;
        let blob = git.text(&["hash-object", "-w", "--no-filters", "--", text(&copy)?])?;
        let entry = format!("100644,{blob},{INDEX_FILE}");
        git.text(&["update-index", "--add", "--cacheinfo", &entry])?;
        let tree = git.text(&["write-tree"])?;
        let message = format!("waypost: index of {}", self.subject.name);
        // The same index is always the same commit.
        let date = format!("@{} +0000", self.subject.mark.made.millis() / 1_000);
        let git = git.variable("GIT_AUTHOR_DATE", &*date).variable("GIT_COMMITTER_DATE", &*date);
        let mut arguments = vec!["commit-tree", &tree, "-m", &message];
        arguments.extend(self.seen.commit.iter().flat_map(|commit| ["-p", commit]));
        git.text(&arguments)
    }

    /// Gives versions of files whose merge was not resolved names of their own, so that a tree can
    /// hold them.
    fn set_stages_aside(&self, git: &Git, unmerged: &[u8]) -> Result<(), GitError> {
        let records = unmerged.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        let mut entries = Vec::new();
        let mut paths = Vec::new();
        for record in records {
            let record = String::from_utf8_lossy(record);
            let Some((stat, path)) = record.split_once('\t') else { continue };
            let mut words = stat.split(' ');
            let (Some(mode), Some(oid), Some(stage)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            entries.push(format!("{mode},{oid},{STAGES}/{stage}/{path}"));
            paths.extend_from_slice(path.as_bytes());
            paths.push(0);
        }
        if entries.is_empty() {
            return Ok(());
        }
        let list = self.scratch.0.join("paths");
        write(&list, &paths)?;
        let from = format!("--pathspec-from-file={}", text(&list)?);
        let literal = git.clone().variable("GIT_LITERAL_PATHSPECS", "1");
        let remove = ["rm", "--cached", "--quiet", "--force", "--ignore-unmatch", &from];
        literal.text(&[&remove[..], &["--pathspec-file-nul"]].concat())?;
        for entries in entries.chunks(ENTRIES_AT_ONCE) {
            let mut arguments = vec!["update-index", "--add"];
            arguments.extend(entries.iter().flat_map(|entry| ["--cacheinfo", entry]));
            git.text(&arguments)?;
        }
        Ok(())
    }
}

/// A folder for git to work in; gone when dropped. The caller has the turn of the tree.
pub(super) struct TreeScratch(pub(super) PathBuf);

impl TreeScratch {
    fn take(folder: PathBuf) -> Result<Self, GitError> {
        // What a process that was killed has left would be in the way.
        let _none = fs::remove_dir_all(&folder);
        file::make_private_folder(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TreeScratch {
    fn drop(&mut self) {
        // What stays costs space only, and goes next time.
        let _kept = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let written = fs::File::create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| unusable(path, error))
}

fn text(path: &Path) -> Result<&str, GitError> {
    path.to_str().ok_or_else(|| Mistake::NotText { path: path.to_owned() }.into())
}
