//! Names that have to stay as they are while a call runs.
//!
//! In a writable folder no mount can hold a name: one that is missing cannot be mounted on, and a
//! rename from outside takes the mount from a file. So they are watched. What comes into being
//! under such a name is moved out of the way; what is replaced ends the call, because nothing
//! protects it any more. A name that comes into being ends a call as well, so that it says why; a whole
//! agent goes on, whose program may have made the file by itself.

use crate::{
    call::{Attendant, Ending},
    disk, notices,
};
use rustix::fs::inotify;
use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process,
};

/// The names of one call.
#[derive(Debug)]
pub struct Watch {
    names: Vec<(PathBuf, Option<u64>)>,
    /// Where things are moved to.
    aside: PathBuf,
    moved: usize,
    /// Whether a name that comes into being ends the call.
    ends: bool,
    /// What is told when the call is over.
    told: Vec<String>,
}

impl Watch {
    /// Watches these names from now on.
    pub fn begin(names: &[PathBuf], aside: PathBuf) -> Self {
        let mut folders: Vec<&Path> = names.iter().filter_map(|name| name.parent()).collect();
        folders.dedup();
        for folder in folders {
            use inotify::WatchFlags as On;
            let on = On::CREATE | On::MOVED_TO | On::MOVED_FROM | On::DELETE;
            notices::watch(folder, on);
        }
        let names = names.iter().map(|name| (name.clone(), inode(name))).collect();
        Self { names, aside, moved: 0, ends: true, told: Vec::new() }
    }

    /// The same for a call that goes on when a name comes into being.
    #[must_use]
    pub fn of_an_agent(self) -> Self {
        Self { ends: false, ..self }
    }

    fn look(&mut self) -> Option<Ending> {
        for at in 0..self.names.len() {
            let (name, known) = self.names[at].clone();
            let found = inode(&name);
            if found == known {
                continue;
            }
            self.names[at].1 = found;
            let shown = name.display();
            let reason = match (known, found) {
                (None, _) => match self.move_aside(&name) {
                    Ok(to) => format!(
                        "{shown} tells programs outside what to run, so an agent's command cannot \
                         make it; it was moved to {}. A person can put it there.",
                        to.display()
                    ),
                    Err(error) => format!("{shown} cannot be moved out of the way: {error}"),
                },
                (Some(_), _) => format!(
                    "{shown} was replaced outside while this call ran, so the call was ended; \
                     make it again."
                ),
            };
            if known.is_none() && !self.ends {
                self.told.push(reason);
                continue;
            }
            return Some(Ending { reason });
        }
        None
    }

    #[expect(clippy::disallowed_methods, reason = "moved as it is, whatever it is")]
    fn move_aside(&mut self, name: &Path) -> io::Result<PathBuf> {
        disk::make_two(&self.aside)?;
        self.moved += 1;
        let last = name.file_name().unwrap_or_default().to_string_lossy();
        let to = self.aside.join(format!("{}-{}-{last}", process::id(), self.moved));
        fs::rename(name, &to)?;
        if let Some(known) = self.names.iter_mut().find(|(known, _)| known == name) {
            known.1 = None;
        }
        Ok(to)
    }
}

impl Attendant for Watch {
    fn attend(&mut self) -> Option<Ending> {
        self.look()
    }

    fn conclude(&mut self) -> Option<String> {
        let mut said = Vec::new();
        // The first look may add to it.
        let first = self.look().map(|Ending { reason }| reason);
        said.extend(std::mem::take(&mut self.told).into_iter().chain(first));
        while let Some(Ending { reason }) = self.look() {
            said.push(reason);
        }
        // Whatever was replaced outside is not this call's doing any more.
        said.retain(|reason| !reason.contains("was replaced outside"));
        (!said.is_empty()).then(|| said.join("\n"))
    }
}

fn inode(path: &Path) -> Option<u64> {
    path.symlink_metadata().ok().map(|found| found.ino())
}
