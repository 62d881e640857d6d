//! Standard input without lines that the protocol's library cannot deal with.
//!
//! The protocol has one message in each line, and its library reads a line whole before it looks at it. A
//! line that is too long is passed over here, and a short request takes its place that is answered with an
//! error, under the same id where that can be told, else under none (`outlet`). A request without the form of one is dropped by the
//! library without a word, and its client would wait for ever: that has a stand-in as well.

use crate::outlet::nobody;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, ReadBuf};

/// More than any document of ours as an argument.
pub(crate) const LINE_SIZE_MAX: usize = 8 << 20;

/// The method that a line that is too long becomes.
pub(crate) const TOO_LARGE: &str = "waypost/too-large";

/// The method that a request without the form of one becomes.
pub(crate) const MALFORMED: &str = "waypost/malformed";

/// More than any argument has; the library reads a little more than a hundred.
const DEPTH_MAX: usize = 100;

/// How much of the two ends of a line is looked at for its id.
const ENDS: usize = 256;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// A reader of lines of at most `LINE_SIZE_MAX` bytes.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    source: R,
    /// Whole lines, or the beginning of one, that were let through and not handed out yet.
    ready: Vec<u8>,
    handed: usize,
    /// The line that is being read and may yet turn out to be too long.
    line: Vec<u8>,
    /// The end of a line that is too long; its beginning is in `line`.
    excess: Option<Vec<u8>>,
    /// How many lines there were so far, to name those without an id.
    count: u64,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, ready: Vec::new(), handed: 0, line: Vec::new(), excess: None, count: 0 }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.count += 1;
            match self.excess.take() {
                None => self.ready.extend(malformed(&line, self.count).unwrap_or(line)),
                Some(tail) => self.ready.extend(stand_in((&line, &tail), TOO_LARGE, self.count)),
            }
            self.ready.push(b'\n');
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(tail) = &mut self.excess {
            tail.extend(&bytes[bytes.len().saturating_sub(ENDS)..]);
            let old = tail.len().saturating_sub(ENDS);
            tail.drain(..old);
        } else if self.line.len() + bytes.len() > LINE_SIZE_MAX {
            let mut tail: Vec<u8> = self.line[self.line.len().saturating_sub(ENDS)..].to_vec();
            self.line.truncate(ENDS);
            self.line.shrink_to_fit();
            tail.extend(&bytes[bytes.len().saturating_sub(ENDS)..]);
            let old = tail.len().saturating_sub(ENDS);
            self.excess = Some(tail.split_off(old));
        } else {
            self.line.extend(bytes);
        }
    }
}

/// A message as the library takes it; values that are nested too deeply are none.
#[derive(Deserialize)]
struct Plain {
    #[serde(rename = "jsonrpc")]
    version: Option<String>,
    id: Option<Value>,
    method: Option<String>,
    #[expect(dead_code, reason = "only its form counts")]
    params: Option<BTreeMap<String, Value>>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Plain {
    /// A request, a notification, or the answer to a request of ours.
    fn is_message(&self) -> bool {
        let is_answer = self.result.is_some() || self.error.is_some();
        self.version.as_deref() == Some("2.0")
            && self.id.as_ref().is_none_or(is_id)
            && (self.method.is_some() || (is_answer && self.id.is_some()))
    }
}

/// What the library takes for the id of a message.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

/// A request in the place of a line that the library would not answer: one without the form of a message, or nested
/// more deeply than it reads. A notification has no answer, whatever its form.
fn malformed(line: &[u8], number: u64) -> Option<Vec<u8>> {
    let is_blank = line.iter().all(u8::is_ascii_whitespace);
    let is_flat = depth(line) <= DEPTH_MAX;
    let is_plain = || serde_json::from_slice::<Plain>(line).is_ok_and(|it| it.is_message());
    // A field of a message may be null, which `Plain` does not tell from its absence.
    let message = serde_json::from_slice::<Map<String, Value>>(line).ok().filter(|_| is_flat);
    let has_null_id = message.as_ref().is_some_and(|it| it.get("id") == Some(&Value::Null));
    if is_blank || (is_flat && is_plain() && !has_null_id) {
        return None;
    }
    let Some(message) = message else {
        // Cut off, no JSON, no text, no object, or nested too deeply to be read.
        return Some(stand_in((line, line), MALFORMED, number));
    };
    if !message.contains_key("id") && message.contains_key("method") {
        return None;
    }
    let id = message.get("id").filter(|id| is_id(id)).map(ToString::to_string);
    Some(request(&id.unwrap_or_else(|| nobody(number)), MALFORMED))
}

/// How deeply the values of a line are nested.
fn depth(line: &[u8]) -> usize {
    let (mut now, mut most, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn request(id: &str, method: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#).into_bytes()
}

/// A request in the place of the line of this number that cannot be read, of which these are the two ends.
fn stand_in((head, tail): (&[u8], &[u8]), method: &str, number: u64) -> Vec<u8> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    // Programs write the id first or last.
    let last = tail.rfind("\"id\"").map(|at| &tail[at..]).filter(|rest| !rest.contains('{'));
    let first = head.find("\"id\"").map(|at| &head[at..]);
    let id = last.and_then(id_at).or_else(|| first.and_then(id_at));
    request(&id.unwrap_or_else(|| nobody(number)), method)
}

/// The number or plain text after `"id":`.
fn id_at(text: &str) -> Option<String> {
    let value = text.strip_prefix("\"id\"")?.trim_start().strip_prefix(':')?.trim_start();
    if let Some(rest) = value.strip_prefix('"') {
        let (id, _) = rest.split_once('"')?;
        return (!id.contains('\\')).then(|| format!("\"{id}\""));
    }
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty() && digits.len() < 19).then_some(digits)
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.handed < this.ready.len() {
                let count = buffer.remaining().min(this.ready.len() - this.handed);
                buffer.put_slice(&this.ready[this.handed..this.handed + count]);
                this.handed += count;
                if this.handed == this.ready.len() {
                    (this.ready, this.handed) = (Vec::new(), 0);
                }
                return Poll::Ready(Ok(()));
            }
            let mut chunk = vec![0; CHUNK];
            let mut read = ReadBuf::new(&mut chunk);
            match Pin::new(&mut this.source).poll_read(context, &mut read) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // A line without an end is no message.
                Poll::Ready(Ok(())) if read.filled().is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => {
                    let filled = read.filled().to_vec();
                    this.take(&filled);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    /// What is left of some bytes, read in pieces of a size.
    fn check(bytes: &[u8], want: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut read = String::new();
        runtime.block_on(BoundedLines::new(bytes).read_to_string(&mut read)).unwrap();
        assert_eq!(read, want);
    }

    #[test]
    fn lines_pass_and_what_has_no_end_does_not() {
        check(b"", "");
        let line = r#"{"jsonrpc":"2.0","method":"ping","id":1}"#;
        check(format!("{line}\n\n{line}\n").as_bytes(), &format!("{line}\n\n{line}\n"));
        check(format!("{line}\nhalf").as_bytes(), &format!("{line}\n"));
    }

    #[test]
    fn a_line_that_is_too_long_becomes_a_request_that_is_answered() {
        let long = "x".repeat(LINE_SIZE_MAX);
        let table = [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"params":"{long}"}}"#), "7"),
            (format!(r#"{{"params":"{long}","jsonrpc":"2.0","id":"q-8"}}"#), "\"q-8\""),
            (format!(r#"{{"id":3,"params":"{long}","id":4}}"#), "4"),
            (format!(r#"{{"params":"{long}"}}"#), "\"waypost:nobody-2\""),
        ];
        for (line, id) in table {
            let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{TOO_LARGE}"}}"#);
            check(format!("\n{line}\n\n").as_bytes(), &format!("\n{want}\n\n"));
        }
    }

    #[test]
    fn a_request_without_the_form_of_one_is_answered_all_the_same() {
        let stand_in =
            |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{MALFORMED}"}}"#);
        let deep = |levels: usize| {
            let nested = "[".repeat(levels) + &"]".repeat(levels);
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{nested}}}}}"#)
        };
        let (flat, deep, deeper) = (deep(98), deep(99), deep(200));
        let nobody = Some("\"waypost:nobody-1\"");
        let table = [
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":"q","method":"ping","params":"x"}"#, Some("\"q\"")),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, Some("7")),
            (r#"{"id":7,"method":"ping"}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7,"method":8}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[1]}}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"result":[]}"#, None),
            (r#"{"jsonrpc":"2.0","method":"notifications/x","params":[]}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}"#, None),
            (r#"{"jsonrpc":"2.0","id":902}"#, Some("902")),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, nobody),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, nobody),
            ("{}", nobody),
            ("[]", nobody),
            ("7", nobody),
            ("", None),
            ("no json", nobody),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"[[[["}}"#, None),
            (&flat, None),
            (&deep, Some("7")),
            (&deeper, Some("7")),
        ];
        for (line, id) in table {
            let want = id.map_or_else(|| line.to_owned(), stand_in);
            check(format!("{line}\n").as_bytes(), &format!("{want}\n"));
        }
    }
}
