//! What a conversation is told: at its start, when it is compacted, when it wants to stop, and
//! when an edit of a window was taken up or refused.

use super::{complain, folder, note, spot};
use crate::{show::workflow as show_workflow, spelling::line};
use waypost_agent::hook::{Event, HookAnswer};
use waypost_engine::{Project, gate, has_sent_for, identify, is_sent_by_waypost};
use waypost_hook::log;
use waypost_model::{
    verdict::VerdictOutcome,
    workflow::{Checkpoint, CheckpointStatus, Feature, Phase, Rights},
};

/// Puts the state into the model's context, as facts.
pub(super) fn start(event: &Event, source: &str) -> HookAnswer {
    let Some(folder) = folder(event) else { return HookAnswer::Silent };
    let opened = Project::open(&folder, identify()).and_then(|mut project| {
        let settings = project.configuration().values.workflow.rights();
        let feature = project.workflow()?.feature.clone().filter(|it| !it.is_done());
        Ok((spot(&project), feature, settings))
    });
    match opened {
        Ok((_, None, _)) => HookAnswer::Silent,
        Ok((spot, Some(feature), settings)) => {
            note(event, &spot, VerdictOutcome::Started { source: source.to_owned() });
            let rights = Rights::under(&feature, settings);
            HookAnswer::Context(show_workflow::context(&feature, rights))
        }
        Err(error) if gate::may_be_held(&folder, &error) => HookAnswer::Context(format!(
            "Waypost keeps the state of the work here, and it cannot be read: {error}. Until a \
             person has fixed that, tool calls that write, commit or push are refused; \
             `waypost doctor` says more."
        )),
        Err(error) => {
            complain(&folder, &error);
            HookAnswer::Silent
        }
    }
}

/// A compaction can only be written down; what comes after it is told what there is to know.
pub(super) fn compaction(event: &Event, trigger: &str) -> HookAnswer {
    if let Some((project, _)) = active(event) {
        note(event, &spot(&project), VerdictOutcome::Compacted { trigger: trigger.to_owned() });
    }
    HookAnswer::Silent
}

/// Tells an agent once which of its checkpoints is open, when it wants to stop.
///
/// Only where the program says which conversation it is and that it was not held before: a
/// conversation that cannot be recognised could be held for ever. An agent that Waypost sent is not
/// held: Waypost runs the validation itself when it has ended.
pub(super) fn stop(event: &Event, is_held: Option<bool>) -> HookAnswer {
    let may_be_held = is_held == Some(false) && event.subagent.is_none() && !is_sent_by_waypost();
    let Some(session) = event.session.as_deref().filter(|_| may_be_held) else {
        return HookAnswer::Silent;
    };
    let Some((mut project, feature)) = active(event) else { return HookAnswer::Silent };
    let holds = project.configuration().values.workflow.hold_stop;
    let Some(message) = open_checkpoint(&mut project, &feature, session).filter(|_| holds) else {
        return HookAnswer::Silent;
    };
    let spot = spot(&project);
    let last = log::last_of(&spot.state, session);
    if last.is_some_and(|verdict| matches!(verdict.outcome, VerdictOutcome::Held { .. })) {
        return HookAnswer::Silent;
    }
    note(event, &spot, VerdictOutcome::Held { message: message.clone() });
    HookAnswer::Hold(message)
}

/// What a conversation is told: the checkpoint that it started itself, else one of which it is not
/// known who started it. Those of other conversations and of `ralph` are none of its business.
fn open_checkpoint(project: &mut Project, feature: &Feature, session: &str) -> Option<String> {
    let is_open = |it: &Checkpoint| it.status == CheckpointStatus::InProgress;
    let mut of = |owner: Option<&str>| {
        let mut all = feature.checkpoints.iter();
        all.find(|(id, it)| {
            is_open(it)
                && it.conversation.as_deref() == owner
                && !has_sent_for(project, id).unwrap_or(true)
        })
    };
    let (id, checkpoint) = match of(Some(session)) {
        Some(own) => own,
        None => of(None)?,
    };
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
pub(super) fn after_tool(event: &Event) -> HookAnswer {
    let Some(folder) = folder(event) else { return HookAnswer::Silent };
    match Project::open(&folder, identify()) {
        Ok(mut project) => {
            let notices: Vec<String> = project.take_notices().iter().map(line).collect();
            match project.has_journal() && !notices.is_empty() {
                true => HookAnswer::Context(format!("Waypost: {}", notices.join("\nWaypost: "))),
                false => HookAnswer::Silent,
            }
        }
        Err(error) => {
            complain(&folder, &error);
            HookAnswer::Silent
        }
    }
}

/// The project of the event's work tree and its active workflow.
fn active(event: &Event) -> Option<(Project, Feature)> {
    let mut project = gate::open_to_judge(&folder(event)?).ok()?;
    let feature = project.workflow().ok()?.feature.clone().filter(|it| !it.is_done())?;
    Some((project, feature))
}
