//! Which files are scripts for a shell.
//!
//! By content, wherever they are. The system's own programs and the settings of the user's shell
//! are not read: what they do is not the doing of a command that uses them.

use std::path::Path;

use waypost_guard::{Reader, Script};

use crate::look::Homes;
use crate::look::read::{Content, TEXT_LIMIT, content};

/// Folders whose programs are the system's, the same as when they are called by name.
const SYSTEM: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin"];

/// Files of the user's home that set up a shell.
const SETTINGS: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".cargo/env",
    ".deno/env",
    ".ghcup/env",
    ".local/bin/env",
    ".nvm/nvm.sh",
    ".asdf/asdf.sh",
    ".sdkman/bin/sdkman-init.sh",
];

/// Folders in which a build puts programs: one that is not there yet is being built.
const BUILT: &[&str] = &["target", "build", "dist", "node_modules", ".venv", "venv"];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash"];

/// The bytes by which a shell tells a program from a text.
const HEAD: usize = 256;

/// The script at an absolute path.
pub(super) fn find(path: &Path, reader: Reader, homes: &Homes) -> Script {
    let is_system =
        path.parent().is_some_and(|folder| SYSTEM.iter().any(|it| Path::new(it) == folder));
    let in_home = homes.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    let is_setting = in_home.is_some_and(|rest| SETTINGS.iter().any(|it| Path::new(it) == rest));
    if (is_system && reader == Reader::Kernel) || is_setting || path == Path::new("/dev/null") {
        return Script::Other;
    }
    if reader == Reader::Kernel
        && let Some(line) = other_name(path)
    {
        return Script::Shell(line);
    }
    match content(path) {
        Content::Bytes(bytes) => classified(&bytes, reader),
        Content::Folder => Script::Other,
        Content::None => match path.try_exists() {
            Ok(false) if (reader == Reader::Kernel || is_activation(path)) && is_built(path) => {
                Script::Other
            }
            _ => Script::Absent,
        },
    }
}

/// What a link stands for that leads to one of the system's programs under another name.
fn other_name(path: &Path) -> Option<String> {
    let is_link = path.symlink_metadata().ok()?.is_symlink();
    let target = if is_link { path.canonicalize().ok()? } else { return None };
    let is_system = SYSTEM.iter().any(|it| target.parent() == Some(Path::new(it)));
    let is_plain = |name: &&str| name.chars().all(|it| it.is_alphanumeric() || "._+-".contains(it));
    let name = target.file_name()?.to_str().filter(is_plain)?;
    (is_system && path.file_name() != target.file_name()).then(|| format!("{name} \"$@\""))
}

/// Whether a script is one that an environment of Python gets when it is made.
fn is_activation(path: &Path) -> bool {
    path.ends_with("bin/activate")
}

fn is_built(path: &Path) -> bool {
    path.parent().into_iter().flat_map(Path::components).any(|part| {
        let name = part.as_os_str();
        BUILT.iter().any(|built| name == *built)
    })
}

fn classified(bytes: &[u8], reader: Reader) -> Script {
    let head = &bytes[..bytes.len().min(HEAD)];
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let is_shell = match first.strip_prefix(b"#!") {
        // A shell that is told to read a file does not care for its first line.
        _ if reader == Reader::Shell => !is_program(first),
        Some(line) => is_shell_line(&String::from_utf8_lossy(line)),
        None => !is_program(first),
    };
    match is_shell {
        false => Script::Other,
        true if bytes.len() > TEXT_LIMIT => Script::TooLong,
        true => Script::Shell(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// Whether a file that begins so is a binary program, which no shell takes for a script.
fn is_program(first: &[u8]) -> bool {
    first.contains(&0) || first.starts_with(b"\x7fELF")
}

/// Whether the line after `#!` starts a shell.
pub(super) fn is_shell_line(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let program = words.next().map(base).unwrap_or_default();
    let program = match program.as_str() {
        // Options and variables of `env` stand before the program.
        "env" | "busybox" => {
            words.find(|word| !word.starts_with('-') && !word.contains('=')).map(base)
        }
        _ => Some(program),
    };
    // Without any, the kernel cannot tell either, and the shell tries by itself.
    program.is_none_or(|program| program.is_empty() || SHELLS.contains(&program.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_the_program_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = |to: &str, name: &str| {
            let path = folder.path().join(name);
            std::os::unix::fs::symlink(to, &path).unwrap();
            find(&path, Reader::Kernel, &Homes::default())
        };
        assert_eq!(link("/usr/bin/env", "g"), Script::Shell("env \"$@\"".into()));
        assert_eq!(link("g", "again"), Script::Shell("env \"$@\"".into()));
        assert_eq!(link("/usr/bin/env", "env"), Script::Other);
        assert_eq!(link("/nowhere", "x"), Script::Absent);
    }

    #[test]
    fn what_is_not_made_yet_is_no_script() {
        let folder = tempfile::tempdir().unwrap();
        let find = |name, reader| find(&folder.path().join(name), reader, &Homes::default());
        assert_eq!(find(".venv/bin/activate", Reader::Shell), Script::Other);
        assert_eq!(find("target/debug/x", Reader::Kernel), Script::Other);
        assert_eq!(find("target/debug/x", Reader::Shell), Script::Absent);
        assert_eq!(find("bin/activate", Reader::Shell), Script::Absent);
    }

    #[test]
    fn the_first_line_tells_what_a_script_is_for() {
        let check = |text: &str, by_kernel: bool, by_shell: bool| {
            let is = |reader| matches!(classified(text.as_bytes(), reader), Script::Shell(_));
            let got = (is(Reader::Kernel), is(Reader::Shell));
            assert_eq!(got, (by_kernel, by_shell), "{text:?}");
        };
        check("#!/bin/sh\ngit push\n", true, true);
        check("#! /usr/bin/env bash\n", true, true);
        check("#!/usr/bin/env -S bash -e\n", true, true);
        check("#!/bin/busybox sh\n", true, true);
        check("#!/usr/bin/python3\n", false, true);
        check("#!/usr/bin/env node\n", false, true);
        check("git push\n", true, true);
        check("", true, true);
        check("\u{7f}ELF\u{2}\u{1}\n", false, false);
        check("a\0b\n", false, false);
        check("#!/bin/sh\n\0", true, true);
    }
}
