//! What an import is.

use std::fmt;

/// A language whose imports are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Rust,
    Python,
    TypeScript,
    /// TypeScript with elements of a page in it.
    Tsx,
    JavaScript,
    Java,
    Kotlin,
    Go,
    CSharp,
}

impl Language {
    /// The language of a file, by the ending of its name.
    pub fn of_path(path: &str) -> Result<Self, UnknownLanguage> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "rs" => Ok(Self::Rust),
            "py" | "pyi" => Ok(Self::Python),
            "ts" | "mts" | "cts" => Ok(Self::TypeScript),
            "tsx" => Ok(Self::Tsx),
            "js" | "mjs" | "cjs" | "jsx" => Ok(Self::JavaScript),
            "java" => Ok(Self::Java),
            "kt" | "kts" => Ok(Self::Kotlin),
            "go" => Ok(Self::Go),
            "cs" => Ok(Self::CSharp),
            other => Err(UnknownLanguage { extension: other.to_owned() }),
        }
    }

    /// Whether this program was built with its grammar.
    pub fn has_grammar(self) -> bool {
        cfg!(feature = "grammars")
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::TypeScript | Self::Tsx => "TypeScript",
            Self::JavaScript => "JavaScript",
            Self::Java => "Java",
            Self::Kotlin => "Kotlin",
            Self::Go => "Go",
            Self::CSharp => "C#",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A file whose imports are not read: its language is none of ours, or this program was built without
/// grammars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLanguage {
    pub extension: String,
}

/// The imports of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imports {
    pub language: Language,
    /// The package or namespace that the file says it belongs to, where its language has such a statement.
    pub declared: Option<String>,
    /// In the order of the text.
    pub found: Vec<Import>,
    /// Whether parts of the text could not be read.
    pub has_errors: bool,
}

/// One import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// As it is written, without quotes: `crate::cart::Cart`, `..cart`, `./cart`, `com.example.Cart`. Of a
    /// dynamic import whose name is worked out it is the expression.
    pub path: String,
    /// What is taken from there; nothing: all of it, or the thing itself.
    pub names: Vec<ImportedName>,
    /// Counted from 1.
    pub line: u32,
    pub kind: ImportKind,
    /// Whether the path is what is written; a dynamic import may work it out.
    pub is_known: bool,
}

/// Something that is imported by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedName {
    /// What it is called where it comes from; `*`: everything.
    pub name: String,
    /// What it is called here, or by those who import it from here.
    pub local: String,
}

/// How something is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportKind {
    /// By a name that is the same everywhere.
    Static,
    /// While the program runs.
    Dynamic,
    /// And handed on to those who import this file.
    ReExport,
    /// By a way from this file.
    Relative,
}

impl ImportKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Dynamic => "dynamic",
            Self::ReExport => "re-export",
            Self::Relative => "relative",
        }
    }
}
