//! The script as it is written, and its checks.
//!
//! Plain structs with optional fields, because serde gives the place of an unknown field only for
//! these, not for tagged enums.

use super::{AgentScript, Attempt, Condition, Crash, Faults, Spent, Step, Trouble, busy};
use crate::source::{self, Checked};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;
use waypost_model::diagnostic::Diagnostic;

/// More than any reader keeps; a larger flood only fills the disk.
const FLOOD_BYTES_MAX: u64 = 1 << 30;

/// A year; a limit that ends later is a slip of the pen.
const RESETS_S_MAX: u64 = 366 * 24 * 60 * 60;

/// Beyond this a cost is a slip of the pen, and sums stay exact below.
const COST_USD_MAX: f64 = 1_000_000.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAgentScript {
    version: u64,
    default: Option<Vec<RawAttempt>>,
    #[serde(default)]
    tasks: BTreeMap<String, Vec<RawAttempt>>,
    faults: Option<RawFaults>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAttempt {
    steps: Vec<RawStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFaults {
    percent: u64,
    #[serde(default)]
    seed: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    say: Option<String>,
    tool: Option<String>,
    input: Option<String>,
    write: Option<RawWrite>,
    run: Option<String>,
    permission: Option<RawPermission>,
    question: Option<RawQuestion>,
    when: Option<RawCondition>,
    then: Option<Vec<Self>>,
    #[serde(rename = "else")]
    otherwise: Option<Vec<Self>>,
    wait_ms: Option<u64>,
    crash: Option<Value>,
    hang: Option<Value>,
    flood: Option<u64>,
    garbage: Option<bool>,
    hook: Option<String>,
    limit: Option<RawLimit>,
    unavailable: Option<String>,
    usage: Option<RawUsage>,
    spend: Option<RawUsage>,
    turn_end: Option<bool>,
    fail: Option<String>,
    done: Option<String>,
    exit: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWrite {
    file: String,
    text: String,
    #[serde(default)]
    append: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPermission {
    tool: String,
    #[serde(default)]
    input: String,
    #[serde(rename = "else")]
    otherwise: Option<Vec<RawStep>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuestion {
    text: String,
    #[serde(default)]
    choices: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCondition {
    file: Option<String>,
    variable: Option<String>,
    told: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimit {
    resets_in_s: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUsage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cost_usd: f64,
}

impl RawAgentScript {
    pub(super) fn settle(self) -> Result<AgentScript, Vec<Diagnostic>> {
        let mut findings = Vec::new();
        source::check_version(self.version, &mut findings);
        let faults = self
            .faults
            .map_or_else(Faults::default, |raw| Faults { percent: raw.percent, seed: raw.seed });
        if faults.percent > 100 {
            let message = format!("{} percent is more than all", faults.percent);
            let finding = Diagnostic::error("bad_percent", message).path("faults.percent");
            findings.push(finding.expected("0 to 100"));
        }
        let default = match self.default {
            Some(attempts) => settle_attempts(attempts, "default", &mut findings),
            None => vec![busy()],
        };
        let tasks = self.tasks.into_iter().map(|(task, attempts)| {
            let attempts = settle_attempts(attempts, &format!("tasks.{task}"), &mut findings);
            (task, attempts)
        });
        let tasks = tasks.collect();
        if findings.is_empty() { Ok(AgentScript { default, tasks, faults }) } else { Err(findings) }
    }
}

fn settle_attempts(
    raw: Vec<RawAttempt>,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) -> Vec<Attempt> {
    if raw.is_empty() {
        let finding = Diagnostic::error("no_attempts", "there is no attempt").path(path);
        findings.push(finding.hint("write at least one: {\"steps\": [{\"done\": \"did it\"}]}"));
    }
    let mut attempts = Vec::new();
    for (index, attempt) in raw.into_iter().enumerate() {
        let path = format!("{path}[{index}].steps");
        if attempt.steps.is_empty() {
            let finding = Diagnostic::error("no_steps", "the agent does nothing").path(&path);
            findings.push(finding.hint("end with a step such as {\"done\": \"did it\"}"));
        }
        attempts.push(settle_steps(attempt.steps, &path, findings));
    }
    attempts
}

fn settle_steps(raw: Vec<RawStep>, path: &str, findings: &mut Vec<Diagnostic>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (index, step) in raw.into_iter().enumerate() {
        let path = format!("{path}[{index}]");
        match step.settle(&path, findings) {
            Ok(step) => steps.push(step),
            Err(finding) => findings.push(*finding),
        }
    }
    steps
}

impl RawStep {
    /// The one step that is written here.
    fn settle(self, path: &str, findings: &mut Vec<Diagnostic>) -> Checked<Step> {
        let has_stray_input = self.input.is_some() && self.tool.is_none()
            || (self.then.is_some() || self.otherwise.is_some()) && self.when.is_none();
        let branches = (self.then, self.otherwise);
        let input = self.input.unwrap_or_default();
        let is_set = |value: Option<bool>| value.filter(|is_set| *is_set);
        let mut found = [
            self.say.map(|text| Ok(Step::Say(text))),
            self.tool.map(|name| tool(name, input, path)),
            self.write.map(|raw| write(raw, path)),
            self.run.map(|command| Ok(Step::Run(command))),
            self.permission.map(|raw| permission(raw, path, findings)),
            self.question.map(|raw| question(raw, path)),
            self.when.map(|raw| when(raw, branches, path, findings)),
            self.wait_ms.map(|wait| wait_ms(wait, path)),
            self.crash.map(|raw| crash(&raw, path)),
            self.hang.map(|raw| hang(&raw, path)),
            self.flood.map(|bytes| flood(bytes, path)),
            is_set(self.garbage).map(|_| Ok(Step::Garbage)),
            self.hook.map(|word| hook(&word, path)),
            self.limit.map(|raw| limit(&raw, path)),
            self.unavailable.map(|word| unavailable(&word, path)),
            self.usage.map(|raw| Ok(Step::Usage(usage(&raw, &format!("{path}.usage"))?))),
            self.spend.map(|raw| Ok(Step::Spend(usage(&raw, &format!("{path}.spend"))?))),
            is_set(self.turn_end).map(|_| Ok(Step::TurnEnd)),
            self.fail.map(|reason| Ok(Step::Fail(reason))),
            self.done.map(|text| Ok(Step::Done(text))),
            self.exit.map(|code| Ok(Step::Exit(code))),
        ]
        .into_iter()
        .flatten();
        match (found.next(), found.next()) {
            (Some(step), None) if !has_stray_input => step,
            _ => Err(bad_step(path)),
        }
    }
}

fn bad_step(path: &str) -> Box<Diagnostic> {
    let finding = Diagnostic::error("bad_step", "a step does exactly one thing").path(path);
    Box::new(finding.expected(
        "one of say, tool (with input), write, run, permission, question, when (with then and else), wait_ms, crash, hang, \
         flood, garbage, hook, limit, unavailable, usage, spend, turn_end, fail, done, exit",
    ))
}

fn bad_value<T>(path: String, message: &str, expected: &str) -> Checked<T> {
    let finding = Diagnostic::error("bad_value", message).path(path);
    Err(Box::new(finding.expected(expected)))
}

fn tool(name: String, input: String, path: &str) -> Checked<Step> {
    if name.is_empty() {
        return bad_value(format!("{path}.tool"), "the tool has no name", "a name such as Read");
    }
    Ok(Step::Tool { name, input })
}

fn write(raw: RawWrite, path: &str) -> Checked<Step> {
    if !is_below(Path::new(&raw.file)) {
        let message = "the file is not below the working folder";
        return bad_value(format!("{path}.write.file"), message, "a path such as src/a.txt");
    }
    Ok(Step::Write { file: raw.file, text: raw.text, is_appended: raw.append })
}

/// Whether a path stays in the folder that it is seen from.
pub(in crate::agent) fn is_below(path: &Path) -> bool {
    let mut parts = path.components();
    path.file_name().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn permission(raw: RawPermission, path: &str, findings: &mut Vec<Diagnostic>) -> Checked<Step> {
    if raw.tool.is_empty() {
        let path = format!("{path}.permission.tool");
        return bad_value(path, "the tool has no name", "a name such as Bash");
    }
    let path = format!("{path}.permission.else");
    let otherwise = raw.otherwise.map(|steps| settle_steps(steps, &path, findings));
    Ok(Step::Permission { tool: raw.tool, input: raw.input, otherwise })
}

fn question(raw: RawQuestion, path: &str) -> Checked<Step> {
    if raw.text.trim().is_empty() {
        let path = format!("{path}.question.text");
        return bad_value(path, "nothing is asked", "a question");
    }
    if raw.choices.len() == 1 {
        let path = format!("{path}.question.choices");
        return bad_value(path, "one choice is none", "two or more, or none for a free answer");
    }
    Ok(Step::Question { text: raw.text, choices: raw.choices })
}

fn when(
    raw: RawCondition,
    (then, otherwise): (Option<Vec<RawStep>>, Option<Vec<RawStep>>),
    path: &str,
    findings: &mut Vec<Diagnostic>,
) -> Checked<Step> {
    let condition = match raw {
        RawCondition { file: Some(file), variable: None, told: None }
            if is_below(Path::new(&file)) =>
        {
            Condition::File(file)
        }
        RawCondition { file: None, variable: Some(name), told: None } => Condition::Variable(name),
        RawCondition { file: None, variable: None, told: Some(text) } => Condition::Told(text),
        _ => {
            let expected = "one of file (below the working folder), variable, told";
            return bad_value(format!("{path}.when"), "that is no condition", expected);
        }
    };
    let mut settle = |steps: Option<Vec<RawStep>>, word: &str| {
        settle_steps(steps.unwrap_or_default(), &format!("{path}.{word}"), findings)
    };
    let (then, otherwise) = (settle(then, "then"), settle(otherwise, "else"));
    Ok(Step::When { condition, then, otherwise })
}

fn wait_ms(wait: u64, path: &str) -> Checked<Step> {
    let wait = source::check_delay(wait, &format!("{path}.wait_ms"))?;
    Ok(Step::Wait(Duration::from_millis(wait)))
}

fn crash(raw: &Value, path: &str) -> Checked<Step> {
    let code = raw.as_u64().and_then(|code| u8::try_from(code).ok());
    match (raw.as_str(), code) {
        (Some("SIGKILL"), _) => Ok(Step::Crash(Crash::Kill)),
        (None, Some(code)) => Ok(Step::Crash(Crash::Code(code))),
        _ => bad_value(format!("{path}.crash"), "nothing crashes so", "0 to 255, or \"SIGKILL\""),
    }
}

fn hang(raw: &Value, path: &str) -> Checked<Step> {
    match (raw.as_bool(), raw.as_str()) {
        (Some(true), _) => Ok(Step::Hang { is_deaf: false }),
        (_, Some("deaf")) => Ok(Step::Hang { is_deaf: true }),
        _ => bad_value(format!("{path}.hang"), "nothing hangs so", "true, or \"deaf\""),
    }
}

fn flood(bytes: u64, path: &str) -> Checked<Step> {
    if bytes > FLOOD_BYTES_MAX {
        let expected = format!("at most {FLOOD_BYTES_MAX}");
        return bad_value(format!("{path}.flood"), "that is too much", &expected);
    }
    Ok(Step::Flood(bytes))
}

fn limit(raw: &RawLimit, path: &str) -> Checked<Step> {
    if raw.resets_in_s > RESETS_S_MAX {
        let (path, expected) = (format!("{path}.limit.resets_in_s"), "at most a year, in seconds");
        return bad_value(path, "the limit ends too late", expected);
    }
    Ok(Step::Limit { resets_in: Duration::from_secs(raw.resets_in_s) })
}

fn hook(word: &str, path: &str) -> Checked<Step> {
    match word {
        "off" => Ok(Step::HookOff),
        _ => bad_value(format!("{path}.hook"), "a hook can only be switched off", "\"off\""),
    }
}

fn unavailable(word: &str, path: &str) -> Checked<Step> {
    Ok(Step::Unavailable(match word {
        "outage" => Trouble::Outage,
        "sign_in" => Trouble::SignIn,
        "credit" => Trouble::Credit,
        _ => {
            let (path, expected) = (format!("{path}.unavailable"), "outage, sign_in or credit");
            return bad_value(path, "no service is unavailable so", expected);
        }
    }))
}

fn usage(raw: &RawUsage, path: &str) -> Checked<Spent> {
    if !(0.0..=COST_USD_MAX).contains(&raw.cost_usd) {
        let (path, expected) = (format!("{path}.cost_usd"), "0 to 1000000");
        return bad_value(path, "that is no cost", expected);
    }
    // Positive and far below the largest number, so nothing is lost but fractions of a millionth.
    let cost_micros = (raw.cost_usd * 1e6).round() as u64;
    Ok(Spent { input: raw.input, output: raw.output, cost_micros })
}
