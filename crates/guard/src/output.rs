//! What a command prints, where that can be read off: `echo`, `printf`, `cat <<END`, and git's word for
//! the top of the work tree.
//!
//! Enough to follow text into a shell or into a command's name; anything else is not known.

use rable::{Node, NodeKind};

use crate::parse::{needs_room, parse};
use crate::walk::TEXT_LIMIT;
use crate::word::{Scope, UNKNOWN, expand, expand_whole};

/// Outputs inside outputs beyond this are not worked out: each level is read once more for every
/// level above it, and no person writes more than two or three in earnest.
const NESTING_LIMIT: u8 = 8;

/// The text that a command writes to its standard output.
pub(crate) fn output_of(node: &Node, scope: &Scope) -> Option<String> {
    let NodeKind::Command { words, redirects, assignments } = &node.kind else { return None };
    if scope.nesting >= NESTING_LIMIT {
        return None;
    }
    let scope = &Scope { nesting: scope.nesting + 1, ..scope.clone() };
    let fields: Vec<String> = words.iter().flat_map(|word| expand(word, scope).fields).collect();
    let (name, arguments) = fields.split_first()?;
    match name.as_str() {
        "echo" if redirects.is_empty() => echo(arguments),
        "printf" if redirects.is_empty() => printf(arguments),
        "cat" if arguments.is_empty() => match redirects.as_slice() {
            [one] => input_text(one, scope),
            _ => None,
        },
        "git" if assignments.is_empty() && arguments == ["rev-parse", "--show-toplevel"] => {
            scope.top.as_ref().map(|top| format!("{top}\n"))
        }
        _ => None,
    }
}

/// The text that a here-document or here-string feeds in.
pub(crate) fn input_text(redirect: &Node, scope: &Scope) -> Option<String> {
    match &redirect.kind {
        NodeKind::HereDoc { content, quoted, .. }
            if *quoted || !content.contains(['$', '`', '\\']) =>
        {
            Some(content.clone())
        }
        // Its values are filled in at run time; as in a word, what is not known is marked.
        NodeKind::HereDoc { content, .. } => Some(filled(content, scope)),
        NodeKind::Redirect { op, target, .. } if op == "<<<" => Some(expand_whole(target, scope).0),
        _ => None,
    }
}

/// A here-document's text with its expansions made: parsed again as one quoted word.
fn filled(content: &str, scope: &Scope) -> String {
    let unknown = || UNKNOWN.to_string();
    if needs_room(content) || content.contains('"') && content.contains(['`', '(', '{']) {
        return unknown();
    }
    let quoted = format!(": \"{}\"", content.replace('"', "\\\""));
    let Ok(nodes) = parse(&quoted) else { return unknown() };
    let [Node { kind: NodeKind::Command { words, .. }, .. }] = nodes.as_slice() else {
        return unknown();
    };
    words.get(1).map_or_else(unknown, |word| expand_whole(word, scope).0)
}

fn echo(arguments: &[String]) -> Option<String> {
    let is_option = |text: &&String| {
        text.len() > 1 && text.starts_with('-') && text[1..].chars().all(|it| "neE".contains(it))
    };
    let options = arguments.iter().take_while(is_option).count();
    let text = arguments[options..].join(" ");
    // Some shells decode escapes unasked, so a text with any is not known.
    (!text.contains('\\')).then_some(text + "\n")
}

fn printf(arguments: &[String]) -> Option<String> {
    let (format, values) = arguments.split_first()?;
    let format = format.replace("\\n", "\n").replace("\\t", "\t");
    if format.contains('\\') || format.starts_with('-') {
        return None;
    }
    if !format.contains('%') {
        return Some(format);
    }
    let pieces: Vec<&str> = format.split("%s").collect();
    let places = pieces.len() - 1;
    if places == 0 || pieces.iter().any(|piece| piece.contains('%')) {
        return None;
    }
    let empty = [String::new()];
    let values = if values.is_empty() { &empty } else { values };
    let mut text = String::new();
    for round in values.chunks(places) {
        if text.len() > TEXT_LIMIT {
            return None;
        }
        for (index, piece) in pieces.iter().enumerate() {
            text.push_str(piece);
            if index < places {
                text.push_str(round.get(index).map_or("", String::as_str));
            }
        }
    }
    Some(text)
}
