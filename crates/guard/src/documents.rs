//! Distrust of here-documents: the parser loses the text of one in some places, among them the body
//! of `for ((…))`, and then gives the next one the text that was meant for the first.
//!
//! The one that lost its text is empty, so a tree with an empty here-document is not believed.
//! One that was written empty is refused along with it; there is little reason to write one.

use rable::{Node, NodeKind};

/// Whether a here-document anywhere in the tree has no text.
pub(crate) fn is_one_empty(nodes: &[Node]) -> bool {
    let mut open: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = open.pop() {
        if matches!(&node.kind, NodeKind::HereDoc { content, .. } if content.is_empty()) {
            return true;
        }
        push_parts(&node.kind, &mut open);
        open.extend(redirects(&node.kind));
    }
    false
}

/// The redirections of a command, where here-documents are.
fn redirects(kind: &NodeKind) -> &[Node] {
    match kind {
        NodeKind::Command { redirects, .. }
        | NodeKind::If { redirects, .. }
        | NodeKind::While { redirects, .. }
        | NodeKind::Until { redirects, .. }
        | NodeKind::For { redirects, .. }
        | NodeKind::ForArith { redirects, .. }
        | NodeKind::Select { redirects, .. }
        | NodeKind::Case { redirects, .. }
        | NodeKind::Subshell { redirects, .. }
        | NodeKind::BraceGroup { redirects, .. }
        | NodeKind::ArithmeticCommand { redirects, .. }
        | NodeKind::ConditionalExpr { redirects, .. } => redirects,
        _ => &[],
    }
}

/// Adds the parts of a node that can hold commands.
fn push_parts<'a>(kind: &'a NodeKind, open: &mut Vec<&'a Node>) {
    match kind {
        NodeKind::Command { assignments, words, .. } => {
            open.extend(assignments);
            open.extend(words);
        }
        NodeKind::Word { parts, .. } => open.extend(parts),
        NodeKind::Pipeline { commands, .. } => open.extend(commands),
        NodeKind::List { items } => open.extend(items.iter().map(|item| &item.command)),
        NodeKind::If { condition, then_body, else_body, .. } => {
            open.extend([&**condition, &**then_body]);
            open.extend(else_body.as_deref());
        }
        NodeKind::While { condition, body, .. } | NodeKind::Until { condition, body, .. } => {
            open.extend([&**condition, &**body]);
        }
        NodeKind::For { words, body, .. } | NodeKind::Select { words, body, .. } => {
            open.extend(words.iter().flatten());
            open.push(body);
        }
        NodeKind::Case { word, patterns, .. } => {
            open.push(word);
            open.extend(patterns.iter().flat_map(|each| each.patterns.iter().chain(&each.body)));
        }
        NodeKind::ForArith { body, .. }
        | NodeKind::Function { body, .. }
        | NodeKind::Subshell { body, .. }
        | NodeKind::BraceGroup { body, .. }
        | NodeKind::Coproc { command: body, .. }
        | NodeKind::Negation { pipeline: body }
        | NodeKind::Time { pipeline: body, .. }
        | NodeKind::Redirect { target: body, .. }
        | NodeKind::CommandSubstitution { command: body, .. }
        | NodeKind::ProcessSubstitution { command: body, .. } => open.push(body),
        NodeKind::Array { elements } => open.extend(elements),
        _ => {}
    }
}
