//! What an entry of the knowledge stands on, and which event it came with.

use super::Reason;
use crate::{error::EngineError, knowledge, ledger::knowledge_stream, mentions, project::Project};
use waypost_model::{code::Code, next::NextStep};

/// Why something is known, and whether it still holds.
#[derive(Clone, Debug)]
pub struct KnowledgeWhy {
    pub id: String,
    /// `known`, or `doubtful` where files that it stands on have changed since.
    pub status: &'static str,
    pub reasons: Vec<Reason>,
}

/// Explains a decision or a pitfall by its id; none where the knowledge has none of this id.
pub fn explain_knowledge(
    project: &mut Project,
    id: &str,
) -> Result<Option<KnowledgeWhy>, EngineError> {
    let known = match knowledge::show(project) {
        // What is damaged or was moved is told by its own commands.
        Err(error) if error.code() == Code::Bug => return Err(error),
        Err(_) => return Ok(None),
        Ok(known) => known,
    };
    let decision = known.document.decisions.iter().find(|it| it.id.as_str() == id);
    let pitfall = known.document.pitfalls.iter().find(|it| it.id.as_str() == id);
    let (text, why) = match (decision, pitfall) {
        (Some(it), _) => (format!("{}: {}", it.topic, it.decision), &it.rationale),
        (None, Some(it)) => (it.description.clone(), &it.reason),
        (None, None) => return Ok(None),
    };
    let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let stream = knowledge_stream();
    let event = mentions::newest_about(project, id, |entry| entry.stream == stream)?;
    let mut reasons = vec![Reason { text: format!("{text}{why}"), event, next: None }];
    let plain = |text: String, next| Reason { text, event: None, next };
    if let Some(files) = known.stands_on.get(id).filter(|it| !it.is_empty()) {
        reasons.push(plain(format!("it stands on {}", files.join(", ")), None));
    }
    let changed = known.changed.get(id);
    if let Some(files) = changed {
        let text = format!("changed since: {}", files.join(", "));
        reasons.push(plain(text, Some(NextStep::ShowKnowledge)));
    }
    let status = if changed.is_some() { "doubtful" } else { "known" };
    Ok(Some(KnowledgeWhy { id: id.to_owned(), status, reasons }))
}
