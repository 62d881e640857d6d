//! What holds a task, and which events made it so.

mod chain;
mod knowledge;
mod memory;
mod session;
#[cfg(test)]
mod tests;

use crate::{
    accounts,
    agent::Slots,
    attendance, changes,
    error::{EngineError, Problem},
    ledger::{inbox_stream, run_stream},
    mentions,
    project::Project,
    resources::Resources,
};
pub use knowledge::{KnowledgeWhy, explain_knowledge};
pub use memory::{MemoryWhy, explain_memory};
pub use session::{SessionSubject, SessionWhy, explain_session};

use chain::{About, Around, Chain, Draft};
use waypost_model::{
    code::Code,
    config,
    id::TaskId,
    inbox::Question,
    next::NextStep,
    run::{RunTopic, TaskStatus},
};
use waypost_store::journal::Recorded;

/// Why a task stands as it does.
#[derive(Clone, Debug)]
pub struct Why {
    pub id: TaskId,
    pub status: TaskStatus,
    /// Its dependencies are met, and something else keeps it from being started.
    pub is_held: bool,
    /// The nearest first; each follows from the next one.
    pub reasons: Vec<Reason>,
}

/// One thing that holds a task, or has brought it where it is.
#[derive(Clone, Debug)]
pub struct Reason {
    pub text: String,
    /// The event that made it so, where there is one.
    pub event: Option<Recorded>,
    /// What leads on.
    pub next: Option<NextStep>,
}

/// Says what holds a task of the run.
pub fn explain(project: &mut Project, id: &TaskId) -> Result<Why, EngineError> {
    let around = around(project)?;
    let run = project.run()?;
    let Some(active) = run.active() else {
        return Err(Problem::new(Code::TaskUnknown, "no run has begun").into());
    };
    let Some(view) = active.task(id) else {
        let message = format!("there is no task {id} in this run");
        return Err(Problem::new(Code::TaskUnknown, message).into());
    };
    let status = view.status;
    let (drafts, is_held) = Chain { active, around: &around }.of(&view);
    let mut reasons = with_events(project, drafts)?;
    if status == TaskStatus::Completed
        && let Some(text) = changes::stale_evidence(project, id)?
    {
        let next = Some(NextStep::RevertTask { id: id.clone() });
        reasons.push(Reason { text, event: None, next });
    }
    Ok(Why { id: id.clone(), status, is_held, reasons })
}

fn around(project: &mut Project) -> Result<Around, EngineError> {
    let now = project.clock.now();
    accounts::current(project)?;
    let inbox = project.inbox()?;
    let open = inbox.open().iter();
    let told = inbox.open().iter().find_map(|it| trouble_told(&it.question));
    let seen = Resources::of(project).look().map(|(trouble, why)| format!("{trouble}: {why}"));
    Ok(Around {
        now,
        has_engine: attendance::is_run_attended(project)?,
        is_left: attendance::has_lost_engine(project)?,
        inbox: open.map(|it| (it.question.subject.clone(), it.id.clone())).collect(),
        max_agents: project.configuration().values.run.max_agents as usize,
        is_machine_full: Slots::of(project).free(1)? == 0,
        trouble: seen.or(told),
        phase_cents: config::cents(project.configuration().values.run.phase_budget_usd),
        is_day_used_up: accounts::day_left(project, now)? == Some(0),
    })
}

/// The trouble that a run waits for, as its engine has asked about it: what one process lacks, another may have.
fn trouble_told(question: &Question) -> Option<String> {
    let (_, topic) = question.subject.read().filter(|(stream, _)| *stream == run_stream())?;
    match RunTopic::read(&topic)? {
        RunTopic::Trouble(trouble) => {
            let first = question.text.lines().next().unwrap_or_default();
            let why = first.split_once(": ").map_or(first, |(_, why)| why);
            Some(format!("{trouble}: {why}"))
        }
        _ => None,
    }
}

/// Looks up the event behind each reason: the newest of its kind.
fn with_events(project: &mut Project, drafts: Vec<Draft>) -> Result<Vec<Reason>, EngineError> {
    let mut found: Vec<(About, Option<Recorded>)> = Vec::new();
    for about in drafts.iter().filter_map(|draft| draft.about.clone()) {
        if !found.iter().any(|(known, _)| *known == about) {
            let newest = mentions::newest_about(project, &about.name(), |it| is_about(it, &about))?;
            found.push((about, newest));
        }
    }
    let event_of =
        |about: &About| found.iter().find(|(it, _)| it == about).and_then(|(_, it)| it.clone());
    let reasons = drafts.into_iter().map(|draft| Reason {
        event: draft.about.as_ref().and_then(event_of),
        text: draft.text,
        next: draft.next,
    });
    Ok(reasons.collect())
}

/// Whether an entry that names it is of the right kind.
fn is_about(entry: &Recorded, about: &About) -> bool {
    let (stream, kinds) = match about {
        About::Task(_, kinds) | About::Phase(_, kinds) => (run_stream(), *kinds),
        About::Entry(_) => (inbox_stream(), &["asked", "reworded"][..]),
    };
    entry.stream == stream && kinds.contains(&entry.kind.as_str())
}

impl About {
    /// The name under which its events are found.
    fn name(&self) -> String {
        match self {
            Self::Task(id, _) => id.to_string(),
            Self::Phase(phase, _) => phase.to_string(),
            Self::Entry(id) => id.to_string(),
        }
    }
}
