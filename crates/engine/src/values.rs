//! Values that people give to tasks, and secrets among the variables that children get.
//!
//! A value is a secret. It goes from a person into the vault (`store/src/vault.rs`), from there into the environment of
//! an agent's process, and nowhere else: events, answers, prompts and checkpoints have its name. A running process cannot be given
//! new environment, so a value reaches its agent when that is started again. Whatever an agent then says is
//! cleaned by its keeper before it is written.

use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use std::path::{Path, PathBuf};
use waypost_agent::protocol::DependencyKind;
use waypost_model::{code::Code, machine::Rejected};
use waypost_redact::{Secret, is_secret_name};
use waypost_store::vault::{VALUE_SIZE_MAX, Vault};

/// A value that was configured and is shorter is a word rather than a secret.
const CONFIGURED_MIN: usize = 8;

/// A value that a person gave and is shorter cannot be taken out of what an agent says: it is in every text.
const GUARDED_MIN: usize = 4;

/// Variables that are never a value: they decide which programs run, or are ours.
const RESERVED: &[&str] =
    &["PATH", "HOME", "SHELL", "USER", "LOGNAME", "PWD", "IFS", "ENV", "BASH_ENV", "TMPDIR"];

/// How the names of others of this kind begin.
const RESERVED_STARTS: &[&str] = &["WAYPOST_", "LD_", "DYLD_", "GIT_", "BASH_FUNC_"];

/// What a value is given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueWanted<'a> {
    /// The task's id.
    pub task: &'a str,
    /// As the agent has called it.
    pub name: &'a str,
    pub kind: DependencyKind,
}

/// What became of a value that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvidedValue {
    /// The variable in which the agent finds it: what the agent and the journal are told.
    pub variable: String,
    /// Whether it can be told from other text, so that it is taken out of what the agent says.
    pub is_guarded: bool,
}

/// Keeps a value for a task, sealed. By a person only.
pub fn provide(
    project: &mut Project,
    wanted: ValueWanted<'_>,
    value: &Secret,
) -> Result<ProvidedValue, EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("giving a value").into());
    }
    let variable = variable_of(wanted.name)?;
    let value = checked(value, wanted, project.root())?;
    vault(project)?.keep(wanted.task, &variable, &value)?;
    Ok(ProvidedValue { variable, is_guarded: value.expose().len() >= GUARDED_MIN })
}

/// All values of a task, as variables for the start of its agent.
pub fn environment_of(
    project: &mut Project,
    task: &str,
) -> Result<Vec<(String, Secret)>, EngineError> {
    Ok(vault(project)?.open(task)?)
}

/// The names of a task's variables: what a checkpoint or an answer may say.
pub fn names_of(project: &mut Project, task: &str) -> Result<Vec<String>, EngineError> {
    Ok(vault(project)?.names(task)?)
}

/// Deletes all values of a task, with the task.
pub fn forget(project: &mut Project, task: &str) -> Result<(), EngineError> {
    Ok(vault(project)?.forget(task)?)
}

/// The variable that stands for what an agent has called `name`: the same where it can be one.
pub fn variable_of(name: &str) -> Result<String, EngineError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let is_variable =
        |text: &str| !text.is_empty() && plain_start(text) && text.chars().all(|c| plain(c) == c);
    let name = name.trim();
    let variable = match is_variable(name) {
        true => name.to_owned(),
        false => name.chars().map(plain).collect::<String>().to_uppercase(),
    };
    let has_letter = variable.contains(|c: char| c.is_ascii_alphanumeric());
    let upper = variable.to_uppercase();
    let is_reserved = RESERVED.contains(&upper.as_str())
        || RESERVED_STARTS.iter().any(|start| upper.starts_with(start));
    if !has_letter || !plain_start(&variable) || variable.len() > 128 {
        return Err(invalid(format!("`{name}` cannot be the name of a variable")));
    }
    match is_reserved {
        true => Err(invalid(format!("`{name}` is a variable that is not given as a value"))),
        false => Ok(variable),
    }
}

fn plain_start(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The value as it is kept, if it is one: not empty, one line, and where a file is wanted the path of one.
fn checked(value: &Secret, wanted: ValueWanted<'_>, root: &Path) -> Result<Secret, EngineError> {
    let name = wanted.name;
    // What is typed or piped has a break at its end.
    let text = value.expose().trim_end_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return Err(invalid(format!("the value of `{name}` is empty")));
    }
    if text.contains(['\n', '\r', '\0']) {
        return Err(invalid(format!("the value of `{name}` has more than one line")));
    }
    if text.len() > VALUE_SIZE_MAX {
        return Err(invalid(format!("the value of `{name}` is longer than any real one")));
    }
    if wanted.kind != DependencyKind::File {
        return Ok(text.into());
    }
    // The path may tell more than its name, and is not repeated.
    let path: PathBuf = root.join(text);
    match (path.is_file(), path.into_os_string().into_string()) {
        (true, Ok(path)) => Ok(Secret::new(path)),
        _ => Err(invalid(format!("the value of `{name}` names no file on this machine"))),
    }
}

fn invalid(message: String) -> EngineError {
    Problem::new(Code::ValueInvalid, message).into()
}

/// The vault of a project that has a journal.
pub(crate) fn vault(project: &mut Project) -> Result<Vault, EngineError> {
    let journal = project.ensure_journal()?.id().to_owned();
    let setup = &project.setup;
    let Some(home) = &setup.home.state else {
        let message = "there is no home folder to keep the key of values in";
        return Err(Problem::new(Code::HomeMissing, message).hint("set HOME").into());
    };
    Ok(Vault::of(&setup.place, &journal, home))
}

/// What of an environment must not be seen in what a child says: variables that sound secret, and those
/// that the configuration hands through by name (`declared`). A place in the file system or the net is
/// none: it would be taken out of every line.
pub(crate) fn secrets_among(environment: &[(String, String)], declared: &[String]) -> Vec<Secret> {
    let is_secret = |(name, value): &&(String, String)| {
        value.len() >= CONFIGURED_MIN
            && (is_secret_name(name) || declared.contains(name))
            && !is_place(value)
    };
    environment.iter().filter(is_secret).map(|(_, value)| value.as_str().into()).collect()
}

/// Whether a value says where something is, without saying how one gets in.
fn is_place(value: &str) -> bool {
    let is_path = value.starts_with('/')
        && value.split(':').next().is_some_and(|path| Path::new(path).exists());
    let is_address = value.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.trim_end_matches('/');
        scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !host.contains(['@', '?', '#', '/'])
    });
    is_path || is_address
}

#[cfg(test)]
mod tests;
