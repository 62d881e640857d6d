//! What the files of a repository say about its branches and hooks.

use std::path::{Path, PathBuf};

use crate::look::Files;
use crate::look::read::{Text, text};

impl Files {
    /// The default branch of the remote: what `origin/HEAD` points to, else the branch that new
    /// repositories begin with, if this one has it. `None`: not known; `main` and `master` should
    /// then count as default.
    pub fn default_branch(&self) -> Option<String> {
        let common = self.git_common.as_ref()?;
        let head = pointed_to(&common.join("refs/remotes/origin/HEAD"), "refs/remotes/origin/");
        head.or_else(|| {
            let name = self.settings().get("init", "defaultbranch")?;
            self.has_branch(common, name).then(|| name.to_owned())
        })
    }

    /// The branch that is checked out in this work tree; `None` if there is none.
    pub fn current_branch(&self) -> Option<String> {
        pointed_to(&self.git_folder()?.join("HEAD"), "refs/heads/")
    }

    /// The branch of the other side that a bare `git push` moves: the one of the same name, unless
    /// the configuration says otherwise, in which case it is not told.
    pub fn pushed_branch(&self) -> Option<String> {
        let settings = self.settings();
        let mode = settings.get("push", "default").unwrap_or("simple");
        let is_same = matches!(mode, "simple" | "current" | "nothing")
            && settings.all("remote", "push").next().is_none()
            && settings.all("remote", "mirror").next().is_none();
        self.current_branch().filter(|_| is_same)
    }

    /// The folder of this work tree inside the repository, or the repository itself.
    pub(super) fn git_folder(&self) -> Option<PathBuf> {
        let common = self.git_common.as_ref()?;
        let Text::Whole(text) = text(&self.root.join(".git")) else { return Some(common.clone()) };
        let target = text.strip_prefix("gitdir:")?.trim();
        Some(self.root.join(target))
    }

    fn has_branch(&self, common: &Path, name: &str) -> bool {
        let names = [format!("refs/heads/{name}"), format!("refs/remotes/origin/{name}")];
        let is_packed = || match text(&common.join("packed-refs")) {
            Text::Whole(text) => text
                .lines()
                .any(|line| names.iter().any(|name| line.split(' ').nth(1) == Some(name))),
            Text::TooLong | Text::None => false,
        };
        names.iter().any(|name| common.join(name).is_file()) || is_packed()
    }

    /// The folders that git takes hooks from.
    pub(super) fn hook_folders(&self) -> Vec<PathBuf> {
        let Some(common) = &self.git_common else { return Vec::new() };
        let set = self.settings().all("core", "hookspath").map(|path| {
            let is_home = path.starts_with('~');
            if is_home { self.absolute(path) } else { self.root.join(path) }
        });
        [common.join("hooks")].into_iter().chain(set).collect()
    }
}

/// What a symbolic reference points to, below `prefix`.
fn pointed_to(path: &Path, prefix: &str) -> Option<String> {
    let Text::Whole(text) = text(path) else { return None };
    let name = text.strip_prefix("ref:")?.trim().strip_prefix(prefix)?;
    (!name.is_empty()).then(|| name.to_owned())
}
