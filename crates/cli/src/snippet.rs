//! Draws findings about a file: where, the line itself, a caret under the place, what to do.

use crate::output::{CYAN, DIM, RED, YELLOW, styled};
use std::fmt::Write as _;
use waypost_engine::InvalidFile;
use waypost_model::diagnostic::{Diagnostic, Place, Severity};

/// The widest part of a line that is shown; a longer one is cut around the place.
const LINE_WIDTH_MAX: usize = 100;

/// Draws every finding of a file.
pub(crate) fn draw(file: &InvalidFile) -> String {
    let lines: Vec<&str> = file.text.split('\n').collect();
    let mut text = String::new();
    for (count, finding) in file.diagnostics.iter().enumerate() {
        if count > 0 {
            text.push('\n');
        }
        draw_finding(&mut text, &file.path.display().to_string(), &lines, finding);
    }
    text
}

fn draw_finding(text: &mut String, path: &str, lines: &[&str], finding: &Diagnostic) {
    let (style, word) = match finding.severity {
        Severity::Error => (RED, "error"),
        Severity::Warning => (YELLOW, "warning"),
    };
    let _infallible = writeln!(text, "{} {}", styled(style, format!("{word}:")), finding.message);
    let place = match finding.place {
        Some(place) => format!("{path}:{}:{}", place.line, place.column),
        None => path.to_owned(),
    };
    let _infallible = writeln!(text, "  {} {place}", styled(DIM, "-->"));
    if let Some(place) = finding.place {
        let line = lines.get(place.line as usize - 1).copied().unwrap_or_default();
        draw_line(text, line, place, style);
    }
    if !finding.path.is_empty() {
        let _infallible = writeln!(text, "  {} {}", styled(DIM, "at"), finding.path);
    }
    if let Some(expected) = &finding.expected {
        let _infallible = writeln!(text, "  {} {expected}", styled(DIM, "expected"));
    }
    if let Some(hint) = &finding.hint {
        let _infallible = writeln!(text, "  {} {hint}", styled(CYAN, "hint:"));
    }
}

fn draw_line(text: &mut String, line: &str, place: Place, style: anstyle::Style) {
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    let column = place.column as usize - 1;
    let is_long = line.chars().count() > LINE_WIDTH_MAX;
    let start = if is_long { column.saturating_sub(LINE_WIDTH_MAX / 2) } else { 0 };
    let shown: String = line
        .chars()
        .skip(start)
        .take(LINE_WIDTH_MAX)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let before: usize = shown.chars().take(column - start).map(width).sum();
    let under: usize =
        shown.chars().skip(column - start).take(place.length as usize).map(width).sum();
    let carets = "^".repeat(under.clamp(1, LINE_WIDTH_MAX));
    let bar = styled(DIM, "|");
    let _infallible = writeln!(text, "{margin} {bar}");
    let _infallible = writeln!(text, "{number} {bar} {}", shown.trim_end());
    let _infallible =
        writeln!(text, "{margin} {bar} {}{}", " ".repeat(before), styled(style, carets));
}

/// How many terminal columns a character takes; wide for Hangul, Han, kana and full-width forms.
pub(crate) fn width(c: char) -> usize {
    let wide = matches!(u32::from(c),
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xA960..=0xA97F | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD);
    if wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(line: &str, column: u32) -> String {
        let mut text = String::new();
        draw_line(&mut text, line, Place { line: 1, column, length: 3 }, RED);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn only_a_long_line_is_cut_around_the_place() {
        let whole = format!("{}end", "-".repeat(90));
        assert_eq!(drawn(&whole, 91), format!("  |\n1 | {whole}\n  | {}^^^\n", " ".repeat(90)));
        let long = format!("{}end{}", "-".repeat(200), "-".repeat(200));
        let cut = format!("{}end{}", "-".repeat(50), "-".repeat(47));
        assert_eq!(drawn(&long, 201), format!("  |\n1 | {cut}\n  | {}^^^\n", " ".repeat(50)));
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let place = Place { line: 2, column: 5, length: 4 };
        let finding = Diagnostic::error("unknown_field", "`gatez` is not a field here")
            .at(place)
            .path("gatez")
            .expected("gates")
            .hint("did you mean `gates`?");
        let file = InvalidFile {
            path: "state.json".into(),
            text: "{\n 한글 abcd\n}".into(),
            diagnostics: vec![finding],
        };
        let drawn = anstream::adapter::strip_str(&draw(&file)).to_string();
        insta::assert_snapshot!(drawn, @r"
        error: `gatez` is not a field here
          --> state.json:2:5
          |
        2 |  한글 abcd
          |       ^^^^
          at gatez
          expected gates
          hint: did you mean `gates`?
        ");
    }
}
