//! The folder of Backlog.md: a Markdown file for each task, with its fields in front.

use super::{
    ImportError,
    plan::{Converted, ForeignList, ForeignStanding, ForeignTask, convert},
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The fields that have a place, or are read here.
const KNOWN: [&str; 7] =
    ["id", "title", "status", "dependencies", "priority", "assignee", "parent_task_id"];

/// Where in the folder a file was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    Tasks,
    Completed,
    Drafts,
    Archive,
}

/// One file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BacklogFile {
    pub name: String,
    pub shelf: Shelf,
    pub text: String,
}

/// Takes over the files of a backlog. `others` are files that are no tasks.
pub fn backlog(
    files: &[BacklogFile],
    others: &[String],
    project: &str,
) -> Result<Converted, ImportError> {
    let mut remarks: Vec<String> =
        others.iter().map(|name| format!("{name} is no task and stays where it is")).collect();
    let mut tasks = Vec::new();
    let mut used = BTreeSet::new();
    for file in files {
        let task = read(file, &mut remarks)
            .map_err(|error| ImportError(format!("{}: {error}", file.name)))?;
        if !used.insert(task.numbers.clone()) {
            return Err(ImportError(format!("{}: another file has the same id", file.name)));
        }
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(ImportError("there is no task in this folder".to_owned()));
    }
    tasks.sort_by(|one, other| one.numbers.cmp(&other.numbers));
    // A task is done when those below it are.
    let families: Vec<(usize, Vec<u32>)> = tasks
        .iter()
        .filter(|task| task.numbers.len() > 1)
        .filter_map(|task| {
            let parent = &task.numbers[..task.numbers.len() - 1];
            let at = tasks.iter().position(|other| other.numbers == parent)?;
            Some((at, task.numbers.clone()))
        })
        .collect();
    for (at, child) in families {
        let waits_already = tasks
            .iter()
            .any(|task| task.numbers == child && task.depends.contains(&tasks[at].numbers));
        if waits_already {
            continue;
        }
        tasks[at].depends.push(child);
    }
    convert(project, &[ForeignList { name: "Backlog".to_owned(), tasks }], remarks)
}

fn read(file: &BacklogFile, remarks: &mut Vec<String>) -> Result<ForeignTask, ImportError> {
    let (fields, body) = parts_of(&file.text)?;
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let numbers = numbers(&text("id"))?;
    let own = text("id");
    let status = text("status");
    let word = status.to_lowercase();
    let is_done = file.shelf == Shelf::Completed || matches!(word.as_str(), "done" | "completed");
    let standing = match file.shelf {
        Shelf::Drafts | Shelf::Archive => ForeignStanding::Aside,
        _ if is_done => ForeignStanding::Done,
        _ => ForeignStanding::Open,
    };
    let mut parts = Vec::new();
    if !matches!(word.as_str(), "done" | "completed" | "to do" | "todo" | "") {
        remarks.push(format!("{own} was `{status}`: that is text"));
        parts.push(("status".to_owned(), status));
    }
    let priority = match text("priority").to_lowercase().as_str() {
        "critical" => Some("critical"),
        "high" => Some("high"),
        "low" => Some("low"),
        "medium" | "" => None,
        other => {
            parts.push(("priority".to_owned(), other.to_owned()));
            None
        }
    };
    let names = list_of(fields.get("assignee"));
    let owner = names.first().map(|name| name.trim_start_matches('@').to_owned());
    if names.len() > 1 {
        parts.push(("assignee".to_owned(), names.join(", ")));
        remarks.push(format!("{own} has {} assignees: the first is its owner", names.len()));
    }
    let mut depends = Vec::new();
    for wanted in list_of(fields.get("dependencies")) {
        depends.push(self::numbers(&wanted)?);
    }
    for (name, value) in fields.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
        let told = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) if items.is_empty() => continue,
            Value::Null => continue,
            other => serde_json::to_string(other).unwrap_or_default(),
        };
        parts.push((name.clone(), told));
    }
    parts.push(("text".to_owned(), body.to_owned()));
    let title = match text("title").as_str() {
        "" => own,
        title => title.to_owned(),
    };
    Ok(ForeignTask { numbers, title, standing, depends, priority, owner, parts })
}

/// The fields between the first two lines of dashes, and the text behind them.
fn parts_of(text: &str) -> Result<(Map<String, Value>, &str), ImportError> {
    let missing = || ImportError("it has no fields between two lines of `---`".to_owned());
    let rest = text.trim_start_matches('\u{feff}').strip_prefix("---").ok_or_else(missing)?;
    let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n').ok_or_else(missing)?;
    let end = rest.match_indices("---").map(|(at, _)| at).find(|at| {
        let starts = *at == 0 || rest[..*at].ends_with('\n');
        let line = rest[*at..].lines().next().unwrap_or_default();
        starts && line.trim_end() == "---"
    });
    let end = end.ok_or_else(missing)?;
    let (front, body) = (&rest[..end], rest[end + 3..].trim_start_matches(['\r', '\n']));
    let value: Value = serde_saphyr::from_str(front)
        .map_err(|error| ImportError(format!("its fields are not YAML: {error}")))?;
    match value {
        Value::Object(fields) => Ok((fields, body)),
        _ => Err(missing()),
    }
}

/// A text or a list of texts.
fn list_of(value: Option<&Value>) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let found: Vec<String> = match value {
        Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    };
    found.into_iter().filter(|text| !text.is_empty()).collect()
}

/// The numbers of `task-12.1`, whatever stands in front of them.
fn numbers(id: &str) -> Result<Vec<u32>, ImportError> {
    let digits = id.trim_start_matches(|c: char| !c.is_ascii_digit());
    let read: Result<Vec<u32>, _> = digits.split('.').map(str::parse).collect();
    match read {
        Ok(numbers) if !digits.is_empty() => Ok(numbers),
        _ => Err(ImportError(format!("`{id}` is no id of a task"))),
    }
}
