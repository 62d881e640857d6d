//! One wall as plain values, and how it follows from the surroundings.
//!
//! Rules are kept by path. A rule holds for all that is below its path, until another one begins
//! there; so the longest path that fits decides, and the order in which they are built is the order
//! of the paths. What is not named is readable and nothing else.

use crate::{
    credentials,
    disk::{Disk, Kind},
    places::{Project, Surroundings},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    ops::Bound,
    path::{Path, PathBuf},
};

/// What stands at a path inside, and what may be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Readable; the same as outside.
    Read,
    /// Writable; the same as outside.
    Write,
    /// There is nothing: an empty folder, or an empty file. A folder in which something is shown all the same
    /// cannot be written beside that.
    Hidden,
    /// There is nothing either, but a command can put something there; it is gone with the call.
    Scratch,
    /// A folder with what the rules below it put there, and nothing else; it cannot be written. Only
    /// namespaces have this.
    Frame,
    /// Another file or folder, which is readable.
    ReadFrom(PathBuf),
    /// Another file or folder, which is writable.
    WriteFrom(PathBuf),
    /// A link with this target.
    Link(PathBuf),
}

/// What holds at a path and below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub at: PathBuf,
    pub what: What,
}

/// The plan of one wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosure {
    rules: BTreeMap<PathBuf, What>,
    /// Variables that are set inside, beside those of the caller that are no secret.
    pub variables: Vec<(String, String)>,
    /// Files that are protected by their name alone, because no mount can hold a name in a writable
    /// folder for good: the call ends when one of them comes, goes or changes.
    pub watched: Vec<PathBuf>,
}

impl Enclosure {
    /// Everything can be read, and nothing else.
    pub fn bare() -> Self {
        let rules = BTreeMap::from([(PathBuf::from("/"), What::Read)]);
        Self { rules, variables: Vec::new(), watched: Vec::new() }
    }

    /// All rules, a folder before what is in it.
    pub fn rules(&self) -> impl Iterator<Item = Rule> + '_ {
        self.rules.iter().map(|(at, what)| Rule { at: at.clone(), what: what.clone() })
    }

    /// Puts a rule in place of what held at a path.
    pub fn set(&mut self, at: impl Into<PathBuf>, what: What) {
        self.rules.insert(at.into(), what);
    }

    /// The rule that decides about a path. It has to be one without links.
    pub fn rule(&self, path: &Path) -> (&Path, &What) {
        let known = path.ancestors().find_map(|it| self.rules.get_key_value(it));
        match known {
            Some((at, what)) => (at, what),
            None => (Path::new("/"), &What::Hidden),
        }
    }

    /// Whether there are rules about what is below a path.
    pub(crate) fn has_below(&self, path: &Path) -> bool {
        let after = (Bound::Excluded(path.to_owned()), Bound::Unbounded);
        self.rules.range::<PathBuf, _>(after).next().is_some_and(|(at, _)| at.starts_with(path))
    }

    /// Whether a process inside can read what outside stands at a path without links.
    pub fn may_read(&self, path: &Path) -> bool {
        matches!(self.rule(path).1, What::Read | What::Write)
    }

    /// Whether a process inside can write what outside stands at a path without links.
    pub fn may_write(&self, path: &Path) -> bool {
        *self.rule(path).1 == What::Write
    }
}

/// The enclosure of a call.
pub fn plan(around: &Surroundings, disk: &dyn Disk) -> Enclosure {
    let mut draft = Draft { disk, rules: BTreeMap::new() };
    draft.system(around);
    for home in &around.homes {
        draft.home(home, around);
    }
    for cache in &around.named_caches {
        draft.named_cache(cache, around);
    }
    for project in &around.projects {
        draft.project(project, around);
    }
    draft.ours(around);
    let mut variables = Vec::new();
    if !around.rights.commit {
        // A mere look at the status must not want to write.
        variables.push(("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned()));
    }
    let watched = around.projects.iter().flat_map(|it| draft.watched(it, around)).collect();
    Enclosure { rules: draft.rules, variables, watched }
}

struct Draft<'a> {
    disk: &'a dyn Disk,
    rules: BTreeMap<PathBuf, What>,
}

impl Draft<'_> {
    fn set(&mut self, at: impl Into<PathBuf>, what: What) {
        self.rules.insert(at.into(), what);
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.kind(path).is_some()
    }

    /// Hides a path, if it is there and not seen through a link.
    fn hide(&mut self, path: PathBuf) {
        if let Some(Kind::Folder | Kind::File) = self.disk.kind(&path) {
            self.set(path, What::Hidden);
        }
    }

    fn system(&mut self, around: &Surroundings) {
        self.set("/", What::Read);
        for folder in ["/tmp"] {
            if self.disk.kind(Path::new(folder)) == Some(Kind::Folder) {
                self.set(folder, What::Write);
            }
        }
        self.hide("/run".into());
        // Names are resolved by a file that often stands below `/run`.
        let resolver = self.disk.real(Path::new("/etc/resolv.conf"));
        if let Some(folder) = resolver.as_deref().and_then(Path::parent)
            && folder.starts_with("/run/")
        {
            self.set(folder, What::Read);
        }
        let in_tmp = around.hides_sockets.then(|| self.disk.names(Path::new("/tmp")));
        for name in in_tmp.into_iter().flatten() {
            let name = name.to_string_lossy();
            if credentials::SOCKETS_IN_TMP.iter().any(|start| name.starts_with(start)) {
                self.hide(Path::new("/tmp").join(&*name));
            }
        }
        if around.is_root {
            credentials::OF_ROOT.iter().for_each(|path| self.hide(path.into()));
            let (folder, end) = credentials::MACHINE_KEYS;
            for name in self.disk.names(Path::new(folder)) {
                if name.to_string_lossy().ends_with(end) {
                    self.hide(Path::new(folder).join(name));
                }
            }
        }
        for folder in &around.other_homes {
            self.hide(folder.clone());
        }
    }

    fn home(&mut self, home: &Path, around: &Surroundings) {
        if home == Path::new("/") {
            // A service without a home of its own: what is secret in `/` is hidden by name.
            credentials::IN_HOME.iter().for_each(|name| self.hide(home.join(name)));
            return;
        }
        self.hide(home.to_owned());
        // A project that is a home, or has one in it, keeps its own folders of these names.
        let is_hidden = matches!(self.rule(home), Some(What::Hidden))
            && !around.projects.iter().any(|project| home.starts_with(&project.root));
        for name in SCRATCH_IN_HOME.into_iter().filter(|_| is_hidden) {
            self.set(home.join(name), What::Scratch);
        }
        // One look instead of one for each name that most homes do not have.
        let there: BTreeSet<OsString> = self.disk.names(home).into_iter().collect();
        let is_there = |name: &&String| {
            Path::new(name).iter().next().is_some_and(|first| there.contains(first))
        };
        for name in around.readable.iter().filter(is_there) {
            self.show(&home.join(name), What::Read);
        }
        for name in around.caches.iter().filter(is_there) {
            self.show(&home.join(name), What::Write);
        }
        for name in credentials::IN_HOME {
            let path = home.join(name);
            if !matches!(self.rule(&path), Some(What::Hidden | What::Scratch) | None) {
                self.hide(path);
            }
        }
    }

    /// A folder that a variable names, unless more than a cache would be open with it.
    fn named_cache(&mut self, cache: &Path, around: &Surroundings) {
        let ours = around.projects.iter().flat_map(|it| {
            [Some(&it.root), Some(&it.state), it.git_common.as_ref()].into_iter().flatten()
        });
        let theirs = around.homes.iter().chain(&around.user_folders).chain([&around.programs]);
        let is_above = ours.chain(theirs).any(|path| path.starts_with(cache));
        let is_inside = around.projects.iter().any(|it| cache.starts_with(it.root.join(".git")));
        if !is_above && !is_inside && self.disk.kind(cache) == Some(Kind::Folder) {
            self.set(cache, What::Write);
        }
    }

    fn rule(&self, path: &Path) -> Option<&What> {
        path.ancestors().find_map(|it| self.rules.get(it))
    }

    /// Shows what is at a path; behind a link, that and the link.
    fn show(&mut self, path: &Path, what: What) {
        match self.disk.kind(path) {
            Some(Kind::Folder | Kind::File) => self.set(path, what),
            Some(Kind::Link) => {
                let Some(real) = self.disk.real(path) else { return };
                // Through a link nothing gets writable that was not listed by itself.
                if matches!(self.rule(&real), Some(What::Hidden | What::Scratch)) {
                    self.set(real.clone(), What::Read);
                }
                self.set(path, What::Link(real));
            }
            Some(Kind::Other) | None => {}
        }
    }

    fn project(&mut self, project: &Project, around: &Surroundings) {
        let rights = around.rights;
        let root = &project.root;
        self.set(root, if rights.write { What::Write } else { What::Read });
        if !rights.write {
            let builds: Vec<PathBuf> =
                around.build_folders.iter().map(|it| root.join(it)).collect();
            for folder in builds.into_iter().filter(|it| self.disk.kind(it) == Some(Kind::Folder)) {
                self.set(folder, What::Write);
            }
            if rights.write_design {
                for path in self.design(project) {
                    self.set(path, What::Write);
                }
            }
        }
        for name in &around.settings {
            let path = root.join(name);
            match self.disk.kind(&path) {
                Some(Kind::Folder | Kind::File) => self.set(path, What::Read),
                Some(Kind::Link) => self.behind_link(&path),
                Some(Kind::Other) | None => {}
            }
        }
        for name in &around.writable_settings {
            let path = root.join(name);
            if rights.write && matches!(self.disk.kind(&path), Some(Kind::Folder | Kind::File)) {
                self.set(path, What::Write);
            }
        }
        for folder in &project.shared {
            if self.disk.kind(folder) == Some(Kind::Folder) {
                self.set(folder.clone(), if rights.write { What::Write } else { What::Read });
            }
        }
        self.git(project, around);
        self.set(project.state.clone(), What::Read);
        // A home that is a project itself keeps its secrets.
        for home in around.homes.iter().filter(|home| home.starts_with(root)) {
            credentials::IN_HOME.iter().for_each(|name| self.hide(home.join(name)));
        }
    }

    /// What a link leads to is protected as what it stands for.
    fn behind_link(&mut self, path: &Path) {
        if let Some(real) = self.disk.real(path)
            && matches!(self.rule(&real), Some(What::Write))
        {
            self.set(real, What::Read);
        }
    }

    /// The git folders without their top level, which is a view (`gitview`): folders that are
    /// written with the rights of the moment, and all others readable.
    fn git(&mut self, project: &Project, around: &Surroundings) {
        for folder in project.git_folders() {
            self.set(folder.clone(), What::Read);
            for (name, needs_commit) in WRITABLE_GIT_FOLDERS {
                let path = folder.join(name);
                let is_open = around.rights.commit || !needs_commit;
                if is_open && self.disk.kind(&path) == Some(Kind::Folder) {
                    self.set(path, What::Write);
                }
            }
        }
        let pointer = project.root.join(".git");
        if self.disk.kind(&pointer) == Some(Kind::File) {
            self.set(pointer, What::Read);
        }
    }

    /// Folders and files that the patterns of the design name plainly: `docs/**`, `docs/`, a path;
    /// and files of the top folder for a pattern with stars. What lies deeper is the agent's file
    /// tools to write, which the guide judges.
    fn design(&self, project: &Project) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for pattern in &project.design_paths {
            let pattern = pattern.trim().trim_start_matches("./").trim_start_matches('/');
            let plain = pattern.strip_suffix("/**").or_else(|| pattern.strip_suffix('/'));
            let plain = plain.unwrap_or(pattern);
            let is_plain = !plain.is_empty()
                && !plain.contains(['*', '?'])
                && plain.split('/').all(|part| !part.is_empty() && part != ".." && part != ".");
            let path = project.root.join(plain);
            if is_plain && matches!(self.disk.kind(&path), Some(Kind::Folder | Kind::File)) {
                if self.disk.real(&path).as_deref() == Some(&path) {
                    found.push(path);
                }
            } else if !pattern.contains('/') {
                found.extend(self.files_at_the_top(&project.root, pattern));
            }
        }
        found
    }

    fn files_at_the_top(&self, root: &Path, pattern: &str) -> Vec<PathBuf> {
        let Some(end) = pattern.strip_prefix('*').filter(|end| !end.contains(['*', '?'])) else {
            return Vec::new();
        };
        let names = self.disk.names(root).into_iter();
        let names = names.filter(|name| name.to_string_lossy().ends_with(end));
        let paths = names.map(|name| root.join(name));
        paths.filter(|path| self.disk.kind(path) == Some(Kind::File)).collect()
    }

    /// What is ours, over everything else.
    fn ours(&mut self, around: &Surroundings) {
        for folder in &around.user_folders {
            if self.exists(folder) && !matches!(self.rule(folder), Some(What::Hidden)) {
                self.set(folder.clone(), What::Hidden);
            }
        }
        for path in around.read_only.iter().chain([&around.programs]) {
            if self.exists(path) {
                self.set(path.clone(), What::Read);
            }
        }
    }

    /// Names in a writable folder that have to stay as they are.
    fn watched(&self, project: &Project, around: &Surroundings) -> Vec<PathBuf> {
        if !around.rights.write {
            return Vec::new();
        }
        let names = around.settings.iter().map(|name| project.root.join(name));
        let is_at_top = |path: &PathBuf| {
            path.parent().is_some_and(|folder| matches!(self.rule(folder), Some(What::Write)))
        };
        let is_no_folder = |path: &PathBuf| self.disk.kind(path) != Some(Kind::Folder);
        let mut names: Vec<PathBuf> = names.filter(is_at_top).filter(is_no_folder).collect();
        names.push(project.root.join(".git"));
        names
    }
}

/// Folders below a home in which programs keep their caches, and locks and notes beside those. A home is read-only
/// where it is hidden, so that what is written there is not lost in silence; these would not work then.
pub(crate) const SCRATCH_IN_HOME: [&str; 6] = [".cache", ".cargo", ".gradle", ".m2", ".npm", "go"];

/// Folders in a git folder that are written by git itself, and whether that is part of a commit.
pub(crate) const WRITABLE_GIT_FOLDERS: &[(&str, bool)] =
    &[("objects", false), ("lfs", false), ("rr-cache", false), ("refs", true), ("logs", true)];

#[cfg(test)]
mod tests;
