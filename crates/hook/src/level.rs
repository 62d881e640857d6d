//! The level of the wall on this machine, as it was last found by a try.

use crate::{
    Homes,
    shell::{SHELL, on_path},
};
use std::{env, path::PathBuf};
use waypost_wall::{Level, Tools, level};

/// The program that walls a shell call in, if it stands beside this one and there is a wall.
pub(crate) fn shell_with_a_wall() -> Option<PathBuf> {
    let shell = env::current_exe().ok()?.with_file_name(SHELL);
    (shell.is_file() && found() > Level::None).then_some(shell)
}

/// How far the wall reaches for shell calls that agent programs make here; none without the program
/// that builds it.
pub fn wall_level() -> Level {
    let own = env::current_exe().ok().map(|own| own.with_file_name(SHELL));
    if own.is_some_and(|shell| shell.is_file()) { found() } else { Level::None }
}

fn found() -> Level {
    // As the program itself finds it, so that they share what was found.
    let mounter = env::current_exe().ok().map(|own| own.with_file_name(SHELL));
    let tools = Tools { bubblewrap: on_path("bwrap"), mounter };
    level(&tools, Homes::from_environment().state.as_deref())
}
