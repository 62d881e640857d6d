//! The process of an agent: started under a keeper of its own, read from, written to, and ended.
//!
//! Nothing here waits but what has to be gone before something else may begin. What the process
//! says stands in its stream, so that another engine reads the same from the beginning.

use super::{
    dialogue::{Act, Dialogue, Told},
    ending::ProcessEnd,
};
use crate::{
    agent::{Agent, Heard, find_program, prepare::prepare, surroundings::wanted_variables},
    environment::Environment,
    error::{EngineError, Problem},
    values::secrets_among,
    wall::AgentWall,
};
use rustix::io::Errno;
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_agent::{
    Adapter,
    launch::{Conversation, Launch, Opening, Order},
    stream::Reader,
};
use waypost_model::{code::Code, layout};
use waypost_proc::{
    Dead, Ended, Found, Keeper, Lease, Limits, ProcError, Program, Report, Spec, Stop, Talk,
    look_again,
};
use waypost_redact::Secret;

/// How much an agent may say in one process: more than any that does something useful.
const STREAM_SIZE_MAX: u64 = 1 << 30;
/// How much of a stream is taken at one look, so that one that floods leaves time for the others.
const LOOK_SIZE_MAX: u64 = 4 << 20;
/// How long what a dead keeper left has to end by itself.
const GRACE: Duration = Duration::from_secs(5);
/// How often a process that has to go is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Where the keepers of agents are, below the state folder.
pub(crate) fn agents_folder(state: &Path) -> PathBuf {
    state.join(layout::state::AGENTS)
}

/// What is to be started.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// What the keeper calls it.
    pub(crate) id: String,
    pub(crate) agent: &'a Agent,
    pub(crate) order: &'a Order,
    pub(crate) folder: PathBuf,
    /// All of its environment but what the program needs to be told.
    pub(crate) environment: Vec<(String, String)>,
    /// What must not be seen in what it says: values that a person gave, and what the configuration
    /// hands through.
    pub(crate) secrets: Vec<Secret>,
    /// Where stderr goes; stdout goes beside it.
    pub(crate) log: PathBuf,
    /// What it is told instead if its program has forgotten the conversation.
    pub(crate) afresh: String,
}

/// The file with what the agent says. It is not kept open: there may be as many agents as files.
#[derive(Debug)]
pub(crate) struct Stream {
    path: PathBuf,
    /// How much was read.
    at: u64,
}

impl Stream {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, at: 0 }
    }

    /// What has come since the last look.
    pub(crate) fn read(&mut self) -> io::Result<Vec<u8>> {
        self.read_at_most(LOOK_SIZE_MAX)
    }

    fn read_at_most(&mut self, size: u64) -> io::Result<Vec<u8>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.at))?;
        file.take(size.min(LOOK_SIZE_MAX)).read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }
}

/// The stream that belongs to a log, named after how it is to be read.
pub(crate) fn stream_path(log: &Path, adapter: Adapter) -> PathBuf {
    log.with_extension(format!("{adapter}.jsonl"))
}

/// An agent's process under its keeper.
#[derive(Debug)]
pub(super) struct AgentProcess {
    id: String,
    keeper: Keeper,
    stream: Stream,
    end: Option<ProcessEnd>,
    /// Whether there may be more to read than was taken at the last look.
    has_more: bool,
    /// Whether it could not be read at the last look, for want of a file.
    is_put_off: bool,
}

impl AgentProcess {
    /// Starts a process under a keeper in `folder`; whether that worked is heard later. With it
    /// comes what is to be said to it.
    pub(super) fn start(
        folder: &Path,
        keeper: &[OsString],
        call: Call<'_>,
        lease: Option<Lease>,
    ) -> Result<(Self, Dialogue), EngineError> {
        let adapter = call.agent.adapter;
        let afresh = afresh(adapter, call.order, &call.afresh);
        let order = afresh.as_ref().unwrap_or(call.order);
        let plan = adapter.launch(order);
        let mut environment = environment(call.environment, &plan);
        prepare(call.agent, &call.folder, &environment)?;
        let keeper = Keeper::start(folder, keeper)?;
        let stream = stream_path(&call.log, adapter);
        let is_all = plan.opening == Opening::Closed;
        let talk = Talk {
            stream: stream.clone(),
            stream_size: STREAM_SIZE_MAX,
            opening: input(&plan),
            is_all,
        };
        let mut secrets = secrets_among(&environment, &declared(call.agent));
        secrets.extend(call.secrets);
        let spec = Spec {
            id: call.id.clone(),
            program: behind_wall(
                (call.agent, call.agent.wall_with(call.order.access)),
                &plan.program,
                &mut environment,
            ),
            folder: call.folder,
            environment,
            log: call.log,
            limits: Limits { cgroup: true, lease, ..Limits::default() },
            talk: Some(talk),
            secrets,
        };
        keeper.spawn(vec![spec])?;
        let told =
            Told { message: order.task.clone(), afresh: call.afresh, folder: order.folder.clone() };
        let dialogue = Dialogue::begin(adapter, told, plan.opening == Opening::AfterSession);
        Ok((Self::new(call.id, keeper, Stream::new(stream)), dialogue))
    }

    /// Takes over a process that another engine started, which is called `id` by its keeper.
    pub(super) fn adopt(
        id: String,
        (keeper, reports): (Keeper, Vec<Report>),
        (log, adapter): (&Path, Adapter),
        told: Told,
    ) -> Result<(Self, Dialogue), EngineError> {
        let mut process = Self::new(id, keeper, Stream::new(stream_path(log, adapter)));
        process.note(reports);
        let mut failed = None;
        let said = std::iter::from_fn(|| match process.read() {
            Ok(Some(bytes)) => (!bytes.is_empty()).then_some(bytes),
            Ok(None) => {
                let text = "no more files can be opened to hear an agent that is at work";
                let problem = Problem::new(Code::AgentSilent, text);
                failed = Some(problem.hint("raise the limit of open files (ulimit -n)").into());
                None
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        let dialogue = Dialogue::take_over(adapter, told, said);
        failed.map_or(Ok((process, dialogue)), Err)
    }

    fn new(id: String, keeper: Keeper, stream: Stream) -> Self {
        Self { id, keeper, stream, end: None, has_more: false, is_put_off: false }
    }

    /// Where all that it says stands.
    pub(super) fn stream(&self) -> &Path {
        &self.stream.path
    }

    /// Whether there may be something to read, or its end has come.
    pub(super) fn has_news(&mut self) -> Result<bool, EngineError> {
        Ok(self.has_more() || self.hear_keeper()? || self.is_put_off)
    }

    /// Whether there may be more to hear, without anything that would tell of it.
    pub(super) fn has_more(&self) -> bool {
        !self.is_put_off && (self.has_more || self.end.is_some())
    }

    /// How it ended. All that it said is in its stream then: what is read after that is all.
    pub(super) fn end(&self) -> Option<&ProcessEnd> {
        self.end.as_ref()
    }

    /// Whether the keeper has told anything, if only that the process has said something.
    fn hear_keeper(&mut self) -> Result<bool, EngineError> {
        match self.keeper.news() {
            Ok(reports) => {
                let has_come = reports.is_some();
                self.note(reports.unwrap_or_default());
                Ok(has_come)
            }
            Err(ProcError::Gone { .. }) => {
                self.end = Some(ProcessEnd::Lost);
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what the keeper has told, perhaps to another process before.
    fn note(&mut self, reports: Vec<Report>) {
        for report in reports.into_iter().filter(|report| report.id() == self.id) {
            match report {
                Report::Started { .. } => {}
                Report::Ended { ended, .. } => self.end = Some(ProcessEnd::Ended(ended)),
                Report::Refused { why, .. } => self.end = Some(ProcessEnd::Refused(why)),
            }
        }
    }

    /// The next piece of what it says; empty: there is no more by now. None: no more files can be
    /// opened, and it is read later.
    pub(super) fn read(&mut self) -> Result<Option<Vec<u8>>, EngineError> {
        let read = self.stream.read();
        self.is_put_off = read.as_ref().is_err_and(is_shortage);
        if self.is_put_off {
            return Ok(None);
        }
        let bytes = read.map_err(|error| {
            let message = format!("cannot read {}", self.stream.path.display());
            Problem::new(Code::AgentSilent, message)
                .hint("repeat the command when the disk is well")
                .because(error)
        })?;
        self.has_more = bytes.len() as u64 == LOOK_SIZE_MAX;
        Ok(Some(bytes))
    }

    /// Does to the process what is to be done. A keeper that is gone is noticed at the next look.
    pub(super) fn perform(&self, act: Act) -> Result<(), EngineError> {
        let done = match act {
            Act::Write(mut line) => {
                line.push('\n');
                self.keeper.say(&self.id, line.as_bytes())
            }
            Act::HangUp => self.keeper.hang_up(&self.id),
            Act::Stop(why) => self.keeper.stop(&self.id, why),
            Act::Renew(lease) => self.keeper.renew(&self.id, lease),
            Act::Pause => self.keeper.pause(&self.id),
            Act::Resume => self.keeper.resume(&self.id),
        };
        match done {
            Err(ProcError::Gone { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes leave of a process that has ended. If its keeper died, the end that it perhaps wrote
    /// down takes the place of none.
    pub(super) fn close(self) -> Result<(ProcessEnd, Remains), EngineError> {
        let Self { id, keeper, end, .. } = self;
        match end {
            Some(ProcessEnd::Lost) | None => match look_again(keeper)? {
                Found::Dead(dead) => {
                    let ended = bury(&dead, &id)?;
                    let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
                    Ok((end, Remains::Dead(dead)))
                }
                Found::Alive(keeper) => {
                    end_child(&keeper, &id, Vec::new())?;
                    Ok((ProcessEnd::Lost, Remains::Kept(keeper)))
                }
                Found::Foreign { .. } => Err(ProcError::Gone { id }.into()),
            },
            Some(end) => Ok((end, Remains::Kept(keeper))),
        }
    }
}

/// Readable when the process has said something or has ended.
impl AsFd for AgentProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.keeper.as_fd()
    }
}

/// What is left of an agent that has ended: all that the next engine would know of its end.
#[derive(Debug)]
pub(crate) enum Remains {
    Kept(Keeper),
    Dead(Dead),
}

impl Remains {
    /// Takes it away, once what became of the agent is recorded.
    pub(crate) fn forget(self) -> Result<(), EngineError> {
        match self {
            Self::Kept(keeper) => keeper.close()?,
            Self::Dead(dead) => dead.remove()?,
        }
        Ok(())
    }
}

/// Ends what a dead keeper left, and says how its child ended if it wrote that down.
pub(crate) fn bury(dead: &Dead, id: &str) -> Result<Option<Ended>, EngineError> {
    dead.reap(GRACE)?;
    Ok(dead.reports.iter().find_map(|report| match report {
        Report::Ended { id: found, ended } if found == id => Some(ended.clone()),
        _ => None,
    }))
}

/// Stops a child, and waits until it has ended; `reports` have been heard already.
pub(crate) fn end_child(
    keeper: &Keeper,
    id: &str,
    reports: Vec<Report>,
) -> Result<(), EngineError> {
    keeper.stop(id, Stop::Asked)?;
    let is_end = |report: &Report| !matches!(report, Report::Started { .. });
    let mut has_ended = reports.iter().any(is_end);
    while !has_ended {
        has_ended = keeper.next(LOOK_INTERVAL)?.iter().any(is_end);
    }
    Ok(())
}

/// What a whole stream says, of a process that is gone.
pub(crate) fn heard_in(log: &Path, adapter: Adapter) -> Heard {
    heard_until(&stream_path(log, adapter), adapter, u64::MAX)
}

/// What the first `size` bytes of a stream say.
pub(super) fn heard_until(path: &Path, adapter: Adapter, size: u64) -> Heard {
    let mut reader = Reader::new(adapter);
    let mut heard = Heard::default();
    let mut stream = Stream::new(path.to_owned());
    while let Ok(bytes) = stream.read_at_most(size - stream.at)
        && !bytes.is_empty()
    {
        reader.read_placed(&bytes).into_iter().for_each(|said| heard.take_placed(said));
    }
    reader.finish_placed().into_iter().for_each(|said| heard.take_placed(said));
    heard
}

/// Whether a file cannot be opened now that can be later.
fn is_shortage(error: &io::Error) -> bool {
    let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| short.iter().any(|it| it.raw_os_error() == code))
}

/// The first input as bytes. Closed behind it, it is plain text; else every line has its break.
fn input(plan: &Launch) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in &plan.stdin {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// The order for a program that cannot take up the conversation which it is to go on with: it is told all
/// of its work again.
fn afresh(adapter: Adapter, order: &Order, message: &str) -> Option<Order> {
    let Conversation::Resume { id } = &order.conversation else { return None };
    let conversation = Conversation::New { id: id.clone() };
    let again = Order { task: message.to_owned(), conversation, ..order.clone() };
    (!adapter.can_resume()).then_some(again)
}

/// The program as it is started: the whole agent behind its wall. Its environment says which one, and with
/// which program its own shell calls are wrapped once more.
fn behind_wall(
    (agent, wall): (&Agent, AgentWall),
    program: &[String],
    environment: &mut Vec<(String, String)>,
) -> Program {
    let path = environment.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.as_ref());
    // A program that is missing is told by the keeper.
    let is_there = program.first().is_some_and(|name| find_program(name, path).is_some());
    let level = wall.level.as_str().to_owned();
    let wall = wall.program().filter(|_| is_there);
    if let Some(wall) = &wall {
        let product = agent.adapter.product(&agent.command);
        let shell = product.and_then(|it| it.shell_variable());
        let wrapped = shell.map(|name| (name.to_owned(), wall.to_string_lossy().into_owned()));
        environment.extend(wrapped);
        environment.push((layout::variable::WALL.to_owned(), level));
    }
    let agent = known_as(agent).map_or_else(|| "--agent".to_owned(), |it| format!("--agent={it}"));
    let wall = wall.into_iter().flat_map(|wall| [wall.into(), agent.clone().into(), "--".into()]);
    Program::Argv(wall.chain(program.iter().map(OsString::from)).collect())
}

/// The program whose own files an agent needs: the one that its command names, else the one whose way of
/// speaking it has. A scripted agent keeps nothing.
fn known_as(agent: &Agent) -> Option<&'static str> {
    let named = agent.programs.recognise(agent.command.iter().map(String::as_str));
    let speaks = || {
        let mut all = agent.programs.all().filter(|_| !agent.is_free());
        all.find(|it| it.adapters.contains(&agent.adapter)).and_then(|it| it.file)
    };
    named.or_else(speaks)
}

/// Our environment for it, without what the program must not have, with what it needs.
fn environment(given: Vec<(String, String)>, plan: &Launch) -> Vec<(String, String)> {
    let mut all = given;
    all.retain(|(name, _)| !plan.without.contains(&name.as_str()));
    all.extend(plan.environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    all
}

/// Variables that only the configuration names. What all programs of its kind have may say which model
/// works, and is told by the program itself.
fn declared(agent: &Agent) -> Vec<String> {
    let names = agent.config.environment.iter();
    names.filter(|name| !agent.adapter.variables().contains(&name.as_str())).cloned().collect()
}

/// What an agent's program inherits from the actor that it works for, beside what every child does:
/// ways to its service, and what its own configuration names.
pub(crate) fn inherited(
    agent: &Agent,
    folder: &Path,
    environment: &Environment,
) -> Vec<(String, String)> {
    const WAYS: &[&str] = &[
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "https_proxy",
        "http_proxy",
        "no_proxy",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ];
    let names = agent.adapter.variables().iter().chain(WAYS).copied();
    let wanted = wanted_variables(agent, folder, environment).all;
    let names = names.chain(agent.config.environment.iter().chain(&wanted).map(String::as_str));
    names.filter_map(|name| Some((name.to_owned(), environment.text(name)?.to_owned()))).collect()
}
