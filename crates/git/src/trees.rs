//! The handle by which everything here finds the work trees of a project: where they are, git in each of
//! them, and whose turn it is.
//!
//! What is done with trees is functions over it, in `tree` and `merge`.

use crate::{
    command::{ForeignPrograms, Git, Hold, exclude},
    error::{Absence, GitError},
    tree::{Emptying, TreeRecord, name},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use waypost_model::{config::WorktreeConfig, time::Time};
use waypost_store::{file, lock::FileLock};

/// How git looks at files, whatever the repository's configuration says.
const CLOSELY: [&str; 11] = [
    "core.checkStat=default",
    "core.fileMode=true",
    "core.ignoreStat=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "status.showUntrackedFiles=all",
    "advice.addEmbeddedRepo=false",
    "branch.autoSetupMerge=false",
    "worktree.useRelativePaths=false",
];

/// Who commits where git is told no name.
pub(crate) const NO_NAME: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Waypost"),
    ("GIT_AUTHOR_EMAIL", "waypost@localhost"),
    ("GIT_COMMITTER_NAME", "Waypost"),
    ("GIT_COMMITTER_EMAIL", "waypost@localhost"),
];

/// Locks that trees share by their names; more than there are threads at work.
const TURNS: u32 = 64;

/// How often git may meet a record that another git is writing; that takes it microseconds.
const LIST_TRIES: u32 = 10;

/// The work trees of one project's runs. Cheap to clone, usable from any thread.
#[derive(Clone, Debug)]
pub struct Trees {
    shared: Arc<Shared>,
    hold: Option<Hold>,
}

/// Where the trees of a project are, and what is configured for them.
#[derive(Clone, Debug)]
pub struct TreesPlace {
    /// The work tree that all others are below.
    pub root: PathBuf,
    /// Where files come from that trees get beside what is tracked.
    pub source: PathBuf,
    /// The journal's folder.
    pub state: PathBuf,
    /// The repository.
    pub common: PathBuf,
    pub config: WorktreeConfig,
    /// Tells the time: this crate has no clock.
    pub now: fn() -> Time,
}

#[derive(Debug)]
struct Shared {
    place: TreesPlace,
    known: Mutex<Option<KnownConfig>>,
    is_excluded: AtomicBool,
    emptying: Mutex<Option<Emptying>>,
}

/// What the repository's configuration says, and as of when.
#[derive(Clone, Debug)]
struct KnownConfig {
    foreign: ForeignPrograms,
    has_committer: bool,
    marks: [Option<file::Mark>; 2],
}

impl Trees {
    /// The trees of a project. Nothing is made, and nothing is asked of git yet.
    pub fn of(place: TreesPlace) -> Self {
        let shared = Shared {
            place,
            known: Mutex::new(None),
            is_excluded: AtomicBool::new(false),
            emptying: Mutex::new(None),
        };
        Self { shared: Arc::new(shared), hold: None }
    }

    /// All git processes from here on hold this lock.
    pub fn held(mut self, hold: Hold) -> Self {
        self.hold = Some(hold);
        self
    }

    /// The work tree that all others are below.
    pub fn root(&self) -> &Path {
        &self.shared.place.root
    }

    /// Where files come from that trees get beside what is tracked.
    pub(crate) fn source(&self) -> &Path {
        &self.shared.place.source
    }

    /// The journal's folder.
    pub fn state(&self) -> &Path {
        &self.shared.place.state
    }

    /// The repository that all trees share.
    pub fn common(&self) -> &Path {
        &self.shared.place.common
    }

    pub fn config(&self) -> &WorktreeConfig {
        &self.shared.place.config
    }

    /// The present time.
    pub(crate) fn now(&self) -> Time {
        (self.shared.place.now)()
    }

    /// Where the tree of a name is, whether it exists or not.
    pub fn path(&self, name: &str) -> PathBuf {
        self.shared.place.root.join(name)
    }

    /// Git in the project's root.
    pub fn git(&self) -> Result<Git, GitError> {
        let git = self.bare_git(&self.shared.place.root, &self.shared.place.common);
        self.harmless(git, None)
    }

    /// Git in a tree of ours, or in the project's root.
    pub fn git_in(&self, folder: &Path) -> Result<Git, GitError> {
        if folder == self.shared.place.root {
            return self.git();
        }
        match TreeRecord::find(&self.shared.place.common, folder)? {
            Some(record) => self.git_of(&record, folder),
            None => Err(Absence::Tree { path: folder.to_owned() }.into()),
        }
    }

    /// Git in the tree that `admin` is about, wherever its folder stands now.
    pub(crate) fn git_of(&self, record: &TreeRecord, folder: &Path) -> Result<Git, GitError> {
        let git = self
            .bare_git(folder, &record.folder)
            .variable("GIT_COMMON_DIR", self.shared.place.common.as_os_str());
        let own_config = record.folder.join("config.worktree");
        self.harmless(git, Some(&own_config))
    }

    fn bare_git(&self, folder: &Path, git_dir: &Path) -> Git {
        let git = Git::at(folder).variable("GIT_DIR", git_dir).variable("GIT_WORK_TREE", folder);
        let git = CLOSELY.into_iter().fold(git, Git::setting);
        match &self.hold {
            Some(hold) => git.under(hold),
            None => git,
        }
    }

    /// Makes git run nothing of the repository's. The configuration is read once, and again when
    /// it has changed: an agent may write it while we go on.
    fn harmless(&self, git: Git, own_config: Option<&Path>) -> Result<Git, GitError> {
        let common = &self.shared.place.common;
        let marks = [
            file::Mark::of(&common.join("config"))?,
            file::Mark::of(&common.join("config.worktree"))?,
        ];
        let has_own = own_config.is_some_and(|path| path.symlink_metadata().is_ok());
        let mut known = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        let current = match &*known {
            Some(known) if !has_own && !known.foreign.has_includes && known.marks == marks => {
                known.clone()
            }
            before => {
                let foreign = ForeignPrograms::read(&git)?;
                let has_committer = match before {
                    Some(before) if before.has_committer => true,
                    _ if foreign.has_identity => true,
                    _ => git.try_text(&["var", "GIT_COMMITTER_IDENT"])?.is_some(),
                };
                let current = KnownConfig { foreign, has_committer, marks };
                if !has_own {
                    *known = Some(current.clone());
                }
                current
            }
        };
        let git = git.without(&current.foreign);
        Ok(match current.has_committer {
            true => git,
            false => NO_NAME.into_iter().fold(git, |git, (name, value)| git.variable(name, value)),
        })
    }

    /// Waits until no other thread, in this process or another, changes the tree of this name.
    pub(crate) fn turn(&self, name: &str) -> Result<(Self, Hold), GitError> {
        let folder = self.shared.place.state.join("trees");
        file::make_private_folder(&folder)?;
        let number = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
        let lock = FileLock::acquire(&folder.join(format!("turn-{}", number % TURNS)))?;
        let turn = Hold::of(lock);
        // A process that is no engine has git hold this lock at least.
        let hold = self.hold.clone().unwrap_or_else(|| turn.clone());
        Ok((self.clone().held(hold), turn))
    }

    /// Waits until no other process merges into a branch that a person may have checked out.
    pub(crate) fn landing_turn(&self) -> Result<(Self, Hold), GitError> {
        let folder = self.shared.place.state.join("trees");
        file::make_private_folder(&folder)?;
        let turn = Hold::of(FileLock::acquire(&folder.join("landing"))?);
        let hold = self.hold.clone().unwrap_or_else(|| turn.clone());
        Ok((self.clone().held(hold), turn))
    }

    /// Has git read or change its list of work trees.
    pub(crate) fn with_list<T>(
        &self,
        work: impl Fn() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        with_list(&self.shared.place.state, work)
    }

    /// Git's record of a tree.
    pub(crate) fn record(&self, name: &str) -> Result<Option<TreeRecord>, GitError> {
        TreeRecord::find(&self.shared.place.common, &self.path(name))
    }

    /// The thread that empties the trash, if one does.
    pub(crate) fn emptying(&self) -> MutexGuard<'_, Option<Emptying>> {
        self.shared.emptying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has our files kept out of git's sight, once.
    pub(crate) fn exclude(&self) -> Result<(), GitError> {
        if self.shared.is_excluded.load(Ordering::Acquire) {
            return Ok(());
        }
        let folder = self.shared.place.state.join("trees");
        file::make_private_folder(&folder)?;
        let _turn = FileLock::acquire(&folder.join("exclude"))?;
        let shared = self.shared.place.config.share.iter().map(|folder| format!("/{folder}"));
        let ours = exclude::EXCLUDED.iter().map(|line| (*line).to_owned());
        let lines: Vec<String> = ours.chain(shared).collect();
        exclude::add(&self.shared.place.common.join("info/exclude"), &lines)?;
        self.shared.is_excluded.store(true, Ordering::Release);
        Ok(())
    }

    /// The commit that a ref or a name of a commit stands for.
    pub fn commit_of(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        self.git()?.try_text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])
    }

    /// Whether `older` is `newer` or one of the commits that it is made from.
    pub fn is_in(&self, older: &str, newer: &str) -> Result<bool, GitError> {
        let found = self.git()?.try_text(&["merge-base", "--is-ancestor", older, newer])?;
        Ok(found.is_some())
    }

    pub(crate) fn forget_ref(&self, name: &str) -> Result<(), GitError> {
        match self.commit_of(name)? {
            Some(commit) => self.git()?.text(&["update-ref", "-d", name, &commit]).map(drop),
            None => Ok(()),
        }
    }

    /// Where the branch of a tree is.
    pub(crate) fn branch_at(&self, name: &str) -> Result<Option<String>, GitError> {
        let branch = format!("refs/heads/{name}");
        self.git()?.try_text(&["rev-parse", "--verify", "--quiet", &branch])
    }

    /// The name of the tree at a path, if it is one of ours by its place.
    pub(crate) fn name_of(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(&self.shared.place.root).ok()?.to_str()?;
        name::is_name(name).then(|| name.to_owned())
    }
}

/// Has git read or change its list of work trees, for one caller of ours at a time: git fails where it meets the
/// record of a tree that another git is writing. A person's own git does not wait for us, so what it
/// made fail is done again.
pub(crate) fn with_list<T>(
    state: &Path,
    work: impl Fn() -> Result<T, GitError>,
) -> Result<T, GitError> {
    let folder = state.join("trees");
    file::make_private_folder(&folder)?;
    let _turn = FileLock::acquire(&folder.join("list"))?;
    for _ in 1..LIST_TRIES {
        match work() {
            Err(error) if error.is_half_record() => {}
            done => return done,
        }
    }
    work()
}
