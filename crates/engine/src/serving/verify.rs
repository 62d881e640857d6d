//! The verification of a phase: Waypost's own checks first, then an agent in a conversation of its own,
//! which may read and change nothing. Both have to agree.

use super::{deliverables::DeliverableSurvey, order::PhaseOrder};
use crate::{
    agent::{self, Agent, HookSource, Job, JobOrder, Trouble, job_bounds},
    check::{Check, CheckEnder},
    children::Children,
    error::EngineError,
    guest::Waits,
    project::Project,
    threaded::Threaded,
};
use rustix::process::Signal as ProcessSignal;
use serde_json::Value;
use std::{
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use waypost_agent::{
    launch::{Access, Prompts},
    protocol::Signal,
};
use waypost_git::workspace::Workspace;
use waypost_model::{
    document::ServerTaskId,
    inbox::{DIFF_BYTES_MAX, ReviewedDiff, VerificationFinding},
    run::Usage,
    task::{Command, TaskReport, UnverifiedWork},
    text::{cut, one_line},
    time::Time,
};
use waypost_redact::{Form, Searcher, Secret, Sieve};

/// How much of what a command printed is told.
const OUTPUT_LENGTH_MAX: usize = 600;

/// How many findings an agent may have; what comes behind is a list, not a finding.
const FINDINGS_MAX: usize = 50;

/// A finding is a sentence or two.
const FINDING_LENGTH_MAX: usize = 1_000;

/// What is verified.
pub(super) struct Verified<'a> {
    pub(super) id: &'a ServerTaskId,
    pub(super) claim: u32,
    pub(super) order: PhaseOrder,
    pub(super) workspace: PathBuf,
    /// The commit that is verified, in the workspace as git sees it, and the one of the phase before.
    pub(super) commit: Option<String>,
    pub(super) since: Option<String>,
    pub(super) repository: Workspace,
    /// Who is asked; none: only Waypost's own checks are made.
    pub(super) verifier: Option<Agent>,
    /// How long a person has to decide where it does not hold for good.
    pub(super) escalation_timeout: Option<Duration>,
    /// What a person has given to the task: none of it is in what a verification tells.
    pub(super) values: Vec<Secret>,
    pub(super) keeper: &'a [OsString],
}

/// A verification under way.
pub(super) struct Verification {
    pub(super) claim: u32,
    id: ServerTaskId,
    order: PhaseOrder,
    workspace: PathBuf,
    commit: Option<String>,
    verifier: Option<Agent>,
    escalation_timeout: Option<Duration>,
    values: Vec<Secret>,
    clean: Cleaner,
    keeper: Vec<OsString>,
    ender: Arc<Mutex<Option<CheckEnder>>>,
    stage: VerificationStage,
}

enum VerificationStage {
    Checked(Threaded<OwnChecks>),
    Judged { job: Box<Job>, own: OwnChecks },
    Over,
}

/// What Waypost itself has found, and what has changed.
#[derive(Debug, Default)]
struct OwnChecks {
    report: TaskReport,
    diff: Option<ReviewedDiff>,
}

impl Verification {
    pub(super) fn begin(project: &Project, what: Verified<'_>) -> Result<Self, EngineError> {
        let Verified { id, claim, order, workspace, commit, since, repository, .. } = what;
        let (verifier, escalation_timeout, keeper) =
            (what.verifier, what.escalation_timeout, what.keeper);
        let values = what.values;
        let clean = Cleaner::of(&values);
        let children = Children::of_agent(project, &workspace);
        let ender = Arc::<Mutex<Option<CheckEnder>>>::default();
        let (own_order, folder, own_ender) = (order.clone(), workspace.clone(), Arc::clone(&ender));
        let (head, own_clean) = (commit.clone(), clean.clone());
        let checks = Threaded::begin(move || OwnChecks {
            report: checked((&own_order, &folder), &children, &own_ender, &own_clean),
            diff: head.and_then(|head| changes(&repository, since.as_deref(), &head, &own_clean)),
        })?;
        let (id, keeper) = (id.clone(), keeper.to_vec());
        let stage = VerificationStage::Checked(checks);
        Ok(Self {
            claim,
            id,
            order,
            workspace,
            commit,
            verifier,
            escalation_timeout,
            values,
            clean,
            keeper,
            ender,
            stage,
        })
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        match &self.stage {
            VerificationStage::Checked(checks) => checks.waits(waits),
            VerificationStage::Judged { job, .. } => job.waits(waits),
            VerificationStage::Over => {}
        }
    }

    /// It is not wanted any more.
    pub(super) fn halt(&mut self) -> Result<(), EngineError> {
        let ender = self.ender.lock().unwrap_or_else(PoisonError::into_inner);
        ender.iter().for_each(|ender| ender.signal(ProcessSignal::KILL));
        match &mut self.stage {
            VerificationStage::Judged { job, .. } => job.halt(),
            VerificationStage::Checked(_) | VerificationStage::Over => Ok(()),
        }
    }

    /// Goes on with it. What it came to, once that is known.
    pub(super) fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Option<Command>, EngineError> {
        if let VerificationStage::Checked(checks) = &mut self.stage {
            let Some(own) = checks.take()? else { return Ok(None) };
            // What fails plainly needs no agent to see it.
            match self.verifier.clone().filter(|_| own.report.findings.is_empty()) {
                Some(verifier) => {
                    let job = Job::begin(project, &self.keeper, self.job_order(project, verifier))?;
                    self.stage = VerificationStage::Judged { job: Box::new(job), own };
                }
                None => return Ok(Some(self.over(own, Usage::default()))),
            }
        }
        self.attend_agent(project, now)
    }

    fn attend_agent(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Option<Command>, EngineError> {
        let VerificationStage::Judged { job, own } = &mut self.stage else { return Ok(None) };
        job.look(project, now)?;
        if let Some(end) = job.over().cloned() {
            let (said, usage) = (&end.ended.heard, end.usage);
            let verdict = said.signals.iter().rev().find_map(|signal| match signal {
                Signal::Verification(value) => Some(value.clone()),
                _ => None,
            });
            let trouble = end.trouble(&job.order.name, now);
            return match (verdict, trouble) {
                (Some(value), None | Some(Trouble::Failed { .. })) => {
                    let mut own = std::mem::take(own);
                    own.report = judged(own.report, &value, &self.clean);
                    Ok(Some(self.over(own, usage)))
                }
                // It is begun again in its conversation when its account can be used.
                (_, Some(Trouble::Parked(_) | Trouble::Interrupted)) => {
                    self.stage = VerificationStage::Over;
                    Ok(None)
                }
                (None, trouble) => {
                    let why = match trouble {
                        Some(Trouble::Failed { text, .. }) => text,
                        _ => "it gave no === VERIFICATION_RESULT ===".to_owned(),
                    };
                    let why = self.clean.text(&why);
                    let why = format!("the verification's agent did not answer: {why}");
                    let OwnChecks { report, diff } = std::mem::take(own);
                    let seen = UnverifiedWork { report, commit: self.commit.clone(), diff };
                    self.stage = VerificationStage::Over;
                    Ok(Some(Command::GiveUpVerifying {
                        claim: self.claim,
                        why,
                        seen: Box::new(seen),
                        escalation_timeout: self.escalation_timeout,
                    }))
                }
            };
        }
        job.refuse_all("a verification changes nothing");
        if let Some(life) = job.life()
            && life.heard().end.is_some()
        {
            life.dismiss(now);
        }
        job.attend(now)?;
        Ok(None)
    }

    /// Whether nothing of it is under way, and no result came of it: it has to be begun again.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, VerificationStage::Over)
    }

    /// What came of it is recorded.
    pub(super) fn forget(project: &mut Project, id: &ServerTaskId) -> Result<(), EngineError> {
        Job::forget_named(project, &job_name(id))
    }

    fn over(&mut self, own: OwnChecks, usage: Usage) -> Command {
        self.stage = VerificationStage::Over;
        Command::Verify {
            claim: self.claim,
            report: own.report,
            usage,
            commit: self.commit.clone(),
            diff: own.diff,
            escalation_timeout: self.escalation_timeout,
        }
    }

    fn job_order(&self, project: &Project, agent: Agent) -> JobOrder {
        let message = self.message();
        JobOrder {
            name: job_name(&self.id),
            key: format!("claim {}", self.claim),
            agent,
            access: Access::Read,
            prompts: Prompts::Refused,
            hook: HookSource::Given,
            schema: None,
            folder: Some(self.workspace.clone()),
            // Its own project is open to an agent that works in another one.
            more_folders: vec![project.root().to_owned()],
            environment: None,
            secrets: self.values.clone(),
            attempt: self.claim,
            again: format!("Your verification was interrupted. Go on.\n\n{message}"),
            message,
            bounds: job_bounds(&project.setup),
        }
    }

    fn message(&self) -> String {
        let (number, name) = (self.order.number, self.order.name());
        let steps = self.order.phase().map(|phase| phase.steps.as_slice()).unwrap_or_default();
        let mut text = format!(
            "TASK_ID: {}.{number}.verification\nWORKTREE: {}\n\n# Verify phase {number}: {name}\n\n\
             Another agent says that this phase is complete. Look at what is there, change nothing, \
             and judge whether it holds.\n",
            self.id,
            self.workspace.display()
        );
        for path in steps.iter().map(|step| &step.deliverable) {
            let _infallible = writeln!(text, "- deliverable: {path}");
        }
        for criterion in self.order.criteria() {
            let _infallible = writeln!(text, "- criterion: {criterion}");
        }
        text.push_str(
            "\nEnd with these lines, outside of a code block; `findings` are sentences that the \
             other agent can act on, empty where it holds:\n\n=== VERIFICATION_RESULT ===\n\
             {\"passed\": true, \"findings\": []}\n",
        );
        text
    }
}

fn job_name(id: &ServerTaskId) -> String {
    format!("verify-{id}")
}

/// Takes values that were given to a task out of texts that are recorded and told.
#[derive(Clone)]
struct Cleaner(Arc<Searcher>);

impl Cleaner {
    fn of(values: &[Secret]) -> Self {
        Self(Arc::new(Searcher::of(values.iter().map(Secret::expose))))
    }

    fn text(&self, text: &str) -> String {
        let mut sieve = Sieve::new(Arc::clone(&self.0), Form::Text);
        let mut kept = Vec::with_capacity(text.len());
        sieve.push(text.as_bytes(), |bytes| kept.extend(bytes));
        sieve.finish(|bytes| kept.extend(bytes));
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// Waypost's own checks.
fn checked(
    (order, workspace): (&PhaseOrder, &Path),
    children: &Children,
    ender: &Mutex<Option<CheckEnder>>,
    clean: &Cleaner,
) -> TaskReport {
    let DeliverableSurvey { files, mut findings, .. } = DeliverableSurvey::of(order, workspace);
    for command in order.commands() {
        let Ok((check, handle)) = Check::start_in_group(children, command, workspace) else {
            findings.push(finding(format!("`{command}` cannot be run")));
            continue;
        };
        *ender.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        match check.finish(&mut std::io::sink()) {
            Ok(result) if result.passed => {}
            Ok(result) => {
                // Before it is cut: half a value is none that is known.
                let output = clean.text(&String::from_utf8_lossy(&result.output));
                let said = last_part(output.trim(), OUTPUT_LENGTH_MAX);
                findings.push(finding(format!("`{command}` failed ({}): {said}", result.outcome)));
            }
            Err(error) => findings.push(finding(format!("`{command}` cannot be run: {error}"))),
        }
    }
    let is_passed = findings.is_empty();
    TaskReport { is_passed, findings, deliverables: files }
}

/// Something that stands against the phase as a whole.
fn finding(text: String) -> VerificationFinding {
    VerificationFinding { is_blocking: true, text, file: None, line: None }
}

/// What has changed since the phase before, for the person who reviews it.
fn changes(
    repository: &Workspace,
    since: Option<&str>,
    head: &str,
    clean: &Cleaner,
) -> Option<ReviewedDiff> {
    let whole = clean.text(&repository.diff(since, head).ok()?);
    let count = |start: &str, header: &str| {
        let lines =
            whole.lines().filter(|line| line.starts_with(start) && !line.starts_with(header));
        u32::try_from(lines.count()).unwrap_or(u32::MAX)
    };
    let files = whole.lines().filter(|line| line.starts_with("diff --git ")).count();
    let mut text = whole.clone();
    let is_cut = cut(&mut text, DIFF_BYTES_MAX);
    Some(ReviewedDiff {
        folder: repository.folder.to_string_lossy().into_owned(),
        base: since.unwrap_or_default().to_owned(),
        head: head.to_owned(),
        files: u32::try_from(files).unwrap_or(u32::MAX),
        added: count("+", "+++ "),
        removed: count("-", "--- "),
        text,
        is_cut,
    })
}

/// Adds what the verification's agent found. Only a plain yes is one.
fn judged(mut report: TaskReport, value: &Value, clean: &Cleaner) -> TaskReport {
    let word = ["passed", "status", "result", "verdict"].iter().find_map(|key| value.get(key));
    let is_passed = match word {
        Some(Value::Bool(passed)) => *passed,
        Some(Value::String(word)) => {
            matches!(word.to_ascii_lowercase().as_str(), "passed" | "pass" | "ok" | "approved")
        }
        _ => false,
    };
    let listed =
        ["findings", "issues", "problems"].iter().find_map(|key| value.get(key)?.as_array());
    let found = listed.into_iter().flatten().take(FINDINGS_MAX);
    let findings = found.map(|finding| {
        let field = |key: &str| finding.get(key).and_then(Value::as_str).map(str::to_owned);
        let text = finding.as_str().map(str::to_owned);
        let text = text.or_else(|| field("text")).or_else(|| field("message"));
        let text = clean.text(&text.unwrap_or_else(|| finding.to_string()));
        let text = one_line(&text, FINDING_LENGTH_MAX);
        let line = finding.get("line").and_then(Value::as_u64);
        let line = line.and_then(|line| u32::try_from(line).ok());
        VerificationFinding { is_blocking: !is_passed, text, file: field("file"), line }
    });
    report.findings.extend(findings);
    if !is_passed && report.findings.is_empty() {
        let text = "the verification does not hold, and does not say why";
        report.findings.push(finding(text.to_owned()));
    }
    report.is_passed &= is_passed;
    report
}

fn last_part(text: &str, length: usize) -> String {
    let skipped = text.chars().count().saturating_sub(length);
    text.chars().skip(skipped).collect()
}

/// Who verifies: the configured verifier, else the agent that works on the task.
pub(super) fn verifier(project: &Project, own: &Agent) -> Result<Agent, EngineError> {
    match project.configuration().values.task.verifier.trim() {
        "" => Ok(own.clone()),
        name => agent::named(&project.setup, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_have_to_agree_and_only_a_plain_yes_is_one() {
        let own = |findings: &[&str]| TaskReport {
            is_passed: findings.is_empty(),
            findings: findings.iter().map(|it| finding((*it).to_owned())).collect(),
            deliverables: Vec::new(),
        };
        let check = |own: TaskReport, value: Value, want: (bool, &[&str])| {
            let found = judged(own, &value, &Cleaner::of(&[]));
            let findings: Vec<&str> = found.findings.iter().map(|it| it.text.as_str()).collect();
            assert_eq!((found.is_passed, findings.as_slice()), want, "{value}");
        };
        check(own(&[]), json!({"passed": true, "findings": []}), (true, &[]));
        check(own(&[]), json!({"status": "PASSED"}), (true, &[]));
        check(own(&["short"]), json!({"passed": true}), (false, &["short"]));
        check(own(&[]), json!({"passed": false, "findings": ["no test"]}), (false, &["no test"]));
        let silent = "the verification does not hold, and does not say why";
        for value in [json!({}), json!([true]), json!({"passed": "maybe"}), json!({"passed": 1})] {
            check(own(&[]), value, (false, &[silent]));
        }
        let clean = Cleaner::of(&["canary-value-0815".into()]);
        let found = judged(own(&[]), &json!({"findings": ["canary-value-0815 is bad"]}), &clean);
        assert_eq!(found.findings[0].text, "[redacted] is bad");
        // What is found does not stop a yes, but is told.
        check(own(&[]), json!({"passed": true, "issues": ["a nit"]}), (true, &["a nit"]));
    }
}
