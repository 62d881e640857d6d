//! Texts in a number of terminal columns: how wide one is, and one that is cut.
//!
//! *Invariant:* what comes out has no character that moves the cursor; styles stay whole.

use crate::snippet::width;

/// Begins every style.
const ESCAPE: char = '\u{1b}';

/// How many columns a text takes on a terminal, styles aside.
pub(crate) fn columns(text: &str) -> usize {
    pieces(text).map(|piece| if let Piece::Char(c) = piece { width(c) } else { 0 }).sum()
}

/// A text, styled or not, in at most so many columns; what was cut off ends in `…`.
pub(crate) fn fit(text: &str, limit: usize) -> String {
    let is_cut = columns(text) > limit;
    let room = if is_cut { limit.saturating_sub(1) } else { limit };
    let (mut fitted, mut used, mut is_full) = (String::with_capacity(text.len()), 0, false);
    for piece in pieces(text) {
        match piece {
            // Also those after the cut, so that a style ends where it should.
            Piece::Style(style) => fitted.push_str(style),
            Piece::Char(_) if is_full => {}
            Piece::Char(c) if used + width(c) <= room => {
                used += width(c);
                fitted.push(c);
            }
            Piece::Char(_) => {
                is_full = true;
                if limit > 0 {
                    fitted.push('…');
                }
            }
        }
    }
    fitted
}

/// A part of a text.
enum Piece<'a> {
    /// One character as it is shown.
    Char(char),
    /// A whole escape sequence that sets a style.
    Style(&'a str),
}

/// The parts of a text; control characters are blanks, and escape sequences that are no styles are
/// left out.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let c = rest.chars().next()?;
            if c != ESCAPE {
                rest = &rest[c.len_utf8()..];
                return Some(Piece::Char(if c.is_control() { ' ' } else { c }));
            }
            let (sequence, after) = rest.split_at(sequence_length(rest));
            rest = after;
            if sequence.starts_with("\u{1b}[") && sequence.ends_with('m') {
                return Some(Piece::Style(sequence));
            }
        }
    })
}

/// How long the escape sequence is that a text begins with.
fn sequence_length(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\u{1b}[") else { return 1 };
    let end = body.find(|c: char| !matches!(c, '0'..='?' | ' '..='/'));
    match end.map(|end| (end, body[end..].chars().next())) {
        Some((end, Some('@'..='~'))) => 2 + end + 1,
        // Cut off, or no sequence at all.
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{RED, styled};

    #[test]
    fn a_text_is_cut_to_the_columns_it_may_take() {
        for (text, limit, want) in [
            ("Sign up", 7, "Sign up"),
            ("Sign up", 6, "Sign …"),
            ("Sign up", 1, "…"),
            ("Sign up", 0, ""),
            ("한글로 쓴 제목", 6, "한글…"),
            ("한글로 쓴 제목", 5, "한글…"),
            ("two\nlines\r\x07", 20, "two lines  "),
            ("up \x1b[2A\x1b[Jand away", 20, "up and away"),
            ("half \x1b[", 20, "half "),
            ("", 0, ""),
        ] {
            let fitted = fit(text, limit);
            assert_eq!(fitted, want, "{text:?} in {limit}");
            assert!(columns(&fitted) <= limit, "{text:?} in {limit}");
        }
    }

    #[test]
    fn a_style_ends_after_the_cut() {
        let text = format!("{} and more", styled(RED, "failed"));
        assert_eq!(columns(&text), 15);
        assert_eq!(fit(&text, 4), format!("{}", styled(RED, "fai…")));
        assert_eq!(fit(&text, 9), format!("{} a…", styled(RED, "failed")));
    }
}
