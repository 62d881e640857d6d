//! C#: `using` directives and `namespace`, and types that are loaded by name.

use super::{Inside, Reading, children, first_argument, literal, named};
use crate::{ImportKind, ImportedName};
use tree_sitter::Node;

pub(super) fn visit(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    match node.kind() {
        "using_directive" => {
            using(reading, node);
            Inside::Pass
        }
        "namespace_declaration" | "file_scoped_namespace_declaration" => {
            let name = node.child_by_field_name("name").map(|it| reading.text(it).to_owned());
            if reading.declared.is_none() {
                reading.declared = name;
            }
            Inside::Look
        }
        "invocation_expression" => {
            call(reading, node);
            Inside::Look
        }
        _ => Inside::Look,
    }
}

fn using(reading: &mut Reading<'_>, node: Node<'_>) {
    let mut text = reading.text(node).to_owned();
    for comment in children(node).into_iter().filter(|it| it.kind().contains("comment")) {
        text = text.replace(reading.text(comment), " ");
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = text.trim_end_matches(';').trim();
    let mut is_global = false;
    for word in ["global ", "using ", "static ", "unsafe "] {
        if let Some(after) = rest.strip_prefix(word) {
            is_global |= word == "global ";
            rest = after.trim();
        }
    }
    let (alias, path) = match rest.split_once('=') {
        Some((alias, path)) => (Some(alias.trim()), path.trim()),
        None => (None, rest),
    };
    let path = path.strip_prefix("global::").unwrap_or(path);
    let path = path.split('<').next().unwrap_or_default().trim().to_owned();
    let names: Vec<ImportedName> = alias.map(|it| named(&path, it)).into_iter().collect();
    let kind = if is_global { ImportKind::ReExport } else { ImportKind::Static };
    if !path.is_empty() {
        reading.add(node, kind, &path, names);
    }
}

fn call(reading: &mut Reading<'_>, node: Node<'_>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    let name: String = reading.text(function).chars().filter(|c| !c.is_whitespace()).collect();
    if !name.ends_with("Type.GetType") {
        return;
    }
    let Some(argument) = first_argument(node) else { return };
    let inner = children(argument).into_iter().next().unwrap_or(argument);
    let text = literal(reading, argument).or_else(|| literal(reading, inner));
    match text.map(|text| text.split(',').next().unwrap_or_default().trim().to_owned()) {
        Some(path) => reading.add(node, ImportKind::Dynamic, &path, Vec::new()),
        None => {
            let expression = reading.text(argument).to_owned();
            reading.add_unknown(node, &expression);
        }
    }
}
