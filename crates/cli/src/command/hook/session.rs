//! What a conversation is told: at its start, when it is compacted, when it wants to stop, and
//! when an edit of a window was taken up or refused.

use super::{complain, folder, note, spot, tool::is_held};
use crate::{
    show::{memory as show_memory, workflow as show_workflow},
    spelling::line,
};
use std::{env, path::Path};
use waypost_agent::hook::{Event, HookAnswer};
use waypost_engine::{
    EngineError, Project,
    context::{ContextRequest, context_for},
    gate, has_sent_for, identify, is_sent_by_waypost, memory,
};
use waypost_hook::{folders, log, wall_level};
use waypost_model::{
    layout,
    verdict::VerdictOutcome,
    workflow::{Checkpoint, CheckpointStatus, Feature, Phase, Rights},
};

/// What an agent is in a conversation of which nothing else is known.
const ROLE: &str = "worker";

/// How much a conversation is told at its start: programs cut at ten thousand characters.
const BUDGET: usize = 1_500;

/// Puts the state into the model's context, as facts.
pub(super) fn start(event: &Event, source: &str) -> HookAnswer {
    let Some(folder) = folder(event) else { return HookAnswer::Silent };
    let opened = Project::open(&folder, identify()).and_then(|mut project| {
        let settings = project.configuration().values.workflow.rights();
        let feature = project.workflow()?.feature.clone().filter(|it| !it.is_done());
        let remembered = remembered(&folder, &mut project);
        let known = known(&mut project, feature.is_some(), remembered.is_some())?;
        let besides: Vec<String> = remembered.into_iter().chain(known).collect();
        Ok((spot(&project), feature, settings, besides))
    });
    match opened {
        Ok((_, None, _, besides)) if besides.is_empty() => HookAnswer::Silent,
        Ok((_, None, _, besides)) => HookAnswer::Context(besides.join("\n")),
        Ok((spot, Some(feature), settings, besides)) => {
            note(event, &[&spot], &VerdictOutcome::Started { source: source.to_owned() });
            let rights = Rights::under(&feature, settings);
            let told = show_workflow::context(&feature, rights, wall_level());
            HookAnswer::Context([vec![told], besides].concat().join("\n"))
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

/// What a conversation should know besides how its workflow stands: after a compaction all of it is gone.
fn known(
    project: &mut Project,
    knows_state: bool,
    knows_memory: bool,
) -> Result<Option<String>, EngineError> {
    let task = env::var(layout::variable::TASK).ok().and_then(|id| id.parse().ok());
    let request = ContextRequest {
        role: ROLE.to_owned(),
        budget: BUDGET,
        knows_state: knows_state && task.is_none(),
        knows_memory,
        task,
        ..ContextRequest::default()
    };
    let text = context_for(project, &request)?.text.trim_end().to_owned();
    Ok((!text.is_empty()).then(|| format!("What Waypost knows about the work here:\n{text}")))
}

/// What the memory has to say; a day's first conversation begins a session of the shared context. That
/// it cannot be written down stands in no conversation's way.
fn remembered(folder: &Path, project: &mut Project) -> Option<String> {
    if let Err(error) = memory::renew_session(project) {
        complain(folder, &error);
    }
    project.memory().ok().and_then(show_memory::brief)
}

/// While a workflow is active, settings that change are not taken over: with them an agent could
/// switch the hook off, or name a program that is not asked about.
pub(super) fn settings_change(event: &Event, source: &str) -> HookAnswer {
    let is_active = folders(Some(event)).iter().any(|folder| is_held(folder));
    if !is_active {
        return HookAnswer::Silent;
    }
    let what = if source.is_empty() { "settings" } else { source };
    let message =
        format!("a workflow is active, so changed {what} count from the next conversation on");
    // A person should see that someone has tried.
    if let Some((project, _)) = active(event) {
        let (tool, rule) = (what.to_owned(), "settings".to_owned());
        let refused = VerdictOutcome::Refused { tool, call: None, rule, message: message.clone() };
        note(event, &[&spot(&project)], &refused);
    }
    HookAnswer::Refuse(message)
}

/// A compaction can only be written down; what comes after it is told what there is to know.
pub(super) fn compaction(event: &Event, trigger: &str) -> HookAnswer {
    if let Some((project, _)) = active(event) {
        note(event, &[&spot(&project)], &VerdictOutcome::Compacted { trigger: trigger.to_owned() });
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
    note(event, &[&spot], &VerdictOutcome::Held { message: message.clone() });
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
