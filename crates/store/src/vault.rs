//! Values that people give to tasks, sealed: what is on the disk is of no use without a key that is
//! elsewhere.
//!
//! Sealed values are beside the journal, a folder for each task and a file for each value; the key is in
//! the user's own state. Each value is bound to the journal, the task and the name that it was given for: moved
//! to another place it does not open. The cipher is XChaCha20-Poly1305, whose nonces are long enough to be
//! drawn at random, so that nothing has to be counted.
//!
//! *Absent:* what a value is for, and whether it is one that makes sense.

use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    hash,
    place::Place,
};
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};
use rustix::rand::{GetRandomFlags, getrandom};
use std::{
    fmt::Write as _,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use waypost_model::layout;
use waypost_redact::Secret;
use zeroize::Zeroizing;

/// The longest value; an environment takes no longer one.
pub const VALUE_SIZE_MAX: usize = 64 << 10;

const KEY_SIZE: usize = 32;
const NONCE_SIZE: usize = 24;
/// What a value grows by when it is sealed, its nonce and its first line among it.
const SEAL_SIZE_MAX: usize = 256;
/// The first line of a key, and of a value before the name of its key.
const KEY_LINE: &str = "key 1 of waypost";
const VALUE_LINE: &str = "value 1 of waypost";
const NAME_LENGTH_MAX: usize = 128;

/// The values of one project.
#[derive(Clone, Debug)]
pub struct Vault {
    folder: PathBuf,
    key: PathBuf,
    journal: String,
}

/// How a vault stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VaultHealth {
    /// It holds nothing.
    Empty,
    /// So many values open.
    Good { values: usize },
    /// There are values, and the key that they were sealed with is gone or is another one.
    Locked { values: usize, tasks: Vec<String> },
    /// Other users may read the key.
    Exposed { key: PathBuf },
}

/// A key, and the name by which values say which one they need.
struct SealingKey {
    bytes: Zeroizing<[u8; KEY_SIZE]>,
    name: String,
}

impl Vault {
    /// The vault of `place`, whose journal has this id; its key is below `state_home`: `$XDG_STATE_HOME`, or
    /// `~/.local/state`.
    pub fn of(place: &Place, journal: &str, state_home: &Path) -> Self {
        Self {
            folder: place.state.join(layout::state::VALUES),
            key: state_home.join(layout::user_state::VALUES_KEY),
            journal: journal.to_owned(),
        }
    }

    /// Keeps a value for a task, in place of one of the same name. The first value makes the key.
    pub fn keep(&self, task: &str, name: &str, value: &Secret) -> Result<(), StoreError> {
        let path = self.path_of(task, name)?;
        if value.expose().len() > VALUE_SIZE_MAX {
            return Err(StoreError::TooLarge { path, max: VALUE_SIZE_MAX as u64 });
        }
        let key = self.key_or_new()?;
        let sealed = self.seal(&key, (task, name), value)?;
        make_private_folder(path.parent().unwrap_or(&self.folder))?;
        file::replace(&path, &sealed, file::PRIVATE)
    }

    /// The names of a task's values, in order.
    pub fn names(&self, task: &str) -> Result<Vec<String>, StoreError> {
        let names = file::list(&self.folder_of(task)?)?;
        Ok(names.into_iter().filter(|name| is_name(name)).collect())
    }

    /// The values of a task with their names, in order.
    pub fn open(&self, task: &str) -> Result<Vec<(String, Secret)>, StoreError> {
        let names = self.names(task)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.key()?.ok_or_else(|| self.lost())?;
        let open = |name: String| {
            let value = self.open_one(&key, (task, &name))?;
            Ok((name, value))
        };
        names.into_iter().map(open).collect()
    }

    /// Deletes all values of a task; that there are none is no error.
    pub fn forget(&self, task: &str) -> Result<(), StoreError> {
        let folder = self.folder_of(task)?;
        for name in file::list(&folder)? {
            file::remove_durably(&folder.join(name))?;
        }
        match fs::remove_dir(&folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::file("remove", &folder, e))
            }
            _ => Ok(()),
        }
    }

    /// The tasks that have values, in order.
    pub fn tasks(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::file("list", &self.folder, e)),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut tasks: Vec<String> = names.filter(|name| is_name(name)).collect();
        tasks.sort_unstable();
        Ok(tasks)
    }

    /// Tries every value.
    pub fn examine(&self) -> Result<VaultHealth, StoreError> {
        let (mut good, mut locked, mut values) = (0, Vec::new(), 0);
        for task in self.tasks()? {
            let names = self.names(&task)?;
            values += names.len();
            match self.open(&task) {
                Ok(opened) => good += opened.len(),
                Err(StoreError::KeyLost { .. }) => locked.push(task),
                Err(error) => return Err(error),
            }
        }
        let is_exposed = fs::symlink_metadata(&self.key)
            .is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
        Ok(match (is_exposed, locked.is_empty()) {
            (_, false) => VaultHealth::Locked { values: values - good, tasks: locked },
            (true, true) => VaultHealth::Exposed { key: self.key.clone() },
            (false, true) if good == 0 => VaultHealth::Empty,
            (false, true) => VaultHealth::Good { values: good },
        })
    }

    fn seal(
        &self,
        key: &SealingKey,
        (task, name): (&str, &str),
        value: &Secret,
    ) -> Result<Vec<u8>, StoreError> {
        let mut nonce = [0; NONCE_SIZE];
        random(&mut nonce, &self.folder)?;
        let about = self.about(task, name);
        let payload = Payload { msg: value.expose().as_bytes(), aad: about.as_bytes() };
        let sealed = key.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| StoreError::corrupt(&self.folder, "cannot be sealed"))?;
        let line = format!("{VALUE_LINE} {}\n", key.name);
        Ok([line.as_bytes(), &nonce, &sealed].concat())
    }

    fn open_one(&self, key: &SealingKey, (task, name): (&str, &str)) -> Result<Secret, StoreError> {
        let path = self.path_of(task, name)?;
        let damaged = |detail: &str| StoreError::corrupt(&path, detail);
        let max = (VALUE_SIZE_MAX + SEAL_SIZE_MAX) as u64;
        let bytes = file::read_bounded(&path, max)?.ok_or_else(|| damaged("it is gone"))?;
        let at = bytes.iter().position(|byte| *byte == b'\n');
        let (line, rest) = at.map(|at| (&bytes[..at], &bytes[at + 1..])).unwrap_or_default();
        let needed = str::from_utf8(line).ok().and_then(|line| line.strip_prefix(VALUE_LINE));
        let needed = needed.ok_or_else(|| damaged("it is no value of ours"))?.trim();
        if needed != key.name {
            return Err(self.lost());
        }
        let (nonce, sealed) =
            rest.split_first_chunk::<NONCE_SIZE>().ok_or_else(|| damaged("it is cut off"))?;
        let about = self.about(task, name);
        let payload = Payload { msg: sealed, aad: about.as_bytes() };
        let opened = key.cipher().decrypt(&XNonce::from(*nonce), payload);
        let opened = opened.map_err(|_| damaged("it was changed, or sealed for another place"))?;
        String::from_utf8(opened).map(Secret::new).map_err(|_| damaged("it is no text"))
    }

    /// What a sealed value is bound to.
    fn about(&self, task: &str, name: &str) -> String {
        format!("{VALUE_LINE}\0{}\0{task}\0{name}", self.journal)
    }

    fn key_or_new(&self) -> Result<SealingKey, StoreError> {
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        let mut bytes = Zeroizing::new([0; KEY_SIZE]);
        random(&mut bytes[..], &self.key)?;
        let mut text = Zeroizing::new(format!("{KEY_LINE}\n"));
        for byte in bytes.iter() {
            write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        }
        text.push('\n');
        make_private_folder(self.key.parent().unwrap_or(&self.key))?;
        // Where another process was quicker, its key counts.
        file::create_new(&self.key, text.as_bytes(), file::PRIVATE)?;
        self.key()?.ok_or_else(|| self.lost())
    }

    fn key(&self) -> Result<Option<SealingKey>, StoreError> {
        let Some(bytes) = file::read_bounded(&self.key, SEAL_SIZE_MAX as u64)? else {
            return Ok(None);
        };
        let text = Zeroizing::new(bytes);
        let damaged = || StoreError::corrupt(&self.key, "it is no key of ours");
        let digits = str::from_utf8(&text).ok().and_then(|text| text.strip_prefix(KEY_LINE));
        let digits = digits.ok_or_else(damaged)?.trim();
        let mut key = Zeroizing::new([0; KEY_SIZE]);
        if digits.len() != KEY_SIZE * 2 || !digits.is_ascii() {
            return Err(damaged());
        }
        for (at, byte) in key.iter_mut().enumerate() {
            let pair = &digits[at * 2..at * 2 + 2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| damaged())?;
        }
        let name = hash::shortened(&hash::blake3_hex(&key[..]));
        Ok(Some(SealingKey { bytes: key, name }))
    }

    fn lost(&self) -> StoreError {
        StoreError::KeyLost { path: self.key.clone() }
    }

    fn folder_of(&self, task: &str) -> Result<PathBuf, StoreError> {
        let folder = self.folder.join(task);
        match is_name(task) {
            true => Ok(folder),
            false => Err(StoreError::corrupt(&self.folder, format!("`{task}` names no task"))),
        }
    }

    fn path_of(&self, task: &str, name: &str) -> Result<PathBuf, StoreError> {
        let path = self.folder_of(task)?.join(name);
        match is_name(name) {
            true => Ok(path),
            false => Err(StoreError::corrupt(&self.folder, format!("`{name}` names no value"))),
        }
    }
}

impl SealingKey {
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&(*self.bytes).into())
    }
}

/// Whether a text can be the name of a file, and of nothing else.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !text.is_empty()
        && text.len() <= NAME_LENGTH_MAX
        && !text.starts_with('.')
        && text.bytes().all(is_plain)
}

fn random(bytes: &mut [u8], path: &Path) -> Result<(), StoreError> {
    let mut done = 0;
    while done < bytes.len() {
        let some = getrandom(&mut bytes[done..], GetRandomFlags::empty());
        done += some.map_err(|e| StoreError::file("draw a random number for", path, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
