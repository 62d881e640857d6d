//! Which files of a project an import means, by the names of its files.
//!
//! One import may mean several files (a package, a namespace) or none (a library). What a file hands on is
//! followed by name, so that an import through an index file means what stands behind it.

mod named;
mod python;
mod rust;
mod script;

use crate::{Import, ImportKind, Imports, Language, imports_of};
use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    rc::Rc,
    slice,
};

/// How often a re-export is followed; longer chains are no design.
const HOPS_MAX: usize = 8;

/// The files of a project, by their paths from its root.
pub struct SourceFiles<'a> {
    paths: BTreeSet<String>,
    /// Paths by the name of the file without its ending.
    stems: BTreeMap<String, Vec<String>>,
    /// Namespaces that files declare, where these are not told by folders.
    namespaces: BTreeMap<String, Vec<String>>,
    read: &'a dyn Fn(&str) -> Option<String>,
    crates: OnceCell<BTreeMap<String, String>>,
    modules: OnceCell<Vec<(String, String)>>,
    known: RefCell<BTreeMap<String, Option<Rc<Imports>>>>,
}

/// A file that an import leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    pub path: String,
    /// The files that hand it on, from the one that is imported.
    pub by_way_of: Vec<String>,
    /// Whether it is meant itself, and is not one of several that may be.
    pub is_certain: bool,
}

/// A file that is meant, and what is wanted of it; nothing: all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meant {
    path: String,
    wanted: Vec<String>,
    is_certain: bool,
}

impl fmt::Debug for SourceFiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFiles").field("paths", &self.paths.len()).finish_non_exhaustive()
    }
}

impl<'a> SourceFiles<'a> {
    /// The files with these paths; `read` gives the text of one.
    pub fn of(
        paths: impl IntoIterator<Item = String>,
        read: &'a dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let paths: BTreeSet<String> = paths.into_iter().collect();
        let mut stems: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in &paths {
            stems.entry(stem(path).to_owned()).or_default().push(path.clone());
        }
        let (crates, modules) = (OnceCell::new(), OnceCell::new());
        let (namespaces, known) = (BTreeMap::new(), RefCell::default());
        Self { paths, stems, namespaces, read, crates, modules, known }
    }

    /// Says which namespace files declare.
    pub fn declare(&mut self, namespace: &str, path: &str) {
        self.namespaces.entry(namespace.to_owned()).or_default().push(path.to_owned());
    }

    pub fn contains(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// The imports of a file; none where it cannot be read.
    pub fn imports(&self, path: &str) -> Option<Rc<Imports>> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let text = (self.read)(path);
        let read = text.and_then(|text| imports_of(path, &text).ok()).map(Rc::new);
        self.known.borrow_mut().insert(path.to_owned(), read.clone());
        read
    }

    /// The files of the project that an import of the file `from` leads to, by re-exports as well; not `from`
    /// itself.
    pub fn reached(&self, from: &str, language: Language, import: &Import) -> Vec<Reached> {
        if !import.is_known {
            return Vec::new();
        }
        let mut found: BTreeMap<String, Reached> = BTreeMap::new();
        let mut waiting: Vec<(Meant, Vec<String>)> = Vec::new();
        let first = self.meant(from, language, import, None);
        waiting.extend(first.into_iter().map(|it| (it, Vec::new())));
        while let Some((meant, way)) = waiting.pop() {
            if meant.path == from || way.contains(&meant.path) || way.len() > HOPS_MAX {
                continue;
            }
            for next in self.handed_on(&meant) {
                let way = [way.as_slice(), slice::from_ref(&meant.path)].concat();
                waiting.push((next, way));
            }
            let (path, is_certain) = (meant.path, meant.is_certain);
            let reached = Reached { path: path.clone(), by_way_of: way, is_certain };
            let known = found.entry(path).or_insert_with(|| reached.clone());
            if is_certain && !known.is_certain {
                *known = reached;
            }
        }
        found.into_values().collect()
    }

    /// What stands behind a file for those who want something of it.
    fn handed_on(&self, meant: &Meant) -> Vec<Meant> {
        let Some(imports) = self.imports(&meant.path) else { return Vec::new() };
        let is_package = meant.path.ends_with("/__init__.py") || meant.path == "__init__.py";
        let hands_on = |it: &&Import| {
            it.kind == ImportKind::ReExport || (is_package && it.kind != ImportKind::Dynamic)
        };
        let wants_all = is_all(&meant.wanted);
        let (mut named, mut whole) = (Vec::new(), Vec::new());
        for import in imports.found.iter().filter(hands_on) {
            let Some((wanted, by_name)) = taken(import, &meant.wanted) else { continue };
            let behind = self.meant(&meant.path, imports.language, import, Some(wanted));
            if by_name { named.extend(behind) } else { whole.extend(behind) }
        }
        if !wants_all {
            whole.retain(|it| self.has_one_of(&it.path, &meant.wanted));
        }
        let is_one = whole.len() == 1 && named.is_empty();
        whole.iter_mut().for_each(|it| it.is_certain &= is_one);
        named.extend(whole);
        named.iter_mut().for_each(|it| it.is_certain &= meant.is_certain && !wants_all);
        named
    }

    /// Whether the text of a file has one of these names; what cannot be read may have.
    fn has_one_of(&self, path: &str, names: &[String]) -> bool {
        let Some(text) = (self.read)(path) else { return true };
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = text.split(|c| !is_part(c)).collect();
        names.iter().any(|it| words.contains(it.as_str()))
            || self.imports(path).is_some_and(|it| {
                it.found.iter().any(|import| import.names.iter().any(|name| name.local == "*"))
            })
    }

    /// The files that an import means by itself. `wanted` are the names that are looked for, where not all are.
    fn meant(
        &self,
        from: &str,
        language: Language,
        import: &Import,
        wanted: Option<Vec<String>>,
    ) -> Vec<Meant> {
        let own = || import.names.iter().map(|it| it.name.clone()).collect();
        let wanted: Vec<String> = wanted.unwrap_or_else(own);
        match language {
            Language::Rust => rust::meant(self, from, &import.path),
            Language::Python => python::meant(self, from, &import.path, &wanted),
            Language::TypeScript | Language::Tsx | Language::JavaScript => {
                script::meant(self, from, &import.path, &wanted)
            }
            Language::Java | Language::Kotlin => named::by_package(self, &import.path),
            Language::Go => named::by_module(self, from, &import.path),
            Language::CSharp => named::by_namespace(self, &import.path),
        }
    }

    /// All files directly in a folder.
    fn in_folder<'s>(&'s self, folder: &str) -> impl Iterator<Item = &'s String> + use<'s, 'a> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let length = start.len();
        let below = self.paths.range(start.clone()..).take_while(move |it| it.starts_with(&start));
        below.filter(move |path| !path[length..].contains('/'))
    }
}

fn is_all(names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|it| it == "*")
}

/// The names by which a re-export has what is wanted, and whether it hands these on by name; none if it has none
/// of it.
fn taken(import: &Import, wanted: &[String]) -> Option<(Vec<String>, bool)> {
    let hands_all = import.names.is_empty() || import.names.iter().any(|it| it.local == "*");
    if hands_all {
        return Some((wanted.to_vec(), false));
    }
    let mut names = Vec::new();
    for handed in &import.names {
        if is_all(wanted) || wanted.contains(&handed.local) {
            names.push(handed.name.clone());
        }
    }
    (!names.is_empty()).then_some((names, true))
}

/// The name of a file without its ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// The folder of a file; empty for the root.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn joined(folder: &str, rest: &str) -> String {
    match (folder, rest) {
        ("", rest) => rest.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, rest) => format!("{folder}/{rest}"),
    }
}

/// A folder and all that it is in, up to the root.
fn with_parents(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |it| (!it.is_empty()).then(|| folder_of(it)))
}

#[cfg(all(test, feature = "grammars"))]
mod tests;
