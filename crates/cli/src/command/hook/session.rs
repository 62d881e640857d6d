//! What a conversation is told: at its start, when it is compacted, when it wants to stop, and
//! when an edit of a window was taken up or refused.

use super::{complain, folder, note, spot};
use crate::show::workflow as show_workflow;
use waypost_agent::hook::{Answer, Event};
use waypost_engine::{Project, identify};
use waypost_hook::{Spot, log};
use waypost_model::{
    verdict::Outcome,
    workflow::{CheckpointStatus, Feature, Phase, Rights},
};

/// Puts the state into the model's context, as facts.
pub(super) fn start(event: &Event, source: &str) -> Answer {
    let Some(folder) = folder(event) else { return Answer::Silent };
    let opened = Project::open(&folder, identify()).and_then(|mut project| {
        let settings = project.configuration().values.workflow.rights();
        let feature = project.workflow()?.feature.clone().filter(|it| !it.is_done());
        Ok((spot(&project), feature, settings))
    });
    match opened {
        Ok((_, None, _)) => Answer::Silent,
        Ok((spot, Some(feature), settings)) => {
            note(event, &spot, Outcome::Started { source: source.to_owned() });
            let rights = Rights::under(&feature, settings);
            Answer::Context(show_workflow::context(&feature, rights))
        }
        Err(error) if Project::may_be_held(&folder, &error) => Answer::Context(format!(
            "Waypost keeps the state of the work here, and it cannot be read: {error}. Until a \
             person has mended it, tool calls that write, commit or push are refused; \
             `waypost doctor` says more."
        )),
        Err(error) => {
            complain(&folder, &error);
            Answer::Silent
        }
    }
}

/// A compaction can only be written down; what comes after it is told what there is to know.
pub(super) fn compaction(event: &Event, trigger: &str) -> Answer {
    if let Some((spot, _, _)) = active(event) {
        note(event, &spot, Outcome::Compacted { trigger: trigger.to_owned() });
    }
    Answer::Silent
}

/// Tells an agent once what is open, when it wants to stop.
///
/// Only where the program says whose conversation it is and that it was not held before: whoever
/// cannot be told apart could be held for ever.
pub(super) fn stop(event: &Event, is_held: Option<bool>) -> Answer {
    let Some(session) = event.session.as_deref().filter(|_| is_held == Some(false)) else {
        return Answer::Silent;
    };
    let Some((spot, feature, hold_stop)) = active(event) else { return Answer::Silent };
    let Some(message) = open_checkpoint(&feature).filter(|_| hold_stop) else {
        return Answer::Silent;
    };
    let last = log::last_of(&spot.state, session);
    if last.is_some_and(|verdict| matches!(verdict.outcome, Outcome::Held { .. })) {
        return Answer::Silent;
    }
    note(event, &spot, Outcome::Held { message: message.clone() });
    Answer::Hold(message)
}

fn open_checkpoint(feature: &Feature) -> Option<String> {
    let is_open = |status| status == CheckpointStatus::InProgress;
    let (id, checkpoint) = feature.checkpoints.iter().find(|(_, it)| is_open(it.status))?;
    (feature.phase == Phase::Implement).then(|| {
        format!(
            "checkpoint {id} of `{}` is in progress (try {} of {}): `waypost develop checkpoint \
             pass {id}` ends it when its validation holds, `waypost develop checkpoint fail {id}` \
             counts a failed try, `waypost develop checkpoint escalate {id}` hands it to a person",
            feature.name, checkpoint.iteration, feature.max_iterations
        )
    })
}

/// Takes up edits of windows, and says what became of them.
pub(super) fn after_tool(event: &Event) -> Answer {
    let Some(folder) = folder(event) else { return Answer::Silent };
    match Project::open(&folder, identify()) {
        Ok(mut project) => {
            let notices = project.take_notices();
            match project.has_journal() && !notices.is_empty() {
                true => Answer::Context(format!("Waypost: {}", notices.join("\nWaypost: "))),
                false => Answer::Silent,
            }
        }
        Err(error) => {
            complain(&folder, &error);
            Answer::Silent
        }
    }
}

/// The active workflow of the event's work tree, and whether stops are held.
fn active(event: &Event) -> Option<(Spot, Feature, bool)> {
    let mut project = Project::open_to_judge(&folder(event)?).ok()?;
    let hold_stop = project.configuration().values.workflow.hold_stop;
    let feature = project.workflow().ok()?.feature.clone().filter(|it| !it.is_done())?;
    Some((spot(&project), feature, hold_stop))
}
