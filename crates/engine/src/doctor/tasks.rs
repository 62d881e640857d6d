//! The tasks of the server: whether lists show what the events say, and whether every type can be read.
//! Where there are neither tasks nor types of the project's own there is nothing to say.

use super::{Doctor, Finding};
use crate::{
    error::EngineError,
    project::Project,
    served::{self, TaskFilter},
    task_types::{self, task_types as known_types},
};
use waypost_model::{code::Code, next::NextStep, task::TaskRow};

/// How many tasks that are not over are compared with their rows.
const COMPARED_MAX: usize = 1_000;

pub(super) fn examine(doctor: &Doctor<'_>) -> Vec<Finding> {
    let opened = Project::open_unreconciled(doctor.start, doctor.actor.clone());
    let Some(mut project) = opened.ok().filter(Project::has_journal) else { return Vec::new() };
    let mut findings = examine_types(&project);
    match examine_names(&mut project) {
        Ok(unknown) => findings.extend(unknown),
        Err(error) => findings.push(Finding::bad("task types", error.to_string())),
    }
    match examine_rows(&mut project) {
        Ok(finding) => findings.extend(finding),
        Err(error) => findings.push(Finding::bad("tasks", error.to_string())),
    }
    findings
}

fn examine_types(project: &Project) -> Vec<Finding> {
    let known = match known_types(project.setup()) {
        Ok(known) => known,
        Err(error) => return vec![Finding::bad("task types", error.to_string())],
    };
    let own = known.iter().filter_map(|it| Some((it, it.path.as_ref()?)));
    own.filter_map(|(known, path)| {
        let error = task_types::task_type(project.setup(), &known.name).err()?;
        let file = path.display().to_string();
        let text = format!("{file} cannot be used: {}", told(&error));
        Some(Finding::bad("task types", text).next(NextStep::ValidateFile { file }))
    })
    .collect()
}

/// What is wrong with a type, with the first of its findings.
fn told(error: &EngineError) -> String {
    let EngineError::Invalid(file) = error else { return error.to_string() };
    let first = file.diagnostics.first().map(|first| {
        let hint = first.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}{hint}", first.message)
    });
    first.unwrap_or_else(|| error.to_string())
}

/// Tasks that are not over and of a type that there is not, or not any more.
fn examine_names(project: &mut Project) -> Result<Vec<Finding>, EngineError> {
    let states = ["draft", "pending", "in_progress", "review"].map(str::to_owned).to_vec();
    let filter = TaskFilter { states, limit: COMPARED_MAX, ..TaskFilter::default() };
    let rows = served::list(project, &filter)?;
    let named = rows.iter().filter(|row| !row.task_type.is_empty());
    let unusable = named.filter_map(|row| {
        let error = task_types::task_type(project.setup(), &row.task_type).err()?;
        // What is wrong with a file that is there is told of the file.
        let is_unknown = error.code() == Code::TypeUnknown;
        let text = format!("{} cannot be worked on: {error}", row.id);
        is_unknown.then(|| Finding::bad("task types", text).next(NextStep::ListTaskTypes))
    });
    Ok(unusable.collect())
}

fn examine_rows(project: &mut Project) -> Result<Option<Finding>, EngineError> {
    let counts = served::counts(project)?;
    let total: u64 = counts.values().sum();
    if total == 0 {
        return Ok(None);
    }
    let states = ["draft", "pending", "in_progress", "review"];
    let filter = TaskFilter {
        states: states.map(str::to_owned).to_vec(),
        limit: COMPARED_MAX,
        ..TaskFilter::default()
    };
    let mut wrong = Vec::new();
    for row in served::list(project, &filter)? {
        let file = served::file(project, &row.id);
        if !file.is_ok_and(|file| TaskRow::of(file) == row) {
            wrong.push(row.id.to_string());
        }
    }
    Ok(Some(match wrong.is_empty() {
        true => {
            let counts = counts.iter().map(|(state, count)| format!("{count} {state}"));
            let counts: Vec<String> = counts.collect();
            Finding::good("tasks", counts.join(", "))
        }
        false => {
            let text = format!("lists show something else than the events: {}", wrong.join(", "));
            Finding::bad("tasks", text).remedy("the next change to a task writes its row again")
        }
    }))
}
