//! `waypost session gate`: looked at, and passed by a person.

use super::tell;
use crate::data::SessionGatesReport;
use crate::{
    Context,
    error::CliError,
    output::{DIM, GREEN, RED, styled},
    show,
};
use std::{fmt::Write as _, io, path::PathBuf, process::ExitCode, thread, time::Duration};
use waypost_engine::{
    EngineError, Project,
    sessions::{self, GateCheck},
};
use waypost_model::{
    code::Code, document::SubtaskId, id::BadId, next::NextStep, session::gate::Gate,
};

/// The longest wait before a gate is looked at again, beyond which something is wrong with a clock.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Look at the gates of a subtask, or pass one as a person
#[derive(Debug, clap::Args)]
pub(super) struct SessionGateArgs {
    #[command(subcommand)]
    command: GateCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GateCommand {
    Check(CheckArgs),
    Override(OverrideArgs),
}

/// Look at the gates that are due, in their order; exit 1 if one does not hold
///
/// GATE-1 leads from test_first to implementation, GATE-3 and GATE-4 to verification, GATE-2 to the end of
/// the subtask. Each is looked at once for a tree and its contracts.
#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// The subtask, as in T1-S2; without it the one that is worked on
    #[arg(value_name = "SUBTASK")]
    subtask: Option<String>,
    /// A report that confirms what prose leaves open
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Exit 3 if its time has not come
    #[arg(long)]
    no_wait: bool,
}

/// Pass a gate without evidence; by a person, with a reason
#[derive(Debug, clap::Args)]
struct OverrideArgs {
    /// The gate, as in GATE-3 or T1-S2/GATE-3
    #[arg(value_name = "ID")]
    id: String,
    /// Why it is passed
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) fn run(
    context: &Context,
    project: &mut Project,
    args: &SessionGateArgs,
) -> Result<ExitCode, CliError> {
    match &args.command {
        GateCommand::Check(args) => check(context, project, args),
        GateCommand::Override(args) => {
            override_gate(context, project, args)?;
            super::super::say_notices(context, project);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The id of a subtask as it was typed.
pub(crate) fn subtask_id(typed: &str) -> Result<SubtaskId, CliError> {
    typed
        .parse()
        .map_err(|error: BadId| CliError::bad_input(error.to_string()).next(NextStep::ShowSession))
}

/// Waits until a gate may be looked at again, unless that is not wanted.
fn check(context: &Context, project: &mut Project, args: &CheckArgs) -> Result<ExitCode, CliError> {
    let named = args.subtask.as_deref().map(subtask_id).transpose()?;
    let clock = project.clock();
    let start = clock.now();
    let checked = loop {
        match sessions::check(project, named.as_ref(), args.report.as_deref(), &mut io::stderr()) {
            Err(EngineError::Rejected(rejected)) if rejected.code == Code::TaskDelayed => {
                let request = project.session()?.request();
                let not_before = request.and_then(|it| it.at_work()?.2.not_before);
                let now = clock.now();
                let left = not_before.map_or(Duration::ZERO, |at| at.since(now));
                if args.no_wait || now.since(start) + left > WAIT_MAX {
                    return Err(rejected.into());
                }
                context.out.note(format!("looked at again in {} s", left.as_secs() + 1));
                thread::sleep(left);
            }
            checked => break checked?,
        }
    };
    super::super::say_notices(context, project);
    for line in sessions::bring_on(project, &mut io::stderr())? {
        context.out.note(line);
    }
    if context.out.json {
        context.out.json(&SessionGatesReport::from(&checked))?;
    } else {
        context.out.raw(&text_of(&checked))?;
    }
    Ok(if checked.holds() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text_of(checked: &GateCheck) -> String {
    let mut text = String::new();
    for gate in &checked.gates {
        let word = match gate.holds {
            true => styled(GREEN, "holds"),
            false => styled(RED, "does not hold"),
        };
        let _infallible = writeln!(text, "{}  {word}", gate.gate);
        for fault in &gate.faults {
            let _infallible = writeln!(text, "  {fault}");
        }
        for evidence in &gate.evidence {
            let _infallible = writeln!(text, "{}", styled(DIM, format!("  {evidence}")));
        }
    }
    let (id, phase) = (&checked.subtask, show::session::phase_word(checked.after));
    let _infallible = match (&checked.held, checked.is_in_design) {
        (Some(hold), _) => writeln!(text, "{id}: {hold} waits for a person"),
        (None, true) => writeln!(text, "{id} waits for a new design of its task"),
        (None, false) => writeln!(text, "{id} is in {phase}"),
    };
    text
}

fn override_gate(
    context: &Context,
    project: &mut Project,
    args: &OverrideArgs,
) -> Result<(), CliError> {
    let (subtask, gate) = match args.id.split_once(['/', ':']) {
        Some((subtask, gate)) => (Some(subtask_id(subtask)?), gate),
        None => (None, args.id.as_str()),
    };
    let gate = Gate::named(gate).ok_or_else(|| {
        CliError::new(Code::GateUnknown, format!("there is no gate {gate}"))
            .hint("GATE-1, GATE-2, GATE-3 or GATE-4")
    })?;
    sessions::override_gate(project, subtask.as_ref(), gate, &args.reason)?;
    for line in sessions::bring_on(project, &mut io::stderr())? {
        context.out.note(line);
    }
    tell(context, project)
}
