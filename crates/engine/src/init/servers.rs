//! Our server of tools (MCP) in the settings of agent programs.
//!
//! As with hooks, a file that git tracks is everybody's and is left alone unless that is asked for; then it
//! names our program without a path of this machine. Where a program has a place for the servers that one
//! person has in one project, that takes ours instead.

use super::{
    agents::{self, Change, is_in_git, is_tracked},
    record::Record,
    remove::{Removal, Removed},
};
use crate::{agent::look_around, error::EngineError, project::Project};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use waypost_agent::{
    Product,
    registration::{
        LocalServers, ServerSettings, Sharing, register_server, registered_server,
        unregister_server,
    },
};
use waypost_store::file;

/// Our program where no path of this machine may stand.
const SHARED_PROGRAM: &str = "waypost";

/// An agent program, and what was done about our server.
#[derive(Clone, Debug)]
pub struct ServerSetup {
    pub product: Product,
    /// The file below the project's root.
    pub file: &'static str,
    /// The file of this person's that has our server, because the one of the project is everybody's.
    pub local: Option<PathBuf>,
    pub change: Change,
}

/// What is going to be done for one program.
#[derive(Debug)]
pub(super) struct ServerPlan {
    setup: ServerSetup,
    path: PathBuf,
    /// The file's new text; none: it is left as it is.
    text: Option<String>,
}

/// Finds out what there is to do; changes nothing.
pub(super) fn plan(
    project: &Project,
    products: &[Product],
    sharing: Sharing,
) -> Result<Vec<ServerPlan>, EngineError> {
    let is_bare = project.place().git_common.as_deref() == Some(project.root());
    if is_bare {
        return Ok(Vec::new());
    }
    let known = products.iter().filter_map(|product| Some((*product, product.server_settings()?)));
    known.map(|(product, settings)| plan_file(project, product, settings, sharing)).collect()
}

fn plan_file(
    project: &Project,
    product: Product,
    settings: ServerSettings,
    sharing: Sharing,
) -> Result<ServerPlan, EngineError> {
    let ServerSettings { file, form } = settings;
    let path = project.root().join(file);
    let planned = |change, text| {
        let setup = ServerSetup { product, file, local: None, change };
        Ok(ServerPlan { setup, path: path.clone(), text })
    };
    let is_private = sharing == Sharing::Private;
    if is_private && is_in_git(project) && is_tracked(&path)? {
        let text = agents::read_leniently(&path);
        if registered_server(form, &text).is_some() {
            return planned(Change::Unchanged, None);
        }
        return match plan_local(project, product, file)? {
            Some(plan) => Ok(plan),
            None => planned(Change::Tracked, None),
        };
    }
    let program = if is_private { agents::own_path()? } else { SHARED_PROGRAM.to_owned() };
    let before = agents::read(&path)?;
    let registered = before.as_deref().and_then(|text| registered_server(form, text));
    if is_private && registered.as_deref() == Some(SHARED_PROGRAM) {
        // Put there for everybody, and not committed yet.
        return planned(Change::Unchanged, None);
    }
    let text = register_server(form, before.as_deref(), &program)
        .map_err(|error| agents::invalid(&path, before.as_deref().unwrap_or_default(), &error))?;
    let change = match registered {
        _ if before.as_ref() == Some(&text) => Change::Unchanged,
        Some(_) => Change::Updated,
        None => Change::Added,
    };
    planned(change, Some(text))
}

/// The same in the file of this person's; nothing where the program has none, or where it is not to be
/// written by us: a link leads to where it is kept by other means.
fn plan_local(
    project: &Project,
    product: Product,
    file: &'static str,
) -> Result<Option<ServerPlan>, EngineError> {
    let Some(local) = local_servers(project, product) else { return Ok(None) };
    let path = local.file.clone();
    let Ok(before) = agents::read(&path) else { return Ok(None) };
    if path.is_symlink() || !path.parent().is_some_and(Path::is_dir) {
        return Ok(None);
    }
    let text = local
        .register(before.as_deref(), &agents::own_path()?)
        .map_err(|error| agents::invalid(&path, before.as_deref().unwrap_or_default(), &error))?;
    let change = match before.as_deref().map(|text| local.registered(text)) {
        _ if before.as_ref() == Some(&text) => Change::Unchanged,
        Some(Some(_)) => Change::Updated,
        _ => Change::Added,
    };
    let setup = ServerSetup { product, file, local: Some(path.clone()), change };
    Ok(Some(ServerPlan { setup, path, text: Some(text) }))
}

fn local_servers(project: &Project, product: Product) -> Option<LocalServers> {
    look_around(project, |around| product.local_servers(around))
}

/// Writes a person's own file, which no other user may read where we make it.
fn write_own(path: &Path, text: &str) -> Result<(), EngineError> {
    match path.exists() {
        true => Ok(file::rewrite(path, text.as_bytes())?),
        false => Ok(file::replace(path, text.as_bytes(), file::PRIVATE)?),
    }
}

/// Does what was planned.
pub(super) fn perform(
    project: &Project,
    products: &[Product],
    sharing: Sharing,
) -> Result<Vec<ServerSetup>, EngineError> {
    let mut setups = Vec::new();
    // Looked at again: a file may hold our hook as well, and has it by now.
    for plan in plan(project, products, sharing)? {
        if let Some(text) = plan.text.as_ref().filter(|_| plan.setup.local.is_some()) {
            if plan.setup.change != Change::Unchanged {
                write_own(&plan.path, text)?;
            }
        } else if let Some(text) = &plan.text {
            if plan.setup.change != Change::Unchanged {
                Record::note_folders(project, &plan.path)?;
                agents::write(&plan.path, text)?;
            }
            if registered_server(form_of(&plan.setup), text).is_some() {
                Record::note_file(project, &plan.path)?;
            }
        }
        setups.push(plan.setup);
    }
    Ok(setups)
}

fn form_of(setup: &ServerSetup) -> waypost_agent::registration::ServerForm {
    let settings = setup.product.server_settings();
    settings.map_or(waypost_agent::registration::ServerForm::Json, |settings| settings.form)
}

/// Takes our server out of all files that are known to hold it.
pub(super) fn clear(
    project: &Project,
    record: &Record,
    sharing: Sharing,
) -> Result<Vec<Removed>, EngineError> {
    let known: Vec<ServerSettings> =
        project.setup.programs.products().filter_map(|it| it.server_settings()).collect();
    let mut paths = BTreeSet::new();
    for settings in &known {
        paths.insert((project.root().join(settings.file), settings.file));
        let noted = record.files.iter().filter(|path| path.ends_with(settings.file));
        paths.extend(noted.map(|path| (path.clone(), settings.file)));
    }
    let mut removed = Vec::new();
    for (path, name) in paths {
        let Some(settings) = known.iter().find(|it| it.file == name) else { continue };
        removed.extend(clear_file(project, path, *settings, sharing)?);
    }
    for product in project.setup.programs.products() {
        let local = local_servers(project, product);
        removed.extend(local.map(|local| clear_local(&local)).transpose()?.flatten());
    }
    Ok(removed)
}

fn clear_local(local: &LocalServers) -> Result<Option<Removed>, EngineError> {
    let text = agents::read_leniently(&local.file);
    if local.file.is_symlink() || local.registered(&text).is_none() {
        return Ok(None);
    }
    let rest =
        local.unregister(&text).map_err(|error| agents::invalid(&local.file, &text, &error))?;
    take_out(local.file.clone(), rest).map(Some)
}

fn clear_file(
    project: &Project,
    path: PathBuf,
    settings: ServerSettings,
    sharing: Sharing,
) -> Result<Option<Removed>, EngineError> {
    let text = agents::read_leniently(&path);
    if path.is_symlink() || registered_server(settings.form, &text).is_none() {
        return Ok(None);
    }
    if sharing == Sharing::Private && is_in_git(project) && is_tracked(&path)? {
        return Ok(Some(Removed { path, removal: Removal::Tracked }));
    }
    let rest = unregister_server(settings.form, &text)
        .map_err(|error| agents::invalid(&path, &text, &error))?;
    take_out(path, rest).map(Some)
}

fn take_out(path: PathBuf, rest: Option<String>) -> Result<Removed, EngineError> {
    let removal = match rest {
        Some(rest) => {
            file::rewrite(&path, rest.as_bytes())?;
            Removal::Cleaned
        }
        None => {
            file::remove(&path)?;
            Removal::Gone
        }
    };
    Ok(Removed { path, removal })
}

/// The files in this work tree that hold our server with a path of this machine.
pub(super) fn private_files(project: &Project) -> Vec<&'static str> {
    let is_private = |settings: &ServerSettings| {
        let text = agents::read_leniently(&project.root().join(settings.file));
        let program = registered_server(settings.form, &text);
        program.is_some_and(|program| Path::new(&program).is_absolute())
    };
    let known = project.setup.programs.products().filter_map(|it| it.server_settings());
    known.filter(is_private).map(|settings| settings.file).collect()
}
