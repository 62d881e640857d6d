//! An enclosure as arguments of bubblewrap.
//!
//! User, PID and IPC namespaces, an own `/dev` and `/proc`, no capabilities, a session of its own;
//! the call dies with its parent, and all that it has started dies with the call. The arguments go
//! through a descriptor: no limit counts, and other processes do not see them.

use crate::{
    disk::{Disk, Kind},
    enclosure::{Enclosure, Rule, What},
};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// What every call gets, before its rules.
const ALWAYS: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--new-session",
];

/// Parts of `/proc` that belong to the whole machine. Some of their files are root's to write, capabilities or
/// not, and a namespace changes nothing about that. Other users can write in there only what belongs to the
/// call's own namespaces.
const OF_THE_MACHINE: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/mtrr", "/proc/acpi"];

/// The arguments that build an enclosure for a call by root or by another user.
pub(crate) fn arguments(
    enclosure: &Enclosure,
    folder: &Path,
    disk: &dyn Disk,
    is_root: bool,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ALWAYS.iter().map(OsString::from).collect();
    let (mut frames, mut last) = (Vec::new(), Vec::new());
    for Rule { at, what } in enclosure.rules() {
        if at == Path::new("/") {
            push(&mut arguments, "--ro-bind", &[&at, &at]);
            push(&mut arguments, "--dev", &[Path::new("/dev")]);
            push(&mut arguments, "--proc", &[Path::new("/proc")]);
            for part in OF_THE_MACHINE.map(Path::new).iter().filter(|_| is_root) {
                push(&mut arguments, "--ro-bind-try", &[part, part]);
            }
            continue;
        }
        // What is readable below what is readable needs no mount of its own.
        let above = at.parent().map(|above| enclosure.rule(above).1);
        match &what {
            What::Read if above == Some(&What::Read) => {}
            What::Read => push(&mut arguments, "--ro-bind", &[&at, &at]),
            What::Write => push(&mut arguments, "--bind", &[&at, &at]),
            What::ReadFrom(from) => push(&mut arguments, "--ro-bind", &[from, &at]),
            What::WriteFrom(from) => push(&mut arguments, "--bind", &[from, &at]),
            What::Link(to) => push(&mut arguments, "--symlink", &[to, &at]),
            What::Hidden if above == Some(&What::Hidden) => {}
            What::Hidden if disk.kind(&at) == Some(Kind::File) => {
                push(&mut arguments, "--ro-bind", &[Path::new("/dev/null"), &at]);
            }
            // Bubblewrap reads the table of all mounts for each file or folder that it shows: what is only
            // hidden waits until those are done.
            What::Hidden if !enclosure.has_below(&at) => last.push(at),
            What::Scratch => push(&mut arguments, "--tmpfs", &[&at]),
            What::Hidden | What::Frame => {
                push(&mut arguments, "--tmpfs", &[&at]);
                frames.push(at);
            }
        }
    }
    for at in last {
        push(&mut arguments, "--tmpfs", &[&at]);
    }
    // When everything is in them.
    for frame in frames {
        push(&mut arguments, "--remount-ro", &[&frame]);
    }
    if !matches!(enclosure.rule(folder).1, What::Hidden | What::Scratch) {
        push(&mut arguments, "--chdir", &[folder]);
    }
    arguments
}

fn push(arguments: &mut Vec<OsString>, option: &str, paths: &[&Path]) {
    arguments.push(OsStr::new(option).to_owned());
    arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
}
