//! What both kinds of scripts have in common: strict JSON with a version, of a bounded size.

use serde::de::DeserializeOwned;
use waypost_model::diagnostic::{Diagnostic, Place};

/// The version of the formats that are read here.
const VERSION: u64 = 1;

/// A script that a person writes has some kilobytes; more is a mistake.
pub(crate) const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Programs give up on an answer after some minutes; a longer delay tests nothing more.
const DELAY_MS_MAX: u64 = 10 * 60 * 1000;

/// A part of a script, or what is wrong with it.
pub(crate) type Checked<T> = Result<T, Box<Diagnostic>>;

/// Reads the file as it is written; `command` is the one whose help shows the format.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], command: &str) -> Result<T, Vec<Diagnostic>> {
    if bytes.len() > BYTES_MAX {
        let message = format!("the script has {} bytes", bytes.len());
        let finding = Diagnostic::error("too_large", message);
        return Err(vec![finding.expected(format!("at most {BYTES_MAX}"))]);
    }
    serde_json::from_slice(bytes).map_err(|error| vec![unread(&error, command)])
}

pub(crate) fn check_version(version: u64, findings: &mut Vec<Diagnostic>) {
    if version != VERSION {
        let message = format!("version {version} is not known");
        let finding = Diagnostic::error("unknown_version", message).path("version");
        findings.push(finding.expected(VERSION.to_string()));
    }
}

/// The delay at `path`, unless it is too long.
pub(crate) fn check_delay(delay_ms: u64, path: &str) -> Checked<u64> {
    if delay_ms > DELAY_MS_MAX {
        let message = format!("a delay of {delay_ms} ms is too long");
        let finding = Diagnostic::error("too_long", message).path(path);
        return Err(Box::new(finding.expected(format!("at most {DELAY_MS_MAX}"))));
    }
    Ok(delay_ms)
}

/// What serde says, without the place that it appends: the place is data.
fn unread(error: &serde_json::Error, command: &str) -> Diagnostic {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let code = if error.is_data() { "bad_value" } else { "bad_json" };
    let finding = Diagnostic::error(code, message);
    let finding = finding.hint(format!("`{command} --help` shows the format"));
    let place = |value: usize| u32::try_from(value.max(1)).unwrap_or(u32::MAX);
    match error.line() {
        0 => finding,
        line => finding.at(Place { line: place(line), column: place(error.column()), length: 1 }),
    }
}
