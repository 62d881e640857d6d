//! What a new engine finds: keepers that live and are adopted, and what dead ones left.

use crate::{
    cgroup::{Group, Home},
    client::Keeper,
    clock,
    error::ProcError,
    place::Place,
    process::{self, Identity, Process, Sent},
    spec::{KEEPER_VARIABLE, Report},
    spool,
};
use rustix::process::Signal;
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::Path,
    thread,
    time::Duration,
};

/// How long a keeper may be between its lock and its socket, at its beginning and its end.
const BETWEEN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long the system may take to end what was killed.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// A keeper of an earlier engine.
#[derive(Debug)]
pub enum Found {
    /// It answers. Its whole past is what [`Keeper::next`] gives first.
    Alive(Keeper),
    Dead(Dead),
    /// It lives and speaks another version of our language: an older or newer program started it.
    /// It ends by itself when its children have.
    Foreign {
        id: String,
        version: u32,
    },
}

/// What a keeper that is gone has left; no other process can touch it while this is held.
#[derive(Debug)]
pub struct Dead {
    pub id: String,
    /// What it told or would have told. A child that started and did not end was interrupted.
    pub reports: Vec<Report>,
    place: Place,
    _lock: File,
}

/// All keepers below `folder`.
pub fn find(folder: &Path) -> Result<Vec<Found>, ProcError> {
    Place::all(folder)?.into_iter().map(look).collect()
}

/// Whether there is anything of a keeper below `folder`, without looking at it.
pub fn is_any_left(folder: &Path) -> Result<bool, ProcError> {
    Ok(!Place::all(folder)?.is_empty())
}

fn look(place: Place) -> Result<Found, ProcError> {
    let deadline = clock::now() + BETWEEN;
    loop {
        if let Some(lock) = place.try_lock()? {
            let reports = spool::load(&place.spool())?;
            return Ok(Found::Dead(Dead { id: place.id.clone(), reports, place, _lock: lock }));
        }
        match Keeper::connect(&place) {
            Ok(Some(keeper)) => return Ok(Found::Alive(keeper)),
            Ok(None) | Err(ProcError::Gone { .. }) if clock::now() < deadline => {
                thread::sleep(LOOK_AGAIN);
            }
            Ok(None) => return Err(ProcError::Gone { id: place.id }),
            Err(ProcError::OtherVersion { id, found, .. }) => {
                return Ok(Found::Foreign { id, version: found });
            }
            Err(error) => return Err(error),
        }
    }
}

/// Looks at one keeper that was lost sight of, and at no other: to look at a keeper is to take it
/// over.
pub fn look_again(keeper: Keeper) -> Result<Found, ProcError> {
    let (place, process) = keeper.into_parts();
    let found = look(place)?;
    if let (Found::Dead(_), Some(mut process)) = (&found, process) {
        process.wait().map_err(|e| ProcError::system("wait for a keeper", e))?;
    }
    Ok(found)
}

impl Dead {
    /// Ends everything that the keeper had started and that still runs: SIGTERM, SIGCONT, `grace`,
    /// SIGKILL. Returns how many there were; when it returns, none is left, nor a control group.
    pub fn reap(&self, grace: Duration) -> Result<usize, ProcError> {
        let Some(owner) = self.place.owner() else { return Ok(0) };
        // Nothing lives through a reboot.
        if owner.boot_id != process::boot_id() {
            return Ok(0);
        }
        let home = owner.cgroup.map(|folder| Home::at(folder.into(), &self.id));
        let groups = home.map_or_else(Vec::new, |home| home.groups());
        // Who is frozen does not hear that it should end.
        groups.iter().for_each(Group::thaw);
        let begun = clock::now();
        let (kill_at, give_up_at) = (begun + grace, begun + grace + KILL_PATIENCE);
        let (mut asked, mut empty_looks) = (HashSet::new(), 0);
        loop {
            let left = self.leftovers(owner.process, &asked, &groups)?;
            let now = clock::now();
            // What is born while the list is read can be missed once, but not by a second look
            // that finds no parent of it.
            empty_looks = if left.is_empty() { empty_looks + 1 } else { 0 };
            match left.len() {
                0 if empty_looks < 2 => continue,
                // A group may hold a process that this one cannot see.
                0 if groups.iter().all(Group::remove) || now >= give_up_at => {
                    return Ok(asked.len());
                }
                count if now >= give_up_at => {
                    return Err(ProcError::Survivors { id: self.id.clone(), count });
                }
                _ => {}
            }
            if now >= kill_at {
                groups.iter().for_each(Group::kill);
            }
            for identity in left {
                if asked.insert(identity) && process::signal(identity, Signal::TERM) == Sent::Yes {
                    process::signal(identity, Signal::CONT);
                }
                if now >= kill_at {
                    process::signal(identity, Signal::KILL);
                }
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Forgets this keeper for good; its reports should be kept elsewhere by now.
    pub fn remove(self) -> Result<(), ProcError> {
        self.place.remove()
    }

    /// Who carries the keeper's name, who is known to have been started by it, who is in a group of
    /// its children, who was seen before, and everybody below them.
    fn leftovers(
        &self,
        keeper: Identity,
        seen: &HashSet<Identity>,
        groups: &[Group],
    ) -> Result<Vec<Identity>, ProcError> {
        let started: HashSet<Identity> = self
            .reports
            .iter()
            .filter_map(|report| match report {
                Report::Started { pid, start, .. } => Some(Identity { pid: *pid, start: *start }),
                Report::Ended { .. } | Report::Refused { .. } => None,
            })
            .collect();
        let all = process::all().map_err(|e| ProcError::system("list the processes", e))?;
        // After the list of all: so a number here cannot mean another process there.
        let grouped: HashSet<u32> = groups.iter().flat_map(Group::pids).collect();
        let is_ours = |process: &&Process| {
            let identity = process.identity;
            let carries = || {
                process::variable(identity.pid, KEEPER_VARIABLE)
                    .is_some_and(|id| id == self.id.as_bytes())
            };
            // Older than the keeper: whatever it carries, it was not started by it.
            identity.start >= keeper.start
                && (seen.contains(&identity)
                    || started.contains(&identity)
                    || grouped.contains(&identity.pid)
                    || carries())
        };
        Ok(with_descendants(&all, all.iter().filter(is_ours)))
    }
}

fn with_descendants<'a>(
    all: &'a [Process],
    roots: impl Iterator<Item = &'a Process>,
) -> Vec<Identity> {
    let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut rest: Vec<&Process> = roots.collect();
    while let Some(process) = rest.pop() {
        // The process that looks was perhaps started by one of them; it must not end itself.
        if process.identity.pid != std::process::id() && seen.insert(process.identity) {
            found.push(process.identity);
            rest.extend(children.get(&process.identity.pid).into_iter().flatten());
        }
    }
    found
}
