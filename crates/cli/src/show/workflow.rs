//! A workflow as text and as data.

use crate::{
    data::{PassReport, WorkflowReport},
    output::{BOLD, DIM, GREEN, RED, YELLOW, styled},
    spelling::{self, Step},
};
use std::fmt::Write as _;
use waypost_hook::Level;
use waypost_hook::spelling::advice;
use waypost_model::workflow::{Checkpoint, CheckpointStatus, Feature, GateName, Phase, Rights};

/// How the workflow stands, as data: the window's own fields and what goes beyond them.
pub(crate) fn data(feature: &Feature) -> WorkflowReport<'_> {
    let evidence = feature.passes.iter().map(|pass| {
        let report = PassReport { at: pass.at.to_string(), evidence: &pass.evidence };
        (pass.gate.to_string(), report)
    });
    let steps = feature.next_steps();
    WorkflowReport {
        state: Some(feature.render()),
        evidence: evidence.collect(),
        reviews: &feature.reviews,
        suspended: feature.suspended.as_ref().map(|it| it.reason.as_str()),
        next: lines(feature),
        next_steps: spelling::data(&steps).into_iter().map(Step::into_owned).collect(),
    }
}

/// How the workflow stands and what comes next, for people.
pub(crate) fn text(feature: &Feature) -> String {
    let mut text = standing(feature);
    for (position, command) in lines(feature).iter().take(3).enumerate() {
        let label = if position == 0 { "next" } else { "" };
        let _infallible = writeln!(text, "  {label:12} {command}");
    }
    text
}

/// What leads on, each as a line.
fn lines(feature: &Feature) -> Vec<String> {
    let steps = feature.next_steps();
    steps.iter().filter_map(|step| spelling::any_of(std::slice::from_ref(step))).collect()
}

/// How the workflow stands.
pub(crate) fn standing(feature: &Feature) -> String {
    let mut text = format!("{}  {}\n", styled(BOLD, "Workflow"), feature.name);
    let _infallible = writeln!(text, "  phase        {}", phases(feature.phase));
    if let Some(strategy) = feature.strategy {
        let _infallible = writeln!(text, "  strategy     {strategy}");
    }
    for (position, gate) in GateName::ALL.into_iter().enumerate() {
        let label = if position == 0 { "gates" } else { "" };
        let _infallible = writeln!(text, "  {label:12} {}", gate_line(feature, gate));
    }
    for review in &feature.reviews {
        let found = format!("{} blocking of {}", review.blocking(), review.findings.len());
        let _infallible =
            writeln!(text, "  review       {}: {found} findings, by {}", review.gate, review.agent);
    }
    for (position, (id, checkpoint)) in feature.checkpoints.iter().enumerate() {
        let label = if position == 0 { "checkpoints" } else { "" };
        let line = checkpoint_line(checkpoint, feature.max_iterations);
        let _infallible = writeln!(text, "  {label:12} {id}  {line}");
    }
    if let Some(suspension) = &feature.suspended {
        let line = format!("gates are off since {}: {}", suspension.since, suspension.reason);
        let _infallible = writeln!(text, "  {}    {line}", styled(YELLOW, "suspended"));
    }
    text
}

/// The report on taking a feature up again.
pub(crate) fn resumed(feature: &Feature) -> String {
    let gates: Vec<String> = GateName::ALL
        .into_iter()
        .map(|gate| format!("{gate}={}", feature.has_passed(gate)))
        .collect();
    let mut text = format!("Previous session: '{}', phase {}\n", feature.name, feature.phase);
    let _infallible = write!(text, "Gates: {}", gates.join(", "));
    if !feature.checkpoints.is_empty() {
        let _infallible = write!(text, "\nCheckpoints: {}", checkpoints(feature));
    }
    text
}

/// All checkpoints in a line, as the seed reports them.
fn checkpoints(feature: &Feature) -> String {
    let each = |(id, checkpoint): (_, &Checkpoint)| match checkpoint.status {
        CheckpointStatus::InProgress => {
            format!("{id} in_progress (iter {}/{})", checkpoint.iteration, feature.max_iterations)
        }
        status => format!("{id} {status}"),
    };
    let each: Vec<String> = feature.checkpoints.iter().map(each).collect();
    each.join(", ")
}

/// The state as facts for a model's context, in a few lines.
pub(crate) fn context(feature: &Feature, rights: Rights, level: Level) -> String {
    let passed = |gate| match feature.passes.iter().find(|pass| pass.gate == gate) {
        Some(pass) => {
            let evidence: Vec<String> = pass.evidence.iter().map(ToString::to_string).collect();
            format!("{gate} passed ({})", evidence.join(", "))
        }
        None => format!("{gate} closed"),
    };
    let all = [
        (rights.write, "writing files"),
        (rights.commit, "committing"),
        (rights.push_branch, "pushing branches"),
        (rights.publish, "pull requests and pushes to the default branch"),
    ];
    let words = |wanted: bool| {
        let some: Vec<&str> =
            all.iter().filter(|(is, _)| *is == wanted).map(|(_, word)| *word).collect();
        if some.is_empty() { "nothing".to_owned() } else { some.join(", ") }
    };
    let mut text = format!(
        "Waypost holds this work tree at gates. Feature: {}. Phase: {}.\n",
        feature.name, feature.phase
    );
    let _infallible = writeln!(text, "Gates: {}.", GateName::ALL.map(passed).join("; "));
    if !feature.checkpoints.is_empty() {
        let _infallible = writeln!(text, "Checkpoints: {}.", checkpoints(feature));
    }
    if let Some(suspension) = &feature.suspended {
        let _infallible = writeln!(text, "The gates are suspended: {}.", suspension.reason);
    }
    let _infallible = writeln!(text, "Open now: {}. Closed: {}.", words(true), words(false));
    let _infallible = writeln!(text, "{}", wall(level));
    let next: Vec<String> = feature.next_steps().iter().map(advice).collect();
    let _infallible = writeln!(text, "Next: {}.", next.join(", "));
    text.push_str(
        "`waypost develop status` shows this again; .develop-workflow/state.json only shows it, \
         commands change it.",
    );
    text
}

/// What holds shell calls, for those who make them.
fn wall(level: Level) -> String {
    match level {
        Level::None => "There is no wall on this machine: commands are judged by their text, and \
                        what cannot be told is refused."
            .to_owned(),
        level => format!(
            "Shell commands run behind a wall of level {level}: what is closed is read-only in \
             there, and there are no credentials; `git push`, `gh pr` and `waypost` go through it."
        ),
    }
}

/// All phases in a line, the present one marked.
fn phases(present: Phase) -> String {
    let each = |phase: Phase| match phase.cmp(&present) {
        std::cmp::Ordering::Less => styled(GREEN, phase),
        std::cmp::Ordering::Equal => styled(BOLD, format!("[{phase}]")),
        std::cmp::Ordering::Greater => styled(DIM, phase),
    };
    Phase::ALL.map(each).join(" → ")
}

fn gate_line(feature: &Feature, gate: GateName) -> String {
    match feature.passes.iter().find(|pass| pass.gate == gate) {
        None => format!("{} {gate}", styled(RED, "closed")),
        Some(pass) => {
            let evidence: Vec<String> = pass.evidence.iter().map(ToString::to_string).collect();
            let evidence = styled(DIM, format!("({})", evidence.join(", ")));
            format!("{} {gate} {evidence}", styled(GREEN, "passed"))
        }
    }
}

fn checkpoint_line(checkpoint: &Checkpoint, limit: u32) -> String {
    let evidence = checkpoint.evidence.as_ref().map(|it| styled(DIM, format!(" ({it})")));
    match checkpoint.status {
        CheckpointStatus::Pending => styled(DIM, "pending"),
        CheckpointStatus::InProgress => {
            format!("in_progress, try {} of {limit}", checkpoint.iteration)
        }
        CheckpointStatus::Passed => {
            format!("{}{}", styled(GREEN, "passed"), evidence.unwrap_or_default())
        }
        CheckpointStatus::Escalated => styled(RED, "escalated"),
    }
}
