//! The contracts that agents hand to each other within a session, one YAML file each.
//!
//! Required are the fields that the next agent cannot do without, and in an entry of a list what
//! names it; everything else may be absent.

mod design;
mod place;
mod plan;
mod testing;

pub use design::{
    Boundary, DesignBrief, DesignContract, Field, FileRef, FileStatus, Interface, Invariant,
    LayerAssignment, Shape,
};
pub use place::{CONTRACTS, ContractIds, ContractLevel, ContractPlace};
pub use plan::{BreakdownTask, Explored, ExploredFile, PlannedSubtask, TaskBreakdown};
pub use testing::{
    Action, CaseCategory, FailedTest, FailureCategory, Outcome, Recommendation, Summary, TestCase,
    TestContract, TestExecution, TestResult,
};

use super::check::Findings;
use super::{SessionTaskId, SubtaskId, code};

/// A subtask's id begins with that of its task.
fn check_owner(
    findings: &mut Findings,
    path: &str,
    task: Option<&SessionTaskId>,
    subtask: &SubtaskId,
) {
    if let Some(task) = task.filter(|task| !subtask.belongs_to(task)) {
        let message = format!("{subtask} does not belong to {task}");
        findings.error(code::WRONG_OWNER, path.to_owned(), message);
    }
}
