//! What holds a task of the server, and which events made it so.

use crate::{
    accounts,
    agent::Slots,
    error::EngineError,
    mentions,
    project::Project,
    served::{self, task_stream},
    serving,
    why::Reason,
};
use waypost_model::{
    document::{
        ServerTaskId,
        server::{AgentStatus, ServerTaskStatus},
    },
    inbox::{Inbox, Subject, Topic},
    next::NextStep,
    task::{ClaimStage, ItemWant, LostCause, TaskFile, TaskTopic},
    time::Time,
};
use waypost_store::journal::Recorded;

/// Why a task stands as it does.
#[derive(Clone, Debug)]
pub struct ServedWhy {
    pub id: ServerTaskId,
    pub status: ServerTaskStatus,
    pub agent: AgentStatus,
    /// The nearest first.
    pub reasons: Vec<Reason>,
}

/// A reason before its event is looked up.
struct Holding {
    text: String,
    /// Kinds of events of the task, the newest of which made it so.
    kinds: &'static [&'static str],
    next: Option<NextStep>,
}

impl Holding {
    fn new(text: impl Into<String>, kinds: &'static [&'static str]) -> Self {
        Self { text: text.into(), kinds, next: None }
    }

    fn next(self, next: impl Into<Option<NextStep>>) -> Self {
        Self { next: next.into(), ..self }
    }
}

/// Says what holds a task of the server.
pub fn explain_task(project: &mut Project, id: &ServerTaskId) -> Result<ServedWhy, EngineError> {
    let now = project.clock.now();
    let file = served::file(project, id)?.clone();
    let mut held = match file.status {
        ServerTaskStatus::Draft => vec![of_draft(&file)],
        ServerTaskStatus::Pending => of_pending(project, &file, now)?,
        ServerTaskStatus::InProgress | ServerTaskStatus::Review => of_alive(project, &file, now)?,
        ServerTaskStatus::Completed => vec![Holding::new("it is completed", &["completed"])],
        ServerTaskStatus::Failed => of_failed(project, &file),
    };
    let waits = matches!(file.status, ServerTaskStatus::Pending | ServerTaskStatus::InProgress);
    if waits && project.engine_holder()?.is_none() {
        let text = "no server runs here, so no agent is started or attended to";
        held.push(Holding::new(text, &[]).next(NextStep::StartServer));
    }
    let reasons = held.into_iter().map(|held| with_event(project, id, held));
    let reasons = reasons.collect::<Result<Vec<_>, _>>()?;
    Ok(ServedWhy { id: id.clone(), status: file.status, agent: file.agent, reasons })
}

fn with_event(
    project: &mut Project,
    id: &ServerTaskId,
    Holding { text, kinds, next }: Holding,
) -> Result<Reason, EngineError> {
    let is_meant = |it: &Recorded| kinds.contains(&it.kind.as_str());
    let event = match kinds {
        [] => None,
        _ => mentions::entries_of_stream(project, &task_stream(id), 1, is_meant)?.pop(),
    };
    Ok(Reason { text, event, next })
}

fn of_draft(file: &TaskFile) -> Holding {
    let (missing, task) = (file.fields.missing(), file.id.clone());
    if missing.is_empty() {
        let text = "it is a draft that was not handed in";
        return Holding::new(text, &["created"]).next(NextStep::SubmitServedTask { task });
    }
    let text = format!("it is a draft without {}", missing.join(", "));
    Holding::new(text, &["created", "edited"]).next(NextStep::EditServedTask { task })
}

fn of_pending(
    project: &mut Project,
    file: &TaskFile,
    now: Time,
) -> Result<Vec<Holding>, EngineError> {
    let mut held: Vec<Holding> = of_hindrance(&project.inbox()?, file).into_iter().collect();
    for task in &file.fields.dependencies {
        held.extend(of_dependency(project, file, task)?);
    }
    held.extend(of_account(project, file, now)?);
    if Slots::of(project).free(1)? == 0 {
        let text = "as many agents work on this machine as may (`run.max_agents`)";
        held.push(Holding::new(text, &[]));
    }
    if held.is_empty() {
        held.push(Holding::new("it waits for its turn in the queue", &["submitted"]));
    }
    Ok(held)
}

/// What it cannot be set up with, and the step that fixes it.
fn of_hindrance(inbox: &Inbox, file: &TaskFile) -> Option<Holding> {
    let parked = file.hindrance()?;
    let subject = Subject::of(&task_stream(&file.id), &Topic::from(TaskTopic::Limit));
    let entry = inbox.about(&subject);
    let mends = entry.and_then(|entry| entry.question.next.first().cloned());
    let next = mends.or_else(|| Some(NextStep::ShowEntry { id: entry?.id.clone() }));
    let text = format!("{}: {}", parked.cause, parked.why);
    Some(Holding::new(text, &["limited"]).next(next))
}

fn of_dependency(
    project: &mut Project,
    file: &TaskFile,
    task: &ServerTaskId,
) -> Result<Option<Holding>, EngineError> {
    let status = served::trace(project, task)?.map(|it| it.status);
    let kinds = &["dependency_lost", "submitted"];
    let became = match served::lost_cause(project, task)? {
        Some(LostCause::Failed) => "has failed",
        Some(LostCause::Cancelled) => "was cancelled",
        Some(LostCause::Deleted) => "was deleted",
        None if status == Some(ServerTaskStatus::Completed) => return Ok(None),
        None => {
            let next = NextStep::ExplainServedTask { task: task.clone() };
            let held = Holding::new(format!("it waits for {task}"), kinds);
            return Ok(Some(held.next(next)));
        }
    };
    let text = format!("it waits for {task}, which {became}");
    let next = NextStep::EditServedTask { task: file.id.clone() };
    Ok(Some(Holding::new(text, kinds).next(next)))
}

fn of_account(
    project: &mut Project,
    file: &TaskFile,
    now: Time,
) -> Result<Option<Holding>, EngineError> {
    let values = &project.configuration().values;
    let names = [&file.fields.agent, &values.task.agent, &values.run.agent];
    let Some(agent) = names.into_iter().find(|name| !name.is_empty()).cloned() else {
        return Ok(None);
    };
    let accounts = accounts::current(project)?;
    Ok(accounts.held(&agent, now).map(|it| {
        let until = it.until.map(|until| format!(" until {until}")).unwrap_or_default();
        Holding::new(format!("{agent} cannot be used{until}: {}", it.why), &[])
    }))
}

fn of_alive(
    project: &mut Project,
    file: &TaskFile,
    now: Time,
) -> Result<Vec<Holding>, EngineError> {
    let (inbox, stream) = (project.inbox()?, task_stream(&file.id));
    let entry = |topic: TaskTopic| -> Option<NextStep> {
        let subject = Subject::of(&stream, &Topic::from(topic));
        Some(NextStep::ShowEntry { id: inbox.about(&subject)?.id.clone() })
    };
    let mut held: Vec<Holding> = of_hindrance(&inbox, file).into_iter().collect();
    // What waits for something else stands still only when it would go on.
    let (first, last) = match file.is_to_be_paused() {
        true => (Vec::new(), of_pauses(file, now, &entry)),
        false => (of_pauses(file, now, &entry), Vec::new()),
    };
    held.extend(first);
    held.extend(of_claim(file, &entry));
    for (key, item) in &file.items {
        let text = match &item.want {
            ItemWant::Answer(question) => format!("its agent asks: {}", question.question),
            ItemWant::Value(value) => format!("its agent needs {}", value.name),
        };
        held.push(Holding::new(text, &["heard"]).next(entry(TaskTopic::Item(*key))));
    }
    for key in &file.trail.asked {
        let asked = file.trail.prompts.get(key).map_or("", |it| it.text.as_str());
        let next = entry(TaskTopic::Prompt(key.clone()));
        held.push(Holding::new(format!("its agent asks: {asked}"), &["agent_asked"]).next(next));
    }
    held.extend(last);
    if file.wants_agent() && file.live_attempt().is_none() && file.hindrance().is_none() {
        let text = match file.not_before.filter(|it| *it > now) {
            Some(at) => format!("its agent ended by itself; it is started again at {at}"),
            None => "its agent is about to be started".to_owned(),
        };
        held.push(Holding::new(text, &["exited", "assigned"]));
    }
    if held.is_empty() {
        held.push(Holding::new("its agent works on it", &["launched"]));
    }
    Ok(held)
}

fn of_pauses(
    file: &TaskFile,
    now: Time,
    entry: &dyn Fn(TaskTopic) -> Option<NextStep>,
) -> Vec<Holding> {
    let mut held = Vec::new();
    if let Some(pause) = &file.pauses.person {
        let why = if pause.why.is_empty() { String::new() } else { format!(": {}", pause.why) };
        let next = NextStep::ResumeServedTask { task: file.id.clone() };
        let until = match file.is_to_be_paused() {
            true => "; it stands still when its agent would go on",
            false => "",
        };
        let text = format!("{} paused it{why}{until}", pause.by);
        held.push(Holding::new(text, &["paused", "quarantined"]).next(next));
    }
    if let Some(limit) = file.pauses.limit.as_ref().filter(|_| file.hindrance().is_none()) {
        let until = limit.until.filter(|it| *it > now);
        let until = until.map(|until| format!("; it goes on at {until}")).unwrap_or_default();
        let text = format!("{}: {}{until}", limit.cause, limit.why);
        held.push(Holding::new(text, &["limited"]).next(entry(TaskTopic::Limit)));
    }
    held
}

fn of_claim(file: &TaskFile, entry: &dyn Fn(TaskTopic) -> Option<NextStep>) -> Option<Holding> {
    let claim = file.claim.as_ref()?;
    let phase = claim.phase;
    Some(match claim.stage {
        ClaimStage::Verifying => {
            Holding::new(format!("phase {phase} is being verified"), &["claimed"])
        }
        ClaimStage::Escalated => {
            let text = format!("phase {phase} did not hold; a person decides how to go on");
            Holding::new(text, &["escalated"]).next(entry(TaskTopic::Escalation(claim.number)))
        }
        ClaimStage::InReview => {
            let version = file.review.as_ref().map_or(0, |it| it.version);
            let text = format!("phase {phase} waits for a person's review");
            Holding::new(text, &["review_opened"]).next(entry(TaskTopic::Review(version)))
        }
    })
}

fn of_failed(project: &Project, file: &TaskFile) -> Vec<Holding> {
    let reason = Holding::new(file.reason.as_deref().unwrap_or("it failed"), &["failed"]);
    let mut held = match &file.retried_as {
        Some(task) => {
            let next = NextStep::ShowServedTask { task: task.clone() };
            vec![reason, Holding::new(format!("{task} tries it again"), &["retried"]).next(next)]
        }
        None => vec![reason.next(NextStep::RetryServedTask { task: file.id.clone() })],
    };
    if let Some(log) = serving::error_log(project, file) {
        let next = NextStep::ShowServedOutput { task: file.id.clone() };
        let text = format!("what its last agent wrote is kept in {}", log.display());
        held.push(Holding::new(text, &[]).next(next));
    }
    held
}
