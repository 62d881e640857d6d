//! Rust: modules of a crate, and crates of the same project.

use super::{Meant, SourceFiles, folder_of, joined, stem, with_parents};
use std::collections::BTreeMap;

/// What a path means; its last parts may be items of the module that is found.
pub(super) fn meant(files: &SourceFiles<'_>, from: &str, path: &str) -> Vec<Meant> {
    let parts: Vec<&str> = path.split("::").filter(|it| !it.is_empty()).collect();
    let Some((first, rest)) = parts.split_first() else { return Vec::new() };
    let (root, own) = module_of(files, from);
    let (root, module) = match *first {
        "crate" => (root, rest.to_vec()),
        "self" => (root, [own.iter().map(String::as_str).collect(), rest.to_vec()].concat()),
        "super" => {
            let supers = parts.iter().take_while(|it| **it == "super").count();
            let Some(kept) = own.len().checked_sub(supers) else { return Vec::new() };
            let above: Vec<&str> = own[..kept].iter().map(String::as_str).collect();
            (root, [above, parts[supers..].to_vec()].concat())
        }
        name => match crates(files).get(name) {
            Some(other) => (other.clone(), rest.to_vec()),
            // A module beside the items of this one may be named without more words.
            None => {
                let below = [own.iter().map(String::as_str).collect(), parts.clone()].concat();
                let child = own.len() + 1;
                return found(files, &root, &below, child).into_iter().collect();
            }
        },
    };
    found(files, &root, &module, 0).into_iter().collect()
}

/// The innermost module on the way that is a file, if it is at least so deep.
fn found(files: &SourceFiles<'_>, root: &str, parts: &[&str], least: usize) -> Option<Meant> {
    for count in (least..=parts.len()).rev() {
        let path = joined(root, &parts[..count].join("/"));
        let names: Vec<String> = match count {
            0 => ["lib.rs", "main.rs"].map(|name| joined(root, name)).to_vec(),
            _ => vec![format!("{path}.rs"), format!("{path}/mod.rs")],
        };
        if let Some(path) = names.into_iter().find(|name| files.contains(name)) {
            let wanted = parts.get(count).map(|it| (*it).to_owned()).into_iter().collect();
            return Some(Meant { path, wanted, is_certain: true });
        }
    }
    None
}

/// The folder of a file's crate, and the module that the file is.
fn module_of(files: &SourceFiles<'_>, from: &str) -> (String, Vec<String>) {
    let is_root =
        |folder: &&str| ["lib.rs", "main.rs"].iter().any(|it| files.contains(&joined(folder, it)));
    let folder = folder_of(from);
    let Some(root) = with_parents(folder).find(is_root) else {
        return (folder.to_owned(), Vec::new());
    };
    let below = folder.strip_prefix(root).unwrap_or_default();
    let mut module: Vec<String> =
        below.split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let name = stem(from);
    let is_own = name == "mod" || (module.is_empty() && matches!(name, "lib" | "main"));
    if !is_own {
        module.push(name.to_owned());
    }
    (root.to_owned(), module)
}

/// The crates of the project: where each one's modules are, by its name in paths.
fn crates<'f>(files: &'f SourceFiles<'_>) -> &'f BTreeMap<String, String> {
    files.crates.get_or_init(|| {
        let manifests = files.stems.get("Cargo").into_iter().flatten();
        let mut found = BTreeMap::new();
        for path in manifests.filter(|path| path.ends_with("Cargo.toml")) {
            let Some(text) = (files.read)(path) else { continue };
            let folder = joined(folder_of(path), "src");
            if let Some(name) = name_in(&text).filter(|_| files.in_folder(&folder).next().is_some())
            {
                found.insert(name.replace('-', "_"), folder);
            }
        }
        found
    })
}

/// The package's name in a manifest. That it is read by lines is enough for what people write.
fn name_in(manifest: &str) -> Option<String> {
    let package = manifest.lines().skip_while(|line| line.trim() != "[package]").skip(1);
    let mut fields = package.take_while(|line| !line.trim_start().starts_with('['));
    fields.find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (key.trim() == "name").then(|| value.to_owned())
    })
}
