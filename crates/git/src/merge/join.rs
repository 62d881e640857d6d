//! Committing what an attempt did, and joining it to its phase.

use super::{ATTEMPT, EVIDENCE, PhaseBranch, TASK, TRIES, TrialMerge, try_merge};
use crate::{
    command::{self, Git},
    durable::{sync_objects, sync_ref},
    error::{Absence, GitError, Hindrance},
    packs,
    tree::{IgnoredOutputs, Leftovers, Trees, base_of, ignored_outputs, rebuild, stage, take_out},
};
use std::collections::BTreeMap;
use waypost_model::{document::SessionTaskId, id::TaskId, session::RequestState, text::plain};

/// What our commits say about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub id: TaskId,
    pub attempt: u32,
    pub title: String,
}

impl Stamp {
    /// What commits say about a task of a session; its name has the request's in it, because runs have tasks, too.
    pub fn of_session(request: &RequestState, task: &SessionTaskId) -> Option<Self> {
        let state = request.tasks.get(task)?;
        let id = format!("{}-{task}", request.id).parse().ok()?;
        let attempt = state.tree.as_ref()?.number;
        Some(Self { id, attempt, title: state.name.clone() })
    }

    /// `T1.2: title`, with what it is in trailers.
    pub(super) fn message(&self, evidence: Option<&str>) -> String {
        let Self { id, attempt, .. } = self;
        let evidence =
            evidence.map(|text| format!("{EVIDENCE}: {}\n", one_line(text))).unwrap_or_default();
        let subject = self.subject();
        format!("{subject}\n\n{TASK}: {id}\n{ATTEMPT}: {attempt}\n{evidence}")
    }

    pub fn subject(&self) -> String {
        one_line(&plain(&format!("{}: {}", self.id, self.title)))
    }
}

/// Without line ends and other control characters.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// What an attempt has left, committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The commit, the files in which it differs from where it began and those that are kept beside it,
    /// and what of its outputs git ignores.
    At { commit: String, changed: Vec<String>, ignored: IgnoredOutputs },
    /// Its work tree is not there any more.
    Gone,
    /// Its work tree has something that cannot be joined; why.
    Astray(String),
}

/// What became of joining a commit to its phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Join {
    /// It is in the phase's branch by this commit.
    Done { commit: String },
    /// There is nothing in it that the phase does not have.
    Nothing,
    /// What was joined meanwhile changes the same files in another way.
    Conflict { files: Vec<String> },
    /// Files differ from what was committed.
    Unclean { files: Vec<String> },
}

/// Commits everything that an attempt left in its own work tree; what it committed by itself
/// counts, too. The task declares `files`.
pub fn commit_attempt(
    trees: &Trees,
    name: &str,
    phase: &PhaseBranch,
    stamp: &Stamp,
    files: &[String],
) -> Result<Committed, GitError> {
    let path = trees.path(name);
    if !path.join(".git").exists() {
        return Ok(Committed::Gone);
    }
    let git = trees.git_in(&path)?.durable();
    let base = base_of(trees, name)?;
    packs::until_whole(
        || {
            stage(trees, name)?;
            commit_staged(&git, &stamp.message(None), &[])?;
            committed_at(trees, &git, phase)
        },
        || rebuild(&git, &base),
    )?
    .with_outputs(ignored_outputs(trees, name, files)?)
}

impl Committed {
    /// With outputs that git ignores: what is kept of them counts as changed.
    pub(super) fn with_outputs(self, outputs: IgnoredOutputs) -> Result<Self, GitError> {
        Ok(match self {
            Self::At { commit, mut changed, .. } => {
                changed.extend(outputs.kept.iter().cloned());
                Self::At { commit, changed, ignored: outputs }
            }
            other => other,
        })
    }
}

/// What is committed in an attempt's own work tree, whole.
fn committed_at(trees: &Trees, git: &Git, phase: &PhaseBranch) -> Result<Committed, GitError> {
    let commit = git.text(&["rev-parse", "--verify", "HEAD"])?;
    let since = format!("{}...{commit}", phase.head());
    let listed = git.output(&["diff", "--name-only", "--no-renames", "-z", &since])?;
    if !listed.status.success() {
        phase.tip(trees)?;
        let error = command::failure("diff", &listed);
        if error.is_lost() {
            return Err(error);
        }
        let why = "its work tree is at a commit that has nothing to do with its phase";
        return Ok(Committed::Astray(why.to_owned()));
    }
    packs::secure(trees, &commit, &[&phase.head()])?.release()?;
    let (changed, ignored) = (paths(&listed.stdout), IgnoredOutputs::default());
    Ok(Committed::At { commit, changed, ignored })
}

/// Which files differ between a work tree and a commit, ignored and new ones aside: what was
/// run to prove the commit must not change it, nor commit another.
pub fn changed_since(trees: &Trees, name: &str, commit: &str) -> Result<Vec<String>, GitError> {
    let git = trees.git_in(&trees.path(name))?;
    let listed = git.bytes(&["diff", "--name-only", "--no-ext-diff", "-z", commit, "--"])?;
    Ok(paths(&listed))
}

/// Joins a commit to its phase, with a merge commit of its own.
pub fn join(
    trees: &Trees,
    phase: &PhaseBranch,
    commit: &str,
    stamp: &Stamp,
    evidence: &str,
) -> Result<Join, GitError> {
    let joined =
        packs::until_whole(|| join_whole(trees, phase, commit, stamp, evidence), || Ok(()));
    phase.or_gone(trees, joined)
}

fn join_whole(
    trees: &Trees,
    phase: &PhaseBranch,
    commit: &str,
    stamp: &Stamp,
    evidence: &str,
) -> Result<Join, GitError> {
    let git = trees.git()?;
    let message = stamp.message(Some(evidence));
    let reason = format!("waypost: join {}", stamp.id);
    for _ in 0..TRIES {
        let head = phase.head();
        let show = ["log", "--no-walk=unsorted", "--format=%H %T %P", &head, commit];
        let shown = git.text(&show)?;
        let mut shown = shown.lines().map(|line| line.splitn(3, ' ').collect::<Vec<_>>());
        let (Some(&[tip, before, _]), its) = (shown.next().as_deref(), shown.next()) else {
            return Err(Absence::Shown { name: phase.name.clone() }.into());
        };
        let tree = match its.as_deref() {
            // Nothing was joined since it began.
            Some(&[_, tree, parent]) if parent == tip => tree.to_owned(),
            _ => match try_merge(&git, tip, commit, None)? {
                TrialMerge::Clean(tree) => tree,
                TrialMerge::Conflict(files) => return Ok(Join::Conflict { files }),
            },
        };
        if tree == before {
            // A git that was killed may have joined it before.
            let key = (stamp.id.to_string(), stamp.attempt);
            return Ok(match joined(trees, phase)?.remove(&key) {
                Some(commit) => Join::Done { commit },
                None => Join::Nothing,
            });
        }
        sync_objects(trees, &git, commit, &[tip])?;
        let parents = ["commit-tree", &tree, "-p", tip, "-p", commit, "-m", &message];
        let merged = git.text(&parents)?;
        let kept = packs::secure(trees, &merged, &[tip, commit])?;
        let update = ["update-ref", "-m", &reason, &phase.head(), &merged, tip];
        if git.clone().durable().try_text(&update)?.is_some() {
            kept.release()?;
            sync_ref(trees, &phase.head())?;
            return Ok(Join::Done { commit: merged });
        }
    }
    Err(Hindrance::Moving { name: phase.name.clone() }.into())
}

/// Everything that is joined to a phase, by task and attempt.
pub fn joined(
    trees: &Trees,
    phase: &PhaseBranch,
) -> Result<BTreeMap<(String, u32), String>, GitError> {
    let Some(base) = trees.commit_of(&phase.marker())? else { return Ok(BTreeMap::new()) };
    if trees.commit_of(&phase.head())?.is_none() {
        return Ok(BTreeMap::new());
    }
    let range = format!("{base}..{}", phase.head());
    let format = format!(
        "--format=%H%x09%(trailers:key={TASK},valueonly,separator=%x20)%x09%(trailers:key={ATTEMPT},valueonly,separator=%x20)"
    );
    let grep = format!("--grep=^{EVIDENCE}: ");
    let listed = trees.git()?.text(&["log", "--first-parent", &grep, &format, &range])?;
    let read = |line: &str| {
        let mut fields = line.split('\t');
        let (commit, task) = (fields.next()?, fields.next()?.trim());
        let attempt = fields.next()?.trim().parse().ok()?;
        (!task.is_empty()).then(|| ((task.to_owned(), attempt), commit.to_owned()))
    };
    Ok(listed.lines().filter_map(read).collect())
}

/// Whether the last commit of a work tree is ours, made for this attempt: then its work was
/// done, and is to be verified.
pub fn is_committed(trees: &Trees, name: &str, stamp: &Stamp) -> Result<bool, GitError> {
    let path = trees.path(name);
    if !path.join(".git").exists() {
        return Ok(false);
    }
    let format = format!(
        "--format=%(trailers:key={TASK},valueonly,separator=%x20)%x09%(trailers:key={ATTEMPT},valueonly,separator=%x20)"
    );
    let found = trees.git_in(&path)?.try_text(&["log", "-1", &format])?.unwrap_or_default();
    let (task, attempt) = found.split_once('\t').unwrap_or_default();
    let is_its = task.trim() == stamp.id.as_str();
    Ok(is_its && attempt.trim() == stamp.attempt.to_string())
}

/// Brings the work tree of an attempt back to what was committed of it, to be verified again. What
/// its verification has changed is kept; what a power cut has taken from its files comes back.
pub fn put_back(trees: &Trees, name: &str) -> Result<(), GitError> {
    let git = trees.git_in(&trees.path(name))?;
    let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
    let why = "changed since it was committed";
    take_out(trees, &Leftovers::of(name, &head, why)).map(drop)
}

/// Commits what is staged, or of that only `files`. Says whether there was anything.
pub(super) fn commit_staged(git: &Git, message: &str, files: &[&str]) -> Result<bool, GitError> {
    let start = ["commit", "--quiet", "--no-verify", "--cleanup=verbatim", "-m", message];
    let only: Vec<&str> = match files.is_empty() {
        true => Vec::new(),
        false => ["--only", "--"].into_iter().chain(files.iter().copied()).collect(),
    };
    let committed = git.output(&[start.as_slice(), &only].concat())?;
    if committed.status.success() {
        return Ok(true);
    }
    let mut check = vec!["diff", "--cached", "--quiet", "--"];
    check.extend(files);
    match git.try_text(&check)? {
        Some(_) => Ok(false),
        None => Err(command::failure("commit", &committed)),
    }
}

/// Paths, each with a NUL behind it.
pub(super) fn paths(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    parts.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}
