//! Completion of what only the project knows: ids of tasks, inbox entries and checkpoints, names
//! of gates and agents.
//!
//! *Invariant:* read-only and silent. A shell asks at every press of a key; a project that cannot
//! be read has no candidates.

use clap::Command;
use clap_complete::{
    engine::{ArgValueCompleter, CompletionCandidate},
    env::CompleteEnv,
};
use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};
use waypost_engine::{
    EngineError, Project, agent, identify,
    served::{self, TaskFilter},
    sessions, tasks,
};
use waypost_model::{
    inbox::{Entry, ReplyVerb},
    layout,
    session::gate::Gate,
    workflow::GateName,
};

/// The variable by which a completion script asks, and names its shell.
pub(crate) const VARIABLE: &str = layout::variable::COMPLETE;

/// How many tasks of the server are offered: more do not fit on a screen.
const OFFERED_MAX: usize = 200;

/// Something that can be named on the command line: its name, and what helps to choose it.
type Named = (String, String);

/// What is known in a project.
type Source = fn(&mut Project) -> Result<Vec<Named>, EngineError>;

/// Answers a shell that asks what could come next. False if none does.
pub(crate) fn answer() -> clap::error::Result<bool> {
    if env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let here = env::current_dir().ok();
    CompleteEnv::with_factory(crate::args::command)
        .var(VARIABLE)
        .try_complete(env::args_os(), here.as_deref())
}

/// Gives every argument of a command and its subcommands the completion it has.
pub(crate) fn equip(command: Command) -> Command {
    below(command, &mut Vec::new())
}

fn below(command: Command, path: &mut Vec<String>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    let mut command = command.mut_args(|argument| {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        match source(&words, argument.get_id().as_str()) {
            Some(source) => argument.add(ArgValueCompleter::new(completer(source))),
            None => argument,
        }
    });
    for name in names {
        path.push(name.clone());
        command = command.mut_subcommand(name, |inner| below(inner, path));
        path.pop();
    }
    command
}

/// What an argument names.
fn source(path: &[&str], argument: &str) -> Option<Source> {
    match (path, argument) {
        (["run", ..] | ["why" | "open" | "log"], "id" | "ids") => Some(tasks),
        (["task", ..], "id" | "after" | "from") => Some(served_tasks),
        (["inbox", verb], "id") => Some(match verb.parse() {
            Ok(ReplyVerb::Answer) => |project| entries(project, Some(ReplyVerb::Answer)),
            Ok(ReplyVerb::Provide) => |project| entries(project, Some(ReplyVerb::Provide)),
            Ok(ReplyVerb::Decline) => |project| entries(project, Some(ReplyVerb::Decline)),
            Ok(ReplyVerb::Approve) => |project| entries(project, Some(ReplyVerb::Approve)),
            Ok(ReplyVerb::Changes) => |project| entries(project, Some(ReplyVerb::Changes)),
            Ok(ReplyVerb::Retry) => |project| entries(project, Some(ReplyVerb::Retry)),
            Ok(ReplyVerb::Accept) => |project| entries(project, Some(ReplyVerb::Accept)),
            Ok(ReplyVerb::Fail) => |project| entries(project, Some(ReplyVerb::Fail)),
            Err(_) => |project| entries(project, None),
        }),
        (["develop", "checkpoint", ..], "id") => Some(checkpoints),
        (["session", "show"], "id") => Some(requests),
        (["session", "gate", ..], "id") => Some(session_gates),
        (["develop", "gate", ..], "name") => Some(gates),
        (["run" | "develop" | "session", ..] | ["task", "new" | "edit"], "agent")
        | (["agents", "check"], "names") => Some(agents),
        _ => None,
    }
}

fn completer(source: Source) -> impl Fn(&OsStr) -> Vec<CompletionCandidate> {
    move |typed: &OsStr| {
        let folder = folder(env::args_os());
        let known =
            Project::open_unreconciled(&folder, identify()).and_then(|mut it| source(&mut it));
        let typed = typed.to_string_lossy();
        let fitting = known.unwrap_or_default().into_iter();
        let fitting = fitting.filter(|(name, _)| name.starts_with(&*typed));
        fitting
            .map(|(name, about)| CompletionCandidate::new(name).help(Some(about.into())))
            .collect()
    }
}

/// The folder that the typed command works in.
fn folder(mut words: impl Iterator<Item = OsString>) -> PathBuf {
    let named = words.find(|word| word == "-C").and_then(|_| words.next());
    named.map_or_else(|| PathBuf::from("."), PathBuf::from)
}

fn tasks(project: &mut Project) -> Result<Vec<Named>, EngineError> {
    let preview;
    let run = if project.run()?.active().is_some() {
        project.run()?
    } else {
        preview = tasks::preview_run(project, None)?;
        &preview
    };
    let tasks = run.active().into_iter().flat_map(|active| active.tasks());
    let named = |view: waypost_model::run::TaskView<'_>| {
        (view.planned.id.to_string(), format!("{}: {}", view.status, view.planned.title))
    };
    Ok(tasks.map(named).collect())
}

fn served_tasks(project: &mut Project) -> Result<Vec<Named>, EngineError> {
    let filter = TaskFilter { limit: OFFERED_MAX, ..TaskFilter::default() };
    let rows = served::list(project, &filter)?.into_iter();
    Ok(rows.map(|row| (row.id.to_string(), row.title)).collect())
}

/// What waits; with a verb, what takes it.
fn entries(project: &mut Project, verb: Option<ReplyVerb>) -> Result<Vec<Named>, EngineError> {
    let inbox = project.inbox()?;
    let takes = |entry: &&Entry| verb.is_none_or(|verb| entry.question.verbs().contains(&verb));
    let named = inbox.open().iter().filter(takes);
    Ok(named.map(|entry| (entry.id.to_string(), entry.question.title.clone())).collect())
}

fn checkpoints(project: &mut Project) -> Result<Vec<Named>, EngineError> {
    let feature = project.workflow()?.feature.as_ref();
    let checkpoints = feature.into_iter().flat_map(|feature| feature.checkpoints.keys());
    Ok(checkpoints.map(|id| (id.to_string(), String::new())).collect())
}

fn requests(project: &mut Project) -> Result<Vec<Named>, EngineError> {
    let requests = sessions::requests(project)?.into_iter();
    Ok(requests.map(|it| (it.state.id.to_string(), it.state.text)).collect())
}

fn session_gates(_: &mut Project) -> Result<Vec<Named>, EngineError> {
    Ok(Gate::ALL.iter().map(|gate| (gate.name().to_owned(), String::new())).collect())
}

fn gates(_: &mut Project) -> Result<Vec<Named>, EngineError> {
    Ok(GateName::ALL.iter().map(|gate| (gate.as_str().to_owned(), String::new())).collect())
}

fn agents(project: &mut Project) -> Result<Vec<Named>, EngineError> {
    Ok(agent::names(project.setup()).into_iter().map(|name| (name, String::new())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    /// Arguments that name something of the project.
    const NAMING: &[&str] = &["id", "ids", "agent"];

    fn walk(command: &Command, path: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let is_completed = argument.get::<ArgValueCompleter>().is_some();
            if NAMING.contains(&id) && path.first().is_none_or(|first| first != "worktree") {
                assert!(is_completed, "`{words:?} {id}` is not completed");
            }
        }
        for inner in command.get_subcommands() {
            path.push(inner.get_name().to_owned());
            walk(inner, path);
            path.pop();
        }
    }

    #[test]
    fn every_argument_that_is_an_id_is_completed() {
        walk(&command(), &mut Vec::new());
    }

    #[test]
    fn the_folder_is_the_one_that_was_typed() {
        let words =
            |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>().into_iter();
        assert_eq!(folder(words("waypost -- waypost -C shop run start")), PathBuf::from("shop"));
        assert_eq!(folder(words("waypost -- waypost run start")), PathBuf::from("."));
    }
}
