//! A checkout in which git was killed while it moved a branch, or which lost its power after that.
//!
//! Git writes one file after another, then the index, then the branch. Killed in between it leaves
//! files that no person has edited and that look as if one had; and a power cut takes away what was
//! written last, though the branch has moved. So every move is noted before it begins, until all of
//! it is synced. What a move that was cut off has left is settled from that note, to where the branch
//! is: each file that has what the move was to write or to replace, or a beginning of it, or nothing,
//! was clean before. Everything else is a person's own and stays.

use super::{
    join::paths,
    obstructions::{Change, Changes, NOTHING, SUBMODULE, file_above, read_raw},
};
use crate::{
    command::{Git, is_safe_ref},
    durable::sync_files,
    error::GitError,
    tree::{Trees, restore_paths},
};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};
use waypost_store::file;

/// The note; below the journal's folder.
const NOTE: &str = "scratch/move";
const NOTE_MAX: u64 = 64 << 10;

/// A move that may have been cut off.
struct CutMove {
    folder: PathBuf,
    old: String,
    new: String,
}

/// Notes that the checkout in `folder` is being moved.
pub(super) fn note_move(
    trees: &Trees,
    folder: &Path,
    (old, new): (&str, &str),
) -> Result<(), GitError> {
    let note = [format!("{old}\n{new}\n").as_bytes(), folder.as_os_str().as_bytes()].concat();
    Ok(file::replace(&trees.state().join(NOTE), &note, file::PRIVATE)?)
}

/// The move has come to its end; what it has written is synced first.
pub(super) fn end_move(trees: &Trees, folder: &Path, changed: &[String]) -> Result<(), GitError> {
    let files: Vec<PathBuf> = changed.iter().map(|path| folder.join(path)).collect();
    sync_files(folder, &files)?;
    forget_move(trees)
}

/// Nothing of a move is left, or none of it was done.
pub(super) fn forget_move(trees: &Trees) -> Result<(), GitError> {
    Ok(file::remove_durably(&trees.state().join(NOTE))?)
}

/// Settles what a move that was cut off has left: takes it back where the branch has not moved, and
/// makes it whole where it has.
pub fn settle_move(trees: &Trees) -> Result<(), GitError> {
    let (trees, _turn) = trees.landing_turn()?;
    settle_in_turn(&trees)
}

/// The same for one whose turn it is.
pub(super) fn settle_in_turn(trees: &Trees) -> Result<(), GitError> {
    let note = file::read_bounded(&trees.state().join(NOTE), NOTE_MAX)?;
    let Some(cut) = note.and_then(|note| CutMove::parse(&note)) else { return Ok(()) };
    let Ok(git) = trees.git_in(&cut.folder) else { return forget_move(trees) };
    let git = git.durable_with_index();
    let head = git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?.unwrap_or_default();
    // One that has come to the new commit is whole when the way back to the old one is undone.
    let cut = match head == cut.new {
        true => CutMove { folder: cut.folder, old: cut.new, new: cut.old },
        false => cut,
    };
    if head != cut.old {
        return forget_move(trees);
    }
    let settled = cut.undo(trees, &git)?;
    end_move(trees, &cut.folder, &settled)
}

impl CutMove {
    fn parse(note: &[u8]) -> Option<Self> {
        let mut lines = note.splitn(3, |byte| *byte == b'\n');
        let mut commit =
            || String::from_utf8(lines.next()?.to_vec()).ok().filter(|it| is_safe_ref(it));
        let (old, new) = (commit()?, commit()?);
        let folder = PathBuf::from(OsString::from_vec(lines.next()?.to_vec()));
        Some(Self { folder, old, new })
    }

    /// Brings every file to the old commit that is not a person's own; says which were touched.
    fn undo(&self, trees: &Trees, git: &Git) -> Result<Vec<String>, GitError> {
        let Self { folder, old, new } = self;
        let tree = ["diff-tree", "-r", "-z", "--raw", "--no-renames", old, new];
        let changes = read_raw(&git.bytes(&tree)?);
        let index = ["diff-index", "--cached", "-z", "--raw", "--no-renames", old, "--"];
        let staged = read_raw(&git.bytes(&index)?);
        let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
        let status = git.bytes(&status)?;
        let dirty: BTreeSet<&[u8]> =
            status.split(|byte| *byte == 0).filter_map(|line| line.get(3..)).collect();
        let (mut to_unstage, mut to_restore, mut to_remove) = (Vec::new(), Vec::new(), Vec::new());
        for (path, change) in &changes {
            // What git ignores is not in its status; nothing was there before the move.
            let is_added = change.is_added() && self.place(path).symlink_metadata().is_ok();
            let is_ours = staged.get(path).is_none_or(|staged| staged.new == change.new);
            if !is_ours || !(is_added || dirty.contains(&**path)) {
                continue;
            }
            // Behind a file or a link in place of a folder is nothing that git has written.
            let is_behind = file_above(folder, path, &Changes::new())?.is_some();
            if is_behind || !self.has_left(git, path, change)? {
                continue;
            }
            let line = [path, &b"\0"[..]].concat();
            if staged.contains_key(path) {
                to_unstage.extend_from_slice(&line);
            }
            match change.is_added() {
                true => to_remove.push(path),
                false => to_restore.extend_from_slice(&line),
            }
        }
        let source = format!("--source={old}");
        restore_paths(trees, git, &[&source, "--staged"], &to_unstage)?;
        restore_paths(trees, git, &[&source, "--worktree"], &to_restore)?;
        for path in to_remove {
            file::remove(&folder.join(OsStr::from_bytes(path)))?;
        }
        Ok(paths(&to_restore))
    }

    fn place(&self, path: &[u8]) -> PathBuf {
        self.folder.join(OsStr::from_bytes(path))
    }

    /// Whether what stands at a path can be what git has left there, and nothing is lost with it.
    fn has_left(&self, git: &Git, path: &[u8], change: &Change) -> Result<bool, GitError> {
        let place = self.place(path);
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
        let found = found.map_err(|error| GitError::file("read", &place, error))?;
        for (commit, (mode, object)) in [(&self.new, &change.new), (&self.old, &change.old)] {
            if mode != NOTHING && mode != SUBMODULE {
                let written = match str::from_utf8(path) {
                    Ok(path) => git.bytes(&["cat-file", "--filters", &format!("{commit}:{path}")]),
                    // No argument can have such a name.
                    Err(_) => git.bytes(&["cat-file", "blob", object]),
                }?;
                if written.starts_with(&found) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the user, and git that was killed")]
mod tests {
    use super::*;
    use crate::tree::{tests::folder_in_memory, trees_of};
    use std::process::Command;
    use waypost_model::config::WorktreeConfig;

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
            let folder = folder_in_memory();
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
            let trees = trees_of(&this.root, &WorktreeConfig::default());
            note_move(&trees, &this.root, (&this.old, &this.new)).unwrap();
            left(&this);
            settle_move(&trees).unwrap();
            // Once more there is nothing to take back.
            settle_move(&trees).unwrap();
            assert_eq!(fs::read_to_string(this.root.join("users")).unwrap(), "edited\n");
            let status = this.git("status --porcelain --untracked-files=all");
            status.lines().map(str::to_owned).filter(|line| line != " M users").collect()
        }
    }

    impl Checkout {
        /// Something about the checkout after a move was cut off that had left this in `c`, which git
        /// ignores.
        fn leaves<T>(left: &str, look: impl FnOnce(&Self) -> T) -> T {
            let this = Self::new();
            let trees = trees_of(&this.root, &WorktreeConfig::default());
            fs::write(this.root.join(".git/info/exclude"), "c\n").unwrap();
            note_move(&trees, &this.root, (&this.old, &this.new)).unwrap();
            this.write(&[("c", left)]);
            settle_move(&trees).unwrap();
            look(&this)
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
    fn whatever_a_power_cut_took_from_a_checkout_that_had_moved_is_put_back() {
        let moved = |it: &Checkout| drop(it.git(&format!("merge -q --ff-only {}", it.new)));
        let check = |files: &[(&str, &str)]| {
            let status = Checkout::after(|it| {
                moved(it);
                it.write(files);
            });
            assert_eq!(status, CLEAN, "{files:?}");
        };
        check(&[]);
        check(&[("a", "")]);
        check(&[("a", "new, lo"), ("c", ""), ("d/e", "")]);
        check(&[("a", "old a\n"), ("b", "old b\n")]);
        let gone = |it: &Checkout| {
            moved(it);
            fs::remove_file(it.root.join("a")).unwrap();
            fs::remove_dir_all(it.root.join("d")).unwrap();
        };
        assert_eq!(Checkout::after(gone), CLEAN, "names that were not written");
        let old_index = |it: &Checkout| {
            let index = fs::read(it.root.join(".git/index")).unwrap();
            moved(it);
            fs::write(it.root.join(".git/index"), index).unwrap();
        };
        assert_eq!(Checkout::after(old_index), CLEAN, "the index is the old one");
    }

    #[test]
    fn what_git_ignores_is_taken_back_as_well() {
        for (left, is_gone) in [("new c\n", true), ("new", true), ("mine\n", false)] {
            let there = |it: &Checkout| it.root.join("c").exists();
            assert_eq!(Checkout::leaves(left, there), !is_gone, "{left:?}");
        }
    }

    #[test]
    fn names_that_are_no_text_are_taken_back() {
        let this = Checkout::new();
        let odd = this.root.join(OsStr::from_bytes(b"odd-\xff"));
        fs::write(&odd, "odd\n").unwrap();
        this.git("add -A");
        this.git("commit -q -m odd");
        let (old, new) = (this.git("rev-parse HEAD~1"), this.git("rev-parse HEAD"));
        this.git("reset -q --hard HEAD~1");
        let trees = trees_of(&this.root, &WorktreeConfig::default());
        note_move(&trees, &this.root, (&old, &new)).unwrap();
        fs::write(&odd, "od").unwrap();
        settle_move(&trees).unwrap();
        assert!(!odd.exists());
    }

    #[test]
    fn what_a_person_has_edited_meanwhile_stays() {
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
            it.write(&[("a", "mine\n")]);
        };
        assert_eq!(Checkout::after(moved), [" M a"], "the move had come to its end");
    }
}
