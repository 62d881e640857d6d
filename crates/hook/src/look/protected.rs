//! Whether a path leads to a protected file, by where it really leads: links are followed.
//!
//! The judge knows the protected paths by name; this finds those that names do not show: through a
//! link, in a folder that git's configuration names, in another place than usual.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use waypost_guard::Reach;
use waypost_model::{layout, pattern::is_name};

use crate::look::{Files, Links, resolved_from};

/// Files and folders of the project.
const IN_PROJECT: [&str; 3] =
    [layout::window::WORKFLOW_FOLDER, layout::CONFIGURATION, layout::TASK_TYPES];

/// Our programs, which stand beside each other.
const PROGRAMS: [&str; 3] = ["waypost", "waypost-hook", "waypost-shell"];

impl Files {
    /// Whether writing an absolute path touches a protected file.
    pub(super) fn guards(&self, path: &Path, reach: Reach) -> bool {
        if let Some((folder, names)) = split_at_glob(path) {
            let folder = self.resolve(&folder);
            let protected = self.protected.get_or_init(|| self.protected_paths());
            return protected.iter().any(|it| {
                it.strip_prefix(&folder).is_ok_and(|rest| can_match(&names, rest, reach))
            });
        }
        // What is removed or replaced may be the link itself, which stands in a protected folder.
        let place = path.parent().map(|folder| self.resolve(folder)).zip(path.file_name());
        let target = match &place {
            Some((folder, name)) => resolved_from(folder.clone(), Path::new(name)),
            None => self.resolve(path),
        };
        let place = place.map(|(folder, name)| folder.join(name));
        // Through a process any file can be meant.
        if target.starts_with("/proc") {
            return true;
        }
        let protected = self.protected.get_or_init(|| self.protected_paths());
        let is_met = |path: &Path| {
            protected
                .iter()
                .any(|it| path.starts_with(it) || (reach == Reach::Below && it.starts_with(path)))
        };
        is_met(&target) || place.is_some_and(|place| is_met(&place)) || is_twin(&target, protected)
    }

    fn protected_paths(&self) -> Vec<PathBuf> {
        let mut paths = self.hook_folders();
        paths.push(self.state.clone());
        let settings = || self.agent_settings.iter().map(|file| file.path);
        paths.extend(IN_PROJECT.into_iter().chain(settings()).map(|name| self.root.join(name)));
        paths.extend(self.homes.home.iter().flat_map(|home| settings().map(|it| home.join(it))));
        let own = [&self.homes.config, &self.homes.state].into_iter().flatten();
        paths.extend(own.map(|home| home.join("waypost")));
        // An agent that can replace the programs that judge needs no other way around them.
        let own = std::env::current_exe().ok();
        paths.extend(own.iter().flat_map(|own| PROGRAMS.map(|name| own.with_file_name(name))));
        paths.extend(self.git_common.iter().map(|git| git.join("config")));
        paths.extend(self.git_folder().map(|git| git.join("config.worktree")));
        paths.sort_unstable();
        paths.dedup();
        let mut links = Links::default();
        paths.iter().map(|path| self.resolve_by(path, &mut |it| links.at(it))).collect()
    }
}

/// The folder before the first name with a glob, and the names from there on.
fn split_at_glob(path: &Path) -> Option<(PathBuf, Vec<&str>)> {
    let parts: Vec<&str> = path.to_str()?.split('/').collect();
    let at = parts.iter().position(|part| part.contains(['*', '?', '[', '{']))?;
    Some((PathBuf::from(format!("{}/", parts[..at].join("/"))), parts[at..].to_vec()))
}

/// Whether names with globs can stand for a path, or for a folder above it.
fn can_match(names: &[&str], path: &Path, reach: Reach) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let fits = |(name, part): (&&str, &&str)| {
        let is_shown = !part.starts_with('.') || name.starts_with(['.', '[', '{']);
        is_shown && (name.contains(['[', '{']) || is_name(name, part))
    };
    let is_deep = names.iter().position(|name| *name == "**");
    let ends = reach == Reach::Below || names.len() >= parts.len() || is_deep.is_some();
    let known = is_deep.unwrap_or(names.len());
    ends && names[..known].iter().zip(&parts).all(fits)
}

/// Whether a file has another name, by which it is protected.
fn is_twin(path: &Path, protected: &[PathBuf]) -> bool {
    let identity = |found: &Metadata| (found.dev(), found.ino());
    let Ok(found) = path.symlink_metadata() else { return false };
    if !found.is_file() || found.nlink() < 2 {
        return false;
    }
    let is_same = |path: &Path| path.metadata().is_ok_and(|it| identity(&it) == identity(&found));
    let is_inside = |folder: &PathBuf| {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries.take(1000).any(|entry| is_same(&entry.path()))
    };
    protected.iter().any(|it| is_same(it) || is_inside(it))
}
