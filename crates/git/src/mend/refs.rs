//! Refs that say nothing, or name what is gone, and the heads of phases against the journal.

use super::{Mender, RecordedPhase, head::is_oid};
use crate::{command::is_safe_ref, error::GitError, merge::occupant_refs};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use waypost_store::file;

const SIZE_MAX: u64 = 64 << 10;
const LOG_SIZE_MAX: u64 = 64 << 20;
/// How many places where a branch was before are tried, the newest first.
const LOG_MAX: usize = 50;
/// More than any repository has folders of refs in each other.
const DEPTH_MAX: usize = 64;
/// As many commits are asked about at once.
const AT_ONCE: usize = 500;

impl Mender<'_> {
    pub(super) fn look_at_refs(&mut self) -> Result<(), GitError> {
        let mut broken: BTreeMap<String, PathBuf> = BTreeMap::new();
        for (name, path, oid) in loose_refs(self.trees.common()) {
            if oid.is_none() {
                broken.insert(name, path);
            }
        }
        for (name, oid) in self.own_refs()? {
            if self.is_whole(&oid)? {
                self.whole.insert(name);
            } else {
                let path = self.trees.common().join(&name);
                broken.insert(name, path);
            }
        }
        let phases = &self.recorded.phases;
        for phase in phases.iter().filter(|phase| phase.base.is_some()) {
            self.look_at_phase(phase, &mut broken)?;
        }
        for (name, path) in broken {
            self.rebuild_ref(&name, &path)?;
        }
        Ok(())
    }

    /// Refs of ours that say something, with what they say, and that may lack something. Those that do
    /// not are noted.
    fn own_refs(&mut self) -> Result<Vec<(String, String)>, GitError> {
        let places = ["refs/heads/worktree", "refs/waypost"];
        let format = "--format=%(refname) %(objectname)";
        let listed = self.trees.git()?.text(&[&["for-each-ref", format][..], &places].concat())?;
        let read = |line: &str| {
            let (name, oid) = line.split_once(' ')?;
            Some((name.to_owned(), oid.to_owned()))
        };
        let found: Vec<(String, String)> = listed.lines().filter_map(read).collect();
        let mut doubtful = Vec::new();
        for some in found.chunks(AT_ONCE) {
            let oids: Vec<&str> = some.iter().map(|(_, oid)| &**oid).collect();
            match self.are_whole(&oids)? {
                true => self.whole.extend(some.iter().map(|(name, _)| name.clone())),
                false => doubtful.extend_from_slice(some),
            }
        }
        Ok(doubtful)
    }

    /// What phases have brought into the target, as far as that still has it: a person may have taken
    /// it out on purpose.
    pub(super) fn look_at_landed(&mut self) -> Result<(), GitError> {
        let git = self.trees.git()?;
        for commit in &self.recorded.landed {
            if self.trees.commit_of(commit)?.is_none() {
                continue;
            }
            let before = format!("{commit}^1");
            let walk = ["rev-list", "--objects", "--quiet", commit, "--not", &before];
            if git.try_text(&walk)?.is_none() {
                self.lost_commit("the work of a phase that was merged", commit);
            }
        }
        Ok(())
    }

    /// Whether everything that a commit has is there.
    pub(super) fn is_whole(&self, commit: &str) -> Result<bool, GitError> {
        self.are_whole(&[commit])
    }

    /// What the target and other repositories have is not gone through again.
    fn are_whole(&self, commits: &[&str]) -> Result<bool, GitError> {
        if commits.is_empty() {
            return Ok(true);
        }
        let git = self.trees.git()?;
        let target = self.recorded.target.as_ref().map(|it| format!("refs/heads/{it}"));
        let target = match target {
            Some(target) => git.try_text(&["rev-parse", "--verify", "--quiet", &target])?,
            None => None,
        };
        let walk = ["rev-list", "--objects", "--quiet"].into_iter().chain(commits.iter().copied());
        let others = ["--not", "--remotes", "--tags"].into_iter().chain(target.as_deref());
        let arguments: Vec<&str> = walk.chain(others).collect();
        Ok(git.try_text(&arguments)?.is_some())
    }

    /// Compares a phase's branch and marker with what was recorded of them.
    pub(super) fn look_at_phase(
        &mut self,
        phase: &RecordedPhase,
        broken: &mut BTreeMap<String, PathBuf>,
    ) -> Result<(), GitError> {
        let RecordedPhase { branch, base, joined, .. } = phase;
        let Some(base) = base else { return Ok(()) };
        let (marker, head) = (branch.marker(), branch.head());
        for name in [&marker, &head] {
            if self.trees.commit_of(name)?.is_none() {
                broken.entry(name.clone()).or_insert_with(|| self.trees.common().join(name));
            }
        }
        if let Some(path) = broken.remove(&marker) {
            match self.is_whole(base)? {
                true => self.set_ref(&marker, &path, base, "as it was recorded")?,
                false => self.lost_commit("the commit that its phase began with", base),
            }
        }
        let mut needed = Vec::new();
        let all: Vec<&str> = joined.iter().map(|(_, commit)| &**commit).collect();
        for some in joined.chunks(AT_ONCE) {
            let commits: Vec<&str> = some.iter().map(|(_, commit)| &**commit).collect();
            if self.are_whole(&commits)? {
                needed.extend(commits);
                continue;
            }
            for (id, commit) in some {
                match self.is_whole(commit)? {
                    true => needed.push(commit),
                    false => self.lost_commit(&format!("the work of {id}"), commit),
                }
            }
        }
        let torn = broken.remove(&head);
        let now = match &torn {
            Some(_) => None,
            None => self.trees.commit_of(&head)?,
        };
        if let Some(now) = &now
            && self.has_all(now, &needed)?
        {
            return Ok(());
        }
        let logged = self.logged(&[self.trees.common().join("logs").join(&head)])?;
        let recorded = all.iter().rev().map(|it| (*it).to_owned());
        let candidates: Vec<String> =
            logged.into_iter().chain(recorded).chain([base.clone()]).collect();
        let path = torn.unwrap_or_else(|| self.trees.common().join(&head));
        for candidate in candidates {
            let follows = match &now {
                Some(now) => self.trees.is_in(now, &candidate)?,
                None => true,
            };
            if follows && self.is_whole(&candidate)? && self.has_all(&candidate, &needed)? {
                let how = "with everything that was recorded as joined";
                return self.set_ref(&head, &path, &candidate, how);
            }
        }
        let what = format!("the branch {} does not have everything that was joined", branch.name);
        let remedy = format!("`git -C {} merge COMMIT` brings it back", branch.name);
        self.lost(what, remedy);
        Ok(())
    }

    fn lost_commit(&mut self, whose: &str, commit: &str) {
        let what = format!("{whose} is gone from the repository: commit {commit}, or a part of it");
        let remedy = "fetch it from a clone or a backup that has it (`git fetch FOLDER COMMIT`); \
                      without one the task has to be done again";
        self.lost(what, remedy);
    }

    /// Whether a commit is made from all of these.
    fn has_all(&self, commit: &str, needed: &[&str]) -> Result<bool, GitError> {
        for some in needed.chunks(AT_ONCE) {
            let walk = [&["rev-list", "--max-count=1"], some, &["--not", commit]].concat();
            if self.trees.git()?.try_text(&walk)?.is_none_or(|listed| !listed.is_empty()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rebuilds a ref of which nothing was recorded, or takes it out of git's way.
    fn rebuild_ref(&mut self, name: &str, path: &Path) -> Result<(), GitError> {
        let common = self.trees.common();
        let tree = name.strip_prefix("refs/heads/").filter(|it| it.starts_with("worktree/phase-"));
        let mut logs = vec![common.join("logs").join(name)];
        if let Some(tree) = tree {
            let short = tree.rsplit('/').next().unwrap_or(tree);
            logs.push(common.join("worktrees").join(short).join("logs/HEAD"));
        }
        let mut candidates = self.logged(&logs)?;
        let is_target =
            self.recorded.target.as_ref().is_some_and(|it| name == format!("refs/heads/{it}"));
        if is_target {
            candidates.extend(self.recorded.landed.iter().rev().cloned());
        }
        if let Some(phase) = tree.and_then(|tree| self.recorded.phase_of(tree)) {
            candidates.extend(self.trees.commit_of(&phase.branch.head())?);
            candidates.extend(phase.base.clone());
        }
        candidates.extend(self.head_of_shared(name)?);
        for candidate in candidates {
            if self.is_whole(&candidate)? {
                self.set_ref(name, path, &candidate, "where it was last")?;
                return if tree.is_some() { self.clear_logs(&logs) } else { Ok(()) };
            }
        }
        let is_ours = tree.is_some() || name.starts_with("refs/waypost/");
        let text = file::read_bounded(path, SIZE_MAX).unwrap_or_default().unwrap_or_default();
        let says = is_oid(String::from_utf8_lossy(&text).trim_end());
        let what = match says {
            true => format!("{name} names a commit that is gone, or a part of it is"),
            false => format!("{name} says nothing"),
        };
        match is_ours || !says {
            true => {
                let why = "put aside: no log says where it was";
                self.lost(
                    what,
                    format!("{why}; its commits, if any, are shown by `git fsck --lost-found`"),
                );
                self.take_ref_out(name, path)
            }
            // A person's branch that says where it was: that is all there is to know.
            false => {
                self.lost(what, "fetch the commit from a clone or a backup that has it");
                Ok(())
            }
        }
    }

    /// Where an attempt in a shared tree began, if the ref says that: at what is joined.
    fn head_of_shared(&self, name: &str) -> Result<Option<String>, GitError> {
        for phase in self.recorded.phases.iter().filter(|phase| phase.base.is_some()) {
            if name.starts_with(&occupant_refs(&phase.branch)) && name.contains("/begun/") {
                return self.trees.commit_of(&phase.branch.head());
            }
        }
        Ok(None)
    }

    fn set_ref(&mut self, name: &str, path: &Path, to: &str, how: &str) -> Result<(), GitError> {
        let what = match path.symlink_metadata() {
            Ok(found) if found.len() == 0 => format!("{name} says nothing"),
            Ok(_) => format!("{name} lacks what it should have"),
            Err(_) => format!("{name} is gone"),
        };
        self.rebuilt(what, format!("at {to}, {how}"));
        if !self.is_mending() {
            return Ok(());
        }
        if self.trees.commit_of(name)?.is_none() {
            self.take_ref_out(name, path)?;
        }
        self.trees
            .git()?
            .durable()
            .text(&["update-ref", "-m", "waypost: rebuilt", name, to])
            .map(drop)
    }

    /// Takes a ref out of git's way that it cannot read.
    fn take_ref_out(&self, name: &str, path: &Path) -> Result<(), GitError> {
        if !self.is_mending() {
            return Ok(());
        }
        if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            self.put_aside(path)?;
        }
        // One that is packed can only be deleted.
        self.trees.git()?.try_text(&["update-ref", "-d", name]).map(drop)
    }

    /// Puts logs of a tree of ours aside that name commits which are gone: git would take those for
    /// damage of the repository.
    pub(super) fn clear_logs(&self, logs: &[PathBuf]) -> Result<(), GitError> {
        if !self.is_mending() {
            return Ok(());
        }
        let there = logs.iter().filter(|log| log.symlink_metadata().is_ok());
        there.into_iter().try_for_each(|log| self.put_aside(log))
    }

    /// Where logs of git's say that something was, the newest first.
    pub(super) fn logged(&self, logs: &[PathBuf]) -> Result<Vec<String>, GitError> {
        let mut found = Vec::new();
        for log in logs {
            let text = file::read_bounded(log, LOG_SIZE_MAX).unwrap_or_default();
            let text = text.unwrap_or_default();
            let newest = text.rsplit(|byte| *byte == b'\n').take(LOG_MAX);
            for line in newest {
                let line = String::from_utf8_lossy(line);
                let to =
                    line.split(' ').nth(1).filter(|it| is_oid(it) && it.bytes().any(|b| b != b'0'));
                if let Some(to) = to.filter(|to| !found.iter().any(|it| it == to)) {
                    found.push(to.to_owned());
                }
            }
        }
        Ok(found)
    }
}

/// The refs that are files of their own, each with the commit that it names; none: it says nothing.
fn loose_refs(common: &Path) -> Vec<(String, PathBuf, Option<String>)> {
    let mut found = Vec::new();
    let mut folders = vec![("refs".to_owned(), common.join("refs"), 0)];
    while let Some((name, folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let Ok(part) = entry.file_name().into_string() else { continue };
            let name = format!("{name}/{part}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => {
                    folders.push((name, entry.path(), depth + 1));
                }
                Ok(kind) if kind.is_file() && is_safe_ref(&name) => {
                    let text = file::read_bounded(&entry.path(), SIZE_MAX);
                    let text = text.unwrap_or_default().unwrap_or_default();
                    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
                    if !text.starts_with("ref: ") {
                        let oid = is_oid(&text).then_some(text);
                        found.push((name, entry.path(), oid));
                    }
                }
                _ => {}
            }
        }
    }
    found
}
