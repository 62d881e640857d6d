//! Go: `import`, one or many.

use super::{Inside, Reading, literal, named};
use crate::ImportKind;
use tree_sitter::Node;

pub(super) fn visit(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    match node.kind() {
        "package_clause" => {
            let name = reading.text(node).trim_start_matches("package").trim().to_owned();
            reading.declared = Some(name);
            Inside::Pass
        }
        "import_spec" => {
            let source = node.child_by_field_name("path");
            let path = source.and_then(|source| literal(reading, source)).map(str::to_owned);
            let alias = node.child_by_field_name("name").map(|it| reading.text(it));
            if let Some(path) = path {
                let names = alias.map(|alias| vec![named("*", alias)]).unwrap_or_default();
                let is_relative = path.starts_with("./") || path.starts_with("../");
                let kind = if is_relative { ImportKind::Relative } else { ImportKind::Static };
                reading.add(node, kind, &path, names);
            }
            Inside::Pass
        }
        // Nothing is imported inside of functions and types.
        "function_declaration" | "method_declaration" | "type_declaration" => Inside::Pass,
        _ => Inside::Look,
    }
}
