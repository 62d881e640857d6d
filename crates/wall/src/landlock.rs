//! An enclosure as rules of Landlock, which the kernel holds a process and all its children to.
//!
//! Landlock knows only what is allowed, and what is allowed in a folder is allowed below it. So a
//! folder in which something is less open than the folder itself is not opened; what is in it is,
//! name by name. New names cannot be made directly in such a folder: where that matters, the
//! broker makes them.

use crate::{
    disk::{Disk, Kind},
    enclosure::{Enclosure, What},
    error::WallError,
};
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};
use std::path::{Path, PathBuf};

/// The newest rules that we know what to do with; older kernels are found out by the try.
const KNOWN: ABI = ABI::V6;

/// Devices that every program may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What is allowed at a path and below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) path: PathBuf,
    pub(crate) writes: bool,
}

/// Takes signals and abstract sockets of other processes from this thread and its children.
/// Files are left to namespaces, which could not be made otherwise.
pub(crate) fn scope() -> Result<(), WallError> {
    let restrict = || -> Result<(), RulesetError> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        rules.scope(Scope::from_all(KNOWN))?.create()?.restrict_self()?;
        Ok(())
    };
    restrict().map_err(WallError::Landlock)
}

/// Holds this thread and its children to an enclosure, with files and all.
pub(crate) fn restrict(enclosure: &Enclosure, disk: &dyn Disk) -> Result<(), WallError> {
    let grants = grants(enclosure, disk);
    let restrict = || -> Result<(), RulesetError> {
        let all = AccessFs::from_all(KNOWN);
        let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        let mut rules = rules.handle_access(all)?.scope(Scope::from_all(KNOWN))?.create()?;
        // Names may be seen everywhere; what is behind them may not be read.
        rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        for Grant { path, writes } in &grants {
            let access = if *writes { all } else { AccessFs::from_read(KNOWN) };
            rules = allow(rules, path, access)?;
        }
        for device in DEVICES {
            rules = allow(rules, Path::new(device), all)?;
        }
        rules.restrict_self()?;
        Ok(())
    };
    restrict().map_err(WallError::Landlock)
}

fn allow(
    rules: landlock::RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    // What is gone by now is allowed to no one.
    let Ok(file) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    rules.add_rule(PathBeneath::new(file, access))
}

/// What an enclosure allows, as a list of what is open.
pub(crate) fn grants(enclosure: &Enclosure, disk: &dyn Disk) -> Vec<Grant> {
    let rules: Vec<(PathBuf, What)> = enclosure.rules().map(|it| (it.at, it.what)).collect();
    let mut grants = Vec::new();
    Walk { rules: &rules, disk, grants: &mut grants }.walk(Path::new("/"), &What::Read);
    grants
}

struct Walk<'a> {
    rules: &'a [(PathBuf, What)],
    disk: &'a dyn Disk,
    grants: &'a mut Vec<Grant>,
}

impl Walk<'_> {
    fn walk(&mut self, path: &Path, above: &What) {
        let own = self.rules.iter().find(|(at, _)| at == path).map(|(_, what)| what.clone());
        let what = own.unwrap_or_else(|| above.clone());
        let rules = self.rules;
        let below = || rules.iter().filter(|(at, _)| at != path && at.starts_with(path));
        let is_less = |other: &What| openness(other) < openness(&what);
        if openness(&what) > 0 && !below().any(|(_, other)| is_less(other)) {
            self.grant(path, &what);
            // Those further down that are more open have a grant of their own.
            let more: Vec<PathBuf> = below()
                .filter(|(_, other)| openness(other) > openness(&what))
                .map(|(at, _)| at.clone())
                .collect();
            more.iter().for_each(|at| self.walk(at, &what));
            return;
        }
        if openness(&what) == 0 {
            let nearest: Vec<PathBuf> = below().map(|(at, _)| at.clone()).collect();
            nearest.iter().for_each(|at| self.only(at, &what));
            return;
        }
        // What is less open in it can be read all the same: so can all that comes into being there.
        if below().all(|(_, other)| openness(other) > 0) {
            self.grant(path, &What::Read);
        }
        for name in self.disk.names(path) {
            let child = path.join(name);
            if self.disk.kind(&child) != Some(Kind::Link) {
                self.walk(&child, &what);
            }
        }
    }

    /// The rule at a path below what is hidden, once.
    fn only(&mut self, at: &Path, above: &What) {
        let is_known = self.grants.iter().any(|grant| at.starts_with(&grant.path) && grant.writes);
        if !is_known {
            self.walk(at, above);
        }
    }

    fn grant(&mut self, path: &Path, what: &What) {
        let path = match what {
            What::ReadFrom(from) | What::WriteFrom(from) => from.clone(),
            _ => path.to_owned(),
        };
        let grant = Grant { path, writes: openness(what) == 2 };
        if !self.grants.contains(&grant) {
            self.grants.push(grant);
        }
    }
}

/// How open something is: not at all, for reading, for writing.
fn openness(what: &What) -> u8 {
    match what {
        What::Hidden | What::Link(_) => 0,
        What::Read | What::ReadFrom(_) => 1,
        What::Write | What::WriteFrom(_) => 2,
    }
}
