//! What a git folder looks like inside: its top level is a copy, its folders are the real ones.
//!
//! At the top level of a git folder stand files that a call may replace (the index, `HEAD` while
//! commits are open) beside files that it may not (`config`), and names that must not come into
//! being (`commondir`). No mount can tell them apart for long: a rename from outside takes the
//! mount from a file. So a call gets a top level of its own, and this process, outside, carries
//! changes over, as bytes and by name: those that the call has a right to go out, and what changes
//! outside comes in. Whatever else the call does to its copy is gone with it. The same holds for
//! objects: new ones are taken over, and those that are known cannot be removed.
//!
//! Always: nothing that git would run is carried out; credentials in a configuration do not go in.

mod carry;
mod names;
mod objects;

use crate::{
    call::{Attendant, Ending},
    credentials,
    disk::{self, Disk as _, Kind, RealDisk},
    enclosure::{Enclosure, WRITABLE_GIT_FOLDERS, What},
    error::WallError,
    notices,
    places::Project,
};
use carry::Mark;
use names::Fate;
use rustix::fs::inotify;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};
use waypost_model::{layout, workflow::Rights};

/// Said after everything that a configuration says: what would not work on a copy.
const OVERRIDES: &str = "\n[gc]\n\tauto = 0\n\tpackRefs = false\n[maintenance]\n\tauto = false\n\
                         [core]\n\tfsmonitor = false\n[branch]\n\tautoSetupMerge = false\n";

/// How often the end of a call waits for a lock that git holds outside, and how long each time.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The file whose lock says that a call still runs; in it are the git folders that its views are of.
const LOCK: &str = "lock";

/// Its name until it is locked.
const UNLOCKED: &str = "unlocked";

/// The views of a call: of the repository, and of its work tree's own folder where that is another.
#[derive(Debug)]
pub struct GitViews {
    folder: PathBuf,
    /// Held for as long as the call runs; one that is free belongs to a call that is over.
    _lock: File,
    views: Vec<View>,
    /// How many configurations from elsewhere are shown.
    shown: usize,
}

#[derive(Debug)]
struct View {
    real: PathBuf,
    copy: PathBuf,
    role: Role,
    rights: Rights,
    /// What both sides looked like when they were last the same.
    known: BTreeMap<OsString, (Option<Mark>, Option<Mark>)>,
    /// Folders of an unfinished rebase that were there at the beginning.
    begun: Vec<&'static str>,
}

/// Whose files stand at the top level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The repository's and its only work tree's.
    Whole,
    /// The repository's, seen from a linked work tree.
    Shared,
    /// A linked work tree's.
    Linked,
}

impl GitViews {
    /// Makes the views of a project and puts them into the enclosure; none outside git.
    pub fn make(
        project: &Project,
        rights: Rights,
        enclosure: &mut Enclosure,
    ) -> Result<Option<Self>, WallError> {
        let (Some(common), Some(own)) = (&project.git_common, &project.git_folder) else {
            return Ok(None);
        };
        let all = project.state.join(layout::state::VIEWS);
        disk::make_two(&all).map_err(WallError::file("make", &all))?;
        remove_left(&all);
        let (folder, mut lock) = fresh(&all)?;
        // Seen from inside, a view would be a folder within itself.
        enclosure.set(&all, What::Hidden);
        let roles = match common == own {
            true => vec![(common, Role::Whole)],
            false => vec![(common, Role::Shared), (own, Role::Linked)],
        };
        // With them the next call finds what this one has left, if it is killed.
        let places: Vec<&[u8]> = roles.iter().map(|it| it.0.as_os_str().as_bytes()).collect();
        lock.write_all(&places.join(&0)).map_err(WallError::file("write", &folder))?;
        let mut views = Self { folder, _lock: lock, views: Vec::new(), shown: 0 };
        for (number, (real, role)) in roles.into_iter().enumerate() {
            let copy = views.folder.join(number.to_string());
            let view = View::make(real, copy, role, rights, enclosure)?;
            view.watch();
            views.views.push(view);
        }
        Ok(Some(views))
    }
}

impl GitViews {
    /// Shows a configuration of git without its credentials.
    pub fn show(&mut self, config: &Path, enclosure: &mut Enclosure) -> Result<(), WallError> {
        if !config.is_file() {
            return Ok(());
        }
        let text = fs::read(config).map_err(WallError::file("read", config))?;
        let text = credentials::without_credentials(&String::from_utf8_lossy(&text));
        self.shown += 1;
        let copy = self.folder.join(format!("config-{}", self.shown));
        carry::rewrite(&copy, text.as_bytes())?;
        enclosure.set(config, What::ReadFrom(copy));
        Ok(())
    }
}

/// Git folders where there are no namespaces, and so no views: nothing in them is written from
/// inside, because commits go through the broker. A configuration with a password in it cannot be
/// shown without; then it is not shown. Says if there is one.
pub fn close(project: &Project, enclosure: &mut Enclosure) -> Option<PathBuf> {
    let mut hidden = None;
    for folder in project.git_folders() {
        for (name, _) in WRITABLE_GIT_FOLDERS {
            let path = folder.join(name);
            if path.is_dir() {
                enclosure.set(path, What::Read);
            }
        }
        for name in ["config", "config.worktree"] {
            let config = folder.join(name);
            let text = fs::read_to_string(&config).unwrap_or_default();
            if credentials::without_credentials(&text).trim_end() != text.trim_end() {
                enclosure.set(&config, What::Hidden);
                hidden = Some(config);
            }
        }
    }
    hidden
}

impl Attendant for GitViews {
    fn attend(&mut self) -> Option<Ending> {
        for view in &mut self.views {
            view.carry();
        }
        None
    }

    fn conclude(&mut self) -> Option<String> {
        let mut is_carried = false;
        for _ in 0..LOCK_TRIES {
            is_carried = self.views.iter_mut().all(View::carry);
            if is_carried {
                break;
            }
            thread::sleep(LOCK_PAUSE);
        }
        self.views.iter().for_each(View::carry_folders);
        // What cannot be removed is removed by the next call.
        let _left = fs::remove_dir_all(&self.folder);
        (!is_carried).then(|| {
            "what this call did to git's index or HEAD was not taken over, because another git \
             holds a lock in the git folder; try again"
                .to_owned()
        })
    }
}

impl View {
    fn make(
        real: &Path,
        copy: PathBuf,
        role: Role,
        rights: Rights,
        enclosure: &mut Enclosure,
    ) -> Result<Self, WallError> {
        fs::create_dir(&copy).map_err(WallError::file("make", &copy))?;
        enclosure.set(real, What::WriteFrom(copy.clone()));
        let known = BTreeMap::new();
        let mut view = Self { real: real.into(), copy, role, rights, known, begun: Vec::new() };
        for (name, kind) in RealDisk.entries(real) {
            let (from, to) = (real.join(&name), view.copy.join(&name));
            match kind {
                Kind::Folder => view.take_folder(&name, enclosure)?,
                Kind::File => view.take_file(&name, enclosure)?,
                Kind::Link => {
                    if let Ok(target) = fs::read_link(&from) {
                        std::os::unix::fs::symlink(target, &to)
                            .map_err(WallError::file("make", &to))?;
                    }
                }
                Kind::Other => {}
            }
        }
        Ok(view)
    }

    fn take_folder(&mut self, name: &OsStr, enclosure: &mut Enclosure) -> Result<(), WallError> {
        let (from, to) = (self.real.join(name), self.copy.join(name));
        if name == "objects" {
            enclosure.set(self.real.join(objects::KNOWN), What::ReadFrom(from.clone()));
            enclosure.set(from, What::WriteFrom(to));
            return objects::make(&self.copy);
        }
        if let Some(known) = names::unfinished(name) {
            self.begun.push(known);
            return carry::copy_folder(&from, &to);
        }
        // What no one has put anything into needs no mount.
        let is_used = enclosure.may_write(&from)
            || RealDisk.names(&from).iter().any(|it| !names::is_sample(it));
        if !is_used {
            return Ok(());
        }
        fs::create_dir(&to).map_err(WallError::file("make", &to))?;
        if enclosure.rule(&from).0 != from {
            enclosure.set(from, What::Read);
        }
        Ok(())
    }

    fn take_file(&mut self, name: &OsStr, enclosure: &mut Enclosure) -> Result<(), WallError> {
        let fate = names::fate(name, self.role, self.rights);
        if fate == Fate::Left {
            return Ok(());
        }
        self.bring_first(name, fate)?;
        if matches!(fate, Fate::Shown | Fate::Configuration) {
            let copy = self.copy.join(name);
            if copy.exists() {
                enclosure.set(self.real.join(name), What::ReadFrom(copy));
            }
        }
        Ok(())
    }

    fn watch(&self) {
        use inotify::WatchFlags as On;
        let on = On::CREATE | On::MOVED_TO | On::MOVED_FROM | On::DELETE | On::CLOSE_WRITE;
        for folder in [&self.real, &self.copy, &self.copy.join("objects")] {
            notices::watch(folder, on);
        }
    }

    /// Carries over what has changed on either side; says whether all of it could be.
    fn carry(&mut self) -> bool {
        let mut names = RealDisk.names(&self.real);
        names.extend(RealDisk.names(&self.copy));
        names.extend(self.known.keys().cloned());
        names.sort();
        names.dedup();
        // Before anything that names them.
        let mut is_done = objects::carry(&self.copy, &self.real);
        for name in names {
            let fate = names::fate(&name, self.role, self.rights);
            if fate != Fate::Left {
                is_done &= self.carry_file(&name, fate);
            }
        }
        is_done
    }

    fn carry_file(&mut self, name: &OsStr, fate: Fate) -> bool {
        let (real, copy) = (self.real.join(name), self.copy.join(name));
        let now = (Mark::of(&real), Mark::of(&copy));
        let known = self.known.get(name).copied().unwrap_or((None, None));
        if now == known {
            return true;
        }
        let is_ours = fate == Fate::Carried && now.1 != known.1;
        // Where both sides have changed, the index that was made last counts, and of all else what
        // is outside.
        let goes_out = is_ours && (now.0 == known.0 || names::is_index(name));
        if !goes_out {
            if now.0 != known.0 {
                return self.bring_in(name, fate).is_ok();
            }
            return true;
        }
        match carry::out(&self.real, &self.copy, name, now.1) {
            Ok(true) => {
                // As it was before it was read: what was written meanwhile goes out the next time.
                self.known.insert(name.to_owned(), (Mark::of(&real), now.1));
                true
            }
            // What is no file of its kind stays inside, and what cannot be written now is tried
            // again.
            Ok(false) => true,
            Err(_) => false,
        }
    }

    /// As `bring_in`, while nothing is there and no one looks.
    fn bring_first(&mut self, name: &OsStr, fate: Fate) -> Result<(), WallError> {
        let (real, copy) = (self.real.join(name), self.copy.join(name));
        let seen = Mark::of(&real);
        let is_linked = names::is_index(name) && fs::hard_link(&real, &copy).is_ok();
        match fate {
            Fate::Configuration => carry::rewrite(&copy, configuration(&real)?.as_bytes())?,
            _ if is_linked => {}
            _ => carry::rewrite(&copy, &carry::read(&real)?)?,
        }
        self.known.insert(name.to_owned(), (seen, Mark::of(&copy)));
        Ok(())
    }

    fn bring_in(&mut self, name: &OsStr, fate: Fate) -> Result<(), WallError> {
        let (real, copy) = (self.real.join(name), self.copy.join(name));
        // Looked at before it is read: a change in between is seen as one.
        let seen = Mark::of(&real);
        match (seen, fate) {
            (None, Fate::Carried) => carry::remove(&copy),
            // A mount stands on it, so it can only become empty.
            (None, _) => carry::rewrite(&copy, &[]),
            (Some(_), Fate::Configuration) => {
                carry::rewrite(&copy, configuration(&real)?.as_bytes())
            }
            (Some(_), Fate::Shown) => carry::rewrite(&copy, &carry::read(&real)?),
            (Some(_), _) if names::is_index(name) => carry::link(&real, &copy),
            (Some(_), _) => carry::replace(&copy, &carry::read(&real)?),
        }?;
        self.known.insert(name.to_owned(), (seen, Mark::of(&copy)));
        Ok(())
    }

    /// An unfinished rebase goes on in the next call, unless it would run commands.
    fn carry_folders(&self) {
        if !self.rights.commit || self.role == Role::Shared {
            return;
        }
        for name in names::UNFINISHED {
            let (real, copy) = (self.real.join(name), self.copy.join(name));
            if RealDisk.kind(&copy) == Some(Kind::Folder) {
                if !carry::runs_commands(&copy) {
                    // A half-finished copy is still data, and git says what it lacks.
                    let _partly = carry::copy_folder(&copy, &real);
                }
            } else if self.begun.contains(name) {
                let _left = fs::remove_dir_all(&real);
            }
        }
    }
}

/// A configuration as it goes in.
fn configuration(real: &Path) -> Result<String, WallError> {
    let text = carry::read(real)?;
    Ok(credentials::without_credentials(&String::from_utf8_lossy(&text)) + OVERRIDES)
}

/// A folder for one call, and the lock that says that it is used.
#[expect(clippy::disallowed_methods, reason = "an empty file gets its name; nothing is replaced")]
fn fresh(all: &Path) -> Result<(PathBuf, File), WallError> {
    for number in 0..1_000 {
        let folder = all.join(format!("{}-{number}", process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => {
                // It gets its name when it is locked: another call takes a lock that is free for a dead one's.
                let (path, before) = (folder.join(LOCK), folder.join(UNLOCKED));
                let lock = File::create_new(&before).map_err(WallError::file("make", &before))?;
                lock.try_lock()
                    .map_err(|_| WallError::System(std::io::ErrorKind::WouldBlock.into()))?;
                fs::rename(&before, &path).map_err(WallError::file("make", &path))?;
                return Ok((folder, lock));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(WallError::File { action: "make", path: folder, source }),
        }
    }
    Err(WallError::System(std::io::ErrorKind::AlreadyExists.into()))
}

/// Removes what calls have left that were killed.
fn remove_left(all: &Path) {
    for name in RealDisk.names(all) {
        let folder = all.join(name);
        // Without a lock it may be about to get one, unless it is older than that takes.
        let lock = File::open(folder.join(LOCK)).ok().filter(|lock| lock.try_lock().is_ok());
        if let Some(lock) = lock {
            take_over(&folder, lock);
            let _left = fs::remove_dir_all(&folder);
        }
    }
}

/// Takes the objects of a call over that was killed: references may name them already.
fn take_over(folder: &Path, mut lock: File) {
    let mut places = Vec::new();
    // Those that could be read are right.
    let _partly = lock.read_to_end(&mut places);
    for (number, place) in places.split(|byte| *byte == 0).enumerate() {
        if !place.is_empty() {
            objects::carry(&folder.join(number.to_string()), Path::new(OsStr::from_bytes(place)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_takes_the_folder_of_one_that_begins_for_a_dead_ones() {
        let all = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        remove_left(all.path());
                        let (folder, _lock) = fresh(all.path()).unwrap();
                        fs::create_dir(folder.join("0")).unwrap();
                        fs::remove_dir_all(&folder).unwrap();
                    }
                });
            }
        });
    }
}
