//! Whether a program that may be started can be.
//!
//! The system says so only when it is tried, and behind a wall not even then: there it looks like a program that
//! ends at once. What can be told from how its file begins is told before.

use super::profile::{find_program, is_program};
use crate::environment::Environment;
use std::{fs::File, io::Read as _, path::Path};

/// As much as tells what a file is: a line with its interpreter is no longer for the system.
const HEAD_SIZE: u64 = 256;

/// Up to the machine that a binary is for.
const ELF_SIZE: usize = 20;

const ELF: &[u8] = b"\x7fELF";

/// Why an executable file cannot be started all the same, if that can be told.
pub(super) fn unstartable(program: &Path, environment: &Environment) -> Option<String> {
    let head = head(program)?;
    if head.is_empty() {
        return Some("is an empty file".to_owned());
    }
    if head.starts_with(ELF) {
        let own = head_of_ours()?;
        let (word, machine) = (4..6, 18..ELF_SIZE);
        let is_cut = head.len() < ELF_SIZE;
        let is_other = !is_cut
            && (head.get(word.clone()) != own.get(word)
                || head.get(machine.clone()) != own.get(machine));
        // One of another machine may be one that an emulator is registered for.
        let is_foreign = is_cut || (is_other && !is_emulated());
        return is_foreign.then(|| "is damaged, or for another machine".to_owned());
    }
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let interpreter = words.next().unwrap_or_default();
    if !is_program(Path::new(interpreter)) {
        return Some(format!("wants `{interpreter}`, which is not there"));
    }
    let is_plain = |word: &&str| !word.starts_with('-') && !word.contains('=');
    let named = words.next().filter(|_| interpreter.ends_with("/env")).filter(is_plain)?;
    let is_there = find_program(named, environment.get("PATH")).is_some();
    (!is_there).then(|| format!("wants `{named}`, which is not installed"))
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD_SIZE).read_to_end(&mut head).ok()?;
    Some(head)
}

/// How programs of this machine begin.
fn head_of_ours() -> Option<Vec<u8>> {
    head(Path::new("/proc/self/exe")).filter(|head| head.starts_with(ELF))
}

/// Whether the system starts files of other formats by another program.
fn is_emulated() -> bool {
    let entries = std::fs::read_dir("/proc/sys/fs/binfmt_misc").into_iter().flatten().flatten();
    entries.into_iter().any(|it| !matches!(it.file_name().to_str(), Some("register" | "status")))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes the programs that it looks at")]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn what_cannot_be_started_says_why_and_what_can_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of_this_process();
        let why = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            unstartable(&path, &environment).unwrap_or_default()
        };
        assert_eq!(
            why("gone", b"#!/no/such/shell\n"),
            "wants `/no/such/shell`, which is not there"
        );
        let env = b"#!/usr/bin/env no-such-program\n";
        assert_eq!(why("env", env), "wants `no-such-program`, which is not installed");
        assert_eq!(why("empty", b""), "is an empty file");
        assert_eq!(why("cut", b"\x7fELF\x02"), "is damaged, or for another machine");
        assert_eq!(why("script", b"#!/bin/sh -e\nexit\n"), "");
        assert_eq!(why("found", b"#!/usr/bin/env sh\n"), "");
        assert_eq!(unstartable(Path::new("/bin/sh"), &environment), None);
    }
}
