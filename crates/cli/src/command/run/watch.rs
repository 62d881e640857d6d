//! `waypost run status --wait`: watches a run that another process works on.

use super::{
    execute::{exit_code, say_waits, summary},
    live::Live,
    requests::Requests,
};
use crate::data::{RunEvent, RunEventLine};
use crate::{Context, error::CliError, show::run as show_run};
use std::{process::ExitCode, time::Duration};
use waypost_engine::{
    AgentView, Audience as _, Cursor, Doing, Project, Recorded, RunWatch, Running, attendance,
    require_known_phase, summary,
};
use waypost_model::{
    run::{Active, EndStep, PhaseStage, RunOutcome, TaskStatus, TaskView, Usage},
    time::Time,
};

/// How long a run that was worked on may be without a process: another one may take it over.
const SUCCESSOR_PATIENCE: Duration = Duration::from_secs(3);

/// Why there is nothing more to watch.
enum End {
    Over,
    Waits {
        phase: u32,
    },
    Unattended,
    /// The person does not want to watch any more.
    Left,
}

/// Watches until there is nothing more to see of the run, or of one phase, and exits as the run
/// would.
pub(super) fn run(
    context: &Context,
    mut project: Project,
    phase: Option<u32>,
) -> Result<ExitCode, CliError> {
    if let Some(active) = project.run()?.active() {
        require_known_phase(active, phase)?;
    }
    let mut live = Live::watching(context);
    // Only the watching ends by a signal, so nothing needs time to finish.
    let requests = Requests::listen(Duration::ZERO)?;
    let last = project.log(1, |_| true)?.last().map_or(Cursor::START, Recorded::cursor);
    let mut watch = RunWatch::begin(&project, last)?;
    requests.ring_when_asked(watch.ring());
    if context.out.json
        && let Some(run) = summary::of_run(&mut project)?
    {
        let event = RunEvent::Watching { run: Box::new((&run).into()) };
        context.out.json(&RunEventLine { event, cursor: Some(last) })?;
    }
    let mut attended_at = None;
    let end = loop {
        // Asked first: what an engine recorded before it ended is read after it has.
        let is_attended = watch.is_attended(&project)?;
        watch.take(&mut project)?.iter().for_each(|news| live.tell(news));
        let now = project.clock().now();
        if is_attended {
            attended_at = Some(now);
        }
        let is_between = attended_at.is_some_and(|it| now.since(it) < SUCCESSOR_PATIENCE);
        let Some(active) = project.run()?.active() else { break End::Over };
        if let Some(end) = end_of(active, phase, is_attended || is_between) {
            break end;
        }
        if requests.level() > 0 {
            break End::Left;
        }
        live.look(active, &watch.running().unwrap_or_else(|| recorded(active, now)), now);
        watch.wait(live.pace())?;
    };
    // What was recorded while it was looked whether it is over.
    watch.take(&mut project)?.iter().for_each(|news| live.tell(news));
    live.clear();
    match end {
        End::Over => {}
        End::Waits { phase } => say_waits(context, phase),
        End::Unattended if attendance::has_lost_engine(&mut project)? => {
            context.out.note(show_run::ENGINE_GONE);
        }
        End::Unattended => context.out.note("no process works on the run"),
        End::Left => {
            context.out.note(
                "the run goes on; `waypost run status --wait` watches it again, `waypost run stop` \
                 ends it",
            );
            return Ok(exit_code(RunOutcome::Unfinished, requests.exit_code()));
        }
    }
    Ok(exit_code(summary(context, &mut project, phase)?, None))
}

/// What is being worked on, as far as the journal tells.
fn recorded(active: &Active, now: Time) -> Vec<Running<'_>> {
    let views = active.tasks().filter(|view| view.status == TaskStatus::InProgress);
    let running = views.map(|view| Running {
        id: &view.planned.id,
        attempt: view.attempts,
        since: view.since.unwrap_or(now),
        doing: Doing::Working,
        agent: agent_of(&view),
    });
    running.collect()
}

/// The model agent at a task, as far as the journal tells.
fn agent_of<'a>(view: &TaskView<'a>) -> Option<AgentView<'a>> {
    let trail = view.trail?;
    let conversation = trail.conversation.as_ref()?;
    Some(AgentView {
        name: &conversation.agent,
        doing: "",
        usage: Usage::default(),
        waits: !trail.asked.is_empty(),
    })
}

fn end_of(active: &Active, wanted: Option<u32>, is_attended: bool) -> Option<End> {
    let is_closed = |phase| matches!(active.phase(phase), Some(PhaseStage::Closed { .. }));
    let phase = active.current_phase();
    match active.phase(phase) {
        _ if active.is_over() || wanted.is_some_and(is_closed) => Some(End::Over),
        Some(PhaseStage::Ending { step: EndStep::Approval | EndStep::Stopped, .. }) => {
            Some(End::Waits { phase })
        }
        _ => (!is_attended).then_some(End::Unattended),
    }
}
