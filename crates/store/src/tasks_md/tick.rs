//! Ticks tasks in the text of a TASKS.md and leaves every other byte as it is.

use super::{draft::Tick, form::CHECK, source::Source, walk};
use std::{collections::HashSet, ops::Range};
use waypost_model::id::TaskId;

/// Returns `text` with the boxes of `ids` ticked.
///
/// A task without a box gets ` ✅` at the end of its line. What is ticked already, and ids that
/// the text does not have, change nothing.
pub fn tick(text: &str, ids: &[TaskId]) -> String {
    let source = Source::new(text);
    let wanted: HashSet<&TaskId> = ids.iter().collect();
    let drafts = walk::walk(source.text()).drafts;
    let open = drafts.iter().filter(|draft| !draft.ticked && wanted.contains(&draft.id));
    let in_file = |span: &Range<usize>| source.in_file(span.start)..source.in_file(span.end);
    let mut edits: Vec<(Range<usize>, String)> = open
        .map(|draft| match &draft.tick {
            Tick::Box(tick_box) => (in_file(&tick_box.span), "[x]".to_owned()),
            Tick::Mark(end) => (in_file(&(*end..*end)), format!(" {CHECK}")),
        })
        .collect();
    edits.sort_by_key(|(span, _)| span.start);
    let mut ticked = String::with_capacity(text.len() + edits.len() * 4);
    let mut copied = 0;
    for (span, replacement) in edits {
        ticked.push_str(&text[copied..span.start]);
        ticked.push_str(&replacement);
        copied = span.end;
    }
    ticked.push_str(&text[copied..]);
    ticked
}
