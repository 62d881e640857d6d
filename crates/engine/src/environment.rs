//! The environment variables of the actor for whom a project was opened.
//!
//! A host may work for an actor in another process: what its children inherit, and where the user's own files
//! are, is then that process's environment, never the host's.

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

    /// All variables that are text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// An absolute path; a relative one in a variable means nothing, and is ignored.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// Values may be secrets: they are in no message and in no log.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_the_values() {
        let own = [("KEY".into(), "secret".into())].into_iter().collect();
        assert_eq!(format!("{:?}", Environment(Arc::new(own))), r#"{"KEY"}"#);
    }
}
