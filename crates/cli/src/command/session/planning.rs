//! `waypost session plan` and `next`.

use crate::data::{SessionNextReport, SessionPlanLine};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, DIM, GREEN, RED, YELLOW, styled},
    spelling,
};
use std::{fmt::Write as _, io, path::Path, process::ExitCode};
use waypost_engine::{
    Project,
    sessions::{self, GivenVerdicts, NextCall, PlanOutcome, SessionNext},
};
use waypost_model::session::AssumptionFate;

/// Take up the plan that the contracts describe, or send it back to the planner
///
/// Needs explored.yaml, task-breakdown.yaml and a design-brief.yaml for each task. Assumptions that name a
/// path are checked against explored.yaml; what became of each other one has to be said. If half of them
/// or more are wrong, the plan goes back (exit 1).
#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    /// What became of assumption N: held, wrong or unknown; may be given more than once
    #[arg(long = "assumption", value_name = "N=VERDICT")]
    assumptions: Vec<String>,
}

pub(super) fn plan(
    context: &Context,
    project: &mut Project,
    args: &PlanArgs,
) -> Result<ExitCode, CliError> {
    let given = args.assumptions.iter().map(|typed| verdict(typed));
    let given = given.collect::<Result<GivenVerdicts, CliError>>()?;
    let outcome = sessions::plan(project, &given)?;
    super::super::say_notices(context, project);
    if context.out.json {
        context.out.json(&SessionPlanLine::from(&outcome))?;
    } else {
        context.out.raw(&text_of(&outcome))?;
    }
    Ok(if outcome.is_sent_back { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What was typed of an assumption, as in `2=held`.
pub(crate) fn verdict(typed: &str) -> Result<(usize, AssumptionFate), CliError> {
    let read = || {
        let (number, word) = typed.split_once('=')?;
        Some((number.trim().parse().ok()?, AssumptionFate::from_word(word.trim())?))
    };
    read().ok_or_else(|| {
        CliError::bad_input(format!("`{typed}` does not say what became of an assumption"))
            .hint("as in 2=held; held, wrong or unknown")
    })
}

fn text_of(outcome: &PlanOutcome) -> String {
    let mut text = String::new();
    for (at, assumption) in outcome.assumptions.iter().enumerate() {
        let word = assumption.verdict.as_str();
        let word = match assumption.verdict {
            AssumptionFate::Held => styled(GREEN, word),
            AssumptionFate::Wrong => styled(RED, word),
            AssumptionFate::Unknown => styled(YELLOW, word),
        };
        let how = styled(DIM, format!("({})", assumption.how));
        let _infallible = writeln!(text, "  {:>2}  {word}  {} {how}", at + 1, assumption.text);
    }
    let (tasks, subtasks) = (outcome.tasks, outcome.subtasks);
    let why = match outcome.faults.as_slice() {
        [] => "half of what it stands on is wrong".to_owned(),
        faults => faults.join("; "),
    };
    let end = match (outcome.is_sent_back, outcome.goes_on) {
        (true, true) => {
            format!("the plan is not taken up: {why}; work goes on by the one before it")
        }
        (true, false) => format!("the plan goes back to the planner: {why}"),
        (false, _) => format!("planned: {tasks} tasks with {subtasks} subtasks"),
    };
    text.push_str(&end);
    text.push('\n');
    text
}

pub(super) fn next(context: &Context, project: &mut Project) -> Result<(), CliError> {
    for line in sessions::bring_on(project, &mut io::stderr())? {
        context.out.note(line);
    }
    let next = sessions::next(project)?;
    if context.out.json {
        return Ok(context.out.json(&SessionNextReport::of(&next))?);
    }
    let root = project.root().to_owned();
    let text = match &next {
        SessionNext::Call(calls) => {
            calls.iter().map(|call| call_text(call, &root)).collect::<Vec<_>>().join("\n")
        }
        SessionNext::Do { step, why, assumptions } => {
            let mut text = format!("{why}\n");
            for (number, assumption) in assumptions {
                let _infallible = writeln!(text, "  assumption {number}: {assumption}");
            }
            let _infallible = writeln!(text, "  next    {}", spelling::command_line(step));
            text
        }
        SessionNext::Wait { hold, why } => {
            format!("{hold} waits for a person: {why}\n  next    waypost inbox\n")
        }
        SessionNext::Done => "the request is complete\n".to_owned(),
    };
    Ok(context.out.raw(&text)?)
}

fn call_text(call: &NextCall, root: &Path) -> String {
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut text = format!("{}  {}\n", styled(BOLD, call.role), call.task);
    if let Some(folder) = &call.folder {
        let _infallible = writeln!(text, "  in      {}", shown(folder));
    }
    for input in &call.inputs {
        let _infallible = writeln!(text, "  reads   {}", shown(input));
    }
    if let Some(output) = &call.output {
        let _infallible = writeln!(text, "  writes  {}", shown(output));
    }
    for fault in &call.faults {
        let _infallible = writeln!(text, "  because {fault}");
    }
    if let Some(at) = call.not_before {
        let _infallible = writeln!(text, "  from    {at}");
    }
    let _infallible = writeln!(text, "  then    {}", spelling::command_line(&call.then));
    text
}
