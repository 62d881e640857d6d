//! The reader of one stream.

use super::acp::{self, Acp};
use super::claude::{self, Claude};
use super::codex_exec::CodexExec;
use super::codex_server::{self, CodexServer};
use super::json;
use super::lines::{Line, Lines};
use super::said::{Ask, End, Said, Why};
use crate::adapter::Adapter;

/// Turns the output of one process into what it says.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    ear: Ear,
    /// Whether the last turn has ended, and no other began.
    is_settled: bool,
}

#[derive(Debug)]
enum Ear {
    Claude(Box<Claude>),
    Codex(Box<CodexServer>),
    CodexExec(Box<CodexExec>),
    Acp(Box<Acp>),
}

impl Reader {
    pub fn new(adapter: Adapter) -> Self {
        let ear = match adapter {
            Adapter::Claude => Ear::Claude(Box::default()),
            Adapter::Codex => Ear::Codex(Box::default()),
            Adapter::CodexExec => Ear::CodexExec(Box::default()),
            Adapter::Acp => Ear::Acp(Box::default()),
        };
        Self { lines: Lines::default(), ear, is_settled: false }
    }

    /// Takes the next bytes and returns what they say.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Said> {
        let mut said = Vec::new();
        let Self { lines, ear, .. } = self;
        lines.push(bytes, |line| ear.line(line, &mut said));
        self.watch(&said);
        said
    }

    /// Ends the stream. A turn that has not ended will not end any more.
    pub fn finish(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        let Self { lines, ear, .. } = self;
        lines.finish(|line| ear.line(line, &mut said));
        if let Ear::Acp(acp) = ear {
            acp.flush(&mut said);
        }
        self.watch(&said);
        if !self.is_settled {
            self.is_settled = true;
            said.push(Said::Ended(End { why: Why::Cut, detail: String::new() }));
        }
        said
    }

    fn watch(&mut self, said: &[Said]) {
        for said in said {
            match said {
                Said::TurnBegan { .. } | Said::Text(_) | Said::ToolCall { .. } => {
                    self.is_settled = false;
                }
                Said::Ended(end) => self.is_settled = end.why != Why::Background,
                _ => {}
            }
        }
    }
}

impl Ear {
    fn line(&mut self, line: &Line<'_>, said: &mut Vec<Said>) {
        if line.kept.trim_ascii().is_empty() {
            return;
        }
        let count = said.len();
        let raw = String::from_utf8_lossy(line.kept);
        let mut is_held = false;
        if let Some(value) = json::object(line) {
            match self {
                Self::Claude(claude) => claude.hear(&value, &raw, said),
                Self::Codex(codex) => codex.hear(&value, &raw, said),
                Self::CodexExec(codex) => codex.hear(&value, said),
                Self::Acp(acp) => is_held = acp.hear(&value, &raw, said),
            }
        }
        if said.len() == count && !is_held {
            said.push(Said::Other(raw.into_owned()));
        }
        if line.is_cut() {
            said.push(Said::Cut { bytes: line.bytes });
        }
    }
}

/// The question in a line that was stored.
pub fn ask(adapter: Adapter, raw: &str) -> Option<Ask> {
    let line = json::parse(raw.as_bytes())?;
    match adapter {
        Adapter::Claude if line["type"] == "result" => claude::deferred(&line, raw),
        Adapter::Claude => claude::ask(&line, raw, None),
        Adapter::Codex => codex_server::ask(&line, raw, None),
        Adapter::Acp => acp::ask(&line, raw),
        Adapter::CodexExec => None,
    }
}
