//! The test cases of one subtask, and how they ended.

use super::check_owner;
use super::place::{ContractIds, ContractPlace};
use crate::diagnostic::Diagnostic;
use crate::document::check::Findings;
use crate::document::fields::present;
use crate::document::{Document, Kind, RequestId, SessionTaskId, SubtaskId, Version, code};
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The test cases of one subtask (`test-contract.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestContract {
    /// The version of this format.
    pub version: Version<1>,
    /// The request that it belongs to.
    pub request_id: RequestId,
    /// The task that it belongs to.
    pub task_id: SessionTaskId,
    /// The subtask that it is about.
    pub subtask_id: SubtaskId,
    /// When it was made.
    pub created_at: Stamp,
    /// The agent that made it.
    pub created_by: String,
    /// What the subtask is called.
    pub subtask_name: String,
    /// What is tested.
    pub test_cases: Vec<TestCase>,
    /// What the tests have to cover.
    #[serde(default)]
    pub coverage_targets: Vec<String>,
    /// The file that holds the tests.
    pub test_file_path: String,
}

/// One case of a test contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestCase {
    /// Its name in reports, as in `TC-1`.
    pub id: String,
    /// The test's name.
    pub name: String,
    /// What is tested.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub target: Option<String>,
    /// What holds before.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub given: Option<String>,
    /// What is done.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub when: Option<String>,
    /// What holds afterwards.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub then: Option<String>,
    /// What sort of case it is; at least one has to be a happy path.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CaseCategory")]
    pub category: Option<CaseCategory>,
}

/// What sort of case a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaseCategory {
    /// Everything is as it should be.
    HappyPath,
    /// Something is wrong and is told so.
    ErrorCase,
    /// Something is unusual.
    EdgeCase,
}

/// The outcome of one subtask's tests (`test-result.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestResult {
    /// The version of this format.
    pub version: Version<1>,
    /// The request that it belongs to.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequestId")]
    pub request_id: Option<RequestId>,
    /// The task that it belongs to.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SessionTaskId")]
    pub task_id: Option<SessionTaskId>,
    /// The subtask that it is about.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SubtaskId")]
    pub subtask_id: Option<SubtaskId>,
    /// When it was made.
    pub created_at: Stamp,
    /// The agent that made it.
    pub created_by: String,
    /// The run of the tests.
    pub execution: TestExecution,
    /// How many tests ended how.
    pub summary: Summary,
    /// The tests that failed.
    #[serde(default)]
    pub failed_tests: Vec<FailedTest>,
    /// What should happen next.
    pub recommendation: Recommendation,
}

/// A run of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Execution")]
pub struct TestExecution {
    /// The command that was run.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub command: Option<String>,
    /// When it was run.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stamp")]
    pub timestamp: Option<Stamp>,
    /// How it ended.
    pub result: Outcome,
}

/// How a run of tests ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No test failed.
    Pass,
    /// A test failed, or the tests could not be run.
    Fail,
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// All tests; the sum of the other three.
    pub total: u32,
    /// Those that passed.
    pub passed: u32,
    /// Those that failed.
    pub failed: u32,
    /// Those that were not run.
    #[serde(default)]
    pub skipped: u32,
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedTest {
    /// Its name in the test contract, as in `TC-1`.
    pub id: String,
    /// The test's name.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// What went wrong.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// Whose fault it is, which decides what is done again.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FailureCategory")]
    pub category: Option<FailureCategory>,
}

/// Whose fault a failed test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// The implementation is wrong.
    ImplementationError,
    /// The implementation does not keep to the design.
    DesignViolation,
    /// The test is wrong.
    TestError,
}

/// What should happen after a run of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    /// What should be done next.
    pub action: Action,
    /// Why.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
}

/// What should be done after a run of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Nothing; the subtask is done.
    Complete,
    /// Implement it again.
    RetryImplementation,
    /// Design the task again.
    RetryDesign,
    /// Write the tests again.
    RetryTest,
}

impl Document for TestContract {
    const KIND: Kind = Kind::TestContract;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        check_owner(&mut findings, "subtask_id", Some(&self.task_id), &self.subtask_id);
        let ids = self.test_cases.iter().map(|case| &case.id);
        findings.unique(ids, |at| format!("test_cases[{at}].id"));
        findings.into_vec()
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        let ids = ContractIds {
            request: Some(&self.request_id),
            task: Some(&self.task_id),
            subtask: Some(&self.subtask_id),
        };
        place.check(Self::KIND, ids)
    }
}

impl Document for TestResult {
    const KIND: Kind = Kind::TestResult;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        if let Some(subtask) = &self.subtask_id {
            check_owner(&mut findings, "subtask_id", self.task_id.as_ref(), subtask);
        }
        findings.unique(self.failed_tests.iter().map(|test| &test.id), |at| {
            format!("failed_tests[{at}].id")
        });
        self.check_counts(&mut findings);
        let has_passed = self.execution.result == Outcome::Pass;
        if has_passed && self.summary.failed > 0 {
            let message = format!("the run passed, but {} tests failed", self.summary.failed);
            findings.error(code::CONTRADICTION, "execution.result".to_owned(), message);
        }
        if !has_passed && self.recommendation.action == Action::Complete {
            let message = "a run that failed completes nothing".to_owned();
            findings.error(code::CONTRADICTION, "recommendation.action".to_owned(), message);
        }
        findings.into_vec()
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        let ids = ContractIds {
            request: self.request_id.as_ref(),
            task: self.task_id.as_ref(),
            subtask: self.subtask_id.as_ref(),
        };
        place.check(Self::KIND, ids)
    }
}

impl TestResult {
    fn check_counts(&self, findings: &mut Findings) {
        let Summary { total, passed, failed, skipped } = self.summary;
        let sum = u64::from(passed) + u64::from(failed) + u64::from(skipped);
        if sum != u64::from(total) {
            let message =
                format!("{passed} passed, {failed} failed and {skipped} skipped are {sum}");
            let finding = Diagnostic::error(code::WRONG_COUNT, message).path("summary.total");
            findings.add(finding.expected(sum.to_string()));
        }
        let listed = self.failed_tests.len();
        if usize::try_from(failed) != Ok(listed) {
            let message = format!("{failed} tests failed, but {listed} are listed");
            findings.warning(code::WRONG_COUNT, "failed_tests".to_owned(), message);
        }
    }
}
