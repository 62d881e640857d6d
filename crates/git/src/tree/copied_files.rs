//! Files that a new work tree gets beside what is tracked, as `.worktreeinclude` says.
//!
//! It has the syntax of `.gitignore`. What it matches and git ignores in the project's root is
//! copied: settings and keys that a project needs and does not track. Only regular files are;
//! neither on the way to a file nor at its new place is a link followed.

use super::{Trees, make::unusable};
use crate::error::{GitError, Mistake};
use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Component, Path, PathBuf},
};

const FILE: &str = ".worktreeinclude";

/// More files than a person means to copy into every tree; a folder of packages is to be shared.
const FILES_MAX: usize = 20_000;

/// Paths for one call of git, well below what a command line may hold.
const PATHS_AT_ONCE: usize = 200;

/// Copies what is to be copied; what is there already stays.
pub(super) fn copy(trees: &Trees, tree: &Path) -> Result<(), GitError> {
    if !trees.source().join(FILE).symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    let from = format!("--exclude-from={FILE}");
    for path in ignored_among(trees, trees.source(), FILE, &[from])? {
        copy_one(trees.source(), tree, &path, Existing::Stay)
            .map_err(|error| unusable(&tree.join(&path), error))?;
    }
    Ok(())
}

/// What becomes of a file that stands where one is to be copied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    Stay,
    Replace,
}

/// What git ignores in a work tree and the given patterns match, which `origin` has.
pub(super) fn ignored_among(
    trees: &Trees,
    folder: &Path,
    origin: &'static str,
    patterns: &[String],
) -> Result<Vec<PathBuf>, GitError> {
    let git = trees.git_in(folder)?;
    let others = ["ls-files", "-z", "--others", "--ignored"];
    let away = ["--", ".", ":(exclude,top)worktree", ":(exclude,top).waypost"];
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let listed = git.bytes(&[&others[..], &patterns, &away].concat())?;
    let matched: Vec<&str> = split(&listed).filter_map(|path| str::from_utf8(path).ok()).collect();
    if matched.len() > FILES_MAX {
        let count = matched.len();
        return Err(Mistake::TooManyFiles { file: origin, count, max: FILES_MAX }.into());
    }
    let literal = git.variable("GIT_LITERAL_PATHSPECS", "1");
    let mut ignored = BTreeSet::new();
    for paths in matched.chunks(PATHS_AT_ONCE) {
        let standard = ["--exclude-standard", "--"];
        let listed = literal.bytes(&[&others[..], &standard, paths].concat())?;
        ignored.extend(split(&listed).map(|path| PathBuf::from(OsStr::from_bytes(path))));
    }
    Ok(ignored.into_iter().collect())
}

pub(super) fn split(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

/// Copies one regular file with its permissions to the same path below another folder.
pub(super) fn copy_one(from: &Path, to: &Path, path: &Path, existing: Existing) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let (from, to) = (open_folder(from)?, open_folder(to)?);
    let (Some(from), Some(to)) = (descend(&from, path, false)?, descend(&to, path, true)?) else {
        return Ok(());
    };
    let reading = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = match rustix::fs::openat(&from, name, reading, Mode::empty()) {
        Ok(source) => File::from(source),
        // It has gone meanwhile, or is a link.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let stat = rustix::fs::fstat(&source)?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    let writing =
        OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if existing == Existing::Replace {
        return replace(&source, &to, name, (writing, mode));
    }
    match rustix::fs::openat(&to, name, writing, mode) {
        Ok(target) => io::copy(&mut &source, &mut File::from(target)).map(drop),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Puts a file in the place of another one in one step. What is no regular file stays.
fn replace(
    source: &File,
    to: &OwnedFd,
    name: &OsStr,
    (writing, mode): (OFlags, Mode),
) -> io::Result<()> {
    let there = rustix::fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW);
    if there.is_ok_and(|stat| !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file()) {
        return Ok(());
    }
    let aside = OsString::from(format!(".waypost-{}", std::process::id()));
    // What a process of the same number has left.
    let _none = rustix::fs::unlinkat(to, &aside, AtFlags::empty());
    let target = rustix::fs::openat(to, &aside, writing, mode)?;
    io::copy(&mut &*source, &mut File::from(target))?;
    Ok(rustix::fs::renameat(to, &aside, to, name)?)
}

/// The folder that a path's last part is in, without following links; none if there is a link.
fn descend(top: &OwnedFd, path: &Path, makes: bool) -> io::Result<Option<OwnedFd>> {
    let mut folder = top.as_fd().try_clone_to_owned()?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else { return Ok(None) };
        if makes {
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = match rustix::fs::openat(&folder, part, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(Some(folder))
}

fn open_folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}
