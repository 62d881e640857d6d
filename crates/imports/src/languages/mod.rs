//! One file for each family of languages: which nodes of its syntax tree are imports.

mod csharp;
mod go;
mod java;
mod python;
mod rust;
mod script;

use crate::{Import, ImportKind, ImportedName, Imports, Language};
use tree_sitter::{Node, Parser};

/// Deeper trees are not source code that a person or an agent wrote.
const NODES_MAX: usize = 5_000_000;

/// Reads a text; none if the grammar cannot be used.
pub(crate) fn read(language: Language, text: &str) -> Option<Imports> {
    let grammar = match language {
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
        Language::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let tree = parser.parse(text, None)?;
    let root = tree.root_node();
    let (found, exported, bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut reading = Reading { text, declared: None, found, exported, bare };
    let visit = match language {
        Language::Rust => rust::visit,
        Language::Python => python::visit,
        Language::TypeScript | Language::Tsx | Language::JavaScript => script::visit,
        Language::Java | Language::Kotlin => java::visit,
        Language::Go => go::visit,
        Language::CSharp => csharp::visit,
    };
    reading.walk(root, visit);
    if matches!(language, Language::TypeScript | Language::Tsx | Language::JavaScript) {
        script::hand_on(&mut reading);
    }
    rust::keep_bare(&mut reading);
    let Reading { declared, mut found, .. } = reading;
    found.sort_by_key(|import| import.line);
    Some(Imports { language, declared, found, has_errors: root.has_error() })
}

/// Whether what is inside of a node is looked at as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Look,
    Pass,
}

/// What was read of one file so far.
struct Reading<'t> {
    text: &'t str,
    declared: Option<String>,
    found: Vec<Import>,
    /// Names that a script hands on after it has imported them: as they are here, as others see them.
    exported: Vec<ImportedName>,
    /// Paths of Rust that may begin with a crate or a module.
    bare: Vec<Import>,
}

impl<'t> Reading<'t> {
    /// Goes through all nodes, without going down by calls: trees may be as deep as a text is long.
    fn walk(&mut self, root: Node<'_>, visit: fn(&mut Self, Node<'_>) -> Inside) {
        let mut waiting = vec![root];
        let mut count = 0;
        while let Some(node) = waiting.pop() {
            count += 1;
            if count > NODES_MAX {
                return;
            }
            if visit(self, node) == Inside::Look {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
                waiting.extend(children.into_iter().rev());
            }
        }
    }

    fn text(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn add(&mut self, node: Node<'_>, kind: ImportKind, path: &str, names: Vec<ImportedName>) {
        let line = line_of(node);
        self.found.push(Import { path: path.to_owned(), names, line, kind, is_known: true });
    }

    /// An import by a call: its argument is a path, or an expression that has to be worked out.
    fn add_called(&mut self, node: Node<'_>, argument: Node<'_>) {
        match literal(self, argument) {
            Some(path) => self.add(node, ImportKind::Dynamic, path, Vec::new()),
            None => self.add_unknown(node, self.text(argument)),
        }
    }

    /// An import whose path is an expression.
    fn add_unknown(&mut self, node: Node<'_>, expression: &str) {
        let path = expression.split_whitespace().collect::<Vec<_>>().join(" ");
        let (line, kind) = (line_of(node), ImportKind::Dynamic);
        self.found.push(Import { path, names: Vec::new(), line, kind, is_known: false });
    }
}

fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row + 1).unwrap_or(u32::MAX)
}

fn named(name: &str, local: &str) -> ImportedName {
    ImportedName { name: name.to_owned(), local: local.to_owned() }
}

/// The children of a node that have a name in the grammar.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// The first argument of a call.
fn first_argument(call: Node<'_>) -> Option<Node<'_>> {
    let arguments = call.child_by_field_name("arguments")?;
    children(arguments).into_iter().find(|it| !it.kind().contains("comment"))
}

/// A text literal without its quotes; none if something is worked out in it.
fn literal<'t>(reading: &Reading<'t>, node: Node<'_>) -> Option<&'t str> {
    let is_literal = matches!(
        node.kind(),
        "string"
            | "string_literal"
            | "template_string"
            | "interpreted_string_literal"
            | "raw_string_literal"
            | "verbatim_string_literal"
    );
    let works_out = |it: &Node<'_>| {
        matches!(it.kind(), "interpolation" | "template_substitution" | "interpolated_expression")
    };
    if !is_literal || children(node).iter().any(works_out) {
        return None;
    }
    let text = reading.text(node).trim_start_matches(['r', 'b', 'u', 'R', 'B', 'U', '@']);
    let quote = text.chars().next().filter(|c| "\"'`".contains(*c))?;
    Some(text.trim_matches(quote))
}
