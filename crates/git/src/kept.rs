//! The content of a work tree as a commit under a ref of ours: what later changes are compared with.
//!
//! The same files as `content` names, so the tree of the commit is that name. Unlike a snapshot of one
//! of our own trees, it is for a tree that belongs to a person: nothing is brought back from it.

use crate::{
    command::is_safe_ref,
    content::{ContentReader, ContentScratch, git_at},
    error::{GitError, Mistake},
    trees::NO_NAME,
};
use waypost_model::time::Time;
use waypost_store::{file, place::Place};

/// Where these commits are.
const REFS: &str = "refs/waypost/sessions";

/// Our index for it: that of `content` names objects that are not kept.
const INDEX: &str = "kept-index";

/// What is kept, under which name.
#[derive(Clone, Copy, Debug)]
pub struct KeptContent<'a> {
    /// Below `refs/waypost/sessions`.
    pub name: &'a str,
    /// Why, in a line.
    pub why: &'a str,
    pub at: Time,
}

/// Keeps the content of the work tree that a place is in as a commit; none outside git. May be repeated:
/// the newest one counts.
pub fn keep_content(place: &Place, order: &KeptContent<'_>) -> Result<Option<String>, GitError> {
    if place.repository().is_none() || !place.root.join(".git").exists() {
        return Ok(None);
    }
    let reference = format!("{REFS}/{}", order.name);
    if !is_safe_ref(&reference) {
        return Err(Mistake::CommitName { name: reference }.into());
    }
    let scratch = ContentScratch::take(place)?;
    let index = scratch.folder.join(INDEX);
    let user = git_at(&place.root)?.durable().under(&scratch.turn);
    let own = user.clone().variable("GIT_INDEX_FILE", &index);
    // From nothing each time: what the index believes to be unchanged may have objects that are gone.
    file::remove(&index)?;
    file::remove(&scratch.folder.join(format!("{INDEX}.lock")))?;
    let look = ContentReader { root: &place.root, user: user.clone(), own, scratch: &scratch };
    let tree = look.name()?;
    let head = user.try_text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let date = format!("@{} +0000", order.at.millis() / 1_000);
    let git = NO_NAME.into_iter().fold(user, |git, (name, value)| git.variable(name, value));
    let git = git.variable("GIT_AUTHOR_DATE", &*date).variable("GIT_COMMITTER_DATE", &*date);
    let message = format!("waypost: {}\n\n{}\n", order.name, order.why);
    let mut words = vec!["commit-tree", &tree, "-m", &message];
    words.extend(head.iter().flat_map(|head| ["-p", head]));
    let commit = git.text(&words)?;
    git.text(&["update-ref", &reference, &commit])?;
    Ok(Some(commit))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the user")]
mod tests {
    use super::*;
    use crate::{command::Git, content};
    use std::fs;

    #[test]
    fn a_kept_content_has_what_the_tree_has_and_moves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = Git::at(&root);
        git.text(&["init", "--quiet", "--initial-branch=main"]).unwrap();
        fs::write(root.join("a.txt"), "a").unwrap();
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        fs::write(root.join("x.log"), "x").unwrap();
        let place = Place::find(&root).unwrap();
        let keep = |name| {
            let order = KeptContent { name, why: "a subtask begins", at: Time::from_millis(0) };
            keep_content(&place, &order).unwrap().unwrap()
        };
        let first = keep("R1/T1-S1");
        let tree = git.text(&["rev-parse", &format!("{first}^{{tree}}")]).unwrap();
        assert_eq!(Some(tree), content(&place).unwrap());
        let files = git.text(&["ls-tree", "-r", "--name-only", &first]).unwrap();
        assert_eq!(files, ".gitignore\na.txt");
        assert_eq!(git.text(&["status", "--porcelain"]).unwrap().lines().count(), 2);
        // Again, for another name, with a file that has changed and one of ours.
        fs::write(root.join("a.txt"), "b").unwrap();
        fs::create_dir_all(root.join(".claude/orchestrator")).unwrap();
        fs::write(root.join(".claude/orchestrator/x.json"), "{}").unwrap();
        let second = keep("R1/T1-S2");
        let changed = git.text(&["diff", "--name-only", &first, &second]).unwrap();
        assert_eq!(changed, "a.txt");
        let refs = git.text(&["for-each-ref", "--format=%(refname)", "refs/waypost"]).unwrap();
        assert_eq!(refs.lines().count(), 2);
        assert!(
            keep_content(&place, &KeptContent { name: "..", why: "", at: Time::from_millis(0) })
                .is_err()
        );
    }

    #[test]
    fn looks_at_one_tree_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Git::at(&root).text(&["init", "-q"]).unwrap();
        fs::write(root.join("a.txt"), "a\n").unwrap();
        let place = Place::find(&root).unwrap();
        let first = content(&place).unwrap();
        let look = || (0..10).map(|_| content(&place)).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            let looks: Vec<_> = (0..4).map(|_| scope.spawn(look)).collect();
            for seen in looks.into_iter().flat_map(|it| it.join().unwrap()) {
                assert_eq!(seen.unwrap(), first);
            }
        });
    }

    #[test]
    fn a_repository_without_a_commit_within_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for repository in [root.clone(), root.join("inner")] {
            fs::create_dir_all(&repository).unwrap();
            Git::at(&repository).text(&["init", "-q"]).unwrap();
        }
        fs::write(root.join("inner/a.txt"), "a\n").unwrap();
        let place = Place::find(&root).unwrap();
        let error = content(&place).unwrap_err().to_string();
        assert!(
            error.contains("the repository inner within this one has no commit yet"),
            "{error}"
        );
    }
}
