//! Files on disk: bounded reads and atomic, durable replacement.
//!
//! Invariants: at every instant a file is byte for byte the old one or the new one; what was
//! reported as written survives a power cut; no function follows a symbolic link at the last
//! component, opens a device or blocks on a FIFO; `follow` alone tells where a link leads. An error of `fsync` is final: the temporary
//! file is dropped and the same data is never synced again, because the kernel may have
//! forgotten that it was not written.
//!
//! Deliberately not here: locks (see `lock`), and any knowledge of what the bytes mean.

mod exchange;
mod remains;
mod temp;

pub(crate) use exchange::exchange_expecting;
pub use exchange::{
    Aside, Displaced, Exchanged, Shown, Untouched, exchange, leftovers, show, sweep,
};
pub use remains::clear_remains;

use crate::error::StoreError;
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use temp::Temp;

/// Permissions of what only the user may read: journals, locks, refused files.
pub const PRIVATE: u32 = 0o600;
/// Permissions of what stands in the work tree, before the umask.
pub const SHARED: u32 = 0o644;
/// Damaged files that are kept beside the good one; enough to look into what happened.
const DAMAGED_KEPT: u64 = 5;
/// As many links as the system itself follows.
const LINKS_MAX: u32 = 40;
const FOLDER_PRIVATE: u32 = 0o700;
const FOLDER_SHARED: u32 = 0o755;

/// What stands at a path instead of a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Folder,
    SymbolicLink,
    Fifo,
    Socket,
    Device,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Folder => "a folder",
            Self::SymbolicLink => "a symbolic link",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// What the system says of a file's content without reading it.
///
/// Equal marks mean an unchanged file: `exchange` sets a modification time that no later write
/// can produce, so there is no instant in which a quick edit could go unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub dev: u64,
    pub ino: u64,
    pub size: u64,
    pub mtime_ns: i128,
    pub ctime_ns: i128,
}

impl Mark {
    /// Whether it is the same file with the same content; its name may be another one now.
    pub fn is_same_content(&self, other: &Self) -> bool {
        let of = |mark: &Self| (mark.dev, mark.ino, mark.size, mark.mtime_ns);
        of(self) == of(other)
    }

    /// The mark of the file that stands at `path`, without following a link; `None`: nothing.
    pub fn of(path: &Path) -> Result<Option<Self>, StoreError> {
        Ok(stat(path)?.as_ref().map(Self::from_stat))
    }

    #[expect(
        clippy::unnecessary_cast,
        reason = "the widths of these fields differ between platforms"
    )]
    fn from_stat(stat: &Stat) -> Self {
        let nanos = |secs: i64, nsec: u64| i128::from(secs) * 1_000_000_000 + i128::from(nsec);
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            ctime_ns: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
        }
    }

    pub(crate) fn of_open(file: &File, path: &Path) -> Result<Self, StoreError> {
        let stat = rustix::fs::fstat(file).map_err(|e| StoreError::file("look at", path, e))?;
        Ok(Self::from_stat(&stat))
    }

    /// Whether both name the same file, whatever it holds.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// Reads a regular file of at most `max` bytes; `None` when there is none.
pub fn read_bounded(path: &Path, max: u64) -> Result<Option<Vec<u8>>, StoreError> {
    match open_regular(path)? {
        Some(file) => read_open(&file, path, max).map(Some),
        None => Ok(None),
    }
}

/// As `read_bounded`, and no link is followed anywhere on the way to the file, not even one that is put there
/// while the way is gone.
pub fn read_without_links(path: &Path, max: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let file = match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => {
            let what = FileKind::SymbolicLink;
            return Err(StoreError::NotRegular { path: path.to_owned(), what });
        }
        Err(e) => return Err(StoreError::file("open", path, e)),
    };
    let stat = rustix::fs::fstat(&file).map_err(|e| StoreError::file("look at", path, e))?;
    refuse_special(&stat, path)?;
    read_open(&file, path, max).map(Some)
}

/// The way from `path` over symbolic links to what it stands for: `path` first, the last is no link.
///
/// For settings of a person's own, which may be kept elsewhere and linked to. All other readers refuse
/// links, and the way is returned so that each step of it can be watched.
pub fn follow(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut way = vec![path.to_owned()];
    for step in 0.. {
        let here = way.last().expect("the way begins with the path itself").clone();
        match stat(&here)? {
            Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {}
            None if step > 0 => {
                return Err(StoreError::Dangling { link: path.to_owned(), target: here });
            }
            _ => break,
        }
        if step == LINKS_MAX {
            let what = FileKind::SymbolicLink;
            return Err(StoreError::NotRegular { path: path.to_owned(), what });
        }
        let target = std::fs::read_link(&here).map_err(|e| StoreError::file("read", &here, e))?;
        way.push(parent(&here).join(target));
    }
    Ok(way)
}

/// Puts `bytes` at `path` in one step, whatever stood there before.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    make_parent(path)?;
    regular_stat(path)?;
    Temp::durable(path, bytes, mode)?.rename_to(path)?;
    sync_parent(path)
}

/// Like `replace`, with the permissions of the file that stands there.
pub fn rewrite(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    make_parent(path)?;
    let old = regular_stat(path)?;
    let temp = Temp::written(path, bytes, SHARED)?;
    if let Some(old) = old {
        temp.set_mode(Mode::from_raw_mode(old.st_mode))?;
    }
    temp.sync()?;
    temp.rename_to(path)?;
    sync_parent(path)
}

/// Like `replace`, for files that mean nothing after a power cut.
pub fn replace_volatile(path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    make_parent(path)?;
    regular_stat(path)?;
    Temp::written(path, bytes, mode)?.rename_to(path)
}

/// Like `replace_volatile`, for caches that are written with every command: after a power cut the file
/// may well be empty, and it is in place at once.
pub fn replace_cache(path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    replace_cache_by_pieces(path, &[bytes], mode)
}

/// The same with a content that is not in one piece in memory.
pub fn replace_cache_by_pieces(path: &Path, pieces: &[&[u8]], mode: u32) -> Result<(), StoreError> {
    make_parent(path)?;
    regular_stat(path)?;
    Temp::written_by_pieces(path, pieces, mode)?.trade_to(path)
}

/// Gives the file at `from` a second name, in place of what stands there; where the file system has no
/// second names it is copied. Who writes into one of them changes both.
pub fn link_volatile(from: &Path, to: &Path, max: u64) -> Result<(), StoreError> {
    make_parent(to)?;
    regular_stat(to)?;
    let beside = temp::fresh_name(to, "new");
    match rustix::fs::link(from, &beside) {
        Ok(()) => {
            temp::trade_or_rename(&beside, to).map_err(|e| StoreError::file("replace", to, e))
        }
        Err(_) => match read_bounded(from, max)? {
            Some(bytes) => replace_cache(to, &bytes, SHARED),
            None => Ok(()),
        },
    }
}

/// Puts `bytes` at `path` in one step if nothing stands there; `false`: something does.
pub fn create_new(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, StoreError> {
    make_parent(path)?;
    let created = Temp::durable(path, bytes, mode)?.create_at(path)?;
    sync_parent(path)?;
    Ok(created)
}

/// Like `create_new`, for files that mean nothing after a power cut.
pub(crate) fn create_volatile(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, StoreError> {
    make_parent(path)?;
    Temp::written(path, bytes, mode)?.create_at(path)
}

/// Moves the file at `path` to a name beside it that no other process knows, and returns that.
pub(crate) fn move_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let aside = temp::fresh_name(path, "new");
    rustix::fs::rename(path, &aside).map_err(|e| StoreError::file("rename", path, e))?;
    Ok(aside)
}

/// Moves `from` to `to` unless something stands there; a symbolic link is moved as it is.
pub fn move_new(from: &Path, to: &Path) -> Result<bool, StoreError> {
    match temp::place_new(from, to) {
        Ok(()) => sync_parent(to).map(|()| true),
        Err(Errno::EXIST) => Ok(false),
        Err(e) => Err(StoreError::file("rename", from, e)),
    }
}

/// Removes the file at `path`; that there is none is no error.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::file("remove", path, e)),
        _ => Ok(()),
    }
}

/// As `remove`, and after a power cut it is still gone.
pub fn remove_durably(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(StoreError::file("remove", path, e)),
    }
}

/// Makes an empty file beside `target` for another program to fill, and returns its path.
pub fn create_empty(target: &Path, mode: u32) -> Result<PathBuf, StoreError> {
    let mut temp = Temp::written(target, &[], mode)?;
    temp.disarm();
    Ok(temp.path().to_owned())
}

/// Copies the file at `from` to a temporary beside `target`, durably, and returns its path.
pub(crate) fn copy_to_temp(from: &Path, target: &Path, mode: u32) -> Result<PathBuf, StoreError> {
    let Some(mut source) = open_regular(from)? else {
        return Err(StoreError::Missing { path: from.to_owned() });
    };
    let mut temp = Temp::written(target, &[], mode)?;
    io::copy(&mut source, &mut temp.file()).map_err(|e| StoreError::file("copy", from, e))?;
    temp.sync()?;
    temp.disarm();
    Ok(temp.path().to_owned())
}

/// Makes what another program wrote into a file durable.
pub(crate) fn sync(path: &Path) -> Result<(), StoreError> {
    let file = File::open(path).map_err(|e| StoreError::file("open", path, e))?;
    file.sync_all().map_err(|e| StoreError::file("sync", path, e))
}

/// Keeps content that cannot be read beside `path`, and says where; once, however often it is found.
pub fn keep_damaged(path: &Path, bytes: &[u8]) -> Result<PathBuf, StoreError> {
    let prefix = with_suffix(path, ".corrupt-");
    let prefix = prefix.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    for name in list(parent(path))?.iter().filter(|name| name.starts_with(&prefix)) {
        let kept = parent(path).join(name);
        let found = read_bounded(&kept, bytes.len() as u64 + 1).ok().flatten();
        if found.as_deref() == Some(bytes) {
            return Ok(kept);
        }
    }
    let kept = name_for_damaged(path)?;
    replace(&kept, bytes, SHARED)?;
    Ok(kept)
}

/// A free name beside `path` for its damaged content; the oldest beyond the limit is removed.
pub(crate) fn name_for_damaged(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = parent(path);
    let prefix = with_suffix(path, ".corrupt-");
    let prefix = prefix.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let names = list(folder)?;
    let numbered = names.iter().filter_map(|name| {
        let rest = name.strip_prefix(&prefix)?;
        let number = rest.split('-').next()?.parse::<u64>().ok()?;
        Some((number, folder.join(name)))
    });
    let found: Vec<(u64, PathBuf)> = numbered.collect();
    let next = found.iter().map(|(number, _)| number + 1).max().unwrap_or(1);
    for (number, old) in &found {
        if number + DAMAGED_KEPT <= next {
            remove(old)?;
        }
    }
    Ok(with_suffix(path, &format!(".corrupt-{next}")))
}

/// `path` with something behind its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a folder that only the user may enter, with its parents.
pub fn make_private_folder(path: &Path) -> Result<(), StoreError> {
    make_folder(path, FOLDER_PRIVATE)
}

/// The regular files of a folder by name, in order; a missing folder has none.
pub fn list(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::file("list", folder, e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| StoreError::file("list", folder, e))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        // Our own names are ASCII, so what is not Unicode cannot be one of them.
        if let (true, Ok(name)) = (is_file, entry.file_name().into_string()) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Moves a file to a name that is free or may be overwritten, durably.
pub fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    rustix::fs::rename(from, to).map_err(|e| StoreError::file("rename", from, e))?;
    sync_parent(to)
}

pub(crate) fn stat(path: &Path) -> Result<Option<Stat>, StoreError> {
    match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(StoreError::file("look at", path, e)),
    }
}

/// Refuses anything at `path` that is not a regular file.
pub(crate) fn regular_stat(path: &Path) -> Result<Option<Stat>, StoreError> {
    match stat(path)? {
        Some(stat) => refuse_special(&stat, path).map(|()| Some(stat)),
        None => Ok(None),
    }
}

fn refuse_special(stat: &Stat, path: &Path) -> Result<(), StoreError> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::SymbolicLink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => FileKind::Device,
    };
    Err(StoreError::NotRegular { path: path.to_owned(), what })
}

/// Opens for reading what is a regular file; looks at it first, so that no device is opened.
pub(crate) fn open_regular(path: &Path) -> Result<Option<File>, StoreError> {
    if regular_stat(path)?.is_none() {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => {
            let what = FileKind::SymbolicLink;
            return Err(StoreError::NotRegular { path: path.to_owned(), what });
        }
        Err(e) => return Err(StoreError::file("open", path, e)),
    };
    // It may have been replaced since it was looked at.
    let stat = rustix::fs::fstat(&file).map_err(|e| StoreError::file("look at", path, e))?;
    refuse_special(&stat, path)?;
    Ok(Some(file))
}

fn read_open(file: &File, path: &Path, max: u64) -> Result<Vec<u8>, StoreError> {
    let too_large = || StoreError::TooLarge { path: path.to_owned(), max };
    let size = Mark::of_open(file, path)?.size;
    if size > max {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    let limit = max.saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|e| StoreError::file("read", path, e))?;
    if bytes.len() as u64 > max { Err(too_large()) } else { Ok(bytes) }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn make_parent(path: &Path) -> Result<(), StoreError> {
    make_folder(parent(path), FOLDER_SHARED)
}

/// Folders that a long-lived process stands on: where one of them is gone, it is not made again.
static STANDS_ON: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on this process does not make the folder again when it was deleted.
pub fn stand_on(folder: &Path) {
    stands_on().push(folder.to_owned());
}

/// The folder may be made again.
pub fn stand_off(folder: &Path) {
    let mut all = stands_on();
    if let Some(at) = all.iter().position(|it| it == folder) {
        all.swap_remove(at);
    }
}

/// A list of paths cannot be left half-changed.
fn stands_on() -> MutexGuard<'static, Vec<PathBuf>> {
    STANDS_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a folder is named as a repository's is. Only git makes those: where one is gone, its project was deleted,
/// and an empty one would take the place of whatever comes next.
fn is_repository(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(b".git"))
}

/// Makes `path` and its missing parents, each durable in the one above it.
fn make_folder(path: &Path, mode: u32) -> Result<(), StoreError> {
    let mut missing: Vec<PathBuf> = Vec::new();
    let mut folder = path;
    while !folder.is_dir() {
        missing.push(folder.to_owned());
        folder = parent(folder);
        if missing.last().is_some_and(|last| last == folder) {
            break;
        }
    }
    let is_kept_gone = |folder: &&PathBuf| is_repository(folder) || stands_on().contains(folder);
    if let Some(gone) = missing.iter().find(is_kept_gone) {
        return Err(StoreError::Missing { path: gone.clone() });
    }
    for folder in missing.into_iter().rev() {
        match rustix::fs::mkdir(&folder, Mode::from_raw_mode(mode)) {
            Ok(()) => sync_parent(&folder)?,
            // Another process made it first; if it is no folder, the next step says so.
            Err(Errno::EXIST) => {}
            Err(e) => return Err(StoreError::file("make folder", &folder, e)),
        }
    }
    Ok(())
}

/// Makes a rename in the folder of `path` durable.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let folder = parent(path);
    let handle = File::open(folder).map_err(|e| StoreError::file("open folder", folder, e))?;
    handle.sync_all().map_err(|e| StoreError::file("sync folder", folder, e))
}

#[cfg(test)]
mod tests;
