//! Where everything that is printed goes: data to stdout, all else to stderr.
//!
//! Colour never carries meaning alone, and is off where it is not wanted (`--color`, `NO_COLOR`, a
//! pipe).

use crate::data::{Enveloped, Printed};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::{
    fmt,
    io::{self, Write as _},
};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// How to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// Say more than a person usually wants to read.
    pub(crate) verbose: bool,
    /// Whether something may be drawn again and again at a terminal.
    pub(crate) progress: bool,
}

impl Output {
    /// Prints a line of data.
    pub(crate) fn line(self, text: impl fmt::Display) -> io::Result<()> {
        writeln!(anstream::stdout(), "{text}")
    }

    /// Prints data as it is, without a final newline of our own.
    pub(crate) fn raw(self, text: &str) -> io::Result<()> {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Prints an object of ours on one line.
    pub(crate) fn json(self, object: &impl Printed) -> io::Result<()> {
        self.json_as_it_is(&Enveloped::new(object))
    }

    /// Prints a list of objects of ours on one line.
    pub(crate) fn json_list<T: Printed>(self, objects: &[T]) -> io::Result<()> {
        self.json_as_it_is(&objects.iter().map(Enveloped::new).collect::<Vec<_>>())
    }

    /// Prints what the seeds define on one line.
    pub(crate) fn json_as_it_is(self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        writeln!(io::stdout(), "{text}")
    }

    /// Says something that is not data.
    pub(crate) fn note(self, text: impl fmt::Display) {
        if !self.quiet {
            say(&format!("{text}"));
        }
    }

    /// Says something that only those want to read who asked for more.
    pub(crate) fn detail(self, text: impl fmt::Display) {
        if self.verbose {
            say(&styled(DIM, text));
        }
    }

    /// Says something that should not be missed.
    pub(crate) fn warning(self, text: impl fmt::Display) {
        say(&format!("{YELLOW}warning:{YELLOW:#} {text}"));
    }

    /// Says what was done: to stderr for people; nothing with `--json`, which prints data instead.
    pub(crate) fn done(self, text: impl fmt::Display) {
        if !self.json {
            self.note(text);
        }
    }
}

/// Prints a line to stderr; if even that fails there is no place left to say it.
pub(crate) fn say(text: &str) {
    let _unheard = writeln!(anstream::stderr(), "{text}");
}

/// A text in a style.
pub(crate) fn styled(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
