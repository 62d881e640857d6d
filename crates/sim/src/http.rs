//! As much of HTTP/1.1 as agent programs need from a server: one request per connection, a length
//! that is known, an answer that ends with the connection.
//!
//! Everything is bounded; what is not understood is answered with an error instead of guessed.

use serde_json::Value;
use std::io::{self, BufRead, Read as _, Write};

/// Programs send a few kilobytes of headers.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// A conversation that fills a context of a million tokens has some megabytes.
const BODY_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A request as it arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) target: String,
    pub(crate) user_agent: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The path without query and final slash.
    pub(crate) fn path(&self) -> &str {
        let path = self.target.split('?').next().unwrap_or_default();
        path.trim_end_matches('/')
    }
}

/// Why a request is not answered by the script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: &'static str,
}

impl Refusal {
    const fn new(status: u16, message: &'static str) -> Self {
        Self { status, message }
    }
}

/// What became of reading a request.
#[derive(Debug)]
pub(crate) enum Arrival {
    Request(Request),
    Refused(Refusal),
    /// The other side closed the connection without asking for anything.
    Nothing,
}

/// Reads one request.
pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Arrival> {
    let mut head = stream.take(HEAD_BYTES_MAX);
    let mut first = Vec::new();
    head.read_until(b'\n', &mut first)?;
    if first.is_empty() {
        return Ok(Arrival::Nothing);
    }
    let first = String::from_utf8_lossy(&first).into_owned();
    let words: Vec<&str> = first.split_ascii_whitespace().collect();
    let [method, target, version] = words.as_slice() else {
        return Ok(Arrival::Refused(Refusal::new(400, "this is not a request of HTTP/1.1")));
    };
    if !version.starts_with("HTTP/1.") {
        return Ok(Arrival::Refused(Refusal::new(505, "only HTTP/1.1 is spoken here")));
    }
    let headers = match read_headers(&mut head)? {
        Ok(headers) => headers,
        Err(refusal) => return Ok(Arrival::Refused(refusal)),
    };
    let mut body = Vec::new();
    stream.take(headers.length).read_to_end(&mut body)?;
    if body.len() as u64 != headers.length {
        return Ok(Arrival::Refused(Refusal::new(400, "the body is shorter than its length")));
    }
    Ok(Arrival::Request(Request {
        method: method.to_string(),
        target: target.to_string(),
        user_agent: headers.user_agent,
        body,
    }))
}

/// The headers that matter here.
#[derive(Debug, Default)]
struct Headers {
    length: u64,
    user_agent: Option<String>,
}

fn read_headers(head: &mut impl BufRead) -> io::Result<Result<Headers, Refusal>> {
    let mut headers = Headers::default();
    loop {
        let mut line = Vec::new();
        head.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Ok(Err(Refusal::new(431, "the headers are too long or end early")));
        }
        let line = String::from_utf8_lossy(&line);
        let Some((name, value)) = line.split_once(':') else {
            let is_end = line.trim().is_empty();
            let refusal = Refusal::new(400, "a header has no name");
            return Ok(if is_end { Ok(headers) } else { Err(refusal) });
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => match value.parse() {
                Ok(length) if length <= BODY_BYTES_MAX => headers.length = length,
                Ok(_) => return Ok(Err(Refusal::new(413, "the request is too long"))),
                Err(_) => return Ok(Err(Refusal::new(400, "the length is no number"))),
            },
            "transfer-encoding" => {
                return Ok(Err(Refusal::new(411, "a request needs a content-length")));
            }
            "content-encoding" if value != "identity" => {
                return Ok(Err(Refusal::new(415, "a compressed request is not understood")));
            }
            "user-agent" => headers.user_agent = Some(value.to_owned()),
            _ => {}
        }
    }
}

/// An answer that is complete.
pub(crate) fn write_json(stream: &mut impl Write, status: u16, body: &Value) -> io::Result<()> {
    let text = body.to_string();
    let head = head(status, "application/json");
    write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len())?;
    stream.flush()
}

/// The answer to `HEAD`: that we are here.
pub(crate) fn write_head(stream: &mut impl Write) -> io::Result<()> {
    write!(stream, "{}content-length: 0\r\n\r\n", head(200, "application/json"))?;
    stream.flush()
}

/// Server-sent events, each `(name, data)`; the data names its event once more as `type`.
pub(crate) fn write_events(
    stream: &mut impl Write,
    events: &[(&'static str, Value)],
) -> io::Result<()> {
    write!(stream, "{}\r\n", head(200, "text/event-stream"))?;
    for (name, data) in events {
        let mut data = data.clone();
        data["type"] = (*name).into();
        write!(stream, "event: {name}\ndata: {data}\n\n")?;
        stream.flush()?;
    }
    Ok(())
}

/// Server-sent events that have no names.
pub(crate) fn write_data(stream: &mut impl Write, events: &[Value]) -> io::Result<()> {
    write!(stream, "{}\r\n", head(200, "text/event-stream"))?;
    for data in events {
        write!(stream, "data: {data}\r\n\r\n")?;
        stream.flush()?;
    }
    Ok(())
}

fn head(status: u16, kind: &str) -> String {
    let reason = match status {
        200 => "OK",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Not Served",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncache-control: no-store\r\n\
         connection: close\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Result<&str, u16>) {
        let got = match read(&mut text.as_bytes()).unwrap() {
            Arrival::Request(request) => {
                let body = String::from_utf8(request.body).unwrap();
                Ok(format!("{} {} {body}", request.method, request.target))
            }
            Arrival::Refused(refusal) => Err(refusal.status),
            Arrival::Nothing => Ok("nothing".to_owned()),
        };
        assert_eq!(got, want.map(str::to_owned), "{text:?}");
    }

    #[test]
    fn a_request_is_read_or_refused_with_a_status() {
        check("", Ok("nothing"));
        check("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n", Ok("HEAD / "));
        check("POST /a?b=c HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}rest", Ok("POST /a?b=c {}"));
        check("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\n{}", Err(400));
        check("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", Err(400));
        check("POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", Err(413));
        check("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", Err(411));
        check("POST / HTTP/1.1\r\ncontent-encoding: zstd\r\ncontent-length: 0\r\n\r\n", Err(415));
        check("POST / HTTP/2\r\n\r\n", Err(505));
        check("what is this\n", Err(505));
        check("hello\n", Err(400));
        check("GET / HTTP/1.1\r\nno colon\r\n\r\n", Err(400));
        check("GET / HTTP/1.1\r\nhost: a", Err(431));
        check(&format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(70_000)), Err(431));
    }

    #[test]
    fn the_path_is_compared_without_query_and_final_slash() {
        let request = |target: &str| Request {
            method: "GET".to_owned(),
            target: target.to_owned(),
            user_agent: None,
            body: Vec::new(),
        };
        assert_eq!(request("/v1/messages?beta=true").path(), "/v1/messages");
        assert_eq!(request("/v1/responses/").path(), "/v1/responses");
        assert_eq!(request("/").path(), "");
    }
}
