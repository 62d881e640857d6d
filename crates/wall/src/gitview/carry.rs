//! Carries files between a git folder and its copy, as bytes.
//!
//! The copy belongs to a process that may be hostile: nothing in it is followed, waited for, or
//! read without a limit. What goes out goes through git's own lock file, so that git outside and
//! this process take turns.

use super::names;
use crate::{
    WallError,
    disk::{Disk as _, Kind, RealDisk},
};
use rustix::fs::OFlags;
use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// A list of a million packed references fits.
const SIZE_MAX: u64 = 128 << 20;

/// More files than a rebase of a thousand commits leaves.
const FILES_MAX: usize = 20_000;

/// What tells that a file is another one than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    inode: u64,
    size: u64,
    time: (i64, i64),
}

impl Mark {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        let time = (found.mtime(), found.mtime_nsec());
        Some(Self { inode: found.ino(), size: found.size(), time })
    }
}

fn plain(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    match found.is_file() && found.len() <= SIZE_MAX {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain(path)?.take(SIZE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, WallError> {
    bytes(path).map_err(WallError::file("read", path))
}

/// Writes a file without another one taking its place: there is a mount on it.
pub(super) fn rewrite(path: &Path, bytes: &[u8]) -> Result<(), WallError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let write = |mut file: File| file.write_all(bytes);
    options.open(path).and_then(write).map_err(WallError::file("write", path))
}

/// A name beside `path` that no one else uses.
fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".waypost-{name}.{}", std::process::id()))
}

/// Puts a new file in a place, whatever stands there.
#[expect(clippy::disallowed_methods, reason = "a copy for one call, which needs no durability")]
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), WallError> {
    let aside = aside(path);
    let _gone = fs::remove_file(&aside);
    let write = |mut file: File| file.write_all(bytes);
    let placed = File::create_new(&aside).and_then(write).and_then(|()| fs::rename(&aside, path));
    placed.map_err(WallError::file("write", path))
}

/// Puts the same file in another place; a copy of it where that cannot be.
#[expect(clippy::disallowed_methods, reason = "a copy for one call, which needs no durability")]
pub(super) fn link(from: &Path, to: &Path) -> Result<(), WallError> {
    let aside = aside(to);
    let _gone = fs::remove_file(&aside);
    let placed = fs::hard_link(from, &aside).and_then(|()| fs::rename(&aside, to));
    // A rename between two names of one file does nothing.
    let _gone = fs::remove_file(&aside);
    placed.or_else(|_| replace(to, &read(from)?))
}

pub(super) fn remove(path: &Path) -> Result<(), WallError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(WallError::File { action: "remove", path: path.into(), source })
        }
        _ => Ok(()),
    }
}

/// Files without which a folder is no repository.
const NEVER_REMOVED: &[&str] = &["HEAD", "index", "packed-refs"];

/// Takes a file of the copy over into the git folder, or its being gone. Says no if it is none that
/// git could have left there.
#[expect(clippy::disallowed_methods, reason = "git's own protocol: a lock that becomes the file")]
pub(super) fn out(real: &Path, copy: &Path, name: &OsStr, mark: Option<Mark>) -> io::Result<bool> {
    let (to, from) = (real.join(name), copy.join(name));
    let Some(mark) = mark else {
        let is_kept = NEVER_REMOVED.iter().any(|kept| name == *kept);
        return if is_kept { Ok(false) } else { fs::remove_file(&to).map(|()| true) };
    };
    let lock = real.join(format!("{}.lock", name.to_string_lossy()));
    if names::is_index(name) {
        if plain(&from).is_err() {
            return Ok(false);
        }
        if fs::hard_link(&from, &lock).is_ok() {
            let is_same = Mark::of(&lock).is_some_and(|found| found.inode == mark.inode)
                && RealDisk.kind(&lock) == Some(Kind::File);
            if is_same {
                return fs::rename(&lock, &to).map(|()| true);
            }
            fs::remove_file(&lock)?;
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    let Ok(bytes) = bytes(&from) else { return Ok(false) };
    // With either of these malformed git would not work in the repository at all.
    let is_well_formed = match name.to_str() {
        Some("HEAD") => is_head(&bytes),
        Some("packed-refs") => is_list_of_references(&bytes),
        _ => true,
    };
    if !is_well_formed {
        return Ok(false);
    }
    let mut file = File::create_new(&lock)?;
    let written = file.write_all(&bytes).and_then(|()| fs::rename(&lock, &to));
    if written.is_err() {
        fs::remove_file(&lock)?;
    }
    written.map(|()| true)
}

/// Whether these are the bytes of a `HEAD`: a branch, or the name of a commit.
fn is_head(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let text = text.trim_end_matches('\n');
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains("..") && name.bytes().all(|byte| byte > b' ')
    };
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash || text.strip_prefix("ref: refs/heads/").is_some_and(is_name)
}

/// Whether these are the bytes of `packed-refs`: names with their commits, and what tags lead to.
fn is_list_of_references(bytes: &[u8]) -> bool {
    let is_hash =
        |text: &[u8]| matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit);
    let is_line = |line: &[u8]| match line {
        [] | [b'#', ..] => true,
        [b'^', hash @ ..] => is_hash(hash),
        line => line.iter().position(|byte| *byte == b' ').is_some_and(|at| {
            is_hash(&line[..at]) && line[at + 1..].starts_with(b"refs/") && !line.contains(&0)
        }),
    };
    bytes.is_empty() || bytes.ends_with(b"\n") && bytes.split(|byte| *byte == b'\n').all(is_line)
}

/// Copies the plain files of a folder and of those in it, and removes what is there besides.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<(), WallError> {
    let _gone = fs::remove_dir_all(to);
    let mut left = vec![(from.to_owned(), to.to_owned())];
    let mut count = 0;
    while let Some((from, to)) = left.pop() {
        fs::create_dir(&to).map_err(WallError::file("make", &to))?;
        for name in RealDisk.names(&from) {
            count += 1;
            let (from, to) = (from.join(&name), to.join(&name));
            match RealDisk.kind(&from) {
                _ if count > FILES_MAX => return Ok(()),
                Some(Kind::Folder) => left.push((from, to)),
                Some(Kind::File) => replace(&to, &read(&from)?)?,
                Some(Kind::Link | Kind::Other) | None => {}
            }
        }
    }
    Ok(())
}

/// Whether an unfinished rebase has commands in it that going on would run.
pub(super) fn runs_commands(folder: &Path) -> bool {
    ["git-rebase-todo", "todo"].iter().any(|name| {
        let text = bytes(&folder.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().map(str::trim_start).any(|line| {
            let word = line.split_whitespace().next().unwrap_or_default();
            matches!(word, "exec" | "x")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_references_are_carried_out_as_such() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let list = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{hash} refs/heads/main\n{hash} refs/tags/v1\n^{hash}\n"
        );
        assert!(is_list_of_references(list.as_bytes()));
        assert!(is_list_of_references(b""));
        for bad in ["evil\n", "x refs/heads/main\n", "^x\n"] {
            assert!(!is_list_of_references(format!("{list}{bad}").as_bytes()), "{bad}");
        }
        assert!(!is_list_of_references(list.trim_end().as_bytes()));
        assert!(!is_list_of_references(format!("{hash} HEAD\n").as_bytes()));
    }
}
