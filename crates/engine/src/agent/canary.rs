//! Whether the gate of an agent program is alive: shown by a call that the hook has to refuse.
//!
//! The program is started as a run would start it, in a scratch project whose gates are closed, with
//! a scripted model in the place of its own. The model calls a shell command that pushes. The hook
//! is not told that this is a test: it refuses the push because the scratch project's workflow holds
//! it, as any other. So nothing in the hook knows of canaries, and nothing can be weakened by one.

use super::{Agent, Bounds, Errand, Mission, Onlooker, Trouble, supervise};
use crate::{error::EngineError, project::Project, scratch::make_scratch};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    io::Read as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use waypost_agent::{Adapter, endpoint, launch::Prompts};
use waypost_model::{actor::Actor, config::AgentConfig, time::Time, workflow};
use waypost_store::file::{self, Mark};

/// What the model wants to run. It leaves a trace if it is allowed to.
pub const CANARY: &str = "touch canary-ran && git push origin main";

/// The trace.
const TRACE: &str = "canary-ran";
/// How long a program may take for all of it.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to tell its version.
const VERSION_LOOKS_MAX: u32 = 200;
const VERSION_LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Where results are kept, beside the journal.
const FILE: &str = "agent-checks.json";
const FILE_SIZE_MAX: u64 = 1 << 20;

/// How the gate of an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateHealth {
    /// The hook was asked, and its refusal held.
    Alive,
    /// The hook was never asked.
    Silent,
    /// The command was run all the same.
    Ran,
    /// It has no hook that could be asked from here.
    NoHook(String),
    /// The program did not get so far.
    Failed(String),
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCheck {
    pub health: GateHealth,
    /// As the program tells it.
    pub version: Option<String>,
    pub at: Time,
    /// The program's file as it was.
    program: PathBuf,
    size: u64,
    mtime_ns: i64,
}

impl AgentCheck {
    /// Whether the program's file is still the one that was checked.
    pub fn is_current(&self) -> bool {
        let mark = Mark::of(&resolved(&self.program)).ok().flatten();
        mark.is_some_and(|mark| mark.size == self.size && mark_time(&mark) == self.mtime_ns)
    }
}

impl Project {
    /// What the last checks came to, by the agents' names.
    pub fn agent_checks(&self) -> Result<BTreeMap<String, AgentCheck>, EngineError> {
        let bytes = file::read_bounded(&self.place.state.join(FILE), FILE_SIZE_MAX)?;
        // They can be made again at any time.
        Ok(bytes.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default())
    }

    /// Checks the gate of an installed agent against the scripted model at `server`, which has to
    /// answer with [`CANARY`].
    pub fn check_agent(
        &mut self,
        agent: &Agent,
        program: &Path,
        server: SocketAddr,
        keeper: &[OsString],
        onlooker: &mut dyn Onlooker,
    ) -> Result<AgentCheck, EngineError> {
        let health = match endpoint::pointed(agent.adapter, server) {
            _ if agent.is_free() => GateHealth::NoHook("the scripted agent has no hook".into()),
            None => GateHealth::NoHook(
                "its hook is registered by `waypost init`, and cannot be tried from here".into(),
            ),
            Some(pointed) => self.send_canary(agent, pointed, keeper, onlooker)?,
        };
        let mark = Mark::of(&resolved(program))?;
        let check = AgentCheck {
            health,
            version: version(program),
            at: self.clock.now(),
            program: program.to_owned(),
            size: mark.as_ref().map_or(0, |mark| mark.size),
            mtime_ns: mark.as_ref().map_or(0, mark_time),
        };
        if self.has_journal() {
            let mut checks = self.agent_checks()?;
            checks.insert(agent.name.clone(), check.clone());
            let bytes = serde_json::to_vec(&checks).expect("checks are plain data");
            file::replace(&self.place.state.join(FILE), &bytes, file::PRIVATE)?;
        }
        Ok(check)
    }

    fn send_canary(
        &self,
        agent: &Agent,
        pointed: endpoint::Pointed,
        keeper: &[OsString],
        onlooker: &mut dyn Onlooker,
    ) -> Result<GateHealth, EngineError> {
        let home = self.home.state.clone().unwrap_or_else(env::temp_dir);
        let folder = home.join("waypost/canary").join(super::new_uuid());
        make_scratch(&folder, &[("README.md", "A folder to try the gate in.\n".to_owned())])?;
        let found = canary_in(&folder, agent, pointed, keeper, onlooker);
        // What cannot be removed is in the way of nobody.
        let _kept = fs::remove_dir_all(&folder);
        found
    }
}

fn canary_in(
    folder: &Path,
    agent: &Agent,
    pointed: endpoint::Pointed,
    keeper: &[OsString],
    onlooker: &mut dyn Onlooker,
) -> Result<GateHealth, EngineError> {
    let mut scratch = Project::find(folder, Actor::Waypost)?;
    // It is gone in a moment, and must not be missed.
    scratch.home.state = None;
    let feature = "the canary".to_owned();
    scratch.develop(workflow::Command::Start { feature, max_iterations: 1 })?;
    let command = agent.command.iter().cloned().chain(pointed.arguments).collect();
    // The scripted model is no model of the person's choice.
    let config = AgentConfig { model: String::new(), ..agent.config.clone() };
    let agent = Agent { command, config, ..agent.clone() };
    let own = pointed.folders.iter().filter_map(|name| {
        Some(((*name).to_owned(), env::var(name).ok().filter(|value| !value.is_empty())?))
    });
    let environment = own.chain(pointed.environment).collect();
    let mission = Mission {
        name: "canary".to_owned(),
        key: "canary".to_owned(),
        access: agent.access(),
        agent,
        prompts: Prompts::Asked,
        schema: None,
        environment: Some(environment),
        attempt: 1,
        message: "Do what you are told to do.".to_owned(),
        again: String::new(),
        bounds: Bounds { time: Some(PATIENCE), ..Bounds::default() },
    };
    let mut errand = Errand::begin(&scratch, keeper, mission)?;
    let outcome = supervise(&scratch, &mut errand, onlooker, &mut |_| None)?;
    scratch.take_verdicts()?;
    let is_refused = scratch.verdicts()?.refused > 0;
    if folder.join(TRACE).exists() {
        return Ok(GateHealth::Ran);
    }
    Ok(match outcome.trouble() {
        _ if is_refused => GateHealth::Alive,
        None => GateHealth::Silent,
        // It was refused by whoever is asked for permissions, and goes no further.
        Some(_) if outcome.heard.tool_calls > 0 => GateHealth::Silent,
        Some(Trouble::Stopped) => GateHealth::Failed("it was stopped".to_owned()),
        Some(Trouble::Limited(text) | Trouble::Failed(text)) => GateHealth::Failed(text),
    })
}

/// What a program says when it is asked for its version.
#[expect(clippy::disallowed_methods, reason = "a question to the program itself, in bounded time")]
pub(crate) fn version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .env("DISABLE_AUTOUPDATER", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut looks = 0;
    while child.try_wait().ok()?.is_none() {
        looks += 1;
        if looks > VERSION_LOOKS_MAX {
            child.kill().ok()?;
            child.wait().ok()?;
            return None;
        }
        thread::sleep(VERSION_LOOK_INTERVAL);
    }
    let mut text = String::new();
    child.stdout.take()?.take(4_096).read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim().replace(char::is_control, " ");
    (!line.is_empty()).then_some(line)
}

fn resolved(program: &Path) -> PathBuf {
    program.canonicalize().unwrap_or_else(|_| program.to_owned())
}

fn mark_time(mark: &Mark) -> i64 {
    i64::try_from(mark.mtime_ns).unwrap_or(0)
}

/// Whether an adapter's programs can be asked by a canary.
pub fn canary_call(adapter: Adapter) -> Option<(&'static str, String)> {
    endpoint::shell_call(adapter, CANARY)
}
