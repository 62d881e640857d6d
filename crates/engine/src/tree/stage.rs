//! Staging everything of a work tree that is work, to be committed.

use super::{
    Trees, index,
    look::{Look, Subject},
    make::Standing,
    name,
    snapshot::no_tree,
};
use crate::error::EngineError;
use waypost_store::file;

impl Trees {
    /// Puts everything of a tree that is work into its index: tracked or not, whatever marks an
    /// agent has set so that git would not look. Waypost's own files stay out, and repositories
    /// that are not tracked: a commit cannot hold those. Returns where such were found.
    ///
    /// `git add` is not to be called with all of a tree instead: it runs git in submodules, which
    /// does what those configure.
    pub(crate) fn stage(&self, name: &str) -> Result<Vec<String>, EngineError> {
        name::check(name)?;
        let (trees, _turn) = self.turn(name)?;
        let Standing::Ready(admin, mark) = trees.standing(name)? else { return Err(no_tree(name)) };
        let subject = Subject { name: name.to_owned(), admin, mark, folder: trees.path(name) };
        subject.clear_locks()?;
        let look = trees.glance(&subject)?;
        if look.has_blinkers {
            trees.uncover(&subject)?;
        }
        if look.is_changed || !look.links.is_empty() {
            trees.work(&subject, &look)?.stage()?;
        }
        Ok(strays(&look))
    }

    /// Takes the marks from a tree's index that keep git from looking at files which are there.
    fn uncover(&self, subject: &Subject) -> Result<(), EngineError> {
        let Subject { admin, folder, .. } = subject;
        let bytes = admin.index()?.unwrap_or_default();
        match index::without_blinkers(&bytes, subject.oid_length(), folder) {
            Some(copy) => {
                let path = admin.folder.join("index");
                Ok(file::replace_volatile(&path, &copy, file::SHARED)?)
            }
            None => Ok(()),
        }
    }
}

impl Subject {
    /// What a git that was killed with its agent has left would keep every later one from working.
    fn clear_locks(&self) -> Result<(), EngineError> {
        for name in ["index.lock", "HEAD.lock"] {
            file::remove(&self.admin.folder.join(name))?;
        }
        Ok(())
    }
}

/// The repositories in a tree that git does not track.
fn strays(look: &Look) -> Vec<String> {
    look.nested.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}
