//! The imports of a text.

use crate::{Imports, Language, UnknownLanguage};

/// Reads the imports of a file, by its path and its text.
pub fn imports_of(path: &str, text: &str) -> Result<Imports, UnknownLanguage> {
    let language = Language::of_path(path)?;
    #[cfg(feature = "grammars")]
    {
        let unread = || UnknownLanguage { extension: language.name().to_owned() };
        crate::languages::read(language, text).ok_or_else(unread)
    }
    #[cfg(not(feature = "grammars"))]
    {
        let _unread = text;
        Err(UnknownLanguage { extension: language.name().to_owned() })
    }
}
