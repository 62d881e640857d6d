//! JavaScript and TypeScript: `import`, `export … from`, `import()` and `require()`.

use super::{Inside, Reading, children, first_argument, literal, named};
use crate::{Import, ImportKind, ImportedName};
use tree_sitter::Node;

pub(super) fn visit(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    match node.kind() {
        "import_statement" => {
            import(reading, node);
            Inside::Pass
        }
        "export_statement" => export(reading, node),
        "call_expression" => {
            call(reading, node);
            Inside::Look
        }
        _ => Inside::Look,
    }
}

fn import(reading: &mut Reading<'_>, node: Node<'_>) {
    let required = children(node).into_iter().find(|it| it.kind() == "import_require_clause");
    let holder = required.unwrap_or(node);
    let Some(source) = holder.child_by_field_name("source") else { return };
    let Some(path) = literal(reading, source).map(str::to_owned) else { return };
    let mut names = Vec::new();
    for clause in children(node).into_iter().filter(|it| it.kind() == "import_clause") {
        for item in children(clause) {
            match item.kind() {
                "identifier" => names.push(named("default", reading.text(item))),
                "named_imports" => names.extend(specifiers(reading, item)),
                "namespace_import" => {
                    let local = children(item).first().map_or("*", |it| reading.text(*it));
                    names.push(named("*", local));
                }
                _ => {}
            }
        }
    }
    reading.add(node, kind_of(&path), &path, names);
}

/// `{ a, b as c }`, of an import or an export.
fn specifiers(reading: &Reading<'_>, node: Node<'_>) -> Vec<ImportedName> {
    let specifier = |item: Node<'_>| {
        let name = reading.text(item.child_by_field_name("name")?);
        let alias = item.child_by_field_name("alias").map(|it| reading.text(it));
        let bare = |it: &str| it.trim_matches(['"', '\'']).to_owned();
        Some(named(&bare(name), &bare(alias.unwrap_or(name))))
    };
    let is_one = |it: &Node<'_>| matches!(it.kind(), "import_specifier" | "export_specifier");
    children(node).into_iter().filter(is_one).filter_map(specifier).collect()
}

fn export(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    let clause = children(node).into_iter().find(|it| it.kind() == "export_clause");
    let Some(source) = node.child_by_field_name("source") else {
        if let Some(clause) = clause {
            let names = specifiers(reading, clause);
            reading.exported.extend(names);
        }
        return Inside::Look;
    };
    let Some(path) = literal(reading, source).map(str::to_owned) else { return Inside::Pass };
    let whole = children(node).into_iter().find(|it| it.kind() == "namespace_export");
    let names = match (clause, whole) {
        (Some(clause), _) => specifiers(reading, clause),
        (None, Some(whole)) => {
            let local = children(whole).first().map_or("*", |it| reading.text(*it));
            vec![named("*", local)]
        }
        (None, None) => vec![named("*", "*")],
    };
    reading.add(node, ImportKind::ReExport, &path, names);
    Inside::Pass
}

fn call(reading: &mut Reading<'_>, node: Node<'_>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    let name = reading.text(function);
    let is_import = function.kind() == "import" || matches!(name, "require" | "require.resolve");
    if !is_import {
        return;
    }
    if let Some(argument) = first_argument(node) {
        reading.add_called(node, argument);
    }
}

fn kind_of(path: &str) -> ImportKind {
    match path.starts_with("./") || path.starts_with("../") || path == "." || path == ".." {
        true => ImportKind::Relative,
        false => ImportKind::Static,
    }
}

/// What is imported first and exported by another statement is handed on as well.
pub(super) fn hand_on(reading: &mut Reading<'_>) {
    let mut more = Vec::new();
    for import in reading.found.iter().filter(|it| it.kind != ImportKind::ReExport) {
        let handed = import.names.iter().filter_map(|taken| {
            let out = reading.exported.iter().find(|it| it.name == taken.local)?;
            Some(named(&taken.name, &out.local))
        });
        let names: Vec<ImportedName> = handed.collect();
        if !names.is_empty() {
            more.push(Import { names, kind: ImportKind::ReExport, ..import.clone() });
        }
    }
    reading.found.extend(more);
}
