//! What can be configured: the keys of `waypost.toml`, strict, with their defaults.

mod agent;
mod notify;
mod retention;
mod role;
mod session;
mod task;
mod wall;
mod worktree;

pub use agent::{AgentAccess, AgentConfig, PROGRAM_KEYS};
pub use notify::{NotifyConfig, PERSONAL_KEYS, REDACTED, SECRET_KEYS, WebhookConfig, reference};
pub use retention::RetentionConfig;
pub use role::RoleConfig;
pub use session::SessionConfig;
pub use task::{PauseConfig, ProtocolConfig, TaskConfig};
pub use wall::{McpServerConfig, WALL_KEYS, WallConfig, WallLevel};
pub use worktree::WorktreeConfig;

use crate::{
    diagnostic::Diagnostic,
    document::{Document, Kind},
    run::{Budget, Isolation, Mode, Settings},
    workflow::{GateName, Requirement, RightsSettings},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest `run.tasks_max_mb`: what is larger could be read, and its boxes could not be ticked.
const TASKS_MAX_MB: u64 = 64;

/// More dollars than a person means.
const MONEY_MAX: f64 = 1_000_000.0;

/// The configuration of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How a feature is held at its gates.
    pub workflow: WorkflowConfig,
    /// How tasks are worked on.
    pub run: RunConfig,
    /// Tasks of the server.
    pub task: TaskConfig,
    /// How agents of tasks say how they stand.
    pub protocol: ProtocolConfig,
    /// What becomes of the process of an agent that is paused.
    pub pause: PauseConfig,
    /// The gates of sessions.
    pub session: SessionConfig,
    /// Who plays which part in a session, by the role's name.
    pub roles: BTreeMap<String, RoleConfig>,
    /// The work trees in which they are worked on.
    pub worktree: WorktreeConfig,
    /// How much is kept of what piles up.
    pub retention: RetentionConfig,
    /// The programs that work on them, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// What a person is told who is not looking, and where.
    pub notify: NotifyConfig,
    /// What the system lets an agent's processes do.
    pub wall: WallConfig,
}

/// `[workflow]`: how a feature is held at its gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkflowConfig {
    /// How often a checkpoint is tried before it escalates.
    pub max_iterations: u32,
    /// Refuse commits and writes outside `design_paths` in DESIGN and REVIEW from the start.
    pub strict: bool,
    /// Free pushes of branches other than the default one in IMPLEMENT.
    pub push_early: bool,
    /// What may be written in DESIGN and REVIEW once those are closed ground.
    pub design_paths: Vec<String>,
    /// Tools of other makers (MCP) that write files, by their full names.
    pub writing_tools: Vec<String>,
    /// Tools of other makers (MCP) that no gate is about, by their full names; `*` at the end stands
    /// for any rest. All others that do not plainly read are refused while something is closed.
    pub free_tools: Vec<String>,
    /// Tell an agent once that a checkpoint is open when it wants to stop.
    pub hold_stop: bool,
    /// What each gate needs.
    pub gates: GatesConfig,
}

/// `[workflow.gates]`: what each gate needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GatesConfig {
    /// REVIEW to IMPLEMENT.
    pub review_clean_pass: GateConfig,
    /// IMPLEMENT to PR.
    pub architect_verified: GateConfig,
    /// Commits, pushes and pull requests in PR.
    pub re_review_clean: GateConfig,
}

/// What one gate needs; with nothing set, a report is enough for the first two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateConfig {
    /// A command that Waypost runs itself and that has to end with 0; empty: none.
    pub check: String,
    /// A review that Waypost has made.
    pub review: bool,
    /// A person's confirmation.
    pub human: bool,
}

/// `[run]`: how tasks are worked on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// What happens between tasks and phases: normal, ultra-thin or ralph.
    pub mode: Mode,
    /// How many tasks may be in progress at once; 0 is no limit but the machine's: 64 commands for
    /// each processor, and as many agents as `max_agents` says.
    pub max_parallel: u32,
    /// Retries after a task's first try.
    pub retry_limit: u32,
    /// Passes over one task in ralph mode.
    pub max_iterations: u32,
    /// Ends a task early when the same error comes up this often in a row; 0 is never.
    pub same_error_limit: u32,
    /// Who works on tasks that name no agent and have no command; empty: no agent.
    pub agent: String,
    /// How many model agents may work at once on this machine, whatever project they work for.
    pub max_agents: u32,
    /// What all model agents of a run may spend, in dollars; 0 is undecided.
    pub budget_usd: f64,
    /// What those of one phase may spend, in dollars; 0 is no limit.
    pub phase_budget_usd: f64,
    /// What all model agents may spend on one day (in UTC) for one project, whatever they work on, in
    /// dollars; 0 is no limit. Only from a person's own configuration.
    pub day_budget_usd: f64,
    /// What those of one task may spend unless it says so itself, in dollars; 0 is no limit.
    pub task_budget_usd: f64,
    /// How long an attempt of a model agent may take, in seconds; 0 is no limit.
    pub timeout_seconds: u64,
    /// How long a model agent may say nothing, in seconds; 0 is no limit.
    pub stall_seconds: u64,
    /// How long a model agent goes on without an engine, in seconds that the machine is awake; 0: it
    /// ends with its engine. The next engine goes on in its conversation. Commands go on.
    pub unattended_seconds: u64,
    /// How long running tasks have to finish after SIGTERM or `run stop`, in seconds.
    pub stop_grace_seconds: u64,
    /// The line by which an agent says in ralph mode that its task is complete.
    pub completion_promise: String,
    /// Who reviews for `waypost develop review`, and who works for `waypost develop ralph`; empty:
    /// as `agent`.
    pub reviewer: String,
    /// Variables of the environment that tasks get beside the usual harmless ones.
    pub environment: Vec<String>,
    /// Where tasks are worked on: auto, none, phase or task. Auto is task for a run with model
    /// agents in a git repository, else none.
    pub isolation: IsolationChoice,
    /// What has to pass in a phase's work tree before its work is merged.
    pub checks: Vec<String>,
    /// The largest TASKS.md that is read, in MiB: 1 to 64.
    pub tasks_max_mb: u64,
    /// A Slack webhook, or `env:NAME` to take it from the environment; empty: none. Not from the
    /// project's file: see `[notify]`.
    pub slack_webhook_url: String,
}

/// Where tasks are worked on, if that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IsolationChoice {
    /// As the tasks need it.
    #[default]
    Auto,
    /// In the project folder itself.
    None,
    /// In one work tree per phase.
    Phase,
    /// In a work tree per attempt.
    Task,
}

impl IsolationChoice {
    /// What was chosen; none is to be found out.
    pub fn stated(self) -> Option<Isolation> {
        match self {
            Self::Auto => None,
            Self::None => Some(Isolation::None),
            Self::Phase => Some(Isolation::Phase),
            Self::Task => Some(Isolation::Task),
        }
    }
}

impl Default for WorkflowConfig {
    fn default() -> Self {
        Self {
            max_iterations: 3,
            strict: false,
            push_early: false,
            design_paths: vec!["docs/**".into(), "*.md".into()],
            writing_tools: Vec::new(),
            free_tools: Vec::new(),
            hold_stop: true,
            gates: GatesConfig::default(),
        }
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            mode: settings.mode,
            max_parallel: settings.max_parallel,
            retry_limit: settings.retry_limit,
            max_iterations: settings.max_iterations,
            same_error_limit: settings.same_error_limit,
            agent: String::new(),
            max_agents: 4,
            budget_usd: 0.0,
            phase_budget_usd: 0.0,
            day_budget_usd: 0.0,
            task_budget_usd: 0.0,
            timeout_seconds: 0,
            stall_seconds: 1_800,
            unattended_seconds: 600,
            stop_grace_seconds: 30,
            completion_promise: "TASK_DONE".to_owned(),
            reviewer: String::new(),
            environment: Vec::new(),
            isolation: IsolationChoice::Auto,
            checks: Vec::new(),
            // 100,000 tasks with a paragraph each fit; what is longer is rarely a task list.
            tasks_max_mb: 10,
            slack_webhook_url: String::new(),
        }
    }
}

impl Document for Config {
    const KIND: Kind = Kind::Config;

    /// Findings about values that are well typed but cannot work.
    fn check(&self) -> Vec<Diagnostic> {
        let at_least_one = [
            ("workflow.max_iterations", self.workflow.max_iterations),
            ("run.max_iterations", self.run.max_iterations),
            ("run.max_agents", self.run.max_agents),
        ];
        let out_of_range = |path: &str, expected: &str, value: String| {
            Diagnostic::error("out_of_range", format!("`{path}` is {value}"))
                .path(path)
                .expected(expected)
        };
        let zero = at_least_one.into_iter().filter(|(_, value)| *value == 0);
        let mut findings: Vec<Diagnostic> =
            zero.map(|(path, value)| out_of_range(path, "1 or more", value.to_string())).collect();
        let money = [
            ("run.budget_usd", self.run.budget_usd),
            ("run.phase_budget_usd", self.run.phase_budget_usd),
            ("run.day_budget_usd", self.run.day_budget_usd),
            ("run.task_budget_usd", self.run.task_budget_usd),
            ("task.budget_usd", self.task.budget_usd),
        ];
        let wrong = money.into_iter().filter(|(_, value)| !(0.0..=MONEY_MAX).contains(value));
        findings.extend(
            wrong.map(|(path, value)| out_of_range(path, "0 to 1000000", value.to_string())),
        );
        let size = self.run.tasks_max_mb;
        if !(1..=TASKS_MAX_MB).contains(&size) {
            findings.push(out_of_range("run.tasks_max_mb", "1 to 64", size.to_string()));
        }
        findings.extend(self.session.check());
        findings.extend(role::check(&self.roles));
        findings.extend(self.worktree.check());
        findings.extend(self.wall.check());
        findings.extend(self.agents.iter().flat_map(|(name, agent)| agent.check(name)));
        findings
    }
}

impl WorkflowConfig {
    pub fn requirement(&self, gate: GateName) -> Requirement {
        let gate = match gate {
            GateName::ReviewCleanPass => &self.gates.review_clean_pass,
            GateName::ArchitectVerified => &self.gates.architect_verified,
            GateName::ReReviewClean => &self.gates.re_review_clean,
        };
        let check = (!gate.check.trim().is_empty()).then(|| gate.check.clone());
        Requirement { check, review: gate.review, human: gate.human }
    }

    pub fn rights(&self) -> RightsSettings {
        RightsSettings { strict: self.strict, push_early: self.push_early }
    }
}

impl RunConfig {
    pub fn settings(&self) -> Settings {
        Settings {
            mode: self.mode,
            max_parallel: self.max_parallel,
            retry_limit: self.retry_limit,
            max_iterations: self.max_iterations,
            same_error_limit: self.same_error_limit,
            // Also where it is stated it is decided when the first agent or engine starts.
            isolation: Isolation::Undecided,
            target: None,
            slack_webhook_url: reference(&self.slack_webhook_url),
            agent: said(&self.agent),
            budget: match cents(self.budget_usd) {
                Some(cents) => Budget::Cents(cents),
                None => Budget::Unset,
            },
            completion_promise: said(&self.completion_promise),
        }
    }
}

/// A text that is not empty.
fn said(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Dollars in whole cents; none for 0. Values are checked to be in range.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a hundred million"
)]
pub fn cents(dollars: f64) -> Option<u64> {
    let cents = (dollars * 100.0).round().clamp(0.0, MONEY_MAX * 100.0) as u64;
    (cents > 0).then_some(cents)
}
