//! GATE-2: Waypost runs the tests itself, at the exact content, with an environment that says nothing to them.

use super::{by_other, finding, of_subtask, valid};
use crate::{
    check::{self, Check, CheckResult, STOP_INTERVAL},
    children::Children,
    clock::Clock,
    contracts,
    error::{EngineError, Problem},
    project::Project,
    worktrees,
};
use rustix::process::Signal;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        atomic::Ordering,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};
use waypost_git::tree::{self, Replica};
use waypost_model::{
    code::Code,
    diagnostic::{Diagnostic, Severity},
    document::{
        Document as _, Kind,
        contract::{TestExecution, TestResult},
    },
    session::{
        gate::{Gate, GateFinding, SubtaskSubject},
        gates::{
            Judged,
            test_command::{self, KnownTests},
            test_output,
            testing::{self, TestRun, TestRunEnd},
        },
    },
    time::Time,
};
use waypost_store::{file, lock::FileLock, parse};

/// How long tests have to end by themselves when their time is over, and once more after they were killed.
const GRACE: Duration = Duration::from_secs(5);

/// Build files are small; what is larger is none.
const BUILD_FILE_MAX: u64 = 1 << 20;

/// Held by the process that runs tests in the project's folder itself.
const TURN: &str = "session-tests.lock";

/// How much of the output of failed tests stands in the evidence.
const LINES_TOLD: usize = 30;
const BYTES_TOLD: usize = 3_000;

/// Exit codes of a shell that found no program, or one that cannot be run.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// GATE-2: the tests pass. The result of the qa-engineer has to be valid and to say the same; when it does, it is
/// given what Waypost's own run has shown.
pub fn judge_tests(
    project: &mut Project,
    subject: &SubtaskSubject,
    echo: &mut dyn io::Write,
) -> Result<GateFinding, EngineError> {
    project.refuse_stale()?;
    let place = of_subtask(subject);
    let result = match valid::<TestResult>(project, &place)? {
        Ok(result) => result,
        // Nothing is run for a result that could not pass anyway.
        Err(faults) => {
            let tree = worktrees::content(project)?;
            return Ok(finding(Gate::Gate2, Judged { faults, ..Judged::default() }, tree));
        }
    };
    let command = command_of(project)?;
    let replica = replica_of(project, subject)?;
    // Without a copy, those who run tests in the same folder wait for each other.
    let _turn = match &replica {
        None => Some(FileLock::acquire(&project.place().state.join(TURN))?),
        Some(_) => None,
    };
    let folder = replica.as_ref().map_or_else(|| project.root().to_owned(), |it| it.folder.clone());
    let children = Children::of_tests(project)?;
    let limit = Duration::from_secs(project.configuration().values.session.test_timeout_seconds);
    let (run, output) = match set_up(project, (&children, &folder), limit, echo)? {
        Some(fault) => {
            let judged = Judged { faults: vec![fault], ..Judged::default() };
            return Ok(finding(Gate::Gate2, judged, replica.map(|it| it.tree.clone())));
        }
        None => run((&children, &folder), &command, limit, echo)?,
    };
    let (mut judged, leads_to) = testing::judge_run(&run, &result);
    by_other(&mut judged, Kind::TestResult, &result.created_by);
    if run.end != TestRunEnd::Passed {
        judged.evidence.extend(last_words(&output));
    }
    if matches!(run.end, TestRunEnd::NotRun(_)) {
        let path = children.path();
        judged.evidence.push(format!(
            "programs were looked for in {path}; others are named by a PATH in [session.test_env]"
        ));
    }
    judged.evidence.push(match &replica {
        Some(_) => "run at a copy of this content, with PATH, HOME and session.test_env".to_owned(),
        None => "run in the project's folder: without git there is no copy to run at".to_owned(),
    });
    if run.end.outcome() == result.execution.result && !matches!(run.end, TestRunEnd::NotRun(_)) {
        complete(project, subject, result, &run)?;
        judged.evidence.push("execution of test-result.yaml is Waypost's own".to_owned());
    }
    let tree = replica.map(|it| it.tree.clone());
    Ok(GateFinding { leads_to, ..finding(Gate::Gate2, judged, tree) })
}

/// The command that is configured, else the one that the project's build file says.
fn command_of(project: &Project) -> Result<String, EngineError> {
    if let Some(command) = project.configuration().values.session.test_command() {
        return Ok(command.to_owned());
    }
    let root = project.root().to_owned();
    let read = |name: &str| {
        let bytes = file::read_without_links(&root.join(name), BUILD_FILE_MAX).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let field = |name: &str, path: &[&str]| {
        let value: serde_json::Value = serde_json::from_str(&read(name)?).ok()?;
        let found = path.iter().try_fold(&value, |value, key| value.get(key))?;
        found.as_str().map(str::to_owned)
    };
    let message = match test_command::find(&read, &field) {
        KnownTests::Command { command, .. } => return Ok(command),
        KnownTests::Several(files) => {
            format!("tests may be run by several: {}", files.join(", "))
        }
        KnownTests::Unknown => "it is not known how the tests of this project are run".to_owned(),
    };
    let hint = "say so in waypost.toml: `[session]` with `test_command = \"…\"`";
    Err(Problem::new(Code::TestsUnknown, message).hint(hint).into())
}

fn replica_of(project: &Project, subject: &SubtaskSubject) -> Result<Option<Replica>, EngineError> {
    if project.place().repository().is_none() {
        return Ok(None);
    }
    let trees = worktrees::trees_of(project)?;
    Ok(tree::replicate(&trees, project.place(), subject.subtask.as_str())?)
}

/// Makes the copy ready by the project's own command; why it is not, if it is not.
fn set_up(
    project: &Project,
    (children, folder): (&Children, &Path),
    limit: Duration,
    echo: &mut dyn io::Write,
) -> Result<Option<String>, EngineError> {
    let setup = project.configuration().values.worktree.setup().map(str::to_owned);
    let Some(setup) = setup.filter(|_| folder != project.root()) else { return Ok(None) };
    match run((children, folder), &setup, limit, echo)?.0.end {
        TestRunEnd::Passed => Ok(None),
        TestRunEnd::Failed(how) | TestRunEnd::NotRun(how) => {
            Ok(Some(format!("the setup command `{setup}` did not pass: {how}")))
        }
        TestRunEnd::TimedOut(seconds) => {
            Ok(Some(format!("the setup command `{setup}` did not end within {seconds} seconds")))
        }
    }
}

/// Runs a command with a limit of time; all that it has started ends with it. And what it printed, the end of it.
fn run(
    (children, folder): (&Children, &Path),
    command: &str,
    limit: Duration,
    echo: &mut dyn io::Write,
) -> Result<(TestRun, String), EngineError> {
    let (check, ender) = Check::start_in_group(children, command, folder)?;
    let (said, heard) = mpsc::channel();
    // What outlives its group may hold the output open for ever; then only this thread waits for it.
    thread::spawn(move || {
        let mut voice = TestVoice(said.clone());
        let end = check.finish(&mut voice);
        let _gone = said.send(TestWords::Ended(Box::new(end)));
    });
    let (mut deadline, mut signals) = (after(limit), [Signal::TERM, Signal::KILL].into_iter());
    let mut is_late = false;
    let ended = loop {
        let is_unwanted = || children.stop().is_some_and(|it| it.load(Ordering::Acquire));
        if is_unwanted() {
            ender.signal(Signal::KILL);
            return Err(check::stopped(command));
        }
        let left = deadline.since(Clock.now());
        // Only where there is a caller who may stop it, it is looked for that.
        let wait = if children.stop().is_some() { left.min(STOP_INTERVAL) } else { left };
        match heard.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) if wait < left => {}
            Ok(TestWords::Words(words)) => {
                // A reader that has gone is no reason to stop the tests.
                let _unheard = echo.write_all(&words);
            }
            Ok(TestWords::Ended(end)) => break Some((*end)?),
            Err(RecvTimeoutError::Timeout) => {
                is_late = true;
                let Some(signal) = signals.next() else { break None };
                ender.signal(signal);
                deadline = after(GRACE);
            }
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    let command = command.to_owned();
    let output = ended.as_ref().map(|it| String::from_utf8_lossy(&it.output).into_owned());
    let output = output.unwrap_or_default();
    let summary = test_output::summary(&output);
    let end = match ended {
        _ if is_late => TestRunEnd::TimedOut(limit.as_secs()),
        Some(it) if it.passed => TestRunEnd::Passed,
        Some(it) => failed(&it),
        None => TestRunEnd::Failed("it is not known how it ended".to_owned()),
    };
    Ok((TestRun { command, end, summary }, output))
}

/// The end of what failed tests printed, for the agent that has to fix them.
fn last_words(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES_TOLD)..].join("\n");
    let start = last.len().saturating_sub(BYTES_TOLD);
    let start = (start..=last.len()).find(|at| last.is_char_boundary(*at)).unwrap_or(0);
    Some(last[start..].to_owned()).filter(|text| !text.is_empty())
}

fn after(span: Duration) -> Time {
    let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Time::from_millis(Clock.now().millis().saturating_add(span))
}

fn failed(result: &CheckResult) -> TestRunEnd {
    let code = result.outcome.rsplit(' ').next().and_then(|code| code.parse::<i32>().ok());
    match code.filter(|code| NO_PROGRAM.contains(code)) {
        Some(_) => {
            let said = String::from_utf8_lossy(&result.output);
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            TestRunEnd::NotRun(format!("{} ({})", last.trim(), result.outcome))
        }
        None => TestRunEnd::Failed(result.outcome.clone()),
    }
}

/// What the thread that reads has to say.
enum TestWords {
    Words(Vec<u8>),
    Ended(Box<Result<CheckResult, EngineError>>),
}

struct TestVoice(Sender<TestWords>);

impl io::Write for TestVoice {
    fn write(&mut self, words: &[u8]) -> io::Result<usize> {
        let _gone = self.0.send(TestWords::Words(words.to_vec()));
        Ok(words.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives a result what Waypost's own run has shown.
fn complete(
    project: &mut Project,
    subject: &SubtaskSubject,
    mut result: TestResult,
    run: &TestRun,
) -> Result<(), EngineError> {
    result.execution = TestExecution {
        command: Some(run.command.clone()),
        timestamp: Some(project.clock().now().into()),
        result: run.end.outcome(),
    };
    if let Some(summary) = run.summary {
        result.summary = summary;
    }
    let is_wrong = |it: &Diagnostic| it.severity == Severity::Error;
    if !result.check().iter().any(is_wrong) {
        let written = contracts::text(project, Kind::TestResult, &of_subtask(subject))?;
        let written = String::from_utf8(written.unwrap_or_default()).unwrap_or_default();
        let text = parse::with_fields(&written, &result, &["execution", "summary"]);
        let origin = PathBuf::from("the run of the tests");
        contracts::put(project, Kind::TestResult, &of_subtask(subject), text.as_bytes(), &origin)?;
    }
    Ok(())
}
