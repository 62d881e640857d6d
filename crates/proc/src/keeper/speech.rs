//! A conversation with a child: what is said to it and what it says, from the keeper's side.
//!
//! Never blocks. What the child does not take yet is held here, within a limit; what the disk does
//! not take yet keeps the child from writing more.

use crate::{
    command::Ends,
    spec::{INPUT_SIZE_MAX, Talk},
    stream::Stream,
};
use rustix::io::Errno;
use std::{
    collections::VecDeque,
    fs,
    io::{self, PipeReader, PipeWriter},
    sync::Arc,
};
use waypost_redact::{Form, Searcher, Sieve};

#[derive(Debug)]
pub(super) struct Speech {
    /// The child's stdin; `None`: closed, by us or by the child.
    pub(super) input: Option<PipeWriter>,
    /// What was said and has not been taken.
    unheard: VecDeque<u8>,
    /// Whether nothing will be added to that.
    is_all: bool,
    /// The child's stdout; `None`: everybody has closed the other end.
    pub(super) pipe: Option<PipeReader>,
    /// What its words go through on their way to the file.
    sieve: Sieve,
    stream: Stream,
}

impl Speech {
    /// Makes the stream's file and both pipes, and puts the child's ends into `ends`.
    pub(super) fn begin(talk: &Talk, searcher: Arc<Searcher>, ends: &mut Ends) -> io::Result<Self> {
        let (child_input, input) = io::pipe()?;
        let (pipe, child_output) = io::pipe()?;
        rustix::io::ioctl_fionbio(&input, true)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        // The file comes last: a failure before that has left nothing.
        let stream = Stream::create(&talk.stream, talk.stream_size)?;
        ends.talk = Some((child_input, child_output));
        let unheard = talk.opening.iter().copied().collect();
        let sieve = Sieve::new(searcher, Form::Lines);
        let (input, pipe) = (Some(input), Some(pipe));
        Ok(Self { input, unheard, is_all: talk.is_all, pipe, sieve, stream })
    }

    /// Takes the stream's file away again, for a child that was not started after all.
    pub(super) fn undo(talk: &Talk) {
        let _left_empty = fs::remove_file(&talk.stream);
    }

    /// Whether there was room for it.
    pub(super) fn say(&mut self, input: &[u8]) -> bool {
        if self.input.is_none() || self.is_all {
            return true;
        }
        if self.unheard.len() + input.len() > INPUT_SIZE_MAX {
            return false;
        }
        self.unheard.extend(input);
        self.speak();
        true
    }

    pub(super) fn hang_up(&mut self) {
        self.is_all = true;
        self.speak();
    }

    /// Gives the child as much as it takes now.
    pub(super) fn speak(&mut self) {
        while let Some(input) = &self.input {
            let (next, _) = self.unheard.as_slices();
            if next.is_empty() {
                self.unheard = VecDeque::new();
                if self.is_all {
                    self.input = None;
                }
                return;
            }
            match rustix::io::write(input, next) {
                Ok(count) => drop(self.unheard.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return,
                // The child does not read it any more, which is the child's own affair.
                Err(_) => self.close(),
            }
        }
    }

    pub(super) fn close(&mut self) {
        self.input = None;
        self.unheard = VecDeque::new();
    }

    /// Takes some of what the child has written; says whether there was any. Nothing is taken
    /// while something of before waits for the disk.
    pub(super) fn hear(&mut self, buffer: &mut [u8], reads_max: usize) -> bool {
        let mut has_come = false;
        for _ in 0..reads_max {
            let Some(pipe) = self.pipe.as_ref().filter(|_| self.stream.is_written()) else { break };
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(0) => self.end(),
                Ok(count) => {
                    has_come = true;
                    let Self { sieve, stream, .. } = self;
                    sieve.push(&buffer[..count], |bytes| stream.take(bytes));
                }
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => break,
                Err(_) => self.end(),
            }
        }
        has_come
    }

    /// Nothing more will be heard.
    fn end(&mut self) {
        self.pipe = None;
        self.flush_sieve();
    }

    /// Writes what may have been the beginning of something secret, and will not be any more.
    pub(super) fn flush_sieve(&mut self) {
        let Self { sieve, stream, .. } = self;
        sieve.finish(|bytes| stream.take(bytes));
    }

    /// Tries the disk again; says whether it has everything now.
    pub(super) fn flush(&mut self) -> bool {
        self.stream.flush()
    }

    pub(super) fn is_written(&self) -> bool {
        self.stream.is_written()
    }

    /// Bytes for the stream, and those of them that were too many.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.stream.output(), self.stream.excess())
    }
}
