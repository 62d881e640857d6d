//! What is around a call: homes, programs, settings of agent programs, remotes on this machine.

use super::{answer::Answer, user_folders};
use crate::spot::Spot;
use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};
use waypost_agent::programs::BUILT_IN;
use waypost_model::{layout, run::TREES};
use waypost_wall::{
    CACHES, Enclosure, Level, NAMED_CACHES, Project, READABLE, Surroundings, What, credentials,
};

/// Begins the names of work trees of a session's tasks.
const REQUEST_TREE: &str = "request-";

/// The user's folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserFolders {
    /// `$HOME`, and the one that the system knows; without links.
    pub(crate) all: Vec<PathBuf>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
}

impl UserFolders {
    pub(crate) fn find() -> Self {
        let absolute = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let below = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let config = absolute("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let state = absolute("XDG_STATE_HOME").or_else(|| below(".local/state"));
        let mut all = Vec::new();
        for path in home.iter().cloned().chain(known_home()).filter_map(|it| it.canonicalize().ok())
        {
            if !all.contains(&path) {
                all.push(path);
            }
        }
        let real = |path: Option<PathBuf>| path.map(|path| path.canonicalize().unwrap_or(path));
        Self { all, config: real(config), state: real(state) }
    }
}

/// The home that the system knows of the user.
fn known_home() -> Option<PathBuf> {
    let own = rustix::process::getuid().as_raw().to_string();
    let table = fs::read_to_string("/etc/passwd").ok()?;
    table.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next()? == own).then(|| fields.nth(2).map(PathBuf::from))?
    })
}

/// The program of a name on the path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
    };
    folders.map(|folder| folder.join(name)).find(is_program)
}

pub(super) fn surroundings(answer: &Answer, homes: &UserFolders, level: Level) -> Surroundings {
    let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let projects: Vec<Project> = answer
        .projects
        .iter()
        .map(|holding| Project {
            root: holding.spot.root.clone(),
            git_common: holding.spot.git_common.clone(),
            git_folder: git_folder(&holding.spot.root),
            state: holding.spot.state.clone(),
            shared: shared(&holding.spot).into_iter().collect(),
            design_paths: holding.design_paths.clone(),
        })
        .collect();
    let mut readable = owned(READABLE);
    readable.extend(BUILT_IN.all().flat_map(|program| program.shell_files).map(|it| (*it).into()));
    readable.extend(answer.readable.iter().cloned());
    let mut caches = owned(CACHES);
    let (elsewhere, in_home): (Vec<&String>, Vec<&String>) =
        answer.caches.iter().partition(|path| path.starts_with('/'));
    caches.extend(in_home.into_iter().cloned());
    let mut named_caches = named_caches();
    named_caches.extend(elsewhere.into_iter().map(PathBuf::from));
    let programs = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let programs = programs.unwrap_or_else(|| PathBuf::from("/usr/bin"));
    let written = layout::window::WRITTEN_BY_AGENTS.into_iter().chain([layout::window::RUN]);
    Surroundings {
        read_only: projects.iter().flat_map(remotes).collect(),
        projects,
        rights: answer.rights,
        homes: homes.all.clone(),
        other_homes: ["/home", "/root"].map(PathBuf::from).to_vec(),
        user_folders: user_folders(homes),
        programs,
        settings: settings(),
        writable_settings: written.map(str::to_owned).collect(),
        readable,
        caches,
        build_folders: answer.build_folders.clone(),
        named_caches,
        hides_sockets: level >= Level::B,
        is_root: rustix::process::getuid().is_root(),
    }
}

/// The folder of a session's files, for a work tree of one of its tasks. It is in the repository's own work tree, which
/// these stand below; nothing else of that is open.
fn shared(spot: &Spot) -> Option<PathBuf> {
    let all = spot.root.parent().filter(|it| it.file_name().is_some_and(|name| name == TREES))?;
    let home = all.parent()?;
    let is_tasks = spot.root.file_name()?.to_str()?.starts_with(REQUEST_TREE);
    let is_below = spot.git_common.as_deref() == Some(&home.join(".git"));
    (is_tasks && is_below).then(|| home.join(layout::session::FOLDER))
}

/// What in a project tells programs what to run: folders of agent programs whole, other files of
/// theirs, and ours.
fn settings() -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    found.extend(BUILT_IN.all().filter_map(|program| program.folder).map(str::to_owned));
    for file in BUILT_IN.settings_files() {
        if !found.iter().any(|folder| Path::new(file.path).starts_with(folder)) {
            found.push(file.path.to_owned());
        }
    }
    let own = [layout::CONFIGURATION, layout::TASK_TYPES, layout::window::WORKFLOW_FOLDER];
    found.extend(own.map(str::to_owned));
    found
}

fn named_caches() -> Vec<PathBuf> {
    let mut named: Vec<PathBuf> =
        NAMED_CACHES.iter().filter_map(env::var_os).map(PathBuf::from).collect();
    // Its folder of programs stays closed.
    if let Some(home) = env::var_os("CARGO_HOME").map(PathBuf::from) {
        named.extend(["registry", "git"].map(|name| home.join(name)));
    }
    // Agent programs tell each call a file in their own temporary folder, for where it left off.
    named.extend(env::var_os("TMPDIR").map(PathBuf::from));
    named.iter().filter(|path| path.is_absolute()).filter_map(|it| it.canonicalize().ok()).collect()
}

/// The git folder of a work tree.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let text = fs::read_to_string(&dot_git).ok()?;
    root.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

/// Repositories on this machine that a project is pushed to.
fn remotes(project: &Project) -> Vec<PathBuf> {
    let config = project.git_common.as_ref().map(|git| git.join("config"));
    let text = config.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim().trim_matches('"');
        let value = value.strip_prefix("file://").unwrap_or(value);
        matches!(key.as_str(), "url" | "pushurl").then(|| project.root.join(value))
    };
    let paths = text.lines().filter_map(value).filter_map(|path| path.canonicalize().ok());
    // A project that is pushed to itself is closed by its own rules.
    paths.filter(|path| !project.root.starts_with(path) && path.is_dir()).collect()
}

/// Shows a configuration of git as it is, if no credentials are in it.
pub(super) fn show_if_harmless(config: &Path, enclosure: &mut Enclosure) {
    let Ok(text) = fs::read_to_string(config) else { return };
    if credentials::without_credentials(&text).trim_end() == text.trim_end() {
        enclosure.set(config, What::Read);
        return;
    }
    // Git does not run at all where it finds a configuration that it cannot read.
    let none = ("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned());
    enclosure.variables.push(none);
}

/// Hides settings of other programs if credentials are in them.
pub(super) fn hide_unless_harmless(settings: &Path, enclosure: &mut Enclosure) {
    let Ok(text) = fs::read_to_string(settings) else { return };
    if credentials::without_credentials(&text).trim_end() != text.trim_end() {
        enclosure.set(settings, What::Hidden);
    }
}

/// Makes the folder of the run's window, which is in the repository's own work tree. Were it made while
/// a call runs, by a command of ours outside, it could not be told from what the call itself puts there.
pub(super) fn make_window_folder(around: &Surroundings) {
    let folder = Path::new(layout::window::RUN).parent().unwrap_or_else(|| Path::new(""));
    let is_main = |project: &&Project| project.git_common == project.git_folder;
    for project in around.projects.iter().filter(is_main) {
        // Where it cannot be made, no window is.
        let _missing = fs::create_dir(project.root.join(folder));
    }
}

/// What a build of this kind leaves in a folder that may not be there yet.
const BUILDS: &[(&str, &str)] = &[
    ("Cargo.toml", "target"),
    ("build.gradle", "build"),
    ("build.gradle", ".gradle"),
    ("build.gradle.kts", "build"),
    ("build.gradle.kts", ".gradle"),
    ("pom.xml", "target"),
    ("node_modules", "node_modules/.cache"),
    ("pyproject.toml", ".pytest_cache"),
];

/// Makes build folders that a build could not make itself, because the folder around them is closed.
pub(super) fn make_build_folders(around: &Surroundings) {
    for project in &around.projects {
        for (mark, folder) in BUILDS {
            let is_wanted = around.build_folders.iter().any(|it| it == folder)
                && project.root.join(mark).exists();
            if is_wanted {
                // Without it the build says what it lacks.
                let _missing = fs::create_dir(project.root.join(folder));
            }
        }
    }
}
