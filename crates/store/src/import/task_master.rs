//! `tasks.json` of Task Master: lists of tasks by tag, or one list in older files; tasks with subtasks.

use super::{
    ImportError,
    plan::{
        Converted, ForeignFamily, ForeignList, ForeignStanding, ForeignTask, convert, join_families,
    },
};
use serde_json::{Map, Value};

/// The fields of a task that have a place, or are read here.
const KNOWN: [&str; 6] = ["id", "title", "status", "dependencies", "priority", "subtasks"];

/// Fields of a subtask that repeat which task it is part of; its id says that.
const KNOWN_BELOW: [&str; 2] = ["parentTaskId", "parentId"];

/// Takes over the text of a `tasks.json`.
pub fn task_master(text: &str, project: &str) -> Result<Converted, ImportError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| ImportError(format!("this is not JSON: {error}")))?;
    let Value::Object(root) = value else {
        return Err(ImportError("there is no object with tasks in it".to_owned()));
    };
    let mut remarks = Vec::new();
    let mut lists = Vec::new();
    match root.get("tasks") {
        Some(Value::Array(tasks)) => {
            lists.push(list("master", tasks, &mut remarks)?);
            remark_rest("the file", &root, &["tasks"], &mut remarks);
        }
        _ => {
            for (tag, inner) in &root {
                let tasks = inner.get("tasks").and_then(Value::as_array);
                let (Some(tasks), Some(object)) = (tasks, inner.as_object()) else {
                    remarks.push(format!("`{tag}` has no tasks and stays where it is"));
                    continue;
                };
                lists.push(list(tag, tasks, &mut remarks)?);
                remark_rest(&format!("the tag `{tag}`"), object, &["tasks"], &mut remarks);
            }
        }
    }
    lists.retain(|list| !list.tasks.is_empty());
    if lists.is_empty() {
        return Err(ImportError("there is no task in this file".to_owned()));
    }
    if lists.len() > 1 {
        remarks.push("each tag is a phase; phases follow each other where tasks wait".to_owned());
    }
    convert(project, &lists, remarks)
}

fn remark_rest(what: &str, object: &Map<String, Value>, known: &[&str], remarks: &mut Vec<String>) {
    for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
        remarks.push(format!("`{name}` of {what} has no place and stays where it is"));
    }
}

fn list(tag: &str, tasks: &[Value], remarks: &mut Vec<String>) -> Result<ForeignList, ImportError> {
    let mut all: Vec<ForeignTask> = Vec::new();
    let mut families = Vec::new();
    for task in tasks {
        let numbers = numbers(task.get("id"), &[])?;
        let parent = read(task, numbers.clone(), &[], remarks)?;
        let subtasks = task.get("subtasks").and_then(Value::as_array);
        for subtask in subtasks.into_iter().flatten() {
            let own = self::numbers(subtask.get("id"), &numbers)?;
            let mut child = read(subtask, own, &numbers, remarks)?;
            // A subtask waits for what its task waits for, never for its task.
            child.depends.retain(|wanted| *wanted != numbers);
            match (parent.standing, child.standing) {
                // What is not wanted as a whole is not wanted in its parts.
                (ForeignStanding::Aside, ForeignStanding::Open) => {
                    child.standing = ForeignStanding::Aside;
                }
                (ForeignStanding::Done, ForeignStanding::Open) => {
                    let (own, task) = (dotted(&child.numbers), dotted(&numbers));
                    remarks.push(format!("{own} is open although {task} is done: it stays open"));
                }
                _ => {}
            }
            families.push(ForeignFamily { parent: numbers.clone(), child: child.numbers.clone() });
            all.push(child);
        }
        all.push(parent);
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = all.iter().find(|task| !seen.insert(task.numbers.clone())) {
        let id = super::plan::id(1, &twice.numbers);
        return Err(ImportError(format!(
            "two tasks have one id: {}",
            id.trim_start_matches("T1.")
        )));
    }
    join_families(&mut all, &families);
    Ok(ForeignList { name: tag.to_owned(), tasks: all, shelved: Vec::new() })
}

/// Numbers as the other tool writes an id.
fn dotted(numbers: &[u32]) -> String {
    super::plan::id(1, numbers).trim_start_matches("T1.").to_owned()
}

/// The numbers of an id: 5, "5" or "5.2"; a lone number is one of the parent's.
fn numbers(id: Option<&Value>, parent: &[u32]) -> Result<Vec<u32>, ImportError> {
    let text = match id {
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => text.trim().to_owned(),
        _ => return Err(ImportError("a task has no id".to_owned())),
    };
    let read: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
    let read = read.map_err(|_| ImportError(format!("`{text}` is no id of a task")))?;
    match read.len() {
        1 if !parent.is_empty() => Ok([parent, &read].concat()),
        _ => Ok(read),
    }
}

fn read(
    task: &Value,
    numbers: Vec<u32>,
    parent: &[u32],
    remarks: &mut Vec<String>,
) -> Result<ForeignTask, ImportError> {
    let text = |name: &str| task.get(name).and_then(Value::as_str).unwrap_or_default();
    let own = super::plan::id(1, &numbers).trim_start_matches("T1.").to_owned();
    let status = text("status");
    let standing = match status {
        "done" | "completed" => ForeignStanding::Done,
        "cancelled" => ForeignStanding::Aside,
        _ => ForeignStanding::Open,
    };
    let priority = match text("priority") {
        "critical" => Some("critical"),
        "high" => Some("high"),
        "medium" | "" => None,
        "low" => Some("low"),
        other => {
            remarks.push(format!("the priority `{other}` of {own} is none: it is text"));
            None
        }
    };
    let mut depends = Vec::new();
    for wanted in task.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
        depends.push(self::numbers(Some(wanted), parent)?);
    }
    let mut parts = Vec::new();
    if !matches!(status, "done" | "completed" | "pending" | "") {
        remarks.push(format!("{own} was `{status}`: that is text"));
        parts.push(("status".to_owned(), status.to_owned()));
    }
    if !matches!(text("priority"), "critical" | "high" | "medium" | "low" | "") {
        parts.push(("priority".to_owned(), text("priority").to_owned()));
    }
    for (name, value) in task.as_object().into_iter().flatten() {
        let is_below = !parent.is_empty() && KNOWN_BELOW.contains(&name.as_str());
        if KNOWN.contains(&name.as_str()) || is_below || value.is_null() {
            continue;
        }
        let told = match value {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        parts.push((name.clone(), told));
    }
    let title = match text("title") {
        "" => format!("task {own}"),
        title => title.to_owned(),
    };
    Ok(ForeignTask { numbers, title, standing, depends, priority, owner: None, parts })
}
