//! What the settings of agent programs say about hooks: where these settings are, whether they keep
//! our hook from being asked, and where it is registered.
//!
//! Settings tell only what is certainly wrong. That a hook is asked is shown by a call that it
//! refuses, and by nothing else.
//!
//! Files are read by the caller, so that nothing here touches a disk.

use crate::{product::Product, registration};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The project and the person whose settings are looked at.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The person's home folder.
    pub home: &'a Path,
    /// The project's folder.
    pub root: &'a Path,
    /// The folder of the repository's first work tree, which is what a person trusts.
    pub main_root: &'a Path,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file; none where there is none, or where it cannot be read.
    pub read: &'a dyn Fn(&Path) -> Option<String>,
}

impl std::fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Around").field("home", &self.home).field("root", &self.root).finish()
    }
}

/// The variables that a program's configuration takes secrets from: for its model provider, which
/// cannot be reached without it, and for anything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedVariables {
    /// The provider's key; without it the program ends at once.
    pub key: Option<String>,
    /// Everything that is named, the key among it.
    pub all: Vec<String>,
}

/// Why a hook that is registered is not asked, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub text: String,
    pub remedy: String,
}

/// A place where our hook is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    File(PathBuf),
    /// As a part of our plugin, which this file enables.
    Plugin(PathBuf),
}

/// Where our hook is registered for a program in this project.
pub fn registered(product: Product, around: &Around<'_>) -> Vec<Registered> {
    let has_hook = |path: &PathBuf| {
        let text = (around.read)(path);
        text.is_some_and(|text| registration::registered_program(product, &text).is_some())
    };
    let mut found: Vec<Registered> =
        product.files(around).into_iter().filter(has_hook).map(Registered::File).collect();
    found.extend(product.plugin(around).map(Registered::Plugin));
    found
}

impl Around<'_> {
    /// A variable that is set to something.
    pub(crate) fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// A variable that switches something on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.set(name).is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "no" | "off"))
    }

    /// The folder that a variable names, else one below the home folder.
    pub(crate) fn folder(&self, variable: &str, below_home: &str) -> PathBuf {
        self.set(variable).map_or_else(|| self.home.join(below_home), PathBuf::from)
    }

    /// Settings in JSON; nothing where they cannot be read.
    pub(crate) fn json(&self, path: &Path) -> Value {
        let text = (self.read)(path);
        text.and_then(|text| registration::value(&text)).unwrap_or_default()
    }

    /// A path as a person knows it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match (path.strip_prefix(self.root), path.strip_prefix(self.home)) {
            (Ok(below), _) => below.display().to_string(),
            (_, Ok(below)) => format!("~/{}", below.display()),
            _ => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
