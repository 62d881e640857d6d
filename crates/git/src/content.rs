//! The content of a work tree as one name: what a gate's evidence is about.
//!
//! Tracked files and untracked ones that are not ignored, Waypost's own files apart. Git computes
//! it with an index of ours, which also remembers what has not changed since; the user's index is
//! not touched. Objects that git writes on the way go to a folder of ours and are removed.
//!
//! What the repository's configuration says about which files to look at, and how closely, does not
//! count: an agent may write that. Git knows a file again by its times in whole seconds, so what
//! has changed since the last look began is read again.

use crate::{
    command::{Git, Hold, is_safe_ref},
    error::{GitError, Hindrance, Mistake},
};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};
use waypost_model::layout;
use waypost_store::{
    file,
    lock::FileLock,
    place::{Place, TreeName},
};

/// A person's own settings of an agent program, which the hook is registered in: no work.
pub(crate) const OWN_SETTINGS: &str = ".claude/settings.local.json";

/// What belongs to Waypost and its windows, and says nothing about the work.
pub(crate) const OWN: [&str; 6] = [
    layout::window::WORKFLOW_FOLDER,
    layout::window::RUN,
    layout::window::MEMORY_FOLDER,
    layout::session::FOLDER,
    OWN_SETTINGS,
    DATA,
];

/// Where the workspaces of tasks are, unless they are elsewhere.
const DATA: &str = layout::data::FOLDER;

/// Everything but that, as git is told it.
const WITHOUT_DATA: &str = ":(exclude,top).waypost";

/// Where a run's work trees are. A project may have a folder of that name; what it tracks in there
/// is its work.
const TREES: &str = "worktree";

/// The content of the work tree that a place is in; none outside git, where nothing can be
/// committed.
pub fn content(place: &Place) -> Result<Option<String>, GitError> {
    let Some(common) = place.repository().filter(|_| place.root.join(".git").exists()) else {
        return Ok(None);
    };
    let scratch = ContentScratch::take(place)?;
    ContentReader::of(place, &common, &scratch)?.name_or_anew().map(Some)
}

/// The paths of files that are not as in a commit: changed, made or deleted, tracked or not, Waypost's own
/// apart. None outside git.
pub fn changed_since(place: &Place, base: &str) -> Result<Option<Vec<String>>, GitError> {
    let Some(common) = place.repository().filter(|_| place.root.join(".git").exists()) else {
        return Ok(None);
    };
    if !is_safe_ref(base) {
        return Err(Mistake::CommitName { name: base.to_owned() }.into());
    }
    let scratch = ContentScratch::take(place)?;
    let look = ContentReader::of(place, &common, &scratch)?;
    look.name_or_anew()?;
    let listed = look.own.bytes(&[
        "diff-index",
        "--cached",
        "--no-renames",
        "--name-only",
        "-z",
        base,
        "--",
    ])?;
    // Of the folder of work trees both sides have only what the project tracks in there, which is its work.
    let is_work = |path: &&[u8]| !path.is_empty() && !is_below(&OWN, path);
    let paths = listed.split(|byte| *byte == 0).filter(is_work);
    Ok(Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()))
}

/// Puts the content of a work tree into an empty folder, as it would be checked out elsewhere; its name. None
/// outside git.
pub(crate) fn check_out(place: &Place, folder: &Path) -> Result<Option<String>, GitError> {
    let Some(common) = place.repository().filter(|_| place.root.join(".git").exists()) else {
        return Ok(None);
    };
    let scratch = ContentScratch::take(place)?;
    let look = ContentReader::of(place, &common, &scratch)?;
    // What the index remembers from before has no objects any more.
    file::remove(&scratch.folder.join("index"))?;
    let name = look.name()?;
    let prefix = format!("--prefix={}/", folder.display());
    look.own.text(&["checkout-index", "--all", "--force", &prefix])?;
    Ok(Some(name))
}

/// Whether a path is Waypost's own.
fn is_own(path: &[u8]) -> bool {
    is_below(&OWN, path) || is_below(&[TREES], path)
}

fn is_below(folders: &[&str], path: &[u8]) -> bool {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    folders.iter().any(|own| path.starts_with(own))
}

/// What would leave the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// What is staged, by a commit.
    Index,
    /// What is committed, by a push.
    Head,
}

/// A path that would leave with other content than the files have: the index or the last commit may
/// hold what no look at the files shows. A staged path may also be as it was committed, since a
/// commit may stage it itself. None where filters make of files what they like.
pub fn stray(place: &Place, leaving: Leaving) -> Result<Option<String>, GitError> {
    if content(place)?.is_none() || !filters(&place.root)?.is_empty() {
        return Ok(None);
    }
    let scratch = ContentScratch::take(place)?;
    let user = git_at(&place.root)?.under(&scratch.turn);
    let own = user.clone().variable("GIT_INDEX_FILE", scratch.folder.join("index"));
    let files = entries(&own.bytes(&["ls-files", "-s", "-z"])?);
    let head = user.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let head = match head {
        Some(_) => entries(&user.bytes(&["ls-tree", "-r", "-z", "HEAD"])?),
        None => Entries::new(),
    };
    // What a sparse checkout leaves out is as it was committed.
    let is_sparse = Git::at(&place.root).config("core.sparseCheckout")?.as_deref() == Some("true");
    let is_other = |(path, entry): &(&Vec<u8>, &Entry)| match files.get(*path) {
        Some(file) => file != *entry,
        None => !is_sparse,
    };
    let found = match leaving {
        Leaving::Head => head.iter().find(is_other).map(|(path, _)| path.clone()),
        Leaving::Index => {
            let index = entries(&user.bytes(&["ls-files", "-s", "-z"])?);
            let added = index.iter().filter(is_other);
            let added = added.filter(|(path, entry)| head.get(*path) != Some(entry));
            let is_gone = |path: &&Vec<u8>| files.contains_key(*path) && !index.contains_key(*path);
            let removed = head.keys().filter(is_gone);
            added.map(|(path, _)| path).chain(removed).next().cloned()
        }
    };
    Ok(found.map(|path| String::from_utf8_lossy(&path).into_owned()))
}

/// Mode and object of each path, Waypost's own files apart.
type Entries = BTreeMap<Vec<u8>, Entry>;
type Entry = (Vec<u8>, Vec<u8>);

/// Reads `MODE OBJECT STAGE<TAB>PATH` and `MODE KIND OBJECT<TAB>PATH`, each with a NUL behind it.
fn entries(listed: &[u8]) -> Entries {
    let entry = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (words, path) = (&line[..tab], &line[tab + 1..]);
        let mut words = words.split(|byte| *byte == b' ');
        let mode = words.next()?.to_vec();
        let object = words.find(|word| word.len() >= 40)?.to_vec();
        // What is inside a submodule is its own business.
        (!is_own(path) && mode != b"160000").then(|| (path.to_vec(), (mode, object)))
    };
    listed.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// The content of any work tree of the same repository.
pub fn content_of_tree(place: &Place, tree: &str) -> Result<Option<String>, GitError> {
    if tree == place.tree.as_str() {
        return content(place);
    }
    let Some(git) = &place.git_common else { return Ok(None) };
    let root = if tree == TreeName::main().as_str() {
        git.parent().map(Path::to_owned)
    } else {
        let pointer = file::read_bounded(&git.join("worktrees").join(tree).join("gitdir"), 4_096)?;
        let pointer = pointer.and_then(|bytes| String::from_utf8(bytes).ok());
        pointer.and_then(|text| Some(Path::new(text.trim()).parent()?.to_owned()))
    };
    match root {
        Some(root) => content(&Place::find(&root)?),
        None => Err(Mistake::UnknownTree { name: tree.to_owned() }.into()),
    }
}

/// How git looks at files, whatever the repository's configuration says.
const CLOSELY: [&str; 10] = [
    "core.checkStat=default",
    "core.fileMode=true",
    "core.ignoreStat=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "index.sparse=false",
    "advice.addEmbeddedRepo=false",
];

/// Git for the work tree at `root`, whatever is configured as its place.
pub fn git_at(root: &Path) -> Result<Git, GitError> {
    let mut git = Git::at(root).variable("GIT_WORK_TREE", root).variable("GIT_NO_LAZY_FETCH", "1");
    for setting in CLOSELY {
        git = git.setting(setting);
    }
    for filter in filters(root)? {
        // A filter is a program of the repository's; what it would make of a file is its business.
        for rest in ["clean=", "smudge=", "process=", "required=false"] {
            git = git.setting(format!("filter.{filter}.{rest}"));
        }
    }
    Ok(git)
}

/// One look at a work tree.
pub(crate) struct ContentReader<'a> {
    pub(crate) root: &'a Path,
    /// Git with the user's index.
    pub(crate) user: Git,
    /// Git with ours.
    pub(crate) own: Git,
    pub(crate) scratch: &'a ContentScratch,
}

impl<'a> ContentReader<'a> {
    fn of(place: &'a Place, common: &Path, scratch: &'a ContentScratch) -> Result<Self, GitError> {
        let user = git_at(&place.root)?.under(&scratch.turn);
        let own = user
            .clone()
            .variable("GIT_INDEX_FILE", scratch.folder.join("index"))
            .variable("GIT_OBJECT_DIRECTORY", scratch.folder.join("objects"))
            .variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects"));
        Ok(Self { root: &place.root, user, own, scratch })
    }

    fn name_or_anew(&self) -> Result<String, GitError> {
        self.name().or_else(|_| {
            // The index may be at fault; without one everything is read.
            file::remove(&self.scratch.folder.join("index"))?;
            self.name()
        })
    }

    pub(crate) fn name(&self) -> Result<String, GitError> {
        let ignored = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let changed = self.paths(&self.own, &["ls-files", "-z"], |path| self.is_fresh(path))?;
        self.scratch.put("began", b"now")?;
        self.forget(&changed)?;
        self.add_all()?;
        // What is ignored counts if it is tracked, and then only.
        self.forget(&self.paths(&self.own, &ignored, |_| true)?)?;
        let removal = ["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--"];
        self.own.text(&[removal.as_slice(), OWN.as_slice(), &[TREES]].concat())?;
        let is_own = |path: &Path| OWN.iter().any(|own| path.starts_with(self.root.join(own)));
        let is_there = |path: &Path| path.symlink_metadata().is_ok_and(|it| !it.is_dir());
        let is_wanted = |path: &Path| is_there(path) && !is_own(path);
        let mut tracked = self.paths(&self.user, &ignored, is_wanted)?;
        if self.root.join(TREES).exists() {
            tracked.extend(self.paths(&self.user, &["ls-files", "-z", "--", TREES], is_wanted)?);
        }
        self.with_paths(&["add", "--force"], &tracked)?;
        self.own.text(&["write-tree", "--missing-ok"])
    }

    /// Adds everything but what is in our data folder: repositories in there may have no commit yet,
    /// and git adds nothing at all where it meets one of those.
    fn add_all(&self) -> Result<(), GitError> {
        let mut words = vec!["add", "--all", "--", "."];
        // Git takes it for a mistake if what is left out is ignored anyway.
        let is_ignored = || self.own.try_text(&["check-ignore", "--no-index", "--", DATA]);
        if self.root.join(DATA).is_dir() && is_ignored()?.is_none() {
            words.push(WITHOUT_DATA);
        }
        match self.own.text(&words) {
            Ok(_) => Ok(()),
            Err(GitError::Failed { command, said }) => Err(match without_commit(&said) {
                Some(name) => Hindrance::NoCommit { name: name.to_owned() }.into(),
                None => GitError::Failed { command, said },
            }),
            Err(error) => Err(error),
        }
    }

    /// The paths that git lists and that are `wanted`, each with a NUL behind it.
    fn paths(
        &self,
        git: &Git,
        arguments: &[&str],
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<u8>, GitError> {
        let listed = git.bytes(arguments)?;
        let paths = listed.split_inclusive(|byte| *byte == 0).filter(|path| {
            let path = std::ffi::OsStr::from_bytes(path.strip_suffix(b"\0").unwrap_or(path));
            wanted(&self.root.join(path))
        });
        Ok(paths.collect::<Vec<_>>().concat())
    }

    /// Whether a file may have changed since the last look began.
    fn is_fresh(&self, path: &Path) -> bool {
        let began = self.scratch.folder.join("began").metadata().map(|began| began.mtime());
        let changed = path.symlink_metadata().map(|found| found.ctime());
        matches!((began, changed), (Ok(began), Ok(changed)) if changed >= began)
    }

    /// Takes paths out of our index.
    fn forget(&self, paths: &[u8]) -> Result<(), GitError> {
        self.with_paths(&["rm", "--cached", "--quiet", "--force", "--ignore-unmatch"], paths)
    }

    /// Runs git on a list of paths; nothing for none.
    fn with_paths(&self, arguments: &[&str], paths: &[u8]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let list = self.scratch.put("paths", paths)?;
        let from = format!("--pathspec-from-file={}", list.display());
        let literal = self.own.clone().variable("GIT_LITERAL_PATHSPECS", "1");
        literal.text(&[arguments, &[&from, "--pathspec-file-nul"]].concat()).map(drop)
    }
}

/// The names of all filters that are configured: what they make of a file is not what was looked at.
pub fn filters(root: &Path) -> Result<Vec<String>, GitError> {
    let keys = ["config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];
    let found = Git::at(root).try_text(&keys)?.unwrap_or_default();
    let name = |key: &str| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned());
    let mut names: Vec<String> = found.lines().filter_map(name).collect();
    names.sort();
    names.dedup();
    match names.iter().find(|name| name.contains(['=', '\n'])) {
        Some(name) => Err(Mistake::FilterName { name: name.clone() }.into()),
        None => Ok(names),
    }
}

/// The repository within this one of which git says that it has no commit.
fn without_commit(said: &str) -> Option<&str> {
    let line = said.lines().find(|line| line.contains("does not have a commit checked out"))?;
    line.split('\'').nth(1).map(|name| name.trim_end_matches('/'))
}

/// A folder of ours for git to work in, one process at a time.
pub(crate) struct ContentScratch {
    pub(crate) folder: PathBuf,
    /// Held by every git that works here: one whose process was killed would change an index under the next.
    pub(crate) turn: Hold,
}

impl ContentScratch {
    pub(crate) fn take(place: &Place) -> Result<Self, GitError> {
        let folder = place.state.join("scratch").join(place.tree.as_str());
        file::make_private_folder(&folder)?;
        let turn = FileLock::acquire(&folder.join("lock"))?;
        // Not before: the process whose turn it was takes them away at its end.
        file::make_private_folder(&folder.join("objects"))?;
        // What a git that was killed has left would keep every later one from working.
        file::remove(&folder.join("index.lock"))?;
        Ok(Self { folder, turn: Hold::of(turn) })
    }

    /// Writes a file that no other process reads while it is our turn.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, GitError> {
        let path = self.folder.join(name);
        let written = fs::File::create(&path).and_then(|mut file| file.write_all(bytes));
        match written {
            Ok(()) => Ok(path),
            Err(error) => Err(GitError::file("write", &path, error)),
        }
    }
}

impl Drop for ContentScratch {
    fn drop(&mut self) {
        // What stays costs space only, and goes next time.
        let _kept = fs::remove_dir_all(self.folder.join("objects"));
    }
}
