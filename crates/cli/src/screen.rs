//! The part of a terminal that is drawn again and again, below everything that was said.
//!
//! *Invariant:* no drawn line is wider than the terminal and no drawing higher, so it can be taken
//! away again, also after the terminal was resized.

use crate::{
    output::Output,
    show::fit::{columns, fit},
};
use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use std::{
    env,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
};

/// How large a terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// What a terminal is taken for that does not tell its size.
const USUAL: Size = Size { columns: 80, rows: 24 };

impl Size {
    /// Of the terminal at stderr, as it is now.
    pub(crate) fn now() -> Self {
        let told = rustix::termios::tcgetwinsize(io::stderr()).ok();
        let or_usual = |told: Option<u16>, usual| match told {
            None | Some(0) => usual,
            Some(told) => usize::from(told),
        };
        Self {
            columns: or_usual(told.map(|it| it.ws_col), USUAL.columns),
            rows: or_usual(told.map(|it| it.ws_row), USUAL.rows),
        }
    }
}

/// What is drawn at stderr.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// The lines that are drawn, without styles.
    drawn: Vec<String>,
    /// The bytes that drew them, and how large the terminal was.
    frame: Option<(String, Size)>,
}

impl Screen {
    /// Whether drawing is possible here, and wanted: `TERM=dumb` cannot move its cursor.
    pub(crate) fn is_wanted(out: Output) -> bool {
        let can_move = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        out.progress && !out.quiet && !out.json && can_move && io::stderr().is_terminal()
    }

    /// Puts `lines` in the place of what is drawn.
    pub(crate) fn draw(&mut self, lines: &[String], size: Size) {
        // The last column stays free: some terminals wrap as soon as it is filled.
        let room = size.columns.saturating_sub(1).max(1);
        let fitted = lines.iter().take(size.rows.saturating_sub(1).max(1));
        let fitted: Vec<String> = fitted.map(|line| fit(line, room)).collect();
        let plain: Vec<String> = fitted.iter().map(|line| strip_str(line).to_string()).collect();
        let has_color = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
        let frame = body(if has_color { &fitted } else { &plain });
        if self.frame.as_ref().is_some_and(|(last, at)| *last == frame && *at == size) {
            return;
        }
        put(&format!("{}{frame}", back(&self.drawn, size.columns)));
        self.drawn = plain;
        self.frame = Some((frame, size));
    }

    /// Takes away what is drawn, so that something can be said.
    pub(crate) fn clear(&mut self) {
        if !self.drawn.is_empty() {
            // Not from the first line on: at the top of the screen tmux would take that for the end
            // of a whole page, and keep what is drawn in its history.
            put(&format!("{}\x1b[K\r\n\x1b[J\x1b[A", back(&self.drawn, Size::now().columns)));
        }
        *self = Self::default();
    }
}

/// Writes it at once, so that a half-drawn screen is never seen; the terminal may be gone.
fn put(text: &str) {
    let mut stderr = io::stderr().lock();
    let _unseen = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Moves the cursor to the first drawn line. A terminal that became narrower since has wrapped
/// lines that are too long for it now.
fn back(drawn: &[String], width: usize) -> String {
    let rows: usize = drawn.iter().map(|line| columns(line).div_ceil(width.max(1)).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r") }
}

/// Lines, each over what was there; the terminal may have shrunk since it was asked, so it is told
/// to wrap nothing.
fn body(lines: &[String]) -> String {
    let mut text = "\x1b[?7l".to_owned();
    for line in lines {
        let _infallible = write!(text, "{line}\x1b[K\r\n");
    }
    text.push_str("\x1b[J\x1b[?7h");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrower_terminal_has_wrapped_what_was_drawn() {
        let drawn = ["x".repeat(79), String::new(), "한글".repeat(10)];
        for (width, want) in [(80, "\x1b[3A\r"), (40, "\x1b[4A\r"), (30, "\x1b[6A\r")] {
            assert_eq!(back(&drawn, width), want, "{width}");
        }
        assert_eq!(back(&[], 80), "");
    }
}
