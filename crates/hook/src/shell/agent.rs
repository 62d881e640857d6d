//! A whole agent inside: what its own program keeps below the user's home.
//!
//! Sign-in and conversations are the real ones, so that a later process goes on where an earlier one
//! stopped. What tells the program what to run is read-only, or a copy that goes with the agent: the
//! person's next start of it reads the same files, outside of any wall.

use super::around::UserFolders;
use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process,
};
use waypost_agent::programs::{AgentProgram, BUILT_IN};
use waypost_model::layout::user_state;
use waypost_wall::{Enclosure, Level, WallError, What};

/// Begins the name of a folder with an agent's own copies, before the number of its process.
const COPIES: &str = "agent-";

/// The places of a program's own files, whether they are there or not.
#[derive(Debug)]
struct OwnPlaces {
    folders: Vec<PathBuf>,
    unshared: Vec<PathBuf>,
    copied: Vec<(PathBuf, &'static str)>,
    settings: Vec<PathBuf>,
    settings_folders: Vec<PathBuf>,
}

impl OwnPlaces {
    /// Those below a home, or where the program's own variable says.
    fn of(program: &AgentProgram, home: &Path, moved: Option<&Path>) -> Self {
        let own = &program.own;
        let stands_for = own.moved_by.map_or("", |(_, stands_for)| stands_for);
        let place = |name: &&str| {
            let rest = Path::new(name).strip_prefix(stands_for);
            match (moved, rest) {
                (Some(moved), Ok(rest)) if rest.as_os_str().is_empty() => moved.to_owned(),
                (Some(moved), Ok(rest)) => moved.join(rest),
                _ => home.join(name),
            }
        };
        let places = |names: &[&str]| names.iter().map(place).collect();
        // A file beside the folder moves into it.
        let beside =
            |(name, text): &(&str, &'static str)| (moved.unwrap_or(home).join(name), *text);
        Self {
            folders: places(own.folders),
            unshared: places(own.unshared),
            copied: own.copied.iter().map(beside).collect(),
            settings: places(own.settings),
            settings_folders: places(own.settings_folders),
        }
    }
}

/// The place that a program's own variable names.
fn moved(program: &AgentProgram) -> Option<PathBuf> {
    let named = program.own.moved_by.and_then(|(variable, _)| env::var_os(variable));
    named.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Everything in which a program may keep what it signs in with.
pub(super) fn sign_in(program: &AgentProgram, homes: &UserFolders) -> Vec<PathBuf> {
    let moved = moved(program);
    let mut found = Vec::new();
    for home in &homes.all {
        for moved in [None, moved.as_deref()] {
            let OwnPlaces { folders, copied, .. } = OwnPlaces::of(program, home, moved);
            found.extend(folders.into_iter().chain(copied.into_iter().map(|(path, _)| path)));
        }
    }
    found.into_iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// What an agent has for itself, and what has to be watched while it works.
#[derive(Debug, Default)]
pub(super) struct Admitted {
    copies: Option<Copies>,
    /// Settings that are protected by their name.
    pub(super) watched: Vec<PathBuf>,
}

/// A folder with an agent's own copies, gone with it.
#[derive(Debug)]
struct Copies {
    folder: PathBuf,
    count: u32,
}

impl Drop for Copies {
    fn drop(&mut self) {
        // What is left is removed by the next agent.
        let _left = fs::remove_dir_all(&self.folder);
    }
}

impl Copies {
    fn make(state: &Path) -> Result<Self, WallError> {
        let all = state.join(user_state::CALLS);
        remove_left(&all);
        let folder = all.join(format!("{COPIES}{}", process::id()));
        make_folder(&folder).map_err(WallError::file("make", &folder))?;
        Ok(Self { folder, count: 0 })
    }

    fn next(&mut self) -> PathBuf {
        self.count += 1;
        self.folder.join(self.count.to_string())
    }
}

/// Removes what agents and calls have left that were killed: copies, and sockets of brokers, each with the number
/// of its process in its name.
fn remove_left(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let pid = name.strip_prefix(COPIES).or_else(|| name.split_once('-').map(|(pid, _)| pid));
        let is_number = |pid: &&str| pid.bytes().all(|byte| byte.is_ascii_digit());
        if pid.filter(is_number).is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _left = fs::remove_dir_all(entry.path());
            let _left = fs::remove_file(entry.path());
        }
    }
}

/// Lets an agent's program at its own files. `known_as` is the program that Waypost takes it for.
pub(super) fn admit(
    (program, known_as): (&OsStr, Option<&str>),
    homes: &UserFolders,
    level: Level,
    enclosure: &mut Enclosure,
) -> Result<Admitted, WallError> {
    let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let mut admitted = Admitted::default();
    let known = BUILT_IN.program(known_as.unwrap_or(name));
    if let (Some(known), Some(home)) = (known, homes.all.first()) {
        let own = OwnPlaces::of(known, home, moved(known).as_deref());
        admitted.watched = share(&own, enclosure)?;
        if let Some(state) = &homes.state {
            admitted.copies = Some(Copies::make(state)?);
        }
        if let Some(copies) = &mut admitted.copies {
            set_apart(&own, copies, level, enclosure)?;
        }
    }
    show_program(program, name, homes, enclosure);
    Ok(admitted)
}

/// Shows the real files: those that are the agent's to write, and settings. Returns the settings' names.
fn share(own: &OwnPlaces, enclosure: &mut Enclosure) -> Result<Vec<PathBuf>, WallError> {
    for folder in &own.folders {
        make_folder(folder).map_err(WallError::file("make", folder))?;
        show(folder, What::Write, enclosure);
    }
    let is_in = |path: &&PathBuf| own.folders.iter().any(|folder| path.starts_with(folder));
    for folder in &own.settings_folders {
        // One that is missing could be made by the agent.
        if is_in(&folder) {
            make_folder(folder).map_err(WallError::file("make", folder))?;
        }
        show(folder, What::Read, enclosure);
    }
    own.settings.iter().for_each(|file| show(file, What::Read, enclosure));
    let is_name = |path: &&PathBuf| path.parent().is_some_and(Path::is_dir);
    Ok(own.settings.iter().filter(is_in).filter(is_name).cloned().collect())
}

/// What the agent writes without consequences for others.
fn set_apart(
    own: &OwnPlaces,
    copies: &mut Copies,
    level: Level,
    enclosure: &mut Enclosure,
) -> Result<(), WallError> {
    for (file, text) in &own.copied {
        if enclosure.may_write(file) || level < Level::B {
            make_file(file, text.as_bytes()).map_err(WallError::file("make", file))?;
        }
        // Without namespaces nothing can stand in another's place.
        if level < Level::B {
            show(file, What::Write, enclosure);
            continue;
        }
        let bytes = fs::read(file).unwrap_or_else(|_| text.as_bytes().to_vec());
        let copy = copies.next();
        make_file(&copy, &bytes).map_err(WallError::file("make", &copy))?;
        enclosure.set(file, What::WriteFrom(copy));
    }
    for folder in own.unshared.iter().filter(|_| level >= Level::B) {
        make_folder(folder).map_err(WallError::file("make", folder))?;
        let copy = copies.next();
        make_folder(&copy).map_err(WallError::file("make", &copy))?;
        enclosure.set(folder, What::WriteFrom(copy));
    }
    Ok(())
}

/// Programs are often installed below a home, in a folder that nothing else needs.
fn show_program(program: &OsStr, name: &str, homes: &UserFolders, enclosure: &mut Enclosure) {
    let path = super::around::on_path(name).unwrap_or_else(|| PathBuf::from(program));
    let Ok(path) = path.canonicalize() else { return };
    // A package needs what was installed beside it.
    let is_packages = |folder: &&Path| folder.file_name() == Some(OsStr::new("node_modules"));
    let packages = path.ancestors().filter(is_packages).last();
    if let Some(folder) = packages.or_else(|| path.parent())
        && !enclosure.may_read(folder)
        && !homes.all.iter().any(|home| home == folder)
    {
        enclosure.set(folder, What::Read);
    }
}

/// Shows what is at a path; behind a link, that and the link.
fn show(path: &Path, what: What, enclosure: &mut Enclosure) {
    let Ok(real) = path.canonicalize() else { return };
    let is_link = path.is_symlink();
    let is_hidden = path.parent().is_some_and(|it| *enclosure.rule(it).1 == What::Hidden);
    enclosure.set(real.clone(), what);
    if is_link && is_hidden {
        enclosure.set(path, What::Link(real));
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a file with this in it, unless there is one.
fn make_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut file) => io::Write::write_all(&mut file, bytes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_files_are_where_the_programs_variable_says() {
        let (home, moved) = (Path::new("/h"), Path::new("/m"));
        let table = [
            ("claude", None, "/h/.claude", "/h/.claude/settings.json"),
            ("claude", Some(moved), "/m", "/m/settings.json"),
            ("codex", Some(moved), "/m", "/m/config.toml"),
            ("gemini", Some(moved), "/m/.gemini", "/m/.gemini/settings.json"),
        ];
        for (name, moved, folder, settings) in table {
            let own = OwnPlaces::of(BUILT_IN.program(name).unwrap(), home, moved);
            assert_eq!(own.folders, [PathBuf::from(folder)], "{name}");
            assert!(own.settings.contains(&PathBuf::from(settings)), "{name}: {own:?}");
        }
        let own = OwnPlaces::of(BUILT_IN.program("claude").unwrap(), home, Some(moved));
        assert_eq!(own.copied[0].0, Path::new("/m/.claude.json"));
        assert!(own.settings_folders.contains(&PathBuf::from("/h/.local/share/claude")));
    }
}
