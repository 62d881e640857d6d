//! One call: the project as it stands now, open for an agent.

use crate::{error::CliError, spelling};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{
    io,
    path::{Component, Path, PathBuf},
};
use waypost_engine::{Project, identify};
use waypost_mcp::Call;
use waypost_model::{actor::Actor, code::Code};

/// A client's call at work.
pub(super) struct Visit<'a> {
    pub(super) project: Project,
    pub(super) call: &'a Call,
}

impl<'a> Visit<'a> {
    pub(super) fn open(folder: &Path, call: &'a Call) -> Result<Self, CliError> {
        let mut project = Project::open(folder, agent(call))?;
        project.spell(spelling::command_line);
        project.stop_when(call.cancelled());
        Ok(Self { project, call })
    }

    /// What has to be said about the project, and was not yet.
    pub(super) fn remarks(&mut self) -> Vec<String> {
        self.project.take_notices().iter().map(spelling::line).collect()
    }

    /// A file that an agent may name: one of the project's, wherever links lead.
    pub(super) fn file(&self, named: &str) -> Result<PathBuf, CliError> {
        Self::file_below(self.project.root(), named)
    }

    /// The same in the repository's own work tree, whichever one is worked in.
    pub(super) fn file_at_home(&self, named: &str) -> Result<PathBuf, CliError> {
        Self::file_below(&self.project.setup().shared_root(), named)
    }

    fn file_below(root: &Path, named: &str) -> Result<PathBuf, CliError> {
        let path = root.join(named);
        let is_plain = path.components().all(|part| part != Component::ParentDir);
        let real = path.canonicalize().ok();
        let is_inside =
            real.is_none_or(|real| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
        match is_plain && path.starts_with(root) && is_inside {
            true => Ok(path),
            false => {
                Err(CliError::new(Code::BadArgument, format!("`{named}` is not in the project"))
                    .hint("name a file below the project's folder, from there"))
            }
        }
    }

    /// Where a command's output goes while it runs: to a client that wants to know how it goes.
    pub(super) fn echo(&self) -> Echo<'a> {
        Echo { call: self.call, line: Vec::new() }
    }
}

/// A client is an agent, also where a person has started the server.
fn agent(call: &Call) -> Actor {
    match identify() {
        agent @ Actor::Agent { .. } => agent,
        Actor::User(_) | Actor::Waypost => {
            let name: String = call.client().chars().filter(char::is_ascii_alphanumeric).collect();
            let id = if name.is_empty() { "unknown".to_owned() } else { name };
            Actor::Agent { id, attempt: 0 }
        }
    }
}

/// What a check prints, line by line.
pub(super) struct Echo<'a> {
    call: &'a Call,
    line: Vec<u8>,
}

impl io::Write for Echo<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.call.tell(String::from_utf8_lossy(&line));
                }
                byte => self.line.push(*byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The arguments of a call in the form that its tool has.
pub(super) fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, CliError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        CliError::new(Code::BadArgument, format!("the arguments do not fit: {error}"))
            .hint("the tool's input schema says which there are")
    })
}

/// What a tool answers with.
pub(super) type ToolAnswer = Result<Map<String, Value>, CliError>;

/// A result as an object.
pub(super) fn object(value: &impl Serialize) -> ToolAnswer {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(CliError::new(Code::Bug, "a result is no object")),
        Err(error) => Err(CliError::new(Code::Bug, "a result cannot be written").because(&error)),
    }
}
