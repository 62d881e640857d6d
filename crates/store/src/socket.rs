//! The engine's Unix socket: lines of text between processes of one user.
//!
//! Both sides check that the other belongs to the same user. A line has at most a mebibyte; what
//! a line means is not known here. Only the holder of the engine's lock may bind.
//!
//! The operating system limits a socket's path to about a hundred bytes. A longer one is reached
//! through the opened folder, which has a short name under `/proc`.

use crate::{
    error::StoreError,
    file::{self, Mark},
    lock::EngineLease,
    place::Place,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, Mode, OFlags},
    net::{UCred, sockopt::socket_peercred},
};
use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::{AsFd, AsRawFd as _, BorrowedFd},
        unix::{
            ffi::OsStrExt as _,
            fs::PermissionsExt as _,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::layout;

/// The longest line; a state file fits, a runaway writer does not.
pub const LINE_LENGTH_MAX: usize = 1 << 20;
/// `sun_path` has 108 bytes on Linux and 104 elsewhere, with a zero at the end.
const SOCKET_PATH_LENGTH_MAX: usize = 103;
const NAME: &str = layout::state::ENGINE_SOCKET;

/// The engine's end; the socket's file is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    inner: UnixListener,
    path: PathBuf,
    mark: Option<Mark>,
}

impl Listener {
    /// Listens in the folder of the lock; a socket that stands there is a dead engine's.
    pub fn bind(lock: &EngineLease) -> Result<Self, StoreError> {
        let path = lock.folder().join(NAME);
        if let Some(stat) = file::stat(&path)?
            && FileType::from_raw_mode(stat.st_mode) == FileType::Socket
        {
            file::remove(&path)?;
        }
        let inner = at_short_path(lock.folder(), |short| UnixListener::bind(short))
            .map_err(|e| StoreError::file("listen at", &path, e))?;
        let private = std::fs::Permissions::from_mode(file::PRIVATE);
        std::fs::set_permissions(&path, private)
            .map_err(|e| StoreError::file("set the permissions of", &path, e))?;
        let mark = Mark::of(&path)?;
        Ok(Self { inner, path, mark })
    }

    /// Waits for a client to connect; a stranger is an error and no reason to stop listening.
    pub fn accept(&self) -> Result<Connection, StoreError> {
        let (stream, _) =
            self.inner.accept().map_err(|e| StoreError::file("listen at", &self.path, e))?;
        Connection::with_peer(stream, &self.path)
    }

    /// The listening socket, for callers that wait for many things at once.
    ///
    /// They accept by themselves and owe each stream a `check_peer`.
    pub fn socket(&self) -> &UnixListener {
        &self.inner
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Another engine may have put its own there since.
        if let (Ok(Some(now)), Some(ours)) = (Mark::of(&self.path), self.mark)
            && now.is_same_file(&ours)
        {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// One end of a conversation.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<UnixStream>,
    /// The beginning of a line whose end has not come in time.
    begun: Vec<u8>,
    path: PathBuf,
}

/// The sending half of a connection, for a thread of its own.
#[derive(Debug)]
pub struct Sender {
    stream: UnixStream,
    path: PathBuf,
}

impl Connection {
    /// Connects to the engine of `place`; `None`: no engine listens.
    pub fn to_engine(place: &Place) -> Result<Option<Self>, StoreError> {
        let path = place.state.join(NAME);
        match at_short_path(&place.state, |short| UnixStream::connect(short)) {
            Ok(stream) => Self::with_peer(stream, &path).map(Some),
            Err(e) if is_unattended(&e) => Ok(None),
            Err(e) => Err(StoreError::file("connect to", &path, e)),
        }
    }

    fn with_peer(stream: UnixStream, path: &Path) -> Result<Self, StoreError> {
        check_peer(&stream)?;
        Ok(Self { stream: BufReader::new(stream), begun: Vec::new(), path: path.to_owned() })
    }

    /// The process that made the connection, or listens to it, as the operating system knows it.
    pub fn peer_pid(&self) -> Result<u32, StoreError> {
        let peer = peer(self.stream.get_ref())?;
        Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// The sending half once more; each half may be used by its own thread.
    pub fn sender(&self) -> Result<Sender, StoreError> {
        let stream = self.stream.get_ref().try_clone();
        let stream = stream.map_err(|e| self.failed("share", e))?;
        Ok(Sender { stream, path: self.path.clone() })
    }

    /// How long a receive may take; `None`: as long as it takes. After that it is `Busy`, and the
    /// next call goes on where this one was.
    pub fn set_receive_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        let set = self.stream.get_ref().set_read_timeout(timeout);
        set.map_err(|e| self.failed("set the timeout of", e))
    }

    /// How long a send or a receive may take; after that it is `Busy`.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), StoreError> {
        let stream = self.stream.get_ref();
        let set = stream.set_read_timeout(Some(timeout));
        set.and_then(|()| stream.set_write_timeout(Some(timeout)))
            .map_err(|e| self.failed("set the timeout of", e))
    }

    /// Whether something can be received: a line, the beginning of one, or the end of all.
    pub fn is_ready(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut sources = [PollFd::new(self, PollFlags::IN)];
        // What cannot be told is found by receiving.
        !self.stream.buffer().is_empty()
            || poll(&mut sources, Some(&at_once)).map_or(true, |ready| ready > 0)
    }

    /// Sends one line; `line` itself has no line end.
    pub fn send_line(&mut self, line: &str) -> Result<(), StoreError> {
        let message = message(line)?;
        self.stream.get_mut().write_all(&message).map_err(|e| self.failed("send to", e))
    }

    /// Receives one line; `None`: the other side has hung up.
    pub fn receive_line(&mut self) -> Result<Option<String>, StoreError> {
        let limit = (LINE_LENGTH_MAX + 1).saturating_sub(self.begun.len()) as u64;
        let read = self.stream.by_ref().take(limit).read_until(b'\n', &mut self.begun);
        read.map_err(|e| self.failed("receive from", e))?;
        let mut line = std::mem::take(&mut self.begun);
        let protocol = |detail: &str| StoreError::Protocol { detail: detail.into() };
        match line.pop() {
            None => Ok(None),
            Some(b'\n') => String::from_utf8(line)
                .map(Some)
                .map_err(|_| protocol("received a line that is not text")),
            Some(_) if line.len() >= LINE_LENGTH_MAX => {
                Err(protocol("received a line that is too long"))
            }
            Some(_) => Err(protocol("the connection ended in the middle of a line")),
        }
    }

    fn failed(&self, action: &'static str, error: io::Error) -> StoreError {
        failed(&self.path, action, error)
    }
}

/// Readable when something comes. What has come already may be in memory: `is_ready` tells of both.
impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}

impl Sender {
    /// Sends one line; `line` itself has no line end.
    pub fn send_line(&mut self, line: &str) -> Result<(), StoreError> {
        let message = message(line)?;
        self.stream.write_all(&message).map_err(|e| failed(&self.path, "send to", e))
    }

    /// How long a send may take; after that it is `Busy`, and the line is broken off.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), StoreError> {
        let set = self.stream.set_write_timeout(Some(timeout));
        set.map_err(|e| failed(&self.path, "set the timeout of", e))
    }

    /// Ends the connection for both sides; a thread that waits for a line finds it over.
    pub fn hang_up(&self) {
        // One that is over already cannot be ended.
        let _over = self.stream.shutdown(Shutdown::Both);
    }
}

/// A line with its end, in one piece, so that a reader never waits for an end that is still being
/// sent.
fn message(line: &str) -> Result<Vec<u8>, StoreError> {
    if line.contains('\n') || line.len() > LINE_LENGTH_MAX {
        let detail = format!("a message of {} bytes is not a line", line.len());
        return Err(StoreError::Protocol { detail });
    }
    Ok([line.as_bytes(), b"\n"].concat())
}

fn failed(path: &Path, action: &'static str, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            StoreError::Busy { what: "the engine of this project".into(), holder: None }
        }
        _ => StoreError::file(action, path, error),
    }
}

/// Refuses the other side if it is not the same user.
pub fn check_peer(stream: impl AsFd) -> Result<(), StoreError> {
    let peer = peer(stream)?;
    if peer.uid == rustix::process::geteuid() {
        return Ok(());
    }
    let detail = format!("user {} is at the other end, not this one", peer.uid.as_raw());
    Err(StoreError::Protocol { detail })
}

fn peer(stream: impl AsFd) -> Result<UCred, StoreError> {
    socket_peercred(stream).map_err(|e| StoreError::Protocol {
        detail: format!("cannot tell who is at the other end: {e}"),
    })
}

fn is_unattended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// Calls `act` with a path of the socket in `folder` that is short enough.
fn at_short_path<T>(folder: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = folder.join(NAME);
    if path.as_os_str().as_bytes().len() <= SOCKET_PATH_LENGTH_MAX {
        return act(&path);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(folder, flags, Mode::empty())?);
    act(&PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{journal::Journals, lock::Owner, place::TreeName};
    use std::thread;
    use tempfile::TempDir;
    use waypost_model::time::Time;

    /// A project whose folder has a name of `length` bytes.
    fn project(length: usize) -> (TempDir, Place, EngineLease) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("x".repeat(length));
        std::fs::create_dir(&root).unwrap();
        let state = root.join(".waypost");
        let place = Place { root, git_common: None, state, tree: TreeName::main() };
        let owner = Owner::this_process("test", Time::from_millis(0));
        let lock = Journals::of(&place).lease(&owner).unwrap();
        (folder, place, lock)
    }

    #[test]
    fn lines_go_both_ways_however_long_the_path_is() {
        for length in [1, 80, 200] {
            let (_folder, place, lock) = project(length);
            assert!(Connection::to_engine(&place).unwrap().is_none());
            let listener = Listener::bind(&lock).unwrap();
            let mode = std::fs::metadata(place.state.join(NAME)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut engine = listener.accept().unwrap();
                    while let Some(line) = engine.receive_line().unwrap() {
                        engine.send_line(&format!("echo {line}")).unwrap();
                    }
                });
                let mut client = Connection::to_engine(&place).unwrap().unwrap();
                let long = "y".repeat(LINE_LENGTH_MAX - 5);
                for line in ["", "{\"a\":1}", "엔진", &long] {
                    client.send_line(line).unwrap();
                    assert_eq!(client.receive_line().unwrap(), Some(format!("echo {line}")));
                }
            });
            drop(listener);
            assert!(!place.state.join(NAME).exists());
            assert!(Connection::to_engine(&place).unwrap().is_none());
        }
    }

    #[test]
    fn a_dead_engines_socket_is_replaced_and_a_file_is_not() {
        let (_folder, place, lock) = project(1);
        drop(UnixListener::bind(place.state.join(NAME)).unwrap());
        assert!(Connection::to_engine(&place).unwrap().is_none());
        let listener = Listener::bind(&lock).unwrap();
        assert!(Connection::to_engine(&place).unwrap().is_some());
        drop(listener);
        drop(File::create(place.state.join(NAME)).unwrap());
        let refused = Listener::bind(&lock).unwrap_err();
        assert!(matches!(refused, StoreError::File { action: "listen at", .. }));
    }

    #[test]
    fn what_is_not_a_line_is_refused() {
        let (_folder, place, lock) = project(1);
        let listener = Listener::bind(&lock).unwrap();
        let flood = vec![b'z'; LINE_LENGTH_MAX + 10];
        let table: [(&[u8], &str); 3] = [
            (&flood, "received a line that is too long"),
            (b"half", "the connection ended in the middle of a line"),
            (b"\xff\n", "received a line that is not text"),
        ];
        for (bytes, expected) in table {
            let client = Connection::to_engine(&place).unwrap().unwrap();
            let mut engine = listener.accept().unwrap();
            thread::scope(|scope| {
                scope.spawn(move || {
                    // The engine may hang up before all of it is sent.
                    drop(client.stream.get_ref().write_all(bytes));
                });
                assert_eq!(engine.receive_line().unwrap_err().to_string(), expected);
                drop(engine);
            });
        }
        let mut client = Connection::to_engine(&place).unwrap().unwrap();
        assert!(client.send_line("a\nb").is_err());
        assert!(client.send_line(&"x".repeat(LINE_LENGTH_MAX + 1)).is_err());
    }

    #[test]
    fn a_silent_engine_is_busy_and_a_slow_one_loses_nothing() {
        let (_folder, place, lock) = project(1);
        let listener = Listener::bind(&lock).unwrap();
        let mut client = Connection::to_engine(&place).unwrap().unwrap();
        assert_eq!(client.peer_pid().unwrap(), std::process::id());
        client.set_timeout(Duration::from_millis(1)).unwrap();
        assert!(matches!(client.receive_line(), Err(StoreError::Busy { .. })));
        let engine = listener.accept().unwrap();
        engine.stream.get_ref().write_all(b"half of a ").unwrap();
        assert!(matches!(client.receive_line(), Err(StoreError::Busy { .. })));
        let mut sender = engine.sender().unwrap();
        sender.send_line("line").unwrap();
        assert_eq!(client.receive_line().unwrap().as_deref(), Some("half of a line"));
        sender.hang_up();
        assert_eq!(client.receive_line().unwrap(), None);
    }
}
