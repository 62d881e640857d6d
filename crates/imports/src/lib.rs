//! The import statements of source files, and which files of a project they mean.
//!
//! Statements are read from the syntax tree, so that strings and comments that look like imports are none. What
//! an import means is told from the names of files alone, as far as that can be told; re-exports are followed.
//! Nothing is read from disk here: the caller hands texts and names in.
//!
//! *Absent:* what may import what, and search paths that only a build knows.

mod files;
mod import;
#[cfg(feature = "grammars")]
mod languages;
mod read;

pub use files::{Reached, SourceFiles};
pub use import::{Import, ImportKind, ImportedName, Imports, Language, UnknownLanguage};
pub use read::imports_of;
