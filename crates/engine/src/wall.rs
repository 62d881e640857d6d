//! How far the wall reaches on this machine, and whether that is as far as is required.

use crate::{children::wall_program, environment::Environment, home::Home};
use std::{env, os::unix::fs::MetadataExt as _, path::PathBuf};
use waypost_model::config::WallLevel;
use waypost_wall::{Found, Level, Tools, level, try_levels};

/// The wall that agents which Waypost starts are behind as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentWall {
    /// What there is.
    pub(crate) level: WallLevel,
    /// Whether no agent is started without one.
    is_required: bool,
}

impl AgentWall {
    /// Namespaces, where they can be had. By Landlock alone no new file could be made in the top folder of
    /// a work tree, so a whole agent is put behind that only where a wall is required.
    pub(crate) fn here(required: WallLevel) -> Self {
        let is_required = required > WallLevel::None;
        if !wall_program().is_file() {
            return Self { level: WallLevel::None, is_required };
        }
        let level = match known() {
            Level::A | Level::B => WallLevel::A,
            Level::C if is_required => WallLevel::C,
            Level::C | Level::None => WallLevel::None,
        };
        Self { level, is_required }
    }

    /// The same, or none where none is required.
    pub(crate) fn if_required(self) -> Self {
        if self.is_required { self } else { Self::default() }
    }

    /// The program that an agent is started by; where a wall is required and cannot be had, it refuses.
    pub(crate) fn program(self) -> Option<PathBuf> {
        (self.is_required || self.level > WallLevel::None).then(wall_program)
    }
}

/// Tries what this machine lets us build, now.
pub fn examine() -> Found {
    try_levels(&tools())
}

/// The level as it was found under the same conditions, else by a try.
pub fn known() -> Level {
    let home = Home::from_environment(&Environment::of_this_process());
    level(&tools(), home.state.as_deref())
}

/// What a level means, in a line.
pub fn meaning(level: Level) -> &'static str {
    match level {
        Level::A | Level::B => {
            "each shell call of an agent runs in namespaces of its own, and the agents that Waypost \
             starts run in them whole"
        }
        Level::C => {
            "Landlock holds files, signals and abstract sockets; processes may outlive their call, \
             and sockets of files can be reached"
        }
        Level::None => "the hook alone judges what agents do, strictly",
    }
}

/// What to say where the level is lower than required.
pub fn shortfall(level: Level, required: WallLevel) -> Option<String> {
    (!level.is_enough(required)).then(|| {
        format!("`wall.require` is \"{}\", so agents' commands are not run here", required.as_str())
    })
}

/// What namespaces are built with, as `waypost-shell` finds it.
fn tools() -> Tools {
    Tools { bubblewrap: bubblewrap(), mounter: Some(wall_program()) }
}

/// Where bubblewrap is, as `waypost-shell` looks for it.
fn bubblewrap() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
    };
    folders.map(|folder| folder.join("bwrap")).find(is_program)
}
