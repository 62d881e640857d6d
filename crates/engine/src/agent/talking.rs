//! One process of an agent: started under a keeper of its own, heard, spoken with, and ended.
//!
//! Nothing here waits: the owner of an agent looks at it again and again.

use super::{Agent, Heard, prepare::prepare, surroundings::wanted_variables};
use crate::{
    environment::Environment,
    error::{EngineError, Problem},
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_agent::{
    Adapter,
    answer::{self, Answer},
    launch::{Launch, Opening, Order, fresh, launch},
    stream::{Ask, Reader},
};
use waypost_model::{code::Code, layout};
use waypost_proc::{
    Dead, Ended, Found, Keeper, Limits, ProcError, Program, Refusal, Report, Spec, Stop, Talk,
    look_again,
};

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
    /// Where stderr goes; stdout goes beside it.
    pub(crate) log: PathBuf,
    /// What it is told instead if its program has forgotten the conversation.
    pub(crate) afresh: String,
}

/// What an agent is told first.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) message: String,
    /// The same if its program has forgotten the conversation.
    pub(crate) afresh: String,
    /// Where it works.
    pub(crate) folder: PathBuf,
}

/// How a conversation takes the place of one that the program has forgotten.
#[derive(Debug)]
struct Afresh {
    /// The request for it.
    request: String,
    message: String,
}

impl Afresh {
    fn new(adapter: Adapter, folder: &str, message: String) -> Option<Self> {
        fresh(adapter, folder).map(|request| Self { request, message })
    }
}

/// An agent's process, as long as Waypost speaks with it.
#[derive(Debug)]
pub(crate) struct Talking {
    id: String,
    adapter: Adapter,
    keeper: Keeper,
    stream: Stream,
    reader: Reader,
    pub(crate) heard: Heard,
    /// The first message, while it waits for the conversation to have a name.
    opening: Option<String>,
    afresh: Option<Afresh>,
    messages: u32,
    is_hung_up: bool,
    end: Option<ProcessEnd>,
    /// Whether its end, and all that it said before, was heard.
    is_finished: bool,
}

/// How a process came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessEnd {
    Ended(Ended),
    Refused(Refusal),
    /// Its keeper died with it.
    Lost,
}

/// The file with what the agent says.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    file: Option<File>,
}

impl Stream {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// What has come since the last look.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        let mut bytes = Vec::new();
        let at = file.stream_position()?;
        match file.take(LOOK_SIZE_MAX).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => {
                file.seek(SeekFrom::Start(at))?;
                Err(error)
            }
        }
    }
}

/// The stream that belongs to a log, named after how it is to be read.
pub(crate) fn stream_path(log: &Path, adapter: Adapter) -> PathBuf {
    log.with_extension(format!("{adapter}.jsonl"))
}

impl Talking {
    /// Starts a process under a keeper in `folder`; whether that worked is heard later.
    pub(crate) fn start(
        folder: &Path,
        keeper: &[OsString],
        call: Call<'_>,
    ) -> Result<Self, EngineError> {
        let adapter = call.agent.adapter;
        let plan = launch(adapter, call.order);
        let environment = environment(call.environment, &plan);
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
        let spec = Spec {
            id: call.id.clone(),
            program: Program::Argv(plan.program.iter().map(OsString::from).collect()),
            folder: call.folder,
            environment,
            log: call.log,
            limits: Limits { cgroup: true, ..Limits::default() },
            talk: Some(talk),
        };
        keeper.spawn(vec![spec])?;
        let waits = plan.opening == Opening::AfterSession;
        let opening = waits.then(|| call.order.task.clone()).filter(|task| !task.is_empty());
        let mut talking = Self::new(call.id, adapter, keeper, Stream::new(stream));
        talking.opening = opening;
        talking.afresh = Afresh::new(adapter, &call.order.folder, call.afresh);
        Ok(talking)
    }

    /// Takes over a process that another engine started.
    pub(crate) fn adopt(
        id: String,
        adapter: Adapter,
        keeper: Keeper,
        log: &Path,
        told: Told,
    ) -> Result<Self, EngineError> {
        let stream = Stream::new(stream_path(log, adapter));
        let mut talking = Self::new(id, adapter, keeper, stream);
        while talking.hear()? {}
        // Once it does something it must have been told what.
        let is_silent = !talking.heard.has_begun && talking.heard.end.is_none();
        let waits = adapter.names_conversation_first() && is_silent;
        let Told { message, afresh, folder } = told;
        let message = if talking.heard.is_forgotten { afresh.clone() } else { message };
        talking.opening = waits.then_some(message).filter(|message| !message.is_empty());
        talking.afresh = Afresh::new(adapter, &folder.to_string_lossy(), afresh);
        Ok(talking)
    }

    fn new(id: String, adapter: Adapter, keeper: Keeper, stream: Stream) -> Self {
        Self {
            id,
            adapter,
            keeper,
            stream,
            reader: Reader::new(adapter),
            heard: Heard::default(),
            opening: None,
            afresh: None,
            messages: 0,
            is_hung_up: false,
            end: None,
            is_finished: false,
        }
    }

    /// How the process ended, once all that it said was heard.
    pub(crate) fn end(&self) -> Option<&ProcessEnd> {
        self.end.as_ref().filter(|_| self.is_finished)
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        self.is_hung_up
    }

    /// Hears what was said since the last look, and whether the process has ended. Says whether
    /// there was anything.
    pub(crate) fn look(&mut self) -> Result<bool, EngineError> {
        // Its end is told when all of its output is in the file: what is read after that is all.
        let is_over = !self.is_finished && (self.end.is_some() || self.look_at_process()?);
        self.is_finished |= is_over;
        let mut is_news = is_over;
        while self.hear()? {
            is_news = true;
            if !is_over {
                break;
            }
        }
        if is_over {
            let rest = self.reader.finish();
            // A program that never spoke has no turn that could be cut off.
            rest.into_iter().for_each(|said| self.heard.take(said));
        }
        if self.heard.is_forgotten
            && self.heard.session.is_none()
            && let Some(Afresh { request, message }) = self.afresh.take()
        {
            self.opening = Some(message);
            self.send(&request)?;
        }
        if let Some(session) = self.heard.session.clone()
            && let Some(text) = self.opening.take()
        {
            self.speak(&session, &text)?;
        }
        Ok(is_news)
    }

    fn look_at_process(&mut self) -> Result<bool, EngineError> {
        let reports = match self.keeper.next(Duration::ZERO) {
            Ok(reports) => reports,
            Err(ProcError::Gone { .. }) => {
                self.end = Some(ProcessEnd::Lost);
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        };
        self.note(reports);
        Ok(self.end.is_some())
    }

    /// Takes what the keeper has told, perhaps to another process before.
    pub(crate) fn note(&mut self, reports: Vec<Report>) {
        for report in reports.into_iter().filter(|report| report.id() == self.id) {
            match report {
                Report::Started { .. } => {}
                Report::Ended { ended, .. } => self.end = Some(ProcessEnd::Ended(ended)),
                Report::Refused { why, .. } => self.end = Some(ProcessEnd::Refused(why)),
            }
        }
    }

    fn hear(&mut self) -> Result<bool, EngineError> {
        let bytes = self.stream.read().map_err(|error| {
            let message = format!("cannot read {}", self.stream.path.display());
            Problem::new(Code::AgentSilent, message)
                .hint("repeat the command when the disk is well")
                .because(error)
        })?;
        for said in self.reader.read(&bytes) {
            self.heard.take(said);
        }
        Ok(!bytes.is_empty())
    }

    /// Says something further to the agent. Says whether the program takes that.
    pub(crate) fn say(&mut self, text: &str) -> Result<bool, EngineError> {
        let Some(session) = self.heard.session.clone() else { return Ok(false) };
        self.heard.signals.clear();
        self.heard.end = None;
        self.speak(&session, text)
    }

    fn speak(&mut self, session: &str, text: &str) -> Result<bool, EngineError> {
        self.messages += 1;
        match answer::message(self.adapter, session, self.messages, text) {
            Some(line) => self.send(&line).map(|()| true),
            None => Ok(false),
        }
    }

    /// Whether there is any way to answer a question: one that was cut off has none.
    pub(crate) fn can_answer(&self, ask: &Ask) -> bool {
        answer::answer(self.adapter, ask, &refusal()).is_ok()
    }

    /// Answers a question; it is not open any more then. A program that does not offer what was
    /// answered is refused what it wants.
    pub(crate) fn answer(&mut self, ask: &Ask, given: &Answer) -> Result<(), EngineError> {
        self.heard.asks.remove(&ask.request);
        let line = answer::answer(self.adapter, ask, given);
        match line.or_else(|_| answer::answer(self.adapter, ask, &refusal())) {
            Ok(line) => self.send(&line),
            Err(why) => {
                let message = format!("the agent's question cannot be answered: {why}");
                let hint = "stop the agent; it asks again";
                Err(Problem::new(Code::AgentSilent, message).hint(hint).into())
            }
        }
    }

    fn send(&self, line: &str) -> Result<(), EngineError> {
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        self.tolerant(self.keeper.say(&self.id, &bytes))
    }

    /// Nothing more will be said: a program that ends with its input ends now, others are stopped.
    pub(crate) fn hang_up(&mut self) -> Result<(), EngineError> {
        self.is_hung_up = true;
        if self.adapter.ends_with_input() {
            self.tolerant(self.keeper.hang_up(&self.id))
        } else {
            self.stop(Stop::Asked)
        }
    }

    /// Asks the program to end its turn and to keep the conversation. Says whether it can be asked.
    pub(crate) fn interrupt(&self) -> Result<bool, EngineError> {
        let Some(session) = self.heard.session.as_deref().filter(|_| !self.is_hung_up) else {
            return Ok(false);
        };
        let turn = self.heard.turn.as_deref();
        match answer::interrupt(self.adapter, session, turn, 1) {
            Some(line) => self.send(&line).map(|()| true),
            None => Ok(false),
        }
    }

    pub(crate) fn stop(&self, why: Stop) -> Result<(), EngineError> {
        self.tolerant(self.keeper.stop(&self.id, why))
    }

    /// A keeper that is gone is noticed at the next look.
    #[expect(clippy::unused_self, reason = "reads as what it is: a call of this process's keeper")]
    fn tolerant(&self, outcome: Result<(), ProcError>) -> Result<(), EngineError> {
        match outcome {
            Err(ProcError::Gone { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes leave of a process that has ended. What the stream says was heard; if the keeper
    /// died, the end that it perhaps wrote down takes the place of none.
    pub(crate) fn close(self) -> Result<(ProcessEnd, Heard, Remains), EngineError> {
        let Self { id, keeper, heard, end, .. } = self;
        match end {
            Some(ProcessEnd::Lost) | None => match look_again(keeper)? {
                Found::Dead(dead) => {
                    let ended = bury(&dead, &id)?;
                    let end = ended.map_or(ProcessEnd::Lost, ProcessEnd::Ended);
                    Ok((end, heard, Remains::Dead(dead)))
                }
                Found::Alive(keeper) => {
                    end_child(&keeper, &id, Vec::new())?;
                    Ok((ProcessEnd::Lost, heard, Remains::Kept(keeper)))
                }
                Found::Foreign { .. } => Err(ProcError::Gone { id }.into()),
            },
            Some(end) => Ok((end, heard, Remains::Kept(keeper))),
        }
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
    let mut reader = Reader::new(adapter);
    let mut heard = Heard::default();
    let mut stream = Stream::new(stream_path(log, adapter));
    while let Ok(bytes) = stream.read()
        && !bytes.is_empty()
    {
        reader.read(&bytes).into_iter().for_each(|said| heard.take(said));
    }
    reader.finish().into_iter().for_each(|said| heard.take(said));
    heard
}

/// The answer where the one that was given cannot be told.
fn refusal() -> Answer {
    Answer::Deny { reason: "this answer cannot be given here".to_owned() }
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

/// Our environment for it, without what the program must not have, with what it needs.
fn environment(given: Vec<(String, String)>, plan: &Launch) -> Vec<(String, String)> {
    let mut all = given;
    all.retain(|(name, _)| !plan.without.contains(&name.as_str()));
    all.extend(plan.environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    all
}

/// What an agent's program inherits from the actor it works for, beside what every child does: ways to its service, and
/// what its own configuration names.
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
