//! Plain text as messages: each line is one, and so are the lines that belong to one signal.
//!
//! What stands in a code fence is output, and never searched for signals.

use super::MESSAGE_END;
use crate::protocol::{Recovery, Scanner, Severity, Signal};
use crate::stream::{DETAIL_LENGTH_MAX, End, LineUse, Listener, Said, Why, json::shortened};
use serde_json::Value;

/// A message that is longer is told in parts; no signal is.
const MESSAGE_SIZE_MAX: usize = 1 << 20;

/// So many lines may follow a signal that is waited for: a few words of farewell. More is work, and a
/// turn of its own.
const FAREWELL_LINES_MAX: u32 = 20;

/// What the conversation is called: it has no other name, and there is one for each process.
const CONVERSATION: &str = "plain";

#[derive(Debug, Default)]
pub(super) struct PlainStream {
    scanner: Scanner,
    /// Whether it has said anything.
    has_begun: bool,
    /// Whether its turn is over.
    is_waiting: bool,
    /// How many lines came behind the signal that ended it, until the program is quiet.
    farewell: Option<u32>,
    /// Lines that belong together and are not complete.
    message: String,
    last_text: String,
}

impl Listener for PlainStream {
    fn hear(&mut self, _line: &Value, _raw: &str, _said: &mut Vec<Said>) -> LineUse {
        LineUse::Said
    }

    fn hear_before(&mut self, line: &str, said: &mut Vec<Said>) {
        if self.scanner.is_listing() && !self.scanner.goes_on(line.as_bytes()) {
            let signals = self.scanner.settle();
            self.tell(&signals, said);
        }
    }

    fn hear_plain(&mut self, line: &str, said: &mut Vec<Said>) -> Option<LineUse> {
        if line.trim_end() == MESSAGE_END {
            self.hear_end(said);
            return Some(LineUse::Said);
        }
        if line.trim().is_empty() && !self.scanner.is_reading() {
            return Some(LineUse::Said);
        }
        self.begin(said);
        let was_fenced = self.scanner.is_fenced();
        let mut signals = self.scanner.push(line.as_bytes());
        signals.extend(self.scanner.push(b"\n"));
        let is_open = self.scanner.is_reading() && self.message.len() < MESSAGE_SIZE_MAX;
        let is_output = was_fenced || self.scanner.is_fenced();
        if is_open {
            if !signals.is_empty() {
                self.tell(&signals, said);
            }
            self.add(line);
            return Some(LineUse::Held);
        }
        if self.message.is_empty() && signals.is_empty() && is_output {
            said.push(Said::Other(line.to_owned()));
        } else {
            self.add(line);
            self.tell(&signals, said);
        }
        Some(LineUse::Said)
    }

    fn settle(&mut self, said: &mut Vec<Said>) {
        let signals = self.scanner.settle();
        if !signals.is_empty() {
            self.tell(&signals, said);
        }
        self.end_farewell(said);
    }

    fn is_unsettled(&self) -> bool {
        self.scanner.is_listing() || self.farewell.is_some()
    }

    fn finish(&mut self, said: &mut Vec<Said>) {
        if self.has_begun {
            self.end_message(said);
            self.end_farewell(said);
        }
    }
}

impl PlainStream {
    /// The program has ended its message, and with it its turn, unless a signal has just done so.
    fn hear_end(&mut self, said: &mut Vec<Said>) {
        let is_said = self.is_waiting && self.farewell.is_none_or(|lines| lines == 0);
        if !is_said || !self.message.is_empty() {
            self.begin(said);
            self.end_message(said);
            self.end_turn(said);
        }
        self.scanner = Scanner::new();
        self.farewell = None;
    }

    fn begin(&mut self, said: &mut Vec<Said>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            said.push(Said::Session { id: CONVERSATION.to_owned() });
            said.push(Said::TurnBegan { id: None });
        }
        match &mut self.farewell {
            Some(lines) if *lines < FAREWELL_LINES_MAX => *lines += 1,
            _ if std::mem::take(&mut self.is_waiting) => {
                self.farewell = None;
                said.push(Said::TurnBegan { id: None });
            }
            _ => {}
        }
    }

    /// A program that said something behind its last signal waits all the same.
    fn end_farewell(&mut self, said: &mut Vec<Said>) {
        if self.farewell.take().is_some_and(|lines| lines > 0) {
            let detail = std::mem::take(&mut self.last_text);
            said.push(Said::Ended(End { why: Why::Done, detail }));
        }
    }

    fn add(&mut self, line: &str) {
        self.message.push_str(line);
        self.message.push('\n');
    }

    /// Says the lines that are there, in which these signals are.
    fn tell(&mut self, signals: &[Signal], said: &mut Vec<Said>) {
        let mut message = std::mem::take(&mut self.message);
        if message.pop().is_some() {
            self.last_text = shortened(message.trim_end(), DETAIL_LENGTH_MAX);
            said.push(Said::Text(message));
        }
        if signals.iter().any(is_waited_for) {
            self.end_turn(said);
        }
    }

    fn end_message(&mut self, said: &mut Vec<Said>) {
        let signals = self.scanner.finish();
        self.tell(&signals, said);
    }

    fn end_turn(&mut self, said: &mut Vec<Said>) {
        let detail = self.last_text.clone();
        said.push(Said::Ended(End { why: Why::Done, detail }));
        self.is_waiting = true;
        self.farewell = Some(0);
    }
}

/// Whether a program that says this has to hear something before it goes on.
fn is_waited_for(signal: &Signal) -> bool {
    match signal {
        Signal::Done { .. }
        | Signal::Failed { .. }
        | Signal::PhaseComplete { .. }
        | Signal::CustomComplete { .. }
        | Signal::Verification(_)
        | Signal::Malformed(_) => true,
        Signal::Dependency(wanted) => wanted.is_required,
        Signal::Question(question) => question.is_required,
        Signal::Problem(problem) => {
            problem.severity == Severity::Fatal || problem.recovery == Some(Recovery::PauseAndRetry)
        }
    }
}
