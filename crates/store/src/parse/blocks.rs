//! Fields of a YAML document, replaced in its own text: comments, quoting and order of all others stay.

use super::{parse, render};
use std::ops::Range;
use waypost_model::document::Form;

/// The text of a document with these fields of its outermost mapping as `value` has them, and all else as it was
/// written. A field that it has not stands at its end; a text in which that is none of its fields (one in a single pair of braces, say)
/// is written again as a whole.
pub fn with_fields<D: Form + PartialEq>(text: &str, value: &D, fields: &[&str]) -> String {
    let whole = render(value);
    let mut changed = text.to_owned();
    for field in fields {
        let new = block(&whole, field).map(|from| &whole[from]).unwrap_or_default();
        let at = block(&changed, field).unwrap_or_else(|| {
            if !changed.ends_with('\n') {
                changed.push('\n');
            }
            changed.len()..changed.len()
        });
        changed.replace_range(at, new);
    }
    match parse::<D>(changed.as_bytes()) {
        Ok(read) if read.value == *value => changed,
        _ => whole,
    }
}

/// The lines of a field: from its name to the last line before the next field that is neither empty nor a comment.
fn block(text: &str, field: &str) -> Option<Range<usize>> {
    let mut found: Option<Range<usize>> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let is_inside = line.starts_with([' ', '\t']) || line.starts_with("- ");
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        match &mut found {
            None if line.strip_prefix(field).is_some_and(|rest| rest.starts_with(':')) => {
                found = Some(start..end);
            }
            Some(_) if is_blank => {}
            Some(range) if is_inside => range.end = end,
            Some(_) => break,
            None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::document::contract::{Outcome, TestResult};

    const HEAD: &str = "# by hand\nversion: 1\nrequest_id: 'R1'  # quoted\nsubtask_id: T1-S1\n\
        created_at: \"2026-11-17T10:00:00Z\"\ncreated_by: qa-engineer\n";
    const TAIL: &str =
        "# what it comes to\nrecommendation:\n    action: complete\n    reason: \"it's  done\"\n";

    fn read(text: &str) -> TestResult {
        parse::<TestResult>(text.as_bytes()).unwrap_or_else(|it| panic!("{it:?}\n{text}")).value
    }

    #[test]
    fn other_fields_keep_the_text_that_they_had() {
        let own = "execution:\n    result: pass # mine\n\nsummary: {total: 1, passed: 1, failed: 0, skipped: 0}\n";
        let text = format!("{HEAD}{own}\n{TAIL}");
        let mut value = read(&text);
        value.execution.command = Some("sh tests/all.sh".to_owned());
        value.summary.total = 3;
        value.summary.passed = 3;
        let changed = with_fields(&text, &value, &["execution", "summary"]);
        assert!(changed.starts_with(HEAD) && changed.ends_with(TAIL), "{changed}");
        assert_eq!(read(&changed), value);
        assert_eq!(value.execution.result, Outcome::Pass);
    }

    #[test]
    fn a_text_without_such_lines_is_written_again() {
        let text = format!(
            "{HEAD}execution: {{result: pass}}\nsummary: {{total: 1, passed: 1, failed: 0, skipped: 0}}\n{TAIL}"
        );
        let value = read(&text);
        let flow = serde_json::to_string(&value).unwrap();
        assert_eq!(with_fields(&flow, &value, &["execution"]), render(&value));
    }
}
