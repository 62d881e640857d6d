//! `waypost run status --wait`: watches a run that another process works on.

use super::{
    execute::{exit_code, say_waits, summary},
    live::Live,
    requests::Requests,
};
use crate::data::RunEvent;
use crate::{Context, error::CliError, show::run as show_run};
use std::{process::ExitCode, time::Duration};
use waypost_engine::{
    AgentView, Audience as _, Cursor, Doing, Happened, Happening, Project, Recorded, RunWatch,
    Running, attendance, require_known_phase, summary,
};
use waypost_model::{
    run::{
        Active, EndStep, Event, Parked, PhaseStage, Run, RunOutcome, TaskStatus, TaskView, Usage,
    },
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
        context.out.json(&RunEvent::Watching { run: Box::new((&run).into()) })?;
    }
    let mut attended_at = None;
    let end = loop {
        // Asked first: what an engine recorded before it ended is read after it has.
        let is_attended = watch.is_attended(&project)?;
        tell_news(&mut project, &mut live, &mut watch)?;
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

/// Tells everything that was recorded since, and what was said beside it.
fn tell_news(project: &mut Project, live: &mut Live, watch: &mut RunWatch) -> Result<(), CliError> {
    let notes = watch.take_notes();
    loop {
        let news = watch.take(project)?;
        if news.is_empty() {
            notes.iter().for_each(|note| live.tell(note));
            return Ok(());
        }
        let active = project.run()?.active();
        news.iter().filter_map(|entry| happening(entry, active)).for_each(|it| live.tell(&it));
    }
}

/// What an entry of the journal means to those who watch.
fn happening(entry: &Happened, active: Option<&Active>) -> Option<Happening> {
    Some(match entry.event::<Run>()? {
        Event::TaskStarted { id, attempt } => Happening::Started { id, attempt },
        Event::TaskCompleted { id, .. } => Happening::Completed { id },
        Event::AttemptFailed { id, text, not_before, .. } => {
            Happening::Retried { id, text, not_before }
        }
        Event::AttemptInterrupted { id } => {
            Happening::Interrupted { id, why: "it ended without a result".into() }
        }
        Event::TaskFailed { id, text, .. } => Happening::Failed { id, text },
        Event::AttemptParked { id, parked } => {
            let Parked { cause, why, until, .. } = parked;
            Happening::Parked { id, cause, why, until }
        }
        Event::AgentAsked { id, .. } => {
            let title = format!("{id} waits for a person");
            Happening::Asked { id, title }
        }
        Event::PhaseClosed { phase, merge_commit } => {
            let progress = active.map(|active| active.progress(phase));
            let missing = progress.map_or(0, |it| it.total - it.completed);
            Happening::PhaseClosed { phase, merge_commit, missing }
        }
        Event::Replanned { .. } => Happening::Note("the plan has changed".into()),
        // Everything else shows in the state.
        _ => return None,
    })
}
