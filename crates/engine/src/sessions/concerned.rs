//! The files that a call of a session is about, by its contracts and by what was changed for it.

use super::{apart, place_of};
use crate::{contracts, project::Project, session_gates::roots};
use std::collections::BTreeSet;
use waypost_git::changed_since;
use waypost_model::{
    document::{
        SubtaskId,
        contract::{DesignBrief, DesignContract, Explored, TestContract},
    },
    session::{Call, RequestState, gates::normal_path},
};

/// More are not asked about one by one.
const FILES_MAX: usize = 200;

/// As git names them, each once. A contract that cannot be read names none.
pub(super) fn files(project: &Project, request: &RequestState, call: &Call) -> Vec<String> {
    let subtask = call.subtask();
    let task = call.task().cloned().or_else(|| subtask.and_then(SubtaskId::task));
    let of_task = place_of(request, task.as_ref(), None);
    let explored = contracts::read::<Explored>(project, &place_of(request, None, None));
    let explored = explored.ok().flatten().map(|it| it.explored_files).unwrap_or_default();
    let explored = explored.into_iter().map(|it| it.path);
    let brief = contracts::read::<DesignBrief>(project, &of_task).ok().flatten();
    let brief = brief.filter(|_| task.is_some());
    let mut named = Vec::new();
    match brief {
        Some(brief) => {
            let covered = |path: &String| brief.scope_in.iter().any(|it| is_below(path, it));
            named.extend(explored.filter(covered));
            named.extend(brief.file_refs.into_iter().map(|it| it.path));
            named.extend(brief.scope_in);
            let design = contracts::read::<DesignContract>(project, &of_task).ok().flatten();
            named.extend(design.into_iter().flat_map(|it| it.file_refs).map(|it| it.path));
        }
        None => named.extend(explored),
    }
    if let Some(subtask) = subtask {
        let place = place_of(request, task.as_ref(), Some(subtask));
        let tests = contracts::read::<TestContract>(project, &place).ok().flatten();
        named.extend(tests.map(|it| it.test_file_path));
    }
    let roots = roots(project);
    let named = named.iter().map(|path| normal_path(path, &roots));
    // Prose and patterns name no file.
    let is_file = |path: &String| !path.is_empty() && project.root().join(path).is_file();
    let mut found: BTreeSet<String> = named.filter(is_file).collect();
    found.extend(changed(project, request, subtask).unwrap_or_default());
    found.into_iter().take(FILES_MAX).collect()
}

/// Whether a path is in the folder that an entry of a scope names, by itself or as `folder/**`.
fn is_below(path: &str, entry: &str) -> bool {
    let folder = entry.trim_end_matches(['*', '/']);
    !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// What was changed since the subtask began.
fn changed(
    project: &Project,
    request: &RequestState,
    subtask: Option<&SubtaskId>,
) -> Option<Vec<String>> {
    let id = subtask?;
    let base = request.subtask(id)?.base.as_deref()?;
    let place = apart::place_of(project, request, request.owner(id)?).ok()?;
    changed_since(&place, base).ok().flatten()
}
