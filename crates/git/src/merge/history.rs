//! What tasks have changed, and what a branch says of tasks.

use super::{EVIDENCE, PHASE, REVERTS, TASK, land::subject};
use crate::{error::GitError, tree::Trees};
use std::collections::{BTreeSet, HashSet};
use waypost_model::time::Time;

/// How a difference is shown, whatever the repository's configuration says.
const PLAINLY: [&str; 3] = ["diff", "--no-ext-diff", "--no-textconv"];

/// How many commits are looked for in a branch by a process each: fewer than make a walk over all of a
/// long history worthwhile.
const SINGLE_LOOKS_MAX: usize = 4;

/// A commit that brought the work of a task into a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    pub task: String,
    pub subject: String,
    pub commit: String,
}

/// A commit that merged a phase into a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    pub commit: String,
    pub at: Time,
}

/// The difference that a commit made to its first parent.
pub fn diff_of_commit(trees: &Trees, commit: &str, color: &str) -> Result<Vec<u8>, GitError> {
    let parent = format!("{commit}^1");
    let color = format!("--color={color}");
    trees.git()?.bytes(&[PLAINLY.as_slice(), &[&color, &parent, commit, "--"]].concat())
}

/// The difference between what a branch has and a tree that was made from it.
pub fn diff_since(
    trees: &Trees,
    branch: &str,
    head: &str,
    tree: &str,
    color: &str,
) -> Result<Vec<u8>, GitError> {
    let base = trees.git()?.text(&["merge-base", branch, head])?;
    let color = format!("--color={color}");
    trees.git()?.bytes(&[PLAINLY.as_slice(), &[&color, &base, tree, "--"]].concat())
}

/// The newest commit that merged the phase of this number and name into a branch.
pub fn landed_phase(
    trees: &Trees,
    branch: &str,
    (number, name): (u32, &str),
) -> Result<Option<Landed>, GitError> {
    let (ours, head) = (format!("--grep=^{PHASE}: {number}$"), format!("refs/heads/{branch}"));
    let format = "--format=%H%x09%ct%x09%s";
    let listed = trees.git()?.text(&["log", &ours, format, &head, "--"])?;
    let wanted = subject(&format!("phase {number}"), name);
    let read = |line: &str| {
        let mut fields = line.splitn(3, '\t');
        let (commit, seconds) = (fields.next()?, fields.next()?.parse::<i64>().ok()?);
        let at = Time::from_millis(seconds.saturating_mul(1_000));
        (fields.next()? == wanted).then(|| Landed { commit: commit.to_owned(), at })
    };
    Ok(listed.lines().find_map(read))
}

/// Which of `commits` a branch does not have; all of them if there is no such branch.
///
/// A few are looked for one by one, because each look ends where it is found. More of them cost one walk
/// over the branch, however many they are: a process for each would be a walk for each.
pub fn missing_from<'c>(
    trees: &Trees,
    branch: &str,
    commits: &[&'c str],
) -> Result<Vec<&'c str>, GitError> {
    let head = format!("refs/heads/{branch}");
    let mut missing = Vec::new();
    if commits.len() <= SINGLE_LOOKS_MAX {
        for commit in commits {
            if !trees.is_in(commit, &head)? {
                missing.push(*commit);
            }
        }
        return Ok(missing);
    }
    let listed = trees.git()?.try_text(&["rev-list", &head, "--"])?.unwrap_or_default();
    let found: HashSet<&str> = listed.lines().collect();
    missing.extend(commits.iter().copied().filter(|commit| !found.contains(commit)));
    Ok(missing)
}

/// Everything that tasks have brought into a branch and that was not taken out again.
pub fn brought(trees: &Trees, branch: &str) -> Result<Vec<Brought>, GitError> {
    let format = format!(
        "--format=%H%x09%(trailers:key={TASK},valueonly,separator=%x20)%x09%(trailers:key={REVERTS},valueonly,separator=%x20)%x09%s"
    );
    let (brought, reverts) = (format!("--grep=^{EVIDENCE}: "), format!("--grep=^{REVERTS}: "));
    let head = format!("refs/heads/{branch}");
    let listed = trees.git()?.text(&["log", &brought, &reverts, &format, &head, "--"])?;
    let lines: Vec<Vec<&str>> =
        listed.lines().map(|line| line.splitn(4, '\t').map(str::trim).collect()).collect();
    let reverted: BTreeSet<&str> = lines.iter().filter_map(|line| line.get(2).copied()).collect();
    let read = |line: &Vec<&str>| match line.as_slice() {
        [commit, task, "", subject] if !task.is_empty() && !reverted.contains(commit) => {
            let [task, subject, commit] = [task, subject, commit].map(|it| (*it).to_owned());
            Some(Brought { task, subject, commit })
        }
        _ => None,
    };
    Ok(lines.iter().filter_map(read).collect())
}
