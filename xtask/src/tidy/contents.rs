//! What a file may not contain: too much, or traces of the machine that it was written on.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

/// Large enough for any text that a person reviews; every clone pays for more for ever.
const BYTES_MAX: usize = 512 * 1024;

/// Folders whose next part is a person's name.
const HOMES: &[&str] = &["/home/", "/Users/", r"C:\Users\"];

/// Names that an example may use for a home folder, and the one that Homebrew has on Linux.
const EXAMPLE_USERS: &[&str] = &["alice", "bob", "dev", "linuxbrew", "me", "name", "user", "you"];

/// Folders that only a build machine's paths have.
const BUILD_PATHS: &[&str] = &["/root/.cargo", "/root/.rustup", "/root/.cache"];

/// Hosts of package registries. Which one a machine uses is the machine's setting.
const HOSTS: &[&str] = &[
    "index.crates.io",
    "static.crates.io",
    "//crates.io",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "pypi.org",
    "files.pythonhosted.org",
    "deb.debian.org",
];

/// How cargo writes its default registry, whatever mirror it was told to use.
const DEFAULT_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// This file and its tests have to name what they look for.
const OWN: &str = "xtask/src/tidy/contents.rs";

pub(crate) fn check_sizes(tree: &Tree) -> Vec<Finding> {
    let too_large = tree.files().filter(|(_, bytes)| bytes.len() > BYTES_MAX);
    let message = |size| format!("{} KB, the limit is {} KB", size / 1024, BYTES_MAX / 1024);
    too_large.map(|(path, bytes)| Finding::new(path, 1, message(bytes.len()))).collect()
}

pub(crate) fn check_leaks(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != OWN) {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(found) = machine_path(line) {
                let message = format!("`{found}` is a path of one machine");
                findings.push(Finding::new(path, number, message));
            }
            if let Some(host) = HOSTS.iter().find(|host| line.contains(*host)) {
                let host = host.trim_start_matches('/');
                let message = format!("`{host}` is the host of a package registry");
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// Every package of the lock file comes from the default registry or from this repository.
pub(crate) fn check_lock(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(tree.text("Cargo.lock").unwrap_or_default().lines()) {
        if let Some(source) = line.strip_prefix("source = ")
            && source.trim_matches('"') != DEFAULT_REGISTRY
        {
            let message = format!("{source} is not the default registry");
            findings.push(Finding::new("Cargo.lock", number, message));
        }
    }
    findings
}

/// The part of the line that names a home folder or a build machine's folder.
fn machine_path(line: &str) -> Option<String> {
    if let Some(path) = BUILD_PATHS.iter().find(|path| line.contains(*path)) {
        return Some(path.to_string());
    }
    HOMES.iter().find_map(|home| {
        line.match_indices(home).find_map(|(at, _)| {
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let rest = &line[at + home.len()..];
            let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
            let is_example = EXAMPLE_USERS.iter().any(|user| name.eq_ignore_ascii_case(user));
            (!name.is_empty() && !is_example).then(|| format!("{home}{name}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn a_large_file_is_found() {
        assert_finds(
            check_sizes,
            &[("big.bin", &"x".repeat(BYTES_MAX + 1)), ("fits.bin", &"x".repeat(BYTES_MAX))],
            &["big.bin:1: 512 KB, the limit is 512 KB"],
        );
    }

    #[test]
    fn a_path_of_somebodys_machine_is_found() {
        assert_finds(
            check_leaks,
            &[
                ("a.md", "see\n/home/jschmidt/waypost/target\n"),
                ("b.json", r#"{"path": "/Users/kim-j/x", "other": "C:\Users\Kim"}"#),
                ("c.sh", "export CARGO_HOME=/root/.cargo\n"),
                ("fine.md", "/home/user/x, /Users/dev/my-app, /home/$USER, /home/, /root/.ssh\n"),
            ],
            &[
                "a.md:2: `/home/jschmidt` is a path of one machine",
                "b.json:1: `/Users/kim-j` is a path of one machine",
                "c.sh:1: `/root/.cargo` is a path of one machine",
            ],
        );
    }

    #[test]
    fn the_host_of_a_registry_is_found() {
        assert_finds(
            check_leaks,
            &[
                ("package-lock.json", "\"resolved\": \"https://registry.npmjs.org/x\"\n"),
                ("README.md", "from https://crates.io/crates/waypost\n"),
                ("fine.md", "published on crates.io\n"),
            ],
            &[
                "README.md:1: `crates.io` is the host of a package registry",
                "package-lock.json:1: `registry.npmjs.org` is the host of a package registry",
            ],
        );
    }

    #[test]
    fn a_package_from_elsewhere_is_found_in_the_lock_file() {
        let lock = format!(
            "[[package]]\nname = \"a\"\nsource = \"{DEFAULT_REGISTRY}\"\n\
             [[package]]\nname = \"b\"\nsource = \"git+https://example.org/b#12\"\n"
        );
        assert_finds(
            check_lock,
            &[("Cargo.lock", &lock)],
            &["Cargo.lock:6: \"git+https://example.org/b#12\" is not the default registry"],
        );
        assert_finds(check_leaks, &[("Cargo.lock", &lock)], &[]);
    }
}
