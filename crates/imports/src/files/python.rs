//! Python: modules from where the interpreter looks for them, or from the file itself.

use super::{Meant, SourceFiles, folder_of, joined, with_parents};

/// Folders below a root that are roots too, by custom.
const SOURCES: [&str; 4] = ["", "src", "lib", "python"];

pub(super) fn meant(
    files: &SourceFiles<'_>,
    from: &str,
    path: &str,
    wanted: &[String],
) -> Vec<Meant> {
    let name = path.trim_start_matches('.');
    let dots = path.len() - name.len();
    let parts = name.replace('.', "/");
    if dots > 0 {
        let mut above = with_parents(folder_of(from)).skip(dots - 1);
        let found = above.next().map(|base| in_module(files, &joined(base, &parts), wanted));
        return found.unwrap_or_default();
    }
    let is_package = |folder: &str| files.contains(&joined(folder, "__init__.py"));
    for folder in with_parents(folder_of(from)).filter(|it| it.is_empty() || !is_package(it)) {
        for source in SOURCES {
            let found = in_module(files, &joined(&joined(folder, source), &parts), wanted);
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// A module, or those of its parts that are modules themselves.
fn in_module(files: &SourceFiles<'_>, base: &str, wanted: &[String]) -> Vec<Meant> {
    let own = file_of(files, base);
    let mut found = Vec::new();
    let mut rest = Vec::new();
    for name in wanted {
        match file_of(files, &joined(base, name)) {
            Some(path) => found.push(Meant { path, wanted: Vec::new(), is_certain: true }),
            None => rest.push(name.clone()),
        }
    }
    if let Some(path) = own.filter(|_| wanted.is_empty() || !rest.is_empty()) {
        found.push(Meant { path, wanted: rest, is_certain: true });
    }
    found
}

fn file_of(files: &SourceFiles<'_>, module: &str) -> Option<String> {
    let names = [format!("{module}.py"), joined(module, "__init__.py"), format!("{module}.pyi")];
    names.into_iter().find(|name| files.contains(name))
}
