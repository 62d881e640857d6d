//! Standard output, where answers to lines without an id that can be read have none.
//!
//! The protocol's library knows no request without an id. So a line whose id cannot be told is given one of
//! ours on its way in, and its answer says `null` on its way out, as JSON-RPC has it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::AsyncWrite;

/// Begins an id of ours, as JSON; no client has such a one.
const NOBODY: &str = "waypost:nobody-";

/// As much as is taken before the reader has taken what is there.
const WAITING_MAX: usize = 64 << 10;

/// The id of the line of this number, as JSON.
pub(crate) fn nobody(number: u64) -> String {
    format!("\"{NOBODY}{number}\"")
}

/// Writes lines, and `null` in the place of ids of ours.
#[derive(Debug)]
pub(crate) struct Outlet<W> {
    target: W,
    /// The line that is being written.
    line: Vec<u8>,
    /// Whole lines that the target has not taken.
    waiting: Vec<u8>,
}

impl<W> Outlet<W> {
    pub(crate) fn new(target: W) -> Self {
        Self { target, line: Vec::new(), waiting: Vec::new() }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend(&bytes[..=end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.waiting.extend(without_our_id(line));
        }
        self.line.extend(bytes);
    }
}

/// A message as its client gets it.
fn without_our_id(line: Vec<u8>) -> Vec<u8> {
    let begins = format!("\"id\":\"{NOBODY}");
    let start = line.windows(begins.len()).position(|part| part == begins.as_bytes());
    let Some(start) = start else { return line };
    let digits = line[start + begins.len()..].iter().take_while(|it| it.is_ascii_digit()).count();
    let end = start + begins.len() + digits + 1;
    [&line[..start], b"\"id\":null", line.get(end..).unwrap_or_default()].concat()
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            let written = ready!(Pin::new(&mut self.target).poll_write(context, &self.waiting))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.waiting.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Outlet<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.waiting.len() >= WAITING_MAX {
            ready!(this.poll_waiting(context))?;
        }
        this.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_waiting(context))?;
        Pin::new(&mut this.target).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_waiting(context))?;
        Pin::new(&mut this.target).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt as _;

    #[test]
    fn our_ids_are_none_and_all_else_passes_in_any_pieces() {
        let lines = format!(
            "{{\"id\":7}}\n{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{}}}}\n{{\"id\":\"q\"}}\n",
            nobody(12)
        );
        let want = "{\"id\":7}\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}\n{\"id\":\"q\"}\n";
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for size in [1, 3, 10, 1_000] {
            let mut outlet = Outlet::new(Vec::new());
            runtime.block_on(async {
                for piece in lines.as_bytes().chunks(size) {
                    outlet.write_all(piece).await.unwrap();
                }
                outlet.flush().await.unwrap();
            });
            assert_eq!(String::from_utf8(outlet.target).unwrap(), want, "{size}");
        }
    }
}
