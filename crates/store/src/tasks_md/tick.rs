//! Ticks tasks in the text of a TASKS.md, or takes the ticks back, and leaves every other byte as it is.

use super::{
    draft::{TaskBox, Tick},
    form::CHECK,
    source::Source,
    walk,
};
use std::{borrow::Cow, collections::HashSet, ops::Range};
use waypost_model::id::TaskId;

/// Returns `text` with the boxes of `ids` ticked.
///
/// A task without a box gets ` ✅` at the end of its line. What is ticked already, and ids that
/// the text does not have, change nothing.
pub fn tick(text: &str, ids: &[TaskId]) -> String {
    edited(text, ids, |task, _| match &task.tick {
        _ if task.ticked => None,
        Tick::Box(tick_box) => Some((tick_box.span.clone(), "[x]".into())),
        Tick::Mark(end) => Some((*end..*end, format!(" {CHECK}").into())),
    })
}

/// Returns `text` with the boxes of `ids` empty again, and without the marks that `tick` has made.
pub fn untick(text: &str, ids: &[TaskId]) -> String {
    let mark = format!(" {CHECK}");
    edited(text, ids, |task, source| match &task.tick {
        _ if !task.ticked => None,
        Tick::Box(tick_box) => Some((tick_box.span.clone(), "[ ]".into())),
        Tick::Mark(end) => {
            let is_marked = source.get(..*end)?.ends_with(&mark);
            is_marked.then(|| (*end - mark.len()..*end, "".into()))
        }
    })
}

/// Makes one edit, or none, for each of `ids`; its place is in the text as the parser has it.
fn edited(
    text: &str,
    ids: &[TaskId],
    edit: impl Fn(&TaskBox, &str) -> Option<(Range<usize>, Cow<'static, str>)>,
) -> String {
    if ids.is_empty() {
        return text.to_owned();
    }
    let source = Source::new(text);
    let wanted: HashSet<&TaskId> = ids.iter().collect();
    let boxes = walk::boxes(source.text());
    let in_file = |span: Range<usize>| source.in_file(span.start)..source.in_file(span.end);
    let mut edits: Vec<(Range<usize>, Cow<'static, str>)> = boxes
        .iter()
        .filter(|task| wanted.contains(&task.id))
        .filter_map(|task| edit(task, source.text()))
        .map(|(span, replacement)| (in_file(span), replacement))
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
