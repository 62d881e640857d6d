//! What has piled up beyond what is configured. As long as nothing would go there is nothing to say.

use super::{Doctor, Finding, Repair};
use crate::{
    error::EngineError,
    project::Project,
    retention::{Pile, Stock},
};
use waypost_model::next::NextStep;

/// What would go; none if that is nothing, or where there is no journal that can be read.
pub(super) fn examine(doctor: &Doctor<'_>) -> Option<Finding> {
    let mut project = opened(doctor).ok().filter(Project::has_journal)?;
    let piles = match Stock::of(&mut project).and_then(|stock| stock.piles()) {
        Ok(piles) => piles,
        Err(error) => return Some(Finding::note("retention", error.to_string())),
    };
    let going: Vec<String> = piles.iter().filter(|pile| pile.going > 0).map(going).collect();
    if going.is_empty() {
        return None;
    }
    let text = format!("beyond what is configured: {}", going.join(", "));
    let finding = Finding::note("retention", text)
        .remedy("a run deletes it by itself, from time to time")
        .next(NextStep::Repair);
    Some(Finding { repair: Some(Repair::Reduce), ..finding })
}

/// Deletes what is to go; says what that was.
pub(super) fn reduce(doctor: &Doctor<'_>) -> Result<String, EngineError> {
    let mut project = opened(doctor)?;
    project.refuse_stale()?;
    let piles = Stock::of(&mut project)?.reduce()?;
    let gone: Vec<String> = piles.iter().filter(|pile| pile.going > 0).map(going).collect();
    Ok(match gone.is_empty() {
        true => "there was nothing to delete any more".into(),
        false => format!("deleted {}", gone.join(", ")),
    })
}

fn opened(doctor: &Doctor<'_>) -> Result<Project, EngineError> {
    Project::open_unreconciled(doctor.start, doctor.actor.clone())
}

/// `12 of 30 logs (3 of 9 MB)`.
fn going(pile: &Pile) -> String {
    let Pile { kind, count, bytes, going, going_bytes, .. } = pile;
    let megabytes = |bytes: &u64| bytes.div_ceil(1 << 20);
    let (some, all) = (megabytes(going_bytes), megabytes(bytes));
    format!("{going} of {count} {} ({some} of {all} MB)", kind.as_str())
}
