//! Comments on lines of files, as a reviewer writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A remark about one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineComment {
    /// The file, as the review names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    pub text: String,
}

/// A text that is no comment on a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no comment on a line: expected FILE:LINE:TEXT, as in docs/plan.md:12:too vague")]
pub struct BadComment(pub String);

impl LineComment {
    /// Whether it names a file and a line and says something.
    pub fn is_complete(&self) -> bool {
        !self.file.trim().is_empty() && self.line > 0 && !self.text.trim().is_empty()
    }
}

/// `FILE:LINE:TEXT`. A name may have colons: the line is the first number between two of them.
impl FromStr for LineComment {
    type Err = BadComment;

    fn from_str(text: &str) -> Result<Self, BadComment> {
        let colons: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
        let found = colons.windows(2).find_map(|pair| {
            let &[before, after] = pair else { return None };
            let line = text[before + 1..after].parse::<u32>().ok()?;
            Some((&text[..before], line, text[after + 1..].trim()))
        });
        let comment = found.map(|(file, line, text)| Self {
            file: file.trim().to_owned(),
            line,
            text: text.to_owned(),
        });
        comment.filter(Self::is_complete).ok_or_else(|| BadComment(text.to_owned()))
    }
}

impl fmt::Display for LineComment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_a_file_a_line_and_a_text() {
        let comment = |file: &str, line, text: &str| LineComment {
            file: file.to_owned(),
            line,
            text: text.to_owned(),
        };
        let table = [
            ("docs/plan.md:12:too vague", Some(comment("docs/plan.md", 12, "too vague"))),
            ("a b.md:1: why: because", Some(comment("a b.md", 1, "why: because"))),
            ("c:d.md:3:see a:4:b", Some(comment("c:d.md", 3, "see a:4:b"))),
            ("docs/plan.md:0:first", None),
            ("docs/plan.md:12:", None),
            (":12:text", None),
            ("docs/plan.md:twelve:text", None),
            ("docs/plan.md", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(text.parse().ok(), want, "{text}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let comment: LineComment = "src/a.rs:7:rename this".parse().unwrap();
        assert_eq!(comment.to_string().parse(), Ok(comment));
    }
}
