//! What `waypost`, `git` and `gh` are inside a wall: the broker's clients.
//!
//! `waypost` goes outside whole. Of git and gh only what needs credentials does; everything else is the
//! real program's. The repository's own hooks for a push run here, inside, before the broker is asked;
//! what it is asked for is a commit by its hash and a whole ref, so that nothing is left to be found out outside.

mod commit;
mod forge;
mod git;

use super::{NOT_RUN, say};
use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};
use waypost_agent::programs::BUILT_IN;
use waypost_model::layout::variable;
use waypost_wall::broker;

/// What this program was called as, if it is one of the broker's clients inside a wall.
pub(super) fn name() -> Option<&'static str> {
    let called = env::args_os().next()?;
    let called = Path::new(&called).file_name()?.to_owned();
    let name = broker::CLIENTS.into_iter().find(|name| OsStr::new(name) == called)?;
    Some(name)
}

/// The real shell in whose place this program stands inside, if it was called by that one's name.
pub(super) fn shell() -> Option<OsString> {
    let called = env::args_os().next().filter(|_| broker::is_inside())?;
    let called = Path::new(&called).file_name()?.to_owned();
    let mut names = BUILT_IN.all().filter_map(|program| program.shell_by_name);
    let name = names.find(|name| OsStr::new(name) == called)?;
    real(name).map(PathBuf::into_os_string)
}

pub(super) fn run(name: &str) -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    match name {
        "git" if broker::is_inside() => git::run(&words),
        "gh" if broker::is_inside() => forge::run(&words),
        "waypost" if broker::is_inside() => ask("waypost", words),
        name => become_real(name, &words),
    }
}

/// Variables that say which conversation and which project a caller is about.
pub(crate) fn told() -> Vec<&'static str> {
    let of = BUILT_IN.all().flat_map(|it| [it.conversation_variable, it.project_variable]);
    of.flatten().chain(["COLUMNS", "NO_COLOR", "TERM"]).collect()
}

/// Has one of our programs run outside; its exit code.
pub fn ask_outside(program: &str, words: Vec<OsString>) -> io::Result<u8> {
    broker::call(OsStr::new(program), words, &told())
}

fn ask(program: &str, words: Vec<OsString>) -> ExitCode {
    match ask_outside(program, words) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&format!("the call that this belongs to is over, or has no broker: {error}"));
            ExitCode::from(NOT_RUN)
        }
    }
}

/// The real program of a name: beside the socket, or on the path.
fn real(name: &str) -> Option<PathBuf> {
    let socket = env::var_os(variable::BROKER).map(PathBuf::from);
    let folder = socket.as_deref().and_then(Path::parent);
    let is_program = |path: &PathBuf| path.metadata().is_ok_and(|it| it.is_file() && it.len() > 0);
    let beside = folder.map(|folder| folder.join(broker::REAL).join(name)).filter(is_program);
    let own = env::current_exe().ok();
    let is_other = |path: &PathBuf| path.canonicalize().ok() != own && is_program(path);
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = || env::split_paths(&path).map(|it| it.join(name)).find(is_other);
    beside.or_else(on_path)
}

#[expect(clippy::disallowed_methods, reason = "this program becomes the other one")]
fn become_real(name: &str, words: &[OsString]) -> ExitCode {
    let Some(real) = real(name) else {
        say(&format!("{name} is not installed"));
        return ExitCode::from(127);
    };
    let error = Command::new(&real).arg0(name).args(words).exec();
    say(&format!("{} cannot be run: {error}", real.display()));
    ExitCode::from(NOT_RUN)
}

/// What the real git prints, if it ends well.
#[expect(clippy::disallowed_methods, reason = "git is asked where things stand, inside")]
fn asked(words: &[&str]) -> Option<String> {
    let output = Command::new(real("git")?).arg0("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}
