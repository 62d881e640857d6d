//! One end of a conversation with an engine, as the keeper sees it.
//!
//! Never blocks. What the other side does not take stays in the spool, not in memory.

use crate::{
    error::ProcError,
    spool::Spool,
    wire::{Lines, Request},
};
use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};
use std::{os::unix::net::UnixStream, time::Instant};

/// An offset behind which nothing will ever be.
pub(super) const NOTHING: u64 = u64::MAX;
const PIECE_SIZE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: UnixStream,
    /// When it came.
    pub(super) since: Instant,
    lines: Lines,
    /// Bytes on their way to the socket.
    out: Vec<u8>,
    /// How much of the spool has gone into `out`.
    offset: u64,
}

/// What came in.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) requests: Vec<Request>,
    /// Whether the other side has hung up, or says what we do not understand.
    pub(super) is_over: bool,
}

impl Connection {
    pub(super) fn new(stream: UnixStream, since: Instant) -> Self {
        Self { stream, since, lines: Lines::default(), out: Vec::new(), offset: NOTHING }
    }

    /// Everything that can be read now.
    pub(super) fn receive(&mut self) -> Received {
        let mut piece = [0; PIECE_SIZE];
        let mut received = Received { requests: Vec::new(), is_over: false };
        loop {
            match recv(&self.stream, &mut piece[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => received.is_over = true,
                Ok((count, _)) => {
                    self.lines.push(&piece[..count]);
                    if self.take_lines(&mut received.requests).is_ok() {
                        continue;
                    }
                    received.is_over = true;
                }
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {}
                Err(_) => received.is_over = true,
            }
            return received;
        }
    }

    fn take_lines(&mut self, to: &mut Vec<Request>) -> Result<(), ProcError> {
        while let Some(request) = self.lines.next()? {
            to.push(request);
        }
        Ok(())
    }

    /// Begins to tell the spool from `offset` on, after a first line of its own.
    pub(super) fn begin(&mut self, first: Vec<u8>, offset: u64) {
        self.out = first;
        self.offset = offset;
    }

    /// Sends what the socket takes; `fresh` has just been added to the spool.
    pub(super) fn pump(&mut self, spool: &Spool, fresh: &[u8]) -> Result<(), Errno> {
        if self.out.is_empty() && self.offset.saturating_add(fresh.len() as u64) == spool.written()
        {
            self.offset = spool.written();
            self.out.extend_from_slice(fresh);
        }
        loop {
            if self.out.is_empty() {
                self.out = spool.read(self.offset);
                self.offset += self.out.len() as u64;
                if self.out.is_empty() {
                    return Ok(());
                }
            }
            match send(&self.stream, &self.out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}
