//! One end of a conversation with an engine, as the keeper sees it.
//!
//! Never blocks. What the other side does not take stays in the spool, not in memory.

use crate::{
    error::ProcError,
    spec::INPUT_SIZE_MAX,
    spool::Spool,
    wire::{Lines, NUDGE, Request},
};
use rustix::{
    buffer::spare_capacity,
    io::{Errno, retry_on_intr},
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
    /// What stands before the next input; see [`Request::Piece`].
    pieces: Vec<u8>,
    /// Bytes on their way to the socket.
    out: Vec<u8>,
    /// How much of the spool has gone into `out`.
    offset: u64,
}

/// What came in.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) requests: Vec<Request>,
    pub(super) after: After,
}

/// What is to be expected of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// There may be more already.
    More,
    /// Nothing more is there yet.
    Silence,
    /// It has hung up, or says what we do not understand.
    Over,
}

impl Connection {
    pub(super) fn new(stream: UnixStream, since: Instant) -> Self {
        let (lines, pieces, out) = (Lines::default(), Vec::new(), Vec::new());
        Self { stream, since, lines, pieces, out, offset: NOTHING }
    }

    /// Some of what can be read now; all of it could be more than memory holds.
    pub(super) fn receive(&mut self) -> Received {
        let mut piece = Vec::with_capacity(PIECE_SIZE);
        let mut requests = Vec::new();
        let after = match recv(&self.stream, spare_capacity(&mut piece), RecvFlags::DONTWAIT) {
            Ok((0, _)) => After::Over,
            Ok(_) => {
                self.lines.push(&piece);
                match self.take_lines(&mut requests) {
                    Ok(()) => After::More,
                    Err(_) => After::Over,
                }
            }
            Err(Errno::INTR) => After::More,
            Err(Errno::WOULDBLOCK) => After::Silence,
            Err(_) => After::Over,
        };
        Received { requests, after }
    }

    /// Whole requests, with the pieces of their input put together.
    fn take_lines(&mut self, to: &mut Vec<Request>) -> Result<(), ProcError> {
        while let Some(mut request) = self.lines.next()? {
            let input = match &mut request {
                Request::Piece(piece) if self.pieces.len() + piece.len() > INPUT_SIZE_MAX => {
                    return Err(ProcError::protocol("received an input that is too long"));
                }
                Request::Piece(piece) => {
                    self.pieces.append(piece);
                    continue;
                }
                Request::Say { input, .. } => Some(input),
                Request::Spawn(spec) => spec.talk.as_mut().map(|talk| &mut talk.opening),
                _ => None,
            };
            if let Some(input) = input
                && !self.pieces.is_empty()
            {
                self.pieces.append(input);
                *input = std::mem::take(&mut self.pieces);
            }
            to.push(request);
        }
        Ok(())
    }

    /// Begins to tell the spool from `offset` on, after a first line of its own.
    pub(super) fn begin(&mut self, first: Vec<u8>, offset: u64) {
        self.out = first;
        self.offset = offset;
    }

    /// Says that a child has said something. A socket that has something for the engine already
    /// wakes it without that.
    pub(super) fn nudge(&mut self, spool: &Spool) -> Result<(), Errno> {
        // In the middle of a line it would be part of that.
        if !self.out.is_empty() || self.offset != spool.length() {
            return Ok(());
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match retry_on_intr(|| send(&self.stream, &[NUDGE], flags)) {
            Ok(_) | Err(Errno::WOULDBLOCK) => Ok(()),
            Err(error) => Err(error),
        }
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
