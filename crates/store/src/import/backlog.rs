//! The folder of Backlog.md: a Markdown file for each task, with its fields in front.

use super::{
    ImportError,
    plan::{
        Converted, ForeignFamily, ForeignList, ForeignStanding, ForeignTask, ShelvedTask, convert,
        join_families,
    },
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

/// A folder of Backlog.md.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub files: Vec<BacklogFile>,
    /// Names of files that are no tasks.
    pub others: Vec<String>,
    /// The text of its `config.yml`.
    pub config: Option<String>,
}

/// Takes over the files of a backlog.
pub fn backlog(folder: &Backlog, project: &str) -> Result<Converted, ImportError> {
    let stays = |name: &String| format!("{name} is no task and stays where it is");
    let mut reading = BacklogReading {
        last_status: folder.config.as_deref().and_then(last_status),
        remarks: folder.others.iter().map(stays).collect(),
    };
    let (mut tasks, mut shelved, mut families) = (Vec::new(), Vec::new(), Vec::new());
    let mut used = BTreeSet::new();
    for file in &folder.files {
        let at_fault = |error| ImportError(format!("{}: {error}", file.name));
        let read = reading.read(file).map_err(at_fault)?;
        // Drafts have a series of their own, and the number of an archived task may be given again.
        if matches!(file.shelf, Shelf::Drafts | Shelf::Archive) {
            let ForeignTask { title, parts, .. } = read.task;
            shelved.push(ShelvedTask { own: read.own, title, parts });
            continue;
        }
        if !used.insert(read.task.numbers.clone()) {
            return Err(ImportError(format!("{}: another file has the same id", file.name)));
        }
        if let Some(parent) = read.parent {
            families.push(ForeignFamily { parent, child: read.task.numbers.clone() });
        }
        tasks.push(read.task);
    }
    if tasks.is_empty() && shelved.is_empty() {
        return Err(ImportError("there is no task in this folder".to_owned()));
    }
    tasks.sort_by(|one, other| one.numbers.cmp(&other.numbers));
    join_families(&mut tasks, &families);
    let list = ForeignList { name: "Backlog".to_owned(), tasks, shelved };
    convert(project, &[list], reading.remarks)
}

/// The status in which a task is finished: the last of those that a configuration lists.
fn last_status(config: &str) -> Option<String> {
    let config: Value = serde_saphyr::from_str(config).ok()?;
    Some(list_of(config.get("statuses")).pop()?.to_lowercase())
}

struct BacklogReading {
    last_status: Option<String>,
    remarks: Vec<String>,
}

/// A file that was read.
struct ReadTask {
    /// Its id as it stands there.
    own: String,
    task: ForeignTask,
    parent: Option<Vec<u32>>,
}

impl BacklogReading {
    fn read(&mut self, file: &BacklogFile) -> Result<ReadTask, ImportError> {
        let (fields, body) = parts_of(&file.text)?;
        let text = |name: &str| text_of(&fields, name);
        let own = text("id");
        let numbers = numbers(&own)?;
        let mut parts = Vec::new();
        let standing = self.standing(file.shelf, &own, text("status"), &mut parts);
        let priority = match text("priority").to_lowercase().as_str() {
            "critical" => Some("critical"),
            "high" => Some("high"),
            "low" => Some("low"),
            "medium" | "" => None,
            other => {
                self.remarks.push(format!("the priority `{other}` of {own} is none: it is text"));
                parts.push(("priority".to_owned(), other.to_owned()));
                None
            }
        };
        let names = list_of(fields.get("assignee"));
        let owner = names.first().map(|name| name.trim_start_matches('@').to_owned());
        if names.len() > 1 {
            parts.push(("assignee".to_owned(), names.join(", ")));
            self.remarks
                .push(format!("{own} has {} assignees: the first is its owner", names.len()));
        }
        let depends = self.depends(&own, &list_of(fields.get("dependencies")))?;
        let parent = match text("parent_task_id").as_str() {
            "" => (numbers.len() > 1).then(|| numbers[..numbers.len() - 1].to_vec()),
            parent => Some(self::numbers(parent)?),
        };
        parts.extend(rest_of(&fields));
        parts.push(("text".to_owned(), body.to_owned()));
        let title = match text("title").as_str() {
            "" => own.clone(),
            title => title.to_owned(),
        };
        let task = ForeignTask { numbers, title, standing, depends, priority, owner, parts };
        Ok(ReadTask { own, task, parent })
    }

    /// Whether a task is finished; a status that is neither that nor the first one is text.
    fn standing(
        &mut self,
        shelf: Shelf,
        own: &str,
        status: String,
        parts: &mut Vec<(String, String)>,
    ) -> ForeignStanding {
        let word = status.to_lowercase();
        let is_done = match &self.last_status {
            Some(last) => *last == word,
            None => matches!(word.as_str(), "done" | "completed"),
        };
        let is_known = is_done || matches!(word.as_str(), "to do" | "todo" | "draft" | "");
        if !is_known {
            self.remarks.push(format!("{own} was `{status}`: that is text"));
            parts.push(("status".to_owned(), status));
        }
        match shelf {
            Shelf::Drafts | Shelf::Archive => ForeignStanding::Aside,
            Shelf::Completed => ForeignStanding::Done,
            Shelf::Tasks if is_done => ForeignStanding::Done,
            Shelf::Tasks => ForeignStanding::Open,
        }
    }

    fn depends(&mut self, own: &str, wanted: &[String]) -> Result<Vec<Vec<u32>>, ImportError> {
        let mut depends = Vec::new();
        for wanted in wanted {
            if wanted.to_lowercase().starts_with("draft") {
                let remark = format!("{own} waited for {wanted}, a draft: it waits for it no more");
                self.remarks.push(remark);
                continue;
            }
            depends.push(numbers(wanted)?);
        }
        Ok(depends)
    }
}

fn text_of(fields: &Map<String, Value>, name: &str) -> String {
    match fields.get(name) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The fields that have no place, as texts.
fn rest_of(fields: &Map<String, Value>) -> Vec<(String, String)> {
    let told = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.is_empty() => None,
        Value::Null => None,
        Value::Array(_) => Some(list_of(Some(value)).join("\n")).filter(|it| !it.is_empty()),
        other => serde_json::to_string(other).ok(),
    };
    let others = fields.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
    others.filter_map(|(name, value)| Some((name.clone(), told(value)?))).collect()
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
