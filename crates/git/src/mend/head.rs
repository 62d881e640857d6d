//! The head of the repository itself. Without one git takes the folder for no repository at all.

use super::Mender;
use crate::{command::is_safe_ref, error::GitError};
use waypost_store::file;

const SIZE_MAX: u64 = 64 << 10;
const LOG_SIZE_MAX: u64 = 64 << 20;

impl Mender<'_> {
    /// Whether git can work with the repository.
    pub(super) fn look_at_head(&mut self) -> Result<bool, GitError> {
        let path = self.trees.common().join("HEAD");
        let text = file::read_bounded(&path, SIZE_MAX).unwrap_or_default().unwrap_or_default();
        if is_head(&text) {
            return Ok(true);
        }
        let what = format!("{} names no branch", path.display());
        let Some(branch) = self.branch_before()? else {
            let remedy = format!("write `ref: refs/heads/BRANCH` into {}", path.display());
            self.lost(what, remedy);
            return Ok(false);
        };
        self.rebuilt(what, format!("{branch} is checked out"));
        if self.is_mending() {
            if path.symlink_metadata().is_ok() {
                self.put_aside(&path)?;
            }
            file::replace(&path, format!("ref: refs/heads/{branch}\n").as_bytes(), file::SHARED)?;
        }
        Ok(self.is_mending())
    }

    /// The branch that was checked out: git's log of the head says so, the run, or that there is only one.
    fn branch_before(&self) -> Result<Option<String>, GitError> {
        let common = self.trees.common();
        let log = file::read_bounded(&common.join("logs/HEAD"), LOG_SIZE_MAX)?.unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let to = |line: &str| {
            line.rsplit_once("moving from ")?.1.split_once(" to ").map(|it| it.1.to_owned())
        };
        let logged = log.lines().rev().find_map(to);
        let packed = file::read_bounded(&common.join("packed-refs"), LOG_SIZE_MAX)?;
        let packed = String::from_utf8_lossy(&packed.unwrap_or_default()).into_owned();
        let has = |branch: &String| {
            let name = format!("refs/heads/{branch}");
            is_safe_ref(branch)
                && (common.join(&name).is_file()
                    || packed.lines().any(|line| line.ends_with(&format!(" {name}"))))
        };
        let names = file::list(&common.join("refs/heads")).unwrap_or_default().into_iter();
        let mut plain: Vec<String> = names.filter(|name| has(name)).collect();
        let only = if plain.len() == 1 { plain.pop() } else { None };
        Ok([logged, self.recorded.target.clone(), only].into_iter().flatten().find(has))
    }
}

/// Whether this is what git writes into a head: the name of a ref, or of a commit.
pub(super) fn is_head(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    match text.trim_end().strip_prefix("ref: ") {
        Some(name) => name.starts_with("refs/") && is_safe_ref(name),
        None => is_oid(text.trim_end()),
    }
}

/// Whether this is the full name of an object.
pub(super) fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
