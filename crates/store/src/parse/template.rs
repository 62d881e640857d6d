//! Placeholders of the templates that document the formats, such as `"ISO-8601"` for a time.
//!
//! A template is worth validating too: where a placeholder makes a value invalid, and only there,
//! a real value takes its place, with a warning. A text field may well say `now`.

use super::failure::Found;
use super::text::place;
use super::tree::{Node, Path, Value};
use std::collections::HashSet;
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::code;

/// Each placeholder and a value of the kind that it stands for.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("ISO-8601", "2000-01-01T00:00:00Z"),
    ("now", "2000-01-01T00:00:00Z"),
    ("task-YYYY-MM-DD-NNN", "task-2000-01-01-001"),
    ("session-YYYY-MM-DD-NNN", "session-2000-01-01-001"),
    ("pending|in_progress|completed|failed", "pending"),
    ("success|failure|partial", "success"),
    ("file|data", "file"),
    ("all-tasks-from-TASKS.md", "T0.1"),
];

/// How many are replaced in one file; a real template has a handful.
pub(super) const PLACEHOLDERS_MAX: usize = 64;

/// Puts real values where placeholders were found to be wrong; returns a warning for each.
pub(super) fn fill(root: &mut Node<'_>, text: &str, found: &[Found]) -> Vec<Diagnostic> {
    let starts: HashSet<u32> = found.iter().map(|found| found.start).collect();
    let mut fill = Filling { text, starts, warnings: Vec::new() };
    fill.visit(root, &Path::Root);
    fill.warnings
}

struct Filling<'a> {
    text: &'a str,
    starts: HashSet<u32>,
    warnings: Vec<Diagnostic>,
}

impl Filling<'_> {
    fn visit(&mut self, node: &mut Node<'_>, path: &Path<'_>) {
        match &mut node.value {
            Value::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.visit(item, &Path::Item(path, at));
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    self.visit(&mut entry.node, &Path::Key(path, &entry.key));
                }
            }
            Value::Text(text) if self.starts.contains(&node.span.start) => {
                let known = PLACEHOLDERS.iter().find(|(placeholder, _)| placeholder == text);
                let Some((placeholder, value)) = known else { return };
                let message = format!("`{placeholder}` is a placeholder, read as `{value}`");
                self.warnings.push(
                    Diagnostic::warning(code::TEMPLATE_PLACEHOLDER, message)
                        .at(place(self.text, node.span))
                        .path(path.to_string()),
                );
                *text = (*value).into();
            }
            _ => {}
        }
    }
}
