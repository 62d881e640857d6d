//! What is in a work tree now, as a tree of git's.

use super::{Trees, look::Subject, make::Standing, name, snapshot::REFS};
use crate::error::GitError;

impl Trees {
    /// The commit that a tree is at, and its files as one tree; of one that was put away, as they
    /// were then. None if nothing is known of it.
    pub fn content(&self, name: &str) -> Result<Option<(String, String)>, GitError> {
        name::check(name)?;
        let (trees, _turn) = self.turn(name)?;
        match trees.standing(name)? {
            Standing::Ready(admin, mark) => {
                let folder = trees.path(name);
                let subject = Subject { name: name.to_owned(), admin, mark, folder };
                let look = trees.look(&subject)?;
                let files = trees.work(&subject, &look)?.files()?;
                Ok(look.commit.map(|commit| (commit, files)))
            }
            _ => trees.kept_content(name),
        }
    }

    /// The newest snapshot of a tree.
    fn kept_content(&self, name: &str) -> Result<Option<(String, String)>, GitError> {
        let below = format!("{REFS}/{}", name::short(name));
        let list = ["for-each-ref", "--sort=-version:refname", "--count=1", "--format=%(refname)"];
        let git = self.git()?;
        let newest = git.text(&[&list[..], &[&below]].concat())?;
        if newest.is_empty() {
            return Ok(None);
        }
        let head = git.try_text(&["rev-parse", "--verify", "--quiet", &format!("{newest}^1")])?;
        Ok(head.map(|head| (head, newest)))
    }
}
