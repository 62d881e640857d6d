//! Files that a task leaves and git ignores: in no commit, so they would go with the tree.
//!
//! Those that `worktree.keep` means are copied into the project's folder when the task's work is joined,
//! in the place of what is there, and new trees begin with them. Git has to ignore them in both
//! places; links are neither followed nor copied. Of all others it is said that they go.

use super::{
    Trees,
    copied_files::{self, Existing},
    make::unusable,
};
use crate::{content::OWN, error::GitError, merge::name_some};
use std::path::{Path, PathBuf};
use waypost_model::declared::covers;

/// Paths for one call of git, well below what a command line may hold.
const PATHS_AT_ONCE: usize = 200;

/// Outputs that git ignores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoredOutputs {
    /// Files that are kept.
    pub kept: Vec<String>,
    /// What goes with the tree, folders with `/` behind them.
    pub lost: Vec<String>,
}

impl IgnoredOutputs {
    /// What a person should know of what goes; none if nothing does.
    pub fn told(&self) -> Option<String> {
        (!self.lost.is_empty()).then(|| {
            let names = name_some(&self.lost);
            format!("git ignores {names}: in no commit, gone with its tree; `worktree.keep` keeps such files")
        })
    }
}

/// What an attempt at a task has left in its tree that git ignores. What the project's own folder has
/// by the same name is nothing new, unless the task declares it; neither are folders that a setup
/// command may have made.
pub fn ignored_outputs(
    trees: &Trees,
    name: &str,
    declared: &[String],
) -> Result<IgnoredOutputs, GitError> {
    let path = trees.path(name);
    let git = trees.git_in(&path)?;
    let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let listed = git.bytes(&list)?;
    let found: Vec<String> = copied_files::split(&listed)
        .filter_map(|path| String::from_utf8(path.to_vec()).ok())
        .filter(|path| !is_own(trees, path))
        .collect();
    if found.is_empty() {
        return Ok(IgnoredOutputs::default());
    }
    let kept = kept(trees, &path)?;
    let has_setup = trees.config().setup().is_some();
    let mut lost = Vec::new();
    for entry in &found {
        let below: Vec<&String> = declared
            .iter()
            .filter(|file| is_below(file, entry) && path.join(file).exists())
            .collect();
        let is_declared = declared.iter().any(|file| covers(file, entry.trim_end_matches('/')));
        let is_new = trees.source().join(entry).symlink_metadata().is_err();
        if is_declared || below.is_empty() && is_new && !(has_setup && entry.ends_with('/')) {
            lost.push(entry.clone());
        } else {
            lost.extend(below.into_iter().cloned());
        }
    }
    lost.retain(|entry| !kept.iter().any(|file| file == entry || is_below(file, entry)));
    Ok(IgnoredOutputs { kept, lost })
}

/// Copies into the project's folder what is to be kept of a tree. Returns what that was.
pub fn keep_outputs(trees: &Trees, name: &str) -> Result<Vec<String>, GitError> {
    let path = trees.path(name);
    let kept = kept(trees, &path)?;
    let source = trees.source();
    let mut copied = Vec::new();
    for files in kept.chunks(PATHS_AT_ONCE) {
        let git = trees.git_in(source)?.setting("core.quotePath=false");
        let ask: Vec<&str> =
            ["check-ignore", "--"].into_iter().chain(files.iter().map(String::as_str)).collect();
        let ignored = git.try_text(&ask)?.unwrap_or_default();
        for file in ignored.lines() {
            copied_files::copy_one(&path, source, Path::new(file), Existing::Replace)
                .map_err(|error| unusable(&source.join(file), error))?;
            copied.push(file.to_owned());
        }
    }
    Ok(copied)
}

/// Gives a new tree what was kept before.
pub(super) fn give(trees: &Trees, tree: &Path) -> Result<(), GitError> {
    for file in kept(trees, trees.source())? {
        let file = PathBuf::from(file);
        copied_files::copy_one(trees.source(), tree, &file, Existing::Stay)
            .map_err(|error| unusable(&tree.join(&file), error))?;
    }
    Ok(())
}

/// What git ignores in a work tree and `worktree.keep` means.
fn kept(trees: &Trees, folder: &Path) -> Result<Vec<String>, GitError> {
    let patterns = &trees.config().keep;
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    let how: Vec<String> = patterns.iter().map(|it| format!("--exclude={it}")).collect();
    let found = copied_files::ignored_among(trees, folder, "worktree.keep", &how)?;
    let texts = found.into_iter().filter_map(|path| path.into_os_string().into_string().ok());
    Ok(texts.filter(|path| !is_own(trees, path)).collect())
}

fn is_own(trees: &Trees, path: &str) -> bool {
    let shared = trees.config().share.iter().map(String::as_str);
    let path = path.trim_end_matches('/');
    shared.chain(OWN).any(|own| path == own || is_below(path, &format!("{own}/")))
        || path == super::name::FOLDER
}

/// Whether a path is in a folder, which has `/` behind it.
fn is_below(path: &str, folder: &str) -> bool {
    folder.ends_with('/') && path.starts_with(folder) && path.len() > folder.len()
}
