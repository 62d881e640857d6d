//! What changed files use, by their imports.

use crate::project::Project;
use std::collections::BTreeMap;
use waypost_imports::{Import, Language, SourceFiles};
use waypost_model::session::gates::{
    Judged,
    layers::{Design, FileUse, UsedFile},
};
use waypost_store::file;

/// The largest file whose imports are read.
const FILE_SIZE_MAX: u64 = 4 << 20;

/// Endings of files that import nothing that a boundary could be about.
const NOT_CODE: [&str; 43] = [
    "md",
    "txt",
    "rst",
    "adoc",
    "json",
    "jsonc",
    "json5",
    "yaml",
    "yml",
    "toml",
    "lock",
    "xml",
    "html",
    "htm",
    "css",
    "scss",
    "sass",
    "less",
    "svg",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "ico",
    "webp",
    "pdf",
    "csv",
    "tsv",
    "ini",
    "cfg",
    "conf",
    "env",
    "properties",
    "gitignore",
    "gitattributes",
    "editorconfig",
    "snap",
    "log",
    "pem",
    "mod",
    "sum",
    "gradle",
    "example",
];

/// What was found in changed files.
pub(super) struct FoundUses {
    pub(super) uses: Vec<FileUse>,
    /// What could not be told, and what was looked at.
    pub(super) judged: Judged,
}

/// Whether imports of such a file are read.
pub(super) fn is_known(path: &str) -> bool {
    Language::of_path(path).is_ok()
}

/// The uses of changed files; `all` are the paths of all files.
pub(super) fn of_files(
    project: &Project,
    design: &Design,
    changed: &[String],
    all: Vec<String>,
) -> FoundUses {
    let root = project.root().to_owned();
    let read = |path: &str| {
        let bytes = file::read_without_links(&root.join(path), FILE_SIZE_MAX).ok().flatten()?;
        String::from_utf8(bytes).ok()
    };
    let of_components: Vec<String> =
        all.iter().filter(|path| design.components(path).next().is_some()).cloned().collect();
    let mut files = SourceFiles::of(all, &read);
    for path in of_components.iter().filter(|path| path.ends_with(".cs")) {
        if let Some(namespace) = files.imports(path).and_then(|it| it.declared.clone()) {
            files.declare(&namespace, path);
        }
    }
    let mut found = FoundUses { uses: Vec::new(), judged: Judged::default() };
    let mut read_files: BTreeMap<&'static str, usize> = BTreeMap::new();
    for path in changed.iter().filter(|path| files.contains(path)) {
        let Some(imports) = files.imports(path) else {
            found.judged.open.extend(unread(path, &read));
            continue;
        };
        *read_files.entry(imports.language.name()).or_default() += 1;
        if imports.has_errors {
            let told =
                format!("{path} uses nothing that it may not: it could be read only in part");
            found.judged.open.push(told);
        }
        let is_component = design.components(path).next().is_some();
        for import in &imports.found {
            if !import.is_known && is_component {
                let (line, text) = (import.line, &import.path);
                let told = format!("{path}:{line} loads `{text}`, which is worked out as it runs");
                found.judged.open.push(told);
            }
            let reached = files.reached(path, imports.language, import).into_iter();
            let reached: Vec<UsedFile> = reached
                .map(|it| UsedFile {
                    path: it.path,
                    by_way_of: it.by_way_of,
                    is_certain: it.is_certain,
                })
                .collect();
            if !reached.is_empty() {
                let (file, line) = (path.clone(), import.line);
                found.uses.push(FileUse { file, line, import: told(import), reached });
            }
        }
    }
    for (language, count) in read_files {
        let files = if count == 1 { "file" } else { "files" };
        found.judged.evidence.push(format!("imports of {count} {language} {files} were read"));
    }
    found
}

fn told(import: &Import) -> String {
    format!("`{}` ({})", import.path, import.kind.word())
}

/// Says of a file that could not be read what that leaves open.
fn unread(path: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    match Language::of_path(path) {
        Ok(language) if !language.has_grammar() => Some(format!(
            "{path} uses nothing that it may not: imports of {language} are not known, because this program was \
             built without grammars"
        )),
        Ok(language) => {
            Some(format!("{path} uses nothing that it may not: its {language} could not be read"))
        }
        // Without an ending it is code if it says what runs it.
        Err(unknown) if unknown.extension.is_empty() => {
            let text = read(path)?;
            let program = text.lines().next()?.strip_prefix("#!")?.trim();
            Some(format!(
                "{path} uses nothing that it may not: imports of what `{program}` runs are not known"
            ))
        }
        Err(unknown) if NOT_CODE.contains(&unknown.extension.as_str()) => None,
        Err(unknown) => {
            let ending = unknown.extension;
            Some(format!(
                "{path} uses nothing that it may not: imports of `.{ending}` are not known"
            ))
        }
    }
}
