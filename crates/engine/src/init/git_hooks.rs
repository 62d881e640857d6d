//! The gates in the repository's own hooks, so that they hold in any terminal.
//!
//! A hook that stands there already is kept beside ours, as it is, and ours asks it first: it may
//! still change what is committed, and the gate should judge the last word.

use super::{
    agents::{Change, is_executable, is_tracked, own_path},
    health::is_there,
    record::Record,
};
use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use std::path::{Component, Path, PathBuf};
use waypost_agent::registration::Sharing;
use waypost_git::Git;
use waypost_model::{code::Code, machine::Rejected, next::NextStep};
use waypost_store::file;

/// The hooks of git that hold gates.
const NAMES: [&str; 2] = ["pre-commit", "pre-push"];

/// What an earlier hook is called while ours stands in its place.
const BEFORE: &str = ".before-waypost";

/// In the second line of every script of ours.
const MARK: &str = "made by `waypost init --git-hooks`";

/// Larger files are not ours, whatever they are.
const SIZE_MAX: u64 = 1 << 20;

/// Everybody may run it, before the umask.
const EXECUTABLE: u32 = 0o755;

/// A hook of git, and what was done about it.
#[derive(Clone, Debug)]
pub struct GitHookSetup {
    pub name: &'static str,
    pub path: PathBuf,
    pub change: Change,
    /// Where an earlier hook is kept, which ours asks first.
    pub earlier: Option<PathBuf>,
}

/// A hook that is going to be written.
#[derive(Debug)]
pub(super) struct GitHookPlan {
    setup: GitHookSetup,
    script: String,
    /// Whether what stands there has to be moved away.
    moves: bool,
}

/// What stands at a hook's path.
enum Standing {
    Nothing,
    Ours { script: Vec<u8> },
    Other,
}

/// Finds out what there is to do; changes nothing. A hook that works is turned to another program
/// by a person only.
pub(super) fn plan(project: &Project, sharing: Sharing) -> Result<Vec<GitHookPlan>, EngineError> {
    let folder = folder(project, sharing)?;
    let program = match sharing {
        Sharing::Private => own_path()?,
        Sharing::Shared => "waypost".to_owned(),
    };
    let is_turned = |name: &str| {
        let earlier = program_of(&folder.join(name));
        earlier.is_some_and(|earlier| earlier != program && is_there(&earlier))
    };
    if !project.actor().is_person() && NAMES.into_iter().any(is_turned) {
        return Err(Rejected::reserved("turning a hook to another program").into());
    }
    NAMES.into_iter().map(|name| plan_one(&folder, name, &program)).collect()
}

fn plan_one(folder: &Path, name: &'static str, program: &str) -> Result<GitHookPlan, EngineError> {
    let (path, earlier) = paths(folder, name);
    let script = script(name, program);
    let standing = standing(&path)?;
    let is_kept = earlier.symlink_metadata().is_ok();
    let (change, moves) = match &standing {
        Standing::Nothing => (Change::Added, false),
        Standing::Ours { script: found } => {
            let is_current = *found == script.as_bytes() && is_executable(&path);
            (if is_current { Change::Unchanged } else { Change::Updated }, false)
        }
        Standing::Other if is_kept => {
            let message = format!(
                "{} is not Waypost's, and an earlier hook is kept as {}",
                path.display(),
                earlier.display()
            );
            let hint = "put both into one of the two files and remove the other";
            return Err(Problem::new(Code::HookConflict, message).hint(hint).into());
        }
        Standing::Other => (Change::Added, true),
    };
    let earlier = (is_kept || moves).then_some(earlier);
    Ok(GitHookPlan { setup: GitHookSetup { name, path, change, earlier }, script, moves })
}

/// Does what was planned.
pub(super) fn perform(
    project: &Project,
    plans: Vec<GitHookPlan>,
) -> Result<Vec<GitHookSetup>, EngineError> {
    let mut setups = Vec::new();
    for GitHookPlan { setup, script, moves } in plans {
        Record::note_folders(project, &setup.path)?;
        if let Some(earlier) = setup.earlier.as_ref().filter(|_| moves) {
            move_or_refuse(&setup.path, earlier)?;
        }
        if setup.change != Change::Unchanged {
            file::clear_remains(setup.path.parent().unwrap_or(&setup.path));
            file::replace(&setup.path, script.as_bytes(), EXECUTABLE)?;
        }
        Record::note_file(project, &setup.path)?;
        setups.push(setup);
    }
    Ok(setups)
}

/// What taking a hook out has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cleared {
    Removed,
    /// The earlier hook stands in its place again.
    Restored,
    /// An earlier hook is kept, and another one stands in its place.
    Blocked,
}

/// Takes our hooks out of a folder and puts the earlier ones back.
pub(super) fn clear(folder: &Path) -> Result<Vec<(PathBuf, Cleared)>, EngineError> {
    let mut done = Vec::new();
    for name in NAMES {
        let (path, earlier) = paths(folder, name);
        let has_earlier = earlier.symlink_metadata().is_ok();
        let cleared = match standing(&path)? {
            Standing::Nothing if !has_earlier => continue,
            Standing::Other if !has_earlier => continue,
            Standing::Other => Cleared::Blocked,
            Standing::Ours { .. } if !has_earlier => {
                file::remove(&path)?;
                Cleared::Removed
            }
            Standing::Ours { .. } | Standing::Nothing => {
                file::remove(&path)?;
                move_or_refuse(&earlier, &path)?;
                Cleared::Restored
            }
        };
        done.push((path, cleared));
    }
    Ok(done)
}

/// The folders in which hooks of ours can be: git's own, and the one that is configured here.
pub(super) fn folders(project: &Project, sharing: Sharing) -> Vec<PathBuf> {
    let own = project.place().git_common.as_ref().map(|git| git.join("hooks"));
    let mut found: Vec<PathBuf> = own.into_iter().collect();
    found.extend(folder(project, sharing).ok().filter(|folder| !found.contains(folder)));
    found
}

/// Whether the hook at a path is ours, and the program that it calls.
pub(super) fn program_of(path: &Path) -> Option<String> {
    let Ok(Standing::Ours { script }) = standing(path) else { return None };
    let script = String::from_utf8(script).ok()?;
    let quoted = script.lines().find_map(|line| line.strip_prefix("program='"))?;
    Some(quoted.strip_suffix('\'')?.replace(r"'\''", "'"))
}

pub(super) fn is_hook(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| NAMES.contains(&name))
}

fn paths(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    (folder.join(name), folder.join(format!("{name}{BEFORE}")))
}

fn standing(path: &Path) -> Result<Standing, EngineError> {
    let Ok(found) = path.symlink_metadata() else { return Ok(Standing::Nothing) };
    // Links are common here, and are moved as they are.
    if found.is_symlink() || found.len() > SIZE_MAX {
        return Ok(Standing::Other);
    }
    let Some(script) = file::read_bounded(path, SIZE_MAX)? else { return Ok(Standing::Nothing) };
    let second = script.split(|byte| *byte == b'\n').nth(1).unwrap_or_default();
    let is_ours = String::from_utf8_lossy(second).contains(MARK);
    Ok(if is_ours { Standing::Ours { script } } else { Standing::Other })
}

fn move_or_refuse(from: &Path, to: &Path) -> Result<(), EngineError> {
    if file::move_new(from, to)? {
        return Ok(());
    }
    Err(Problem::new(Code::HookConflict, format!("{} has just appeared", to.display()))
        .hint("repeat the command")
        .into())
}

/// The folder that git takes this repository's hooks from, if it is ours to write to.
fn folder(project: &Project, sharing: Sharing) -> Result<PathBuf, EngineError> {
    let Some(common) = &project.place().git_common else {
        let message = "there is no git repository here to add hooks to";
        return Err(Problem::new(Code::NotARepository, message).into());
    };
    let own = common.join("hooks");
    let git = Git::at(project.root());
    let Some(configured) = git.config("core.hooksPath")?.filter(|path| !path.is_empty()) else {
        return Ok(own);
    };
    let local = git.try_text(&["config", "--local", "--get", "core.hooksPath"])?;
    let folder = project.root().join(&configured);
    let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    // What git would resolve further, and what is not there yet, may lead anywhere.
    let is_plain =
        !configured.starts_with('~') && real.components().all(|part| part != Component::ParentDir);
    let is_inside = is_plain && (real.starts_with(project.root()) || real.starts_with(common));
    if local.as_deref() != Some(configured.as_str()) || !is_inside {
        let message = format!(
            "git takes hooks from {configured} (`core.hooksPath`), which is not this repository's"
        );
        let words = format!("config --local core.hooksPath {}", quoted(&own.to_string_lossy()));
        let next = NextStep::RunGit { words };
        return Err(Rejected::rule(Code::HooksElsewhere, message).next(next).into());
    }
    let is_everybodys = !real.starts_with(common) && is_tracked(&real)?;
    if is_everybodys && sharing == Sharing::Private {
        let message = format!("git tracks {configured}, where this repository's hooks are");
        return Err(Rejected::rule(Code::HooksElsewhere, message)
            .next(NextStep::RegisterSharedGitHooks)
            .into());
    }
    Ok(real)
}

/// A script for any POSIX shell.
fn script(name: &str, program: &str) -> String {
    let is_there = match program.contains('/') {
        true => "[ -x \"$program\" ]",
        false => "command -v \"$program\" >/dev/null 2>&1",
    };
    // The refs that are pushed come on standard input, and both hooks have to read them.
    let (read, tell) = match name {
        "pre-push" => (
            "refs=$(cat)\ntell() {\n    [ -z \"$refs\" ] || printf '%s\\n' \"$refs\"\n}\n",
            "tell | ",
        ),
        _ => ("", ""),
    };
    format!(
        r#"#!/bin/sh
# Waypost's {name} hook, {MARK}; `waypost init --remove` takes it out.
# A hook that stood here before is kept as {name}{BEFORE} and is asked first.
program={program}
before="${{0%/*}}/{name}{BEFORE}"
{read}if [ -f "$before" ] && [ -x "$before" ]; then
    {tell}"$before" "$@" || exit $?
fi
if ! {is_there}; then
    echo "waypost: $program is gone, so the gates cannot be looked at" >&2
    echo "waypost: install it again, or remove $0 (an earlier hook is kept as $before)" >&2
    exit 1
fi
{tell}"$program" hook git {name} "$@"
"#,
        program = quoted(program),
    )
}

/// A word in single quotes for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
