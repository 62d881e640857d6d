//! Objects that a call makes: they lie in a folder of its own and are taken over from there, so that
//! nothing inside can remove or replace those that are known already.

use crate::{
    disk::{Disk as _, Kind, RealDisk},
    error::WallError,
};
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

/// By this name the repository's own objects stand beside those of the call.
pub(super) const KNOWN: &str = "objects.known";

/// Makes the folder of a call's objects, which finds all others through `KNOWN`.
pub(super) fn make(copy: &Path) -> Result<(), WallError> {
    for name in ["objects", "objects/info", KNOWN] {
        let folder = copy.join(name);
        fs::create_dir(&folder).map_err(WallError::file("make", &folder))?;
    }
    super::carry::rewrite(&copy.join("objects/info/alternates"), format!("../{KNOWN}\n").as_bytes())
}

/// Takes over what is new; what is there already stays as it is.
pub(super) fn carry(copy: &Path, real: &Path) -> bool {
    let (from, to) = (copy.join("objects"), real.join("objects"));
    let mut is_done = true;
    for name in RealDisk.names(&from) {
        let is_fan = name.len() == 2 && is_hex(&name);
        if is_fan || name == "pack" {
            is_done &= carry_folder(&from.join(&name), &to.join(&name)).is_ok();
        }
    }
    is_done
}

fn carry_folder(from: &Path, to: &Path) -> io::Result<()> {
    if RealDisk.kind(from) != Some(Kind::Folder) {
        return Ok(());
    }
    let mut names = RealDisk.names(from);
    names.retain(|name| is_object(name) && RealDisk.kind(&from.join(name)) == Some(Kind::File));
    if names.is_empty() {
        return Ok(());
    }
    // An index says that its pack is there.
    names.sort_by_key(|name| Path::new(name).extension() == Some(OsStr::new("idx")));
    match fs::create_dir(to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for name in names {
        let (from, to) = (from.join(&name), to.join(&name));
        if to.symlink_metadata().is_err() {
            place(&from, &to)?;
        }
    }
    Ok(())
}

/// Puts an object into its place under the name that it has.
fn place(from: &Path, to: &PathBuf) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // A link in its place has come between the look and the deed.
    if RealDisk.kind(to) == Some(Kind::Link) {
        fs::remove_file(to)?;
    }
    Ok(())
}

fn is_hex(name: &OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

/// Whether a name is that of a loose object, or of a pack and what belongs to it.
fn is_object(name: &OsStr) -> bool {
    let is_loose = matches!(name.len(), 38 | 62) && is_hex(name);
    is_loose || name.as_encoded_bytes().starts_with(b"pack-")
}
