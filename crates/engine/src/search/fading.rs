//! Notes that have faded, among what was found: they stay, behind what still holds, and it is said why.
//!
//! The index does not know it: a file may change without anything being recorded.

use crate::{
    error::EngineError,
    memory::{Freshness, NoteAges},
    project::Project,
};
use std::collections::BTreeMap;
use waypost_model::memory::Note;
use waypost_store::search::SearchHit;

/// What a note that has faded counts, of what it would.
const FADED_WORTH: f64 = 0.4;

/// So many more are looked at, so that one that has faded may make room.
pub(super) const MORE: usize = 20;

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct AgedHit {
    pub hit: SearchHit,
    /// Why it may not hold any more: files that have changed since, a commit that is gone.
    pub changed: Vec<String>,
}

/// Says of each hit whether it has faded.
pub(super) fn looked_at(
    project: &mut Project,
    hits: Vec<SearchHit>,
) -> Result<Vec<AgedHit>, EngineError> {
    if !hits.iter().any(|hit| note_id(hit).is_some()) {
        return Ok(hits.into_iter().map(|hit| AgedHit { hit, changed: Vec::new() }).collect());
    }
    let notes: BTreeMap<String, Note> =
        project.memory()?.notes().iter().map(|note| (note.id.clone(), note.clone())).collect();
    let mut ages = NoteAges::default();
    let look = |hit: SearchHit| {
        let note = note_id(&hit).and_then(|id| notes.get(id));
        let changed = match note.map(|note| ages.freshness(project, note)) {
            Some(Freshness::Faded { changed }) => changed,
            Some(Freshness::Fresh) | None => Vec::new(),
        };
        AgedHit { hit, changed }
    };
    Ok(hits.into_iter().map(look).collect())
}

/// Puts what has faded behind what holds as well.
pub(super) fn in_order(mut found: Vec<AgedHit>, limit: usize) -> Vec<AgedHit> {
    for it in found.iter_mut().filter(|it| !it.changed.is_empty()) {
        it.hit.score *= FADED_WORTH;
    }
    found.sort_by(|one, other| other.hit.score.total_cmp(&one.hit.score));
    found.truncate(limit);
    found
}

/// The id of a note, as in `noted n12`.
fn note_id(hit: &SearchHit) -> Option<&str> {
    let is_ours = hit.source == super::JOURNAL && hit.reference.starts_with("memory");
    hit.title.strip_prefix("noted ").filter(|_| is_ours)?.split_whitespace().next()
}
