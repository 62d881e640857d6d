//! The server: a thread that accepts, and one for each connection, on loopback only.

use crate::generate::{self, ModelAsk};
use crate::http::{self, Arrival, Request};
use crate::log::{Log, Understood};
use crate::messages::{self, Messages};
use crate::protocol::{ModelReply, ModelRequest, Protocol, Wanted};
use crate::responses::Responses;
use crate::{Lasts, Script, Turn, TurnOwner, Usage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A program holds a handful of connections; hundreds mean that something runs in circles.
const CONNECTIONS_MAX: usize = 64;

/// A request comes over loopback in one go; a client that stalls must not keep its thread for ever.
const STALL_MAX: Duration = Duration::from_secs(30);

/// How often a file that a turn waits for is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Where to listen and what to keep.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// 0: any free port.
    pub port: u16,
    /// A file that every request is appended to.
    pub log: Option<PathBuf>,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("cannot open the log {}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("cannot listen on port {port} of this machine")]
    Listen { port: u16, source: io::Error },
}

/// A running server; it stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    log: Log,
    is_stopping: AtomicBool,
    connections: AtomicUsize,
    ids: AtomicU64,
    /// How often each turn was answered with its error.
    troubles: Mutex<HashMap<(TurnOwner, usize), u32>>,
}

impl Server {
    pub fn start(script: Script, options: &Options) -> Result<Self, SimError> {
        let log = Log::open(options.log.as_deref()).map_err(|source| SimError::Log {
            path: options.log.clone().unwrap_or_default(),
            source,
        })?;
        let failed = |source| SimError::Listen { port: options.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            script,
            log,
            is_stopping: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            ids: AtomicU64::new(0),
            troubles: Mutex::default(),
        });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(Self { address, shared, acceptor: Some(acceptor) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection; this one wakes it.
        let _woken = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            // It has no way to panic that would still matter now.
            let _ended = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        // One connection that failed while it was made says nothing about the next.
        let Ok((stream, _)) = accepted else { continue };
        let others = shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A client that went away in the middle is not our fault and not our problem.
            let _gone = shared.serve(&stream, others);
            shared.connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream, others: usize) -> io::Result<()> {
        stream.set_read_timeout(Some(STALL_MAX))?;
        stream.set_write_timeout(Some(STALL_MAX))?;
        stream.set_nodelay(true)?;
        let mut output: &TcpStream = stream;
        if others >= CONNECTIONS_MAX {
            return http::write_json(&mut output, 503, &plain(503, "too many connections"));
        }
        match http::read(&mut BufReader::new(stream))? {
            Arrival::Nothing => Ok(()),
            Arrival::Refused(refusal) => {
                let body = plain(refusal.status, refusal.message);
                http::write_json(&mut output, refusal.status, &body)
            }
            Arrival::Request(request) => self.respond(&request, &mut output),
        }
    }

    fn respond(&self, request: &Request, output: &mut impl Write) -> io::Result<()> {
        match (request.method.as_str(), request.path()) {
            ("HEAD", _) => {
                self.note(request, 200)?;
                http::write_head(output)
            }
            ("POST", "/v1/messages") => self.speak(&Messages, request, output),
            ("POST", "/v1/responses") => self.speak(&Responses, request, output),
            ("POST", "/v1/messages/count_tokens") => {
                self.note(request, 200)?;
                http::write_json(output, 200, &messages::count(Usage::default()))
            }
            ("GET", "" | "/v1/models") => {
                self.note(request, 200)?;
                http::write_json(output, 200, &json!({"object": "list", "data": [], "models": []}))
            }
            ("POST", path) if let Some(asked) = generate::asked(path) => match asked {
                ModelAsk::Content(generate) => self.speak(&generate, request, output),
                ModelAsk::Count => {
                    self.note(request, 200)?;
                    http::write_json(output, 200, &generate::count(Usage::default()))
                }
            },
            _ => {
                self.note(request, 404)?;
                let message = "there is /v1/messages, /v1/messages/count_tokens, /v1/responses \
                               and /v1beta/models/NAME:streamGenerateContent";
                http::write_json(output, 404, &plain(404, message))
            }
        }
    }

    /// Logs a request that no turn answers.
    fn note(&self, request: &Request, status: u16) -> io::Result<()> {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        self.log.write(request, &body, Understood { protocol: None, turn: None, status })
    }

    /// Answers with a turn of the script.
    fn speak(
        &self,
        protocol: &dyn Protocol,
        request: &Request,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let question = protocol.question(&self.script, &body);
        let (reply, turn) = match question {
            Ok(question) => {
                let turn = (self.script.name(question.conversation), question.index);
                (self.reply(protocol, &body, question), Some(turn))
            }
            Err(message) => (ModelReply::Json(400, protocol.error(400, message)), None),
        };
        let status = if let ModelReply::Json(status, _) = &reply { *status } else { 200 };
        let understood = Understood { protocol: Some(protocol.name()), turn, status };
        self.log.write(request, &body, understood)?;
        if let Ok(question) = question {
            self.think(&self.script.turn(question.conversation, question.index));
        }
        match reply {
            ModelReply::Json(status, body) => http::write_json(output, status, &body),
            ModelReply::Events(events) => http::write_events(output, &events),
            ModelReply::Data(events) => http::write_data(output, &events),
        }
    }

    /// Waits for as long as the turn says.
    fn think(&self, turn: &Turn) {
        thread::sleep(Duration::from_millis(turn.delay_ms));
        let Some(file) = &turn.until else { return };
        let is_over = || self.is_stopping.load(Ordering::SeqCst) || file.exists();
        while !is_over() {
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn reply(&self, protocol: &dyn Protocol, body: &Value, question: ModelRequest) -> ModelReply {
        if let Some(status) = self.trouble(question) {
            return ModelReply::Json(
                status,
                protocol.error(status, "the script wants an error here"),
            );
        }
        let turn = self.script.turn(question.conversation, question.index);
        let model = body.get("model").and_then(Value::as_str).unwrap_or("sim");
        let wanted = Wanted { model, is_streamed: question.is_streamed };
        protocol.answer(&turn, &wanted, &mut || self.ids.fetch_add(1, Ordering::SeqCst))
    }

    /// The error that this request gets, if the turn has one left.
    fn trouble(&self, question: ModelRequest) -> Option<u16> {
        let ModelRequest { conversation, index, .. } = question;
        let trouble = self.script.turn(conversation, index).trouble?;
        let is_left = match trouble.lasts {
            Lasts::Until(file) => !file.exists(),
            Lasts::Times(times) => {
                let mut counts = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
                let count = counts.entry((conversation, index)).or_default();
                let is_left = *count < times;
                *count += u32::from(is_left);
                is_left
            }
        };
        is_left.then_some(trouble.status)
    }
}

/// An error that belongs to no protocol, in the shape that all of them can show.
fn plain(status: u16, message: &str) -> Value {
    Messages.error(status, message)
}
