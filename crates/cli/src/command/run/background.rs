//! `waypost run --detach` and `waypost run stop`: a run in a process of its own, and its end.
//!
//! Whatever needs the person who types is done in the foreground; the process behind it only works
//! on the run that is there.

use super::{
    execute::{ExecuteArgs, execute},
    live::{Live, first_word},
};
use crate::data::{RunEvent, RunEventLine, StopEvent, StopLine};
use crate::{
    Context,
    command::say_notices,
    error::{CliError, Kind},
    output::say,
    show::duration,
};
use std::{env, ffi::OsString, process::ExitCode};
use waypost_engine::{Audience as _, Begun, Haste, Project, RunLog, RunOptions, attendance, host};
use waypost_model::{code::Code, next::NextStep};

/// Lets the run that was prepared go on in the background.
pub(super) fn detach(
    context: &Context,
    project: &mut Project,
    args: &ExecuteArgs,
) -> Result<ExitCode, CliError> {
    let root = project.root().as_os_str().to_owned();
    let mut program = vec![env::current_exe()?.into_os_string(), "-C".into(), root];
    let flags = [
        (context.out.json, "--json"),
        (context.out.quiet, "--quiet"),
        (context.out.verbose, "--verbose"),
    ];
    program.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into()));
    program.extend(args.for_background().into_iter().map(OsString::from));
    match attendance::start(project, &program, &first_word(context.out.json))? {
        Begun::Working { pid } if context.out.json => {
            context.out.json(&RunEventLine::from(RunEvent::Detached { pid }))?;
            Ok(ExitCode::SUCCESS)
        }
        Begun::Working { pid } => {
            context.out.note(format!("the run goes on in the background, as process {pid}"));
            context.out.note("next: `waypost run status --wait` watches it");
            context.out.note("      `waypost run stop` ends it");
            Ok(ExitCode::SUCCESS)
        }
        Begun::Ended { code, said } => {
            // It said data and all else to the same place; data is what is left if all went well.
            let is_ending = [0, Kind::Failed as u8, Kind::Unfinished as u8].contains(&code);
            match context.out.json && is_ending {
                true => context.out.raw(&said)?,
                false => say(said.trim_end()),
            }
            Ok(ExitCode::from(code))
        }
    }
}

/// The process in the background.
pub(super) fn go_on(
    context: &Context,
    project: Project,
    args: &ExecuteArgs,
) -> Result<ExitCode, CliError> {
    // The process that started it may be killed with all that is in its session or process group. Without
    // that it is in a session of its own already.
    let _own_already = rustix::process::setsid();
    let log = RunLog::of(project.place());
    let live = Live::begin(context, project.setup().stop_grace())?.into_log(log);
    execute(project, &args.course(), live, context)
}

/// Asks the run that is at work to end, and waits for that.
pub(super) fn stop(
    context: &Context,
    mut project: Project,
    now: bool,
) -> Result<ExitCode, CliError> {
    project.refuse_stale()?;
    let haste = if now { Haste::Now } else { Haste::Finish };
    let Some(mut stopping) = attendance::ask_run_to_end(&project, haste)? else {
        // One that would have to stop itself leaves that to the next engine.
        if attendance::has_lost_engine(&mut project)? && !project.is_in_attempt() {
            return stop_what_is_left(context, project, haste);
        }
        return Err(CliError::new(Code::NoRun, "no run is at work").next(NextStep::ResumeRun));
    };
    let owner = stopping.owner().clone();
    let asked = format!("asked {owner} to end");
    context.out.note(match haste {
        Haste::Finish => format!(
            "{asked}; running tasks have {} to finish (`--now` stops them)",
            duration(project.setup().stop_grace())
        ),
        Haste::Now => format!("{asked}; running tasks are stopped and will be ready again"),
    });
    // It waits for the attempt that this is a part of; waiting for it here would never end.
    let has_to_go = project.is_in_attempt();
    while !has_to_go && !stopping.is_over(&project)? {}
    let event = if has_to_go { StopEvent::Asked } else { StopEvent::Stopped };
    if context.out.json {
        context.out.json(&StopLine { event, pid: Some(owner.pid) })?;
    }
    context.out.done(match has_to_go {
        true => "it ends when this attempt has ended",
        false => "the run has stopped; next: `waypost run --resume`",
    });
    Ok(ExitCode::SUCCESS)
}

/// Ends what an engine that died has left: takes its place, takes over its keepers, starts nothing,
/// and records how everything ended.
fn stop_what_is_left(
    context: &Context,
    project: Project,
    haste: Haste,
) -> Result<ExitCode, CliError> {
    let grace = project.setup().stop_grace();
    context.out.note(match haste {
        Haste::Finish => format!(
            "the run's engine is gone; what it left has {} to finish (`--now` stops it)",
            duration(grace)
        ),
        Haste::Now => "the run's engine is gone; what it left is stopped".to_owned(),
    });
    let mut live = Live::begin(context, grace)?;
    live.end(haste);
    let keeper = vec![env::current_exe()?.into(), "keeper".into()];
    let options = RunOptions { keeper, ..RunOptions::default() };
    let live = live.shared();
    let (mut project, _) = host::execute(project, &options, live.audience())?;
    live.clear();
    say_notices(context, &mut project);
    if context.out.json {
        context.out.json(&StopLine { event: StopEvent::Stopped, pid: None })?;
    }
    context.out.done("the run has stopped; next: `waypost run --resume`");
    Ok(ExitCode::SUCCESS)
}
