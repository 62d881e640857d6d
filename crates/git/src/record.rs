//! Staging and committing for a caller that cannot write the git folder itself.
//!
//! As everywhere here, git runs nothing of the repository's: no hook, no signing, no editor. `git add` would
//! run git in submodules as those configure it; so what is to be staged is listed, and given to
//! `update-index`, which looks at no configuration but the repository's own.

use crate::{
    command::Git,
    content::filters,
    error::{GitError, Mistake},
};
use std::{path::Path, process::Output};
use waypost_store::{file, place::Place};

/// Which files are staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Staged {
    /// What is named, new files among it.
    Named(Vec<String>),
    /// Only what is known to git already, below these paths; all of it without any.
    Known(Vec<String>),
}

/// A commit, as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOrder {
    /// None keeps that of the commit which is amended.
    pub message: Option<String>,
    pub is_amended: bool,
    pub may_be_empty: bool,
}

/// Stages files as they are; paths are seen from `folder`.
pub fn stage(place: &Place, folder: &Path, staged: &Staged) -> Result<(), GitError> {
    refuse_filters(&place.root)?;
    let git = Git::at(folder);
    let (mut words, paths) = match staged {
        Staged::Named(paths) => {
            (vec!["ls-files", "-z", "-m", "-d", "-o", "--exclude-standard"], paths)
        }
        Staged::Known(paths) => (vec!["ls-files", "-z", "-m", "-d"], paths),
    };
    words.push("--");
    // Without a path all of the work tree is meant, wherever one stands.
    if paths.is_empty() {
        words.push(":/");
    }
    words.extend(paths.iter().map(String::as_str));
    let named: Vec<&str> =
        paths.iter().map(String::as_str).filter(|it| !it.starts_with(':')).collect();
    if let Staged::Named(_) = staged
        && let Some(path) = named.iter().find(|path| !is_known(&git, folder, path))
    {
        let said = format!("pathspec '{path}' did not match any files");
        return Err(GitError::Failed { command: "add".to_owned(), said });
    }
    let list = place.state.join("scratch/staged");
    file::make_private_folder(&place.state.join("scratch"))?;
    let list = list.with_extension(std::process::id().to_string());
    file::replace_volatile(&list, &git.bytes(&words)?, file::PRIVATE)?;
    let update = ["update-index", "--add", "--remove", "-z", "--stdin"];
    let updated = git.reading(&list).durable_with_index().text(&update);
    file::remove(&list)?;
    updated.map(drop)
}

/// Whether a path is a file, or one that git knows.
fn is_known(git: &Git, folder: &Path, path: &str) -> bool {
    folder.join(path).symlink_metadata().is_ok()
        || git.try_text(&["ls-files", "--error-unmatch", "--", path]).is_ok_and(|it| it.is_some())
}

/// Commits what is staged; all that git said, whatever came of it.
pub fn commit(place: &Place, folder: &Path, order: &CommitOrder) -> Result<Output, GitError> {
    refuse_filters(&place.root)?;
    let mut words = vec!["commit", "--no-verify", "--no-gpg-sign", "--cleanup=strip"];
    match &order.message {
        Some(message) => words.extend(["--message", message.as_str()]),
        None => words.extend(["--no-edit"]),
    }
    words.extend(order.is_amended.then_some("--amend"));
    words.extend(order.may_be_empty.then_some("--allow-empty"));
    Git::at(folder).durable_with_index().output(&words)
}

/// A filter may be a program in the project, which an agent can write.
fn refuse_filters(root: &Path) -> Result<(), GitError> {
    match filters(root)?.into_iter().next() {
        Some(name) => Err(Mistake::Filtered { name }.into()),
        None => Ok(()),
    }
}
