//! Taking over the tasks of other tools: their files are read, a TASKS.md is written, and nothing of
//! theirs is changed.

use crate::error::{EngineError, Problem};
use std::path::{Path, PathBuf};
use waypost_model::{code::Code, machine::Rejected};
use waypost_store::{
    file,
    import::{self, Backlog, BacklogFile, Converted, Shelf},
};

/// The largest file that is read.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// So many files of a folder are read at most.
const FILES_MAX: usize = 20_000;

/// The folders of a backlog that hold tasks.
const SHELVES: [(&str, Shelf); 5] = [
    ("tasks", Shelf::Tasks),
    ("completed", Shelf::Completed),
    ("drafts", Shelf::Drafts),
    ("archive/tasks", Shelf::Archive),
    ("archive/drafts", Shelf::Drafts),
];

/// The folders of a backlog that hold something else.
const OTHERS: [&str; 4] = ["docs", "decisions", "milestones", "archive/milestones"];

/// Where a backlog says which statuses there are.
const CONFIG: &str = "config.yml";

/// Where Task Master has its list, below its folder.
const LIST: &str = "tasks/tasks.json";

/// Reads the tasks of another tool: a `tasks.json` of Task Master, or the folder of Backlog.md.
pub fn read_foreign(path: &Path, project: &str) -> Result<Converted, EngineError> {
    let list = path.join(LIST);
    let converted = match path.is_dir() {
        true if list.is_file() => import::task_master(&read_text(&list)?, project),
        true => import::backlog(&read_backlog(path)?, project),
        false => import::task_master(&read_text(path)?, project),
    };
    converted.map_err(|error| {
        let hint = "a tasks.json of Task Master, or the folder of Backlog.md";
        let message = format!("{} cannot be taken over: {error}", path.display());
        Problem::new(Code::InvalidFile, message).hint(hint).into()
    })
}

/// Puts what was taken over into a file that is not there yet.
pub fn write_tasks(path: &Path, converted: &Converted) -> Result<(), EngineError> {
    if file::create_new(path, converted.text.as_bytes(), file::SHARED)? {
        return Ok(());
    }
    let message = format!("{} is there already, and is left as it is", path.display());
    Err(Rejected::rule(Code::FileInTheWay, message).into())
}

fn read_text(path: &Path) -> Result<String, EngineError> {
    let bytes = file::read_bounded(path, FILE_SIZE_MAX)?.ok_or_else(|| Problem::no_file(path))?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::new(Code::NotText, format!("{} is not UTF-8", path.display())).into())
}

fn read_backlog(folder: &Path) -> Result<Backlog, EngineError> {
    let inner = [PathBuf::new(), "backlog".into(), ".backlog".into()].map(|it| folder.join(it));
    let root = inner.into_iter().find(|root| root.join("tasks").is_dir());
    let root = root.unwrap_or_else(|| folder.to_owned());
    let mut backlog = Backlog::default();
    for (name, shelf) in SHELVES {
        for file_name in markdown_in(&root.join(name))? {
            if backlog.files.len() >= FILES_MAX {
                let message = format!("{} has more than {FILES_MAX} tasks", folder.display());
                return Err(Problem::new(Code::TooLarge, message).into());
            }
            let text = read_text(&root.join(name).join(&file_name))?;
            backlog.files.push(BacklogFile { name: format!("{name}/{file_name}"), shelf, text });
        }
    }
    for name in OTHERS {
        let found = markdown_in(&root.join(name))?;
        backlog.others.extend(found.into_iter().map(|file| format!("{name}/{file}")));
    }
    if root.join(CONFIG).is_file() {
        backlog.config = Some(read_text(&root.join(CONFIG))?);
        backlog.others.push(CONFIG.to_owned());
    }
    Ok(backlog)
}

fn markdown_in(folder: &Path) -> Result<Vec<String>, EngineError> {
    let names = file::list(folder)?;
    Ok(names.into_iter().filter(|name| name.ends_with(".md") && !name.starts_with('.')).collect())
}
