//! Bytes as text that can be parsed, and positions in it.
//!
//! Everything that makes a file not be text at all is refused here, before any parser sees it.

use waypost_model::diagnostic::{Diagnostic, Place};
use waypost_model::document::{Syntax, code};

/// The largest document that is read: far above any real one, and below what memory can bear.
pub const SIZE_MAX: usize = 64 << 20;

/// The largest configuration: it is written by hand, and its parser keeps every token.
const CONFIG_SIZE_MAX: usize = 1 << 20;

/// A range of bytes in the text; 32 bits suffice below `SIZE_MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: narrow(start), end: narrow(end) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The first byte alone, for what would otherwise underline many lines.
    pub(super) fn head(self) -> Self {
        Self { end: self.start.saturating_add(1), ..self }
    }
}

/// Takes the bytes of a file as text, or says why they are not.
pub(super) fn decode(bytes: &[u8], syntax: Syntax) -> Result<&str, Box<Diagnostic>> {
    let start = Place { line: 1, column: 1, length: 1 };
    let max = if syntax == Syntax::Toml { CONFIG_SIZE_MAX } else { SIZE_MAX };
    if bytes.len() > max {
        let message = format!("the file has {} bytes", bytes.len());
        let expected = format!("at most {max} bytes");
        return Err(Diagnostic::error(code::TOO_LARGE, message)
            .at(start)
            .expected(expected)
            .into());
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        let message = "the file starts with a byte order mark";
        let hint = "save it as UTF-8 without BOM, or drop its first three bytes";
        return Err(Diagnostic::error(code::BYTE_ORDER_MARK, message).at(start).hint(hint).into());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error))?;
    if let Some(offset) = text.find('\0') {
        let place = place(text, Span::new(offset, offset + 1));
        let hint = "the file may be damaged; restore it from a backup";
        let finding = Diagnostic::error(code::NUL_BYTE, "there is a NUL byte");
        return Err(finding.at(place).hint(hint).into());
    }
    // An empty configuration is one in which everything has its default.
    if syntax != Syntax::Toml && text.trim().is_empty() {
        return Err(Diagnostic::error(code::EMPTY, "the file is empty").at(start).into());
    }
    Ok(text)
}

fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> Diagnostic {
    let (valid, _) = bytes.split_at(error.valid_up_to());
    let prefix = std::str::from_utf8(valid).unwrap_or_default();
    let finding = Diagnostic::error(code::NOT_UTF8, "the text is not UTF-8")
        .at(place(prefix, Span::new(prefix.len(), prefix.len())));
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return finding.hint("it looks like UTF-16; save it as UTF-8");
    }
    finding.hint("save it as UTF-8")
}

/// The line and column of a range, which is cut at its line's end.
pub(super) fn place(text: &str, span: Span) -> Place {
    let start = floor(text, span.start as usize);
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[start..floor(text, span.end as usize).max(start)];
    let shown = rest.split(['\n', '\r']).next().unwrap_or_default();
    let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Place {
        line: narrow(before.bytes().filter(|&byte| byte == b'\n').count() + 1),
        column: narrow(before[line_start..].chars().count() + 1),
        length: narrow(shown.chars().count().max(1)),
    }
}

/// The nearest offset at or before `offset` that starts a character.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The offset of a line and of a byte in it, both counted from 1, as serde_json reports them.
pub(super) fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(newline) => start += newline + 1,
            None => break,
        }
    }
    floor(text, start + column.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], code: &str, at: (u32, u32)) {
        let found = decode(bytes, Syntax::Json).unwrap_err();
        let place = found.place.unwrap();
        assert_eq!((found.code, (place.line, place.column)), (code, at), "{found:?}");
    }

    #[test]
    fn what_is_not_text_is_refused_by_name() {
        check(b"", "empty", (1, 1));
        check(b" \r\n\t", "empty", (1, 1));
        check(b"\xEF\xBB\xBF{}", "byte_order_mark", (1, 1));
        check(b"\xFF\xFE{\0}\0", "not_utf8", (1, 1));
        check(
            "{\n \"한글\": \""
                .as_bytes()
                .iter()
                .copied()
                .chain([0xFF])
                .collect::<Vec<_>>()
                .as_slice(),
            "not_utf8",
            (2, 9),
        );
        check(b"{\n  \0}", "nul_byte", (2, 3));
        check(&vec![b' '; SIZE_MAX + 1], "too_large", (1, 1));
        assert_eq!(decode(b"", Syntax::Toml), Ok(""));
        assert!(decode(&vec![b' '; CONFIG_SIZE_MAX + 1], Syntax::Toml).is_err());
    }

    #[test]
    fn columns_count_characters() {
        let text = "가나: x\n  다\"라마\"\r\nend";
        let at = |part: &str| {
            let start = text.find(part).unwrap();
            let place = place(text, Span::new(start, start + part.len()));
            (place.line, place.column, place.length)
        };
        assert_eq!(at("x"), (1, 5, 1));
        assert_eq!(at("\"라마\""), (2, 4, 4));
        assert_eq!(at("라마\"\r\nend"), (2, 5, 3));
        assert_eq!(at("end"), (3, 1, 3));
        let end = place(text, Span::new(text.len() + 9, text.len() + 9));
        assert_eq!((end.line, end.column, end.length), (3, 4, 1));
    }

    #[test]
    fn lines_and_bytes_become_offsets() {
        let text = "ab\n한\n";
        assert_eq!(offset_of(text, 1, 2), 1);
        assert_eq!(offset_of(text, 2, 1), 3);
        assert_eq!(offset_of(text, 2, 3), 3);
        assert_eq!(offset_of(text, 9, 9), text.len());
    }
}
