//! `waypost pin`: what a person types for what opens a gate, and how it is asked for.

use crate::{Context, error::CliError};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    process::ExitCode,
};
use waypost_engine::{Environment, identify, pin::PinFile};
use waypost_model::{actor::Actor, code::Code, machine::Rejected};

/// Set or change the PIN that opens gates by your word
///
/// Reserved for a person at a terminal; changing it needs the old one. The PIN is asked for whenever a
/// gate is confirmed or suspended, a workflow is begun again, or a journal is restored or made again. Only
/// a hash of it is kept, in `~/.local/state/waypost/pin`, which agents behind a wall cannot read. A person
/// who has forgotten it deletes that file.
#[derive(Debug, clap::Args)]
pub(crate) struct PinArgs {}

/// Where a person types, whatever the standard streams are.
const TERMINAL: &str = "/dev/tty";

/// More than a PIN has.
const TYPED_MAX: usize = 1024;

pub(crate) fn run(context: &Context) -> Result<ExitCode, CliError> {
    if !identify().is_person() {
        return Err(waypost_engine::EngineError::from(Rejected::reserved("setting the PIN")).into());
    }
    let file = PinFile::of(&Environment::of_this_process());
    let old = match file.is_set()? {
        true => typed_unseen("The PIN until now:")?,
        false => None,
    };
    match twice("The new PIN:")? {
        Some(new) => file.set(&new, old.as_deref())?,
        None => return Err(CliError::new(Code::PinNeeded, "no PIN was typed; nothing was set")),
    }
    context.out.done("the PIN is set");
    Ok(ExitCode::SUCCESS)
}

/// Offers to set the PIN where there is none and a person is there to do so.
pub(crate) fn offer(context: &Context, actor: &Actor) -> Result<(), CliError> {
    let file = PinFile::of(&Environment::of_this_process());
    if !actor.is_person() || file.is_set()? {
        return Ok(());
    }
    let prompt =
        "A PIN of your own, asked for whenever you open a gate (empty: later, `waypost pin`):";
    if let Some(new) = twice(prompt)? {
        file.set(&new, None)?;
        context.out.note("the PIN is set");
    }
    Ok(())
}

/// A PIN that was typed twice alike; none: nothing was typed.
fn twice(prompt: &str) -> Result<Option<String>, CliError> {
    let Some(first) = typed_unseen(prompt)?.filter(|typed| !typed.is_empty()) else {
        return Ok(None);
    };
    if typed_unseen("The same again:")?.as_ref() != Some(&first) {
        return Err(CliError::bad_input("that was not the same; nothing was set"));
    }
    Ok(Some(first))
}

/// Asks at the terminal of this process for what must not be seen; none: there is no terminal, or nothing
/// was typed.
pub(crate) fn typed_unseen(prompt: &str) -> io::Result<Option<String>> {
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open(TERMINAL) else {
        return Ok(None);
    };
    let unseen = Unseen::begin(&terminal)?;
    write!(&terminal, "{prompt} ")?;
    let typed = read_line(&terminal);
    drop(unseen);
    writeln!(&terminal)?;
    typed
}

/// A terminal that shows nothing of what is typed and gives each key by itself, so that Ctrl-C is a key
/// and cannot leave it like that.
struct Unseen<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Unseen<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut unseen = before.clone();
        unseen.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // What was typed ahead stays.
        tcsetattr(terminal, OptionalActions::Now, &unseen)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Unseen<'_> {
    fn drop(&mut self) {
        let _gone = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Reads until the line ends; none: it was given up.
fn read_line(mut keys: impl io::Read) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut key = [0];
    loop {
        match keys.read(&mut key) {
            Ok(0) => break,
            Ok(_) => match key[0] {
                b'\n' | b'\r' => break,
                // Ctrl-C, and Ctrl-D where nothing was typed.
                0x03 => return Ok(None),
                0x04 if line.is_empty() => return Ok(None),
                0x04 => break,
                // Backspace, and Ctrl-U.
                0x08 | 0x7f => drop(line.pop()),
                0x15 => line.clear(),
                byte if line.len() < TYPED_MAX => line.push(byte),
                _ => {}
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_keys_is_what_a_person_meant() {
        let table: &[(&[u8], Option<&str>)] = &[
            (b"2468\nrest", Some("2468")),
            (b"2469\x7f8\r", Some("2468")),
            (b"wrong\x152468\n", Some("2468")),
            (b"24\x03", None),
            (b"\x04", None),
            (b"2468\x04", Some("2468")),
            (b"\n", Some("")),
        ];
        for (keys, want) in table {
            assert_eq!(read_line(*keys).unwrap().as_deref(), *want, "{keys:?}");
        }
    }
}
