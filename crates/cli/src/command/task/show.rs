//! Looking at tasks: one, all, their transitions and checkpoints.

use super::{edit::priority, parse};
use crate::{
    Context,
    data::{ServedTaskLine, TaskCheckpointLine, TaskTypeLine},
    error::CliError,
    output::{BOLD, DIM, styled},
    show::{countdown, one_line},
};
use std::process::ExitCode;
use waypost_engine::{
    Project,
    served::{self, TaskFilter},
    serving, task_types,
};
use waypost_model::{
    code::Code,
    document::{
        ServerTaskId,
        server::{PausedBy, ServerTask},
    },
    run::{Priority, Usage},
    task::{ClaimStage, TaskFile, TaskRow, agent_word, task_word},
    time::Time,
};

/// How much of a title a list shows.
const TITLE_LENGTH: usize = 60;

/// The states as they are typed.
const STATES: [&str; 6] = ["draft", "pending", "in_progress", "review", "completed", "failed"];

/// List tasks, the newest first
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Only those in this state; may be given several times
    #[arg(long, value_name = "STATE")]
    state: Vec<String>,

    /// Only those of this priority
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,

    /// Only those with this text in title, id or type
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// Also those that were archived
    #[arg(long)]
    all: bool,

    /// In the order in which they are worked on
    #[arg(long)]
    queue: bool,

    /// How many at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,

    /// Only what follows this task in the list
    #[arg(long, value_name = "ID")]
    from: Option<String>,
}

impl ListArgs {
    fn filter(&self) -> Result<TaskFilter, CliError> {
        refuse_unknown_states(&self.state)?;
        Ok(TaskFilter {
            states: self.state.clone(),
            priority: self.priority.as_deref().map(priority).transpose()?,
            text: self.text.clone(),
            with_archived: self.all,
            in_queue_order: self.queue,
            after: self.from.as_deref().map(parse).transpose()?,
            limit: self.limit,
        })
    }
}

/// States that there are not.
pub(crate) fn refuse_unknown_states(typed: &[String]) -> Result<(), CliError> {
    match typed.iter().find(|it| !STATES.contains(&it.as_str())) {
        Some(state) => Err(CliError::new(Code::BadArgument, format!("`{state}` is no state"))
            .hint(format!("one of {}", STATES.join(", ")))),
        None => Ok(()),
    }
}

pub(super) fn list(
    context: &Context,
    project: &mut Project,
    args: &ListArgs,
) -> Result<ExitCode, CliError> {
    let rows = served::list(project, &args.filter()?)?;
    if context.out.json {
        let lines: Vec<ServedTaskLine<'_>> = rows.iter().map(ServedTaskLine::from).collect();
        context.out.json_list(&lines)?;
        return Ok(ExitCode::SUCCESS);
    }
    for row in &rows {
        let title = one_line(&row.title, TITLE_LENGTH);
        let priority = match row.priority {
            Priority::Normal => String::new(),
            other => format!(" {}", other.word()),
        };
        let kind = if row.task_type.is_empty() { "-" } else { &row.task_type };
        let rest = styled(DIM, format!("{kind}{priority}"));
        context.out.line(format!(
            "{}  {:<28} {title}  {rest}",
            styled(BOLD, &row.id),
            state_of(row)
        ))?;
    }
    if rows.is_empty() {
        context.out.note("there are no such tasks");
    } else if rows.len() == args.limit {
        let last = &rows[rows.len() - 1].id;
        context.out.note(format!("there may be more: --from {last}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The state as a person sees it, in a few words.
pub(super) fn state_of(row: &TaskRow) -> String {
    let status = task_word(row.status);
    let agent = agent_word(row.agent_status);
    let phase = row.phase.map(|phase| format!(" {phase}/{}", row.phases)).unwrap_or_default();
    let shown = match (status, agent) {
        ("pending" | "in_progress", _) if row.hindrance.is_some() => {
            format!("{} and cannot be set up{phase}", status.replace('_', " "))
        }
        ("in_progress", "paused") => match row.paused_by {
            Some(PausedBy::RateLimit) => format!("paused by a limit{phase}"),
            Some(PausedBy::User) | None => format!("paused{phase}"),
        },
        ("in_progress", "waiting_review") => format!("being verified{phase}"),
        ("in_progress", "waiting_question" | "waiting_dependency") => {
            format!("{}{phase}", agent.replace('_', " for a "))
        }
        ("in_progress", _) => format!("in progress{phase}, {} %", row.progress),
        ("review", _) => format!("in review{phase}"),
        ("failed", _) if row.reason.as_deref() == Some("cancelled") => "cancelled".to_owned(),
        (other, _) => other.to_owned(),
    };
    match row.is_to_be_paused {
        true => format!("{shown}, then paused"),
        false => shown,
    }
}

pub(super) fn show(
    context: &Context,
    project: &mut Project,
    id: &ServerTaskId,
    of_agent: bool,
) -> Result<ExitCode, CliError> {
    let now = project.clock().now();
    let file = &served::located(project, id)?;
    if of_agent {
        let (live, usage) = serving::live_agent(project, file);
        if context.out.json {
            context.out.json_as_it_is(&file.agent_document(&live))?;
            return Ok(ExitCode::SUCCESS);
        }
        for line in agent_lines(file, usage) {
            context.out.line(line)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let log = serving::error_log(project, file).map(|log| log.display().to_string());
    if context.out.json {
        context.out.json_as_it_is(&ServerTask { error_log: log, ..file.task_document() })?;
        return Ok(ExitCode::SUCCESS);
    }
    for line in task_lines(file, now, log) {
        context.out.line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn task_lines(file: &TaskFile, now: Time, log: Option<String>) -> Vec<String> {
    let row = TaskRow::of(file);
    let mut lines = vec![
        format!("{}  {}", styled(BOLD, &file.id), file.fields.title),
        format!("  {}, {} priority", state_of(&row), row.priority.word()),
    ];
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            lines.push(format!("  {}: {text}", styled(DIM, name)));
        }
    };
    add("type", file.fields.task_type.clone());
    add("agent", file.fields.agent.clone());
    let names = file.fields.dependencies.iter().map(ToString::to_string);
    add("after", names.collect::<Vec<_>>().join(", "));
    if let Some(phase) = file.phase.and_then(|phase| file.shape.phase(phase)) {
        let step = file.current_step.as_deref().map(|it| format!(", step {it}"));
        add("phase", format!("{}{}", phase.name, step.unwrap_or_default()));
    }
    add("cannot be set up", file.hindrance().map(|it| it.why.clone()).unwrap_or_default());
    if let Some(limit) = file.pauses.limit.as_ref().filter(|_| file.hindrance().is_none()) {
        let until =
            limit.until.map(|until| format!(", goes on in {}", countdown(until.since(now))));
        add("limit", format!("{}{}", limit.why, until.unwrap_or_default()));
    }
    if let Some(pause) = &file.pauses.person {
        add("paused by", format!("{} {}", pause.by, pause.why).trim().to_owned());
        add("kept at", pause.kept.clone().unwrap_or_default());
    }
    if file.claim.is_some_and(|claim| claim.stage == ClaimStage::Escalated) {
        add("escalated", "its phase did not hold; a person decides in the inbox".to_owned());
    }
    let others = file.retry_of.as_ref().filter(|it| it.task != file.id);
    let retry = others.map(|it| it.task.to_string());
    add("tries again", retry.unwrap_or_default());
    add("reason", file.reason.clone().unwrap_or_default());
    add("error log", log.unwrap_or_default());
    add("tried again as", file.retried_as.as_ref().map(ToString::to_string).unwrap_or_default());
    let folder = file.workspace.as_ref().map(|it| it.folder.clone());
    add("workspace", folder.unwrap_or_default());
    if let Some(checkpoint) = file.checkpoints.last() {
        let reason = checkpoint.taken.reason.as_str();
        add("checkpoint", format!("{} ({reason}) at {}", checkpoint.id, checkpoint.at));
    }
    if !file.fields.description.is_empty() {
        lines.push(String::new());
        lines.extend(file.fields.description.lines().map(|line| format!("  {line}")));
    }
    lines
}

fn agent_lines(file: &TaskFile, mut usage: Usage) -> Vec<String> {
    let mut lines = vec![format!("{}  agent {}", styled(BOLD, &file.id), agent_word(file.agent))];
    if let Some(attempt) = &file.attempt {
        lines.push(format!("  attempt {} with {}", attempt.number(), attempt.plan.agent));
    }
    if let Some(conversation) = &file.trail.conversation {
        lines.push(format!("  conversation {}", conversation.id));
    }
    usage.add(&file.trail.usage);
    lines.push(format!("  {}", crate::show::usage(&usage)));
    for (key, item) in &file.items {
        let what = match &item.want {
            waypost_model::task::ItemWant::Answer(question) => &question.question,
            waypost_model::task::ItemWant::Value(value) => &value.name,
        };
        lines.push(format!("  waits for {} ({key})", one_line(what, TITLE_LENGTH)));
    }
    lines
}

pub(super) fn transitions(
    context: &Context,
    project: &mut Project,
    id: &ServerTaskId,
) -> Result<ExitCode, CliError> {
    let found = served::transitions(project, id)?;
    if context.out.json {
        context.out.json_as_it_is(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    for it in &found {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let from = word(serde_json::to_value(it.from).unwrap_or_default());
        let to = word(serde_json::to_value(it.to).unwrap_or_default());
        let trigger = word(serde_json::to_value(it.trigger).unwrap_or_default());
        let at = styled(DIM, String::from(it.timestamp));
        context.out.line(format!("{at}  {from} → {to}  {trigger}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn checkpoints(
    context: &Context,
    project: &mut Project,
    id: &ServerTaskId,
) -> Result<ExitCode, CliError> {
    let file = served::file(project, id)?;
    let lines: Vec<TaskCheckpointLine<'_>> =
        file.checkpoints.iter().map(TaskCheckpointLine::from).collect();
    if context.out.json {
        context.out.json_list(&lines)?;
        return Ok(ExitCode::SUCCESS);
    }
    for it in &lines {
        let phase = it.phase.map(|phase| format!(" phase {phase}")).unwrap_or_default();
        let reason = it.reason.as_str();
        let commit = it.commit.map_or("nothing kept", |commit| commit.get(..12).unwrap_or(commit));
        let text = format!("{:>4}  {}  {reason}{phase}  {commit} {}", it.id, it.at, it.note);
        context.out.line(text.trim_end())?;
    }
    if lines.is_empty() {
        context.out.note(format!("{id} has no checkpoints"));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn types(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    let known = task_types(project.setup())?;
    if context.out.json {
        let lines: Vec<TaskTypeLine<'_>> = known.iter().map(TaskTypeLine::from).collect();
        context.out.json_list(&lines)?;
        return Ok(ExitCode::SUCCESS);
    }
    for it in &known {
        let origin = it.path.as_ref().map(|path| path.display().to_string());
        let origin = origin.unwrap_or_else(|| "shipped".to_owned());
        context.out.line(format!("{:<16} {}", it.name, styled(DIM, origin)))?;
    }
    Ok(ExitCode::SUCCESS)
}
