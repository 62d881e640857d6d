//! Before a tool call: the judgement on the journal.

use super::{note, spot};
use std::path::Path;
use waypost_agent::hook::{Event, HookAnswer, ToolCall};
use waypost_engine::{EngineError, gate};
use waypost_hook::{Case, Ruling, Spot, folders, spelling};
use waypost_model::{
    layout,
    next::NextStep,
    verdict::VerdictOutcome,
    workflow::{GateName, Held, Phase, Rights},
};

/// Why a call is refused: the rule's word, and what the agent is told.
pub(super) struct Refused {
    pub(super) rule: &'static str,
    pub(super) message: String,
}

/// The answer of all projects that have a say; the first refusal counts.
pub(super) fn before(event: &Event, call: &ToolCall) -> HookAnswer {
    let folders = folders(Some(event));
    let Some(here) = folders.first() else { return HookAnswer::Silent };
    let mut asked: Vec<Spot> = Vec::new();
    for start in &folders {
        let (spot, ruled) = ask(start, |case| case.judge(call), here);
        if asked.contains(&spot) {
            continue;
        }
        match ruled {
            Ruled::Free => {}
            Ruled::Allowed => {
                let (tool, call) = (call.name.clone(), call.id.clone());
                note(event, &spot, VerdictOutcome::Allowed { tool, call });
            }
            Ruled::Refused(Refused { rule, message }) => {
                let outcome = VerdictOutcome::Refused {
                    tool: call.name.clone(),
                    call: call.id.clone(),
                    rule: rule.to_owned(),
                    message: message.clone(),
                };
                note(event, &spot, outcome);
                return HookAnswer::Refuse(message);
            }
        }
        asked.push(spot);
    }
    HookAnswer::Silent
}

/// What one project says.
pub(super) enum Ruled {
    /// No workflow is active there.
    Free,
    Allowed,
    Refused(Refused),
}

/// Whether a workflow is active around `start`, or may be.
pub(super) fn is_held(start: &Path) -> bool {
    let record = gate::open_to_judge(start).and_then(|mut project| gate::record(&mut project));
    match record {
        Ok(record) => record.held.is_some(),
        Err(error) => gate::may_be_held(start, &error),
    }
}

/// Asks the project around `start` about something that is done in `folder`.
pub(super) fn ask(
    start: &Path,
    judge: impl Fn(&Case<'_>) -> Ruling,
    folder: &Path,
) -> (Spot, Ruled) {
    match by_journal(start, &judge, folder) {
        Ok(ruled) => ruled,
        Err(error) => {
            let spot = Spot::find(start).unwrap_or_else(|| Spot {
                root: start.to_owned(),
                git_common: None,
                state: start.join(layout::STATE_OUTSIDE_GIT),
                tree: "main".into(),
            });
            let ruled = if gate::may_be_held(start, &error) {
                without_journal(&error, &judge, &Case { folder, spot: &spot, held: &closed() })
            } else {
                Ruled::Free
            };
            (spot, ruled)
        }
    }
}

fn by_journal(
    start: &Path,
    judge: &impl Fn(&Case<'_>) -> Ruling,
    folder: &Path,
) -> Result<(Spot, Ruled), EngineError> {
    let mut project = gate::open_to_judge(start)?;
    let spot = spot(&project);
    let record = gate::record(&mut project)?;
    gate::keep_record(&project, &record);
    let Some(held) = record.held else { return Ok((spot, Ruled::Free)) };
    let ruling = judge(&Case { folder, spot: &spot, held: &held });
    if let Some(refusal) = ruling.refusal {
        let (rule, message) = (refusal.rule.as_str(), spelling::told(&refusal));
        return Ok((spot, Ruled::Refused(Refused { rule, message })));
    }
    // What finishes the work is allowed for the content that was looked at, and no other.
    if !ruling.is_finishing || !gate::close_if_stale(&mut project, GateName::ReReviewClean)? {
        return Ok((spot, Ruled::Allowed));
    }
    let held = gate::record(&mut project)?.held.unwrap_or_else(closed);
    let again = judge(&Case { folder, spot: &spot, held: &held });
    Ok(match again.refusal {
        None => (spot, Ruled::Allowed),
        Some(refusal) => {
            let message = format!(
                "files have changed since re_review_clean was passed, so it is closed again; {}",
                spelling::told(&refusal)
            );
            (spot, Ruled::Refused(Refused { rule: refusal.rule.as_str(), message }))
        }
    })
}

/// A workflow about which nothing is known: it allows nothing that a gate could be about.
fn closed() -> Held {
    Held {
        rights: Rights::NONE,
        phase: Phase::Design,
        closed: GateName::ALL.to_vec(),
        next: NextStep::Examine,
        design_paths: Vec::new(),
        writing_tools: Vec::new(),
    }
}

/// Reading stays allowed while the journal cannot be read, and so is finding out why.
fn without_journal(
    error: &EngineError,
    judge: &impl Fn(&Case<'_>) -> Ruling,
    case: &Case<'_>,
) -> Ruled {
    match judge(case).refusal {
        None => Ruled::Allowed,
        Some(refusal) => Ruled::Refused(Refused {
            rule: refusal.rule.as_str(),
            message: format!(
                "the gate cannot be asked, so only reading is allowed: {error}; \
                 `waypost doctor` says more, and a person has to fix it"
            ),
        }),
    }
}
