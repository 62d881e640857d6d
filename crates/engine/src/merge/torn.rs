//! A checkout in which git was killed while it moved a branch.
//!
//! Git writes one file after another, then the index, then the branch. Killed in between it leaves
//! files that nobody has edited and that look as if somebody had. So every move is noted before it
//! begins. What a move that was cut off has left is taken back from that note: each file that has
//! what the move was to write, or a beginning of it, or nothing, was clean before. Everything else is
//! somebody's own and stays.

use super::join::paths;
use crate::{
    error::EngineError,
    git::{Git, is_safe_ref},
    tree::Trees,
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};
use waypost_store::file;

/// The note; below the journal's folder.
const NOTE: &str = "scratch/move";
const NOTE_MAX: u64 = 64 << 10;

/// Paths for one call of git.
const AT_ONCE: usize = 200;

/// What a tree has at a path that has none.
const NOTHING: &str = "000000";
const SUBMODULE: &str = "160000";

/// A move that may have been cut off.
struct Cut {
    folder: PathBuf,
    old: String,
    new: String,
}

/// A path in which two trees differ: mode and object on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    old: (String, String),
    new: (String, String),
}

impl Trees {
    /// Notes that the checkout in `folder` is being moved.
    pub(super) fn note_move(
        &self,
        folder: &Path,
        (old, new): (&str, &str),
    ) -> Result<(), EngineError> {
        let note = [format!("{old}\n{new}\n").as_bytes(), folder.as_os_str().as_bytes()].concat();
        Ok(file::replace(&self.state().join(NOTE), &note, file::PRIVATE)?)
    }

    /// The move has come to its end.
    pub(super) fn forget_move(&self) -> Result<(), EngineError> {
        Ok(file::remove(&self.state().join(NOTE))?)
    }

    /// Takes back what a move that was cut off has left.
    pub(super) fn undo_move(&self) -> Result<(), EngineError> {
        let note = file::read_bounded(&self.state().join(NOTE), NOTE_MAX)?;
        let Some(cut) = note.and_then(|note| Cut::parse(&note)) else { return Ok(()) };
        if let Ok(git) = self.git_in(&cut.folder)
            && git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?.as_ref()
                == Some(&cut.old)
        {
            cut.undo(&git.durable())?;
        }
        self.forget_move()
    }
}

impl Cut {
    fn parse(note: &[u8]) -> Option<Self> {
        let mut lines = note.splitn(3, |byte| *byte == b'\n');
        let mut commit =
            || String::from_utf8(lines.next()?.to_vec()).ok().filter(|it| is_safe_ref(it));
        let (old, new) = (commit()?, commit()?);
        let folder = PathBuf::from(OsString::from_vec(lines.next()?.to_vec()));
        Some(Self { folder, old, new })
    }

    fn undo(&self, git: &Git) -> Result<(), EngineError> {
        let Self { folder, old, new } = self;
        let git = git.clone().variable("GIT_LITERAL_PATHSPECS", "1");
        let tree = ["diff-tree", "-r", "-z", "--raw", "--no-renames", old, new];
        let changes = read_raw(&git.bytes(&tree)?);
        let index = ["diff-index", "--cached", "-z", "--raw", "--no-renames", old, "--"];
        let staged = read_raw(&git.bytes(&index)?);
        let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
        let mut restored = Vec::new();
        for line in paths(&git.bytes(&status)?) {
            let Some((path, change)) = line.get(3..).and_then(|it| changes.get_key_value(it))
            else {
                continue;
            };
            let is_ours = match staged.get(path) {
                Some(staged) => staged.new == change.new,
                None => true,
            };
            if is_ours && self.has_left(&git, path, change)? {
                restored.push((path.as_str(), change.old.0 != NOTHING, staged.contains_key(path)));
            }
        }
        let some = |of: fn(&(&str, bool, bool)) -> bool| -> Vec<&str> {
            restored.iter().filter(|it| of(it)).map(|(path, ..)| *path).collect()
        };
        let restore = |how: &[&str], paths: &[&str]| -> Result<(), EngineError> {
            let source = format!("--source={old}");
            let start = [&["restore", "--quiet", &source], how, &["--"]].concat();
            let mut each = paths.chunks(AT_ONCE);
            each.try_for_each(|some| git.text(&[&start, some].concat()).map(drop))
        };
        restore(&["--staged"], &some(|(_, _, is_staged)| *is_staged))?;
        restore(&["--worktree"], &some(|(_, was_there, _)| *was_there))?;
        for path in some(|(_, was_there, _)| !was_there) {
            file::remove(&folder.join(path))?;
        }
        Ok(())
    }

    /// Whether what stands at a path can be what git has left there, and nothing is lost with it.
    fn has_left(&self, git: &Git, path: &str, change: &Change) -> Result<bool, EngineError> {
        let place = self.folder.join(path);
        let found = match place.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                fs::read_link(&place).map(|to| to.into_os_string().into_vec())
            }
            Ok(found) if found.is_file() => fs::read(&place),
            // A submodule is a folder, and git does not touch it.
            Ok(_) => return Ok(change.new.0 == SUBMODULE),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => Err(error),
        };
        let found = found.map_err(|error| EngineError::Missing {
            message: format!("cannot read {}: {error}", place.display()),
            hint: None,
        })?;
        for (commit, (mode, _)) in [(&self.new, &change.new), (&self.old, &change.old)] {
            if mode != NOTHING && mode != SUBMODULE {
                let written = git.bytes(&["cat-file", "--filters", &format!("{commit}:{path}")])?;
                if written.starts_with(&found) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Reads `:OLDMODE NEWMODE OLD NEW STATUS`, NUL, path, NUL, and so on.
fn read_raw(printed: &[u8]) -> BTreeMap<String, Change> {
    let fields = paths(printed);
    let read = |pair: &[String]| {
        let mut words = pair[0].strip_prefix(':')?.split(' ');
        let mut word = || words.next().map(str::to_owned);
        let (old, new) = (word()?, word()?);
        let (old, new) = ((old, word()?), (new, word()?));
        Some((pair[1].clone(), Change { old, new }))
    };
    fields.chunks_exact(2).filter_map(read).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the user, and git that was killed")]
mod tests {
    use super::*;
    use crate::project::Project;
    use std::process::Command;
    use waypost_model::actor::Actor;

    /// A checkout at a commit from which another one changes `a`, deletes `b` and adds `c` and
    /// `d/e`.
    struct Checkout {
        _folder: tempfile::TempDir,
        root: PathBuf,
        old: String,
        new: String,
    }

    impl Checkout {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap().join("shop");
            fs::create_dir(&root).unwrap();
            let blank = String::new;
            let mut this = Self { _folder: folder, root, old: blank(), new: blank() };
            this.git("init -q -b main .");
            this.write(&[("a", "old a\n"), ("b", "old b\n"), ("users", "committed\n")]);
            this.git("add -A");
            this.git("commit -q -m old");
            this.old = this.git("rev-parse HEAD");
            this.write(&[("a", "new, longer a\n"), ("c", "new c\n"), ("d/e", "new e\n")]);
            this.git("rm -q b");
            this.git("add -A");
            this.git("commit -q -m new");
            this.new = this.git("rev-parse HEAD");
            this.git("reset -q --hard HEAD~1");
            this.write(&[("users", "edited\n")]);
            this
        }

        fn write(&self, files: &[(&str, &str)]) {
            for (name, text) in files {
                let path = self.root.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }

        fn git(&self, line: &str) -> String {
            let user = ["-c", "user.name=Mina", "-c", "user.email=mina@example.org"];
            let mut git = Command::new("git");
            git.args(user).args(line.split(' ')).current_dir(&self.root);
            let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
            assert!(output.status.success(), "git {line}: {output:?}");
            String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
        }

        /// The status after the move from old to new was cut off with `left` in the checkout.
        fn after(left: impl FnOnce(&Self)) -> Vec<String> {
            let this = Self::new();
            let trees = Trees::of(&Project::find(&this.root, Actor::Waypost).unwrap()).unwrap();
            trees.note_move(&this.root, (&this.old, &this.new)).unwrap();
            left(&this);
            trees.undo_move().unwrap();
            // Once more there is nothing to take back.
            trees.undo_move().unwrap();
            assert_eq!(fs::read_to_string(this.root.join("users")).unwrap(), "edited\n");
            let status = this.git("status --porcelain --untracked-files=all");
            status.lines().map(str::to_owned).filter(|line| line != " M users").collect()
        }
    }

    const CLEAN: [&str; 0] = [];

    #[test]
    fn whatever_git_was_killed_at_is_taken_back() {
        let remove = |it: &Checkout, name: &str| fs::remove_file(it.root.join(name)).unwrap();
        assert_eq!(Checkout::after(|_| {}), CLEAN, "nothing was done yet");
        assert_eq!(Checkout::after(|it| remove(it, "a")), CLEAN, "between two versions");
        assert_eq!(Checkout::after(|it| it.write(&[("a", "")])), CLEAN, "nothing written");
        assert_eq!(Checkout::after(|it| it.write(&[("a", "new, lo")])), CLEAN, "half");
        assert_eq!(Checkout::after(|it| it.write(&[("a", "new, longer a\n")])), CLEAN, "all");
        assert_eq!(Checkout::after(|it| it.write(&[("c", "new c\n"), ("d/e", "ne")])), CLEAN);
        assert_eq!(Checkout::after(|it| remove(it, "b")), CLEAN);
        let all = |it: &Checkout| drop(it.git(&format!("read-tree -m -u {} {}", it.old, it.new)));
        assert_eq!(Checkout::after(all), CLEAN, "all but the branch");
        let cut_again = |it: &Checkout| {
            all(it);
            it.write(&[("a", "old")]);
        };
        assert_eq!(Checkout::after(cut_again), CLEAN, "in the middle of taking it back");
    }

    #[test]
    fn what_somebody_has_edited_meanwhile_stays() {
        assert_eq!(Checkout::after(|it| it.write(&[("a", "mine\n")])), [" M a"]);
        assert_eq!(Checkout::after(|it| it.write(&[("c", "mine\n")])), ["?? c"]);
        assert_eq!(Checkout::after(|it| it.write(&[("f", "mine\n")])), ["?? f"]);
        let staged = |it: &Checkout| {
            it.write(&[("a", "mine\n")]);
            it.git("add a");
            it.write(&[("a", "")]);
        };
        assert_eq!(Checkout::after(staged), ["MM a"]);
        let moved = |it: &Checkout| {
            it.git(&format!("merge -q --ff-only {}", it.new));
            it.write(&[("a", "")]);
        };
        assert_eq!(Checkout::after(moved), [" M a"], "the move had come to its end");
    }
}
