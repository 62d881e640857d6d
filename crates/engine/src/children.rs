//! How commands are started that the engine runs for someone: with which environment, and behind which
//! wall.
//!
//! What a person starts runs as the person's own. What an agent has run (checks of gates, verify commands,
//! setup commands, shell tasks of a run) is text and files of the agent's choosing, so it runs behind the
//! agent's own wall wherever a workflow holds the agent, and always with an environment that says nothing to
//! the tools in it: a check must not be lied to by `MAKEFLAGS`, nor by a program in a folder of the project.

use crate::{
    actor::home_of_user, error::EngineError, execute::usual_environment, project::Project,
    test_path,
};
use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
};
use waypost_model::layout::variable;
use waypost_proc::Program;

/// The program that runs a call behind the wall, beside our own.
const WALL_PROGRAM: &str = "waypost-shell";

/// Our own program, and the word by which it attends to a check.
const OWN_PROGRAM: &str = "waypost";
const ATTEND: &str = "attend";

/// Has it end when the process that started it does.
const WITH_PARENT: &str = "--with-parent";

/// Variables by which what runs below an attempt is known, beside the usual ones.
const OF_AN_ATTEMPT: [&str; 4] =
    [variable::TASK, variable::ATTEMPT, variable::JOB, variable::FENCE];

/// Folders in which everybody can put programs.
const LOOSE_FOLDERS: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/// Where programs are if nothing else is known.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How children of the engine are started for one caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    /// The program that puts them behind the wall; none: they run without one.
    wall: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    /// Set when what they are started for is not wanted any more.
    stop: Option<Arc<AtomicBool>>,
}

impl Children {
    /// Whether and by what their caller may stop them.
    pub(crate) fn stop(&self) -> Option<&AtomicBool> {
        self.stop.as_deref()
    }

    /// Those of this project's caller, as things stand now.
    pub(crate) fn of(project: &mut Project) -> Result<Self, EngineError> {
        if project.actor().is_person() {
            let own = project.caller.environment.all();
            let environment =
                own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            return Ok(Self { wall: None, environment, stop: project.stop.clone() });
        }
        let wall = Self::wall(project)?;
        let environment = clean(project, wall.is_some());
        let owned = |(name, value): (String, String)| (name.into(), value.into());
        let environment = environment.into_iter().map(owned).collect();
        Ok(Self { wall, environment, stop: project.stop.clone() })
    }

    /// Those that run what an agent has written, for every caller: behind the agent's own wall, with
    /// an environment that says nothing to them. `folder` is where the agent works.
    pub(crate) fn of_agent(project: &Project, folder: &Path) -> Self {
        let wall = Some(wall_program()).filter(|path| path.is_file());
        let mut environment = clean(project, wall.is_some());
        clean_path(&mut environment, folder);
        let owned = |(name, value): (String, String)| (name.into(), value.into());
        Self { wall, environment: environment.into_iter().map(owned).collect(), stop: None }
    }

    /// Those that run the tests of a project for a gate. What a variable says must not decide whether tests pass: of
    /// an agent's nothing reaches them, of a person's the folders of programs, and of these none that
    /// an agent can put programs into.
    pub(crate) fn of_tests(project: &mut Project) -> Result<Self, EngineError> {
        let wall = match project.actor().is_person() {
            true => None,
            false => Self::wall(project)?,
        };
        let given = &project.caller.environment;
        let own = |name: &str| given.text(name).filter(|_| project.actor().is_person());
        let known = home_of_user().and_then(|it| it.into_os_string().into_string().ok());
        // Below a home of an agent's choosing there may be any program.
        let trusted = known.as_deref().or_else(|| own("HOME")).unwrap_or_default();
        let path = path_of_tests(own("PATH").unwrap_or_default(), Path::new(trusted));
        let home = known.or_else(|| given.text("HOME").map(str::to_owned)).unwrap_or_default();
        let mut environment = vec![("PATH".to_owned(), path), ("HOME".to_owned(), home)];
        clean_path(&mut environment, project.root());
        for (name, value) in &project.configuration().values.session.test_env {
            environment.retain(|(known, _)| known != name);
            environment.push((name.clone(), value.clone()));
        }
        if wall.is_some() {
            let named = OF_AN_ATTEMPT.iter().filter_map(|name| Some((*name, given.text(name)?)));
            environment.extend(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
            if given.get(variable::ATTEMPT).is_none() {
                environment.push((variable::ATTEMPT.to_owned(), "0".to_owned()));
            }
        }
        let owned = |(name, value): (String, String)| (name.into(), value.into());
        let environment = environment.into_iter().map(owned).collect();
        Ok(Self { wall, environment, stop: project.stop.clone() })
    }

    /// The folders in which they look for programs.
    pub(crate) fn path(&self) -> String {
        let found = self.environment.iter().find(|(name, _)| name == "PATH");
        found.map(|(_, path)| path.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Whether a workflow has begun or ended since, so that others are started behind another wall now.
    pub(crate) fn are_stale(&self, project: &mut Project) -> Result<bool, EngineError> {
        Ok(!project.actor().is_person() && Self::wall(project)?.is_some() != self.wall.is_some())
    }

    /// The program that puts an agent's commands behind the wall, wherever something holds the agent.
    fn wall(project: &mut Project) -> Result<Option<PathBuf>, EngineError> {
        let is_sent = project.caller.environment.get(variable::ATTEMPT).is_some();
        let feature = project.workflow()?.feature.as_ref();
        let is_held = is_sent || feature.is_some_and(|feature| !feature.is_done());
        Ok(is_held.then(wall_program).filter(|path| path.is_file()))
    }

    /// A shell that runs `text` in `folder`, without input.
    #[expect(clippy::disallowed_methods, reason = "what proves something is run here")]
    pub(crate) fn shell(&self, text: &str, folder: &Path) -> Command {
        let mut command = match &self.wall {
            Some(wall) => {
                let mut command = Command::new(wall);
                // What is checked is checked again by the next engine.
                command.args([WITH_PARENT, "--", "/bin/sh"]);
                command
            }
            None => Command::new("/bin/sh"),
        };
        command.arg("-c").arg(text).current_dir(folder).stdin(Stdio::null());
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The same below an attendant, which ends it with all that it has started when it is not wanted any more, or
    /// when this process is gone. None where there is no program of ours, as in a test of this crate.
    #[expect(clippy::disallowed_methods, reason = "what proves something is run here")]
    pub(crate) fn attended_shell(&self, text: &str, folder: &Path) -> Option<Command> {
        let attendant = env::current_exe().ok()?.with_file_name(OWN_PROGRAM);
        if !attendant.is_file() {
            return None;
        }
        let shell = self.shell(text, folder);
        let mut command = Command::new(attendant);
        command.arg(ATTEND).arg(shell.get_program()).args(shell.get_args());
        command.current_dir(folder).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Some(command)
    }

    /// The same for a keeper.
    pub(crate) fn program(&self, text: String) -> Program {
        match &self.wall {
            Some(wall) => {
                let words = ["--", "/bin/sh", "-c", &text].map(OsString::from);
                Program::Argv([wall.clone().into_os_string()].into_iter().chain(words).collect())
            }
            None => Program::Shell(text),
        }
    }

    pub(crate) fn is_walled(&self) -> bool {
        self.wall.is_some()
    }
}

/// Where the program that builds walls belongs: beside our own.
pub(crate) fn wall_program() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    own.with_file_name(WALL_PROGRAM)
}

/// What is left of an agent's environment for what is run for it.
fn clean(project: &Project, is_walled: bool) -> Vec<(String, String)> {
    let environment = &project.caller.environment;
    let allowed = &project.configuration().values.run.environment;
    let mut found = usual_environment(environment, allowed);
    clean_path(&mut found, project.root());
    for name in OF_AN_ATTEMPT {
        let value = environment.text(name).map(str::to_owned);
        found.extend(value.map(|value| (name.to_owned(), value)));
    }
    // In the work trees of a run no workflow holds; what runs there is an agent's all the same.
    if is_walled && environment.get(variable::ATTEMPT).is_none() {
        found.push((variable::ATTEMPT.to_owned(), "0".to_owned()));
    }
    found
}

/// The folders of programs that tests are run with: a person's own, then those that are known.
fn path_of_tests(own: &str, home: &Path) -> String {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in env::split_paths(own).chain(test_path::known_folders(home)) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let joined = env::join_paths(folders).ok().and_then(|it| it.into_string().ok());
    joined.unwrap_or_else(|| USUAL_PATH.to_owned())
}

/// Takes out of a path what an agent can put programs into.
pub(crate) fn clean_path(variables: &mut [(String, String)], root: &Path) {
    let is_safe = |folder: &PathBuf| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        folder.is_absolute()
            && !real.starts_with(root)
            && !LOOSE_FOLDERS.iter().any(|loose| real.starts_with(loose))
            && !is_open_to_all(&real)
    };
    for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
        let folders = env::split_paths(path.as_str()).filter(is_safe);
        let joined = env::join_paths(folders).ok().and_then(|it| it.into_string().ok());
        *path = joined.unwrap_or_default();
    }
}

/// Whether every user can put programs into a folder.
fn is_open_to_all(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|it| it.permissions().mode() & 0o002 != 0)
}

/// As a person's, with this environment.
#[cfg(test)]
pub(crate) fn plain(environment: &crate::environment::Environment) -> Children {
    let all = environment.all().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Children { wall: None, environment: all.collect(), stop: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_project_are_on_no_path() {
        let mut variables = [
            ("PATH".to_owned(), "/w/shop/bin:/usr/bin::.:/tmp:node_modules/.bin:/bin".to_owned()),
            ("HOME".to_owned(), "/w/shop".to_owned()),
        ];
        clean_path(&mut variables, Path::new("/w/shop"));
        assert_eq!(variables[0].1, "/usr/bin:/bin");
        assert_eq!(variables[1].1, "/w/shop");
    }
    #[test]
    fn a_folder_that_every_user_can_write_to_is_open_to_all() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, want) in [(0o755, false), (0o775, false), (0o777, true), (0o1777, true)] {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_open_to_all(folder.path()), want, "{mode:o}");
        }
        assert!(!is_open_to_all(Path::new("/nowhere")));
    }
}
