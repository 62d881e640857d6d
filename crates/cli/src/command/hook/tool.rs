//! Before a tool call: the judgement on the journal.

use super::{is_told_elsewhere, note, spot};
use std::path::{Path, PathBuf};
use waypost_agent::hook::{Event, HookAnswer, ToolCall};
use waypost_engine::{
    EngineError, Project,
    gate::{self, Leaving},
};
use waypost_hook::{
    Asked, Case, Ruling, Spot, Wall, folders, is_contract, is_whole, lost_shell, spelling,
};
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
pub(super) fn before(asked: &Asked, event: &Event, call: &ToolCall) -> HookAnswer {
    let folders = folders(Some(event));
    let Some(here) = folders.first() else { return HookAnswer::Silent };
    if let Some(reason) = lost_shell(event.product, call) {
        let (tool, id) = (call.name.clone(), call.id.clone());
        let (rule, message) = ("lost_shell".to_owned(), reason.clone());
        note(event, &[], &VerdictOutcome::Refused { tool, call: id, rule, message });
        return HookAnswer::Refuse(reason);
    }
    if event.asks_a_person() && is_contract(call) {
        return HookAnswer::Allow;
    }
    let wall = Wall::around(event.product, call);
    let judge = |case: &Case<'_>| Case { is_walled: wall.is_some(), ..*case }.judge(call);
    let (mut seen, mut held, mut is_held) = (Vec::<Spot>::new(), Vec::<Spot>::new(), false);
    // The journal that the registration names has to be one of those around.
    let mut is_known = asked.journal.is_none();
    let gone = |id: &str| lost(start_of(&folders), id, &judge, here);
    for start in &folders {
        is_known = is_known || asked.journal == gate::journal_id(start);
    }
    let lost = asked.journal.as_deref().filter(|_| !is_known).map(gone);
    // Why a journal cannot be read is told before that it is not the one.
    let all = folders.iter().map(|start| ask(start, judge, here)).chain(lost);
    for (spot, ruled) in all {
        if seen.contains(&spot) {
            continue;
        }
        is_held |= !matches!(ruled, Ruled::Free);
        match ruled {
            Ruled::Free => {}
            Ruled::Allowed => held.push(spot.clone()),
            Ruled::Refused(Refused { rule, message }) => {
                let outcome = VerdictOutcome::Refused {
                    tool: call.name.clone(),
                    call: call.id.clone(),
                    rule: rule.to_owned(),
                    message: message.clone(),
                };
                note(event, &[&spot], &outcome);
                return HookAnswer::Refuse(message);
            }
        }
        seen.push(spot);
    }
    let outcome = VerdictOutcome::Allowed { tool: call.name.clone(), call: call.id.clone() };
    note(event, &held.iter().collect::<Vec<_>>(), &outcome);
    let rewritten = wall
        .filter(|_| (is_held || is_whole()) && !is_told_elsewhere(event))
        .and_then(|wall| wall.rewrite(call));
    rewritten.map_or(HookAnswer::Silent, HookAnswer::Rewrite)
}

/// The project that the agent program takes for its own: the last folder that has a say.
fn start_of(folders: &[PathBuf]) -> &Path {
    folders.last().map_or_else(|| Path::new("/"), PathBuf::as_path)
}

/// The answer where the journal that the hook was registered with is gone.
fn lost(
    start: &Path,
    id: &str,
    judge: &impl Fn(&Case<'_>) -> Ruling,
    folder: &Path,
) -> (Spot, Ruled) {
    let spot = guessed(start);
    let message =
        format!("the journal {id} of this project is gone, or another stands in its place");
    let ruled = without_journal(&message, judge, &plain_case(folder, &spot, &closed()));
    (spot, ruled)
}

/// A place of which nothing is known but where it should be.
fn guessed(start: &Path) -> Spot {
    Spot::find(start).unwrap_or_else(|| Spot {
        root: start.to_owned(),
        git_common: None,
        state: start.join(layout::STATE_OUTSIDE_GIT),
        tree: "main".into(),
    })
}

fn plain_case<'a>(folder: &'a Path, spot: &'a Spot, held: &'a Held) -> Case<'a> {
    Case { folder, spot, held, is_walled: false }
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
            let spot = guessed(start);
            let ruled = if gate::may_be_held(start, &error) {
                without_journal(&error, &judge, &plain_case(folder, &spot, &closed()))
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
    gate::keep_record(&mut project, &record);
    let Some(held) = record.held else { return Ok((spot, Ruled::Free)) };
    let ruling = judge(&plain_case(folder, &spot, &held));
    if let Some(refusal) = ruling.refusal {
        let (rule, message) = (refusal.rule.as_str(), spelling::told(&refusal));
        return Ok((spot, Ruled::Refused(Refused { rule, message })));
    }
    // What finishes the work is allowed for the content that was looked at, and no other.
    if !ruling.is_finishing || !gate::close_if_stale(&mut project, GateName::ReReviewClean)? {
        let stray = if ruling.is_finishing { stray(&mut project, &ruling)? } else { None };
        return Ok((spot, stray.map_or(Ruled::Allowed, Ruled::Refused)));
    }
    let held = gate::record(&mut project)?.held.unwrap_or_else(closed);
    let again = judge(&plain_case(folder, &spot, &held));
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

/// The refusal of a commit or a push of something else than the files that were reviewed.
fn stray(project: &mut Project, ruling: &Ruling) -> Result<Option<Refused>, EngineError> {
    if ruling.commits
        && let Some(path) = gate::stray(project, Leaving::Index)?
    {
        let message = format!(
            "what is staged of {path} is not what was reviewed; `git add -A` first, in a call of \
             its own"
        );
        return Ok(Some(Refused { rule: "commit", message }));
    }
    if ruling.pushes
        && let Some(path) = gate::stray(project, Leaving::Head)?
    {
        let message = format!(
            "the last commit has not {path} as it was reviewed; commit first, and push in a call of \
             its own"
        );
        return Ok(Some(Refused { rule: "push", message }));
    }
    Ok(None)
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
        free_tools: Vec::new(),
    }
}

/// Reading stays allowed while the journal cannot be read, and so is finding out why.
fn without_journal(
    error: &impl std::fmt::Display,
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
