//! A keeper's folder: `FOLDER/ID` with its lock, its socket and its spool.
//!
//! The lock is the proof of life: it ends with the process that holds it, however that ended.

use crate::{error::ProcError, process, process::Identity};
use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
    net::sockopt::socket_peercred,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::{
            ffi::OsStrExt as _,
            fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

/// `sun_path` has 108 bytes with a zero at the end.
const SOCKET_PATH_LENGTH_MAX: usize = 107;
const SOCKET: &str = "keeper.sock";
const LOCK: &str = "keeper.lock";
/// More than any owner's text; what is longer was not written by us.
const OWNER_SIZE_MAX: u64 = 4 << 10;

#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) id: String,
}

/// Who holds a keeper's lock, or held it last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) process: Identity,
    pub(crate) boot_id: String,
    /// The folder of the control group below which it makes its children's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cgroup: Option<String>,
}

impl Place {
    /// Makes the folder of a new keeper below `parent`, and `parent` itself. What is above that is the project's: it
    /// is not made again where it was deleted.
    pub(crate) fn create(parent: &Path) -> Result<Self, ProcError> {
        match fs::create_dir(parent) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(ProcError::file("make", parent, e));
            }
            _ => {}
        }
        let parent = fs::canonicalize(parent).map_err(|e| ProcError::file("find", parent, e))?;
        let folder = parent.join(new_id()?);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|e| ProcError::file("make", &folder, e))?;
        Self::at(&folder)
    }

    pub(crate) fn at(folder: &Path) -> Result<Self, ProcError> {
        let id = folder.file_name().and_then(|name| name.to_str()).filter(|id| is_id(id));
        match id {
            Some(id) => Ok(Self { folder: folder.to_owned(), id: id.to_owned() }),
            None => {
                let detail = format!("{} is not a keeper's folder", folder.display());
                Err(ProcError::Protocol { detail })
            }
        }
    }

    /// All keepers' folders below `parent`.
    pub(crate) fn all(parent: &Path) -> Result<Vec<Self>, ProcError> {
        let failed = |e| ProcError::file("read", parent, e);
        let entries = match fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(failed(e)),
        };
        let mut places = Vec::new();
        for entry in entries {
            places.extend(Self::at(&entry.map_err(failed)?.path()).ok());
        }
        places.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(places)
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.folder.join("spool")
    }

    pub(crate) fn stderr(&self) -> PathBuf {
        self.folder.join("stderr")
    }

    /// Takes the lock for as long as the file stays open; `None`: another process has it.
    pub(crate) fn try_lock(&self) -> Result<Option<File>, ProcError> {
        let path = self.folder.join(LOCK);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(flags).open(&path);
        let file = file.map_err(|e| ProcError::file("open", &path, e))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(e) => return Err(ProcError::file("lock", &path, e)),
        }
        // The holder before may have removed the folder: then this lock guards nothing.
        let is_there = file.metadata().is_ok_and(|found| found.nlink() > 0);
        Ok(is_there.then_some(file))
    }

    pub(crate) fn write_owner(
        &self,
        lock: &mut File,
        cgroup: Option<&Path>,
    ) -> Result<(), ProcError> {
        let process = Identity::of(std::process::id()).ok_or_else(|| {
            ProcError::protocol("this process is not in /proc, which a keeper needs")
        })?;
        let cgroup = cgroup.and_then(Path::to_str).map(str::to_owned);
        let owner = Owner { process, boot_id: process::boot_id(), cgroup };
        let text = crate::wire::line(&owner);
        lock.write_all(&text).map_err(|e| ProcError::file("write", &self.folder.join(LOCK), e))
    }

    /// Who wrote itself into the lock; `None`: it died before it could.
    pub(crate) fn owner(&self) -> Option<Owner> {
        let mut text = Vec::new();
        let file = File::open(self.folder.join(LOCK)).ok()?;
        file.take(OWNER_SIZE_MAX).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(crate) fn listen(&self) -> Result<UnixListener, ProcError> {
        let path = self.folder.join(SOCKET);
        let listener = self.at_short_path(|short| UnixListener::bind(short));
        let listener = listener.map_err(|e| ProcError::file("listen at", &path, e))?;
        let private = fs::set_permissions(&path, Permissions::from_mode(0o600));
        private.map_err(|e| ProcError::file("set the permissions of", &path, e))?;
        Ok(listener)
    }

    /// `None`: no keeper listens.
    pub(crate) fn connect(&self) -> Result<Option<UnixStream>, ProcError> {
        match self.at_short_path(|short| UnixStream::connect(short)) {
            Ok(stream) => check_peer(&stream).map(|()| Some(stream)),
            Err(e) if is_unattended(&e) => Ok(None),
            Err(e) => Err(ProcError::file("connect to", &self.folder.join(SOCKET), e)),
        }
    }

    /// Removes the folder and all that is in it.
    pub(crate) fn remove(&self) -> Result<(), ProcError> {
        match fs::remove_dir_all(&self.folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(ProcError::file("remove", &self.folder, e))
            }
            _ => Ok(()),
        }
    }

    /// Calls `act` with a path of the socket that the system takes, however long the real one is:
    /// an opened folder has a short name under `/proc`.
    fn at_short_path<T>(&self, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let path = self.folder.join(SOCKET);
        if path.as_os_str().as_bytes().len() <= SOCKET_PATH_LENGTH_MAX {
            return act(&path);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(&self.folder, flags, Mode::empty())?);
        act(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
    }
}

/// Refuses the other side if it is not the same user.
pub(crate) fn check_peer(stream: &UnixStream) -> Result<(), ProcError> {
    let peer = socket_peercred(stream)
        .map_err(|e| ProcError::system("tell who is at the other end of a socket", e))?;
    if peer.uid == rustix::process::geteuid() {
        return Ok(());
    }
    let user = peer.uid.as_raw();
    Err(ProcError::protocol(format!("user {user} is at the other end, not this one")))
}

fn is_unattended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// `keeper_` and 128 random bits: it must differ from everything in any environment.
fn new_id() -> Result<String, ProcError> {
    let mut bytes = [0; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    rustix::rand::getrandom(&mut bytes, flags)
        .map_err(|e| ProcError::system("get random bytes", e))?;
    Ok(format!("keeper_{:032x}", u128::from_ne_bytes(bytes)))
}

fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix("keeper_");
    digits.is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_folders_are_keepers() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Place::create(folder.path()).unwrap();
        fs::create_dir(folder.path().join("keeper_x")).unwrap();
        fs::create_dir(folder.path().join("notes")).unwrap();
        let found: Vec<String> =
            Place::all(folder.path()).unwrap().into_iter().map(|place| place.id).collect();
        assert_eq!(found, [ours.id]);
        assert!(Place::all(&folder.path().join("none")).unwrap().is_empty());
    }

    #[test]
    fn a_project_that_is_gone_is_not_made_again_for_a_keeper() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("shop/.git/waypost");
        assert!(Place::create(&state.join("keepers")).is_err());
        assert!(!base.path().join("shop").exists());
        fs::create_dir_all(&state).unwrap();
        Place::create(&state.join("keepers")).unwrap();
        Place::create(&state.join("keepers")).unwrap();
    }

    #[test]
    fn a_lock_of_a_removed_folder_guards_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::create(folder.path()).unwrap();
        let lock = place.try_lock().unwrap().unwrap();
        assert!(place.try_lock().unwrap().is_none());
        drop(lock);
        assert!(place.try_lock().unwrap().is_some());
        place.remove().unwrap();
        assert!(place.try_lock().is_err());
    }

    #[test]
    fn a_socket_is_reached_however_long_its_path_is() {
        for length in [1, 80, 200] {
            let folder = tempfile::tempdir().unwrap();
            let place = Place::create(&folder.path().join("x".repeat(length))).unwrap();
            assert!(place.connect().unwrap().is_none());
            let _listener = place.listen().unwrap();
            assert!(place.connect().unwrap().is_some());
        }
    }
}
