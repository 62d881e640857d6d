//! What has changed since a subtask began, and which files there are.

use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use std::{fs, path::Path};
use waypost_git::{Git, changed_since, git_at};
use waypost_model::{code::Code, layout, next::NextStep, session::gate::SubtaskSubject};

/// More files than a project outside git has, of those that people write.
const FILES_MAX: usize = 50_000;
const DEPTH_MAX: usize = 24;

/// Folders of which nothing is written by hand, outside git, where nothing says what is ignored.
const BUILT: [&str; 6] = ["node_modules", "target", "build", "dist", "__pycache__", "venv"];

/// The paths of changed files; none where that cannot be told. The report on them is none of them.
pub(super) fn since(
    project: &Project,
    subject: &SubtaskSubject,
    report: Option<&Path>,
) -> Result<Option<Vec<String>>, EngineError> {
    let Some(base) = &subject.base else { return Ok(None) };
    if !is_kept(project, base) {
        return Err(lost(subject));
    }
    let changed = changed_since(project.place(), base)?;
    if let (Some(changed), Some(report)) = (&changed, report)
        && let Some(path) = below(project, report).filter(|path| changed.contains(path))
    {
        let message = format!("{path} is among the files that the gate looks at");
        return Err(Problem::new(Code::ReportInTheWork, message)
            .hint("the session says which file a report belongs into")
            .next(NextStep::NextOfSession)
            .into());
    }
    Ok(changed)
}

/// Whether the repository still has a content that was kept.
pub(crate) fn is_kept(project: &Project, base: &str) -> bool {
    let commit = format!("{base}^{{commit}}");
    let found = Git::at(project.root()).try_text(&["cat-file", "-e", &commit]);
    found.is_ok_and(|it| it.is_some())
}

fn lost(subject: &SubtaskSubject) -> EngineError {
    let id = &subject.subtask;
    let message = format!("the repository has lost the content that {id} began with");
    let hint = "what has changed since cannot be told: a person who has looked at it passes GATE-3 and GATE-4";
    let step = NextStep::OverrideGate { gate: format!("{id}/GATE-3") };
    Problem::new(Code::TreeGone, message).hint(hint).next(step).into()
}

/// A path of the project as git names it.
fn below(project: &Project, path: &Path) -> Option<String> {
    let root = project.root().canonicalize().ok()?;
    let path = path.canonicalize().ok()?;
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Whether there is such a file or folder, or was when the subtask began.
pub(super) fn was_or_is(project: &Project, subject: &SubtaskSubject, path: &str) -> bool {
    if path.is_empty() || Path::new(path).is_absolute() {
        return false;
    }
    if project.root().join(path).symlink_metadata().is_ok() {
        return true;
    }
    let Some(base) = &subject.base else { return false };
    let object = format!("{base}:{path}");
    Git::at(project.root())
        .try_text(&["cat-file", "-e", &object])
        .is_ok_and(|found| found.is_some())
}

/// All files of the project that are not ignored, by their paths.
pub(super) fn all_files(project: &Project) -> Result<Vec<String>, EngineError> {
    if project.place().repository().is_none() {
        let mut found = Vec::new();
        walk(project.root(), "", DEPTH_MAX, &mut found);
        return Ok(found);
    }
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = git_at(project.root())?.bytes(&words)?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

fn walk(root: &Path, below: &str, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let is_other = name.starts_with('.') || BUILT.contains(&name.as_str());
        match entry.file_type() {
            Ok(form) if form.is_dir() && depth > 0 && !is_other => {
                walk(root, &path, depth - 1, found);
            }
            Ok(form) if form.is_file() && found.len() < FILES_MAX => found.push(path),
            _ => {}
        }
    }
    debug_assert!(!found.iter().any(|it| it.starts_with(layout::STATE_OUTSIDE_GIT)));
}
