//! What a project is set up with, and what is found about files and programs, as data.

use crate::spelling::Step;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeMap, path::Path};
use waypost_agent::programs;
use waypost_engine::GateHealth;
use waypost_model::{config::AgentAccess, diagnostic::Diagnostic, document::ServerTaskId};

/// What was set up.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InitLine<'a> {
    pub(crate) root: &'a Path,
    /// The journal's folder.
    pub(crate) journal: &'a Path,
    pub(crate) made_journal: bool,
    /// What git ignores from now on.
    pub(crate) excluded: Vec<String>,
    pub(crate) agents: Vec<RegisteredAgent<'a>>,
    /// Where they were told of our server of tools (MCP).
    pub(crate) servers: Vec<RegisteredAgent<'a>>,
    /// Agent programs that are not installed.
    pub(crate) skipped: Vec<&'static str>,
    pub(crate) git_hooks: Vec<HookReport<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RegisteredAgent<'a> {
    pub(crate) agent: &'static str,
    pub(crate) file: &'a str,
    /// added, updated, unchanged or tracked.
    pub(crate) change: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookReport<'a> {
    pub(crate) hook: &'a str,
    pub(crate) file: &'a Path,
    /// added, updated or unchanged.
    pub(crate) change: &'static str,
    /// The hook that stood there before.
    pub(crate) earlier: Option<&'a Path>,
}

/// What was taken out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovedSetup<'a> {
    pub(crate) removed: Vec<RemovedFile<'a>>,
    /// The journal's folder, where it stays.
    pub(crate) journal: Option<&'a Path>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovedFile<'a> {
    pub(crate) file: &'a Path,
    /// cleaned, removed, restored, tracked or blocked.
    pub(crate) done: &'static str,
}

/// An agent that tasks can be given to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentReport<'a> {
    pub(crate) name: &'a str,
    pub(crate) adapter: &'static str,
    pub(crate) command: &'a [String],
    /// Where its program is; none: not installed.
    pub(crate) program: Option<&'a Path>,
    /// The oldest version that is known to work, where this one is older.
    pub(crate) needs_version: Option<String>,
    pub(crate) version: Option<String>,
    /// What the last check of its gate said.
    pub(crate) gate: Option<AgentCheckReport<'a>>,
    /// Why not everything that it does is put to the hook; none: an attempt that goes past it is stopped.
    pub(crate) unguarded: Option<&'static str>,
    pub(crate) settings: &'a [String],
    pub(crate) mcp: bool,
    pub(crate) access: AgentAccess,
}

/// What came of checking the gate of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentCheckReport<'a> {
    /// As a run starts the program.
    pub(crate) health: Cow<'a, GateHealth>,
    /// As a person starts it; none: no hook is registered for that.
    pub(crate) registered: Option<Cow<'a, GateHealth>>,
    pub(crate) version: Option<Cow<'a, str>>,
    pub(crate) at: String,
    /// Whether program and settings are still as they were.
    pub(crate) is_current: bool,
}

impl AgentCheckReport<'_> {
    pub(crate) fn into_owned(self) -> AgentCheckReport<'static> {
        AgentCheckReport {
            health: Cow::Owned(self.health.into_owned()),
            registered: self.registered.map(|it| Cow::Owned(it.into_owned())),
            version: self.version.map(|it| Cow::Owned(it.into_owned())),
            at: self.at,
            is_current: self.is_current,
        }
    }
}

/// What came of a check that was just made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedAgent {
    pub(crate) name: String,
    /// checked or not_installed.
    pub(crate) state: &'static str,
    pub(crate) gate: Option<AgentCheckReport<'static>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) obstacles: Option<Vec<Obstruction>>,
}

impl CheckedAgent {
    pub(crate) fn not_installed(name: &str) -> Self {
        Self { name: name.to_owned(), state: "not_installed", gate: None, obstacles: None }
    }
}

/// What keeps a hook from being asked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Obstruction {
    pub(crate) text: String,
    pub(crate) remedy: String,
}

/// A value of the configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingLine<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: Value,
    /// Where it comes from.
    pub(crate) origin: String,
}

/// Something that was examined.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Examined<'a> {
    pub(crate) subject: &'a str,
    /// ok, note or bad.
    pub(crate) verdict: &'static str,
    pub(crate) text: &'a str,
    pub(crate) remedy: Option<&'a str>,
    pub(crate) next: Option<String>,
    pub(crate) next_steps: Vec<Step<'a>>,
    /// Whether `doctor --fix` can do something about it.
    pub(crate) fixable: bool,
}

/// A state file that was taken over.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Adopted<'a> {
    pub(crate) adopted: &'a Path,
    pub(crate) kind: &'static str,
}

/// What a file turned out to be.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileValidity<'a> {
    pub(crate) file: &'a Path,
    pub(crate) kind: &'static str,
    pub(crate) valid: bool,
    pub(crate) findings: Vec<Diagnostic>,
    /// The request to write it again, where it was asked for and the file is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
}

/// A kind of file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KindLine<'a> {
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
}

/// A type of object that `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TypeLine<'a> {
    pub(crate) name: &'a str,
    /// The commands that print it.
    pub(crate) commands: &'a str,
}

/// Where things stand in one line.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusLine {
    /// Without colours; empty where nothing is going on.
    pub(crate) line: String,
}

/// What a task has left, packed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchiveReport<'a> {
    pub(crate) id: &'a ServerTaskId,
    pub(crate) file: &'a Path,
    pub(crate) files: usize,
    /// Unpacked.
    pub(crate) bytes: u64,
    pub(crate) checkpoint: u32,
}

/// What `serve` says of itself.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServeLine {
    /// `ready`: tasks are worked on from here on.
    pub(crate) event: &'static str,
}

/// Where a scripted model listens, and what agent programs need to find it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = with_programs)]
pub(crate) struct ModelServer {
    pub(crate) address: String,
    /// By the programs' words: `claude`, `codex`, `gemini`.
    #[serde(flatten)]
    pub(crate) programs: BTreeMap<String, Programs>,
}

/// Says that every program which can be rehearsed is there.
fn with_programs(schema: &mut Schema) {
    schema.remove("additionalProperties");
    let all = programs::BUILT_IN.all().filter(|program| program.rehearsal.is_some());
    for product in all.filter_map(|program| program.product) {
        let word = product.as_str();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(word.to_owned(), json!({"$ref": "#/$defs/Programs"}));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.push(json!(word));
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Programs {
    pub(crate) environment: BTreeMap<String, String>,
    /// What has to be in the program's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<String>,
}

/// Tasks of another tool that were written into a TASKS.md.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportReport<'a> {
    /// The file that was written; none: it was only looked at.
    pub(crate) file: Option<&'a Path>,
    pub(crate) tasks: usize,
    /// What has no place in a TASKS.md of its own, and where it is now.
    pub(crate) remarks: &'a [String],
}
