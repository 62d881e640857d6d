//! The keeper itself: a process with one thread that starts children and outlives its engine.
//!
//! It is in a session of its own, so that no terminal's signal reaches it, and the subreaper of
//! everything below it. It ends by itself when nothing is left to keep and no engine is connected.

mod attention;
mod child;
mod connection;
mod conversation;
mod family;
mod keeping;
mod redaction;
mod speech;

use crate::{cgroup::Home, error::ProcError, open_files, place::Place, spool::Spool};
use keeping::Keeping;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{fs::File, path::Path};

/// What the one who started it reads when the keeper listens.
pub(crate) const READY: &[u8] = b"ready\n";

/// All of the keeper whose folder this is; returns when it has nothing left to do.
pub fn serve(folder: &Path) -> Result<(), ProcError> {
    let place = Place::at(folder)?;
    let mut lock = place.try_lock()?.ok_or_else(|| ProcError::Busy { path: folder.to_owned() })?;
    // Fails only for the leader of a group, which has no terminal to be protected from.
    let _own_already = rustix::process::setsid();
    let itself = Some(rustix::process::getpid());
    rustix::process::set_child_subreaper(itself)
        .map_err(|e| ProcError::system("become the parent of orphans", e))?;
    let home = Home::of(&place.id);
    place.write_owner(&mut lock, home.as_ref().map(|home| home.folder.as_path()))?;
    let spool = Spool::create(&place.spool())?;
    let listener = place.listen()?;
    let files = raise_limits();
    let means = Means { spool, files, lock, home };
    let keeping = Keeping::new(place.id, listener, means)?;
    tell_ready();
    keeping.run()
}

/// What a keeper works with.
#[derive(Debug)]
struct Means {
    spool: Spool,
    files: Files,
    /// What proves that it lives.
    lock: File,
    /// `None`: there are no control groups here.
    home: Option<Home>,
}

/// How many files this process may open, and how many its children are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files {
    pub(crate) own: u64,
    /// `None`: the same as this process.
    pub(crate) children: Option<Rlimit>,
}

/// A few files per child make thousands; and a core of ours would hold the environments of all.
fn raise_limits() -> Files {
    let core = getrlimit(Resource::Core);
    let _kept = setrlimit(Resource::Core, Rlimit { current: Some(0), ..core });
    open_files::raise_open_files();
    let own = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    Files { own, children: open_files::usual() }
}

fn tell_ready() {
    // No engine has to listen: a person may have started it by hand.
    let _unheard = rustix::io::write(rustix::stdio::stdout(), READY);
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        let _still_open = rustix::stdio::dup2_stdout(&nowhere);
    }
}
