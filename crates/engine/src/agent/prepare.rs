//! The first start of an agent program in a home folder of its own.
//!
//! Codex makes its databases when it starts for the first time, and of several that do so at once all
//! but one fail. So before the first agent of a program is started in a home folder, the program is
//! started once by itself, without work, under a lock that all of a person's engines share.

use super::{Agent, patience::end_of};
use crate::{environment::Environment, error::EngineError, home::Home};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use waypost_agent::launch;
use waypost_proc::limit_open_files;
use waypost_store::{
    file::{self, Mark},
    hash,
    lock::FileLock,
};

/// How long a first start may take: seconds on a slow disk, and a program that hangs is not waited
/// for longer than that.
const PATIENCE: Duration = Duration::from_secs(30);
/// The mark of a program in a line.
const NOTE_SIZE_MAX: u64 = 4 << 10;

/// Starts a program once in its home folder, if it has not been there yet. Whatever stands against
/// that is met again by the agent itself, and told there.
pub(super) fn prepare(
    agent: &Agent,
    folder: &Path,
    environment: &[(String, String)],
) -> Result<(), EngineError> {
    let Some(first) = agent.adapter.first_start() else { return Ok(()) };
    // Another program that speaks the same has no such home.
    if agent.programs.recognise(agent.command.iter().map(String::as_str)) != Some(first.program) {
        return Ok(());
    }
    let variable = |name: &str| {
        let found = environment.iter().rfind(|(given, _)| given == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let path = environment.iter().rfind(|(name, _)| name == "PATH");
    let path = path.map(|(_, folders)| folders.as_ref());
    let home = variable(first.home_variable)
        .or_else(|| variable("HOME").map(|home| home.join(first.below_home)));
    let (Some(home), Some(program)) = (home, super::find_program(&agent.command[0], path)) else {
        return Ok(());
    };
    let note = Note::of(&home, &program)?;
    if note.holds() && has(&home, first.sign) {
        return Ok(());
    }
    let _lock = FileLock::acquire(&note.path.with_extension("lock"))?;
    // Another engine may have done it meanwhile.
    if note.holds() && has(&home, first.sign) {
        return Ok(());
    }
    fs::create_dir_all(&home).ok();
    let started = start(&program, agent, &first, folder, environment);
    let end = started.and_then(|mut child| end_of(&mut child, PATIENCE));
    if end.is_some_and(|status| status.success()) {
        note.write()?;
    }
    Ok(())
}

/// What is remembered of a home folder: which program was started in it.
#[derive(Debug)]
struct Note {
    path: PathBuf,
    text: String,
}

impl Note {
    fn of(home: &Path, program: &Path) -> Result<Self, EngineError> {
        let state = Home::from_environment(&Environment::of_this_process())
            .state
            .unwrap_or_else(env::temp_dir);
        let folder = state.join("waypost/first-starts");
        file::make_private_folder(&folder)?;
        let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let mark = Mark::of(&program)?;
        let (size, time) = mark.map_or((0, 0), |mark| (mark.size, mark.mtime_ns));
        let name = hash::sha256_hex(home.as_os_str().as_encoded_bytes());
        let text = format!("{} {size} {time}\n{}\n", program.display(), home.display());
        Ok(Self { path: folder.join(name), text })
    }

    fn holds(&self) -> bool {
        let found = file::read_bounded(&self.path, NOTE_SIZE_MAX).ok().flatten();
        found.as_deref() == Some(self.text.as_bytes())
    }

    fn write(&self) -> Result<(), EngineError> {
        Ok(file::replace(&self.path, self.text.as_bytes(), file::PRIVATE)?)
    }
}

/// Whether a file whose name begins with `sign` is there.
fn has(home: &Path, sign: &str) -> bool {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with(sign))
}

#[expect(clippy::disallowed_methods, reason = "the agent's own program, without work, once")]
fn start(
    program: &Path,
    agent: &Agent,
    first: &launch::FirstStart,
    folder: &Path,
    environment: &[(String, String)],
) -> Option<Child> {
    let child = Command::new(program)
        .args(&agent.command[1..])
        .args(first.arguments)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    limit_open_files(&child);
    Some(child)
}
