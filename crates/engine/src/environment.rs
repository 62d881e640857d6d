//! The environment variables of the actor for whom a project was opened.
//!
//! A host may work for an actor in another process: what its children inherit, and where the user's own files
//! are, is then that process's environment, never the host's.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::Arc,
};

/// Environment variables; cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

/// As it is told to another process: what is no text means nothing to the engine, and stays behind.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Environment {
    pub fn of_this_process() -> Self {
        Self(Arc::new(env::vars_os().collect()))
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// A variable that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }

    /// All variables.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// All variables that are text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// An absolute path; a relative one in a variable means nothing, and is ignored.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    pub(crate) fn variables(&self) -> Variables {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Variables(self.texts().map(owned).collect())
    }
}

impl From<Variables> for Environment {
    fn from(Variables(texts): Variables) -> Self {
        let pairs = texts.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(Arc::new(pairs.collect()))
    }
}

/// Values may be secrets: they are in no message and in no log.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    #[test]
    fn what_is_told_to_another_process_is_the_text_and_no_message_has_values() {
        let pair = |name: &str, value: Vec<u8>| (name.into(), OsString::from_vec(value));
        let own = [pair("KEY", b"secret".to_vec()), pair("BYTES", vec![0xff])];
        let own = Environment(Arc::new(own.into_iter().collect()));
        let told = Environment::from(own.variables());
        assert_eq!((told.text("KEY"), told.get("BYTES")), (Some("secret"), None));
        assert_eq!(format!("{own:?} {:?}", own.variables()), r#"{"BYTES", "KEY"} {"KEY"}"#);
    }
}
