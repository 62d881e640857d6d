//! Any program that is talked to in plain text: it reads messages from its input and writes what it does.
//!
//! A message ends with a line of its own, [`MESSAGE_END`], in both directions; a program may leave it out where it
//! ends with a signal that is waited for. The program has no memory beyond its process: what it has to know is said again.

mod stream;

use crate::{
    adapter::{Adapter, Capability, Dialect},
    launch::{Launch, Opening, Order},
    programs::AgentProgram,
    stream::Listener,
};

/// The line behind a message.
pub const MESSAGE_END: &str = "=== END OF MESSAGE ===";

pub(super) static PROGRAM: AgentProgram =
    AgentProgram { adapters: &[Adapter::PLAIN], ..AgentProgram::UNKNOWN };

impl Adapter {
    /// Any program that reads and writes plain text.
    pub const PLAIN: Self = Self::of(&Plain);
}

#[derive(Debug)]
struct Plain;

impl Dialect for Plain {
    fn word(&self) -> &'static str {
        "plain"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::EndsWithInput, Capability::Forgets, Capability::HidesTools]
    }

    fn launch(&self, order: &Order) -> Launch {
        let task = Some(order.task.as_str()).filter(|task| !task.is_empty());
        Launch {
            program: order.program.clone(),
            environment: Vec::new(),
            without: Vec::new(),
            stdin: task.map(framed).into_iter().collect(),
            opening: Opening::Said,
        }
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::<stream::PlainStream>::default()
    }

    fn message(&self, _session: &str, _number: u32, text: &str) -> Option<String> {
        Some(framed(text))
    }
}

/// A message and its end; a line of it that looks like the end is indented.
fn framed(text: &str) -> String {
    let mut message = String::with_capacity(text.len() + MESSAGE_END.len() + 1);
    for line in text.lines() {
        if line.trim_end() == MESSAGE_END {
            message.push(' ');
        }
        message.push_str(line);
        message.push('\n');
    }
    message + MESSAGE_END
}
