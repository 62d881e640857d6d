//! `waypost why`: what holds a task, and the event that made it so.

use super::open;
use crate::{
    Context,
    data::{EventOf, Reason, WhyReport},
    error::CliError,
    output::{BOLD, DIM, styled},
    spelling,
};
use std::process::ExitCode;
use waypost_engine::why;

/// Say what holds a task
///
/// A dependency, a failure behind it, a phase, a delay, a limit, a question; each with the event of
/// the journal that made it so, and the command that leads on.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The task, as in T1.3 or run:T1.3
    id: String,
}

pub(crate) fn run(context: &Context, args: &WhyArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = args.id.strip_prefix("run:").unwrap_or(&args.id);
    let why = why::explain(&mut project, &super::run::parse_id(id)?)?;
    if context.out.json {
        let reasons: Vec<_> = why
            .reasons
            .iter()
            .map(|reason| Reason {
                text: &reason.text,
                event: reason.event.as_ref().map(EventOf::from),
                next: reason.next.as_ref().map(spelling::command_line),
                next_steps: spelling::data(reason.next.as_slice()),
            })
            .collect();
        let (status, held) = (why.status, why.is_held);
        context.out.json(&WhyReport { id: &why.id, status, held, reasons })?;
        return Ok(ExitCode::SUCCESS);
    }
    let id = styled(BOLD, &why.id);
    context.out.line(match why.is_held {
        // Its dependencies are met, and it cannot be started all the same.
        true => format!("{id} is waiting"),
        false => format!("{id} is {}", why.status),
    })?;
    for reason in &why.reasons {
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
