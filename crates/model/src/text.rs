//! Words of others, made fit to be shown and recorded.

/// Words without what a terminal obeys or what makes text look like another.
pub fn plain(text: &str) -> String {
    let is_kept = |char: &char| match char {
        '\n' | '\t' => true,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        char => !char.is_control(),
    };
    text.chars().filter(is_kept).collect()
}

/// A text on one line, at most so many characters long.
pub fn one_line(text: &str, length: usize) -> String {
    let words = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// Keeps at most so many bytes from the beginning, whole characters only; says whether any were cut.
pub fn cut(text: &mut String, bytes: usize) -> bool {
    let is_longer = text.len() > bytes;
    if is_longer {
        text.truncate(text.floor_char_boundary(bytes));
    }
    is_longer
}
