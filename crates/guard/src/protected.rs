//! Which paths are protected while a workflow is active, by name alone.
//!
//! A path is compared by its components, wherever in the tree it stands; a component that holds a
//! glob or an unknown piece matches what its known beginning and end allow.

use crate::word::UNKNOWN;
use waypost_model::layout::{self, SettingsFile};

/// Protected paths: the path itself and everything below it.
const PATHS: &[&[&str]] = &[
    &[layout::window::WORKFLOW_FOLDER],
    &[layout::CONFIGURATION],
    &[layout::STATE_OUTSIDE_GIT],
    &[".git", layout::STATE_IN_GIT],
    &[".git", "hooks"],
    &[".git", "config"],
];

/// Names of protected files that count by themselves where the folder is not known.
const NAMES: &[&str] = &["state.json", layout::state::JOURNAL];

/// The beginnings of what is not known by name.
const GLOB: [char; 5] = ['*', '?', '[', '{', UNKNOWN];

/// Whether a path is a file descriptor or device, so that writing it changes no file.
pub(crate) fn is_device(path: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit());
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/zero" | "-")
        || path.strip_prefix("/dev/fd/").is_some_and(is_number)
}

/// Whether writing a path moves a branch.
pub(crate) fn is_ref(path: &str) -> bool {
    let mut rest = path.split('/').skip_while(|part| *part != ".git").skip(1);
    matches!(rest.next(), Some("refs" | "HEAD" | "packed-refs" | "reftable"))
}

/// A path below a folder, without `.` and `..` where they can be resolved.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    let is_absolute = path.starts_with(['/', '~']);
    let whole = if is_absolute || folder.is_empty() { path } else { &format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != ".." && !last.contains(UNKNOWN)) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    let text = format!("{root}{}", parts.join("/"));
    if text.is_empty() { ".".to_owned() } else { text }
}

/// Whether writing `path` touches a protected one; `removes` if what is below it goes too.
pub(crate) fn is_protected(path: &str, removes: bool, settings: &[SettingsFile]) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_lost = parts.len() > 1 && parts[parts.len() - 2] == UNKNOWN.to_string();
    let last = parts.last().copied().unwrap_or_default();
    // Where a folder above is not known, a name that only ours bear is enough.
    if is_lost && known_by_name(settings).any(|name| matches(last, name)) {
        return true;
    }
    let is_met = |names: &[&str]| {
        let starts = 0..parts.len();
        starts.clone().any(|start| is_at(&parts[start..], names) && !is_in_folder(&parts, start))
            || (removes && starts.into_iter().any(|start| is_above(&parts[start..], names)))
    };
    PATHS.iter().any(|names| is_met(names))
        || settings.iter().any(|file| is_met(&file.path.split('/').collect::<Vec<_>>()))
        || (removes && matches!(path, "." | "*" | "/"))
}

fn known_by_name(settings: &[SettingsFile]) -> impl Iterator<Item = &str> {
    let files = settings.iter().filter(|file| file.is_known_by_name);
    let names = files.map(|file| file.path.rsplit('/').next().unwrap_or(file.path));
    NAMES.iter().copied().chain(names)
}

/// Whether a path that begins with `parts` is `names` or below it.
fn is_at(parts: &[&str], names: &[&str]) -> bool {
    // A glob with something below it stands for a folder.
    let is_folder = parts.len() > names.len() && parts[names.len() - 1].contains(GLOB);
    let is_file = |name: &&str| name.contains('.') && !name.starts_with('.');
    parts.len() >= names.len()
        && !(is_folder && names.last().is_some_and(is_file))
        && parts.iter().zip(names).all(|(part, name)| matches(part, name))
}

/// Whether a glob that could stand for anything is in a folder that is named: whether one of ours is
/// in there, the disk says.
fn is_in_folder(parts: &[&str], start: usize) -> bool {
    let is_open = |part: &str| part == ".." || part.contains(GLOB);
    parts[start].starts_with(['*', '?', '[', '{'])
        && parts[start].ends_with(['*', '?', ']', '}'])
        && start > 0
        && !parts[..start].iter().any(|part| part.contains(UNKNOWN))
        && !is_open(parts[0])
}

/// Whether `parts` end at a folder that holds `names`.
fn is_above(parts: &[&str], names: &[&str]) -> bool {
    parts.len() < names.len() && parts.iter().zip(names).all(|(part, name)| matches(part, name))
}

/// Whether a component can stand for `name`. File systems may ignore case, so we do.
fn matches(part: &str, name: &str) -> bool {
    let (part, name) = (part.to_ascii_lowercase(), name.to_ascii_lowercase());
    let Some(first) = part.find(GLOB) else { return part == name };
    let end = part.rfind(['*', '?', ']', '}', UNKNOWN]).map_or(part.len(), |at| at + 1);
    let (start, rest) = (&part[..first], &part[end.max(first)..]);
    let is_only_unknown = start.is_empty() && rest.is_empty() && part.contains(UNKNOWN);
    // A glob does not match a hidden file unless it is written with a dot.
    let is_hidden = name.starts_with('.') && start.is_empty() && !part.contains(UNKNOWN);
    !is_only_unknown
        && !is_hidden
        && name.len() >= start.len() + rest.len()
        && name.starts_with(start)
        && name.ends_with(rest)
}
