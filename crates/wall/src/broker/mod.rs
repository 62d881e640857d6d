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

/// The broker of one call.
#[derive(Debug)]
pub struct Broker {
    /// The folder with the socket and the programs, gone with the broker.
    folder: PathBuf,
    /// The folder of our own programs.
    programs: PathBuf,
    listener: OwnedFd,
    served: Vec<Served>,
    /// What may be read inside; files that are named have to be among it.
    enclosure: Enclosure,
    /// Variables that a caller may say something with; they give no rights.
    told: Vec<String>,
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
        let folder = fresh_folder(folder)?;
        let shown = if level >= Level::B { PathBuf::from(INSIDE) } else { folder.clone() };
        for part in ["bin", "real"] {
            let path = folder.join(part);
            fs::create_dir(&path).map_err(WallError::file("make", &path))?;
        }
        for name in CLIENTS.into_iter().chain(shell) {
            let link = folder.join("bin").join(name);
            symlink(&own, &link).map_err(WallError::file("make", &link))?;
        }
        let listener = listen_in(&folder)?;
        if level >= Level::B {
            enclosure.set(&shown, What::ReadFrom(folder.clone()));
            stand_in(&own, &folder, &shown, enclosure)?;
        } else {
            enclosure.set(&shown, What::Read);
        }
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        enclosure.variables.push((variable::BROKER.to_owned(), text(shown.join(SOCKET))));
        let first = text(shown.join("bin"));
        let path = env::var("PATH").unwrap_or_default();
        enclosure.variables.push(("PATH".to_owned(), format!("{first}:{path}")));
        let enclosure = enclosure.clone();
        Ok(Self { folder, programs, listener, served: Vec::new(), enclosure, told })
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
        let folder = request.folder.canonicalize().ok();
        let is_seen = |path: &PathBuf| !matches!(self.enclosure.rule(path).1, What::Hidden);
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
        command.env(variable::BROKERED, "1");
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
            let is_hidden = matches!(self.enclosure.rule(path).1, What::Hidden);
            !self.enclosure.may_read(path) && (is_hidden || !path.is_dir())
        })
    }
}

/// The name of the socket in its folder.
const SOCKET: &str = "socket";

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
        let _left = fs::remove_dir_all(&self.folder);
    }
}

/// A folder that only this user can look into.
fn fresh_folder(above: &Path) -> Result<PathBuf, WallError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(above).map_err(WallError::file("make", above))?;
    builder.recursive(false);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = above.join(format!("{}-{number}", process::id()));
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            // Another process had this number before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(WallError::file("make", &folder)(error)),
        }
    }
}

/// A socket in a folder. Its path may be longer than the address of a socket: the folder is named by its
/// descriptor.
fn listen_in(folder: &Path) -> Result<OwnedFd, WallError> {
    let cannot = |error: rustix::io::Errno| WallError::file("listen in", folder)(error.into());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty()).map_err(cannot)?;
    let address = format!("/proc/self/fd/{}/{SOCKET}", open.as_raw_fd());
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(cannot)?;
    bind(&listener, &SocketAddrUnix::new(address).map_err(cannot)?).map_err(cannot)?;
    listen(&listener, BACKLOG).map_err(cannot)?;
    Ok(listener)
}

/// Puts the client in the place of programs on the path that need credentials, so that it also stands
/// first for a shell that sets a path of its own. The real ones are beside the socket.
fn stand_in(
    own: &Path,
    folder: &Path,
    shown: &Path,
    enclosure: &mut Enclosure,
) -> Result<(), WallError> {
    for name in ["git", "gh"] {
        let Some(real) = on_path(name) else { continue };
        let point = folder.join("real").join(name);
        fs::File::create_new(&point).map_err(WallError::file("make", &point))?;
        enclosure.set(shown.join("real").join(name), What::ReadFrom(real.clone()));
        enclosure.set(real, What::ReadFrom(own.to_owned()));
    }
    Ok(())
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
