//! Languages whose imports name packages: Java and Kotlin by folders, Go by modules, C# by namespaces.

use super::{Meant, SourceFiles, folder_of, joined, stem};

/// Java and Kotlin: the file of a class, or all files of a package.
pub(super) fn by_package(files: &SourceFiles<'_>, path: &str) -> Vec<Meant> {
    let is_source = |it: &&String| [".java", ".kt", ".kts"].iter().any(|end| it.ends_with(end));
    let parts: Vec<&str> =
        path.split(['.', '$']).filter(|it| !it.is_empty() && *it != "*").collect();
    for count in (2..=parts.len()).rev() {
        let (name, package) = (parts[count - 1], parts[..count - 1].join("/"));
        let named = files.stems.get(name).into_iter().flatten().filter(is_source);
        let found: Vec<&String> = named.filter(|it| ends_with(folder_of(it), &package)).collect();
        if !found.is_empty() {
            return one_or_several(found);
        }
    }
    // A package, or something in it that is no class.
    let is_all = path.ends_with(".*");
    let package = match parts.split_last() {
        Some((_, above)) if !is_all => above.join("/"),
        _ => parts.join("/"),
    };
    let is_there = |it: &&String| !package.is_empty() && ends_with(folder_of(it), &package);
    let of_kotlin = |it: &&String| is_all || it.ends_with(".kt");
    let there = files.paths.iter().filter(is_source).filter(is_there).filter(of_kotlin);
    one_or_several(there.collect())
}

/// Go: all files of a package, by the modules of the project.
pub(super) fn by_module(files: &SourceFiles<'_>, from: &str, path: &str) -> Vec<Meant> {
    let folder = if path.starts_with("./") || path.starts_with("../") {
        let mut parts: Vec<&str> = folder_of(from).split('/').filter(|it| !it.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "." | "" => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Vec::new();
                    }
                }
                part => parts.push(part),
            }
        }
        Some(parts.join("/"))
    } else {
        modules(files).iter().find_map(|(module, folder)| {
            let rest = path.strip_prefix(module.as_str())?;
            let is_inside = rest.is_empty() || rest.starts_with('/');
            is_inside.then(|| joined(folder, rest.trim_start_matches('/')))
        })
    };
    let Some(folder) = folder else { return Vec::new() };
    let is_source = |it: &&String| it.ends_with(".go") && !it.ends_with("_test.go");
    one_or_several(files.in_folder(&folder).filter(is_source).collect())
}

/// Names of modules with their folders, the longest first.
fn modules<'f>(files: &'f SourceFiles<'_>) -> &'f [(String, String)] {
    files.modules.get_or_init(|| {
        let mut found = Vec::new();
        let manifests = files.stems.get("go").into_iter().flatten();
        for path in manifests.filter(|it| it.ends_with("go.mod")) {
            let text = (files.read)(path).unwrap_or_default();
            let name = text.lines().find_map(|line| line.trim().strip_prefix("module "));
            if let Some(name) = name {
                let name = name.split("//").next().unwrap_or_default().trim().trim_matches('"');
                found.push((name.to_owned(), folder_of(path).to_owned()));
            }
        }
        found.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        found
    })
}

/// C#: files that declare the namespace, or the one of a type in it.
pub(super) fn by_namespace(files: &SourceFiles<'_>, path: &str) -> Vec<Meant> {
    if let Some(declared) = files.namespaces.get(path) {
        return one_or_several(declared.iter().collect());
    }
    let Some((namespace, name)) = path.rsplit_once('.') else { return Vec::new() };
    let declared = files.namespaces.get(namespace).into_iter().flatten();
    one_or_several(declared.filter(|it| stem(it) == name).collect())
}

/// Of several files it is not known which one is meant.
fn one_or_several(paths: Vec<&String>) -> Vec<Meant> {
    let is_certain = paths.len() == 1;
    let whole = |path: &String| Meant { path: path.clone(), wanted: Vec::new(), is_certain };
    paths.into_iter().map(whole).collect()
}

/// Whether the last folders of a path are these.
fn ends_with(folder: &str, last: &str) -> bool {
    folder == last || folder.strip_suffix(last).is_some_and(|it| it.ends_with('/'))
}
