//! Setting a project up and taking everything out again.

mod agents;
mod git_hooks;
mod removal;

use crate::harness::{BINARY, Project, Ran, words};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// A folder that every shell has to quote.
const TOOLS: &str = "it's my tools";

/// Everything in a project but the journal: each path with its permissions and content.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn tree(project: &Project) -> Tree {
    let mut tree = Tree::new();
    collect(&project.root, &mut tree);
    tree
}

fn collect(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".git/waypost") || path.ends_with(".waypost") {
            continue;
        }
        let found = path.symlink_metadata().unwrap();
        let content = if found.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if found.is_dir() {
            collect(&path, tree);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        tree.insert(path, (found.permissions().mode(), content));
    }
}

/// The paths that differ between two trees, below the project's folder.
fn differences(project: &Project, before: &Tree, after: &Tree) -> Vec<String> {
    let mut paths: Vec<&PathBuf> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| before.get(*path) != after.get(*path));
    let name = |path: &&PathBuf| path.strip_prefix(&project.root).unwrap().display().to_string();
    paths.iter().map(name).collect()
}

/// The program, installed beside the project in a folder with an awkward name.
fn install(project: &Project) -> PathBuf {
    let folder = project.base().join(TOOLS);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("waypost");
    fs::copy(BINARY, &path).unwrap();
    path
}

/// Puts a shell script at a path, in the place of what stands there.
fn write_script(path: &Path, mode: u32, text: &str) {
    drop(fs::remove_file(path));
    fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn must_with(project: &Project, program: &Path, line: &str) -> Ran {
    let program = program.to_str().unwrap();
    let ran: Ran =
        project.command(program, &project.root).args(words(line)).output().unwrap().into();
    assert_eq!(ran.code, 0, "waypost {line}\n{ran}");
    ran
}

/// As `must_with`, as a person.
#[track_caller]
fn person_must_with(project: &Project, program: &Path, line: &str) {
    let program = program.to_str().unwrap().replace('\'', r"'\''");
    let ran = project.below_terminal(&format!("'{program}' {line}"), "");
    assert_eq!(ran.code, 0, "waypost {line}, by a person\n{ran}");
}
