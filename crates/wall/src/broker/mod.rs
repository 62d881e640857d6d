//! The broker: does outside what a call inside may only have done there.
//!
//! Each call has a socket of its own, which is its identity: a process that speaks there is below that call, and an
//! agent's. What is asked for is always a run of one of our own programs, with the streams of the one who
//! asks; everything else, a push among it, is a command of theirs. The program runs as a child of the
//! process that holds the wall, with that process's environment, never with the caller's.
//!
//! Deliberately absent: any decision. Whether something may be pushed is the engine's to say.

mod client;
mod message;
mod served;

pub use client::{call, is_inside};
pub use message::{MESSAGE_SIZE_MAX, Request};

use crate::{
    call::{Attendant, Ending},
    enclosure::{Enclosure, What},
    error::WallError,
    level::Level,
};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen,
        socket_with,
    },
};
use served::Served;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::fs::{DirBuilderExt as _, symlink},
    },
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};
use waypost_model::layout::variable;

/// Where a call finds its broker inside, where there are namespaces.
const INSIDE: &str = "/run/waypost";

/// The names under which `waypost-shell` is the broker's client inside.
pub const CLIENTS: [&str; 3] = ["waypost", "git", "gh"];

/// Our programs that may be asked for.
const PROGRAMS: [&str; 2] = ["waypost", "waypost-hook"];

/// As many may wait to be served; a call rarely has two at once.
const BACKLOG: i32 = 64;

/// More at once are refused: a call that asks for them goes round in a circle.
const SERVED_MAX: usize = 64;

/// The command by which an engine has its children kept. It starts whatever it is told to, outside.
const KEEPER: &str = "keeper";

/// The broker of one call.
#[derive(Debug)]
pub struct Broker {
    /// The socket's own file, gone with the broker.
    socket: PathBuf,
    /// The folder of our own programs.
    programs: PathBuf,
    listener: OwnedFd,
    served: Vec<Served>,
    /// What may be read inside; files that are named have to be among it.
    enclosure: Enclosure,
    /// Variables that a caller may say something with; they give no rights.
    told: Vec<String>,
    /// The journals' folders of the projects that the call is made for.
    held: Vec<PathBuf>,
}

impl Broker {
    /// Opens the broker of a call below `folder`, which no other user can read, and puts it into the
    /// enclosure. `told` are the variables that a caller may hand over; `shell` is a name under which
    /// this program stands first on the path in the place of a shell.
    pub fn open(
        folder: &Path,
        level: Level,
        enclosure: &mut Enclosure,
        told: Vec<String>,
        shell: Option<&str>,
    ) -> Result<Self, WallError> {
        let own = env::current_exe().map_err(WallError::file("find", "this program"))?;
        let programs = own.parent().unwrap_or_else(|| Path::new("/")).to_owned();
        let (socket, listener) = listen_in(folder)?;
        let names = CLIENTS.into_iter().chain(shell);
        let (shown, bin) = match level >= Level::B {
            true => (PathBuf::from(INSIDE).join(SOCKET), PathBuf::from(INSIDE).join(BIN)),
            false => (socket.clone(), folder.join(shared_name(&own))),
        };
        if level >= Level::B {
            enclosure.set(INSIDE, What::Frame);
            enclosure.set(&shown, What::ReadFrom(socket.clone()));
            names.for_each(|name| enclosure.set(bin.join(name), What::Link(own.clone())));
            stand_in(&own, enclosure);
        } else {
            // Landlock is not asked when a socket is connected to.
            make_shared(&bin, &own, names)?;
            enclosure.set(&bin, What::Read);
        }
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        enclosure.variables.push((variable::BROKER.to_owned(), text(shown)));
        let path = env::var("PATH").unwrap_or_default();
        enclosure.variables.push(("PATH".to_owned(), format!("{}:{path}", text(bin))));
        let enclosure = enclosure.clone();
        Ok(Self {
            socket,
            programs,
            listener,
            served: Vec::new(),
            enclosure,
            told,
            held: Vec::new(),
        })
    }

    /// Says which projects the call is made for, by the folders of their journals.
    #[must_use]
    pub fn made_for(mut self, held: Vec<PathBuf>) -> Self {
        self.held = held;
        self
    }

    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(stream) = accept_with(&self.listener, flags) {
            if self.served.len() < SERVED_MAX {
                self.served.push(Served::new(stream));
            }
        }
    }

    /// What is started for a request, or why nothing is.
    fn start(&self, request: &Request) -> Result<process::Command, String> {
        let known = PROGRAMS.iter().find(|name| OsStr::new(name) == request.program);
        let program = known.ok_or_else(|| "there is no such program outside".to_owned())?;
        if request.arguments.first().is_some_and(|first| first == KEEPER) {
            return Err("only an engine starts a keeper".to_owned());
        }
        let folder = request.folder.canonicalize().ok();
        let is_seen =
            |path: &PathBuf| !matches!(self.enclosure.rule(path).1, What::Hidden | What::Scratch);
        let Some(folder) = folder.filter(is_seen) else {
            return Err(format!("{} cannot be seen from outside", request.folder.display()));
        };
        if let Some(path) = self.unreadable(request, &folder) {
            return Err(format!("{} cannot be read by an agent's command", path.display()));
        }
        #[expect(clippy::disallowed_methods, reason = "our own programs, for a call inside")]
        let mut command = process::Command::new(self.programs.join(program));
        command.args(&request.arguments).current_dir(folder);
        command.env_clear().envs(own_environment(&self.enclosure));
        let is_told = |(name, _): &&(OsString, OsString)| {
            self.told.iter().any(|told| OsStr::new(told) == name)
        };
        command.envs(request.variables.iter().filter(is_told).map(|(name, value)| (name, value)));
        // A name that no list can hold is left out with all others: then nothing is published.
        command.env(variable::BROKERED, env::join_paths(&self.held).unwrap_or_default());
        Ok(command)
    }

    /// The first file that an argument names and a process inside cannot read.
    fn unreadable(&self, request: &Request, folder: &Path) -> Option<PathBuf> {
        let texts: Vec<&str> = request.arguments.iter().filter_map(|it| it.to_str()).collect();
        let mut folders = vec![folder.to_owned()];
        for (at, text) in texts.iter().enumerate() {
            let named = match *text {
                "-C" => texts.get(at + 1).copied(),
                text => text.strip_prefix("-C"),
            };
            folders.extend(named.map(|named| folder.join(named.trim_start_matches('='))));
        }
        let values = |text: &str| {
            let after = text.split_once('=').map(|(_, value)| value.to_owned());
            let short = text.strip_prefix('-').and_then(|rest| rest.get(1..)).map(str::to_owned);
            [Some(text.to_owned()), after, short]
        };
        let names =
            texts.iter().flat_map(|text| values(text)).flatten().filter(|it| !it.is_empty());
        let paths =
            names.flat_map(|name| folders.iter().map(move |it| it.join(&name)).collect::<Vec<_>>());
        paths.filter_map(|path| path.canonicalize().ok()).find(|path| {
            let is_hidden = matches!(self.enclosure.rule(path).1, What::Hidden | What::Scratch);
            !self.enclosure.may_read(path) && (is_hidden || !path.is_dir())
        })
    }
}

/// The name of the socket inside, and the end of its name outside.
const SOCKET: &str = "socket";

/// The folders of clients, and of the real programs in whose places they stand.
const BIN: &str = "bin";
pub const REAL: &str = "real";

impl Attendant for Broker {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let served = self.served.iter().flat_map(Served::descriptors);
        std::iter::once(self.listener.as_fd()).chain(served).collect()
    }

    fn attend(&mut self) -> Option<Ending> {
        self.accept();
        let mut served = std::mem::take(&mut self.served);
        served.retain_mut(|it| it.attend(|request| self.start(request)));
        self.served = served;
        None
    }

    fn conclude(&mut self) -> Option<String> {
        self.served.iter_mut().for_each(Served::end);
        self.served.clear();
        None
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // What is left of it leads nowhere.
        let _left = fs::remove_file(&self.socket);
    }
}

/// A socket of its own in a folder that only this user can look into, and its path. That may be longer than the
/// address of a socket: the folder is named by its descriptor.
fn listen_in(folder: &Path) -> Result<(PathBuf, OwnedFd), WallError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).map_err(WallError::file("make", folder))?;
    let cannot = |error: Errno| WallError::file("listen in", folder)(error.into());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty()).map_err(cannot)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(cannot)?;
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.{SOCKET}", process::id());
        let address = format!("/proc/self/fd/{}/{name}", open.as_raw_fd());
        match bind(&listener, &SocketAddrUnix::new(address).map_err(cannot)?) {
            Ok(()) => {
                listen(&listener, BACKLOG).map_err(cannot)?;
                return Ok((folder.join(name), listener));
            }
            // Another process had this number before.
            Err(Errno::ADDRINUSE) => {}
            Err(error) => return Err(cannot(error)),
        }
    }
}

/// The name of the folder of clients that all calls of this program share where there are no namespaces.
fn shared_name(own: &Path) -> String {
    let bytes = own.as_os_str().as_encoded_bytes().iter();
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{BIN}-{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, step))
}

/// Makes that folder; what is there already stays.
fn make_shared<'a>(
    bin: &Path,
    own: &Path,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), WallError> {
    for name in names {
        let link = bin.join(name);
        if fs::read_link(&link).is_ok_and(|known| known == own) {
            continue;
        }
        fs::create_dir_all(bin).map_err(WallError::file("make", bin))?;
        match symlink(own, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(WallError::file("make", &link)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts the client in the place of programs on the path that need credentials, so that it also stands
/// first for a shell that sets a path of its own. The real ones are beside the socket.
fn stand_in(own: &Path, enclosure: &mut Enclosure) {
    for name in ["git", "gh"] {
        let Some(real) = on_path(name) else { continue };
        let aside = Path::new(INSIDE).join(REAL).join(name);
        enclosure.set(aside, What::ReadFrom(real.clone()));
        enclosure.set(real, What::ReadFrom(own.to_owned()));
    }
}

/// A program on the path of this process, without links.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|it| it.is_file())?.canonicalize().ok()
}

/// This process's environment, without what an agent could have put in the way of programs.
fn own_environment(enclosure: &Enclosure) -> Vec<(OsString, OsString)> {
    let is_safe = |(name, _): &(OsString, OsString)| {
        let name = name.to_string_lossy();
        !name.starts_with("LD_") && !["BASH_ENV", "ENV", "WAYPOST_BROKER"].contains(&&*name)
    };
    let mut found: Vec<_> = env::vars_os().filter(is_safe).collect();
    for (name, value) in &mut found {
        if name == "PATH" {
            *value = safe_path(value, enclosure);
        }
    }
    found
}

/// The folders of a path in which nothing can be put from inside.
fn safe_path(path: &OsStr, enclosure: &Enclosure) -> OsString {
    let is_safe = |folder: &PathBuf| {
        folder.is_absolute() && folder.canonicalize().is_ok_and(|real| !enclosure.may_write(&real))
    };
    env::join_paths(env::split_paths(path).filter(is_safe)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
