//! What looks like a task and is none: said with its place, unless its id is a task of the file.
//!
//! Lists, tables and headings also talk about tasks that stand elsewhere, so that is only known
//! when the whole text has been read.

use super::walk::Walked;
use std::{collections::HashSet, ops::Range};
use waypost_model::{diagnostic::Diagnostic, id::TaskId};

/// An id that does not start a task where it stands.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) id: TaskId,
    pub(super) span: Range<usize>,
    pub(super) kind: MentionKind,
}

/// How an id stands there.
#[derive(Debug)]
pub(super) enum MentionKind {
    /// In front of an item without a box, inside the text of a task.
    NoBox,
    /// Alone in an item without a box.
    NoTitle,
    /// Behind brackets with this in them.
    OtherBox(String),
    /// In brackets itself.
    Brackets,
    /// At the start of a table's row.
    Row,
    /// As one of several in an item without a box.
    Several,
}

/// Says which lines look like tasks and are not run.
pub(super) fn warn(walked: &mut Walked) {
    if walked.mentions.is_empty() {
        return;
    }
    let known: HashSet<&str> = walked.drafts.iter().map(|draft| draft.id.as_str()).collect();
    for mention in walked.mentions.iter().filter(|mention| !known.contains(mention.id.as_str())) {
        walked.findings.add(mention.span.clone(), warning(mention));
    }
}

fn warning(Mention { id, kind, .. }: &Mention) -> Diagnostic {
    let (code, why) = match kind {
        MentionKind::NoBox => ("no_box", "stands inside another task without a box".to_owned()),
        MentionKind::NoTitle => ("no_box", "has neither a box nor a title".to_owned()),
        MentionKind::OtherBox(mark) => {
            ("other_box", format!("stands behind `[{mark}]`, which is no box that is known"))
        }
        MentionKind::Brackets => ("other_form", "stands in brackets".to_owned()),
        MentionKind::Row => ("other_form", "stands in a table".to_owned()),
        MentionKind::Several => ("other_form", "stands beside another id".to_owned()),
    };
    let hint = match kind {
        MentionKind::OtherBox(_) => "`[ ]` is open and `[x]` is completed: `- [ ] ID: title`",
        _ => "write it as `- [ ] ID: title`",
    };
    let message = format!("{id} {why}; it will not be run");
    Diagnostic::warning(code, message).path(id.as_str()).hint(hint)
}
