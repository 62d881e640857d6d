//! `waypost statusline`: where things stand, in one line.

use crate::{
    Context,
    data::StatusLine,
    error::CliError,
    output::{BOLD, DIM, GREEN, RED, YELLOW, styled},
};
use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Read as _},
    process::ExitCode,
};
use waypost_engine::{Project, attendance, gate, summary};
use waypost_hook::{Level, wall_level};
use waypost_model::run::TaskStatus;
use waypost_model::workflow::{CheckpointStatus, Feature, GateName};

/// The most that is read of what an agent program says about itself.
const INPUT_SIZE_MAX: u64 = 1 << 20;

/// Print where things stand in one line
///
/// For the status line of an agent program, which gives its own state as JSON on standard input,
/// or for a shell prompt. Prints nothing where nothing is going on; never fails. With `--json` the
/// line is in an object, empty where nothing is going on.
#[derive(Debug, clap::Args)]
pub(crate) struct StatuslineArgs {}

pub(crate) fn run(context: &Context) -> Result<ExitCode, CliError> {
    let folder = told_folder().unwrap_or_else(|| context.directory.clone());
    // A status line is no place for an error; `waypost status` tells it.
    let line = match gate::open_to_judge(&folder) {
        Ok(mut project) => line(&mut project).unwrap_or_default(),
        Err(error) if gate::may_be_held(&folder, &error) => {
            styled(RED, "waypost: the journal cannot be read; `waypost doctor`")
        }
        Err(_) => String::new(),
    };
    if context.out.json {
        let line = anstream::adapter::strip_str(&line).to_string();
        context.out.json(&StatusLine { line })?;
    } else if !line.is_empty() {
        context.out.line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that an agent program says it works in.
fn told_folder() -> Option<std::path::PathBuf> {
    let mut stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let mut input = Vec::new();
    stdin.by_ref().take(INPUT_SIZE_MAX).read_to_end(&mut input).ok()?;
    let folder = waypost_agent::statusline::folder(&input).map(std::path::PathBuf::from)?;
    folder.is_dir().then_some(folder)
}

fn line(project: &mut Project) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(feature) = &project.workflow().ok()?.feature {
        let mut text = workflow(feature);
        if !feature.is_done() {
            text.push_str(&match wall_level() {
                Level::None => styled(YELLOW, " no wall"),
                level => styled(DIM, format!(" wall {level}")),
            });
        }
        parts.push(text);
    }
    if let Some(run) = summary::of_run(project).ok()? {
        let count = |status| run.count(status);
        let mut text = format!("run {}/{}", count(TaskStatus::Completed), run.total);
        let is_left = attendance::has_lost_engine(project).ok()?;
        let notable = [
            (if is_left { 0 } else { count(TaskStatus::InProgress) }, "running", DIM),
            (usize::from(is_left), "engine gone", RED),
            (count(TaskStatus::Failed), "failed", RED),
        ];
        for (count, word, style) in notable {
            if count > 0 {
                text.push_str(&styled(style, format!(" {count} {word}")));
            }
        }
        parts.push(text);
    }
    let waiting = project.inbox().ok()?.open().len();
    if waiting > 0 {
        parts.push(styled(YELLOW, format!("inbox {waiting}")));
    }
    Some(parts.join(&styled(DIM, " | ")))
}

fn workflow(feature: &Feature) -> String {
    let gates: String = GateName::ALL
        .iter()
        .map(|gate| if feature.has_passed(*gate) { styled(GREEN, "●") } else { styled(DIM, "○") })
        .collect();
    let mut text = format!("{} {gates}", styled(BOLD, feature.phase));
    if feature.suspended.is_some() {
        text.push_str(&styled(YELLOW, " suspended"));
    }
    let is =
        |wanted| move |(_, it): &(_, &waypost_model::workflow::Checkpoint)| it.status == wanted;
    let all = feature.checkpoints.len();
    let passed = feature.checkpoints.iter().filter(is(CheckpointStatus::Passed)).count();
    if all > 0 {
        let _infallible = write!(text, " {passed}/{all}");
    }
    if let Some((id, it)) = feature.checkpoints.iter().find(is(CheckpointStatus::InProgress)) {
        let _infallible = write!(text, " {id} {}/{}", it.iteration, feature.max_iterations);
    }
    let escalated = feature.checkpoints.iter().filter(is(CheckpointStatus::Escalated)).count();
    if escalated > 0 {
        text.push_str(&styled(RED, format!(" {escalated} escalated")));
    }
    text
}
