//! JavaScript and TypeScript: ways from a file, and a few names that stand for the sources of a package.

use super::{Meant, SourceFiles, folder_of, joined, with_parents};

/// Endings that a file may have; an import may leave it out, or name that of what it is compiled to.
const ENDINGS: [&str; 11] =
    ["ts", "tsx", "mts", "cts", "d.ts", "js", "jsx", "mjs", "cjs", "vue", "svelte"];

pub(super) fn meant(
    files: &SourceFiles<'_>,
    from: &str,
    path: &str,
    wanted: &[String],
) -> Vec<Meant> {
    let path = path.split(['?', '#']).next().filter(|it| !it.is_empty()).unwrap_or(path);
    let folder = folder_of(from);
    let found = if path.starts_with('.') {
        normal(folder, path).and_then(|path| file_of(files, &path))
    } else {
        let ours = ["@/", "~/", "#/"].iter().find_map(|it| path.strip_prefix(it));
        let rest = ours.unwrap_or_else(|| path.trim_start_matches('/'));
        let is_package = |it: &&str| it.is_empty() || files.contains(&joined(it, "package.json"));
        let mut roots = with_parents(folder).filter(is_package);
        // A bare name is a library, whatever file is called so.
        let may_be_ours = ours.is_some() || rest.contains('/');
        may_be_ours.then(|| roots.find_map(|root| below(files, root, rest))).flatten()
    };
    let wanted = wanted.to_vec();
    found.map(|path| Meant { path, wanted, is_certain: true }).into_iter().collect()
}

fn below(files: &SourceFiles<'_>, root: &str, rest: &str) -> Option<String> {
    ["src", ""].iter().find_map(|source| file_of(files, &joined(&joined(root, source), rest)))
}

/// The file that a path without or with an ending is.
fn file_of(files: &SourceFiles<'_>, path: &str) -> Option<String> {
    let ending = ENDINGS.iter().find_map(|it| path.strip_suffix(&format!(".{it}")));
    let bases = [Some(path), ending].into_iter().flatten();
    let mut names = bases.flat_map(|base| {
        let files = ENDINGS.iter().map(move |it| format!("{base}.{it}"));
        let indexes = ENDINGS.iter().map(move |it| format!("{}.{it}", joined(base, "index")));
        files.chain(indexes)
    });
    let exact = Some(path.to_owned()).filter(|path| files.contains(path));
    exact.or_else(|| names.find(|name| files.contains(name)))
}

/// A way from a folder; none where it leads out of the project.
fn normal(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
