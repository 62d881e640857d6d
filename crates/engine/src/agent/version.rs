//! What an agent program says of its version.

use super::patience::end_of;
use crate::environment::Environment;
use std::{
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};
use waypost_proc::limit_open_files;

/// How long a program may take to tell its version where a person waits for that alone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The same before a run: an answer that takes longer is not worth the wait, and only warned about.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_secs(5);
/// More than a line, and less than fills a pipe.
const SAID_MAX: u64 = 4_096;

/// What a program says when it is asked for its version; none if it does not say so in time.
#[expect(clippy::disallowed_methods, reason = "a question to the program itself, in bounded time")]
pub(crate) fn version(
    program: &Path,
    environment: &Environment,
    patience: Duration,
) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .env_clear()
        .envs(environment.texts())
        .env("DISABLE_AUTOUPDATER", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    limit_open_files(&child);
    end_of(&mut child, patience)?;
    let mut text = String::new();
    child.stdout.take()?.take(SAID_MAX).read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim().replace(char::is_control, " ");
    (!line.is_empty()).then_some(line)
}
