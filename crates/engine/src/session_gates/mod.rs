//! The gates of a subtask, looked at: what is found out here stands as a finding, and what follows from it is the
//! session's to decide.
//!
//! Rules are in `model/src/session/gates`; here is what has to be found out for them: contracts, changed files, imports,
//! and a run of the tests by Waypost itself. An agent's word counts only where nothing can be found out, and only in a
//! report that says so.

mod changed;
mod running;
mod uses;

#[cfg(test)]
mod tests;

use crate::{contracts, error::EngineError, evidence, project::Project, worktrees};
use std::path::{Component, Path};
use waypost_model::{
    diagnostic::Severity,
    document::{
        Document, Kind,
        contract::{ContractPlace, DesignBrief, DesignContract, TestContract},
    },
    evidence::Evidence,
    session::{
        Role,
        gate::{Gate, GateFinding, SubtaskSubject},
        gates::{
            Judged,
            layers::{self, Design},
            normal_path,
            scope::TaskScope,
            testing,
        },
    },
};

pub(crate) use changed::is_kept;
pub use running::judge_tests;

/// A report that was given, and the points that it was asked about; no points: it was asked about nothing here.
#[derive(Clone, Copy, Debug)]
pub struct ReportGiven<'a> {
    pub path: &'a Path,
    pub points: &'a [String],
}

/// GATE-1: the tests are written.
pub fn judge_test_contract(
    project: &Project,
    subject: &SubtaskSubject,
) -> Result<GateFinding, EngineError> {
    let judged = match valid::<TestContract>(project, &of_subtask(subject))? {
        Ok(contract) => {
            let is_there = test_file(project, &contract.test_file_path);
            let mut judged = testing::judge_contract(&contract, is_there);
            by_other(&mut judged, Kind::TestContract, &contract.created_by);
            judged
        }
        Err(faults) => Judged { faults, ..Judged::default() },
    };
    let tree = worktrees::content(project)?;
    Ok(finding(Gate::Gate1, judged, tree))
}

/// GATE-3: only what the task covers was changed since the subtask began. What prose leaves open is confirmed by
/// a report.
pub fn judge_scope(
    project: &Project,
    subject: &SubtaskSubject,
    report: Option<ReportGiven<'_>>,
) -> Result<GateFinding, EngineError> {
    let tree = worktrees::content(project)?;
    let mut judged = Judged::default();
    let brief = taken(&mut judged, valid::<DesignBrief>(project, &of_task(subject))?);
    let contract = contracts::read::<DesignContract>(project, &of_task(subject)).ok().flatten();
    let tests = contracts::read::<TestContract>(project, &of_subtask(subject)).ok().flatten();
    if let Some(brief) = brief {
        by_other(&mut judged, Kind::DesignBrief, &brief.created_by);
        match changed::since(project, subject, report.map(|it| it.path))? {
            Some(changed) => {
                let roots = roots(project);
                let is_there = |path: &str| changed::was_or_is(project, subject, path);
                let scope = TaskScope {
                    brief: &brief,
                    contract: contract.as_ref(),
                    test_file: tests.as_ref().map(|it| it.test_file_path.as_str()),
                    roots: &roots,
                    is_there: &is_there,
                };
                let count = changed.len();
                judged.evidence.push(format!("{count} files changed since the subtask began"));
                add(&mut judged, scope.judge(&changed));
            }
            None => judged.open.push(UNTOLD.to_owned()),
        }
    }
    confirmed(Gate::Gate3, judged, tree, report)
}

/// Where there is no git, or no snapshot from when the subtask began.
const UNTOLD: &str = "which files have changed since the subtask began cannot be told: only what the brief covers has";

/// GATE-4: the design was kept to, by the imports of changed files. Open points are confirmed by the architect's
/// report.
pub fn judge_layers(
    project: &Project,
    subject: &SubtaskSubject,
    report: Option<ReportGiven<'_>>,
) -> Result<GateFinding, EngineError> {
    let tree = worktrees::content(project)?;
    let mut judged = Judged::default();
    let contract = taken(&mut judged, valid::<DesignContract>(project, &of_task(subject))?);
    if let Some(contract) = contract {
        by_other(&mut judged, Kind::DesignContract, &contract.created_by);
        let brief = contracts::read::<DesignBrief>(project, &of_task(subject)).ok().flatten();
        let tests = contracts::read::<TestContract>(project, &of_subtask(subject)).ok().flatten();
        let roots = roots(project);
        let test_file = tests.map(|it| normal_path(&it.test_file_path, &roots));
        match changed::since(project, subject, report.map(|it| it.path))? {
            Some(mut changed) if !contract.boundaries.is_empty() => {
                changed.retain(|path| Some(path) != test_file.as_ref() && !layers::is_test(path));
                let all = changed::all_files(project)?;
                let known = all.iter().map(String::as_str).filter(|it| uses::is_known(it));
                let design = Design::of(&contract, brief.as_ref(), &roots, known);
                let found = uses::of_files(project, &design, &changed, all.clone());
                add(&mut judged, design.judge(&found.uses));
                add(&mut judged, found.judged);
            }
            Some(_) => judged.evidence.push("the design has no boundaries".to_owned()),
            None => judged.open.push(UNTOLD.to_owned()),
        }
    }
    confirmed(Gate::Gate4, judged, tree, report)
}

/// Where paths of contracts may begin: the work tree that is looked at, and the repository's own.
pub(crate) fn roots(project: &Project) -> Vec<String> {
    let own = project.setup.main_root();
    let roots = [Some(project.root().to_owned()), own].into_iter().flatten();
    roots.map(|root| root.to_string_lossy().into_owned()).collect()
}

fn of_task(subject: &SubtaskSubject) -> ContractPlace {
    ContractPlace::of_task(subject.request.clone(), subject.task.clone())
}

fn of_subtask(subject: &SubtaskSubject) -> ContractPlace {
    let SubtaskSubject { request, task, subtask, .. } = subject.clone();
    ContractPlace::of_subtask(request, task, subtask)
}

/// A contract, or why it cannot be used: the faults of a gate, not of ours.
fn valid<D: Document>(
    project: &Project,
    place: &ContractPlace,
) -> Result<Result<D, Vec<String>>, EngineError> {
    let name = place.path(D::KIND);
    match contracts::read::<D>(project, place) {
        Ok(Some(contract)) => Ok(Ok(contract)),
        Ok(None) => Ok(Err(vec![format!("there is no {name}")])),
        Err(EngineError::Invalid(file)) => {
            let errors = file.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            let told = errors.map(|it| {
                let at =
                    it.place.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
                let path = if it.path.is_empty() { "" } else { " " };
                format!("{name}{at}{path}{}: {}", it.path, it.message)
            });
            Ok(Err(told.collect()))
        }
        Err(error) => Err(error),
    }
}

/// Notes that a contract is not by the role whose it is. It may be as good as one that is, so that this decides nothing.
fn by_other(judged: &mut Judged, kind: Kind, by: &str) {
    let role = match kind {
        Kind::DesignBrief => Role::Orchestrator,
        Kind::DesignContract => Role::Architect,
        Kind::TestContract | Kind::TestResult => Role::QaEngineer,
        _ => return,
    };
    if by.trim() != role.as_str() {
        let name = kind.name();
        judged.evidence.push(format!("{name}.yaml is by `{}`, and not by the {role}", by.trim()));
    }
}

/// What was found, or its faults among the others.
fn taken<T>(judged: &mut Judged, found: Result<T, Vec<String>>) -> Option<T> {
    found.map_err(|faults| judged.faults.extend(faults)).ok()
}

fn add(judged: &mut Judged, more: Judged) {
    judged.faults.extend(more.faults);
    judged.open.extend(more.open);
    judged.evidence.extend(more.evidence);
}

fn finding(gate: Gate, judged: Judged, tree: Option<String>) -> GateFinding {
    let Judged { faults, open, evidence } = judged;
    let holds = faults.is_empty() && open.is_empty();
    GateFinding { gate, holds, faults, open, evidence, tree, leads_to: None }
}

/// A finding whose open points a report may have confirmed, if it was asked about these.
fn confirmed(
    gate: Gate,
    mut judged: Judged,
    tree: Option<String>,
    report: Option<ReportGiven<'_>>,
) -> Result<GateFinding, EngineError> {
    let mut is_confirmed = judged.open.is_empty();
    if let Some(ReportGiven { path, .. }) =
        report.filter(|it| !judged.open.is_empty() && judged.open == it.points)
        && let Evidence::SelfReported { blocking, report } = evidence::read_report(path)?
    {
        match blocking {
            0 => {
                is_confirmed = true;
                judged.evidence.push(format!("{report} says that nothing is blocking"));
            }
            count => judged.faults.push(format!("{report} has {count} blocking findings")),
        }
    }
    let holds = judged.faults.is_empty() && is_confirmed;
    Ok(GateFinding { holds, ..finding(gate, judged, tree) })
}

/// Whether the test file is a file of the project, by where it really leads.
fn test_file(project: &Project, named: &str) -> Result<(), String> {
    let root = project.root();
    let path = normal_path(named, &roots(project));
    let is_plain = |it: Component<'_>| matches!(it, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(&path).components().all(is_plain) {
        return Err(format!("test_file_path {named} is not below the project"));
    }
    let whole = root.join(&path);
    let real = whole.canonicalize().map_err(|_| format!("there is no test file {path}"))?;
    let base = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    match real.starts_with(&base) {
        false => Err(format!("the test file {path} leads out of the project")),
        true if real.is_file() => Ok(()),
        true => Err(format!("{path} is no file")),
    }
}
