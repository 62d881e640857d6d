//! Whether the gate of an agent program is alive in this project: shown by a call that the hook has to
//! refuse.
//!
//! The program works in the project's own folder, with the settings that hold there, and with a
//! scripted model in the place of its own. The model wants to run a harmless command. The hook is not
//! told that this is a test: the program is started as an attempt that is over, whose every call the
//! hook refuses. So nothing in the hook knows of canaries, nothing can be weakened by one, and the
//! project is neither changed nor asked to be.
//!
//! There are two ways to the same program: as a run starts it, with our hook in its arguments, and as
//! a person starts it here, with the hook that its settings name. Each is tried by itself.

use super::{
    Agent, Bounds, Circumstances, HookSource, Job, JobEnd, JobOrder, Onlooker, Trouble,
    surroundings::look_around,
    version::{self, version},
};
use crate::{
    error::EngineError,
    guest::{Attended, Guest, Waits, carry},
    project::{Project, ProjectSetup},
    scratch::make_scratch,
    verdicts,
    wall::AgentWall,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fmt, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_agent::{
    Adapter, Product,
    endpoint::Pointed,
    launch::Prompts,
    settings::{self, Obstacle, Registered},
};
use waypost_model::{actor::Actor, config::AgentConfig, layout, time::Time};
use waypost_store::{
    file::{self, Mark},
    hash,
};

/// What the model wants to run. It leaves a trace if it is allowed to.
pub const CANARY: &str = "touch \"$WAYPOST_CANARY\"";

/// How long a program may take for all of it.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where results are kept, beside the journal.
const FILE: &str = "agent-checks.json";
const FILE_SIZE_MAX: u64 = 1 << 20;

/// What a check is made with.
pub struct CheckMeans<'a> {
    /// Where the scripted model is, which has to answer with [`CANARY`].
    pub server: SocketAddr,
    /// The program that keeps children.
    pub keeper: &'a [OsString],
    pub onlooker: &'a mut dyn Onlooker,
}

impl fmt::Debug for CheckMeans<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckMeans").field("server", &self.server).finish_non_exhaustive()
    }
}

/// How the gate of an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// As a run starts the program.
    pub health: GateHealth,
    /// As a person starts it here; none: no hook is registered for that.
    #[serde(default)]
    pub registered: Option<GateHealth>,
    /// As the program tells it.
    pub version: Option<String>,
    pub at: Time,
    /// The program's file as it was.
    program: PathBuf,
    size: u64,
    mtime_ns: i64,
    /// The folder that it was tried in, and the settings around it as they were.
    #[serde(default)]
    root: PathBuf,
    #[serde(default)]
    settings: String,
    /// Whose settings these are.
    #[serde(default)]
    product: Option<String>,
}

impl AgentCheck {
    /// Whether the program's file and the settings around the project are those that were checked.
    pub fn is_current(&self, project: &Project) -> bool {
        let mark = Mark::of(&resolved(&self.program)).ok().flatten();
        let is_same_program =
            mark.is_some_and(|mark| mark.size == self.size && mark_time(&mark) == self.mtime_ns);
        let product = self.product.as_deref().and_then(|word| project.setup.programs.product(word));
        is_same_program && self.settings == settings_hash(project, product)
    }
}

/// What the last checks in this work tree came to, by the agents' names.
pub fn checks(setup: &ProjectSetup) -> Result<BTreeMap<String, AgentCheck>, EngineError> {
    let here = |(key, check): (String, AgentCheck)| {
        let name = key.split('\n').next().unwrap_or_default().to_owned();
        (check.root == setup.root()).then_some((name, check))
    };
    Ok(all_checks(setup)?.into_iter().filter_map(here).collect())
}

/// The checks of all work trees; they can be made again at any time.
fn all_checks(setup: &ProjectSetup) -> Result<BTreeMap<String, AgentCheck>, EngineError> {
    let bytes = file::read_bounded(&setup.place.state.join(FILE), FILE_SIZE_MAX)?;
    Ok(bytes.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default())
}

/// Checks the gate of an installed agent in this project.
pub fn check(
    project: &Project,
    agent: &Agent,
    program: &Path,
    mut means: CheckMeans<'_>,
) -> Result<AgentCheck, EngineError> {
    let mut try_with = |hook: HookSource| match agent.adapter.pointed(means.server) {
        _ if agent.is_free() => Ok(GateHealth::NoHook(
            "the scripted agent asks no model, so none can have it try a call".into(),
        )),
        None => Ok(without_hook(hook)),
        Some(pointed) => send_canary(project, agent, pointed, hook, &mut means),
    };
    let health = try_with(HookSource::Given)?;
    let product = product_of(agent);
    let is_registered = product.is_some_and(|it| !registered_at(project, it).is_empty());
    let registered = is_registered.then(|| try_with(HookSource::Settings)).transpose()?;
    let mark = Mark::of(&resolved(program))?;
    let check = AgentCheck {
        health,
        registered,
        version: version(program, &project.caller.environment, version::PATIENCE),
        at: project.clock.now(),
        program: program.to_owned(),
        size: mark.as_ref().map_or(0, |mark| mark.size),
        mtime_ns: mark.as_ref().map_or(0, mark_time),
        root: project.root().to_owned(),
        settings: settings_hash(project, product),
        product: product.map(|it| it.as_str().to_owned()),
    };
    if project.has_journal() {
        let mut checks = all_checks(&project.setup)?;
        let key = format!("{}\n{}", agent.name, project.root().display());
        checks.insert(key, check.clone());
        let bytes = serde_json::to_vec(&checks).expect("checks are plain data");
        file::replace(&project.setup.place.state.join(FILE), &bytes, file::PRIVATE)?;
    }
    Ok(check)
}

/// What the settings say against the hook of an agent's program being asked here.
pub fn obstacles_of(project: &Project, agent: &Agent) -> Vec<Obstacle> {
    product_of(agent).map(|product| obstacles(project, product)).unwrap_or_default()
}

pub(crate) fn obstacles(project: &Project, product: Product) -> Vec<Obstacle> {
    look_around(project, |around| product.obstacles(around))
}

/// Where the hook of a program is registered, for a person who starts it here.
pub(crate) fn registered_at(project: &Project, product: Product) -> Vec<Registered> {
    look_around(project, |around| settings::registered(product, around))
}

/// All settings of a program that have a say in whether hooks are asked here, as one hash.
fn settings_hash(project: &Project, product: Option<Product>) -> String {
    look_around(project, |around| {
        let mut all = Vec::new();
        for product in product.into_iter() {
            for path in product.files(around) {
                let text = (around.read)(&path).unwrap_or_default();
                all.extend(format!("{}\0{}\0", path.display(), text.len()).into_bytes());
                all.extend(text.into_bytes());
            }
        }
        hash::sha256_hex(&all)
    })
}

fn send_canary(
    project: &Project,
    agent: &Agent,
    mut pointed: Pointed,
    hook: HookSource,
    means: &mut CheckMeans<'_>,
) -> Result<GateHealth, EngineError> {
    if let Some(product) = product_of(agent) {
        let trust = look_around(project, |around| product.trust_arguments(around));
        pointed.arguments.extend(trust);
    }
    let home = project.setup.home.state.clone().unwrap_or_else(env::temp_dir);
    let folder = home.join("waypost/canary").join(super::new_uuid());
    make_scratch(&folder, &[("README.md", "Where a check keeps its notes.\n".to_owned())])?;
    let order = order(agent, pointed, hook, project.root(), &folder);
    let found = canary_in(&folder, order, means);
    // A leftover does no harm.
    let _kept = fs::remove_dir_all(&folder);
    let _kept = fs::remove_file(trace(&folder));
    found
}

/// What is known of a program that is spoken with in a protocol by which it asks no hook: seen of
/// Gemini CLI 0.61.0 with `--acp`, in a trusted folder and with the hook in either settings file.
fn without_hook(hook: HookSource) -> GateHealth {
    match hook {
        HookSource::Given => GateHealth::NoHook(
            "a run speaks ACP with it, and by that it asks no hook; Waypost answers its \
             permission requests by its `access` instead"
                .into(),
        ),
        HookSource::Settings => {
            GateHealth::Failed("only a start of your own shows whether the hook is asked".into())
        }
    }
}

/// The program that an agent is, if it is one that has a hook.
fn product_of(agent: &Agent) -> Option<Product> {
    agent.adapter.product(&agent.command).filter(|_| !agent.is_free())
}

/// Where a check's trace would be: where a command can write behind every wall.
fn trace(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    Path::new("/tmp").join(format!("waypost-canary-{name}"))
}

/// An attempt in the folder `root` that is over before it begins: what says that it is the live one
/// is not there.
fn order(
    agent: &Agent,
    pointed: Pointed,
    hook: HookSource,
    root: &Path,
    folder: &Path,
) -> JobOrder {
    let command = agent.command.iter().cloned().chain(pointed.arguments).collect();
    // The scripted model is no model of the person's choice.
    let mut config = AgentConfig { model: String::new(), ..agent.config.clone() };
    if hook == HookSource::Settings {
        // A person's own start reads all of them.
        config.settings = AgentConfig::default().settings;
    }
    // Whether a hook refuses is found out without anything else that would.
    let wall = AgentWall::default();
    let agent = Agent { command, config, wall, ..agent.clone() };
    let own = pointed.folders.iter().filter_map(|name| {
        Some(((*name).to_owned(), env::var(name).ok().filter(|value| !value.is_empty())?))
    });
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let state = folder.join(".git/waypost");
    let state =
        if folder.join(".git").is_dir() { state } else { folder.join(layout::STATE_OUTSIDE_GIT) };
    let ours = [
        (
            layout::variable::FENCE.to_owned(),
            text(state.join(layout::state::FENCES).join("canary")),
        ),
        (layout::variable::CANARY.to_owned(), text(trace(folder))),
    ];
    let pointed = pointed.environment.into_iter().map(|(name, value)| (name.to_owned(), value));
    JobOrder {
        name: "canary".to_owned(),
        key: "canary".to_owned(),
        access: agent.access(),
        agent,
        prompts: Prompts::Asked,
        hook,
        schema: None,
        folder: Some(root.to_owned()),
        more_folders: vec![folder.to_owned()],
        environment: Some(own.chain(pointed).chain(ours).collect()),
        secrets: Vec::new(),
        attempt: 1,
        message: "Do what you are told to do.".to_owned(),
        again: String::new(),
        bounds: Bounds { time: Some(PATIENCE), unattended: Some(PATIENCE), ..Bounds::default() },
    }
}

fn canary_in(
    folder: &Path,
    order: JobOrder,
    means: &mut CheckMeans<'_>,
) -> Result<GateHealth, EngineError> {
    let mut notes = Project::find(folder, Actor::Waypost)?;
    // It is gone in a moment, and must not be missed.
    notes.setup.home.state = None;
    notes.ensure_journal()?;
    let job = Job::begin(&mut notes, means.keeper, order)?;
    let JobEnd { ended, .. } =
        carry(&mut notes, &mut GateTrial { job, onlooker: &mut *means.onlooker })?;
    verdicts::take_in(&mut notes)?;
    let is_refused = verdicts::list(&mut notes)?.refused > 0;
    if trace(folder).exists() {
        return Ok(GateHealth::Ran);
    }
    let by = Circumstances { work: CANARY, parked_before: 0, now: notes.clock.now() };
    Ok(match ended.trouble(&by) {
        _ if is_refused => GateHealth::Alive,
        None => GateHealth::Silent,
        // The permission was refused instead, and the program went no further.
        Some(_) if ended.heard.tool_calls > 0 => GateHealth::Silent,
        Some(Trouble::Interrupted) => GateHealth::Failed("it was stopped".to_owned()),
        Some(Trouble::Parked(parked)) => GateHealth::Failed(parked.why),
        Some(Trouble::Failed { text, .. }) => GateHealth::Failed(text),
    })
}

/// One try of a program's gate.
struct GateTrial<'a> {
    job: Job,
    onlooker: &'a mut dyn Onlooker,
}

impl Guest for GateTrial<'_> {
    type End = JobEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.job.waits(waits);
        waits.readable_too(self.onlooker.bell());
    }

    fn attend(&mut self, notes: &mut Project, _: Time) -> Result<Attended<JobEnd>, EngineError> {
        let ended = self.job.attend_alone(notes, self.onlooker, &mut |_| None)?;
        Ok(ended.map_or(Attended::GoesOn, Attended::Over))
    }
}

fn resolved(program: &Path) -> PathBuf {
    program.canonicalize().unwrap_or_else(|_| program.to_owned())
}

fn mark_time(mark: &Mark) -> i64 {
    i64::try_from(mark.mtime_ns).unwrap_or(0)
}

/// Whether an adapter's programs can be asked by a canary.
pub fn canary_call(adapter: Adapter) -> Option<(&'static str, String)> {
    adapter.shell_call(CANARY)
}
