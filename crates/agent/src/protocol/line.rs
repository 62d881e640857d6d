//! One line: whether it can matter, what it says without colours, and which marker it is.

use std::borrow::Cow;

/// Markdown takes what is indented further for code.
const INDENT_MAX: usize = 3;

/// Names of tasks are short.
const ID_LENGTH_MAX: usize = 200;

/// The blocks of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Dependency,
    Question,
    Error,
}

impl Name {
    const ALL: [Self; 3] = [Self::Dependency, Self::Question, Self::Error];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "DEPENDENCY_REQUEST",
            Self::Question => "USER_QUESTION",
            Self::Error => "ERROR",
        }
    }
}

/// A block's opening or closing bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: Name,
    pub(super) is_json: bool,
}

impl Tag {
    fn read(text: &str) -> Option<Self> {
        let (plain, is_json) = match text.strip_suffix("_JSON") {
            Some(plain) => (plain, true),
            None => (text, false),
        };
        let name = Name::ALL.into_iter().find(|name| name.as_str() == plain)?;
        Some(Self { name, is_json })
    }

    /// What closes the block.
    pub(super) fn closing(self) -> String {
        format!("[/{}{}]", self.name.as_str(), if self.is_json { "_JSON" } else { "" })
    }
}

/// A line with a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    Done {
        task: &'a str,
    },
    Failed {
        task: &'a str,
        reason: &'a str,
    },
    Phase {
        phase: u32,
        nonce: Option<&'a str>,
    },
    Custom {
        nonce: Option<&'a str>,
    },
    /// With what stands behind it on the line.
    Verification {
        rest: &'a str,
    },
    /// With what stands behind it on the line.
    Open {
        tag: Tag,
        rest: &'a str,
    },
    Close {
        tag: Tag,
    },
}

/// How markers and fences begin.
const STARTS: &[&[u8]] =
    &[b"DONE:", b"FAIL:", b"===", b"[DEP", b"[USER", b"[ERROR", b"[/", b"```", b"~~~"];

/// Whether a line, or the start of one, can be a marker or a fence. Says yes in doubt, and no to
/// nearly all output at the price of a few bytes. Once it says no, more of the line changes nothing.
pub(super) fn can_matter(line: &[u8]) -> bool {
    let mut rest = line;
    let mut spaces = 0;
    loop {
        match rest {
            [b' ', more @ ..] => {
                spaces += 1;
                if spaces > INDENT_MAX {
                    return false;
                }
                rest = more;
            }
            // What a file or a line may begin with, unseen.
            [b'\r', more @ ..] => rest = more,
            [0xef, more @ ..] => match more {
                [0xbb, 0xbf, more @ ..] => rest = more,
                [] | [0xbb] => return true,
                _ => return false,
            },
            [b'\x1b', b'[', more @ ..] => {
                let end = more.iter().position(|byte| (0x40..=0x7e).contains(byte));
                let Some(end) = end else { return true };
                rest = &more[end + 1..];
            }
            // Other escapes are rare enough to be looked at closely.
            [b'\x1b', ..] => return true,
            [b'D' | b'F' | b'=' | b'[' | b'`' | b'~', ..] => {
                let is_start = |start: &&[u8]| rest.iter().zip(*start).all(|(a, b)| a == b);
                return STARTS.iter().any(is_start);
            }
            [] => return true,
            _ => return false,
        }
    }
}

/// The line as a person sees it: without escapes, and without what is not text.
pub(super) fn clean(line: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    if text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return text;
    }
    let is_plain = |c: char| !c.is_control() && c != '\u{feff}' || c == '\t';
    let mut seen = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => skip_escape(&mut rest),
            c if is_plain(c) => seen.push(c),
            _ => {}
        }
    }
    Cow::Owned(seen)
}

/// Skips the rest of an escape: colours and the like up to their letter, titles and links up to
/// their end, others with one character.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => while rest.next().is_some_and(|c| !('\x40'..='\x7e').contains(&c)) {},
        Some(']' | 'P' | '_' | '^') => {
            while let Some(c) = rest.next() {
                if c == '\x07' || c == '\x1b' && rest.next_if_eq(&'\\').is_some() {
                    return;
                }
            }
        }
        _ => {}
    }
}

/// The fence that a line opens or closes: its character, its length, and whether anything follows.
pub(super) fn fence(line: &str) -> Option<(char, usize, bool)> {
    let text = dedented(line)?;
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
    is_fence.then(|| (mark, length, !rest.trim().is_empty()))
}

/// The text of a line that is not indented as code is.
fn dedented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= INDENT_MAX).then_some(text)
}

/// The marker that a line is.
pub(super) fn marker(line: &str) -> Option<Marker<'_>> {
    let text = dedented(line)?.trim_end();
    if let Some(rest) = text.strip_prefix("DONE:") {
        return id(rest.trim()).map(|task| Marker::Done { task });
    }
    if let Some(rest) = text.strip_prefix("FAIL:") {
        let (task, reason) = rest.split_once(':').unwrap_or((rest, ""));
        return id(task.trim()).map(|task| Marker::Failed { task, reason: reason.trim() });
    }
    if let Some(rest) = text.strip_prefix("===") {
        return banner(rest);
    }
    let (tag, rest) = text.strip_prefix('[')?.split_once(']')?;
    match tag.strip_prefix('/') {
        Some(tag) if rest.is_empty() => Tag::read(tag).map(|tag| Marker::Close { tag }),
        Some(_) => None,
        None => Tag::read(tag).map(|tag| Marker::Open { tag, rest: rest.trim() }),
    }
}

fn id(text: &str) -> Option<&str> {
    let is_id = !text.is_empty()
        && text.len() <= ID_LENGTH_MAX
        && !text.contains(|c: char| c.is_whitespace() || c == ':');
    is_id.then_some(text)
}

/// What stands between `===` and `===`.
fn banner(text: &str) -> Option<Marker<'_>> {
    let (title, rest) = text.split_once("===")?;
    let words: Vec<&str> = title.split_whitespace().collect();
    if words == ["VERIFICATION_RESULT"] {
        return Some(Marker::Verification { rest: rest.trim() });
    }
    if !rest.trim().is_empty() {
        return None;
    }
    let nonce = |words: &[&'_ str]| words.len() <= 1;
    match words.as_slice() {
        ["PHASE", number, "COMPLETE", more @ ..] if nonce(more) => {
            let phase = number.parse().ok()?;
            Some(Marker::Phase { phase, nonce: more.first().copied() })
        }
        ["CUSTOM", "TASK", "COMPLETE", more @ ..] if nonce(more) => {
            Some(Marker::Custom { nonce: more.first().copied() })
        }
        _ => None,
    }
}
