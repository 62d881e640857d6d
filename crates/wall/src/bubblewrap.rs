//! An enclosure as arguments of bubblewrap.
//!
//! User, PID and IPC namespaces, an own `/dev` and `/proc`, no capabilities, a session of its own;
//! the call dies with its parent, and all that it has started dies with the call. The arguments go
//! through a descriptor: no limit counts, and other processes do not see them.

use crate::mounts::{Step, TOLD_AT};
use std::{
    ffi::{OsStr, OsString},
    os::fd::RawFd,
    path::Path,
};

/// What every call gets.
const ALWAYS: &str = "--unshare-user --unshare-pid --unshare-ipc --die-with-parent --new-session \
                      --cap-drop ALL --ro-bind / /";

/// What it has where bubblewrap mounts everything by itself.
const WHOLE: &str = "--dev /dev --proc /proc";

/// What it begins with where a program of ours mounts the rest, and gives up the capabilities. It begins where
/// nothing is put: from a folder that something is put on, what is beneath would be in reach.
const BEGINNING: &str =
    "--cap-add CAP_SYS_ADMIN --cap-add CAP_SETPCAP --dev-bind /dev /dev --proc /proc --chdir /";

fn words(texts: [&str; 2]) -> Vec<OsString> {
    texts.into_iter().flat_map(str::split_ascii_whitespace).map(OsString::from).collect()
}

/// The arguments for a process that makes the mounts from inside, as it is told in what the descriptor has.
pub(crate) fn beginning(told: RawFd) -> Vec<OsString> {
    let mut arguments = words([ALWAYS, BEGINNING]);
    arguments.extend(["--ro-bind-data".into(), told.to_string().into(), TOLD_AT.into()]);
    arguments
}

/// The arguments that do all of these steps, and begin in a folder if there is one.
pub(crate) fn arguments(steps: &[Step], folder: Option<&Path>) -> Vec<OsString> {
    let mut arguments = words([ALWAYS, WHOLE]);
    for step in steps {
        match step {
            Step::Empty(at) => push(&mut arguments, "--tmpfs", &[at]),
            Step::Show { from, at, is_writable: false } => {
                push(&mut arguments, "--ro-bind", &[from, at]);
            }
            Step::Show { from, at, is_writable: true } => {
                push(&mut arguments, "--bind", &[from, at]);
            }
            Step::Protect(at) => push(&mut arguments, "--ro-bind-try", &[at, at]),
            Step::Nothing(at) => {
                push(&mut arguments, "--ro-bind", &[Path::new("/dev/null"), at]);
            }
            Step::Link { at, to } => push(&mut arguments, "--symlink", &[to, at]),
            Step::Close(at) => push(&mut arguments, "--remount-ro", &[at]),
            // It takes what is mounted below along by itself.
            Step::Open(_) => {}
        }
    }
    if let Some(folder) = folder {
        push(&mut arguments, "--chdir", &[folder]);
    }
    arguments
}

fn push(arguments: &mut Vec<OsString>, option: &str, paths: &[&Path]) {
    arguments.push(OsStr::new(option).to_owned());
    arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
}
