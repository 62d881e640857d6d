//! What one process of an agent has said so far, as far as it matters.
//!
//! Built from the stream alone, from its first byte: a process that takes over from another knows
//! the same.

use super::Agent;
use std::collections::BTreeMap;
use waypost_agent::{
    limits::Reset,
    protocol::{self, Signal},
    stream::{Ask, End, LimitStatus, Said, Usage as Counted, Why},
};
use waypost_model::run::Usage;

/// How much of an agent's last words is kept.
const TEXT_LENGTH_MAX: usize = 64 << 10;

/// How much of what it does is shown.
const DOING_LENGTH_MAX: usize = 80;

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
    pub(crate) counted: Option<Counted>,
    pub(crate) tool_calls: u32,
    /// Questions that hold the program up, by their names.
    pub(crate) asks: BTreeMap<String, Ask>,
    /// The last message of the agent.
    pub(crate) text: String,
    /// Everything it has signalled since the last message of ours.
    pub(crate) signals: Vec<Signal>,
    /// How the last turn ended, if none began since.
    pub(crate) end: Option<End>,
    /// When the limit that it met is over.
    pub(crate) resets: Option<Reset>,
    /// What it does now, in a few words.
    pub(crate) doing: String,
    /// Lines that were no JSON; the last one, for an error message.
    pub(crate) other: String,
}

impl Heard {
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
                self.signals.extend(protocol::read(&text));
                self.doing = first_words(&text);
                self.text = last_part(text);
            }
            Said::ToolCall { name, input, .. } => {
                self.has_begun = true;
                self.end = None;
                self.tool_calls += 1;
                self.doing = first_words(&format!("{name} {input}"));
            }
            Said::Usage(counted) => self.counted = Some(counted),
            Said::RateLimit { status: LimitStatus::Rejected, resets } => self.resets = resets,
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
            Said::ToolResult { .. } | Said::RateLimit { .. } | Said::Cut { .. } => {}
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

/// Tells what a process used up from what its program counts for the conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// What was counted before this process.
    base: Usage,
    now: Usage,
}

impl Meter {
    pub(crate) fn new(base: Usage) -> Self {
        Self { base, now: base }
    }

    pub(crate) fn read(&mut self, counted: &Counted, agent: &Agent) {
        self.now = usage(counted, agent);
        // A program that counts less than it did has begun again.
        if self.now.tokens() < self.base.tokens() || self.now.cost_micros < self.base.cost_micros {
            self.base = Usage::default();
        }
    }

    pub(crate) fn spent(&self) -> Usage {
        self.now.since(&self.base)
    }

    pub(crate) fn counted(&self) -> Usage {
        self.now
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "money of this size is exact enough, and a cast of a float saturates"
)]
fn usage(counted: &Counted, agent: &Agent) -> Usage {
    let priced = || {
        counted.input as f64 * agent.config.input_price
            + counted.output as f64 * agent.config.output_price
    };
    let cost_micros = match counted.cost_usd {
        Some(dollars) => dollars * 1e6,
        // A price is for a million tokens: so many dollars are so many millionths for one.
        None => priced(),
    };
    Usage {
        input: counted.input,
        output: counted.output,
        cached: counted.cached,
        cost_micros: cost_micros.round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_agent::Adapter;
    use waypost_model::config::AgentConfig;

    fn agent(input_price: f64, output_price: f64) -> Agent {
        let config = AgentConfig { input_price, output_price, ..AgentConfig::default() };
        Agent { name: "x".into(), adapter: Adapter::Codex, command: vec!["x".into()], config }
    }

    fn counted(input: u64, output: u64, cost_usd: Option<f64>) -> Counted {
        Counted { input, output, cached: 0, cost_usd }
    }

    #[test]
    fn a_process_is_charged_for_its_own_part_of_the_conversation() {
        let mut meter =
            Meter::new(Usage { input: 100, output: 10, cost_micros: 500_000, cached: 0 });
        assert_eq!(meter.spent(), Usage::default());
        meter.read(&counted(150, 15, Some(0.75)), &agent(0.0, 0.0));
        let want = Usage { input: 50, output: 5, cached: 0, cost_micros: 250_000 };
        assert_eq!(meter.spent(), want);
    }

    #[test]
    fn a_program_that_counts_anew_is_charged_for_all_it_counts() {
        let mut meter = Meter::new(Usage { input: 100, output: 10, cost_micros: 0, cached: 0 });
        meter.read(&counted(20, 2, None), &agent(3.0, 15.0));
        let want = Usage { input: 20, output: 2, cached: 0, cost_micros: 90 };
        assert_eq!(meter.spent(), want);
    }

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
