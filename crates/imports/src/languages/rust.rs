//! `use`, `pub use`, `extern crate`, and paths that begin with `crate`, `super` or `self`.

use super::{Inside, Reading, children, named};
use crate::ImportKind;
use tree_sitter::Node;

pub(super) fn visit(reading: &mut Reading<'_>, node: Node<'_>) -> Inside {
    match node.kind() {
        "use_declaration" | "mod_item" if is_for_tests(reading, node) => Inside::Pass,
        "use_declaration" => {
            if let Some(argument) = node.child_by_field_name("argument") {
                let is_public = children(node).iter().any(|it| it.kind() == "visibility_modifier");
                tree(reading, argument, &mut Vec::new(), is_public);
            }
            Inside::Pass
        }
        "extern_crate_declaration" => {
            if let Some(name) = node.child_by_field_name("name") {
                let path = reading.text(name).to_owned();
                reading.add(node, ImportKind::Static, &path, Vec::new());
            }
            Inside::Pass
        }
        "scoped_identifier" | "scoped_type_identifier" => {
            let path = plain(reading.text(node));
            if ["crate::", "super::", "self::"].iter().any(|start| path.starts_with(start)) {
                add(reading, node, path.split("::").map(str::to_owned).collect(), None, false);
            }
            Inside::Pass
        }
        _ => Inside::Look,
    }
}

/// Whether an item is compiled for tests only, which may use everything.
fn is_for_tests(reading: &Reading<'_>, node: Node<'_>) -> bool {
    let mut before = node.prev_named_sibling();
    while let Some(it) = before.filter(|it| matches!(it.kind(), "attribute_item" | "line_comment"))
    {
        let text: String = reading.text(it).chars().filter(|c| !c.is_whitespace()).collect();
        if text == "#[cfg(test)]" {
            return true;
        }
        before = it.prev_named_sibling();
    }
    false
}

/// A tree of names: each of its leaves is an import.
fn tree(reading: &mut Reading<'_>, node: Node<'_>, above: &mut Vec<String>, is_public: bool) {
    let before = above.len();
    match node.kind() {
        "use_list" => {
            for item in children(node) {
                tree(reading, item, above, is_public);
            }
        }
        "scoped_use_list" => {
            if let Some(path) = node.child_by_field_name("path") {
                above.extend(plain(reading.text(path)).split("::").map(str::to_owned));
            }
            if let Some(list) = node.child_by_field_name("list") {
                tree(reading, list, above, is_public);
            }
        }
        "use_as_clause" => {
            let (path, alias) =
                (node.child_by_field_name("path"), node.child_by_field_name("alias"));
            if let Some(path) = path {
                let alias = alias.map(|alias| reading.text(alias).to_owned());
                above.extend(plain(reading.text(path)).split("::").map(str::to_owned));
                add(reading, node, above.clone(), alias, is_public);
            }
        }
        "use_wildcard" => {
            let whole = plain(reading.text(node));
            above.extend(whole.split("::").filter(|it| !it.is_empty()).map(str::to_owned));
            add(reading, node, above.clone(), None, is_public);
        }
        "line_comment" | "block_comment" => {}
        _ => {
            above.extend(plain(reading.text(node)).split("::").map(str::to_owned));
            add(reading, node, above.clone(), None, is_public);
        }
    }
    above.truncate(before);
}

/// A path without the space that may stand in it, and without generics.
fn plain(text: &str) -> String {
    let whole: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let whole = whole.split('<').next().unwrap_or_default();
    whole.trim_start_matches("::").trim_end_matches("::").to_owned()
}

/// Adds one import. `self` at the end means the module before it.
fn add(
    reading: &mut Reading<'_>,
    node: Node<'_>,
    mut parts: Vec<String>,
    alias: Option<String>,
    is_public: bool,
) {
    if parts.len() > 1 && parts.last().is_some_and(|it| it == "self") {
        parts.pop();
    }
    let Some(parts) = from_the_file(parts, depth(node)) else { return };
    let kind = match parts.first().map(String::as_str) {
        _ if is_public => ImportKind::ReExport,
        Some("crate" | "super" | "self") => ImportKind::Relative,
        _ => ImportKind::Static,
    };
    let last = parts.last().cloned().unwrap_or_default();
    let names = vec![named(&last, alias.as_deref().unwrap_or(&last))];
    reading.add(node, kind, &parts.join("::"), names);
}

/// In how many modules of the same file a node is.
fn depth(node: Node<'_>) -> usize {
    let mut count = 0;
    let mut above = node.parent();
    while let Some(it) = above {
        count += usize::from(it.kind() == "mod_item");
        above = it.parent();
    }
    count
}

/// A path from inside modules of a file, as it would be written at the file's top; none where it does not lead
/// out of them.
fn from_the_file(parts: Vec<String>, depth: usize) -> Option<Vec<String>> {
    if depth == 0 {
        return Some(parts);
    }
    let supers = parts.iter().take_while(|it| *it == "super").count();
    match (parts.first().map(String::as_str), supers) {
        (Some("self"), _) => None,
        (Some("super"), count) if count < depth => None,
        (Some("super"), count) if count == depth => {
            Some([&["self".to_owned()][..], &parts[count..]].concat())
        }
        (Some("super"), _) => Some(parts[depth..].to_vec()),
        _ => Some(parts),
    }
}
