//! Many small packs of ours become one.
//!
//! Only packs that we made are read and replaced, all that is in them goes into the new one, and the
//! old ones go when it is there. Packs that the user's git has replaced, or has listed in an index over
//! many, are the user's from then on.

use super::folder::{FILES, PackFolder, scratch};
use crate::{error::GitError, trees::Trees};
use std::{fs, io, path::Path, time::Duration};
use waypost_model::time::Time;
use waypost_store::{file, lock::FileLock};

/// So many packs make a lookup of an object that is not there noticeably slower.
const PACKS_MAX: usize = 32;
/// No commit takes as long as that, so a pack that is still kept then was left by a process that died.
const KEPT_MAX: Duration = Duration::from_secs(3_600);
/// The same for a person's `git gc`: its lock counts for as long with git itself.
const CLEARING_MAX: Duration = Duration::from_secs(12 * 3_600);
/// More bytes than an index over many packs has with which git still works.
const LIST_SIZE_MAX: u64 = 1 << 32;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// How many packs became one.
    pub packs: usize,
    /// Leftovers of processes that died.
    pub remains: usize,
}

/// Makes one pack of many small ones of ours, if there are many. Does nothing while another process
/// does it, or while the user's git clears up.
pub fn tidy(trees: &Trees) -> Result<Tidied, GitError> {
    let folder = PackFolder::of(trees);
    let ours = folder.ours()?;
    if ours.len() < PACKS_MAX {
        return Ok(Tidied::default());
    }
    let turns = trees.state().join("trees");
    file::make_private_folder(&turns)?;
    let Some(_turn) = FileLock::try_acquire(&turns.join("packing"))? else {
        return Ok(Tidied::default());
    };
    let now = trees.now();
    if age(&trees.common().join("gc.pid"), now).is_some_and(|age| age < CLEARING_MAX) {
        return Ok(Tidied::default());
    }
    let remains = release_remains(trees, &folder, &ours, now);
    let packs = join_packs(trees, &folder, &ours)?;
    Ok(Tidied { packs, remains })
}

/// What processes that died have left: packs that are kept, and folders in which one was written.
fn release_remains(trees: &Trees, folder: &PackFolder, ours: &[String], now: Time) -> usize {
    let is_old = |path: &Path| age(path, now).is_some_and(|age| age >= KEPT_MAX);
    let left = ours.iter().filter(|name| is_old(&folder.keep(name)) && folder.is_kept_by_us(name));
    let released = left.filter(|name| file::remove(&folder.keep(name)).is_ok()).count();
    let begun = fs::read_dir(scratch(trees)).into_iter().flatten().flatten();
    let begun = begun.filter(|entry| is_old(&entry.path()));
    released + begun.filter(|entry| fs::remove_dir_all(entry.path()).is_ok()).count()
}

fn join_packs(trees: &Trees, folder: &PackFolder, ours: &[String]) -> Result<usize, GitError> {
    let listed = file::read_bounded(&folder.packs().join("multi-pack-index"), LIST_SIZE_MAX);
    let listed = listed.ok().flatten().unwrap_or_default();
    let mut free = Vec::new();
    for name in ours {
        if is_in(&listed, name) {
            folder.forget(name);
        } else if !folder.keep(name).exists() {
            let size = folder.pack(name).metadata().map_or(0, |found| found.len());
            free.push((size, name.as_str()));
        }
    }
    let small = small(free);
    let lines = small.iter().map(|name| format!("{name}.pack\n")).collect::<String>();
    if small.len() < 2 {
        return Ok(0);
    }
    let Some(new) = folder.pack_objects(trees, "--stdin-packs", &lines)? else { return Ok(0) };
    for name in small.iter().filter(|name| **name != new.name) {
        for extension in FILES {
            file::remove(&folder.file(name, extension))?;
        }
        folder.forget(name);
    }
    file::remove(&folder.keep(&new.name))?;
    Ok(small.len())
}

/// The smallest packs, and larger ones as long as those before them are half as large together. So
/// an object is packed again only when what it lies in has grown by half.
fn small(mut packs: Vec<(u64, &str)>) -> Vec<&str> {
    packs.sort_unstable();
    let mut sum = 0;
    let mut taken = Vec::new();
    for (size, name) in packs {
        if taken.len() >= PACKS_MAX / 2 && size > 2 * sum {
            break;
        }
        sum += size;
        taken.push(name);
    }
    taken
}

fn is_in(list: &[u8], name: &str) -> bool {
    let line = format!("{name}.idx");
    list.windows(line.len()).any(|part| part == line.as_bytes())
}

/// How long ago a file was written; none if it is not there.
fn age(path: &Path, now: Time) -> Option<Duration> {
    let written: io::Result<_> = path.symlink_metadata().and_then(|found| found.modified());
    let since = written.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(now.since(Time::from_millis(i64::try_from(since.as_millis()).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_packs_are_left_until_the_small_ones_weigh_as_much() {
        let names: Vec<String> = (0..40).map(|it| it.to_string()).collect();
        let packs = |large: u64| {
            let small = names.iter().map(|name| (10, name.as_str()));
            small.chain([(large, "large")]).collect::<Vec<_>>()
        };
        assert_eq!(small(packs(1_000)).len(), 40);
        assert_eq!(small(packs(800)).len(), 41);
        assert_eq!(small(vec![(1, "a"), (5_000, "b")]), ["a", "b"], "there are few");
    }
}
