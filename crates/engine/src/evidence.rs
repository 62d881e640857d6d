//! Gathering the evidence that gates and checkpoints need.

use crate::{
    by_hand,
    check::{self, CheckResult},
    children::Children,
    error::{EngineError, Problem},
    given,
    project::Project,
    tasks, worktrees,
};
use std::{io, path::Path};
use waypost_model::{
    code::Code,
    evidence::Evidence,
    id::{CheckpointId, TaskId},
    run::{self, TaskStatus},
    workflow::{CheckpointStep, Claim, Command, GateName, Validation},
};

/// The largest report that is read.
const REPORT_SIZE_MAX: u64 = 4 << 20;

/// What the caller brings along for a gate.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateClaim<'a> {
    /// A report with `Blocking: N` or `{"blocking": N}`.
    pub report: Option<&'a Path>,
    /// A person has said yes.
    pub is_confirmed: bool,
}

/// Runs what the gate needs, and passes it if everything holds.
pub fn pass_gate(
    project: &mut Project,
    gate: GateName,
    claim: GateClaim<'_>,
    echo: &mut dyn io::Write,
) -> Result<(), EngineError> {
    project.refuse_stale()?;
    let needs = project.configuration().values.workflow.requirement(gate);
    let mut evidence = Vec::new();
    if let Some(path) = claim.report {
        evidence.push(read_report(path)?);
    }
    if claim.is_confirmed && project.actor().is_person() {
        evidence.push(Evidence::Human { name: project.actor().to_string() });
    }
    // A gate that could not be passed anyway is refused before its check is run.
    let is_due = project.workflow()?.feature.as_ref().is_some_and(|it| it.phase == gate.phase());
    let tree = if is_due { worktrees::content(project)? } else { None };
    evidence.extend(review_evidence(project, gate, tree.as_ref())?);
    if let Some(command) = needs.check.as_ref().filter(|_| is_due) {
        let result = check::run(&Children::of(project)?, command, project.root(), echo)?;
        if !result.passed {
            let (command, outcome) = (command.clone(), result.outcome);
            return Err(EngineError::CheckFailed { command, outcome });
        }
        if worktrees::content(project)? != tree {
            let outcome = "it changed files that are not ignored; run it again".to_owned();
            return Err(EngineError::CheckFailed { command: command.clone(), outcome });
        }
        evidence.push(Evidence::Check { command: command.clone(), tree: tree.clone() });
    }
    project.develop(Command::PassGate { gate, claim: Claim { evidence, tree }, needs })
}

/// What a review of this very content says. One that found something blocking stands against
/// the gate; a person may pass it all the same where the configuration wants no review.
fn review_evidence(
    project: &mut Project,
    gate: GateName,
    tree: Option<&String>,
) -> Result<Option<Evidence>, EngineError> {
    let is_needed = project.configuration().values.workflow.requirement(gate).review;
    let binds = is_needed || !project.actor().is_person();
    let feature = project.workflow()?.feature.as_ref();
    let review = feature.and_then(|it| it.review_of(gate));
    let review = review.filter(|it| it.tree.as_ref() == tree);
    Ok(review.filter(|it| it.blocking() == 0 || binds).map(|it| it.evidence()))
}

/// Runs the checkpoint's validation, where its contract has one, and passes it if that holds.
pub fn pass_checkpoint(
    project: &mut Project,
    id: &CheckpointId,
    echo: &mut dyn io::Write,
) -> Result<(), EngineError> {
    project.refuse_stale()?;
    let evidence = check_checkpoint(project, id, echo)?;
    let step = CheckpointStep::Pass { evidence };
    project.develop(Command::Checkpoint { id: id.clone(), step })
}

/// Runs the checkpoint's validation, where its contract has one; what that shows.
fn check_checkpoint(
    project: &mut Project,
    id: &CheckpointId,
    echo: &mut dyn io::Write,
) -> Result<Evidence, EngineError> {
    match validation_of(project, id)? {
        Some(validation) => {
            let result =
                check::run(&Children::of(project)?, &validation.command, project.root(), echo)?;
            judge_validation(&validation, result)
        }
        None => Ok(Evidence::Claimed),
    }
}

/// How a checkpoint is validated, where its contract says so.
pub(crate) fn validation_of(
    project: &mut Project,
    id: &CheckpointId,
) -> Result<Option<Validation>, EngineError> {
    let feature = project.workflow()?.feature.as_ref();
    let contract = feature.and_then(|feature| feature.contract.as_ref());
    Ok(contract.and_then(|it| it.checkpoint(id)).map(|it| it.validation.clone()))
}

/// Runs the task's verify commands, where it has some, and completes it if they all pass.
pub fn finish_task(
    project: &mut Project,
    id: &TaskId,
    attempt: Option<u32>,
    echo: &mut dyn io::Write,
) -> Result<(), EngineError> {
    project.refuse_stale()?;
    if by_hand::finish_apart(project, id, attempt, echo)? {
        return by_hand::end_phase(project, echo);
    }
    let view = project.run()?.active().and_then(|active| active.task(id));
    // Nothing is run for a task that could not be completed anyway.
    let is_due = view.is_some_and(|view| view.status == TaskStatus::InProgress);
    let details = view.filter(|_| is_due).and_then(|view| view.planned.details.as_deref());
    let commands = details.map(|details| details.verify.clone()).unwrap_or_default();
    for command in &commands {
        let result = check::run(&Children::of(project)?, command, project.root(), echo)?;
        if !result.passed {
            let (command, outcome) = (command.clone(), result.outcome);
            return Err(EngineError::CheckFailed { command, outcome });
        }
    }
    let evidence = match commands.is_empty() {
        true => Evidence::Unverified,
        false => Evidence::Check { command: commands.join(" && "), tree: None },
    };
    let done = run::Command::Done { id: id.clone(), attempt, evidence, commit: None };
    tasks::drive_run(project, &[done], None)
}

/// What a validation that has ended shows.
pub(crate) fn judge_validation(
    validation: &Validation,
    result: CheckResult,
) -> Result<Evidence, EngineError> {
    let command = validation.command.clone();
    let output = String::from_utf8_lossy(&result.output);
    let lacks = validation.expected.as_ref().filter(|expected| !output.contains(expected.as_str()));
    match lacks {
        _ if !result.passed => Err(EngineError::CheckFailed { command, outcome: result.outcome }),
        Some(expected) => {
            let outcome = format!("its output lacks `{expected}`");
            Err(EngineError::CheckFailed { command, outcome })
        }
        None => Ok(Evidence::Check { command, tree: None }),
    }
}

/// Reads how many blocking findings a report states.
pub(crate) fn read_report(path: &Path) -> Result<Evidence, EngineError> {
    let bytes = given::read(path, REPORT_SIZE_MAX)?.ok_or_else(|| Problem::no_file(path))?;
    let text = String::from_utf8_lossy(&bytes);
    let blocking = blocking_of(&text).ok_or_else(|| {
        let message = format!("{} does not say how many findings are blocking", path.display());
        Problem::new(Code::ReportUnclear, message)
            .hint("write a line `Blocking: N`, or JSON `{\"blocking\": N}`")
    })?;
    Ok(Evidence::SelfReported { blocking, report: path.display().to_string() })
}

/// A report that states the number twice counts by the larger one.
fn blocking_of(text: &str) -> Option<u32> {
    if let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) {
        return fields.get("blocking")?.as_u64().and_then(|count| u32::try_from(count).ok());
    }
    let count = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '#', ' ']).replace("**", "");
        let (word, rest) = line.split_once(':')?;
        word.trim().eq_ignore_ascii_case("blocking").then(|| rest.trim().parse().ok())?
    };
    text.lines().filter_map(count).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_states_its_blocking_findings() {
        let table = [
            ("# Review\n\nBlocking: 0\nMinor: 3\n", Some(0)),
            ("- **Blocking:** 2\n", Some(2)),
            ("blocking: 0\nBlocking: 4\n", Some(4)),
            ("{\"blocking\": 1, \"minor\": 2}", Some(1)),
            ("{\"blocking\": \"0\"}", None),
            ("nothing is blocking: really", None),
            ("Blocking: none", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(blocking_of(text), want, "{text:?}");
        }
    }
}
