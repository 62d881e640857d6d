//! `waypost run logs`: what a task printed.

use super::parse_id;
use crate::{Context, error::CliError};
use std::{
    fs::File,
    io::{self, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::Duration,
};
use waypost_engine::{Project, Transcript, agent};
use waypost_model::{code::Code, run::TaskStatus};

/// How often a followed log is looked at.
pub(crate) const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

pub(super) fn run(
    context: &Context,
    project: &mut Project,
    id: &str,
    attempt: Option<u32>,
    follow: bool,
) -> Result<ExitCode, CliError> {
    let id = parse_id(id)?;
    let Some(active) = project.run()?.active() else {
        return Err(CliError::new(Code::TaskUnknown, "no run has begun"));
    };
    let Some(view) = active.task(&id) else {
        return Err(CliError::new(Code::TaskUnknown, format!("there is no task {id} in this run")));
    };
    let attempt = attempt.unwrap_or(view.attempts);
    if attempt == 0 {
        context.out.note(format!("{id} has not been started"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut source = AttemptOutput {
        transcript: agent::transcript(project.setup(), &id, attempt),
        log: project.setup().task_log(&id, attempt),
        at: 0,
    };
    if !source.print()? {
        context.out.note(format!("attempt {attempt} of {id} has printed nothing"));
    }
    while follow && is_running(project, &id, attempt)? {
        thread::sleep(FOLLOW_INTERVAL);
        source.transcript =
            source.transcript.or_else(|| agent::transcript(project.setup(), &id, attempt));
        source.print()?;
    }
    if follow {
        source.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What an attempt has left: what its agent said, then what was printed.
pub(crate) struct AttemptOutput {
    pub(crate) transcript: Option<Transcript>,
    pub(crate) log: PathBuf,
    pub(crate) at: u64,
}

impl AttemptOutput {
    /// Prints what is new; says whether anything was.
    pub(crate) fn print(&mut self) -> Result<bool, CliError> {
        let said = match &mut self.transcript {
            Some(transcript) => transcript.news()?,
            None => String::new(),
        };
        write(said.as_bytes())?;
        let before = self.at;
        self.at = print_from(&self.log, before)?;
        Ok(!said.is_empty() || self.at > before)
    }
}

fn is_running(
    project: &mut Project,
    id: &waypost_model::id::TaskId,
    attempt: u32,
) -> Result<bool, CliError> {
    let view = project.run()?.active().and_then(|active| active.task(id));
    Ok(view.is_some_and(|it| it.status == TaskStatus::InProgress && it.attempts == attempt))
}

/// Prints what has been written since, and returns how much there is.
fn print_from(path: &Path, at: u64) -> Result<u64, CliError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(at),
        Err(error) => return Err(error.into()),
    };
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    write(&bytes)?;
    Ok(at + bytes.len() as u64)
}

/// Writes foreign output: a terminal obeys what it is shown; a file or a pipe gets every byte.
fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.is_terminal() {
        true => stdout.write_all(&harmless(bytes))?,
        false => stdout.write_all(bytes)?,
    }
    stdout.flush()
}

/// What a terminal may be shown of foreign output: text, colours, line ends and tabs.
fn harmless(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        let sequence = match (first, after.first()) {
            (0x1b, Some(b'[')) => {
                let end = rest.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte));
                end.map_or(rest.len(), |end| end + 3)
            }
            // Ended by a bell, or by an escape that begins something else.
            (0x1b, Some(b']')) => {
                let end = rest.iter().skip(2).position(|byte| [0x07, 0x1b].contains(byte));
                end.map_or(rest.len(), |end| end + 2 + usize::from(rest[end + 2] == 0x07))
            }
            // The same as an escape and another byte, as one character.
            (0xc2, Some(0x80..=0x9f)) => 2,
            (0x1b, _) => 2.min(rest.len()),
            _ => 1,
        };
        let piece = &rest[..sequence];
        let is_colour = piece.len() > 2 && piece.ends_with(b"m");
        let is_text =
            piece.len() == 1 && (first >= 0x20 && first != 0x7f || b"\n\t".contains(&first));
        if is_colour || is_text {
            kept.extend_from_slice(piece);
        }
        rest = &rest[sequence..];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_text_and_colours_only() {
        let table: &[(&[u8], &[u8])] = &[
            (b"plain\ttext\n", b"plain\ttext\n"),
            (b"\x1b[31mred\x1b[0m", b"\x1b[31mred\x1b[0m"),
            (b"a\x1b[2J\x1b[1;1Hb", b"ab"),
            (b"a\x1b]0;title\x07b", b"ab"),
            (b"a\x1b]52;c;ZXZpbA==", b"a"),
            (b"a\x1b]8;;http://x\x1b\\b", b"ab"),
            ("a\u{9b}2Jb".as_bytes(), b"a2Jb"),
            (b"a\x1bcb\x07\x08\rc", b"abc"),
            ("caf\u{e9}".as_bytes(), "caf\u{e9}".as_bytes()),
            (b"end\x1b", b"end"),
        ];
        for (given, want) in table {
            assert_eq!(harmless(given), *want, "{}", String::from_utf8_lossy(given));
        }
    }
}
