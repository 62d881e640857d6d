//! What comes in from outside: lines, the end of the input, and the wish that the program ends.

use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Messages have some kilobytes; a program that sends a longer line is not answered any more.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How many lines wait in here; the rest waits in the pipe.
const LINES_MAX: usize = 64;

#[derive(Debug)]
pub(super) enum Event {
    /// Without the break at its end.
    Line(Vec<u8>),
    Closed,
    Terminate,
}

/// Listens in a thread, so that the player can wait for a line and a while at once.
#[derive(Debug)]
pub(super) struct Ear {
    events: Receiver<Event>,
    /// Kept, so that waiting is possible when no other sender is left.
    own: SyncSender<Event>,
}

impl Ear {
    pub(super) fn open(input: impl Read + Send + 'static) -> Self {
        let (own, events) = sync_channel(LINES_MAX);
        let sender = own.clone();
        thread::spawn(move || {
            let mut input = BufReader::new(input);
            // When the player listens no more the program ends.
            while let Ok(Some(line)) = read_line(&mut input)
                && sender.send(Event::Line(line)).is_ok()
            {}
            let _unheard = sender.send(Event::Closed);
        });
        Self { events, own }
    }

    pub(super) fn sender(&self) -> SyncSender<Event> {
        self.own.clone()
    }

    /// The next event; none if nothing comes within the limit.
    pub(super) fn wait(&self, limit: Option<Duration>) -> Option<Event> {
        match limit {
            Some(limit) => self.events.recv_timeout(limit).ok(),
            None => self.events.recv().ok(),
        }
    }
}

fn read_line(input: &mut impl io::BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    let is_whole = line.ends_with(b"\n");
    if line.is_empty() || !is_whole && line.len() as u64 == LINE_BYTES_MAX {
        return Ok(None);
    }
    if is_whole {
        line.pop();
    }
    Ok(Some(line))
}
