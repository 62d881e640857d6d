//! What the model was shown: one JSON line per request, written before the answer goes out.
//!
//! Keys and tokens are in headers, and of those only the program's name is kept.

use crate::http::Request;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;

/// The file, or nowhere.
#[derive(Debug)]
pub(crate) struct Log(Option<Mutex<File>>);

/// How a request was understood, for its line in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Understood<'a> {
    pub(crate) protocol: Option<&'static str>,
    /// What its conversation is called, and the number of the turn.
    pub(crate) turn: Option<(&'a str, usize)>,
    pub(crate) status: u16,
}

impl Log {
    /// Opens the file for appending; what is in it stays.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self(path.map(open).transpose()?.map(Mutex::new)))
    }

    pub(crate) fn write(
        &self,
        request: &Request,
        body: &Value,
        understood: Understood<'_>,
    ) -> io::Result<()> {
        let Some(file) = &self.0 else { return Ok(()) };
        let mut line = json!({
            "method": request.method,
            "path": request.target,
            "user_agent": request.user_agent,
            "protocol": understood.protocol,
            "conversation": understood.turn.map(|(conversation, _)| conversation),
            "turn": understood.turn.map(|(_, index)| index),
            "status": understood.status,
            "body": body,
        })
        .to_string();
        line.push('\n');
        // A thread that panicked while it wrote has at worst left half a line.
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes())
    }
}
