//! What the judge needs to read from the disk: scripts, aliases, recipes, and where protected
//! files are.
//!
//! Reads only, and only what is asked for: a command that runs no script reads none. Every read is
//! bounded, and never waits: pipes and devices are not opened. No process is started; git's files
//! are read as git writes them.

mod config;
mod just;
mod lines;
mod make;
mod npm;
mod protected;
mod read;
mod repository;
mod script;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use waypost_agent::programs::Programs;
use waypost_guard::{Look, Reach, Reader, Recipe, Runner, Script};
use waypost_model::layout::SettingsFile;

use crate::look::config::Settings;

/// The files around one tool call.
#[derive(Clone, Debug)]
pub struct Files {
    /// The folder that the tool call is made in.
    pub folder: PathBuf,
    /// The top of the work tree.
    pub root: PathBuf,
    /// The repository that all its work trees share; `None` outside git.
    pub git_common: Option<PathBuf>,
    /// The journal's folder.
    pub state: PathBuf,
    pub homes: Homes,
    /// The files in which agent programs can be told not to ask us.
    agent_settings: Vec<SettingsFile>,
    settings: OnceLock<Settings>,
    /// Where the protected files really are.
    protected: OnceLock<Vec<PathBuf>>,
}

/// The user's folders, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    /// `$HOME`
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub config: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, or `~/.local/state`.
    pub state: Option<PathBuf>,
    /// The configuration of git for the whole machine.
    pub git_system: Option<PathBuf>,
}

impl Homes {
    /// As the environment of this process says; a relative path there counts as none.
    pub fn from_environment() -> Self {
        let absolute = |name| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let below = |name| home.as_ref().map(|home| home.join(name));
        let config = absolute("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let state = absolute("XDG_STATE_HOME").or_else(|| below(".local/state"));
        Self { home, config, state, git_system: Some(PathBuf::from("/etc/gitconfig")) }
    }
}

impl Files {
    /// The files around a tool call that is made in `folder`, in the work tree at `root`, whose
    /// repository is `git_common` (`None` outside git) and whose journal is in `state`, by an agent
    /// of any of these programs. All paths are absolute, and `root` has no links in it. Nothing is read yet; what has been read is kept,
    /// so a value serves one call.
    pub fn new(
        folder: PathBuf,
        root: PathBuf,
        git_common: Option<PathBuf>,
        state: PathBuf,
        programs: &Programs,
    ) -> Self {
        let homes = Homes::from_environment();
        Self {
            folder,
            root,
            git_common,
            state,
            homes,
            agent_settings: programs.settings_files(),
            settings: OnceLock::new(),
            protected: OnceLock::new(),
        }
    }

    /// The same files for a user with these folders.
    #[must_use]
    pub fn with_homes(self, homes: Homes) -> Self {
        Self { homes, settings: OnceLock::new(), protected: OnceLock::new(), ..self }
    }

    /// The absolute path that a shell in the event's folder means; `~` is the user's home.
    fn absolute(&self, path: &str) -> PathBuf {
        let home = self.homes.home.as_deref();
        let below_home = match (path.strip_prefix('~'), home) {
            (Some(""), Some(home)) => Some(home.to_owned()),
            (Some(rest), Some(home)) => rest.strip_prefix('/').map(|rest| home.join(rest)),
            _ => None,
        };
        below_home.unwrap_or_else(|| self.folder.join(path))
    }

    /// Where an absolute path really leads. The top of the work tree is known to be no link.
    fn resolve(&self, path: &Path) -> PathBuf {
        self.resolve_by(path, &mut Place::at)
    }

    fn resolve_by(&self, path: &Path, look: &mut dyn FnMut(&Path) -> Place) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(rest) => resolved_by(self.root.clone(), rest, look),
            Err(_) => resolved_by(PathBuf::from("/"), path, look),
        }
    }

    fn settings(&self) -> &Settings {
        self.settings.get_or_init(|| self.load_settings())
    }
}

impl Look for Files {
    fn script(&self, path: &str, reader: Reader) -> Script {
        script::find(&self.absolute(path), reader, &self.homes)
    }

    fn git_alias(&self, name: &str) -> Option<String> {
        self.settings().alias(name)
    }

    fn recipe(&self, recipe: &Recipe<'_>) -> Script {
        match recipe.runner {
            Runner::Make => make::find(self, recipe),
            Runner::Npm => npm::find(self, recipe),
            Runner::Just => just::find(self, recipe),
        }
    }

    fn is_protected(&self, path: &str, reach: Reach) -> bool {
        self.guards(&self.absolute(path), reach)
    }

    fn agent_settings(&self) -> &[SettingsFile] {
        &self.agent_settings
    }

    fn top(&self) -> Option<String> {
        let folder = resolved(&self.folder);
        let top = folder.ancestors().find(|it| it.join(".git").symlink_metadata().is_ok())?;
        top.to_str().map(str::to_owned)
    }
}

/// The absolute path with the links of what exists followed, and without `.` and `..`. What does
/// not exist is taken as it is written.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    resolved_from(PathBuf::from("/"), path)
}

/// As [`resolved`], for a path below a folder that is resolved already.
pub(crate) fn resolved_from(folder: PathBuf, path: &Path) -> PathBuf {
    resolved_by(folder, path, &mut Place::at)
}

/// What stands at a path itself, as far as links matter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Link(PathBuf),
    /// Something else.
    Plain,
    /// Nothing, so that there is nothing below it either.
    Missing,
}

impl Place {
    fn at(path: &Path) -> Self {
        match path.read_link() {
            Ok(target) => Self::Link(target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Err(_) => Self::Plain,
        }
    }
}

/// Follows links in many paths that have their beginnings in common: each name is looked at once.
#[derive(Debug, Default)]
struct Links {
    seen: BTreeMap<PathBuf, Place>,
}

impl Links {
    fn at(&mut self, path: &Path) -> Place {
        if let Some(known) = self.seen.get(path) {
            return known.clone();
        }
        let is_missing = path.parent().and_then(|it| self.seen.get(it)) == Some(&Place::Missing);
        let found = if is_missing { Place::Missing } else { Place::at(path) };
        self.seen.insert(path.to_owned(), found.clone());
        found
    }
}

fn resolved_by(folder: PathBuf, path: &Path, look: &mut dyn FnMut(&Path) -> Place) -> PathBuf {
    /// As many as the kernel follows; a path with more leads nowhere.
    const LINKS: usize = 40;
    let parts = |path: &Path| -> Vec<OsString> {
        let part = |part: Component<'_>| part.as_os_str().to_owned();
        path.components().rev().map(part).collect()
    };
    let mut open = parts(path);
    let mut whole = folder;
    let mut links = 0;
    while let Some(part) = open.pop() {
        if part == ".." {
            whole.pop();
            continue;
        }
        if part == "/" {
            whole = PathBuf::from("/");
            continue;
        }
        // An absolute part begins again at the root, and `.` is left out by itself.
        let next = whole.join(part);
        // Where a link of a process leads is another place for every process that looks.
        if whole.starts_with("/proc") {
            whole = next;
            continue;
        }
        match look(&next) {
            Place::Link(target) if links < LINKS => {
                links += 1;
                open.extend(parts(&target));
            }
            _ => whole = next,
        }
    }
    whole
}

#[cfg(test)]
mod tests;
