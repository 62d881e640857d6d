//! The tools of agent programs, as data: what a call of one does, and where that stands in its input.
//!
//! Programs name them (`agent`), and what judges calls and permissions is given them as values: no rule
//! knows a tool by its name.

/// A tool of an agent program that writes files or runs commands. Others do nothing that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    pub kind: ToolKind,
    /// The fields in which that stands which it does; the first of them that is there counts.
    pub fields: &'static [&'static str],
    /// The fields in which it names the folder that it runs in, likewise.
    pub folders: &'static [&'static str],
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// Runs a command in a shell.
    Shell,
    /// Hands text to a program that already runs, which may be a shell.
    Typing,
    /// Changes the files that a patch names.
    Patch,
    /// Writes the file that it names.
    Writing,
}

impl Tool {
    /// Whether the text of a field is parsed; all others are only names.
    pub fn parses(&self, field: &str) -> bool {
        self.kind != ToolKind::Writing && self.fields.contains(&field)
    }
}
