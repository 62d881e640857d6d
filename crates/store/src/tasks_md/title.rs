//! The title of a task: its words, and what it says about dependencies.

use super::{
    draft::{Draft, FieldReading},
    field,
    form::Title,
    line::{Line, Origin, Slice},
};
use std::ops::Range;

/// Where the title of a task ends that says what it depends on.
#[derive(Debug, Default)]
pub(super) struct Remark {
    /// The place of the remark in the first line, which is left out of the title.
    pub(super) range: Option<Range<usize>>,
    /// How many lines it goes on beyond the first.
    pub(super) wrapped: usize,
}

/// Reads `(depends on T010)` in the paragraph of a task.
pub(super) fn depends_remark(
    draft: &mut Draft,
    title: &Title,
    lines: &[Line],
    reading: &mut FieldReading<'_>,
) -> Remark {
    let is_field = |line: &&Line| field::labelled(line).is_some();
    let count = 1 + lines[1..].iter().take_while(|line| !is_field(line)).count();
    for (number, line) in lines[..count].iter().enumerate() {
        let start = if number == 0 { title.range.start } else { 0 };
        let Some((range, inside)) = field::depends_remark(line, start) else { continue };
        let mut closed = line.text()[..range.end].ends_with(')');
        let end = range.end - usize::from(closed);
        let mut values = vec![Slice::of(line, inside.min(end)..end, Origin::Inline)];
        for next in &lines[number + 1..count] {
            if closed {
                break;
            }
            let end = next.text().find(')');
            closed = end.is_some();
            let end = end.unwrap_or_else(|| next.text().len());
            values.push(Slice::of(next, 0..end, Origin::Inline));
        }
        draft.depend(&line.span(range.clone()), &values, reading);
        return match number {
            0 => Remark { range: Some(range), wrapped: values.len() - 1 },
            _ => Remark::default(),
        };
    }
    Remark::default()
}

/// The title without the remark on dependencies; a task without one is called by its id.
pub(super) fn text(title: &Title, line: &Line, remark: &Remark) -> String {
    let Range { start, end } = title.range;
    let remark = remark.range.clone().unwrap_or(end..end);
    let (before, after) = (start..remark.start.min(end), remark.end.min(end)..end);
    let text = tidy(&format!("{} {}", &line.text()[before], &line.text()[after]));
    if text.is_empty() { title.id.to_string() } else { text }
}

/// One space between words and no control characters: titles and names are shown in terminals.
pub(super) fn tidy(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}
