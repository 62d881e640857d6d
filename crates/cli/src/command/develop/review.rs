//! `waypost develop review`: has the work reviewed, and shows what was found.

use super::parse_gate;
use crate::{
    Context,
    command::{
        say_notices,
        watch::{Watch, keeper},
    },
    data::ReviewReport,
    error::CliError,
    output::{BOLD, DIM, GREEN, RED, YELLOW, styled},
    show,
};
use std::{fmt::Write as _, process::ExitCode};
use waypost_engine::{Project, ReviewOptions};
use waypost_model::{
    code::Code,
    next::NextStep,
    workflow::{FindingSeverity, Review},
};

/// Have the work reviewed by an agent
///
/// Starts the reviewer (`run.reviewer` in waypost.toml, else `run.agent`) in a new conversation in
/// which it can change nothing, and records what it finds for the gate of the phase. With 0 blocking
/// findings the gate can be passed, as long as the files stay as they are. Stopped or killed, the
/// same command goes on where the review was.
#[derive(Debug, clap::Args)]
pub(crate) struct ReviewArgs {
    /// The gate to review for; the phase's own if left out
    #[arg(long, value_name = "NAME")]
    gate: Option<String>,

    /// The reviewer; reserved for a person
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

pub(super) fn run(
    context: &Context,
    project: Project,
    args: &ReviewArgs,
) -> Result<ExitCode, CliError> {
    let gate = args.gate.as_deref().map(parse_gate).transpose()?;
    let keeper = keeper()?;
    let options = ReviewOptions { gate, agent: args.agent.clone(), keeper };
    let watch = Box::new(Watch::begin(context)?);
    let (mut project, reviewed) = waypost_engine::review(project, options, watch)?;
    say_notices(context, &mut project);
    let Some(review) = reviewed? else {
        let message = "the review was stopped before its end";
        return Err(CliError::new(Code::Stopped, message).next(NextStep::Review));
    };
    let is_clean = review.blocking() == 0;
    let next = match is_clean {
        true => format!("waypost develop gate pass {}", review.gate),
        false => "fix what is blocking, then `waypost develop review`".to_owned(),
    };
    if context.out.json {
        context.out.json(&data(&review, next))?;
    } else {
        context.out.raw(&text(&review))?;
        context.out.note(format!("next: {next}"));
    }
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A review as data.
fn data(review: &Review, next: String) -> ReviewReport<'_> {
    ReviewReport {
        gate: review.gate,
        agent: &review.agent,
        tree: review.tree.as_deref(),
        blocking: review.blocking(),
        findings: &review.findings,
        usage: &review.usage,
        next,
    }
}

fn text(review: &Review) -> String {
    let count = |severity| format!("{} {severity}", review.count(severity));
    let counts = FindingSeverity::ALL.map(count).join(", ");
    let mut text = format!("{}  {}: {counts}", styled(BOLD, "Review"), review.gate);
    let mut more = vec![format!("by {}", review.agent)];
    if !review.usage.is_nothing() {
        more.push(show::usage(&review.usage));
    }
    let _infallible = writeln!(text, " {}", styled(DIM, format!("({})", more.join(", "))));
    let mut findings: Vec<_> = review.findings.iter().collect();
    findings.sort_by_key(|finding| finding.severity);
    for finding in findings {
        let style = match finding.severity {
            FindingSeverity::Blocking => RED,
            FindingSeverity::Major => YELLOW,
            FindingSeverity::Minor => GREEN,
        };
        let place = match (&finding.file, finding.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, _) => String::new(),
        };
        let words = finding.text.trim().replace('\n', "\n            ");
        let severity = format!("{:9}", finding.severity.as_str());
        let _infallible = writeln!(text, "  {} {place}{words}", styled(style, severity));
    }
    text
}
