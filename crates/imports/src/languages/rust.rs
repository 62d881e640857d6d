//! `use`, `pub use`, `extern crate`, and paths, in what macros are given as well: those that begin with `crate`,
//! `super` or `self`, and those that may begin with another crate or a module beside the items of the file.

use super::{Inside, Reading, children, line_of, named};
use crate::{Import, ImportKind};
use std::mem;
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
        // What stands between its brackets are paths of their own.
        "scoped_identifier" | "scoped_type_identifier" if reading.text(node).contains('<') => {
            Inside::Look
        }
        "scoped_identifier" | "scoped_type_identifier" => {
            let path = plain(reading.text(node));
            add_path(reading, node, path.split("::").map(str::to_owned).collect());
            Inside::Pass
        }
        "token_tree" => {
            in_macro(reading, node);
            Inside::Look
        }
        _ => Inside::Look,
    }
}

/// The paths between the tokens that a macro is given; what is in brackets within is looked at by itself.
fn in_macro(reading: &mut Reading<'_>, tree: Node<'_>) {
    let mut cursor = tree.walk();
    let tokens: Vec<Node<'_>> = tree.children(&mut cursor).collect();
    let (mut parts, mut first): (Vec<String>, Option<Node<'_>>) = (Vec::new(), None);
    let mut is_joined = false;
    for token in tokens {
        let text = reading.text(token);
        let is_name = matches!(token.kind(), "identifier" | "crate" | "super" | "self");
        if is_name || text == "$crate" {
            if !is_joined && let Some(first) = first.take() {
                add_path(reading, first, mem::take(&mut parts));
            }
            first.get_or_insert(token);
            parts.push(text.trim_start_matches('$').to_owned());
            is_joined = false;
        } else if text == "::" {
            is_joined = true;
        } else {
            is_joined = false;
            if let Some(first) = first.take() {
                add_path(reading, first, mem::take(&mut parts));
            }
        }
    }
    if let Some(first) = first {
        add_path(reading, first, parts);
    }
}

/// Adds what a path in the code means, if it may mean a module: these have small letters.
fn add_path(reading: &mut Reading<'_>, node: Node<'_>, parts: Vec<String>) {
    let Some(first) = parts.first().filter(|_| parts.len() > 1) else { return };
    if matches!(first.as_str(), "crate" | "super" | "self") {
        add(reading, node, parts, None, false);
    } else if first.starts_with(|c: char| c.is_lowercase() || c == '_') {
        let last = parts.last().cloned().unwrap_or_default();
        reading.bare.push(Import {
            path: parts.join("::"),
            names: vec![named(&last, &last)],
            line: line_of(node),
            kind: ImportKind::Static,
            is_known: true,
        });
    }
}

/// Takes paths for what they are whose first name was not imported: of one that was, the import is known.
pub(super) fn keep_bare(reading: &mut Reading<'_>) {
    let bare = mem::take(&mut reading.bare);
    let locals = reading.found.iter().flat_map(|import| &import.names);
    let locals: Vec<String> = locals.map(|name| name.local.clone()).collect();
    let is_other = |import: &Import| {
        let first = import.path.split("::").next().unwrap_or_default();
        locals.iter().all(|local| local != first)
    };
    reading.found.extend(bare.into_iter().filter(is_other));
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
