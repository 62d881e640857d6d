//! What an enclosure puts where, and how a process inside new namespaces does that.
//!
//! Bubblewrap reads the table of all mounts for each file and folder that it shows, which takes longer than
//! everything else in a call. So it makes the namespaces and shows the whole system for reading; the call begins
//! as a program of ours that puts everything in its place, gives up what it needed for that, and becomes the
//! call. Where that cannot be done, bubblewrap mounts everything by itself.
//!
//! Always: everything that is shown is picked up before anything is put in its place, so that what is hidden
//! cannot hide it; nothing of the call runs before all is done; the process keeps no capability.

use crate::{
    disk::{Disk, Kind},
    enclosure::{Enclosure, Rule, What},
    error::WallError,
};
use rustix::{
    fd::AsFd as _,
    fs::{CWD, FileType, StatVfsMountFlags},
    io::Errno,
    mount::{
        MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_remount, move_mount, open_tree,
    },
    process::{Resource, Rlimit, getrlimit, setrlimit},
    termios::{isatty, ttyname},
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};
use std::{
    ffi::{CStr, OsStr, OsString},
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::symlink,
        },
    },
    path::{Path, PathBuf},
};

/// One thing that is put in its place, in the order in which that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An empty folder, in which things may be put.
    Empty(PathBuf),
    /// What stands at `from` outside stands at `at`, readable or writable.
    Show {
        from: PathBuf,
        at: PathBuf,
        is_writable: bool,
    },
    /// What stands there cannot be written, if it is there.
    Protect(PathBuf),
    /// A file with nothing in it that can be read.
    Nothing(PathBuf),
    Link {
        at: PathBuf,
        to: PathBuf,
    },
    /// What was put there is complete: nothing in it can be changed any more.
    Close(PathBuf),
    /// Something that was mounted there outside is as writable as what is around it.
    Open(PathBuf),
}

/// Parts of `/proc` that belong to the whole machine. Some of their files are root's to write, capabilities or
/// not, and a namespace changes nothing about that. Other users can write in there only what belongs to the
/// call's own namespaces.
const OF_THE_MACHINE: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/mtrr", "/proc/acpi"];

/// What is put where for an enclosure; the whole system can be read already. `is_root` says who makes the call.
pub(crate) fn steps(enclosure: &Enclosure, disk: &dyn Disk, is_root: bool) -> Vec<Step> {
    let machine = OF_THE_MACHINE.iter().filter(|_| is_root);
    let mut steps: Vec<Step> = machine.map(|part| Step::Protect(part.into())).collect();
    let (mut frames, mut last) = (Vec::new(), Vec::new());
    for Rule { at, what } in enclosure.rules().filter(|rule| rule.at != Path::new("/")) {
        // What is readable below what is readable needs no mount of its own.
        let above = at.parent().map(|above| enclosure.rule(above).1);
        let show = |from: PathBuf, is_writable| Step::Show { from, at: at.clone(), is_writable };
        steps.push(match what {
            What::Read if above == Some(&What::Read) => continue,
            What::Read => show(at.clone(), false),
            What::Write => show(at.clone(), true),
            What::ReadFrom(from) => show(from, false),
            What::WriteFrom(from) => show(from, true),
            What::Link(to) => Step::Link { at, to },
            What::Hidden if above == Some(&What::Hidden) => continue,
            What::Hidden if disk.kind(&at) == Some(Kind::File) => Step::Nothing(at),
            // The table of all mounts is as short as can be while bubblewrap reads it.
            What::Hidden if !enclosure.has_below(&at) => {
                last.push(at);
                continue;
            }
            What::Scratch => Step::Empty(at),
            What::Hidden | What::Frame => {
                frames.push(at.clone());
                Step::Empty(at)
            }
        });
    }
    steps.extend(last.into_iter().map(Step::Empty));
    // When everything is in them.
    steps.extend(frames.into_iter().map(Step::Close));
    steps
}

/// Where that text stands inside: in a place that is covered by the call's own `/dev` when it has been read. A
/// descriptor would be left to the call.
pub(crate) const TOLD_AT: &str = "/dev/ptmx";

/// Stands behind all that is to be done.
const END: &str = "end";

/// Everything that a process inside does before it becomes the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounts {
    steps: Vec<Step>,
    /// Where the call begins, unless that is hidden.
    folder: PathBuf,
    /// The call's environment.
    pub variables: Vec<(OsString, OsString)>,
}

impl Mounts {
    pub(crate) fn new(
        steps: Vec<Step>,
        folder: PathBuf,
        variables: Vec<(OsString, OsString)>,
    ) -> Self {
        let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
        Self { steps: with_mounts_below(steps, &points(&table)), folder, variables }
    }

    /// As one text without any file: a list of words, each with a zero behind it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut words: Vec<&OsStr> = vec![self.folder.as_os_str()];
        for step in &self.steps {
            let (letter, first, second) = match step {
                Step::Empty(at) => ("empty", at, None),
                Step::Show { from, at, is_writable: false } => ("read", at, Some(from)),
                Step::Show { from, at, is_writable: true } => ("write", at, Some(from)),
                Step::Protect(at) => ("protect", at, None),
                Step::Nothing(at) => ("nothing", at, None),
                Step::Link { at, to } => ("link", at, Some(to)),
                Step::Close(at) => ("close", at, None),
                Step::Open(at) => ("open", at, None),
            };
            words.extend([OsStr::new(letter), first.as_os_str()]);
            words.extend(second.map(|path| path.as_os_str()));
        }
        for (name, value) in &self.variables {
            words.extend([OsStr::new("variable"), name, value]);
        }
        words.push(OsStr::new(END));
        let mut bytes = Vec::new();
        for word in words {
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// What this process is told to do.
    pub fn told() -> Result<Self, WallError> {
        let told = || -> io::Result<Self> {
            // In the whole machine there is a device by this name.
            if is_whole_machine() || !Path::new(TOLD_AT).metadata()?.is_file() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let bytes = fs::read(TOLD_AT)?;
            Self::from_bytes(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
        };
        told().map_err(WallError::file("find what to mount in", TOLD_AT))
    }

    /// Reads such a text back; none if it is another one, or not all of it.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_suffix(&[0])?;
        let mut words = bytes.split(|byte| *byte == 0).map(|it| OsString::from_vec(it.to_vec()));
        let folder = words.next()?.into();
        let mut mounts = Self { steps: Vec::new(), folder, variables: Vec::new() };
        loop {
            let kind = words.next()?;
            if kind == END {
                return words.next().is_none().then_some(mounts);
            }
            let at = PathBuf::from(words.next()?);
            mounts.steps.push(match kind.to_str()? {
                "empty" => Step::Empty(at),
                "read" => Step::Show { from: words.next()?.into(), at, is_writable: false },
                "write" => Step::Show { from: words.next()?.into(), at, is_writable: true },
                "protect" => Step::Protect(at),
                "nothing" => Step::Nothing(at),
                "link" => Step::Link { at, to: words.next()?.into() },
                "close" => Step::Close(at),
                "open" => Step::Open(at),
                "variable" => {
                    mounts.variables.push((at.into(), words.next()?));
                    continue;
                }
                _ => return None,
            });
        }
    }

    /// Puts everything in its place, and gives up what that took. Before it nothing may run that an agent has
    /// made.
    pub fn make(&self) -> Result<(), WallError> {
        if is_whole_machine() {
            return Err(WallError::System(Errno::PERM.into()));
        }
        // Each thing that is picked up is an open file, and a call may have been given few of these.
        let given = getrlimit(Resource::Nofile);
        let most = Rlimit { current: given.maximum, maximum: given.maximum };
        setrlimit(Resource::Nofile, most).map_err(io::Error::from)?;
        self.put_all()?;
        setrlimit(Resource::Nofile, given).map_err(io::Error::from)?;
        self.begin_in_folder()?;
        Ok(give_up()?)
    }

    fn put_all(&self) -> Result<(), WallError> {
        let picked: Vec<Option<OwnedFd>> =
            self.steps.iter().map(pick).collect::<Result<_, WallError>>()?;
        devices()?;
        for (step, picked) in self.steps.iter().zip(picked) {
            step.put(picked)?;
        }
        Ok(())
    }

    fn begin_in_folder(&self) -> Result<(), WallError> {
        let Err(error) = rustix::process::chdir(&self.folder) else { return Ok(()) };
        let is_hidden = matches!(error, Errno::NOENT | Errno::ACCESS);
        if !is_hidden {
            return Err(WallError::file("enter", &self.folder)(error.into()));
        }
        Ok(rustix::process::chdir("/").map_err(io::Error::from)?)
    }
}

/// Whether this process is in no namespace of its own for users: what it mounted would be there for all.
fn is_whole_machine() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().nth(2).is_none_or(|count| count == "4294967295")
}

/// Picks up what a step shows.
fn pick(step: &Step) -> Result<Option<OwnedFd>, WallError> {
    match step {
        Step::Show { from, .. } => clone_of(from).map(Some).map_err(WallError::file("show", from)),
        Step::Nothing(at) => {
            let nothing = clone_of(Path::new("/dev/null"));
            nothing.map(Some).map_err(WallError::file("hide", at))
        }
        Step::Protect(at) => match clone_of(at) {
            // What is not there needs no protection; for any other reason nothing runs without it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            picked => picked.map(Some).map_err(WallError::file("protect", at)),
        },
        Step::Empty(_) | Step::Link { .. } | Step::Close(_) | Step::Open(_) => Ok(None),
    }
}

/// What is mounted at a path and below it, to be put in another place.
fn clone_of(path: &Path) -> io::Result<OwnedFd> {
    use OpenTreeFlags as Flags;
    let flags = Flags::OPEN_TREE_CLONE | Flags::OPEN_TREE_CLOEXEC | Flags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

impl Step {
    fn put(&self, picked: Option<OwnedFd>) -> Result<(), WallError> {
        match (self, picked) {
            (Self::Empty(at), _) => place_for(at, true)
                .and_then(|()| empty(at))
                .map_err(WallError::file("make an empty folder of", at)),
            (Self::Show { at, is_writable, .. }, Some(picked)) => {
                put_at(&picked, at).map_err(WallError::file("show something at", at))?;
                if *is_writable { open(at).map_err(WallError::file("open", at)) } else { Ok(()) }
            }
            (Self::Protect(at) | Self::Nothing(at), Some(picked)) => {
                put_at(&picked, at).and_then(|()| close(at)).map_err(WallError::file("close", at))
            }
            (Self::Link { at, to }, _) => link(at, to).map_err(WallError::file("make", at)),
            (Self::Close(at), _) => close(at).map_err(WallError::file("close", at)),
            (Self::Open(at), _) => {
                // Where that is not possible it can only be read.
                let _closed = open(at);
                Ok(())
            }
            (Self::Show { .. } | Self::Protect(_) | Self::Nothing(_), None) => Ok(()),
        }
    }
}

/// Makes what something is put on, if nothing is there.
fn place_for(at: &Path, is_folder: bool) -> io::Result<()> {
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    if is_folder {
        return fs::create_dir_all(at);
    }
    at.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::File::create_new(at).map(drop)
}

fn put_at(picked: &OwnedFd, at: &Path) -> io::Result<()> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(picked)?.st_mode);
    place_for(at, kind == FileType::Directory)?;
    Ok(move_mount(picked.as_fd(), "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn empty(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", at, "tmpfs", flags, c"mode=0755")?)
}

/// Nothing in what is mounted there can be written any more.
fn close(at: &Path) -> io::Result<()> {
    Ok(mount_remount(at, kept(at)? | MountFlags::RDONLY, "")?)
}

/// What is mounted there can be written, unless it could not be outside.
fn open(at: &Path) -> io::Result<()> {
    match mount_remount(at, kept(at)?, "") {
        Err(Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

/// What stays as it is when a mount is opened or closed; no one may take these away.
fn kept(at: &Path) -> io::Result<MountFlags> {
    let found = rustix::fs::statvfs(at)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::NOEXEC, found.contains(StatVfsMountFlags::NOEXEC));
    Ok(flags)
}

fn link(at: &Path, to: &Path) -> io::Result<()> {
    at.parent().map_or(Ok(()), fs::create_dir_all)?;
    match symlink(to, at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::read_link(at)? == to {
                Ok(())
            } else {
                Err(error)
            }
        }
        made => made,
    }
}

/// Devices that every program may use, in a `/dev` of the call's own.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// What stands in it besides, by name and target.
const LINKS: [(&str, &str); 6] = [
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("fd", "/proc/self/fd"),
    ("core", "/proc/kcore"),
    ("ptmx", "pts/ptmx"),
];

/// Makes the call's own `/dev`, with terminals of its own, and the one that it is made at as the console.
fn devices() -> Result<(), WallError> {
    let dev = Path::new("/dev");
    let make = || -> io::Result<()> {
        let mut picked = Vec::new();
        for name in DEVICES {
            picked.push((name, clone_of(&dev.join(name))?));
        }
        let terminal = isatty(io::stdout()).then(|| ttyname(io::stdout(), Vec::new()).ok());
        if let Some(path) = terminal.flatten() {
            picked.push(("console", clone_of(Path::new(OsStr::from_bytes(path.as_bytes())))?));
        }
        mount("tmpfs", dev, "tmpfs", MountFlags::NOSUID, c"mode=0755")?;
        for (name, device) in picked {
            put_at(&device, &dev.join(name))?;
        }
        for (name, to) in LINKS {
            symlink(to, dev.join(name))?;
        }
        fs::create_dir(dev.join("shm"))?;
        fs::create_dir(dev.join("pts"))?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let options: &CStr = c"newinstance,ptmxmode=0666,mode=620";
        Ok(mount("devpts", dev.join("pts"), "devpts", flags, options)?)
    };
    make().map_err(WallError::file("make", dev))
}

/// Gives up every capability for good: the process is marked so that it gets none by executing anything.
fn give_up() -> io::Result<()> {
    for held in [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP] {
        remove_capability_from_bounding_set(held)?;
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, sets)?)
}

/// Where something is mounted, as the table of all mounts says.
fn points(table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescaped).collect()
}

/// Blanks, tabs, line ends and backslashes stand in the table as three digits behind a backslash.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        rest = after;
        match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..] if *first == b'\\' => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = behind;
            }
            _ => bytes.push(*first),
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Adds what is mounted below something that is shown for writing: a process inside opens each mount by itself.
fn with_mounts_below(steps: Vec<Step>, points: &[PathBuf]) -> Vec<Step> {
    let mut all = Vec::with_capacity(steps.len());
    for step in steps {
        let below: Vec<Step> = match &step {
            Step::Show { from, at, is_writable: true } => {
                let rests = points.iter().filter_map(|point| point.strip_prefix(from).ok());
                let rests = rests.filter(|rest| !rest.as_os_str().is_empty());
                rests.map(|rest| Step::Open(at.join(rest))).collect()
            }
            _ => Vec::new(),
        };
        all.push(step);
        all.extend(below);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        let show = |from: &str, at: &str, is_writable| Step::Show {
            from: from.into(),
            at: at.into(),
            is_writable,
        };
        vec![
            Step::Protect("/proc/sys".into()),
            Step::Empty("/home/me".into()),
            show("/home/me/.cargo/bin", "/home/me/.cargo/bin", false),
            show("/tmp", "/tmp", true),
            show("/views/0", "/srv/shop/.git", true),
            Step::Nothing("/etc/shadow".into()),
            Step::Link { at: "/run/waypost/bin/git".into(), to: "/opt/way post".into() },
            Step::Close("/run/waypost".into()),
        ]
    }

    #[test]
    fn what_is_to_be_done_is_read_as_it_was_written() {
        let variables = vec![("PATH".into(), "/bin".into()), ("EMPTY".into(), "".into())];
        let mounts = Mounts { steps: steps(), folder: "/srv/shop".into(), variables };
        assert_eq!(Mounts::from_bytes(&mounts.to_bytes()), Some(mounts.clone()));
        let bytes = mounts.to_bytes();
        // Cut short it is nothing: less would be hidden.
        for length in 0..bytes.len() {
            assert_eq!(Mounts::from_bytes(&bytes[..length]), None, "{length}");
        }
        assert_eq!(Mounts::from_bytes(b"/srv\0other\0/at\0end\0"), None);
    }

    #[test]
    fn what_is_mounted_below_something_writable_is_opened_behind_it() {
        let table = b"21 1 8:1 / / rw - ext4 /dev/vda rw\n\
                      22 21 0:5 / /tmp rw - tmpfs t rw\n\
                      23 22 0:6 / /tmp/a\\040b/c rw shared:1 - tmpfs t rw\n\
                      24 21 0:7 / /tmpx rw - tmpfs t rw\n";
        let points = points(table);
        assert_eq!(points, ["/", "/tmp", "/tmp/a b/c", "/tmpx"].map(PathBuf::from));
        let opened: Vec<Step> = with_mounts_below(steps(), &points);
        assert_eq!(opened.len(), steps().len() + 1);
        assert_eq!(opened[4], Step::Open("/tmp/a b/c".into()));
    }

    #[test]
    fn the_whole_machine_is_never_mounted_over() {
        let mounts = Mounts { steps: Vec::new(), folder: "/".into(), variables: Vec::new() };
        if is_whole_machine() {
            assert!(mounts.make().is_err());
        }
    }
}
