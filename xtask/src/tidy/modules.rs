//! Finds Rust files that no `mod` line leads to: they look like code, and nothing compiles them.
//!
//! Follows `mod name;`, `#[path = "…"]` and `include!("…")` as rustc does, by lines. A module
//! that is declared inside an inline module's braces is not followed; we do not write those.

use std::collections::BTreeSet;

use crate::tidy::Finding;
use crate::tidy::tree::{Tree, is_fixture};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut open: Vec<String> = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_fixture(path)) {
        let Some(folder) = package_folder(path) else { continue };
        let sources = tree.sources().map(|(path, _)| path);
        open.extend(sources.filter(|path| is_root(path, folder)).map(str::to_owned));
        open.extend(named_roots(text).map(|root| join(folder, root)));
    }
    let roots: BTreeSet<String> = open.iter().cloned().collect();
    let mut reached = BTreeSet::new();
    while let Some(path) = open.pop() {
        let Some(text) = tree.text(&path) else { continue };
        if reached.insert(path.clone()) {
            let base = module_folder(&path, roots.contains(&path));
            open.extend(mentioned(text, folder_of(&path), &base));
        }
    }
    let is_dead = |path: &&str| !reached.contains(*path);
    let dead = tree.sources().map(|(path, _)| path).filter(is_dead);
    dead.map(|path| Finding::new(path, 1, "no `mod` line leads to this file")).collect()
}

/// The folder of a package, with `/` at its end, if this is its manifest.
fn package_folder(path: &str) -> Option<&str> {
    path.strip_suffix("Cargo.toml").filter(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// Whether cargo compiles this file of the package by itself.
fn is_root(path: &str, folder: &str) -> bool {
    let Some(inside) = path.strip_prefix(folder) else { return false };
    let parts: Vec<&str> = inside.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Sources that a manifest names by `path = "….rs"`.
fn named_roots(manifest: &str) -> impl Iterator<Item = &str> {
    manifest.lines().filter_map(|line| {
        let value = line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?;
        quoted(value).filter(|path| path.ends_with(".rs"))
    })
}

/// The folder in which the modules of this file are looked for.
fn module_folder(path: &str, is_root: bool) -> String {
    if is_root || path.ends_with("/mod.rs") {
        folder_of(path).to_owned()
    } else {
        format!("{}/", path.trim_end_matches(".rs"))
    }
}

/// Paths that the file's `mod` lines and includes may mean.
fn mentioned(text: &str, folder: &str, base: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut given = None;
    for line in text.lines().map(str::trim) {
        if let Some(attribute) = line.strip_prefix("#[path") {
            given = quoted(attribute);
        } else if let Some(name) = module_name(line) {
            match given.take() {
                Some(path) => paths.push(join(folder, path)),
                None => {
                    paths.push(format!("{base}{name}.rs"));
                    paths.push(format!("{base}{name}/mod.rs"));
                }
            }
        } else if let Some((_, argument)) = line.split_once("include!(") {
            paths.extend(quoted(argument).map(|path| join(folder, path)));
        }
    }
    paths
}

/// The name in `pub(crate) mod name;`.
fn module_name(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let name = line.strip_prefix("mod ")?.split_once(';')?.0.trim();
    Some(name.strip_prefix("r#").unwrap_or(name))
}

/// The first text in double quotes.
fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

/// The part of a path up to its last `/`, which it keeps.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

/// `path` seen from `folder`, without `.` and `..`.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn everything_that_rustc_or_cargo_finds_is_alive() {
        assert_finds(
            check,
            &[
                ("a/Cargo.toml", "[[bin]]\nname = \"x\"\npath = \"src/odd.rs\"\n"),
                ("a/build.rs", ""),
                ("a/src/lib.rs", "mod one;\npub mod two;\npub(crate) mod r#three;\n"),
                ("a/src/one.rs", "mod inner;\n#[cfg(test)]\nmod tests;\n"),
                ("a/src/one/inner.rs", ""),
                ("a/src/one/tests.rs", ""),
                ("a/src/two/mod.rs", "pub(super) mod below;\n"),
                ("a/src/two/below.rs", "#[path = \"../elsewhere.rs\"]\nmod other;\n"),
                ("a/src/elsewhere.rs", "include!(\"included.rs\");\n"),
                ("a/src/included.rs", ""),
                ("a/src/three.rs", ""),
                ("a/src/odd.rs", ""),
                ("a/src/bin/tool.rs", ""),
                ("a/src/bin/big/main.rs", "mod part;\n"),
                ("a/src/bin/big/part.rs", ""),
                ("a/tests/all.rs", "mod common;\n"),
                ("a/tests/common/mod.rs", ""),
                ("a/tests/fixtures/foreign.rs", ""),
                ("a/benches/speed.rs", ""),
            ],
            &[],
        );
    }

    #[test]
    fn a_file_without_a_way_to_it_is_found() {
        let dead = "no `mod` line leads to this file";
        assert_finds(
            check,
            &[
                ("a/Cargo.toml", ""),
                ("a/src/lib.rs", "mod one;\n// mod two;\n"),
                ("a/src/one.rs", ""),
                ("a/src/two.rs", "mod three;\n"),
                ("a/src/three.rs", ""),
                ("a/tests/common/mod.rs", ""),
                ("loose.rs", ""),
            ],
            &[
                &format!("a/src/three.rs:1: {dead}"),
                &format!("a/src/two.rs:1: {dead}"),
                &format!("a/tests/common/mod.rs:1: {dead}"),
                &format!("loose.rs:1: {dead}"),
            ],
        );
    }
}
