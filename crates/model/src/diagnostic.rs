//! What is wrong with a file that a person or an agent wrote: where, what was expected, what to do.
//!
//! Data only. The command line draws it with a snippet and a caret; `--json` prints it as it is.

use serde::Serialize;

/// Whether a finding stops the file from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Read all the same; said so that it can be fixed.
    Warning,
    /// The file is refused as a whole.
    Error,
}

/// A position in a text; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct Place {
    pub line: u32,
    pub column: u32,
    /// How many characters the caret underlines, at least 1.
    pub length: u32,
}

/// One finding about one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Diagnostic {
    pub severity: Severity,
    /// A stable word that programs can match on, such as `unknown_field` or `CIRCULAR_DEP`.
    pub code: &'static str,
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The path inside the document, such as `tasks.T1.subtasks`; empty for the whole of it.
    pub path: String,
    /// A lowercase fragment that says what is wrong.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            place: None,
            path: String::new(),
            message: message.into(),
            expected: None,
            hint: None,
        }
    }

    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
