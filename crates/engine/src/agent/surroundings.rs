//! The settings of agent programs around a project, as they are on this machine.

use super::Agent;
use crate::{
    environment::Environment,
    error::{EngineError, Problem},
    project::Project,
};
use std::path::{Path, PathBuf};
use waypost_agent::settings::{Around, NamedVariables};
use waypost_model::code::Code;
use waypost_store::file;

/// The largest settings file that is looked at.
const SIZE_MAX: u64 = 4 << 20;

/// Asks something of the settings around a folder.
fn look_around_folder<T>(
    (root, main_root): (&Path, &Path),
    environment: &Environment,
    ask: impl FnOnce(&Around<'_>) -> T,
) -> T {
    let home = environment.get("HOME").map(PathBuf::from).unwrap_or_default();
    ask(&Around {
        home: &home,
        root,
        main_root,
        variable: &|name| environment.text(name).map(str::to_owned),
        read: &read,
    })
}

/// A settings file of a person or a project, which may be a link.
fn read(path: &Path) -> Option<String> {
    let file = file::follow(path).ok()?.pop()?;
    String::from_utf8(file::read_bounded(&file, SIZE_MAX).ok()??).ok()
}

/// The variables that the program's own configuration names.
pub(super) fn wanted_variables(
    agent: &Agent,
    folder: &Path,
    environment: &Environment,
) -> NamedVariables {
    look_around_folder((folder, folder), environment, |around| {
        agent.adapter.named_variables(around)
    })
}

/// Refuses an agent whose own configuration takes its key from a variable that is not set.
pub(crate) fn require_key(
    agent: &Agent,
    root: &Path,
    environment: &Environment,
) -> Result<(), EngineError> {
    let Some(key) = wanted_variables(agent, root, environment).key else { return Ok(()) };
    if environment.get(&key).is_some_and(|value| !value.is_empty()) {
        return Ok(());
    }
    let name = &agent.name;
    let message = format!(
        "{name} takes its key from the environment variable {key}, as its configuration says, and \
         {key} is not set"
    );
    let hint = format!("set {key} and repeat the command, or change `env_key` in its config.toml");
    Err(Problem::new(Code::KeyMissing, message).hint(hint).into())
}

/// Asks something of the settings around this project.
pub(crate) fn look_around<T>(project: &Project, ask: impl FnOnce(&Around<'_>) -> T) -> T {
    let common = project.setup.place.git_common.as_deref();
    let main = common.filter(|git| git.ends_with(".git")).and_then(Path::parent);
    let main = main.unwrap_or_else(|| project.root());
    look_around_folder((project.root(), main), &project.caller.environment, ask)
}
