//! `waypost why`: what holds a task, and the event that made it so.

use super::open;
use crate::{
    Context,
    data::{ServedWhyReport, WhyReport, reason_data},
    error::CliError,
    output::{BOLD, DIM, styled},
    spelling,
};
use std::process::ExitCode;
use waypost_engine::{
    Project, Reason,
    why::{self, SessionSubject},
};
use waypost_model::{
    document::{MemoryTaskId, ServerTaskId},
    task::task_word,
};

/// Say what holds a task
///
/// A dependency, a failure behind it, a phase, a delay, a limit, a question; each with the event of
/// the journal that made it so, and the command that leads on.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The task, as in T1.3, run:T1.3 or task_abc123; one of the memory, as in task-2026-11-17-001; of a
    /// session a request, a task or a subtask, as in R1, session:T1 or T1-S2; of the knowledge an entry, as in D1
    id: String,
}

pub(crate) fn run(context: &Context, args: &WhyArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    if let Ok(id) = super::task::parse(&args.id) {
        return explain_task(context, &mut project, &id);
    }
    let bare = args.id.strip_prefix("memory:").unwrap_or(&args.id);
    if let Ok(id) = bare.parse::<MemoryTaskId>() {
        let why = why::explain_memory(&mut project, &id)?;
        return print(context, why.id.as_str(), (why.status, false), &why.reasons);
    }
    let named = SessionSubject::read(&args.id);
    let about = match named {
        Some(about) => Some(about),
        None => SessionSubject::only_here(&mut project, &args.id)?,
    };
    if let Some(about) = about {
        let why = why::explain_session(&mut project, &about)?;
        return print(context, &why.id, (&why.status, false), &why.reasons);
    }
    if let Some(why) = why::explain_knowledge(&mut project, &args.id)? {
        return print(context, &why.id, (why.status, false), &why.reasons);
    }
    let id = args.id.strip_prefix("run:").unwrap_or(&args.id);
    let why = why::explain(&mut project, &super::run::parse_id(id)?)?;
    print(context, why.id.as_str(), (&why.status.to_string(), why.is_held), &why.reasons)
}

fn print(
    context: &Context,
    id: &str,
    (status, held): (&str, bool),
    reasons: &[Reason],
) -> Result<ExitCode, CliError> {
    if context.out.json {
        let reasons = reasons.iter().map(reason_data).collect();
        context.out.json(&WhyReport { id, status, held, reasons })?;
        return Ok(ExitCode::SUCCESS);
    }
    let id = styled(BOLD, id);
    context.out.line(match held {
        // Its dependencies are met, and it cannot be started all the same.
        true => format!("{id} is waiting"),
        false => format!("{id} is {status}"),
    })?;
    print_reasons(context, reasons)
}

/// The same of a task of the server.
fn explain_task(
    context: &Context,
    project: &mut Project,
    id: &ServerTaskId,
) -> Result<ExitCode, CliError> {
    let why = waypost_engine::explain_task(project, id)?;
    if context.out.json {
        let reasons = why.reasons.iter().map(reason_data).collect();
        let (status, agent_status) = (why.status, why.agent);
        context.out.json(&ServedWhyReport { id, status, agent_status, reasons })?;
        return Ok(ExitCode::SUCCESS);
    }
    let status = task_word(why.status).replace('_', " ");
    context.out.line(format!("{} is {status}", styled(BOLD, id)))?;
    print_reasons(context, &why.reasons)
}

fn print_reasons(context: &Context, reasons: &[Reason]) -> Result<ExitCode, CliError> {
    for reason in reasons {
        context.out.line(format!("  {}", reason.text))?;
        if let Some(event) = &reason.event {
            let told = format!(
                "    event {} {} at {} by {}",
                event.seq, event.kind, event.at, event.actor
            );
            context.out.line(styled(DIM, told))?;
        }
        if let Some(next) = spelling::any_of(reason.next.as_slice()) {
            context.out.line(styled(DIM, format!("    next: {next}")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
