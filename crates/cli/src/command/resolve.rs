//! `waypost resolve`: what to do next, in the seed's one-line protocol.

use super::say_notices;
use crate::{Context, error::CliError};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{EngineError, GitError, Project, StoreError, identify, tasks};
use waypost_model::{
    code::Code,
    document::Kind,
    run::{Active, PhaseStage, TaskStatus},
};

/// Answer RESOLVE_NEXT: which tasks are ready
///
/// Prints READY:ID,ID, WAIT, PHASE_DONE:n, PHASE_FAILED:n, ALL_DONE or ERROR:code. Begins the run
/// if there is none. With :PHASE:n only that phase counts; with :FORCE tasks that wait before
/// their next try are ready too.
#[derive(Debug, clap::Args)]
pub(crate) struct ResolveArgs {
    /// `RESOLVE_NEXT`, then `:PHASE:n` and `:FORCE` as needed
    #[arg(default_value = "RESOLVE_NEXT")]
    request: String,

    /// The file with the tasks; else docs/planning/06-tasks.md, docs/planning/TASKS.md, TASKS.md
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
struct Request {
    phase: Option<u32>,
    force: bool,
}

pub(crate) fn run(context: &Context, args: &ResolveArgs) -> Result<ExitCode, CliError> {
    let Some(request) = parse(&args.request) else {
        return Err(CliError::new(
            Code::RequestUnknown,
            format!("`{}` is no request", args.request),
        )
        .hint("RESOLVE_NEXT, RESOLVE_NEXT:PHASE:1 or RESOLVE_NEXT:FORCE"));
    };
    let tasks = args.tasks.as_ref().map(|path| context.path(path));
    let (line, failure) = match resolve(context, &request, tasks.as_deref()) {
        Ok(line) => (line, None),
        Err(error) => (format!("ERROR:{}", code(&error)), Some(error)),
    };
    if context.out.json {
        context.out.json_as_it_is(&json!({ "answer": line }))?;
    } else {
        context.out.line(line)?;
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn parse(text: &str) -> Option<Request> {
    let mut parts = text.split(':');
    let mut request = Request { phase: None, force: false };
    if parts.next() != Some("RESOLVE_NEXT") {
        return None;
    }
    while let Some(part) = parts.next() {
        match part {
            "PHASE" => request.phase = Some(parts.next()?.parse().ok()?),
            "FORCE" => request.force = true,
            _ => return None,
        }
    }
    Some(request)
}

/// The answer; whatever goes wrong on the way is one too, so that the line is always there.
fn resolve(
    context: &Context,
    request: &Request,
    tasks: Option<&Path>,
) -> Result<String, EngineError> {
    let mut project = Project::open(&context.directory, identify())?;
    let answered = answer(&mut project, request, tasks);
    say_notices(context, &mut project);
    answered
}

fn answer(
    project: &mut Project,
    request: &Request,
    tasks: Option<&Path>,
) -> Result<String, EngineError> {
    tasks::work_on_run(project, &[], tasks)?;
    let now = project.clock().now();
    let Some(active) = project.run()?.active() else { return Ok("ALL_DONE".into()) };
    let in_phase = |phase: u32| request.phase.is_none_or(|wanted| wanted == phase);
    let ready: Vec<&str> = active
        .ready()
        .filter(|view| in_phase(view.planned.phase))
        .filter(|view| request.force || !active.is_delayed(&view.planned.id, now))
        .map(|view| view.planned.id.as_str())
        .collect();
    if !ready.is_empty() {
        return Ok(format!("READY:{}", ready.join(",")));
    }
    let closed = request.phase.and_then(|phase| closing(active, phase));
    Ok(match closed {
        Some(line) => line,
        None if active.is_over() && active.count(TaskStatus::Failed) == 0 => "ALL_DONE".into(),
        None if active.is_over() => {
            closing(active, active.current_phase()).unwrap_or_else(|| "ALL_DONE".into())
        }
        None => "WAIT".into(),
    })
}

/// How a phase ended, if it has.
fn closing(active: &Active, phase: u32) -> Option<String> {
    let progress = active.progress(phase);
    let is_ending =
        matches!(active.phase(phase)?, PhaseStage::Closed { .. } | PhaseStage::Ending { .. });
    is_ending.then(|| match progress.completed == progress.total {
        true => format!("PHASE_DONE:{phase}"),
        false => format!("PHASE_FAILED:{phase}"),
    })
}

/// The seed's word for what went wrong, and for what it has none, ours.
fn code(error: &EngineError) -> &str {
    match error {
        EngineError::Invalid(file) if is_state(&file.path) => "STATE_CORRUPT",
        EngineError::Invalid(file) => file.diagnostics.first().map_or("PARSE_FAIL", |it| it.code),
        EngineError::Problem(problem) if problem.code == Code::TasksNotFound => {
            problem.code.as_str()
        }
        EngineError::Rejected(rejected) if rejected.code == Code::StaleAttempt => {
            rejected.code.as_str()
        }
        EngineError::Rejected(_) | EngineError::Git(GitError::Refused(_)) => "REFUSED",
        EngineError::Store(StoreError::Busy { .. }) => "BUSY",
        _ => "STATE_CORRUPT",
    }
}

fn is_state(path: &Path) -> bool {
    Kind::of_path(&path.to_string_lossy()) == Some(Kind::RunState)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_in_any_order() {
        let table = [
            ("RESOLVE_NEXT", Some((None, false))),
            ("RESOLVE_NEXT:PHASE:2", Some((Some(2), false))),
            ("RESOLVE_NEXT:PHASE:0:FORCE", Some((Some(0), true))),
            ("RESOLVE_NEXT:FORCE", Some((None, true))),
            ("RESOLVE_NEXT:PHASE", None),
            ("RESOLVE_NEXT:PHASE:x", None),
            ("NEXT", None),
        ];
        for (text, want) in table {
            let want = want.map(|(phase, force)| Request { phase, force });
            assert_eq!(parse(text), want, "{text}");
        }
    }
}
