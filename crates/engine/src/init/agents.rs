//! The hook in the settings of agent programs.
//!
//! By default it goes into files that git does not track, with the path of the program on this
//! machine. Shared, it goes into the files for everybody, with the program's bare name; that is
//! also how the two are told apart.

use super::{AgentChoice, health::is_there, record::Record};
use crate::{
    agent::{self, find_program},
    error::{EngineError, Problem},
    project::Project,
};
use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};
use waypost_agent::{
    Product,
    registration::{self, BadSettings, HookProgram, Sharing},
};
use waypost_git::Git;
use waypost_model::{
    code::Code,
    diagnostic::{Diagnostic, Place},
    machine::Rejected,
};
use waypost_store::{file, place};

/// The largest settings file that is edited.
const SIZE_MAX: u64 = 4 << 20;

/// The small program that answers hooks.
const HOOK: &str = "waypost-hook";

/// The small program that shell calls are wrapped in.
const SHELL: &str = "waypost-shell";

/// What became of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    /// An earlier one of ours was brought up to date.
    Updated,
    Unchanged,
    /// The file is tracked by git and was not touched.
    Tracked,
}

/// An agent program, and what was done about its hook.
#[derive(Clone, Debug)]
pub struct AgentSetup {
    pub product: Product,
    /// Its settings file, below the project's root.
    pub file: &'static str,
    pub change: Change,
}

/// What is going to be done for one agent program.
#[derive(Debug)]
pub(super) struct AgentHookPlan {
    setup: AgentSetup,
    edits: Vec<Edit>,
    /// Whether a hook that works is pointed at another program, or taken out of a file.
    is_turned: bool,
}

/// A settings file's new text; `None`: the file goes.
#[derive(Debug)]
struct Edit {
    path: PathBuf,
    text: Option<String>,
}

/// The programs that are meant, and those that are left out because they are not installed.
pub(super) fn choose(
    project: &Project,
    choice: &AgentChoice,
) -> Result<(Vec<Product>, Vec<Product>), EngineError> {
    match choice {
        AgentChoice::These(products) => Ok((products.clone(), Vec::new())),
        AgentChoice::Installed => {
            let mut chosen = (Vec::new(), Vec::new());
            for product in project.setup.programs.products() {
                let is_wanted = is_installed(project, product)? || has_hook(project, product);
                let list = if is_wanted { &mut chosen.0 } else { &mut chosen.1 };
                list.push(product);
            }
            Ok(chosen)
        }
    }
}

fn is_installed(project: &Project, product: Product) -> Result<bool, EngineError> {
    let agent = agent::named(&project.setup, product.as_str())?;
    Ok(agent
        .command
        .first()
        .is_some_and(|word| find_program(word, project.caller.environment.get("PATH")).is_some()))
}

/// Whether a settings file of this work tree has the hook of a program.
fn has_hook(project: &Project, product: Product) -> bool {
    [Sharing::Private, Sharing::Shared].into_iter().any(|sharing| {
        let path = project.root().join(product.settings_file(sharing));
        registration::registered_program(product, &read_leniently(&path)).is_some()
    })
}

/// Finds out what there is to do; changes nothing.
///
/// A hook that works is turned to another program by a person only: that program could allow
/// anything.
pub(super) fn plan(
    project: &Project,
    products: &[Product],
    sharing: Sharing,
) -> Result<Vec<AgentHookPlan>, EngineError> {
    // A bare repository has no work tree that an agent could work in.
    let is_bare = project.place().git_common.as_deref() == Some(project.root());
    if is_bare || products.is_empty() {
        return Ok(Vec::new());
    }
    let (words, shell) = (program(sharing)?, shell(sharing));
    // What everybody has names neither a journal of this machine nor a path of it.
    let journal = project.journal.as_ref().filter(|_| sharing == Sharing::Private);
    let journal = journal.map(|journal| journal.id());
    let program = HookProgram { words: &words, journal, shell: shell.as_deref() };
    let plans = products.iter().map(|product| match sharing {
        Sharing::Private => plan_private(project, *product, &program),
        Sharing::Shared => plan_shared(project, *product, &program),
    });
    let plans: Vec<AgentHookPlan> = plans.collect::<Result<_, _>>()?;
    if !project.actor().is_person() && plans.iter().any(|plan| plan.is_turned) {
        return Err(Rejected::reserved("turning a hook to another program").into());
    }
    Ok(plans)
}

fn plan_private(
    project: &Project,
    product: Product,
    program: &HookProgram<'_>,
) -> Result<AgentHookPlan, EngineError> {
    let settled = |file, change| {
        let setup = AgentSetup { product, file, change };
        Ok(AgentHookPlan { setup, edits: Vec::new(), is_turned: false })
    };
    let file = product.settings_file(Sharing::Shared);
    if is_shared(product, &read_leniently(&project.root().join(file))) {
        return settled(file, Change::Unchanged);
    }
    let file = product.settings_file(Sharing::Private);
    if is_in_git(project) && is_tracked(&project.root().join(file))? {
        return settled(file, Change::Tracked);
    }
    plan_file(project, product, Sharing::Private, program)
}

fn plan_shared(
    project: &Project,
    product: Product,
    program: &HookProgram<'_>,
) -> Result<AgentHookPlan, EngineError> {
    let mut plan = plan_file(project, product, Sharing::Shared, program)?;
    let private = product.settings_file(Sharing::Private);
    if private != plan.setup.file {
        // Otherwise the program would ask twice.
        let removal = removal(&project.root().join(private), product)?;
        plan.is_turned |= removal.is_some();
        plan.edits.extend(removal);
    }
    Ok(plan)
}

fn plan_file(
    project: &Project,
    product: Product,
    sharing: Sharing,
    program: &HookProgram<'_>,
) -> Result<AgentHookPlan, EngineError> {
    let file = product.settings_file(sharing);
    let path = project.root().join(file);
    let before = read(&path)?;
    let text = registration::register(product, before.as_deref(), program)
        .map_err(|error| invalid(&path, before.as_deref().unwrap_or_default(), &error))?;
    let earlier = before.as_deref().and_then(|it| registration::registered_program(product, it));
    let change = match &earlier {
        _ if before.as_ref() == Some(&text) => Change::Unchanged,
        Some(_) => Change::Updated,
        None => Change::Added,
    };
    let is_turned = earlier.is_some_and(|earlier| {
        earlier != program.words && earlier.first().is_some_and(|word| is_there(word))
    });
    // An unchanged file is noted too: the record may have been lost.
    let edits = vec![Edit { path, text: Some(text) }];
    Ok(AgentHookPlan { setup: AgentSetup { product, file, change }, edits, is_turned })
}

/// Tells the hooks of all work trees that are known which journal there is now.
pub(super) fn tell_journal(project: &Project) -> Result<(), EngineError> {
    let Some(journal) = project.journal.as_ref().map(|journal| journal.id()) else { return Ok(()) };
    for (path, product) in super::remove::settings(project, &Record::load(project)) {
        let text = read_leniently(&path);
        let Some(ours) = registration::registered(product, &text) else { continue };
        if ours.journal.is_none() || path.is_symlink() {
            continue;
        }
        let shell = registration::registered_shell(product, &text);
        let (words, journal) = (&ours.words, Some(journal));
        let program = HookProgram { words, journal, shell: shell.as_deref() };
        let told = registration::register(product, Some(&text), &program)
            .map_err(|error| invalid(&path, &text, &error))?;
        write(&path, &told)?;
    }
    Ok(())
}

/// The folders in which settings are written.
pub(super) fn settings_folders(project: &Project) -> Vec<PathBuf> {
    let file = |product: Product| product.settings_file(Sharing::Private);
    let paths = project.setup.programs.products().map(|product| project.root().join(file(product)));
    paths.filter_map(|path| path.parent().map(Path::to_owned)).collect()
}

/// Does what was planned.
pub(super) fn perform(
    project: &Project,
    plans: Vec<AgentHookPlan>,
) -> Result<Vec<AgentSetup>, EngineError> {
    let mut setups = Vec::new();
    for plan in plans {
        for edit in &plan.edits {
            match &edit.text {
                Some(text) => {
                    if read(&edit.path)?.as_ref() != Some(text) {
                        Record::note_folders(project, &edit.path)?;
                        write(&edit.path, text)?;
                    }
                    Record::note_file(project, &edit.path)?;
                }
                None => file::remove(&edit.path)?,
            }
        }
        setups.push(plan.setup);
    }
    Ok(setups)
}

/// Takes our entries out of a settings file; whether there were any, and whether the file is gone.
pub(super) fn clear(path: &Path, product: Product) -> Result<Option<IsGone>, EngineError> {
    let Some(edit) = removal(path, product)? else { return Ok(None) };
    match edit.text {
        Some(text) => write(path, &text).map(|()| Some(IsGone(false))),
        None => Ok(file::remove(path).map(|()| Some(IsGone(true)))?),
    }
}

/// Whether a file had nothing but our entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsGone(pub(super) bool);

fn removal(path: &Path, product: Product) -> Result<Option<Edit>, EngineError> {
    let Some(before) = read(path)? else { return Ok(None) };
    // A file that does not name us may be as broken as it likes.
    if !before.contains("waypost") {
        return Ok(None);
    }
    let text = registration::unregister(product, &before)
        .map_err(|error| invalid(path, &before, &error))?;
    let is_changed = text.as_deref() != Some(&before);
    Ok(is_changed.then(|| Edit { path: path.to_owned(), text }))
}

/// The settings files in this work tree that hold a path of this machine.
pub(super) fn private_settings(project: &Project) -> Vec<&'static str> {
    let is_private = |(product, file): &(Product, &str)| {
        let text = read_leniently(&project.root().join(file));
        let program = registration::registered_program(*product, &text);
        program.is_some_and(|program| !is_bare_name(&program))
    };
    let files = project
        .setup
        .programs
        .products()
        .map(|product| (product, product.settings_file(Sharing::Private)));
    files.into_iter().filter(is_private).map(|(_, file)| file).collect()
}

pub(super) fn is_in_git(project: &Project) -> bool {
    project.place().git_common.is_some()
}

/// Whether git tracks a file or anything in a folder; nothing is tracked outside a work tree. That
/// git cannot say is an error: what it tracks must not be touched by accident.
pub(super) fn is_tracked(path: &Path) -> Result<bool, EngineError> {
    // A folder may be a link that leads out of the work tree.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let Some(folder) = folder else { return Ok(false) };
    if place::Place::find(&folder)?.git_common.is_none() {
        return Ok(false);
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
    Ok(!Git::at(&folder).text(&["ls-files", "--", name])?.is_empty())
}

/// The settings file's text; `None`: there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, EngineError> {
    let Some(bytes) = file::read_bounded(path, SIZE_MAX)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let finding = Diagnostic::error("invalid_settings", "this is not UTF-8 text");
        EngineError::invalid(path, error.as_bytes(), vec![finding])
    })
}

/// As `read`; what cannot be read holds no hook of ours.
pub(super) fn read_leniently(path: &Path) -> String {
    read(path).ok().flatten().unwrap_or_default()
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), EngineError> {
    file::clear_remains(path.parent().unwrap_or(path));
    Ok(file::rewrite(path, text.as_bytes())?)
}

pub(super) fn invalid(path: &Path, text: &str, error: &BadSettings) -> EngineError {
    let place = Place { line: error.line, column: error.column, length: 1 };
    let finding = Diagnostic::error("invalid_settings", error.message.as_str())
        .at(place)
        .hint("fix it, or have only the other programs registered");
    EngineError::invalid(path, text.as_bytes(), vec![finding])
}

/// Whether settings hold a hook for everybody.
fn is_shared(product: Product, text: &str) -> bool {
    registration::is_registered(product, text)
        && registration::registered_program(product, text).is_some_and(|it| is_bare_name(&it))
}

fn is_bare_name(program: &[String]) -> bool {
    program.first().is_some_and(|word| !word.contains('/'))
}

/// The program that answers, for agents that we start ourselves.
pub(crate) fn hook_program() -> Result<Vec<String>, EngineError> {
    program(Sharing::Private)
}

/// The words that start the program that answers: the small one where it is installed.
fn program(sharing: Sharing) -> Result<Vec<String>, EngineError> {
    if sharing == Sharing::Shared {
        return Ok(vec![HOOK.to_owned()]);
    }
    let waypost = own_path()?;
    let hook = Path::new(&waypost).with_file_name(HOOK);
    Ok(match hook.to_str().filter(|_| is_executable(&hook)) {
        Some(hook) => vec![hook.to_owned()],
        None => vec![waypost, "hook".to_owned()],
    })
}

/// The program that shell calls are wrapped in, where it is installed beside this one. What everybody
/// has does not name one: where it is missing no command would run.
fn shell(sharing: Sharing) -> Option<String> {
    let own = own_path().ok().filter(|_| sharing == Sharing::Private)?;
    let shell = Path::new(&own).with_file_name(SHELL);
    shell.to_str().filter(|_| is_executable(&shell)).map(str::to_owned)
}

/// The path of the running program. Under another name its hooks could not be told from others'.
pub(crate) fn own_path() -> Result<String, EngineError> {
    let path = std::env::current_exe().ok();
    let is_known = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("waypost")))
    };
    let path = path.filter(is_known).and_then(|path| path.into_os_string().into_string().ok());
    path.ok_or_else(|| {
        Problem::new(Code::OwnPathUnknown, "settings cannot hold the path of this program")
            .hint("install it under its own name in a folder with a plain name, or have the settings shared")
            .into()
    })
}

pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
