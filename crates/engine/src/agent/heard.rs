//! What one process of an agent has said so far, as far as it matters.
//!
//! Built from the stream alone, from its first byte: a process that takes over from another knows
//! the same.

use super::{MadeCall, Tally};
use std::collections::BTreeMap;
use waypost_agent::{
    limits::{Reset, Trouble},
    protocol::{self, Places, Signal, Spoken},
    stream::{Ask, End, LimitStatus, Placed, Said, Why},
};

/// How much of an agent's last words is kept.
const TEXT_LENGTH_MAX: usize = 64 << 10;

/// How much of what it does is shown.
const DOING_LENGTH_MAX: usize = 80;

/// More signals than an agent means; where no part takes them, they are not held without end.
const SPOKEN_MAX: usize = 10_000;

/// More calls than a program makes at once; whatever opens more and closes none must not make us grow.
const CALLS_MAX: usize = 10_000;

/// What was heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) session: Option<String>,
    /// Whether the program does not have the conversation that it was to go on with.
    pub(crate) is_forgotten: bool,
    /// The turn, where the program wants its name back.
    pub(crate) turn: Option<String>,
    /// Whether it does something: it has our message.
    pub(crate) has_begun: bool,
    /// What it used up.
    pub(crate) tally: Tally,
    pub(crate) tool_calls: u32,
    /// Calls that have no result yet, by their names.
    begun: BTreeMap<String, MadeCall>,
    /// Calls that came to a result, and whose verdicts were not looked for yet.
    pub(crate) made: Vec<MadeCall>,
    /// Questions that hold the program up, by their names.
    pub(crate) asks: BTreeMap<String, Ask>,
    /// The last message of the agent.
    pub(crate) text: String,
    /// Everything it has signalled since the last message of ours.
    pub(crate) signals: Vec<Signal>,
    /// Everything it has signalled and that was not taken, with its place in the stream.
    pub(crate) spoken: Vec<Spoken>,
    places: Places,
    /// How the last turn ended, if none began since.
    pub(crate) end: Option<End>,
    /// When the limit that it met is over.
    pub(crate) resets: Option<Reset>,
    /// What is wrong with its service, while its program tries again by itself.
    pub(crate) retrying: Option<Trouble>,
    /// What it does now, in a few words.
    pub(crate) doing: String,
    /// Lines that were no JSON; the last one, for an error message.
    pub(crate) other: String,
}

impl Heard {
    /// Takes something with its place in the stream of this process.
    pub(crate) fn take_placed(&mut self, placed: Placed) {
        let room = SPOKEN_MAX.saturating_sub(self.spoken.len());
        self.spoken.extend(self.places.spoken(&placed).into_iter().take(room));
        self.take(placed.said);
    }

    pub(crate) fn take(&mut self, said: Said) {
        match said {
            Said::Session { id } => self.session = Some(id),
            Said::Forgotten => self.is_forgotten = true,
            Said::TurnBegan { id } => {
                self.has_begun = true;
                self.turn = id;
                self.end = None;
            }
            Said::Text(text) => {
                self.has_begun = true;
                self.end = None;
                self.retrying = None;
                self.tally.wrote(text.len());
                self.signals.extend(protocol::read(&text));
                self.doing = first_words(&text);
                self.text = last_part(text);
            }
            Said::ToolCall { id, name, input } => {
                self.has_begun = true;
                self.end = None;
                self.retrying = None;
                self.tool_calls += 1;
                self.tally.wrote(name.len() + input.len());
                self.doing = first_words(&format!("{name} {input}"));
                if self.begun.len() < CALLS_MAX {
                    self.begun.insert(id.clone(), MadeCall { id, tool: name, input });
                }
            }
            Said::NotMade { id } => drop(self.begun.remove(&id)),
            Said::ToolResult { id, .. } => {
                let room = self.made.len() < CALLS_MAX;
                self.made.extend(self.begun.remove(&id).filter(|_| room));
            }
            Said::Usage(counted) => self.tally.count(counted),
            Said::Message { id, model, usage } => self.tally.message(id, model, usage),
            Said::Model(model) => self.tally.name_model(model),
            Said::RateLimit { status: LimitStatus::Rejected, resets } => self.resets = resets,
            Said::Retrying(trouble) => self.retrying = Some(trouble),
            Said::Asked(ask) => {
                self.asks.insert(ask.request.clone(), ask);
            }
            Said::Withdrawn { request } => {
                self.asks.remove(&request);
            }
            Said::Ended(end) if end.why == Why::Background => {}
            Said::Ended(end) => {
                self.turn = None;
                self.end = Some(end);
            }
            Said::Other(line) => self.other = first_words(&line),
            Said::RateLimit { .. } | Said::Cut { .. } => {}
        }
    }

    /// Whether a line of the agent's own is this one, perhaps in `<promise>` tags.
    pub(crate) fn has_promised(&self, promise: &str) -> bool {
        self.text.lines().any(|line| {
            let line = line.trim();
            let inner = line.strip_prefix("<promise>").and_then(|it| it.strip_suffix("</promise>"));
            inner.unwrap_or(line).trim() == promise
        })
    }
}

fn first_words(text: &str) -> String {
    let plain = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let line: String = plain.take(DOING_LENGTH_MAX + 1).collect();
    match line.char_indices().nth(DOING_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn last_part(text: String) -> String {
    let Some(cut) = text.len().checked_sub(TEXT_LENGTH_MAX) else { return text };
    let start = (cut..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(cut);
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_a_line_of_its_own() {
        let heard = |text: &str| {
            let mut heard = Heard::default();
            heard.take(Said::Text(text.to_owned()));
            heard.has_promised("TASK_DONE")
        };
        assert!(heard("all green\n  TASK_DONE\n"));
        assert!(heard("<promise>TASK_DONE</promise>"));
        assert!(!heard("I will say TASK_DONE when it is"));
    }

    #[test]
    fn a_turn_that_goes_on_has_not_ended() {
        let mut heard = Heard::default();
        let done = || Said::Ended(End { why: Why::Done, detail: String::new() });
        heard.take(done());
        assert!(heard.end.is_some());
        heard.take(Said::Text("one more thing".to_owned()));
        assert!(heard.end.is_none());
        heard.take(Said::Ended(End { why: Why::Background, detail: String::new() }));
        assert!(heard.end.is_none());
    }
}
