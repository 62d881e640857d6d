//! `import`, `from … import`, `importlib.import_module` and `__import__`.

use super::{Inside, Reading, children, first_argument, named};
use crate::{ImportKind, ImportedName};
use tree_sitter::Node;

pub(super) fn visit(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    match node.kind() {
        "import_statement" => {
            for item in children(node) {
                let name = match item.kind() {
                    "aliased_import" => item.child_by_field_name("name"),
                    "dotted_name" => Some(item),
                    _ => None,
                };
                if let Some(name) = name {
                    let path = plain(reading.text(name));
                    reading.add(node, ImportKind::Static, &path, Vec::new());
                }
            }
            Inside::Pass
        }
        "import_from_statement" => {
            from(reading, node);
            Inside::Pass
        }
        "call" => {
            call(reading, node);
            Inside::Look
        }
        _ => Inside::Look,
    }
}

fn from(reading: &mut Reading<'_>, node: Node<'_>) {
    let Some(module) = node.child_by_field_name("module_name") else { return };
    let path = plain(reading.text(module));
    let mut names: Vec<ImportedName> = Vec::new();
    for item in children(node).into_iter().filter(|it| it.id() != module.id()) {
        match item.kind() {
            "wildcard_import" => names.push(named("*", "*")),
            "dotted_name" => {
                let name = plain(reading.text(item));
                names.push(named(&name, &name));
            }
            "aliased_import" => {
                let field = |name| item.child_by_field_name(name).map(|it| reading.text(it));
                if let (Some(name), Some(alias)) = (field("name"), field("alias")) {
                    names.push(named(&plain(name), alias));
                }
            }
            _ => {}
        }
    }
    let kind = if path.starts_with('.') { ImportKind::Relative } else { ImportKind::Static };
    reading.add(node, kind, &path, names);
}

fn call(reading: &mut Reading<'_>, node: Node<'_>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    let name = plain(reading.text(function));
    if !matches!(name.as_str(), "__import__" | "importlib.import_module" | "import_module") {
        return;
    }
    if let Some(argument) = first_argument(node) {
        reading.add_called(node, argument);
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect()
}
