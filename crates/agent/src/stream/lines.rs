//! Bytes in any chunks, lines out, each of bounded length.

use std::io::BufRead as _;

/// The longest line that is kept whole. Longer ones carry a file or a picture.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The end of the stream so far, up to the next line break.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
    /// How long the line is, kept or not.
    bytes: usize,
    /// Where it begins in the stream.
    start: u64,
}

/// A line without its end.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Its start, or all of it.
    pub(crate) kept: &'a [u8],
    /// How long it was.
    pub(crate) bytes: usize,
    /// Where it begins in the stream.
    pub(crate) start: u64,
}

impl Line<'_> {
    pub(crate) fn is_cut(&self) -> bool {
        self.bytes > self.kept.len()
    }
}

impl Lines {
    pub(crate) fn push(&mut self, mut chunk: &[u8], mut each: impl FnMut(&Line<'_>)) {
        while let Some((line, rest)) = split(chunk) {
            let start = self.start;
            if self.bytes == 0 {
                self.start += line.len() as u64;
                emit((line, line.len()), start, &mut each);
            } else {
                self.hold(line);
                self.finish(&mut each);
            }
            // The break itself.
            self.start += 1;
            chunk = rest;
        }
        self.hold(chunk);
    }

    /// Ends the last line, which has no line break.
    pub(crate) fn finish(&mut self, each: impl FnMut(&Line<'_>)) {
        emit((&self.held, self.bytes), self.start, each);
        self.held.clear();
        self.start += self.bytes as u64;
        self.bytes = 0;
    }

    fn hold(&mut self, part: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.held.len());
        self.held.extend_from_slice(&part[..part.len().min(room)]);
        self.bytes += part.len();
    }
}

fn emit((line, bytes): (&[u8], usize), start: u64, mut each: impl FnMut(&Line<'_>)) {
    let kept = &line[..line.len().min(LINE_BYTES_MAX)];
    match kept.strip_suffix(b"\r") {
        Some(kept) if bytes == kept.len() + 1 => each(&Line { kept, bytes: bytes - 1, start }),
        _ => each(&Line { kept, bytes, start }),
    }
}

/// What stands before the first line break, and what behind it.
pub(crate) fn split(chunk: &[u8]) -> Option<(&[u8], &[u8])> {
    // The fastest search for a byte that the standard library has; reading memory cannot fail.
    let read = { chunk }.skip_until(b'\n').unwrap_or(0);
    let (line, rest) = chunk.split_at(read);
    Some((line.strip_suffix(b"\n")?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<(Vec<u8>, usize)> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |line| found.push((line.kept.to_vec(), line.bytes)));
        }
        lines.finish(|line| found.push((line.kept.to_vec(), line.bytes)));
        found
    }

    #[test]
    fn lines_end_at_breaks_of_either_kind_and_at_the_end() {
        let want = [("a", 1), ("", 0), ("b\rc", 3), ("d", 1)];
        let want: Vec<_> = want.map(|(text, bytes)| (text.as_bytes().to_vec(), bytes)).to_vec();
        assert_eq!(lines(&[b"a\r\n\nb\rc\nd"]), want);
        assert_eq!(lines(&[b"a\r", b"\n\nb", b"\rc\n", b"d"]), want);
    }

    #[test]
    fn a_long_line_keeps_its_start_and_its_length() {
        let mut text = vec![b'x'; LINE_BYTES_MAX + 2];
        text.extend_from_slice(b"\r\ny\n");
        let want = vec![
            (vec![b'x'; LINE_BYTES_MAX], LINE_BYTES_MAX + 3),
            (b"y".to_vec(), 1),
            (Vec::new(), 0),
        ];
        assert_eq!(lines(&[&text]), want);
        assert_eq!(lines(&[&text[..7], &text[7..LINE_BYTES_MAX], &text[LINE_BYTES_MAX..]]), want);
        let full = vec![b'x'; LINE_BYTES_MAX];
        assert_eq!(lines(&[&full, b"\r\n"])[0], (full.clone(), LINE_BYTES_MAX + 1));
        assert_eq!(lines(&[&[&full[..], b"\r\n"].concat()])[0], (full, LINE_BYTES_MAX + 1));
    }
}
