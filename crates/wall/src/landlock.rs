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
use std::{
    collections::BTreeMap,
    ops::Bound,
    path::{Path, PathBuf},
};

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
    // Of what only folders have, files get nothing.
    rules.add_rule(PathBeneath::new(file, access))
}

/// What an enclosure allows, as a list of what is open.
pub(crate) fn grants(enclosure: &Enclosure, disk: &dyn Disk) -> Vec<Grant> {
    let rules: BTreeMap<PathBuf, What> = enclosure.rules().map(|it| (it.at, it.what)).collect();
    let mut walk = Walk { rules: &rules, disk, grants: BTreeMap::new() };
    walk.walk(Path::new("/"), &What::Read);
    walk.grants.into_iter().map(|(path, writes)| Grant { path, writes }).collect()
}

struct Walk<'a> {
    rules: &'a BTreeMap<PathBuf, What>,
    disk: &'a dyn Disk,
    /// By path, and whether it may be written.
    grants: BTreeMap<PathBuf, bool>,
}

impl<'a> Walk<'a> {
    /// The rules below a path: those that follow it in their order.
    fn below(&self, path: &Path) -> impl Iterator<Item = (&'a Path, &'a What)> + use<'a> {
        let path = path.to_owned();
        let after = (Bound::Excluded(path.clone()), Bound::Unbounded);
        let following = self.rules.range::<PathBuf, _>(after);
        following
            .map(|(at, what)| (at.as_path(), what))
            .take_while(move |(at, _)| at.starts_with(&path))
    }

    fn walk(&mut self, path: &Path, above: &What) {
        let what = self.rules.get(path).unwrap_or(above).clone();
        let own = openness(&what);
        let (mut least, mut most) = (own, own);
        for (_, other) in self.below(path) {
            least = least.min(openness(other));
            most = most.max(openness(other));
        }
        if own == 0 {
            for (at, _) in self.below(path) {
                self.only(at, &what);
            }
            return;
        }
        if least == own {
            self.grant(path, &what);
            // Those further down that are more open have a grant of their own.
            for (at, other) in self.below(path).take_while(|_| most > own) {
                if openness(other) > own {
                    self.walk(at, &what);
                }
            }
            return;
        }
        // What is less open in it can be read all the same: so can all that comes into being there.
        if least > 0 {
            self.grant(path, &What::Read);
        }
        for (name, kind) in self.disk.entries(path) {
            if kind != Kind::Link {
                self.walk(&path.join(name), &what);
            }
        }
    }

    /// The rule at a path below what is hidden, once.
    fn only(&mut self, at: &Path, above: &What) {
        let is_known = at.ancestors().any(|it| self.grants.get(it) == Some(&true));
        if !is_known {
            self.walk(at, above);
        }
    }

    fn grant(&mut self, path: &Path, what: &What) {
        let path = match what {
            What::ReadFrom(from) | What::WriteFrom(from) => from.as_path(),
            _ => path,
        };
        let writes = openness(what) == 2;
        let known = self.grants.entry(path.to_owned()).or_insert(writes);
        *known |= writes;
    }
}

/// How open something is: not at all, for reading, for writing.
fn openness(what: &What) -> u8 {
    match what {
        What::Hidden | What::Scratch | What::Frame | What::Link(_) => 0,
        What::Read | What::ReadFrom(_) => 1,
        What::Write | What::WriteFrom(_) => 2,
    }
}
