//! Java and Kotlin: `package`, `import`, and classes that are loaded by name.

use super::{Inside, Reading, children, first_argument, named};
use crate::ImportKind;
use tree_sitter::Node;

pub(super) fn visit(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    match node.kind() {
        "package_declaration" | "package_header" => {
            let name = statement(reading, node, "package");
            reading.declared = Some(name).filter(|it| !it.is_empty());
            Inside::Pass
        }
        "import_declaration" | "import_header" | "import" => {
            import(reading, node);
            Inside::Pass
        }
        "method_invocation" => {
            let name = node.child_by_field_name("name").map(|it| reading.text(it));
            let argument = first_argument(node);
            if let (Some("forName"), Some(argument)) = (name, argument) {
                reading.add_called(node, argument);
            }
            Inside::Look
        }
        "call_expression" => {
            kotlin_call(reading, node);
            Inside::Look
        }
        _ => Inside::Look,
    }
}

fn import(reading: &mut Reading<'_>, node: Node<'_>) {
    let whole = statement(reading, node, "import");
    let path = whole.strip_prefix("static ").unwrap_or(&whole).trim();
    let (path, alias) = path.split_once(" as ").unwrap_or((path, ""));
    let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
    if path.is_empty() {
        return;
    }
    let last = path.rsplit('.').next().unwrap_or_default().to_owned();
    let local = if alias.is_empty() { &last } else { alias.trim() };
    let names = vec![named(&last, local)];
    reading.add(node, ImportKind::Static, &path, names);
}

/// What a statement says after its word: its text without comments, on one line.
fn statement(reading: &Reading<'_>, node: Node<'_>, word: &str) -> String {
    let mut text = String::new();
    let mut at = node.start_byte();
    for comment in children(node).into_iter().filter(|it| it.kind().contains("comment")) {
        text.push_str(reading.text.get(at..comment.start_byte()).unwrap_or_default());
        at = comment.end_byte();
    }
    text.push_str(reading.text.get(at..node.end_byte()).unwrap_or_default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_prefix(word).unwrap_or(&text);
    text.trim().trim_end_matches(';').trim_end().replace('`', "")
}

/// `Class.forName("…")` in Kotlin, whose grammar has no names for the parts of a call.
fn kotlin_call(reading: &mut Reading<'_>, node: Node<'_>) {
    let parts = children(node);
    let Some(function) = parts.first() else { return };
    let name: String = reading.text(*function).chars().filter(|c| !c.is_whitespace()).collect();
    if !name.ends_with("Class.forName") {
        return;
    }
    let mut waiting: Vec<Node<'_>> = parts[1..].to_vec();
    while let Some(it) = waiting.pop() {
        if it.kind() == "string_literal" {
            return reading.add_called(node, it);
        }
        waiting.extend(children(it));
    }
    let arguments = parts.get(1).copied();
    let argument = arguments.and_then(|it| children(it).first().copied()).or(arguments);
    let expression = argument.map_or("", |it| reading.text(it)).to_owned();
    reading.add_unknown(node, &expression);
}
