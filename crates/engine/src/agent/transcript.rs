//! What an agent said and did, in lines for people.

use super::supervised::{Stream, stream_path};
use crate::{
    error::{EngineError, Problem},
    project::ProjectSetup,
};
use std::{fmt::Write as _, path::Path};
use waypost_agent::{
    Adapter,
    stream::{LimitStatus, Reader, Said, Why},
};
use waypost_model::{code::Code, id::TaskId};

/// The stream of one attempt, from its beginning on.
#[derive(Debug)]
pub struct Transcript {
    stream: Stream,
    reader: Reader,
}

/// What the agent of an attempt said; none if no agent worked on it.
pub fn transcript(setup: &ProjectSetup, id: &TaskId, attempt: u32) -> Option<Transcript> {
    transcript_beside(setup, &setup.task_log(id, attempt))
}

/// What was said by the agent whose stderr is in this log; none if no agent was there.
pub(crate) fn transcript_beside(setup: &ProjectSetup, log: &Path) -> Option<Transcript> {
    let mut adapters = setup.programs.adapters();
    let adapter = adapters.find(|adapter| stream_path(log, *adapter).exists())?;
    let stream = Stream::new(stream_path(log, adapter));
    Some(Transcript { stream, reader: Reader::new(adapter) })
}

impl Transcript {
    /// What was said since this was last called.
    pub fn news(&mut self) -> Result<String, EngineError> {
        let mut text = String::new();
        loop {
            let bytes = self.stream.read().map_err(|error| {
                Problem::new(Code::AgentSilent, "cannot read what was said")
                    .hint("try again")
                    .because(error)
            })?;
            if bytes.is_empty() {
                return Ok(text);
            }
            for said in self.reader.read(&bytes) {
                tell(&mut text, &said);
            }
        }
    }
}

/// What whole lines of an adapter's stream say.
pub(crate) fn told_in(adapter: Adapter, lines: &[u8]) -> String {
    let mut text = String::new();
    for said in Reader::new(adapter).read(lines) {
        tell(&mut text, &said);
    }
    text
}

fn tell(text: &mut String, said: &Said) {
    let _infallible = match said {
        Said::Text(words) => writeln!(text, "{}", words.trim_end()),
        Said::ToolCall { name, input, .. } => writeln!(text, "→ {name} {input}"),
        Said::ToolResult { is_error: true, .. } => writeln!(text, "  (an error)"),
        Said::Asked(ask) => {
            let items: Vec<&str> = ask.items.iter().map(|item| item.text.as_str()).collect();
            writeln!(text, "? {} {}", ask.tool, items.join(" / "))
        }
        Said::RateLimit { status: LimitStatus::Rejected, .. } => {
            writeln!(text, "[a limit of the service]")
        }
        Said::Ended(end) if end.why != Why::Done => {
            writeln!(text, "[the turn ended: {:?}] {}", end.why, end.detail)
        }
        Said::Forgotten => writeln!(text, "[the conversation cannot be loaded; a new one begins]"),
        Said::Cut { bytes } => writeln!(text, "[a line of {bytes} bytes was cut]"),
        _ => Ok(()),
    };
}
