//! A host on loopback that takes what is posted to it, and answers as it is told to.

use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// How a request is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16),
    /// Too many requests.
    Busy {
        retry_after: u32,
    },
    Redirect(String),
    /// The connection stays open, and nothing comes.
    Hang,
    /// The connection ends without an answer.
    Close,
}

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) line: String,
    /// By their names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) raw: String,
}

impl Request {
    pub(crate) fn parse(raw: &str) -> Self {
        let (head, body) = raw.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let line = lines.next().unwrap().to_owned();
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_lowercase(), value.to_owned()))
        });
        Self { line, headers: headers.collect(), body: body.to_owned(), raw: raw.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    next: VecDeque<Answer>,
    always: Option<Answer>,
    /// Connections that are left open.
    hanging: Vec<TcpStream>,
}

/// The host; it listens until the tests end.
pub(crate) struct Host {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Host {
    /// Takes everything.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || while serve(&stream, &shared).is_some() {});
            }
        });
        Self { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn answer_all(&self, answer: Answer) {
        self.state.lock().unwrap().always = Some(answer);
    }

    pub(crate) fn answer_next(&self, answer: Answer) {
        self.state.lock().unwrap().next.push_back(answer);
    }

    /// What has come so far, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(crate) fn forget(&self) {
        self.state.lock().unwrap().requests.clear();
    }
}

/// Takes one request and answers it; none when the connection is over.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let raw = head + &String::from_utf8(body).ok()?;
    let mut state = state.lock().unwrap();
    state.requests.push(Request::parse(&raw));
    let always = state.always.clone().unwrap_or(Answer::Status(200));
    let answer = match state.next.pop_front().unwrap_or(always) {
        Answer::Status(status) => format!("HTTP/1.1 {status} Said\r\n"),
        Answer::Busy { retry_after } => {
            format!("HTTP/1.1 429 Busy\r\nRetry-After: {retry_after}\r\n")
        }
        Answer::Redirect(to) => format!("HTTP/1.1 302 Found\r\nLocation: {to}/\r\n"),
        Answer::Hang => {
            state.hanging.push(stream.try_clone().ok()?);
            return None;
        }
        Answer::Close => return None,
    };
    drop(state);
    let mut stream = stream;
    stream.write_all(format!("{answer}Content-Length: 0\r\n\r\n").as_bytes()).ok()
}
