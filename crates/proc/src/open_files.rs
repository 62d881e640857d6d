//! How many files a process of ours may open, and how many those that it starts.
//!
//! Keepers and engines hold some files for each child, and the usual limit of 1,024 is met with a few
//! hundred of them. So they use all that the system allows them. Children get what was usual before:
//! there are programs that go through all numbers up to the limit, or cannot use large ones.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::{
    env,
    process::{Child, Command},
    sync::OnceLock,
};
use waypost_model::layout::variable;

/// What was usual before this process raised its own limit; none: it has not.
static USUAL: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process open as many files as the system allows it.
pub fn raise_open_files() {
    let own = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: own.maximum, ..own };
    if own.current != own.maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        // Where two threads raise it at once, the second finds it raised.
        let _first = USUAL.set(Rlimit { current: told().or(own.current), ..own });
    }
}

/// How many files this process may open.
pub fn open_files_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Gives a process that was just started the limit that is usual. It cannot be set before without
/// code that runs between fork and exec.
pub fn limit_open_files(child: &Child) {
    if let Some(usual) = usual() {
        // It may have ended already.
        let _ended = prlimit(Some(Pid::from_child(child)), Resource::Nofile, usual);
    }
}

/// The limit for processes that this one starts; none: its own.
pub(crate) fn usual() -> Option<Rlimit> {
    USUAL.get().copied().or_else(|| {
        let own = getrlimit(Resource::Nofile);
        told().map(|count| Rlimit { current: Some(count), ..own })
    })
}

/// Tells a keeper, which looks before it could be limited from outside, what is usual.
pub(crate) fn tell(keeper: &mut Command) {
    if let Some(count) = usual().and_then(|usual| usual.current) {
        keeper.env(variable::OPEN_FILES, count.to_string());
    }
}

/// What the process that started this one has said.
fn told() -> Option<u64> {
    env::var(variable::OPEN_FILES).ok()?.parse().ok()
}
