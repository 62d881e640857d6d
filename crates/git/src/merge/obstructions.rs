//! What is in the way of a move: files of a checkout that git does not track, where the move would
//! put something.
//!
//! Git takes files that it ignores for worthless and writes over them, folders of such files too.
//! They are a person's all the same: settings, keys, data. So we look for ourselves, and tell git to
//! refuse as well, for what is made after our look.

use super::join::paths;
use crate::error::GitError;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// What a tree has at a path that has none.
pub(super) const NOTHING: &str = "000000";
pub(super) const SUBMODULE: &str = "160000";

/// As many files as are named; there may be a million of them in a folder.
const NAMED_MAX: usize = 20;

/// A path in which two trees differ: mode and object on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) old: (String, String),
    pub(super) new: (String, String),
}

impl Change {
    /// The move puts something there where nothing was.
    pub(super) fn is_added(&self) -> bool {
        self.old.0 == NOTHING
    }

    /// What was there is replaced or taken away.
    fn was_there(&self) -> bool {
        !self.is_added()
    }
}

/// Changes by path; a path is bytes.
pub(super) type Changes = BTreeMap<Vec<u8>, Change>;

/// Reads `:OLDMODE NEWMODE OLD NEW STATUS`, NUL, path, NUL, and so on.
pub(super) fn read_raw(printed: &[u8]) -> Changes {
    let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
    let read = |pair: &[&[u8]]| {
        let head = paths(pair[0]).pop()?;
        let mut words = head.strip_prefix(':')?.split(' ').map(str::to_owned);
        let (old, new) = (words.next()?, words.next()?);
        let (old, new) = ((old, words.next()?), (new, words.next()?));
        Some((pair[1].to_vec(), Change { old, new }))
    };
    fields.chunks_exact(2).filter_map(read).collect()
}

/// Files below `folder` that a move with these changes would write over or delete, and that no
/// commit has.
pub(super) fn in_the_way(folder: &Path, changes: &Changes) -> Result<Vec<String>, GitError> {
    let mut found = Vec::new();
    let added = changes.iter().filter(|(_, change)| change.is_added());
    for (path, change) in added {
        if found.len() >= NAMED_MAX {
            break;
        }
        if let Some(above) = file_above(folder, path, changes)? {
            found.push(above);
            continue;
        }
        // Git leaves what is in the folder of a submodule alone.
        if change.new.0 != SUBMODULE {
            collect(folder, path, changes, &mut found)?;
        }
    }
    let mut names: Vec<String> =
        found.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// The file or link that stands where `path` needs a folder, unless the move takes it away.
pub(super) fn file_above(
    folder: &Path,
    path: &[u8],
    changes: &Changes,
) -> Result<Option<Vec<u8>>, GitError> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in ends {
        let above = &path[..end];
        match look(&join(folder, above))? {
            None => return Ok(None),
            Some(found) if found.is_dir() => {}
            Some(_) if changes.get(above).is_some_and(Change::was_there) => return Ok(None),
            Some(_) => return Ok(Some(above.to_vec())),
        }
    }
    Ok(None)
}

/// Everything at a path and below it that the move does not know of.
fn collect(
    folder: &Path,
    path: &[u8],
    changes: &Changes,
    found: &mut Vec<Vec<u8>>,
) -> Result<(), GitError> {
    let place = join(folder, path);
    let is_known = changes.get(path).is_some_and(Change::was_there);
    match look(&place)? {
        None => {}
        Some(metadata) if metadata.is_dir() => {
            let entries = fs::read_dir(&place).map_err(|error| unreadable(&place, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| unreadable(&place, error))?;
                let below = [path, b"/", entry.file_name().as_bytes()].concat();
                if found.len() < NAMED_MAX {
                    collect(folder, &below, changes, found)?;
                }
            }
        }
        Some(_) if is_known => {}
        Some(_) => found.push(path.to_vec()),
    }
    Ok(())
}

fn look(place: &Path) -> Result<Option<fs::Metadata>, GitError> {
    match place.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(unreadable(place, error)),
    }
}

fn join(folder: &Path, path: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(path))
}

fn unreadable(place: &Path, error: io::Error) -> GitError {
    GitError::file("read", place, error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the user")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// What is in the way of a move that adds and deletes these in a folder with these files.
    fn check(files: &[&str], added: &[&str], deleted: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match name.ends_with(".link") {
                true => symlink("/nowhere", path).unwrap(),
                false => fs::write(path, "mine").unwrap(),
            }
        }
        let side = |is_there: bool| {
            let mode = if is_there { "100644" } else { NOTHING };
            (mode.to_owned(), "1".repeat(40))
        };
        let change = |is_added: bool| Change { old: side(!is_added), new: side(is_added) };
        let added = added.iter().map(|name| (name.as_bytes().to_vec(), change(true)));
        let deleted = deleted.iter().map(|name| (name.as_bytes().to_vec(), change(false)));
        in_the_way(folder.path(), &added.chain(deleted).collect()).unwrap()
    }

    #[test]
    fn only_what_would_be_replaced_is_in_the_way() {
        let none: [&str; 0] = [];
        assert_eq!(check(&[".env"], &[".env"], &[]), [".env"]);
        assert_eq!(check(&["deep/a.link"], &["deep/a.link"], &[]), ["deep/a.link"]);
        assert_eq!(
            check(&["data/rows", "data/deep/x"], &["data"], &[]),
            ["data/deep/x", "data/rows"]
        );
        assert_eq!(check(&["data/rows", "data/old"], &["data"], &["data/old"]), ["data/rows"]);
        assert_eq!(check(&["data/old"], &["data"], &["data/old"]), none);
        assert_eq!(check(&["data/rows"], &["data/new"], &[]), none, "beside it");
        assert_eq!(check(&["data"], &["data/new"], &[]), ["data"]);
        assert_eq!(check(&["data.link"], &["data.link/new"], &[]), ["data.link"]);
        assert_eq!(check(&["data"], &["data/new"], &["data"]), none);
        assert_eq!(check(&["a\nb", "é"], &["a\nb", "é"], &[]), ["a\nb", "é"]);
    }

    #[test]
    fn names_that_are_no_text_are_found_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let name = b"odd-\xff".to_vec();
        fs::write(folder.path().join(OsStr::from_bytes(&name)), "mine").unwrap();
        let raw = [&b":000000 100644 00 11 A\0"[..], &name, b"\0"].concat();
        assert_eq!(in_the_way(folder.path(), &read_raw(&raw)).unwrap().len(), 1);
    }
}
