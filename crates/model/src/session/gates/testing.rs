//! GATE-1 and GATE-2: the tests are written, and they pass.

use super::Judged;
use crate::{
    document::contract::{
        Action, CaseCategory, FailureCategory, Outcome, Summary, TestContract, TestResult,
    },
    session::gate::FailureKind,
};

/// Judges what a test contract says; `is_there` tells whether its test file is in the project.
pub fn judge_contract(contract: &TestContract, is_there: Result<(), String>) -> Judged {
    let mut judged = Judged::default();
    let count = contract.test_cases.len();
    if count == 0 {
        judged.faults.push("test-contract.yaml has no test case".to_owned());
    } else if !contract.test_cases.iter().any(|it| it.category == Some(CaseCategory::HappyPath)) {
        judged.faults.push(format!("none of the {count} test cases is a happy_path"));
    } else {
        judged.evidence.push(format!("{count} test cases, a happy_path among them"));
    }
    match is_there {
        Ok(()) => judged.evidence.push(format!("{} is there", contract.test_file_path)),
        Err(why) => judged.faults.push(why),
    }
    judged
}

/// A run of the tests by Waypost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    pub command: String,
    pub end: TestRunEnd,
    /// How many tests ended how, where the output says so.
    pub summary: Option<Summary>,
}

/// How a run of the tests ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestRunEnd {
    Passed,
    /// In words, as in `exit status: 1`.
    Failed(String),
    /// It was ended after so many seconds.
    TimedOut(u64),
    /// There is no such program, or it cannot be started: that says nothing about the work.
    NotRun(String),
}

impl TestRunEnd {
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Passed => Outcome::Pass,
            Self::Failed(_) | Self::TimedOut(_) | Self::NotRun(_) => Outcome::Fail,
        }
    }
}

/// What follows from a run, beside the result that was handed in: what stands against the gate, and where that
/// leads.
pub fn judge_run(run: &TestRun, result: &TestResult) -> (Judged, Option<FailureKind>) {
    let mut judged = Judged::default();
    let command = &run.command;
    // In a pipe the exit code is that of its last program.
    let is_hidden = run.end == TestRunEnd::Passed && run.summary.is_some_and(|it| it.failed > 0);
    let leads_to = match &run.end {
        TestRunEnd::Passed if is_hidden => {
            let message = format!("`{command}` ended well, and tests of it failed");
            judged.faults.push(message + &counted(run.summary));
            Some(kind_of(result))
        }
        TestRunEnd::Passed => {
            judged.evidence.push(format!("`{command}` passed{}", counted(run.summary)));
            None
        }
        TestRunEnd::Failed(how) => {
            judged.faults.push(format!("`{command}` did not pass: {how}{}", counted(run.summary)));
            Some(kind_of(result))
        }
        TestRunEnd::TimedOut(seconds) => {
            judged.faults.push(format!("`{command}` did not end within {seconds} seconds"));
            Some(kind_of(result))
        }
        TestRunEnd::NotRun(why) => {
            judged.faults.push(format!("`{command}` could not be run: {why}"));
            None
        }
    };
    if run.end == TestRunEnd::Passed && run.summary.is_some_and(|it| it.total == it.skipped) {
        judged.faults.push(format!("`{command}` passed and ran no test"));
        return (judged, Some(FailureKind::TestError));
    }
    let found = if is_hidden { Outcome::Fail } else { run.end.outcome() };
    let said = result.execution.result;
    if said != found && !matches!(run.end, TestRunEnd::NotRun(_)) {
        let (said, found) = (word(said), word(found));
        judged.faults.push(format!("test-result.yaml says `{said}`, and it is `{found}`"));
    }
    (judged, leads_to)
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
    }
}

fn counted(summary: Option<Summary>) -> String {
    let Some(Summary { total, passed, failed, skipped }) = summary else { return String::new() };
    format!(" ({total} tests: {passed} passed, {failed} failed, {skipped} skipped)")
}

/// Whose fault it is that tests fail, as the result says. The design is looked at first: what is built on a wrong
/// one is built again anyway.
fn kind_of(result: &TestResult) -> FailureKind {
    let has = |wanted: FailureCategory| {
        result.failed_tests.iter().any(|test| test.category == Some(wanted))
    };
    match result.recommendation.action {
        _ if has(FailureCategory::DesignViolation) => FailureKind::DesignViolation,
        _ if has(FailureCategory::ImplementationError) => FailureKind::ImplementationError,
        _ if has(FailureCategory::TestError) => FailureKind::TestError,
        Action::RetryDesign => FailureKind::DesignViolation,
        Action::RetryTest => FailureKind::TestError,
        Action::RetryImplementation | Action::Complete => FailureKind::ImplementationError,
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::document::contract::{FailedTest, Recommendation, TestCase, TestExecution};
    use crate::time::{Stamp, Time};

    fn contract(categories: &[Option<CaseCategory>]) -> TestContract {
        let case = |(at, category): (usize, &Option<CaseCategory>)| TestCase {
            id: format!("TC-{at}"),
            name: "it works".into(),
            target: None,
            given: None,
            when: None,
            then: None,
            category: *category,
        };
        TestContract {
            version: Default::default(),
            request_id: "R1".parse().unwrap(),
            task_id: "T1".parse().unwrap(),
            subtask_id: "T1-S1".parse().unwrap(),
            created_at: Stamp::At(Time::from_millis(0)),
            created_by: "qa-engineer".into(),
            subtask_name: "cart".into(),
            test_cases: categories.iter().enumerate().map(case).collect(),
            coverage_targets: Vec::new(),
            test_file_path: "tests/a.rs".into(),
        }
    }

    fn result(outcome: Outcome, action: Action, failed: &[FailureCategory]) -> TestResult {
        let test = |(at, category): (usize, &FailureCategory)| FailedTest {
            id: format!("TC-{at}"),
            name: None,
            reason: None,
            category: Some(*category),
        };
        TestResult {
            version: Default::default(),
            request_id: None,
            task_id: None,
            subtask_id: None,
            created_at: Stamp::At(Time::from_millis(0)),
            created_by: "qa-engineer".into(),
            execution: TestExecution { command: None, timestamp: None, result: outcome },
            summary: Summary { total: 1, passed: 1, failed: 0, skipped: 0 },
            failed_tests: failed.iter().enumerate().map(test).collect(),
            recommendation: Recommendation { action, reason: None },
        }
    }

    #[test]
    fn a_contract_needs_a_happy_path_and_its_file() {
        use CaseCategory::{EdgeCase, ErrorCase, HappyPath};
        let there = || Ok(());
        for (cases, faults) in [
            (&[][..], 1),
            (&[None, Some(ErrorCase), Some(EdgeCase)][..], 1),
            (&[Some(ErrorCase), Some(HappyPath)][..], 0),
        ] {
            assert_eq!(judge_contract(&contract(cases), there()).faults.len(), faults);
        }
        let gone = judge_contract(&contract(&[Some(HappyPath)]), Err("there is none".into()));
        assert_eq!(gone.faults, ["there is none"]);
    }

    #[test]
    fn a_failed_run_leads_where_the_result_says() {
        use FailureCategory as C;
        let run = TestRun {
            command: "make test".into(),
            end: TestRunEnd::Failed("exit status: 2".into()),
            summary: None,
        };
        for (action, failed, want) in [
            (Action::RetryImplementation, &[][..], FailureKind::ImplementationError),
            (Action::RetryTest, &[][..], FailureKind::TestError),
            (Action::RetryDesign, &[][..], FailureKind::DesignViolation),
            (
                Action::RetryTest,
                &[C::TestError, C::ImplementationError][..],
                FailureKind::ImplementationError,
            ),
            (
                Action::RetryTest,
                &[C::TestError, C::DesignViolation][..],
                FailureKind::DesignViolation,
            ),
            (Action::RetryImplementation, &[C::TestError][..], FailureKind::TestError),
        ] {
            let (judged, leads) = judge_run(&run, &result(Outcome::Fail, action, failed));
            assert_eq!(leads, Some(want));
            assert_eq!(judged.faults, ["`make test` did not pass: exit status: 2"]);
        }
    }

    #[test]
    fn a_result_that_says_otherwise_is_a_fault() {
        let run = |end: TestRunEnd| TestRun { command: "t".into(), end, summary: None };
        let pass = result(Outcome::Pass, Action::Complete, &[]);
        let fail = result(Outcome::Fail, Action::RetryTest, &[]);
        assert!(judge_run(&run(TestRunEnd::Passed), &pass).0.faults.is_empty());
        assert_eq!(
            judge_run(&run(TestRunEnd::Passed), &fail).0.faults,
            ["test-result.yaml says `fail`, and it is `pass`"]
        );
        assert_eq!(judge_run(&run(TestRunEnd::Failed("1".into())), &pass).0.faults.len(), 2);
        let (judged, leads) = judge_run(&run(TestRunEnd::NotRun("no such program".into())), &pass);
        assert_eq!((judged.faults.len(), leads), (1, None));
        let hidden = Summary { total: 2, passed: 1, failed: 1, skipped: 0 };
        let piped = TestRun { summary: Some(hidden), ..run(TestRunEnd::Passed) };
        let (judged, leads) = judge_run(&piped, &pass);
        let counts =
            "`t` ended well, and tests of it failed (2 tests: 1 passed, 1 failed, 0 skipped)";
        assert_eq!(judged.faults, [counts, "test-result.yaml says `pass`, and it is `fail`"]);
        assert_eq!(leads, Some(FailureKind::ImplementationError));
        let none = Summary { total: 2, passed: 0, failed: 0, skipped: 2 };
        let empty = TestRun { summary: Some(none), ..run(TestRunEnd::Passed) };
        let (judged, leads) = judge_run(&empty, &pass);
        assert_eq!(judged.faults, ["`t` passed and ran no test"]);
        assert_eq!(leads, Some(FailureKind::TestError));
    }
}
